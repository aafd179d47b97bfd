//! The modes of a 20-span catenary below 50 Hz: processor time of all threads, residuals.
//!
//! `cargo bench -p rt-core --bench eigen`.

#[path = "figures/all_threads.rs"]
mod all_threads;
mod figures;
#[allow(
    clippy::expect_used,
    reason = "places are inside the band by construction"
)]
#[path = "../tests/suite/support/line.rs"]
mod line;

use all_threads::time_of_all_threads;
use figures::{Figures, Outcome, best};
use rt_core::numeric::banded::SymBanded;
use rt_core::numeric::eigen::{Modes, lowest_modes};
use std::hint::black_box;
use std::process::ExitCode;

/// Largest part of a mode's equation that may be left, and largest product of two modes.
const RESIDUAL: f64 = 1e-8;
const PRODUCT: f64 = 1e-8;

fn main() -> ExitCode {
    figures::run(measure)
}

fn measure(figures: &mut Figures) -> Outcome {
    let (stiffness, mass) = line::two_wires(20, 76);
    let factor = stiffness.cholesky()?;
    let mut x = vec![1.0; stiffness.order()];
    let calls = figures.choose(1, 40);
    figures.say(&format!(
        "order {}, half-bandwidth {}",
        stiffness.order(),
        stiffness.half_bandwidth()
    ));
    for count in figures.choose(&[20][..], &[100, 500, 1908][..]) {
        let mut found = None;
        let [solve, factorise, modes] =
            figures.in_turns(if *count > 1000 { 3 } else { 9 }, || {
                Ok([
                    best(calls, || {
                        x.fill(1.0);
                        factor.solve_in_place(black_box(&mut x));
                    }),
                    best(calls, || {
                        let _ = black_box(black_box(&stiffness).cholesky());
                    }),
                    time_of_all_threads(|| {
                        found = Some(lowest_modes(&stiffness, &mass, *count));
                    }),
                ])
            })?;
        let found = found.ok_or("no modes")??;
        let (residual, product) = (
            residual(&stiffness, &mass, &found),
            orthogonality(&mass, &found),
        );
        if residual > RESIDUAL || product > PRODUCT {
            return Err(
                format!("{count} modes: residual {residual:e}, product {product:e}").into(),
            );
        }
        figures.say(&format!(
            "{count} modes, {:.3} … {:.1} Hz; largest residual {residual:.1e}; largest |φᵀMφ| of two modes {product:.1e}",
            frequency(found.omega2[0]),
            frequency(found.omega2[count - 1]),
        ));
        let each: Vec<f64> = modes.iter().map(|s| s / *count as f64).collect();
        let id = |what: &str| format!("{count} modes/{what}");
        figures.time(&id("one solve"), &solve)?;
        figures.ratio(&id("one factorisation"), "solves", &factorise, &solve)?;
        figures.time(&id("all modes"), &modes)?;
        figures.ratio(&id("a mode"), "solves", &each, &solve)?;
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
