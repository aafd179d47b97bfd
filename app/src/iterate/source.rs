//! What is validated: a session, which is run and recorded first, or a recording, which carries everything.

use super::loop_run::{self, Pace, Recorded};
use super::passage::Passage;
use super::way::{Way, bench};
use super::{IterateError, News, Settings};
use crate::home;
use crate::recording;
use crate::replay::embedded::Embedded;
use crate::session::LoadedSession;
use drivers::rig_file::RigFile;
use rt_core::file;
use rt_core::record::header::{SessionHeader, TextMap};
use rt_core::record::reader::{Session, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module's text.
pub enum Source {
    /// A session file.
    File(Box<LoadedSession>),
    /// A recording.
    Recording {
        /// The recording.
        session: Box<Session>,
        /// What it carries, unpacked.
        embedded: Box<Embedded>,
    },
}

/// The hardware-in-the-loop run.
pub struct Hil {
    /// What it did.
    pub passage: Passage,
    /// Its recording.
    pub recording: Option<PathBuf>,
}

impl Source {
    /// Opens a session file (.ron) or a recording (.mcap).
    pub fn open(path: &Path) -> Result<Self, IterateError> {
        let source = if path.extension().is_some_and(|e| e == "ron") {
            Self::File(Box::new(LoadedSession::load(path)?))
        } else {
            let session = Box::new(Session::open(path)?);
            let embedded = Box::new(Embedded::unpack(session.header())?);
            Self::Recording { session, embedded }
        };
        bench(source.loaded())?;
        Ok(source)
    }

    /// The session.
    pub fn loaded(&self) -> &LoadedSession {
        match self {
            Self::File(loaded) => loaded,
            Self::Recording { embedded, .. } => &embedded.loaded,
        }
    }

    /// What a person should know of it.
    pub fn notes(&self) -> &[String] {
        match self {
            Self::File(_) => &[],
            Self::Recording { embedded, .. } => &embedded.notes,
        }
    }

    /// What it is called.
    pub fn title(&self) -> &str {
        &self.loaded().session.title
    }

    /// A name for files: the session file's.
    pub fn name(&self) -> String {
        match self {
            Self::File(loaded) => recording::stem(&loaded.path),
            Self::Recording { session, .. } => {
                let path = session.header().further.get("path_of_session.ron");
                recording::stem(Path::new(path.map_or("session", String::as_str)))
            }
        }
    }

    /// Hardware runs in real time, a simulation does so if asked to.
    pub fn pace(&self, settings: &Settings) -> Result<Pace, IterateError> {
        let rig: RigFile = file::load(&self.loaded().rig_path())?;
        let is_simulated = matches!(rig, RigFile::Simulated(_));
        Ok(if is_simulated && !settings.real_time {
            Pace::Exact
        } else {
            Pace::Real
        })
    }

    /// Where recordings go.
    pub fn directory(&self, settings: &Settings) -> PathBuf {
        let beside = match self {
            Self::File(_) => None,
            Self::Recording { session, .. } => session.path().parent(),
        };
        let beside = beside.map(|dir| {
            if dir.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                dir.to_owned()
            }
        });
        let chosen = settings.record.clone().or(beside);
        chosen.unwrap_or_else(home::recordings_dir)
    }

    /// The hardware-in-the-loop run: made now and recorded, or read.
    #[allow(
        clippy::too_many_arguments,
        reason = "they are what a run needs; used once"
    )]
    pub fn passage(
        &self,
        way: &Way,
        pace: Pace,
        directory: &Path,
        settings: &Settings,
        say: fn(&str),
        tell: &mut (dyn FnMut(News) + Send),
        stop: &AtomicBool,
    ) -> Result<Hil, IterateError> {
        let hil = match self {
            Self::File(loaded) => {
                tell(News::Stage("the hardware-in-the-loop run".into()));
                run_hil(loaded, way, pace, directory, settings, say, tell, stop)?
            }
            Self::Recording { session, embedded } => {
                tell(News::Stage("reading the recording".into()));
                let layout = embedded.layout(session.header())?;
                let mut passage = Passage::for_layout(&layout).ok_or_else(no_line)?;
                for frame in session.frames(TimeRange::ALL) {
                    passage.add(&frame?.frame);
                }
                Hil {
                    passage,
                    recording: Some(session.path().to_owned()),
                }
            }
        };
        let Some((from, to)) = hil.passage.extent() else {
            return Err(IterateError::Unfit(
                "the bench does not run in this recording".into(),
            ));
        };
        // A recording keeps places to the precision of a float.
        if (from - way.from_m).abs() > 0.01 || to < way.evaluated_m().1 {
            return Err(IterateError::Unfit(format!(
                "the run holds the line from {from:.1} to {to:.1} m; expected it from the start of the train at {:.1} m \
                 to the end of the section at {:.1} m: record the whole run, without triggers, and let it end by itself",
                way.from_m, way.to_m
            )));
        }
        Ok(hil)
    }

    /// What the header of a round says on top of what every recording does; gives the words of its name.
    pub fn describe_round(
        &self,
        header: &mut SessionHeader,
        name: &str,
        index: usize,
        part: f64,
        parent: &Option<PathBuf>,
        settings: &Settings,
    ) -> Vec<String> {
        let loaded = self.loaded();
        if let Ok(config) = bench(loaded) {
            header.speed_kmh = Some(config.speed_kmh);
            for (role, path) in [
                ("line.ron", config.line.as_ref()),
                ("specimen.ron", Some(&config.specimen)),
            ] {
                let text = path.map(|path| loaded.base().join(path));
                let text = text.and_then(|p| Some((std::fs::read_to_string(&p).ok()?, p)));
                if let Some((text, path)) = text {
                    recording::embed(header, role, &path, text);
                }
            }
        }
        if let Self::Recording { session, .. } = self {
            let theirs = session.header();
            header.line.clone_from(&theirs.line);
            header.specimen.clone_from(&theirs.specimen);
        } else if let Some(path) = header.further.get("path_of_line.ron") {
            header.line = recording::stem(Path::new(path));
        }
        let further = &mut header.further;
        further.insert(ITERATION.into(), index.to_string());
        further.insert("relaxation".into(), part.to_string());
        further.insert("tolerance_pct".into(), settings.tolerance_pct.to_string());
        further.insert("method".into(), format!("{:?}", settings.method));
        if let Some(parent) = parent
            && let Err(e) = recording::name_parent(further, parent)
        {
            further.insert(
                recording::PARENT.into(),
                format!("{} ({e})", parent.display()),
            );
        }
        let mut words = vec![name.to_owned(), header.line.clone()];
        words.extend(header.speed_kmh.map(|speed| format!("{speed:.0}kmh")));
        words
    }
}

/// Entry of a header: the number of the round.
pub const ITERATION: &str = "iteration";

fn no_line() -> IterateError {
    IterateError::Unfit("the run has no place along a line, no force or no motor position".into())
}

#[allow(
    clippy::too_many_arguments,
    reason = "they are what a run needs; used once"
)]
fn run_hil(
    loaded: &LoadedSession,
    way: &Way,
    pace: Pace,
    directory: &Path,
    settings: &Settings,
    say: fn(&str),
    tell: &mut (dyn FnMut(News) + Send),
    stop: &AtomicBool,
) -> Result<Hil, IterateError> {
    let recorded = Recorded {
        directory,
        presence: &settings.presence,
        remarks: &settings.remarks,
        describe: &|_| None,
    };
    let mut passage = None;
    let expected = (way.cycles() as f64).max(1.0);
    let finished = loop_run::run(
        loaded,
        pace,
        &recorded,
        say,
        |layout| {
            let passage = passage.insert(Passage::for_layout(layout).ok_or_else(no_line)?);
            Ok(|frame: &_| {
                passage.add(frame);
                let done = passage.force().len() - passage.start().min(passage.force().len());
                if done % 100 == 1 {
                    tell(News::Part(done as f64 / expected));
                }
            })
        },
        stop,
    )?;
    let judged = finished.judge("the hardware-in-the-loop run", stop);
    let (reason, summary) = recording::summary(&finished.outcome, None, &finished.layout);
    let recording = finish(finished.recording, &reason, summary)?;
    judged?;
    let passage = passage.ok_or_else(no_line)?;
    Ok(Hil { passage, recording })
}

/// Ends a recording; where its file is.
pub fn finish(
    recording: Option<recording::Recording>,
    reason: &str,
    summary: TextMap,
) -> Result<Option<PathBuf>, IterateError> {
    let Some(recording) = recording else {
        return Ok(None);
    };
    let recorded = recording.finish(reason, summary);
    match recorded.problem {
        Some(problem) => Err(IterateError::Recording(problem)),
        None => Ok(recorded.paths.last().cloned()),
    }
}

/// A directory for profiles that goes when it is dropped; recordings carry what was in it.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it.
    pub fn new() -> Result<Self, IterateError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pantobench-iterate-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|source| IterateError::Disk {
            path: path.clone(),
            source,
        })?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
