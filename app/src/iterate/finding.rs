//! What iterative validation finds: how the rounds went, the reference, and how far the run is from it.

use super::implicit;
use super::loop_run::Finished;
use super::source::{Hil, Source, finish};
use super::way::{Way, bench};
use super::{IterateError, Settings};
use crate::recording;
use crate::session::LoadedSession;
use rt_core::rig::PlayedBand;
use rt_core::signal::band::Band;
use rt_core::signal::comparison::{Comparison, Series};
use rt_core::signal::contact_force::ForceFilter;
use rt_core::signal::statistics::ForceStatistics;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The force no longer changes.
    Converged,
    /// It still changes after the last round that was allowed.
    NotYet,
    /// It gets worse, with the reason.
    Diverged(String),
    /// A person stopped it.
    Stopped,
}

impl Verdict {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Converged => "converged".into(),
            Self::NotYet => "not converged: the force still changes after the last round".into(),
            Self::Diverged(why) => format!("diverged: {why}"),
            Self::Stopped => "stopped before it converged".into(),
        }
    }
}

/// One round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundResult {
    /// Its number, from 1.
    pub index: usize,
    /// Change of the 20 Hz force from the round before (from the run in the first), in % of its mean.
    pub change_pct: f64,
    /// Part of the step that it went.
    pub relaxation: f64,
    /// Mean and standard deviation of the 20 Hz force, in N.
    pub mean_n: f64,
    /// Standard deviation, in N.
    pub std_n: f64,
    /// How far the motor was from the heights in the played band, root mean square in m.
    pub motor_error_m: f64,
    /// Its recording.
    pub recording: Option<PathBuf>,
}

/// Error indices of a force against a reference over the evaluated spans, in % of its mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// 0–20 Hz, in time.
    pub filtered_pct: f64,
    /// Each band: in time, by its filter, and in frequency, by the spectrum of the difference.
    pub bands: Vec<(Band, f64, f64)>,
}

impl From<&Comparison> for Errors {
    fn from(c: &Comparison) -> Self {
        let bands: Vec<_> = c
            .bands
            .iter()
            .map(|b| (b.band, b.by_filter_percent, b.by_spectrum_percent))
            .collect();
        Self {
            filtered_pct: bands.first().map_or(f64::NAN, |b| b.1),
            bands,
        }
    }
}

impl Errors {
    fn to_json(&self) -> Value {
        let bands: Vec<Value> = self
            .bands
            .iter()
            .map(|(band, time, frequency)| {
                json!({ "low_hz": band.low_hz, "high_hz": band.high_hz, "time_pct": time, "frequency_pct": frequency })
            })
            .collect();
        json!({ "filtered_pct": self.filtered_pct, "bands": bands })
    }
}

/// A force along the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Force {
    /// At the pad, filter and delay taken back, in N; one a cycle.
    pub raw: Vec<f64>,
    /// The same through the standard's 20 Hz filter.
    pub filtered: Vec<f64>,
}

impl Force {
    fn of(raw: Vec<f64>, way: &Way) -> Result<Self, IterateError> {
        let filtered = ForceFilter::default().zero_phase(&raw, 1.0 / way.period_s)?;
        Ok(Self {
            filtered: filtered.values,
            raw,
        })
    }

    fn statistics(&self, way: &Way, places: &[f64]) -> Option<ForceStatistics> {
        let (from, to) = way.evaluated_m();
        let end = places.partition_point(|x| *x <= to);
        let begin = places.partition_point(|x| *x < from).min(end);
        ForceStatistics::of(self.filtered.get(begin..end)?)
    }
}

/// Everything that is found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How it ended.
    pub verdict: Verdict,
    /// What is called converged, in %.
    pub tolerance_pct: f64,
    /// The rounds.
    pub rounds: Vec<RoundResult>,
    /// What was validated.
    pub title: String,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Frequencies that were played.
    pub band: PlayedBand,
    /// k_i of the run, in N/m.
    pub interaction_stiffness_n_per_m: f64,
    /// Places of the forces, in m.
    pub places_m: Vec<f64>,
    /// Evaluated places, from and to, in m.
    pub evaluated_m: (f64, f64),
    /// The run.
    pub hil: Force,
    /// Its recording.
    pub hil_recording: Option<PathBuf>,
    /// The force of the last round: the reference once converged.
    pub reference: Force,
    /// The run against the reference.
    pub error_hil: Option<Errors>,
    /// The reference against the coupled solution of the same simulated pantograph, pad only; `None` for hardware.
    pub error_vs_implicit: Option<Errors>,
    /// The run against the coupled solution with the interaction spring: what controller and delays do.
    pub error_hil_vs_implicit: Option<Errors>,
    /// The coupled solution with the interaction spring against the one without: what the spring does.
    pub spring_share: Option<Errors>,
}

impl Finding {
    /// Whether the force no longer changes.
    pub fn has_converged(&self) -> bool {
        self.verdict == Verdict::Converged
    }

    /// The object of `--json`.
    pub fn to_json(&self) -> Value {
        let rounds: Vec<Value> = self
            .rounds
            .iter()
            .map(|r| {
                json!({
                    "index": r.index, "change_pct": r.change_pct, "relaxation": r.relaxation, "mean_n": r.mean_n,
                    "std_n": r.std_n, "motor_error_mm": 1e3 * r.motor_error_m, "recording": r.recording,
                })
            })
            .collect();
        let pct = |errors: &Option<Errors>| errors.as_ref().map(|e| e.filtered_pct);
        let all = |errors: &Option<Errors>| errors.as_ref().map(Errors::to_json);
        json!({
            "converged": self.has_converged(),
            "verdict": self.verdict.words(),
            "tolerance_pct": self.tolerance_pct,
            "iterations": rounds,
            "error_hil_pct": pct(&self.error_hil),
            "error_vs_implicit_pct": pct(&self.error_vs_implicit),
            "error_hil_vs_implicit_pct": pct(&self.error_hil_vs_implicit),
            "interaction_spring_pct": pct(&self.spring_share),
            "errors": {
                "hil": all(&self.error_hil), "vs_implicit": all(&self.error_vs_implicit),
                "hil_vs_implicit": all(&self.error_hil_vs_implicit), "interaction_spring": all(&self.spring_share),
            },
            "title": self.title,
            "speed_kmh": self.speed_kmh,
            "k_i": self.interaction_stiffness_n_per_m,
            "played_hz": [self.band.pass_hz, self.band.stop_hz],
            "recording": self.hil_recording,
        })
    }
}

impl Finding {
    /// Where the result stands: beside the recording of the run, as its name with the ending `validation.json`.
    pub fn path(&self) -> Option<PathBuf> {
        let recording = self.hil_recording.as_ref();
        recording.map(|path| path.with_extension("validation.json"))
    }

    /// Writes the result beside the recording of the run, in place of an older one.
    fn save(&self, directory: &Path) -> Result<(), IterateError> {
        let Some(name) = self.path().and_then(|p| Some(p.file_name()?.to_owned())) else {
            return Ok(());
        };
        let path = directory.join(name);
        let part = path.with_extension("part");
        std::fs::write(&part, format!("{:#}\n", self.to_json()))
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|source| IterateError::Disk { path, source })
    }
}

/// What is gathered from round to round.
pub struct Gathered<'a> {
    settings: &'a Settings,
    loaded: &'a LoadedSession,
    title: String,
    directory: PathBuf,
    places: Vec<f64>,
    hil: Vec<f64>,
    hil_recording: Option<PathBuf>,
    rounds: Vec<RoundResult>,
    force: Vec<f64>,
}

impl<'a> Gathered<'a> {
    /// Begins with the force of the run, one a cycle.
    pub fn new(
        settings: &'a Settings,
        source: &'a Source,
        way: &Way,
        hil: &Hil,
        force: Vec<f64>,
    ) -> Self {
        Self {
            settings,
            loaded: source.loaded(),
            title: source.title().to_owned(),
            directory: source.directory(settings),
            places: way.places(),
            hil: force.clone(),
            hil_recording: hil.recording.clone(),
            rounds: Vec::new(),
            force,
        }
    }

    /// The force of a round in place of the one before. Heights and positions are in steps of the line.
    pub fn add(
        &mut self,
        way: &Way,
        index: usize,
        part: f64,
        force: Vec<f64>,
        heights: &[f64],
        positions: &[f64],
    ) -> Result<RoundResult, IterateError> {
        let change = Errors::from(&way.compare(&force, &self.force)?);
        let force = Force::of(force, way)?;
        let statistics = force.statistics(way, &self.places);
        self.force = force.raw;
        let squares: f64 = heights
            .iter()
            .zip(positions)
            .map(|(z, u)| (z - u).powi(2))
            .sum();
        Ok(RoundResult {
            index,
            change_pct: change.filtered_pct,
            relaxation: part,
            mean_n: statistics.map_or(f64::NAN, |s| s.mean),
            std_n: statistics.map_or(f64::NAN, |s| s.standard_deviation),
            motor_error_m: (squares / heights.len().max(1) as f64).sqrt(),
            recording: None,
        })
    }

    /// Ends the recording of a round with what it found, and keeps both.
    pub fn keep_round(
        &mut self,
        finished: Finished,
        mut round: RoundResult,
        has_converged: bool,
    ) -> RoundResult {
        let result = json!({
            "mean_n": round.mean_n, "std_n": round.std_n, "change_pct": round.change_pct, "converged": has_converged,
        });
        round.recording = self.keep(finished, Some(&result));
        self.rounds.push(round.clone());
        round
    }

    /// Ends the recording of a round.
    pub fn keep(&mut self, finished: Finished, result: Option<&Value>) -> Option<PathBuf> {
        let (reason, mut summary) = recording::summary(&finished.outcome, result, &finished.layout);
        for key in ["change_pct", "converged"] {
            if let Some(value) = result.map(|r| &r[key]) {
                summary.insert(key.into(), value.to_string());
            }
        }
        finish(finished.recording, &reason, summary).ok().flatten()
    }

    /// Compares what has been gathered.
    pub fn end(self, way: &Way, verdict: Verdict) -> Result<Finding, IterateError> {
        let params = self.loaded.session.start_params();
        let params = params.map_err(|e| IterateError::Unfit(e.to_string()))?;
        let k_i = rt_core::param::find(params.specs(), "k_i").map(|index| params.get(index));
        let k_i = k_i.map_err(|e| IterateError::Unfit(e.to_string()))?;
        let has_rounds = !self.rounds.is_empty();
        let error_hil = has_rounds
            .then(|| way.compare(&self.hil, &self.force))
            .transpose()?;
        let implicit = if has_rounds && verdict != Verdict::Stopped {
            implicit::solve(self.loaded, way)?
        } else {
            None
        };
        let own = |forces| Series {
            places_m: &self.places,
            forces,
            sample_rate_hz: 1.0 / way.period_s,
        };
        let mut errors = [None, None, None];
        if let Some(implicit) = &implicit {
            let [pad, spring] = [&implicit.pad, &implicit.with_spring].map(|s| Series {
                places_m: &s.x,
                forces: &s.force,
                sample_rate_hz: 1.0 / s.dt,
            });
            for (error, (record, reference)) in errors.iter_mut().zip([
                (own(&self.force), pad),
                (own(&self.hil), spring),
                (spring, pad),
            ]) {
                *error = Some(Errors::from(&way.compare_series(&record, &reference)?));
            }
        }
        let [error_vs_implicit, error_hil_vs_implicit, spring_share] = errors;
        let finding = Finding {
            verdict,
            tolerance_pct: self.settings.tolerance_pct,
            band: self.settings.band,
            title: self.title,
            speed_kmh: bench(self.loaded)?.speed_kmh,
            interaction_stiffness_n_per_m: k_i,
            evaluated_m: way.evaluated_m(),
            hil: Force::of(self.hil, way)?,
            hil_recording: self.hil_recording,
            reference: if has_rounds {
                Force::of(self.force, way)?
            } else {
                Force::default()
            },
            rounds: self.rounds,
            places_m: self.places,
            error_hil: error_hil.as_ref().map(Errors::from),
            error_vs_implicit,
            error_hil_vs_implicit,
            spring_share,
        };
        finding.save(&self.directory)?;
        Ok(finding)
    }
}
