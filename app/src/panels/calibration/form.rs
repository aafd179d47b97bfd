//! What a person writes about a calibration: its name, who took it, with which weights, for how long it holds.

use super::Bench;
use eframe::egui::{self, DragValue, Grid, TextEdit, Ui};
use rt_core::calibration::accept::Accepted;
use rt_core::calibration::date::{Date, Moment};
use rt_core::calibration::id::CalibrationId;
use rt_core::calibration::store::Library;
use rt_core::calibration::{Calibration, FORMAT_VERSION, Kind, Point};
use rt_core::rig::CellSpec;

/// Days that a calibration holds unless a person says otherwise.
const VALID_DAYS: i64 = 365;

/// See the module's text.
pub struct Form {
    id: String,
    operator: String,
    reference: String,
    valid_days: i64,
    notes: String,
}

impl Form {
    /// With a name that is free.
    pub fn new(cell: &CellSpec, library: &Library, operator: &str) -> Self {
        let id = library.suggest_id(&cell.id, Moment::now());
        let last = library.of_cell(&cell.id).next();
        Self {
            id: id.map_or_else(|_| String::new(), |id| id.to_string()),
            operator: operator.to_owned(),
            reference: last.map(|c| c.reference.clone()).unwrap_or_default(),
            valid_days: VALID_DAYS,
            notes: String::new(),
        }
    }

    /// Draws the fields.
    pub fn show(&mut self, ui: &mut Ui) {
        let fields = [
            (
                "ID",
                &mut self.id,
                "Letters, digits, '-', '_' and '.'; no two calibrations are called the same.",
            ),
            ("Operator", &mut self.operator, "Who takes it."),
            (
                "Weights or reference",
                &mut self.reference,
                "Which weights or which reference cell: number, certificate.",
            ),
            (
                "Notes",
                &mut self.notes,
                "Anything worth knowing: temperature, how the load was applied.",
            ),
        ];
        Grid::new("calibration form")
            .num_columns(2)
            .spacing(egui::vec2(10.0, 6.0))
            .show(ui, |ui| {
                for (name, text, hint) in fields {
                    let label = ui.label(name);
                    let width = ui.available_width().clamp(120.0, 320.0);
                    let field = ui.add(TextEdit::singleline(text).desired_width(width));
                    field.labelled_by(label.id).on_hover_text(hint);
                    ui.end_row();
                }
                let label = ui.label("Valid for");
                ui.horizontal(|ui| {
                    let days = DragValue::new(&mut self.valid_days)
                        .range(1..=36_500)
                        .suffix(" days");
                    ui.add(days)
                        .labelled_by(label.id)
                        .on_hover_text("After this it is shown as expired.");
                    let until = Date::today().plus_days(self.valid_days);
                    ui.label(format!("until {until}"));
                });
                ui.end_row();
            });
    }

    /// What is missing, in words.
    pub fn problem(&self, library: &Library) -> Option<String> {
        let id = match CalibrationId::new(&self.id) {
            Ok(id) => id,
            Err(e) => return Some(format!("{e}.")),
        };
        if library.find(id.as_str()).is_ok() {
            return Some(format!(
                "There is already a calibration {id}; choose another ID."
            ));
        }
        if self.operator.trim().is_empty() {
            return Some("Write who takes it into the field Operator.".into());
        }
        if self.reference.trim().is_empty() {
            return Some(
                "Write which weights hang there into the field 'Weights or reference'.".into(),
            );
        }
        None
    }

    /// The calibration that comes out; `None` while the name cannot be used.
    pub fn calibration(
        &self,
        kind: Kind,
        bench: &Bench<'_>,
        points: Vec<Point>,
        accepted: &Accepted,
    ) -> Option<Box<Calibration>> {
        Some(Box::new(Calibration {
            version: FORMAT_VERSION,
            id: CalibrationId::new(&self.id).ok()?,
            cell: bench.cell.id.clone(),
            unit: bench.cell.raw.unit.to_owned(),
            kind,
            made: Moment::now(),
            valid_until: Date::today().plus_days(self.valid_days),
            operator: self.operator.trim().to_owned(),
            reference: self.reference.trim().to_owned(),
            notes: self.notes.trim().to_owned(),
            before: bench.before.map(|b| b.id),
            points,
            low_n: accepted.low_n,
            high_n: accepted.high_n,
            line: accepted.fit.line,
        }))
    }
}
