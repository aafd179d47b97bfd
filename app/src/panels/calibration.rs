//! The calibration of one load cell, step by step: apply a load, wait until the reading is steady, take it; see how
//! the line fits; name it, save it, use it.

mod form;
mod residuals;

use crate::panels::mark::{Mark, marked};
use crate::panels::rig::WIDE;
use crate::view::Ask;
use eframe::egui::{self, Button, DragValue, Grid, RichText, Ui};
use form::Form;
use rt_core::calibration::accept::{Demands, judge, preview};
use rt_core::calibration::reading::Reading;
use rt_core::calibration::store::Library;
use rt_core::calibration::{Calibration, Kind, Point};
use rt_core::rig::{CellSpec, RigCommand};

/// How long a reading is averaged, in s.
pub const AVERAGED_S: f64 = 2.0;

/// What the wizard sees in one frame.
pub struct Bench<'a> {
    /// Index of the cell.
    pub index: usize,
    /// The cell.
    pub cell: &'a CellSpec,
    /// The calibration in use.
    pub before: Option<&'a Calibration>,
    /// The raw reading over the last [`AVERAGED_S`]; `None` without enough numbers.
    pub reading: Option<Reading>,
    /// Whether the rig hangs loads by command.
    pub hangs_loads: bool,
    /// Why nothing can be taken now, if so.
    pub obstacle: Option<String>,
    /// All calibrations.
    pub library: &'a Library,
}

/// What a person decided.
pub enum Decision {
    /// Leave without a result.
    Cancel,
    /// Keep and use this.
    Save(Box<Calibration>),
}

/// A load, and what was read under it.
struct Row {
    load_n: f64,
    taken: Option<Reading>,
}

/// See the module's text.
pub struct Wizard {
    kind: Kind,
    rows: Vec<Row>,
    current: usize,
    /// The load that was hung by command.
    hung: Option<f64>,
    /// Whether the reading falls as the load grows.
    falls: bool,
    form: Form,
}

/// Loads that a kind begins with, in N.
fn plan(kind: Kind) -> &'static [f64] {
    match kind {
        Kind::Zero => &[0.0],
        Kind::Span => &[200.0],
        Kind::TwoPoint => &[0.0, 200.0],
        Kind::MultiPoint => &[0.0, 100.0, 200.0, 300.0, 200.0, 100.0, 0.0],
    }
}

fn rows(kind: Kind) -> Vec<Row> {
    let row = |load_n: &f64| Row {
        load_n: *load_n,
        taken: None,
    };
    plan(kind).iter().map(row).collect()
}

/// Largest load that can be typed, of either sign, in N.
const MOST_N: f64 = 100_000.0;

impl Wizard {
    /// Begins; the operator is who recordings name too.
    pub fn new(kind: Kind, cell: &CellSpec, library: &Library, operator: &str) -> Self {
        Self {
            kind,
            rows: rows(kind),
            current: 0,
            hung: None,
            falls: false,
            form: Form::new(cell, library, operator),
        }
    }

    /// Whether a load was hung by command and has to be taken off again.
    pub fn has_hung(&self) -> bool {
        self.hung.is_some()
    }

    fn points(&self) -> Vec<Point> {
        let taken = self.rows.iter().filter_map(|row| {
            let reading = row.taken?;
            Some(Point {
                load_n: row.load_n,
                reading: reading.mean,
                deviation: reading.deviation,
                samples: reading.samples,
                seconds: AVERAGED_S,
            })
        });
        taken.collect()
    }

    fn choose(&mut self, kind: Kind) {
        if kind != self.kind {
            (self.kind, self.rows, self.current) = (kind, rows(kind), 0);
        }
    }

    /// Draws everything; a decision ends the wizard.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        bench: &Bench<'_>,
        asks: &mut Vec<Ask>,
    ) -> Option<Decision> {
        let mut decision = None;
        ui.horizontal_wrapped(|ui| {
            ui.heading(format!("Calibrate {}", bench.cell.name));
            ui.label(format!("load cell {}", bench.cell.id));
        });
        if ui
            .button("Back without saving")
            .on_hover_text("Leave; the calibration in use stays in use.")
            .clicked()
        {
            decision = Some(Decision::Cancel);
        }
        self.kinds(ui, bench);
        if let Some(obstacle) = &bench.obstacle {
            warn(ui, obstacle);
        }
        ui.separator();
        let saved = if ui.available_width() >= WIDE {
            ui.columns(2, |halves| {
                // Columns stretch what stands in them; buttons keep their size.
                halves[0].vertical(|ui| {
                    self.step(ui, bench, asks);
                    ui.separator();
                    self.table(ui, bench);
                });
                halves[1].vertical(|ui| self.outcome(ui, bench)).inner
            })
        } else {
            self.step(ui, bench, asks);
            ui.separator();
            self.table(ui, bench);
            self.outcome(ui, bench)
        };
        decision.or(saved.map(Decision::Save))
    }

    /// How the line fits, and what is written about it.
    fn outcome(&mut self, ui: &mut Ui, bench: &Bench<'_>) -> Option<Box<Calibration>> {
        let points = self.points();
        self.result(ui, bench, &points);
        ui.separator();
        self.save(ui, bench, points)
    }

    fn kinds(&mut self, ui: &mut Ui, bench: &Bench<'_>) {
        ui.horizontal_wrapped(|ui| {
            for kind in Kind::ALL {
                let possible = !kind.needs_before() || bench.before.is_some();
                let label = Button::selectable(self.kind == kind, title(kind));
                let response = ui.add_enabled(possible, label).on_hover_text(kind.help());
                let response = response.on_disabled_hover_text(
                    "This corrects an earlier calibration, and the cell has none.",
                );
                if response.clicked() {
                    self.choose(kind);
                }
            }
        });
        ui.label(RichText::new(self.kind.help()).size(13.0));
    }

    /// What to do now, what the reading does, and the button that takes it.
    fn step(&mut self, ui: &mut Ui, bench: &Bench<'_>, asks: &mut Vec<Ask>) {
        let count = self.rows.len();
        let Some(row) = self.rows.get_mut(self.current) else {
            return;
        };
        let what = if row.load_n == 0.0 {
            format!("Take all load off {}", bench.cell.name)
        } else {
            format!("Apply {} N to {}", row.load_n, bench.cell.name)
        };
        let number = self.current + 1;
        ui.label(
            RichText::new(format!("Point {number} of {count}: {what}"))
                .strong()
                .size(17.0),
        );
        if bench.hangs_loads {
            let text = format!("Hang {} N (simulated)", row.load_n);
            let hang = ui.add_enabled(bench.obstacle.is_none(), Button::new(text));
            if hang
                .on_hover_text("Only a simulated rig can do this itself: at a real one a person hangs the weight.")
                .clicked()
            {
                self.hung = Some(row.load_n);
                asks.push(Ask::Rig(RigCommand::HangLoad {
                    cell: bench.index,
                    newtons: row.load_n,
                }));
            }
        }
        let is_steady = indicator(ui, bench);
        let possible = bench.obstacle.is_none() && is_steady;
        let again = row.taken.is_some();
        let text = if again { "Take again" } else { "Take" };
        let take = Button::new(RichText::new(text).size(17.0)).min_size(egui::vec2(160.0, 36.0));
        let taken = ui
            .add_enabled(possible, take)
            .on_hover_text("Keep the mean of the last two seconds for this load.")
            .on_disabled_hover_text("The reading must be steady, and the drive off.");
        if let (true, Some(reading)) = (taken.clicked(), bench.reading) {
            row.taken = Some(reading);
            let after = self
                .rows
                .iter()
                .skip(number)
                .position(|r| r.taken.is_none());
            let any = self.rows.iter().position(|r| r.taken.is_none());
            self.current = after.map(|n| n + number).or(any).unwrap_or(self.current);
        }
    }

    fn table(&mut self, ui: &mut Ui, bench: &Bench<'_>) {
        let points = self.points();
        let fit = preview(self.kind, &points, bench.before).ok();
        let mut residuals = fit.iter().flat_map(|f| &f.residuals_n);
        let unit = bench.cell.raw.unit;
        Grid::new("calibration points")
            .num_columns(5)
            .spacing(egui::vec2(10.0, 4.0))
            .striped(true)
            .show(ui, |ui| {
                let reading = format!("Reading {unit}");
                for head in ["Point", "Load", &reading, "σ", "Residual N"] {
                    ui.label(RichText::new(head).size(13.0).strong());
                }
                ui.end_row();
                for (i, row) in self.rows.iter_mut().enumerate() {
                    let name = format!("{:>2}", i + 1);
                    let choice =
                        ui.selectable_label(self.current == i, RichText::new(name).monospace());
                    choice.widget_info(|| {
                        let state = if row.taken.is_some() { "taken" } else { "open" };
                        let label = format!("Point {}, {state}", i + 1);
                        egui::WidgetInfo::selected(
                            egui::Role::RadioButton,
                            true,
                            self.current == i,
                            label,
                        )
                    });
                    if choice
                        .on_hover_text("Go to this point, to take it or to take it again.")
                        .clicked()
                    {
                        self.current = i;
                    }
                    let load = DragValue::new(&mut row.load_n)
                        .range(-MOST_N..=MOST_N)
                        .speed(1.0)
                        .max_decimals(4)
                        .suffix(" N");
                    let field = ui.add_sized([84.0, 30.0], load);
                    let value = row.load_n;
                    field.widget_info(|| egui::WidgetInfo {
                        value: Some(value),
                        ..egui::WidgetInfo::labeled(
                            egui::Role::SpinButton,
                            true,
                            format!("Load of point {}", i + 1),
                        )
                    });
                    field.on_hover_text(
                        "The load in newtons: the mass in kg times 9.80665, or the local gravity.",
                    );
                    let cell = |text: String| RichText::new(text).monospace().size(13.0);
                    let (mean, deviation, residual) = match row.taken {
                        Some(r) => (
                            format!("{:>10.6}", r.mean),
                            format!("{:>8.6}", r.deviation),
                            residuals
                                .next()
                                .map_or_else(|| dash(9), |r| format!("{r:>+9.3}")),
                        ),
                        None => (dash(10), dash(8), dash(9)),
                    };
                    let hint = row
                        .taken
                        .map(|r| format!("{} readings in {AVERAGED_S} s", r.samples));
                    for text in [mean, deviation, residual] {
                        let label = ui.label(cell(text));
                        if let Some(hint) = &hint {
                            label.on_hover_text(hint);
                        }
                    }
                    ui.end_row();
                }
            });
        if self.kind == Kind::MultiPoint {
            ui.horizontal(|ui| {
                if ui
                    .button("Add point")
                    .on_hover_text("One more load at the end.")
                    .clicked()
                {
                    let load_n = self.rows.last().map_or(0.0, |r| r.load_n);
                    self.rows.push(Row {
                        load_n,
                        taken: None,
                    });
                    self.current = self.rows.len() - 1;
                }
                let remove = Button::new("Remove point");
                let hint = "Take the chosen point out of the list. Three loads are the least.";
                if ui
                    .add_enabled(self.rows.len() > 3, remove)
                    .on_hover_text(hint)
                    .clicked()
                {
                    self.rows.remove(self.current);
                    self.current = self.current.min(self.rows.len() - 1);
                }
            });
        }
    }

    fn result(&self, ui: &mut Ui, bench: &Bench<'_>, points: &[Point]) {
        let Ok(fit) = preview(self.kind, points, bench.before) else {
            return;
        };
        residuals::plot(ui, points, &fit);
        let unit = bench.cell.raw.unit;
        let mut lines = vec![
            (
                "Slope",
                format!("{:.4} N/({unit})", fit.line.slope_n_per_unit),
            ),
            ("Offset", format!("{:+.4} N", fit.line.offset_n)),
        ];
        if let Some(before) = bench.before {
            let slope = 100.0 * (fit.line.slope_n_per_unit / before.line.slope_n_per_unit - 1.0);
            let zero = fit.line.newtons(before.line.zero_reading());
            lines.push(("Slope against the one in use", format!("{slope:+.3} %")));
            lines.push(("Zero against the one in use", format!("{zero:+.3} N")));
        }
        let statistics = [
            ("Linearity", fit.linearity_pct, "% of span"),
            ("Hysteresis", fit.hysteresis_pct, "% of span"),
            ("Standard error", fit.standard_error_n, "N"),
            ("Repeatability", fit.repeatability_n, "N"),
        ];
        let known = statistics
            .into_iter()
            .filter_map(|(name, value, unit)| Some((name, format!("{:.3} {unit}", value?))));
        lines.extend(known);
        Grid::new("calibration result")
            .num_columns(2)
            .show(ui, |ui| {
                for (name, value) in lines {
                    ui.label(name);
                    ui.label(RichText::new(value).monospace());
                    ui.end_row();
                }
            });
    }

    /// Name, operator, weights, validity; why it cannot be saved, or the button that does.
    fn save(
        &mut self,
        ui: &mut Ui,
        bench: &Bench<'_>,
        points: Vec<Point>,
    ) -> Option<Box<Calibration>> {
        self.form.show(ui);
        let usual = Demands::after(bench.before);
        if bench.before.is_none() {
            ui.checkbox(&mut self.falls, "Mounted the other way round")
                .on_hover_text("The reading of this cell falls as the load grows.");
        }
        let demands = Demands {
            falls_with_load: self.falls || usual.falls_with_load,
            ..usual
        };
        let open = self.rows.iter().filter(|r| r.taken.is_none()).count();
        let judged = judge(self.kind, &points, bench.before, &demands);
        let problem = match (&judged, open) {
            (_, 1..) if self.kind != Kind::MultiPoint || points.len() < 3 => {
                Some(format!("{open} point(s) are still to be taken."))
            }
            (Err(refused), _) => Some(format!("Refused: {refused}.")),
            (Ok(_), _) => self
                .form
                .problem(bench.library)
                .or_else(|| bench.obstacle.clone()),
        };
        if let Some(problem) = &problem {
            warn(ui, problem);
        }
        if let (Ok(accepted), None) = (&judged, &problem) {
            for doubt in &accepted.doubts {
                ui.label(RichText::new(format!("Note: {doubt}.")).size(13.0));
            }
            if open > 0 {
                ui.label(
                    RichText::new(format!("Note: {open} open point(s) are left out.")).size(13.0),
                );
            }
        }
        let button =
            Button::new(RichText::new("Save and use").size(17.0)).min_size(egui::vec2(160.0, 36.0));
        let saved = ui
            .add_enabled(problem.is_none(), button)
            .on_hover_text("Keep it as a file that is never changed, and use it from now on.");
        match (saved.clicked(), judged) {
            (true, Ok(accepted)) => self.form.calibration(self.kind, bench, points, &accepted),
            _ => None,
        }
    }
}

/// What its button says.
pub fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Zero => "Zero",
        Kind::Span => "Span",
        Kind::TwoPoint => "Two-point",
        Kind::MultiPoint => "Multi-point",
    }
}

fn dash(width: usize) -> String {
    format!("{:>width$}", "–")
}

fn warn(ui: &mut Ui, text: &str) {
    marked(ui, Mark::Warning, text);
}

/// Mean, deviation and drift of the reading, and whether it stands still: by word, shape and colour.
fn indicator(ui: &mut Ui, bench: &Bench<'_>) -> bool {
    let whole = bench.reading.filter(|r| r.seconds >= 0.95 * AVERAGED_S);
    let is_steady = whole.is_some_and(|r| r.is_steady());
    let (mark, text) = match (whole, is_steady) {
        (None, _) => (Mark::Waiting, "waiting for two seconds of readings"),
        (Some(_), true) => (Mark::Good, "steady"),
        (Some(_), false) => (Mark::Warning, "moving"),
    };
    marked(ui, mark, RichText::new(text).strong()).on_hover_text(
        "Steady: over the last two seconds the mean moves by less than half the noise.",
    );
    let unit = bench.cell.raw.unit;
    let number = |value: fn(&Reading) -> f64| {
        let shown = bench.reading.as_ref().map(value);
        shown.map_or_else(|| dash(10), |v| format!("{v:>10.6}"))
    };
    Grid::new("reading").num_columns(2).show(ui, |ui| {
        for (name, text) in [
            ("Mean", number(|r| r.mean)),
            ("Noise σ", number(|r| r.deviation)),
            ("Drift", number(|r| r.drift)),
        ] {
            ui.label(name);
            ui.label(RichText::new(format!("{text} {unit}")).monospace());
            ui.end_row();
        }
    });
    is_steady
}
