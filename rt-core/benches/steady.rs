//! One step of the steady-state bench, and what is computed before it runs.
//!
//! `cargo bench -p rt-core --bench steady`. Ratios are to the plain form in the same run, which sums the whole
//! block's spectrum anew in every step.

mod figures;

use figures::{Figures, Outcome, best, time};
use nalgebra::Complex;
use rt_core::bench::pantograph_steady::{PantographSteadyBench, PantographSteadyConfig, SPEC};
use rt_core::bench::{Bench, BuildContext};
use rt_core::channel::Frame;
use rt_core::param::ParamSet;
use rt_core::rig::KnownRig;
use std::f64::consts::TAU;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

/// 200 km/h: 1170 steps a span.
const STEPS: usize = 1170;
/// As in `sessions/steady-200.ron`: with those above 21 Hz the iteration grows, which the bench refuses.
const HARMONICS: usize = 24;

fn main() -> ExitCode {
    figures::run(measure)
}

fn measure(figures: &mut Figures) -> Outcome {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions");
    // As in `assets/rigs/simulated-steady-dsa-380.ron`.
    let rig = KnownRig {
        motor_omega_rad_per_s: 500.0,
        motor_damping_ratio: 0.7,
        reference_delay_s: 0.0119,
        force_delay_s: 0.002,
        force_filter_hz: Some(200.0),
        pad_stiffness_n_per_m: 5e6,
        pad_damping_ns_per_m: 800.0,
    };
    let text = format!(
        r#"(speed_kmh: 200.0, harmonics: Some({HARMONICS}), agree_pct: None, most_spans: 1000000,
            specimen: "../assets/pantographs/dsa-380.ron")"#
    );
    let config: PantographSteadyConfig = ron::from_str(&text)?;
    let mut params = ParamSet::new(SPEC.params);
    params.preset("n_delta", config.delay_cycles(&rig, 1e-3))?;
    let build = || {
        let mut context = BuildContext {
            base: &base,
            period_s: 1e-3,
            params: &params,
            cache: Path::new(""),
            rig: Some(&rig),
            notice: &mut |_| (),
        };
        PantographSteadyBench::build(&config, &mut context)
    };
    let (mut bench, _) = build()?;
    let mut frame = Frame::empty();
    frame.values[..SPEC.channels.len()].fill(0.0);
    bench.reset(&params, &frame);

    let spans = figures.choose(1, 20);
    let turns: Vec<Complex<f64>> = (0..STEPS)
        .map(|n| Complex::from_polar(1.0, -TAU * n as f64 / STEPS as f64))
        .collect();
    let block: Vec<f64> = (0..STEPS).map(|n| (n as f64).sin()).collect();
    let [built, step, plain] = figures.in_turns(15, || {
        let built = time(|| {
            let _ = black_box(build());
        });
        let mut fault = None;
        let stepped = time(|| {
            for _ in 0..spans * STEPS {
                frame.seq += 1;
                frame.values[0] = 150.0 + (0.01 * frame.seq as f64).sin();
                fault = bench.step(&params, &mut frame).err().or(fault.take());
                black_box(&frame);
            }
        });
        if let Some(fault) = fault {
            return Err(format!("{fault:?}").into());
        }
        Ok([
            built,
            stepped / (spans * STEPS) as f64,
            best(figures.choose(1, 50), || plain_sum(&turns, &block)),
        ])
    })?;
    figures.time("built and judged", &built)?;
    figures.time("a step", &step)?;
    figures.time("the spectrum summed anew", &plain)?;
    figures.ratio("step", "sums of the spectrum", &step, &plain)
}

/// The plain form: K sums over N stored forces.
fn plain_sum(turns: &[Complex<f64>], block: &[f64]) {
    for k in 0..HARMONICS {
        let mut sum = Complex::from(0.0);
        for (n, f) in black_box(block).iter().enumerate() {
            sum += turns[k * n % STEPS] * *f;
        }
        black_box(sum);
    }
}
