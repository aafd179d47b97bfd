//! What a cycle of the predictive controller costs, beside one step of the wire model in the same run,
//! and what it costs to judge a design. Six steps of the wire are in it.
//!
//! `cargo bench -p rt-core --bench predictive`.

mod figures;

use figures::{Figures, Outcome, best, quantile, time};
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
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const PERIOD_S: f64 = 2e-3;
const RIG: PredictiveRig = PredictiveRig::TUR_2024;

fn main() -> ExitCode {
    figures::run(|figures| {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
        let file: Line = load(&assets.join("lines/stitched-sw.ron"))?;
        let pantograph: Pantograph = load(&assets.join("pantographs/dsa-380.ron"))?;
        judge(figures, &pantograph)?;

        let line = Arc::new(LinearLine::build(&file, 1.0)?);
        cycle(
            figures,
            "full",
            &mut FullWire::new(line.clone(), PERIOD_S)?,
            &pantograph,
        )?;
        let modes = figures.choose(50, 2000);
        let basis = Arc::new(ModalBasis::build(&line, modes, &mut |_| ())?);
        let mut modal = ModalWire::new(line, basis, PERIOD_S, ModalOptions::default())?;
        cycle(figures, "modal", &mut modal, &pantograph)
    })
}

fn design(pantograph: &Pantograph) -> Outcome<PredictiveDesign> {
    let tuning = PredictiveTuning::ROBUST;
    Ok(PredictiveDesign::new(black_box(&RIG), pantograph, &tuning)?)
}

/// A design, and what the model says of it.
fn judge(figures: &mut Figures, pantograph: &Pantograph) -> Outcome {
    let made = design(pantograph)?;
    let surroundings = |wire| PredictiveSurroundings {
        wire,
        rig: RIG,
        pantograph: pantograph.clone(),
        extra_delay_cycles: 0,
    };
    let held = PreparedPredictive::new(&surroundings(Wire::Held))?;
    let string = Wire::String(MovingString::HIGH_SPEED_300);
    let string = PreparedPredictive::new(&surroundings(string))?;
    let calls = figures.choose(1, 5);
    let [designs, held_loop, held, string_loop, string] = figures.in_turns(5, || {
        let closed = |prepared: &PreparedPredictive| {
            best(calls, || {
                let _ = black_box(prepared.closed(black_box(&made)));
            })
        };
        let assessed = |prepared: &PreparedPredictive| {
            best(calls, || {
                let _ = black_box(prepared.assess(black_box(&made)));
            })
        };
        Ok([
            best(10 * calls, || {
                let _ = black_box(design(pantograph));
            }),
            closed(&held),
            assessed(&held),
            closed(&string),
            assessed(&string),
        ])
    })?;
    figures.time("a design", &designs)?;
    for (id, times) in [
        ("linear loop, wire held", held_loop),
        ("radius and margins, wire held", held),
        ("linear loop, string", string_loop),
        ("radius and margins, string", string),
    ] {
        figures.ratio(id, "designs", &times, &designs)?;
    }
    Ok(())
}

fn cycle(
    figures: &mut Figures,
    name: &str,
    wire: &mut dyn WireModel,
    pantograph: &Pantograph,
) -> Outcome {
    let place = |k: usize| 130.0 + 0.16 * k as f64;
    let count = figures.choose(100, 4000);
    let mut control = Predictive::new(design(pantograph)?, wire)?;
    let [steps, cycles, high] = figures.in_turns(5, || {
        wire.reset();
        let steps: Vec<f64> = (0..count)
            .map(|k| {
                time(|| {
                    wire.predict(place(k));
                    wire.respond((k as f64).min(150.0));
                    wire.commit();
                })
            })
            .collect();

        wire.reset();
        control.reset(0.0, 150.0);
        // The motor is where it was told to be, the force swings: enough to keep every branch busy.
        let mut reference = 0.0;
        let cycles: Vec<f64> = (0..count)
            .map(|k| {
                let tick = Tick {
                    force: 150.0 + 60.0 * (0.05 * k as f64).sin(),
                    motor_position: reference,
                    reference,
                    way: even_way(place(k), 0.16, |place| {
                        ((place - 130.0) / 50.0).clamp(0.0, 1.0)
                    }),
                };
                time(|| reference = black_box(control.step(wire, &tick)).reference)
            })
            .collect();
        if !reference.is_finite() {
            return Err(format!("{name}: the reference is {reference}").into());
        }
        Ok([
            quantile(&steps, 0.5),
            quantile(&cycles, 0.5),
            quantile(&cycles, 0.999),
        ])
    })?;
    figures.say(&format!("{name} wire, {} unknowns", wire.unknowns()));
    let id = |what: &str| format!("{name}/{what}");
    figures.time(&id("a step of the wire"), &steps)?;
    figures.time(&id("a cycle"), &cycles)?;
    figures.time(&id("a cycle, p99.9"), &high)?;
    figures.ratio(&id("cycle"), "steps of the wire", &cycles, &steps)
}
