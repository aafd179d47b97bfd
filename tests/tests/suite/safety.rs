//! What keeps people safe besides limits: two-step arming, time-outs, the dead man's switch, homing, the enable chain. On
//! the exact clock, with reaction times in cycles of 2 ms: the figures of the hazard table in ARCHITECTURE.md.

use integration_tests::{ExactRun, session_from};
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind, StopCause};
use rt_core::pacing::Clock;
use rt_core::rig::RigCommand;

/// A run on the rig with everything that protects people, faults as a session file writes them.
fn run(inject: &str) -> ExactRun {
    ExactRun::new(&session_from(&session(inject)))
}

fn session(inject: &str) -> String {
    format!(
        r#"Session(title: "safety", bench: Profile(source: Sine(amplitude_m: 0.02, frequency_hz: 1.0), entry_s: 0.2),
        rig: "../assets/rigs/simulated-interlocks.ron", inject: [{inject}])"#
    )
}

/// Cycles with someone at the switch.
fn held(run: &mut ExactRun, cycles: usize) {
    for _ in 0..cycles {
        run.user.commands.push(Command::Alive).unwrap();
        run.cycle();
    }
}

fn homed(inject: &str) -> ExactRun {
    let mut run = run(inject);
    run.cycles(20);
    assert_eq!(run.state(), State::Idle);
    home(&mut run);
    for _ in 0..2000 {
        held(&mut run, 1);
        if run.state() == State::Ready {
            return run;
        }
    }
    panic!("not homed: {:?}", run.events)
}

fn home(run: &mut ExactRun) {
    let home = Command::Rig(RigCommand::Home);
    run.user.commands.push(home).unwrap();
}

fn running(inject: &str) -> ExactRun {
    let mut run = homed(inject);
    run.ask(Request::Arm);
    run.cycle();
    run.ask(Request::Confirm);
    run.cycle();
    assert_eq!(run.state(), State::Armed);
    run.ask(Request::Run);
    for _ in 0..500 {
        held(&mut run, 1);
        if run.state() == State::Running {
            return run;
        }
    }
    panic!("never running: {:?}", run.events)
}

fn told(run: &ExactRun, wanted: impl Fn(&EventKind) -> bool) -> Option<u64> {
    run.events.iter().find(|e| wanted(&e.kind)).map(|e| e.seq)
}

#[test]
fn nothing_is_armed_before_it_is_homed_and_stop_ends_homing() {
    let mut run = run("");
    run.cycles(50);
    run.ask(Request::Arm);
    run.cycles(2);
    assert_eq!(run.state(), State::Idle);
    assert!(told(&run, |k| matches!(k, EventKind::Refused(_))).is_some());
    home(&mut run);
    held(&mut run, 200);
    run.ask(Request::Stop);
    held(&mut run, 2000);
    assert_eq!(
        run.state(),
        State::Idle,
        "homing was stopped: still not homed"
    );
    let stopped = |k: &EventKind| matches!(k, EventKind::RigDone(RigCommand::StopHoming));
    assert!(told(&run, stopped).is_some(), "{:?}", run.events);
    assert!(
        run.frames.iter().all(|f| f.drive == Drive::Off),
        "the loop's own drive was never on"
    );
    home(&mut run);
    held(&mut run, 2000);
    assert_eq!(run.state(), State::Ready);
}

/// The guard is Idle while a drive finds its home position: the loop itself watches who is there.
#[test]
fn homing_ends_when_nobody_holds_the_switch_any_more() {
    let mut run = run("");
    run.cycles(20);
    home(&mut run);
    held(&mut run, 200);
    let let_go = run.frames.last().unwrap().seq;
    let stopped = |k: &EventKind| matches!(k, EventKind::RigDone(RigCommand::StopHoming));
    assert_eq!(told(&run, stopped), None, "somebody holds it");
    run.cycles(2000);
    let within = (run.user.rig.spec.safety.dead_man_s.unwrap() / 0.002) as u64;
    assert_eq!(told(&run, stopped), Some(let_go + within + 1));
    let why = |k: &EventKind| *k == EventKind::Stopping(StopCause::DeadMan);
    assert!(told(&run, why).is_some());
    held(&mut run, 2000);
    assert_eq!(
        run.state(),
        State::Idle,
        "not homed, and nothing goes on by itself"
    );
}

#[test]
fn homing_ends_behind_a_gap_that_is_too_long() {
    let shipped = "../assets/rigs/simulated-interlocks.ron";
    let assets = integration_tests::project_root()
        .join("assets")
        .canonicalize()
        .unwrap();
    let text = std::fs::read_to_string(assets.join("rigs/simulated-interlocks.ron")).unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("dead_man_s: 0.5,", "dead_man_s: 0.5, max_gap_s: 0.1,");
    let rig = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("homing-gap.ron");
    std::fs::write(&rig, text).unwrap();
    let stopped = |k: &EventKind| matches!(k, EventKind::RigDone(RigCommand::StopHoming));
    for (gap_ms, ends) in [(90, false), (120, true)] {
        let text = session("").replace(shipped, &rig.display().to_string());
        let mut run = ExactRun::new(&session_from(&text));
        run.cycles(20);
        home(&mut run);
        held(&mut run, 100);
        let mut clock = run.rt_loop.clock().clone();
        clock.sleep_until(clock.now() + gap_ms * 1_000_000);
        held(&mut run, 2000);
        assert_eq!(
            told(&run, stopped).is_some(),
            ends,
            "{gap_ms} ms: {:?}",
            run.events
        );
        assert_eq!(run.state() == State::Ready, !ends);
    }
}

/// Power that is off does not stop a motor at once.
#[test]
fn a_motor_that_was_cut_stands_still_before_the_bench_is_ready_again() {
    let text = r#"Session(title: "cut", bench: Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 2.0), entry_s: 0.2),
        rig: "../assets/rigs/simulated-vertical-brake.ron")"#;
    let mut run = ExactRun::new(&session_from(text));
    run.start();
    run.cycles(500);
    run.ask(Request::Stop);
    run.ask(Request::Stop);
    run.cycles(1500);
    let position = run.column("motor_position");
    let cut = run
        .frames
        .iter()
        .rposition(|f| f.drive == Drive::On)
        .unwrap()
        + 1;
    let ready = cut
        + run.frames[cut..]
            .iter()
            .position(|f| f.state == State::Ready)
            .unwrap();
    let moved = |from: usize, to: usize| {
        let range = &position[from..to];
        let high = range.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        high - range.iter().copied().fold(f64::INFINITY, f64::min)
    };
    // It moved when five cycles without a fault were over, and not any more when it was called ready.
    assert!(moved(cut, cut + 5) > 1e-3, "{}", moved(cut, cut + 5));
    assert!(
        ready > cut + 6 && moved(ready - 25, ready) < 1e-3,
        "{cut} {ready}"
    );
}

#[test]
fn arming_takes_two_steps_within_five_seconds() {
    let mut run = homed("");
    run.ask(Request::Confirm);
    run.cycles(2);
    assert_eq!(run.state(), State::Ready, "nothing was asked for");
    run.ask(Request::Arm);
    run.cycle();
    let asked = run.frames.last().unwrap().seq;
    assert_eq!(run.state(), State::Ready, "the first of two steps");
    run.cycles(2500);
    assert_eq!(told(&run, |k| *k == EventKind::ArmingExpired), None);
    run.cycle();
    // 5 s are 2500 cycles: it expires in the one after.
    assert_eq!(
        told(&run, |k| *k == EventKind::ArmingExpired),
        Some(asked + 2501)
    );
    run.ask(Request::Confirm);
    run.cycles(2);
    assert_eq!(run.state(), State::Ready, "too late");
    run.ask(Request::Arm);
    run.cycles(100);
    run.ask(Request::Stop);
    run.cycle();
    run.ask(Request::Confirm);
    run.cycles(2);
    assert_eq!(run.state(), State::Ready, "Stop takes it back");
    assert!(run.frames.iter().all(|f| f.drive == Drive::Off));
    run.ask(Request::Arm);
    run.ask(Request::Confirm);
    run.cycle();
    assert_eq!(run.state(), State::Armed);
}

#[test]
fn an_armed_bench_that_nobody_runs_is_switched_off_after_a_minute() {
    let mut run = homed("");
    run.ask(Request::Arm);
    run.ask(Request::Confirm);
    run.cycle();
    let armed = run.frames.last().unwrap().seq;
    held(&mut run, 30_000);
    assert_eq!(run.state(), State::Armed);
    held(&mut run, 1);
    let stopped = told(&run, |k| *k == EventKind::Stopping(StopCause::ArmedTooLong));
    assert_eq!(stopped, Some(armed + 30_001));
    for _ in 0..500 {
        held(&mut run, 1);
    }
    assert!(
        matches!(run.state(), State::Idle | State::Ready),
        "{:?}",
        run.state()
    );
    assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
}

#[test]
fn a_dead_mans_switch_that_is_let_go_stops_within_its_time_and_a_cycle() {
    let mut run = running("");
    held(&mut run, 300);
    let last = run.frames.last().unwrap().seq;
    run.cycles(251);
    // 0.5 s are 250 cycles: the stop begins in the one after.
    let stopped = told(&run, |k| *k == EventKind::Stopping(StopCause::DeadMan));
    assert_eq!(stopped, Some(last + 251));
    assert_eq!(run.state(), State::Stopping, "controlled, not latched");
    assert!(run.until(State::Ready, 3000));
    assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
}

#[test]
fn an_open_circuit_switches_the_drive_off_in_the_cycle_that_shows_it() {
    for number in 1..=4 {
        let fault =
            format!("(fault: OpenInterlock(number: {number}), after_s: 0.2, lasting_s: 0.5)");
        let mut run = running(&fault);
        let begin = run.frames.last().unwrap().seq;
        held(&mut run, 200);
        let tripped = told(&run, |k| matches!(k, EventKind::Tripped { .. })).unwrap();
        // Running since the first Running frame; 0.2 s later the circuit opens.
        assert!(tripped.abs_diff(begin + 100) <= 2, "{tripped} {begin}");
        let frame = run.frames.iter().find(|f| f.seq == tripped).unwrap();
        assert_eq!((frame.state, frame.drive), (State::Tripped, Drive::Off));
        let EventKind::Tripped { fault, .. } =
            run.events.iter().find(|e| e.seq == tripped).unwrap().kind
        else {
            panic!("{:?}", run.events)
        };
        let words = fault.describe(&run.layout);
        let label = [
            "Emergency stop",
            "Door of the test cell",
            "Lower limit switch",
            "Upper limit switch",
        ];
        assert_eq!(words.what, format!("{} is open", label[number - 1]));
        // Latched until it is closed and acknowledged.
        held(&mut run, 400);
        assert_eq!(run.state(), State::Tripped);
        run.ask(Request::Acknowledge);
        assert!(run.until(State::Ready, 50), "{:?}", run.events);
    }
}

#[test]
fn a_motor_that_runs_into_a_limit_switch_is_switched_off() {
    // The position and tracking limits would see it first: only the switch is left to.
    let mut run = running("(fault: Runaway(speed_m_per_s: 2.0), after_s: 0.1)");
    held(&mut run, 200);
    assert_eq!(run.state(), State::Tripped);
    assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
}

#[test]
fn ranges_that_do_not_lie_inside_each_other_are_refused_with_what_to_do() {
    use rt_core::file::{self, FileContent};
    let path = integration_tests::project_root().join("assets/rigs/simulated-interlocks.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    let parse = |text: &str| file::parse::<drivers::rig_file::RigFile>(text, &path);
    parse(&text).unwrap().check().unwrap();
    for (from, to, words) in [
        (
            "low: -0.17, high: 0.17",
            "low: -0.17, high: 0.14",
            "hold the references",
        ),
        (
            "low: -0.17, high: 0.17",
            "low: -0.25, high: 0.17",
            "inside the stroke",
        ),
        ("high_m: 0.15", "high_m: 0.25", "-0.15 to 0.2"),
        ("opens_above_m: 0.18", "opens_above_m: 0.12", "0.15 to 0.2"),
        (
            "opens_below_m: -0.18",
            "opens_below_m: -0.3",
            "-0.2 to -0.15",
        ),
        ("dead_man_s: 0.5", "dead_man_s: 30.0", "0.1 to 2"),
        (
            "confirm_within_s: 5.0",
            "confirm_within_s: 0.0",
            "0.5 to 60",
        ),
        ("id: \"door\"", "id: \"e_stop\"", "stands twice"),
    ] {
        assert!(text.contains(from), "{from}");
        let problem = parse(&text.replace(from, to)).unwrap_err().to_string();
        assert!(problem.contains(words), "{to}: {problem}");
    }
}

#[test]
fn a_circuit_that_opens_takes_back_what_was_asked_and_its_closing_starts_nothing() {
    let mut run =
        homed("(fault: OpenInterlock(number: 2), in_state: Ready, after_s: 0.1, lasting_s: 0.5)");
    run.ask(Request::Arm);
    assert!(run.until(State::Idle, 100), "the door opens");
    run.ask(Request::Arm);
    run.ask(Request::Confirm);
    run.cycles(2);
    assert!(run.until(State::Ready, 500), "the door closes");
    run.ask(Request::Confirm);
    run.cycles(2500);
    assert_eq!(run.state(), State::Ready, "nobody has asked since");
    assert!(run.frames.iter().all(|f| f.drive == Drive::Off));
}

/// A motor that hunts never stands still: braking is bounded, the power goes, and that is no success.
#[test]
fn a_motor_that_does_not_come_to_rest_loses_its_power() {
    // Its encoder shows more than half a millimetre to and fro.
    let assets = integration_tests::project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/simulated-dsa-380.ron")).unwrap();
    let text = text
        .replace("\"../", &format!("\"{}/", assets.display()))
        .replace("noise_m: 2.0e-6", "noise_m: 4.0e-4");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("rig-that-hunts.ron");
    std::fs::write(&path, text).unwrap();
    let session = format!(
        r#"Session(title: "hunts", bench: Profile(source: Sine(amplitude_m: 0.02, frequency_hz: 1.0), entry_s: 0.2),
        rig: {path:?})"#
    );
    let mut run = ExactRun::new(&session_from(&session));
    run.start();
    run.cycles(500);
    run.ask(Request::Stop);
    run.cycle();
    let begin = run.frames.last().unwrap().seq;
    run.cycles(2000);
    let spec = &run.user.rig.spec.actuators[0];
    let bound = ((spec.max_speed / spec.travel.braking + 0.4) / 0.002).round() as u64;
    let cut = told(&run, |k| {
        *k == EventKind::PowerCut(rt_core::guard::Cut::NotAtRest)
    })
    .unwrap();
    assert!((cut - begin).abs_diff(bound) <= 2, "{cut} {begin} {bound}");
    let restless = |k: &EventKind| matches!(k, EventKind::AtRest(rest) if !rest.is_still);
    assert!(told(&run, restless).is_some());
    assert_eq!(run.frames.last().unwrap().drive, Drive::Off);
}
