//! Homing: a drive that does not know where it is finds its home position by itself, with the bench's drive off.

use super::WorkError;
use super::play::Stand;
use super::scan::{Listener, cycles};
use crate::conductor::{Obstacle, further_advice, obstacle};
use crate::grip::{Absent, Attended, PATIENCE};
use crate::hand::{Asking, Consent};
use rt_core::fault::Fault;
use rt_core::rig::{Purpose, RigCommand, RigFault};
use std::sync::atomic::Ordering;
use std::time::Instant;

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
/// How long drives get to be reset after someone has asked for it, in s.
const RESET_S: f64 = 2.5;

/// Homes the drive of a rig if it has to be.
pub fn home(stand: &Stand) -> Result<Homed, WorkError> {
    let stand = &stand.permitted(Purpose::Home)?;
    let attended = stand.permit()?.attended().cloned();
    if attended.as_ref().is_some_and(Attended::steps_by_switch) {
        return Err(WorkError::Input(Absent::NoKeys.words().into()));
    }
    let mut listener = Listener::open(stand)?;
    let position = listener.layout.find("motor_position");
    let mut asking: Option<(Asking, Instant)> = None;
    let mut acknowledges = stand.acknowledges;
    let mut asked_at = None;
    let mut has_begun = false;
    let mut tried = 0;
    let mut reset_by = 0;
    loop {
        let gone = attended.as_ref().filter(|_| asked_at.is_some());
        let is_let_go = gone.is_some_and(|at| !at.holds());
        let is_stopped = attended.as_ref().is_some_and(|at| at.hand.take_stop());
        if is_let_go || is_stopped || stand.stop.load(Ordering::Relaxed) {
            listener.stop_homing();
            // Dropping the rig leaves the drive without power.
            return Err(match is_let_go {
                true => WorkError::Result(format!("not homed: {}", Absent::LetGo.words())),
                false => WorkError::Stopped,
            });
        }
        let answer = listener.exchange();
        tried += 1;
        if asked_at.is_some() && listener.lost_homing() {
            listener.stop_homing();
            return Err(WorkError::Result(
                "not homed: this program stood still for longer than the rig file's `safety.max_gap_s` while the motor \
                 moved. Look at what keeps the machine busy, then home again"
                    .into(),
            ));
        }
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
                if let Some(at) = &attended
                    && !may_begin(at, &mut asking)
                {
                    if asking
                        .as_ref()
                        .is_some_and(|(_, at)| at.elapsed() > PATIENCE)
                    {
                        let why = Absent::NobodyCame.words();
                        return Err(WorkError::Result(format!("not homed: {why}")));
                    }
                    // A person takes the time that it takes.
                    tried = tried.min(cycles(CONNECT_S));
                    continue;
                }
                listener.begin_homing().map_err(|e| {
                    WorkError::Result(format!("the drive does not begin to home: {e}"))
                })?;
                asked_at = Some(tried);
            }
            Err(fault) => {
                let obstacle = obstacle(&Fault::Rig(fault));
                if obstacle == Some(Obstacle::DriveError) && std::mem::take(&mut acknowledges) {
                    // A rig that latches nothing has nothing to reset.
                    let _ = listener.rig.command(RigCommand::Reset);
                    reset_by = tried + cycles(RESET_S);
                    continue;
                }
                if obstacle == Some(Obstacle::DriveError) && tried < reset_by {
                    continue;
                }
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
                if is_over || gave_up || !patience || obstacle.is_some() {
                    listener.stop_homing();
                    let words = Fault::Rig(fault).describe(&listener.layout);
                    let further = further_advice(&Fault::Rig(fault));
                    let text = format!(
                        "homing did not end: {}. {}{further}",
                        words.what, words.advice
                    );
                    return Err(WorkError::Result(text));
                }
            }
        }
    }
}

/// Whether a person lets the motor move.
fn may_begin(at: &Attended, asking: &mut Option<(Asking, Instant)>) -> bool {
    let (asking, _) = asking.get_or_insert_with(|| {
        let asking = Asking::begin(&at.hand, at.within, at.hold_by_keys());
        let words = asking.words(&at.names);
        (at.tell)(&format!(
            "The motor moves to find its home position: to let it, {words}."
        ));
        (asking, Instant::now())
    });
    match asking.poll(&at.hand) {
        Consent::Given => true,
        Consent::Expired => {
            (at.tell)("The rest did not come in time: begin again.");
            false
        }
        Consent::First => {
            (at.tell)("First step taken.");
            false
        }
        Consent::Awaited => false,
    }
}
