//! Identifies motor, delays, pad and noise of a rig: probes how far it may be moved, excites it, fits, and predicts a
//! last run that the fit has not seen.

use super::WorkError;
use super::play::{Played, Stand};
use drivers::rig_file::{self, RigFile};
use rt_core::bench::profile::{Source, Sweep};
use rt_core::file;
use rt_core::identify::{
    Estimate, ForceFit, MotorFit, Record, Specimen, explained_pct, identify_force, identify_motor,
    identify_together, noise_floor,
};
use rt_core::rig::{KnownRig, Purpose};
use std::path::PathBuf;

/// What a person chooses.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Height about which the motor is moved, in m; `None`: where it is parked.
    pub at_m: Option<f64>,
    /// The specimen; `None`: the rig file's pantograph.
    pub specimen: Option<SpecimenChoice>,
}

/// What stands under the pad.
#[derive(Clone, Debug)]
pub enum SpecimenChoice {
    /// Another pantograph than the rig file's.
    File(PathBuf),
    /// Something that does not give way.
    Clamped,
}

/// What identification found.
#[derive(Clone, Debug)]
pub struct Identified {
    /// What the rig file said before.
    pub before: KnownRig,
    /// Further delay of a simulated rig that its file keeps apart, in s.
    pub extra_delay_s: f64,
    /// Height about which it was moved, in m.
    pub at_m: f64,
    /// Force at rest there, in N.
    pub static_n: f64,
    /// Standard deviation of the force at rest, in N.
    pub force_noise_n: f64,
    /// Standard deviation of the position at rest, in m.
    pub position_noise_m: f64,
    /// The motor.
    pub motor: MotorFit,
    /// Pad, force delay and filter, or why they are not known.
    pub force: Result<ForceFit, String>,
    /// Largest deviation of the force from rest during the excitation, in N.
    pub force_swing_n: f64,
    /// Part of the variance of the last run that the fit predicts, in %.
    pub predicted_position_pct: f64,
    /// The same of the force.
    pub predicted_force_pct: Option<f64>,
    /// How long the rig was moved, in s.
    pub moved_s: f64,
}

/// A value before and after.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Stable name, which is that of the rig file's field.
    pub id: &'static str,
    /// What a person reads.
    pub label: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What the rig file says.
    pub before: Option<f64>,
    /// What was found; `None`: the record does not show it.
    pub found: Option<Estimate>,
}

impl Identified {
    /// Old against new.
    pub fn rows(&self) -> [Row; 7] {
        let b = &self.before;
        let force = self.force.as_ref().ok();
        let row = |id, label, unit, before: f64, found| Row {
            id,
            label,
            unit,
            before: Some(before),
            found,
        };
        [
            row(
                "omega_rad_per_s",
                "Motor ω",
                "rad/s",
                b.motor_omega_rad_per_s,
                Some(self.motor.omega_rad_per_s),
            ),
            row(
                "damping_ratio",
                "Motor ζ",
                "",
                b.motor_damping_ratio,
                Some(self.motor.damping_ratio),
            ),
            row(
                "reference_delay_s",
                "Reference delay",
                "s",
                b.reference_delay_s,
                Some(self.motor.delay_s),
            ),
            row(
                "force_delay_s",
                "Force delay",
                "s",
                b.force_delay_s,
                force.map(|f| f.delay_s),
            ),
            Row {
                id: "force_filter_hz",
                label: "Force filter",
                unit: "Hz",
                before: b.force_filter_hz,
                found: force.and_then(|f| f.filter_hz),
            },
            row(
                "pad_stiffness_n_per_m",
                "Pad stiffness",
                "N/m",
                b.pad_stiffness_n_per_m,
                force.map(|f| f.pad_stiffness_n_per_m),
            ),
            row(
                "pad_damping_ns_per_m",
                "Pad damping",
                "N s/m",
                b.pad_damping_ns_per_m,
                force.map(|f| f.pad_damping_ns_per_m),
            ),
        ]
    }

    /// What a person should know about the result.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let left = self.motor.residual_m / self.position_noise_m.max(1e-9);
        if left > 2.0 {
            doubts.push(format!(
                "the motor is not quite of second order: what is left is {left:.1} times the noise, so the true \
                 confidence intervals are wider than stated"
            ));
        }
        if (self.motor.gain.value - 1.0).abs() > 0.02 {
            doubts.push(format!(
                "the motor goes {:.4} m for a metre of reference: check the scale of reference and encoder",
                self.motor.gain.value
            ));
        }
        match &self.force {
            Err(problem) => doubts.push(format!("pad and force delay are not known: {problem}")),
            Ok(force) => {
                let left = force.residual_n / self.force_noise_n.max(1e-6);
                if left > 2.0 {
                    doubts.push(format!(
                        "the specimen is not quite the one of its file: what is left of the force is {left:.1} times \
                         the noise, so the true confidence intervals are wider than stated"
                    ));
                }
                if force.filter_hz.is_none() {
                    doubts.push("the force shows no filter corner of its own; its lag is in the force delay".into());
                }
            }
        }
        doubts
    }
}

/// Full excitation, before it is scaled to what the force allows.
const CHIRP_M: f64 = 1e-3;
const CHIRP_M_PER_S2: f64 = 3.0;
const STEP_M: f64 = 1e-3;
const CHIRP_S: f64 = 12.0;
const PROBE_CHIRP_S: f64 = 6.0;
const STEP_HOLD_S: f64 = 0.5;
const STEPS_S: f64 = 9.0;
/// Part of the full excitation that the first probe has.
const FIRST_LEVEL: f64 = 0.02;
/// Time after a chirp in which the specimen calms down is part of the next run; a run ends with its source.
const FROM_HZ: f64 = 0.5;

fn chirp(level: f64, duration_s: f64, period_s: f64) -> Source {
    Source::Chirp {
        amplitude_m: level * CHIRP_M,
        from_hz: FROM_HZ,
        to_hz: (0.25 / period_s).min(100.0),
        duration_s,
        sweep: Sweep::Exponential,
        most_acceleration_m_per_s2: Some(level * CHIRP_M_PER_S2),
    }
}

fn steps(height_m: f64) -> Source {
    Source::Steps {
        height_m,
        hold_s: STEP_HOLD_S,
    }
}

/// Mean and largest deviation of the force of a run from its rest.
fn swing(played: &Played) -> (f64, f64, f64) {
    let forces = played.series("force");
    let rest: Vec<f64> = forces[..played.rest_ticks().min(forces.len())].to_vec();
    let known: Vec<f64> = rest.iter().copied().filter(|f| f.is_finite()).collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let deviations = forces
        .iter()
        .filter(|f| f.is_finite())
        .map(|f| (f - mean).abs());
    let noise = noise_floor(&rest).unwrap_or(0.0);
    (mean, deviations.fold(0.0, f64::max), noise)
}

/// How far the force may swing about its rest, in N: half of the way to the limits, and, where the pad only pushes, six
/// tenths of what it presses with.
fn allowed_swing(stand: &Stand, static_n: f64) -> Result<f64, WorkError> {
    let spec = stand.file.spec();
    let limit = spec.limits.iter().find(|l| l.channel == "force");
    let to_limits = limit.map_or(f64::INFINITY, |l| {
        0.5 * (l.high - static_n).min(static_n - l.low)
    });
    let pulls = match &stand.file {
        RigFile::Simulated(config) => config.pad_pulls,
        RigFile::Hardware(config) => config.pad_pulls,
    };
    let to_loss = if pulls { f64::INFINITY } else { 0.6 * static_n };
    let allowed = to_limits.min(to_loss).min(200.0);
    if allowed < 5.0 {
        return Err(WorkError::Result(format!(
            "the specimen presses with {static_n:.1} N, which leaves {allowed:.1} N to move within: raise the pantograph \
             against the pad (its lift, or --at for another height), or set the limits of the force wider"
        )));
    }
    Ok(allowed)
}

/// The part of the full excitation that the force allows, by probes that grow.
fn find_level(
    stand: &Stand,
    at_m: f64,
    source: impl Fn(f64) -> (Source, Option<f64>),
    say: &mut dyn FnMut(&str),
) -> Result<(f64, f64), WorkError> {
    let mut level = FIRST_LEVEL;
    let mut moved_s = 0.0;
    for _ in 0..3 {
        let (played_source, seconds) = source(level);
        let played = stand.play_profile(at_m, played_source, seconds)?;
        moved_s += played.frames.len() as f64 * played.period_s;
        let (static_n, peak, noise) = swing(&played);
        let allowed = allowed_swing(stand, static_n)?;
        // What the noise alone reaches in thousands of samples is not an answer.
        let answer = (peak - 4.0 * noise).max(0.25 * peak).max(1e-3);
        let next = (0.8 * level * allowed / answer).min(1.0);
        say(&format!(
            "probe at {:.1} % of full excitation: the force swings by {peak:.1} N of {allowed:.1} N",
            100.0 * level
        ));
        // Known well enough once the probe stands out of the noise.
        let is_clear = peak > 12.0 * noise || next <= 1.5 * level;
        level = if is_clear {
            next
        } else {
            next.min(8.0 * level)
        };
        if is_clear || level >= 1.0 {
            break;
        }
    }
    Ok((level, moved_s))
}

/// Identifies a rig. `say` hears what is being done.
pub fn identify(
    stand: &Stand,
    choice: &Choice,
    say: &mut dyn FnMut(&str),
) -> Result<Identified, WorkError> {
    let (_, _, park) = stand.range_m();
    let at_m = choice.at_m.unwrap_or(park);
    for edge in [at_m - STEP_M - CHIRP_M, at_m + STEP_M + CHIRP_M] {
        stand.require_in_range("identification needs", edge)?;
    }
    let input = |e: rt_core::file::FileError| WorkError::Input(e.to_string());
    let specimen = match &choice.specimen {
        None => Specimen::Lumped(rig_file::rig_pantograph(&stand.path).map_err(input)?),
        Some(SpecimenChoice::File(path)) => Specimen::Lumped(file::load(path).map_err(input)?),
        Some(SpecimenChoice::Clamped) => Specimen::Clamped,
    };
    let before = rig_file::known_rig(&stand.path).map_err(input)?;
    let stand = &stand.permitted(Purpose::Identify)?;
    let bench_period = rt_core::bench::profile::SPEC.period_s;
    let period_s = stand.period_us.map_or(bench_period, |us| us * 1e-6);

    let probe = |level: f64| (chirp(level, PROBE_CHIRP_S, period_s), None);
    let (sweep_level, first_s) = find_level(stand, at_m, probe, say)?;
    let probe = |level: f64| (steps(level * STEP_M), Some(4.0));
    let (step_level, second_s) = find_level(stand, at_m, probe, say)?;

    say(&format!(
        "sweep from {FROM_HZ} to {} Hz",
        (0.25 / period_s).min(100.0)
    ));
    let swept = stand.play_profile(at_m, chirp(sweep_level, CHIRP_S, period_s), None)?;
    say(&format!("steps of {:.0} µm", 1e6 * step_level * STEP_M));
    let stepped = stand.play_profile(at_m, steps(step_level * STEP_M), Some(STEPS_S))?;
    say("steps of another height, to be predicted");
    let unseen = stand.play_profile(at_m, steps(-0.7 * step_level * STEP_M), Some(STEPS_S))?;

    let (static_n, sweep_swing, force_noise_n) = swing(&swept);
    let step_swing = swing(&stepped).1;
    let rest = swept.rest_ticks();
    let position_noise_m = noise_floor(&swept.series("motor_position")[..rest]).unwrap_or(0.0);
    let moved_s = first_s
        + second_s
        + [&swept, &stepped, &unseen]
            .map(|p| p.frames.len() as f64 * p.period_s)
            .iter()
            .sum::<f64>();
    let records = [swept.record(), stepped.record()];
    say("fitting");
    let failed = |e: rt_core::identify::IdentifyError| WorkError::Result(e.to_string());
    let motor = identify_motor(&records).map_err(failed)?;
    let force = identify_force(&records, &motor, &specimen);
    let (motor, force) = match force {
        Ok(alone) => {
            let both = identify_together(&records, &motor, &alone, &specimen).map_err(failed)?;
            (both.0, Ok(both.1))
        }
        Err(e) => (motor, Err(e)),
    };
    let last = unseen.record();
    let extra_delay_s = match &stand.file {
        RigFile::Simulated(config) => config.delays.extra_s,
        RigFile::Hardware(config) => config.delays.extra_s,
    };
    Ok(Identified {
        before,
        extra_delay_s,
        at_m,
        static_n,
        force_noise_n,
        position_noise_m,
        predicted_position_pct: explained_pct(&last.position_m, &motor.predict(&last)),
        predicted_force_pct: force.as_ref().ok().map(|fit| {
            explained_pct(
                &last.force_n,
                &predicted_force(fit, &specimen, &motor, &last, static_n),
            )
        }),
        motor,
        force: force.map_err(|e| e.to_string()),
        force_swing_n: sweep_swing.max(step_swing),
        moved_s,
    })
}

fn predicted_force(
    fit: &ForceFit,
    specimen: &Specimen,
    motor: &MotorFit,
    record: &Record,
    static_n: f64,
) -> Vec<f64> {
    fit.predict(specimen, motor, record, static_n)
}
