//! The wire's height at every step of a span as a sum over the force's harmonics, computed in advance for one
//! compensated delay.
//!
//!   z(n) = z⁰(n + N_δ) + Re Σ_j c_j(n) F̂_j,  c_j(n) = (w_j/N) Σ_k H_kj e^{2πi k(n + N_δ)/N},
//!
//! F̂_j = Σ_m f_m e^{−2πi jm/N}, w₀ = 1 and w_j = 2. One row a step: O(K) in the loop for any line.

use crate::model::moving_load::SpanResponse;
use nalgebra::Complex;
use std::f64::consts::TAU;

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    count: usize,
    rest: Vec<f64>,
    rows: Vec<Complex<f64>>,
}

impl Tables {
    /// For spans of `steps` cycles, looking `ahead` cycles ahead. `rest` holds Z⁰_k in m.
    pub fn new(response: &SpanResponse, rest: &[Complex<f64>], steps: usize, ahead: f64) -> Self {
        Self::derivative(response, rest, steps, ahead, 0)
    }

    /// The same of the height's time derivative of an order: velocity is 1, acceleration 2.
    pub fn derivative(
        response: &SpanResponse,
        rest: &[Complex<f64>],
        steps: usize,
        ahead: f64,
        order: u32,
    ) -> Self {
        let count = response.count();
        let reach = count as isize - 1;
        let weight = |j: usize| if j == 0 { 1.0 } else { 2.0 };
        let columns: Vec<Vec<Complex<f64>>> = (0..count)
            .map(|j| {
                let column = -reach..=reach;
                column.map(|k| response.get(k, j as isize)).collect()
            })
            .collect();
        let mut rows = Vec::with_capacity(steps * count);
        let mut heights = Vec::with_capacity(steps);
        for n in 0..steps {
            let turn = TAU * (n as f64 + ahead) / steps as f64;
            let waves: Vec<Complex<f64>> = (-reach..=reach)
                .map(|k| {
                    let k = k as f64;
                    let slope = Complex::new(0.0, k * response.omega()).powu(order);
                    Complex::from_polar(1.0, k * turn) * slope
                })
                .collect();
            for (j, column) in columns.iter().enumerate() {
                let sum: Complex<f64> = column.iter().zip(&waves).map(|(h, w)| h * w).sum();
                rows.push(sum * (weight(j) / steps as f64));
            }
            let ahead = rest.iter().zip(&waves[count - 1..]).enumerate();
            heights.push(ahead.map(|(k, (z, w))| weight(k) * (z * w).re).sum());
        }
        Self {
            count,
            rest: heights,
            rows,
        }
    }

    /// Cycles of a span.
    pub fn steps(&self) -> usize {
        self.rest.len()
    }

    /// K.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Rest height at a step, in m.
    #[inline]
    pub fn rest(&self, step: usize) -> f64 {
        self.rest[step]
    }

    /// Rise at a step under a force with the spectrum F̂, in m.
    #[inline]
    pub fn rise(&self, step: usize, spectrum: &[Complex<f64>]) -> f64 {
        let row = &self.rows[step * self.count..(step + 1) * self.count];
        row.iter()
            .zip(spectrum)
            .map(|(c, f)| c.re * f.re - c.im * f.im)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::moving_load::harmonics_of;
    use nalgebra::DMatrix;

    /// A response with every entry filled, against the double sum written out; and its slope by differences.
    #[test]
    fn rows_are_the_sum_over_all_harmonics() {
        let (count, steps, omega) = (4, 50, 7.0);
        let mut matrix = DMatrix::from_fn(2 * count - 1, count, |k, j| {
            Complex::new(
                (k * 3 + j) as f64 - 5.0,
                (k as f64 - 3.0) * (1.0 + j as f64),
            )
        });
        for k in 0..count {
            // A constant force lifts by a real function.
            matrix[(count - 1 - k, 0)] = matrix[(count - 1 + k, 0)].conj();
        }
        matrix[(count - 1, 0)].im = 0.0;
        let response = SpanResponse::new(omega, matrix).unwrap();
        let force: Vec<f64> = (0..steps).map(|n| (0.2 * n as f64).sin() + 3.0).collect();
        let f = harmonics_of(&force, count);
        let spectrum: Vec<Complex<f64>> = f.iter().map(|f| f * steps as f64).collect();
        let rest = vec![Complex::from(0.0); count];
        let period = TAU / omega / steps as f64;
        for ahead in [0.0, 3.0, 7.25] {
            let tables = Tables::new(&response, &rest, steps, ahead);
            let speeds = Tables::derivative(&response, &rest, steps, ahead, 1);
            let exact = |place: f64| {
                let mut sum = Complex::from(0.0);
                for k in -3_isize..=3 {
                    for j in -3_isize..=3 {
                        let value = f[j.unsigned_abs()];
                        let value = if j < 0 { value.conj() } else { value };
                        let turn = TAU * k as f64 * place / steps as f64;
                        sum += response.get(k, j) * value * Complex::from_polar(1.0, turn);
                    }
                }
                assert!(sum.im.abs() < 1e-9);
                sum.re
            };
            for n in [0, 1, 17, 49] {
                let place = n as f64 + ahead;
                assert!((tables.rise(n, &spectrum) - exact(place)).abs() < 1e-9);
                let h = 1e-4;
                let slope = (exact(place + h) - exact(place - h)) / (2.0 * h * period);
                let found = speeds.rise(n, &spectrum);
                assert!(
                    (found - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{found}"
                );
            }
        }
    }
}
