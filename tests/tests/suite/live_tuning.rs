//! Parameters of bench `pantograph-lqg` changed while it runs: without a bump, refused where the model says
//! so, tripped in time where someone insists.

use integration_tests::{ExactRun, session_from};
use pantobench::tuning::Refused;
use rt_core::bench::Prospect;
use rt_core::control::assessment::Verdict;
use rt_core::guard::State;
use rt_core::link::{EventKind, StopCause};

/// On the stitched line with a wire of full order.
fn on_line(more_bench: &str, more: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "live",
            bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: Full, mesh_m: 1.0,
                specimen: "../assets/pantographs/dsa-380.ron", speed_kmh: 250.0, {more_bench}),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625, {more})"#
    )))
}

/// On the string, whose loop is the one that is judged.
fn on_string(more_bench: &str, more: &str) -> ExactRun {
    ExactRun::new(&session_from(&format!(
        r#"Session(title: "live",
            bench: PantographLqg(wire: String(), specimen: "../assets/pantographs/dsa-380.ron",
                speed_kmh: 250.0, approach_s: 1.0, {more_bench}),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625, {more})"#
    )))
}

const MM: f64 = 1e3;

fn assert_runs(run: &ExactRun, what: &str) {
    let last = &run.events[run.events.len().saturating_sub(3)..];
    assert_eq!(run.state(), State::Running, "{what}: {last:?}");
}

/// The jump that a change makes, in mm: how far the reference is from that of a twin in which nothing was
/// changed, in the first two cycles. A regulator's action is sent one cycle after it is computed, so that
/// gains act in the second one for the first time; later both runs go their own ways.
fn jump(changed: &ExactRun, twin: &ExactRun, at: usize) -> f64 {
    let (a, b) = (
        changed.column("motor_reference"),
        twin.column("motor_reference"),
    );
    assert_eq!(a[..at], b[..at], "the twins are the same before the change");
    let apart = (at..at + 2).map(|k| MM * (a[k] - b[k]).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn gains_and_stiffness_change_without_a_bump_and_the_statistics_recover() {
    let deviation = |run: &ExactRun, from: usize| {
        let force = &run.column("force_20hz")[from..];
        let mean = force.iter().sum::<f64>() / force.len() as f64;
        (force.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / force.len() as f64).sqrt()
    };
    // Softer springs need a faster force bias than the default; with the default, Q may be large.
    for (name, bias, there, back, bar) in [
        ("Q", 4.0, ("q", 500.0), ("q", 5.0), 0.05),
        ("R", 4.0, ("r", 0.1), ("r", 1.0), 0.05),
        ("Q_kf", 4.0, ("q_kf", 30.0), ("q_kf", 10.0), 0.05),
        ("k_i", 10.0, ("k_i", 35e3), ("k_i", 60e3), 0.6),
        ("c_i", 4.0, ("c_i", 60.0), ("c_i", 50.0), 0.6),
        ("m_i", 4.0, ("m_i", 0.06), ("m_i", 0.05), 0.6),
    ] {
        let start = || on_line("", &format!(r#"params: {{"bias_step": {bias:.1}}}"#));
        let mut twin = start();
        twin.start();
        twin.cycles(6000);
        let usual = deviation(&twin, 5000);
        let mut run = start();
        run.start();
        run.cycles(2500);
        let at = run.frames.len();
        run.change(&[there], false).unwrap();
        run.cycles(750);
        let back_at = run.frames.len();
        // A twin of its own for the way back: the same way there.
        let mut there_twin = start();
        there_twin.start();
        there_twin.cycles(2500);
        there_twin.change(&[there], false).unwrap();
        there_twin.cycles(1000);
        run.change(&[back], false).unwrap();
        run.cycles(2750);
        assert_runs(&run, name);
        let (there, back) = (jump(&run, &twin, at), jump(&run, &there_twin, back_at));
        println!(
            "{name}: jump {there:.4} mm there, {back:.4} mm back; σ {:.2} of {usual:.2} N",
            deviation(&run, 5000)
        );
        assert!(there < bar && back < bar, "{name}: {there} and {back} mm");
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
    // In the first cycle nothing changes. Then the predictive controller takes off the error that the LQG
    // left, but never in larger steps than either makes anyway.
    let first = |changed: &ExactRun, twin: &ExactRun, at: usize| {
        let at_once = |run: &ExactRun| run.column("motor_reference")[at];
        MM * (at_once(changed) - at_once(twin)).abs()
    };
    let (there, back_first) = (first(&run, &twin, at), first(&run, &there_twin, back));
    let largest_step = |run: &ExactRun, from: usize| {
        let reference = &run.column("motor_reference")[from..];
        let steps = reference.windows(2).map(|w| MM * (w[1] - w[0]).abs());
        steps.fold(0.0, f64::max)
    };
    let usual = largest_step(&twin, 2000).max(largest_step(&there_twin, 2700));
    let most = largest_step(&run, at - 1);
    println!(
        "to predictive {there:.4} mm, back {back_first:.4} mm; largest step {most:.3}, usual {usual:.3} mm"
    );
    assert!(there < 0.05 && back_first < 0.05, "{there} {back_first}");
    assert!(most < 1.05 * usual, "{most} {usual}");
}

/// Before the train starts, and when nothing runs at all, every change is taken at once.
#[test]
fn changes_are_taken_while_nothing_moves() {
    let mut run = on_string("", "");
    run.cycles(20);
    for q in [6.0, 7.0, 8.0] {
        run.change(&[("q", q)], false).unwrap();
        run.cycle();
    }
    run.start();
    run.cycles(100);
    for q in [9.0, 10.0] {
        run.change(&[("q", q)], false).unwrap();
        run.cycle();
    }
    let retuned = |e: &&rt_core::link::Event| matches!(e.kind, EventKind::Retuned(_));
    assert_eq!(
        run.events.iter().filter(retuned).count(),
        5,
        "{:?}",
        run.events
    );
    run.cycles(2000);
    assert_runs(&run, "after all of them");
}

#[test]
fn an_unstable_change_is_refused_and_when_forced_tripped_in_time() {
    for (name, change) in [
        ("stiff spring", ("k_i", 300e3)),
        ("soft spring", ("k_i", 8e3)),
        ("hardly unstable", ("k_i", 35e3)),
        ("nervous observer", ("bias_step", 200.0)),
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
        // Until the trip, in whose cycle the safe command is sent.
        let largest = |channel: &str| {
            let values = run.column(channel).into_iter().filter(|v| v.is_finite());
            values.map(f64::abs).fold(0.0, f64::max)
        };
        let tripped_at = run.column("motor_position").last().copied().unwrap();
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
        // The retreat goes up, away from the pantograph, after at most what it takes to brake.
        let before = run.frames.len();
        run.cycles(1000);
        let lowest = run.column("motor_position")[before..]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        assert!(
            lowest > tripped_at.min(0.05) - 0.02,
            "{name}: down to {lowest} from {tripped_at} m"
        );
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
        let mut log = Vec::new();
        for _ in 0..4 {
            let ids = ["q", "r", "q_kf", "r_kf", "bias_step", "k_i", "c_i", "m_i"];
            let id = ids[(random.unit() * ids.len() as f64) as usize % ids.len()];
            let index = rt_core::param::find(run.params.specs(), id).unwrap();
            let factor = 10_f64.powf(2.0 * random.unit() - 1.0);
            let spec = &run.params.specs()[index];
            let value = (run.params.get(index) * factor).clamp(spec.min, spec.max);
            match run.change(&[(id, value)], false) {
                Ok(prospect) => {
                    accepted += 1;
                    log.push(format!(
                        "{id} = {value:.4}: {:?} {:?}",
                        prospect.as_ref().map(|p| p.rho_loop),
                        prospect.as_ref().and_then(Prospect::least_disk)
                    ));
                }
                Err(_) => refused += 1,
            }
            run.cycles(75);
            assert_runs(&run, &format!("walk {walk}, {id} = {value}: {log:#?}"));
        }
        // Back to the start, all at once.
        let home: Vec<(&str, f64)> = (0..8)
            .map(|i| (start.specs()[i].id, start.get(i)))
            .collect();
        run.change(&home, false).unwrap();
        run.cycles(60);
        assert_runs(&run, &format!("walk {walk}, back: {log:#?}"));
        run.frames.clear();
    }
    println!("{accepted} changes accepted, {refused} refused");
    assert!(accepted > 200 && refused > 50, "{accepted} {refused}");
}

#[test]
fn a_predictive_controller_that_is_not_trusted_gives_way_to_the_lqg() {
    // The force is read two cycles earlier than the predictive controller believes; the LQG has no such
    // belief.
    let mut run = on_string("controller: Predictive, force_delay_cycles: 3", "");
    run.start();
    run.cycles(4000);
    let fell = |e: &rt_core::link::Event| matches!(e.kind, EventKind::FellBack(_));
    assert!(run.events.iter().any(fell), "{:?}", run.events);
    assert_runs(&run, "with the LQG");
    let part = run.column("controller");
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
