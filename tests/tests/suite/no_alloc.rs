//! No bench uses the heap in a cycle. One test function a property, in a program of its own, because
//! the counting allocator is installed for the whole program.

use drivers::emulate::faults::LinkFault;
use drivers::hardware::BusContext;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::serial::{SerialBus, SerialConfig};
use integration_tests::link::{LINRS, LinkBench, Setup, from_ron};
use integration_tests::{ExactRun, session_from, shipped_session};
use rt_core::fault::Fault;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, EventKind, StopCause};
use rt_core::no_alloc::guarded;
use rt_core::pacing::{Clock, RealClock};
use rt_core::rig::{RigCommand, RigFault};

#[test]
fn the_guard_sees_an_allocation() {
    let (boxed, count) = guarded(|| Box::new(7));
    assert_eq!((*boxed, count), (7, 1));
    let ((), count) = guarded(|| drop(boxed));
    assert_eq!(count, 1, "releasing is forbidden too");
    assert_eq!(guarded(|| 1 + 1).1, 0);
}

/// Cycles a loop through every state, with commands and parameter changes, and checks that the loop
/// never saw the heap used: it would have stopped with that fault.
fn run_without_heap(session: &str, cycles: usize) {
    let mut run = ExactRun::new(&shipped_session(session));
    run.start();
    for k in 0..cycles {
        if k % 100 == 0 {
            let value = if k % 200 == 0 { 0.5 } else { 99.0 };
            run.user
                .commands
                .push(Command::SetParam { index: 0, value })
                .unwrap();
        }
        run.cycle();
    }
    assert_eq!(run.state(), State::Running, "{:?}", run.events.last());
    run.ask(Request::Stop);
    assert!(run.until(State::Ready, 5000));
    let used = run.events.iter().any(|e| {
        matches!(
            e.kind,
            EventKind::Stopping(StopCause::Fault(_))
                | EventKind::Warning(_)
                | EventKind::Tripped { .. }
        )
    });
    assert!(!used, "{:?}", run.events);
    assert!(
        run.events
            .iter()
            .any(|e| matches!(e.kind, EventKind::ParamRefused { .. }))
    );
}

#[test]
fn profile_bench_uses_no_heap_in_10_000_cycles() {
    run_without_heap("first-look.ron", 10_000);
}

#[test]
fn a_profile_from_a_file_uses_no_heap() {
    run_without_heap("profile-spans.ron", 3_000);
}

#[test]
fn pantograph_lqg_bench_uses_no_heap_in_10_000_cycles() {
    for (wire, cycles) in [
        ("Full", 10_000),
        ("Modal(modes: 800)", 2_000),
        ("Full, controller: Predictive", 10_000),
    ] {
        let text = format!(
            r#"Session(title: "t", bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: {wire},
                mesh_m: 1.0, speed_kmh: 250.0, sections: 20,
                specimen: "../assets/pantographs/dsa-380.ron"),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.0)"#
        );
        let mut run = ExactRun::new(&session_from(&text));
        run.start();
        run.cycles(cycles / 2);
        // New gains, another interaction mass, another controller: nothing is allocated or freed by a swap.
        for change in [
            ("q", 20.0),
            ("k_i", 52e3),
            ("controller", 1.0),
            ("controller", 0.0),
        ] {
            run.change(&[change], true).unwrap();
            run.cycles(150);
        }
        let retuned = |e: &&rt_core::link::Event| matches!(e.kind, EventKind::Retuned(_));
        // The controller that is in charge already is no change.
        let count = run.events.iter().filter(retuned).count();
        assert!(count >= 3, "{wire}: {:?}", run.events);
        run.cycles(cycles / 2 - 600);
        assert_eq!(
            run.state(),
            State::Running,
            "{wire}: {:?}",
            run.events.last()
        );
        assert!(run.column("slack_droppers").iter().any(|s| s.is_finite()));
        // All the while shapes of the wire were taken for a window.
        let shapes = run.line.as_mut().and_then(|line| line.shapes.as_mut());
        let last = shapes.unwrap().newest().map(|shape| shape.seq);
        let now = run.frames.last().map(|f| f.seq);
        assert!(last > now.map(|seq| seq - 50), "{last:?} at {now:?}");
    }
}

#[test]
fn pantograph_steady_bench_uses_no_heap_in_20_000_cycles() {
    for more in ["", "iteration: FullSpan, send_every: 8,"] {
        let text = format!(
            r#"Session(title: "t", bench: PantographSteady(speed_kmh: 300.0, agree_pct: None, {more}
                specimen: "../assets/pantographs/dsa-380.ron"),
            rig: "../assets/rigs/simulated-steady-dsa-380.ron", uplift_n: 157.3)"#
        );
        let mut run = ExactRun::new(&session_from(&text));
        run.start();
        run.cycles(10_000);
        // Another relaxation, another delay: nothing is allocated or freed by a swap.
        for change in [("alpha", 0.12), ("n_delta", 18.5)] {
            run.change(&[change], true).unwrap();
            run.cycles(500);
        }
        let retuned = |e: &&rt_core::link::Event| matches!(e.kind, EventKind::Retuned(_));
        assert_eq!(
            run.events.iter().filter(retuned).count(),
            2,
            "{:?}",
            run.events
        );
        run.cycles(9_000);
        assert_eq!(run.state(), State::Running, "{:?}", run.events.last());
        assert!(*run.column("span").last().unwrap() > 15.0);
    }
}

#[test]
fn load_cells_are_read_and_calibrated_without_heap() {
    run_without_heap("load-cells.ron", 3_000);
    let mut run = ExactRun::new(&shipped_session("load-cells.ron"));
    assert!(run.until(State::Ready, 100));
    let id = rt_core::calibration::id::CalibrationId::new("other").unwrap();
    let line = run.user.rig.lines[0].get();
    for command in [
        RigCommand::HangLoad {
            cell: 0,
            newtons: 100.0,
        },
        RigCommand::Calibrate { cell: 0, id, line },
        RigCommand::RemoveLoads,
        RigCommand::Calibrate { cell: 9, id, line },
    ] {
        run.user.commands.push(Command::Rig(command)).unwrap();
        run.cycles(20);
    }
    // Use of the heap would have been told as a warning.
    let told = run.events.iter().map(|e| e.kind);
    assert!(!told.clone().any(|e| matches!(e, EventKind::Warning(_))));
    let done = told.filter(|e| matches!(e, EventKind::RigDone(_)));
    assert_eq!(done.count(), 3, "{:?}", run.events);
}

#[test]
fn jogging_on_a_guarded_rig_uses_no_heap() {
    let text = r#"Session(title: "t", bench: Jog(), rig: "../assets/rigs/simulated-interlocks.ron",
        inject: [(fault: OpenInterlock(number: 1), after_s: 3.0)])"#;
    let mut run = ExactRun::new(&session_from(text));
    let home = Command::Rig(rt_core::rig::RigCommand::Home);
    run.user.commands.push(home).unwrap();
    let mut waited = 0..2000;
    while run.state() != State::Ready {
        assert!(waited.next().is_some(), "{:?}", run.events);
        run.user.commands.push(Command::Alive).unwrap();
        run.cycle();
    }
    run.ask(Request::Arm);
    run.ask(Request::Confirm);
    run.cycle();
    run.ask(Request::Run);
    for k in 0..2000 {
        run.user.commands.push(Command::Alive).unwrap();
        if k % 300 == 0 {
            let value = 0.05 + 0.00001 * f64::from(k);
            let set = Command::SetParam { index: 0, value };
            run.user.commands.push(set).unwrap();
        }
        run.cycle();
    }
    assert_eq!(run.state(), State::Tripped, "{:?}", run.events);
    let heap = |k: &EventKind| matches!(k, EventKind::Stopping(StopCause::Fault(_)));
    assert!(
        !run.events.iter().any(|e| heap(&e.kind)),
        "{:?}",
        run.events
    );
}

#[test]
fn a_trip_uses_no_heap_either() {
    let text = r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380.ron",
        inject: [(fault: NotANumber(Force), after_s: 1.0)])"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    assert!(run.until(State::Tripped, 1000));
    run.cycles(500);
    assert!(
        !run.events
            .iter()
            .any(|e| format!("{:?}", e.kind).contains("Allocation")),
        "{:?}",
        run.events
    );
}

/// A drive on UDP, its emulation included; and a bus with a thread, whose side of the loop is looked at alone.
#[test]
fn hardware_rigs_use_no_heap() {
    let mut b = LinkBench::new(Setup::Udp, |_| ());
    b.enter(State::Running);
    b.drive_faults.set(LinkFault::Late, true);
    b.run.cycles(500);
    b.drive_faults.set(LinkFault::Late, false);
    b.drive_faults.set(LinkFault::Foreign, true);
    b.run.cycles(500);
    assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
    b.drive_faults.set(LinkFault::Lost, true);
    b.run.cycles(50);
    b.drive_faults.set(LinkFault::Lost, false);
    b.run.ask(Request::Acknowledge);
    assert!(b.run.until(State::Ready, 100), "{:?}", b.run.events.last());
    let used = b.run.events.iter().any(|e| {
        matches!(
            e.kind,
            EventKind::Warning(Fault::Allocation { .. }) | EventKind::Stopping(StopCause::Fault(_))
        )
    });
    assert!(!used, "{:?}", b.run.events);

    let mut config: SerialConfig = from_ron(LINRS);
    config.port = "/nowhere/to/be/found".into();
    let context = BusContext {
        period_nanos: 2_000_000,
        catch_up_m_per_s: 0.2,
    };
    let mut bus = SerialBus::open(&config, 1, &context).unwrap();
    let mut inputs = [Slot::default(); 4];
    for k in 0..500 {
        let told = DriveCommand {
            is_on: k % 2 == 0,
            position_m: 0.0,
            ..DriveCommand::OFF
        };
        let (done, count) = guarded(|| bus.exchange(&told, RealClock.now(), &mut inputs));
        assert_eq!((done, count), (Err(RigFault::Unplugged { bus: 1 }), 0));
    }
}
