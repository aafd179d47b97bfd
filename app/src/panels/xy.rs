//! One channel against another with a trail that fades into the past.

use super::pickers::{self, Export, Source};
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::stretch::{Grid, Offered, Stretch};
use crate::chart::axis::{Axis, nice_step};
use crate::chart::{self, Chart, Height, Hover, Item, Pen, number};
use crate::data::Data;
use crate::theme;
use crate::view::{Ask, View};
use eframe::egui::{Ui, Vec2};
use serde::{Deserialize, Serialize};

/// How often a new trail is made while samples come, in s.
const PAUSE_S: f64 = 0.05;
/// Samples of a trail that is drawn through all of them.
const SHORT: usize = 5_000;
/// Pieces into which a longer one is cut; each keeps its ends and its extremes.
const PIECES: usize = 800;
/// Steps of the fading.
const SHADES: usize = 24;
/// How much of its colour the oldest part keeps.
const PALEST: f32 = 0.12;

/// What the panel shows; a layout keeps it.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct XyPanel {
    /// Channel to the right.
    pub x: String,
    /// Channel upwards.
    pub y: String,
    /// Which stretch of time.
    pub stretch: Stretch,
    /// Whether a step of both axes is equally long; only of channels with the same unit.
    pub is_equal: bool,
    #[serde(skip)]
    offered: Offered,
    #[serde(skip)]
    desk: Desk<Settings, Trail>,
}

impl Default for XyPanel {
    fn default() -> Self {
        Self {
            x: "motor_reference".into(),
            y: "motor_position".into(),
            stretch: Stretch::Last(5.0),
            is_equal: false,
            offered: Offered::default(),
            desk: Desk::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Settings {
    channels: [String; 2],
}

/// What is drawn, in SI units, the oldest first; NaN where a sample is missing.
struct Trail {
    points: Vec<[f64; 2]>,
    /// How old each is: 0 the first sample, 1 the last.
    ages: Vec<f32>,
    /// How many samples a piece stands for; 1 if nothing is left out.
    samples_per_piece: usize,
}

/// In a thread of its own.
fn compute(_: &Settings, grid: &Grid) -> Result<Trail, String> {
    let [x, y] = grid.channels.as_slice() else {
        return Err("Choose two channels above.".into());
    };
    Ok(trail(x, y))
}

/// Of each piece the first and the last sample, and those with the smallest and largest x and y: nothing that
/// stands out is lost.
fn trail(x: &[f64], y: &[f64]) -> Trail {
    let per_piece = if x.len() <= SHORT {
        1
    } else {
        x.len().div_ceil(PIECES)
    };
    let mut kept: Vec<usize> = Vec::new();
    for begin in (0..x.len()).step_by(per_piece) {
        let piece = begin..(begin + per_piece).min(x.len());
        let first = kept.len();
        kept.extend([piece.start, piece.end - 1]);
        // A gap within the piece is kept too.
        kept.extend(
            piece
                .clone()
                .find(|i| !(x[*i].is_finite() && y[*i].is_finite())),
        );
        for values in [x, y] {
            let known = || {
                piece
                    .clone()
                    .filter(|i| x[*i].is_finite() && y[*i].is_finite())
            };
            let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
            kept.extend(known().min_by(by_value));
            kept.extend(known().max_by(by_value));
        }
        kept[first..].sort_unstable();
    }
    kept.dedup();
    let last = x.len().saturating_sub(1).max(1) as f32;
    Trail {
        points: kept.iter().map(|i| [x[*i], y[*i]]).collect(),
        ages: kept.iter().map(|i| *i as f32 / last).collect(),
        samples_per_piece: per_piece,
    }
}

impl XyPanel {
    /// Takes over the stretches that the time plots offer.
    pub fn offer(&mut self, offered: Offered) {
        self.offered = offered;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let mut wish = self.controls(ui, view.data);
        if let Err(text) = self.update(ui, view) {
            asks.extend(wish.map(|_| pickers::nothing_to_export()));
            return pickers::empty(ui, &text);
        }
        let Some((answer, trail)) = self.answer() else {
            let trouble = self.desk.trouble().map(str::to_owned);
            return pickers::empty(ui, &trouble.unwrap_or("Gathering the trail …".into()));
        };
        let below = pickers::room_below(2);
        let room = ui.available_size() - Vec2::new(0.0, below);
        let charts = self.charts(view.data, answer, trail, (ui.visuals().dark_mode, room));
        let shown = chart::show(ui, &charts, below);
        shown
            .response
            .context_menu(|ui| wish = wish.or(Export::menu(ui)));
        figures(ui, view.data, answer, trail, shown.hover);
        if let Some(export) = wish {
            let source = Source {
                name: "xy",
                channels: &answer.settings.channels,
                found: answer.found,
                rect: shown.response.rect,
            };
            let charts = || self.charts(view.data, answer, trail, (false, pickers::PICTURE));
            asks.extend(export.perform(ui.ctx(), source, charts, || {
                numbers(view.data, answer, trail)
            }));
        }
    }

    fn answer(&self) -> Option<(&Answer<Settings, Trail>, &Trail)> {
        let answer = self.desk.answer()?;
        Some((answer, answer.result.as_ref().ok()?))
    }

    fn controls(&mut self, ui: &mut Ui, data: &Data) -> Option<Export> {
        let mut wish = None;
        pickers::controls(ui, |ui| {
            pickers::channel(ui, "X", &mut self.x, data, "The channel to the right.");
            pickers::channel(ui, "Y", &mut self.y, data, "The channel upwards.");
            pickers::stretch(ui, &mut self.stretch);
            let is_possible = has_equal_units(data, &self.x, &self.y);
            ui.add_enabled_ui(is_possible, |ui| {
                ui.checkbox(&mut self.is_equal, "Equal axes")
                    .on_hover_text("A step is equally long on both axes.")
                    .on_disabled_hover_text(
                        "Only channels with the same unit can have equal axes.",
                    );
            });
            wish = Export::button(ui);
        });
        wish
    }

    fn update(&mut self, ui: &Ui, view: &View<'_>) -> Result<(), String> {
        let range = (self.stretch, &self.offered);
        let (found, places) = pickers::ready(view, range, &[&self.x, &self.y], 0.1)?;
        let settings = Settings {
            channels: [self.x.clone(), self.y.clone()],
        };
        self.desk.update(
            ui.ctx(),
            view.data,
            (found, places, settings),
            PAUSE_S,
            compute,
        );
        match self.desk.answer().map(|a| &a.result) {
            Some(Err(text)) => Err(text.clone()),
            _ => Ok(()),
        }
    }

    fn charts(
        &self,
        data: &Data,
        answer: &Answer<Settings, Trail>,
        trail: &Trail,
        (dark, room): (bool, Vec2),
    ) -> Vec<Chart> {
        let [x_id, y_id] = &answer.settings.channels;
        let factors = [x_id, y_id].map(|id| pickers::unit_of(data, id).0);
        let points: Vec<[f64; 2]> = trail
            .points
            .iter()
            .map(|[x, y]| [x * factors[0], y * factors[1]])
            .collect();
        let mut x = Axis::around(range_of(points.iter().map(|p| p[0])));
        let mut y = Axis::around(range_of(points.iter().map(|p| p[1])));
        if self.is_equal && has_equal_units(data, x_id, y_id) {
            (x, y) = equal(x, y, chart::plot_size(room));
        }
        let color = theme::series(dark, 0);
        let mut items: Vec<Item> = shades(&points, &trail.ages)
            .into_iter()
            .map(|(age, part)| {
                let strength = PALEST + (1.0 - PALEST) * age;
                Item::Path(
                    part,
                    Pen::solid(color.gamma_multiply(strength), 1.0 + 0.8 * age),
                )
            })
            .collect();
        let newest = points.iter().rfind(|p| p.iter().all(|v| v.is_finite()));
        // A ring around a disc: where it is now.
        items.extend(newest.into_iter().flat_map(|p| {
            [(7.0, true), (3.5, false)].map(|(radius, is_hollow)| Item::Dots {
                points: vec![*p],
                radius,
                color: theme::series(dark, 1),
                is_hollow,
            })
        }));
        let (x_title, y_title) = (pickers::title_of(data, x_id), pickers::title_of(data, y_id));
        vec![Chart {
            name: format!("{y_title} against {x_title}"),
            x,
            x_title,
            y,
            y_title,
            items,
            legend: Vec::new(),
            height: Height::Share(1.0),
        }]
    }
}

fn has_equal_units(data: &Data, x: &str, y: &str) -> bool {
    pickers::unit_of(data, x).1 == pickers::unit_of(data, y).1
}

fn range_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|v| v.is_finite())
        .fold(None, |range, v| match range {
            None => Some((v, v)),
            Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
        })
}

/// Widens one of two axes around its middle, so that a step is equally long on both in a plot of a size.
fn equal(x: Axis, y: Axis, plot: Vec2) -> (Axis, Axis) {
    let (width, height) = (f64::from(plot.x), f64::from(plot.y));
    let per_point = ((x.high - x.low) / width).max((y.high - y.low) / height);
    // Middles at round values: the axes stand still while the trail moves a little.
    let step = nice_step(0.05 * per_point * width.min(height));
    let around = |axis: Axis, length: f64| {
        let middle = (0.5 * (axis.low + axis.high) / step).round() * step;
        Axis::exactly(
            middle - 0.5 * length * per_point,
            middle + 0.5 * length * per_point,
        )
    };
    (around(x, width), around(y, height))
}

/// The trail in parts of about equal age, each beginning where the one before ends.
fn shades(points: &[[f64; 2]], ages: &[f32]) -> Vec<(f32, Vec<[f64; 2]>)> {
    let shade = |age: f32| ((age * SHADES as f32) as usize).min(SHADES - 1);
    let mut parts: Vec<(f32, Vec<[f64; 2]>)> = Vec::new();
    let mut last = usize::MAX;
    for (i, (point, age)) in points.iter().zip(ages).enumerate() {
        if shade(*age) != last {
            last = shade(*age);
            let before = i.checked_sub(1).and_then(|i| points.get(i)).copied();
            parts.push((
                (last + 1) as f32 / SHADES as f32,
                before.into_iter().collect(),
            ));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push(*point);
        }
    }
    parts
}

fn figures(
    ui: &mut Ui,
    data: &Data,
    answer: &Answer<Settings, Trail>,
    trail: &Trail,
    hover: Option<Hover>,
) {
    let [(x_factor, x_unit), (y_factor, y_unit)] =
        [0, 1].map(|i| pickers::unit_of(data, &answer.settings.channels[i]));
    let newest = trail
        .points
        .last()
        .map(|[x, y]| (x * x_factor, y * y_factor));
    let (name, values) = match hover {
        Some(hover) => ("pointer", Some((hover.x, hover.y))),
        None => ("newest ", newest),
    };
    let (x, y) = values.unwrap_or((f64::NAN, f64::NAN));
    let text = format!("{name} x {} {x_unit}  y {} {y_unit}", number(x), number(y));
    pickers::figures(ui, &text)
        .on_hover_text("Values at the pointer, or of the newest sample, which has a ring.");
    let cut = if answer.found.is_cut {
        ", older samples left out"
    } else {
        ""
    };
    let pieces = match trail.samples_per_piece {
        1 => String::new(),
        n => format!(", ends and extremes of every {n} samples"),
    };
    let text = format!(
        "{:.2} … {:.2} s{pieces}{cut}",
        answer.found.from_s, answer.found.to_s
    );
    pickers::figures(ui, &text).on_hover_text(
        "The older, the paler. A long trail is drawn through the first, last, smallest and largest of pieces: no \
         extreme is lost.",
    );
}

fn numbers(data: &Data, answer: &Answer<Settings, Trail>, trail: &Trail) -> String {
    let column = |i: usize| {
        let id = &answer.settings.channels[i];
        let factor = pickers::unit_of(data, id).0;
        (
            pickers::title_of(data, id),
            trail.points.iter().map(|p| p[i] * factor).collect(),
        )
    };
    pickers::table(&[column(0), column(1)])
}

#[cfg(test)]
mod tests {
    use super::super::pickers::test_help::{look, stage};
    use super::*;
    use crate::analysis::desk::test_help::until;
    use crate::data::sample;
    use eframe::egui::{Role, Theme};
    use egui_kittest::kittest::Queryable;

    #[test]
    fn a_long_trail_keeps_every_extreme_and_its_order() {
        let n = 123_457;
        let mut x: Vec<f64> = (0..n).map(|i| f64::from(i) * 1e-5).collect();
        let mut y: Vec<f64> = (0..n).map(|i| f64::from(i % 100)).collect();
        (x[50_001], y[50_001]) = (9.0, 50.0);
        (x[77_777], y[77_777]) = (0.7, -1e3);
        y[90_000] = f64::NAN;
        let trail = trail(&x, &y);
        assert!(trail.points.len() <= 7 * PIECES);
        assert_eq!(trail.samples_per_piece, 155);
        assert!(trail.points.contains(&[9.0, 50.0]) && trail.points.contains(&[0.7, -1e3]));
        assert!(trail.ages.is_sorted() && trail.ages.last() == Some(&1.0));
        assert!(
            trail.points.iter().any(|p| p[1].is_nan()),
            "the gap is seen"
        );
        // Every extreme of every piece, looked for the plain way.
        for piece in (0..n as usize).step_by(155) {
            let end = (piece + 155).min(n as usize);
            let largest = x[piece..end].iter().copied().fold(f64::MIN, f64::max);
            assert!(trail.points.iter().any(|p| p[0] == largest));
        }
    }

    #[test]
    fn a_short_trail_is_every_sample() {
        let x: Vec<f64> = (0..500).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| x * x).collect();
        let trail = trail(&x, &y);
        let all: Vec<[f64; 2]> = x.iter().zip(&y).map(|(x, y)| [*x, *y]).collect();
        assert_eq!(trail.points, all);
        assert_eq!(trail.samples_per_piece, 1);
    }

    #[test]
    fn equal_axes_have_equal_steps_and_hold_both_ranges() {
        let plot = Vec2::new(600.0, 200.0);
        let (x, y) = equal(Axis::exactly(-10.0, 10.0), Axis::exactly(90.0, 110.0), plot);
        let (per_x, per_y) = ((x.high - x.low) / 600.0, (y.high - y.low) / 200.0);
        assert!((per_x - per_y).abs() < 1e-12);
        assert!(y.low <= 90.0 + 1e-9 && y.high >= 110.0 - 1e-9 && x.low <= -10.0 && x.high >= 10.0);
    }

    #[test]
    fn parts_of_a_trail_join_and_grow_stronger() {
        let points: Vec<[f64; 2]> = (0..100).map(|i| [f64::from(i), 0.0]).collect();
        let ages: Vec<f32> = (0..100).map(|i| i as f32 / 99.0).collect();
        let parts = shades(&points, &ages);
        assert_eq!(parts.len(), SHADES);
        assert!(parts.is_sorted_by(|a, b| a.0 < b.0) && parts[SHADES - 1].0 == 1.0);
        for pair in parts.windows(2) {
            assert_eq!(pair[0].1.last(), pair[1].1.first());
        }
    }

    #[test]
    fn the_panel_shows_the_newest_point_and_equal_axes_only_of_equal_units() {
        let mut harness = stage(
            XyPanel::default(),
            sample::run(6.0),
            [700.0, 600.0],
            Theme::Dark,
            XyPanel::show,
        );
        until("a trail", || {
            harness.step();
            harness.state().panel.desk.answers() > 0
        });
        harness.run_steps(2);
        let name = "Motor position (mm) against Motor reference (mm)";
        assert!(harness.query_by_role_and_label(Role::Image, name).is_some());
        // Reference 0.01 sin(2π v t / 65), position 0.4 m later, at the newest sample in mm.
        let place = 250.0 / 3.6 * 5.998;
        let [x, y] = [place, place - 0.4].map(|p| 10.0 * (std::f64::consts::TAU * p / 65.0).sin());
        let text = format!("newest  x {} mm  y {} mm", number(x), number(y));
        assert!(harness.query_by_label(&text).is_some(), "{text}");
        harness.get_by_label("Equal axes").click();
        harness.run_steps(2);
        assert!(harness.state().panel.is_equal);
        harness.get_by_role_and_label(Role::ComboBox, "X").click();
        harness.run_steps(2);
        harness.get_by_label("Contact force").click();
        harness.run_steps(2);
        harness.get_by_label("Equal axes").click();
        harness.run_steps(2);
        assert!(
            harness.state().panel.is_equal,
            "a disabled box does nothing"
        );
    }

    #[test]
    fn pictures_to_look_at() {
        let is_done = |p: &XyPanel| p.desk.answers() > 0;
        let equal = || XyPanel {
            is_equal: true,
            ..XyPanel::default()
        };
        look("xy", equal, || sample::run(6.0), is_done, XyPanel::show);
        let force = || XyPanel {
            x: "motor_position".into(),
            y: "force".into(),
            stretch: Stretch::Last(10.0),
            ..XyPanel::default()
        };
        look(
            "xy-force",
            force,
            || sample::run(12.0),
            is_done,
            XyPanel::show,
        );
    }
}
