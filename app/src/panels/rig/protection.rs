//! What protects at the rig, hazard by hazard, as its file says it.

use crate::panels::mark::{Mark, marked};
use crate::rig_work::offline;
use drivers::protection::{Hazard, Protected, Table};
use eframe::egui::{self, RichText, Ui};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// See the module's text. The file is read once, by a thread of its own.
pub(super) struct Protection {
    file: PathBuf,
    table: Option<Arc<OnceLock<Result<Table, String>>>>,
}

impl Protection {
    pub fn of(file: PathBuf) -> Self {
        Self { file, table: None }
    }

    /// Whether the table is there.
    #[cfg(test)]
    pub fn is_read(&self) -> bool {
        self.table
            .as_ref()
            .is_some_and(|table| table.get().is_some())
    }

    fn table(&mut self, ctx: &egui::Context) -> &OnceLock<Result<Table, String>> {
        self.table.get_or_insert_with(|| {
            let table = Arc::new(OnceLock::new());
            let (file, answer, ctx) = (self.file.clone(), Arc::clone(&table), ctx.clone());
            let read = move || {
                let read = offline::read(&file, offline::PERIOD_S).map_err(|e| e.to_string());
                // It is set here only.
                let _ = answer.set(read);
                ctx.request_repaint();
            };
            let begun = std::thread::Builder::new()
                .name("protection".into())
                .spawn(read);
            if let Err(e) = begun {
                let _ = table.set(Err(format!("the rig file cannot be looked at: {e}")));
            }
            table
        })
    }

    /// Draws the table.
    pub fn show(&mut self, ui: &mut Ui) {
        ui.heading("Protection");
        match self.table(ui.ctx()).get() {
            None => {
                marked(ui, Mark::Waiting, "The rig file is being looked at.");
            }
            Some(Err(problem)) => {
                marked(ui, Mark::Bad, problem.as_str());
            }
            Some(Ok(table)) => show_table(ui, table),
        }
    }
}

fn show_table(ui: &mut Ui, table: &Table) {
    let mark = match (table.is_ok(), table.is_hardware) {
        (true, true) => Mark::Good,
        (true, false) => Mark::Waiting,
        (false, _) => Mark::Bad,
    };
    wrapped(ui, mark, &offline::verdict(table)).on_hover_text(
        "By the rig file alone, as 'pantobench rig check FILE --offline' says it: what protects, and what does not.",
    );
    if let Some(stopping) = &table.stopping {
        ui.label(offline::in_words(stopping)).on_hover_text(
            "The worst case at the speed that the file permits, on the simulated plant.",
        );
    }
    ui.add_space(4.0);
    for hazard in &table.hazards {
        show_hazard(ui, hazard);
    }
}

/// A sentence behind its mark that wraps where the panel ends.
fn wrapped(ui: &mut Ui, mark: Mark, text: &str) -> egui::Response {
    let color = mark.color(ui.visuals().dark_mode);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        marked(ui, mark, "");
        let text = RichText::new(text).strong().color(color);
        ui.add(egui::Label::new(text).wrap())
    })
    .inner
}

/// Where the lines of a hazard begin, under its mark.
const INDENT: f32 = 18.0;

fn show_hazard(ui: &mut Ui, hazard: &Hazard) {
    let (mark, word) = match hazard.state {
        Protected::Ok => (Mark::Good, "ok"),
        Protected::Weak => (Mark::Warning, "weak"),
        Protected::Missing => (Mark::Bad, "missing"),
    };
    wrapped(ui, mark, &format!("{word}: {}", hazard.what)).on_hover_text(hazard.id);
    ui.horizontal(|ui| {
        ui.add_space(INDENT);
        ui.vertical(|ui| {
            for protection in &hazard.protected_by {
                ui.label(protection);
            }
            if !hazard.note.is_empty() {
                ui.label(RichText::new(&hazard.note).italics());
            }
        });
    });
}
