//! One span of a line that goes on in both directions alike, moving as e^{iωt} with a constant phase from span
//! to span: u_{i+n} = μ u_i with |μ| = 1 (Floquet).
//!
//! (K + iω(αM + βK) − ω²M) u = p is banded but for the corners where the span meets its neighbours. The last w
//! unknowns are set aside; what is left is banded and symmetric, and is eliminated without pivoting: damping
//! keeps every pivot away from zero.

use crate::model::catenary::LinearLine;
use crate::model::moving_load::MovingLoadError;
use crate::numeric::banded::SymBanded;
use nalgebra::{Complex, DMatrix};

/// Largest difference of neighbouring spans, relative to the diagonal. What remains of the line's ends in its
/// middle is less.
const ALIKE: f64 = 1e-3;

/// K and M of one span; row i holds the entries (i, i−d), d = 0 … w, also those into the span before.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Number of unknowns n of the span.
    pub size: usize,
    /// Number of the span's first unknown among those of the line.
    pub first: usize,
    width: usize,
    stiffness: Vec<f64>,
    mass: Vec<f64>,
    alpha: f64,
    beta: f64,
}

impl Cell {
    /// The span that begins at a support, by its number from 0; its neighbours have to be like it.
    pub fn of(line: &LinearLine, support: usize) -> Result<Self, MovingLoadError> {
        let begin = |s: usize| {
            let station = line.mesh.support_station.get(s)?;
            line.free.number[line.mesh.contact[*station].height]
        };
        let bounds = || -> Option<[usize; 4]> {
            let before = begin(support.checked_sub(1)?)?;
            Some([
                before,
                begin(support)?,
                begin(support + 1)?,
                begin(support + 2)?,
            ])
        };
        let Some([before, first, next, after]) = bounds() else {
            return Err(MovingLoadError::NotPeriodic(
                "there are less than five spans".into(),
            ));
        };
        let size = next - first;
        if first - before != size || after - next != size {
            return Err(MovingLoadError::NotPeriodic(
                "they have different numbers of unknowns".into(),
            ));
        }
        let width = line.stiffness.half_bandwidth();
        let rows = |m: &SymBanded| -> Result<Vec<f64>, MovingLoadError> {
            let mut rows = Vec::with_capacity(size * (width + 1));
            for i in first..next {
                for d in 0..=width {
                    let value = m.get(i, i - d);
                    let scale = (m.get(i, i) * m.get(i - d, i - d)).sqrt();
                    let differs = |other: f64| (other - value).abs() > ALIKE * scale;
                    if differs(m.get(i + size, i + size - d))
                        || differs(m.get(i - size, i - size - d))
                    {
                        return Err(MovingLoadError::NotPeriodic(format!(
                            "masses or stiffnesses differ near {:.1} m",
                            line.layout.supports[support].x
                        )));
                    }
                    rows.push(value);
                }
            }
            Ok(rows)
        };
        if size <= 2 * width {
            return Err(MovingLoadError::NotPeriodic(
                "a span has too few unknowns; use a finer mesh".into(),
            ));
        }
        Ok(Self {
            size,
            first,
            width,
            stiffness: rows(&line.stiffness)?,
            mass: rows(&line.mass)?,
            alpha: line.damping.alpha_per_s,
            beta: line.damping.beta_s,
        })
    }

    /// Solves for `columns` right-hand sides, stored row by row, in place. `false` if it cannot be solved.
    pub fn solve(
        &self,
        omega: f64,
        mu: Complex<f64>,
        rhs: &mut [Complex<f64>],
        columns: usize,
    ) -> bool {
        let (n, w) = (self.size, self.width);
        let inner = n - w;
        let by_k = Complex::new(1.0, omega * self.beta);
        let by_m = Complex::new(-omega * omega, omega * self.alpha);
        let entry = |i: usize, d: usize| {
            let at = i * (w + 1) + d;
            by_k * self.stiffness[at] + by_m * self.mass[at]
        };
        let zero = Complex::from(0.0);
        // Beside the inner rows: columns of the last w unknowns; those of S rows times μ where they wrap.
        let mut beside = vec![zero; inner * w];
        let mut below = vec![zero; inner * w];
        let mut corner = DMatrix::from_element(w, w, zero);
        for i in 0..n {
            for d in 0..=w {
                let value = entry(i, d);
                if i >= d {
                    let j = i - d;
                    if i >= inner && j < inner {
                        beside[j * w + i - inner] += value;
                        below[j * w + i - inner] += value;
                    } else if i >= inner {
                        corner[(i - inner, j - inner)] += value;
                        if d > 0 {
                            corner[(j - inner, i - inner)] += value;
                        }
                    }
                } else {
                    let s = i + n - d - inner;
                    beside[i * w + s] += value * mu.conj();
                    below[i * w + s] += value * mu;
                }
            }
        }
        let Some(factor) = self.factor(inner, &entry) else {
            return false;
        };
        let (head, tail) = rhs.split_at_mut(inner * columns);
        substitute(&factor, w, head, columns);
        substitute(&factor, w, &mut beside, w);
        // C = Z_SS − Z_SI X, then the last unknowns, then the inner ones.
        for i in 0..inner {
            for s in 0..w {
                let left = below[i * w + s];
                if left == zero {
                    continue;
                }
                for t in 0..w {
                    corner[(s, t)] -= left * beside[i * w + t];
                }
                for c in 0..columns {
                    tail[s * columns + c] -= left * head[i * columns + c];
                }
            }
        }
        let lu = corner.lu();
        let last = DMatrix::from_fn(w, columns, |s, c| tail[s * columns + c]);
        let Some(last) = lu.solve(&last) else {
            return false;
        };
        for s in 0..w {
            for c in 0..columns {
                tail[s * columns + c] = last[(s, c)];
            }
        }
        for i in 0..inner {
            for s in 0..w {
                let x = beside[i * w + s];
                for c in 0..columns {
                    head[i * columns + c] -= x * tail[s * columns + c];
                }
            }
        }
        true
    }

    /// L D Lᵀ of the inner rows: row i holds l_{i,i−d} at d > 0 and 1/d_i at d = 0.
    fn factor(
        &self,
        inner: usize,
        entry: &dyn Fn(usize, usize) -> Complex<f64>,
    ) -> Option<Vec<Complex<f64>>> {
        let w = self.width;
        let zero = Complex::from(0.0);
        let mut l = vec![zero; inner * (w + 1)];
        let mut pivots = vec![zero; inner];
        for i in 0..inner {
            let from = i.saturating_sub(w);
            // g_ij = l_ij d_j first, from the left.
            for j in from..i {
                let mut g = entry(i, i - j);
                for k in from.max(j.saturating_sub(w))..j {
                    g -= l[i * (w + 1) + i - k] * pivots[k] * l[j * (w + 1) + j - k];
                }
                l[i * (w + 1) + i - j] = g / pivots[j];
            }
            let mut pivot = entry(i, 0);
            for j in from..i {
                let value = l[i * (w + 1) + i - j];
                pivot -= value * value * pivots[j];
            }
            let inverse = pivot.inv();
            if !inverse.norm().is_finite() {
                return None;
            }
            pivots[i] = pivot;
            l[i * (w + 1)] = inverse;
        }
        Some(l)
    }
}

/// Solves L D Lᵀ x = b for right-hand sides stored row by row.
fn substitute(factor: &[Complex<f64>], w: usize, b: &mut [Complex<f64>], columns: usize) {
    let n = b.len() / columns;
    for i in 0..n {
        let (before, row) = b.split_at_mut(i * columns);
        for d in 1..=w.min(i) {
            let l = factor[i * (w + 1) + d];
            let other = &before[(i - d) * columns..(i - d + 1) * columns];
            for (x, y) in row[..columns].iter_mut().zip(other) {
                *x -= l * y;
            }
        }
    }
    for i in (0..n).rev() {
        let (row, after) = b[i * columns..].split_at_mut(columns);
        let inverse = factor[i * (w + 1)];
        for x in row.iter_mut() {
            *x *= inverse;
        }
        for d in 1..=w.min(n - 1 - i) {
            let l = factor[(i + d) * (w + 1) + d];
            let other = &after[(d - 1) * columns..d * columns];
            for (x, y) in row.iter_mut().zip(other) {
                *x -= l * y;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catenary::Line;
    use std::path::Path;

    /// Against the dense matrix of one span with its corners, solved with pivoting.
    #[test]
    fn the_banded_solution_is_the_dense_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/lines/stitched-sw.ron");
        let line: Line = crate::file::load(&path).unwrap();
        let linear = LinearLine::build(&line, 4.0).unwrap();
        let cell = Cell::of(&linear, 10).unwrap();
        let (n, w) = (cell.size, cell.width);
        for (omega, turn) in [(0.0, 0.3), (8.0, 1.0), (-60.0, 2.5), (300.0, -0.4)] {
            let mu = Complex::from_polar(1.0, turn);
            let mut dense = DMatrix::from_element(n, n, Complex::from(0.0));
            for i in 0..n {
                for d in 0..=w {
                    let at = i * (w + 1) + d;
                    let value = Complex::new(1.0, omega * cell.beta) * cell.stiffness[at]
                        + Complex::new(-omega * omega, omega * cell.alpha) * cell.mass[at];
                    if d == 0 {
                        dense[(i, i)] += value;
                    } else if i >= d {
                        dense[(i, i - d)] += value;
                        dense[(i - d, i)] += value;
                    } else {
                        dense[(i, i + n - d)] += value * mu.conj();
                        dense[(i + n - d, i)] += value * mu;
                    }
                }
            }
            let rhs = DMatrix::from_fn(n, 3, |i, c| {
                Complex::new(((i * 7 + c) % 11) as f64, (i % (c + 3)) as f64)
            });
            let expected = dense.lu().solve(&rhs).unwrap();
            let mut found: Vec<_> = (0..3 * n).map(|k| rhs[(k / 3, k % 3)]).collect();
            assert!(cell.solve(omega, mu, &mut found, 3));
            let size = expected.iter().map(|v| v.norm()).fold(0.0, f64::max);
            for k in 0..3 * n {
                let error = (found[k] - expected[(k / 3, k % 3)]).norm();
                assert!(error < 1e-8 * size, "ω {omega}, {k}: {error} of {size}");
            }
        }
    }
}
