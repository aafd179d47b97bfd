//! Every fault that the simulated rig can show, in every state: what it ends in, how fast, with
//! which words; and that no command ever jumps.

use integration_tests::{ExactRun, session_from};
use rt_core::fault::Action;
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{EventKind, StopCause};
use std::fmt::Write;

/// What a fault has to end in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    /// Latched trip with this action.
    Trip(Action),
    /// Latched trip that retreats; the motor does not obey, and the drive is off within 30 cycles.
    Escalates,
    /// Latched trip that retreats; the force stays, and the power is cut once it had the time to go.
    Unrelieved,
    /// Controlled stop, not latched.
    Stop,
    /// The bench does not become or stay ready.
    NotReady,
    /// Nothing that anyone could see: the motor is unpowered or not asked to move.
    Unseen,
    /// The trip that is already latched stays; its action may become more severe.
    Latched,
}
use Ends::{Escalates, Latched, NotReady, Stop, Trip, Unrelieved, Unseen};

struct Case {
    /// As written in a session file.
    fault: &'static str,
    /// Its stable name starts with this.
    id: &'static str,
    /// Cycles until it is visible at all: thresholds, frozen counts, misses in a row.
    visible_after: u64,
    idle: Ends,
    ready: Ends,
    armed: Ends,
    running: Ends,
    stopping: Ends,
    holding: Ends,
}

const OFF: Ends = Trip(Action::PowerOff);
const RETREAT: Ends = Trip(Action::Retreat);

#[rustfmt::skip]
const CASES: [Case; 15] = [
    Case { fault: "StuckForce", id: "frozen.force", visible_after: 26, idle: NotReady, ready: NotReady, armed: RETREAT, running: RETREAT, stopping: RETREAT, holding: RETREAT },
    // Seen only where the motor has to move: 20 mm of tracking error for 3 cycles.
    Case { fault: "StuckMotor", id: "tracking.motor_reference", visible_after: 400, idle: Unseen, ready: Unseen, armed: Unseen, running: OFF, stopping: OFF, holding: Unseen },
    Case { fault: "NotANumber(Force)", id: "not-finite.force", visible_after: 0, idle: NotReady, ready: NotReady, armed: RETREAT, running: RETREAT, stopping: RETREAT, holding: RETREAT },
    Case { fault: "NotANumber(Position)", id: "not-finite.motor_position", visible_after: 0, idle: NotReady, ready: NotReady, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    Case { fault: "Spike(signal: Force, size: 2000.0)", id: "limit.force", visible_after: 0, idle: NotReady, ready: NotReady, armed: RETREAT, running: RETREAT, stopping: RETREAT, holding: RETREAT },
    Case { fault: "Spike(signal: Position, size: 0.5)", id: "limit.motor_position", visible_after: 0, idle: NotReady, ready: NotReady, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    Case { fault: "Offset(signal: Force, size: 1000.0)", id: "limit.force", visible_after: 0, idle: NotReady, ready: NotReady, armed: RETREAT, running: RETREAT, stopping: Unrelieved, holding: Unrelieved },
    // An offset within the position limits shows as tracking error, for which 3 cycles are asked.
    Case { fault: "Offset(signal: Position, size: 0.05)", id: "tracking.motor_reference", visible_after: 3, idle: Unseen, ready: Unseen, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    Case { fault: "LostExchange", id: "rig.lost-exchange", visible_after: 0, idle: NotReady, ready: NotReady, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    Case { fault: "LateExchange(by_us: 2500.0)", id: "loop.misses", visible_after: 22, idle: NotReady, ready: NotReady, armed: Stop, running: Stop, stopping: Unseen, holding: Unseen },
    Case { fault: "Runaway(speed_m_per_s: 1.0)", id: "tracking.motor_reference", visible_after: 60, idle: Unseen, ready: Unseen, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    // Downward the force limit is first, and its retreat is not obeyed.
    Case { fault: "Runaway(speed_m_per_s: -1.0)", id: "limit.force", visible_after: 60, idle: Unseen, ready: Unseen, armed: RETREAT, running: Escalates, stopping: Escalates, holding: Escalates },
    Case { fault: "PowerLoss", id: "rig.power-loss", visible_after: 0, idle: NotReady, ready: NotReady, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    // Emergency stop, door and limit switches are in the drive's enable chain: off at once, whatever the state.
    Case { fault: "OpenInterlock(number: 1)", id: "rig.interlock", visible_after: 0, idle: NotReady, ready: NotReady, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
    // A drive gets 3 cycles to enable; where it is not told to be on, nothing is to be seen.
    Case { fault: "DriveDisabled", id: "rig.drive-not-enabled", visible_after: 4, idle: Unseen, ready: Unseen, armed: OFF, running: OFF, stopping: OFF, holding: OFF },
];

/// Where the shipped rig is parked, and the end of its range that unloads the specimen.
const PARK_M: f64 = 0.05;
const HIGH_M: f64 = 0.15;

/// The fault begins this long after its state, in cycles, and lasts to the end of what is watched.
const AFTER_CYCLES: u64 = 2;

/// The shipped rig with an emergency stop and a door.
fn rig_with_circuits() -> String {
    let assets = integration_tests::project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/simulated-dsa-380.ron")).unwrap();
    let text = text.replace("..", &assets.display().to_string());
    let (rest, _) = text.rsplit_once(')').unwrap();
    let circuits =
        r#"interlocks: [(id: "e_stop", label: "Emergency stop"), (id: "door", label: "Door")]"#;
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("rig-with-circuits.ron");
    std::fs::write(&path, format!("{rest}    {circuits},\n)\n")).unwrap();
    path.display().to_string()
}

/// The rig in which a fault is shown: with safety circuits where one of them is opened, holding after a stop where that is
/// the state.
fn rig_for(state: State, fault: &str) -> String {
    let shipped = "../assets/rigs/simulated-dsa-380.ron".to_owned();
    let has_circuits = fault.starts_with("OpenInterlock");
    let path = if has_circuits {
        rig_with_circuits()
    } else {
        shipped
    };
    if state != State::Holding {
        return path;
    }
    let assets = integration_tests::project_root().join("assets");
    let text = std::fs::read_to_string(
        integration_tests::project_root()
            .join("sessions")
            .join(&path),
    );
    let text = text
        .unwrap()
        .replace("\"../pant", &format!("\"{}/pant", assets.display()));
    let holds = text.replace("tracking_cycles: 3,", "tracking_cycles: 3, at_rest: Hold,");
    assert!(holds != text);
    let name = format!("rig-that-holds-{has_circuits}.ron");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, holds).unwrap();
    path.display().to_string()
}

/// A run that has just entered the state in which the fault will show.
fn run_in(state: State, fault: &str) -> ExactRun {
    // A trip of its own brings the bench to Tripped: a force limit that the approach breaks.
    let trip = r#"(fault: Offset(signal: Force, size: 1000.0), in_state: Running, after_s: 0.1, lasting_s: 0.01)"#;
    let own = format!(
        "(fault: {fault}, in_state: {}, after_s: {}, lasting_s: 6.0)",
        state.name(),
        AFTER_CYCLES as f64 * 0.002
    );
    let inject = if state == State::Tripped {
        format!("{trip}, {own}")
    } else {
        own
    };
    let rig = rig_for(state, fault);
    // The end of a run is the longest way of stopping: it travels to the parked position.
    let seconds = if state == State::Stopping {
        "seconds: 1.0,"
    } else {
        ""
    };
    let text = format!(
        r#"Session(title: "fault matrix", bench: Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 1.0), entry_s: 0.2),
        {seconds} rig: "{rig}", inject: [{inject}])"#
    );
    let mut run = ExactRun::new(&session_from(&text));
    match state {
        State::Idle => run.cycle(),
        State::Ready => assert!(run.until(State::Ready, 50)),
        State::Armed => {
            assert!(run.until(State::Ready, 50));
            run.ask(Request::Arm);
            assert!(run.until(State::Armed, 5));
        }
        State::Running => run.start(),
        State::Stopping => {
            run.start();
            assert!(run.until(State::Stopping, 505));
        }
        State::Tripped => {
            run.start();
            assert!(run.until(State::Tripped, 500));
        }
        State::Holding => {
            run.start();
            // On its way up: what unloads the specimen is above.
            run.cycles(480);
            run.ask(Request::Stop);
            assert!(run.until(State::Holding, 200));
        }
    }
    assert_eq!(run.state(), state);
    run
}

/// No command moves faster than the guard allows, in no state.
fn assert_no_jump(run: &ExactRun, what: &str) {
    let reference = run.column("motor_reference");
    for (pair, frames) in reference.windows(2).zip(run.frames.windows(2)) {
        if frames[1].drive == Drive::On && frames[0].drive == Drive::On {
            let moved = (pair[1] - pair[0]).abs();
            // 2 m/s is the rig's fastest reference; a skipped tick gives no right to more.
            assert!(
                moved <= 2.0 * 0.002 + 1e-9,
                "{what}: {moved} m at seq {}",
                frames[1].seq
            );
        }
    }
}

/// Checks one cell of the table; returns what was seen.
fn check(case: &Case, state: State, ends: Ends) -> String {
    let what = format!("{} in {}", case.fault, state.name());
    let mut run = run_in(state, case.fault);
    let begin = run.frames.len();
    let first_seq = run.frames[begin - 1].seq + AFTER_CYCLES;
    run.cycles(1000);
    assert_no_jump(&run, &what);
    let watched = &run.frames[begin..];
    let words = |e: &rt_core::link::Event| match e.kind {
        EventKind::Tripped { fault, .. }
        | EventKind::Warning(fault)
        | EventKind::Stopping(StopCause::Fault(fault)) => Some(fault.describe(&run.layout)),
        _ => None,
    };
    let named = run
        .events
        .iter()
        .filter(|e| e.seq >= first_seq)
        .find(|e| words(e).is_some_and(|w| w.id.starts_with(case.id)));
    match ends {
        Trip(_) | Escalates | Unrelieved => {
            let action = if let Trip(action) = ends {
                action
            } else {
                Action::Retreat
            };
            let trip = run
                .events
                .iter()
                .find(|e| matches!(e.kind, EventKind::Tripped { .. }))
                .unwrap_or_else(|| panic!("{what}: no trip; {:?}", run.events));
            let EventKind::Tripped { action: found, .. } = trip.kind else {
                unreachable!()
            };
            assert_eq!(found, action, "{what}");
            let text = words(trip).unwrap();
            assert!(text.id.starts_with(case.id), "{what}: named {}", text.id);
            assert!(!text.what.is_empty() && !text.advice.is_empty());
            let needed = trip.seq - first_seq;
            assert!(
                needed <= case.visible_after + 2,
                "{what}: tripped after {needed} cycles"
            );
            // The command is safe in the very cycle of the trip.
            let frame = run.frames.iter().find(|f| f.seq == trip.seq).unwrap();
            assert_eq!(frame.state, State::Tripped, "{what}");
            // (A retreat that is already parked is over at once.)
            let reference = frame.values[run.layout.column("motor_reference").unwrap()];
            let on = action == Action::Retreat && reference != PARK_M;
            assert_eq!(
                frame.drive,
                if on { Drive::On } else { Drive::Off },
                "{what}"
            );
            // Latched: all later frames are Tripped, and in the end nothing is powered.
            assert!(
                watched
                    .iter()
                    .filter(|f| f.seq >= trip.seq)
                    .all(|f| f.state == State::Tripped),
                "{what}"
            );
            assert_eq!(run.frames.last().unwrap().drive, Drive::Off, "{what}");
            if ends == Escalates {
                // Off by itself where the retreat is short, else by the tracking error that follows.
                let off = run
                    .frames
                    .iter()
                    .find(|f| f.seq >= trip.seq && f.drive == Drive::Off);
                let later = off
                    .unwrap_or_else(|| panic!("{what}: not switched off"))
                    .seq
                    - trip.seq;
                assert!(later < 30, "{what}: switched off only {later} cycles later");
            } else if ends == Unrelieved {
                let spec = &run.user.rig.spec.actuators[0];
                let relief = (spec.max_speed / spec.travel.braking + 0.1) / 0.002;
                let cut = |e: &&rt_core::link::Event| {
                    words(e).is_some_and(|w| w.id == "unrelieved.force")
                };
                let later = run.events.iter().find(cut).map(|e| e.seq - trip.seq);
                assert_eq!(
                    later,
                    Some(relief.ceil() as u64 + 1),
                    "{what}: {:?}",
                    run.events
                );
            } else if action == Action::Retreat {
                let way = run.column("motor_reference");
                let way = &way[run.frames.iter().position(|f| f.seq == trip.seq).unwrap()..];
                // From below to the parked position, from above to the end of the range; braking, v²/2a, comes first.
                let (from, to) = (way[0], *way.last().unwrap());
                let refuge = if from <= PARK_M {
                    [PARK_M, HIGH_M]
                } else {
                    [HIGH_M; 2]
                };
                assert!(
                    refuge.iter().any(|r| (to - r).abs() < 1e-4),
                    "{what}: from {from} to {to}"
                );
                let lowest = way.iter().copied().fold(from, f64::min);
                assert!(
                    from - lowest < 0.2_f64.powi(2) / 16.0 + 1e-3,
                    "{what}: {from} {lowest}"
                );
            }
            format!("trip {action:?} after {needed}")
        }
        Stop => {
            let event = named.unwrap_or_else(|| panic!("{what}: no event; {:?}", run.events));
            assert!(matches!(event.kind, EventKind::Stopping(_)), "{what}");
            let needed = event.seq - first_seq;
            assert!(
                needed <= case.visible_after + 2,
                "{what}: stopped after {needed} cycles"
            );
            assert!(run.until(State::Idle, 2000), "{what}");
            format!("stop after {needed}")
        }
        NotReady => {
            assert!(named.is_some(), "{what}: no warning; {:?}", run.events);
            let powered = watched.iter().any(|f| f.drive == Drive::On);
            assert!(!powered, "{what}: powered");
            let left = watched
                .iter()
                .filter(|f| f.seq > first_seq + case.visible_after)
                .any(|f| f.state == State::Idle);
            assert!(left, "{what}: stayed ready");
            "not ready".into()
        }
        Unseen => {
            assert!(
                !run.events
                    .iter()
                    .any(|e| matches!(e.kind, EventKind::Tripped { .. })),
                "{what}"
            );
            "unseen".into()
        }
        Latched => {
            assert!(watched.iter().all(|f| f.state == State::Tripped), "{what}");
            let reference = run.column("motor_reference");
            let last = run.frames.last().unwrap();
            assert_eq!(
                last.drive,
                Drive::Off,
                "{what}: {:?} {:?}",
                reference.last(),
                run.events
            );
            "latched".into()
        }
    }
}

#[test]
fn every_fault_in_every_state_ends_as_the_table_says() {
    let mut table = String::new();
    for case in &CASES {
        let cells = [
            (State::Idle, case.idle),
            (State::Ready, case.ready),
            (State::Armed, case.armed),
            (State::Running, case.running),
            (State::Stopping, case.stopping),
            (State::Holding, case.holding),
            (State::Tripped, Latched),
        ];
        write!(table, "{:38}", case.fault).unwrap();
        for (state, ends) in cells {
            write!(
                table,
                " | {:24}",
                format!("{}: {}", state.name(), check(case, state, ends))
            )
            .unwrap();
        }
        table.push('\n');
    }
    println!("{table}");
}

#[test]
fn after_the_fault_is_gone_an_acknowledged_bench_can_be_run_again() {
    let text = r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380.ron",
        inject: [(fault: LostExchange, after_s: 0.5, lasting_s: 0.2)])"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    assert!(run.until(State::Tripped, 500));
    run.ask(Request::Arm);
    run.cycles(5);
    assert_eq!(run.state(), State::Tripped, "a trip is latched");
    run.ask(Request::Acknowledge);
    assert!(
        run.until(State::Ready, 300),
        "ready once exchanges succeed again"
    );
    run.start();
}

#[test]
fn a_stop_brakes_where_it_is_without_a_jump_and_travels_nowhere() {
    // Not on the way to the profile: 0.4 m/s, from which braking is a blow that trips.
    for cycles in [3, 120, 237, 400, 611] {
        let text = r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0), entry_s: 0.2),
            rig: "../assets/rigs/simulated-dsa-380-ideal.ron")"#;
        let mut run = ExactRun::new(&session_from(text));
        run.start();
        run.cycles(cycles);
        let before = run.frames.len();
        run.ask(Request::Stop);
        assert!(run.until(State::Idle, 3000), "{:?}", run.events);
        let reference = run.column("motor_reference");
        let powered = run
            .frames
            .iter()
            .rposition(|f| f.drive == Drive::On)
            .unwrap();
        let braking = run.user.rig.spec.actuators[0].travel.braking;
        for k in before - 1..=powered {
            let acceleration =
                (reference[k] - 2.0 * reference[k - 1] + reference[k - 2]) / 0.002_f64.powi(2);
            // The entry itself has up to 7.2 m/s².
            assert!(
                acceleration.abs() < braking + 7.2,
                "after {cycles}: {acceleration} m/s² at {k}"
            );
        }
        // v²/2a, and the cycles over which the speed is taken.
        let way = (reference[powered] - reference[before - 1]).abs();
        let steps = reference[before.saturating_sub(10)..before].windows(2);
        let speed = steps
            .map(|w| (w[1] - w[0]).abs() / 0.002)
            .fold(0.0, f64::max);
        let bound = speed * speed / (2.0 * braking) + speed * 0.018 + 1e-4;
        assert!(way < bound, "after {cycles}: {way} m at {speed} m/s");
    }
}

#[test]
fn nothing_moves_before_armed() {
    let text = r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 2.0)),
        rig: "../assets/rigs/simulated-dsa-380-ideal.ron")"#;
    let mut run = ExactRun::new(&session_from(text));
    assert!(run.until(State::Ready, 50));
    run.ask(Request::Run);
    run.cycles(500);
    assert_eq!(run.state(), State::Ready, "Run needs Armed");
    assert!(run.frames.iter().all(|f| f.drive == Drive::Off));
    let position = run.column("motor_position");
    assert!(position.iter().all(|&p| p == position[0]));
    assert!(
        run.events
            .iter()
            .any(|e| matches!(e.kind, EventKind::Refused(_)))
    );
}

#[test]
fn quitting_stops_first_and_the_rig_is_told_that_the_drive_is_off() {
    let text = r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380-ideal.ron")"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    run.cycles(1000);
    run.user
        .commands
        .push(rt_core::link::Command::Quit)
        .unwrap();
    for _ in 0..3000 {
        if run.goes_on {
            run.cycle();
        }
    }
    assert!(!run.goes_on, "the loop ends");
    // A sine of 10 mm at 1 Hz: 63 mm/s brake within less than a millimetre.
    let reference = run.column("motor_reference");
    let asked = run
        .events
        .iter()
        .find(|e| matches!(e.kind, EventKind::Stopping(_)))
        .unwrap();
    let at = run.frames.iter().position(|f| f.seq == asked.seq).unwrap();
    let way = (reference.last().unwrap() - reference[at]).abs();
    assert!(way < 2e-3, "{way}");
    // The exchange sends what the frame before says: two frames with the drive off are one told rig.
    let last_two = &run.frames[run.frames.len() - 2..];
    assert!(last_two.iter().all(|f| f.drive == Drive::Off));
}
