//! What a line answers to a force that runs along it at constant speed.
//!
//! On a line that repeats span after span, passed at V, a force e^{iωt} lifts the contact point by
//!
//!   u(t) = e^{iωt} Σ_m H_m(ω) e^{imΩt},  Ω = 2πV/L,
//!
//! and on a line that is alike everywhere by H(ω) e^{iωt} alone. A force that repeats with the spans has
//! the harmonics F_j of Ω, and so has the rise: U_k = Σ_j H_kj F_j. Everything here keeps the first K
//! harmonics, j and k from −(K−1) to K−1, of which half is known by H_{−k,−j} = H̄_kj.

pub mod direct;
pub mod held_head;
pub mod periodic_line;
pub mod string;

use crate::file::FieldError;
use nalgebra::{Complex, DMatrix};
use std::f64::consts::TAU;

/// Most harmonics that are kept.
pub const MOST_HARMONICS: usize = 128;

/// Why a line has no answer to a moving force.
#[derive(Debug, thiserror::Error)]
pub enum MovingLoadError {
    /// A setting makes no sense.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The line cannot be prepared.
    #[error(transparent)]
    Line(#[from] crate::model::catenary::CatenaryError),
    /// The line's middle spans differ.
    #[error(
        "the spans beside the middle of the line differ, so it does not repeat span after span: {0}; \
         give a line whose three middle spans and their supports are alike, without installation errors"
    )]
    NotPeriodic(String),
    /// The answer cannot be computed.
    #[error("{0}")]
    Numeric(String),
}

/// A line under a force that runs along it.
pub trait MovingLoad {
    /// Ω: how often spans are passed, in rad/s.
    fn span_rad_per_s(&self) -> f64;

    /// H(ω) in m/N: the rise of the contact point with the frequency of the force, by the force.
    fn response(&self, omega: f64) -> Result<Complex<f64>, MovingLoadError>;

    /// H_kj of the first `count` harmonics of the spans.
    fn span_response(&self, count: usize) -> Result<SpanResponse, MovingLoadError>;
}

/// H_kj in m/N of the harmonics of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanResponse {
    omega: f64,
    /// Rows k from −(K−1) to K−1, columns j from 0 to K−1.
    matrix: DMatrix<Complex<f64>>,
}

impl SpanResponse {
    /// From rows k = −(K−1) … K−1 and columns j = 0 … K−1, and Ω in rad/s.
    pub fn new(omega: f64, matrix: DMatrix<Complex<f64>>) -> Result<Self, FieldError> {
        let count = matrix.ncols();
        check_count(count)?;
        if matrix.nrows() + 1 != 2 * count {
            return Err(FieldError::new(
                "response",
                format!(
                    "has {} rows for {count} harmonics; expected {}",
                    matrix.nrows(),
                    2 * count - 1
                ),
            ));
        }
        Ok(Self { omega, matrix })
    }

    /// Of a line that is alike everywhere: H(ω_k) for k = 0 … K−1.
    pub fn diagonal(omega: f64, values: &[Complex<f64>]) -> Result<Self, FieldError> {
        check_count(values.len())?;
        let count = values.len();
        let matrix = DMatrix::from_fn(2 * count - 1, count, |row, j| {
            if row == j + count - 1 {
                values[j]
            } else {
                Complex::from(0.0)
            }
        });
        Self::new(omega, matrix)
    }

    /// K.
    pub fn count(&self) -> usize {
        self.matrix.ncols()
    }

    /// Ω in rad/s.
    pub fn omega(&self) -> f64 {
        self.omega
    }

    /// H_kj in m/N; 0 beyond the harmonics that are kept.
    pub fn get(&self, k: isize, j: isize) -> Complex<f64> {
        if j < 0 {
            return self.get(-k, -j).conj();
        }
        let row = k + self.count() as isize - 1;
        usize::try_from(row)
            .ok()
            .and_then(|row| self.matrix.get((row, j.unsigned_abs())))
            .copied()
            .unwrap_or_default()
    }

    /// The same line under a force whose harmonics were made smaller by these gains: it answers to the true one.
    pub fn undo(mut self, gains: &[f64]) -> Self {
        for (mut column, gain) in self.matrix.column_iter_mut().zip(gains) {
            column /= Complex::from(*gain);
        }
        self
    }

    /// The same line seen through a spring of this compliance in m/N; below 0 it takes one away.
    pub fn through(mut self, compliance: f64) -> Self {
        let count = self.count();
        for j in 0..count {
            self.matrix[(j + count - 1, j)] += compliance;
        }
        self
    }
}

/// Refuses a number of harmonics without meaning.
pub fn check_count(count: usize) -> Result<(), FieldError> {
    if (1..=MOST_HARMONICS).contains(&count) {
        return Ok(());
    }
    Err(FieldError::new(
        "harmonics",
        format!("is {count}; expected 1 to {MOST_HARMONICS}"),
    ))
}

/// Z⁰_k for k = 0 … count−1 of heights at equal distances along a span:
/// Z⁰_k = (1/N) Σ_n z⁰_n e^{−2πi kn/N}.
pub fn harmonics_of(heights: &[f64], count: usize) -> Vec<Complex<f64>> {
    let n = heights.len();
    let sum = |k: usize| -> Complex<f64> {
        let at = |(i, z): (usize, &f64)| {
            // The angle of a whole number of turns is taken off first: no digits are lost with i·k.
            let turn = (i * k % n) as f64 / n as f64;
            Complex::from_polar(*z, -TAU * turn)
        };
        heights.iter().enumerate().map(at).sum::<Complex<f64>>() / n as f64
    };
    (0..count).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonics_of_a_sum_of_waves_are_its_amplitudes() {
        let n = 780;
        let heights: Vec<f64> = (0..n)
            .map(|i| {
                let x = TAU * f64::from(i) / f64::from(n);
                0.5 + 2.0 * x.cos() - 3.0 * (7.0 * x).sin()
            })
            .collect();
        let found = harmonics_of(&heights, 10);
        for (k, value) in found.iter().enumerate() {
            let expected = match k {
                0 => Complex::from(0.5),
                1 => Complex::from(1.0),
                // −3 sin 7x = −3 (e^{7ix} − e^{−7ix})/(2i).
                7 => Complex::new(0.0, 1.5),
                _ => Complex::from(0.0),
            };
            assert!((value - expected).norm() < 1e-14, "{k}: {value}");
        }
    }

    #[test]
    fn negative_harmonics_are_conjugates_and_far_ones_are_zero() {
        let values = [Complex::new(1.0, 0.0), Complex::new(2.0, 3.0)];
        let response = SpanResponse::diagonal(8.0, &values).unwrap().through(0.5);
        assert_eq!(response.get(1, 1), Complex::new(2.5, 3.0));
        assert_eq!(response.get(-1, -1), Complex::new(2.5, -3.0));
        assert_eq!(response.get(0, 1), Complex::from(0.0));
        assert_eq!(response.get(5, 5), Complex::from(0.0));
        assert!(SpanResponse::diagonal(8.0, &[]).is_err());
    }
}
