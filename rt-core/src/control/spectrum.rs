//! Spectral radius and eigenvalues of matrices that need not be symmetric.
//!
//! A loop that is cut is a chain of parts, each with eigenvalues of its own. The matrix is taken
//! apart into such parts first, which are quicker together than the whole and exact where they are
//! single states.

use crate::numeric::francis;
use nalgebra::{Complex, DMatrix};

/// Largest |eigenvalue|; not a number if the eigenvalues cannot be found.
pub fn spectral_radius(matrix: &DMatrix<f64>) -> f64 {
    eigenvalues(matrix).map_or(f64::NAN, |values| values.first().map_or(0.0, |z| z.norm()))
}

/// All eigenvalues, the largest first; `None` if the iteration does not settle.
pub fn eigenvalues(matrix: &DMatrix<f64>) -> Option<Vec<Complex<f64>>> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut values = Vec::with_capacity(matrix.nrows());
    for part in Parts::of(matrix) {
        let own = matrix.select_rows(&part).select_columns(&part);
        values.extend(francis::eigenvalues(&own)?);
    }
    values.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
    Some(values)
}

/// States that act on each other, directly or through others, belong to one part: the strongly
/// connected components of the matrix's graph, by Tarjan's depth-first search.
struct Parts<'a> {
    matrix: &'a DMatrix<f64>,
    /// When each state was met first, from 1; 0 if not yet.
    met: Vec<usize>,
    /// States met whose part is not complete.
    open: Vec<usize>,
    is_open: Vec<bool>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl<'a> Parts<'a> {
    fn of(matrix: &'a DMatrix<f64>) -> Vec<Vec<usize>> {
        let n = matrix.nrows();
        let mut search = Self {
            matrix,
            met: vec![0; n],
            open: Vec::with_capacity(n),
            is_open: vec![false; n],
            count: 0,
            found: Vec::new(),
        };
        for state in 0..n {
            if search.met[state] == 0 {
                search.visit(state);
            }
        }
        search.found
    }

    /// Returns when the earliest open state was met that is reached from this one.
    fn visit(&mut self, state: usize) -> usize {
        self.count += 1;
        let own = self.count;
        self.met[state] = own;
        let place = self.open.len();
        self.open.push(state);
        self.is_open[state] = true;
        let mut earliest = own;
        for next in 0..self.met.len() {
            if self.matrix[(next, state)] == 0.0 {
                continue;
            }
            if self.met[next] == 0 {
                earliest = earliest.min(self.visit(next));
            } else if self.is_open[next] {
                earliest = earliest.min(self.met[next]);
            }
        }
        if earliest == own {
            let part = self.open.split_off(place);
            for state in &part {
                self.is_open[*state] = false;
            }
            self.found.push(part);
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radius_and_eigenvalues_of_known_matrices() {
        // A rotation by 0.3 rad scaled by 0.97, a real 0.5, and a large coupling between them.
        let (s, c) = 0.3_f64.sin_cos();
        let m = DMatrix::from_row_slice(
            3,
            3,
            &[
                0.97 * c,
                -0.97 * s,
                1e6,
                0.97 * s,
                0.97 * c,
                -3e5,
                0.0,
                0.0,
                0.5,
            ],
        );
        assert!((spectral_radius(&m) - 0.97).abs() < 1e-8);
        let values = eigenvalues(&m).unwrap();
        assert!((values[0].norm() - 0.97).abs() < 1e-9);
        assert!((values[0].arg().abs() - 0.3).abs() < 1e-9);
        assert!((values[2] - Complex::from(0.5)).norm() < 1e-9);
    }

    #[test]
    fn a_nilpotent_matrix_has_radius_zero_and_none_is_not_a_number() {
        let m = DMatrix::from_row_slice(2, 2, &[0.0, 5.0, 0.0, 0.0]);
        assert_eq!(spectral_radius(&m), 0.0);
        let m = DMatrix::from_row_slice(2, 2, &[f64::NAN, 5.0, 0.0, 0.0]);
        assert!(spectral_radius(&m).is_nan());
        assert!(eigenvalues(&m).is_none());
    }

    /// Three parts that act on each other in one direction only, their states mixed up.
    #[test]
    fn a_chain_of_parts_has_the_eigenvalues_of_its_parts() {
        let (s, c) = 0.4_f64.sin_cos();
        // States 2 and 4 turn, 1 and 3 turn at half the size, 0 is alone.
        let mut m = DMatrix::zeros(5, 5);
        for (i, j, size) in [(2, 4, 0.9), (3, 1, 0.45)] {
            m[(i, i)] = size * c;
            m[(j, j)] = size * c;
            m[(i, j)] = -size * s;
            m[(j, i)] = size * s;
        }
        m[(0, 0)] = 0.1;
        // 2 → 3 → 0, and 4 → 0.
        m[(3, 2)] = 7.0;
        m[(0, 3)] = -3.0;
        m[(0, 4)] = 5.0;
        let mut parts = Parts::of(&m);
        for part in &mut parts {
            part.sort_unstable();
        }
        parts.sort();
        assert_eq!(parts, [vec![0], vec![1, 3], vec![2, 4]]);
        let sizes: Vec<f64> = eigenvalues(&m).unwrap().iter().map(|z| z.norm()).collect();
        for (found, expected) in sizes.iter().zip([0.9, 0.9, 0.45, 0.45, 0.1]) {
            assert!((found - expected).abs() < 1e-15, "{sizes:?}");
        }
        // The way back makes one part of them all.
        m[(4, 0)] = 1.0;
        assert_eq!(Parts::of(&m).len(), 1);
    }
}
