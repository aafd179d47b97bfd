//! The predictive controller in a closed loop with a whole line, held against head and wire solved
//! together (0.5 ms) with the same contact stiffness: pad and interaction spring in series.
//!
//! Twelve spans of the stitched line, all of its unknowns, DSA-380. Errors are those of the contact
//! force below 20 and 40 Hz on spans 5 to 8 in % of its mean; tracking is motor position less target.
//! `cargo test -p rt-core --test predictive_loop -- --nocapture` prints the tables.

use crate::predictive::{Bench, Outcome, PERIOD_S, Scene};
use rt_core::control::predictive::controller::OtherStates;
use rt_core::control::predictive::{
    FallBack, Monitor, MonitorLimits, Predictive, PredictiveDesign, PredictiveError, PredictiveRig,
    PredictiveTuning, Tick, even_way,
};
use rt_core::model::catenary::{FullWire, ModalBasis, ModalOptions, ModalWire, Series, WireModel};
use rt_core::no_alloc::guarded;
use rt_core::signal::contact_force::ForceFilter;
use rt_core::signal::error_index::error_index_percent;
use std::sync::{Arc, LazyLock};

const ROBUST: PredictiveTuning = PredictiveTuning::ROBUST;
const RIG: PredictiveRig = PredictiveRig::TUR_2024;

static BENCH: LazyLock<Bench> = LazyLock::new(Bench::new);

/// Head and wire solved together at 300 km/h.
static AT_300: LazyLock<Series> = LazyLock::new(|| reference(&Scene::new(&BENCH, 300.0, &ROBUST)));

fn design(rig: &PredictiveRig, tuning: &PredictiveTuning) -> PredictiveDesign {
    PredictiveDesign::new(rig, &BENCH.pantograph, tuning).unwrap()
}

fn run(scene: &Scene) -> rt_core::model::catenary::Run {
    let t = &scene.truth;
    let k_i = scene.design.tuning.interaction_stiffness_n_per_m;
    let mut run = BENCH.run(scene.kmh, &t.pantograph, 1.0 / (1.0 / t.pad + 1.0 / k_i));
    run.uplift_n = scene.uplift;
    run
}

/// The answer to what the rig of a scene really is.
fn reference(scene: &Scene) -> Series {
    BENCH.implicit(&run(scene), &scene.truth.pantograph, 5e-4)
}

/// Plays a scene, prints a row and gives the errors and the outcome.
fn row(
    name: &str,
    scene: Scene,
    wire: &mut dyn WireModel,
    reference: &Series,
) -> ([f64; 2], Outcome) {
    let run = run(&scene);
    let out = scene.play(&BENCH, wire);
    assert_eq!(
        out.diverged_at, None,
        "{name} diverged; {:?}",
        out.fall_back
    );
    let e = BENCH.errors(&run, &out.series, reference);
    println!(
        "{name:36} error {:5.2} / {:5.2} %, tracking {:.3} / {:.3} mm, innovation {:.3}, give way {:?}",
        e[0], e[1], out.tracking_std, out.tracking_max, out.innovation, out.fall_back
    );
    (e, out)
}

fn at_most(name: &str, found: &([f64; 2], Outcome), bars: [f64; 4]) {
    let (e, out) = found;
    for (what, value, bar) in [
        ("error below 20 Hz", e[0], bars[0]),
        ("error below 40 Hz", e[1], bars[1]),
        ("tracking", out.tracking_std, bars[2]),
        ("largest tracking error", out.tracking_max, bars[3]),
    ] {
        assert!(value <= bar, "{name}: {what} {value} above {bar}");
    }
}

/// The promise: 2 % and 4 %, 0.12 and 0.4 mm. Independent figures for the same scheme in another
/// program: robust 1.6/3.0 %, .10/.32 mm (300), .9/1.6 %, .06/.28 mm (250); fast 1.5/2.0 %, .05/.17 mm
/// (300), .8/1.2 %, .04/.12 mm (250). The step of 2 ms alone costs 1.67 % (300) and .86 % (250).
#[test]
fn the_force_is_that_of_head_and_wire_solved_together() {
    let mut wire = BENCH.wire();
    for (kmh, floor, robust, fast) in [
        (300.0, Some(1.67), [1.6, 3.0], Some([1.5, 2.0])),
        (275.0, None, [2.0, 4.0], None),
        (250.0, Some(0.86), [0.9, 1.6], Some([0.8, 1.2])),
    ] {
        let scene = Scene::new(&BENCH, kmh, &ROBUST);
        let (fine, run) = (reference(&scene), run(&scene));
        let coarse = BENCH.implicit(&run, &BENCH.pantograph, PERIOD_S);
        let found = BENCH.errors(&run, &coarse, &fine);
        println!(
            "{kmh} km/h, implicit with 2 ms: {:.2} / {:.2} %",
            found[0], found[1]
        );
        if let Some(floor) = floor {
            assert!((found[0] - floor).abs() < 0.15, "{kmh}: {found:?}");
        }
        let name = format!("{kmh} km/h robust");
        let found = row(&name, scene, &mut wire, &fine);
        at_most(&name, &found, [2.0, 4.0, 0.12, 0.4]);
        // Line damping and mesh need not be the same to the last digit there: a tenth, and 0.1 %.
        at_most(
            &name,
            &found,
            [1.1 * robust[0] + 0.1, 1.1 * robust[1] + 0.1, 0.12, 0.4],
        );
        assert_eq!(found.1.fall_back, None);
        if let Some(fast) = fast {
            let name = format!("{kmh} km/h fast");
            let found = row(
                &name,
                Scene::new(&BENCH, kmh, &PredictiveTuning::FAST),
                &mut wire,
                &fine,
            );
            at_most(
                &name,
                &found,
                [1.1 * fast[0] + 0.1, 1.1 * fast[1] + 0.1, 0.06, 0.2],
            );
        }
    }
}

/// With sensors' noise, a damped pad and delays that it knows it does as well.
#[test]
fn known_delays_and_noise_cost_little() {
    let mut wire = BENCH.wire();
    let mut noisy = Scene::new(&BENCH, 300.0, &ROBUST);
    noisy.noise = (2e-6, 0.5);
    noisy.truth.pad_damping = 10.0;
    let mut late = Scene::new(&BENCH, 300.0, &ROBUST);
    late.truth.force_delay_cycles = 1;
    late.truth.reference_delay_s = 1e-3;
    late.design = design(
        &PredictiveRig {
            force_delay_cycles: 1,
            reference_delay_s: 1e-3,
            ..RIG
        },
        &ROBUST,
    );
    for (name, scene) in [
        ("noise, damped pad", noisy),
        ("known delays of force and reference", late),
    ] {
        let found = row(name, scene, &mut wire, &AT_300);
        at_most(name, &found, [2.0, 4.0, 0.12, 0.4]);
        assert_eq!(found.1.fall_back, None, "{name}");
    }
}

/// Each against the answer to what the rig really is, at 300 km/h. The bars say what is held, not what
/// is promised for the true rig: the promise of 2 and 4 % is not kept with delays of which the
/// controller knows nothing, nor with a head or springs that are wrong by these amounts.
#[test]
fn a_rig_other_than_assumed_is_held() {
    let mut wire = BENCH.wire();
    let mut scenes = Vec::new();
    for (ms, bar) in [(2.0, 7.0), (4.0, 9.5)] {
        let mut s = Scene::new(&BENCH, 300.0, &ROBUST);
        s.truth.reference_delay_s = 1e-3 * ms;
        scenes.push((format!("{ms} ms of unknown delay"), s, bar));
    }
    for (factor, bar) in [(0.7, 3.0), (1.3, 2.0), (1.5, 2.0)] {
        let mut s = Scene::new(&BENCH, 300.0, &ROBUST);
        s.truth.pad *= factor;
        scenes.push((format!("pad × {factor}"), s, bar));
    }
    for (mass, stiffness) in [(0.85, 1.0), (1.15, 1.0), (1.0, 0.7), (1.0, 1.3)] {
        let mut s = Scene::new(&BENCH, 300.0, &ROBUST);
        for m in &mut s.truth.pantograph.masses {
            m.mass_kg *= mass;
            m.stiffness_n_per_m *= stiffness;
        }
        scenes.push((
            format!("all masses × {mass}, springs × {stiffness}"),
            s,
            3.6,
        ));
    }
    for (name, scene, bar) in scenes {
        // Delays are the rig's alone: the answer is that of the rig as assumed.
        let own = (!name.contains("delay")).then(|| reference(&scene));
        let (e, out) = row(&name, scene, &mut wire, own.as_ref().unwrap_or(&AT_300));
        assert!(e[0] < bar, "{name}: {e:?}");
        assert!(out.innovation < 2.0 && out.tracking_max < 2.5, "{name}");
    }
}

/// What it cannot hold is told while the motor is still near.
#[test]
fn the_monitor_says_to_give_way_before_the_loop_is_lost() {
    let mut wire = BENCH.wire();
    for (name, delay_s, pad) in [
        ("6 ms of unknown delay", 6e-3, 1.0),
        ("pad × 2.5", 0.0, 2.5),
    ] {
        let mut scene = Scene::new(&BENCH, 300.0, &ROBUST);
        scene.truth.reference_delay_s = delay_s;
        scene.truth.pad *= pad;
        let out = scene.play(&BENCH, &mut wire);
        let (place, why) = out.fall_back.unwrap();
        let k = out.series.x.iter().position(|x| *x >= place).unwrap();
        let highest = out.series.force[..=k].iter().fold(0.0f64, |m, f| m.max(*f));
        println!(
            "{name}: give way at {place:.1} m, {why:?}, force until then up to {highest:.0} N"
        );
        assert!(highest < 1000.0, "{name}: {highest} N before {why:?}");
        assert!(matches!(
            why,
            FallBack::Innovation(_) | FallBack::Tracking(_)
        ));
    }
}

/// Another hand on the reference, blended in and out over 0.1 s: 1 mm lower between 160 and 180 m. The
/// observer hears what is sent, so nothing surprises it, and afterwards all is as if it had not been.
#[test]
fn a_reference_of_another_hand_is_no_surprise() {
    let mut scene = Scene::new(&BENCH, 300.0, &ROBUST);
    scene.send = Some(|place, asked| {
        let blend = ((place - 151.7) / 8.3).min((188.3 - place) / 8.3);
        asked - 1e-3 * blend.clamp(0.0, 1.0)
    });
    let name = "1 mm lower between 160 and 180 m";
    let found = row(name, scene, &mut BENCH.wire(), &AT_300);
    at_most(name, &found, [2.2, 4.0, 0.12, 0.4]);
    assert_eq!(found.1.fall_back, None);
    let near = found.1.surprise.iter().zip(&found.1.series.x);
    let highest = near
        .filter(|(_, x)| (150.0..190.0).contains(*x))
        .fold(0.0f64, |m, (s, _)| m.max(*s));
    println!("highest normalised innovation there: {highest:.3}");
    assert!(highest < 0.5, "{highest}");
}

#[test]
fn limits_of_the_reference_are_survived() {
    // 0.11 m cuts the highest of the wire at its first crest, 0.118 m; the evaluated spans come after.
    let tuning = PredictiveTuning {
        reference_high_m: 0.11,
        ..ROBUST
    };
    let (e, out) = row(
        "reference cut at 0.11 m",
        Scene::new(&BENCH, 300.0, &tuning),
        &mut BENCH.wire(),
        &AT_300,
    );
    assert!(out.limited > 50, "{}", out.limited);
    assert!(e[0] < 2.2 && e[1] < 4.0 && out.tracking_max < 0.4, "{e:?}");
    // While it is cut the motor is not where it should be, and that is told.
    assert!(matches!(out.fall_back, Some((_, FallBack::Tracking(_)))));
}

/// The filter is told nothing by a force cell that nothing touches: without that the errors of the first
/// span were 41 % (robust) and 20 % (fast). What remains with the robust tuning is its too stiff pad, which
/// makes the head land too hard.
#[test]
fn loss_of_contact_is_that_of_head_and_wire_solved_together() {
    let mut wire = BENCH.wire();
    // Too little lift: at the entry the head leaves the wire several times.
    let weak = |tuning: &PredictiveTuning| {
        let mut scene = Scene::new(&BENCH, 300.0, tuning);
        scene.uplift = 60.0;
        scene
    };
    let fine = reference(&weak(&ROBUST));
    let lost = |s: &Series| s.dt * s.force.iter().filter(|f| **f <= 0.0).count() as f64;
    assert!(lost(&fine) > 0.03, "the case contains losses");
    let smooth = |s: &Series| {
        let filtered = ForceFilter::default().zero_phase(&s.force, 1.0 / s.dt);
        filtered.unwrap().values
    };
    // The first span: every fourth fine step ends with a cycle.
    let span = (65.0 / (300.0 / 3.6 * PERIOD_S)) as usize;
    let exact = smooth(&fine).into_iter().skip(3).step_by(4);
    let exact: Vec<f64> = exact.take(span).collect();
    for (name, tuning, error_bar, lost_bar) in [
        ("uplift 60 N, robust", ROBUST, 12.0, 0.03),
        ("uplift 60 N, fast", PredictiveTuning::FAST, 5.0, 0.01),
    ] {
        let (_, out) = row(name, weak(&tuning), &mut wire, &fine);
        let error = error_index_percent(&smooth(&out.series)[..span], &exact).unwrap();
        let (ours, together) = (lost(&out.series), lost(&fine));
        println!("first span: {error:.2} %, lost for {ours:.3} s, together {together:.3} s");
        assert!(error < error_bar, "{name}: {error}");
        assert!(
            (ours - together).abs() < lost_bar,
            "{name}: {ours} {together}"
        );
        assert_eq!(out.fall_back, None, "{name}");
    }

    // A blow tears the head off for many cycles; it comes back and all is as before.
    let mut scene = Scene::new(&BENCH, 300.0, &ROBUST);
    let mut struck = false;
    scene.meddle = Some(Box::new(move |place, _, rig| {
        if place > 200.0 && !struck {
            struck = true;
            rig.kick(-0.5);
        }
    }));
    let blow = row("blow of 0.5 m/s on the head", scene, &mut wire, &AT_300);
    let near = blow.1.series.x.iter().zip(&blow.1.series.force);
    let cycles = near
        .filter(|(x, f)| (200.0..260.0).contains(*x) && **f <= 0.0)
        .count();
    println!("without contact after the blow: {cycles} cycles");
    assert!(cycles >= 5, "{cycles}");
    assert!(blow.1.tracking_max < 0.5, "{}", blow.1.tracking_max);
}

/// A drive that yields: 10 kg on 450 kN/m, 0.3 mm under the mean force.
#[test]
fn a_motor_that_yields_must_be_known() {
    let mut wire = BENCH.wire();
    let yielding = |known: bool| {
        let mut scene = Scene::new(&BENCH, 300.0, &ROBUST);
        scene.truth.load = 0.1;
        let rig = PredictiveRig {
            motor_load_m_per_n: if known { 1.0 / 450e3 } else { 0.0 },
            ..RIG
        };
        scene.design = design(&rig, &ROBUST);
        scene
    };
    let found = row("motor yields, known", yielding(true), &mut wire, &AT_300);
    at_most("known", &found, [2.0, 4.0, 0.12, 0.4]);
    let (e, out) = row("motor yields, unknown", yielding(false), &mut wire, &AT_300);
    assert!(e[0] < 4.5 && out.tracking_max < 2.5, "{e:?}");
}

/// Designs are exchanged in full run; the reference jumps less than 0.05 mm, with another k_i less than
/// 0.6 mm.
#[test]
fn designs_are_exchanged_without_a_bump() {
    let mut wire = BENCH.wire();
    let plain = Scene::new(&BENCH, 300.0, &ROBUST).play(&BENCH, &mut wire);
    let soft = |k| PredictiveTuning {
        interaction_stiffness_n_per_m: k,
        ..ROBUST
    };
    for (name, tuning, bar) in [
        ("fast", PredictiveTuning::FAST, 0.05),
        ("k_i 35 kN/m", soft(35e3), 0.6),
        ("k_i 60 kN/m", soft(60e3), 0.6),
    ] {
        let mut other = design(&RIG, &tuning);
        let mut scene = Scene::new(&BENCH, 300.0, &ROBUST);
        let mut turns = [250.0, 350.0].into_iter().peekable();
        scene.meddle = Some(Box::new(move |place, control, _| {
            if turns.next_if(|t| place >= *t).is_some() {
                control.swap_design(&mut other).unwrap();
            }
        }));
        let (e, out) = row(&format!("{name} and back"), scene, &mut wire, &AT_300);
        let k = plain.series.x.iter().position(|x| *x >= 250.0).unwrap();
        assert_eq!(plain.reference[..k], out.reference[..k]);
        let jump = 1e3 * (plain.reference[k] - out.reference[k]).abs();
        println!("jump {jump:.4} mm");
        assert!(jump > 0.0 && jump < bar, "{name}: {jump} mm");
        // On the way back there is no twin to compare with: a jump would stand out of the usual.
        let kink = |r: &[f64]| 1e3 * (r[0] - 2.0 * r[1] + r[2]).abs();
        let usual = plain
            .reference
            .windows(3)
            .skip(500)
            .map(kink)
            .fold(0.0, f64::max);
        let most = out
            .reference
            .windows(3)
            .skip(500)
            .map(kink)
            .fold(0.0, f64::max);
        assert!(most < usual + bar, "{name}: {most} {usual}");
        assert_eq!(out.fall_back, None, "{name}");
        assert!(e[0] < 3.0, "{name}: {e:?}");
    }
    let late = PredictiveRig {
        force_delay_cycles: 1,
        ..RIG
    };
    let mut control = Predictive::new(design(&RIG, &ROBUST), &wire).unwrap();
    let refused = control.swap_design(&mut design(&late, &ROBUST));
    assert_eq!(refused, Err(OtherStates));
}

/// A reduced wire costs accuracy, not stability.
#[test]
fn a_wire_of_few_modes_is_held_as_well() {
    let basis = Arc::new(ModalBasis::build(&BENCH.line, 800, &mut |_| ()).unwrap());
    let mut wire =
        ModalWire::new(BENCH.line.clone(), basis, PERIOD_S, ModalOptions::default()).unwrap();
    let scene = Scene::new(&BENCH, 300.0, &ROBUST);
    let (e, out) = row("800 of 3649 modes", scene, &mut wire, &AT_300);
    assert!(e[0] < 5.0 && out.tracking_max < 0.4, "{e:?}");
    assert_eq!(out.fall_back, None);
}

#[test]
fn a_cycle_does_not_use_the_heap_and_leaves_no_trial_step_behind() {
    let mut wire = BENCH.wire();
    let mut alone = BENCH.wire();
    let mut control = Predictive::new(design(&RIG, &ROBUST), &wire).unwrap();
    let mut other = design(&RIG, &PredictiveTuning::FAST);
    let entry = |place: f64| ((place - 130.0) / 50.0).clamp(0.0, 1.0);
    control.reset(0.003, 150.0);
    for k in 0..400 {
        let tick = Tick {
            // Lost for a while, and once no number.
            force: match k {
                200..220 => 0.0,
                300 => f64::NAN,
                _ => 150.0,
            },
            motor_position: 0.003,
            reference: 0.003,
            way: even_way(130.0 + 0.16 * f64::from(k), 0.16, entry),
        };
        let (result, uses) = guarded(|| {
            if k == 250 {
                control.swap_design(&mut other).unwrap();
            }
            control.step(&mut wire, &tick)
        });
        assert_eq!(uses, 0, "cycle {k}");
        assert!(result.reference.is_finite());
        let here = tick.way[0];
        alone.predict(here.place);
        alone.respond(here.share * result.force);
        alone.commit();
        assert_eq!(wire.rise(here.place), alone.rise(here.place), "cycle {k}");
    }
    // A reference that is no number: nothing senseless is sent, and the monitor hears of it.
    let mut broken = Monitor::new(MonitorLimits::default()).unwrap();
    let mut told = None;
    for _ in 0..10 {
        let tick = Tick {
            force: 150.0,
            motor_position: 0.003,
            reference: f64::NAN,
            way: even_way(200.0, 0.16, entry),
        };
        told = told.or(broken.watch(&control.step(&mut wire, &tick)));
    }
    assert!(told.is_some());
    control.swap_design(&mut other).unwrap();
    control.reset(0.003, 150.0);
    assert!(control.observer().state().iter().all(|x| x.is_finite()));
    let (_, uses) = guarded(|| std::hint::black_box(vec![1.0; 3]));
    assert!(uses > 0, "the allocator counts");
}

#[test]
fn a_wire_of_another_step_is_refused() {
    let wire = FullWire::new(BENCH.line.clone(), 1e-3).unwrap();
    let error = Predictive::new(design(&RIG, &ROBUST), &wire).unwrap_err();
    assert!(matches!(error, PredictiveError::Period { .. }), "{error}");
}
