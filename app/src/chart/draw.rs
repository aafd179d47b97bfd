//! How a chart is drawn, on whatever canvas.

use super::axis::Scale;
use super::canvas::Canvas;
use super::{Chart, Dash, Item, LETTERS, Pen};
use crate::theme;
use eframe::egui::{Align2, Color32, Pos2, Rangef, Rect, pos2, vec2};

/// Colours of everything that is not data.
pub(super) struct Look {
    /// Behind the plot.
    pub plot: Color32,
    grid: Color32,
    between: Color32,
    frame: Color32,
    text: Color32,
    pointer: Color32,
}

impl Look {
    pub(super) fn of(dark: bool) -> Self {
        let grid = theme::grid(dark);
        Self {
            plot: if dark {
                Color32::from_rgb(14, 16, 19)
            } else {
                Color32::WHITE
            },
            grid,
            between: grid.gamma_multiply(0.5),
            frame: Color32::from_gray(if dark { 80 } else { 170 }),
            text: Color32::from_gray(if dark { 200 } else { 50 }),
            pointer: Color32::from_gray(if dark { 150 } else { 110 }),
        }
    }
}

/// Draws one chart with its plot in a rectangle and a line at the pointer.
pub(super) fn chart(
    canvas: &mut dyn Canvas,
    look: &Look,
    chart: &Chart,
    plot: Rect,
    pointer: Option<f64>,
) {
    canvas.fill(plot, look.plot);
    grid(canvas, look, chart, plot);
    canvas.clip(Some(plot));
    for item in &chart.items {
        draw_item(canvas, chart, plot, item);
    }
    if let Some(x) = pointer {
        let x = chart.at(plot, [x, chart.y.low]).x;
        canvas.line(upright(x, plot), Pen::solid(look.pointer, 1.0));
    }
    words(canvas, look, chart, plot);
    canvas.clip(None);
    canvas.outline(plot, look.frame);
    header(canvas, look, chart, plot);
}

fn upright(x: f32, plot: Rect) -> Vec<Pos2> {
    vec![pos2(x, plot.bottom()), pos2(x, plot.top())]
}

fn level(y: f32, plot: Rect) -> Vec<Pos2> {
    vec![pos2(plot.left(), y), pos2(plot.right(), y)]
}

fn grid(canvas: &mut dyn Canvas, look: &Look, chart: &Chart, plot: Rect) {
    let pen = |is_main: bool| Pen::solid(if is_main { look.grid } else { look.between }, 1.0);
    for mark in chart.x.marks(plot.width(), 62.0) {
        let x = chart.at(plot, [mark.value, chart.y.low]).x;
        canvas.line(upright(x, plot), pen(mark.label.is_some()));
        if let Some(label) = mark.label.filter(|_| !chart.x_title.is_empty()) {
            let at = pos2(x, plot.bottom() + 3.0);
            canvas.text(at, Align2::CENTER_TOP, LETTERS, look.text, &label);
        }
    }
    for mark in chart.y.marks(plot.height(), 30.0) {
        let y = chart.at(plot, [chart.x.low, mark.value]).y;
        canvas.line(level(y, plot), pen(mark.label.is_some()));
        if let Some(label) = mark.label.filter(|_| !chart.y_title.is_empty()) {
            // Numbers at the ends stay within the plot's height, clear of header and footer.
            let y = Rangef::new(plot.top() + 5.0, plot.bottom() - 5.0).clamp(y);
            let at = pos2(plot.left() - 6.0, y);
            canvas.text(at, Align2::RIGHT_CENTER, LETTERS, look.text, &label);
        }
    }
    if !chart.x_title.is_empty() {
        let at = pos2(plot.center().x, plot.bottom() + 20.0);
        canvas.text(at, Align2::CENTER_TOP, LETTERS, look.text, &chart.x_title);
    }
}

/// Title of the y axis, then the legend as far as there is room.
fn header(canvas: &mut dyn Canvas, look: &Look, chart: &Chart, plot: Rect) {
    let y = plot.top() - 11.0;
    let left = plot.left() - super::GUTTER + 6.0;
    let title = canvas.text(
        pos2(left, y),
        Align2::LEFT_CENTER,
        LETTERS,
        look.text,
        &chart.y_title,
    );
    let mut x = title.right().max(plot.left()) + 16.0;
    for (pen, name) in &chart.legend {
        if x + 60.0 > plot.right() {
            break;
        }
        canvas.line(vec![pos2(x, y), pos2(x + 24.0, y)], *pen);
        canvas.clip(Some(Rect::from_x_y_ranges(
            x..=plot.right(),
            y - 11.0..=y + 11.0,
        )));
        let text = canvas.text(
            pos2(x + 30.0, y),
            Align2::LEFT_CENTER,
            LETTERS,
            look.text,
            name,
        );
        canvas.clip(None);
        x = text.right() + 16.0;
    }
}

/// Plots lower than this have no room for notes.
const LEAST_FOR_NOTES: f32 = 110.0;

/// Words beside lines across and above points, clear of each other.
fn words(canvas: &mut dyn Canvas, look: &Look, chart: &Chart, plot: Rect) {
    let mut taken: Vec<Rect> = Vec::new();
    for item in &chart.items {
        match item {
            Item::Upright { x, pen, text } if !text.is_empty() => {
                let x = chart.at(plot, [*x, chart.y.low]).x;
                if !(plot.left()..=plot.right()).contains(&x) {
                    continue;
                }
                let size = canvas.measure(LETTERS, text);
                let is_left = x + size.x + 6.0 > plot.right();
                let (align, dx) = if is_left {
                    (Align2::RIGHT_TOP, -4.0)
                } else {
                    (Align2::LEFT_TOP, 4.0)
                };
                let mut place = align.anchor_size(pos2(x + dx, plot.top() + 3.0), size);
                while taken.iter().any(|t| t.expand(3.0).intersects(place)) {
                    place = place.translate(vec2(0.0, size.y + 1.0));
                }
                put(canvas, look, place, pen.color, text);
                taken.push(place);
            }
            Item::Level { y, pen, text } if !text.is_empty() => {
                let y = chart.at(plot, [chart.x.low, *y]).y;
                let size = canvas.measure(LETTERS, text);
                // Above the line where there is no room below.
                let is_above = y + size.y + 2.0 > plot.bottom();
                let (align, dy) = if is_above {
                    (Align2::LEFT_BOTTOM, -2.0)
                } else {
                    (Align2::LEFT_TOP, 2.0)
                };
                let place = align.anchor_size(pos2(plot.left() + 5.0, y + dy), size);
                put(canvas, look, place, pen.color, text);
                taken.push(place);
            }
            Item::Note { at, color, text } if plot.height() >= LEAST_FOR_NOTES => {
                let point = chart.at(plot, *at);
                let size = canvas.measure(LETTERS, text);
                let half = 0.5 * size.x + 2.0;
                if !plot.contains(point) || plot.width() < 2.0 * half {
                    continue;
                }
                let x = point.x.clamp(plot.left() + half, plot.right() - half);
                let place = Align2::CENTER_BOTTOM.anchor_size(pos2(x, point.y - 3.0), size);
                // What has no room is left out: it is read out below the chart.
                if plot.contains_rect(place)
                    && !taken.iter().any(|t| t.expand(3.0).intersects(place))
                {
                    put(canvas, look, place, *color, text);
                    taken.push(place);
                }
            }
            _ => {}
        }
    }
}

/// Words with the colour of the plot behind, so that they stay legible on lines.
fn put(canvas: &mut dyn Canvas, look: &Look, place: Rect, color: Color32, text: &str) {
    canvas.fill(place, look.plot.gamma_multiply(0.75));
    canvas.text(place.left_top(), Align2::LEFT_TOP, LETTERS, color, text);
}

fn draw_item(canvas: &mut dyn Canvas, chart: &Chart, plot: Rect, item: &Item) {
    match item {
        Item::Line(points, pen) => {
            for run in runs(points.iter().map(|p| chart.at(plot, *p))) {
                canvas.line(thinned(&run), *pen);
            }
        }
        Item::Path(points, pen) => {
            for run in runs(points.iter().map(|p| chart.at(plot, *p))) {
                canvas.line(run, *pen);
            }
        }
        Item::Dots {
            points,
            radius,
            color,
            is_hollow,
        } => {
            let mut last = Pos2::new(f32::NEG_INFINITY, 0.0);
            for at in points.iter().map(|p| chart.at(plot, *p)) {
                // A dot on top of another would not be seen.
                if at.is_finite()
                    && at.distance(last) >= *radius
                    && plot.expand(*radius).contains(at)
                {
                    canvas.dot(at, *radius, *color, *is_hollow);
                    last = at;
                }
            }
        }
        Item::Bars {
            edges,
            heights,
            fill,
        } => {
            // A logarithmic axis has no 0: bars stand on its lower end.
            let foot = match chart.y.scale {
                Scale::Linear => 0.0,
                Scale::Log => chart.y.low,
            };
            for (pair, height) in edges.windows(2).zip(heights) {
                let corners = [[pair[0], foot], [pair[1], *height]].map(|p| chart.at(plot, p));
                let bar = Rect::from_two_pos(corners[0], corners[1]);
                // A thin line of background between neighbours.
                let bar = bar.with_max_x((bar.right() - 1.0).max(bar.left() + 0.5));
                if bar.is_finite() && *height > 0.0 {
                    canvas.fill(bar, *fill);
                }
            }
        }
        Item::Band { from, to, fill } => {
            let [from, to] = [from, to].map(|x| chart.at(plot, [*x, chart.y.low]).x);
            canvas.fill(Rect::from_x_y_ranges(from..=to, plot.y_range()), *fill);
        }
        Item::Upright { x, pen, .. } => {
            let x = chart.at(plot, [*x, chart.y.low]).x;
            if x.is_finite() {
                canvas.line(upright(x, plot), *pen);
            }
        }
        Item::Level { y, pen, .. } => {
            let y = chart.at(plot, [chart.x.low, *y]).y;
            if y.is_finite() {
                canvas.line(level(y, plot), *pen);
            }
        }
        // Written last, so that no line covers it.
        Item::Note { .. } => {}
        Item::Picture {
            texture,
            pixels,
            x,
            y,
        } => {
            let corners = [[x.0, y.0], [x.1, y.1]].map(|p| chart.at(plot, p));
            canvas.picture(Rect::from_two_pos(corners[0], corners[1]), *texture, pixels);
        }
    }
}

/// The stretches of finite points.
fn runs(points: impl Iterator<Item = Pos2>) -> Vec<Vec<Pos2>> {
    let mut found: Vec<Vec<Pos2>> = vec![Vec::new()];
    for point in points {
        match found.last_mut() {
            Some(run) if point.is_finite() => run.push(point),
            Some(run) if !run.is_empty() => found.push(Vec::new()),
            _ => {}
        }
    }
    found.retain(|run| run.len() > 1);
    found
}

/// Points with ascending x: of those in one column of the screen the first, lowest, highest and last.
fn thinned(points: &[Pos2]) -> Vec<Pos2> {
    let column = |p: &Pos2| p.x.floor();
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        if group.len() <= 4 {
            kept.extend_from_slice(group);
            continue;
        }
        let by_y = |a: &(usize, &Pos2), b: &(usize, &Pos2)| a.1.y.total_cmp(&b.1.y);
        let extremes = [
            group.iter().enumerate().min_by(by_y),
            group.iter().enumerate().max_by(by_y),
        ];
        let mut indices = vec![0, group.len() - 1];
        indices.extend(extremes.into_iter().flatten().map(|(i, _)| i));
        indices.sort_unstable();
        indices.dedup();
        kept.extend(indices.into_iter().map(|i| group[i]));
    }
    kept
}

/// The strokes of a dash pattern in points; `None` if unbroken.
pub(super) fn strokes(dash: Dash) -> Option<&'static str> {
    match dash {
        Dash::Solid => None,
        Dash::Dashed => Some("7 4"),
        Dash::Dotted => Some("2 3"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_among_many_points_of_a_column_is_drawn() {
        let points: Vec<Pos2> = (0..10_000)
            .map(|i| {
                pos2(
                    i as f32 / 100.0,
                    if i == 4_321 { -80.0 } else { (i % 7) as f32 },
                )
            })
            .collect();
        let kept = thinned(&points);
        assert!(
            kept.len() <= 400 && kept.iter().any(|p| p.y == -80.0),
            "{}",
            kept.len()
        );
        assert!(kept.is_sorted_by(|a, b| a.x <= b.x));
        assert_eq!(thinned(&points[..4]), &points[..4]);
    }

    #[test]
    fn a_line_is_broken_where_there_is_no_value() {
        let y = [1.0, 2.0, f32::NAN, 3.0, f32::NAN, 4.0, 5.0, 6.0];
        let points = y.iter().enumerate().map(|(i, y)| pos2(i as f32, *y));
        let found: Vec<usize> = runs(points).iter().map(Vec::len).collect();
        // A single point makes no line.
        assert_eq!(found, [2, 3]);
    }
}
