//! The banner of a latched trip: what, measured, limit, when, what to do.

use crate::theme;
use eframe::egui::{self, Color32, RichText, Ui};
use rt_core::channel::Layout;
use rt_core::link::{Event, EventKind};

/// Draws the banner.
pub fn show(ui: &mut Ui, trip: &Event, layout: &Layout) {
    let EventKind::Tripped { fault, action } = trip.kind else {
        return;
    };
    let words = fault.describe(layout);
    egui::Frame::new()
        .fill(theme::DANGER)
        .inner_margin(egui::Margin::symmetric(14, 10))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            let line = |ui: &mut Ui, text: String, size: f32| {
                ui.label(RichText::new(text).size(size).color(Color32::WHITE));
            };
            line(
                ui,
                format!(
                    "Tripped at {:.3} s: {}",
                    trip.t_nanos as f64 * 1e-9,
                    words.what
                ),
                18.0,
            );
            line(
                ui,
                format!("{}. {}", capitalised(action.effect()), words.advice),
                15.0,
            );
        });
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
