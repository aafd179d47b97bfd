//! One step of the steady-state bench, and what is computed before it runs.
//!
//! `cargo bench -p rt-core --bench steady`. Ratios are to the plain form in the same run, which sums the whole
//! block's spectrum anew in every step.

use nalgebra::Complex;
use rt_core::bench::pantograph_steady::{PantographSteadyBench, PantographSteadyConfig};
use rt_core::bench::{Bench, BuildContext};
use rt_core::channel::Frame;
use rt_core::param::ParamSet;
use rt_core::rig::KnownRig;
use std::error::Error;
use std::f64::consts::TAU;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions");
    let rig = KnownRig {
        motor_omega_rad_per_s: 500.0,
        motor_damping_ratio: 0.7,
        reference_delay_s: 0.0119,
        force_delay_s: 0.002,
        force_filter_hz: Some(200.0),
        pad_stiffness_n_per_m: 5e6,
        pad_damping_ns_per_m: 800.0,
    };
    // 200 km/h: 1170 steps a span.
    const STEPS: usize = 1170;
    const HARMONICS: usize = 30;
    let text = format!(
        r#"(speed_kmh: 200.0, harmonics: Some({HARMONICS}), agree_pct: None, most_spans: 1000000,
            specimen: "../assets/pantographs/dsa-380.ron")"#
    );
    let config: PantographSteadyConfig = ron::from_str(&text)?;
    let mut params = ParamSet::new(rt_core::bench::pantograph_steady::SPEC.params);
    params.preset("n_delta", config.delay_cycles(&rig, 1e-3))?;
    let started = Instant::now();
    let (mut bench, _) = PantographSteadyBench::build(
        &config,
        &mut BuildContext {
            base: &base,
            period_s: 1e-3,
            params: &params,
            cache: Path::new(""),
            rig: Some(&rig),
            notice: &mut |_| (),
        },
    )?;
    println!(
        "built and judged in {:.0} ms",
        started.elapsed().as_secs_f64() * 1e3
    );

    let mut frame = Frame::empty();
    frame.values[..16].fill(0.0);
    bench.reset(&params, &frame);
    let mut longest = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..20 * STEPS {
            frame.seq += 1;
            frame.values[0] = 150.0 + (0.01 * frame.seq as f64).sin();
            bench
                .step(&params, &mut frame)
                .map_err(|e| format!("{e:?}"))?;
            black_box(&frame);
        }
        longest = longest.min(begun.elapsed().as_secs_f64() / (20 * STEPS) as f64);
    }
    let plain = plain_sum(STEPS, HARMONICS);
    println!(
        "a step with {HARMONICS} harmonics: {:.2} µs, {:.4} of summing the spectrum anew ({:.1} µs)",
        1e6 * longest,
        longest / plain,
        1e6 * plain
    );
    println!(
        "{}",
        if longest < 3e-6 {
            "below 3 µs"
        } else {
            "ABOVE 3 µs"
        }
    );
    Ok(())
}

/// Seconds of the plain form: K sums over N stored forces.
fn plain_sum(steps: usize, harmonics: usize) -> f64 {
    let turns: Vec<Complex<f64>> = (0..steps)
        .map(|n| Complex::from_polar(1.0, -TAU * n as f64 / steps as f64))
        .collect();
    let block: Vec<f64> = (0..steps).map(|n| (n as f64).sin()).collect();
    let mut best = f64::MAX;
    for _ in 0..50 {
        let begun = Instant::now();
        for k in 0..harmonics {
            let mut sum = Complex::from(0.0);
            for (n, f) in black_box(&block).iter().enumerate() {
                sum += turns[k * n % steps] * *f;
            }
            black_box(sum);
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    best
}
