//! What a cycle of the predictive controller costs, beside one step of the wire model in the same run,
//! and what it costs to judge a design. Six steps of the wire are in it. Timed by the thread's processor time, so that a busy machine does
//! not count as a slow controller.
//!
//! `cargo bench -p rt-core --bench predictive`.

use rt_core::control::assessment::Wire;
use rt_core::control::predictive::{
    Predictive, PredictiveDesign, PredictiveRig, PredictiveSurroundings, PredictiveTuning,
    PreparedPredictive, Tick, even_way,
};
use rt_core::file::load;
use rt_core::model::catenary::{
    FullWire, Line, LinearLine, ModalBasis, ModalOptions, ModalWire, WireModel,
};
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::Pantograph;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

const PERIOD_S: f64 = 2e-3;
const MODES: usize = 2000;
const CYCLES: usize = 4000;

fn main() -> Result<(), Box<dyn Error>> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
    let file: Line = load(&assets.join("lines/stitched-sw.ron"))?;
    let pantograph: Pantograph = load(&assets.join("pantographs/dsa-380.ron"))?;
    let rig = PredictiveRig::TUR_2024;
    let tuning = PredictiveTuning::ROBUST;
    let mut designs = times(50, |_| {
        let _ = black_box(PredictiveDesign::new(black_box(&rig), &pantograph, &tuning));
    });
    println!("design: median {:.1} µs", 1e6 * median(&mut designs));

    let design = PredictiveDesign::new(&rig, &pantograph, &tuning)?;
    for (name, wire) in [
        ("wire held", Wire::Held),
        ("string", Wire::String(MovingString::HIGH_SPEED_300)),
    ] {
        let prepared = PreparedPredictive::new(&PredictiveSurroundings {
            wire,
            rig,
            pantograph: pantograph.clone(),
            extra_delay_cycles: 0,
        })?;
        let mut loops = times(20, |_| {
            let _ = black_box(prepared.closed(black_box(&design)));
        });
        let mut judged = times(20, |_| {
            let _ = black_box(prepared.assess(black_box(&design)));
        });
        println!(
            "{name}: linear loop median {:.2} ms, with radius and margins {:.1} ms",
            1e3 * median(&mut loops),
            1e3 * median(&mut judged)
        );
    }

    let line = Arc::new(LinearLine::build(&file, 1.0)?);
    let mut full = FullWire::new(line.clone(), PERIOD_S)?;
    let basis = Arc::new(ModalBasis::build(&line, MODES, &mut |_| ())?);
    let mut modal = ModalWire::new(line, basis, PERIOD_S, ModalOptions::default())?;
    for (name, wire) in [
        ("full", &mut full as &mut dyn WireModel),
        ("modal", &mut modal),
    ] {
        let place = |k: usize| 130.0 + 0.16 * k as f64;
        wire.reset();
        let mut steps = times(CYCLES, |k| {
            wire.predict(place(k));
            wire.respond((k as f64).min(150.0));
            wire.commit();
        });
        let step = median(&mut steps);

        wire.reset();
        let mut control =
            Predictive::new(PredictiveDesign::new(&rig, &pantograph, &tuning)?, wire)?;
        control.reset(0.0, 150.0);
        // The motor is where it was told to be, the force swings: enough to keep every branch busy.
        let mut reference = 0.0;
        let mut cycles = times(CYCLES, |k| {
            let tick = Tick {
                force: 150.0 + 60.0 * (0.05 * k as f64).sin(),
                motor_position: reference,
                reference,
                way: even_way(place(k), 0.16, |place| {
                    ((place - 130.0) / 50.0).clamp(0.0, 1.0)
                }),
            };
            reference = black_box(control.step(wire, &tick)).reference;
        });
        let middle = median(&mut cycles);
        let high = cycles[CYCLES * 999 / 1000];
        println!(
            "{name}, {} unknowns: cycle median {:.1} µs = {:.1} % of the period = {:.2} wire steps of \
             {:.1} µs; p99.9 {:.1} µs = {:.1} % of the period",
            wire.unknowns(),
            1e6 * middle,
            100.0 * middle / PERIOD_S,
            middle / step,
            1e6 * step,
            1e6 * high,
            100.0 * high / PERIOD_S
        );
    }
    Ok(())
}

fn times(count: usize, mut work: impl FnMut(usize)) -> Vec<f64> {
    (0..count)
        .map(|k| {
            let start = busy_s();
            work(k);
            busy_s() - start
        })
        .collect()
}

/// Processor time of this thread.
fn busy_s() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Sorts, and gives the middle one.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
