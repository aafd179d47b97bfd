//! Session files: which bench runs on which rig, with which settings and for how long.

use crate::event_record;
use drivers::simulated::Injection;
use rt_core::bench::BenchConfig;
use rt_core::file::{
    self, FieldError, FileContent, FileError, require_not_negative, require_within,
};
use rt_core::guard::Limit;
use rt_core::param::{self, ParamError, ParamSet};
use rt_core::record::trigger::{Trigger, TriggerSetup};
use rt_core::rt_env::RtRequest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A session as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// What a person calls it.
    pub title: String,
    /// The bench with its settings.
    pub bench: BenchConfig,
    /// Path of the rig file, relative to this file.
    pub rig: String,
    /// Lift on the simulated pantograph's lowest mass, in N, in place of the rig file's.
    #[serde(default)]
    pub uplift_n: Option<f64>,
    /// How long the bench runs, in s; `None`: until it is stopped or has finished.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// The loop's period in µs; `None`: the one that the bench is made for.
    #[serde(default)]
    pub period_us: Option<f64>,
    /// Statistics leave out this much of the beginning of the run, in s.
    #[serde(default)]
    pub statistics_from_s: f64,
    /// Parameters that start at another value than their default.
    #[serde(default)]
    pub params: BTreeMap<String, f64>,
    /// Parameters that change while the bench runs.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Limits beside the rig's, which they can only tighten, and in place of those of the bench that they restate.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// Missed deadlines in a row that cause a controlled stop.
    #[serde(default = "default_max_misses")]
    pub max_misses: u32,
    /// SCHED_FIFO priority of the loop, 1 to 99.
    #[serde(default = "default_priority")]
    pub priority: u8,
    /// Processor that the loop stays on; `None`: any.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// Faults that a simulated rig shows.
    #[serde(default)]
    pub inject: Vec<Injection>,
    /// Recordings hold what happens around triggers; `None`: the whole run.
    #[serde(default)]
    pub record: Option<TriggerSetup>,
}

/// Parameters that change at a time of the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When, in s of running.
    pub after_s: f64,
    /// Which, and their new values.
    pub params: BTreeMap<String, f64>,
    /// Whether they are applied even if the model says that the loop is unstable or too close to it.
    #[serde(default)]
    pub insist: bool,
}

fn default_priority() -> u8 {
    RtRequest::default().priority
}

fn default_max_misses() -> u32 {
    10
}

impl Session {
    /// The bench's parameters at their start values.
    pub fn start_params(&self) -> Result<ParamSet, ParamError> {
        let mut params = ParamSet::new(self.bench.spec().params);
        for (id, value) in self.bench.start_values() {
            params.preset(id, value)?;
        }
        for (id, &value) in &self.params {
            params.preset(id, value)?;
        }
        Ok(params)
    }
}

impl FileContent for Session {
    const KIND: &'static str = "session file";

    fn check(&self) -> Result<(), FieldError> {
        if let Some(seconds) = self.seconds {
            require_within("seconds", seconds, 0.01, 7.0 * 24.0 * 3600.0, "s")?;
        }
        if let Some(uplift) = self.uplift_n {
            require_within("uplift_n", uplift, -1000.0, 1000.0, "N")?;
        }
        if let Some(period) = self.period_us {
            require_within("period_us", period, 50.0, 1e6, "µs")?;
        }
        require_not_negative("statistics_from_s", self.statistics_from_s, "s")?;
        require_within("max_misses", f64::from(self.max_misses), 1.0, 1e6, "")?;
        require_within("priority", f64::from(self.priority), 1.0, 99.0, "")?;
        let specs = self.bench.spec().params;
        let check_params = |params: &BTreeMap<String, f64>| {
            for (id, &value) in params {
                param::find(specs, id)
                    .and_then(|index| specs[index].check(value))
                    .map_err(|e| FieldError::new("params", e.to_string()))?;
            }
            Ok(())
        };
        check_params(&self.params)?;
        for (i, change) in self.changes.iter().enumerate() {
            let within = |e: FieldError| e.within(&format!("changes[{i}]"));
            require_not_negative("after_s", change.after_s, "s").map_err(within)?;
            check_params(&change.params).map_err(within)?;
        }
        for (i, limit) in self.limits.iter().enumerate() {
            limit
                .check()
                .map_err(|e| e.within(&format!("limits[{i}]")))?;
        }
        for (i, injection) in self.inject.iter().enumerate() {
            injection
                .check()
                .map_err(|e| e.within(&format!("inject[{i}]")))?;
        }
        if let Some(record) = &self.record {
            check_triggers(record).map_err(|e| e.within("record"))?;
        }
        Ok(())
    }
}

/// Channels are looked for when the rig is known.
fn check_triggers(record: &TriggerSetup) -> Result<(), FieldError> {
    record.check()?;
    if record.triggers.is_empty() {
        return Err(FieldError::new(
            "triggers",
            "are none; expected at least one: leave 'record' out to record the whole run",
        ));
    }
    for (i, trigger) in record.triggers.iter().enumerate() {
        if let Trigger::Event { kind } = trigger
            && !event_record::KINDS.contains(&kind.as_str())
        {
            let known = event_record::KINDS.join(", ");
            return Err(FieldError::new(
                format!("triggers[{i}].kind"),
                format!("is '{kind}'; expected one of: {known}"),
            ));
        }
    }
    Ok(())
}

/// A session and where it came from: paths in it are relative to that place.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSession {
    /// The session.
    pub session: Session,
    /// Its file.
    pub path: PathBuf,
}

impl LoadedSession {
    /// Reads and checks a session file.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Ok(Self {
            session: file::load(path)?,
            path: path.to_owned(),
        })
    }

    /// The directory that paths in the session are relative to.
    pub fn base(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Where the rig file is.
    pub fn rig_path(&self) -> PathBuf {
        self.base().join(&self.session.rig)
    }

    /// The rig file's name without directory and extension.
    pub fn rig_name(&self) -> String {
        let stem = Path::new(&self.session.rig).file_stem();
        stem.map_or_else(
            || self.session.rig.clone(),
            |s| s.to_string_lossy().into_owned(),
        )
    }

    /// The loop's period in nanoseconds.
    pub fn period_nanos(&self) -> u64 {
        let micros = self
            .session
            .period_us
            .unwrap_or(self.session.bench.spec().period_s * 1e6);
        (micros * 1e3).round() as u64
    }
}
