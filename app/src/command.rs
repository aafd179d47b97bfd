//! What a person can do in the window: text, tooltip and shortcut of each command, declared once. Buttons, menus,
//! the command palette and the keyboard all read it.

mod obstacle;

pub use obstacle::RECORDING_IS_SHOWN;

use crate::workspace::PanelKind;
use eframe::egui::{Key, KeyboardShortcut, Modifiers};
use rt_core::guard::Request;

/// A command of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UiCommand {
    /// Ready → Armed.
    Arm,
    /// Armed → Running.
    Run,
    /// Brakes; again: cuts the power.
    Stop,
    /// Holding → travels to the parked position.
    Park,
    /// Tripped → Idle; resets what a drive has latched.
    Acknowledge,
    /// Start or end a recording.
    Record,
    /// Record what has just been, and a little more.
    Capture,
    /// A marker at this moment.
    Mark,
    /// Freeze the picture; data goes on being gathered.
    Pause,
    /// Undo the last change of the tuning.
    Undo,
    /// Apply what was undone.
    Redo,
    /// Open a session file.
    OpenSession,
    /// Open a recording.
    OpenRecording,
    /// Leave a recording and go back to the bench.
    CloseRecording,
    /// Validate the opened or selected recording by iteration.
    Validate,
    /// Write a report of recordings.
    Report,
    /// Play a recording, or hold it.
    PlayPause,
    /// One sample on.
    StepForward,
    /// One sample back.
    StepBack,
    /// Dark or light.
    Theme,
    /// Everything larger.
    Larger,
    /// Everything smaller.
    Smaller,
    /// Keep the arrangement of the panels under a name.
    SaveLayout,
    /// Back to the arrangement that the bench comes with.
    ResetLayout,
    /// The next named arrangement.
    NextLayout,
    /// All commands in a list that can be searched.
    Palette,
    /// The short guided start.
    Guide,
    /// Settings of the program.
    Settings,
    /// Stop in a controlled way and close the window.
    Quit,
    /// Bring a panel to the front, opening it if need be.
    Show(PanelKind),
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers {
    shift: true,
    ..Modifiers::COMMAND
};
const ALT_SHIFT: Modifiers = Modifiers {
    shift: true,
    ..Modifiers::ALT
};

/// What is said of a command: text, tooltip, modifiers and key.
struct Said(&'static str, &'static str, Modifiers, Key);

impl UiCommand {
    /// All commands but those that show a panel.
    const PLAIN: [UiCommand; 29] = [
        UiCommand::Arm,
        UiCommand::Run,
        UiCommand::Stop,
        UiCommand::Park,
        UiCommand::Acknowledge,
        UiCommand::Record,
        UiCommand::Capture,
        UiCommand::Mark,
        UiCommand::Pause,
        UiCommand::Undo,
        UiCommand::Redo,
        UiCommand::OpenSession,
        UiCommand::OpenRecording,
        UiCommand::CloseRecording,
        UiCommand::Validate,
        UiCommand::Report,
        UiCommand::PlayPause,
        UiCommand::StepForward,
        UiCommand::StepBack,
        UiCommand::Theme,
        UiCommand::Larger,
        UiCommand::Smaller,
        UiCommand::SaveLayout,
        UiCommand::ResetLayout,
        UiCommand::NextLayout,
        UiCommand::Palette,
        UiCommand::Guide,
        UiCommand::Settings,
        UiCommand::Quit,
    ];

    /// All commands.
    pub fn all() -> impl Iterator<Item = UiCommand> {
        let panels = PanelKind::ALL.into_iter().map(UiCommand::Show);
        Self::PLAIN.into_iter().chain(panels)
    }

    /// Whether its key means something in a text that is being written.
    pub fn is_of_texts(self) -> bool {
        use UiCommand as C;
        matches!(self, C::Undo | C::Redo | C::StepForward | C::StepBack)
    }

    fn said(self) -> Said {
        use UiCommand as C;
        let none = Modifiers::NONE;
        match self {
            C::Arm => Said(
                "Arm",
                "Switch the drive on and travel to the parked position. Needs: Ready.",
                none,
                Key::F5,
            ),
            C::Run => Said(
                "Run",
                "Let the bench command the motor. Needs: Armed.",
                none,
                Key::F6,
            ),
            C::Stop => Said(
                "STOP",
                "Brake to rest. Pressed again: power off at once. Works in every state, from anywhere in this window, with any \
                 modifier. It is no emergency stop.",
                none,
                Key::Escape,
            ),
            C::Park => Said(
                "Park",
                "Travel from where a stop ended to the parked position, then switch the drive off. Needs: Holding.",
                none,
                Key::F10,
            ),
            C::Acknowledge => Said(
                "Acknowledge",
                "Release a latched trip after its cause is gone, or reset what a drive has latched. Starts nothing.",
                none,
                Key::F8,
            ),
            C::Record => Said(
                "Record",
                "Start or end a recording of every sample and event. What was measured just before is included.",
                CTRL,
                Key::R,
            ),
            C::Capture => Said(
                "Capture now",
                "Keep what has just been measured, and a little of what follows, in a file.",
                CTRL_SHIFT,
                Key::R,
            ),
            C::Mark => Said(
                "Marker …",
                "Put a marker with a text at this moment; it is kept in the recording.",
                CTRL,
                Key::M,
            ),
            C::Pause => Said(
                "Pause plots",
                "Hold the picture still. The bench goes on and no data is lost.",
                none,
                Key::F9,
            ),
            C::Undo => Said(
                "Undo tuning",
                "Apply the tuning before the last change.",
                CTRL,
                Key::Z,
            ),
            C::Redo => Said(
                "Redo tuning",
                "Apply the tuning that was undone.",
                CTRL_SHIFT,
                Key::Z,
            ),
            C::OpenSession => Said(
                "Open session …",
                "Stop this bench and start another session file.",
                CTRL,
                Key::O,
            ),
            C::OpenRecording => Said(
                "Open recording …",
                "Look at a recorded run; the bench goes on.",
                CTRL_SHIFT,
                Key::O,
            ),
            C::CloseRecording => Said(
                "Back to the bench",
                "Close the recording and show the running bench again.",
                CTRL,
                Key::W,
            ),
            C::Validate => Said(
                "Validate by iteration …",
                "Play the wire that the force of the opened or selected recording makes, until the force no longer changes.",
                CTRL,
                Key::I,
            ),
            C::Report => Said(
                "Report …",
                "Write a report as PDF or HTML: of the recordings selected in the list, else of the opened one, else of the newest.",
                CTRL_SHIFT,
                Key::D,
            ),
            C::PlayPause => Said(
                "Play / hold",
                "Play the opened recording, or hold it.",
                CTRL,
                Key::Space,
            ),
            C::StepForward => Said(
                "Step forward",
                "One sample on in the opened recording.",
                CTRL,
                Key::ArrowRight,
            ),
            C::StepBack => Said(
                "Step back",
                "One sample back in the opened recording.",
                CTRL,
                Key::ArrowLeft,
            ),
            C::Theme => Said(
                "Dark / light",
                "Switch between a dark and a light window.",
                CTRL,
                Key::T,
            ),
            C::Larger => Said(
                "Larger",
                "Everything in the window larger.",
                CTRL,
                Key::Plus,
            ),
            C::Smaller => Said(
                "Smaller",
                "Everything in the window smaller.",
                CTRL,
                Key::Minus,
            ),
            C::SaveLayout => Said(
                "Save layout …",
                "Keep the arrangement of the panels under a name.",
                CTRL,
                Key::S,
            ),
            C::ResetLayout => Said(
                "Reset layout",
                "Back to the arrangement that this bench comes with.",
                CTRL_SHIFT,
                Key::L,
            ),
            C::NextLayout => Said("Next layout", "The next arrangement by name.", CTRL, Key::L),
            C::Palette => Said(
                "Commands …",
                "All commands in a list that can be searched.",
                CTRL,
                Key::P,
            ),
            C::Guide => Said(
                "Guided start",
                "A short tour: what you see, arm, run, tune, record, replay.",
                none,
                Key::F1,
            ),
            C::Settings => Said(
                "Settings …",
                "Directories, memory for the past, recording of every run.",
                CTRL,
                Key::Comma,
            ),
            C::Quit => Said(
                "Quit",
                "Stop the bench in a controlled way and close the window.",
                CTRL,
                Key::Q,
            ),
            C::Show(kind) => {
                let (modifiers, key) = kind.key();
                Said(kind.title(), kind.tooltip(), modifiers, key)
            }
        }
    }

    /// What its button says.
    pub fn text(self) -> &'static str {
        self.said().0
    }

    /// What it does, in a sentence.
    pub fn tooltip(self) -> &'static str {
        self.said().1
    }

    /// Its key.
    pub fn shortcut(self) -> KeyboardShortcut {
        let Said(_, _, modifiers, key) = self.said();
        KeyboardShortcut::new(modifiers, key)
    }

    /// What it asks of the guard, if anything.
    pub fn request(self) -> Option<Request> {
        match self {
            UiCommand::Arm => Some(Request::Arm),
            UiCommand::Run => Some(Request::Run),
            UiCommand::Stop => Some(Request::Stop),
            UiCommand::Park => Some(Request::Park),
            UiCommand::Acknowledge => Some(Request::Acknowledge),
            _ => None,
        }
    }
}

impl PanelKind {
    /// Its shortcut: Alt and a digit, then Alt, Shift and a digit.
    fn key(self) -> (Modifiers, Key) {
        const DIGITS: [Key; 10] = [
            Key::Num1,
            Key::Num2,
            Key::Num3,
            Key::Num4,
            Key::Num5,
            Key::Num6,
            Key::Num7,
            Key::Num8,
            Key::Num9,
            Key::Num0,
        ];
        let at = PanelKind::ALL
            .iter()
            .position(|k| *k == self)
            .unwrap_or_default();
        let modifiers = if at < DIGITS.len() {
            Modifiers::ALT
        } else {
            ALT_SHIFT
        };
        (modifiers, DIGITS[at % DIGITS.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_key_and_words_of_its_own() {
        let all: Vec<UiCommand> = UiCommand::all().collect();
        for (i, a) in all.iter().enumerate() {
            assert!(!a.tooltip().is_empty());
            for b in &all[i + 1..] {
                assert_ne!(a.shortcut(), b.shortcut(), "{a:?} and {b:?}");
                assert_ne!(a.text(), b.text(), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn a_drive_is_reset_while_idle_too_and_never_while_powered() {
        use rt_core::guard::State::{Armed, Idle, Running, Stopping, Tripped};
        for (state, is_available) in [
            (Idle, true),
            (Tripped, true),
            (Armed, false),
            (Running, false),
            (Stopping, false),
        ] {
            let found = UiCommand::Acknowledge.is_available(state, false);
            assert_eq!(found, is_available, "{state:?}");
        }
    }
}
