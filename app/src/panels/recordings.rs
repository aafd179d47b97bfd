//! Recorded runs: what there is, what becomes of it, and what the next one says about itself.

use crate::recording::{Environment, Remarks};
use crate::recording_list::RecordingList;
use crate::theme;
use crate::view::Ask;
use eframe::egui::{self, Grid, RichText, ScrollArea, TextEdit, Ui};
use rt_core::record::list::{ListEntry, ListedSession};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What the panel holds while the program runs.
#[derive(Default)]
pub struct RecordingsPanel {
    /// What is written about the next recording.
    pub remarks: Remarks,
    search: String,
    selected: Vec<PathBuf>,
    temperature: String,
    wind: String,
}

/// What a person reads of a result.
fn result_text(session: &ListedSession) -> String {
    let number = |key: &str| session.result.get(key).and_then(|v| v.parse::<f64>().ok());
    let force = match (number("mean_n"), number("std_n")) {
        (Some(mean), Some(std)) => format!("F_m {mean:.1} N, σ {std:.1} N"),
        _ => String::new(),
    };
    let state = session.result.get("state").map_or("", String::as_str);
    let ended = match (session.info.finished, state) {
        (false, _) => "cut off",
        (true, "tripped") => "tripped",
        (true, _) if session.info.recovered => "recovered",
        (true, _) => "",
    };
    let parts: Vec<&str> = [ended, force.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(", ")
}

fn is_meant(entry: &ListEntry, search: &str) -> bool {
    let mut text = entry.path.display().to_string();
    if let Ok(s) = &entry.session {
        text.push_str(&format!(" {} {} {}", s.title, s.specimen, s.line));
    }
    let text = text.to_lowercase();
    search
        .to_lowercase()
        .split_whitespace()
        .all(|word| text.contains(word))
}

/// Whether a file is the unfinished form of another.
fn is_part_of(part: &Path, finished: &Path) -> bool {
    part.extension().is_some_and(|e| e == "part") && part.with_extension("") == finished
}

/// A number with its unit; what is no such number is told and does not count.
fn quantity(
    ui: &mut Ui,
    (name, unit): (&str, &str),
    text: &mut String,
    range: RangeInclusive<f64>,
    value: &mut Option<f64>,
) {
    let label = ui.label(format!("{name}, {unit}"));
    let edit = TextEdit::singleline(text).desired_width(80.0);
    let changed = ui.add(edit).labelled_by(label.id).changed();
    // A comma is what half of Europe types.
    let typed = text.trim().replace(',', ".").replace('−', "-");
    let found = typed.parse().ok().filter(|v| range.contains(v));
    if changed {
        *value = found;
    }
    if found.is_none() && !typed.is_empty() {
        let (low, high) = (range.start(), range.end());
        let words = format!("⚠ expected {low} to {high} {unit}; it is not recorded");
        ui.colored_label(theme::warning(ui.visuals().dark_mode), words);
    }
}

impl RecordingsPanel {
    /// The recordings that are selected.
    pub fn selected(&self) -> &[PathBuf] {
        &self.selected
    }

    /// Draws the panel.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        list: &RecordingList,
        writing: Option<&Path>,
        asks: &mut Vec<Ask>,
    ) {
        let is_wide = ui.available_width() > 760.0;
        if is_wide {
            ui.horizontal_top(|ui| {
                let form = 290.0;
                let width = ui.available_width() - form - 20.0;
                ui.allocate_ui(egui::vec2(width, ui.available_height()), |ui| {
                    ui.set_width(width);
                    ui.vertical(|ui| self.library(ui, list, writing, asks));
                });
                ui.separator();
                ui.vertical(|ui| {
                    ScrollArea::vertical()
                        .id_salt("form")
                        .show(ui, |ui| self.form(ui));
                });
            });
        } else {
            egui::CollapsingHeader::new("About the next recording").show(ui, |ui| self.form(ui));
            self.library(ui, list, writing, asks);
        }
    }

    fn form(&mut self, ui: &mut Ui) {
        ui.label(RichText::new("About the next recording").strong());
        let mut field = |name: &str, value: &mut Option<String>, rows: usize| {
            let label = ui.label(name);
            let mut text = value.clone().unwrap_or_default();
            let edit = if rows > 1 {
                TextEdit::multiline(&mut text).desired_rows(rows)
            } else {
                TextEdit::singleline(&mut text)
            };
            let changed = ui
                .add(edit.desired_width(260.0))
                .labelled_by(label.id)
                .changed();
            if changed {
                *value = Some(text).filter(|t| !t.trim().is_empty());
            }
        };
        field("Operator", &mut self.remarks.operator, 1);
        field("Specimen", &mut self.remarks.specimen, 1);
        field("Notes", &mut self.remarks.notes, 3);
        let environment = &mut self.remarks.environment;
        field("Rain", &mut environment.rain, 1);
        field("Ice", &mut environment.ice, 1);
        field("Tunnel", &mut environment.tunnel, 1);
        quantity(
            ui,
            ("Temperature", "°C"),
            &mut self.temperature,
            Environment::TEMPERATURES_C,
            &mut environment.temperature_c,
        );
        quantity(
            ui,
            ("Wind", "m/s"),
            &mut self.wind,
            Environment::WINDS_M_PER_S,
            &mut environment.wind_m_per_s,
        );
    }

    fn library(
        &mut self,
        ui: &mut Ui,
        list: &RecordingList,
        writing: Option<&Path>,
        asks: &mut Vec<Ask>,
    ) {
        let entries = list.entries();
        self.selected
            .retain(|path| entries.iter().any(|e| e.path == *path));
        self.buttons(ui, list, asks);
        let is_whole = |e: &&ListEntry| !writing.is_some_and(|file| is_part_of(&e.path, file));
        if !entries.iter().any(|e| is_whole(&e)) {
            ui.add_space(8.0);
            ui.label(if list.is_reading() {
                "Reading the directory …".to_owned()
            } else {
                format!(
                    "No recordings in {} yet. Press Record (Ctrl+R), or arm and run: every run is recorded \
                     unless the settings say otherwise.",
                    list.directory().display()
                )
            });
            return;
        }
        let meant: Vec<&ListEntry> = entries
            .iter()
            .filter(is_whole)
            .filter(|e| is_meant(e, &self.search))
            .collect();
        if meant.is_empty() {
            ui.label("Nothing that fits the search.");
            return;
        }
        let row = 24.0;
        ScrollArea::both().auto_shrink([false, false]).show_rows(
            ui,
            row,
            meant.len(),
            |ui, rows| {
                Grid::new("recordings")
                    .num_columns(6)
                    .spacing([14.0, 2.0])
                    .min_row_height(row)
                    .striped(true)
                    .show(ui, |ui| {
                        for entry in &meant[rows] {
                            self.row(ui, entry, asks);
                            ui.end_row();
                        }
                    });
            },
        );
    }

    fn buttons(&mut self, ui: &mut Ui, list: &RecordingList, asks: &mut Vec<Ask>) {
        ui.horizontal_wrapped(|ui| {
            let search = TextEdit::singleline(&mut self.search)
                .hint_text("Search recordings")
                .desired_width(160.0);
            let field = ui.add(search);
            field.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Search recordings")
            });
            let count = self.selected.len();
            let one = count == 1;
            let mut button = |enabled: bool, text: &str, hint: &str| {
                ui.add_enabled(enabled, egui::Button::new(text))
                    .on_hover_text(hint)
                    .on_disabled_hover_text(format!(
                        "{hint} Select first, with the boxes on the left."
                    ))
                    .clicked()
            };
            if button(
                one,
                "Open",
                "Show the selected recording, with play and scrub.",
            ) {
                asks.push(Ask::OpenRecording(self.selected[0].clone()));
            }
            if button(
                count >= 2,
                "Compare",
                "Compare the selected recordings with the first, place by place.",
            ) {
                asks.push(Ask::Compare(self.selected.clone()));
            }
            if button(
                one,
                "Validate …",
                "Validate by iteration: play the wire that the selected run's force makes, until the force no longer changes.",
            ) {
                asks.push(Ask::Validate(self.selected[0].clone()));
            }
            if button(
                count >= 1,
                "Report …",
                "Write a report of the selected recordings as PDF or HTML; several of the same set-up give the repeatability too.",
            ) {
                asks.push(Ask::Report(self.selected.clone()));
            }
            if button(one, "Export …", "Write it as Parquet, CSV or MCAP.") {
                asks.push(Ask::ExportRecording(self.selected[0].clone()));
            }
            if button(true, "⟳", "Read the directory again.") {
                asks.push(Ask::RefreshRecordings);
            }
            let directory = list.directory().display();
            let hint = format!("Where recordings go and are looked for: now {directory}.");
            if button(true, "Directory …", &hint) {
                asks.push(Ask::ChooseRecordings);
            }
        });
    }

    fn row(&mut self, ui: &mut Ui, entry: &ListEntry, asks: &mut Vec<Ask>) {
        let path = &entry.path;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut is_selected = self.selected.contains(path);
        let check = ui.checkbox(&mut is_selected, "");
        let label = format!("Select {name}");
        check.widget_info(|| {
            egui::WidgetInfo::selected(egui::Role::CheckBox, true, is_selected, &label)
        });
        if check.changed() {
            if is_selected {
                self.selected.push(path.clone());
            } else {
                self.selected.retain(|p| p != path);
            }
        }
        let session = match &entry.session {
            Ok(session) => session,
            Err(e) => {
                let text = RichText::new(format!("⚠ {name}"))
                    .color(theme::warning(ui.visuals().dark_mode));
                ui.label(text).on_hover_text(e.to_string());
                return;
            }
        };
        ui.label(
            RichText::new(session.date.replace('_', "  "))
                .monospace()
                .size(13.0),
        );
        let link = ui.link(&session.title).on_hover_ui(|ui| {
            ui.label(path.display().to_string());
            ui.label(format!(
                "{} frames, {} events, {} lost",
                session.info.frames, session.info.events, session.info.drops
            ));
            if !session.reason.is_empty() {
                ui.label(&session.reason);
            }
        });
        if link.clicked() {
            asks.push(Ask::OpenRecording(path.clone()));
        }
        let what = match session.speed_kmh {
            Some(v) => format!("{}, {}, {v:.0} km/h", session.specimen, session.line),
            None => session.specimen.clone(),
        };
        ui.label(what);
        ui.label(
            RichText::new(format!("{:>7.1} s", session.info.seconds))
                .monospace()
                .size(13.0),
        );
        ui.label(result_text(session));
    }
}
