//! Regulator and observer together, cycle by cycle. No allocation, no panic.

use super::kalman::{Kalman, OBSERVED};
use super::lqr::Lqr;
use super::state_space::{ACTION, INTERACTION, MOTOR, PANTOGRAPH};
use crate::signal::ease::{Parting, smooth_step};
use nalgebra::SVector;

/// Gains of a design, swapped as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LqgGains {
    /// Regulator.
    pub lqr: Lqr,
    /// Observer.
    pub kalman: Kalman,
}

/// How long a change of gains takes to die away, in s.
pub const BLEND_S: f64 = 0.1;

/// The regulator that is being left.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// Of the same plant: the actions of both are blended, `done` being the new one's part.
    Blended { lqr: Lqr, done: f64 },
    /// Of another plant, on which it need not be stable: it only says where the new action begins. It saw
    /// the wire lower by `raised` m.
    Parted { lqr: Lqr, raised: f64 },
}

/// The controller with its memory.
#[derive(Clone, Copy, Debug)]
pub struct Lqg {
    gains: LqgGains,
    leaving: Option<Leaving>,
    parting: Parting,
    limit_m: f64,
    blend_step: f64,
    estimate: SVector<f64, OBSERVED>,
    action: f64,
    innovation: [f64; 2],
}

impl Lqg {
    /// At rest at height 0, the action limited to ± `limit_m`, in steps of `period_s`.
    pub fn new(gains: LqgGains, limit_m: f64, period_s: f64) -> Self {
        Self {
            gains,
            leaving: None,
            parting: Parting::new(period_s),
            limit_m,
            blend_step: period_s / BLEND_S,
            estimate: SVector::zeros(),
            action: 0.0,
            innovation: [0.0; 2],
        }
    }

    /// Forgets the past: everything rests at a height in m.
    pub fn reset(&mut self, height: f64) {
        let mut estimate = SVector::zeros();
        for place in [INTERACTION, MOTOR, PANTOGRAPH] {
            estimate[place] = height;
        }
        self.reset_to(estimate);
    }

    /// Forgets the past: an estimate of the whole state, with the lasting force at its end.
    pub fn reset_to(&mut self, estimate: SVector<f64, OBSERVED>) {
        self.estimate = estimate;
        self.settle();
        self.action = 0.0;
        self.innovation = [0.0; 2];
    }

    /// Other gains for the same plant from now on; the estimate and the action on its way remain, and the
    /// action goes over to that of the new gains within [`BLEND_S`].
    pub fn blend_gains(&mut self, gains: LqgGains) {
        let lqr = self.gains.lqr;
        self.leaving = Some(Leaving::Blended { lqr, done: 0.0 });
        self.gains = gains;
    }

    /// Other gains for another plant from now on, in which the wire seems higher by `raised` m. The
    /// feedback is the new one at once; what would make the action jump is added to it and let go within
    /// [`BLEND_S`].
    pub fn exchange_gains(&mut self, gains: LqgGains, raised: f64) {
        let lqr = self.gains.lqr;
        self.leaving = Some(Leaving::Parted { lqr, raised });
        self.gains = gains;
    }

    /// Ends a change of gains at once.
    pub fn settle(&mut self) {
        self.leaving = None;
        self.parting.end();
    }

    /// Whether a change of gains has not yet died away.
    pub fn is_changing(&self) -> bool {
        self.leaving.is_some() || self.parting.goes_on()
    }

    /// One cycle: wire height and positions of interaction mass and motor, all of this cycle, in m.
    /// Returns the action to be added to the motor reference of the *next* cycle.
    pub fn step(&mut self, wire_height: f64, positions: [f64; 2]) -> f64 {
        self.observe(wire_height, positions);
        self.decide(wire_height)
    }

    /// First half of a cycle: the observer, with the action as it was sent, saturated.
    pub fn observe(&mut self, wire_height: f64, positions: [f64; 2]) {
        let kalman = &self.gains.kalman;
        kalman.predict(&mut self.estimate, wire_height, self.action);
        self.innovation = kalman.correct(&mut self.estimate, positions);
    }

    /// The motor is told something else than what was asked for, higher by this much, in m: by a limit, or
    /// by another controller. Between both halves for the reference of this cycle, before the first for
    /// that of the cycle before.
    pub fn note_sent(&mut self, higher: f64) {
        self.estimate[ACTION] += higher;
    }

    /// Second half of a cycle: the action of the next one.
    pub fn decide(&mut self, wire_height: f64) -> f64 {
        let mut action = self.gains.lqr.action(&self.estimate, wire_height);
        self.leaving = match self.leaving {
            Some(Leaving::Blended { lqr, done }) => {
                let old = lqr.action(&self.estimate, wire_height);
                action = old + smooth_step(done) * (action - old);
                let done = done + self.blend_step;
                (done < 1.0).then_some(Leaving::Blended { lqr, done })
            }
            Some(Leaving::Parted { lqr, raised }) => {
                let old = lqr.action(&self.estimate, wire_height - raised);
                self.parting.begin(old - action, BLEND_S);
                None
            }
            None => None,
        };
        action += self.parting.step();
        self.action = action.max(-self.limit_m).min(self.limit_m);
        self.action
    }

    /// The estimated state.
    pub fn estimate(&self) -> &SVector<f64, OBSERVED> {
        &self.estimate
    }

    /// What the last measurement came as a surprise, [u_i, u_m] in m.
    pub fn innovation(&self) -> [f64; 2] {
        self.innovation
    }
}
