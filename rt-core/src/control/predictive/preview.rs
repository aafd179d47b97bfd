//! The preview law: the first move of
//!
//!   min Σ (u_m(k+j) − u*_j)² + λ Σ (r(k+j−1) − u*_j)² + q_r Σ (e_j − e_{j−1})²,  j = 2 … 5,
//!
//! with e_j = r(k+j−1) − u*_j, e₁ = r(k) − û_m(k+1|k), and the motor's exact response. It is linear in
//! û_m, v̂_m, r(k), u*₂ … u*₅; what moves everything by the same height moves r by that height.

use super::design::PredictiveError;
use super::model::{Cycle, MOTOR};
use nalgebra::{DMatrix, Matrix2, Vector2};

/// Cycles that are looked ahead.
pub const HORIZON: usize = 5;
/// Targets that the law weighs: those of the cycles k+2 to k+HORIZON.
pub const TARGETS: usize = HORIZON - 1;

/// r(k+1) = a û_m + b v̂_m + c r(k) + Σ d_j u*_j, û_m and v̂_m those of cycle k+1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreviewLaw {
    /// a, of the motor's position.
    pub position: f64,
    /// b, of the motor's velocity, in s.
    pub velocity: f64,
    /// c, of the reference on its way.
    pub reference: f64,
    /// d, of the targets.
    pub targets: [f64; TARGETS],
}

/// Places of what the law is linear in, among the columns of the least-squares problem.
const POSITION: usize = 0;
const VELOCITY: usize = 1;
const REFERENCE: usize = 2;
const FIRST_TARGET: usize = 3;
const GIVEN: usize = FIRST_TARGET + TARGETS;

impl PreviewLaw {
    /// For the motor of a cycle without load, weights λ on the distance and q_r on its changes.
    pub fn design(
        cycle: &Cycle,
        distance_weight: f64,
        change_weight: f64,
    ) -> Result<Self, PredictiveError> {
        let a = Matrix2::from_fn(|i, j| cycle.a[(MOTOR + i, MOTOR + j)]);
        let b0 = Vector2::new(cycle.b0[MOTOR], cycle.b0[MOTOR + 1]);
        let b1 = Vector2::new(cycle.b1[MOTOR], cycle.b1[MOTOR + 1]);
        // Rows: weighted terms of the sum as M moves + G given.
        let mut moves = DMatrix::<f64>::zeros(3 * TARGETS, TARGETS);
        let mut given = DMatrix::<f64>::zeros(3 * TARGETS, GIVEN);
        // The motor's state as a combination of moves and given values.
        let mut by_move = [Vector2::zeros(); TARGETS];
        let mut by_given = [Vector2::zeros(); 3];
        by_given[POSITION] = Vector2::new(1.0, 0.0);
        by_given[VELOCITY] = Vector2::new(0.0, 1.0);
        let (distance, change) = (distance_weight.sqrt(), change_weight.sqrt());
        for j in 0..TARGETS {
            for s in by_move.iter_mut().chain(&mut by_given) {
                *s = a * *s;
            }
            by_move[j] += b0;
            match j {
                0 => by_given[REFERENCE] += b1,
                _ => by_move[j - 1] += b1,
            }
            for (i, s) in by_move.iter().enumerate() {
                moves[(j, i)] = s[0];
            }
            for (i, s) in by_given.iter().enumerate() {
                given[(j, i)] = s[0];
            }
            given[(j, FIRST_TARGET + j)] = -1.0;
            let row = TARGETS + j;
            moves[(row, j)] = distance;
            given[(row, FIRST_TARGET + j)] = -distance;
            let row = 2 * TARGETS + j;
            moves[(row, j)] = change;
            given[(row, FIRST_TARGET + j)] = -change;
            if j == 0 {
                given[(row, REFERENCE)] = -change;
                given[(row, POSITION)] = change;
            } else {
                moves[(row, j - 1)] = -change;
                given[(row, FIRST_TARGET + j - 1)] = change;
            }
        }
        let normal = moves.transpose() * &moves;
        let law = normal
            .cholesky()
            .ok_or(PredictiveError::NoPreviewLaw)?
            .solve(&(moves.transpose() * given));
        Ok(Self {
            position: -law[(0, POSITION)],
            velocity: -law[(0, VELOCITY)],
            reference: -law[(0, REFERENCE)],
            targets: std::array::from_fn(|j| -law[(0, FIRST_TARGET + j)]),
        })
    }

    /// r(k+1).
    pub fn reference(
        &self,
        position: f64,
        velocity: f64,
        reference: f64,
        targets: &[f64; TARGETS],
    ) -> f64 {
        let ahead: f64 = self.targets.iter().zip(targets).map(|(d, u)| d * u).sum();
        self.position * position + self.velocity * velocity + self.reference * reference + ahead
    }

    /// Sum of the coefficients of all positions: 1.
    pub fn sum_of_positions(&self) -> f64 {
        self.position + self.reference + self.targets.iter().sum::<f64>()
    }
}
