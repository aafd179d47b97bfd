//! Motors and pads found again in records of another integrator than the fit's own.

use super::*;
use crate::model::pantograph::{LumpedMass, Pantograph, Uplift};
use std::f64::consts::TAU;

/// A rig that is integrated by Runge and Kutta in small steps, delays as queues of them.
#[derive(Clone, Copy)]
struct Truth {
    omega: f64,
    zeta: f64,
    reference_delay: f64,
    stiffness: f64,
    damping: f64,
    force_delay: f64,
    filter_hz: f64,
    position_noise: f64,
    force_noise: f64,
}

const TRUTH: Truth = Truth {
    omega: 260.0,
    zeta: 0.55,
    reference_delay: 0.0013,
    stiffness: 120e3,
    damping: 40.0,
    force_delay: 0.0027,
    filter_hz: 80.0,
    position_noise: 2e-6,
    force_noise: 0.5,
};

const PERIOD: f64 = 0.002;
const SUBSTEPS: usize = 20;

fn head() -> Pantograph {
    let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Pantograph {
        name: "two masses".into(),
        masses: vec![mass(7.0, 9000.0, 20.0), mass(11.0, 100.0, 80.0)],
        uplift: Uplift {
            static_n: 0.0,
            per_kmh2_n: 0.0,
        },
    }
}

/// States: motor u v, head u v, frame u v, filtered force.
fn rate(t: &Truth, x: &[f64; 7], reference: f64) -> [f64; 7] {
    let p = head();
    let (h, f) = (&p.masses[0], &p.masses[1]);
    let force = t.stiffness * (x[2] - x[0]) + t.damping * (x[3] - x[1]);
    let link = h.stiffness_n_per_m * (x[2] - x[4]) + h.damping_ns_per_m * (x[3] - x[5]);
    let base = f.stiffness_n_per_m * x[4] + f.damping_ns_per_m * x[5];
    [
        x[1],
        t.omega * t.omega * (reference - x[0]) - 2.0 * t.zeta * t.omega * x[1],
        x[3],
        (-force - link) / h.mass_kg,
        x[5],
        (link - base) / f.mass_kg,
        TAU * t.filter_hz * (force - x[6]),
    ]
}

fn runge_kutta(t: &Truth, x: &mut [f64; 7], reference: f64, h: f64) {
    let add = |x: &[f64; 7], k: &[f64; 7], h: f64| {
        let mut y = *x;
        y.iter_mut().zip(k).for_each(|(y, k)| *y += h * k);
        y
    };
    let k1 = rate(t, x, reference);
    let k2 = rate(t, &add(x, &k1, 0.5 * h), reference);
    let k3 = rate(t, &add(x, &k2, 0.5 * h), reference);
    let k4 = rate(t, &add(x, &k3, h), reference);
    for i in 0..7 {
        x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
}

/// A sweep with bounded acceleration, then steps.
fn references(ticks: usize) -> Vec<f64> {
    let mut phase = 0.0;
    (0..ticks)
        .map(|k| {
            if k < 100 {
                return 0.05;
            }
            let t = (k - 100) as f64 / (ticks - 100) as f64;
            let hz = 2.0 * 50.0_f64.powf(t);
            phase += TAU * hz * PERIOD;
            let amplitude = (1.0 / (TAU * hz).powi(2)).min(1e-3);
            let steps = if (k / 400) % 2 == 1 { 1e-4 } else { 0.0 };
            0.05 + amplitude * f64::sin(phase) + steps
        })
        .collect()
}

fn record(t: &Truth, ticks: usize, seed: u64) -> Record {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut normal = move || {
        let (a, b) = (1.0 - random.f64(), random.f64());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    };
    let sent = references(ticks);
    let h = PERIOD / SUBSTEPS as f64;
    let steps = |seconds: f64| (seconds / h).round() as usize;
    let (late, old) = (steps(t.reference_delay), steps(t.force_delay));
    let mut x = [0.0; 7];
    let mut forces = vec![0.0; old + 1];
    let (mut position_m, mut force_n) = (Vec::new(), Vec::new());
    for k in 0..ticks {
        position_m.push(0.05 + x[0] + t.position_noise * normal());
        force_n.push(110.0 + forces[forces.len() - 1 - old] + t.force_noise * normal());
        for s in 0..SUBSTEPS {
            let at = (k * SUBSTEPS + s) as i64 - late as i64;
            // The reference of a frame leaves with the next exchange.
            let frame = at.div_euclid(SUBSTEPS as i64) - 1;
            let reference = usize::try_from(frame).map_or(0.05, |i| sent[i]);
            runge_kutta(t, &mut x, reference - 0.05, h);
            forces.push(x[6]);
        }
    }
    Record {
        period_s: PERIOD,
        reference_m: sent,
        position_m,
        force_n,
    }
}

fn assert_near(what: &str, found: Estimate, truth: f64, tolerance: f64) {
    let off = (found.value / truth - 1.0).abs();
    assert!(off < tolerance, "{what}: {found:?} against {truth}");
    // Five standard errors: 1 in a million.
    assert!(
        (found.value - truth).abs() < 5.0 * found.std_error + 1e-4 * truth.abs(),
        "{what}: {found:?} against {truth} is outside its confidence"
    );
}

#[test]
fn motor_pad_delays_and_filter_are_found_again_with_noise() {
    let specimen = Specimen::Lumped(head());
    let others = [
        TRUTH,
        Truth {
            omega: 150.0,
            zeta: 0.9,
            reference_delay: 0.0,
            stiffness: 400e3,
            ..TRUTH
        },
        Truth {
            omega: 480.0,
            zeta: 0.3,
            reference_delay: 0.0119,
            force_delay: 0.0005,
            filter_hz: 150.0,
            ..TRUTH
        },
        Truth {
            stiffness: 60e3,
            damping: 150.0,
            force_delay: 0.0,
            reference_delay: 0.0046,
            ..TRUTH
        },
    ];
    for (i, truth) in others.iter().enumerate() {
        let records = [record(truth, 5000, 7 + i as u64)];
        let motor = identify_motor(&records).unwrap();
        assert_near("ω alone", motor.omega_rad_per_s, truth.omega, 0.02);
        // What is left is the noise.
        assert!(
            (motor.residual_m / truth.position_noise - 1.0).abs() < 0.05,
            "{motor:?}"
        );
        let force = identify_force(&records, &motor, &specimen).unwrap();
        let (motor, force) = identify_together(&records, &motor, &force, &specimen).unwrap();
        assert_near("ω", motor.omega_rad_per_s, truth.omega, 0.01);
        assert_near("ζ", motor.damping_ratio, truth.zeta, 0.01);
        assert_near("gain", motor.gain, 1.0, 0.01);
        assert_near("k", force.pad_stiffness_n_per_m, truth.stiffness, 0.01);
        // Filter and delay trade off: a standard error of 4 % is what these records give, and their sum counts below.
        assert_near("filter", force.filter_hz.unwrap(), truth.filter_hz, 0.2);
        let lag = |delay: f64, hz: f64| delay + 1.0 / (TAU * hz);
        let found = lag(force.delay_s.value, force.filter_hz.unwrap().value);
        let expected = lag(truth.force_delay, truth.filter_hz);
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{i}: {found} against {expected} s"
        );
        // Of delays, microseconds count.
        for (found, truth) in [
            (motor.delay_s, truth.reference_delay),
            (force.delay_s, truth.force_delay),
        ] {
            let late = (found.value - truth).abs();
            assert!(late < 200e-6, "{i}: {found:?} against {truth} s");
            assert!(
                late < 5.0 * found.std_error + 1e-6,
                "{i}: {found:?} against {truth} s"
            );
        }
        assert!(
            (force.residual_n / truth.force_noise - 1.0).abs() < 0.05,
            "{i}: {force:?}"
        );
    }
}

/// 40 repetitions with other noise: the scatter of the estimates is what each of them states.
#[test]
fn the_stated_confidence_is_the_scatter_of_repetitions() {
    let specimen = Specimen::Lumped(head());
    let fits: Vec<(MotorFit, ForceFit)> = (0..40)
        .map(|seed| {
            let records = [record(&TRUTH, 2000, 1000 + seed)];
            let motor = identify_motor(&records).unwrap();
            let force = identify_force(&records, &motor, &specimen).unwrap();
            identify_together(&records, &motor, &force, &specimen).unwrap()
        })
        .collect();
    type Pick = fn(&(MotorFit, ForceFit)) -> Estimate;
    let picks: [(&str, Pick, f64); 6] = [
        ("ω", |f| f.0.omega_rad_per_s, TRUTH.omega),
        ("ζ", |f| f.0.damping_ratio, TRUTH.zeta),
        ("delay", |f| f.0.delay_s, TRUTH.reference_delay),
        ("k", |f| f.1.pad_stiffness_n_per_m, TRUTH.stiffness),
        ("force delay", |f| f.1.delay_s, TRUTH.force_delay),
        ("filter", |f| f.1.filter_hz.unwrap(), TRUTH.filter_hz),
    ];
    for (name, pick, truth) in picks {
        let n = fits.len() as f64;
        let scatter = (fits
            .iter()
            .map(|f| (pick(f).value - truth).powi(2))
            .sum::<f64>()
            / n)
            .sqrt();
        let stated = fits.iter().map(|f| pick(f).std_error).sum::<f64>() / n;
        // A deviation of 40 repetitions is known to 1/√80 = 11 %: three times that and the rounding of delays.
        assert!(
            (scatter / stated - 1.0).abs() < 0.34,
            "{name}: {scatter} scattered, {stated} stated"
        );
    }
}

#[test]
fn a_clamped_pad_is_found_from_its_force_alone() {
    let stiff = 300e3;
    let mut records = [record(&TRUTH, 4000, 3)];
    let motor = identify_motor(&records).unwrap();
    // The force of a clamped pad, unfiltered and prompt: −k (u − u₀) at the exact motor position.
    let position = motor.predict(&records[0]);
    let mut random = fastrand::Rng::with_seed(9);
    let mut noise = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    records[0].force_n = position
        .iter()
        .map(|u| 110.0 - stiff * (u - 0.05) + 0.5 * noise())
        .collect();
    let force = identify_force(&records, &motor, &Specimen::Clamped).unwrap();
    assert_near("k", force.pad_stiffness_n_per_m, stiff, 0.01);
    // A little delay and a little damping against it are the same to first order: only their sum is known well.
    let late = force.delay_s.value - force.pad_damping_ns_per_m.value / stiff;
    assert!(late.abs() < 2e-5, "{force:?}");
}

#[test]
fn what_identifies_nothing_is_refused_in_words() {
    let whole = record(&TRUTH, 1000, 1);
    let still = Record {
        reference_m: vec![0.05; 1000],
        ..whole.clone()
    };
    let text = identify_motor(&[still]).unwrap_err().to_string();
    assert!(text.contains("nothing to identify"), "{text}");
    let short = Record {
        position_m: vec![f64::NAN; 1000],
        ..whole.clone()
    };
    let text = identify_motor(&[short]).unwrap_err().to_string();
    assert!(text.starts_with("0 samples"), "{text}");
    let mut random = fastrand::Rng::with_seed(5);
    let deaf = Record {
        position_m: (0..1000).map(|_| random.f64()).collect(),
        ..whole
    };
    let text = identify_motor(&[deaf]).unwrap_err().to_string();
    assert!(text.contains("the position"), "{text}");
}
