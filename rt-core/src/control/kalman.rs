//! The observer: the state of the rig from the positions of interaction mass and motor.
//!
//! The wire height is a known input and the action is known as it was sent, after any saturation.
//! An eleventh state f_p, a random walk, is the lasting part of the force on the pantograph that
//! the model does not know; without it the mean contact force biases all estimates.

use super::riccati::{self, RiccatiError};
use super::state_space::{ACTION, INTERACTION, MOTOR, Plant, STATES};
use nalgebra::{Matrix2, SMatrix, SVector};

/// States of the observer: those of the rig and the force bias.
pub const OBSERVED: usize = STATES + 1;
/// Place of the force bias.
pub const BIAS: usize = STATES;

/// How Q_kf and R_kf are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NoiseReading {
    /// As standard deviations: W = Q² B_f B_fᵀ, V = R² I.
    StandardDeviation,
    /// As variances: W = Q B_f B_fᵀ, V = R I.
    Variance,
}

/// Noise that the observer expects.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KalmanTuning {
    /// Q_kf, of the force on the pantograph.
    pub process: f64,
    /// R_kf, of both measured positions, independent of each other.
    pub measurement: f64,
    /// How the two are read.
    pub reading: NoiseReading,
    /// Standard deviation of one step of the force bias in N; `None` for no such state.
    pub bias_step_n: Option<f64>,
}

impl KalmanTuning {
    /// Those of Tur et al. 2024, Table 3, read literally; no force bias.
    pub const TUR_2024: Self = Self {
        process: 10.0,
        measurement: 1e-3,
        reading: NoiseReading::StandardDeviation,
        bias_step_n: None,
    };
}

/// x̂ ← A x̂ + B_z z_c + B_u u, then x̂ ← x̂ + L (y − C x̂).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kalman {
    /// Rig and bias.
    pub a: SMatrix<f64, OBSERVED, OBSERVED>,
    /// Input column of the wire height.
    pub b_z: SVector<f64, OBSERVED>,
    /// Input column of the action.
    pub b_u: SVector<f64, OBSERVED>,
    /// Gain on the innovation of [u_i, u_m], with the newest measurement.
    pub gain: SMatrix<f64, OBSERVED, 2>,
    /// States that are estimated: with the force bias or, at rest, without.
    pub states: usize,
    /// Largest |eigenvalue| of the estimation error.
    pub spectral_radius: f64,
    /// Relative residual of the Riccati equation.
    pub residual: f64,
}

impl Kalman {
    /// Optimal gain for a plant: P = APAᵀ − APCᵀ(CPCᵀ + V)⁻¹CPAᵀ + W, L = PCᵀ(CPCᵀ + V)⁻¹.
    pub fn design(plant: &Plant, tuning: &KalmanTuning) -> Result<Self, RiccatiError> {
        let squared = |x: f64| match tuning.reading {
            NoiseReading::StandardDeviation => x * x,
            NoiseReading::Variance => x,
        };
        let mut a = SMatrix::<f64, OBSERVED, OBSERVED>::identity();
        a.fixed_view_mut::<STATES, STATES>(0, 0).copy_from(&plant.a);
        a.fixed_view_mut::<STATES, 1>(0, BIAS).copy_from(&plant.b_f);
        let force = plant.b_f.push(0.0);
        let mut noise = force * force.transpose() * squared(tuning.process);
        if let Some(step) = tuning.bias_step_n {
            let walk = plant.b_f.push(1.0);
            noise += walk * walk.transpose() * (step * step);
        }
        let measurement = squared(tuning.measurement);
        // Without noise on the bias the design has no such state.
        let (states, optimum) = if tuning.bias_step_n.is_some() {
            (
                OBSERVED,
                Optimum::new::<{ OBSERVED - 1 }>(&a, &noise, measurement)?,
            )
        } else {
            (
                STATES,
                Optimum::new::<{ STATES - 1 }>(&a, &noise, measurement)?,
            )
        };
        Ok(Self {
            a,
            b_z: plant.b_z.push(0.0),
            b_u: plant.b_u.push(0.0),
            gain: optimum.gain,
            states,
            spectral_radius: optimum.spectral_radius,
            residual: optimum.residual,
        })
    }

    /// The estimate one step on, for the wire height and action of that step.
    pub fn predict(&self, estimate: &mut SVector<f64, OBSERVED>, wire_height: f64, action: f64) {
        *estimate = self.a * *estimate + self.b_z * wire_height + self.b_u * action;
    }

    /// Takes in the measured positions; returns the innovation, what they came as a surprise.
    pub fn correct(&self, estimate: &mut SVector<f64, OBSERVED>, positions: [f64; 2]) -> [f64; 2] {
        let innovation = [
            positions[0] - estimate[INTERACTION],
            positions[1] - estimate[MOTOR],
        ];
        *estimate += self.gain.column(0) * innovation[0] + self.gain.column(1) * innovation[1];
        innovation
    }
}

/// The optimal gain and what is known about it.
struct Optimum {
    gain: SMatrix<f64, OBSERVED, 2>,
    spectral_radius: f64,
    residual: f64,
}

impl Optimum {
    /// For the first N states but one: the action on its way is known exactly and needs no gain.
    fn new<const N: usize>(
        a: &SMatrix<f64, OBSERVED, OBSERVED>,
        noise: &SMatrix<f64, OBSERVED, OBSERVED>,
        measurement: f64,
    ) -> Result<Self, RiccatiError> {
        let place = |i: usize| if i < ACTION { i } else { i + 1 };
        let mut c = SMatrix::<f64, 2, N>::zeros();
        c[(0, INTERACTION)] = 1.0;
        c[(1, MOTOR)] = 1.0;
        let v = Matrix2::identity() * measurement;
        let dual = riccati::solve(
            &SMatrix::<f64, N, N>::from_fn(|i, j| a[(place(j), place(i))]),
            &c.transpose(),
            &SMatrix::<f64, N, N>::from_fn(|i, j| noise[(place(i), place(j))]),
            &v,
        )?;
        let by_innovation = (c * dual.x * c.transpose() + v)
            .cholesky()
            .ok_or(RiccatiError::Weight)?
            .solve(&(c * dual.x));
        let mut gain = SMatrix::<f64, OBSERVED, 2>::zeros();
        for i in 0..N {
            gain.set_row(place(i), &by_innovation.column(i).transpose());
        }
        Ok(Self {
            gain,
            spectral_radius: dual.spectral_radius,
            residual: dual.residual,
        })
    }
}
