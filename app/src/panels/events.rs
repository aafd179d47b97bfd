//! What happened, the newest last.

use eframe::egui::{RichText, ScrollArea, Ui};
use rt_core::record::event::EventRecord;

/// Draws the list.
pub fn show<'a>(ui: &mut Ui, events: impl ExactSizeIterator<Item = &'a EventRecord>) {
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
                let text = format!("{:10.3} s  {}", event.t_nanos as f64 * 1e-9, event.text);
                ui.label(RichText::new(text).monospace().size(13.0));
            }
        });
}
