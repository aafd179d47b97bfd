//! A recording opened in the window: read in a thread of its own into the same form as the running loop's data.

use crate::data::{Channel, Data, LineMarks};
use crate::history::History;
use crate::line_data::LineData;
use rt_core::model::catenary::LineScene;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// An opened recording.
pub struct Recorded {
    /// Its file.
    pub path: PathBuf,
    /// What it says about itself.
    pub header: SessionHeader,
    /// Its channels, samples and events.
    pub data: Data,
    /// What could not be read, if anything.
    pub damage: Option<String>,
}

impl Recorded {
    /// Reads a recording. `progress` hears how many frames are read.
    pub fn load(path: &Path, budget_bytes: usize, progress: &AtomicU64) -> Result<Self, String> {
        let session = Session::open(path).map_err(|e| e.to_string())?;
        let header = session.header().clone();
        let channels: Vec<Channel> = header.channels.iter().map(Into::into).collect();
        let mut history = History::new(channels.len(), budget_bytes);
        let mut damage = None;
        let mut last_s = f64::NEG_INFINITY;
        for frame in session.frames(TimeRange::ALL) {
            match frame {
                // Samples of a damaged file may come out of order; the plots need them in order.
                Ok(recorded) if recorded.frame.t_s() > last_s => {
                    last_s = recorded.frame.t_s();
                    history.push(last_s, &recorded.frame.values);
                    progress.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) => {}
                Err(e) => damage = Some(e.to_string()),
            }
        }
        if history.is_empty() {
            return Err(damage.unwrap_or_else(|| {
                format!("'{}' holds no samples; nothing to show", path.display())
            }));
        }
        let events = match session.events(TimeRange::ALL) {
            Ok(events) => events.into(),
            Err(e) => {
                damage = Some(e.to_string());
                Default::default()
            }
        };
        let scene = scene(&header).unwrap_or_else(|problem| {
            damage = Some(problem);
            None
        });
        Ok(Self {
            path: path.to_owned(),
            data: Data {
                channels,
                history,
                events,
                period_s: header.period_nanos as f64 * 1e-9,
                line: scene.as_ref().map(LineMarks::from),
                wire: scene.map(LineData::at_rest),
            },
            header,
            damage,
        })
    }
}

/// The line of the embedded file; what is wrong with it, if it cannot be used.
fn scene(header: &SessionHeader) -> Result<Option<LineScene>, String> {
    let text = header.files.get("line.ron");
    text.map(|text| LineScene::from_text(text, "line.ron of the recording"))
        .transpose()
        .map_err(|e| e.to_string())
}

/// A recording that is being read.
pub struct Loading {
    /// Its file.
    pub path: PathBuf,
    frames: Arc<AtomicU64>,
    answer: mpsc::Receiver<Result<Recorded, String>>,
}

impl Loading {
    /// Begins to read; `wake` is called at the end.
    pub fn begin(
        path: PathBuf,
        budget_bytes: usize,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let (tell, answer) = mpsc::channel();
        let frames = Arc::new(AtomicU64::new(0));
        let (count, file) = (Arc::clone(&frames), path.clone());
        std::thread::Builder::new()
            .name("pantobench-load".into())
            .spawn(move || {
                // A window that is gone by now has nobody to tell.
                let _ = tell.send(Recorded::load(&file, budget_bytes, &count));
                wake();
            })
            .map_err(|e| format!("the recording cannot be read: no thread ({e})"))?;
        Ok(Self {
            path,
            frames,
            answer,
        })
    }

    /// Frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// The recording, as soon as it is there.
    pub fn poll(&self) -> Option<Result<Recorded, String>> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Some(Err("the recording could not be read".into()))
            }
        }
    }
}
