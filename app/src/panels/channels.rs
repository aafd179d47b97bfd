//! Every channel with its value at the shown moment; one is dragged to a plot.

use crate::data::{Channel, ChannelDrag};
use crate::theme;
use crate::units::{fixed_width, shown};
use crate::view::View;
use eframe::egui::{self, RichText, ScrollArea, Sense, TextEdit, Ui};
use rt_core::channel::Role;
use serde::{Deserialize, Serialize};

/// What the panel remembers.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelsPanel {
    search: String,
}

/// Whether a channel is meant by what a person typed: all words somewhere in name or label.
fn is_meant(channel: &Channel, search: &str) -> bool {
    let text = format!("{} {} {}", channel.id, channel.label, channel.unit).to_lowercase();
    search
        .to_lowercase()
        .split_whitespace()
        .all(|word| text.contains(word))
}

/// A letter for the role, so that colour is not the only sign.
fn sign(role: Role) -> &'static str {
    match role {
        Role::Measured => "M",
        Role::Computed => "C",
        Role::Command => "→",
    }
}

impl ChannelsPanel {
    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>) {
        let search = TextEdit::singleline(&mut self.search)
            .hint_text("Search channels")
            .desired_width(f32::INFINITY);
        let field = ui.add(search);
        field.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search channels")
        });
        let channels = view.data.channels.iter().enumerate();
        let meant: Vec<(usize, &Channel)> = channels
            .filter(|(_, c)| is_meant(c, &self.search))
            .collect();
        if meant.is_empty() {
            ui.label(format!("No channel is called '{}'.", self.search.trim()));
            return;
        }
        let row = 24.0;
        ScrollArea::vertical()
            .auto_shrink([false, false])
            .show_rows(ui, row, meant.len(), |ui, rows| {
                for (column, channel) in &meant[rows] {
                    let value = view.data.history.value_at(*column, view.now_s);
                    line(ui, channel, value.unwrap_or(f64::NAN), row);
                }
            });
    }
}

fn line(ui: &mut Ui, channel: &Channel, value: f64, height: f32) {
    let unit = shown(&channel.unit);
    let color = theme::line(ui.visuals().dark_mode, channel.role);
    let id = egui::Id::unique(("channel", &channel.id));
    let drag = ChannelDrag(channel.id.clone());
    let inner = ui.dnd_drag_source(id, drag, |ui| {
        let width = ui.available_width();
        let (rect, response) = ui.allocate_exact_size(egui::vec2(width, height), Sense::hover());
        let painter = ui.painter_at(rect);
        let font = egui::TextStyle::Body.resolve(ui.style());
        let mono = egui::FontId::monospace(14.0);
        let text_color = ui.visuals().text_color();
        let at = |x: f32| egui::pos2(x, rect.center().y);
        let left = egui::Align2::LEFT_CENTER;
        painter.text(
            at(rect.left() + 2.0),
            left,
            sign(channel.role),
            mono.clone(),
            color,
        );
        let numbers = 150.0_f32.min(width * 0.55);
        let label_rect = rect.with_max_x(rect.right() - numbers);
        ui.painter_at(label_rect).text(
            at(rect.left() + 20.0),
            left,
            &channel.label,
            font,
            text_color,
        );
        let units = 52.0;
        let value = fixed_width(value * unit.factor);
        let right = egui::Align2::RIGHT_CENTER;
        painter.text(
            at(rect.right() - units),
            right,
            value,
            mono.clone(),
            text_color,
        );
        painter.text(
            at(rect.right() - units + 6.0),
            left,
            unit.unit,
            mono,
            text_color,
        );
        response
    });
    let name = channel.label.clone();
    inner.response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("Channel {name}"))
    });
    inner.response.on_hover_ui(|ui| {
        ui.label(RichText::new(&channel.label).strong());
        ui.label(format!("{}: {}", channel.role.name(), channel.id));
        ui.label("Drag it to a plot.");
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn channels_are_found_by_words_in_any_order() {
        let data = sample::run(0.1);
        let found = |search: &str| {
            let all = data.channels.iter().filter(|c| is_meant(c, search));
            all.map(|c| c.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(found("force"), ["force", "force_20hz"]);
        assert_eq!(found("hz contact"), ["force_20hz"]);
        assert_eq!(found("MOTOR pos"), ["motor_position"]);
        assert!(found("xyz").is_empty());
        assert_eq!(found("").len(), data.channels.len());
    }
}
