//! Iterative validation behind the window: a thread of its own, what it has told so far, and the way to stop it.

use crate::iterate::{self, Finding, News, RoundResult, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// What the thread tells.
enum Told {
    News(News),
    End(Box<Result<Finding, String>>),
}

/// A validation under way, or over.
pub struct Validating {
    /// The recording.
    pub path: PathBuf,
    /// What is called converged, in %.
    pub tolerance_pct: f64,
    /// What is being done, and the finished part of it.
    pub stage: (String, f64),
    /// Rounds that are over.
    pub rounds: Vec<RoundResult>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The result, or why there is none.
    pub end: Option<Result<Finding, String>>,
    stop: Arc<AtomicBool>,
    told: mpsc::Receiver<Told>,
}

impl Validating {
    /// Begins with a recording; `wake` is called when there is something new to draw.
    pub fn begin(
        path: &Path,
        settings: Settings,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let (tell, told) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let own = Self {
            path: path.to_owned(),
            tolerance_pct: settings.tolerance_pct,
            stage: ("beginning".into(), 0.0),
            rounds: Vec::new(),
            notes: Vec::new(),
            end: None,
            stop: Arc::clone(&stop),
            told,
        };
        let path = path.to_owned();
        let work = move || {
            // A window that is gone by now has nobody to tell.
            let mut hear = |news| {
                let _ = tell.send(Told::News(news));
                wake();
            };
            let found = match iterate::is_simulated(&path) {
                Ok(true) => iterate::run(&path, &settings, |_| (), &mut hear, &stop),
                Ok(false) => Err(iterate::IterateError::Unfit(
                    "this window's bench holds the rig; close the window and use pantobench iterate on this recording"
                        .into(),
                )),
                Err(e) => Err(e),
            };
            let _ = tell.send(Told::End(Box::new(found.map_err(|e| e.to_string()))));
            wake();
        };
        std::thread::Builder::new()
            .name("pantobench-validate".into())
            .spawn(work)
            .map_err(|e| format!("no thread for the validation: {e}"))?;
        Ok(own)
    }

    /// Takes in what was told; `true` when it has just ended.
    pub fn poll(&mut self) -> bool {
        let was_over = self.end.is_some();
        loop {
            match self.told.try_recv() {
                Ok(Told::News(News::Stage(what))) => self.stage = (what, 0.0),
                Ok(Told::News(News::Part(part))) => self.stage.1 = part,
                Ok(Told::News(News::Round(round))) => self.rounds.push(round),
                Ok(Told::News(News::Note(note))) => self.notes.push(note),
                Ok(Told::End(end)) => self.end = Some(*end),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => {
                    let gone = || Err("it came to no result: its thread has ended".into());
                    self.end.get_or_insert_with(gone);
                    break;
                }
            }
        }
        !was_over && self.end.is_some()
    }

    /// Stops it in a controlled way; what was recorded is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Validating {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Validations for tests of the window, without a thread.
#[cfg(test)]
pub mod sample {
    use super::*;
    use crate::iterate::{Errors, Force, Verdict};
    use rt_core::rig::PlayedBand;
    use rt_core::signal::band::Band;

    /// Two rounds are over, and the end is as given.
    pub fn validating(end: Option<Result<Finding, String>>) -> Validating {
        let (_, told) = mpsc::channel();
        let round = |index, change_pct| RoundResult {
            index,
            change_pct,
            relaxation: 1.0,
            mean_n: 123.5,
            std_n: 11.1,
            motor_error_m: 7e-5,
            recording: None,
        };
        Validating {
            path: "run.mcap".into(),
            tolerance_pct: 0.5,
            stage: ("round 3: the line under the force".into(), 0.4),
            rounds: vec![round(1, 4.0), round(2, 0.8)],
            notes: Vec::new(),
            end,
            stop: Arc::default(),
            told,
        }
    }

    /// Whether it was asked to stop.
    pub fn is_stopping(validating: &Validating) -> bool {
        validating.stop.load(Ordering::Relaxed)
    }

    /// A result with forces along two spans.
    pub fn finding(verdict: Verdict) -> Finding {
        let places_m: Vec<f64> = (0..900).map(|i| 300.0 + 0.14 * f64::from(i)).collect();
        let force = |phase: f64| {
            let wave = |x: &f64| 120.0 + 25.0 * (x / 10.0 + phase).sin();
            let raw: Vec<f64> = places_m.iter().map(wave).collect();
            Force {
                filtered: raw.clone(),
                raw,
            }
        };
        let errors = |pct: f64| Errors {
            filtered_pct: pct,
            bands: vec![(Band::STANDARD, pct, 1.1 * pct), (Band::SPANS, 0.3, 0.3)],
        };
        Finding {
            verdict,
            tolerance_pct: 0.5,
            rounds: validating(None).rounds.clone(),
            title: "sample".into(),
            speed_kmh: 250.0,
            band: PlayedBand::up_to(20.0),
            interaction_stiffness_n_per_m: 100e3,
            evaluated_m: (310.0, 420.0),
            hil: force(0.1),
            hil_recording: None,
            reference: force(0.0),
            error_hil: Some(errors(4.45)),
            error_vs_implicit: Some(errors(0.13)),
            error_hil_vs_implicit: None,
            spring_share: None,
            places_m,
        }
    }
}
