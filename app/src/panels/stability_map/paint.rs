//! Drawing a map: colours, borders, hatching, marks, axes.

use super::field::{Field, Segment};
use super::{Colouring, Picture, screen};
use crate::theme;
use crate::units::{shown, significant};
use eframe::egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke, Ui, Vec2, pos2, vec2,
};
use rt_core::bench::map::MapAxis;

/// Room beneath the map for legend and text.
pub(super) const BELOW: f32 = 120.0;
/// Room for numbers left of the map and below it, whatever they are.
const LEFT: f32 = 58.0;
const BOTTOM: f32 = 42.0;
/// Room for the scale of colours.
const RIGHT: f32 = 62.0;
const FONT: f32 = 13.0;
/// Points between two lines of hatching.
const HATCHING: f64 = 9.0;
/// Width of a map from which marks have their names beside them.
const NAMED: f32 = 280.0;
/// Under light lines and marks, so that they are seen on every colour.
const DARK: Color32 = Color32::from_rgb(10, 12, 16);

/// The part of the place that the map itself takes.
pub(super) fn inner(outer: Rect) -> Rect {
    Rect::from_min_max(outer.min + vec2(LEFT, 8.0), outer.max - vec2(RIGHT, BOTTOM))
}

impl Picture<'_> {
    /// Draws everything but the text beneath.
    pub(super) fn paint(&self, ui: &Ui, outer: Rect, inner: Rect) {
        let dark = ui.visuals().dark_mode;
        let painter = ui.painter().with_clip_rect(inner.intersect(ui.clip_rect()));
        painter.rect_filled(inner, 0, ui.visuals().extreme_bg_color);
        if let Some(grid) = self.grid() {
            let (safety, radius) = (grid.safety(), grid.radius());
            let scale = Scale::new(self.colouring, &safety, &radius);
            painter.add(colours(&scale, &safety, &radius, inner));
            let size = (f64::from(inner.width()), f64::from(inner.height()));
            let hatching = safety.hatching(self.needed, size, HATCHING);
            segments(
                &painter,
                inner,
                &hatching,
                Stroke::new(1.2, DARK.gamma_multiply(0.75)),
            );
            self.borders(&painter, inner, &safety);
            scale.paint(ui, outer, inner);
        }
        self.trail(&painter, inner);
        let plain = ui.painter();
        let frame = Stroke::new(1.0, theme::weak_text(dark));
        plain.rect_stroke(inner, 0, frame, eframe::egui::StrokeKind::Outside);
        self.axes(
            plain,
            inner,
            theme::weak_text(dark),
            ui.visuals().text_color(),
        );
        // Marks at an edge stand out a little.
        let painter = ui
            .painter()
            .with_clip_rect(inner.expand(9.0).intersect(ui.clip_rect()));
        if !self.tuner.changes().is_empty() {
            mark(
                &painter,
                inner,
                self.place(self.tuner.asked()),
                Mark::Proposed,
            );
        }
        mark(
            &painter,
            inner,
            self.place(self.tuner.applied()),
            Mark::Applied,
        );
    }

    fn borders(&self, painter: &Painter, inner: Rect, safety: &Field) {
        // From the same field, so that the safe border always lies within the stable one.
        for piece in safety.contour(0.0) {
            let ends = piece.map(|end| screen(inner, end));
            painter.add(Shape::line_segment(ends, Stroke::new(3.5, DARK)));
            painter.extend(Shape::dotted_line(&ends, Color32::WHITE, 4.5, 1.3));
        }
        let border = safety.contour(self.needed);
        segments(painter, inner, &border, Stroke::new(4.5, DARK));
        segments(painter, inner, &border, Stroke::new(2.2, Color32::WHITE));
    }

    fn trail(&self, painter: &Painter, inner: Rect) {
        let before = self.tuner.trail().iter();
        let all = before.chain(std::iter::once(self.tuner.applied()));
        let points: Vec<Pos2> = all.map(|p| screen(inner, self.place(p))).collect();
        if points.len() < 2 {
            return;
        }
        painter.add(Shape::line(points.clone(), Stroke::new(3.0, DARK)));
        painter.add(Shape::line(
            points.clone(),
            Stroke::new(1.2, Color32::WHITE),
        ));
        for point in &points[..points.len() - 1] {
            painter.circle(*point, 3.5, Color32::WHITE, Stroke::new(1.5, DARK));
        }
    }

    fn axes(&self, painter: &Painter, inner: Rect, weak: Color32, text: Color32) {
        let font = FontId::proportional(FONT);
        for (value, label) in ticks(&self.plane.x, self.x) {
            let x = super::share(&self.plane.x, self.x, value);
            let at = screen(inner, (x, 0.0));
            painter.line_segment([at, at + vec2(0.0, 5.0)], Stroke::new(1.0, weak));
            painter.text(
                at + vec2(0.0, 6.0),
                Align2::CENTER_TOP,
                label,
                font.clone(),
                text,
            );
        }
        for (value, label) in ticks(&self.plane.y, self.y) {
            let y = super::share(&self.plane.y, self.y, value);
            let at = screen(inner, (0.0, y));
            painter.line_segment([at, at - vec2(5.0, 0.0)], Stroke::new(1.0, weak));
            painter.text(
                at - vec2(7.0, 0.0),
                Align2::RIGHT_CENTER,
                label,
                font.clone(),
                text,
            );
        }
        let title = |axis: &MapAxis, room: f32| {
            let unit = shown(axis.unit).unit;
            let with_unit = |label: &str| {
                let label = if unit.is_empty() {
                    label.to_owned()
                } else {
                    format!("{label} ({unit})")
                };
                painter.layout_no_wrap(label, font.clone(), weak)
            };
            let long = with_unit(axis.label);
            if long.size().x > room {
                with_unit(super::short(axis))
            } else {
                long
            }
        };
        let galley = title(&self.plane.x, inner.width() + RIGHT);
        let left = inner.center().x - 0.5 * galley.size().x;
        painter.galley(pos2(left, inner.bottom() + 23.0), galley, weak);
        // Upwards along the left side.
        let galley = title(&self.plane.y, inner.height());
        let at = pos2(
            inner.left() - LEFT + 2.0,
            inner.center().y + 0.5 * galley.size().x,
        );
        let shape = eframe::epaint::TextShape::new(at, galley, weak);
        painter.add(shape.with_angle(-std::f32::consts::FRAC_PI_2));
    }
}

/// Marks of an axis and their labels.
fn ticks(axis: &MapAxis, (low, high): (f64, f64)) -> Vec<(f64, String)> {
    let unit = shown(axis.unit);
    if !axis.is_logarithmic() {
        let whole = low.ceil() as i64..=high.floor() as i64;
        return whole.map(|i| (i as f64, i.to_string())).collect();
    }
    // Within two decades 1, 2 and 5 have room.
    let steps: &[f64] = if high / low <= 100.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let (from, to) = (low * unit.factor, high * unit.factor);
    let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
    decades
        .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
        .filter(|value| (from * 0.999..=to * 1.001).contains(value))
        .map(|value| (value / unit.factor, significant(value, 3)))
        .collect()
}

/// From values to shares of the scale of colours: 0 is good.
struct Scale {
    colouring: Colouring,
    /// The value at the good end; for ρ the scale goes as far above 1 as below.
    good: f64,
}

impl Scale {
    fn new(colouring: Colouring, safety: &Field, radius: &Field) -> Self {
        let finite = |field: &Field| -> Vec<f64> {
            let values = field.values().iter().copied();
            values.filter(|v| v.is_finite()).collect()
        };
        let good = match colouring {
            // Steps of 1, 2 and 5, so that the scale stands still.
            Colouring::Margin => {
                let most = finite(safety).into_iter().fold(0.0, f64::max);
                let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
                steps.into_iter().find(|s| *s >= most).unwrap_or(2.0)
            }
            Colouring::Radius => {
                let least = finite(radius).into_iter().fold(1.0, f64::min);
                (100.0 * least).floor().min(99.0) / 100.0
            }
        };
        Self { colouring, good }
    }

    fn share(&self, safety: f64, radius: f64) -> f32 {
        let share = match self.colouring {
            Colouring::Margin => 1.0 - safety / self.good,
            Colouring::Radius if radius.is_nan() => 1.0,
            Colouring::Radius => 0.5 + 0.5 * (radius - 1.0) / (1.0 - self.good),
        };
        share.clamp(0.0, 1.0) as f32
    }

    /// Labels from the good end (0) to the bad one (1).
    fn labels(&self) -> Vec<(f32, String)> {
        match self.colouring {
            Colouring::Margin => {
                // Five parts of 1 and 5, four of 2, so that all labels are short.
                let parts = if significant(self.good, 1).contains('2') {
                    4
                } else {
                    5
                };
                let label = |i: i32| {
                    let share = f64::from(i) / f64::from(parts);
                    (share as f32, significant(self.good * (1.0 - share), 2))
                };
                (0..=parts).map(label).collect()
            }
            Colouring::Radius => [0.0, 0.5, 1.0]
                .into_iter()
                .map(|share: f32| {
                    let value = 1.0 + (1.0 - self.good) * f64::from(2.0 * share - 1.0);
                    (share, format!("{value:.2}"))
                })
                .collect(),
        }
    }

    /// The strip right of the map, the good end above.
    fn paint(&self, ui: &Ui, outer: Rect, inner: Rect) {
        let painter = ui.painter();
        let left = inner.right() + 10.0;
        let strip = Rect::from_min_max(
            pos2(left, inner.top() + 22.0),
            pos2(left + 14.0, inner.bottom()),
        );
        let mut mesh = Mesh::default();
        let steps = 16;
        for i in 0..=steps {
            let share = i as f32 / steps as f32;
            let y = strip.top() + share * strip.height();
            let color = theme::heat(share);
            mesh.colored_vertex(pos2(strip.left(), y), color);
            mesh.colored_vertex(pos2(strip.right(), y), color);
            if i > 0 {
                let at = 2 * i;
                mesh.add_triangle(at - 2, at - 1, at);
                mesh.add_triangle(at - 1, at, at + 1);
            }
        }
        painter.add(Shape::mesh(mesh));
        let text = ui.visuals().text_color();
        let font = FontId::proportional(FONT);
        for (share, label) in self.labels() {
            let y = strip.top() + share * strip.height();
            let at = pos2(
                strip.right() + 4.0,
                y.clamp(strip.top() + 7.0, strip.bottom() - 7.0),
            );
            painter.text(at, Align2::LEFT_CENTER, label, font.clone(), text);
        }
        let name = match self.colouring {
            Colouring::Margin => "disk",
            Colouring::Radius => "ρ",
        };
        let at = pos2(left, outer.top() + 8.0);
        painter.text(at, Align2::LEFT_TOP, name, font, text);
    }
}

/// A patch of colour between each four points.
fn colours(scale: &Scale, safety: &Field, radius: &Field, inner: Rect) -> Shape {
    let (columns, rows) = safety.size();
    let mut mesh = Mesh::default();
    for row in 0..rows {
        for column in 0..columns {
            let share = |i: usize, count: usize| i as f64 / count.saturating_sub(1).max(1) as f64;
            let at = screen(inner, (share(column, columns), share(row, rows)));
            let value = scale.share(safety.value(column, row), radius.value(column, row));
            mesh.colored_vertex(at, theme::heat(value));
            if row > 0 && column > 0 {
                let here = (row * columns + column) as u32;
                let below = here - columns as u32;
                mesh.add_triangle(below - 1, below, here);
                mesh.add_triangle(below - 1, here - 1, here);
            }
        }
    }
    Shape::mesh(mesh)
}

fn segments(painter: &Painter, inner: Rect, pieces: &[Segment], stroke: Stroke) {
    painter.extend(
        pieces
            .iter()
            .map(|piece| Shape::line_segment(piece.map(|end| screen(inner, end)), stroke)),
    );
}

/// What a mark stands for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mark {
    Applied,
    Proposed,
}

/// A disc for what is applied, a diamond for what is proposed; an arrow at the edge if it lies outside.
fn mark(painter: &Painter, inner: Rect, place: (f64, f64), mark: Mark) {
    let inside = (place.0.clamp(0.0, 1.0), place.1.clamp(0.0, 1.0));
    let at = screen(inner, inside);
    let outward = vec2((place.0 - inside.0) as f32, -(place.1 - inside.1) as f32);
    if outward != Vec2::ZERO {
        let along = outward.normalized();
        let across = vec2(along.y, -along.x);
        let tip = at - 2.0 * along;
        let points = vec![
            tip,
            tip - 14.0 * along + 7.0 * across,
            tip - 14.0 * along - 7.0 * across,
        ];
        let stroke = Stroke::new(1.5, DARK);
        painter.add(Shape::convex_polygon(points, Color32::WHITE, stroke));
        return;
    }
    sign(painter, at, mark);
    // In a small map the signs of the lines beneath have to do.
    if inner.width() < NAMED {
        return;
    }
    let (name, side) = match mark {
        Mark::Applied => ("applied", Align2::LEFT_BOTTOM),
        Mark::Proposed => ("proposed", Align2::LEFT_TOP),
    };
    let font = FontId::proportional(FONT);
    let galley = painter.layout_no_wrap(name.into(), font, Color32::WHITE);
    let down = if side == Align2::LEFT_TOP {
        6.0
    } else {
        -6.0 - galley.size().y
    };
    // To the left where there is no room at the right.
    let room = galley.size().x + 14.0;
    let right = if at.x + room > inner.right() {
        -room
    } else {
        9.0
    };
    let corner = (at + vec2(right, down)).clamp(inner.min, inner.max - galley.size());
    let back = Rect::from_min_size(corner, galley.size()).expand(2.0);
    painter.rect_filled(back, 3, DARK.gamma_multiply(0.8));
    painter.galley(corner, galley, Color32::WHITE);
}

/// The sign of a mark.
pub(super) fn sign(painter: &Painter, at: Pos2, mark: Mark) {
    match mark {
        Mark::Applied => {
            painter.circle(at, 6.5, Color32::WHITE, Stroke::new(2.5, DARK));
        }
        Mark::Proposed => {
            theme::paint_diamond(painter, at, 10.0, DARK);
            theme::paint_diamond(painter, at, 7.0, Color32::from_rgb(255, 176, 60));
        }
    }
}

/// What the marks and lines mean.
pub(super) fn legend(ui: &mut Ui) {
    let mut cells = crate::panels::tuning::Cells::new(ui, 26.0);
    let items: [(&str, &str, f32); 4] = [
        (
            "safe border",
            "Inside, the smallest disk margin is as large as the session asks for.",
            74.0,
        ),
        (
            "stable border",
            "Outside, the model of the loop diverges.",
            84.0,
        ),
        (
            "not safe",
            "Hatched: less margin than the session asks for, or unstable.",
            54.0,
        ),
        ("applied before", "The way here.", 90.0),
    ];
    let is_wide = ui.available_width() >= 480.0;
    for (i, (text, hint, width)) in items.into_iter().enumerate() {
        // Below 480 points only the lines have room; the tooltips of the map say the rest.
        if !is_wide && i >= 2 {
            break;
        }
        let glyph = cells.next(26.0);
        let painter = ui.painter();
        painter.rect_filled(glyph.shrink2(vec2(0.0, 5.0)), 2, theme::heat(0.6));
        let (left, right) = (glyph.left_center(), glyph.right_center());
        match i {
            0 => {
                painter.line_segment([left, right], Stroke::new(4.5, DARK));
                painter.line_segment([left, right], Stroke::new(2.2, Color32::WHITE));
            }
            1 => {
                painter.line_segment([left, right], Stroke::new(3.5, DARK));
                painter.extend(Shape::dotted_line(&[left, right], Color32::WHITE, 4.5, 1.3));
            }
            2 => {
                let area = glyph.shrink2(vec2(0.0, 5.0));
                for k in 0..4 {
                    let x = area.left() + 1.0 + 8.0 * k as f32;
                    let from = pos2(x, area.bottom());
                    let to = pos2((x + area.height()).min(area.right()), area.top());
                    painter.line_segment([from, to], Stroke::new(1.2, DARK.gamma_multiply(0.75)));
                }
            }
            _ => {
                painter.line_segment([left, right], Stroke::new(3.0, DARK));
                painter.line_segment([left, right], Stroke::new(1.2, Color32::WHITE));
                painter.circle(glyph.center(), 3.5, Color32::WHITE, Stroke::new(1.5, DARK));
            }
        }
        let place = cells.next(width);
        let text = eframe::egui::RichText::new(text).size(FONT);
        super::super::tuning::cell(ui, place, text, eframe::egui::Align::Min).on_hover_text(hint);
    }
}
