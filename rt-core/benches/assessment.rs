//! A tuning judged, and maps of stability, beside scipy in the same run.
//!
//! `PANTOBENCH_PYTHON=python3 cargo bench -p rt-core --bench assessment`; the interpreter needs
//! scipy. Without it that ratio is not measured.

#[path = "figures/all_threads.rs"]
mod all_threads;
mod figures;

use all_threads::time_of_all_threads;
use figures::{Figures, Outcome, best, wall};
use rt_core::control::assessment::{ForceFilter, Prepared, Surroundings, Tuning, Wire};
use rt_core::control::closed_loop::Channel;
use rt_core::control::stability_map::{delay_map, logarithmic_grid, stability_map};
use rt_core::control::state_space::RigModel;
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/assessment_scipy.py");

fn main() -> ExitCode {
    figures::run(|figures| {
        let rig = RigModel::TUR_2024;
        let tuning = Tuning::TUR_2024;
        let held = Prepared::new(&rig, &surroundings(Wire::Held))?;
        let wire = Wire::String(MovingString::HIGH_SPEED_300);
        let string = Prepared::new(&rig, &surroundings(wire.clone()))?;
        held.assess(&tuning)?;
        string.assess(&tuning)?;
        let calls = figures.choose(1, 50);
        let [gains, judged_held, judged_string, prepared] = figures.in_turns(15, || {
            Ok([
                best(4 * calls, || {
                    let _ = black_box(black_box(&tuning).gains(&rig));
                }),
                best(calls, || {
                    let _ = black_box(held.assess(black_box(&tuning)));
                }),
                best(calls, || {
                    let _ = black_box(string.assess(black_box(&tuning)));
                }),
                best(calls, || {
                    let _ = black_box(Prepared::new(&rig, &surroundings(wire.clone())));
                }),
            ])
        })?;
        figures.time("gains of regulator and observer", &gains)?;
        for (id, times) in [
            ("gains, radius, margins, wire held", &judged_held),
            ("gains, radius, margins, string", &judged_string),
            ("the small string", &prepared),
        ] {
            figures.ratio(id, "designs of gains", times, &gains)?;
        }
        maps(figures, &string, &tuning)?;
        beside_scipy(figures, &held, &tuning)
    })
}

fn maps(figures: &mut Figures, string: &Prepared, tuning: &Tuning) -> Outcome {
    let side = figures.choose(3, 25);
    let ratios = logarithmic_grid(0.5, 5000.0, side)?;
    let k_i = logarithmic_grid(20e3, 120e3, side)?;
    let delays: Vec<usize> = (0..side).collect();
    for threads in [1, 2] {
        let [judged, weights, weights_wall, delay, delay_wall] = figures.in_turns(9, || {
            let judged = best(figures.choose(1, 5), || {
                let _ = black_box(string.assess(black_box(tuning)));
            });
            let (mut by_weights, mut by_delay) = (None, None);
            let mut walls = [0.0; 2];
            let weights = time_of_all_threads(|| {
                walls[0] = wall(|| {
                    by_weights = Some(stability_map(string, tuning, &ratios, &k_i, threads));
                });
            });
            let delay = time_of_all_threads(|| {
                walls[1] = wall(|| {
                    by_delay = Some(delay_map(string, tuning, &delays, &k_i, threads));
                });
            });
            by_weights.ok_or("no map")??;
            by_delay.ok_or("no map")??;
            let points = (side * side) as f64;
            Ok([judged, weights / points, walls[0], delay / points, walls[1]])
        })?;
        let id = |what: &str| format!("map in {threads} threads/{what}");
        figures.time(&id("over Q/R"), &weights_wall)?;
        figures.time(&id("over delay"), &delay_wall)?;
        figures.ratio(&id("a point over Q/R"), "judgements", &weights, &judged)?;
        figures.ratio(&id("a point over delay"), "judgements", &delay, &judged)?;
    }
    Ok(())
}

/// Ratios to scipy on the same loop, if there is one.
fn beside_scipy(figures: &mut Figures, held: &Prepared, tuning: &Tuning) -> Outcome {
    let Ok(python) = std::env::var("PANTOBENCH_PYTHON") else {
        figures.left_out("ratios to scipy; set PANTOBENCH_PYTHON to a Python that has it");
        return Ok(());
    };
    let mut probe = Command::new(&python);
    let probed = probe
        .args(["-c", "import scipy"])
        .stderr(Stdio::null())
        .status();
    if !probed.is_ok_and(|status| status.success()) {
        figures.left_out(&format!("ratios to scipy, which {python} does not have"));
        return Ok(());
    }
    let calls = figures.choose(1, 100);
    let share = figures.choose("0.02", "1");
    let [gains, judged, scipy_gains, channels, shared, roots] = figures.in_turns(3, || {
        let gains = best(4 * calls, || {
            let _ = black_box(black_box(tuning).gains(&RigModel::TUR_2024));
        });
        let judged = best(calls, || {
            let _ = black_box(held.assess(black_box(tuning)));
        });
        let [theirs_gains, channels, shared, roots] = scipy(&python, share, held, tuning)?;
        Ok([gains, judged, theirs_gains, channels, shared, roots])
    })?;
    figures.ratio("gains", "times of scipy", &gains, &scipy_gains)?;
    for (id, theirs) in [
        ("margins channel by channel", channels),
        ("margins, one solution for all channels", shared),
        ("margins, eigenvalues only, as here", roots),
    ] {
        figures.ratio(id, "times of scipy", &judged, &theirs)?;
    }
    Ok(())
}

/// Times in s of the ways of `assessment_scipy.py`. Refused if its gains, radius or disk margins are others.
fn scipy(python: &str, share: &str, held: &Prepared, tuning: &Tuning) -> Outcome<[f64; 4]> {
    let mut child = Command::new(python)
        .args([SCRIPT, share])
        .env("OMP_NUM_THREADS", "1")
        .env("OPENBLAS_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{python}: {e}"))?;
    let ours = held.assess(tuning)?;
    let parts = held.loop_parts(tuning, Some(ours.gains));
    let mut input = child.stdin.take().ok_or("no standard input")?;
    for (name, channel) in [
        ("reference", Channel::Reference),
        ("control", Channel::Control),
        ("force", Channel::Force),
    ] {
        let open = parts.open(channel);
        for (part, numbers) in [
            ("a", open.a.as_slice()),
            ("b", open.b.as_slice()),
            ("c", open.c.as_slice()),
            ("d", &[open.d]),
        ] {
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            writeln!(input, "{name}_{part} {}", numbers.join(" "))?;
        }
    }
    drop(input);
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split_whitespace().flat_map(str::parse).collect())
        .collect();
    let [times, design, disks @ ..] = numbers.as_slice() else {
        return Err(format!("{SCRIPT} failed").into());
    };
    let margins = ours.margins.ok_or("the loop is unstable")?;
    let own_design: Vec<f64> = ours
        .gains
        .lqr
        .gain
        .iter()
        .copied()
        .chain([ours.rho_loop])
        .collect();
    let own_disks = [margins.reference, margins.control, margins.force].map(|m| m.disk);
    // Gains of 10 states by different methods; disks without and with refinement of the peak.
    let same = |a: &[f64], b: &[f64], tolerance: f64| {
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| (a / b - 1.0).abs() < tolerance)
    };
    if !same(design, &own_design, 1e-5) || !disks.iter().all(|d| same(d, &own_disks, 0.02)) {
        return Err(format!("found {design:?} {disks:?}, not {own_design:?} {own_disks:?}").into());
    }
    match times.as_slice() {
        times @ [_, _, _, _] if disks.len() == 3 => Ok([0, 1, 2, 3].map(|i| 1e-3 * times[i])),
        _ => Err(format!("{SCRIPT} gave {times:?}").into()),
    }
}

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
