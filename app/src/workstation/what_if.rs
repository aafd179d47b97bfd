//! The question what would have been with other parameters: a form over the values of a recording.

use super::Workstation;
use crate::theme;
use crate::units::shown;
use crate::view::Ask;
use eframe::egui::{self, Align2, DragValue, Grid, RichText, ScrollArea};
use rt_core::bench;
use rt_core::param::ParamSpec;

/// One parameter of the recording.
struct Entry {
    spec: &'static ParamSpec,
    recorded: f64,
    wanted: f64,
}

/// The form while it is open.
pub(super) struct WhatIfForm {
    entries: Vec<Entry>,
}

impl WhatIfForm {
    /// What is to be different, in SI units.
    fn changes(&self) -> Vec<(String, f64)> {
        let changed = self.entries.iter().filter(|e| e.wanted != e.recorded);
        changed.map(|e| (e.spec.id.to_owned(), e.wanted)).collect()
    }
}

impl Workstation {
    /// Opens the form with the values of the opened recording.
    pub(super) fn ask_what_if(&mut self) {
        let Some(replay) = &self.replay else { return };
        let header = &replay.recorded.header;
        let specs = bench::specs().iter().find(|s| s.id == header.bench);
        let Some(specs) = specs.map(|s| s.params) else {
            self.tell(format!("bench '{}' is not known here", header.bench));
            return;
        };
        let entries = specs.iter().filter_map(|spec| {
            let recorded = *header.parameters.get(spec.id)?;
            Some(Entry {
                spec,
                recorded,
                wanted: recorded,
            })
        });
        self.what_if = Some(WhatIfForm {
            entries: entries.collect(),
        });
    }

    pub(super) fn show_what_if(&mut self, ctx: &egui::Context, asks: &mut Vec<Ask>) {
        let Some(form) = &mut self.what_if else {
            return;
        };
        let (mut is_open, mut done) = (true, false);
        egui::Window::new("What if …")
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO)
            .collapsible(false)
            .resizable(false)
            .open(&mut is_open)
            .show(ctx, |ui| {
                ui.set_width(520.0);
                ui.label("The recorded session runs again on the simulated rig, with these values from the start:");
                ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
                    Grid::new("what if").num_columns(3).spacing([14.0, 6.0]).show(ui, |ui| {
                        for entry in &mut form.entries {
                            row(ui, entry);
                            ui.end_row();
                        }
                    });
                });
                let changes = form.changes();
                ui.horizontal(|ui| {
                    let run = egui::Button::new("Run again and compare");
                    done = ui
                        .add_enabled(!changes.is_empty(), run)
                        .on_disabled_hover_text("Change a value first.")
                        .clicked();
                });
                if done {
                    asks.push(Ask::WhatIf(changes));
                }
            });
        if done || !is_open {
            self.what_if = None;
        }
    }
}

fn row(ui: &mut egui::Ui, entry: &mut Entry) {
    let spec = entry.spec;
    let label = ui.label(spec.label).on_hover_text(spec.help);
    if spec.choices.is_empty() {
        let unit = shown(spec.unit);
        let mut value = entry.wanted * unit.factor;
        let speed = 0.01 * value.abs().max(1e-6);
        let drag = DragValue::new(&mut value)
            .range(spec.min * unit.factor..=spec.max * unit.factor)
            .speed(speed)
            .max_decimals(4)
            .suffix(format!(" {}", unit.unit));
        if ui
            .add_sized([120.0, 24.0], drag)
            .labelled_by(label.id)
            .changed()
        {
            entry.wanted = value / unit.factor;
        }
    } else {
        ui.horizontal(|ui| {
            for (i, choice) in spec.choices.iter().enumerate() {
                ui.selectable_value(&mut entry.wanted, i as f64, *choice);
            }
        });
    }
    let text = if entry.wanted == entry.recorded {
        RichText::new("as recorded").color(theme::weak_text(ui.visuals().dark_mode))
    } else {
        RichText::new("◆ changed").color(theme::warning(ui.visuals().dark_mode))
    };
    ui.label(text.size(13.0));
}
