//! One load cell of two that is stuck, dead, noisy, drifting or saturated ends a run by a fault that names it, long
//! before the limit of the sum could mean twice as much. On the simulated rig with load cells, on the exact clock.

use integration_tests::{ExactRun, project_root, session_from};
use rt_core::fault::{Action, CellFault, Fault};
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::rig::RigCommand;
use std::path::Path;

/// The shipped rig with texts of its file exchanged for others.
fn rig(name: &str, changes: &[(&str, &str)]) -> String {
    let assets = project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/simulated-load-cells.ron")).unwrap();
    let mut text = text.replace("\"..", &format!("\"{}", assets.display()));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cells-{name}.ron"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

const SHIPPED: &str = "../assets/rigs/simulated-load-cells.ron";

fn bench(rig: &str, amplitude_m: f64, inject: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "cells", bench: Profile(source: Sine(amplitude_m: {amplitude_m:?}, frequency_hz: 1.0), entry_s: 0.5),
        rig: "{rig}", inject: [{inject}])"#
    )))
}

/// A cell in trouble one second into a run.
fn trouble(does: &str) -> String {
    format!("(fault: Cell(number: 2, does: {does}), after_s: 1.0)")
}

/// The trip of a run that has one: the fault, what is done, and how many seconds after the second second of the run.
fn trip(run: &mut ExactRun) -> (Fault, Action, f64) {
    run.start();
    let began = run.frames.last().unwrap().seq;
    assert!(run.until(State::Tripped, 5000), "{:?}", run.events);
    let tripped = |e: &rt_core::link::Event| match e.kind {
        EventKind::Tripped { fault, action } => Some((fault, action, e.seq)),
        _ => None,
    };
    let (fault, action, seq) = run.events.iter().find_map(tripped).unwrap();
    (fault, action, (seq - began) as f64 * 0.002 - 1.0)
}

fn peak(run: &ExactRun) -> f64 {
    run.column("true_force").into_iter().fold(0.0, f64::max)
}

#[test]
fn one_cell_of_two_in_trouble_ends_the_run_by_its_name() {
    let noisy = rig(
        "noisy",
        &[(
            "noise_mv_per_v: 0.0007,\n            resolution_mv_per_v: 0.0001,\n        ),\n    ],",
            "noise_mv_per_v: 0.0007,\n            resolution_mv_per_v: 0.0001,\n            watch: (noise: 0.0007),\n        ),\n    ],",
        )],
    );
    for (rig, does, expected, within_s) in [
        // 25 cycles of the file for the sum, twice as many for one of two.
        (SHIPPED, "Stuck", "cell-frozen.force_raw_2", 0.11),
        (SHIPPED, "Dead", "cell-share.force_raw_2", 0.35),
        (SHIPPED, "Saturated", "limit.force", 0.01),
        (
            SHIPPED,
            "Drifting(n_per_s: 200.0)",
            "cell-share.force_raw_1",
            3.0,
        ),
        (
            SHIPPED,
            "Drifting(n_per_s: -200.0)",
            "cell-share.force_raw_2",
            1.0,
        ),
        (&noisy, "Noisy(by_n: 30.0)", "", 0.0),
    ] {
        let mut run = bench(rig, 0.01, &trouble(does));
        if expected.is_empty() {
            // A contact that chatters is no noise: it is told of once nothing moves.
            run.start();
            run.cycles(1500);
            assert_eq!(run.state(), State::Running, "{:?}", run.events);
            run.ask(Request::Stop);
            run.cycles(2500);
            let is_noisy = |e: &rt_core::link::Event| {
                matches!(
                    e.kind,
                    EventKind::Warning(Fault::Cell {
                        what: CellFault::TooNoisy,
                        ..
                    })
                )
            };
            assert!(run.events.iter().any(is_noisy), "{:?}", run.events);
            assert_eq!(run.state(), State::Idle, "not ready with such a cell");
            continue;
        }
        let (fault, action, after_s) = trip(&mut run);
        let words = fault.describe(&run.layout);
        println!(
            "{does}: {} after {after_s:.3} s, peak {:.0} N: {}",
            words.id,
            peak(&run),
            words.what
        );
        assert!(words.id.starts_with(expected), "{does}: {words:?}");
        assert_eq!(action, Action::Retreat, "{does}");
        assert!(
            (0.0..=within_s).contains(&after_s),
            "{does}: after {after_s} s"
        );
        assert!(
            !words.advice.is_empty() && words.what.contains("cell") | words.what.contains("force")
        );
        run.cycles(1000);
        assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
        assert!(peak(&run) < 500.0, "{does}: {} N at the pad", peak(&run));
        run.ask(Request::Acknowledge);
        run.cycles(100);
        if does == "Stuck" {
            assert_eq!(run.state(), State::Idle, "not ready with such a cell");
        }
    }
}

/// Presses harder and harder until the force limit acts: 500 N of the sum.
fn pressing(inject: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "cells", bench: Profile(source: Sine(amplitude_m: 0.06, frequency_hz: 3.0), entry_s: 6.0),
        rig: "{SHIPPED}", inject: [{inject}])"#
    )))
}

/// A cell that dies just before, when the sum shows half of what presses, does not let more through.
#[test]
fn a_dead_cell_does_not_let_twice_the_limit_through() {
    let mut healthy = pressing("");
    let (fault, _, after_s) = trip(&mut healthy);
    assert_eq!(fault.describe(&healthy.layout).id, "limit.force");
    healthy.cycles(500);
    let at_s = after_s + 1.0;
    println!(
        "healthy: trips after {at_s:.3} s, peak {:.0} N",
        peak(&healthy)
    );
    for does in ["Dead", "Stuck"] {
        for before_s in [1.0, 0.4, 0.3, 0.2, 0.1, 0.05] {
            let from_s = at_s - before_s;
            let faults = format!("(fault: Cell(number: 2, does: {does}), after_s: {from_s:?})");
            let mut run = pressing(&faults);
            let (fault, ..) = trip(&mut run);
            run.cycles(500);
            println!(
                "{does} {before_s} s before: {}, peak {:.0} N",
                fault.describe(&run.layout).id,
                peak(&run)
            );
            // Braking is not less of a blow for being told by a cell: what may not come is the double force.
            assert!(
                peak(&run) < 2.0 * peak(&healthy),
                "{does} {before_s}: {} N",
                peak(&run)
            );
        }
    }
}

/// The cells are made for 100 N each and the limit of the sum is far away: the force is larger than shown, and if it stays so
/// although the motor retreats, the power goes.
#[test]
fn a_saturated_cell_is_a_fault_of_its_own() {
    let small = rig(
        "small",
        &[
            ("range_n: 1000.0", "range_n: 100.0"),
            ("high: 500.0", "high: 900.0"),
        ],
    );
    let mut run = bench(
        &small,
        0.01,
        "(fault: Runaway(speed_m_per_s: -0.5), after_s: 1.0)",
    );
    let (fault, action, after_s) = trip(&mut run);
    let words = fault.describe(&run.layout);
    println!("{words:?} after {after_s} s, peak {}", peak(&run));
    assert!(
        matches!(
            fault,
            Fault::Cell {
                what: CellFault::Saturated,
                ..
            }
        ),
        "{words:?}"
    );
    assert_eq!(action, Action::Retreat);
    run.cycles(500);
    assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
    // A force sensor that gives newtons has an end too; a limit that acts by itself comes first.
    let assets = project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/simulated-dsa-380.ron")).unwrap();
    let text = text.replace("\"..", &format!("\"{}", assets.display()));
    let text = text.replacen("range_n: 1000.0", "range_n: 200.0", 1);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("small-sensor.ron");
    std::fs::write(&path, text).unwrap();
    let mut run = bench(
        &path.display().to_string(),
        0.01,
        "(fault: Runaway(speed_m_per_s: -0.5), after_s: 1.0)",
    );
    let (fault, ..) = trip(&mut run);
    assert_eq!(fault.describe(&run.layout).id, "cell-saturated.force");
}

#[test]
fn the_force_at_rest_is_looked_at_before_a_run_where_the_file_asks_for_it() {
    let watched = rig(
        "rest",
        &[(
            "seed: 1,",
            "seed: 1,\n    cell_watch: (rest_force: FromUplift),",
        )],
    );
    let mut run = bench(&watched, 0.01, "");
    assert!(run.until(State::Ready, 100));
    run.ask(Request::Arm);
    run.ask(Request::Run);
    run.cycles(450);
    assert_eq!(run.state(), State::Armed, "it looks for a second");
    run.cycles(100);
    assert_eq!(run.state(), State::Running, "{:?}", run.events);
    // The head does not touch, or both cells are dead.
    let gone = "(fault: Cell(number: 1, does: Dead), in_state: Idle, after_s: 0.0), \
                (fault: Cell(number: 2, does: Dead), in_state: Idle, after_s: 0.0)";
    let mut run = bench(&watched, 0.01, gone);
    assert!(run.until(State::Ready, 100));
    run.ask(Request::Arm);
    run.ask(Request::Run);
    run.cycles(1500);
    assert_eq!(run.state(), State::Tripped, "{:?}", run.events);
    let tripped = |e: &rt_core::link::Event| match e.kind {
        EventKind::Tripped { fault, .. } => Some(fault.describe(&run.layout).id),
        _ => None,
    };
    assert_eq!(
        run.events.iter().find_map(tripped).unwrap(),
        "rest-force.force"
    );
    assert!(run.frames.iter().all(|f| f.state != State::Running));
}

#[test]
fn a_zero_that_has_moved_between_two_rests_is_told_and_a_large_step_does_not_run() {
    let watched = rig(
        "drift",
        &[(
            "seed: 1,",
            "seed: 1,\n    cell_watch: (drift_warn_n: 5.0, drift_max_n: 20.0),",
        )],
    );
    let drift = |n_per_s: f64| {
        format!(
            "(fault: Cell(number: 1, does: Drifting(n_per_s: {n_per_s:?})), in_state: Running, after_s: 0.0, lasting_s: 1e3)"
        )
    };
    for (n_per_s, tells) in [(0.5, ""), (3.0, "warning"), (9.0, "trip")] {
        let mut run = bench(&watched, 0.01, &drift(n_per_s));
        run.start();
        run.cycles(1000);
        run.ask(Request::Stop);
        assert!(run.until(State::Ready, 5000), "{:?}", run.events);
        run.ask(Request::Arm);
        run.cycles(1000);
        let kind = |e: &rt_core::link::Event| match e.kind {
            EventKind::Warning(Fault::Cell {
                what: CellFault::Drift,
                ..
            }) => Some("warning"),
            EventKind::Tripped {
                fault:
                    Fault::Cell {
                        what: CellFault::Drift,
                        ..
                    },
                ..
            } => Some("trip"),
            _ => None,
        };
        let told = run.events.iter().find_map(kind).unwrap_or("");
        assert_eq!(told, tells, "{n_per_s} N/s: {:?}", run.events);
    }
}

/// Known loads as large as the cells hang on one of them for minutes: nobody is kept from calibrating.
#[test]
fn hung_loads_trip_nothing() {
    let mut run = bench(SHIPPED, 0.01, "");
    assert!(run.until(State::Ready, 100));
    for (cell, newtons) in [(0, 0.0), (0, 1000.0), (1, -1000.0), (1, 400.0)] {
        let hang = RigCommand::HangLoad { cell, newtons };
        run.user.commands.push(Command::Rig(hang)).unwrap();
        run.cycles(2000);
    }
    run.user
        .commands
        .push(Command::Rig(RigCommand::RemoveLoads))
        .unwrap();
    run.cycles(100);
    let of_a_cell =
        |e: &rt_core::link::Event| matches!(e.kind, EventKind::Warning(Fault::Cell { .. }));
    assert!(!run.events.iter().any(of_a_cell), "{:?}", run.events);
    run.start();
    run.cycles(5000);
    assert_eq!(run.state(), State::Running, "{:?}", run.events);
}
