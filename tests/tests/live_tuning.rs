//! Parameters of bench `pantograph-lqg` changed while it runs: without a bump, refused where the model says
//! so, tripped in time where someone insists.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

use integration_tests::{ExactRun, session_from};
use pantobench::tuning::Refused;
use rt_core::control::assessment::Verdict;
use rt_core::guard::State;
use rt_core::link::{EventKind, StopCause};

/// On the stitched line with a wire of full order and a coarse mesh: quick to prepare.
fn on_line(more_bench: &str, more: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "live",
            bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: Full, mesh_m: 3.0,
                specimen: "../assets/pantographs/dsa-380.ron", speed_kmh: 250.0, {more_bench}),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625, {more})"#
    )))
}

/// On the string, whose loop is the one that is judged.
fn on_string(more_bench: &str, more: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "live",
            bench: PantographLqg(wire: String(), specimen: "../assets/pantographs/dsa-380.ron",
                speed_kmh: 300.0, approach_s: 1.0, {more_bench}),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 157.3, {more})"#
    )))
}

const MM: f64 = 1e3;

fn assert_runs(run: &ExactRun, what: &str) {
    assert_eq!(
        run.state(),
        State::Running,
        "{what}: {:?}",
        run.events.last()
    );
}

/// How the reference of a run departs from that of its twin in which nothing was changed: what is there in
/// the first cycle, and the largest change from one cycle to the next within a tenth of a second, in mm.
fn jump(changed: &ExactRun, twin: &ExactRun, at: usize) -> (f64, f64) {
    let (a, b) = (
        changed.column("motor_reference"),
        twin.column("motor_reference"),
    );
    let away: Vec<f64> = a.iter().zip(&b).map(|(a, b)| MM * (a - b)).collect();
    assert_eq!(a[..at], b[..at], "the twins are the same before the change");
    let steps = away[at..at + 50].windows(2).map(|w| (w[1] - w[0]).abs());
    (away[at].abs(), steps.fold(0.0, f64::max))
}

#[test]
fn gains_and_stiffness_change_without_a_bump_and_the_statistics_recover() {
    let mut twin = on_line("", "");
    twin.start();
    twin.cycles(6000);
    let deviation = |run: &ExactRun, from: usize| {
        let force = &run.column("force_20hz")[from..];
        let mean = force.iter().sum::<f64>() / force.len() as f64;
        (force.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / force.len() as f64).sqrt()
    };
    let usual = deviation(&twin, 5000);
    for (name, there, back, bar) in [
        ("Q", ("q", 500.0), ("q", 5.0), 0.05),
        ("R", ("r", 0.02), ("r", 1.0), 0.05),
        ("Q_kf", ("q_kf", 30.0), ("q_kf", 10.0), 0.05),
        ("k_i", ("k_i", 35e3), ("k_i", 60e3), 0.6),
        ("c_i", ("c_i", 80.0), ("c_i", 50.0), 0.6),
        ("m_i", ("m_i", 0.08), ("m_i", 0.05), 0.6),
    ] {
        let mut run = on_line("", "");
        run.start();
        run.cycles(2500);
        let at = run.frames.len();
        run.change(&[there], false).unwrap();
        run.cycles(750);
        let back_at = run.frames.len();
        // A twin of its own for the way back: the same way there.
        let mut there_twin = on_line("", "");
        there_twin.start();
        there_twin.cycles(2500);
        there_twin.change(&[there], false).unwrap();
        there_twin.cycles(1000);
        run.change(&[back], false).unwrap();
        run.cycles(2750);
        assert_runs(&run, name);
        let (first, step) = jump(&run, &twin, at);
        let (first_back, step_back) = jump(&run, &there_twin, back_at);
        println!(
            "{name}: there {first:.4} mm at once, {step:.4} mm a cycle; back {first_back:.4}, {step_back:.4}; σ {:.2} of {usual:.2} N",
            deviation(&run, 5000)
        );
        for (what, value) in [
            ("there", first.max(step)),
            ("back", first_back.max(step_back)),
        ] {
            assert!(value < bar, "{name} {what}: {value} mm");
        }
        let applied = |e: &&rt_core::link::Event| matches!(e.kind, EventKind::ParamApplied { .. });
        assert_eq!(run.events.iter().filter(applied).count(), 2, "{name}");
        // Other parameters are another bench; the same ones have to give the same.
        if name != "k_i" {
            let ratio = deviation(&run, 5000) / usual;
            assert!((0.9..1.1).contains(&ratio), "{name}: {ratio}");
        }
    }
}

#[test]
fn charge_is_handed_over_and_back_without_a_bump() {
    let mut twin = on_line("", "");
    twin.start();
    twin.cycles(5000);
    let mut run = on_line("", "");
    run.start();
    run.cycles(2500);
    let at = run.frames.len();
    run.change(&[("controller", 1.0)], false).unwrap();
    run.cycles(1250);
    let tracking = run.column("tracking_error");
    let worst = tracking[at + 150..]
        .iter()
        .map(|e| e.abs())
        .fold(0.0, f64::max);
    assert!(
        worst < 0.4e-3,
        "the predictive controller is in charge: {worst} m"
    );
    let back = run.frames.len();
    let mut there_twin = on_line("", "");
    there_twin.start();
    there_twin.cycles(2500);
    there_twin.change(&[("controller", 1.0)], false).unwrap();
    there_twin.cycles(2000);
    run.change(&[("controller", 0.0)], false).unwrap();
    run.cycles(1250);
    assert_runs(&run, "back");
    let (first, step) = jump(&run, &twin, at);
    let (first_back, step_back) = jump(&run, &there_twin, back);
    println!(
        "to predictive {first:.4} mm at once, {step:.4} mm a cycle; back {first_back:.4}, {step_back:.4}"
    );
    assert!(first < 0.05 && first_back < 0.05, "{first} {first_back}");
    // The two want references that are some tenths of a millimetre apart; in 0.2 s nothing of it is a jump.
    assert!(step < 0.15 && step_back < 0.15, "{step} {step_back}");
}

#[test]
fn an_unstable_change_is_refused_and_when_forced_tripped_in_time() {
    for (name, change) in [
        ("stiff spring", ("k_i", 300e3)),
        ("soft spring", ("k_i", 8e3)),
        ("hardly any regulator", ("q", 1e-3)),
        ("slow observer", ("q_kf", 0.05)),
    ] {
        let mut run = on_line("", "");
        run.start();
        run.cycles(2500);
        let refused = run.change(&[change], false);
        let Err(Refused::Verdict(Verdict::Unstable { rho })) = refused else {
            panic!("{name} is not refused as unstable: {refused:?}");
        };
        assert!(rho > 1.0);
        let words = refused.unwrap_err().to_string();
        assert!(words.contains(&format!("{rho:.4}")), "{words}");
        run.cycles(500);
        assert_runs(&run, name);
        let refusals = |e: &rt_core::link::Event| matches!(e.kind, EventKind::RetuningRefused(_));
        assert!(run.events.iter().any(refusals), "the refusal is recorded");

        run.change(&[change], true).unwrap();
        run.until(State::Tripped, 2500);
        assert_eq!(
            run.state(),
            State::Tripped,
            "{name}, ρ {rho}: never tripped"
        );
        let overridden = |e: &rt_core::link::Event| matches!(e.kind, EventKind::Retuned(approval) if approval.is_override && approval.rho > 1.0);
        assert!(
            run.events.iter().any(overridden),
            "the override is recorded"
        );
        run.cycles(1000);
        let largest = |channel: &str| {
            let values = run.column(channel).into_iter().filter(|v| v.is_finite());
            values.map(f64::abs).fold(0.0, f64::max)
        };
        let (error, force, position) = (
            largest("tracking_error"),
            largest("force"),
            largest("motor_position"),
        );
        println!(
            "{name}: ρ {rho:.4}, largest error {:.2} mm, force {force:.0} N",
            MM * error
        );
        assert!(
            error < 5e-3 || force < 1000.0,
            "{name}: {error} m, {force} N"
        );
        assert!(position < 0.15, "{name}: {position} m");
    }
}

/// A generator of random numbers that is the same everywhere (PCG's multiplier).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Each walk changes several parameters by random factors, some of which are refused; whatever was accepted,
/// no limit is ever broken.
#[test]
fn two_hundred_random_walks_never_break_a_limit() {
    let mut random = Random(7);
    let (mut accepted, mut refused) = (0, 0);
    let mut run = on_string("sections: 10000", "");
    run.start();
    run.cycles(800);
    let start = run.params;
    for walk in 0..200 {
        for _ in 0..4 {
            let ids = ["q", "r", "q_kf", "r_kf", "bias_step", "k_i", "c_i", "m_i"];
            let id = ids[(random.unit() * ids.len() as f64) as usize % ids.len()];
            let index = rt_core::param::find(run.params.specs(), id).unwrap();
            let factor = 10_f64.powf(2.0 * random.unit() - 1.0);
            let spec = &run.params.specs()[index];
            let value = (run.params.get(index) * factor).clamp(spec.min, spec.max);
            match run.change(&[(id, value)], false) {
                Ok(_) => accepted += 1,
                Err(_) => refused += 1,
            }
            run.cycles(75);
            assert_runs(&run, &format!("walk {walk}, {id} = {value}"));
        }
        // Back to the start, all at once.
        let home: Vec<(&str, f64)> = (0..8)
            .map(|i| (start.specs()[i].id, start.get(i)))
            .collect();
        run.change(&home, false).unwrap();
        run.cycles(60);
        assert_runs(&run, &format!("walk {walk}, back"));
        run.frames.clear();
    }
    println!("{accepted} changes accepted, {refused} refused");
    assert!(accepted > 200 && refused > 50, "{accepted} {refused}");
}

#[test]
fn a_predictive_controller_that_is_not_trusted_gives_way_to_the_lqg() {
    // The real pad is softer than the file says by more than the predictive controller bears, the LQG not.
    let text = std::fs::read_to_string(
        integration_tests::project_root().join("assets/rigs/simulated-dsa-380.ron"),
    )
    .unwrap();
    let rig = text
        .replace(
            "pad_stiffness_n_per_m: 240000.0",
            "pad_stiffness_n_per_m: 110000.0",
        )
        .replace(
            "../pantographs",
            integration_tests::project_root()
                .join("assets/pantographs")
                .to_str()
                .unwrap(),
        );
    let path = std::env::temp_dir().join(format!("pantobench-soft-pad-{}.ron", std::process::id()));
    std::fs::write(&path, rig).unwrap();
    let mut run = ExactRun::new(&session_from(&format!(
        r#"Session(title: "live",
            bench: PantographLqg(wire: String(), specimen: "../assets/pantographs/dsa-380.ron",
                speed_kmh: 300.0, controller: Predictive),
            rig: {path:?}, uplift_n: 157.3, params: {{"pad_factor": 1.0}})"#
    )));
    std::fs::remove_file(&path).unwrap();
    run.start();
    run.cycles(4000);
    let fell = |e: &rt_core::link::Event| matches!(e.kind, EventKind::FellBack(_));
    println!("{:?}", run.events);
    assert!(run.events.iter().any(fell), "{:?}", run.events);
    assert_runs(&run, "with the LQG");
    let part = run.column("predictive_part");
    assert_eq!(*part.last().unwrap(), 0.0);
}

#[test]
fn the_predictive_controller_runs_section_after_section() {
    let mut run = on_line("controller: Predictive, spans: (3, 6), sections: 3", "");
    run.start();
    run.until(State::Stopping, 12_000);
    let finished = |e: &rt_core::link::Event| e.kind == EventKind::Stopping(StopCause::Finished);
    assert!(run.events.iter().any(finished), "{:?}", run.events.last());
    let place = run.column("line_position");
    let joints = place.windows(2).filter(|w| w[1] < w[0] - 100.0).count();
    assert_eq!(joints, 2);
    let tracking = run.column("tracking_error");
    let worst = tracking
        .iter()
        .filter(|e| e.is_finite())
        .map(|e| e.abs())
        .fold(0.0, f64::max);
    println!("worst tracking error {:.3} mm", MM * worst);
    assert!(worst < 1.5e-3, "{worst}");
}
