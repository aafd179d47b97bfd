//! Where in a plane of two parameters the loop is stable: the safe region, what is applied, what is
//! proposed, and the way there.

mod field;
mod job;
mod paint;

use crate::theme;
use crate::tuner::{Tuner, TuningAsk};
use crate::units::{shown, significant};
use crate::view::{Ask, View};
use crate::worker::Worker;
use eframe::egui::{
    self, Align, EventFilter, Key, Pos2, Rect, Response, RichText, Sense, Ui, WidgetInfo, pos2,
    vec2,
};
use field::Grid;
use job::{Ends, Map, MapJob, MapKey};
use paint::Mark;
use rt_core::bench::map::{MapAxis, MapPlane, MapPoint};
use rt_core::bench::{Designer, Prospect};
use rt_core::param::ParamSet;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maps that are kept.
const MOST_KEPT: usize = 12;
/// Digits of a value that is chosen by pointing.
const POINTED_DIGITS: usize = 3;
/// Share of a side that an arrow key moves.
const KEY_STEP: f64 = 1.0 / 48.0;

/// What colours say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Colouring {
    /// Smallest disk margin.
    #[default]
    Margin,
    /// ρ.
    Radius,
}

/// What the panel keeps.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StabilityMapPanel {
    /// Name of the plane that is shown; the first of the bench if there is none of this name.
    plane: String,
    colouring: Colouring,
    #[serde(skip)]
    computing: Option<Computing>,
}

/// What computes maps for one bench, and what it has computed.
struct Computing {
    designer: Arc<dyn Designer>,
    worker: Worker<MapJob, Map>,
    /// The map that was asked for last.
    asked: Option<MapKey>,
    /// The newest at the end.
    maps: VecDeque<Map>,
}

impl Computing {
    fn start(designer: &Arc<dyn Designer>, ctx: &egui::Context) -> std::io::Result<Self> {
        let ctx = ctx.clone();
        Ok(Self {
            designer: Arc::clone(designer),
            worker: job::start(Arc::clone(designer), move || ctx.request_repaint())?,
            asked: None,
            maps: VecDeque::new(),
        })
    }

    /// The map of a job as far as it is computed; asks for it if it is another than the last.
    fn map(&mut self, job: MapJob) -> Option<&Map> {
        if let Some(newer) = self.worker.newest() {
            self.maps.retain(|map| map.key != newer.key);
            if self.maps.len() == MOST_KEPT {
                self.maps.pop_front();
            }
            self.maps.push_back(newer);
        }
        let key = job.key.clone();
        let is_done = self.maps.iter().any(|map| map.is_final && map.key == key);
        if !is_done && self.asked.as_ref() != Some(&key) {
            self.worker.ask(job);
            self.asked = Some(key.clone());
        } else if is_done {
            // Another may be under way; it is asked for anew when it is wanted again.
            self.asked = Some(key.clone());
        }
        self.maps.iter().find(|map| map.key == key)
    }
}

impl StabilityMapPanel {
    /// Draws the panel. `tuner` is `None` for benches without gains and for recordings.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        tuner: Option<&Tuner>,
        asks: &mut Vec<Ask>,
    ) {
        let Some(tuner) = tuner else {
            super::tuning::nothing_to_tune(ui, view.is_replay);
            return;
        };
        let planes = tuner.designer().planes(tuner.asked());
        let chosen = planes.iter().find(|plane| plane.id == self.plane);
        let Some(plane) = chosen.or(planes.first()).copied() else {
            ui.centered_and_justified(|ui| ui.label("This bench has no maps of stability."));
            return;
        };
        self.choices(ui, planes, &plane);
        let (x, y) = (
            ends(&plane.x, tuner.applied()),
            ends(&plane.y, tuner.applied()),
        );
        if self
            .computing
            .as_ref()
            .is_none_or(|c| !Arc::ptr_eq(&c.designer, tuner.designer()))
        {
            match Computing::start(tuner.designer(), ui.ctx()) {
                Ok(computing) => self.computing = Some(computing),
                Err(problem) => {
                    ui.label(format!(
                        "The thread for maps could not be started: {problem}"
                    ));
                    return;
                }
            }
        }
        let colouring = self.colouring;
        let Some(computing) = &mut self.computing else {
            return;
        };
        let map = computing.map(MapJob::new(plane, tuner.asked(), x, y));
        let needed = tuner
            .proposal()
            .and_then(|p| p.prospect())
            .or(tuner.applied_prospect())
            .map_or(0.0, |prospect| prospect.needed_disk);
        let picture = Picture {
            plane,
            x,
            y,
            colouring,
            needed,
            map,
            tuner,
        };
        let room = vec2(
            ui.available_width(),
            (ui.available_height() - paint::BELOW).max(180.0),
        );
        let (outer, _) = ui.allocate_exact_size(room, Sense::hover());
        let inner = paint::inner(outer);
        picture.paint(ui, outer, inner);
        if let Some(values) = picture.pointing(ui, inner) {
            asks.push(Ask::Tune(TuningAsk::Propose(values)));
        }
        picture.text(ui);
    }

    fn choices(&mut self, ui: &mut Ui, planes: &[MapPlane], plane: &MapPlane) {
        let is_wide = ui.available_width() >= 480.0;
        let sides = |panel: &mut Self, ui: &mut Ui| {
            ui.spacing_mut().button_padding.x = 8.0;
            for other in planes {
                if ui
                    .selectable_label(other.id == plane.id, other.title)
                    .on_hover_text("Which two quantities the map has as its sides.")
                    .clicked()
                {
                    panel.plane = other.id.to_owned();
                }
            }
        };
        let colours = |panel: &mut Self, ui: &mut Ui| {
            ui.spacing_mut().button_padding.x = 8.0;
            for (colouring, text, hint) in [
                (
                    Colouring::Margin,
                    "by margin",
                    "Colours show the smallest disk margin: how far gain and phase may change together.",
                ),
                (
                    Colouring::Radius,
                    "by ρ",
                    "Colours show the spectral radius: the growth per cycle of the slowest motion; below 1 it \
                     dies away.",
                ),
            ] {
                ui.selectable_value(&mut panel.colouring, colouring, text)
                    .on_hover_text(hint);
            }
        };
        if is_wide {
            ui.horizontal(|ui| {
                sides(self, ui);
                ui.separator();
                colours(self, ui);
            });
        } else {
            ui.horizontal(|ui| sides(self, ui));
            ui.horizontal(|ui| colours(self, ui));
        }
    }
}

/// Where a side begins and ends: as the bench suggests, and further if the applied value lies outside.
fn ends(axis: &MapAxis, applied: &ParamSet) -> Ends {
    let value = axis.value(applied);
    if !axis.is_logarithmic() || value.is_nan() || value <= 0.0 {
        return (axis.low, axis.high);
    }
    let (mut low, mut high) = (axis.low, axis.high);
    while low > value {
        low /= 2.0;
    }
    while high < value {
        high *= 2.0;
    }
    (low, high)
}

/// Everything that is drawn in one frame.
struct Picture<'a> {
    plane: MapPlane,
    x: Ends,
    y: Ends,
    colouring: Colouring,
    needed: f64,
    map: Option<&'a Map>,
    tuner: &'a Tuner,
}

/// Where a value stands on a side, as a share of it.
fn share(axis: &MapAxis, (low, high): Ends, value: f64) -> f64 {
    if axis.is_logarithmic() {
        (value / low).ln() / (high / low).ln()
    } else {
        (value - low) / (high - low)
    }
}

/// The value at a share of a side.
fn value_at(axis: &MapAxis, (low, high): Ends, share: f64) -> f64 {
    let share = share.clamp(0.0, 1.0);
    if axis.is_logarithmic() {
        low * (high / low).powf(share)
    } else {
        low + share * (high - low)
    }
}

/// A value with few digits: what a person would type.
fn rounded(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return value;
    }
    let last = 10_f64.powf(value.log10().floor() + 1.0 - POINTED_DIGITS as f64);
    // Of two roundings the second takes off what the multiplication leaves behind.
    let rounded = (value / last).round() * last;
    significant(rounded, 2 * POINTED_DIGITS)
        .parse()
        .unwrap_or(rounded)
}

impl Picture<'_> {
    /// Where a set of parameters stands, as shares of the sides; maybe outside.
    fn place(&self, params: &ParamSet) -> (f64, f64) {
        (
            share(&self.plane.x, self.x, self.plane.x.value(params)),
            share(&self.plane.y, self.y, self.plane.y.value(params)),
        )
    }

    fn grid(&self) -> Option<&Grid> {
        self.map.map(|map| &map.grid)
    }

    /// What a person points at, by pointer or by arrow keys, as parameters to propose.
    fn pointing(&self, ui: &mut Ui, inner: Rect) -> Option<Vec<(usize, f64)>> {
        let response = ui.interact(inner, ui.scope_id().with("map"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Canvas, true, "Stability map"));
        let to = self.pointer(&response, inner).or(self.keys(ui, &response));
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter()
                .rect_stroke(inner, 0, (2.5, stroke.color), egui::StrokeKind::Outside);
        }
        if let Some(at) = response.hover_pos() {
            let (x, y) = shares(inner, at);
            response.on_hover_ui_at_pointer(|ui| {
                ui.label(self.describe(x, y));
                ui.label(
                    RichText::new("Click to propose this point; nothing is applied.").size(13.0),
                );
            });
        }
        let (x, y) = to?;
        let asked = self.tuner.asked();
        let along = [(&self.plane.x, self.x, x), (&self.plane.y, self.y, y)];
        let values = along.into_iter().filter_map(|(axis, ends, share)| {
            axis.change(asked, rounded(value_at(axis, ends, share)))
        });
        let values: Vec<(usize, f64)> = values.collect();
        let is_new = values.iter().any(|(i, value)| asked.get(*i) != *value);
        is_new.then_some(values)
    }

    fn pointer(&self, response: &Response, inner: Rect) -> Option<(f64, f64)> {
        let is_pointing = response.clicked() || response.dragged();
        let at = response.interact_pointer_pos().filter(|_| is_pointing)?;
        response.request_focus();
        Some(shares(inner, at))
    }

    fn keys(&self, ui: &mut Ui, response: &Response) -> Option<(f64, f64)> {
        if !response.has_focus() {
            return None;
        }
        let arrows = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
        let presses = |key: Key| ui.input(|input| input.num_presses(key)) as f64;
        let right = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
        let up = presses(Key::ArrowUp) - presses(Key::ArrowDown);
        let (x, y) = self.place(self.tuner.asked());
        (right != 0.0 || up != 0.0).then_some((x + right * KEY_STEP, y + up * KEY_STEP))
    }

    /// A place in words, with what the map says there.
    fn describe(&self, x: f64, y: f64) -> String {
        let name = |axis: &MapAxis, ends: Ends, share: f64| {
            let unit = shown(axis.unit);
            let value = significant(value_at(axis, ends, share) * unit.factor, POINTED_DIGITS);
            format!("{} {value} {}", short(axis), unit.unit)
        };
        let point = self.grid().and_then(|grid| grid.nearest(x, y));
        let says = match point {
            Some((_, _, Some(point))) => point_words(&point),
            Some((_, _, None)) => "no gains".into(),
            None => "not yet computed".into(),
        };
        format!(
            "{}, {}\n{says}",
            name(&self.plane.x, self.x, x).trim(),
            name(&self.plane.y, self.y, y).trim()
        )
    }

    /// Two lines of fixed height: what is applied, what is proposed.
    fn text(&self, ui: &mut Ui) {
        paint::legend(ui);
        let dark = ui.visuals().dark_mode;
        let is_changed = !self.tuner.changes().is_empty();
        let proposed = self.tuner.proposal().and_then(|p| p.prospect());
        for (name, mark, params, prospect, is_there) in [
            (
                "applied",
                Mark::Applied,
                self.tuner.applied(),
                self.tuner.applied_prospect(),
                true,
            ),
            (
                "proposed",
                Mark::Proposed,
                self.tuner.asked(),
                proposed,
                is_changed,
            ),
        ] {
            let text = if is_there {
                format!(
                    "{name}: {}, {}",
                    self.values(params),
                    prospect_words(prospect)
                )
            } else {
                format!("{name}: nothing; click on the map")
            };
            let color = if is_there {
                ui.visuals().text_color()
            } else {
                theme::weak_text(dark)
            };
            line(ui, Some(mark), RichText::new(text).size(13.0).color(color));
        }
        let status = match self.map {
            None => "computing …".to_owned(),
            Some(map) if !map.is_final => format!(
                "computing …, {} × {} points so far",
                map.grid.columns, map.grid.rows
            ),
            Some(map) => format!(
                "{} × {} points, all else as asked for; safe: disk margin of {} or more",
                map.grid.columns, map.grid.rows, self.needed
            ),
        };
        line(
            ui,
            None,
            RichText::new(status)
                .size(13.0)
                .color(theme::weak_text(dark)),
        );
    }

    fn values(&self, params: &ParamSet) -> String {
        let name = |axis: &MapAxis| {
            axis.param()?;
            let unit = shown(axis.unit);
            let value = significant(axis.value(params) * unit.factor, POINTED_DIGITS);
            Some(
                format!("{} {value} {}", short(axis), unit.unit)
                    .trim()
                    .to_owned(),
            )
        };
        let both = [name(&self.plane.y), name(&self.plane.x)];
        both.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A line of text behind the sign of a mark.
fn line(ui: &mut Ui, mark: Option<Mark>, text: RichText) {
    let mut cells = super::tuning::Cells::new(ui, 20.0);
    let sign = cells.next(16.0);
    if let Some(mark) = mark {
        paint::sign(ui.painter(), sign.center(), mark);
    }
    let width = ui.available_width() - 22.0;
    super::tuning::cell(ui, cells.next(width), text, Align::Min);
}

fn shares(inner: Rect, at: Pos2) -> (f64, f64) {
    (
        f64::from((at.x - inner.left()) / inner.width()),
        f64::from((inner.bottom() - at.y) / inner.height()),
    )
}

fn screen(inner: Rect, (x, y): (f64, f64)) -> Pos2 {
    pos2(
        inner.left() + x as f32 * inner.width(),
        inner.bottom() - y as f32 * inner.height(),
    )
}

/// "k_i" of "k_i, interaction stiffness".
fn short(axis: &MapAxis) -> &'static str {
    axis.label.split(',').next().unwrap_or(axis.label)
}

fn point_words(point: &MapPoint) -> String {
    match point.least_disk {
        Some(disk) => format!("ρ {:.5}, least disk margin {disk:.3}", point.rho),
        None => format!("ρ {:.5}, unstable", point.rho),
    }
}

fn prospect_words(prospect: Option<&Prospect>) -> String {
    prospect.map_or_else(
        || "being judged".to_owned(),
        |p| {
            point_words(&MapPoint {
                rho: p.rho_loop,
                least_disk: p.least_disk().map(|(_, disk)| disk),
            })
        },
    )
}

#[cfg(test)]
mod tests;
