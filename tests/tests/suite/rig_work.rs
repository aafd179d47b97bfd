//! Scan, home, check and jog on simulated rigs, as they are and with faults in their wiring.

use drivers::simulated::Injection;
use integration_tests::project_root;
use pantobench::hand::Hand;
use pantobench::permit::Presence;
use pantobench::rig_work::WorkError;
use pantobench::rig_work::check::{Checked, check};
use pantobench::rig_work::home::home;
use pantobench::rig_work::identify::{Choice, identify};
use pantobench::rig_work::jog::{Goal, Wanted, jog};
use pantobench::rig_work::play::Stand;
use pantobench::rig_work::scan::scan;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn stand(rig: &str, faults: &[&str]) -> Stand {
    let path = project_root().join("assets/rigs").join(rig);
    let mut stand = Stand::load(&path, Arc::new(AtomicBool::new(false))).unwrap();
    stand.inject = faults
        .iter()
        .map(|fault| ron_injection(&format!("(fault: {fault}, in_state: Idle, after_s: 0.0)")))
        .collect();
    stand
}

/// An injection as a session file writes it.
fn ron_injection(text: &str) -> Injection {
    let session = format!(
        r#"Session(title: "t", bench: Jog(), rig: "../assets/rigs/simulated-dsa-380.ron", inject: [{text}])"#
    );
    integration_tests::session_from(&session).session.inject[0]
}

fn not_held(checked: &Checked) -> Vec<&str> {
    let failed = checked.items.iter().filter(|item| !item.held);
    failed.map(|item| item.id.as_str()).collect()
}

#[test]
fn a_rig_that_is_wired_well_passes_with_steps_of_micrometres() {
    for rig in [
        "simulated-dsa-380.ron",
        "simulated-load-cells.ron",
        "simulated-steady-mass.ron",
    ] {
        let checked = check(&stand(rig, &[]), &mut |_| {}).unwrap();
        assert_eq!(not_held(&checked), Vec::<&str>::new(), "{rig}: {checked:?}");
        assert!(checked.step_m <= 1e-4, "{rig}: {}", checked.step_m);
        assert!((checked.position_noise_m.unwrap() - 2e-6).abs() < 0.5e-6);
        let cells = checked
            .items
            .iter()
            .filter(|i| i.id.starts_with("cell."))
            .count();
        assert_eq!(cells, if rig.contains("load-cells") { 2 } else { 0 });
    }
}

#[test]
fn faults_of_the_wiring_are_named() {
    for (fault, expected) in [
        ("Scaled(signal: Force, factor: -1.0)", &["force.sign"][..]),
        (
            "Scaled(signal: Force, factor: 0.0)",
            &["force.answers", "force.sign", "force.alive"],
        ),
        ("StuckMotor", &["position.moves"]),
    ] {
        match check(&stand("simulated-dsa-380.ron", &[fault]), &mut |_| {}) {
            Ok(checked) => {
                let failed = not_held(&checked);
                for id in expected {
                    assert!(failed.contains(id), "{fault}: {failed:?}");
                }
            }
            // What the guard sees first ends it in its own words, which is as good.
            Err(WorkError::Result(text) | WorkError::Environment(text)) => {
                assert!(
                    text.contains("force") || text.contains("frozen"),
                    "{fault}: {text}"
                );
            }
            Err(e) => panic!("{fault}: {e}"),
        }
    }
}

#[test]
fn a_scan_names_what_does_not_answer() {
    let found = scan(&stand("simulated-load-cells.ron", &[])).unwrap();
    assert!(found.is_held(), "{:?}", found.differences);
    assert_eq!(found.devices.len(), 2);
    let force = found
        .inputs
        .iter()
        .find(|i| i.channel.id == "force")
        .unwrap();
    assert!((force.mean.unwrap() - 114.0).abs() < 3.0, "{force:?}");
    let lost = scan(&stand("simulated-load-cells.ron", &["LostExchange"])).unwrap();
    assert!(!lost.is_held() && lost.good == 0);
    let text = lost.differences.join("; ");
    assert!(
        text.contains("Motor drive (simulated) is expected and does not answer"),
        "{text}"
    );
    assert!(text.contains("did not answer"), "{text}");
}

#[test]
fn a_jog_arrives_and_refuses_what_is_out_of_range() {
    let rig = stand("simulated-dsa-380.ron", &[]);
    let wanted = |goal| Wanted {
        goal,
        speed_m_per_s: Some(0.05),
        hold_s: 0.5,
    };
    let there = jog(&rig, &wanted(Goal::By(-0.02))).unwrap();
    assert!((there.position_m - 0.03).abs() < 1e-5, "{there:?}");
    // The last spring, 80 N/m, over 20 mm.
    assert!((there.force_n - 115.6).abs() < 1.0, "{there:?}");
    let there = jog(&rig, &wanted(Goal::To(0.0))).unwrap();
    assert!(there.position_m.abs() < 1e-5, "{there:?}");
    let text = jog(&rig, &wanted(Goal::To(0.2))).unwrap_err().to_string();
    assert!(text.contains("-0.15 to 0.15 m"), "{text}");
    rig.stop.store(true, Ordering::Relaxed);
    assert_eq!(jog(&rig, &wanted(Goal::To(0.0))), Err(WorkError::Stopped));
}

/// The rig with everything that protects people, in a copy that says what may be done unattended.
fn guarded(name: &str, unattended: &str, faults: &[&str]) -> Stand {
    let assets = project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/simulated-interlocks.ron")).unwrap();
    let rule = format!("safety: (\n        unattended: {unattended},");
    let text = text
        .replace("safety: (", &rule)
        .replace("\"../", &format!("\"{}/", assets.display()));
    let own = format!("pantobench-guarded-{name}-{}.ron", std::process::id());
    let path = std::env::temp_dir().join(own);
    std::fs::write(&path, text).unwrap();
    stand(&path.display().to_string(), faults)
}

const WANTED: Wanted = Wanted {
    goal: Goal::By(-0.002),
    speed_m_per_s: None,
    hold_s: 0.2,
};

#[test]
fn nobody_moves_a_guarded_rig_with_nobody_beside_it() {
    let rig = stand("simulated-interlocks.ron", &[]);
    let mut say = |_: &str| {};
    for (purpose, refused) in [
        ("jog", jog(&rig, &WANTED).unwrap_err()),
        ("home", home(&rig).unwrap_err()),
        ("check", check(&rig, &mut say).unwrap_err()),
        (
            "identify",
            identify(&rig, &Choice::default(), &mut say).unwrap_err(),
        ),
    ] {
        let WorkError::Input(text) = refused else {
            panic!("{purpose}: {refused:?}")
        };
        let wanted = format!("safety.unattended: [\"{purpose}\"]");
        assert!(text.contains(&wanted), "{text}");
        assert!(text.contains("confirm_within_s: 5"), "{text}");
    }
    // What its file allows is allowed, and nothing else is.
    let rig = guarded("jog-only", "[\"jog\"]", &[]);
    assert!(matches!(home(&rig), Err(WorkError::Input(_))));
    assert!(matches!(check(&rig, &mut say), Err(WorkError::Input(_))));
}

#[test]
fn a_drive_that_has_to_home_refuses_to_be_moved_before_and_homes() {
    let all = "[\"home\", \"jog\"]";
    let mut rig = guarded("homes", all, &[]);
    let text = jog(&rig, &WANTED).unwrap_err().to_string();
    assert!(text.contains("home"), "{text}");
    // A simulated drive is switched on anew by every command; with its own homing first it moves.
    rig.homes = true;
    let there = jog(&rig, &WANTED).unwrap();
    assert!((there.position_m - 0.048).abs() < 1e-5, "{there:?}");
    let homed = home(&rig).unwrap();
    assert!(homed.was_needed);
    assert!((homed.position_m.unwrap() - 0.05).abs() < 1e-4, "{homed:?}");
    // From 20 mm to 50 mm at 20 mm/s.
    assert!((homed.seconds - 1.5).abs() < 0.2, "{homed:?}");
    assert!(
        !home(&stand("simulated-dsa-380.ron", &[]))
            .unwrap()
            .was_needed
    );
    let open = guarded("open", all, &["OpenInterlock(number: 1)"]);
    let text = home(&open).unwrap_err().to_string();
    assert!(text.contains("Emergency stop"), "{text}");
}

/// An injection that ends: the door is open at first and closes later.
fn closing(stand: &mut Stand, seconds: f64) {
    stand.inject = vec![ron_injection(&format!(
        "(fault: OpenInterlock(number: 2), in_state: Idle, after_s: 0.0, lasting_s: {seconds})"
    ))];
}

#[test]
fn nothing_starts_because_a_door_closes() {
    let mut rig = guarded("door", "[\"home\", \"jog\"]", &[]);
    rig.homes = true;
    for seconds in [0.05, 0.5, 3.5] {
        closing(&mut rig, seconds);
        for refused in [jog(&rig, &WANTED).unwrap_err(), home(&rig).unwrap_err()] {
            let text = refused.to_string();
            assert!(
                text.contains("Door of the test cell is open") && text.contains("start it again"),
                "{seconds}: {text}"
            );
        }
    }
}

/// A person at the keys of a window, in a thread of their own.
fn person(rig: &mut Stand, act: impl Fn(&Hand) + Send + 'static) -> std::thread::JoinHandle<()> {
    let hand = Arc::new(Hand::default());
    let asked = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&asked);
    let tell = Arc::new(move |text: &str| {
        hears.fetch_or(text.contains("to let it"), Ordering::Relaxed);
    });
    rig.presence = Presence::Window(Arc::clone(&hand), tell);
    std::thread::spawn(move || {
        while !asked.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        act(&hand);
    })
}

fn steps(hand: &Hand) {
    hand.press_step();
    std::thread::park_timeout(Duration::from_millis(350));
    hand.press_step();
}

fn hold(hand: &Hand, seconds: f64) {
    let since = Instant::now();
    while since.elapsed().as_secs_f64() < seconds {
        hand.hold();
        std::thread::park_timeout(Duration::from_millis(30));
    }
}

#[test]
fn a_person_lets_it_home_by_two_steps_and_the_switch_and_ends_it_by_letting_go() {
    let mut rig = stand("simulated-interlocks.ron", &[]);
    let whole = person(&mut rig, |hand| {
        steps(hand);
        hold(hand, 3.0);
    });
    let homed = home(&rig).unwrap();
    assert!(
        homed.was_needed && (homed.seconds - 1.5).abs() < 0.3,
        "{homed:?}"
    );
    whole.join().unwrap();
    let short = person(&mut rig, |hand| {
        steps(hand);
        hold(hand, 0.5);
    });
    let text = home(&rig).unwrap_err().to_string();
    assert!(text.contains("let go"), "{text}");
    short.join().unwrap();
}

#[test]
fn a_person_lets_a_whole_piece_of_work_move_and_ends_it_by_letting_go() {
    let mut rig = guarded("jog-by-hand", "[]", &[]);
    rig.homes = true;
    // The work of several runs asks once: homing and arming of each follow from it.
    let whole = person(&mut rig, |hand| {
        steps(hand);
        hold(hand, 6.0);
    });
    let there = jog(&rig, &WANTED).unwrap();
    assert!((there.position_m - 0.048).abs() < 1e-4, "{there:?}");
    whole.join().unwrap();
    let short = person(&mut rig, |hand| {
        steps(hand);
        hold(hand, 2.5);
    });
    let long = Wanted {
        hold_s: 10.0,
        ..WANTED
    };
    let text = jog(&rig, &long).unwrap_err().to_string();
    assert!(text.contains("let go"), "{text}");
    short.join().unwrap();
}

/// The segment that is emulated in this process, with a real dead man's switch on one of its inputs.
fn with_switch(name: &str, bit: u8) -> Stand {
    let assets = project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs/ethercat-dsa-380.ron")).unwrap();
    let switch = format!(
        "dead_man: (input: \"ecat.circuits\", bit: {bit}, max_age_s: 0.0025),\n        interlocks: ["
    );
    let text = text
        .replace("interlocks: [", &switch)
        .replace(
            "    buses: [",
            "    safety: (dead_man_s: 0.5, unattended: [\"jog\"]),\n    buses: [",
        )
        .replace("\"../", &format!("\"{}/", assets.display()));
    let own = format!("pantobench-switch-{name}-{}.ron", std::process::id());
    let path = std::env::temp_dir().join(own);
    std::fs::write(&path, text).unwrap();
    let mut stand = stand(&path.display().to_string(), &[]);
    stand.fast = true;
    stand
}

#[test]
fn a_real_switch_counts_and_nothing_else_does() {
    let held = with_switch("held", 1);
    let there = jog(&held, &WANTED).unwrap();
    assert!((there.position_m - 0.048).abs() < 1e-4, "{there:?}");
    // The bit of a switch that nobody holds: not even a program that may do it unattended replaces it.
    let let_go = with_switch("let-go", 5);
    let text = jog(&let_go, &WANTED).unwrap_err().to_string();
    assert!(text.contains("let go"), "{text}");
}

#[test]
fn a_brake_is_tested_without_power_by_what_pulls_at_it() {
    use pantobench::rig_work::brake_test::brake_test;
    let rig = "simulated-vertical-brake.ron";
    let tested = brake_test(&stand(rig, &[]), 5.0, &mut |_| {}).unwrap();
    assert!(
        tested.is_held() && tested.creep_m.abs() < 2e-5,
        "{tested:?}"
    );
    // 116 N of uplift at the parked position against 98 N of weight.
    assert!((tested.load_n.unwrap() - 18.0).abs() < 3.0, "{tested:?}");
    // 4 N of friction and 10 N of brake against some 16 N.
    let weak = stand(rig, &["BrakeSlips(holds_n: 10.0)"]);
    let tested = brake_test(&weak, 5.0, &mut |_| {}).unwrap();
    assert!(!tested.is_held() && tested.creep_m > 0.5e-3, "{tested:?}");
    assert!(tested.problem().unwrap().contains("creeps_at_most_m"));
    // One that is open has gone to where nothing pulls any more before anyone looks: that is no pass either.
    let mut gone = stand(rig, &["BrakeSlips(holds_n: 0.0)"]);
    gone.inject[0].after_s = 0.0;
    let tested = brake_test(&gone, 60.0, &mut |_| {});
    assert!(!tested.is_ok_and(|t| t.is_held()));
}

#[test]
fn rigs_without_a_brake_are_refused_by_name() {
    use pantobench::rig_work::brake_test::brake_test;
    let refused = brake_test(&stand("simulated-dsa-380.ron", &[]), 5.0, &mut |_| {});
    let Err(WorkError::Input(text)) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        text.contains("'Simulated DSA-380' has no brake") && text.contains("mounting:"),
        "{text}"
    );
    for seconds in [0.9, 60.1, f64::NAN] {
        let refused = brake_test(
            &stand("simulated-vertical-brake.ron", &[]),
            seconds,
            &mut |_| {},
        );
        assert!(matches!(refused, Err(WorkError::Input(_))), "{seconds}");
    }
}
