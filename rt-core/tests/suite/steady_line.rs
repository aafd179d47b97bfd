//! The line without end: its answer to a moving force against the same line stepped through time, and what a
//! pantograph makes of it against the implicit solver.

use crate::steady::{Case, PERIOD_S, dsa_380};
use rt_core::bench::pantograph_steady::{SteadyLine, SteadyWire};
use rt_core::model::catenary::{Coupling, FullWire, Line, LinearLine, Run, WireModel};
use rt_core::model::moving_load::harmonics_of;
use rt_core::signal::butterworth::low_pass;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn line_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/lines/stitched-sw.ron")
}

/// The shipped line with more spans, so that its ends are far away.
fn long_line(spans: usize, mesh_m: f64) -> Arc<LinearLine> {
    let mut line: Line = rt_core::file::load(&line_file()).unwrap();
    line.section[1].repeat = spans - 1;
    Arc::new(LinearLine::build(&line, mesh_m).unwrap())
}

fn endless(speed_kmh: f64, mesh_m: f64, harmonics: usize) -> SteadyLine {
    let wire = SteadyWire::Line {
        file: line_file().display().to_string(),
        mesh_m,
    };
    let started = std::time::Instant::now();
    let line = wire
        .at_speed(Path::new(""), speed_kmh, Some(harmonics), PERIOD_S)
        .unwrap();
    println!(
        "{harmonics} harmonics at {speed_kmh} km/h: {:.1} s",
        started.elapsed().as_secs_f64()
    );
    line
}

#[test]
fn the_answer_to_slow_forces_is_that_of_a_long_line_stepped_through_time() {
    compare_with_a_long_line(&[(0, 1), (2, 1), (5, 1)]);
}

#[test]
fn the_answer_to_fast_forces_is_that_of_a_long_line_stepped_finely_through_time() {
    compare_with_a_long_line(&[(5, 4), (11, 4)]);
}

/// A force of some newtons that leaves all droppers tight, along 60 spans: harmonics of the span, and steps a cycle.
fn compare_with_a_long_line(forces: &[(i32, u32)]) {
    let (mesh, speed_kmh) = (2.0, 300.0);
    let endless = endless(speed_kmh, mesh, 16);
    let line = long_line(60, mesh);
    let span = 65.0;
    let v = endless.speed_kmh / 3.6;
    for &(harmonic, per_cycle) in forces {
        let dt = PERIOD_S / f64::from(per_cycle);
        let omega = TAU * v / span * f64::from(harmonic);
        let mut wire = FullWire::new(line.clone(), dt).unwrap();
        wire.reset();
        let from = 16.0 * span;
        let steps = endless.steps * per_cycle as usize;
        let mut rise = Vec::new();
        // The force comes in over five spans; the 29th and 30th are looked at.
        for n in 0..30 * steps {
            let t = n as f64 * dt;
            let travelled = v * t;
            let ramp = (travelled / (5.0 * span)).min(1.0);
            let force = 5.0 * ramp * ramp * (3.0 - 2.0 * ramp) * (omega * t).cos();
            let x = from + travelled;
            wire.predict(x);
            rise.push((wire.respond(force) - line.rest_height(x)) / 5.0);
            wire.commit();
        }
        assert_eq!(wire.slack_droppers(), 0);
        // The harmonics that are kept, of two spans: under a cosine U_k = ½ (H_kj + H̄_{−k,j}).
        let seen: Vec<f64> = rise[28 * steps..30 * steps].to_vec();
        let found = harmonics_of(&seen, 2 * 16);
        let j = harmonic as isize;
        let (mut error, mut size) = (0.0, 0.0);
        for k in 0..16_isize {
            let expected = if harmonic == 0 {
                endless.response.get(k, 0)
            } else {
                0.5 * (endless.response.get(k, j) + endless.response.get(-k, j).conj())
            };
            error += (found[2 * k.unsigned_abs()] - expected).norm_sqr();
            size += expected.norm_sqr();
        }
        let part = f64::sqrt(error / size);
        println!("harmonic {harmonic}, {dt} s: {part:.4} of its size");
        // The second harmonic leaves waves that run along with the train and die away slowly; the fifth shows what
        // steps of a whole cycle cost.
        let allowed = match (harmonic, per_cycle) {
            (2, _) => 0.07,
            (5, 1) => 0.04,
            _ => 0.015,
        };
        assert!(part < allowed, "harmonic {harmonic}: {part}");
    }
}

/// Iterate, direct solution and implicit solver, 0 to 20 Hz, with a hard contact.
#[test]
fn the_converged_force_is_that_of_the_implicit_solver_in_central_spans() {
    const CONTACT: f64 = 5e6;
    let pantograph = dsa_380();
    for speed in [250.0, 300.0] {
        let mesh = 1.0;
        let harmonics = (25.0 * 65.0 / (speed / 3.6)) as usize + 1;
        let endless = endless(speed, mesh, harmonics);
        let case = Case {
            alpha: 0.1,
            contact: 1.0 / CONTACT,
            spans: 160,
            ..Case::new(&endless, &pantograph, speed)
        };
        let direct = case.direct();
        let errors = case.run();
        let iterate = *errors.last().unwrap();
        println!("{speed} km/h: iterate {iterate:.1e} of σ from the direct solution");
        assert!(iterate < 1e-3, "{iterate}");

        let file: Line = rt_core::file::load(&line_file()).unwrap();
        let line = Arc::new(LinearLine::build(&file, mesh).unwrap());
        let run = Run {
            coupling: Coupling::Implicit { stiffness: CONTACT },
            ..Run::new(&line, &pantograph, speed).unwrap()
        };
        let dt = 5e-4;
        let mut wire = FullWire::new(line.clone(), dt).unwrap();
        let series = run
            .simulate(&line, &mut wire, &pantograph, &mut |_| ())
            .unwrap();
        let filter = low_pass(4, 20.0, 1.0 / dt).unwrap();
        let implicit = filter.zero_phase(&series.force).unwrap();
        // The same filter on the harmonics: both ways, so the square of its gain.
        let first_hz = endless.response.omega() / TAU;
        let mut filtered = direct.clone();
        for (k, f) in filtered.harmonics.iter_mut().enumerate() {
            *f *= filter.response(k as f64 * first_hz).norm_sqr();
        }
        let (from, to) = (8.0 * 65.0, 13.0 * 65.0);
        let (mut square, mut count, mut sum, mut squares) = (0.0, 0.0, 0.0, 0.0);
        let mut slack = 0;
        for ((x, force), now_slack) in series.x.iter().zip(&implicit).zip(&series.slack) {
            if (from..to).contains(x) {
                let expected = filtered.at((x / 65.0).fract());
                square += (force - expected).powi(2);
                sum += force;
                squares += force * force;
                count += 1.0;
                slack = slack.max(*now_slack);
            }
        }
        let mean = sum / count;
        let std = (squares / count - mean * mean).sqrt();
        let error = (square / count).sqrt() / mean;
        println!(
            "{speed} km/h: error {:.2} % of the mean; endless {:.2} ± {:.2} N, implicit {mean:.2} ± {std:.2} N, \
             up to {slack} droppers slack",
            100.0 * error,
            filtered.mean(),
            filtered.std()
        );
        assert!(error < 0.05, "{speed} km/h: {error}");
    }
}
