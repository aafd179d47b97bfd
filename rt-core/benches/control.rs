//! Design, stability and margins of the rig of Tur et al. 2024; what tuning by hand waits for.
//!
//! `cargo bench -p rt-core --bench control`. Ratios are to the plain Riccati recursion in the same
//! run, which needs hundreds of steps where doubling needs about ten.

mod figures;

use figures::{Figures, Outcome, best};
use nalgebra::{DMatrix, DVector};
use rt_core::control::closed_loop::{Channel, LoopParts, pantograph_on_pad};
use rt_core::control::kalman::{Kalman, KalmanTuning};
use rt_core::control::lqg::{Lqg, LqgGains};
use rt_core::control::lqr::{Lqr, LqrWeights};
use rt_core::control::margins::margins;
use rt_core::control::spectrum::spectral_radius;
use rt_core::control::state_space::{RigModel, STATES};
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use rt_core::signal::butterworth::low_pass;
use std::hint::black_box;
use std::process::ExitCode;

fn main() -> ExitCode {
    figures::run(measure)
}

fn measure(figures: &mut Figures) -> Outcome {
    let rig = RigModel::TUR_2024;
    let plant = rig.plant()?;
    let tuning = KalmanTuning {
        bias_step_n: Some(10.0),
        ..KalmanTuning::TUR_2024
    };
    let gains = LqgGains {
        lqr: Lqr::design(&plant, &LqrWeights::TUR_2024)?,
        kalman: Kalman::design(&plant, &tuning)?,
    };
    let parts = LoopParts {
        rig,
        gains: Some(gains),
        wire: None,
        pantograph: pantograph_on_pad(&dsa_380(), 240e3, rig.period_s)?,
        pad_stiffness_n_per_m: 240e3,
        force_filter: Some(low_pass(1, 100.0, 500.0)?),
        extra_delay_steps: 0,
        mass: MassForm::PRINTED,
        exact_rig: None,
    };
    let a = DMatrix::from_fn(STATES, STATES, |i, j| plant.a[(i, j)]);
    let b = DVector::from_column_slice(plant.b_u.as_slice());
    let matrix = parts.matrix();
    let open = parts.open(Channel::Control);
    let mut lqg = Lqg::new(gains, 5e-3, 2e-3);
    let calls = figures.choose(1, 20);
    let [plain, regulator, observer, whole, radius, cut, cycles] = figures.in_turns(15, || {
        Ok([
            best(calls, || {
                black_box(plain_recursion(&a, &b));
            }),
            best(calls, || {
                let _ = black_box(Lqr::design(black_box(&plant), &LqrWeights::TUR_2024));
            }),
            best(calls, || {
                let _ = black_box(Kalman::design(black_box(&plant), &tuning));
            }),
            best(calls, || drop(black_box(parts.matrix()))),
            best(calls, || {
                black_box(spectral_radius(&matrix));
            }),
            best(calls, || {
                let _ = black_box(margins(black_box(&open)));
            }),
            best(calls, || {
                for i in 0..1000 {
                    black_box(lqg.step(black_box(1e-3), [1e-6 * f64::from(i), 0.0]));
                }
            }),
        ])
    })?;
    let states = matrix.nrows();
    figures.time("plain Riccati recursion", &plain)?;
    for (id, times) in [
        ("regulator by doubling", regulator),
        ("observer of 11 states by doubling", observer),
        (&format!("matrix of the loop, {states} states"), whole),
        ("spectral radius of the loop", radius),
        ("margins at one channel", cut),
        ("1000 cycles of the controller", cycles),
    ] {
        figures.ratio(id, "plain recursions", &times, &plain)?;
    }
    Ok(())
}

/// X ← AᵀXA − AᵀXB (R + BᵀXB)⁻¹ BᵀXA + Q until it stands still to 1e-12.
fn plain_recursion(a: &DMatrix<f64>, b: &DVector<f64>) -> DMatrix<f64> {
    let mut error = DVector::zeros(STATES);
    error[0] = 1.0;
    error[3] = -1.0;
    let q = &error * error.transpose() * 5.0;
    let mut x = q.clone();
    loop {
        let xa = &x * a;
        let bxa = b.transpose() * &xa;
        let weight = 1.0 + b.dot(&(&x * b));
        let next = a.transpose() * xa - bxa.transpose() * &bxa / weight + &q;
        let change = (&next - &x).norm();
        x = next;
        if change <= 1e-12 * x.norm() {
            return x;
        }
    }
}

fn dsa_380() -> Pantograph {
    let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Pantograph {
        name: "DSA-380".into(),
        masses: vec![
            mass(6.6, 7e3, 0.0),
            mass(5.8, 14.1e3, 0.0),
            mass(5.8, 80.0, 70.0),
        ],
        uplift: Uplift {
            static_n: 70.0,
            per_kmh2_n: 0.00097,
        },
    }
}
