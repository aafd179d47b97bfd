//! Regulator and observer together, cycle by cycle. No allocation, no panic.

use super::kalman::{Kalman, OBSERVED};
use super::lqr::Lqr;
use super::state_space::{ACTION, INTERACTION, MOTOR, PANTOGRAPH};
use crate::signal::ease::smooth_step;
use nalgebra::SVector;

/// Gains of a design, swapped as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LqgGains {
    /// Regulator.
    pub lqr: Lqr,
    /// Observer.
    pub kalman: Kalman,
}

/// How long the actions of old and new gains are blended, in s.
pub const BLEND_S: f64 = 0.1;

/// The regulator that is being left.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    lqr: Lqr,
    /// Part of the blend that is done, 0 to 1.
    done: f64,
}

/// The controller with its memory.
#[derive(Clone, Copy, Debug)]
pub struct Lqg {
    gains: LqgGains,
    leaving: Option<Leaving>,
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
        self.leaving = None;
        self.action = 0.0;
        self.innovation = [0.0; 2];
    }

    /// Other gains from now on; the estimate and the action on its way remain, and the action goes over
    /// to that of the new gains within [`BLEND_S`].
    pub fn set_gains(&mut self, gains: LqgGains) {
        self.leaving = Some(Leaving {
            lqr: self.gains.lqr,
            done: 0.0,
        });
        self.gains = gains;
    }

    /// Whether old gains still have a part in the action.
    pub fn is_blending(&self) -> bool {
        self.leaving.is_some()
    }

    /// The motor was told something else than what was asked for in the cycle before, higher by this
    /// much, in m: a limit, or another controller. The observer has to know.
    pub fn note_sent(&mut self, higher: f64) {
        self.estimate[ACTION] += higher;
    }

    /// One cycle: wire height and positions of interaction mass and motor, all of this cycle, in m.
    /// Returns the action to be added to the motor reference of the *next* cycle.
    pub fn step(&mut self, wire_height: f64, positions: [f64; 2]) -> f64 {
        let kalman = &self.gains.kalman;
        // The observer gets the action as it was sent, saturated.
        kalman.predict(&mut self.estimate, wire_height, self.action);
        self.innovation = kalman.correct(&mut self.estimate, positions);
        let mut action = self.gains.lqr.action(&self.estimate, wire_height);
        if let Some(leaving) = &mut self.leaving {
            leaving.done += self.blend_step;
            let old = leaving.lqr.action(&self.estimate, wire_height);
            action = old + smooth_step(leaving.done) * (action - old);
            if leaving.done >= 1.0 {
                self.leaving = None;
            }
        }
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
