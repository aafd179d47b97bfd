//! A tuning judged, and maps of stability, beside scipy in the same run.
//!
//! `PANTOBENCH_PYTHON=python3 cargo bench -p rt-core --bench assessment`; the interpreter needs
//! scipy. Without it the ratios are not measured.

use rt_core::control::assessment::{ForceFilter, Prepared, Surroundings, Tuning, Wire};
use rt_core::control::closed_loop::Channel;
use rt_core::control::stability_map::{delay_map, logarithmic_grid, stability_map};
use rt_core::control::state_space::RigModel;
use rt_core::model::interaction_mass::MassForm;
use rt_core::model::moving_string::MovingString;
use rt_core::model::pantograph::{LumpedMass, Pantograph, Uplift};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let rig = RigModel::TUR_2024;
    let tuning = Tuning::TUR_2024;
    let held = Prepared::new(&rig, &surroundings(Wire::Held))?;
    let wire = Wire::String(MovingString::HIGH_SPEED_300);
    let string = Prepared::new(&rig, &surroundings(wire.clone()))?;
    let gains = best(2000, || {
        let _ = black_box(black_box(&tuning).gains(&rig));
    });
    let judged_held = best(500, || {
        let _ = black_box(held.assess(black_box(&tuning)));
    });
    let judged_string = best(200, || {
        let _ = black_box(string.assess(black_box(&tuning)));
    });
    println!("gains of regulator and observer      {gains:>10.3} ms");
    println!("gains, radius, margins, wire held    {judged_held:>10.3} ms");
    println!("gains, radius, margins, string       {judged_string:>10.3} ms");
    match scipy(&held, &tuning) {
        Ok(scipy) => scipy.report(gains, judged_held),
        Err(reason) => println!("scipy: not measured ({reason})"),
    }
    let ratios = logarithmic_grid(0.5, 5000.0, 25)?;
    let k_i = logarithmic_grid(20e3, 120e3, 25)?;
    let delays: Vec<usize> = (0..25).collect();
    for threads in [1, 2] {
        let over_weights = best(2, || {
            let _ = black_box(stability_map(&string, &tuning, &ratios, &k_i, threads));
        });
        let over_delay = best(2, || {
            let _ = black_box(delay_map(&string, &tuning, &delays, &k_i, threads));
        });
        println!(
            "25×25 maps on the string, {threads} threads: Q/R {:.2} s, delay {:.2} s",
            1e-3 * over_weights,
            1e-3 * over_delay
        );
    }
    let prepare = best(5, || {
        let _ = black_box(Prepared::new(&rig, &surroundings(wire.clone())));
    });
    println!("the small string                     {prepare:>10.3} ms");
    Ok(())
}

/// Times in ms of the ways of `assessment_scipy.py`.
struct Scipy {
    gains: f64,
    channels: f64,
    shared: f64,
    roots: f64,
    frequencies: f64,
}

impl Scipy {
    fn report(&self, gains: f64, judged: f64) {
        let line = |what: &str, theirs: f64, ours: f64| {
            println!(
                "scipy: {what:<40} {theirs:>8.3} ms, {:>6.1} times ours",
                theirs / ours
            );
        };
        line("both gains", self.gains, gains);
        println!(
            "with margins at three channels of {} frequencies:",
            self.frequencies
        );
        line("channel by channel", self.channels, judged);
        line("one solution for all channels", self.shared, judged);
        line("eigenvalues only, as here", self.roots, judged);
        line("both gains alone against all of ours", self.gains, judged);
    }
}

/// Runs scipy on the same loop, and refuses it if its gains, radius or disk margins are others.
fn scipy(held: &Prepared, tuning: &Tuning) -> Result<Scipy, Box<dyn Error>> {
    let python = std::env::var("PANTOBENCH_PYTHON")
        .map_err(|_| "set PANTOBENCH_PYTHON to a Python that has scipy")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/assessment_scipy.py");
    let mut child = Command::new(&python)
        .arg(script)
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
        return Err(format!("{script} failed").into());
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
        &[gains, channels, shared, roots, frequencies] if disks.len() == 3 => Ok(Scipy {
            gains,
            channels,
            shared,
            roots,
            frequencies,
        }),
        _ => Err(format!("{script} gave {times:?}").into()),
    }
}

/// Shortest time of one call in ms.
fn best(calls: usize, mut call: impl FnMut()) -> f64 {
    (0..calls)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
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
