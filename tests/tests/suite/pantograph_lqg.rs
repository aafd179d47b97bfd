//! The bench `pantograph-lqg` on the simulated rig.

use integration_tests::{ExactRun, session_from};
use rt_core::guard::State;
use rt_core::link::{EventKind, StopCause};

/// A session on the stitched line with a wire of full order.
fn session(more_bench: &str, more: &str) -> String {
    format!(
        r#"Session(title: "lqg",
            bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: Full, mesh_m: 1.0,
                specimen: "../assets/pantographs/dsa-380.ron", {more_bench}),
            rig: "../assets/rigs/simulated-dsa-380.ron", {more})"#
    )
}

fn run(more_bench: &str, more: &str) -> ExactRun {
    let mut run = ExactRun::new(&session_from(&session(more_bench, more)));
    run.start();
    for _ in 0..40_000 {
        if !matches!(run.state(), State::Running) {
            break;
        }
        run.cycle();
    }
    run
}

/// Largest step of the command while powered, in m.
fn largest_step(run: &ExactRun) -> f64 {
    run.column("motor_reference")
        .windows(2)
        .map(|w| (w[1] - w[0]).abs())
        .fold(0.0, f64::max)
}

#[test]
fn the_loop_holds_and_the_train_arrives() {
    for (speed, uplift) in [(250.0, 130.625), (275.0, 143.35625), (300.0, 157.3)] {
        // As in the shipped session: at 300 km/h the error comes near the bench's own limits.
        let limits = ["tracking_error", "error_next"].map(|channel| {
            format!(r#"(channel: "{channel}", low: -0.007, high: 0.007, for_cycles: 1, action: Retreat)"#)
        });
        let run = run(
            &format!("speed_kmh: {speed:.1}"),
            &format!("uplift_n: {uplift:.3}, limits: [{}]", limits.join(", ")),
        );
        let finished =
            |e: &rt_core::link::Event| e.kind == EventKind::Stopping(StopCause::Finished);
        assert!(
            run.events.iter().any(finished),
            "{speed} km/h: {:?}",
            run.events.last()
        );
        let place = run.column("line_position");
        let force = run.column("force");
        let tracking = run.column("tracking_error");
        let inside = |i: &usize| (400.0..900.0).contains(&place[*i]);
        let central: Vec<usize> = (0..place.len()).filter(inside).collect();
        let mean = central.iter().map(|&i| force[i]).sum::<f64>() / central.len() as f64;
        // The uplift less what the lowest spring (80 N/m) holds back at some 5 cm to 12 cm of height.
        assert!(
            mean < uplift && mean > uplift - 80.0 * 0.12,
            "{speed} km/h: {mean} N"
        );
        let worst = central
            .iter()
            .map(|&i| tracking[i].abs())
            .fold(0.0, f64::max);
        assert!(
            worst < 5e-3,
            "{speed} km/h: tracking error of {} mm",
            worst * 1e3
        );
        // The wire yields upward under the force, by its elasticity of about 0.47 mm/N at the least.
        let rise = run.column("wire_rise");
        let highest = central.iter().map(|&i| rise[i]).fold(0.0, f64::max);
        assert!((0.05..0.2).contains(&highest), "{speed} km/h: {highest} m");
    }
}

#[test]
fn approach_section_joint_and_end_are_without_a_jump() {
    // At a joint hardly any force reaches the wire: the loop then is that of a wire that does not yield,
    // which needs a faster force bias than the default to be stable.
    let run = run(
        "speed_kmh: 250.0, spans: (3, 6), sections: 2",
        r#"uplift_n: 130.625, params: {"bias_step": 10.0}"#,
    );
    assert!(
        run.events
            .iter()
            .any(|e| e.kind == EventKind::Stopping(StopCause::Finished)),
        "{:?}",
        run.events
    );
    let place = run.column("line_position");
    let joints = place.windows(2).filter(|w| w[1] < w[0] - 100.0).count();
    assert_eq!(joints, 1, "two sections have one joint");
    // At 250 km/h the wire's own motion needs about 1 m/s; a jump would show as more.
    assert!(largest_step(&run) < 0.002 * 1.0, "{} m", largest_step(&run));
}

#[test]
fn without_the_regulator_the_loop_diverges_and_is_tripped() {
    // An action limited to 0.1 mm is next to no regulator at all.
    let run = run(
        "speed_kmh: 250.0, action_limit_m: 1e-4",
        "uplift_n: 130.625",
    );
    assert_eq!(run.state(), State::Tripped, "{:?}", run.events.last());
    let trip = run
        .events
        .iter()
        .find(|e| matches!(e.kind, EventKind::Tripped { .. }))
        .unwrap();
    let frame = run.frames.iter().find(|f| f.seq == trip.seq).unwrap();
    let position = frame.values[run.layout.column("motor_position").unwrap()];
    assert!(
        position.abs() < 0.15,
        "tripped before the motor hits a limit: {position} m"
    );
}

#[test]
fn senseless_settings_are_refused() {
    for (bad, word) in [
        ("speed_kmh: 5.0", "speed_kmh"),
        ("speed_kmh: 250.0, spans: (3, 99)", "spans 3 to 99"),
        ("speed_kmh: 250.0, spans: (9, 4)", "wrong order"),
        (
            "speed_kmh: 250.0, motor: (mass_kg: -1.0, damping_ns_per_m: 1.0, stiffness_n_per_m: 1.0)",
            "mass_kg",
        ),
        ("speed_kmh: 250.0, force_filter_hz: -1.0", "force filter"),
    ] {
        let loaded = session_from(&session(bad, ""));
        let text = pantobench::runtime::prepare_exact(&loaded)
            .err()
            .unwrap()
            .to_string();
        assert!(text.contains(word), "{bad}: {text}");
    }
}

const PREDICTIVE: &str = "controller: Predictive";

#[test]
fn a_predictive_controller_with_a_wrong_model_is_stopped_before_it_does_harm() {
    // The rig of the file reads the force one cycle late; a pad six times softer than assumed is too much.
    let wrong = format!(
        "speed_kmh: 250.0, {PREDICTIVE}, pantograph: (mass_kg: 5.3, damping_ns_per_m: 10.0, \
                         stiffness_n_per_m: 1500000.0)"
    );
    let run = run(&wrong, "uplift_n: 130.625");
    assert_eq!(run.state(), State::Tripped, "{:?}", run.events.last());
    let force = run
        .column("force")
        .into_iter()
        .filter(|f| f.is_finite())
        .fold(0.0, f64::max);
    assert!(force < 1000.0, "{force} N");
    // A pad cannot pull: what is measured below 0 is noise of 0.5 N and what the filter makes of a substep.
    let mut run = run;
    run.cycles(1500);
    let least = run
        .column("force")
        .into_iter()
        .filter(|f| f.is_finite())
        .fold(0.0, f64::min);
    assert!(least > -10.0, "{least} N");
}

#[test]
fn an_overrun_does_not_cost_the_predictive_controller_its_trust() {
    let stall = "uplift_n: 130.625, inject: [(fault: LateExchange(by_us: 18000.0), after_s: 6.0, lasting_s: 0.001)]";
    let run = run(&format!("speed_kmh: 250.0, {PREDICTIVE}"), stall);
    assert!(
        run.frames.windows(2).any(|w| w[1].seq > w[0].seq + 5),
        "the case must contain an overrun"
    );
    let finished = |e: &rt_core::link::Event| e.kind == EventKind::Stopping(StopCause::Finished);
    assert!(run.events.iter().any(finished), "{:?}", run.events.last());
}

/// The simulated DSA-380 under every shipped line at every speed; the rougher lines with a tuning and limits
/// of their own. Without a regulator the loop diverges on each.
#[test]
fn the_controlled_loop_holds_on_all_lines_and_the_uncontrolled_one_on_none() {
    let on = |line: &str, speed: f64, uplift: f64, bench: &str, tuning: &str| {
        let wide = ["tracking_error", "error_next", "error_ahead"].map(|channel| {
            format!(
                r#"(channel: "{channel}", low: -0.03, high: 0.03, for_cycles: 1, action: Retreat)"#
            )
        });
        let text = format!(
            r#"Session(title: "lines", bench: PantographLqg(line: "../assets/lines/{line}.ron", wire: Full,
                specimen: "../assets/pantographs/dsa-380.ron", speed_kmh: {speed:?}, spans: (3, 8), {bench}),
                rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: {uplift:?}, params: {{{tuning}}},
                limits: [{}])"#,
            wide.join(", ")
        );
        let mut run = ExactRun::new(&session_from(&text));
        run.start();
        while run.state() == State::Running {
            run.cycle();
        }
        run
    };
    let rough = r#""q": 2.0, "c_i": 75.0, "bias_step": 5.0"#;
    for (line, tuning) in [
        ("stitched-sw", ""),
        ("en50318-2002", rough),
        ("simple-55m", rough),
    ] {
        for (speed, uplift) in [(250.0, 130.625), (275.0, 143.356), (300.0, 157.3)] {
            let run = on(line, speed, uplift, "", tuning);
            let finished =
                |e: &rt_core::link::Event| e.kind == EventKind::Stopping(StopCause::Finished);
            assert!(
                run.events.iter().any(finished),
                "{line} at {speed} km/h: {:?}",
                run.events.last()
            );
        }
        let run = on(line, 250.0, 130.625, "action_limit_m: 1e-4", tuning);
        assert_eq!(run.state(), State::Tripped, "{line}, uncontrolled");
    }
}
