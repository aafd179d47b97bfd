//! Spectral radius and eigenvalues of matrices that need not be symmetric.

use nalgebra::{Complex, DMatrix};

/// Squarings of the matrix: its 2³⁰th power.
const SQUARINGS: i32 = 30;

/// Largest |eigenvalue|, from ‖A^(2^(k+1))‖ / ‖A^(2^k)‖ = ρ^(2^k) · (what tends to a constant).
///
/// Bounded work and no iteration that might not end; the error of ln ρ is below 1e-6 even where
/// the constant is 1e40, and usually below 1e-9. Not a number for a matrix that is none.
pub fn spectral_radius(matrix: &DMatrix<f64>) -> f64 {
    let mut power = matrix.clone();
    // ln of the norm of the 2^k-th power.
    let mut logarithm = 0.0_f64;
    let mut rate = f64::NEG_INFINITY;
    for k in 0..=SQUARINGS {
        let norm = power.norm();
        if norm == 0.0 || !norm.is_finite() {
            return norm;
        }
        let next = logarithm + norm.ln();
        if k > 0 {
            // `logarithm` is twice that of the power before.
            rate = (next - 0.5 * logarithm) / f64::powi(2.0, k - 1);
        }
        power /= norm;
        power = &power * &power;
        logarithm = 2.0 * next;
    }
    rate.exp()
}

/// All eigenvalues, the largest first; `None` if the iteration does not settle.
pub fn eigenvalues(matrix: &DMatrix<f64>) -> Option<Vec<Complex<f64>>> {
    if matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut balanced = matrix.clone();
    nalgebra::linalg::balancing::balance_parlett_reinsch(&mut balanced);
    let schur = nalgebra::Schur::try_new(balanced, f64::EPSILON, 200 * matrix.nrows())?;
    let mut values: Vec<_> = schur.complex_eigenvalues().iter().copied().collect();
    values.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
    Some(values)
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
}
