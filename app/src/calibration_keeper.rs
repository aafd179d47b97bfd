//! Reads and keeps calibrations in a thread of its own, so that a slow disk never holds up the window.

use drivers::rig_file;
use rt_core::calibration::Calibration;
use rt_core::calibration::store::{self, Library};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

/// What came of it.
pub struct Answer {
    /// All calibrations that the rig can use, or why they cannot be read.
    pub library: Result<Library, String>,
    /// The calibration that was to be kept, and whether it was.
    pub kept: Option<(Box<Calibration>, Result<PathBuf, String>)>,
}

/// See the module's text.
pub struct Keeper {
    rig: PathBuf,
    own: PathBuf,
    answer: Option<Receiver<Answer>>,
}

impl Keeper {
    /// For the load cells of a rig file; new calibrations go to the directory `own`.
    pub fn new(rig: PathBuf, own: PathBuf) -> Self {
        Self {
            rig,
            own,
            answer: None,
        }
    }

    /// Whether an answer is awaited.
    pub fn is_busy(&self) -> bool {
        self.answer.is_some()
    }

    /// Keeps a calibration, if there is one, and reads all of them. `wake` is called when that is done.
    pub fn begin(
        &mut self,
        keep: Option<Box<Calibration>>,
        wake: impl FnOnce() + Send + 'static,
    ) -> Result<(), String> {
        let (tell, answer) = mpsc::channel();
        let (rig, own) = (self.rig.clone(), self.own.clone());
        let work = move || {
            let kept = keep.map(|calibration| {
                let saved = store::save(&own, &calibration).map_err(|e| e.to_string());
                (calibration, saved)
            });
            let found = rig_file::find_cells(&rig, Some(&own));
            let library = found.map(|f| f.library).map_err(|e| e.to_string());
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(Answer { library, kept });
            wake();
        };
        std::thread::Builder::new()
            .name("pantobench-calibrations".into())
            .spawn(work)
            .map_err(|e| format!("no thread for the calibrations: {e}"))?;
        self.answer = Some(answer);
        Ok(())
    }

    /// The answer, once it is there.
    pub fn poll(&mut self) -> Option<Answer> {
        match self.answer.as_ref()?.try_recv() {
            Ok(answer) => {
                self.answer = None;
                Some(answer)
            }
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                self.answer = None;
                let library =
                    Err("the calibrations could not be read: the thread has ended".into());
                Some(Answer {
                    library,
                    kept: None,
                })
            }
        }
    }
}
