//! What a script shows, as it comes: text, tables, plots, checks, files.

use crate::chart::{self, Chart};
use crate::script::outcome::Output;
use crate::script::plot::PlotData;
use crate::script::table::{Cell, TableData};
use crate::theme;
use eframe::egui::{Align, Grid, Layout, RichText, ScrollArea, Ui, Vec2};
use std::collections::VecDeque;

/// Entries that are kept.
const MOST: usize = 2000;
/// Rows of a table that are drawn; the file has all of them.
const MOST_ROWS: usize = 200;
/// Height of a plot, in points.
const PLOT: f32 = 280.0;

enum Entry {
    Text(String),
    Weak(String),
    Check(bool, String),
    Table(TableData),
    Plot(Box<PlotData>, Vec<Chart>, Option<bool>),
}

/// See the module's text.
#[derive(Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    left_out: usize,
}

impl Log {
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether there is nothing to be seen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes something in.
    pub fn add(&mut self, output: Output) {
        let written =
            |path: &std::path::Path| Entry::Weak(format!("written to {}", path.display()));
        let entry = match output {
            Output::Text(text) => Entry::Text(text),
            Output::Note(text) => Entry::Weak(text),
            Output::Check(check) => Entry::Check(check.held, check.words()),
            Output::Table(table) => Entry::Table(table),
            Output::File(path) => written(&path),
            Output::Plot(plot, path) => {
                self.push(Entry::Plot(Box::new(plot), Vec::new(), None));
                written(&path)
            }
            Output::Progress(..) => return,
        };
        self.push(entry);
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() == MOST {
            self.entries.pop_front();
            self.left_out += 1;
        }
        self.entries.push_back(entry);
    }

    /// Draws it; the newest is in sight unless a person scrolls.
    pub fn show(&mut self, ui: &mut Ui) {
        let dark = ui.visuals().dark_mode;
        let weak = theme::weak_text(dark);
        ScrollArea::vertical()
            .id_salt("script output")
            .auto_shrink(false)
            .stick_to_bottom(true)
            .show(ui, |ui| {
                if self.left_out > 0 {
                    let text = format!("{} earlier lines are left out", self.left_out);
                    ui.label(RichText::new(text).color(weak).size(13.0));
                }
                for (i, entry) in self.entries.iter_mut().enumerate() {
                    match entry {
                        Entry::Text(text) => {
                            ui.label(RichText::new(text.as_str()).monospace());
                        }
                        Entry::Weak(text) => {
                            ui.label(RichText::new(text.as_str()).color(weak).size(13.0));
                        }
                        Entry::Check(held, words) => {
                            let (sign, color) = if *held {
                                ("✔", theme::good(dark))
                            } else {
                                ("✖", theme::danger_text(dark))
                            };
                            ui.label(RichText::new(format!("{sign} {words}")).color(color));
                        }
                        Entry::Table(data) => table(ui, data, i),
                        Entry::Plot(plot, charts, made_for) => {
                            if *made_for != Some(dark) {
                                *charts = vec![plot.chart(dark)];
                                *made_for = Some(dark);
                            }
                            ui.label(RichText::new(plot.title.as_str()).strong());
                            let size = Vec2::new(ui.available_width(), PLOT);
                            ui.allocate_ui(size, |ui| {
                                ui.set_max_height(PLOT);
                                chart::show(ui, charts, 0.0);
                            });
                        }
                    }
                }
            });
    }
}

fn table(ui: &mut Ui, data: &TableData, index: usize) {
    ui.add_space(4.0);
    ui.label(RichText::new(data.name.as_str()).strong());
    ScrollArea::horizontal()
        .id_salt(("script table", index))
        .auto_shrink([false, true])
        .show(ui, |ui| {
            Grid::new(("script table grid", index))
                .striped(true)
                .spacing([18.0, 4.0])
                .show(ui, |ui| {
                    for column in &data.columns {
                        ui.label(RichText::new(column.as_str()).strong());
                    }
                    ui.end_row();
                    for row in data.rows.iter().take(MOST_ROWS) {
                        for cell in row {
                            let text = RichText::new(cell.shown()).monospace();
                            if matches!(cell, Cell::Text(_)) {
                                ui.label(text);
                            } else {
                                let right = Layout::right_to_left(Align::Center);
                                ui.with_layout(right, |ui| ui.label(text));
                            }
                        }
                        ui.end_row();
                    }
                });
        });
    if data.rows.len() > MOST_ROWS {
        ui.label(format!("… and {} rows more", data.rows.len() - MOST_ROWS));
    }
    ui.add_space(4.0);
}
