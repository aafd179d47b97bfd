//! What happened, the newest last.

use eframe::egui::{RichText, ScrollArea, Ui};

/// Draws the list.
pub fn show<'a>(ui: &mut Ui, events: impl ExactSizeIterator<Item = &'a String>) {
    ui.heading("Events");
    if events.len() == 0 {
        ui.label("Nothing yet. Changes of state, parameters and faults appear here.");
        return;
    }
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .stick_to_bottom(true)
        .show(ui, |ui| {
            for event in events {
                ui.label(RichText::new(event).monospace().size(13.0));
            }
        });
}
