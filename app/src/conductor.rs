//! Takes a bench through a whole run without a person: arm when ready, run when armed, quit when done.

use rt_core::fault::{Action, Fault};
use rt_core::guard::{Request, State};
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
    /// Whether the bench ever ran.
    pub ran: bool,
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
}

/// See the module's text.
#[derive(Default)]
pub struct Conductor {
    /// What has happened so far.
    pub outcome: Outcome,
    /// Whether a drive that does not know where it is may find its home position by itself.
    pub homes: bool,
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
            } if !self.outcome.ran => Some(Command::Request(Request::Arm)),
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
            EventKind::Stopping(cause) => {
                if let StopCause::Fault(fault) = cause {
                    self.outcome.fault.get_or_insert((fault, None, t_s));
                }
                self.outcome.stop = Some(cause);
                None
            }
            EventKind::Warning(fault) => {
                self.outcome.warning = Some(fault);
                let may_home = self.homes && fault == Fault::Rig(RigFault::NotHomed);
                may_home.then_some(Command::Rig(RigCommand::Home))
            }
            _ => None,
        }
    }
}
