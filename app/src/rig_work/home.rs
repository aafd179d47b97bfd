//! Homing: a drive that does not know where it is finds its home position by itself, with the bench's drive off.

use super::WorkError;
use super::play::Stand;
use super::scan::{Listener, cycles};
use rt_core::fault::Fault;
use rt_core::rig::{RigCommand, RigFault};
use std::sync::atomic::Ordering;

/// What homing ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homed {
    /// Whether the drive had to be homed at all.
    pub was_needed: bool,
    /// How long it took, in s.
    pub seconds: f64,
    /// Where the motor is now, in m.
    pub position_m: Option<f64>,
}

/// Longest time that homing gets, in s.
const MOST_S: f64 = 60.0;
/// Longest time that a rig gets to answer first, in s.
const CONNECT_S: f64 = 10.0;

/// Homes the drive of a rig if it has to be.
pub fn home(stand: &Stand) -> Result<Homed, WorkError> {
    let mut listener = Listener::open(stand)?;
    let position = listener.layout.find("motor_position");
    let mut asked_at = None;
    let mut has_begun = false;
    let mut tried = 0;
    loop {
        if stand.stop.load(Ordering::Relaxed) {
            // Dropping the rig leaves the drive without power.
            return Err(WorkError::Stopped);
        }
        let answer = listener.exchange();
        tried += 1;
        let since_asked = asked_at.map(|at| tried - at);
        match answer {
            Ok(()) => {
                return Ok(Homed {
                    was_needed: asked_at.is_some(),
                    seconds: since_asked.unwrap_or(0) as f64 * 0.002,
                    position_m: position.map(|column| listener.frame.values[column]),
                });
            }
            Err(RigFault::NotHomed) if asked_at.is_none() => {
                listener.rig.command(RigCommand::Home).map_err(|e| {
                    WorkError::Result(format!("the drive does not begin to home: {e}"))
                })?;
                asked_at = Some(tried);
            }
            Err(fault) => {
                let is_over = since_asked.map_or(tried > cycles(CONNECT_S), |n| n > cycles(MOST_S));
                has_begun |= fault == RigFault::Homing;
                // A drive that says anything else after it has begun has given up, and that is why; so has one that
                // does not begin.
                let does_not_begin =
                    fault == RigFault::NotHomed && since_asked.is_some_and(|n| n > cycles(1.0));
                let gave_up = has_begun && fault != RigFault::Homing || does_not_begin;
                let may_pass = matches!(
                    fault,
                    RigFault::NotHomed | RigFault::Homing | RigFault::Connecting { .. }
                );
                let patience = may_pass || tried < cycles(1.0);
                if is_over || gave_up || !patience {
                    let words = Fault::Rig(fault).describe(&listener.layout);
                    let text = format!("homing did not end: {}. {}", words.what, words.advice);
                    return Err(WorkError::Result(text));
                }
            }
        }
    }
}
