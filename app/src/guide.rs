//! The guided start: a few steps from looking to replaying, each of which notices by itself that it was done.

use crate::runtime::Moves;
use crate::theme;
use eframe::egui::{self, Align2, Context, RichText};
use rt_core::guard::State;

/// What the guide looks at to see that a step was done.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// State of the bench.
    pub state: State,
    /// Changes of parameters that the loop has applied since the start.
    pub changes: usize,
    /// Whether a recording runs.
    pub is_recording: bool,
    /// Whether a recording is played back.
    pub is_replay: bool,
    /// Whether the bench has gains to be tuned.
    pub has_tuning: bool,
    /// What the bench moves, once there is one.
    pub moves: Option<Moves>,
    /// Whether the drive holds its position after a stop.
    pub holds: bool,
    /// Whether every run is recorded.
    pub records_runs: bool,
}

/// A step of the guide.
struct Step {
    title: &'static str,
    /// What it says of this bench: nothing that is untrue on hardware.
    text: fn(&Situation) -> String,
    /// Whether it was done; those that are only read have a button.
    is_done: Option<fn(&Situation) -> bool>,
    needs_tuning: bool,
}

/// What can be damaged.
fn at_stake(situation: &Situation) -> &'static str {
    match situation.moves {
        None => "",
        Some(Moves::Simulation) => " The rig is simulated: nothing can be damaged.",
        Some(Moves::Emulation) => {
            " The drives are emulated in this program: nothing can be damaged."
        }
        Some(Moves::Hardware) => {
            " This moves real hardware: from Arm on nobody may be in reach of motor and specimen, and someone stands at the \
             emergency stop. STOP in this window is none."
        }
    }
}

const STEPS: [Step; 8] = [
    Step {
        title: "What you see",
        text: |s| {
            format!(
                "At the top: the state of the bench, what you can do now, and how punctual the loop is. On the left the \
                 tuning, in the middle the plots.{}",
                at_stake(s)
            )
        },
        is_done: None,
        needs_tuning: false,
    },
    Step {
        title: "Arm",
        text: |s| {
            let looks = match s.moves {
                Some(Moves::Hardware) => {
                    "Look at the rig: is it free to move, and nobody in reach? Then press Arm (F5)."
                }
                _ => "Press Arm (F5).",
            };
            format!(
                "{looks} The drive is switched on and the motor travels to its parked position."
            )
        },
        is_done: Some(|s| matches!(s.state, State::Armed | State::Running)),
        needs_tuning: false,
    },
    Step {
        title: "Run",
        text: |_| {
            "Press Run (F6). The bench commands the motor, and the contact force follows. STOP (Esc) brakes at any moment; \
             pressed again, it cuts the power."
                .into()
        },
        is_done: Some(|s| s.state == State::Running),
        needs_tuning: false,
    },
    Step {
        title: "Change Q",
        text: |_| {
            "Move Q in the panel Tuning. Nothing changes yet: look at the prediction, then press Apply.".into()
        },
        is_done: Some(|s| s.changes > 0),
        needs_tuning: true,
    },
    Step {
        title: "Look at the margins",
        text: |_| {
            "ρ below 1 means that disturbances die away; the margins say how much error of gain and delay the loop bears. \
             What the model calls unstable is not applied unless you insist."
                .into()
        },
        is_done: None,
        needs_tuning: true,
    },
    Step {
        title: "Record",
        text: |s| {
            let by_itself = if s.records_runs {
                "Every run is recorded by itself. "
            } else {
                ""
            };
            format!(
                "{by_itself}Record (Ctrl+R) starts and ends a recording by hand; what was measured just before is included."
            )
        },
        is_done: Some(|s| s.is_recording),
        needs_tuning: false,
    },
    Step {
        title: "Stop",
        text: |s| {
            let then = if s.holds {
                "then the drive holds its position for a bounded time: Park (F10) travels to the parked position."
            } else {
                "then the drive goes off. It stays where it is: Arm travels to the parked position."
            };
            format!(
                "Press STOP (Esc). The motor brakes, {then} Pressed again, the power is cut at once."
            )
        },
        is_done: Some(|s| {
            matches!(
                s.state,
                State::Stopping | State::Holding | State::Idle | State::Ready
            )
        }),
        needs_tuning: false,
    },
    Step {
        title: "Replay",
        text: |_| {
            "Open the panel Recordings and click on the run. Play it, scrub, step; Back to the bench (Ctrl+W) returns. \
             While a recording is shown, only STOP reaches the bench."
                .into()
        },
        is_done: Some(|s| s.is_replay),
        needs_tuning: false,
    },
];

/// The guide; `step` is past the last when it is over.
pub struct Guide {
    step: Option<usize>,
}

impl Guide {
    /// Opened at the first start, closed afterwards.
    pub fn new(is_open: bool) -> Self {
        Self {
            step: is_open.then_some(0),
        }
    }

    /// Begins anew.
    pub fn restart(&mut self) {
        self.step = Some(0);
    }

    /// Whether it is on the screen.
    pub fn is_open(&self) -> bool {
        self.step.is_some()
    }

    /// The step after this one that the bench can do.
    fn following(step: usize, situation: &Situation) -> Option<usize> {
        let fits = |i: &usize| !STEPS[*i].needs_tuning || situation.has_tuning;
        (step + 1..STEPS.len()).find(fits)
    }

    /// Draws it, and goes on when a step was done. `true` once it is over or closed.
    pub fn show(&mut self, ctx: &Context, situation: &Situation) -> bool {
        let Some(at) = self.step else {
            return false;
        };
        let step = &STEPS[at];
        let (mut next, mut close) = (false, false);
        let mut is_open = true;
        egui::Window::new("Guided start")
            .anchor(Align2::RIGHT_BOTTOM, egui::vec2(-16.0, -48.0))
            .collapsible(false)
            .resizable(false)
            .open(&mut is_open)
            .show(ctx, |ui| {
                ui.set_width(360.0);
                let number = format!("{} of {}   {}", at + 1, STEPS.len(), step.title);
                ui.label(RichText::new(number).size(17.0).strong());
                ui.label((step.text)(situation));
                ui.add_space(4.0);
                ui.horizontal(|ui| {
                    let text = if step.is_done.is_some() {
                        "Skip"
                    } else {
                        "Next"
                    };
                    next = ui.button(text).clicked();
                    close = ui.button("Close the guide").clicked();
                    if step.is_done.is_some() {
                        let color = theme::weak_text(ui.visuals().dark_mode);
                        ui.label(RichText::new("goes on by itself").color(color).size(13.0));
                    }
                });
            });
        if !is_open || close {
            self.step = None;
            return true;
        }
        if next || step.is_done.is_some_and(|done| done(situation)) {
            self.step = Self::following(at, situation);
            return self.step.is_none();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_on_by_themselves_and_leave_out_what_a_bench_lacks() {
        let mut situation = Situation {
            state: State::Ready,
            changes: 0,
            is_recording: false,
            is_replay: false,
            has_tuning: false,
            moves: None,
            holds: false,
            records_runs: true,
        };
        let titles = |situation: &Situation| {
            let mut at = Some(0);
            let mut titles = Vec::new();
            while let Some(step) = at {
                titles.push(STEPS[step].title);
                at = Guide::following(step, situation);
            }
            titles
        };
        assert!(!titles(&situation).contains(&"Change Q"));
        situation.has_tuning = true;
        assert_eq!(titles(&situation).len(), STEPS.len());
        let arm = STEPS[1].is_done.unwrap();
        assert!(!arm(&situation));
        situation.state = State::Armed;
        assert!(arm(&situation));
    }

    #[test]
    fn no_word_is_untrue_on_hardware() {
        let of = |moves, holds, records_runs| {
            let situation = Situation {
                state: State::Ready,
                changes: 0,
                is_recording: false,
                is_replay: false,
                has_tuning: true,
                moves,
                holds,
                records_runs,
            };
            let all = STEPS.iter().map(|step| (step.text)(&situation));
            all.collect::<Vec<_>>().join("\n")
        };
        let simulated = of(Some(Moves::Simulation), false, true);
        assert!(simulated.contains("simulated: nothing can be damaged"));
        assert!(simulated.contains("the drive goes off. It stays where it is"));
        assert!(simulated.contains("recorded by itself"));
        let hardware = of(Some(Moves::Hardware), true, false);
        assert!(hardware.contains("This moves real hardware"), "{hardware}");
        assert!(hardware.contains("nobody in reach? Then press Arm"));
        assert!(hardware.contains("holds its position for a bounded time"));
        for untrue in [
            "simulated",
            "nothing can be damaged",
            "recorded by itself",
            "drive goes off.",
        ] {
            assert!(!hardware.contains(untrue), "{untrue}: {hardware}");
        }
        assert!(
            !of(None, false, true).contains("damaged"),
            "nothing is known yet"
        );
    }
}
