//! Scripts in the window: an editor with run, stop and progress, and what the script shows.

mod editor;
mod log;
#[cfg(test)]
mod tests;

use crate::grip::Tell;
use crate::hand::Hand;
use crate::permit::Presence;
use crate::script::background::{News, ScriptRun};
use crate::script::outcome::{EndKind, Outcome, Output, ScriptError};
use crate::script::watch::StopSwitch;
use crate::script::{self, Limits, Setup};
use crate::theme;
use crate::view::Ask;
use eframe::egui::{self, Panel, RichText, ScrollArea, Ui};
use log::Log;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// See the module's text.
#[derive(Default)]
pub struct ScriptPanel {
    path: Option<PathBuf>,
    text: String,
    /// The text as it is in the file.
    saved: String,
    is_real_time: bool,
    /// Settings in place of the script's own values, as a person writes them.
    settings: String,
    run: Option<ScriptRun>,
    progress: Option<(f64, String)>,
    error: Option<ScriptError>,
    verdict: Option<(bool, String)>,
    log: Log,
    shipped: Option<Vec<(PathBuf, String)>>,
    shows_reference: bool,
    /// The keys of the window while a script asks for someone beside the rig.
    pub hand: Arc<Hand>,
    /// What it tells that person.
    told: Option<mpsc::Receiver<String>>,
}

impl ScriptPanel {
    /// Whether a script runs.
    pub fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Stops the script and its bench.
    pub fn stop(&self) {
        if let Some(run) = &self.run {
            run.switch.press();
        }
    }

    /// Opens a script; words say why not.
    pub fn open(&mut self, path: &Path) -> Result<(), String> {
        const MOST: u64 = 1 << 20;
        let cannot =
            |e: &dyn std::fmt::Display| format!("'{}' cannot be read: {e}", path.display());
        let length = std::fs::metadata(path).map_err(|e| cannot(&e))?.len();
        if length > MOST {
            return Err(cannot(&format!(
                "it has {length} bytes; at most {MOST} are a script"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
        self.text.clone_from(&text);
        self.saved = text;
        self.path = Some(path.to_owned());
        (self.error, self.verdict, self.progress) = (None, None, None);
        self.log.clear();
        Ok(())
    }

    /// Writes the text to a file; words say why not.
    pub fn save(&mut self, path: &Path) -> Result<(), String> {
        std::fs::write(path, &self.text)
            .map_err(|e| format!("'{}' cannot be written: {e}", path.display()))?;
        self.saved.clone_from(&self.text);
        self.path = Some(path.to_owned());
        Ok(())
    }

    /// Where the script is, if it has a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The person at the window's keys, whose part is told among what the script says.
    fn beside(&mut self) -> Presence {
        let (tell, told) = mpsc::channel();
        self.told = Some(told);
        self.hand = Arc::default();
        let tell: Tell = Arc::new(move |text: &str| {
            // A window that is gone by now shows nothing.
            let _ = tell.send(text.to_owned());
        });
        Presence::Window(Arc::clone(&self.hand), tell)
    }

    /// Begins to run the text as it is; words say why not.
    pub fn begin(&mut self, wake: impl Fn() + Send + 'static) -> Result<(), String> {
        let path = self.path.clone().ok_or("save the script first")?;
        let given = self.settings.split(';').map(str::trim);
        let given: Vec<&str> = given.filter(|s| !s.is_empty()).collect();
        let setup = Setup {
            output: script::default_output(&path),
            path,
            is_exact: !self.is_real_time,
            settings: script::settings(&given)?,
            limits: Limits::default(),
            switch: StopSwitch::default(),
            presence: self.beside(),
        };
        self.log.clear();
        (self.error, self.verdict) = (None, None);
        self.progress = Some((0.0, String::new()));
        self.run = Some(ScriptRun::begin(self.text.clone(), setup, wake)?);
        Ok(())
    }

    /// Takes what the script has shown. `true` when it has just ended.
    pub fn poll(&mut self) -> bool {
        let news = self.run.as_ref().map(ScriptRun::poll).unwrap_or_default();
        let mut has_ended = false;
        for text in self.told.iter().flat_map(mpsc::Receiver::try_iter) {
            self.log.add(Output::Text(text));
        }
        for one in news {
            match one {
                News::Output(Output::Progress(part, text)) => self.progress = Some((part, text)),
                News::Output(output) => self.log.add(output),
                News::Done(outcome) => {
                    has_ended = true;
                    self.verdict = Some(verdict(&outcome));
                    self.error = outcome.error;
                }
            }
        }
        if has_ended {
            self.run = None;
            self.progress = None;
        }
        has_ended
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        self.toolbar(ui, asks);
        if self.path.is_none() && self.text.is_empty() {
            self.empty(ui, asks);
            return;
        }
        self.status(ui);
        let has_output = !self.log.is_empty() || self.run.is_some() || self.shows_reference;
        if has_output {
            Panel::bottom(ui.scope_id().with("output"))
                .resizable(true)
                .default_size(0.45 * ui.available_height())
                .min_size(80.0)
                .show(ui, |ui| {
                    if self.shows_reference {
                        reference(ui);
                    } else {
                        self.log.show(ui);
                    }
                });
        }
        let error_line = self.error.as_ref().and_then(|e| e.line);
        if editor::show(ui, &mut self.text, error_line, self.run.is_none()) {
            // What is typed is not what was complained about.
            self.error = None;
        }
    }

    fn toolbar(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        let is_running = self.run.is_some();
        ui.horizontal_wrapped(|ui| {
            ui.add_enabled_ui(!is_running, |ui| {
                if ui.button("Open …").on_hover_text("Open a script file.").clicked() {
                    asks.push(Ask::OpenScript(None));
                }
            });
            let can_save = !self.text.is_empty();
            ui.add_enabled_ui(can_save, |ui| {
                if ui.button("Save").on_hover_text("Write the script to its file.").clicked() {
                    asks.push(Ask::SaveScript { anew: false });
                }
                if ui.button("Save as …").clicked() {
                    asks.push(Ask::SaveScript { anew: true });
                }
            });
            ui.separator();
            ui.add_enabled_ui(!is_running, |ui| {
                ui.selectable_value(&mut self.is_real_time, false, "Exact clock")
                    .on_hover_text("Beside the bench of this window, as fast as the machine can: the same result every time.");
                ui.selectable_value(&mut self.is_real_time, true, "Real time")
                    .on_hover_text("On the rig. The window gives its bench to the script and takes it back at the end.");
            });
            let label = ui.label("Settings");
            let field = egui::TextEdit::singleline(&mut self.settings)
                .desired_width(170.0)
                .hint_text("quick=true; k_i=50e3");
            ui.add_enabled(!is_running, field)
                .labelled_by(label.id)
                .on_hover_text("Values in place of those in setting(\"…\", …), with semicolons between them.");
            let can_run = !is_running && self.path.is_some();
            let run = ui.add_enabled(can_run, egui::Button::new("▶ Run script"));
            if run.on_hover_text("Run the text as it stands below.").clicked() {
                asks.push(Ask::RunScript { real_time: self.is_real_time });
            }
            let stop = ui.add_enabled(is_running, egui::Button::new("■ Stop script"));
            if stop.on_hover_text("Bring its bench to rest and end the script.").clicked() {
                self.stop();
            }
            ui.separator();
            ui.toggle_value(&mut self.shows_reference, "Reference")
                .on_hover_text("All functions of a script with an example each.");
            if let Some(path) = &self.path {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let changed = if self.text == self.saved { "" } else { " (not saved)" };
                ui.label(format!("{name}{changed}")).on_hover_text(path.display().to_string());
            }
        });
    }

    /// What the script is doing, or what became of it.
    fn status(&self, ui: &mut Ui) {
        let dark = ui.visuals().dark_mode;
        if let Some((part, text)) = &self.progress {
            ui.horizontal(|ui| {
                ui.spinner();
                let percent = (100.0 * part).round();
                let bar = egui::ProgressBar::new(*part as f32).desired_width(220.0);
                ui.add(bar.text(format!("{percent} %")));
                ui.label(if text.is_empty() { "running …" } else { text });
            });
        }
        if let Some((is_ok, words)) = &self.verdict {
            let (sign, color) = if *is_ok {
                ("✔", theme::good(dark))
            } else {
                ("✖", theme::danger_text(dark))
            };
            ui.label(RichText::new(format!("{sign} {words}")).color(color));
        }
    }

    /// Nothing is open: the scripts that there are.
    fn empty(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        let shipped = self.shipped.get_or_insert_with(list);
        ui.add_space(8.0);
        ui.label(
            "A script is a whole test as a text: sessions, changes, checks, tables and plots. Open one, or begin with a \
             shipped one:",
        );
        ui.add_space(4.0);
        if shipped.is_empty() {
            ui.label("No shipped scripts were found beside the sessions.");
        }
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for (path, about) in shipped.iter() {
                ui.horizontal_wrapped(|ui| {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    let button = egui::Button::new(name).min_size(egui::vec2(190.0, 0.0));
                    if ui.add(button).clicked() {
                        asks.push(Ask::OpenScript(Some(path.clone())));
                    }
                    ui.label(about.as_str());
                });
            }
            if self.shows_reference {
                ui.separator();
                reference(ui);
            }
        });
    }
}

/// The shipped scripts with the first sentence of each.
fn list() -> Vec<(PathBuf, String)> {
    let Ok(first) = crate::home::find("sessions/known-mass.rhai") else {
        return Vec::new();
    };
    let directory = first.parent().and_then(|d| std::fs::read_dir(d).ok());
    let mut found: Vec<(PathBuf, String)> = directory
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "rhai"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let about = text.lines().next().unwrap_or_default();
            let about = about.trim_start_matches('/').trim().to_owned();
            (path, about)
        })
        .collect();
    found.sort();
    found
}

/// A script that has ended, in a sentence.
fn verdict(outcome: &Outcome) -> (bool, String) {
    let held = outcome.checks.iter().filter(|c| c.held).count();
    if let Some(error) = &outcome.error {
        let place = match (error.line, error.column) {
            (Some(line), Some(column)) => format!("line {line}, column {column}: "),
            _ => String::new(),
        };
        let what = match error.kind {
            EndKind::Stopped => "stopped",
            EndKind::Tripped => "tripped",
            _ => "ended",
        };
        return (false, format!("{what} – {place}{}", error.message));
    }
    match outcome.failed_checks() {
        Some(words) => (false, words),
        None => (
            true,
            format!(
                "done: {held} of {held} checks held, {} files written, {:.1} s of bench time",
                outcome.files.len(),
                outcome.bench_s
            ),
        ),
    }
}

fn reference(ui: &mut Ui) {
    ScrollArea::vertical()
        .id_salt("reference")
        .auto_shrink(false)
        .show(ui, |ui| {
            egui::Grid::new("functions")
                .num_columns(3)
                .striped(true)
                .spacing([16.0, 6.0])
                .show(ui, |ui| {
                    for (function, about, example) in script::reference() {
                        ui.label(RichText::new(function).monospace());
                        ui.add(egui::Label::new(about).wrap());
                        ui.label(RichText::new(example).monospace().size(13.0));
                        ui.end_row();
                    }
                });
        });
}
