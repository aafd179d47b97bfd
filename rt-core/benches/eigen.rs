//! The modes of a 20-span catenary below 50 Hz: time, completeness, residuals.
//!
//! `cargo bench -p rt-core --bench eigen`.

#[allow(
    clippy::expect_used,
    reason = "places are inside the band by construction"
)]
#[path = "../tests/suite/support/line.rs"]
mod line;

use rt_core::numeric::banded::SymBanded;
use rt_core::numeric::eigen::{Modes, lowest_modes};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let (stiffness, mass) = line::two_wires(20, 76);
    let start = Instant::now();
    let factor = stiffness.cholesky()?;
    let factor_s = start.elapsed().as_secs_f64();
    let mut x = vec![1.0; stiffness.order()];
    let start = Instant::now();
    factor.solve_in_place(&mut x);
    let solve_s = start.elapsed().as_secs_f64();
    println!(
        "order {}, half-bandwidth {}, one factorisation {:.2} ms, one solve {:.3} ms",
        stiffness.order(),
        stiffness.half_bandwidth(),
        1e3 * factor_s,
        1e3 * solve_s
    );
    for count in [100, 500, 1908] {
        let start = Instant::now();
        let modes = lowest_modes(&stiffness, &mass, count)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{count} modes: {seconds:.2} s = {:.2} solves a mode; {:.3} … {:.1} Hz; largest \
             residual {:.1e}; largest |φᵀMφ| of two modes {:.1e}",
            seconds / solve_s / count as f64,
            frequency(modes.omega2[0]),
            frequency(modes.omega2[count - 1]),
            residual(&stiffness, &mass, &modes),
            orthogonality(&mass, &modes)
        );
    }
    Ok(())
}

fn frequency(omega2: f64) -> f64 {
    omega2.sqrt() / std::f64::consts::TAU
}

/// ‖Kφ − ω²Mφ‖ / (‖Kφ‖ + ω²‖Mφ‖), the largest.
fn residual(stiffness: &SymBanded, mass: &SymBanded, modes: &Modes) -> f64 {
    let n = modes.order();
    let (mut k, mut m) = (vec![0.0; n], vec![0.0; n]);
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let mut largest = 0.0_f64;
    for (shape, omega2) in modes.shapes.chunks_exact(n).zip(&modes.omega2) {
        stiffness.mul_vec(shape, &mut k);
        mass.mul_vec(shape, &mut m);
        let difference = norm(&mut k.iter().zip(&m).map(|(k, m)| k - omega2 * m));
        let size = norm(&mut k.iter().copied()) + omega2 * norm(&mut m.iter().copied());
        largest = largest.max(difference / size);
    }
    largest
}

/// Largest scalar product of two different modes, over all pairs.
fn orthogonality(mass: &SymBanded, modes: &Modes) -> f64 {
    let n = modes.order();
    let mut m = vec![0.0; n];
    let mut largest = 0.0_f64;
    for (i, shape) in modes.shapes.chunks_exact(n).enumerate() {
        mass.mul_vec(shape, &mut m);
        for other in modes.shapes.chunks_exact(n).take(i) {
            let product: f64 = other.iter().zip(&m).map(|(a, b)| a * b).sum();
            largest = largest.max(product.abs());
        }
    }
    largest
}
