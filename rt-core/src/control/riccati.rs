//! The discrete algebraic Riccati equation by structure-preserving doubling.
//!
//!   X = AᵀXA − AᵀXB (R + BᵀXB)⁻¹ BᵀXA + Q
//!
//! With G₀ = B R⁻¹ Bᵀ, H₀ = Q, each doubling
//!
//!   A⁺ = A (I + GH)⁻¹ A,  G⁺ = G + A (I + GH)⁻¹ G Aᵀ,  H⁺ = H + Aᵀ H (I + GH)⁻¹ A
//!
//! covers twice as many steps of the recursion, so that H → X quadratically.

use super::spectrum::spectral_radius;
use nalgebra::DMatrix;

/// Doublings after which there is no solution: 2⁴⁰ steps.
const MOST_DOUBLINGS: usize = 40;

/// Largest residual accepted, relative to X.
const LARGEST_RESIDUAL: f64 = 1e-8;

/// The stabilising solution and how good it is.
#[derive(Clone, Debug)]
pub struct RiccatiSolution {
    /// X.
    pub x: DMatrix<f64>,
    /// K = (R + BᵀXB)⁻¹ BᵀXA.
    pub gain: DMatrix<f64>,
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
pub fn solve(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    q: &DMatrix<f64>,
    r: &DMatrix<f64>,
) -> Result<RiccatiSolution, RiccatiError> {
    if [a, b, q, r]
        .iter()
        .any(|m| m.iter().any(|x| !x.is_finite()))
    {
        return Err(RiccatiError::NotFinite);
    }
    let r_factor = r.clone().cholesky().ok_or(RiccatiError::Weight)?;
    let n = a.nrows();
    let identity = DMatrix::identity(n, n);
    let (mut f, mut g, mut h) = (a.clone(), b * r_factor.solve(&b.transpose()), q.clone());
    let mut change = f64::INFINITY;
    let mut doublings = 0;
    while change > 1e-15 {
        let diverged = RiccatiError::NoSolution { doublings, change };
        if doublings == MOST_DOUBLINGS {
            return Err(diverged);
        }
        let lu = (&identity + &g * &h).lu();
        let by_f = lu.solve(&f).ok_or(diverged)?;
        let by_g = lu.solve(&g).ok_or(diverged)?;
        let step = symmetric(f.transpose() * &h * &by_f);
        g = symmetric(&g + &f * by_g * f.transpose());
        h += &step;
        f = &f * by_f;
        change = step.norm() / h.norm().max(f64::MIN_POSITIVE);
        doublings += 1;
        if !change.is_finite() {
            return Err(diverged);
        }
    }
    let gain = gain(a, b, r, &h).ok_or(RiccatiError::Weight)?;
    let closed = a - b * &gain;
    let right = a.transpose() * &h * &closed + q;
    let residual = (right - &h).norm() / h.norm().max(f64::MIN_POSITIVE);
    let spectral_radius = spectral_radius(&closed);
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

/// (R + BᵀXB)⁻¹ BᵀXA.
fn gain(
    a: &DMatrix<f64>,
    b: &DMatrix<f64>,
    r: &DMatrix<f64>,
    x: &DMatrix<f64>,
) -> Option<DMatrix<f64>> {
    let bx = b.transpose() * x;
    symmetric(r + &bx * b)
        .cholesky()
        .map(|c| c.solve(&(bx * a)))
}

/// Rounding must not spoil symmetry.
fn symmetric(m: DMatrix<f64>) -> DMatrix<f64> {
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
