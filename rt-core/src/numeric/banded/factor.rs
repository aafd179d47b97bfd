//! Factorisation A = L S Lᵀ of a banded matrix, S = diag(±1), without pivoting.

use super::SymBanded;
use super::substitution::Triangles;

/// The matrix is not positive definite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the matrix is not positive definite: pivot {pivot:e} in row {row}; an unknown without \
     stiffness or mass, or a negative stiffness, is the usual cause"
)]
pub struct NotPositiveDefinite {
    /// Row of the first pivot that is not above zero.
    pub row: usize,
    /// Its value.
    pub pivot: f64,
}

/// A pivot vanished: factorisation without pivoting does not exist or is useless.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("pivot {pivot:e} in row {row} vanishes: shift the matrix a little")]
pub struct ZeroPivot {
    /// Row of the pivot.
    pub row: usize,
    /// Its value.
    pub pivot: f64,
}

/// L of A = L Lᵀ, ready for substitution.
#[derive(Clone, Debug)]
pub struct BandedCholesky {
    triangles: Triangles,
}

impl BandedCholesky {
    /// Number of rows.
    pub fn order(&self) -> usize {
        self.triangles.order()
    }

    /// Replaces b by A⁻¹ b, without allocation.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.order(), "a vector of the matrix's order");
        self.triangles.forward([&mut *b]);
        self.triangles.backward([b]);
    }

    /// Replaces every column of B by A⁻¹ times it, without allocation; `columns` holds them one
    /// after the other. Faster than one at a time.
    pub fn solve_columns_in_place(&self, columns: &mut [f64]) {
        self.triangles.solve_columns(columns, |_| {});
    }
}

/// L and S of A = L S Lᵀ, S = diag(±1), ready for substitution.
#[derive(Clone, Debug)]
pub struct BandedLdlt {
    triangles: Triangles,
    signs: Vec<f64>,
    negative: usize,
    growth: f64,
}

impl BandedLdlt {
    /// Number of rows.
    pub fn order(&self) -> usize {
        self.triangles.order()
    }

    /// Number of negative eigenvalues of A.
    pub fn negative_eigenvalues(&self) -> usize {
        self.negative
    }

    /// Largest l_ij² against the largest |a_ii|. About 1 for a definite matrix; digits are lost in
    /// proportion to it, so that values above 1e6 ask for another shift.
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// Replaces b by A⁻¹ b, without allocation.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        assert_eq!(b.len(), self.order(), "a vector of the matrix's order");
        self.triangles.forward([&mut *b]);
        self.apply_signs(b);
        self.triangles.backward([b]);
    }

    /// Replaces every column of B by A⁻¹ times it, without allocation; `columns` holds them one
    /// after the other. Faster than one at a time.
    pub fn solve_columns_in_place(&self, columns: &mut [f64]) {
        self.triangles
            .solve_columns(columns, |column| self.apply_signs(column));
    }

    fn apply_signs(&self, b: &mut [f64]) {
        for (b, sign) in b.iter_mut().zip(&self.signs) {
            *b *= sign;
        }
    }
}

pub(super) fn cholesky(matrix: &SymBanded) -> Result<BandedCholesky, NotPositiveDefinite> {
    let mut columns = Columns::new(matrix);
    for j in 0..columns.order {
        let pivot = columns.eliminate(j);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(NotPositiveDefinite { row: j, pivot });
        }
    }
    columns.scale();
    Ok(BandedCholesky {
        triangles: Triangles::new(&columns),
    })
}

pub(super) fn ldlt(matrix: &SymBanded) -> Result<BandedLdlt, ZeroPivot> {
    let mut columns = Columns::new(matrix);
    let negative = columns.eliminate_indefinite()?;
    let signs = columns.scale();
    let largest = (0..matrix.order())
        .map(|i| matrix.get(i, i).abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    let growth = columns.entries.iter().map(|l| l * l).fold(0.0, f64::max) / largest;
    Ok(BandedLdlt {
        triangles: Triangles::new(&columns),
        signs,
        negative,
        growth,
    })
}

pub(super) fn negative_pivots(matrix: &SymBanded) -> Result<usize, ZeroPivot> {
    Columns::new(matrix).eliminate_indefinite()
}

/// The lower triangle column by column, a_{j+d, j} at j·(w + 1) + d; eliminated in place into L.
pub(super) struct Columns {
    pub(super) order: usize,
    pub(super) half_bandwidth: usize,
    entries: Vec<f64>,
}

impl Columns {
    fn new(matrix: &SymBanded) -> Self {
        let (order, half_bandwidth) = (matrix.order(), matrix.half_bandwidth());
        let width = half_bandwidth + 1;
        let mut entries = vec![0.0; order * width];
        for d in 0..width {
            let below = matrix.diagonal(d).iter().skip(d);
            for (column, entry) in entries.chunks_exact_mut(width).zip(below) {
                column[d] = *entry;
            }
        }
        Self {
            order,
            half_bandwidth,
            entries,
        }
    }

    /// Subtracts c cᵀ / p from what follows, c being the column j below its pivot p.
    fn eliminate(&mut self, j: usize) -> f64 {
        let width = self.half_bandwidth + 1;
        let (done, following) = self.entries.split_at_mut((j + 1) * width);
        let column = &done[j * width..];
        let pivot = column[0];
        let inverse = 1.0 / pivot;
        for (m, target) in (1..width).zip(following.chunks_exact_mut(width)) {
            let factor = column[m] * inverse;
            for (into, entry) in target.iter_mut().zip(&column[m..]) {
                *into -= factor * entry;
            }
        }
        pivot
    }

    /// Eliminates all columns; the number of negative pivots.
    fn eliminate_indefinite(&mut self) -> Result<usize, ZeroPivot> {
        let mut negative = 0;
        for j in 0..self.order {
            let pivot = self.eliminate(j);
            if !pivot.is_normal() {
                return Err(ZeroPivot { row: j, pivot });
            }
            negative += usize::from(pivot < 0.0);
        }
        Ok(negative)
    }

    /// l_jj = √|p|, l_ij = c_i s / √|p|; returns the signs s of the pivots.
    fn scale(&mut self) -> Vec<f64> {
        let columns = self.entries.chunks_exact_mut(self.half_bandwidth + 1);
        columns
            .map(|column| {
                let sign = column[0].signum();
                let factor = sign / column[0].abs().sqrt();
                column.iter_mut().for_each(|entry| *entry *= factor);
                sign
            })
            .collect()
    }

    /// l_ij; ones on the diagonal beyond the last row complete its block.
    pub(super) fn get(&self, i: usize, j: usize) -> f64 {
        if i >= self.order {
            f64::from(u8::from(i == j))
        } else if j > i || i - j > self.half_bandwidth {
            0.0
        } else {
            self.entries[j * (self.half_bandwidth + 1) + i - j]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Dice, dense, random};
    use super::*;

    const SIZES: [(usize, usize); 11] = [
        (1, 0),
        (2, 1),
        (4, 3),
        (5, 4),
        (9, 0),
        (10, 3),
        (37, 8),
        (50, 13),
        (64, 16),
        (75, 21),
        (90, 33),
    ];

    #[test]
    fn cholesky_solves_as_dense_lu_does() {
        let mut dice = Dice(11);
        for (n, w) in SIZES {
            let a = random(n, w, 2.0 * w as f64 + 1.5, &mut dice);
            let right: Vec<f64> = (0..n).map(|_| dice.roll()).collect();
            let expected = dense(&a)
                .lu()
                .solve(&nalgebra::DVector::from_vec(right.clone()))
                .unwrap();
            let mut x = right;
            a.cholesky().unwrap().solve_in_place(&mut x);
            for i in 0..n {
                assert!((x[i] - expected[i]).abs() < 1e-12, "n {n} w {w} row {i}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_solved_and_its_signs_counted() {
        let mut dice = Dice(23);
        for (n, w) in SIZES {
            let a = random(n, w, 0.3, &mut dice);
            let eigenvalues = dense(&a).symmetric_eigenvalues();
            let negative = eigenvalues.iter().filter(|e| **e < 0.0).count();
            let factor = a.ldlt().unwrap();
            assert_eq!(factor.negative_eigenvalues(), negative, "n {n} w {w}");
            assert_eq!(a.negative_eigenvalues(), Ok(negative));
            let right: Vec<f64> = (0..n).map(|_| dice.roll()).collect();
            let expected = dense(&a)
                .lu()
                .solve(&nalgebra::DVector::from_vec(right.clone()))
                .unwrap();
            let mut x = right;
            factor.solve_in_place(&mut x);
            // Without pivoting digits are lost in proportion to the growth.
            let tolerance = 1e-11 * factor.growth().max(1.0) * expected.amax().max(1.0);
            for i in 0..n {
                assert!(
                    (x[i] - expected[i]).abs() < tolerance,
                    "n {n} w {w} row {i}"
                );
            }
        }
    }

    #[test]
    fn many_columns_give_what_single_ones_give() {
        let mut dice = Dice(5);
        let (n, w) = (43, 9);
        let definite = random(n, w, 20.0, &mut dice).cholesky().unwrap();
        let indefinite = random(n, w, 0.5, &mut dice).ldlt().unwrap();
        for count in [0, 1, 3, 4, 6, 9] {
            let columns: Vec<f64> = (0..n * count).map(|_| dice.roll()).collect();
            let (mut single, mut many) = (columns.clone(), columns.clone());
            single
                .chunks_exact_mut(n)
                .for_each(|c| definite.solve_in_place(c));
            definite.solve_columns_in_place(&mut many);
            assert_eq!(single, many);
            let (mut single, mut many) = (columns.clone(), columns);
            single
                .chunks_exact_mut(n)
                .for_each(|c| indefinite.solve_in_place(c));
            indefinite.solve_columns_in_place(&mut many);
            assert_eq!(single, many);
        }
    }

    #[test]
    fn a_matrix_that_is_not_definite_names_row_and_pivot() {
        let mut a = SymBanded::zeros(3, 1);
        for i in 0..3 {
            a.add(i, i, 1.0).unwrap();
        }
        a.add(2, 1, 2.0).unwrap();
        let error = a.cholesky().unwrap_err();
        assert_eq!((error.row, error.pivot), (2, -3.0));
        assert!(error.to_string().contains("row 2"));
        let mut singular = SymBanded::zeros(2, 1);
        singular.add(0, 1, 1.0).unwrap();
        assert_eq!(singular.ldlt().unwrap_err().row, 0);
    }
}
