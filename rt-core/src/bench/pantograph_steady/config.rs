//! The settings of the bench in a session file, and what is prepared from them.

use super::design::{SteadyDesign, SteadyDesigner};
use super::force_filter::ForceFilter;
use super::iteration::Mode;
use super::sender::{Between, Sender};
use crate::bench::{BuildContext, BuildError};
use crate::control::assessment::Verdict;
use crate::file::{self, FieldError, require_within};
use crate::model::catenary::{Line, LinearLine};
use crate::model::moving_load::direct::SpanForce;
use crate::model::moving_load::periodic_line::{PeriodicLine, rest_heights, span_length};
use crate::model::moving_load::string::SpanString;
use crate::model::moving_load::{MovingLoad, SpanResponse, harmonics_of};
use crate::model::pantograph::Pantograph;
use crate::model::string_wire::StringWireConfig;
use crate::rig::KnownRig;
use nalgebra::Complex;
use serde::Deserialize;
use std::path::Path;

/// The line above the pantograph.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SteadyWire {
    /// A string on an elastic layer, with the rest height that it is given.
    String(StringWireConfig),
    /// The middle span of a line file, repeated without end, all droppers tight.
    Line {
        /// Path of the line file, relative to the session file.
        file: String,
        /// Longest element, in m.
        #[serde(default = "default_mesh_m")]
        mesh_m: f64,
    },
}

/// The settings of the bench in a session file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PantographSteadyConfig {
    /// The line.
    #[serde(default = "default_wire")]
    pub wire: SteadyWire,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Path of the pantograph file that the bench assumes, relative to the session file.
    pub specimen: String,
    /// How many harmonics of the span are kept, the mean included (N_cut); all up to 25 Hz if left out.
    #[serde(default)]
    pub harmonics: Option<usize>,
    /// When a measured force reaches the wire.
    #[serde(default = "default_mode")]
    pub iteration: Mode,
    /// Of how many heights one is sent to the drive (N_com).
    #[serde(default = "default_send_every")]
    pub send_every: u32,
    /// What the drive is told between two heights.
    #[serde(default = "default_between")]
    pub between: Between,
    /// Samples of the mean that filters the measured force, odd; 1 for none. Its effect on the result is made up for.
    #[serde(default = "default_filter_samples")]
    pub filter_samples: usize,
    /// Stiffness of the contact between head and wire, in N/m; rigid if left out.
    #[serde(default)]
    pub contact_stiffness_n_per_m: Option<f64>,
    /// Whether the motor makes up for the pad that lies between it and the head.
    #[serde(default = "default_true")]
    pub compensate_pad: bool,
    /// Seconds in which the motor glides from the parked position into the motion of the wire.
    #[serde(default = "default_entry_s")]
    pub entry_s: f64,
    /// Two spans agree if they differ by no more than this, in % of the force's deviation: the run then ends.
    /// `None` goes on.
    #[serde(default = "default_agree_pct")]
    pub agree_pct: Option<f64>,
    /// The run ends after this many spans at the latest.
    #[serde(default = "default_most_spans")]
    pub most_spans: u32,
    /// Begins even with parameters that the model says do not converge.
    #[serde(default)]
    pub start_unstable: bool,
}

fn default_mesh_m() -> f64 {
    1.0
}
fn default_wire() -> SteadyWire {
    SteadyWire::String(StringWireConfig::default())
}
fn default_mode() -> Mode {
    Mode::SingleStep
}
fn default_send_every() -> u32 {
    1
}
fn default_between() -> Between {
    Between::Steps
}
fn default_filter_samples() -> usize {
    21
}
fn default_true() -> bool {
    true
}
fn default_entry_s() -> f64 {
    3.0
}
fn default_agree_pct() -> Option<f64> {
    Some(1.0)
}
fn default_most_spans() -> u32 {
    300
}

/// Harmonics are kept up to this frequency unless someone says otherwise, in Hz.
pub const UP_TO_HZ: f64 = 25.0;
/// The filter may not take more than this from a harmonic that is kept: what is given back is noise too.
const LEAST_GAIN: f64 = 0.3;
/// Length of a span where the string has no profile that says so, in m.
const SPAN_M: f64 = 65.0;

/// The line as the bench uses it: all that depends on line and speed alone.
#[derive(Clone, Debug)]
pub struct SteadyLine {
    /// Cycles of a span (N).
    pub steps: usize,
    /// Speed at which a span takes a whole number of cycles, in km/h.
    pub speed_kmh: f64,
    /// Length of a span, in m.
    pub span_m: f64,
    /// Answer to the harmonics of the force.
    pub response: SpanResponse,
    /// Z⁰_k, in m.
    pub rest: Vec<Complex<f64>>,
}

impl SteadyWire {
    /// The line's length of a span, in m, with whatever had to be read for it.
    fn read(&self, base: &Path) -> Result<(f64, Option<LinearLine>), BuildError> {
        match self {
            SteadyWire::String(string) => {
                if let Some(profile) = &string.profile {
                    let within = |e: FieldError| e.within("wire.profile");
                    profile.check().map_err(within)?;
                }
                Ok((string.profile.as_ref().map_or(SPAN_M, |p| p.span_m), None))
            }
            SteadyWire::Line { file, mesh_m } => {
                let path = base.join(file);
                let line: Line = file::load(&path)?;
                let of_line = |e: &dyn std::fmt::Display| {
                    BuildError::Other(format!("{}: {e}", path.display()))
                };
                let linear = LinearLine::build(&line, *mesh_m).map_err(|e| of_line(&e))?;
                let span_m = span_length(&linear).map_err(|e| of_line(&e))?;
                Ok((span_m, Some(linear)))
            }
        }
    }

    /// The line at a speed, in cycles of `period_s`. The speed is rounded to whole cycles a span.
    pub fn at_speed(
        &self,
        base: &Path,
        speed_kmh: f64,
        harmonics: Option<usize>,
        period_s: f64,
    ) -> Result<SteadyLine, BuildError> {
        require_within("speed_kmh", speed_kmh, 10.0, 500.0, "km/h")?;
        let (span_m, linear) = self.read(base)?;
        let steps = (span_m / (speed_kmh / 3.6 * period_s)).round();
        let speed_kmh = 3.6 * span_m / (steps * period_s);
        let steps = steps as usize;
        let count =
            harmonics.unwrap_or_else(|| (UP_TO_HZ * steps as f64 * period_s).floor() as usize + 1);
        if 2 * count > steps {
            return Err(BuildError::Other(format!(
                "harmonics: is {count}; expected at most half of the {steps} cycles of a span"
            )));
        }
        let other = |e: &dyn std::fmt::Display| BuildError::Other(format!("wire: {e}"));
        let (response, heights) = match (self, &linear) {
            (SteadyWire::Line { .. }, Some(linear)) => {
                let line = PeriodicLine::new(linear, speed_kmh).map_err(|e| other(&e))?;
                let (heights, _) = rest_heights(linear, steps).map_err(|e| other(&e))?;
                (line.span_response(count), heights)
            }
            (SteadyWire::String(string), _) => {
                let moving = string.string(speed_kmh);
                let line = SpanString::new(moving, span_m).map_err(|e| e.within("wire"))?;
                let place = |n: usize| span_m * n as f64 / steps as f64;
                let heights = (0..steps).map(|n| string.rest_height(place(n))).collect();
                (line.span_response(count), heights)
            }
            (SteadyWire::Line { .. }, None) => {
                return Err(BuildError::Other("wire: the line was not read".into()));
            }
        };
        Ok(SteadyLine {
            steps,
            speed_kmh,
            span_m,
            response: response.map_err(|e| other(&e))?,
            rest: harmonics_of(&heights, count),
        })
    }
}

/// All that the bench is made of.
pub(super) struct Prepared {
    pub line: SteadyLine,
    pub direct: SpanForce,
    pub designer: SteadyDesigner,
    pub design: SteadyDesign,
    pub filter: ForceFilter,
    pub gains: Vec<f64>,
    pub force_lag_cycles: f64,
}

impl PantographSteadyConfig {
    /// The delay of the whole loop in cycles, as the rig is known.
    pub fn delay_cycles(&self, rig: &KnownRig, period_s: f64) -> f64 {
        rig.loop_lag_s(period_s) / period_s + Sender::lag_cycles(self.send_every, self.between)
    }

    /// The line at the speed of the session.
    pub fn line(&self, base: &Path, period_s: f64) -> Result<SteadyLine, BuildError> {
        self.wire
            .at_speed(base, self.speed_kmh, self.harmonics, period_s)
    }

    /// The steady state that the run should converge to.
    pub fn direct(
        &self,
        line: &SteadyLine,
        specimen: &Pantograph,
    ) -> Result<SpanForce, BuildError> {
        let contact = self.contact_stiffness_n_per_m.map_or(0.0, f64::recip);
        Ok(SpanForce::solve(
            &line.response.clone().through(contact),
            &line.rest,
            specimen,
            specimen.uplift.at_kmh(self.speed_kmh),
        )?)
    }

    fn check(&self) -> Result<(), BuildError> {
        require_within("entry_s", self.entry_s, 0.5, 60.0, "s")?;
        require_within("send_every", f64::from(self.send_every), 1.0, 100.0, "")?;
        require_within("most_spans", f64::from(self.most_spans), 2.0, 1e6, "")?;
        if let Some(agree) = self.agree_pct {
            require_within("agree_pct", agree, 1e-6, 50.0, "%")?;
        }
        if let Some(stiffness) = self.contact_stiffness_n_per_m {
            require_within("contact_stiffness_n_per_m", stiffness, 1e3, 1e9, "N/m")?;
        }
        Ok(())
    }

    pub(super) fn prepare(&self, context: &mut BuildContext<'_>) -> Result<Prepared, BuildError> {
        self.check()?;
        let Some(rig) = context.rig else {
            return Err(BuildError::Other(
                "nothing is known of the rig's motor and delays, without which the iteration cannot be judged; \
                 identify the rig first"
                    .into(),
            ));
        };
        let period_s = context.period_s;
        let line = self.line(context.base, period_s)?;
        if (line.speed_kmh / self.speed_kmh - 1.0).abs() > 1e-6 {
            (context.notice)(format!(
                "{} km/h is run as {:.3} km/h, at which a span takes {} whole cycles",
                self.speed_kmh, line.speed_kmh, line.steps
            ));
        }
        let specimen: Pantograph = file::load(&context.base.join(&self.specimen))?;
        let direct = self.direct(&line, &specimen)?;
        // The motor is where the wire is, raised by what the contact gives way and lowered by what the pad does.
        let contact = self.contact_stiffness_n_per_m.map_or(0.0, f64::recip);
        let pad = if self.compensate_pad {
            1.0 / rig.pad_stiffness_n_per_m
        } else {
            0.0
        };
        let filter = ForceFilter::new(self.filter_samples)?;
        let angle = std::f64::consts::TAU / line.steps as f64;
        let gains: Vec<f64> = (0..line.rest.len())
            .map(|k| filter.gain(angle * k as f64))
            .collect();
        if let Some(k) = gains.iter().position(|gain| *gain < LEAST_GAIN) {
            return Err(BuildError::Other(format!(
                "filter_samples: a mean over {} samples leaves only {:.2} of harmonic {k}; expected fewer samples \
                 or fewer harmonics",
                self.filter_samples, gains[k]
            )));
        }
        let response = line.response.clone().through(contact - pad);
        let designer = SteadyDesigner {
            response: response.undo(&gains),
            rest: line.rest.clone(),
            steps: line.steps,
            mode: self.iteration,
            rig: *rig,
            specimen,
            period_s,
            sender: Sender::new(self.send_every, self.between),
            filter: filter.clone(),
            known_delay: self.delay_cycles(rig, period_s),
        };
        let design = designer.tables(context.params).map_err(BuildError::Other)?;
        let prospect = designer.prospect(&design, 0.0).map_err(BuildError::Other)?;
        for remark in &prospect.remarks {
            (context.notice)(remark.clone());
        }
        if let (Verdict::Unstable { .. }, false) = (prospect.verdict(), self.start_unstable) {
            return Err(BuildError::Other(format!(
                "the iteration does not converge: {}; choose a smaller alpha or n_delta, or write start_unstable: \
                 true to begin with them all the same",
                prospect.remarks.join("; ")
            )));
        }
        Ok(Prepared {
            line,
            direct,
            designer,
            design,
            filter,
            gains,
            force_lag_cycles: rig.force_lag_s() / period_s,
        })
    }
}
