//! The way of a hardware-in-the-loop run and what stands along it: the line that a measured force is applied to
//! offline, the heights that follow, and the records of two forces at the same places.

use super::{IterateError, Method};
use crate::hil_result::evaluated_spans;
use crate::session::LoadedSession;
use drivers::rig_file;
use rt_core::bench::BenchConfig;
use rt_core::bench::pantograph_lqg::PantographLqgConfig;
use rt_core::file;
use rt_core::model::catenary::given_force::{Expected, GivenForce, GivenForceRun};
use rt_core::model::catenary::simulate::RAMP_M;
use rt_core::model::catenary::{FullWire, Line, LinearLine};
use rt_core::model::pantograph::Pantograph;
use rt_core::rig::{KnownRig, PlayedBand};
use rt_core::signal::band::Band;
use rt_core::signal::comparison::{Comparison, ComparisonSettings, Series, compare};
use std::sync::Arc;

/// Longest step of the line, in s; a cycle is divided into equal ones.
const LINE_STEP_S: f64 = 5e-4;

/// Bands of which errors are told, the standard's first.
pub const BANDS: [Band; 4] = [
    Band::STANDARD,
    Band::SPANS,
    Band::DROPPERS,
    Band::new(20.0, 40.0),
];

/// See the module's text.
pub struct Way {
    /// The line.
    pub line: Arc<LinearLine>,
    /// What is known of the rig.
    pub rig: KnownRig,
    /// The pantograph as the bench assumes it.
    pub specimen: Pantograph,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// The span that it begins with, from 1.
    pub start_span: usize,
    /// First and last span that are evaluated, from 1.
    pub spans: (usize, usize),
    /// Beginning and end, in m.
    pub from_m: f64,
    /// End, in m.
    pub to_m: f64,
    /// The loop's period, in s.
    pub period_s: f64,
    /// Steps of the line in a cycle.
    pub finer: usize,
    wire: FullWire,
}

impl Way {
    /// Reads the line, the specimen and what is known of the rig.
    pub fn of(loaded: &LoadedSession, band: PlayedBand) -> Result<Self, IterateError> {
        let config = bench(loaded)?;
        let Some(line) = &config.line else {
            return Err(IterateError::Unfit(
                "a string has no line to apply a force to; choose a session with a line file"
                    .into(),
            ));
        };
        let path = loaded.base().join(line);
        let line: Line = file::load(&path)?;
        let line = Arc::new(LinearLine::build(&line, config.mesh_m)?);
        let spans = line.layout.spans();
        let (first, last) = config.run_spans(spans);
        let supports = &line.layout.supports;
        let (Some(from), Some(to)) = (supports.get(first.wrapping_sub(1)), supports.get(last))
        else {
            return Err(IterateError::Unfit(format!(
                "spans {first} to {last} are run, but the line has spans 1 to {spans}"
            )));
        };
        let period_s = loaded.period_nanos() as f64 * 1e-9;
        let nyquist_hz = 0.5 / period_s;
        if !(band.pass_hz >= 1.0 && band.stop_hz > band.pass_hz && band.stop_hz <= nyquist_hz) {
            return Err(IterateError::Unfit(format!(
                "the played band is {} to {} Hz; expected at least 1 Hz, the end above the beginning, and at most \
                 {nyquist_hz} Hz, half the loop's frequency",
                band.pass_hz, band.stop_hz
            )));
        }
        let spans_run = evaluated_spans(config, spans).map_err(IterateError::Unfit)?;
        // Where the force leaves the wire there is nothing to evaluate.
        let is_whole = |last: &usize| supports.get(*last).is_some_and(|s| s.x <= to.x - RAMP_M);
        let Some(last) = (spans_run.0..=spans_run.1).rev().find(is_whole) else {
            return Err(IterateError::Unfit(format!(
                "of the spans {} to {} none is run with the whole force; let the run go on longer",
                spans_run.0, spans_run.1
            )));
        };
        let finer = (period_s / LINE_STEP_S - 1e-9).ceil().max(1.0) as usize;
        Ok(Self {
            rig: rig_file::known_rig(&loaded.rig_path())?,
            specimen: file::load(&loaded.base().join(&config.specimen))?,
            speed_kmh: config.speed_kmh,
            start_span: first,
            spans: (spans_run.0, last),
            from_m: from.x,
            to_m: to.x,
            period_s,
            finer,
            wire: FullWire::new(line.clone(), period_s / finer as f64)?,
            line,
        })
    }

    /// Cycles from the start to just before the end, where next to nothing of the force reaches the wire: which of the
    /// last two is the end itself is a matter of rounding.
    pub fn cycles(&self) -> usize {
        let speed = self.speed_kmh / 3.6;
        let all = (self.to_m - self.from_m) / (speed * self.period_s);
        (all.floor() as usize).saturating_sub(2)
    }

    /// How much of the force reaches the wire in a step of the line.
    pub fn share(&self, step: usize) -> f64 {
        let dt = self.period_s / self.finer as f64;
        let travelled = self.speed_kmh / 3.6 * dt * step as f64;
        (travelled.min(self.to_m - self.from_m - travelled) / RAMP_M).clamp(0.0, 1.0)
    }

    /// Says if what is played reaches the resonance of the held head on the pad: √((k_pad + k₁)/m₁)/2π.
    pub fn note_on(&self, band: PlayedBand) -> Option<String> {
        let head = self.specimen.masses.first()?;
        let stiffness = self.rig.pad_stiffness_n_per_m + head.stiffness_n_per_m;
        let resonance_hz = (stiffness / head.mass_kg).sqrt() / std::f64::consts::TAU;
        (band.stop_hz > resonance_hz).then(|| {
            format!(
                "up to {} Hz are played, but the held head resonates on the pad at {resonance_hz:.1} Hz: rounds converge \
                 only if the specimen's file is exact there",
                band.stop_hz
            )
        })
    }

    /// Places of the cycles, in m; the first is where the train stands.
    pub fn places(&self) -> Vec<f64> {
        let step = self.speed_kmh / 3.6 * self.period_s;
        (0..=self.cycles())
            .map(|k| self.from_m + step * k as f64)
            .collect()
    }

    /// Where the evaluated spans begin and end, in m.
    pub fn evaluated_m(&self) -> (f64, f64) {
        let at = |i: usize| self.line.layout.supports.get(i).map_or(0.0, |s| s.x);
        (at(self.spans.0.saturating_sub(1)), at(self.spans.1))
    }

    /// The stretch of a fine record that begins at a cycle and is as long as the way.
    pub fn stretch<'a>(&self, record: &'a [f64], start: usize) -> Result<&'a [f64], IterateError> {
        let from = start * self.finer;
        let to = from + self.cycles() * self.finer;
        record.get(from..=to).ok_or_else(|| {
            IterateError::Unfit(format!(
                "the run holds {:.2} s from where the train starts; {:.2} s are needed for the whole section",
                (record.len().saturating_sub(from)) as f64 / self.finer as f64 * self.period_s,
                self.cycles() as f64 * self.period_s
            ))
        })
    }

    /// The wire under a force that was measured at these heights, both in steps of the line.
    pub fn wire_under(
        &mut self,
        method: Method,
        force: &[f64],
        heights: &[f64],
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<GivenForceRun, IterateError> {
        let expected = match method {
            Method::Published => None,
            Method::Expecting => Some(Expected {
                pantograph: &self.specimen,
                stiffness: self.rig.pad_stiffness_n_per_m,
                heights,
            }),
        };
        let given = GivenForce {
            from_m: self.from_m,
            to_m: self.to_m,
            speed_m_per_s: self.speed_kmh / 3.6,
            force,
            expected,
        };
        given
            .run(&self.line, &mut self.wire, go_on)?
            .ok_or(IterateError::Stopped)
    }

    /// How far a force is from another over the evaluated spans, in all and by band; both one a cycle.
    pub fn compare(&self, force: &[f64], reference: &[f64]) -> Result<Comparison, IterateError> {
        let places_m = &self.places();
        let series = |forces| Series {
            places_m,
            forces,
            sample_rate_hz: 1.0 / self.period_s,
        };
        self.compare_series(&series(force), &series(reference))
    }

    /// The same for records with places of their own.
    pub fn compare_series(
        &self,
        record: &Series<'_>,
        reference: &Series<'_>,
    ) -> Result<Comparison, IterateError> {
        let settings = ComparisonSettings {
            bands: BANDS.to_vec(),
            range_m: Some(self.evaluated_m()),
            ..ComparisonSettings::default()
        };
        Ok(compare(record, reference, &settings)?)
    }
}

/// The settings of a bench that runs along a line.
pub fn bench(loaded: &LoadedSession) -> Result<&PantographLqgConfig, IterateError> {
    match &loaded.session.bench {
        BenchConfig::PantographLqg(config) => Ok(config),
        other => Err(IterateError::Unfit(format!(
            "bench '{}' does not run along a line; expected a session or recording of '{}'",
            other.spec().id,
            rt_core::bench::pantograph_lqg::SPEC.id
        ))),
    }
}

/// Every `finer`th value.
pub fn coarse(record: &[f64], finer: usize) -> Vec<f64> {
    record.iter().step_by(finer).copied().collect()
}
