//! A pantograph run along a line: the wire model, the pantograph and how they touch, step by step.

use super::error::CatenaryError;
use super::linear::LinearLine;
use super::lumped::LumpedStepper;
use super::wire::{ElasticContact, WireModel};
use crate::model::interaction_mass::{InteractionMass, MassCoupling};
use crate::model::pantograph::Pantograph;

/// Contact stiffness of EN 50318, in N/m.
pub const CONTACT_STIFFNESS: f64 = 50e3;
/// The contact force reaches the wire gradually over this length, in m.
pub const RAMP_M: f64 = 50.0;
/// A contact force beyond this means that a run diverges, in N.
const DIVERGED_N: f64 = 1e5;
/// Above this part of the wave speed a warning is given.
pub const FAST: f64 = 0.9;

/// How pantograph and wire are coupled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coupling {
    /// Head and wire are solved together within each step, through the contact stiffness in N/m.
    Implicit {
        /// Contact stiffness, in N/m.
        stiffness: f64,
    },
    /// As on the bench: the head touches a pad, a virtual mass stands between pad and wire.
    InteractionMass(MassCoupling),
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Lift on the pantograph's lowest mass, in N.
    pub uplift_n: f64,
    /// How pantograph and wire are coupled.
    pub coupling: Coupling,
    /// The span in which it begins, from 1; the force is introduced there ([`RAMP_M`]).
    pub start_span: usize,
    /// First and last span that are evaluated, from 1.
    pub spans: (usize, usize),
}

/// Every step of a run.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Step, in s.
    pub dt: f64,
    /// Place of the contact, in m.
    pub x: Vec<f64>,
    /// Contact force, in N.
    pub force: Vec<f64>,
    /// Height of the wire at the contact, in m above nominal.
    pub height: Vec<f64>,
    /// Rise of the wire at the contact above its rest position, in m.
    pub rise: Vec<f64>,
    /// How many droppers are slack.
    pub slack: Vec<u16>,
    /// Largest rise at each support during the run, in m.
    pub support_rise: Vec<f64>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

impl Series {
    /// Times of all steps, in s from the start of the run.
    pub fn times(&self) -> impl Iterator<Item = f64> + '_ {
        (1..=self.x.len()).map(|k| k as f64 * self.dt)
    }
}

/// The spans that are evaluated unless someone says otherwise: without a quarter, but at least four
/// spans, at either end of a line of `n` spans.
pub fn default_spans(n: usize) -> Result<(usize, usize), CatenaryError> {
    let aside = (n / 4).max(4);
    if n < 2 * aside + 1 {
        return Err(CatenaryError::TooShort(format!(
            "it has {n} spans, of which {aside} at either end are not evaluated; use at least 9 spans \
             or say which spans are to be evaluated"
        )));
    }
    Ok((aside + 1, n - aside))
}

/// Part of the contact force that reaches the wire after a distance in m from the start of a run.
pub fn introduced(travelled: f64) -> f64 {
    (travelled / RAMP_M).clamp(0.0, 1.0)
}

/// The span in which a run begins unless someone says otherwise: the third, after the transition
/// spans; earlier if less than three spans would be left to settle before the evaluated ones.
pub fn default_start(first_evaluated: usize) -> usize {
    first_evaluated.saturating_sub(3).clamp(1, 3)
}

impl Run {
    /// A run with the uplift, spans and coupling that hold unless someone says otherwise.
    pub fn new(
        line: &LinearLine,
        pantograph: &Pantograph,
        speed_kmh: f64,
    ) -> Result<Self, CatenaryError> {
        Ok(Self::with_spans(
            pantograph,
            speed_kmh,
            default_spans(line.layout.spans())?,
        ))
    }

    /// The same with the evaluated spans, first and last from 1.
    pub fn with_spans(pantograph: &Pantograph, speed_kmh: f64, spans: (usize, usize)) -> Self {
        Self {
            speed_kmh,
            uplift_n: pantograph.uplift.at_kmh(speed_kmh),
            coupling: Coupling::Implicit {
                stiffness: CONTACT_STIFFNESS,
            },
            start_span: default_start(spans.0),
            spans,
        }
    }

    fn check(&self, line: &LinearLine) -> Result<Vec<String>, CatenaryError> {
        let bad = |what, value, expected: &str| {
            Err(CatenaryError::Argument {
                what,
                value,
                expected: expected.into(),
            })
        };
        if !(1.0..=1000.0).contains(&self.speed_kmh) {
            return bad("the speed in km/h", self.speed_kmh, "1 to 1000");
        }
        if !(0.0..=2000.0).contains(&self.uplift_n) {
            return bad("the uplift force in N", self.uplift_n, "0 to 2000");
        }
        let positive: &[(&'static str, f64)] = match &self.coupling {
            Coupling::Implicit { stiffness } => &[("the contact stiffness in N/m", *stiffness)],
            Coupling::InteractionMass(m) => &[
                ("the interaction mass in kg", m.mass),
                ("the interaction stiffness in N/m", m.stiffness),
                ("the pad stiffness in N/m", m.pad_stiffness),
                // Zero damping is allowed, any other sign or NaN is not.
                (
                    "the interaction damping in N s/m",
                    m.damping + f64::MIN_POSITIVE,
                ),
            ],
        };
        for &(what, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return bad(what, value, "a finite value above 0");
            }
        }
        let n = line.layout.spans();
        let (first, last) = self.spans;
        if self.start_span == 0 || first < self.start_span || last < first || last > n {
            return Err(CatenaryError::TooShort(format!(
                "spans {first} to {last} cannot be evaluated in a run that begins with span {}; the \
                 line has spans 1 to {n}",
                self.start_span
            )));
        }
        let mut warnings = Vec::new();
        let part = self.speed_kmh / 3.6 / line.wave_speed;
        if part > FAST {
            warnings.push(format!(
                "{} km/h is {:.0} % of the contact wire's wave speed of {:.0} km/h; above {:.0} % the \
                 linear model is not to be trusted",
                self.speed_kmh,
                100.0 * part,
                3.6 * line.wave_speed,
                100.0 * FAST
            ));
        }
        Ok(warnings)
    }

    /// Where it begins and ends, in m: up to the last span but two, further if needed.
    pub fn extent(&self, line: &LinearLine) -> (f64, f64) {
        let at = |i: usize| line.layout.supports.get(i).map_or(0.0, |s| s.x);
        let n = line.layout.spans();
        (
            at(self.start_span.saturating_sub(1)),
            at(self.spans.1).max(at(n.saturating_sub(2))),
        )
    }

    /// Where the evaluated spans begin and end, in m.
    pub fn evaluated(&self, line: &LinearLine) -> (f64, f64) {
        let at = |i: usize| line.layout.supports.get(i).map_or(0.0, |s| s.x);
        (at(self.spans.0.saturating_sub(1)), at(self.spans.1))
    }

    /// Runs the pantograph along the line. `progress` hears the finished part (0 to 1) now and then.
    pub fn simulate(
        &self,
        line: &LinearLine,
        wire: &mut dyn WireModel,
        pantograph: &Pantograph,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Series, CatenaryError> {
        let warnings = self.check(line)?;
        let dt = wire.dt();
        let mut lumped = LumpedStepper::new(pantograph, self.uplift_n, dt)?;
        let (from, to) = self.extent(line);
        let speed = self.speed_kmh / 3.6;
        let steps = ((to - from) / (speed * dt)).floor() as usize;
        let mut coupler = Coupler::new(self.coupling, &mut lumped, line.rest_height(from), dt);
        let supports: Vec<f64> = line.layout.supports.iter().map(|s| s.x).collect();
        let mut series = Series {
            dt,
            warnings,
            support_rise: vec![0.0; supports.len()],
            ..Series::default()
        };
        wire.reset();
        for k in 1..=steps {
            let travelled = speed * dt * k as f64;
            let x = from + travelled;
            let share = introduced(travelled);
            let (force, height) = coupler.step(wire, &mut lumped, x, share);
            // Written so that NaN is refused too.
            if !(force.abs() <= DIVERGED_N && height.is_finite()) {
                return Err(CatenaryError::Diverged { x, force });
            }
            series.x.push(x);
            series.force.push(force);
            series.height.push(height);
            series.rise.push(height - line.rest_height(x));
            series
                .slack
                .push(u16::try_from(wire.slack_droppers()).unwrap_or(u16::MAX));
            for (rise, &support) in series.support_rise.iter_mut().zip(&supports) {
                // The wire rises most where the pantograph is; two spans to either side are enough.
                if (support - x).abs() < 150.0 {
                    *rise = rise.max(wire.rise(support));
                }
            }
            if k % 256 == 0 {
                progress(k as f64 / steps as f64);
            }
        }
        progress(1.0);
        if wire.unsettled() > 0 {
            series.warnings.push(format!(
                "in {} steps it could not be settled which droppers are slack; do not trust this run",
                wire.unsettled()
            ));
        }
        Ok(series)
    }
}

enum Coupler {
    Implicit { stiffness: f64 },
    Mass(InteractionMass),
}

impl Coupler {
    fn new(coupling: Coupling, lumped: &mut LumpedStepper, height: f64, dt: f64) -> Self {
        match coupling {
            Coupling::Implicit { stiffness } => {
                lumped.rest_against(height, stiffness);
                Self::Implicit { stiffness }
            }
            Coupling::InteractionMass(mass) => {
                lumped.rest_against(height, mass.series_stiffness());
                let force = mass.series_stiffness() * (lumped.head() - height);
                Self::Mass(InteractionMass::new(mass, dt, height, force))
            }
        }
    }

    /// One step; returns contact force and wire height.
    fn step(
        &mut self,
        wire: &mut dyn WireModel,
        lumped: &mut LumpedStepper,
        x: f64,
        share: f64,
    ) -> (f64, f64) {
        let head_free = lumped.predict();
        match self {
            Self::Implicit { stiffness } => {
                wire.predict(x);
                let response = wire.respond_to(&ElasticContact {
                    stiffness: *stiffness,
                    head_free,
                    head_compliance: lumped.compliance(),
                    share,
                });
                wire.commit();
                lumped.commit(response.force);
                (response.force, response.height)
            }
            Self::Mass(mass) => {
                wire.predict(x);
                let height = wire.respond(share * mass.force_on_wire());
                wire.commit();
                let force = mass.step(height, head_free, lumped.compliance());
                lumped.commit(force);
                (force, height)
            }
        }
    }
}
