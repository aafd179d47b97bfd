//! A shape before a sentence, so that colour is never the only sign.

use crate::theme;
use eframe::egui::{self, Color32, Response, RichText, Sense, Ui};
use rt_core::guard::State;

/// What the shape says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// All is well: a filled circle.
    Good,
    /// Well, and power is on: a filled arrowhead.
    Active,
    /// Nothing is known yet: a hollow circle.
    Waiting,
    /// Something to look at: a triangle.
    Warning,
    /// Not to be used: a square.
    Bad,
}

impl Mark {
    /// Its colour.
    pub fn color(self, dark: bool) -> Color32 {
        match self {
            Mark::Good | Mark::Active => theme::good(dark),
            Mark::Waiting | Mark::Warning | Mark::Bad => theme::warning(dark),
        }
    }

    /// The state of a bench with the same shape.
    fn shape(self) -> State {
        match self {
            Mark::Good => State::Ready,
            Mark::Active => State::Running,
            Mark::Waiting => State::Idle,
            Mark::Warning => State::Armed,
            Mark::Bad => State::Tripped,
        }
    }
}

/// A sentence with its shape in front.
pub fn marked(ui: &mut Ui, mark: Mark, text: impl Into<RichText>) -> Response {
    let color = mark.color(ui.visuals().dark_mode);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let (rect, _) = ui.allocate_exact_size(egui::vec2(12.0, 20.0), Sense::hover());
        theme::paint_state_shape(ui.painter(), mark.shape(), rect.center(), 5.0, color);
        ui.label(text.into().color(color))
    })
    .inner
}
