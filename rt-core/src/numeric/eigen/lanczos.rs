//! All eigenpairs of a slice of the spectrum by shift-and-invert block Lanczos.
//!
//! A = (K − σM)⁻¹ M is self-adjoint in the scalar product xᵀMy and has the eigenvalues
//! θ = 1/(λ − σ): those next to the shift σ come first. The basis V is kept M-orthonormal by full
//! reorthogonalisation, so that T = VᵀMAV holds to rounding, no copies arise, and
//!
//!   A V_j = V C + Q R,  residual of the Ritz pair (θ, x = V y): ‖R y_j‖,
//!
//! y_j being the part of y that belongs to the last block.

use super::super::banded::{BandedLdlt, SymBanded};
use super::columns::{dot, product, subtract_multiple, subtract_product, transpose_times};
use super::slices::Slice;
use nalgebra::DMatrix;

/// Columns of a block: copies of an eigenvalue that one block sees at once; more come by growth.
const BLOCK: usize = 2;

/// A Ritz pair counts when its residual is below this share of |θ|.
const TOLERANCE: f64 = 1e-12;

/// A column that projection leaves with less than this share of its length is rounding only.
const DEPENDENT: f64 = 1e-12;

/// Eigenpairs of one slice, ascending.
pub(super) struct SlicePairs {
    pub(super) omega2: Vec<f64>,
    /// Column after column.
    pub(super) shapes: Vec<f64>,
}

/// Finds the eigenpairs of a slice; `Err` holds the number found if that is not all.
pub(super) fn solve_slice(
    mass: &SymBanded,
    shifted: &BandedLdlt,
    shift: f64,
    slice: Slice,
) -> Result<SlicePairs, usize> {
    let mut basis = Basis::new(mass, shifted);
    let limit = mass.order().min(12 * slice.count + 400);
    // About this many vectors are needed; looking earlier is lost work.
    let mut next_look = (2 * slice.count + 24).min(limit);
    let mut found = 0;
    loop {
        basis.expand();
        let dimension = basis.dimension();
        let exhausted = dimension >= limit || basis.block == 0;
        if dimension < next_look && !exhausted {
            continue;
        }
        let ritz = basis.ritz(shift, slice);
        let converged = ritz.iter().filter(|r| r.converged).count();
        if converged == slice.count && ritz.len() == slice.count {
            return Ok(basis.pairs(&ritz));
        }
        if ritz.len() < slice.count && (converged == ritz.len() || basis.block == 0) {
            // What is seen has converged and some is unseen: more copies than the block has columns.
            if dimension >= limit {
                return Err(converged);
            }
            basis.add_random(BLOCK);
        } else if exhausted {
            return Err(converged);
        }
        found = found.max(converged);
        let missing = slice.count.saturating_sub(found);
        next_look = dimension + (missing / 2).clamp(12, 32);
    }
}

/// A Ritz value inside the slice.
struct Ritz {
    omega2: f64,
    theta: f64,
    converged: bool,
    vector: Vec<f64>,
}

struct Basis<'a> {
    mass: &'a SymBanded,
    shifted: &'a BandedLdlt,
    n: usize,
    /// Finished columns, A V of which is known, then the `block` newest ones.
    v: Vec<f64>,
    block: usize,
    /// M times the last two blocks.
    mass_times_recent: Vec<f64>,
    /// Columns of VᵀMAV, as long as the basis was then.
    t: Vec<Vec<f64>>,
    /// Columns of R of the last expansion and the number of columns of Q.
    r: Vec<Vec<f64>>,
    q: usize,
    random: u64,
}

impl<'a> Basis<'a> {
    fn new(mass: &'a SymBanded, shifted: &'a BandedLdlt) -> Self {
        let mut basis = Self {
            mass,
            shifted,
            n: mass.order(),
            v: Vec::new(),
            block: 0,
            mass_times_recent: Vec::new(),
            t: Vec::new(),
            r: Vec::new(),
            q: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        };
        basis.add_random(BLOCK);
        basis
    }

    /// Columns whose image is known.
    fn dimension(&self) -> usize {
        self.t.len()
    }

    /// Appends random directions to the newest block.
    fn add_random(&mut self, count: usize) {
        let room = self.n - self.v.len() / self.n;
        let mut w = vec![0.0; self.n * count.min(room)];
        for w in &mut w {
            // xorshift64: any start that is not special does.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            *w = (self.random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        }
        // One solve damps what is far from the shift.
        self.shifted.solve_columns_in_place(&mut w);
        let z = self.mass_times(&w);
        let mut c = Vec::new();
        transpose_times(self.n, &self.v, &z, &mut c);
        subtract_product(self.n, &self.v, &c, &mut w);
        let new = self.orthonormalise(w, &[]);
        self.block += new.z.len() / self.n;
        self.v.extend_from_slice(&new.w);
        self.mass_times_recent.extend_from_slice(&new.z);
    }

    /// Applies A to the newest block; what is new of the image becomes the next block.
    fn expand(&mut self) {
        let newest = self.mass_times_recent.len() - self.block * self.n;
        let mut w = self.mass_times_recent[newest..].to_vec();
        self.shifted.solve_columns_in_place(&mut w);
        let new = self.orthonormalise(w, &self.mass_times_recent);
        self.t.extend(new.c);
        self.r = new.r;
        self.q = new.z.len() / self.n;
        self.block = self.q;
        self.v.extend_from_slice(&new.w);
        self.mass_times_recent.drain(..newest);
        self.mass_times_recent.extend_from_slice(&new.z);
    }

    /// W = V C + Q R with [V Q] M-orthonormal; `recent` is M times the last columns of V.
    ///
    /// Without rounding an image has parts along the last two blocks only: these are taken off
    /// first, which leaves so little along the others that one pass over all suffices.
    fn orthonormalise(&self, mut w: Vec<f64>, recent: &[f64]) -> Orthonormal {
        let n = self.n;
        let d = self.v.len() / n;
        let local = recent.len() / n;
        let mut c1 = Vec::new();
        transpose_times(n, recent, &w, &mut c1);
        subtract_product(n, &self.v[(d - local) * n..], &c1, &mut w);
        let mut z = self.mass_times(&w);
        let lengths: Vec<f64> = (0..w.len() / n)
            .map(|q| {
                let rest = dot(&w[q * n..(q + 1) * n], &z[q * n..(q + 1) * n]);
                let taken = &c1[q * local..(q + 1) * local];
                (rest.max(0.0) + dot(taken, taken)).sqrt()
            })
            .collect();
        let r1 = gram_schmidt(n, &mut w, &mut z, &lengths);
        let mut c2 = Vec::new();
        transpose_times(n, &self.v, &z, &mut c2);
        subtract_product(n, &self.v, &c2, &mut w);
        z = self.mass_times(&w);
        let ones = vec![1.0; w.len() / n];
        let r2 = gram_schmidt(n, &mut w, &mut z, &ones);
        // W = V C₁ + (V C₂ + Q R₂) R₁.
        let mut c = Vec::with_capacity(r1.len());
        let mut r = Vec::with_capacity(r1.len());
        for (q, r1) in r1.iter().enumerate() {
            let mut along_v = vec![0.0; d];
            along_v[d - local..].copy_from_slice(&c1[q * local..(q + 1) * local]);
            let mut along_q = vec![0.0; z.len() / n];
            for (i, factor) in r1.iter().enumerate() {
                subtract_multiple(-factor, &c2[i * d..(i + 1) * d], &mut along_v);
                subtract_multiple(-factor, &r2[i], &mut along_q);
            }
            c.push(along_v);
            r.push(along_q);
        }
        Orthonormal { w, z, c, r }
    }

    fn mass_times(&self, w: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; w.len()];
        for (w, z) in w.chunks_exact(self.n).zip(z.chunks_exact_mut(self.n)) {
            self.mass.mul_vec(w, z);
        }
        z
    }

    /// Ritz values inside the slice, ascending.
    fn ritz(&self, shift: f64, slice: Slice) -> Vec<Ritz> {
        let dimension = self.dimension();
        let t = DMatrix::from_fn(dimension, dimension, |i, j| {
            // The later column knows both; what is below its block belongs to Q R.
            let (row, column) = if i <= j { (i, j) } else { (j, i) };
            self.t[column].get(row).copied().unwrap_or(0.0)
        });
        let eigen = t.symmetric_eigen();
        let first_of_last = dimension - self.r.len();
        let mut inside: Vec<Ritz> = Vec::new();
        for (i, theta) in eigen.eigenvalues.iter().enumerate() {
            let omega2 = shift + 1.0 / theta;
            if !slice.contains(omega2) {
                continue;
            }
            let vector: Vec<f64> = eigen.eigenvectors.column(i).iter().copied().collect();
            let residual = self.remainder(&vector[first_of_last..]);
            let length = residual.iter().map(|x| x * x).sum::<f64>().sqrt();
            inside.push(Ritz {
                omega2,
                theta: *theta,
                converged: length <= TOLERANCE * theta.abs(),
                vector,
            });
        }
        inside.sort_by(|a, b| a.omega2.total_cmp(&b.omega2));
        inside
    }

    /// R y for the last block's part of y.
    fn remainder(&self, last: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.q];
        for (column, y) in self.r.iter().zip(last) {
            subtract_multiple(-y, column, &mut sum);
        }
        sum
    }

    /// x = V y + Q R y / θ = A V y / θ: the Ritz vectors after one more inverse iteration for free.
    fn pairs(&self, ritz: &[Ritz]) -> SlicePairs {
        let dimension = self.dimension();
        let first_of_last = dimension - self.r.len();
        let mut coefficients = Vec::with_capacity(ritz.len() * (dimension + self.q));
        for r in ritz {
            coefficients.extend_from_slice(&r.vector);
            let remainder = self.remainder(&r.vector[first_of_last..]);
            coefficients.extend(remainder.iter().map(|x| x / r.theta));
        }
        let used = &self.v[..(dimension + self.q) * self.n];
        SlicePairs {
            omega2: ritz.iter().map(|r| r.omega2).collect(),
            shapes: product(self.n, used, &coefficients),
        }
    }
}

/// W = V C + Q R: Q in `w`, MQ in `z`, the columns of C and R.
struct Orthonormal {
    w: Vec<f64>,
    z: Vec<f64>,
    c: Vec<Vec<f64>>,
    r: Vec<Vec<f64>>,
}

/// W = Q R in the M scalar product, z = M W kept in step. Columns shorter than their share of
/// `scales` are dropped. Returns the columns of R.
fn gram_schmidt(n: usize, w: &mut Vec<f64>, z: &mut Vec<f64>, scales: &[f64]) -> Vec<Vec<f64>> {
    let mut r = Vec::with_capacity(scales.len());
    let mut kept = 0;
    for (column, scale) in scales.iter().enumerate() {
        w.copy_within(column * n..(column + 1) * n, kept * n);
        z.copy_within(column * n..(column + 1) * n, kept * n);
        let (w_done, w_rest) = w.split_at_mut(kept * n);
        let (z_done, z_rest) = z.split_at_mut(kept * n);
        let (w_new, z_new) = (&mut w_rest[..n], &mut z_rest[..n]);
        let mut entries = Vec::with_capacity(scales.len());
        for (w_done, z_done) in w_done.chunks_exact(n).zip(z_done.chunks_exact(n)) {
            let factor = dot(w_new, z_done);
            subtract_multiple(factor, w_done, w_new);
            subtract_multiple(factor, z_done, z_new);
            entries.push(factor);
        }
        let length = dot(w_new, z_new).max(0.0).sqrt();
        if length > DEPENDENT * scale {
            w_new.iter_mut().for_each(|x| *x /= length);
            z_new.iter_mut().for_each(|x| *x /= length);
            entries.push(length);
            kept += 1;
        }
        r.push(entries);
    }
    w.truncate(kept * n);
    z.truncate(kept * n);
    r.iter_mut().for_each(|entries| entries.resize(kept, 0.0));
    r
}
