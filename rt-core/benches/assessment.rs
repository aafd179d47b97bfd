//! A tuning judged, and maps of stability, beside scipy in the same run.
//!
//! `PANTOBENCH_PYTHON=python3 cargo bench -p rt-core --bench assessment`; the interpreter needs
//! scipy. Without it the ratios are not measured.

use rt_core::control::assessment::{ForceFilter, Prepared, Surroundings, Tuning, Wire};
use rt_core::control::stability_map::{delay_map, logarithmic_grid, stability_map};
use rt_core::control::state_space::RigModel;
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let rig = RigModel::TUR_2024;
    let tuning = Tuning::TUR_2024;
    let held = Prepared::new(&rig, &surroundings(Wire::Held))?;
    let wire = Wire::String(MovingString::HIGH_SPEED_300);
    let string = Prepared::new(&rig, &surroundings(wire.clone()))?;
    let gains = best(50, || {
        let _ = black_box(black_box(&tuning).gains(&rig));
    });
    let judged_held = best(20, || {
        let _ = black_box(held.assess(black_box(&tuning)));
    });
    let judged_string = best(10, || {
        let _ = black_box(string.assess(black_box(&tuning)));
    });
    println!("gains of regulator and observer      {gains:>10.3} ms");
    println!("gains, radius, margins, wire held    {judged_held:>10.3} ms");
    println!("gains, radius, margins, string       {judged_string:>10.3} ms");
    match scipy() {
        Ok([scipy_gains, scipy_all]) => {
            println!("scipy: both gains                    {scipy_gains:>10.3} ms");
            println!("scipy: both gains, margins, held     {scipy_all:>10.3} ms");
            println!("gains: {:.1} times faster", scipy_gains / gains);
            println!("with margins: {:.1} times faster", scipy_all / judged_held);
            println!(
                "all of ours with margins against scipy's gains alone: {:.2} times",
                scipy_gains / judged_held
            );
        }
        Err(reason) => println!("scipy: not measured ({reason})"),
    }
    let ratios = logarithmic_grid(0.5, 5000.0, 25)?;
    let k_i = logarithmic_grid(20e3, 120e3, 25)?;
    let delays: Vec<usize> = (0..25).collect();
    for threads in [1, 2] {
        let over_weights = best(2, || {
            let _ = black_box(stability_map(&string, &tuning, &ratios, &k_i, threads));
        });
        let over_delay = best(2, || {
            let _ = black_box(delay_map(&string, &tuning, &delays, &k_i, threads));
        });
        println!(
            "25×25 maps on the string, {threads} threads: Q/R {:.2} s, delay {:.2} s",
            1e-3 * over_weights,
            1e-3 * over_delay
        );
    }
    let prepare = best(5, || {
        let _ = black_box(Prepared::new(&rig, &surroundings(wire.clone())));
    });
    println!("the small string                     {prepare:>10.3} ms");
    Ok(())
}

/// Times in ms of scipy's gains, and of gains and margins.
fn scipy() -> Result<[f64; 2], String> {
    let python = std::env::var("PANTOBENCH_PYTHON")
        .map_err(|_| "set PANTOBENCH_PYTHON to a Python that has scipy")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/assessment_scipy.py");
    let output = Command::new(&python)
        .arg(script)
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .output()
        .map_err(|e| format!("{python}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    match numbers.as_slice() {
        [gains, all] if output.status.success() => Ok([*gains, *all]),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Shortest time of one call in ms.
fn best(calls: usize, mut call: impl FnMut()) -> f64 {
    (0..calls)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}

fn surroundings(wire: Wire) -> Surroundings {
    let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Surroundings {
        wire,
        pantograph: Pantograph {
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
        },
        pad_stiffness_n_per_m: 240e3,
        force_filter: ForceFilter::FirstOrder { cutoff_hz: 100.0 },
        extra_delay_steps: 0,
    }
}
