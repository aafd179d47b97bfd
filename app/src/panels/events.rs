//! What happened, to be searched and filtered; a click shows that moment.

use crate::data::Weight;
use crate::theme;
use crate::view::{Ask, View};
use eframe::egui::{self, Color32, Grid, RichText, ScrollArea, TextEdit, Ui};
use rt_core::record::event::EventRecord;
use serde::{Deserialize, Serialize};

/// What the panel remembers.
#[derive(Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct EventsPanel {
    search: String,
    hidden: Vec<Weight>,
}

/// Colour and shape of a weight.
fn sign(weight: Weight, dark: bool) -> (&'static str, Color32) {
    match weight {
        Weight::Note => ("·", theme::weak_text(dark)),
        Weight::Change => ("◆", theme::line(dark, rt_core::channel::Role::Measured)),
        Weight::Marker => ("⚑", theme::good(dark)),
        Weight::Warning => ("▲", theme::warning(dark)),
        Weight::Trip => ("■", theme::danger_text(dark)),
    }
}

impl EventsPanel {
    fn is_shown(&self, event: &EventRecord, search: &str) -> bool {
        !self.hidden.contains(&Weight::of(event))
            && (search.is_empty() || event.text.to_lowercase().contains(search))
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let dark = ui.visuals().dark_mode;
        let events = &view.data.events;
        ui.horizontal_wrapped(|ui| {
            let search = TextEdit::singleline(&mut self.search)
                .hint_text("Search events")
                .desired_width(180.0);
            let field = ui.add(search);
            field.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search events")
            });
            for weight in Weight::ALL {
                let mut on = !self.hidden.contains(&weight);
                let (shape, _) = sign(weight, dark);
                let text = format!("{shape} {}s", weight.name());
                if ui
                    .toggle_value(&mut on, text)
                    .on_hover_text("Show or hide these.")
                    .clicked()
                {
                    if on {
                        self.hidden.retain(|w| *w != weight);
                    } else {
                        self.hidden.push(weight);
                    }
                }
            }
        });
        let search = self.search.trim().to_lowercase();
        let meant: Vec<&EventRecord> = events
            .iter()
            .filter(|e| e.t_nanos as f64 * 1e-9 <= view.now_s + 0.5 || !view.is_replay)
            .filter(|e| self.is_shown(e, &search))
            .collect();
        if meant.is_empty() {
            ui.label(if events.is_empty() {
                "Nothing yet. Changes of state, parameters and faults appear here."
            } else {
                "Nothing that fits the search and the filters."
            });
            return;
        }
        let row = 20.0;
        ScrollArea::vertical()
            .auto_shrink([false, false])
            .stick_to_bottom(true)
            .show_rows(ui, row, meant.len(), |ui, rows| {
                Grid::new("events")
                    .num_columns(3)
                    .spacing(egui::vec2(10.0, 2.0))
                    .show(ui, |ui| {
                        for event in &meant[rows] {
                            let t_s = event.t_nanos as f64 * 1e-9;
                            let weight = Weight::of(event);
                            let (shape, color) = sign(weight, dark);
                            ui.label(
                                RichText::new(format!("{t_s:10.3} s"))
                                    .monospace()
                                    .size(13.0),
                            );
                            ui.label(RichText::new(shape).color(color).size(14.0))
                                .on_hover_text(weight.name());
                            let text = RichText::new(&event.text).size(14.0);
                            let text = if weight == Weight::Trip {
                                text.strong().color(color)
                            } else {
                                text
                            };
                            let label = egui::Label::new(text)
                                .truncate()
                                .sense(egui::Sense::click());
                            if ui
                                .add(label)
                                .on_hover_text("Click to show this moment in the plots.")
                                .clicked()
                            {
                                asks.push(Ask::ShowTime(t_s));
                            }
                            ui.end_row();
                        }
                    });
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn events_are_filtered_by_weight_and_words() {
        let data = sample::run(5.0);
        let panel = EventsPanel {
            hidden: vec![Weight::Note],
            ..EventsPanel::default()
        };
        let shown = |panel: &EventsPanel, search: &str| {
            let all = data.events.iter().filter(|e| panel.is_shown(e, search));
            all.map(|e| e.kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(shown(&panel, ""), ["parameter", "mark", "trip"]);
        assert_eq!(shown(&panel, "contact force"), ["trip"]);
        assert_eq!(shown(&EventsPanel::default(), "").len(), 4);
    }
}
