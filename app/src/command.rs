//! What a person can do in the window: text, tooltip and shortcut of each command, declared once.

use eframe::egui::{Key, KeyboardShortcut, Modifiers};
use rt_core::guard::{Request, State};

/// A command of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UiCommand {
    /// Ready → Armed.
    Arm,
    /// Armed → Running.
    Run,
    /// Controlled stop.
    Stop,
    /// Tripped → Idle.
    Acknowledge,
    /// Freeze the plots; data goes on being gathered.
    Pause,
    /// Dark or light.
    Theme,
}

impl UiCommand {
    /// All commands.
    pub const ALL: [UiCommand; 6] = [
        UiCommand::Arm,
        UiCommand::Run,
        UiCommand::Stop,
        UiCommand::Acknowledge,
        UiCommand::Pause,
        UiCommand::Theme,
    ];

    /// What its button says.
    pub fn text(self) -> &'static str {
        match self {
            UiCommand::Arm => "Arm",
            UiCommand::Run => "Run",
            UiCommand::Stop => "STOP",
            UiCommand::Acknowledge => "Acknowledge",
            UiCommand::Pause => "Pause plots",
            UiCommand::Theme => "Dark / light",
        }
    }

    /// What it does, in a sentence.
    pub fn tooltip(self) -> &'static str {
        match self {
            UiCommand::Arm => {
                "Switch the drive on and travel to the parked position. Needs: Ready."
            }
            UiCommand::Run => "Let the bench command the motor. Needs: Armed.",
            UiCommand::Stop => {
                "Travel to the parked position, then switch the drive off. Works in every state."
            }
            UiCommand::Acknowledge => {
                "Release a latched trip after its cause is gone. Needs: Tripped."
            }
            UiCommand::Pause => "Hold the plots still. The bench goes on and no data is lost.",
            UiCommand::Theme => "Switch between a dark and a light window.",
        }
    }

    /// Its key.
    pub fn shortcut(self) -> KeyboardShortcut {
        let (modifiers, key) = match self {
            UiCommand::Arm => (Modifiers::NONE, Key::F5),
            UiCommand::Run => (Modifiers::NONE, Key::F6),
            UiCommand::Stop => (Modifiers::NONE, Key::Escape),
            UiCommand::Acknowledge => (Modifiers::NONE, Key::F8),
            UiCommand::Pause => (Modifiers::NONE, Key::F9),
            UiCommand::Theme => (Modifiers::COMMAND, Key::T),
        };
        KeyboardShortcut::new(modifiers, key)
    }

    /// What it asks of the guard, if anything.
    pub fn request(self) -> Option<Request> {
        match self {
            UiCommand::Arm => Some(Request::Arm),
            UiCommand::Run => Some(Request::Run),
            UiCommand::Stop => Some(Request::Stop),
            UiCommand::Acknowledge => Some(Request::Acknowledge),
            UiCommand::Pause | UiCommand::Theme => None,
        }
    }

    /// Whether it can do anything in a state. Stop always can.
    pub fn is_available(self, state: State) -> bool {
        match self {
            UiCommand::Arm => state == State::Ready,
            UiCommand::Run => state == State::Armed,
            UiCommand::Acknowledge => state == State::Tripped,
            UiCommand::Stop | UiCommand::Pause | UiCommand::Theme => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_key_of_its_own() {
        for (i, a) in UiCommand::ALL.iter().enumerate() {
            assert!(!a.tooltip().is_empty());
            for b in &UiCommand::ALL[i + 1..] {
                assert_ne!(a.shortcut(), b.shortcut(), "{a:?} and {b:?}");
            }
        }
    }
}
