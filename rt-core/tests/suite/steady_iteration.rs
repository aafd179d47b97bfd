//! The steady-state iteration against the direct solution, on an ideal rig: figures of an independent program.

use crate::steady::{Acceleration, Case, PERIOD_S, block, dsa_380, spans_to_one_percent, string};
use nalgebra::Complex;
use rt_core::bench::pantograph_steady::tables::Tables;
use rt_core::bench::pantograph_steady::{
    Between, ForceFilter, Mode, RigModel, Sender, rate_per_span,
};
use rt_core::rig::KnownRig;
use std::f64::consts::TAU;

#[test]
fn the_iterate_converges_to_the_direct_solution() {
    let pantograph = dsa_380();
    // At 200 km/h the spans are passed near a resonance of the string, which takes longest to settle.
    for speed in [200.0, 225.0, 250.0, 275.0, 300.0] {
        let line = string(speed);
        let case = Case {
            alpha: 0.3,
            spans: 220,
            ..Case::new(&line, &pantograph, speed)
        };
        let last = *case.run().last().unwrap();
        println!("{speed} km/h: {last:.1e} of σ");
        // Cubics between the steps are off by (ωΔt)⁴/720, 1e-6 at 25 Hz.
        assert!(last < 1e-4, "{speed} km/h: {last}");
    }
    // A mass has no masses below: nothing is integrated.
    let line = string(300.0);
    let mass = block();
    let case = Case {
        alpha: 0.3,
        spans: 150,
        ..Case::new(&line, &mass, 300.0)
    };
    let last = *case.run().last().unwrap();
    println!("mass: {last:.1e} of σ");
    assert!(last < 1e-9, "{last}");
}

/// 43–46 spans at α = 0.1, 14–16 at 0.3, 10–11 at 0.5 for 300 and 250 km/h; α = 1 diverges.
#[test]
fn spans_to_one_percent_are_those_of_the_independent_program() {
    let pantograph = dsa_380();
    for (speed, expected) in [
        (300.0, [(0.1, 43), (0.3, 14), (0.5, 10)]),
        (250.0, [(0.1, 46), (0.3, 16), (0.5, 11)]),
    ] {
        let line = string(speed);
        for (alpha, spans) in expected {
            let case = Case {
                alpha,
                ..Case::new(&line, &pantograph, speed)
            };
            let found = spans_to_one_percent(&case.run()).unwrap();
            println!("{speed} km/h, α {alpha}: {found} spans");
            assert!(found.abs_diff(spans) <= 2, "{speed} {alpha}: {found}");
        }
        let case = Case {
            alpha: 1.0,
            ..Case::new(&line, &pantograph, speed)
        };
        assert!(*case.run().last().unwrap() > 1e3, "α = 1 must diverge");
    }
}

#[test]
fn an_acceleration_from_sampled_heights_bears_only_a_small_relaxation() {
    let (pantograph, line) = (dsa_380(), string(300.0));
    let last = |alpha: f64| {
        let case = Case {
            alpha,
            acceleration: Acceleration::OfSamples,
            ..Case::new(&line, &pantograph, 300.0)
        };
        *case.run().last().unwrap()
    };
    assert!(last(0.1) < 0.1, "{}", last(0.1));
    assert!(last(0.3) > 1e2, "{}", last(0.3));
}

/// The whole span at once converges below α = 0.34 only.
#[test]
fn a_full_span_needs_a_smaller_relaxation() {
    let (pantograph, line) = (dsa_380(), string(300.0));
    let errors = |alpha: f64| {
        let case = Case {
            alpha,
            mode: Mode::FullSpan,
            spans: 120,
            ..Case::new(&line, &pantograph, 300.0)
        };
        case.run()
    };
    let slow = errors(0.3);
    assert!(slow.last().unwrap() < &1e-3, "{:?}", slow.last());
    let fast = errors(0.4);
    assert!(fast.last().unwrap() > &1.0, "{:?}", fast.last());
}

/// 19 ms of delay: compensated 0.2 % within 80 spans, uncompensated 59 %, one cycle short 4.5 %, four cycles too
/// many diverges.
#[test]
fn a_delay_of_19_cycles_behaves_as_known() {
    let (pantograph, line) = (dsa_380(), string(300.0));
    let errors = |ahead: f64| {
        let case = Case {
            delay: 19,
            ahead,
            spans: 80,
            ..Case::new(&line, &pantograph, 300.0)
        };
        case.run()
    };
    let last = |ahead: f64| *errors(ahead).last().unwrap();
    let found = [last(19.0), last(0.0), last(18.0)];
    println!(
        "compensated {:.4}, not {:.3}, one short {:.4}",
        found[0], found[1], found[2]
    );
    assert!(found[0] < 2e-3, "{found:?}");
    assert!((found[1] - 0.59).abs() < 0.01, "{found:?}");
    assert!((found[2] - 0.045).abs() < 0.001, "{found:?}");
    let over = errors(23.0);
    assert!(over[79] > 1.05 * over[69], "{:?}", &over[60..]);
}

/// A stiff and prompt rig with a delay, as it is known.
fn rig(delay_s: f64) -> KnownRig {
    KnownRig {
        motor_omega_rad_per_s: 500.0,
        motor_damping_ratio: 0.7,
        reference_delay_s: delay_s,
        force_delay_s: 2e-3,
        force_filter_hz: Some(200.0),
        pad_stiffness_n_per_m: 5e6,
        pad_damping_ns_per_m: 800.0,
    }
}

/// The predicted rate ρ is the largest root of the characteristic equation of the time-invariant loop,
///
///   1 = α/(1 − (1−α) z^{−N}) G(z) P(z),  |z|^N = ρ,
///
/// with G from the harmonics and P the rig's answer to a pulse: as many roots lie outside a circle as
/// the left side less the right one turns about zero along it (the argument principle).
#[test]
fn the_predicted_rate_is_a_root_of_the_characteristic_equation() {
    let (pantograph, line) = (dsa_380(), string(300.0));
    let steps = line.steps;
    for (alpha, over) in [(0.1, 0.0), (0.2, -1.0), (0.1, 5.0)] {
        let known = rig(11.9e-3);
        let ahead = known.loop_lag_s(PERIOD_S) / PERIOD_S + over;
        let model = RigModel::new(&known, &pantograph, PERIOD_S).unwrap();
        let mut filter = ForceFilter::new(21).unwrap();
        let gains: Vec<f64> = (0..line.response.count())
            .map(|k| filter.gain(TAU * k as f64 / steps as f64))
            .collect();
        let response = line.response.clone().undo(&gains);
        let tables = Tables::new(&response, &line.rest, steps, ahead);
        let sender = Sender::new(1, Between::Steps);
        let rate = rate_per_span(
            &tables,
            Mode::SingleStep,
            alpha,
            model.clone(),
            sender,
            filter.clone(),
        );
        println!("α {alpha}, {over:+} cycles: rate {rate:.4}");

        let mut pulse = model;
        let answer: Vec<f64> = (0..9000)
            .map(|n| {
                let force = filter.step(pulse.force());
                pulse.advance(if n == 0 { 1.0 } else { 0.0 });
                force
            })
            .collect();
        let n = steps as f64;
        let whole = ahead + filter.delay() as f64;
        let outside = |rate: f64| {
            let radius = rate.powf(1.0 / n);
            let points = steps * 8;
            let value = |i: f64| {
                let z = Complex::from_polar(radius, TAU * i / (2 * points) as f64).inv();
                let z_n = Complex::from_polar(1.0 / rate, -TAU * n * i / (2 * points) as f64);
                let p = answer.iter().rev().fold(z * 0.0, |sum, p| sum * z + *p);
                let count = line.response.count() as isize;
                let g: Complex<f64> = (1 - count..count)
                    .map(|k| {
                        let turn = TAU * k as f64 / n;
                        let sum = (-z_n + 1.0) / (-z * Complex::from_polar(1.0, turn) + 1.0);
                        response.get(k, k) * Complex::from_polar(1.0, turn * whole) * sum / n
                    })
                    .sum();
                -g * p * alpha / (-z_n * (1.0 - alpha) + 1.0) + 1.0
            };
            // Half a circle; the other half is its mirror image. Finer where it turns fast.
            let (mut turned, mut last) = (0.0, value(0.0));
            for i in 0..points {
                let (mut place, mut step) = (i as f64, 1.0);
                while place < (i + 1) as f64 {
                    let next = value(place + step);
                    let turn = (next / last).arg();
                    if turn.abs() > 1.0 && step > 1e-4 {
                        step /= 2.0;
                        continue;
                    }
                    turned += turn;
                    place += step;
                    last = next;
                }
            }
            (-turned * 2.0 / TAU).round()
        };
        assert_eq!(outside(1.01 * rate), 0.0, "α {alpha}, {over}: {rate}");
        assert!(outside(0.98 * rate) >= 1.0, "α {alpha}, {over}: {rate}");
        assert_eq!(rate > 1.0, over > 3.0, "{rate}");
    }
}
