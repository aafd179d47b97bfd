//! The rig: whether it is connected, what its devices do, what it measures, and how its load cells are calibrated.

mod protection;

use crate::calibration_keeper::Keeper;
use crate::panels::calibration::{AVERAGED_S, Bench, Decision, Wizard, title};
use crate::panels::mark::{Mark, marked};
use crate::theme;
use crate::units::{fixed_width, grouped, shown};
use crate::view::{Ask, View};
use eframe::egui::{self, Button, Grid, RichText, ScrollArea, Ui};
use protection::Protection;
use rt_core::calibration::date::Date;
use rt_core::calibration::reading::Reading;
use rt_core::calibration::store::Library;
use rt_core::calibration::{Calibration, Kind, Validity, WARN_DAYS};
use rt_core::channel::Role;
use rt_core::rig::device::DeviceState;
use rt_core::rig::{CellSpec, RigCommand, RigLink};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// See the module's text.
pub struct RigPanel {
    link: RigLink,
    keeper: Keeper,
    library: Library,
    /// Whether the library was asked for.
    is_read: bool,
    wizard: Option<(usize, Wizard)>,
    problem: Option<String>,
    protection: Protection,
}

/// From this width on things stand beside each other.
pub const WIDE: f32 = 860.0;

/// How often a kept calibration is looked for.
const KEEPING: Duration = Duration::from_millis(50);

impl RigPanel {
    /// For a rig that the loop drives. `file` is the rig's, `own` where new calibrations go.
    pub fn new(link: RigLink, file: PathBuf, own: PathBuf) -> Self {
        Self {
            protection: Protection::of(file.clone()),
            keeper: Keeper::new(file, own),
            library: Library::default(),
            is_read: false,
            wizard: None,
            problem: None,
            link,
        }
    }

    /// Draws the panel. `operator` is who calibrates, as far as it is known.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, operator: &str, asks: &mut Vec<Ask>) {
        self.keep(ui.ctx(), asks);
        ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                if let Some((index, mut wizard)) = self.wizard.take() {
                    match self.show_wizard(ui, view, index, &mut wizard, asks) {
                        None => self.wizard = Some((index, wizard)),
                        Some(decision) => self.decide(ui.ctx(), index, wizard, decision, asks),
                    }
                    return;
                }
                if ui.available_width() >= WIDE {
                    ui.columns(2, |halves| {
                        self.connection(&mut halves[0]);
                        halves[0].separator();
                        inputs(&mut halves[0], view);
                        self.cells(&mut halves[1], view, operator);
                    });
                    ui.separator();
                    self.protection.show(ui);
                    return;
                }
                self.connection(ui);
                ui.separator();
                inputs(ui, view);
                ui.separator();
                self.cells(ui, view, operator);
                ui.separator();
                self.protection.show(ui);
            });
    }

    /// Reads the calibrations once, and takes what the keeper has done.
    fn keep(&mut self, ctx: &egui::Context, asks: &mut Vec<Ask>) {
        if !self.is_read && !self.link.spec.cells.is_empty() {
            self.is_read = true;
            self.begin(ctx, None);
        }
        if let Some(answer) = self.keeper.poll() {
            match answer.library {
                Ok(library) => self.library = library,
                Err(problem) => self.problem = Some(problem),
            }
            match answer.kept {
                Some((calibration, Ok(path))) => self.use_kept(&calibration, &path, asks),
                Some((_, Err(problem))) => self.problem = Some(problem),
                None => {}
            }
        }
        if self.keeper.is_busy() {
            ctx.request_repaint_after(KEEPING);
        }
    }

    fn begin(&mut self, ctx: &egui::Context, keep: Option<Box<Calibration>>) {
        let ctx = ctx.clone();
        if let Err(problem) = self.keeper.begin(keep, move || ctx.request_repaint()) {
            self.problem = Some(problem);
        }
    }

    /// A calibration is on the disk: the loop is asked to use it.
    fn use_kept(&mut self, calibration: &Calibration, path: &std::path::Path, asks: &mut Vec<Ask>) {
        self.problem = None;
        let cells = &self.link.spec.cells;
        let Some(cell) = cells.iter().position(|c| c.id == calibration.cell) else {
            return;
        };
        asks.push(Ask::Rig(RigCommand::Calibrate {
            cell,
            id: calibration.id,
            line: calibration.line,
        }));
        let mut sentence = format!(
            "calibration {} is kept as {}",
            calibration.id,
            path.display()
        );
        if let Some(named) = &cells[cell].named {
            sentence.push_str(&format!(
                "; the rig file names {named}, which the next start uses again"
            ));
        }
        asks.push(Ask::Tell(sentence));
    }

    fn decide(
        &mut self,
        ctx: &egui::Context,
        index: usize,
        wizard: Wizard,
        decision: Decision,
        asks: &mut Vec<Ask>,
    ) {
        if wizard.has_hung() {
            asks.push(Ask::Rig(RigCommand::RemoveLoads));
        }
        if let Decision::Save(calibration) = decision {
            debug_assert_eq!(calibration.cell, self.link.spec.cells[index].id);
            self.begin(ctx, Some(calibration));
        }
    }

    fn show_wizard(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        index: usize,
        wizard: &mut Wizard,
        asks: &mut Vec<Ask>,
    ) -> Option<Decision> {
        // Cells do not change while a rig is driven.
        let cell = self.link.spec.cells.get(index)?;
        let bench = Bench {
            index,
            cell,
            before: self.in_use(index),
            reading: reading(view, cell),
            hangs_loads: self.link.spec.hangs_loads,
            obstacle: obstacle(view),
            library: &self.library,
        };
        wizard.show(ui, &bench, asks)
    }

    /// The calibration whose line the loop says that it uses.
    fn in_use(&self, index: usize) -> Option<&Calibration> {
        let cell = self.link.spec.cells.get(index)?;
        let line = self.link.lines.get(index)?.get();
        let started_with = cell.calibration.iter();
        started_with
            .chain(self.library.of_cell(&cell.id))
            .find(|c| c.line == line)
    }

    fn connection(&self, ui: &mut Ui) {
        let dark = ui.visuals().dark_mode;
        ui.heading(&self.link.spec.name);
        let states = self.link.devices.iter().map(|d| d.state());
        let (worst, text) = match states.max_by_key(|s| severity(*s)) {
            None => (Mark::Waiting, "This rig tells nothing about its devices."),
            Some(state) if severity(state) == 0 => (Mark::Good, "Connected"),
            Some(state) => (mark(state), state.name()),
        };
        marked(ui, worst, RichText::new(text).strong().size(17.0))
            .on_hover_text("The worst of all devices.");
        if self.link.devices.is_empty() {
            return;
        }
        for device in &self.link.devices {
            let state = device.state();
            ui.horizontal_wrapped(|ui| {
                let name = ui.label(&device.name);
                if let Some(identity) = device.identity() {
                    name.on_hover_text(identity);
                }
                marked(ui, mark(state), state.name())
                    .on_hover_text("What it did in the last exchange.");
            });
            if let Some(problem) = device.problem() {
                ui.label(RichText::new(problem).color(theme::warning(dark)));
            }
            ui.horizontal_wrapped(|ui| {
                for (name, count, is_fault, hint) in [
                    (
                        "exchanges",
                        &device.exchanges,
                        false,
                        "Tried since the start.",
                    ),
                    ("lost", &device.lost, true, "Exchanges without an answer."),
                    (
                        "late",
                        &device.late,
                        true,
                        "Answers that came later than they should.",
                    ),
                    (
                        "rejected",
                        &device.rejected,
                        true,
                        "What came and was not used: damaged, doubled, or from somebody else.",
                    ),
                ] {
                    let count = count.load(Ordering::Relaxed);
                    let width = if is_fault { 5 } else { 10 };
                    let text = format!("{name} {:>width$}", grouped(count));
                    let text = RichText::new(text).monospace().size(13.0);
                    let is_bad = is_fault && count > 0;
                    ui.label(if is_bad {
                        text.color(theme::warning(dark)).strong()
                    } else {
                        text
                    })
                    .on_hover_text(hint);
                }
            });
            ui.add_space(4.0);
        }
    }

    fn cells(&mut self, ui: &mut Ui, view: &View<'_>, operator: &str) {
        ui.heading("Force channels");
        for problem in self.problem.iter().chain(&self.library.problems) {
            marked(ui, Mark::Warning, problem);
        }
        if self.link.spec.cells.is_empty() {
            ui.label(
                "This rig gives newtons by itself: there is nothing to calibrate. Try sessions/load-cells.ron, whose \
                 simulated load cells can be calibrated.",
            );
            return;
        }
        let obstacle = obstacle(view);
        if let Some(obstacle) = &obstacle {
            marked(ui, Mark::Warning, obstacle);
        }
        let possible = obstacle.is_none() && !self.keeper.is_busy();
        let mut begun = None;
        for (index, cell) in self.link.spec.cells.iter().enumerate() {
            let before = self.in_use(index);
            let kind = egui::Frame::group(ui.style()).show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                card(ui, view, cell, before, possible)
            });
            begun = begun.or(kind.inner.map(|kind| (index, kind)));
        }
        if let Some((index, kind)) = begun {
            let cell = &self.link.spec.cells[index];
            self.wizard = Some((index, Wizard::new(kind, cell, &self.library, operator)));
        }
    }
}

/// 0 if all is well.
fn severity(state: DeviceState) -> u8 {
    match state {
        DeviceState::Operational | DeviceState::Powered => 0,
        DeviceState::Starting => 1,
        DeviceState::NotAnswering => 2,
        DeviceState::NoPower => 3,
    }
}

/// A shape for a device's state.
fn mark(state: DeviceState) -> Mark {
    match state {
        DeviceState::Starting => Mark::Waiting,
        DeviceState::Operational => Mark::Good,
        DeviceState::Powered => Mark::Active,
        DeviceState::NotAnswering => Mark::Warning,
        DeviceState::NoPower => Mark::Bad,
    }
}

/// The newest value of a channel, whatever moment is shown.
fn newest(view: &View<'_>, id: &str) -> Option<f64> {
    let history = &view.data.history;
    history.value_at(view.data.find(id)?, history.newest_s()?)
}

/// Why nothing can be calibrated now.
fn obstacle(view: &View<'_>) -> Option<String> {
    if view.is_replay {
        return Some("A recording is shown: close it to calibrate.".into());
    }
    // Numbers of the states, as the loop writes them: Idle, Ready, Armed, Running, Stopping, Tripped, Holding.
    let state = newest(view, "loop.state").map_or(usize::MAX, |number| number as usize);
    let name = match state {
        0 | 1 => return None,
        2 => "Armed",
        3 => "Running",
        4 => "Stopping",
        5 => "Tripped",
        6 => "Holding",
        _ => return Some("The loop does not cycle yet.".into()),
    };
    let how = if state == 5 {
        "acknowledge the trip first (F8)"
    } else {
        "stop the bench first (Esc)"
    };
    Some(format!("Calibrating is not possible while {name}: {how}."))
}

/// The raw reading of a cell over the last seconds.
fn reading(view: &View<'_>, cell: &CellSpec) -> Option<Reading> {
    let history = &view.data.history;
    let (column, to_s) = (view.data.find(cell.raw.id)?, history.newest_s()?);
    let samples: Vec<(f64, f64)> = history.samples(column, to_s - AVERAGED_S, to_s).collect();
    Reading::of(samples.iter().copied())
}

fn inputs(ui: &mut Ui, view: &View<'_>) {
    ui.heading("Inputs");
    let inputs = view
        .data
        .channels
        .iter()
        .filter(|c| c.role == Role::Measured);
    Grid::new("inputs")
        .num_columns(3)
        .spacing(egui::vec2(14.0, 4.0))
        .striped(true)
        .show(ui, |ui| {
            for channel in inputs {
                let unit = shown(&channel.unit);
                let value = newest(view, &channel.id).unwrap_or(f64::NAN) * unit.factor;
                ui.label(&channel.label).on_hover_text(&channel.id);
                ui.label(RichText::new(fixed_width(value)).monospace());
                ui.label(RichText::new(unit.unit).monospace());
                ui.end_row();
            }
        });
}

/// Shape and words of a calibration's validity.
fn validity(c: Option<&Calibration>) -> (Mark, String) {
    match c.map(|c| c.validity(Date::today(), WARN_DAYS)) {
        None => (
            Mark::Bad,
            "never calibrated: the force is not a number".into(),
        ),
        Some(v @ Validity::Valid { .. }) => (Mark::Good, v.to_string()),
        Some(v @ Validity::EndsSoon { .. }) => (Mark::Warning, v.to_string()),
        Some(v @ Validity::Expired { .. }) => (Mark::Bad, v.to_string()),
    }
}

/// One load cell; returns the kind of calibration that was asked for.
fn card(
    ui: &mut Ui,
    view: &View<'_>,
    cell: &CellSpec,
    c: Option<&Calibration>,
    possible: bool,
) -> Option<Kind> {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&cell.name).strong().size(17.0));
        ui.label(format!("load cell {}, part of '{}'", cell.id, cell.force));
    });
    let (mark, text) = validity(c);
    marked(ui, mark, RichText::new(text).strong())
        .on_hover_text("How long the calibration in use still holds.");
    Grid::new(("cell", &cell.id))
        .num_columns(2)
        .spacing(egui::vec2(14.0, 4.0))
        .show(ui, |ui| {
            let mut row = |name: &str, value: String, hint: &str| {
                ui.label(name).on_hover_text(hint);
                ui.label(RichText::new(value).monospace());
                ui.end_row();
            };
            if let Some(c) = c {
                let age = Date::today().days_after(c.made.date()).max(0);
                let age = match age {
                    0 => "today".to_owned(),
                    1 => "1 day old".to_owned(),
                    days => format!("{days} days old"),
                };
                let made = format!("{}, {age}", c.made.date());
                row(
                    "Calibration",
                    c.id.to_string(),
                    "As the loop has confirmed it.",
                );
                row(
                    "Taken",
                    made,
                    &format!("{} by {} with {}", c.kind.name(), c.operator, c.reference),
                );
                row(
                    "Valid until",
                    c.valid_until.to_string(),
                    "The last day on which it holds.",
                );
                let slope = format!("{:>10.3} N/({})", c.line.slope_n_per_unit, c.unit);
                row("Slope", slope, "Newtons a unit of the reading.");
            }
            let raw = newest(view, cell.raw.id).unwrap_or(f64::NAN);
            let reading = format!("{:>10.5} {}", raw, cell.raw.unit);
            row("Reading", reading, cell.raw.id);
            let newtons = c.map_or(f64::NAN, |c| c.line.newtons(raw));
            row(
                "Force of this cell",
                format!("{newtons:>10.3} N"),
                "By the calibration in use.",
            );
        });
    let mut begun = None;
    ui.horizontal_wrapped(|ui| {
        for kind in Kind::ALL {
            let is_possible = possible && (!kind.needs_before() || c.is_some());
            let button = ui.add_enabled(is_possible, Button::new(format!("{} …", title(kind))));
            button.widget_info(|| {
                let label = format!("{} calibration of {}", title(kind), cell.name);
                egui::WidgetInfo::labeled(egui::Role::Button, is_possible, label)
            });
            let why =
                "Only while the drive is off; zero and span also need an earlier calibration.";
            if button
                .on_hover_text(kind.help())
                .on_disabled_hover_text(why)
                .clicked()
            {
                begun = Some(kind);
            }
        }
    });
    begun
}

#[cfg(test)]
mod workflow;
