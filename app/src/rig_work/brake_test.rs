//! The brake of a rig, tested without power: it has to hold the motor against its weight and the specimen for a while.
//! Nothing is switched on.

use super::WorkError;
use super::play::Stand;
use super::scan::{Listener, cycles};
use drivers::mounting::{BrakeConfig, MountingConfig};
use rt_core::fault::Fault;
use rt_core::rig::RigFault;
use std::sync::atomic::Ordering;

/// How long the motor is watched if nobody says otherwise, in s.
pub const WATCH_S: f64 = 5.0;

/// What a brake test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrakeTested {
    /// How long the motor was watched, in s.
    pub seconds: f64,
    /// Where it stood, in m.
    pub position_m: f64,
    /// How far it moved at most, in m; above 0 is upwards.
    pub creep_m: f64,
    /// How far it may.
    pub allowed_m: f64,
    /// The specimen's mean force, in N; `None`: not known.
    pub force_n: Option<f64>,
    /// What the brake had to bear: force and weight, in N; above 0 is upwards.
    pub load_n: Option<f64>,
}

impl BrakeTested {
    /// What speaks against the brake, or against the test.
    pub fn problem(&self) -> Option<String> {
        if self.creep_m.abs() > self.allowed_m {
            return Some(format!(
                "the motor moved by {:+.3} mm in {} s; allowed: {:.3} mm (mounting.brake.creeps_at_most_m). Do not work \
                 under it: have the brake mended",
                1e3 * self.creep_m,
                self.seconds,
                1e3 * self.allowed_m
            ));
        }
        match self.load_n {
            None => Some(
                "the motor stood still, but the force is not known: whether the brake was loaded cannot be told. \
                 Calibrate the load cells first"
                    .into(),
            ),
            Some(load) if load.abs() < LEAST_LOAD_N => Some(format!(
                "the motor stood still, but only {load:+.1} N pulled at its brake, less than {LEAST_LOAD_N} N: that proves \
                 nothing. Let the specimen press more, or take it away"
            )),
            Some(_) => None,
        }
    }

    /// Whether the brake holds.
    pub fn is_held(&self) -> bool {
        self.problem().is_none()
    }
}

/// A motor that is in balance stands still without any brake: less load proves nothing, in N.
const LEAST_LOAD_N: f64 = 5.0;
/// Longest time that a rig gets to answer first, in s.
const CONNECT_S: f64 = 10.0;
/// Positions over which noise is averaged.
const AVERAGED: usize = 25;

/// Mounting and brake of a rig, or why it has none.
fn brake_of(stand: &Stand) -> Result<(&MountingConfig, &BrakeConfig), WorkError> {
    let name = stand.file.name();
    let Some(mounting) = stand.file.mounting() else {
        return Err(WorkError::Input(format!(
            "the rig '{name}' has no brake to test: its file does not state its mounting. Write mounting: (axis: Vertical, \
             moving_mass_kg: …, brake: (…)) into {}",
            stand.path.display()
        )));
    };
    let brake = mounting.brake.as_ref().ok_or_else(|| {
        let danger = mounting.danger().unwrap_or_default();
        WorkError::Input(format!(
            "the rig '{name}' has no brake to test: its motor {danger}"
        ))
    })?;
    Ok((mounting, brake))
}

/// Watches the motor of a rig without power.
pub fn brake_test(
    stand: &Stand,
    seconds: f64,
    say: &mut dyn FnMut(&str),
) -> Result<BrakeTested, WorkError> {
    let (mounting, brake) = brake_of(stand)?;
    if !(1.0..=60.0).contains(&seconds) {
        return Err(WorkError::Input(format!(
            "a brake test of {seconds} s is refused: expected 1 to 60 s"
        )));
    }
    let mut listener = Listener::open(stand)?;
    let column = |id: &str| listener.layout.find(id);
    let (Some(position), force) = (column("motor_position"), column("force")) else {
        return Err(WorkError::Input(
            "the rig does not show where its motor is".into(),
        ));
    };
    say(&format!(
        "the drive is off; the motor is watched for {seconds} s"
    ));
    let (mut positions, mut forces) = (Vec::new(), Vec::new());
    let mut tried = 0;
    // From the first answer on: what slips at once must not have come to rest somewhere before it is looked at.
    while positions.len() < cycles(seconds) as usize {
        if stand.stop.load(Ordering::Relaxed) {
            return Err(WorkError::Stopped);
        }
        tried += 1;
        match listener.exchange() {
            Ok(()) => {
                positions.push(listener.frame.values[position]);
                forces.extend(force.map(|column| listener.frame.values[column]));
            }
            Err(fault) => {
                let may_pass = matches!(
                    fault,
                    RigFault::Connecting { .. } | RigFault::LostExchange { .. }
                );
                let has_begun = !positions.is_empty() && !may_pass;
                let patience = if may_pass {
                    CONNECT_S + 2.0 * seconds
                } else {
                    1.0
                };
                if has_begun || tried > cycles(patience) {
                    let words = Fault::Rig(fault).describe(&listener.layout);
                    return Err(WorkError::Result(format!(
                        "{}. {}",
                        words.what, words.advice
                    )));
                }
            }
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // The first alone: an average would already have moved with what falls.
    let at = positions.first().copied().unwrap_or(f64::NAN);
    let blocks = positions.chunks(AVERAGED).map(mean);
    let creep_m = blocks
        .map(|block| block - at)
        .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let known: Vec<f64> = forces.into_iter().filter(|f| f.is_finite()).collect();
    let force_n = (!known.is_empty()).then(|| mean(&known));
    stand.require_in_range(
        "a motor outside of its range may lie on a stop, which proves nothing: it stands at",
        at,
    )?;
    Ok(BrakeTested {
        seconds,
        position_m: at,
        creep_m,
        allowed_m: brake.creeps_at_most_m,
        force_n,
        load_n: force_n.map(|force| mounting.load_n(force)),
    })
}
