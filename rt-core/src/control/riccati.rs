//! The discrete algebraic Riccati equation by structure-preserving doubling.
//!
//!   X = AᵀXA − AᵀXB (R + BᵀXB)⁻¹ BᵀXA + Q
//!
//! With G₀ = B R⁻¹ Bᵀ, H₀ = Q, each doubling
//!
//!   A⁺ = A (I + GH)⁻¹ A,  G⁺ = G + A (I + GH)⁻¹ G Aᵀ,  H⁺ = H + Aᵀ H (I + GH)⁻¹ A
//!
//! covers twice as many steps of the recursion, so that H → X quadratically.
//!
//! Written for any size: one that is known when the program is compiled needs no heap and is several
//! times faster.

use super::spectrum::spectral_radius;
use nalgebra::allocator::Allocator;
use nalgebra::{DMatrix, DefaultAllocator, Dim, OMatrix};

/// Doublings after which there is no solution: 2⁴⁰ steps.
const MOST_DOUBLINGS: usize = 40;

/// Relative change of X that is no more than rounding.
const SETTLED: f64 = 1e-15;

/// Largest residual accepted, relative to X.
const LARGEST_RESIDUAL: f64 = 1e-8;

/// The stabilising solution and how good it is.
#[derive(Clone, Debug)]
pub struct RiccatiSolution<N: Dim, M: Dim>
where
    DefaultAllocator: Allocator<N, N> + Allocator<M, N>,
{
    /// X.
    pub x: OMatrix<f64, N, N>,
    /// K = (R + BᵀXB)⁻¹ BᵀXA.
    pub gain: OMatrix<f64, M, N>,
    /// Largest |eigenvalue| of A − BK.
    pub spectral_radius: f64,
    /// ‖right side − X‖ / ‖X‖.
    pub residual: f64,
    /// Doublings needed.
    pub doublings: usize,
}

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RiccatiError {
    /// Something is not a number or infinite.
    #[error("the Riccati equation has entries that are not finite numbers")]
    NotFinite,
    /// R must be invertible.
    #[error("the weight of the action (or the measurement noise) is not positive definite")]
    Weight,
    /// The doubling does not settle: usually a mode that can neither be moved nor seen.
    #[error(
        "the Riccati equation has no stabilising solution: after {doublings} doublings the change \
         is {change:e}; a mode on the stability limit cannot be reached or has no weight"
    )]
    NoSolution {
        /// Doublings made.
        doublings: usize,
        /// Last relative change of X.
        change: f64,
    },
    /// It settles on something that does not satisfy the equation or does not stabilise.
    #[error(
        "the solution of the Riccati equation is useless: residual {residual:e} (at most \
         {LARGEST_RESIDUAL:e}), spectral radius {spectral_radius}; the problem is too \
         ill-conditioned"
    )]
    Inaccurate {
        /// Relative residual.
        residual: f64,
        /// Of A − BK.
        spectral_radius: f64,
    },
}

/// Solves the equation; Q ≥ 0, R > 0.
pub fn solve<N: Dim, M: Dim>(
    a: &OMatrix<f64, N, N>,
    b: &OMatrix<f64, N, M>,
    q: &OMatrix<f64, N, N>,
    r: &OMatrix<f64, M, M>,
) -> Result<RiccatiSolution<N, M>, RiccatiError>
where
    DefaultAllocator: Allocator<N, N> + Allocator<N, M> + Allocator<M, N> + Allocator<M, M>,
{
    let given = [a.as_slice(), b.as_slice(), q.as_slice(), r.as_slice()];
    if given.iter().any(|m| m.iter().any(|x| !x.is_finite())) {
        return Err(RiccatiError::NotFinite);
    }
    let r_factor = r.clone().cholesky().ok_or(RiccatiError::Weight)?;
    let (mut f, mut g, mut h) = (a.clone(), b * r_factor.solve(&b.transpose()), q.clone());
    let mut change = f64::INFINITY;
    let mut doublings = 0;
    while change > SETTLED {
        let diverged = RiccatiError::NoSolution { doublings, change };
        if doublings == MOST_DOUBLINGS {
            return Err(diverged);
        }
        let mut w = &g * &h;
        for i in 0..w.nrows() {
            w[(i, i)] += 1.0;
        }
        // P = F W⁻¹ and Z = H W⁻¹, which is symmetric.
        let (mut p, mut z) = (f.clone(), h.clone());
        divide(&mut w, &mut p, &mut z).ok_or(diverged)?;
        let f_transposed = f.transpose();
        let step = symmetric(&f_transposed * (z * &f));
        g = symmetric(&g + &p * &g * f_transposed);
        h += &step;
        f = p * f;
        let size = h.norm().max(f64::MIN_POSITIVE);
        change = step.norm() / size;
        doublings += 1;
        if !change.is_finite() {
            return Err(diverged);
        }
        // ‖FᵀZF‖ ≤ ‖F‖² ‖H‖ bounds the next step, so that none is made to see nothing change.
        change = change.min(f.norm_squared());
    }
    let gain = gain(a, b, r, &h).ok_or(RiccatiError::Weight)?;
    let closed = a - b * &gain;
    let right = a.transpose() * &h * &closed + q;
    let residual = (right - &h).norm() / h.norm().max(f64::MIN_POSITIVE);
    let spectral_radius = spectral_radius(&DMatrix::from_column_slice(
        closed.nrows(),
        closed.ncols(),
        closed.as_slice(),
    ));
    if !(residual < LARGEST_RESIDUAL && spectral_radius < 1.0) {
        return Err(RiccatiError::Inaccurate {
            residual,
            spectral_radius,
        });
    }
    Ok(RiccatiSolution {
        x: h,
        gain,
        spectral_radius,
        residual,
        doublings,
    })
}

/// F ← F W⁻¹ and H ← H W⁻¹ by elimination with exchange of columns, which are contiguous. `None`
/// if W is singular.
fn divide<N: Dim>(
    w: &mut OMatrix<f64, N, N>,
    f: &mut OMatrix<f64, N, N>,
    h: &mut OMatrix<f64, N, N>,
) -> Option<()>
where
    DefaultAllocator: Allocator<N, N>,
{
    let n = w.nrows();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| w[(k, *i)].abs().total_cmp(&w[(k, *j)].abs()))?;
        if w[(k, pivot)] == 0.0 {
            return None;
        }
        for m in [&mut *w, &mut *f, &mut *h] {
            m.swap_columns(k, pivot);
        }
        for j in k + 1..n {
            let share = w[(k, j)] / w[(k, k)];
            for m in [&mut *w, &mut *f, &mut *h] {
                subtract_column(m, k, share, j);
            }
        }
    }
    // W is lower triangular now.
    for k in (0..n).rev() {
        for i in k + 1..n {
            let share = w[(i, k)];
            subtract_column(f, i, share, k);
            subtract_column(h, i, share, k);
        }
        let inverse = 1.0 / w[(k, k)];
        f.column_mut(k).scale_mut(inverse);
        h.column_mut(k).scale_mut(inverse);
    }
    Some(())
}

/// Column `to` −= `share` · column `from`.
fn subtract_column<N: Dim>(m: &mut OMatrix<f64, N, N>, from: usize, share: f64, to: usize)
where
    DefaultAllocator: Allocator<N, N>,
{
    let n = m.nrows();
    let (first, second) = m.as_mut_slice().split_at_mut(n * from.max(to));
    let (low, high) = (&mut first[n * from.min(to)..][..n], &mut second[..n]);
    let (source, target) = if from < to { (low, high) } else { (high, low) };
    for (target, source) in target.iter_mut().zip(source) {
        *target -= share * *source;
    }
}

/// (R + BᵀXB)⁻¹ BᵀXA.
fn gain<N: Dim, M: Dim>(
    a: &OMatrix<f64, N, N>,
    b: &OMatrix<f64, N, M>,
    r: &OMatrix<f64, M, M>,
    x: &OMatrix<f64, N, N>,
) -> Option<OMatrix<f64, M, N>>
where
    DefaultAllocator: Allocator<N, N> + Allocator<N, M> + Allocator<M, N> + Allocator<M, M>,
{
    let bx = b.transpose() * x;
    symmetric(r + &bx * b)
        .cholesky()
        .map(|c| c.solve(&(bx * a)))
}

/// Rounding must not spoil symmetry.
fn symmetric<N: Dim>(m: OMatrix<f64, N, N>) -> OMatrix<f64, N, N>
where
    DefaultAllocator: Allocator<N, N>,
{
    (&m + m.transpose()) * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(x: f64) -> DMatrix<f64> {
        DMatrix::from_element(1, 1, x)
    }

    /// x = a²x − a²b²x²/(r + b²x) + q is quadratic in x.
    #[test]
    fn a_scalar_equation_has_the_root_of_its_quadratic() {
        for (a, b, q, r) in [
            (1.3, 0.7, 2.0, 0.5),
            (0.4, 1.0, 1.0, 1.0),
            (1.0, 1.0, 1.0, 1e-3),
        ] {
            let p: f64 = r - a * a * r - q * b * b;
            let x = (-p + (p * p + 4.0 * b * b * q * r).sqrt()) / (2.0 * b * b);
            let found = solve(&one(a), &one(b), &one(q), &one(r)).unwrap();
            assert!((found.x[(0, 0)] / x - 1.0).abs() < 1e-13, "{found:?} {x}");
            assert!(found.residual < 1e-14);
        }
    }

    #[test]
    fn what_cannot_be_stabilised_is_refused() {
        // Unstable and out of reach.
        let error = solve(&one(1.2), &one(0.0), &one(1.0), &one(1.0)).unwrap_err();
        assert!(matches!(error, RiccatiError::NoSolution { .. }), "{error}");
        // On the limit without weight: the gain 0 leaves it there.
        let error = solve(&one(1.0), &one(1.0), &one(0.0), &one(1.0)).unwrap_err();
        assert!(error.to_string().contains("spectral radius 1"), "{error}");
        let error = solve(&one(1.0), &one(1.0), &one(1.0), &one(0.0)).unwrap_err();
        assert_eq!(error, RiccatiError::Weight);
        let error = solve(&one(f64::NAN), &one(1.0), &one(1.0), &one(1.0)).unwrap_err();
        assert_eq!(error, RiccatiError::NotFinite);
    }
}
