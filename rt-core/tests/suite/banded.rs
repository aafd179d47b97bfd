//! Banded solves with the matrices of a time step of a real line.

use crate::support::line::two_wires;
use nalgebra::{DMatrix, DVector};
use rt_core::numeric::banded::SymBanded;

/// K_itc = K + 4/dt² M of five spans. Substitution in blocks multiplies by inverses of 4 × 4
/// diagonal blocks; it must lose no more digits than dense row-by-row substitution does.
#[test]
fn substitution_in_blocks_loses_no_digits_on_a_line() {
    let (stiffness, mass) = two_wires(5, 40);
    for dt in [0.5e-3, 2e-3, f64::INFINITY] {
        let matrix = SymBanded::linear_combination(1.0, &stiffness, 4.0 / (dt * dt), &mass);
        let n = matrix.order();
        let dense = DMatrix::from_fn(n, n, |i, j| matrix.get(i, j));
        let right = DVector::from_fn(n, |i, _| (0.37 * i as f64).sin());
        let by_rows = dense.clone().cholesky().unwrap().solve(&right);
        let mut by_blocks = right.as_slice().to_vec();
        matrix.cholesky().unwrap().solve_in_place(&mut by_blocks);
        let by_blocks = DVector::from_vec(by_blocks);
        // Backward error: ‖b − Ax‖ / (‖A‖ ‖x‖).
        let error = |x: &DVector<f64>| (&right - &dense * x).norm() / (dense.norm() * x.norm());
        let (blocks, rows) = (error(&by_blocks), error(&by_rows));
        println!("dt {dt}: backward error {blocks:e}, row by row {rows:e}");
        assert!(
            blocks < 1e-15 && blocks < 5.0 * rows,
            "dt {dt}: {blocks:e}, row by row {rows:e}"
        );
        let difference = (&by_blocks - &by_rows).norm() / by_rows.norm();
        assert!(difference < 1e-9, "dt {dt}: {difference:e}");
    }
}
