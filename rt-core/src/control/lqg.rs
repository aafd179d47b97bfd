//! Regulator and observer together, cycle by cycle. No allocation, no panic.

use super::kalman::{Kalman, OBSERVED};
use super::lqr::Lqr;
use super::state_space::{INTERACTION, MOTOR, PANTOGRAPH};
use nalgebra::SVector;

/// Gains of a design, swapped as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LqgGains {
    /// Regulator.
    pub lqr: Lqr,
    /// Observer.
    pub kalman: Kalman,
}

/// The controller with its memory.
#[derive(Clone, Copy, Debug)]
pub struct Lqg {
    gains: LqgGains,
    limit_m: f64,
    estimate: SVector<f64, OBSERVED>,
    action: f64,
    innovation: [f64; 2],
}

impl Lqg {
    /// At rest at height 0, the action limited to ± `limit_m`.
    pub fn new(gains: LqgGains, limit_m: f64) -> Self {
        Self {
            gains,
            limit_m,
            estimate: SVector::zeros(),
            action: 0.0,
            innovation: [0.0; 2],
        }
    }

    /// Forgets the past: everything rests at a height in m.
    pub fn reset(&mut self, height: f64) {
        self.estimate = SVector::zeros();
        for place in [INTERACTION, MOTOR, PANTOGRAPH] {
            self.estimate[place] = height;
        }
        self.action = 0.0;
        self.innovation = [0.0; 2];
    }

    /// Other gains from now on; the estimate and the action on its way remain.
    pub fn set_gains(&mut self, gains: LqgGains) {
        self.gains = gains;
    }

    /// One cycle: wire height and positions of interaction mass and motor, all of this cycle, in m.
    /// Returns the action to be added to the motor reference of the *next* cycle.
    pub fn step(&mut self, wire_height: f64, positions: [f64; 2]) -> f64 {
        let kalman = &self.gains.kalman;
        // The observer gets the action as it was sent, saturated.
        kalman.predict(&mut self.estimate, wire_height, self.action);
        self.innovation = kalman.correct(&mut self.estimate, positions);
        let action = self.gains.lqr.action(&self.estimate, wire_height);
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
