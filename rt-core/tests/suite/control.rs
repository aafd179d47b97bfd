//! The control library against published figures, scipy and python-control
//! (`reference/control_reference.py`).

use crate::support::Reference;
use nalgebra::{DMatrix, DVector};
use rt_core::control::closed_loop::{Channel, LoopParts, pantograph_on_pad};
use rt_core::control::kalman::{Kalman, KalmanTuning, NoiseReading};
use rt_core::control::lqg::{Lqg, LqgGains};
use rt_core::control::lqr::{Lqr, LqrWeights};
use rt_core::control::margins::{MarginError, margins};
use rt_core::control::newmark::{LinearPart, NewmarkBlock};
use rt_core::control::riccati;
use rt_core::control::spectrum::{eigenvalues, spectral_radius};
use rt_core::control::state_space::{Plant, RigModel, STATES};
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use rt_core::signal::butterworth::low_pass;

fn rig(k_i: f64) -> RigModel {
    let mut rig = RigModel::TUR_2024;
    rig.interaction.stiffness_n_per_m = k_i;
    rig
}

fn plant(k_i: f64) -> Plant {
    rig(k_i).plant().expect("sound parameters")
}

fn dense(plant: &Plant) -> DMatrix<f64> {
    DMatrix::from_fn(STATES, STATES, |i, j| plant.a[(i, j)])
}

/// Relative to the largest of states of the same kind: 1e-6, which published figures allow.
fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

/// Figures of an independent 60-digit computation, as many digits as were published.
#[test]
fn the_design_of_the_published_rig_has_the_published_figures() {
    let plant = plant(50e3);
    let lqr = Lqr::design(&plant, &LqrWeights::TUR_2024).unwrap();
    let published = [
        1.764479,
        9.20695e-4,
        3.83010e-7,
        0.560912,
        0.0180938,
        1.52264e-5,
        -1.664877,
        -0.0232782,
        -1.93068e-5,
        1.226794,
    ];
    for (i, expected) in published.iter().enumerate() {
        // Half a unit of the last digit printed is up to 2e-6 of the figure.
        assert!(close(lqr.gain[i], *expected, 2e-6), "{i}: {}", lqr.gain[i]);
    }
    assert!(close(spectral_radius(&dense(&plant)), 1.270452, 1e-6));
    assert!(close(lqr.spectral_radius, 0.971479, 1e-6));
    assert!((lqr.rest_gain - 0.6605).abs() < 5e-5);
    for (reading, expected) in [
        (NoiseReading::StandardDeviation, 0.950677),
        (NoiseReading::Variance, 0.955443),
    ] {
        let tuning = KalmanTuning {
            reading,
            ..KalmanTuning::TUR_2024
        };
        let kalman = Kalman::design(&plant, &tuning).unwrap();
        assert!(
            close(kalman.spectral_radius, expected, 1e-6),
            "{}",
            kalman.spectral_radius
        );
    }
}

/// K = K₉ [A₉ B₉]: the action on its way is a pure delay.
#[test]
fn the_gain_with_the_delayed_action_follows_from_that_without() {
    let full = dense(&plant(50e3));
    let a = full.view((0, 0), (9, 9)).into_owned();
    let b = full.view((0, 9), (9, 1)).into_owned();
    let mut error = DVector::zeros(9);
    error[0] = 1.0;
    error[3] = -1.0;
    let q = &error * error.transpose() * 5.0;
    let nine = riccati::solve(&a, &b, &q, &DMatrix::identity(1, 1)).unwrap();
    let expected = &nine.gain * full.rows(0, 9);
    let lqr = Lqr::design(&plant(50e3), &LqrWeights::TUR_2024).unwrap();
    for i in 0..STATES {
        assert!(close(lqr.gain[i], expected[(0, i)], 1e-8), "{i}");
    }
}

#[test]
fn gains_are_scipys() {
    let reference = Reference::load("control.txt");
    for name in ["a", "b", "c", "d"] {
        let row = reference.row(&format!("lqr_{name}"));
        let weights = LqrWeights {
            error: row[1],
            action: row[2],
        };
        let lqr = Lqr::design(&plant(row[0]), &weights).unwrap();
        assert!(close(lqr.spectral_radius, row[3], 1e-7), "{name}");
        assert!(lqr.residual < 1e-10, "{name}: {:e}", lqr.residual);
        for i in 0..STATES {
            assert!(
                close(lqr.gain[i], row[4 + i], 1e-6),
                "{name} {i}: {} {}",
                lqr.gain[i],
                row[4 + i]
            );
        }
    }
    for name in ["a", "b", "c", "d", "e"] {
        let row = reference.row(&format!("kalman_{name}"));
        let tuning = KalmanTuning {
            process: row[1],
            measurement: row[2],
            reading: if row[3] == 1.0 {
                NoiseReading::StandardDeviation
            } else {
                NoiseReading::Variance
            },
            bias_step_n: Some(row[4]).filter(|bias| !bias.is_nan()),
        };
        let kalman = Kalman::design(&plant(row[0]), &tuning).unwrap();
        assert!(close(kalman.spectral_radius, row[5], 1e-7), "{name}");
        assert!(kalman.residual < 1e-10, "{name}: {:e}", kalman.residual);
        for (i, expected) in row[6..].iter().enumerate() {
            let found = kalman.gain.as_slice()[i];
            // The smallest gains of positions, velocities, accelerations are judged by the largest.
            let largest = (i % 11 % 3..11)
                .step_by(3)
                .map(|k| row[6 + k].abs())
                .fold(0.0, f64::max);
            let difference = (found - expected).abs();
            assert!(
                difference <= 1e-6 * largest.max(expected.abs()),
                "{name} {i}: {found} {expected}"
            );
        }
    }
}

fn dsa_380() -> Pantograph {
    let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Pantograph {
        name: "DSA-380".into(),
        masses: vec![
            mass(6.6, 7e3, 0.0),
            mass(5.8, 14.1e3, 0.0),
            mass(5.8, 80.0, 70.0),
        ],
        uplift: Uplift {
            static_n: 70.0,
            per_kmh2_n: 0.00097,
        },
    }
}

/// String on an elastic layer in the frame that moves with the contact point, ends absorbing.
fn moving_string() -> LinearPart {
    let (tension, mu, layer, alpha, beta) = (31500.0, 1.4735, 51.15, 0.0125, 1e-4);
    let (speed, length, h) = (300.0 / 3.6, 80.0, 1.0);
    let n = 79;
    let band = |main: f64, above: f64, below: f64| {
        DMatrix::from_fn(n, n, |i, j| {
            if i == j {
                main
            } else if j == i + 1 {
                above
            } else if i == j + 1 {
                below
            } else {
                0.0
            }
        })
    };
    let mass = band(4.0, 1.0, 1.0) * (mu * h / 6.0);
    let curve = band(2.0, -1.0, -1.0) / h;
    let rest = &curve * tension + &mass * (layer / mu);
    let mut damping = &mass * alpha + &rest * beta - band(0.0, 1.0, -1.0) * (mu * speed);
    for i in 0..n {
        let x = (i + 1) as f64 * h;
        let edge = (1.0 - x.min(length - x) / (0.25 * length)).max(0.0);
        damping[(i, i)] += 30.0 * mu * h * edge * edge;
    }
    let mut here = DVector::zeros(n);
    here[n / 2] = 1.0;
    let stiffness = rest - curve * (mu * speed * speed);
    LinearPart::newmark(&mass, &damping, &stiffness, &here, &here, 2e-3).expect("regular")
}

fn gains(bias_step_n: Option<f64>) -> LqgGains {
    let plant = plant(50e3);
    let tuning = KalmanTuning {
        bias_step_n,
        ..KalmanTuning::TUR_2024
    };
    LqgGains {
        lqr: Lqr::design(&plant, &LqrWeights::TUR_2024).expect("a gain"),
        kalman: Kalman::design(&plant, &tuning).expect("a gain"),
    }
}

fn parts(wire: Option<LinearPart>, gains: Option<LqgGains>) -> LoopParts {
    LoopParts {
        rig: RigModel::TUR_2024,
        gains,
        wire,
        pantograph: pantograph_on_pad(&dsa_380(), 240e3, 2e-3).expect("masses"),
        pad_stiffness_n_per_m: 240e3,
        force_filter: Some(low_pass(1, 100.0, 500.0).expect("a filter")),
        extra_delay_steps: 0,
        mass: MassForm::PRINTED,
        exact_rig: None,
    }
}

#[test]
fn the_radius_of_the_whole_loop_is_numpys() {
    let reference = Reference::load("control.txt");
    let expect = |name: &str, parts: &LoopParts| {
        let matrix = parts.matrix();
        let expected = reference.row(name)[0];
        let found = spectral_radius(&matrix);
        assert!(close(found, expected, 1e-7), "{name}: {found} {expected}");
        found
    };
    assert!(expect("rho_held_uncontrolled", &parts(None, None)) > 1.2);
    expect("rho_held_bias", &parts(None, Some(gains(Some(10.0)))));
    expect(
        "rho_string_uncontrolled",
        &parts(Some(moving_string()), None),
    );
    assert!(
        expect(
            "rho_string",
            &parts(Some(moving_string()), Some(gains(None)))
        ) < 1.0
    );
    for steps in [1, 2] {
        let mut delayed = parts(Some(moving_string()), Some(gains(None)));
        delayed.extra_delay_steps = steps;
        expect(&format!("rho_string_delay_{steps}"), &delayed);
    }
    // The observer that is not told the wire height destabilises the loop.
    let mut deaf = gains(None);
    deaf.kalman.b_z.fill(0.0);
    assert!(
        expect(
            "rho_string_wire_unknown",
            &parts(Some(moving_string()), Some(deaf))
        ) > 1.004
    );
}

#[test]
fn margins_are_those_of_python_control_and_of_radius_scans() {
    let reference = Reference::load("control.txt");
    let held = parts(None, Some(gains(Some(10.0))));
    let string = parts(Some(moving_string()), Some(gains(None)));
    for (name, channel) in [
        ("reference", Channel::Reference),
        ("control", Channel::Control),
        ("force", Channel::Force),
    ] {
        for (wire, parts) in [("held", &held), ("string", &string)] {
            let row = reference.row(&format!("{wire}_{name}"));
            let found = margins(&parts.open(channel)).unwrap();
            let decibel = |gain: f64| 20.0 * gain.log10();
            let what = format!("{wire} {name}: {found:?} {row:?}");
            assert!((decibel(found.gain_up) - row[0]).abs() < 1e-4, "{what}");
            // The scans of the reference end at 12 dB.
            let down = decibel(found.gain_down);
            assert!(
                (down - row[1]).abs() < 1e-4 || (row[1].is_infinite() && down < -12.0),
                "{what}"
            );
            assert!(close(found.delay_s, row[2], 1e-5), "{what}");
            assert!(close(found.disk, row[3], 1e-5), "{what}");
        }
    }
}

#[test]
fn the_critical_gain_puts_an_eigenvalue_on_the_unit_circle() {
    let open = parts(None, Some(gains(Some(10.0)))).open(Channel::Force);
    let found = margins(&open).unwrap();
    assert!(spectral_radius(&open.closed(0.9999 * found.gain_up)) < 1.0);
    assert!(spectral_radius(&open.closed(1.0001 * found.gain_up)) > 1.0);
    let at = spectral_radius(&open.closed(found.gain_up));
    assert!((at - 1.0).abs() < 1e-6, "{at}");
}

#[test]
fn an_unstable_loop_has_no_margins() {
    let error = margins(&parts(None, None).open(Channel::Force)).unwrap_err();
    assert!(matches!(error, MarginError::Unstable { spectral_radius } if spectral_radius > 1.2));
}

/// The controller as it runs, in a loop written out by hand, against powers of the loop's matrix.
#[test]
fn the_running_controller_is_the_one_that_was_analysed() {
    let gains = gains(Some(10.0));
    let mut lqg = Lqg::new(gains, f64::INFINITY, 2e-3);
    let parts = parts(None, Some(gains));
    let matrix = parts.matrix();
    // The filter's two states, of which a first-order one uses one, come after 3 + 3 + 9.
    let mut x = DVector::zeros(matrix.nrows());
    x[0] = 1e-3;
    let rig = parts.rig;
    let interaction = NewmarkBlock::new(&rig.interaction, rig.period_s);
    let motor = NewmarkBlock::new(&rig.motor, rig.period_s);
    let mut filter = rt_core::signal::filter::CausalFilter::new(low_pass(1, 100.0, 500.0).unwrap());
    let mut x_i = nalgebra::Vector3::new(1e-3, 0.0, 0.0);
    let mut x_m = nalgebra::Vector3::zeros();
    let mut x_p = DVector::zeros(9);
    let (mut force, mut action, mut sent) = (0.0, 0.0, 0.0);
    for cycle in 0..200 {
        // The analysis starts with nothing known, and so does the controller.
        if cycle > 0 {
            action = lqg.step(0.0, [x_i[0], x_m[0]]);
        }
        let reference = x_i[0] + sent;
        sent = action;
        x_i = interaction.a * x_i + interaction.b * (force / 50e3);
        x_m = motor.a * x_m + motor.b * reference;
        x_p = &parts.pantograph.a * &x_p + &parts.pantograph.b * x_m[0];
        force = filter.step(240e3 * (x_p[0] - x_m[0]));
        x = &matrix * x;
        let scale = x.rows(0, 1).amax().max(1e-6);
        assert!(
            (x[0] - x_i[0]).abs() < 1e-9 * scale,
            "cycle {cycle}: {} {}",
            x[0],
            x_i[0]
        );
        assert!(
            (x[3] - x_m[0]).abs() < 1e-9 * scale,
            "cycle {cycle}: {} {}",
            x[3],
            x_m[0]
        );
    }
}

/// The mean force on the pantograph that the model does not know shifts the estimate and with it
/// the motor, by about 6 mm at 300 km/h; with the bias state it does not.
#[test]
fn the_bias_state_removes_the_error_of_a_constant_force() {
    let plant = plant(50e3);
    let mut errors = Vec::new();
    for bias in [None, Some(10.0)] {
        let mut lqg = Lqg::new(gains(bias), f64::INFINITY, 2e-3);
        let mut x = nalgebra::SVector::<f64, STATES>::zeros();
        let mut action = 0.0;
        for _ in 0..5000 {
            x = plant.a * x + plant.b_u * action + plant.b_f * 157.0;
            action = lqg.step(0.0, [x[0], x[3]]);
        }
        errors.push((x[0] - x[3]).abs());
        if bias.is_some() {
            assert!((lqg.estimate()[10] - 157.0).abs() < 1e-6);
            assert!(lqg.innovation()[0].abs() < 1e-12);
        }
    }
    assert!((5e-3..7e-3).contains(&errors[0]), "{errors:?}");
    assert!(errors[1] < 1e-9, "{errors:?}");
}

/// A wire step of 1 mm with the action limited to ± `limit`; largest action and last state.
fn wire_step(limit: f64) -> (f64, nalgebra::SVector<f64, STATES>) {
    let plant = plant(50e3);
    let mut lqg = Lqg::new(gains(None), limit, 2e-3);
    let mut x = nalgebra::SVector::<f64, STATES>::zeros();
    let (mut action, mut largest) = (0.0_f64, 0.0_f64);
    for _ in 0..2000 {
        let height = 1e-3;
        x = plant.a * x + plant.b_z * height + plant.b_u * action;
        action = lqg.step(height, [x[0], x[3]]);
        largest = largest.max(action.abs());
        // Without noise and with the true inputs the estimate is the state.
        assert!((lqg.estimate()[6] - x[6]).abs() < 1e-9);
    }
    (largest, x)
}

/// The rig is unstable by itself, so that it comes back from little saturation only: here a tenth
/// of what the step asks for.
#[test]
fn saturation_is_known_to_the_observer() {
    let (free, _) = wire_step(f64::INFINITY);
    let (largest, x) = wire_step(0.9 * free);
    assert_eq!(largest, 0.9 * free);
    assert!(
        (x[0] - 1e-3).abs() < 1e-9 && (x[3] - 1e-3).abs() < 1e-9,
        "{x}"
    );
}

/// ρ from ‖A^(2^(k+1))‖ / ‖A^(2^k)‖ = ρ^(2^k) · (what tends to a constant), 30 times.
fn growth_of_powers(matrix: &DMatrix<f64>) -> f64 {
    let mut power = matrix.clone();
    // ln of the norm of the 2^k-th power; that of the power before is half of it.
    let (mut logarithm, mut rate) = (0.0, 0.0);
    for k in 0..=30 {
        let norm = power.norm();
        let next = logarithm + norm.ln();
        rate = (next - 0.5 * logarithm) / f64::powi(2.0, k - 1);
        power /= norm;
        power = &power * &power;
        logarithm = 2.0 * next;
    }
    rate.exp()
}

#[test]
fn the_radius_of_the_whole_loop_is_the_growth_of_its_powers() {
    for (wire, bias, delay) in [
        (None, None, 0),
        (None, Some(1.0), 0),
        (None, Some(10.0), 3),
        (Some(moving_string()), Some(4.0), 0),
    ] {
        let mut parts = parts(wire, Some(gains(bias)));
        parts.extra_delay_steps = delay;
        let matrix = parts.matrix();
        let (found, expected) = (spectral_radius(&matrix), growth_of_powers(&matrix));
        assert!(close(found, expected, 1e-7), "{found} {expected}");
        assert_eq!(found, eigenvalues(&matrix).unwrap()[0].norm());
    }
}
