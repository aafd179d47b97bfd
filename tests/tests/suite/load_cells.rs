//! Load cells in the loop: calibrations applied between two cycles, refused when the drive is on, hung loads, counters.

use integration_tests::{ExactRun, session_from, shipped_session};
use rt_core::calibration::Line;
use rt_core::calibration::id::CalibrationId;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::rig::device::DeviceState;
use rt_core::rig::{RigCommand, RigRefusal};
use std::sync::atomic::Ordering;

fn line(slope_n_per_unit: f64, offset_n: f64) -> Line {
    Line {
        slope_n_per_unit,
        offset_n,
    }
}

fn calibrate(cell: usize, line: Line) -> RigCommand {
    let id = CalibrationId::new("other").unwrap();
    RigCommand::Calibrate { cell, id, line }
}

fn ask(run: &mut ExactRun, command: RigCommand) {
    run.user.commands.push(Command::Rig(command)).unwrap();
}

#[test]
fn a_new_line_acts_in_the_very_next_cycle_and_only_while_the_drive_is_off() {
    let mut run = ExactRun::new(&shipped_session("load-cells.ron"));
    assert!(run.until(State::Ready, 100));
    let expected = |run: &ExactRun, front: Line| {
        let rear = run.user.rig.lines[1].get();
        let (a, b) = (run.column("force_raw_1"), run.column("force_raw_2"));
        front.newtons(*a.last().unwrap()) + rear.newtons(*b.last().unwrap())
    };
    let before = run.user.rig.lines[0].get();
    assert_eq!(*run.column("force").last().unwrap(), expected(&run, before));
    let after = line(before.slope_n_per_unit * 1.02, before.offset_n + 1.0);
    ask(&mut run, calibrate(0, after));
    run.cycle();
    assert_eq!(*run.column("force").last().unwrap(), expected(&run, after));
    assert_eq!(run.user.rig.lines[0].get(), after);
    assert_eq!(
        run.events.last().unwrap().kind,
        EventKind::RigDone(calibrate(0, after))
    );
    // The drive is on from Armed to the end of Stopping.
    run.start();
    for (command, state) in [
        (calibrate(0, before), State::Running),
        (
            RigCommand::HangLoad {
                cell: 0,
                newtons: 400.0,
            },
            State::Running,
        ),
    ] {
        ask(&mut run, command);
        run.cycle();
        let refusal = RigRefusal::State(state);
        let refused = EventKind::RigRefused { command, refusal };
        assert_eq!(run.events.last().unwrap().kind, refused);
    }
    assert_eq!(run.user.rig.lines[0].get(), after);
    run.ask(Request::Stop);
    assert!(run.until(State::Ready, 5000));
    for (command, refusal) in [
        (calibrate(2, before), RigRefusal::NoSuchCell),
        (calibrate(0, line(0.0, 1.0)), RigRefusal::NotFinite),
        (calibrate(0, line(f64::NAN, 1.0)), RigRefusal::NotFinite),
    ] {
        ask(&mut run, command);
        run.cycle();
        let told = run.events.last().unwrap().kind;
        assert!(
            matches!(told, EventKind::RigRefused { refusal: r, .. } if r == refusal),
            "{told:?}"
        );
    }
}

#[test]
fn a_hung_load_is_read_and_gone_when_the_drive_comes_on() {
    let mut run = ExactRun::new(&shipped_session("load-cells.ron"));
    assert!(run.until(State::Ready, 100));
    ask(
        &mut run,
        RigCommand::HangLoad {
            cell: 1,
            newtons: 250.0,
        },
    );
    run.cycles(500);
    let force = run.column("force");
    let mean = force[force.len() - 400..].iter().sum::<f64>() / 400.0;
    // Noise 0.5 N over 400 readings, and what two lines leave of two bows: the first at rest, the second at 250 N.
    assert!((mean - 250.0).abs() < 0.2, "{mean}");
    run.ask(Request::Arm);
    assert!(run.until(State::Armed, 10));
    run.cycles(5);
    let (force, truth) = (run.column("force"), run.column("true_force"));
    assert!((force.last().unwrap() - truth.last().unwrap()).abs() < 3.0);
}

#[test]
fn a_rig_that_gives_newtons_has_nothing_to_calibrate() {
    let mut run = ExactRun::new(&shipped_session("first-look.ron"));
    assert!(run.until(State::Ready, 100));
    assert!(run.user.rig.spec.cells.is_empty() && run.layout.find("force_raw_1").is_none());
    ask(&mut run, RigCommand::RemoveLoads);
    run.cycle();
    let told = run.events.last().unwrap().kind;
    assert!(
        matches!(
            told,
            EventKind::RigRefused {
                refusal: RigRefusal::NotSupported,
                ..
            }
        ),
        "{told:?}"
    );
}

#[test]
fn devices_count_what_was_lost_and_late() {
    let run = |fault: &str| {
        let text = format!(
            r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
            rig: "../assets/rigs/simulated-dsa-380.ron",
            inject: [(fault: {fault}, in_state: Ready, after_s: 0.1, lasting_s: 0.05)])"#
        );
        let mut run = ExactRun::new(&session_from(&text));
        run.cycles(60);
        let during = run.user.rig.devices[1].state();
        run.cycles(100);
        let device = &run.user.rig.devices[1];
        let count = |c: &std::sync::atomic::AtomicU64| c.load(Ordering::Relaxed);
        assert_eq!(device.state(), DeviceState::Operational);
        assert_eq!(count(&device.exchanges), 160);
        (during, count(&device.lost), count(&device.late))
    };
    assert_eq!(run("LostExchange"), (DeviceState::NotAnswering, 25, 0));
    assert_eq!(run("PowerLoss"), (DeviceState::NoPower, 25, 0));
    assert_eq!(
        run("LateExchange(by_us: 100.0)"),
        (DeviceState::Operational, 0, 25)
    );
}
