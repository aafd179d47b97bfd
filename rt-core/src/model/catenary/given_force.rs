//! The wire under a force that is given along the way: what a measured contact force does to a line, without any
//! pantograph model; and, to find the force that would come next, with the pantograph's difference from a model.

use super::error::CatenaryError;
use super::linear::LinearLine;
use super::lumped::LumpedStepper;
use super::simulate::RAMP_M;
use super::wire::{ElasticContact, WireModel};
use crate::model::pantograph::Pantograph;

/// How the force is expected to change when other heights are played than those that it was measured at:
///
///   F = F_given + k_c (Δu₁ − (z − z_played)),  Δu₁ the head of a model that feels only this difference
///
/// The model is of no account where the heights are those that were played: there F is what was measured.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The pantograph.
    pub pantograph: &'a Pantograph,
    /// Stiffness between its head and the wire, in N/m.
    pub stiffness: f64,
    /// The heights at which the force was measured, in m; one a force.
    pub heights: &'a [f64],
}

/// A force along a way.
#[derive(Clone, Copy, Debug)]
pub struct GivenForce<'a> {
    /// Where it begins, in m.
    pub from_m: f64,
    /// Where the way ends, in m; the force leaves the wire gradually before.
    pub to_m: f64,
    /// Speed, in m/s.
    pub speed_m_per_s: f64,
    /// In N, in steps of the wire's: the first at the beginning, before the train starts.
    pub force: &'a [f64],
    /// How it is expected to change; `None`: it does not.
    pub expected: Option<Expected<'a>>,
}

/// Heights of a wire, each a step later than the one before; the first is at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenForceRun {
    /// Height at the contact, in m above nominal.
    pub heights: Vec<f64>,
    /// The force that belongs to it, in N: the given one, or the expected one.
    pub forces: Vec<f64>,
    /// Most droppers slack at the same time.
    pub max_slack: usize,
}

/// A force beyond this means that the model diverges, in N.
const DIVERGED_N: f64 = 1e5;

impl GivenForce<'_> {
    /// Moves the force along a line. `go_on` hears the finished part (0 to 1) now and then and may end it: `None`.
    pub fn run(
        &self,
        line: &LinearLine,
        wire: &mut dyn WireModel,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<GivenForceRun>, CatenaryError> {
        let dt = wire.dt();
        let bad = |what, value| CatenaryError::Argument {
            what,
            value,
            expected: "a finite value above 0".into(),
        };
        if !(self.speed_m_per_s > 0.0 && self.speed_m_per_s.is_finite()) {
            return Err(bad("the speed in m/s", self.speed_m_per_s));
        }
        let Some(&first) = self.force.first() else {
            return Err(CatenaryError::TooShort("the force has no samples".into()));
        };
        let rest = line.rest_height(self.from_m);
        let mut model = match &self.expected {
            None => None,
            Some(expected) => {
                if !(expected.stiffness > 0.0 && expected.stiffness.is_finite()) {
                    return Err(bad("the contact stiffness in N/m", expected.stiffness));
                }
                if expected.heights.len() != self.force.len() {
                    return Err(CatenaryError::TooShort(format!(
                        "{} heights belong to {} forces; expected as many",
                        expected.heights.len(),
                        self.force.len()
                    )));
                }
                Some(Model::new(expected, rest, dt)?)
            }
        };
        wire.reset();
        let mut run = GivenForceRun {
            heights: vec![rest],
            forces: vec![first + model.as_ref().map_or(0.0, Model::resting_difference)],
            max_slack: 0,
        };
        for (k, &given) in self.force.iter().enumerate().skip(1) {
            let travelled = self.speed_m_per_s * dt * k as f64;
            let x = (self.from_m + travelled).min(self.to_m);
            let share = (travelled.min(self.to_m - x) / RAMP_M).clamp(0.0, 1.0);
            wire.predict(x);
            let (force, height) = match &mut model {
                None => (given, wire.respond(share * given)),
                Some(model) => model.step(wire, k, given, share),
            };
            wire.commit();
            // Written so that NaN is refused too.
            if !(force.abs() <= DIVERGED_N && height.is_finite()) {
                return Err(CatenaryError::Diverged { x, force });
            }
            run.heights.push(height);
            run.forces.push(force);
            run.max_slack = run.max_slack.max(wire.slack_droppers());
            if k % 256 == 0 && !go_on(k as f64 / self.force.len() as f64) {
                return Ok(None);
            }
        }
        Ok(go_on(1.0).then_some(run))
    }
}

/// The model of an [`Expected`] in motion: the difference from what was measured, so without lift.
struct Model<'a> {
    expected: &'a Expected<'a>,
    lumped: LumpedStepper,
    resting_difference: f64,
}

impl<'a> Model<'a> {
    fn new(expected: &'a Expected<'a>, rest: f64, dt: f64) -> Result<Self, CatenaryError> {
        let mut lumped = LumpedStepper::new(expected.pantograph, 0.0, dt)?;
        let difference = rest - expected.heights.first().copied().unwrap_or(rest);
        lumped.rest_against(difference, expected.stiffness);
        Ok(Self {
            resting_difference: expected.stiffness * (lumped.head() - difference),
            expected,
            lumped,
        })
    }

    fn resting_difference(&self) -> f64 {
        self.resting_difference
    }

    /// F = k (u_f − c (F − F_given) + z_played − z) + F_given is the contact of a head whose free height is
    /// u_f + z_played + F_given (c + 1/k).
    fn step(&mut self, wire: &mut dyn WireModel, k: usize, given: f64, share: f64) -> (f64, f64) {
        let Expected {
            stiffness, heights, ..
        } = *self.expected;
        let (free, compliance) = (self.lumped.predict(), self.lumped.compliance());
        let answer = wire.respond_to(&ElasticContact {
            stiffness,
            head_free: free + heights[k] + given * (compliance + 1.0 / stiffness),
            head_compliance: compliance,
            share,
        });
        self.lumped.commit(answer.force - given);
        (answer.force, answer.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;
    use crate::model::catenary::{Coupling, FullWire, Line, Run};
    use std::path::Path;
    use std::sync::Arc;

    const DT: f64 = 2e-3;

    fn shipped() -> (Arc<LinearLine>, Pantograph) {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
        let line: Line = file::load(&assets.join("lines/stitched-sw.ron")).unwrap();
        let pantograph = file::load(&assets.join("pantographs/dsa-380.ron")).unwrap();
        (Arc::new(LinearLine::build(&line, 2.5).unwrap()), pantograph)
    }

    /// A coupled run, whose force gives the same heights again; and the model finds the coupled force from a wrong one
    /// at wrong heights, because a force that was measured somewhere else differs by what the model says.
    #[test]
    fn the_force_of_a_coupled_run_moves_the_wire_as_that_run() {
        let (line, pantograph) = shipped();
        let stiffness = 240e3;
        let mut run = Run::with_spans(&pantograph, 250.0, (4, 5));
        run.start_span = 3;
        run.coupling = Coupling::Implicit { stiffness };
        let mut wire = FullWire::new(line.clone(), DT).unwrap();
        let series = run
            .simulate(&line, &mut wire, &pantograph, &mut |_| ())
            .unwrap();
        // The end of the way lies far behind, so that the force stays on the wire.
        let steps = 1500;
        let (from, _) = run.extent(&line);
        let mut still = LumpedStepper::new(&pantograph, run.uplift_n, DT).unwrap();
        still.rest_against(line.rest_height(from), stiffness);
        let first = stiffness * (still.head() - line.rest_height(from));
        let force: Vec<f64> = std::iter::once(first)
            .chain(series.force[..steps].iter().copied())
            .collect();
        let given = GivenForce {
            from_m: from,
            to_m: from + 1000.0,
            speed_m_per_s: 250.0 / 3.6,
            force: &force,
            expected: None,
        };
        let found = given.run(&line, &mut wire, &mut |_| true).unwrap().unwrap();
        for (k, height) in series.height[..steps].iter().enumerate() {
            assert!((found.heights[k + 1] - height).abs() < 1e-12, "{k}");
        }

        // The same pantograph under a held motor: what a rig would measure at these heights.
        let played = vec![line.rest_height(from) + 2e-3; steps + 1];
        let mut held = LumpedStepper::new(&pantograph, run.uplift_n, DT).unwrap();
        held.rest_against(played[0], stiffness);
        let measured = vec![stiffness * (held.head() - played[0]); steps + 1];
        let given = GivenForce {
            force: &measured,
            expected: Some(Expected {
                pantograph: &pantograph,
                stiffness,
                heights: &played,
            }),
            ..given
        };
        let found = given.run(&line, &mut wire, &mut |_| true).unwrap().unwrap();
        for (k, (force, height)) in series.force[..steps].iter().zip(&series.height).enumerate() {
            assert!((found.forces[k + 1] - force).abs() < 1e-6, "{k}");
            assert!((found.heights[k + 1] - height).abs() < 1e-9, "{k}");
        }
        assert!(
            given
                .run(&line, &mut wire, &mut |_| false)
                .unwrap()
                .is_none()
        );
        let empty = GivenForce {
            force: &[],
            ..given
        };
        assert!(empty.run(&line, &mut wire, &mut |_| true).is_err());
    }
}
