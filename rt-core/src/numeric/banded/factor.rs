//! Factorisation A = L S Lᵀ of a banded matrix and its substitutions.
//!
//! Substituting row by row is one long chain: each unknown waits for the one before. Four rows are
//! therefore solved at once. With L cut into 4 × 4 blocks, forward substitution
//!
//!   y_b = L_bb⁻¹ (r_b − Σ_k L_bk y_k) = G_b r_b − Σ_k H_bk y_k,  G_b = L_bb⁻¹, H_bk = G_b L_bk
//!
//! has G_b and H_bk computed beforehand, so the chain is one product long for four unknowns and
//! vectorises. Backward substitution is the same with the transposed blocks.

use super::SymBanded;

/// Rows solved at once.
const BLOCK: usize = 4;

/// A 4 × 4 block, column by column.
type Block = [[f64; BLOCK]; BLOCK];

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
        self.triangles.order
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
        self.triangles.order
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
    let mut rows = Rows::new(matrix);
    for i in 0..matrix.order() {
        let pivot = rows.eliminate(matrix, i);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(NotPositiveDefinite { row: i, pivot });
        }
        rows.finish(i, pivot);
    }
    Ok(BandedCholesky {
        triangles: Triangles::new(&rows),
    })
}

pub(super) fn ldlt(matrix: &SymBanded) -> Result<BandedLdlt, ZeroPivot> {
    let mut rows = Rows::new(matrix);
    let negative = rows.factor_indefinite(matrix)?;
    let largest = (0..matrix.order())
        .map(|i| matrix.get(i, i).abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    let growth = rows.l.iter().map(|l| l * l).fold(0.0, f64::max) / largest;
    Ok(BandedLdlt {
        triangles: Triangles::new(&rows),
        signs: rows.signs,
        negative,
        growth,
    })
}

pub(super) fn negative_pivots(matrix: &SymBanded) -> Result<usize, ZeroPivot> {
    Rows::new(matrix).factor_indefinite(matrix)
}

/// L row by row as the matrix itself, and L S beside it.
struct Rows {
    order: usize,
    half_bandwidth: usize,
    l: Vec<f64>,
    l_signed: Vec<f64>,
    signs: Vec<f64>,
}

impl Rows {
    fn new(matrix: &SymBanded) -> Self {
        let places = matrix.order() * (matrix.half_bandwidth() + 1);
        Self {
            order: matrix.order(),
            half_bandwidth: matrix.half_bandwidth(),
            l: vec![0.0; places],
            l_signed: vec![0.0; places],
            signs: vec![1.0; matrix.order()],
        }
    }

    /// l_ij = (a_ij − Σ_{k<j} l_ik s_k l_jk) s_j / l_jj for the row i; returns its pivot.
    fn eliminate(&mut self, matrix: &SymBanded, i: usize) -> f64 {
        let w = self.half_bandwidth;
        let width = w + 1;
        let (done, row) = self.l.split_at_mut(i * width);
        let row_signed = &mut self.l_signed[i * width..(i + 1) * width];
        let row = &mut row[..width];
        for place in w - w.min(i)..w {
            let j = i + place - w;
            // Row j holds column k at k − (j − w): the columns that both rows share start at i − w.
            let other = &done[j * width..(j + 1) * width];
            let shared = &other[w - place..w];
            let sum: f64 = shared
                .iter()
                .zip(&row_signed[..place])
                .map(|(a, b)| a * b)
                .sum();
            row_signed[place] = (matrix.get(i, j) - sum) / other[w];
            row[place] = row_signed[place] * self.signs[j];
        }
        let sum: f64 = row[..w]
            .iter()
            .zip(&row_signed[..w])
            .map(|(a, b)| a * b)
            .sum();
        matrix.get(i, i) - sum
    }

    fn finish(&mut self, i: usize, pivot: f64) {
        let place = i * (self.half_bandwidth + 1) + self.half_bandwidth;
        self.signs[i] = pivot.signum();
        self.l[place] = pivot.abs().sqrt();
        self.l_signed[place] = self.l[place] * self.signs[i];
    }

    fn factor_indefinite(&mut self, matrix: &SymBanded) -> Result<usize, ZeroPivot> {
        let mut negative = 0;
        for i in 0..self.order {
            let pivot = self.eliminate(matrix, i);
            if !pivot.is_normal() {
                return Err(ZeroPivot { row: i, pivot });
            }
            negative += usize::from(pivot < 0.0);
            self.finish(i, pivot);
        }
        Ok(negative)
    }

    /// l_ij; ones on the diagonal beyond the last row complete its block.
    fn get(&self, i: usize, j: usize) -> f64 {
        let w = self.half_bandwidth;
        if i >= self.order {
            f64::from(u8::from(i == j))
        } else if j > i || i - j > w {
            0.0
        } else {
            self.l[i * (w + 1) + w - (i - j)]
        }
    }
}

/// L and Lᵀ in blocks, each with the inverse of its diagonal block multiplied in.
#[derive(Clone, Debug)]
struct Triangles {
    order: usize,
    /// Off-diagonal blocks a block row.
    reach: usize,
    /// For each block row: G_b, then H_bk for k = b − reach … b − 1 (zero left of the matrix).
    lower: Vec<Block>,
    /// For each block row: G_bᵀ, then L_bb⁻ᵀ L_kbᵀ for k = b + reach … b + 1 (zero beyond the end).
    upper: Vec<Block>,
}

impl Triangles {
    fn new(rows: &Rows) -> Self {
        let blocks = rows.order.div_ceil(BLOCK);
        let reach = rows.half_bandwidth.div_ceil(BLOCK);
        let mut lower = Vec::with_capacity(blocks * (reach + 1));
        let mut upper = Vec::with_capacity(blocks * (reach + 1));
        let identity: Block =
            std::array::from_fn(|c| std::array::from_fn(|r| f64::from(u8::from(r == c))));
        for b in 0..blocks {
            let diagonal = block_of(rows, b, b);
            lower.push(solve_lower(&diagonal, &identity));
            upper.push(solve_lower_transposed(&diagonal, &identity));
            for distance in (1..=reach).rev() {
                lower.push(match b.checked_sub(distance) {
                    Some(k) => solve_lower(&diagonal, &block_of(rows, b, k)),
                    None => [[0.0; BLOCK]; BLOCK],
                });
                upper.push(if b + distance < blocks {
                    let below = block_of(rows, b + distance, b);
                    solve_lower_transposed(&diagonal, &transposed(&below))
                } else {
                    [[0.0; BLOCK]; BLOCK]
                });
            }
        }
        Self {
            order: rows.order,
            reach,
            lower,
            upper,
        }
    }

    /// y = L⁻¹ r for several right-hand sides of equal length at once.
    fn forward<const SIDES: usize>(&self, mut sides: [&mut [f64]; SIDES]) {
        // The newest unknowns stay in registers; through memory they would come late.
        let mut newest = [[0.0; BLOCK]; SIDES];
        for (b, blocks) in self.lower.chunks_exact(self.reach + 1).enumerate() {
            let first = b.saturating_sub(self.reach);
            let older = &blocks[1 + self.reach - (b - first)..];
            for (side, newest) in sides.iter_mut().zip(&mut newest) {
                let mut sum = multiply(&blocks[0], &chunk(side, b));
                if let Some((last, older)) = older.split_last() {
                    for (k, block) in (first..).zip(older) {
                        subtract_product(&mut sum, block, &chunk(side, k));
                    }
                    subtract_product(&mut sum, last, newest);
                }
                set_chunk(side, b, &sum);
                *newest = sum;
            }
        }
    }

    /// x = L⁻ᵀ y for several right-hand sides of equal length at once.
    fn backward<const SIDES: usize>(&self, mut sides: [&mut [f64]; SIDES]) {
        let count = self.order.div_ceil(BLOCK);
        let mut newest = [[0.0; BLOCK]; SIDES];
        for (b, blocks) in self.upper.chunks_exact(self.reach + 1).enumerate().rev() {
            let last = (b + self.reach).min(count - 1);
            let older = &blocks[1 + self.reach - (last - b)..];
            for (side, newest) in sides.iter_mut().zip(&mut newest) {
                let mut sum = multiply(&blocks[0], &chunk(side, b));
                if let Some((next, older)) = older.split_last() {
                    for (k, block) in (b + 2..=last).rev().zip(older) {
                        subtract_product(&mut sum, block, &chunk(side, k));
                    }
                    subtract_product(&mut sum, next, newest);
                }
                set_chunk(side, b, &sum);
                *newest = sum;
            }
        }
    }

    fn solve_columns(&self, columns: &mut [f64], between: impl Fn(&mut [f64])) {
        const SIDES: usize = 4;
        if self.order == 0 {
            return;
        }
        assert_eq!(
            columns.len() % self.order,
            0,
            "columns of the matrix's order"
        );
        let mut groups = columns.chunks_exact_mut(SIDES * self.order);
        for group in &mut groups {
            let (ab, cd) = group.split_at_mut(2 * self.order);
            let (a, b) = ab.split_at_mut(self.order);
            let (c, d) = cd.split_at_mut(self.order);
            self.forward([&mut *a, &mut *b, &mut *c, &mut *d]);
            for side in [&mut *a, &mut *b, &mut *c, &mut *d] {
                between(side);
            }
            self.backward([a, b, c, d]);
        }
        for side in groups.into_remainder().chunks_exact_mut(self.order) {
            self.forward([&mut *side]);
            between(side);
            self.backward([side]);
        }
    }
}

fn block_of(rows: &Rows, block_row: usize, block_column: usize) -> Block {
    std::array::from_fn(|c| {
        std::array::from_fn(|r| rows.get(block_row * BLOCK + r, block_column * BLOCK + c))
    })
}

fn transposed(block: &Block) -> Block {
    std::array::from_fn(|c| std::array::from_fn(|r| block[r][c]))
}

/// T⁻¹ B for a lower triangle T.
fn solve_lower(triangle: &Block, right: &Block) -> Block {
    right.map(|mut column| {
        for i in 0..BLOCK {
            for k in 0..i {
                column[i] -= triangle[k][i] * column[k];
            }
            column[i] /= triangle[i][i];
        }
        column
    })
}

/// T⁻ᵀ B for a lower triangle T.
fn solve_lower_transposed(triangle: &Block, right: &Block) -> Block {
    right.map(|mut column| {
        for i in (0..BLOCK).rev() {
            for k in i + 1..BLOCK {
                column[i] -= triangle[i][k] * column[k];
            }
            column[i] /= triangle[i][i];
        }
        column
    })
}

/// Four numbers of a vector; zeros complete the last ones.
#[inline(always)]
fn chunk(vector: &[f64], b: usize) -> [f64; BLOCK] {
    match vector[b * BLOCK..].first_chunk() {
        Some(chunk) => *chunk,
        None => {
            let mut chunk = [0.0; BLOCK];
            for (into, value) in chunk.iter_mut().zip(&vector[b * BLOCK..]) {
                *into = *value;
            }
            chunk
        }
    }
}

#[inline(always)]
fn set_chunk(vector: &mut [f64], b: usize, chunk: &[f64; BLOCK]) {
    match vector[b * BLOCK..].first_chunk_mut() {
        Some(into) => *into = *chunk,
        None => {
            for (into, value) in vector[b * BLOCK..].iter_mut().zip(chunk) {
                *into = *value;
            }
        }
    }
}

#[inline(always)]
fn multiply(block: &Block, x: &[f64; BLOCK]) -> [f64; BLOCK] {
    std::array::from_fn(|r| {
        (block[0][r] * x[0] + block[1][r] * x[1]) + (block[2][r] * x[2] + block[3][r] * x[3])
    })
}

#[inline(always)]
fn subtract_product(sum: &mut [f64; BLOCK], block: &Block, x: &[f64; BLOCK]) {
    let product = multiply(block, x);
    for (sum, product) in sum.iter_mut().zip(product) {
        *sum -= product;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Dice, dense, random};
    use super::*;

    const SIZES: [(usize, usize); 9] = [
        (1, 0),
        (2, 1),
        (4, 3),
        (5, 4),
        (9, 0),
        (10, 3),
        (37, 8),
        (50, 13),
        (64, 16),
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
