//! A motor that nothing holds without power but its brake: in which order drive and brake work, how far it sags, what a
//! brake that fails is told as. On the exact clock.

use drivers::hardware::config::HardwareConfig;
use drivers::rig_file::RigFile;
use integration_tests::link::{LinkBench, Setup, rig_config};
use integration_tests::{ExactRun, project_root, session_from};
use rt_core::channel::Frame;
use rt_core::fault::Fault;
use rt_core::file::{self, FileContent};
use rt_core::guard::{Drive, PowerOff, Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::pacing::Clock as _;
use rt_core::rig::RigFault;
use std::path::Path;

const RIG: &str = "simulated-vertical-brake.ron";

/// A profile on the rig with a brake, faults as a session file writes them.
fn run(inject: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "brake", bench: Profile(source: Sine(amplitude_m: 0.02, frequency_hz: 1.0), entry_s: 0.2),
        rig: "../assets/rigs/{RIG}", inject: [{inject}])"#
    )))
}

fn last(run: &ExactRun, channel: &str) -> f64 {
    *run.column(channel).last().unwrap()
}

/// How far the motor moves from here on, in m.
fn drift(run: &mut ExactRun, cycles: usize) -> f64 {
    let from = last(run, "motor_position");
    run.cycles(cycles);
    let column = run.layout.column("motor_position").unwrap();
    let after = &run.frames[run.frames.len() - cycles..];
    let far = |f: &Frame| (f.values[column] - from).abs();
    after.iter().map(far).fold(0.0, f64::max)
}

fn fault(run: &ExactRun) -> Option<Fault> {
    run.events.iter().find_map(|e| match e.kind {
        EventKind::Tripped { fault, .. } | EventKind::Warning(fault) => Some(fault),
        _ => None,
    })
}

#[test]
fn the_brake_lets_go_only_of_a_motor_that_is_held_and_takes_over_before_the_power_goes() {
    let mut run = run("");
    assert!(run.until(State::Ready, 100));
    assert!(
        drift(&mut run, 500) < 20e-6,
        "the brake holds without power"
    );
    run.ask(Request::Arm);
    assert!(run.until(State::Armed, 10));
    let at = last(&run, "motor_position");
    // One exchange in which the drive is on, 30 ms of release: no reference moves before.
    for _ in 0..16 {
        assert_eq!(last(&run, "brake_released"), 0.0);
        assert!((last(&run, "motor_reference") - at).abs() < 20e-6);
        assert!((last(&run, "motor_position") - at).abs() < 20e-6);
        run.cycle();
    }
    run.cycles(3);
    assert_eq!(last(&run, "brake_released"), 1.0);
    run.ask(Request::Run);
    assert!(run.until(State::Running, 500));
    run.cycles(300);
    run.ask(Request::Stop);
    assert!(run.until(State::Idle, 500), "{:?}", run.events);
    assert!(
        drift(&mut run, 500) < 50e-6,
        "no sag between drive and brake"
    );
    assert_eq!(fault(&run), None, "{:?}", run.events);
}

#[test]
fn power_that_is_cut_waits_for_no_brake() {
    let mut run = run("");
    run.start();
    run.cycles(300);
    run.ask(Request::Stop);
    run.cycle();
    run.ask(Request::Stop);
    run.cycle();
    assert_eq!(run.state(), State::Idle);
    assert_ne!(run.frames.last().unwrap().power_off, PowerOff::HandsOver);
    // Without power for 50 ms, then held: it moves on by what its speed and the net force of some 20 N do, and stops.
    let moved = drift(&mut run, 50);
    assert!((1e-4..0.02).contains(&moved), "{moved}");
    assert!(drift(&mut run, 500) < 20e-6);
}

#[test]
fn a_program_that_ends_waits_for_the_brake() {
    let mut run = run("");
    run.start();
    run.cycles(300);
    run.user.commands.push(Command::Quit).unwrap();
    while run.goes_on {
        run.cycle();
    }
    let last_on = run
        .frames
        .iter()
        .rposition(|f| f.drive == Drive::On)
        .unwrap();
    let after_s = (run.frames.len() - 1 - last_on) as f64 * 0.002;
    assert!((0.05..0.2).contains(&after_s), "{after_s}");
}

#[test]
fn a_brake_that_fails_is_told_as_what_it_does() {
    let stays = |fault: &str| format!("(fault: {fault}, in_state: Ready, after_s: 0.0)");
    let mut run = run(&stays("BrakeStaysEngaged"));
    assert!(run.until(State::Ready, 100));
    run.ask(Request::Arm);
    assert!(run.until(State::Tripped, 200), "{:?}", run.events);
    let held = matches!(
        fault(&run),
        Some(Fault::Rig(RigFault::BrakeNotReleased { .. }))
    );
    assert!(held, "{:?}", fault(&run));
    assert!(drift(&mut run, 100) < 20e-6);

    let mut run = self::run(&stays("BrakeStaysReleased"));
    assert!(run.until(State::Ready, 100));
    run.cycles(200);
    let open = matches!(
        fault(&run),
        Some(Fault::Rig(RigFault::BrakeNotEngaged { .. }))
    );
    assert!(open, "{:?}", fault(&run));
    run.ask(Request::Arm);
    run.cycles(10);
    assert_eq!(run.state(), State::Idle, "nothing is armed on such a brake");
}

fn hardware(change: impl Fn(&str) -> String) -> Result<HardwareConfig, String> {
    let path = project_root().join("assets/rigs/linmot-udp-serial.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    match file::parse::<RigFile>(&change(&text), &path) {
        Ok(RigFile::Hardware(config)) => Ok(*config),
        Ok(other) => panic!("{other:?}"),
        Err(e) => Err(e.to_string()),
    }
}

#[test]
fn hardware_says_what_holds_its_motor() {
    let brake = "brake: (release_s: 0.03, engage_s: 0.03, output: Drive),";
    hardware(|t| t.replace(brake, "brake: None,")).unwrap();
    for (to, words) in [
        ("", vec!["brake"]),
        (
            r#"brake: (release_s: 0.03, engage_s: 0.03, output: Output("drive.brake")),"#,
            vec![
                "mounting.brake.output",
                "'drive.brake' does not exist",
                "none",
            ],
        ),
        (
            "brake: (release_s: 0.03, engage_s: 0.03, output: Drive, feedback: (within_s: 0.1)),",
            vec!["mounting.brake.feedback.input", "is missing"],
        ),
        (
            r#"brake: (release_s: 0.03, engage_s: 0.03, output: Drive, feedback: (input: "drive.x", within_s: 0.1)),"#,
            vec!["mounting.brake.feedback.input", "drive.position"],
        ),
    ] {
        let error = hardware(|t| t.replace(brake, to)).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
    let mut config = rig_config();
    config.mounting = None;
    let error = config.check().unwrap_err().to_string();
    assert!(
        error.starts_with("mounting") && error.contains("brake: None"),
        "{error}"
    );
}

#[test]
fn a_simulated_rig_has_no_outputs() {
    let path = project_root().join("assets/rigs").join(RIG);
    let text = std::fs::read_to_string(&path).unwrap();
    let error_of = |from: &str, to: &str| {
        let parsed: Result<RigFile, _> =
            file::parse(&text.replacen(from, to, 1), Path::new("rig.ron"));
        parsed.map_or_else(|e| e.to_string(), |_| String::new())
    };
    let error = error_of("output: Drive", r#"output: Output("ecat.brake")"#);
    assert!(
        error.contains("mounting.brake.output") && error.contains("expected Drive"),
        "{error}"
    );
    let error = error_of("within_s: 0.05", r#"within_s: 0.05, input: "ecat.brake""#);
    assert!(error.contains("mounting.brake.feedback.input"), "{error}");
    let parsed: RigFile = file::parse(&text, &path).unwrap();
    parsed.check().unwrap();
}

/// Drives that operate their own brake, over UDP and on a serial line: nothing sags from Armed to Idle.
#[test]
fn a_drive_with_its_own_brake_is_given_its_time() {
    for setup in [Setup::UdpAndAmplifier, Setup::LinRs] {
        let mut bench = LinkBench::new(setup, |config| {
            // Four times as long as the drive takes to switch on.
            let brake = config
                .mounting
                .as_mut()
                .and_then(|m| m.brake.as_mut())
                .unwrap();
            (brake.release_s, brake.engage_s) = (0.08, 0.06);
        });
        bench.enter(State::Ready);
        let at = last(&bench.run, "motor_position");
        bench.run.cycles(200);
        assert!((last(&bench.run, "motor_position") - at).abs() < 20e-6);
        bench.run.ask(Request::Arm);
        let mut held = 0;
        while last(&bench.run, "brake_released") < 0.5 {
            assert!((last(&bench.run, "motor_position") - at).abs() < 50e-6);
            bench.run.cycle();
            held += usize::from(bench.is_powered());
            assert!(held < 100, "{setup:?}");
        }
        // 80 ms from the moment on at which the drive holds, which is seen a little later.
        assert!((40..50).contains(&held), "{setup:?}: {held}");
        assert!(!bench.plant.brake_grips(bench.clock.now()));
        assert_eq!(bench.run.state(), State::Armed, "{:?}", bench.run.events);
        bench.run.ask(Request::Stop);
        assert!(bench.run.until(State::Idle, 500));
        assert!(drift(&mut bench.run, 500) < 50e-6);
        assert!(!bench.is_powered());
    }
}

/// A vertical motor without a brake falls or is pushed away as soon as it has no power: the guard says so and arms nothing.
#[test]
fn without_a_brake_nothing_holds_it() {
    let brake = "brake: (release_s: 0.03, engage_s: 0.03, output: Drive),";
    let config = hardware(|t| {
        // Half the weight: the pantograph pushes it up.
        t.replace(brake, "brake: None,")
            .replace("moving_mass_kg: 10.0", "moving_mass_kg: 5.0")
    });
    let mounting = config.unwrap().mounting;
    assert!(
        mounting
            .as_ref()
            .unwrap()
            .danger()
            .unwrap()
            .contains("falls or is pushed")
    );
    let mut bench = LinkBench::new(Setup::Udp, |config| config.mounting = mounting.clone());
    bench.run.cycles(500);
    let at = last(&bench.run, "motor_position");
    assert!((at - 0.2).abs() < 1e-3, "pushed to its stop: {at}");
    assert_eq!(bench.run.state(), State::Idle);
}
