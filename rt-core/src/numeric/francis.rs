//! Eigenvalues of a dense matrix that need not be symmetric: Hessenberg form, then Francis's
//! double-shift QR.
//!
//! Only eigenvalues, no vectors: a third of the work of a whole Schur form. Rows are contiguous in
//! memory, because most of the work runs along them.

use nalgebra::{Complex, DMatrix};

/// QR steps for one eigenvalue, or one pair, after which there is none. Three are usual.
const MOST_STEPS: usize = 60;
/// Steps after which other shifts are tried, against cycles.
const UNUSUAL_SHIFT_EVERY: usize = 10;

/// All eigenvalues in no particular order; `None` if the iteration does not settle.
///
/// The error is that of a change of the *balanced* matrix by some units of its last place.
pub fn eigenvalues(matrix: &DMatrix<f64>) -> Option<Vec<Complex<f64>>> {
    let n = matrix.nrows();
    if n == 1 {
        return Some(vec![Complex::from(matrix[(0, 0)])]);
    }
    let mut balanced = matrix.clone();
    nalgebra::linalg::balancing::balance_parlett_reinsch(&mut balanced);
    let width = n + 1;
    let mut entries = vec![0.0; width * width];
    for (i, row) in balanced.row_iter().enumerate() {
        for (entry, given) in entries[i * width..].iter_mut().zip(row.iter()) {
            *entry = *given;
        }
    }
    let mut rows = Rows { n, width, entries };
    rows.reduce_to_hessenberg();
    rows.deflate()
}

/// A square matrix row by row, with a row and a column of zeros behind: reflections of the last two
/// rows are those of three.
struct Rows {
    n: usize,
    width: usize,
    entries: Vec<f64>,
}

impl Rows {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.width + column]
    }

    /// Householder reflections from both sides, until there is one entry below each diagonal.
    fn reduce_to_hessenberg(&mut self) {
        let (n, width) = (self.n, self.width);
        let mut combined = vec![0.0; n];
        for k in 0..n.saturating_sub(2) {
            let mut v: Vec<f64> = (k + 1..n).map(|i| self.at(i, k)).collect();
            let Some((tau, first)) = reflector(&mut v) else {
                continue;
            };
            // From the left, on columns right of k: A ← A − v (τ vᵀA).
            let below = &mut self.entries[(k + 1) * width..n * width];
            let combined = &mut combined[k + 1..];
            combined.fill(0.0);
            for (row, v) in below.chunks_exact(width).zip(&v) {
                for (sum, entry) in combined.iter_mut().zip(&row[k + 1..]) {
                    *sum += tau * v * entry;
                }
            }
            for (row, v) in below.chunks_exact_mut(width).zip(&v) {
                row[k] = 0.0;
                for (entry, sum) in row[k + 1..].iter_mut().zip(combined.iter()) {
                    *entry -= v * sum;
                }
            }
            below[k] = first;
            // From the right, on all rows: A ← A − τ (A v) vᵀ.
            for row in self.entries[..n * width].chunks_exact_mut(width) {
                let row = &mut row[k + 1..n];
                let sum = tau * dot(row, &v);
                for (entry, v) in row.iter_mut().zip(&v) {
                    *entry -= sum * v;
                }
            }
        }
    }

    /// QR steps until single eigenvalues and pairs fall off the lower end, one after another.
    fn deflate(&mut self) -> Option<Vec<Complex<f64>>> {
        let mut found = Vec::with_capacity(self.n);
        let (mut end, mut steps) = (self.n, 0);
        while end > 0 {
            let begin = self.beginning_of_last_block(end);
            match end - begin {
                1 => found.push(Complex::from(self.at(begin, begin))),
                2 => found.extend(self.pair(begin)),
                _ => {
                    if steps == MOST_STEPS {
                        return None;
                    }
                    steps += 1;
                    let shifts = self.shifts(end, steps);
                    self.qr_step(begin, end, shifts);
                    continue;
                }
            }
            (end, steps) = (begin, 0);
        }
        Some(found)
    }

    /// The last row before `end` whose entry left of the diagonal is nothing beside its neighbours.
    fn beginning_of_last_block(&self, end: usize) -> usize {
        (1..end)
            .rev()
            .find(|&i| {
                let beside = self.at(i - 1, i - 1).abs() + self.at(i, i).abs();
                let beside = if beside > 0.0 { beside } else { self.norm() };
                self.at(i, i - 1).abs() <= f64::EPSILON * beside
            })
            .unwrap_or(0)
    }

    fn norm(&self) -> f64 {
        self.entries.iter().map(|x| x.abs()).sum()
    }

    /// Both eigenvalues of the two rows from `k`: λ² − 2 m λ + d = 0.
    fn pair(&self, k: usize) -> [Complex<f64>; 2] {
        let (a, b) = (self.at(k, k), self.at(k, k + 1));
        let (c, d) = (self.at(k + 1, k), self.at(k + 1, k + 1));
        let (mean, half) = (0.5 * (a + d), 0.5 * (a - d));
        let discriminant = half * half + b * c;
        let root = discriminant.abs().sqrt();
        if discriminant < 0.0 {
            return [Complex::new(mean, root), Complex::new(mean, -root)];
        }
        // The larger without cancellation, the other by its distance from an entry.
        let far = half + if half < 0.0 { -root } else { root };
        let near = if far == 0.0 { d } else { d - b * c / far };
        [Complex::from(d + far), Complex::from(near)]
    }

    /// Sum and product of the two shifts: the eigenvalues of the last two rows.
    fn shifts(&self, end: usize, step: usize) -> (f64, f64) {
        let (p, q) = (end - 2, end - 1);
        if step.is_multiple_of(UNUSUAL_SHIFT_EVERY) {
            let size = self.at(q, p).abs() + self.at(p, p - 1).abs();
            return (1.5 * size, size * size);
        }
        let (a, b, c, d) = (self.at(p, p), self.at(p, q), self.at(q, p), self.at(q, q));
        (a + d, a * d - b * c)
    }

    /// One double step on the rows and columns from `begin` to before `end`, three at least: a
    /// bulge of two entries is made at the upper left and chased out at the lower right.
    fn qr_step(&mut self, begin: usize, end: usize, (sum, product): (f64, f64)) {
        let (a, b) = (self.at(begin, begin), self.at(begin, begin + 1));
        let (c, d) = (self.at(begin + 1, begin), self.at(begin + 1, begin + 1));
        // First column of (H − s₁)(H − s₂), over c.
        let mut x = [
            (a * a - sum * a + product) / c + b,
            a + d - sum,
            self.at(begin + 2, begin + 1),
        ];
        for k in begin..end - 1 {
            if k > begin {
                x = [0, 1, 2].map(|i| self.at(k + i, k - 1));
            }
            if k + 2 == end {
                x[2] = 0.0;
            }
            let Some((tau, first)) = reflector(&mut x) else {
                continue;
            };
            if k > begin {
                for (i, entry) in [first, 0.0, 0.0].into_iter().enumerate() {
                    self.entries[(k + i) * self.width + k - 1] = entry;
                }
            }
            self.reflect(k, begin, end, x, tau);
        }
    }

    /// Applies I − τ v vᵀ to the three rows and the three columns from `k`, within `begin..end`.
    fn reflect(&mut self, k: usize, begin: usize, end: usize, v: [f64; 3], tau: f64) {
        let width = self.width;
        let by_tau = v.map(|v| tau * v);
        let (first, rest) = self.entries[k * width..].split_at_mut(width);
        let (second, third) = rest.split_at_mut(width);
        let rows = first[k..end].iter_mut().zip(&mut second[k..end]);
        for ((x, y), z) in rows.zip(&mut third[k..end]) {
            let sum = v[0] * *x + v[1] * *y + v[2] * *z;
            *x -= sum * by_tau[0];
            *y -= sum * by_tau[1];
            *z -= sum * by_tau[2];
        }
        let last = (k + 4).min(end);
        for row in self.entries[begin * width..last * width].chunks_exact_mut(width) {
            if let Some([x, y, z]) = row[k..].first_chunk_mut() {
                let sum = v[0] * *x + v[1] * *y + v[2] * *z;
                *x -= sum * by_tau[0];
                *y -= sum * by_tau[1];
                *z -= sum * by_tau[2];
            }
        }
    }
}

/// Σ aᵢ bᵢ in four partial sums, so that additions need not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<4>();
    let (b, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Turns x into v with (I − τ v vᵀ) x = (first, 0, …, 0)ᵀ; returns τ and that first entry. `None`
/// where only the first entry is not zero and nothing is to be done.
#[inline]
fn reflector(x: &mut [f64]) -> Option<(f64, f64)> {
    if x[1..].iter().all(|x| *x == 0.0) {
        return None;
    }
    // Squares of what is tiny must not vanish.
    let scale = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    x.iter_mut().for_each(|x| *x /= scale);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().copysign(x[0]);
    x[0] += norm;
    Some((1.0 / (norm * x[0]), -norm * scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::banded::tests::Dice;
    use std::f64::consts::TAU;

    /// Largest distance of a value of one list from the nearest of the other, both ways.
    fn distance(a: &[Complex<f64>], b: &[Complex<f64>]) -> f64 {
        assert_eq!(a.len(), b.len());
        let one_way = |a: &[Complex<f64>], b: &[Complex<f64>]| {
            a.iter()
                .map(|x| {
                    b.iter()
                        .map(|y| (x - y).norm())
                        .fold(f64::INFINITY, f64::min)
                })
                .fold(0.0, f64::max)
        };
        one_way(a, b).max(one_way(b, a))
    }

    fn random(n: usize, seed: u64) -> DMatrix<f64> {
        let mut dice = Dice(seed);
        DMatrix::from_fn(n, n, |_, _| dice.roll())
    }

    /// nalgebra's Schur form is another implementation; random matrices are well conditioned.
    #[test]
    fn random_matrices_have_the_eigenvalues_of_a_schur_form() {
        for n in 1..40 {
            let m = random(n, n as u64);
            let schur = nalgebra::Schur::try_new(m.clone(), f64::EPSILON, 10_000).unwrap();
            let expected = schur.complex_eigenvalues();
            let found = eigenvalues(&m).unwrap();
            let off = distance(&found, expected.as_slice());
            assert!(off < 1e-10, "{n}: {off:e}");
        }
    }

    /// Whose eigenvalues are the roots of 1; without unusual shifts, QR steps leave it as it is.
    #[test]
    fn a_cyclic_exchange_has_the_roots_of_one() {
        for n in 3..20 {
            let m = DMatrix::from_fn(n, n, |i, j| f64::from((i + 1) % n == j));
            let expected: Vec<_> = (0..n)
                .map(|k| Complex::from_polar(1.0, TAU * k as f64 / n as f64))
                .collect();
            let off = distance(&eigenvalues(&m).unwrap(), &expected);
            assert!(off < 1e-13, "{n}: {off:e}");
        }
    }

    /// Positions, velocities and accelerations in one matrix: six powers of ten between units.
    #[test]
    fn other_units_change_nothing() {
        let m = random(12, 7);
        let unit = |i: usize| [1.0, 1e3, 1e6][i % 3];
        let scaled = DMatrix::from_fn(12, 12, |i, j| m[(i, j)] * unit(i) / unit(j));
        let off = distance(&eigenvalues(&m).unwrap(), &eigenvalues(&scaled).unwrap());
        assert!(off < 1e-12, "{off:e}");
    }

    /// One eigenvalue five times in one chain: rounding scatters them by ε^(1/5), about 1e-3, but
    /// leaves Π (z − λ) alone, on which margins rely.
    #[test]
    fn the_product_of_a_defective_matrix_is_exact() {
        let turn = random(5, 3).qr().q();
        let chain = DMatrix::from_fn(
            5,
            5,
            |i, j| {
                if i == j { 0.5 } else { f64::from(i + 1 == j) }
            },
        );
        let found = eigenvalues(&(turn.transpose() * chain * turn)).unwrap();
        for angle in [0.0, 1.0, 2.0, 3.0] {
            let z = Complex::from_polar(1.0, angle);
            let product: Complex<f64> = found.iter().map(|p| z - p).product();
            let expected = (z - 0.5).powi(5);
            assert!(
                (product / expected - 1.0).norm() < 1e-12,
                "{product} {expected}"
            );
        }
    }
}
