//! One sample: the base with its values, computed.

use super::file::{Base, SimulateBase, Study};
use super::quantity::Quantity;
use super::random::SplitMix;
use crate::follower::Follower;
use crate::grip::Grip;
use crate::runtime::{self, Prepared};
use crate::session::LoadedSession;
use drivers::rig_file::{RigFile, RigSetup};
use drivers::simulated::{SimTime, SimulatedRig};
use rt_core::bench::BenchConfig;
use rt_core::file::{self, FileContent};
use rt_core::model::catenary::{Coupling, FullWire, Line, LinearLine, Report, Run};
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::ExactClock;
use rt_core::signal::contact_force::ForceFilter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is told of every sample; NaN where a base has no such thing.
pub const OUTPUTS: [(&str, &str); 10] = [
    ("mean_n", "N"),
    ("std_n", "N"),
    ("max_n", "N"),
    ("min_n", "N"),
    ("stat_max_n", "N"),
    ("stat_min_n", "N"),
    ("loss_pct", "%"),
    ("uplift_max_mm", "mm"),
    ("max_slack", ""),
    ("tracking_std_mm", "mm"),
];

/// The values of [`OUTPUTS`], or why there are none.
pub type Outcome = Result<[f64; OUTPUTS.len()], String>;

/// The files that a study reads besides its own.
pub fn files(study: &Study, base: &Path) -> Result<Vec<PathBuf>, String> {
    match &study.base {
        Base::Simulate(simulate) => Ok(vec![
            base.join(&simulate.line),
            base.join(&simulate.pantograph),
        ]),
        Base::Session { path } => {
            let loaded = LoadedSession::load(&base.join(path)).map_err(|e| e.to_string())?;
            let BenchConfig::PantographLqg(config) = &loaded.session.bench else {
                return Err(format!(
                    "base: '{path}' is for bench '{}'; expected '{}'",
                    loaded.session.bench.spec().id,
                    rt_core::bench::pantograph_lqg::SPEC.id
                ));
            };
            let mut files = vec![loaded.path.clone()];
            files.extend(config.line.iter().map(|line| loaded.base().join(line)));
            files.push(loaded.base().join(&config.specimen));
            files.extend(
                crate::recording::rig_files(&loaded)
                    .into_iter()
                    .map(|(_, path)| path),
            );
            Ok(files)
        }
    }
}

/// Computes a sample. What cannot be computed is a reason, never a panic.
pub fn compute(study: &Study, base: &Path, index: usize, values: &[f64]) -> Outcome {
    // Tiny numbers are treated alike in every thread.
    rt_core::rt_env::flush_denormals();
    let quantities = study.quantities().map_err(|e| e.to_string())?;
    let pairs: Vec<(&Quantity, f64)> = quantities.iter().zip(values.iter().copied()).collect();
    let seed = SplitMix::new(study.seed, 1_000_000_007 + index as u64).next();
    match &study.base {
        Base::Simulate(simulate) => simulate_case(simulate, base, &pairs, seed),
        Base::Session { path } => session_case(&base.join(path), &pairs),
    }
}

fn simulate_case(of: &SimulateBase, base: &Path, pairs: &[(&Quantity, f64)], seed: u64) -> Outcome {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let mut line: Line = file::load(&base.join(&of.line)).map_err(|e| words(&e))?;
    let mut pantograph: Pantograph =
        file::load(&base.join(&of.pantograph)).map_err(|e| words(&e))?;
    let mut of = of.clone();
    for (quantity, value) in pairs {
        match quantity {
            Quantity::Speed => of.speed_kmh = *value,
            Quantity::Uplift => of.uplift_n = Some(*value),
            Quantity::ContactStiffness => of.contact_stiffness_n_per_m = *value,
            other => {
                let is_pantographs = other.apply_to_pantograph(*value, &mut pantograph)?;
                if !is_pantographs && !other.apply_to_line(*value, &mut line, seed) {
                    return Err(format!("{other:?} needs a session as base"));
                }
            }
        }
    }
    line.check().map_err(|e| words(&e))?;
    pantograph.check().map_err(|e| words(&e))?;
    let linear = Arc::new(LinearLine::build(&line, of.mesh_m).map_err(|e| words(&e))?);
    let mut wire = FullWire::new(linear.clone(), 1e-3 * of.dt_ms).map_err(|e| words(&e))?;
    let mut run = match of.spans {
        Some(spans) => Run::with_spans(&pantograph, of.speed_kmh, spans),
        None => Run::new(&linear, &pantograph, of.speed_kmh).map_err(|e| words(&e))?,
    };
    run.coupling = Coupling::Implicit {
        stiffness: of.contact_stiffness_n_per_m,
    };
    run.uplift_n = of.uplift_n.unwrap_or(run.uplift_n);
    let series = run
        .simulate(&linear, &mut wire, &pantograph, &mut |_| ())
        .map_err(|e| words(&e))?;
    let r = Report::of(&linear, &run, &series, 0, ForceFilter::default(), None)
        .map_err(|e| words(&e))?;
    Ok([
        r.mean_n,
        r.std_n,
        r.max_n,
        r.min_n,
        r.stat_max_n,
        r.stat_min_n,
        r.loss_pct,
        r.uplift_max_mm,
        r.max_slack as f64,
        f64::NAN,
    ])
}

fn session_case(path: &Path, pairs: &[(&Quantity, f64)]) -> Outcome {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let mut loaded = LoadedSession::load(path).map_err(|e| words(&e))?;
    let rig_path = loaded.rig_path();
    let RigFile::Simulated(mut rig) = file::load(&rig_path).map_err(|e| words(&e))? else {
        return Err(format!(
            "'{}' is a hardware rig; a study needs a simulated one",
            rig_path.display()
        ));
    };
    let of_rig = rig_path.parent().unwrap_or(Path::new("."));
    let mut pantograph: Pantograph =
        file::load(&of_rig.join(&rig.pantograph)).map_err(|e| words(&e))?;
    for (quantity, value) in pairs {
        match quantity {
            Quantity::Speed => {
                if let BenchConfig::PantographLqg(config) = &mut loaded.session.bench {
                    config.speed_kmh = *value;
                }
            }
            Quantity::Uplift => loaded.session.uplift_n = Some(*value),
            Quantity::Pad => rig.pad_stiffness_n_per_m *= value,
            Quantity::ExtraDelay => rig.delays.extra_s = *value,
            Quantity::Param(id) => {
                loaded.session.params.insert(id.clone(), *value);
            }
            other => {
                if !other.apply_to_pantograph(*value, &mut pantograph)? {
                    return Err(format!("{other:?} needs Simulate as base"));
                }
            }
        }
    }
    loaded.session.check().map_err(|e| words(&e))?;
    rig.uplift_n = loaded.session.uplift_n.unwrap_or(rig.uplift_n);
    rig.check().map_err(|e| words(&e))?;
    pantograph.check().map_err(|e| words(&e))?;
    let clock = ExactClock::default();
    let setup = RigSetup {
        period_nanos: loaded.period_nanos(),
        time: SimTime::Exact(clock.clone()),
        injections: &loaded.session.inject,
        uplift_n: loaded.session.uplift_n,
        own_calibrations: None,
    };
    let cells = SimulatedRig::cells(&rig);
    if !cells.is_empty() {
        return Err(
            "the rig has load cells, which a study does not calibrate; choose a rig without".into(),
        );
    }
    let rig = SimulatedRig::build(&rig, &pantograph, cells, setup);
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        designer,
        params,
        ..
    } = runtime::prepare_on(&loaded, Box::new(rig), clock).map_err(|e| words(&e))?;
    user.display = None;
    let mut follower = Follower::new(&loaded, &layout, designer, params, None, |_| ());
    // A computation: nobody is beside it, and nothing moves.
    follower.grip = Grip::Program;
    let stop = AtomicBool::new(false);
    while rt_loop.cycle() {
        follower.follow(&mut user, &stop);
    }
    follower.follow(&mut user, &stop);
    if let Some((fault, _, t_s)) = &follower.conductor.outcome.fault {
        return Err(format!("at {t_s:.3} s: {}", fault.describe(&layout).what));
    }
    let samples = follower
        .samples
        .ok_or("the bench does not run along a line")?;
    let result = samples.evaluate(&loaded, false)?;
    let number = |key: &str| result[key].as_f64().unwrap_or(f64::NAN);
    let mut outputs = OUTPUTS.map(|(key, _)| number(key));
    outputs[9] = result["tracking_mm"]["std"].as_f64().unwrap_or(f64::NAN);
    Ok(outputs)
}
