//! The profile bench on the simulated rig against the closed-form steady state of its linear plant.

use integration_tests::{ExactRun, project_root, session_from, shipped_session};
use nalgebra::{Complex, DMatrix, DVector};
use rt_core::file;
use rt_core::guard::State;
use rt_core::model::pantograph::Pantograph;
use std::f64::consts::TAU;

const UPLIFT_N: f64 = 120.0;
const PAD_N_PER_M: f64 = 240_000.0;
const PAD_NS_PER_M: f64 = 10.0;
const MOTOR_OMEGA: f64 = 212.132034356;
const MOTOR_ZETA: f64 = 0.424264068712;

fn dsa_380() -> Pantograph {
    file::load(&project_root().join("assets/pantographs/dsa-380.ron")).unwrap()
}

/// Contact force per metre of reference at an angular frequency: motor 1/(1 − (ω/ω_m)² + 2jζω/ω_m),
/// then (−ω²M + jωC + K + p e₁e₁ᵀ) u = p e₁ u_m and F = p (u₁ − u_m) with the pad p = k + jωc.
fn continuous(w: f64) -> Complex<f64> {
    let ratio = w / MOTOR_OMEGA;
    let motor = Complex::new(1.0 - ratio * ratio, 2.0 * MOTOR_ZETA * ratio).inv();
    let pad = Complex::new(PAD_N_PER_M, w * PAD_NS_PER_M);
    let m = dsa_380().matrices();
    let n = m.mass.nrows();
    let mut dynamic = DMatrix::from_fn(n, n, |i, j| {
        Complex::new(
            m.stiffness[(i, j)] - w * w * m.mass[(i, j)],
            w * m.damping[(i, j)],
        )
    });
    dynamic[(0, 0)] += pad;
    let mut load = DVector::from_element(n, Complex::new(0.0, 0.0));
    load[0] = pad * motor;
    let u = dynamic.lu().solve(&load).unwrap();
    (u[0] - motor) * pad
}

/// The same with a reference that is held for T and a force that is sampled every T: all images of
/// the held sine fold back, (1 − e^{−jωT})/T · Σₙ G(j(ω + 2πn/T)) / (j(ω + 2πn/T)).
fn held_and_sampled(hz: f64) -> Complex<f64> {
    let (w, t) = (TAU * hz, 0.002);
    let images = (-300..=300).map(|n| {
        let image = w + TAU * f64::from(n) / t;
        continuous(image) / Complex::new(0.0, image)
    });
    (Complex::from(1.0) - Complex::new(0.0, -w * t).exp()) / t * images.sum::<Complex<f64>>()
}

/// Static force with the motor at height 0: the uplift comes through the chain to the pad.
fn static_force() -> f64 {
    let mut k = dsa_380().matrices().stiffness;
    k[(0, 0)] += PAD_N_PER_M;
    let mut load = DVector::zeros(k.nrows());
    load[k.nrows() - 1] = UPLIFT_N;
    PAD_N_PER_M * k.lu().solve(&load).unwrap()[0]
}

fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, var.sqrt())
}

/// Force while running, without the first `skip_s` seconds.
fn steady_force(run: &mut ExactRun, skip_s: f64) -> Vec<f64> {
    run.start();
    assert!(run.until(State::Idle, 100_000));
    let force = run.column("force");
    let running = run
        .frames
        .iter()
        .zip(force)
        .filter(|(f, _)| f.state == State::Running);
    let all: Vec<f64> = running.map(|(_, v)| v).collect();
    all[(skip_s / 0.002) as usize..].to_vec()
}

#[test]
fn the_shipped_sine_has_the_force_of_the_closed_form() {
    let mut run = ExactRun::new(&shipped_session("profile-sine.ron"));
    let (mean, std) = mean_and_std(&steady_force(&mut run, 22.0));
    let exact_std = 0.01 * held_and_sampled(1.0).norm() / 2_f64.sqrt();
    // What is left is the transient of the entry, 20 s later.
    assert!(
        (std / exact_std - 1.0).abs() < 1e-4,
        "σ {std} N against {exact_std} N"
    );
    assert!(
        (mean / static_force() - 1.0).abs() < 1e-4,
        "mean {mean} N against {} N",
        static_force()
    );
}

#[test]
fn other_frequencies_agree_too() {
    for (hz, amplitude) in [(0.5, 0.01), (4.0, 0.002), (10.0, 0.0004)] {
        let text = format!(
            r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: {amplitude}, frequency_hz: {hz})),
            rig: "../assets/rigs/simulated-dsa-380-ideal.ron", seconds: 52.0)"#
        );
        let mut run = ExactRun::new(&session_from(&text));
        let (_, std) = mean_and_std(&steady_force(&mut run, 32.0));
        let exact = amplitude * held_and_sampled(hz).norm() / 2_f64.sqrt();
        assert!(
            (std / exact - 1.0).abs() < 1e-4,
            "{hz} Hz: {std} against {exact}"
        );
    }
}
