//! The guided start: a few steps from looking to replaying, each of which notices by itself that it was done.

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
}

/// A step of the guide.
struct Step {
    title: &'static str,
    text: &'static str,
    /// Whether it was done; those that are only read have a button.
    is_done: Option<fn(&Situation) -> bool>,
    needs_tuning: bool,
}

const STEPS: [Step; 8] = [
    Step {
        title: "What you see",
        text: "At the top: the state of the bench, what you can do now, and how punctual the loop is. On the left \
               the tuning, in the middle the plots. The rig is simulated: nothing can be damaged.",
        is_done: None,
        needs_tuning: false,
    },
    Step {
        title: "Arm",
        text: "Press Arm (F5). The drive is switched on and travels to its parked position.",
        is_done: Some(|s| matches!(s.state, State::Armed | State::Running)),
        needs_tuning: false,
    },
    Step {
        title: "Run",
        text: "Press Run (F6). The bench commands the motor, and the contact force follows. \
               STOP (Esc) ends it at any moment.",
        is_done: Some(|s| s.state == State::Running),
        needs_tuning: false,
    },
    Step {
        title: "Change Q",
        text: "Move Q in the panel Tuning. Nothing changes yet: look at the prediction, then press Apply.",
        is_done: Some(|s| s.changes > 0),
        needs_tuning: true,
    },
    Step {
        title: "Look at the margins",
        text: "ρ below 1 means that disturbances die away; the margins say how much error of gain and delay the \
               loop bears. What the model calls unstable is not applied unless you insist.",
        is_done: None,
        needs_tuning: true,
    },
    Step {
        title: "Record",
        text: "Every run is recorded by itself. Record (Ctrl+R) starts and ends a recording by hand; \
               what was measured just before is included.",
        is_done: Some(|s| s.is_recording),
        needs_tuning: false,
    },
    Step {
        title: "Stop",
        text: "Press STOP (Esc). The motor brakes and the drive goes off. Pressed twice, the power is cut at once.",
        is_done: Some(|s| matches!(s.state, State::Stopping | State::Idle | State::Ready)),
        needs_tuning: false,
    },
    Step {
        title: "Replay",
        text: "Open the panel Recordings and click on the run. Play it, scrub, step; \
               Back to the bench (Ctrl+W) returns.",
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
                ui.label(step.text);
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
}
