//! What stands in the way of a command: the state of the bench, or a recording that is shown.

use super::UiCommand;
use rt_core::guard::State;

/// Why nothing on a page that shows a recording reaches the bench but STOP.
pub const RECORDING_IS_SHOWN: &str = "a recording is shown: Back to the bench (Ctrl+W)";

impl UiCommand {
    /// Whether it reaches the bench. Those that do are asked for by a key that is pressed, never by one that is held.
    pub fn reaches_bench(self) -> bool {
        use UiCommand as C;
        matches!(
            self,
            C::Arm
                | C::Run
                | C::Stop
                | C::Park
                | C::Acknowledge
                | C::Record
                | C::Capture
                | C::Mark
                | C::Undo
                | C::Redo
        )
    }

    /// Why it can do nothing now, and what to do; `None` if it can. Stop always can.
    pub fn obstacle(self, state: State, is_replay: bool) -> Option<&'static str> {
        use State::{Armed, Holding, Idle, Ready, Running, Stopping, Tripped};
        if self == UiCommand::Stop {
            return None;
        }
        if is_replay && self.reaches_bench() {
            return Some(RECORDING_IS_SHOWN);
        }
        match (self, state) {
            (UiCommand::Arm, Ready)
            | (UiCommand::Run, Armed)
            | (UiCommand::Park, Holding)
            | (UiCommand::Acknowledge, Tripped | Idle)
            | (UiCommand::OpenSession, Idle | Ready) => None,
            (UiCommand::Arm, Idle) => Some(
                "Not Ready: the rig has to answer, and every limit to hold. Events and the panel Rig say what is missing; \
                 Acknowledge (F8) resets what a drive has latched.",
            ),
            (UiCommand::Run | UiCommand::Park, Idle) => {
                Some("Idle: the bench has to be Ready first, then Arm (F5).")
            }
            (UiCommand::Run | UiCommand::Park, Ready) => Some("The drive is off: Arm (F5) first."),
            (UiCommand::Arm | UiCommand::Run | UiCommand::Park, Tripped) => {
                Some("Tripped: find the cause, then Acknowledge (F8).")
            }
            (UiCommand::Arm | UiCommand::Run, Holding) => Some(
                "Holding after a stop: Park (F10), or STOP (Esc) for power off, then Arm (F5).",
            ),
            (UiCommand::Arm, Armed) => Some("It is armed already: Run (F6)."),
            (UiCommand::Run, Running) | (UiCommand::Arm, Running) => Some("It runs already."),
            (UiCommand::Park, Armed | Running) => {
                Some("STOP (Esc) first: parking begins from rest.")
            }
            (UiCommand::Arm | UiCommand::Run | UiCommand::Park, Stopping) => {
                Some("It is coming to rest: wait until it has.")
            }
            (UiCommand::Acknowledge, _) => Some("Nothing is latched."),
            (UiCommand::OpenSession, Tripped) => Some("Acknowledge the trip first (F8)."),
            (UiCommand::OpenSession, _) => Some("Stop the bench first (Esc)."),
            (
                UiCommand::CloseRecording
                | UiCommand::PlayPause
                | UiCommand::StepForward
                | UiCommand::StepBack,
                _,
            ) if !is_replay => Some("No recording is open."),
            _ => None,
        }
    }

    /// Whether it can do anything now.
    pub fn is_available(self, state: State, is_replay: bool) -> bool {
        self.obstacle(state, is_replay).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 7] = [
        State::Idle,
        State::Ready,
        State::Armed,
        State::Running,
        State::Stopping,
        State::Tripped,
        State::Holding,
    ];

    #[test]
    fn stop_can_be_asked_for_in_every_state() {
        for state in STATES {
            assert!(UiCommand::Stop.is_available(state, false));
            assert!(UiCommand::Stop.is_available(state, true));
        }
    }

    #[test]
    fn what_reaches_the_bench_is_refused_while_a_recording_is_shown_and_says_why_it_is_grey() {
        for command in UiCommand::all() {
            let is_asked_of_the_guard = command.request().is_some();
            assert!(
                command.reaches_bench() || !is_asked_of_the_guard,
                "{command:?}"
            );
            for state in STATES {
                let obstacle = command.obstacle(state, true);
                let refused = obstacle == Some(RECORDING_IS_SHOWN);
                let expected = command.reaches_bench() && command != UiCommand::Stop;
                assert_eq!(refused, expected, "{command:?} while {state:?}");
            }
        }
        let free = |command: UiCommand| STATES.map(|s| command.is_available(s, false));
        assert_eq!(free(UiCommand::Arm).iter().filter(|x| **x).count(), 1);
        assert_eq!(free(UiCommand::Park).iter().filter(|x| **x).count(), 1);
        let why = UiCommand::Arm
            .obstacle(State::Idle, false)
            .unwrap_or_default();
        assert!(why.contains("Acknowledge (F8)"), "{why}");
    }
}
