//! The regulator: makes the motor follow the interaction mass at little action.

use super::kalman::{BIAS, OBSERVED};
use super::riccati::{self, RiccatiError};
use super::state_space::{ACTION, INTERACTION, MOTOR, Plant, STATES};
use nalgebra::{Matrix1, RowSVector, SVector};

/// Weights of min Σ Q (u_i − u_m)² + R u².
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LqrWeights {
    /// Q, weight of the tracking error.
    pub error: f64,
    /// R, weight of the action.
    pub action: f64,
}

impl LqrWeights {
    /// Those of Tur et al. 2024, Table 3.
    pub const TUR_2024: Self = Self {
        error: 5.0,
        action: 1.0,
    };
}

/// u = −K (x̂ − x_ss z_c − x_f f̂): zero where the rig rests, at any wire height z_c and under any
/// lasting force f̂ on the pantograph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lqr {
    /// K.
    pub gain: RowSVector<f64, STATES>,
    /// K x_ss, the action that would remain per metre of wire height without the feedforward.
    pub rest_gain: f64,
    /// K x_f, the action that would remain per newton of lasting force without the feedforward.
    pub force_rest_gain: f64,
    /// Largest |eigenvalue| of A − B K.
    pub spectral_radius: f64,
    /// Relative residual of the Riccati equation.
    pub residual: f64,
}

impl Lqr {
    /// Optimal gain for a plant.
    ///
    /// The action on its way is a pure delay: with K₉ for the states without it, which it enters
    /// through B₉, K = K₉ [A₉ B₉].
    pub fn design(plant: &Plant, weights: &LqrWeights) -> Result<Self, RiccatiError> {
        const MOVING: usize = ACTION;
        let moving = plant.a.fixed_rows::<MOVING>(0);
        let mut error = SVector::<f64, MOVING>::zeros();
        error[INTERACTION] = 1.0;
        error[MOTOR] = -1.0;
        let solution = riccati::solve(
            &moving.fixed_columns::<MOVING>(0).into_owned(),
            &moving.column(ACTION).into_owned(),
            &(error * error.transpose() * weights.error),
            &Matrix1::new(weights.action),
        )?;
        let gain = solution.gain * moving;
        Ok(Self {
            gain,
            rest_gain: gain.transpose().dot(&Plant::rest()),
            force_rest_gain: gain.transpose().dot(&plant.rest_under_force),
            spectral_radius: solution.spectral_radius,
            residual: solution.residual,
        })
    }

    /// The action in m for an estimate, its last entry being the lasting force in N, and a wire
    /// height in m.
    pub fn action(&self, estimate: &SVector<f64, OBSERVED>, wire_height: f64) -> f64 {
        let state = estimate.fixed_rows::<STATES>(0);
        self.rest_gain * wire_height + self.force_rest_gain * estimate[BIAS]
            - self.gain.transpose().dot(&state)
    }
}
