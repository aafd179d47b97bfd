//! Judging a tuning and mapping stability, against published figures, scipy and the endless string.

use crate::support::Reference;
use nalgebra::{Complex, DMatrix, DVector};
use rt_core::control::assessment::{
    Assessment, ForceFilter, LoopMargins, Prepared, Surroundings, Tuning, Verdict, Wire, assess,
};
use rt_core::control::closed_loop::Channel;
use rt_core::control::newmark::LinearPart;
use rt_core::control::spectrum::{eigenvalues, spectral_radius};
use rt_core::control::stability_map::{delay_map, logarithmic_grid, stability_map};
use rt_core::control::state_space::RigModel;
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};

const STRING: MovingString = MovingString::HIGH_SPEED_300;
const LITERAL: Tuning = Tuning {
    bias_step_n: None,
    ..Tuning::TUR_2024
};

fn surroundings(wire: Wire) -> Surroundings {
    let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
        mass_kg,
        stiffness_n_per_m,
        damping_ns_per_m,
    };
    Surroundings {
        wire,
        pantograph: Pantograph {
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
        },
        pad_stiffness_n_per_m: 240e3,
        force_filter: ForceFilter::FirstOrder { cutoff_hz: 100.0 },
        extra_delay_steps: 0,
        mass: MassForm::PRINTED,
        exact_rig: None,
    }
}

fn prepared(wire: Wire) -> Prepared {
    Prepared::new(&RigModel::TUR_2024, &surroundings(wire)).expect("sound surroundings")
}

fn on(wire: Wire, tuning: &Tuning) -> Assessment {
    prepared(wire).assess(tuning).expect("gains")
}

fn radius(prepared: &Prepared, tuning: &Tuning) -> f64 {
    let gains = tuning.gains(prepared.rig()).expect("gains");
    spectral_radius(&prepared.loop_parts(tuning, Some(gains)).matrix())
}

/// Figures of an independent 60-digit computation, to the digits published.
#[test]
fn the_published_design_is_reached() {
    let found = on(Wire::Held, &LITERAL);
    let close =
        |a: f64, b: f64, tolerance: f64| assert!((a / b - 1.0).abs() < tolerance, "{a} {b}");
    for (i, expected) in [(0, 1.764479), (3, 0.560912), (6, -1.664877), (9, 1.226794)] {
        close(found.gains.lqr.gain[i], expected, 1e-6);
    }
    close(found.rho_open, 1.270452, 1e-6);
    close(found.rho_lqr, 0.971479, 1e-6);
    close(found.rho_estimator, 0.950677, 1e-6);
    close(found.eig_open[0].norm(), 1.270452, 1e-6);
    assert_eq!(found.eig_open.len(), 10);
    // A L, entry by entry.
    let expected = found.gains.kalman.a * found.gains.kalman.gain;
    assert_eq!(found.l_predictor, expected);
}

/// The same loop as that of `control_reference.py`, whose margins are python-control's.
#[test]
fn margins_with_the_wire_held_are_python_controls() {
    let reference = Reference::load("control.txt");
    let found = on(Wire::Held, &Tuning::TUR_2024);
    let rho = reference.row("rho_held_bias")[0];
    assert!((found.rho_loop - rho).abs() < 1e-7);
    let LoopMargins {
        reference: first,
        control,
        force,
    } = found.margins.unwrap();
    for (name, margin) in [("reference", first), ("control", control), ("force", force)] {
        let row = reference.row(&format!("held_{name}"));
        let what = format!("{name}: {margin:?} {row:?}");
        assert!((margin.gain_up_db.unwrap() - row[0]).abs() < 1e-4, "{what}");
        // The scans of the reference end at 12 dB.
        let down = margin.gain_down_db.unwrap_or(f64::NEG_INFINITY);
        assert!(
            (down - row[1]).abs() < 1e-4 || (row[1].is_infinite() && down < -12.0),
            "{what}"
        );
        assert!(
            (margin.delay_ms.unwrap() / (1e3 * row[2]) - 1.0).abs() < 1e-5,
            "{what}"
        );
        assert!((margin.disk / row[3] - 1.0).abs() < 1e-5, "{what}");
    }
}

/// Why the default has its bias step: stable on both wires, and so are steps around it.
#[test]
fn the_default_is_stable_on_both_wires() {
    let wires = [prepared(Wire::Held), prepared(Wire::String(STRING))];
    for step in [
        None,
        Some(0.3),
        Some(1.0),
        Some(3.0),
        Some(10.0),
        Some(30.0),
    ] {
        let tuning = Tuning {
            bias_step_n: step,
            ..Tuning::TUR_2024
        };
        println!(
            "{step:?}: {:?}",
            wires.each_ref().map(|w| radius(w, &tuning))
        );
    }
    for wire in &wires {
        assert!(radius(wire, &Tuning::TUR_2024) < 1.0);
    }
}

/// det(zI − M(h)) of the loop on a wire of the plain compliance h, z⁺ = h F, is linear in h. A
/// wire of any compliance H(z) puts it in the place of h: the endless string without any mesh.
fn characteristic(tuning: &Tuning, z: Complex<f64>) -> Complex<f64> {
    let s = (z - 1.0) / (z + 1.0) * (2.0 / 2e-3);
    let h = STRING.compliance(s);
    let at = |compliance: f64| {
        let part = LinearPart {
            a: DMatrix::zeros(1, 1),
            b: DVector::from_element(1, compliance),
            c: DVector::from_element(1, 1.0),
        };
        let prepared = prepared(Wire::Part(part));
        let gains = tuning.gains(prepared.rig()).expect("gains");
        let mut m = prepared.loop_parts(tuning, Some(gains)).matrix();
        // In balanced units, which leave the determinant alone.
        nalgebra::linalg::balancing::balance_parlett_reinsch(&mut m);
        let n = m.nrows();
        (DMatrix::from_diagonal_element(n, n, z) - m.map(Complex::from)).determinant()
    };
    let unit = 1e-4;
    let none = at(0.0);
    none + (at(unit) - none) * (h / unit)
}

/// The eigenvalue of the loop on the endless string nearest to a guess, by the secant method.
fn endless_eigenvalue(tuning: &Tuning, guess: Complex<f64>) -> Complex<f64> {
    let (mut before, mut here) = (guess * 1.0001, guess);
    let mut value_before = characteristic(tuning, before);
    for _ in 0..30 {
        let value = characteristic(tuning, here);
        let step = value * (here - before) / (value - value_before);
        (before, value_before) = (here, value);
        here -= step;
        if step.norm() < 1e-12 {
            break;
        }
    }
    here
}

/// The largest eigenvalue above 3 Hz. Below, waves along the hardly damped wire are as close to 1
/// whatever the controller does.
fn loop_mode(matrix: &DMatrix<f64>) -> Complex<f64> {
    let all = eigenvalues(matrix).expect("eigenvalues");
    let fast = |z: &&Complex<f64>| z.arg().abs() > std::f64::consts::TAU * 3.0 * 2e-3;
    *all.iter().find(fast).expect("a fast mode")
}

#[test]
fn the_radius_on_the_small_string_is_that_on_the_endless_one() {
    let small = prepared(Wire::String(STRING));
    for (q, k_i, bias) in [
        (5.0, 50e3, None),
        (5.0, 50e3, Some(10.0)),
        (5.0, 70e3, None),
        (100.0, 40e3, None),
    ] {
        let tuning = Tuning {
            q,
            k_i_n_per_m: k_i,
            bias_step_n: bias,
            ..Tuning::TUR_2024
        };
        let gains = tuning.gains(small.rig()).unwrap();
        let matrix = small.loop_parts(&tuning, Some(gains)).matrix();
        let largest = loop_mode(&matrix);
        let exact = endless_eigenvalue(&tuning, largest);
        let (found, exact) = (largest.norm(), exact.norm());
        println!("q {q}, k_i {k_i}, {bias:?}: {found:.6} small, {exact:.6} endless");
        assert!((found - exact).abs() < 2e-4, "{found} {exact}");
    }
}

/// Published for another discretisation of a string: disk 0.32, 0.10, 0.28; ρ 0.9985.
#[test]
fn margins_on_the_string_are_near_the_published_ones() {
    let string = prepared(Wire::String(STRING));
    let found = string.assess(&LITERAL).unwrap();
    let matrix = string.loop_parts(&LITERAL, Some(found.gains)).matrix();
    let mode = loop_mode(&matrix).norm();
    println!(
        "ρ {}, of the loop {mode}, {:?}",
        found.rho_loop, found.margins
    );
    let margins = found.margins.unwrap();
    assert!((mode - 0.9985).abs() < 5e-4, "{mode}");
    for (channel, disk) in [
        (margins.reference, 0.32),
        (margins.control, 0.10),
        (margins.force, 0.28),
    ] {
        assert!(
            (channel.disk / disk - 1.0).abs() < 0.3,
            "{channel:?} {disk}"
        );
    }
}

#[test]
fn verdicts_name_what_is_wrong() {
    let string = prepared(Wire::String(STRING));
    let found = string.assess(&LITERAL).unwrap();
    assert_eq!(found.verdict(0.01), Verdict::Stable);
    let verdict = found.verdict(0.2);
    assert!(
        matches!(verdict, Verdict::TooLittleMargin { channel: Channel::Control, disk, needed }
            if disk < 0.2 && needed == 0.2),
        "{verdict:?}"
    );
    let stiff = Tuning {
        k_i_n_per_m: 200e3,
        ..LITERAL
    };
    let found = string.assess(&stiff).unwrap();
    assert!(matches!(found.verdict(0.0), Verdict::Unstable { rho } if rho > 1.0));
    assert_eq!(found.margins, None);
    // A margin that is not a number accepts nothing.
    let found = string.assess(&LITERAL).unwrap();
    assert_ne!(found.verdict(f64::NAN), Verdict::Stable);
}

#[test]
fn bad_input_is_named() {
    let rig = RigModel::TUR_2024;
    let sound = surroundings(Wire::Held);
    let text = |tuning: &Tuning, surroundings: &Surroundings| {
        assess(&rig, tuning, surroundings).unwrap_err().to_string()
    };
    let tuning = Tuning {
        k_i_n_per_m: 5.0,
        ..LITERAL
    };
    assert!(text(&tuning, &sound).starts_with("k_i_n_per_m: is 5 N/m; expected"));
    let tuning = Tuning {
        q: f64::NAN,
        ..LITERAL
    };
    assert!(text(&tuning, &sound).starts_with("q: is NaN"));
    let mut late = sound.clone();
    late.extra_delay_steps = 1000;
    assert!(text(&LITERAL, &late).starts_with("extra_delay_steps: is 1000"));
    let mut filtered = sound.clone();
    filtered.force_filter = ForceFilter::FirstOrder { cutoff_hz: 300.0 };
    assert!(text(&LITERAL, &filtered).starts_with("force filter: the cut-off is 300 Hz"));
}

#[test]
fn maps_hold_the_radius_of_each_point_whatever_the_threads() {
    let held = prepared(Wire::Held);
    let ratios = logarithmic_grid(1.0, 100.0, 3).unwrap();
    let k_i = logarithmic_grid(25e3, 100e3, 3).unwrap();
    let map = stability_map(&held, &Tuning::TUR_2024, &ratios, &k_i, 2).unwrap();
    let one = stability_map(&held, &Tuning::TUR_2024, &ratios, &k_i, 1).unwrap();
    assert_eq!(map, one);
    for (row, ratio) in ratios.iter().enumerate() {
        for (column, k_i) in k_i.iter().enumerate() {
            let tuning = Tuning {
                q: *ratio,
                k_i_n_per_m: *k_i,
                ..Tuning::TUR_2024
            };
            assert_eq!(map.rho[row][column], Some(radius(&held, &tuning)));
        }
    }
    let delays = delay_map(&held, &Tuning::TUR_2024, &[0, 2], &k_i, 2).unwrap();
    assert_eq!((delays.rho.len(), delays.rho[1].len()), (2, 3));
    let mut late = surroundings(Wire::Held);
    late.extra_delay_steps = 2;
    let late = Prepared::new(&RigModel::TUR_2024, &late).unwrap();
    assert_eq!(delays.rho[1][1], Some(radius(&late, &Tuning::TUR_2024)));
    assert!(stability_map(&held, &Tuning::TUR_2024, &[-1.0], &k_i, 1).is_err());
    assert!(delay_map(&held, &Tuning::TUR_2024, &[1000], &k_i, 1).is_err());
    assert!(logarithmic_grid(0.0, 1.0, 5).is_err() && logarithmic_grid(1.0, 2.0, 1).is_err());
}

/// Published: stable for k_i of about 31 to 85 kN/m at Q = 5 on the string.
#[test]
fn the_stable_window_of_the_stiffness_is_about_the_published_one() {
    let string = prepared(Wire::String(STRING));
    let k_i = logarithmic_grid(20e3, 120e3, 37).unwrap();
    let map = stability_map(&string, &LITERAL, &[5.0], &k_i, 2).unwrap();
    let stable: Vec<f64> = map.rho[0]
        .iter()
        .zip(&k_i)
        .filter(|(rho, _)| rho.is_some_and(|rho| rho < 1.0))
        .map(|(_, k_i)| *k_i)
        .collect();
    println!("{:?} to {:?}", stable.first(), stable.last());
    assert!((27e3..35e3).contains(stable.first().unwrap()));
    assert!((75e3..95e3).contains(stable.last().unwrap()));
}
