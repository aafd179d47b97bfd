//! What the predictive controller multiplies with, against brute force.

use crate::predictive::{SimulatedRig, Truth, dsa_380};
use nalgebra::{DMatrix, DVector};
use rt_core::control::predictive::model::{MOTOR, first_order_hold};
use rt_core::control::predictive::observer::Observer;
use rt_core::control::predictive::preview::TARGETS;
use rt_core::control::predictive::{
    PredictiveDesign, PredictiveError, PredictiveRig, PredictiveTuning,
};

const PLAIN: PredictiveTuning = PredictiveTuning {
    pad_factor: 1.0,
    ..PredictiveTuning::ROBUST
};

fn design(rig: &PredictiveRig, tuning: &PredictiveTuning) -> PredictiveDesign {
    PredictiveDesign::new(rig, &dsa_380(), tuning).unwrap()
}

/// References that keep the pad on the head.
fn reference(rest: f64, k: usize) -> f64 {
    rest + 1e-4 * (0.3 * k as f64).sin() + if k > 20 { 1e-4 } else { 0.0 }
}

/// Runge–Kutta's error with 0.1 ms: (628/s · 0.1 ms)⁵/120 of a change, some 1e-8 a step.
#[test]
fn a_cycle_is_that_of_the_differential_equations() {
    for (delay, load, late) in [(0.0, 0.0, 0), (0.7e-3, 0.0, 1), (1.3e-3, 2e-6, 2)] {
        let rig = PredictiveRig {
            reference_delay_s: delay,
            motor_load_m_per_n: load,
            force_delay_cycles: late,
            ..PredictiveRig::TUR_2024
        };
        let design = design(&rig, &PLAIN);
        let mut truth = Truth::new(&dsa_380());
        truth.reference_delay_s = delay;
        truth.load = load * rig.motor_omega_rad_per_s.powi(2);
        truth.force_delay_cycles = late;
        let mut exact = SimulatedRig::at_rest(&truth, 150.0, 0.05, 50e3);
        let rest = exact.motor_position();
        let mut observer = Observer::new(design.places);
        observer.rest(&design, exact.motor_position(), exact.contact_force());
        let b = design.places.uplift();
        assert!((observer.state()[b] - 150.0).abs() < 1e-9);
        for k in 0..60 {
            let moving = b - MOTOR;
            for i in 0..moving {
                let (found, expected) = (observer.state()[i], exact.state()[i]);
                let scale = if i + 1 == moving { 150.0 } else { 0.05 };
                assert!(
                    (found - expected).abs() < 1e-6 * scale,
                    "delay {delay}, load {load}, cycle {k}, state {i}: {found} {expected}"
                );
            }
            let read = observer.state()[design.places.read_force()];
            assert!((read - exact.read_force()).abs() < 1e-3, "cycle {k}");
            assert!(exact.contact_force() > 10.0, "the pad touches");
            exact.advance(reference(rest, k));
            observer.predict(&design, reference(rest, k));
        }
    }
}

#[test]
fn the_pantograph_follows_a_motor_that_moves_evenly() {
    let p = dsa_380();
    let m = p.matrices();
    let start = [0.06, 0.1, 0.07, -0.2, 0.08, 0.3];
    let (from, to, uplift, dt) = (0.055, 0.0563, 140.0, 2e-3);
    for pad in [0.0, 240e3] {
        let hold = first_order_hold(&p, pad, dt);
        let found = &hold.phi * DVector::from_row_slice(&start)
            + &hold.gamma0 * from
            + &hold.gamma1 * to
            + &hold.gamma_b * uplift;
        let rate = |x: &DVector<f64>, t: f64| {
            let motor = from + (to - from) * t / dt;
            let mut d = DVector::zeros(6);
            for i in 0..3 {
                let mut f = if i == 0 { pad * (motor - x[0]) } else { 0.0 };
                f += if i == 2 { uplift } else { 0.0 };
                for j in 0..3 {
                    f -= m.stiffness[(i, j)] * x[2 * j] + m.damping[(i, j)] * x[2 * j + 1];
                }
                d[2 * i] = x[2 * i + 1];
                d[2 * i + 1] = f / m.mass[(i, i)];
            }
            d
        };
        let (mut x, h) = (DVector::from_row_slice(&start), dt / 200.0);
        for k in 0..200 {
            let t = h * f64::from(k);
            let k1 = rate(&x, t);
            let k2 = rate(&(&x + &k1 * (h / 2.0)), t + h / 2.0);
            let k3 = rate(&(&x + &k2 * (h / 2.0)), t + h / 2.0);
            let k4 = rate(&(&x + &k3 * h), t + h);
            x += (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0);
        }
        assert!((&found - &x).amax() < 1e-9, "{pad}: {found} {x}");
    }
}

/// The covariance followed cycle by cycle until it no longer changes.
#[test]
fn the_observer_gain_is_the_limit_of_the_filter_cycle_by_cycle() {
    for late in [0, 1] {
        let rig = PredictiveRig {
            force_delay_cycles: late,
            reference_delay_s: 0.4e-3,
            ..PredictiveRig::TUR_2024
        };
        let t = PredictiveTuning::ROBUST;
        let d = design(&rig, &t);
        let n = d.places.count();
        let b = &d.touching.b0 + &d.touching.b1;
        let h = &d.touching.head_force;
        let mut w = h * h.transpose() * 900.0 + &b * b.transpose() * 9e-8;
        w[(1, 1)] += 1e-8;
        w[(d.places.uplift(), d.places.uplift())] += 0.25;
        let mut c = DMatrix::zeros(2, n);
        c[(0, 0)] = 1.0;
        c[(1, d.places.read_force())] = 1.0;
        let v = DMatrix::from_diagonal(&DVector::from_vec(vec![4e-10, 9.0]));
        let mut p = w.clone();
        let mut gain = DMatrix::zeros(n, 2);
        for _ in 0..5000 {
            let s = &c * &p * c.transpose() + &v;
            gain = &p * c.transpose() * s.try_inverse().unwrap();
            let left = DMatrix::identity(n, n) - &gain * &c;
            // Joseph's form stays symmetric.
            p = &left * p * left.transpose() + &gain * &v * gain.transpose();
            p = &d.touching.a * p * d.touching.a.transpose() + &w;
        }
        for j in 0..2 {
            let scale = gain.column(j).amax();
            for i in 0..n {
                let (found, expected) = (d.gain[(i, j)], gain[(i, j)]);
                assert!(
                    (found - expected).abs() <= 1e-6 * expected.abs() + 1e-10 * scale,
                    "{late} cycles late, L[{i}, {j}]: {found} {expected}"
                );
            }
        }
        assert!(d.observer_radius < 1.0);
    }
}

/// The sum that the law makes smallest, as its definition reads.
fn cost(d: &PredictiveDesign, given: &[f64; 3 + TARGETS], moves: &[f64]) -> f64 {
    let (a, b0, b1) = (&d.apart.a, &d.apart.b0, &d.apart.b1);
    let [mut u, mut v, sent] = [given[0], given[1], given[2]];
    let (mut before, mut error_before) = (sent, sent - given[0]);
    let mut sum = 0.0;
    for (r, target) in moves.iter().zip(&given[3..]) {
        (u, v) = (
            a[(0, 0)] * u + a[(0, 1)] * v + b0[0] * r + b1[0] * before,
            a[(1, 0)] * u + a[(1, 1)] * v + b0[1] * r + b1[1] * before,
        );
        let error = r - target;
        sum += (u - target).powi(2)
            + d.tuning.distance_weight * error.powi(2)
            + d.tuning.change_weight * (error - error_before).powi(2);
        (before, error_before) = (*r, error);
    }
    sum
}

#[test]
fn the_preview_law_makes_the_first_move_of_the_smallest_sum() {
    let given = [0.3, 20.0, -0.2, 0.5, 0.9, -0.4, 1.1];
    for delay in [0.0, 1e-3] {
        for tuning in [PredictiveTuning::ROBUST, PredictiveTuning::FAST] {
            let rig = PredictiveRig {
                reference_delay_s: delay,
                ..PredictiveRig::TUR_2024
            };
            let d = design(&rig, &tuning);
            // A quadratic: differences give its gradient and curvature exactly but for rounding.
            let at = |changes: &[(usize, f64)]| {
                let mut moves = [0.0; TARGETS];
                for (i, by) in changes {
                    moves[*i] += by;
                }
                cost(&d, &given, &moves)
            };
            let gradient =
                DVector::from_fn(TARGETS, |i, _| (at(&[(i, 1.0)]) - at(&[(i, -1.0)])) / 2.0);
            let curvature = DMatrix::from_fn(TARGETS, TARGETS, |i, j| {
                at(&[(i, 1.0), (j, 1.0)]) - at(&[(i, 1.0)]) - at(&[(j, 1.0)]) + at(&[])
            });
            let best = -curvature.lu().solve(&gradient).unwrap();
            let law = d.preview;
            let targets = [given[3], given[4], given[5], given[6]];
            let found = law.reference(given[0], given[1], given[2], &targets);
            assert!((found - best[0]).abs() < 1e-9, "{found} {}", best[0]);
            assert!((law.sum_of_positions() - 1.0).abs() < 1e-12, "{law:?}");
        }
    }
}

#[test]
fn the_observer_finds_the_rig_and_must_know_what_was_really_sent() {
    let d = design(&PredictiveRig::TUR_2024, &PLAIN);
    let truth = Truth::new(&dsa_380());
    let surprise = |told: bool| {
        let mut rig = SimulatedRig::at_rest(&truth, 150.0, 0.05, 50e3);
        let mut observer = Observer::new(d.places);
        // It begins with a wrong force and finds the uplift itself.
        observer.rest(&d, rig.motor_position(), rig.contact_force() - 20.0);
        let mut largest = 0.0f64;
        for k in 0..3000 {
            let found = observer.correct(&d, rig.motor_position(), rig.read_force());
            if k > 2500 {
                largest = largest.max(found.normalised);
            }
            let asked = 0.053 + 5e-4 * (0.1 * f64::from(k)).sin();
            let sent = asked.min(0.0532);
            rig.advance(sent);
            observer.predict(&d, if told { sent } else { asked });
        }
        (largest, observer.uplift(d.places))
    };
    let (known, uplift) = surprise(true);
    assert!(known < 1e-4, "{known}");
    assert!((uplift - 150.0).abs() < 0.1, "{uplift}");
    let (unknown, _) = surprise(false);
    assert!(unknown > 100.0 * known, "{unknown} {known}");
}

#[test]
fn a_measurement_that_is_no_number_changes_nothing_and_is_told() {
    let d = design(&PredictiveRig::TUR_2024, &PLAIN);
    let mut observer = Observer::new(d.places);
    observer.rest(&d, 0.05, 150.0);
    let before = observer.state().clone();
    let surprise = observer.correct(&d, 0.05, f64::NAN);
    assert!(surprise.normalised >= 1e6);
    assert_eq!(*observer.state(), before);
}

#[test]
fn senseless_parameters_are_named() {
    let text = |rig: PredictiveRig, tuning: PredictiveTuning| match PredictiveDesign::new(
        &rig,
        &dsa_380(),
        &tuning,
    )
    .unwrap_err()
    {
        PredictiveError::Field(e) => e.to_string(),
        other => panic!("{other}"),
    };
    let (rig, tuning) = (PredictiveRig::TUR_2024, PredictiveTuning::ROBUST);
    for (found, expected) in [
        (
            text(
                PredictiveRig {
                    reference_delay_s: 2e-3,
                    ..rig
                },
                tuning,
            ),
            "reference_delay_s: is 0.002 s; expected at least 0 and less than the period",
        ),
        (
            text(
                PredictiveRig {
                    motor_omega_rad_per_s: f64::NAN,
                    ..rig
                },
                tuning,
            ),
            "motor_omega_rad_per_s: is NaN",
        ),
        (
            text(
                PredictiveRig {
                    force_delay_cycles: 9,
                    ..rig
                },
                tuning,
            ),
            "force_delay_cycles: is 9; expected at most 5",
        ),
        (
            text(
                rig,
                PredictiveTuning {
                    pad_factor: 0.0,
                    ..tuning
                },
            ),
            "pad_factor: is 0",
        ),
        (
            text(
                rig,
                PredictiveTuning {
                    reference_low_m: 1.0,
                    ..tuning
                },
            ),
            "reference_low_m: is 1 m",
        ),
        (
            text(
                PredictiveRig {
                    period_s: 0.05,
                    ..rig
                },
                tuning,
            ),
            "period_s: of 0.05 s is too long",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}");
    }
    let mut pantograph = dsa_380();
    pantograph.masses[1].mass_kg = 0.0;
    let error = PredictiveDesign::new(&rig, &pantograph, &tuning).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("pantograph.masses[1].mass_kg")
    );
}
