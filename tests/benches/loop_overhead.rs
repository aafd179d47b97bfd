//! What the loop costs without the bench's own work: guard, limits, parameters, rings, counters; beside a copy of one
//! frame in the same run. Goal: below 2 µs.
//!
//! `cargo bench -p integration-tests --bench loop_overhead`.

#[path = "../../rt-core/benches/figures/mod.rs"]
mod figures;

use figures::{Figures, Outcome, quantile, time};
use integration_tests::{ExactRun, session_from};
use rt_core::channel::Frame;
use rt_core::guard::State;
use std::hint::black_box;
use std::process::ExitCode;

/// Cycles that are timed together: a clock takes as long as a copy.
const BLOCK: usize = 100;

fn main() -> ExitCode {
    figures::run(measure)
}

fn measure(figures: &mut Figures) -> Outcome {
    let text = r#"Session(title: "overhead", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380-ideal.ron")"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    let mut frame = *run.frames.last().ok_or("no frame")?;
    let mut rig = integration_tests::simulated_rig("simulated-dsa-380-ideal.ron");
    let mut target = Box::new(Frame::empty());
    let blocks = figures.choose(1, 100);
    let [whole, plant, copy] = figures.in_turns(15, || {
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..blocks {
            times[0].push(time(|| {
                for _ in 0..BLOCK {
                    run.rt_loop.cycle();
                }
            }));
            while let Some(Ok(newest)) = run.user.record.as_mut().map(|record| record.pop()) {
                frame = newest;
            }
            if frame.state != State::Running {
                return Err(format!("the loop is {:?}", frame.state).into());
            }
            times[1].push(time(|| {
                for _ in 0..BLOCK {
                    frame.t_nanos += 2_000_000;
                    black_box(rig.exchange(&mut frame).is_ok());
                }
            }));
            times[2].push(time(|| {
                for _ in 0..BLOCK {
                    **black_box(&mut target) = black_box(frame);
                }
            }));
        }
        Ok(times.map(|times| quantile(&times, 0.5) / BLOCK as f64))
    })?;
    let own: Vec<f64> = whole.iter().zip(&plant).map(|(a, b)| a - b).collect();
    figures.time("a whole cycle", &whole)?;
    figures.time("of it the simulated plant", &plant)?;
    figures.time("loop without the plant", &own)?;
    figures.time("copy of a frame", &copy)?;
    figures.ratio("loop", "copies of a frame", &own, &copy)
}
