//! Puts a rig to work, step by step: scan, home, brake test, check, calibrate, identify; and moves its motor by hand.

use crate::cli::text::number;
use crate::command::UiCommand;
use crate::panels::mark::{Mark, marked};
use crate::rig_work::WorkError;
use crate::rig_work::brake_test::BrakeTested;
use crate::rig_work::check::Checked;
use crate::rig_work::edit;
use crate::rig_work::identify::Identified;
use crate::rig_work::job::{Order, Outcome, Step};
use crate::rig_work::scan::{FoundDevice, Scan};
use crate::view::Ask;
use crate::workspace::PanelKind;
use eframe::egui::{self, Button, Grid, RichText, ScrollArea, Slider, Ui};
use rt_core::bench::jog;
use rt_core::guard::State;
use rt_core::record::event::EventRecord;
use rt_core::rig::RigCommand;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What the panel has to know of the bench in the window.
pub struct Bench<'a> {
    /// The rig file.
    pub rig: &'a Path,
    /// The bench's identifier.
    pub id: &'static str,
    /// Its state.
    pub state: State,
    /// Where the motor is sent, in m.
    pub reference_m: f64,
    /// Where it is, in m.
    pub position_m: f64,
    /// The force, in N.
    pub force_n: f64,
    /// Lowest and highest reference, in m.
    pub range_m: (f64, f64),
    /// What its drive knows of its own position.
    pub home: HomeKnown,
    /// Whether a brake holds it without power.
    pub has_brake: bool,
    /// Whether the rig asks for real-time rights that the loop has not.
    pub lacks_real_time: bool,
}

/// What a drive knows of its own position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeKnown {
    /// It has, or needs, no home position to be found.
    Yes,
    /// It has to find it first.
    No,
    /// It is finding it.
    BeingFound,
    /// The rig does not answer for another reason.
    Unclear,
}

impl HomeKnown {
    /// By the state and the last warning: a bench with a drive that is not homed never becomes Ready.
    pub fn now(state: State, events: &VecDeque<EventRecord>) -> Self {
        if state != State::Idle {
            return HomeKnown::Yes;
        }
        let last = events.iter().rev().find(|e| e.kind == "warning");
        match last.and_then(|e| e.word("fault")) {
            Some("rig.not-homed" | "rig.homing-failed") => HomeKnown::No,
            Some("rig.homing") => HomeKnown::BeingFound,
            _ => HomeKnown::Unclear,
        }
    }
}

/// See the module's text. Results outlive the bench, which gives the rig free for each step.
#[derive(Default)]
pub struct CommissioningPanel {
    results: [Option<Result<Outcome, WorkError>>; 4],
    /// Whether a person goes on without real-time rights.
    insists: bool,
    /// Of which rig they are.
    of: PathBuf,
    /// Direction in which a button is held.
    held: Option<f64>,
    speed_m_per_s: Option<f64>,
    /// The session to go back to from jogging.
    pub back_to: Option<PathBuf>,
}

/// While a button is held the target is this far ahead, in s of the speed: a window that stops drawing lets the motor
/// come to rest by itself.
const LEAD_S: f64 = 0.25;

impl CommissioningPanel {
    /// Keeps what a step ended with.
    pub fn keep(&mut self, rig: &Path, step: Step, result: Result<Outcome, WorkError>) {
        if self.of != rig {
            self.results = Default::default();
            rig.clone_into(&mut self.of);
        }
        self.results[step as usize] = Some(result);
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, bench: &Bench<'_>, asks: &mut Vec<Ask>) {
        if self.of != bench.rig {
            self.results = Default::default();
            bench.rig.clone_into(&mut self.of);
        }
        ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                ui.label(RichText::new(bench.rig.display().to_string()).weak());
                ui.add_space(4.0);
                self.jog(ui, bench, asks);
                ui.separator();
                if bench.lacks_real_time {
                    ui.checkbox(&mut self.insists, "Move the rig without real-time rights")
                        .on_hover_text("Exchanges may come late. It is noted in what is recorded.");
                    ui.add_space(4.0);
                }
                self.step(ui, bench, 1, Step::Scan, asks);
                home(ui, bench, asks);
                let mut number = 2;
                let mut next = || {
                    number += 1;
                    number
                };
                if bench.has_brake {
                    self.step(ui, bench, next(), Step::BrakeTest, asks);
                }
                self.step(ui, bench, next(), Step::Check, asks);
                calibrate(ui, next(), asks);
                self.step(ui, bench, next(), Step::Identify, asks);
            });
    }

    fn step(
        &mut self,
        ui: &mut Ui,
        bench: &Bench<'_>,
        number: u8,
        step: Step,
        asks: &mut Vec<Ask>,
    ) {
        let is_free = matches!(bench.state, State::Idle | State::Ready);
        numbered(ui, number, |ui| {
            let button = Button::new(step.name()).min_size(BUTTON);
            let response = ui
                .add_enabled(is_free, button)
                .on_hover_text(
                    "The bench gives the rig free for it and is opened again afterwards.",
                )
                .on_disabled_hover_text("Stop the bench first: the rig has to be free.");
            if response.clicked() {
                asks.push(Ask::RigWork(Order {
                    step,
                    homes: bench.home == HomeKnown::Yes,
                    insists: self.insists,
                }));
            }
            ui.label(RichText::new(step.help()).weak());
        });
        match &self.results[step as usize] {
            None => {}
            Some(Err(problem)) => {
                marked(ui, Mark::Bad, problem.to_string());
            }
            Some(Ok(outcome)) => show_outcome(ui, &self.of, outcome, asks),
        }
        ui.add_space(6.0);
    }

    fn jog(&mut self, ui: &mut Ui, bench: &Bench<'_>, asks: &mut Vec<Ask>) {
        if bench.id != jog::SPEC.id {
            ui.horizontal(|ui| {
                let is_free = matches!(bench.state, State::Idle | State::Ready);
                let button = Button::new("Jog …").min_size(BUTTON);
                let response = ui.add_enabled(is_free, button);
                if response
                    .on_disabled_hover_text("Stop the bench first.")
                    .clicked()
                {
                    asks.push(Ask::OpenJog);
                }
                ui.label(
                    RichText::new("Move the motor by hand, as long as a button is held.").weak(),
                );
            });
            return;
        }
        let (low, high) = bench.range_m;
        ui.horizontal(|ui| {
            let position = 1e3 * bench.position_m;
            ui.label(
                RichText::new(format!("Position {position:8.3} mm"))
                    .monospace()
                    .size(18.0),
            );
            ui.label(
                RichText::new(format!("Force {:7.2} N", bench.force_n))
                    .monospace()
                    .size(18.0),
            );
            ui.label(
                RichText::new(format!("range {:.0} to {:.0} mm", 1e3 * low, 1e3 * high)).weak(),
            );
        });
        let speed = self
            .speed_m_per_s
            .get_or_insert(jog::SPEC.params[jog::SPEED].default);
        ui.horizontal(|ui| {
            let label = ui.label("Speed");
            let spec = &jog::SPEC.params[jog::SPEED];
            let slider = Slider::new(speed, spec.min..=spec.max)
                .logarithmic(true)
                .suffix(" m/s");
            if ui.add(slider).labelled_by(label.id).changed() {
                asks.push(Ask::SetParam {
                    index: jog::SPEED,
                    value: *speed,
                });
            }
        });
        let runs = bench.state == State::Running;
        let mut held = None;
        ui.horizontal(|ui| {
            for (text, direction) in [("▲ Up", 1.0), ("▼ Down", -1.0)] {
                // Held, not clicked: a click is over after less than a second.
                let button = Button::new(RichText::new(text).size(18.0))
                    .min_size(egui::vec2(120.0, 44.0))
                    .sense(egui::Sense::drag());
                let response = ui
                    .add_enabled(runs, button)
                    .on_hover_text("Moves as long as it is held.")
                    .on_disabled_hover_text("Arm (F5) and run (F6) first.");
                if response.is_pointer_button_down_on() {
                    held = Some(direction);
                }
            }
            if let Some(back) = self.back_to.clone()
                && ui
                    .add_enabled(!runs, Button::new("Back to the session"))
                    .on_disabled_hover_text("Stop first.")
                    .clicked()
            {
                asks.push(Ask::OpenSession(back));
            }
        });
        if !runs {
            ui.label(RichText::new("Arm (F5) and run (F6), then hold a button.").weak());
        }
        let target = match (held, self.held) {
            (Some(direction), _) => Some(bench.reference_m + direction * *speed * LEAD_S),
            // Let go: to rest where it is.
            (None, Some(_)) => Some(bench.reference_m),
            (None, None) => None,
        };
        self.held = held;
        if let Some(target) = target {
            asks.push(Ask::SetParam {
                index: jog::TARGET,
                value: target.clamp(low, high),
            });
            ui.ctx().request_repaint();
        }
    }
}

/// Size of the buttons, so that what they say stands in a line.
const BUTTON: egui::Vec2 = egui::vec2(108.0, 28.0);

/// A step with its number in the usual order.
fn numbered(ui: &mut Ui, number: u8, row: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        let number = RichText::new(number.to_string()).monospace().weak();
        ui.add_sized([10.0, BUTTON.y], egui::Label::new(number));
        row(ui);
    });
}

/// Homing is done by the bench itself: some drives forget where they are when it gives them free.
fn home(ui: &mut Ui, bench: &Bench<'_>, asks: &mut Vec<Ask>) {
    numbered(ui, 2, |ui| {
        let response = ui
            .add_enabled(
                bench.home == HomeKnown::No,
                Button::new("Home").min_size(BUTTON),
            )
            .on_hover_text("Make sure that the motor is free to move and that nobody is in reach.")
            .on_disabled_hover_text("Only for a drive that does not know where it is.");
        if response.clicked() {
            asks.push(Ask::Rig(RigCommand::Home));
        }
        let help = "The drive finds its home position if it has to. The motor moves by itself.";
        ui.label(RichText::new(help).weak());
    });
    match bench.home {
        HomeKnown::Yes => marked(ui, Mark::Good, "The drive knows where it is."),
        HomeKnown::No => marked(
            ui,
            Mark::Warning,
            "The drive has no home position: nothing else can move before.",
        ),
        HomeKnown::BeingFound => marked(
            ui,
            Mark::Active,
            "The drive is finding its home position. STOP (Esc) ends it.",
        ),
        HomeKnown::Unclear => marked(
            ui,
            Mark::Waiting,
            "The rig does not answer, or has a fault: the panel Rig tells which.",
        ),
    };
    ui.add_space(6.0);
}

/// Calibration has a panel of its own.
fn calibrate(ui: &mut Ui, number: u8, asks: &mut Vec<Ask>) {
    numbered(ui, number, |ui| {
        let button = Button::new("Calibrate …").min_size(BUTTON);
        if ui.add(button).clicked() {
            asks.push(Ask::Command(UiCommand::Show(PanelKind::Rig)));
        }
        ui.label(RichText::new("Newtons of the load cells, in the panel Rig.").weak());
    });
    ui.add_space(6.0);
}

fn show_outcome(ui: &mut Ui, rig: &Path, outcome: &Outcome, asks: &mut Vec<Ask>) {
    match outcome {
        Outcome::Scan(scan) => show_scan(ui, scan),
        Outcome::Check(checked) => show_check(ui, checked),
        Outcome::Identify(found) => show_identified(ui, rig, found, asks),
        Outcome::BrakeTest(tested) => show_brake(ui, tested),
    }
}

fn show_scan(ui: &mut Ui, scan: &Scan) {
    for device in &scan.devices {
        let mark = if device.answers {
            Mark::Good
        } else {
            Mark::Bad
        };
        let text = format!(
            "{}: {}, {} of {} exchanges lost",
            device.name,
            device.state.name(),
            device.lost,
            device.exchanges
        );
        marked(ui, mark, text);
        if let Some(identity) = &device.identity {
            ui.horizontal(|ui| {
                ui.add_space(18.0);
                ui.label(RichText::new(identity).weak());
            });
        }
    }
    for difference in &scan.differences {
        marked(ui, Mark::Bad, difference.as_str());
    }
    for device in scan.devices.iter().filter(|d| !d.settings.is_empty()) {
        show_settings(ui, device);
    }
    let known = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), number);
    egui::CollapsingHeader::new("Inputs").show(ui, |ui| {
        Grid::new("scanned inputs")
            .striped(true)
            .num_columns(4)
            .show(ui, |ui| {
                for heading in ["", "mean", "σ", ""] {
                    ui.label(RichText::new(heading).weak());
                }
                ui.end_row();
                for input in &scan.inputs {
                    ui.label(input.channel.label);
                    ui.label(RichText::new(known(input.mean)).monospace());
                    ui.label(RichText::new(known(input.deviation)).monospace());
                    ui.label(input.channel.unit);
                    ui.end_row();
                }
            });
    });
}

/// What a device does alone, as the rig file demands it and as it was read back.
fn show_settings(ui: &mut Ui, device: &FoundDevice) {
    let differs = device.settings.iter().any(|s| s.agrees == Some(false));
    egui::CollapsingHeader::new(format!("What {} does alone", device.name))
        .default_open(differs)
        .show(ui, |ui| {
            Grid::new(("settings", &device.name))
                .striped(true)
                .num_columns(5)
                .show(ui, |ui| {
                    for heading in ["", "decides", "demanded", "read back", ""] {
                        ui.label(RichText::new(heading).weak());
                    }
                    ui.end_row();
                    for setting in &device.settings {
                        ui.label(RichText::new(&setting.object).monospace());
                        ui.label(setting.name);
                        for value in [setting.demanded, setting.read_back] {
                            ui.label(RichText::new(setting.shown(value)).monospace());
                        }
                        let mark = match setting.agrees {
                            Some(true) => Mark::Good,
                            Some(false) => Mark::Bad,
                            None => Mark::Warning,
                        };
                        let response = marked(ui, mark, setting.verdict());
                        if let Some(note) = &setting.note {
                            response.on_hover_text(note);
                        }
                        ui.end_row();
                    }
                });
        });
}

fn show_check(ui: &mut Ui, checked: &Checked) {
    for item in &checked.items {
        let mark = if item.held { Mark::Good } else { Mark::Bad };
        let answer = if item.held { "held" } else { "not held" };
        marked(
            ui,
            mark,
            format!("{}: {answer} ({})", item.question, item.found),
        );
        if !item.held {
            ui.label(item.advice);
        }
    }
}

fn show_brake(ui: &mut Ui, tested: &BrakeTested) {
    let load = tested
        .load_n
        .map_or_else(|| "an unknown load".to_owned(), |n| format!("{n:+.1} N"));
    let found = format!(
        "Crept by {:+.3} mm in {} s under {load}; allowed: {:.3} mm.",
        1e3 * tested.creep_m,
        tested.seconds,
        1e3 * tested.allowed_m
    );
    match tested.problem() {
        None => {
            marked(ui, Mark::Good, found);
        }
        Some(problem) => {
            marked(ui, Mark::Bad, found);
            ui.label(problem);
        }
    }
}

/// Decimals by which an uncertainty has two digits.
fn decimals_of(uncertainty: f64) -> usize {
    if uncertainty > 0.0 {
        (1.0 - uncertainty.log10().floor()).clamp(0.0, 9.0) as usize
    } else {
        4
    }
}

fn show_identified(ui: &mut Ui, rig: &Path, found: &Identified, asks: &mut Vec<Ask>) {
    Grid::new("identified")
        .striped(true)
        .num_columns(6)
        .show(ui, |ui| {
            for heading in ["", "rig file", "found", "± 95 %", "", "change"] {
                let text = format!("{heading:>11}");
                ui.label(RichText::new(text).monospace().weak());
            }
            ui.end_row();
            for row in found.rows() {
                ui.label(row.label);
                // Delays are read in milliseconds.
                let (factor, unit) = match row.unit {
                    "s" => (1e3, "ms"),
                    unit => (1.0, unit),
                };
                let cell = |ui: &mut Ui, text: Option<String>| {
                    let text = text.unwrap_or_else(|| "–".into());
                    ui.label(RichText::new(format!("{text:>11}")).monospace());
                };
                let half = row.found.map(|e| factor * (e.interval_95().1 - e.value));
                // As far behind the point as the confidence has a meaning.
                let decimals = half.map_or(4, decimals_of);
                let fixed = |x: f64| format!("{:.decimals$}", factor * x);
                cell(ui, row.before.map(fixed));
                cell(ui, row.found.map(|e| fixed(e.value)));
                cell(ui, half.map(|x| format!("{x:.decimals$}")));
                ui.label(unit);
                let change = row.found.zip(row.before).filter(|(_, b)| *b != 0.0);
                let change = change.map(|(e, b)| format!("{:+.2} %", 100.0 * (e.value / b - 1.0)));
                cell(ui, change);
                ui.end_row();
            }
        });
    ui.label(format!(
        "Noise at rest: {:.3} N, {:.2} µm. Predicts {:.2} % of the motion of a run that was not fitted.",
        found.force_noise_n,
        1e6 * found.position_noise_m,
        found.predicted_position_pct
    ));
    for doubt in found.doubts() {
        marked(ui, Mark::Warning, doubt);
    }
    let hover = "Comments and layout stay; the file as it was is kept beside it.";
    if ui
        .button("Write to the rig file")
        .on_hover_text(hover)
        .clicked()
    {
        asks.push(Ask::Tell(match edit::keep(rig, None, found) {
            Ok(kept) => {
                let old = kept.old.unwrap_or_default();
                format!(
                    "written to {}; the file as it was: {}. Open the session again to use it",
                    kept.path.display(),
                    old.display()
                )
            }
            Err(problem) => problem.to_string(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertainties_have_two_digits() {
        for (uncertainty, expected) in [
            (0.829588, "0.83"),
            (0.00238, "0.0024"),
            (3.19, "3.2"),
            (64.0, "64"),
        ] {
            let decimals = decimals_of(uncertainty);
            assert_eq!(format!("{uncertainty:.decimals$}"), expected);
        }
    }
}
