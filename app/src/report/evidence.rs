//! What a recording shows: everything that a report states, computed from its frames and from the files that it carries.

pub mod force;
pub mod sensor;
pub mod timing;

use crate::comparison::track::name_of;
use crate::hil_result::HilSamples;
use crate::home;
use crate::provenance::FileHashes;
use crate::replay::embedded::Embedded;
use crate::steady_result::SteadySamples;
use drivers::rig_file;
use force::ForceEvidence;
use rt_core::bench::{BuildContext, Prospect};
use rt_core::record::check::SessionInfo;
use rt_core::record::error::RecordError;
use rt_core::record::event::EventRecord;
use rt_core::record::header::{SessionEnd, SessionHeader};
use rt_core::record::reader::{Session, TimeRange};
use sensor::SensorEvidence;
use serde_json::Value;
use std::path::Path;
use timing::TimingEvidence;

/// See the module's text. What could not be found out says why.
pub struct Evidence {
    /// Name of the file without directory and ending.
    pub name: String,
    /// Hashes of the file: the same recording has the same.
    pub hashes: FileHashes,
    /// What the recording says about itself.
    pub header: SessionHeader,
    /// How it ended; `None` if it was cut off.
    pub end: Option<SessionEnd>,
    /// What the file holds.
    pub info: SessionInfo,
    /// What happened.
    pub events: Vec<EventRecord>,
    /// What of the file cannot be read, in words.
    pub damage: Vec<String>,
    /// The contact force.
    pub force: Result<ForceEvidence, String>,
    /// The motor's error in mm against the places or times of the force, in the evaluated stretch.
    pub tracking: Option<TrackingEvidence>,
    /// How punctual the loop was.
    pub timing: TimingEvidence,
    /// What is known of the force's sensor.
    pub sensor: SensorEvidence,
    /// What the model says of the parameters at the start: spectral radius and margins.
    pub prospect: Result<Prospect, String>,
    /// The bench's own result: against the implicit reference if asked for, the steady state of that bench.
    pub result: Result<Value, String>,
}

/// Whatever is known of the motor following its reference.
pub struct TrackingEvidence {
    /// Places or times.
    pub positions: Vec<f64>,
    /// Errors in mm.
    pub values_mm: Vec<f64>,
    /// Mean, deviation and largest size in the evaluated stretch, in mm.
    pub mean_std_max: Option<(f64, f64, f64)>,
}

impl Evidence {
    /// Reads a recording. Only a file that cannot be opened at all is an error.
    pub fn of(path: &Path, against_implicit: bool) -> Result<Self, RecordError> {
        let session = Session::open(path)?;
        let hashes = FileHashes::of(path).map_err(|source| RecordError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        let header = session.header().clone();
        let mut damage = Vec::new();
        let events = session.events(TimeRange::ALL).unwrap_or_else(|e| {
            damage.push(format!("events: {e}"));
            Vec::new()
        });
        for problem in session.frames(TimeRange::ALL).filter_map(Result::err) {
            damage.push(problem.to_string());
        }
        let embedded = Embedded::unpack(&header).map_err(|e| e.to_string());
        let unpacked = embedded.as_ref().map_err(Clone::clone);
        let force = ForceEvidence::of(&session);
        let tracking = force
            .as_ref()
            .ok()
            .and_then(|f| TrackingEvidence::of(&session, f));
        Ok(Self {
            name: name_of(path),
            hashes,
            end: session.end().cloned(),
            info: session.info(),
            timing: TimingEvidence::of(&session),
            sensor: SensorEvidence::of(&header, &events),
            prospect: unpacked.clone().and_then(judge),
            result: unpacked.and_then(|e| result(&session, e, against_implicit)),
            header,
            events,
            damage,
            force,
            tracking,
        })
    }

    /// What the result of the run said when it was recorded.
    pub fn stated(&self, key: &str) -> Option<f64> {
        let end = self.end.as_ref()?;
        end.result.get(key)?.parse().ok()
    }

    /// Limits of the bench that the session had widened, in words.
    pub fn widened(&self) -> Vec<String> {
        crate::widened::of_recording(&self.header, &self.events)
    }

    /// How a fault ended the run, in words; `None` if none did.
    pub fn trip(&self) -> Option<String> {
        let end = self.end.as_ref();
        if end.is_some_and(|e| e.result.contains_key("trip")) {
            return end.map(|e| e.reason.clone());
        }
        let tripped = self.events.iter().find(|e| {
            e.kind == "trip" || (e.kind == "stopping" && e.word("cause") == Some("fault"))
        });
        tripped.map(|e| format!("at {:.3} s: {}", e.t_nanos as f64 * 1e-9, e.text))
    }
}

impl TrackingEvidence {
    fn of(session: &Session, force: &ForceEvidence) -> Option<Self> {
        const MM: f64 = 1e3;
        let track = force.track(session, "tracking_error").ok()?;
        let values_mm: Vec<f64> = track.values.iter().map(|v| MM * v).collect();
        let part = crate::comparison::track::part(&track.positions, force.stretch);
        let known: Vec<f64> = values_mm[part]
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .collect();
        let n = known.len() as f64;
        let mean = known.iter().sum::<f64>() / n;
        let square = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let most = known.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        Some(Self {
            mean_std_max: (n > 0.0).then(|| (mean, square.sqrt(), most)),
            positions: track.positions,
            values_mm,
        })
    }
}

/// Builds the bench as it was for the sake of its designer; what a start would tell a person was told then.
fn judge(embedded: &Embedded) -> Result<Prospect, String> {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let loaded = &embedded.loaded;
    let period_s = loaded.period_nanos() as f64 * 1e-9;
    let bench = &loaded.session.bench;
    let params = loaded.session.start_params().map_err(|e| words(&e))?;
    let known = rig_file::known_rig(&loaded.rig_path()).map_err(|e| words(&e))?;
    let built = bench
        .build(&mut BuildContext {
            base: loaded.base(),
            period_s,
            params: &params,
            cache: &home::cache_dir(),
            rig: Some(&known),
            notice: &mut |_| (),
        })
        .map_err(|e| words(&e))?;
    let designer = built
        .designer
        .ok_or("this bench has no gains to be judged")?;
    designer.judge(&params, 0.0)
}

/// The bench's own result, computed from the frames as it is at the end of a run.
fn result(session: &Session, embedded: &Embedded, implicit: bool) -> Result<Value, String> {
    let header = session.header();
    let layout = embedded.layout(header).map_err(|e| e.to_string())?;
    let frames = || session.frames(TimeRange::ALL).filter_map(Result::ok);
    let period_s = header.period_nanos as f64 * 1e-9;
    if let Some(mut samples) = SteadySamples::for_layout(&layout) {
        frames().for_each(|f| samples.add(&f.frame));
        return samples.evaluate(&embedded.loaded);
    }
    let Some(mut samples) = HilSamples::for_layout(&layout, period_s).filter(|_| implicit) else {
        return Err("not asked for".into());
    };
    frames().for_each(|f| samples.add(&f.frame));
    samples.evaluate(&embedded.loaded, implicit)
}
