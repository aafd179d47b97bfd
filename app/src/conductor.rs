//! Takes a bench through a whole run: arm when ready, run when armed, quit when done. Whatever keeps it from being ready
//! and is a person's to put right ends the request: nothing starts because a guard closes.

use crate::grip::Absent;
use rt_core::channel::Layout;
use rt_core::fault::{Action, Fault};
use rt_core::guard::{Cut, Request, State};
use rt_core::link::{Command, Event, EventKind, StopCause};
use rt_core::rig::{RigCommand, RigFault};

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The fault that ended it, with its time since the loop started, in s.
    pub fault: Option<(Fault, Option<Action>, f64)>,
    /// Why it was stopped, if it was not tripped.
    pub stop: Option<StopCause>,
    /// The last thing that kept it from being ready.
    pub warning: Option<Fault>,
    /// Why nobody let it run, or went on doing so.
    pub absent: Option<Absent>,
    /// Whether the bench ever ran.
    pub ran: bool,
    /// What had power was not seen to rest.
    pub is_restless: bool,
}

impl Outcome {
    /// The state that the run ended in, in the words of the state machine.
    pub fn final_state(&self) -> &'static str {
        if matches!(self.fault, Some((_, Some(_), _))) {
            State::Tripped.name()
        } else {
            State::Idle.name()
        }
    }

    /// Why a run that never began did not, and what to do.
    pub fn why_it_never_ran(&self, layout: &Layout) -> String {
        if let Some(absent) = self.absent {
            return absent.words().to_owned();
        }
        let tripped = self.fault.map(|(fault, ..)| fault);
        let Some(fault) = tripped.or(self.warning) else {
            return "it was stopped before it was ready".to_owned();
        };
        let words = fault.describe(layout);
        let further = further_advice(&fault);
        format!("{}. {}{further}", words.what, words.advice)
    }
}

/// What a person has to put right before anything is started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A safety circuit is open, or the rig has no power.
    OpenCircuit,
    /// The drive has latched an error: only Acknowledge resets it.
    DriveError,
}

/// What a person has to do after a fault besides what the fault itself advises.
pub fn further_advice(fault: &Fault) -> &'static str {
    match obstacle(fault) {
        Some(Obstacle::OpenCircuit) => {
            " Then start it again: nothing starts because a circuit closes or power comes back."
        }
        Some(Obstacle::DriveError) => {
            " Then start it again with --acknowledge, which resets the drive and moves nothing."
        }
        None => "",
    }
}

/// How events name the faults that a drive latches: see [`Obstacle::DriveError`].
pub const DRIVE_ERRORS: [&str; 4] = [
    "rig.drive-fault",
    "rig.drive-not-enabled",
    "rig.following-error",
    "rig.emergency",
];

/// What a fault asks of a person, if it is of that kind.
pub fn obstacle(fault: &Fault) -> Option<Obstacle> {
    match fault {
        Fault::Rig(RigFault::Interlock { .. } | RigFault::PowerLoss) => Some(Obstacle::OpenCircuit),
        Fault::Rig(
            RigFault::DriveFault { .. }
            | RigFault::DriveNotEnabled { .. }
            | RigFault::FollowingError { .. }
            | RigFault::Emergency { .. },
        ) => Some(Obstacle::DriveError),
        _ => None,
    }
}

/// See the module's text.
#[derive(Default)]
pub struct Conductor {
    /// What has happened so far.
    pub outcome: Outcome,
    /// Whether a drive that does not know where it is may find its home position by itself.
    pub homes: bool,
    /// Whether a person has asked at the start for what the drive has latched to be reset, once.
    pub acknowledges: bool,
    interrupted: bool,
}

impl Conductor {
    /// Asks for a controlled stop, once: a person pressed Ctrl-C, or waited long enough.
    pub fn interrupt(&mut self) -> Option<Command> {
        let first = !std::mem::replace(&mut self.interrupted, true);
        first.then_some(Command::Quit)
    }

    /// What to ask of the loop after an event.
    pub fn answer(&mut self, event: &Event) -> Option<Command> {
        let t_s = event.t_nanos as f64 * 1e-9;
        match event.kind {
            EventKind::State {
                to: State::Ready, ..
            } if !self.outcome.ran && !self.interrupted => Some(Command::Request(Request::Arm)),
            EventKind::ArmingAsked { .. } => Some(Command::Request(Request::Confirm)),
            EventKind::State {
                to: State::Armed, ..
            } => Some(Command::Request(Request::Run)),
            EventKind::State {
                to: State::Running, ..
            } => {
                self.outcome.ran = true;
                None
            }
            EventKind::State {
                to: State::Idle | State::Tripped | State::Holding,
                ..
            } => Some(Command::Quit),
            EventKind::Tripped { fault, action } => {
                self.outcome.fault.get_or_insert((fault, Some(action), t_s));
                None
            }
            EventKind::PowerCut(Cut::NotAtRest) => {
                self.outcome.is_restless = true;
                None
            }
            EventKind::AtRest(rest) => {
                self.outcome.is_restless |= !rest.is_still;
                None
            }
            EventKind::Stopping(cause) => {
                if let StopCause::Fault(fault) = cause {
                    self.outcome.fault.get_or_insert((fault, None, t_s));
                }
                self.outcome.stop = Some(cause);
                None
            }
            EventKind::Warning(fault) => {
                if !self.outcome.ran {
                    self.outcome.warning = Some(fault);
                }
                self.answer_obstacle(&fault)
            }
            _ => None,
        }
    }

    fn answer_obstacle(&mut self, fault: &Fault) -> Option<Command> {
        if self.outcome.ran || self.interrupted {
            return None;
        }
        match obstacle(fault) {
            Some(Obstacle::DriveError) if std::mem::take(&mut self.acknowledges) => {
                Some(Command::Request(Request::Acknowledge))
            }
            Some(_) => self.interrupt(),
            None => {
                let homes = self.homes && *fault == Fault::Rig(RigFault::NotHomed);
                homes.then_some(Command::Rig(RigCommand::Home))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_drive_latches_is_named_alike_in_events_and_here() {
        let layout = Layout::default();
        let faults = [
            RigFault::DriveFault { code: 1 },
            RigFault::DriveNotEnabled { status: 1 },
            RigFault::FollowingError { status: 1 },
            RigFault::Emergency { device: 1, code: 1 },
        ];
        let ids = faults.map(|f| Fault::Rig(f).describe(&layout).id);
        assert_eq!(ids.each_ref().map(String::as_str), DRIVE_ERRORS);
        for fault in faults {
            let fault = Fault::Rig(fault);
            assert_eq!(obstacle(&fault), Some(Obstacle::DriveError));
            assert!(further_advice(&fault).contains("--acknowledge"));
        }
        assert_eq!(obstacle(&Fault::Rig(RigFault::NotHomed)), None);
    }

    #[test]
    fn nothing_is_asked_for_after_a_circuit_was_seen_open() {
        let event = |kind| Event {
            seq: 0,
            t_nanos: 0,
            kind,
        };
        let mut conductor = Conductor {
            homes: true,
            ..Conductor::default()
        };
        let open = Fault::Rig(RigFault::Interlock { index: 1 });
        let answers = [
            EventKind::Warning(open),
            EventKind::Warning(Fault::Rig(RigFault::NotHomed)),
            EventKind::State {
                from: State::Idle,
                to: State::Ready,
            },
        ]
        .map(|kind| conductor.answer(&event(kind)));
        assert_eq!(answers, [Some(Command::Quit), None, None]);
    }
}
