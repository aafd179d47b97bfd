//! What is done with recordings behind the window: compared, computed again, run otherwise. One thread a study; the answer
//! is a sentence, and a comparison to be shown.

use crate::cli::session::replay::verdict;
use crate::comparison::{self, Compared, Request};
use crate::replay::recompute::{Recomputed, recompute};
use crate::replay::what_if::{Alterations, what_if};
use rt_core::record::reader::Session;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Study {
    /// Recordings against the first of them.
    Compare(Vec<PathBuf>, Request),
    /// A recording computed again from its own measurements.
    Recompute(PathBuf),
    /// A recording run again with other parameters, and compared with the original.
    WhatIf(PathBuf, Alterations),
}

/// What came of it.
pub struct Finding {
    /// What a person should know.
    pub sentence: Option<String>,
    /// A comparison, with the recordings that it is about.
    pub compared: Option<(Vec<PathBuf>, Box<Compared>)>,
}

/// A study under way.
pub struct Studying {
    /// What is done, in words.
    pub what: String,
    stop: Arc<AtomicBool>,
    answer: mpsc::Receiver<Finding>,
}

fn open(path: &Path) -> Result<Session, String> {
    Session::open(path).map_err(|e| e.to_string())
}

fn compare(paths: Vec<PathBuf>, request: &Request) -> Result<Finding, String> {
    let sessions: Vec<Session> = paths.iter().map(|p| open(p)).collect::<Result<_, _>>()?;
    let compared = comparison::compare(&sessions, request).map_err(|e| e.to_string())?;
    Ok(Finding {
        sentence: None,
        compared: Some((paths, Box::new(compared))),
    })
}

/// The result of a recomputation in a sentence.
fn sentence(found: &Recomputed) -> String {
    if found.is_identical() {
        let given = match found.given {
            0 => String::new(),
            n => format!(" ({n} at the beginning are only where it starts from)"),
        };
        return format!(
            "✔ computed again: all {} frames are identical to the last bit{given}",
            found.equal
        );
    }
    let proven = format!("{} of {} frames are identical", found.equal, found.frames);
    format!("✖ {proven}: {}", verdict(found))
}

fn run(study: Study, stop: &AtomicBool) -> Result<Finding, String> {
    match study {
        Study::Compare(paths, request) => compare(paths, &request),
        Study::Recompute(path) => {
            let session = open(&path)?;
            let mut go_on = |_| !stop.load(Ordering::Relaxed);
            let found = recompute(&session, &mut go_on).map_err(|e| e.to_string())?;
            Ok(Finding {
                sentence: Some(sentence(&found)),
                compared: None,
            })
        }
        Study::WhatIf(path, alterations) => {
            let session = open(&path)?;
            let found = what_if(&session, &alterations, |_| {}, stop).map_err(|e| e.to_string())?;
            let recording = found.recording.ok_or("the new run was not recorded")?;
            let child = recording.paths.last().cloned().ok_or_else(|| {
                let problem = recording.problem.unwrap_or_default();
                format!("the new run could not be recorded: {problem}")
            })?;
            let mut finding = compare(vec![path, child], &Request::default())?;
            finding.sentence = Some(format!("run again with {}", alterations.words()));
            Ok(finding)
        }
    }
}

impl Studying {
    /// Begins; `wake` is called at the end.
    pub fn begin(study: Study, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let what = match &study {
            Study::Compare(paths, _) => format!("comparing {} recordings", paths.len()),
            Study::Recompute(_) => "computing the recording again".to_owned(),
            Study::WhatIf(_, alterations) => format!("running again with {}", alterations.words()),
        };
        let (tell, answer) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let finding = run(study, &stopped).unwrap_or_else(|problem| Finding {
                sentence: Some(problem),
                compared: None,
            });
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(finding);
            wake();
        };
        std::thread::Builder::new()
            .name("pantobench-study".into())
            .spawn(work)
            .map_err(|e| format!("no thread for this: {e}"))?;
        Ok(Self { what, stop, answer })
    }

    /// What came of it, once it is done.
    pub fn poll(&self) -> Option<Finding> {
        match self.answer.try_recv() {
            Ok(finding) => Some(finding),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => Some(Finding {
                sentence: Some("it came to no result: its thread has ended".into()),
                compared: None,
            }),
        }
    }

    /// Gives it up.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Studying {
    fn drop(&mut self) {
        self.stop();
    }
}
