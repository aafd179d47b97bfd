//! Symmetric banded matrices: assembly, product, factorisation.
//!
//! Nodes numbered along a line give matrices whose entries vanish further than a *half-bandwidth*
//! w from the diagonal: a_ij = 0 for |i − j| > w. Only the lower triangle is stored, diagonal by
//! diagonal, so that a product runs along whole vectors.
//!
//! Lengths of vectors that do not fit the matrix are mistakes of the calling program, not of its
//! input: they are asserted once on entry.

mod factor;
mod substitution;

pub use factor::{BandedCholesky, BandedLdlt, NotPositiveDefinite, ZeroPivot};

/// An entry was added where a banded matrix has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "entry ({row}, {column}) lies outside a matrix of order {order} with half-bandwidth \
     {half_bandwidth}: number the unknowns along the line, or allow a wider band"
)]
pub struct OutsideBand {
    /// Row of the entry.
    pub row: usize,
    /// Column of the entry.
    pub column: usize,
    /// Number of rows of the matrix.
    pub order: usize,
    /// Half-bandwidth of the matrix.
    pub half_bandwidth: usize,
}

/// A symmetric matrix with a_ij = 0 for |i − j| > half-bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct SymBanded {
    order: usize,
    half_bandwidth: usize,
    /// Diagonal d holds a_{i, i−d} at d·order + i; its first d places stay zero.
    diagonals: Vec<f64>,
}

impl SymBanded {
    /// The zero matrix.
    pub fn zeros(order: usize, half_bandwidth: usize) -> Self {
        let half_bandwidth = half_bandwidth.min(order.saturating_sub(1));
        Self {
            order,
            half_bandwidth,
            diagonals: vec![0.0; order * (half_bandwidth + 1)],
        }
    }

    /// Number of rows.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Largest distance of an entry from the diagonal.
    pub fn half_bandwidth(&self) -> usize {
        self.half_bandwidth
    }

    /// Place of an entry of the band, from either triangle.
    fn place(&self, i: usize, j: usize) -> Option<usize> {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        let distance = row - column;
        (row < self.order && distance <= self.half_bandwidth).then(|| distance * self.order + row)
    }

    /// Adds `value` to the entry (i, j), which is also the entry (j, i).
    ///
    /// Adding *one* triangle of an element matrix is enough; adding both would count twice.
    pub fn add(&mut self, i: usize, j: usize, value: f64) -> Result<(), OutsideBand> {
        match self.place(i, j) {
            Some(place) => {
                self.diagonals[place] += value;
                Ok(())
            }
            None => Err(OutsideBand {
                row: i,
                column: j,
                order: self.order,
                half_bandwidth: self.half_bandwidth,
            }),
        }
    }

    /// The entry (i, j); zero outside the band.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.place(i, j).map_or(0.0, |place| self.diagonals[place])
    }

    /// Diagonal `d` below the main one; place i holds a_{i, i−d}.
    fn diagonal(&self, d: usize) -> &[f64] {
        &self.diagonals[d * self.order..(d + 1) * self.order]
    }

    /// y = A x, without allocation.
    pub fn mul_vec(&self, x: &[f64], y: &mut [f64]) {
        let n = self.order;
        assert!(
            x.len() == n && y.len() == n,
            "vectors of the matrix's order"
        );
        // Away from the ends, rows are summed sixteen at a time.
        const ROWS: usize = 16;
        let first = self.half_bandwidth.min(n);
        let chunks = n.saturating_sub(2 * self.half_bandwidth) / ROWS;
        let last = first + chunks * ROWS;
        for i in (first..last).step_by(ROWS) {
            let sums = self.rows_times::<ROWS>(i, x);
            y[i..i + ROWS].copy_from_slice(&sums);
        }
        for i in (0..first).chain(last..n) {
            let columns = i.saturating_sub(self.half_bandwidth)..n.min(i + self.half_bandwidth + 1);
            y[i] = columns.map(|j| self.get(i, j) * x[j]).sum();
        }
    }

    /// Rows i … i + ROWS − 1 of A x, all of them at least the half-bandwidth from the ends.
    #[inline(always)]
    fn rows_times<const ROWS: usize>(&self, i: usize, x: &[f64]) -> [f64; ROWS] {
        let main = &self.diagonals[i..i + ROWS];
        let here = &x[i..i + ROWS];
        let mut sums: [f64; ROWS] = std::array::from_fn(|r| main[r] * here[r]);
        for d in 1..=self.half_bandwidth {
            let diagonal = self.diagonal(d);
            let (left, below) = (&diagonal[i..i + ROWS], &diagonal[i + d..i + d + ROWS]);
            let (before, after) = (&x[i - d..i - d + ROWS], &x[i + d..i + d + ROWS]);
            for r in 0..ROWS {
                sums[r] += left[r] * before[r] + below[r] * after[r];
            }
        }
        sums
    }

    /// a·A + b·B, as wide as the wider of the two.
    pub fn linear_combination(a: f64, matrix_a: &Self, b: f64, matrix_b: &Self) -> Self {
        assert_eq!(matrix_a.order, matrix_b.order, "matrices of the same order");
        let w = matrix_a.half_bandwidth.max(matrix_b.half_bandwidth);
        let mut sum = Self::zeros(matrix_a.order, w);
        for (factor, matrix) in [(a, matrix_a), (b, matrix_b)] {
            for (into, entry) in sum.diagonals.iter_mut().zip(&matrix.diagonals) {
                *into += factor * entry;
            }
        }
        sum
    }

    /// A = L Lᵀ for a positive definite matrix.
    pub fn cholesky(&self) -> Result<BandedCholesky, NotPositiveDefinite> {
        factor::cholesky(self)
    }

    /// A = L S Lᵀ with S = diag(±1), without pivoting: for matrices that are not definite.
    ///
    /// The number of negative signs is the number of negative eigenvalues (Sylvester), so that
    /// K − σM counts the eigenvalues of (K, M) below σ.
    pub fn ldlt(&self) -> Result<BandedLdlt, ZeroPivot> {
        factor::ldlt(self)
    }

    /// Number of negative eigenvalues.
    pub fn negative_eigenvalues(&self) -> Result<usize, ZeroPivot> {
        factor::negative_pivots(self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small generator of reproducible numbers within −1 … 1 (Marsaglia's xorshift64).
    pub(crate) struct Dice(pub u64);

    impl Dice {
        pub(crate) fn roll(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }
    }

    /// A random symmetric matrix; `diagonal` above 2w makes it positive definite (Gershgorin).
    pub(crate) fn random(n: usize, w: usize, diagonal: f64, dice: &mut Dice) -> SymBanded {
        let mut matrix = SymBanded::zeros(n, w);
        for i in 0..n {
            for j in i.saturating_sub(w)..i {
                matrix.add(i, j, dice.roll()).unwrap();
            }
            matrix.add(i, i, diagonal + dice.roll()).unwrap();
        }
        matrix
    }

    pub(crate) fn dense(matrix: &SymBanded) -> nalgebra::DMatrix<f64> {
        let n = matrix.order();
        nalgebra::DMatrix::from_fn(n, n, |i, j| matrix.get(i, j))
    }

    #[test]
    fn both_triangles_are_the_same_entry_and_outside_is_an_error() {
        let mut a = SymBanded::zeros(5, 2);
        a.add(3, 1, 2.0).unwrap();
        a.add(1, 3, 0.5).unwrap();
        assert_eq!((a.get(3, 1), a.get(1, 3), a.get(4, 0)), (2.5, 2.5, 0.0));
        let error = a.add(4, 1, 1.0).unwrap_err();
        assert_eq!((error.row, error.column), (4, 1));
        assert!(a.add(5, 5, 1.0).is_err());
        assert!(error.to_string().contains("half-bandwidth 2"), "{error}");
    }

    #[test]
    fn product_and_combination_equal_the_dense_ones() {
        let mut dice = Dice(7);
        for (n, w) in [(1, 0), (2, 1), (3, 7), (9, 0), (10, 3), (37, 8), (50, 13)] {
            let a = random(n, w, 1.0, &mut dice);
            let b = random(n, w / 2, 1.0, &mut dice);
            let x: Vec<f64> = (0..n).map(|_| dice.roll()).collect();
            let c = SymBanded::linear_combination(2.0, &a, -3.0, &b);
            let expected =
                (dense(&a) * 2.0 - dense(&b) * 3.0) * nalgebra::DVector::from_vec(x.clone());
            let mut y = vec![f64::NAN; n];
            c.mul_vec(&x, &mut y);
            for i in 0..n {
                assert!((y[i] - expected[i]).abs() < 1e-13, "n {n} w {w} row {i}");
            }
        }
    }
}
