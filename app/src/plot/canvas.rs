//! Paints one plot: axes, lines, what is measured, numbers at the ends of the lines.

use super::axis::Axis;
use super::cursors::Which;
use super::events::{SeenEvent, paint_lines};
use super::mesh::{Pen, add_line};
use super::picture::PlotPicture;
use super::scale::Scale;
use super::words::{paint_across, paint_words};
use crate::data::LineMarks;
use crate::theme;
use eframe::egui::epaint::TextShape;
use eframe::egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Shape, Stroke, Ui, pos2, vec2,
};

/// Room for the numbers of a vertical axis, whatever they are.
pub const GUTTER: f32 = 68.0;
/// Room for the numbers of the lines at their right ends.
pub const TAGS: f32 = 22.0;
/// Room above and below the outermost marks, as a part of the axis.
const MARGIN: f64 = 0.06;
/// Least distance of two numbers of a vertical axis.
const NUMBER_ROOM: f32 = 16.0;
/// The font of numbers and words in plots.
pub const FONT: FontId = FontId::proportional(13.0);

/// What is painted in every plot alike.
pub struct Common<'a> {
    /// The horizontal axis.
    pub scale: &'a Scale,
    /// Its marks.
    pub marks: &'a [(f64, String)],
    /// Events within it.
    pub events: &'a [SeenEvent<'a>],
    /// Cursors, where they stand on the axis.
    pub cursors: Option<[(Which, Option<f64>); 2]>,
    /// Where the pointer is on the axis.
    pub hover: Option<f64>,
    /// Supports and droppers, against place.
    pub line: Option<&'a LineMarks>,
}

impl Common<'_> {
    /// Where a point of the axis stands on the screen.
    pub fn x(&self, plot: Rect, x: f64) -> f32 {
        plot.left() + self.scale.part(x) as f32 * plot.width()
    }

    /// The same, if it is within the plot.
    pub fn seen(&self, plot: Rect, x: f64) -> Option<f32> {
        (0.0..=1.0)
            .contains(&self.scale.part(x))
            .then(|| self.x(plot, x))
    }
}

/// Where a value stands on the screen.
pub fn y(plot: Rect, axis: Axis, value: f64) -> f32 {
    let part = (axis.part(value) + MARGIN) / (1.0 + 2.0 * MARGIN);
    plot.bottom() - part as f32 * plot.height()
}

/// What one plot shows besides its lines.
#[derive(Default)]
pub struct Above {
    /// Values of the lines under the pointer.
    pub values: Vec<Option<f64>>,
    /// Number of a line that is pointed at in the legend.
    pub highlight: Option<usize>,
    /// Words in the upper right corner.
    pub note: Option<String>,
}

/// Words that say how much a picture leaves out, if it does.
pub fn decimation(picture: &PlotPicture) -> Option<String> {
    let count = picture.samples_per_point;
    (count > 1).then(|| format!("min/max of {count} samples"))
}

/// Paints a plot.
pub fn paint(ui: &Ui, plot: Rect, picture: &PlotPicture, common: &Common<'_>, above: &Above) {
    let dark = ui.visuals().dark_mode;
    let highlight = above.highlight;
    let outside = ui.painter();
    outside.rect_filled(plot, 0.0, ui.visuals().extreme_bg_color);
    let painter = outside.with_clip_rect(plot.intersect(ui.clip_rect()));
    let grid = Stroke::new(1.0, theme::grid(dark));
    match common.line {
        // Supports are the grid of a line.
        Some(line) => paint_supports(&painter, plot, common, line, dark),
        None => {
            for (mark, _) in common.marks {
                painter.vline(common.x(plot, *mark), plot.y_range(), grid);
            }
        }
    }
    paint_axes(outside, &painter, plot, picture, dark);
    paint_lines(&painter, plot, common.events, dark);
    paint_across(&painter, plot, picture, dark);
    let mut mesh = Mesh::default();
    // Room at once: growing would copy what is there again and again.
    let points: usize = picture.lines.iter().map(|l| l.line.points.len()).sum();
    mesh.reserve_vertices(4 * points);
    mesh.reserve_triangles(6 * points);
    let pixel = 1.0 / ui.ctx().pixels_per_point();
    // The line that is pointed at comes last and so on top.
    let mut order: Vec<_> = picture.lines.iter().collect();
    order.sort_by_key(|l| (Some(l.number) == highlight, l.is_bold));
    for drawn in order {
        let Some((axis, _)) = &picture.axes[drawn.side] else {
            continue;
        };
        let is_dim = highlight.is_some_and(|n| n != drawn.number);
        let color = theme::series(dark, drawn.color);
        let pen = Pen {
            width: if drawn.is_bold { 2.6 } else { 1.3 },
            pixel,
            color: if is_dim {
                color.gamma_multiply(0.3)
            } else {
                color
            },
        };
        let place = |x: f64, value: f64| pos2(common.x(plot, x), y(plot, *axis, value));
        add_line(&mut mesh, &drawn.line.points, place, plot, pen);
    }
    painter.add(Shape::mesh(mesh));
    paint_words(ui, &painter, plot, picture, above.note.as_deref(), dark);
    paint_cursors(&painter, plot, common, ui.visuals().text_color());
    paint_hover(&painter, plot, picture, common, &above.values, dark);
    paint_tags(outside, plot, picture, common, dark);
    outside.rect_stroke(plot, 0.0, grid, eframe::egui::StrokeKind::Inside);
}

fn paint_axes(outside: &Painter, inside: &Painter, plot: Rect, picture: &PlotPicture, dark: bool) {
    let color = Color32::from_gray(if dark { 190 } else { 70 });
    for (side, axis) in picture.axes.iter().enumerate() {
        let Some((axis, unit)) = axis else {
            continue;
        };
        let (x, out, anchor) = match side {
            0 => (plot.left(), -1.0, Align2::RIGHT_CENTER),
            _ => (plot.right() + TAGS, 1.0, Align2::LEFT_CENTER),
        };
        let marks = axis.marks();
        let apart = (y(plot, *axis, 0.0) - y(plot, *axis, axis.step)).abs();
        let every = (NUMBER_ROOM / apart.max(0.1)).ceil().max(1.0) as usize;
        for mark in &marks {
            let at = y(plot, *axis, *mark);
            if side == 0 {
                inside.hline(plot.x_range(), at, Stroke::new(1.0, theme::grid(dark)));
            } else {
                let tick = Rangef::new(plot.right() - 5.0, plot.right());
                outside.hline(tick, at, Stroke::new(1.0, color));
            }
            let has_room = at > plot.top() + 3.0 && at < plot.bottom() - 3.0;
            // Counted from zero, so that zero has a number.
            let number = (mark / axis.step).round().abs() as usize;
            if number.is_multiple_of(every) && has_room {
                outside.text(
                    pos2(x + 6.0 * out, at),
                    anchor,
                    axis.label(*mark),
                    FONT,
                    color,
                );
            }
        }
        let galley = outside.layout_no_wrap(unit.clone(), FONT, color);
        let middle = pos2(x + out * (GUTTER - 9.0), plot.center().y);
        let corner = middle - 0.5 * galley.size();
        let quarter = -std::f32::consts::FRAC_PI_2;
        let text = TextShape::new(corner, galley, color);
        outside.add(text.with_angle_and_anchor(quarter, Align2::CENTER_CENTER));
    }
}

fn paint_supports(
    painter: &Painter,
    plot: Rect,
    common: &Common<'_>,
    line: &LineMarks,
    dark: bool,
) {
    let strong = Stroke::new(1.0, Color32::from_gray(if dark { 85 } else { 170 }));
    for x in line.supports_m.iter().filter_map(|x| common.seen(plot, *x)) {
        painter.vline(x, plot.y_range(), strong);
    }
    let droppers: Vec<f32> = line
        .droppers_m
        .iter()
        .filter_map(|x| common.seen(plot, *x))
        .collect();
    // Ticks that would run into each other say nothing.
    if droppers.len() as f32 * 4.0 < plot.width() {
        let tick = Rangef::new(plot.bottom() - 6.0, plot.bottom());
        for x in droppers {
            painter.vline(x, tick, strong);
        }
    }
}

fn paint_cursors(painter: &Painter, plot: Rect, common: &Common<'_>, color: Color32) {
    let Some(cursors) = common.cursors else {
        return;
    };
    let seen = cursors.map(|(_, at)| at.map(|at| common.x(plot, at)));
    if let [Some(a), Some(b)] = seen {
        let between = Rect::from_x_y_ranges(a.min(b)..=a.max(b), plot.y_range());
        painter.rect_filled(between, 0.0, color.gamma_multiply(0.06));
    }
    for ((which, _), x) in cursors.iter().zip(seen) {
        let Some(x) = x else {
            continue;
        };
        painter.vline(x, plot.y_range(), Stroke::new(1.5, color));
        let flag = Rect::from_center_size(pos2(x, plot.bottom() - 9.0), vec2(16.0, 16.0));
        painter.rect_filled(flag, 3.0, color);
        let ground = if color.r() > 128 {
            Color32::BLACK
        } else {
            Color32::WHITE
        };
        painter.text(
            flag.center(),
            Align2::CENTER_CENTER,
            which.letter(),
            FONT,
            ground,
        );
    }
}

fn paint_hover(
    painter: &Painter,
    plot: Rect,
    picture: &PlotPicture,
    common: &Common<'_>,
    values: &[Option<f64>],
    dark: bool,
) {
    let Some(x) = common.hover.and_then(|x| common.seen(plot, x)) else {
        return;
    };
    let gray = Color32::from_gray(if dark { 170 } else { 90 });
    painter.vline(x, plot.y_range(), Stroke::new(1.0, gray));
    for (drawn, value) in picture.lines.iter().zip(values) {
        if let (Some(value), Some((axis, _))) = (value, &picture.axes[drawn.side]) {
            let at = pos2(x, y(plot, *axis, *value));
            let color = theme::series(dark, drawn.color);
            painter.circle(at, 3.5, color, Stroke::new(1.0, gray));
        }
    }
}

/// Numbers of the legend at the right ends of the lines, so that colour is not needed to tell them apart.
fn paint_tags(
    painter: &Painter,
    plot: Rect,
    picture: &PlotPicture,
    common: &Common<'_>,
    dark: bool,
) {
    const ROOM: f32 = 15.0;
    if picture.lines.len() < 2 || picture.lines.len() as f32 * ROOM > plot.height() {
        return;
    }
    let mut tags: Vec<(f32, usize, usize)> = picture
        .lines
        .iter()
        .filter_map(|drawn| {
            let (axis, _) = picture.axes[drawn.side].as_ref()?;
            let is_seen =
                |p: &&super::traces::LinePoint| !p.is_gap() && common.scale.part(p.x) <= 1.0 + 1e-6;
            let last = drawn.line.points.iter().rev().find(is_seen)?;
            let at = y(plot, *axis, 0.5 * (last.low + last.high));
            Some((at, drawn.number, drawn.color))
        })
        .collect();
    tags.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = plot.top() + 0.5 * ROOM;
    for tag in &mut tags {
        tag.0 = tag.0.max(least);
        least = tag.0 + ROOM;
    }
    let mut most = plot.bottom() - 0.5 * ROOM;
    for tag in tags.iter_mut().rev() {
        tag.0 = tag.0.min(most);
        most = tag.0 - ROOM;
    }
    for (at, number, color) in tags {
        badge(
            painter,
            pos2(plot.right() + 0.5 * TAGS, at),
            number,
            theme::series(dark, color),
            dark,
        );
    }
}

/// The number of a line in its colour.
pub fn badge(painter: &Painter, center: Pos2, number: usize, color: Color32, dark: bool) {
    let rect = Rect::from_center_size(center, vec2(15.0, 14.0));
    painter.rect_filled(rect, 3.0, color);
    let ink = if dark { Color32::BLACK } else { Color32::WHITE };
    painter.text(
        rect.center(),
        Align2::CENTER_CENTER,
        number.to_string(),
        FONT,
        ink,
    );
}
