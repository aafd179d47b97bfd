//! The motor and the loop over frequency: the model against what is measured, and how much is left until
//! the loop is unstable.

mod curve;
mod draw;
mod measure;

use super::tuning::{Cells, cell, within};
use crate::theme;
use crate::tuner::Tuner;
use crate::tuning::changed;
use crate::view::{Ask, View};
use crate::worker::Worker;
use curve::{Curve, distance, nearest_turn};
use draw::Style;
use eframe::egui::{self, Align, RichText, Ui};
use measure::Stretch;
use rt_core::bench::{CutLoop, Designer, Responses};
use rt_core::param::ParamSet;
use rt_core::signal::spectrum::cross::TransferFunction;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What goes into the motor and what comes out, by the channels' names.
const MOTOR: (&str, &str) = ("motor_reference", "motor_position");
/// Seconds that can be measured over.
const WINDOWS_S: [f64; 3] = [10.0, 30.0, 60.0];
/// Seconds of new samples after which it is measured anew.
const ANEW_S: f64 = 1.0;
/// Coherence from which a measured point is drawn as certain.
const SURE: f64 = 0.8;
/// From this width on Nyquist stands beside Bode.
const WIDE: f32 = 760.0;

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Shown {
    #[default]
    Motor,
    Loop,
    Nyquist,
}

/// What the panel keeps.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct BodePanel {
    shown: Shown,
    /// At which channel the loop is cut, by its name.
    cut: String,
    window_s: f64,
    #[serde(skip)]
    model: Option<Model>,
    #[serde(skip)]
    measuring: Option<Measuring>,
}

impl Default for BodePanel {
    fn default() -> Self {
        Self {
            shown: Shown::Motor,
            cut: String::new(),
            window_s: WINDOWS_S[1],
            model: None,
            measuring: None,
        }
    }
}

/// Parameters with what the model says of them.
type Judged = (ParamSet, Result<Responses, String>);

/// The thread that computes responses for one bench, and the last of them.
struct Model {
    designer: Arc<dyn Designer>,
    worker: Worker<(ParamSet, ParamSet), (Judged, Judged)>,
    wanted: Option<(ParamSet, ParamSet)>,
    /// Of what is applied, and of what is asked for.
    found: Option<(Judged, Judged)>,
}

impl Model {
    fn start(
        designer: &Arc<dyn Designer>,
        period_s: f64,
        ctx: &egui::Context,
    ) -> std::io::Result<Self> {
        let (ctx, own) = (ctx.clone(), Arc::clone(designer));
        let frequencies = curve::frequencies(period_s);
        let work = move |(applied, asked): (ParamSet, ParamSet),
                         desk: &mut crate::worker::Desk<'_, _, _>| {
            let judge = |params: ParamSet| {
                let coarse = own.responses(&params, &frequencies);
                let fine =
                    coarse.and_then(|coarse| own.responses(&params, &curve::with_bends(&coarse)));
                (params, fine)
            };
            let of_applied = judge(applied);
            let of_asked = if changed(&applied, &asked).is_empty() {
                of_applied.clone()
            } else {
                judge(asked)
            };
            desk.answer((of_applied, of_asked));
        };
        Ok(Self {
            designer: Arc::clone(designer),
            worker: Worker::start("responses", move || ctx.request_repaint(), work)?,
            wanted: None,
            found: None,
        })
    }

    /// The newest responses; asks for those of other parameters.
    fn follow(&mut self, tuner: &Tuner) {
        if let Some(found) = self.worker.newest() {
            self.found = Some(found);
        }
        let (applied, asked) = (*tuner.applied(), *tuner.asked());
        let is_new = self.wanted.as_ref().is_none_or(|(a, b)| {
            !changed(a, &applied).is_empty() || !changed(b, &asked).is_empty()
        });
        if is_new {
            self.worker.ask((applied, asked));
            self.wanted = Some((applied, asked));
        }
    }
}

/// The thread that measures, and its last answer.
struct Measuring {
    worker: Worker<Stretch, Result<TransferFunction, String>>,
    /// End and length of the stretch that was asked for last, in s.
    asked: Option<(f64, f64)>,
    found: Option<Result<TransferFunction, String>>,
}

impl Measuring {
    fn start(ctx: &egui::Context) -> std::io::Result<Self> {
        let ctx = ctx.clone();
        Ok(Self {
            worker: measure::start(move || ctx.request_repaint())?,
            asked: None,
            found: None,
        })
    }

    fn follow(&mut self, view: &View<'_>, channels: (usize, usize), window_s: f64) {
        if let Some(found) = self.worker.newest() {
            self.found = Some(found);
        }
        let is_due = self.asked.is_none_or(|(end, length)| {
            length != window_s || view.now_s < end || view.now_s - end >= ANEW_S
        });
        if is_due && !view.data.history.is_empty() {
            let from_s = view.now_s - window_s;
            let stretch = Stretch::copy(view.data, channels, from_s, view.now_s);
            self.worker.ask(stretch);
            self.asked = Some((view.now_s, window_s));
        }
    }
}

impl BodePanel {
    /// Draws the panel. `tuner` is `None` for benches without gains and for recordings: the motor is then
    /// measured without a model beside.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        tuner: Option<&Tuner>,
        _asks: &mut Vec<Ask>,
    ) {
        if let Err(problem) = self.follow(ui, view, tuner) {
            ui.label(format!(
                "A thread for responses could not be started: {problem}"
            ));
            return;
        }
        self.choices(ui, tuner.is_some());
        match (self.shown, tuner) {
            (Shown::Motor, _) => self.motor(ui, view),
            (Shown::Loop | Shown::Nyquist, Some(tuner)) => self.loop_cut(ui, tuner),
            (Shown::Loop | Shown::Nyquist, None) => {
                super::tuning::nothing_to_tune(ui, view.is_replay);
            }
        }
    }

    /// Brings model and measurement up to date.
    fn follow(&mut self, ui: &Ui, view: &View<'_>, tuner: Option<&Tuner>) -> std::io::Result<()> {
        match tuner {
            None => self.model = None,
            Some(tuner) => {
                let model = self.model.take();
                let same = model.filter(|m| Arc::ptr_eq(&m.designer, tuner.designer()));
                let mut model = match same {
                    Some(model) => model,
                    None => Model::start(tuner.designer(), view.data.period_s, ui.ctx())?,
                };
                model.follow(tuner);
                self.model = Some(model);
            }
        }
        let channels = (view.data.find(MOTOR.0), view.data.find(MOTOR.1));
        if let (Shown::Motor, (Some(input), Some(output))) = (self.shown, channels) {
            let mut measuring = match self.measuring.take() {
                Some(measuring) => measuring,
                None => Measuring::start(ui.ctx())?,
            };
            measuring.follow(view, (input, output), self.window_s);
            self.measuring = Some(measuring);
        }
        Ok(())
    }

    fn choices(&mut self, ui: &mut Ui, has_loop: bool) {
        let is_wide = ui.available_width() >= WIDE;
        if is_wide && self.shown == Shown::Nyquist {
            self.shown = Shown::Loop;
        }
        let cuts: Vec<&'static str> = self.asked().map_or(Vec::new(), |responses| {
            responses.cuts.iter().map(|cut| cut.name).collect()
        });
        let views = |panel: &mut Self, ui: &mut Ui| {
            let mut choice = |ui: &mut Ui, shown: Shown, text: &str, hint: &str| {
                ui.selectable_value(&mut panel.shown, shown, text)
                    .on_hover_text(hint);
            };
            choice(
                ui,
                Shown::Motor,
                "Motor",
                "From the motor's reference to its position: the model that the controllers assume, and \
                 what is measured.",
            );
            if has_loop {
                choice(
                    ui,
                    Shown::Loop,
                    "Loop",
                    "The loop cut open at one channel, in the model: how far it is from −1, where it would \
                     be unstable.",
                );
                if !is_wide {
                    choice(
                        ui,
                        Shown::Nyquist,
                        "Nyquist",
                        "The same as a curve around −1, with the disk that it must not enter.",
                    );
                }
            }
        };
        let further = |panel: &mut Self, ui: &mut Ui| {
            if panel.shown == Shown::Motor {
                let label = ui.label("newest");
                for window_s in WINDOWS_S {
                    let text = format!("{window_s:.0} s");
                    ui.selectable_value(&mut panel.window_s, window_s, text)
                        .on_hover_text("How many of the newest seconds are measured over.");
                }
                return label;
            }
            let chosen = cuts.iter().find(|name| **name == panel.cut);
            let chosen = chosen.or(cuts.first()).copied().unwrap_or("");
            let label = ui.label("cut at");
            let open = egui::ComboBox::from_id_salt("cut")
                .selected_text(chosen)
                .width(160.0)
                .show_ui(ui, |ui| {
                    for name in &cuts {
                        if ui.selectable_label(chosen == *name, *name).clicked() {
                            panel.cut = (*name).to_owned();
                        }
                    }
                });
            open.response
                .labelled_by(label.id)
                .on_hover_text("Where the loop is cut open.")
        };
        let mut line = |ui: &mut Ui, add: &mut dyn FnMut(&mut Self, &mut Ui)| {
            let mut cells = Cells::new(ui, 30.0);
            let width = cells.rest();
            within(ui, cells.next(width), |ui| {
                ui.spacing_mut().button_padding.x = 10.0;
                add(self, ui);
            });
        };
        if is_wide {
            line(ui, &mut |panel, ui| {
                views(panel, ui);
                ui.separator();
                further(panel, ui);
            });
        } else {
            line(ui, &mut |panel, ui| views(panel, ui));
            line(ui, &mut |panel, ui| {
                further(panel, ui);
            });
        }
    }

    /// What the model says of what is asked for.
    fn asked(&self) -> Option<&Responses> {
        let (_, asked) = self.model.as_ref()?.found.as_ref()?;
        asked.1.as_ref().ok()
    }

    fn motor(&self, ui: &mut Ui, view: &View<'_>) {
        let dark = ui.visuals().dark_mode;
        let model = self.asked().map(Curve::motor);
        let found = self.measuring.as_ref().and_then(|m| m.found.as_ref());
        let measured = found.and_then(|found| found.as_ref().ok());
        let measured = measured.map(|tf| (measured_curve(tf, model.as_ref()), &tf.coherence));
        let sure = |coherence: &[f64], i: usize| coherence.get(i).is_some_and(|c| *c >= SURE);
        let first = match (self.asked(), self.model.is_some()) {
            (Some(responses), _) => {
                let motor = &responses.motor_model;
                format!(
                    "model: {:.1} Hz, damping ratio {:.2}, delay {:.1} ms",
                    motor.natural_hz,
                    motor.damping_ratio,
                    1e3 * motor.delay_s
                )
            }
            (None, true) => "model: computing …".to_owned(),
            (None, false) => "model: none for this bench or recording".to_owned(),
        };
        let second = match (&measured, found) {
            (Some((curve, coherence)), _) => {
                let apart = model
                    .as_ref()
                    .and_then(|model| distance(model, curve, |i| sure(coherence, i)));
                match apart {
                    Some(apart) => format!(
                        "measured: {:.2} dB and {:.1}° from the model at {} coherent frequencies",
                        apart.db, apart.degrees, apart.count
                    ),
                    None => "measured: nowhere coherent yet; the reference has to move".to_owned(),
                }
            }
            (None, Some(Err(problem))) => format!("measured: {problem}"),
            _ if view.data.find(MOTOR.0).is_none() || view.data.find(MOTOR.1).is_none() => {
                format!(
                    "measured: there are no channels '{}' and '{}'",
                    MOTOR.0, MOTOR.1
                )
            }
            _ => "measured: waiting for samples".to_owned(),
        };
        two_lines(ui, &first, &second);
        let mut lines = Vec::new();
        if let Some(model) = &model {
            lines.push((model, Style::model(dark), "model"));
        }
        let points = measured.as_ref().map(|(curve, coherence)| draw::Measured {
            curve,
            is_sure: Box::new(move |i| sure(coherence, i)),
        });
        draw::bode(ui, "motor", &lines, points.as_ref(), &[]);
    }

    fn loop_cut(&self, ui: &mut Ui, tuner: &Tuner) {
        let dark = ui.visuals().dark_mode;
        let Some((applied, asked)) = self.model.as_ref().and_then(|m| m.found.as_ref()) else {
            ui.centered_and_justified(|ui| ui.label("computing …"));
            return;
        };
        let asked = match &asked.1 {
            Ok(responses) => responses,
            Err(problem) => {
                ui.centered_and_justified(|ui| {
                    ui.label(format!(
                        "There are no gains for what is asked for: {problem}"
                    ))
                });
                return;
            }
        };
        let find = |responses: &'_ Responses| -> Option<usize> {
            let found = responses.cuts.iter().position(|cut| cut.name == self.cut);
            found.or(if responses.cuts.is_empty() {
                None
            } else {
                Some(0)
            })
        };
        let Some(cut) = find(asked).map(|i| &asked.cuts[i]) else {
            return;
        };
        let curve = Curve::cut(asked, cut);
        let is_changed = !tuner.changes().is_empty();
        let before = applied.1.as_ref().ok().filter(|_| is_changed);
        let before = before.and_then(|responses| {
            let cut = &responses.cuts[find(responses)?];
            Some((Curve::cut(responses, cut), cut))
        });
        let (first, second) = margin_words(asked, cut, is_changed);
        two_lines(ui, &first, &second);
        let name = if is_changed { "proposed" } else { "applied" };
        let mut lines = vec![(&curve, Style::model(dark), name)];
        if let Some((before, _)) = &before {
            lines.insert(0, (before, Style::before(dark), "applied"));
        }
        let marks = draw::marks(&curve, cut.margins.as_ref(), asked.needed_disk);
        let disk = cut.margins.map(|m| m.disk);
        let is_wide = ui.available_width() >= WIDE;
        if self.shown == Shown::Nyquist {
            draw::nyquist(ui, &lines, disk, asked.needed_disk);
        } else if is_wide {
            let full = ui.available_rect_before_wrap();
            let side = (0.42 * full.width()).min(full.height());
            let middle = full.right() - side;
            let left = egui::Rect::from_min_max(full.min, egui::pos2(middle - 12.0, full.bottom()));
            let right = egui::Rect::from_min_max(egui::pos2(middle, full.top()), full.max);
            let child = |rect| egui::UiBuilder::new().max_rect(rect);
            let mut bode = ui.new_child(child(left).id_salt("bode"));
            draw::bode(&mut bode, "loop", &lines, None, &marks);
            let mut nyquist = ui.new_child(child(right).id_salt("nyquist"));
            draw::nyquist(&mut nyquist, &lines, disk, asked.needed_disk);
            ui.advance_cursor_after_rect(full);
        } else {
            draw::bode(ui, "loop", &lines, None, &marks);
        }
    }
}

/// A measurement as a curve whose phase stands beside the model's, from the lowest frequency that is shown.
fn measured_curve(found: &TransferFunction, model: Option<&Curve>) -> Curve {
    let parts = found.h1.iter().map(|h| (h.re, h.im));
    let mut curve = Curve::new(&found.frequencies_hz, parts);
    if let Some(model) = model {
        for point in &mut curve.points {
            if let Some(there) = model.at(point.hz) {
                point.degrees = nearest_turn(point.degrees, there.degrees);
            }
        }
    }
    curve
}

fn margin_words(responses: &Responses, cut: &CutLoop, is_changed: bool) -> (String, String) {
    let whose = if is_changed { "proposed" } else { "applied" };
    let Some(m) = &cut.margins else {
        return (
            format!("{whose}: unstable, ρ {:.5}", responses.rho_loop),
            "An unstable loop has no margins.".into(),
        );
    };
    let or_none =
        |v: Option<f64>, unit: &str| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.1} {unit}"));
    (
        format!(
            "{whose}: ρ {:.5}, disk margin {:.3} at {:.1} Hz (needs {})",
            responses.rho_loop, m.disk, m.disk_hz, responses.needed_disk
        ),
        format!(
            "gain {} … {}, phase {}, delay {}",
            or_none(m.gain_down_db, "dB"),
            or_none(m.gain_up_db, "dB"),
            or_none(m.phase_deg, "°").replace(" °", "°"),
            or_none(m.delay_ms, "ms")
        ),
    )
}

/// Two lines of fixed height.
fn two_lines(ui: &mut Ui, first: &str, second: &str) {
    let dark = ui.visuals().dark_mode;
    for (text, color) in [
        (first, ui.visuals().text_color()),
        (second, theme::weak_text(dark)),
    ] {
        let mut cells = Cells::new(ui, 19.0);
        let width = cells.rest();
        let rich = RichText::new(text).size(13.0).color(color);
        cell(ui, cells.next(width), rich, Align::Min).on_hover_text(text);
    }
}

#[cfg(test)]
mod tests;
