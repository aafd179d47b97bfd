//! Stability and margins of the predictive loop, held against runs of the controller itself on a rig that
//! is assembled here, mass by mass, and moved by the matrix exponential over each part of a cycle.
//!
//! `cargo test -p rt-core --test predictive_margins -- --nocapture` prints the tables.

use nalgebra::{DMatrix, DVector};
use rt_core::control::assessment::{Verdict, Wire};
use rt_core::control::newmark::LinearPart;
use rt_core::control::predictive::{
    Predictive, PredictiveAssessment, PredictiveChannel, PredictiveDesign, PredictiveMargins,
    PredictiveRig, PredictiveSurroundings, PredictiveTuning, PreparedPredictive, Tick, even_way,
};
use rt_core::file::load;
use rt_core::model::catenary::WireModel;
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::Pantograph;
use rt_core::model::string_wire::StringWire;
use std::collections::VecDeque;
use std::path::Path;

const PERIOD_S: f64 = 2e-3;
/// Contact force at rest, in N.
const LOAD_N: f64 = 150.0;

fn dsa_380() -> Pantograph {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
    load(&assets.join("pantographs/dsa-380.ron")).unwrap()
}

fn string(speed_kmh: f64) -> Wire {
    Wire::String(MovingString {
        speed_kmh,
        ..MovingString::HIGH_SPEED_300
    })
}

/// A controller in its surroundings, and gains in its three channels.
#[derive(Clone)]
struct Case {
    design: PredictiveDesign,
    around: PredictiveSurroundings,
    reference_gain: f64,
    force_gain: f64,
    position_gain: f64,
}

impl Case {
    fn new(tuning: &PredictiveTuning, wire: Wire) -> Self {
        let (rig, pantograph) = (PredictiveRig::TUR_2024, dsa_380());
        Self {
            design: PredictiveDesign::new(&rig, &pantograph, tuning).unwrap(),
            around: PredictiveSurroundings {
                wire,
                rig,
                pantograph,
                extra_delay_cycles: 0,
            },
            reference_gain: 1.0,
            force_gain: 1.0,
            position_gain: 1.0,
        }
    }

    fn late(mut self, cycles: usize) -> Self {
        self.around.extra_delay_cycles = cycles;
        self
    }

    /// Any delay of the reference, in s.
    fn late_s(mut self, delay_s: f64) -> Self {
        let cycles = (delay_s / PERIOD_S).floor();
        self.around.extra_delay_cycles = cycles as usize;
        self.around.rig.reference_delay_s = (delay_s - cycles * PERIOD_S).max(0.0);
        self
    }

    fn pad(mut self, factor: f64) -> Self {
        self.around.rig.pad_stiffness_n_per_m *= factor;
        self
    }

    fn assess(&self) -> PredictiveAssessment {
        let prepared = PreparedPredictive::new(&self.around).unwrap();
        prepared.assess(&self.design).unwrap()
    }

    fn margins(&self) -> PredictiveMargins {
        self.assess().margins.unwrap()
    }

    fn wire_part(&self) -> LinearPart {
        match &self.around.wire {
            Wire::String(string) => string.linear_part(PERIOD_S).unwrap(),
            Wire::Held => LinearPart {
                a: DMatrix::zeros(0, 0),
                b: DVector::zeros(0),
                c: DVector::zeros(0),
            },
            Wire::Part(part) => part.clone(),
        }
    }
}

/// The real rig in motion: [u_m v_m | u v … | f | r | uplift].
struct Rig {
    x: DVector<f64>,
    before: DMatrix<f64>,
    after: DMatrix<f64>,
    sent: VecDeque<f64>,
    forces: VecDeque<f64>,
}

impl Rig {
    /// At rest with the motor at a position under the load.
    fn new(case: &Case, position: f64) -> Self {
        let (rig, masses) = (&case.around.rig, &case.around.pantograph.masses);
        let n = masses.len();
        let (f, r, uplift) = (2 + 2 * n, 3 + 2 * n, 4 + 2 * n);
        let mut a = DMatrix::zeros(uplift + 1, uplift + 1);
        let (w, pad) = (rig.motor_omega_rad_per_s, rig.pad_stiffness_n_per_m);
        a[(0, 1)] = 1.0;
        a[(1, 0)] = -w * w;
        a[(1, 1)] = -2.0 * rig.motor_damping_ratio * w;
        a[(1, r)] = w * w;
        let corner = std::f64::consts::TAU * rig.force_filter_hz;
        a[(f, f)] = -corner;
        // The pad's force pad (u₁ − u_m) on whom it acts, by what per newton.
        let load = w * w * rig.motor_load_m_per_n;
        for (row, per_newton) in [(3, -1.0 / masses[0].mass_kg), (f, corner), (1, load)] {
            a[(row, 2)] += pad * per_newton;
            a[(row, 0)] -= pad * per_newton;
        }
        for (i, m) in masses.iter().enumerate() {
            let (u, v) = (2 + 2 * i, 3 + 2 * i);
            a[(u, v)] = 1.0;
            // Spring and damper to what is below: up on this mass, down on that.
            for (k, place) in [(m.stiffness_n_per_m, u), (m.damping_ns_per_m, v)] {
                a[(v, place)] -= k / m.mass_kg;
                if let Some(below) = masses.get(i + 1) {
                    a[(v, place + 2)] += k / m.mass_kg;
                    a[(v + 2, place)] += k / below.mass_kg;
                    a[(v + 2, place + 2)] -= k / below.mass_kg;
                }
            }
        }
        a[(1 + 2 * n, uplift)] = 1.0 / masses[n - 1].mass_kg;
        let mut x = DVector::zeros(uplift + 1);
        x[0] = position;
        x[r] = position - rig.motor_load_m_per_n * LOAD_N;
        x[f] = LOAD_N;
        let mut height = position + LOAD_N / pad;
        for (i, m) in masses.iter().enumerate() {
            x[2 + 2 * i] = height;
            x[uplift] = LOAD_N + m.stiffness_n_per_m * height;
            height += LOAD_N / m.stiffness_n_per_m;
        }
        assert!((&a * &x).amax() < 1e-6, "it rests");
        let late = rig.reference_delay_s;
        let delay = case.around.extra_delay_cycles + 1;
        Self {
            before: (&a * late).exp(),
            after: (&a * (PERIOD_S - late)).exp(),
            sent: VecDeque::from(vec![x[r]; delay]),
            forces: VecDeque::from(vec![LOAD_N; rig.force_delay_cycles]),
            x,
        }
    }

    fn places(&self) -> (usize, usize) {
        (self.x.len() - 3, self.x.len() - 2)
    }

    /// Once a cycle.
    fn read_force(&mut self) -> f64 {
        self.forces.push_back(self.x[self.places().0]);
        self.forces.pop_front().unwrap()
    }

    /// One cycle: first under what was sent a cycle earlier, then under what has arrived.
    fn advance(&mut self, sent: f64) {
        let r = self.places().1;
        self.sent.push_back(sent);
        let earlier = self.sent.pop_front().unwrap();
        let arrived = self.sent[0];
        self.x[r] = earlier;
        self.x = &self.before * &self.x;
        self.x[r] = arrived;
        self.x = &self.after * &self.x;
    }
}

/// [u_m, read force, r(k)] of every cycle, with the rig moved from rest at the beginning; ends early
/// where the force leaves half of the load or the contact opens.
fn play(case: &Case, cycles: usize, moved: &[(usize, f64)]) -> Vec<[f64; 3]> {
    let part = case.wire_part();
    let n = part.states();
    let mut wire = StringWire::new(part.clone(), PERIOD_S).unwrap();
    let mut rise = 0.0;
    if n > 0 {
        let matrix = DMatrix::identity(n, n) - &part.a;
        let loaded = matrix.lu().solve(&(&part.b * LOAD_N)).unwrap();
        rise = part.c.dot(&loaded);
        let mut state = wire.new_state();
        state.motion[..n].copy_from_slice(loaded.as_slice());
        wire.restore(&state);
    }
    let position = rise + LOAD_N / case.design.tuning.interaction_stiffness_n_per_m;
    let mut rig = Rig::new(case, position);
    let mut control = Predictive::new(case.design.clone(), &wire).unwrap();
    control.reset(position, LOAD_N);
    let mut reference = position - case.around.rig.motor_load_m_per_n * LOAD_N;
    let rest = reference;
    for (state, by) in moved {
        rig.x[*state] += by;
    }
    let mut out = Vec::with_capacity(cycles);
    for _ in 0..cycles {
        let (u_m, force) = (rig.x[0], rig.read_force());
        out.push([u_m, force, reference]);
        if (force - LOAD_N).abs() > 0.5 * LOAD_N {
            break;
        }
        let found = control.step(
            &mut wire,
            &Tick {
                force: LOAD_N + case.force_gain * (force - LOAD_N),
                motor_position: position + case.position_gain * (u_m - position),
                reference,
                way: even_way(0.0, 0.0, |_| 1.0),
            },
        );
        if found.limited || found.force <= 0.0 || found.force_ahead <= 0.0 {
            break;
        }
        rig.advance(rest + case.reference_gain * (reference - rest));
        reference = found.reference;
    }
    out
}

/// Whether a small push on the head dies away: the force late in a run swings less than early on.
fn decays(case: &Case) -> bool {
    let cycles = 6000;
    let run = play(case, cycles, &[(3, 1e-3)]);
    let swing = |from: usize| {
        let window = &run[from..from + 1000];
        window
            .iter()
            .fold(0.0f64, |m, s| m.max((s[1] - LOAD_N).abs()))
    };
    run.len() == cycles && swing(cycles - 1000) < swing(1000)
}

/// Where runs begin to grow, by halving between one that decays and one that does not.
fn limit(case: impl Fn(f64) -> Case, mut decaying: f64, mut growing: f64) -> f64 {
    assert!(decays(&case(decaying)) && !decays(&case(growing)));
    for _ in 0..9 {
        let middle = 0.5 * (decaying + growing);
        if decays(&case(middle)) {
            decaying = middle;
        } else {
            growing = middle;
        }
    }
    0.5 * (decaying + growing)
}

/// The difference of two runs of the controller's code is what the linear loop says, whatever the
/// delays, the pad and the load of the motor; here with a design that knows none of them.
#[test]
fn the_linear_loop_is_that_of_the_running_controller() {
    let mut odd = Case::new(&PredictiveTuning::FAST, string(250.0)).pad(0.8);
    odd.around.rig.reference_delay_s = 0.7e-3;
    odd.around.rig.force_delay_cycles = 2;
    odd.around.rig.motor_load_m_per_n = 2e-7;
    odd.around.rig.motor_omega_rad_per_s = 280.4;
    odd.around.rig.motor_damping_ratio = 0.358;
    odd.around.rig.force_filter_hz = 80.0;
    let known = {
        let mut case = odd.clone();
        let tuning = PredictiveTuning::ROBUST;
        case.design =
            PredictiveDesign::new(&case.around.rig, &case.around.pantograph, &tuning).unwrap();
        case
    };
    let moved = [(3, 1e-3), (0, 1e-6), (7, -1e-3), (8, 0.1)];
    for (name, case) in [
        ("held", Case::new(&PredictiveTuning::ROBUST, Wire::Held)),
        (
            "string",
            Case::new(&PredictiveTuning::ROBUST, string(300.0)),
        ),
        (
            "2 cycles late",
            Case::new(&PredictiveTuning::ROBUST, string(300.0)).late(2),
        ),
        ("another rig", odd),
        ("another rig, known, 1 cycle late", known.late(1)),
    ] {
        let whole = PreparedPredictive::new(&case.around)
            .unwrap()
            .closed(&case.design)
            .unwrap();
        let open = [
            PredictiveChannel::Position,
            PredictiveChannel::Force,
            PredictiveChannel::Reference,
        ]
        .map(|channel| whole.open(channel));
        let matrix = open[0].closed(1.0);
        let mut x = DVector::zeros(whole.states());
        for (state, by) in moved {
            x[state] = by;
        }
        let (still, run) = (play(&case, 400, &[]), play(&case, 400, &moved));
        // The rig that is not the designed one does not stay in contact for long.
        assert!(still.len().min(run.len()) > 50, "{name}: {}", run.len());
        let mut worst = [0.0f64; 3];
        let mut largest = [0.0f64; 3];
        for (with, without) in run.iter().zip(&still) {
            for i in 0..3 {
                let expected = open[i].c.dot(&x);
                worst[i] = worst[i].max((with[i] - without[i] - expected).abs());
                largest[i] = largest[i].max(expected.abs());
            }
            x = &matrix * x;
        }
        println!("{name}: worst {worst:?} of {largest:?}");
        for i in 0..3 {
            // Heights of 0.1 m have a rounding of 1e-17 m; the pad makes 1e-11 N of it, each cycle anew.
            assert!(worst[i] < 1e-8 * largest[i], "{name}, {i}: {worst:?}");
        }
    }
}

#[test]
fn the_radius_is_below_one_exactly_where_runs_decay() {
    let mut both = [0, 0];
    for (name, tuning) in [
        ("robust", PredictiveTuning::ROBUST),
        ("fast", PredictiveTuning::FAST),
    ] {
        for (on, wire) in [("held", Wire::Held), ("300 km/h", string(300.0))] {
            let base = Case::new(&tuning, wire);
            let late = (0..5).map(|d| (format!("{d} cycles late"), base.clone().late(d)));
            let pad = [0.3, 0.5, 0.7, 1.3, 1.6, 2.0, 2.5, 3.0]
                .map(|f| (format!("pad × {f}"), base.clone().pad(f)));
            for (what, case) in late.chain(pad) {
                let rho = case.assess().rho_loop;
                let decays = decays(&case);
                println!("{name}, {on}, {what}: ρ {rho:.5}, decays: {decays}");
                assert_eq!(rho < 1.0, decays, "{name}, {on}, {what}: {rho}");
                both[usize::from(decays)] += 1;
            }
        }
    }
    println!("{both:?}");
    assert!(both[0] > 8 && both[1] > 8, "both sides are seen: {both:?}");
}

#[test]
fn delay_margins_are_those_of_runs() {
    println!(
        "tuning, wire: margin by the linear loop / limit of runs, extra delay of the reference, ms"
    );
    let mut robust_and_fast = Vec::new();
    for (on, wire) in [
        ("held", Wire::Held),
        ("string 250", string(250.0)),
        ("string 300", string(300.0)),
    ] {
        for (name, tuning) in [
            ("robust", PredictiveTuning::ROBUST),
            ("fast", PredictiveTuning::FAST),
        ] {
            let base = Case::new(&tuning, wire.clone());
            let margin = base.margins().reference.delay_ms.unwrap();
            let run = 1e3 * limit(|s| base.clone().late_s(s), 0.0, 20e-3);
            println!("{name}, {on}: {margin:.2} / {run:.2}");
            // Between whole cycles a held signal is not exactly a turned one, but nearly so at a critical
            // frequency far below half the sample rate; the halving ends at 0.02 ms. A twentieth of a
            // cycle.
            assert!((margin - run).abs() < 0.1, "{margin} {run}");
            robust_and_fast.push(margin);
            // Whole cycles are exact: a late force against the margin of its channel.
            let margin = base.margins().force.delay_ms.unwrap_or(f64::INFINITY);
            for cycles in 0..=5 {
                let mut late = base.clone();
                late.around.rig.force_delay_cycles = cycles;
                let delay_ms = 1e3 * PERIOD_S * cycles as f64;
                let rho = late.assess().rho_loop;
                assert_eq!(rho < 1.0, delay_ms < margin, "{cycles}: {rho}, {margin}");
            }
        }
    }
    for pair in robust_and_fast.chunks(2) {
        assert!(pair[0] > pair[1], "robust bears more: {pair:?}");
    }
}

#[test]
fn gain_margins_are_those_of_runs() {
    for (on, wire) in [("held", Wire::Held), ("string 300", string(300.0))] {
        let base = Case::new(&PredictiveTuning::ROBUST, wire);
        let margins = base.margins();
        let with = |channel: PredictiveChannel, gain: f64| {
            let mut case = base.clone();
            *match channel {
                PredictiveChannel::Reference => &mut case.reference_gain,
                PredictiveChannel::Force => &mut case.force_gain,
                PredictiveChannel::Position => &mut case.position_gain,
            } = gain;
            case
        };
        for (channel, found) in [
            (PredictiveChannel::Reference, margins.reference),
            (PredictiveChannel::Force, margins.force),
            (PredictiveChannel::Position, margins.position),
        ] {
            println!("{on}, {channel:?}: {found:?}");
            for db in [found.gain_up_db, found.gain_down_db].into_iter().flatten() {
                let gain = 10f64.powf(db / 20.0);
                // Further out another crossing may stabilise again, so not far beyond.
                let beyond = 1.0 + 1.2 * (gain - 1.0);
                let run = limit(|g| with(channel, g), 1.0, beyond);
                println!("    {db:.2} dB: gain {gain:.4}, of runs {run:.4}");
                assert!((run / gain - 1.0).abs() < 0.01, "{run} {gain}");
            }
        }
    }
}

#[test]
fn verdicts_and_errors_name_what_is_wrong() {
    let case = Case::new(&PredictiveTuning::ROBUST, string(300.0));
    let found = case.assess();
    assert_eq!(found.observer_radius, case.design.observer_radius);
    let (channel, disk) = found.margins.unwrap().smallest_disk();
    let margins = found.margins.unwrap();
    for other in [margins.reference, margins.force, margins.position] {
        assert!(other.disk >= disk);
    }
    assert_eq!(found.verdict(0.9 * disk), Verdict::Stable);
    assert_eq!(
        found.verdict(1.1 * disk),
        Verdict::TooLittleMargin {
            channel,
            disk,
            needed: 1.1 * disk
        }
    );
    assert_ne!(found.verdict(f64::NAN), Verdict::Stable);
    let late = case.clone().late(6).assess();
    assert_eq!(late.margins, None);
    assert!(matches!(late.verdict(0.0), Verdict::Unstable { rho } if rho > 1.0));

    let error = |change: fn(&mut PredictiveSurroundings)| {
        let mut around = case.around.clone();
        change(&mut around);
        PreparedPredictive::new(&around)
            .and_then(|p| p.assess(&case.design))
            .unwrap_err()
            .to_string()
    };
    assert!(error(|s| s.extra_delay_cycles = 99).starts_with("extra_delay_cycles: is 99"));
    assert!(error(|s| s.rig.force_filter_hz = 0.0).starts_with("rig.force_filter_hz: is 0 Hz"));
    assert!(error(|s| s.rig.period_s = 1e-3).starts_with("period_s: is 0.002 s in the design"));
    assert!(error(|s| s.wire = string(900.0)).starts_with("wire.speed_kmh: is 900 km/h"));
    assert!(error(|s| s.pantograph.masses.clear()).starts_with("pantograph.masses: is empty"));
    // A mass that nothing holds.
    let adrift = |s: &mut PredictiveSurroundings| {
        s.wire = Wire::Part(LinearPart {
            a: DMatrix::identity(1, 1),
            b: DVector::from_element(1, 1e-6),
            c: DVector::from_element(1, 1.0),
        });
    };
    assert!(error(adrift).starts_with("wire: finds no rest"));
}

/// Whatever a slider asks for: the deviations are small enough that the contact stays closed.
#[test]
fn stiff_soft_and_nervous_tunings_have_a_linear_loop() {
    let robust = PredictiveTuning::ROBUST;
    for wire in [Wire::Held, string(300.0)] {
        for k_i in [5e3, 20e3, 200e3, 1e6] {
            for (pad_factor, force_noise_n, weight) in
                [(0.5, 3.0, 0.03), (1.15, 0.01, 1e-6), (3.0, 100.0, 10.0)]
            {
                let tuning = PredictiveTuning {
                    interaction_stiffness_n_per_m: k_i,
                    pad_factor,
                    force_noise_n,
                    distance_weight: weight,
                    change_weight: weight,
                    ..robust
                };
                let found = Case::new(&tuning, wire.clone()).assess();
                println!("{k_i}, {pad_factor}, {force_noise_n}: ρ {}", found.rho_loop);
                assert!(found.rho_loop.is_finite());
                assert_eq!(found.margins.is_some(), found.rho_loop < 1.0);
            }
        }
    }
}
