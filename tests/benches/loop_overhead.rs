//! What the loop costs without the bench's own work: guard, limits, parameters, rings, counters.
//! Printed beside a copy of one frame in the same run.

use integration_tests::{ExactRun, session_from};
use rt_core::channel::Frame;
use rt_core::guard::State;
use std::hint::black_box;
use std::time::Instant;

const CYCLES: usize = 20_000;

fn median(mut nanos: Vec<u128>) -> u128 {
    nanos.sort_unstable();
    nanos[nanos.len() / 2]
}

fn main() {
    let text = r#"Session(title: "overhead", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380-ideal.ron")"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    let mut with_plant = Vec::with_capacity(CYCLES);
    for _ in 0..CYCLES {
        let begin = Instant::now();
        run.rt_loop.cycle();
        with_plant.push(begin.elapsed().as_nanos());
        drain(&mut run);
    }
    assert_eq!(run.state(), State::Running);
    let mut plant = Vec::with_capacity(CYCLES);
    let mut rig = integration_tests::simulated_rig("simulated-dsa-380-ideal.ron");
    let mut frame = *run.frames.last().unwrap_or(&Frame::empty());
    for k in 0..CYCLES as u64 {
        frame.t_nanos = k * 2_000_000;
        let begin = Instant::now();
        black_box(rig.exchange(&mut frame).is_ok());
        plant.push(begin.elapsed().as_nanos());
    }
    let mut copy = Vec::with_capacity(CYCLES);
    let mut target = Box::new(Frame::empty());
    for _ in 0..CYCLES {
        let begin = Instant::now();
        **black_box(&mut target) = black_box(frame);
        copy.push(begin.elapsed().as_nanos());
    }
    let (whole, plant, copy) = (median(with_plant), median(plant), median(copy));
    println!("whole cycle, median                 {whole:>7} ns");
    println!("of it the simulated plant           {plant:>7} ns");
    println!(
        "loop without the bench's rig        {:>7} ns  (goal: below 2000 ns)",
        whole.saturating_sub(plant)
    );
    println!("yardstick: copy of one frame        {copy:>7} ns");
}

fn drain(run: &mut ExactRun) {
    if let Some(record) = &mut run.user.record {
        while let Ok(frame) = record.pop() {
            black_box(frame);
        }
    }
}
