//! Drawing of responses: magnitude and phase over frequency, and around −1.

use super::curve::{Curve, Point};
use crate::theme;
use eframe::egui::{self, Align2, Color32, RichText, Ui};
use egui_plot::{
    Corner, GridMark, HLine, HoverPosition, Legend, Line, LineStyle, MarkerShape, Plot, PlotBounds,
    PlotPoint, PlotPoints, Points, Polygon, Text, VLine,
};
use rt_core::channel::Role;
use rt_core::control::assessment::ChannelMargins;
use std::f64::consts::TAU;

/// Room for the numbers of the vertical axis, whatever they are.
const GUTTER: f32 = 50.0;

/// How a curve looks.
#[derive(Clone, Copy)]
pub struct Style {
    color: Color32,
    width: f32,
    line: LineStyle,
}

impl Style {
    /// What counts.
    pub fn model(dark: bool) -> Self {
        Self {
            color: theme::line(dark, Role::Command),
            width: 2.0,
            line: LineStyle::Solid,
        }
    }

    /// What it is compared with.
    pub fn before(dark: bool) -> Self {
        Self {
            color: theme::weak_text(dark),
            width: 1.5,
            line: LineStyle::dashed_dense(),
        }
    }
}

/// Measured points; those that are not sure are drawn pale and hollow.
pub struct Measured<'a> {
    /// The points.
    pub curve: &'a Curve,
    /// Whether a point is sure.
    pub is_sure: Box<dyn Fn(usize) -> bool + 'a>,
}

/// A margin in a plot of magnitude or phase.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginMark {
    /// Where.
    pub hz: f64,
    /// From the curve to where it would be critical, in dB (magnitude) or degrees (phase); `None` for a line
    /// at the frequency alone.
    pub between: Option<(f64, f64)>,
    /// Whether it belongs to the phase.
    pub is_phase: bool,
    /// What it says.
    pub text: String,
}

/// Margins of a cut loop as marks.
pub fn marks(curve: &Curve, margins: Option<&ChannelMargins>, needed: f64) -> Vec<MarginMark> {
    let Some(m) = margins else {
        return Vec::new();
    };
    let mut marks = vec![MarginMark {
        hz: m.disk_hz,
        between: None,
        is_phase: false,
        text: format!(
            "disk {:.3}{}",
            m.disk,
            if m.disk < needed { ", too little" } else { "" }
        ),
    }];
    for (db, hz) in [
        (m.gain_up_db, m.gain_up_hz),
        (m.gain_down_db, m.gain_down_hz),
    ] {
        if let (Some(db), Some(hz)) = (db, hz) {
            marks.push(MarginMark {
                hz,
                between: Some((-db, 0.0)),
                is_phase: false,
                text: format!("{db:+.1} dB"),
            });
        }
    }
    if let (Some(degrees), Some(hz)) = (m.phase_deg, m.phase_hz)
        && let Some(there) = curve.at(hz)
    {
        let critical = super::nearest_turn(-180.0, there.degrees);
        marks.push(MarginMark {
            hz,
            between: Some((there.degrees, critical)),
            is_phase: true,
            text: format!("{degrees:.1}°"),
        });
    }
    marks
}

type NamedLine<'a> = (&'a Curve, Style, &'a str);

/// Magnitude above, phase below, in all the room there is.
pub fn bode(
    ui: &mut Ui,
    id: &str,
    lines: &[NamedLine<'_>],
    measured: Option<&Measured<'_>>,
    marks: &[MarginMark],
) {
    let height = (ui.available_height() - 8.0).max(240.0);
    for is_phase in [false, true] {
        let share = if is_phase { 0.46 } else { 0.54 };
        half(ui, id, lines, measured, marks, is_phase, share * height);
    }
}

fn legend(corner: Corner) -> Legend {
    Legend::default()
        .text_style(egui::TextStyle::Small)
        .position(corner)
}

fn half(
    ui: &mut Ui,
    id: &str,
    lines: &[NamedLine<'_>],
    measured: Option<&Measured<'_>>,
    marks: &[MarginMark],
    is_phase: bool,
    height: f32,
) {
    let dark = ui.visuals().dark_mode;
    let number = |p: &Point| if is_phase { p.degrees } else { p.db };
    let place = |p: &Point| [p.hz.log10(), number(p)];
    let (low, high, step) = ends(lines, measured, is_phase, height);
    let (from, to) = hertz_ends(lines, measured);
    let unit = if is_phase { "°" } else { " dB" };
    let plot = Plot::new((id, is_phase))
        .width(ui.available_width())
        .height(height)
        .y_axis_min_width(GUTTER)
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .grid_color(theme::grid(dark))
        .grid_fade(0.0)
        .grid_spacing(egui::Rangef::new(6.0, 30.0))
        .x_grid_spacer(move |_| hertz_marks(from, to))
        .x_axis_formatter(|mark, _| hertz_label(mark.value))
        .y_grid_spacer(move |_| {
            let (first, last) = ((low / step).round() as i64, (high / step).round() as i64);
            let mark = |i: i64| GridMark {
                value: i as f64 * step,
                step_size: step,
            };
            (first..=last).map(mark).collect()
        })
        .y_axis_formatter(move |mark, _| format!("{:.0}{unit}", mark.value))
        .link_cursor(egui::Id::unique(("frequency", id)), [true, false])
        .label_formatter(move |hover| {
            let (name, at) = match hover {
                HoverPosition::NearDataPoint {
                    plot_name,
                    position,
                    ..
                } => (*plot_name, position),
                HoverPosition::Elsewhere { position } => ("", position),
            };
            let text = format!("{name}\n{:.2} Hz\n{:.1}{unit}", 10_f64.powf(at.x), at.y);
            Some(text.trim().to_owned())
        });
    let plot = if is_phase {
        plot
    } else {
        plot.legend(legend(Corner::LeftBottom))
    };
    let critical = theme::danger_text(dark);
    plot.show(ui, |plot| {
        let room = 0.03 * (high - low);
        plot.set_plot_bounds(PlotBounds::from_min_max(
            [from.log10(), low - room],
            [to.log10(), high + room],
        ));
        // 0 dB and −180° (and whole turns from it): together they are −1.
        if !marks.is_empty() {
            let levels: Vec<f64> = if is_phase {
                (-4..=4)
                    .map(|turn| -180.0 + 360.0 * f64::from(turn))
                    .collect()
            } else {
                vec![0.0]
            };
            for level in levels.into_iter().filter(|l| (low..=high).contains(l)) {
                let line = HLine::new("", level)
                    .color(critical.gamma_multiply(0.7))
                    .width(1.0);
                plot.hline(line.style(LineStyle::dashed_loose()).allow_hover(false));
            }
        }
        for (curve, style, name) in lines {
            // A phase that goes on at the other end of its turn begins a new line.
            let is_one = |a: &Point, b: &Point| !is_phase || (b.degrees - a.degrees).abs() < 180.0;
            for piece in curve.points.chunk_by(is_one) {
                let points: PlotPoints<'_> = piece.iter().map(place).collect();
                let line = Line::new(*name, points)
                    .color(style.color)
                    .width(style.width);
                plot.line(line.style(style.line));
            }
        }
        if let Some(measured) = measured {
            let color = theme::line(dark, Role::Measured);
            for (is_sure, name) in [(false, "measured, not coherent"), (true, "measured")] {
                let all = measured.curve.points.iter().enumerate();
                let points: PlotPoints<'_> = all
                    .filter(|(i, p)| (measured.is_sure)(*i) == is_sure && number(p).is_finite())
                    .filter(|(_, p)| p.hz >= from)
                    .map(|(_, p)| place(p))
                    .collect();
                let points = Points::new(name, points).shape(MarkerShape::Circle);
                plot.points(if is_sure {
                    points.color(color).radius(2.4).filled(true)
                } else {
                    points
                        .color(color.gamma_multiply(0.45))
                        .radius(2.0)
                        .filled(false)
                });
            }
        }
        for mark in marks {
            let x = mark.hz.max(1e-3).log10();
            let text = RichText::new(&mark.text).size(13.0).color(critical);
            match mark.between {
                Some((a, b)) if mark.is_phase == is_phase => {
                    let ends = PlotPoints::from(vec![[x, a], [x, b]]);
                    plot.line(
                        Line::new("", ends)
                            .color(critical)
                            .width(3.0)
                            .allow_hover(false),
                    );
                    let at = PlotPoint::new(x, 0.5 * (a + b));
                    let (at, anchor) = beside(at, (from, to));
                    plot.text(Text::new("", at, text).color(critical).anchor(anchor));
                }
                None => {
                    let line = VLine::new("", x)
                        .color(critical.gamma_multiply(0.8))
                        .width(1.0);
                    plot.vline(line.style(LineStyle::dotted_dense()).allow_hover(false));
                    if !is_phase {
                        let at = PlotPoint::new(x, low);
                        let (at, anchor) = beside(at, (from, to));
                        let anchor = if anchor == Align2::RIGHT_CENTER {
                            Align2::RIGHT_BOTTOM
                        } else {
                            Align2::LEFT_BOTTOM
                        };
                        plot.text(Text::new("", at, text).color(critical).anchor(anchor));
                    }
                }
                Some(_) => {}
            }
        }
    });
}

/// Text at the right of a place, or at its left near the right edge.
fn beside(at: PlotPoint, (from, to): (f64, f64)) -> (PlotPoint, Align2) {
    let width = (to / from).log10();
    if at.x > to.log10() - 0.45 * width {
        (
            PlotPoint::new(at.x - 0.012 * width, at.y),
            Align2::RIGHT_CENTER,
        )
    } else {
        (
            PlotPoint::new(at.x + 0.012 * width, at.y),
            Align2::LEFT_CENTER,
        )
    }
}

/// From the lowest frequency that is shown to the highest of all curves.
fn hertz_ends(lines: &[NamedLine<'_>], measured: Option<&Measured<'_>>) -> (f64, f64) {
    let curves = lines.iter().map(|(curve, _, _)| *curve);
    let all = curves.chain(measured.map(|m| m.curve));
    let highest = all.filter_map(|curve| Some(curve.range(|p| p.hz)?.1));
    let highest = highest.fold(f64::NAN, f64::max);
    let highest = if highest.is_nan() { 250.0 } else { highest };
    (super::curve::LOWEST_HZ, highest)
}

/// Ends of the vertical axis at whole steps, and the step: they stand still while curves move a little.
fn ends(
    lines: &[NamedLine<'_>],
    measured: Option<&Measured<'_>>,
    is_phase: bool,
    height: f32,
) -> (f64, f64, f64) {
    let number = |p: &Point| if is_phase { p.degrees } else { p.db };
    let mut range = lines
        .iter()
        .filter_map(|(curve, _, _)| curve.range(number))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    if range.is_none() {
        range = measured.and_then(|m| m.curve.range(number));
    }
    let (low, high) = range.unwrap_or((0.0, 0.0));
    let (step, least, most): (f64, f64, f64) = if is_phase {
        (90.0, -180.0, 0.0)
    } else {
        (20.0, -40.0, 20.0)
    };
    // Nulls go down for ever; what is below −100 dB is nothing.
    let low = if is_phase { low } else { low.max(-100.0) };
    // A label every 22 points at most.
    let most_steps = f64::from(height / 22.0) - 1.0;
    let step = if (high.max(most) - low.min(least)) / step > most_steps {
        2.0 * step
    } else {
        step
    };
    (
        (low.min(least) / step).floor() * step,
        (high.max(most) / step).ceil() * step,
        step,
    )
}

/// 1, 2 and 5 of every decade are labelled, all others marked.
fn hertz_marks(from: f64, to: f64) -> Vec<GridMark> {
    let mut marks = Vec::new();
    for decade in -1..=3 {
        for step in 1..=9 {
            let value = (f64::from(step) * 10_f64.powi(decade)).log10();
            let step_size = match step {
                1 => 1.0,
                2 | 5 => 0.4,
                _ => 0.05,
            };
            if (from.log10()..=to.log10()).contains(&value) {
                marks.push(GridMark { value, step_size });
            }
        }
    }
    marks
}

fn hertz_label(value: f64) -> String {
    let hz = 10_f64.powf(value);
    let digit = hz / 10_f64.powf(hz.log10().floor() + 1e-9).max(1e-12);
    let is_labelled = [1.0, 2.0, 5.0, 10.0]
        .iter()
        .any(|d| (digit / d - 1.0).abs() < 1e-3);
    // The last one would be cut off at the right edge.
    if !is_labelled || hz > 220.0 && hz < 260.0 {
        return String::new();
    }
    let unit = if (hz - 1.0).abs() < 1e-6 { " Hz" } else { "" };
    format!("{}{unit}", crate::units::significant(hz, 2))
}

/// −L around −1 with the disk that it must not enter.
pub fn nyquist(ui: &mut Ui, lines: &[NamedLine<'_>], disk: Option<f64>, needed: f64) {
    let dark = ui.visuals().dark_mode;
    let critical = theme::danger_text(dark);
    let weak = theme::weak_text(dark);
    let size = ui.available_size();
    Plot::new("nyquist")
        .width(size.x)
        .height(size.y.max(200.0))
        .y_axis_min_width(GUTTER)
        .data_aspect(1.0)
        .grid_color(theme::grid(dark))
        .grid_fade(0.0)
        .allow_boxed_zoom(false)
        .default_x_bounds(-2.2, 0.9)
        .default_y_bounds(-1.5, 1.5)
        .legend(legend(Corner::RightBottom))
        .label_formatter(|hover| match hover {
            HoverPosition::NearDataPoint {
                plot_name,
                position,
                ..
            } => Some(format!(
                "{plot_name}\n{:.3} {:+.3} i",
                position.x, position.y
            )),
            HoverPosition::Elsewhere { .. } => None,
        })
        .show(ui, |plot| {
            let unit = Line::new("", circle(-1.0, 1.0)).color(weak).width(1.0);
            plot.line(unit.style(LineStyle::dotted_loose()).allow_hover(false));
            if let Some(disk) = disk.filter(|d| *d < 2.0) {
                let (left, right) = disk_ends(disk);
                let area = Polygon::new("disk margin", circle(left, right))
                    .fill_color(critical.gamma_multiply(0.15))
                    .stroke(egui::Stroke::new(1.5, critical));
                plot.polygon(area.allow_hover(false));
            }
            let (left, right) = disk_ends(needed.clamp(0.0, 1.99));
            let line = Line::new("needed", circle(left, right))
                .color(critical)
                .width(1.5);
            plot.line(line.style(LineStyle::dashed_dense()).allow_hover(false));
            for (curve, style, name) in lines {
                let points: PlotPoints<'_> = curve
                    .points
                    .iter()
                    .map(|p| [p.parts.0, p.parts.1])
                    .collect();
                let line = Line::new(*name, points)
                    .color(style.color)
                    .width(style.width);
                plot.line(line.style(style.line));
            }
            let point = Points::new("", vec![[-1.0, 0.0]]).shape(MarkerShape::Cross);
            plot.points(point.color(critical).radius(6.0));
        });
}

/// Where the disk of a disk margin α crosses the real axis: −1/g for the gains g = (2 ± α)/(2 ∓ α).
pub fn disk_ends(disk: f64) -> (f64, f64) {
    let gain = (2.0 + disk) / (2.0 - disk);
    (-gain, -1.0 / gain)
}

/// A circle between two places on the real axis.
fn circle(left: f64, right: f64) -> PlotPoints<'static> {
    let (center, radius) = (0.5 * (left + right), 0.5 * (right - left));
    (0..=72)
        .map(|i| TAU * f64::from(i) / 72.0)
        .map(|a| [center + radius * a.cos(), radius * a.sin()])
        .collect()
}
