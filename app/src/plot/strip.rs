//! Paints the horizontal axis below the stack.

use super::canvas::{Common, FONT, GUTTER};
use crate::data::LineMarks;
use eframe::egui::{Align2, Color32, Painter, Rect, Stroke, Ui, pos2, vec2};

/// Height of the horizontal axis, and of the spans below it.
pub const AXIS: f32 = 22.0;

/// Paints the horizontal axis below the stack; against place with the numbers of the spans in a second row.
pub fn paint_axis(ui: &Ui, strip: Rect, title: &str, common: &Common<'_>, hover: Option<&str>) {
    let dark = ui.visuals().dark_mode;
    let color = Color32::from_gray(if dark { 190 } else { 70 });
    let painter = ui.painter();
    let row = strip.top() + 0.5 * AXIS;
    let named = painter.layout_no_wrap(title.to_owned(), FONT, ui.visuals().weak_text_color());
    let title_left = strip.right() - named.size().x;
    for (mark, label) in common.marks {
        let x = common.x(strip, *mark);
        painter.vline(x, strip.top()..=strip.top() + 4.0, Stroke::new(1.0, color));
        let galley = painter.layout_no_wrap(label.clone(), FONT, color);
        let half = 0.5 * galley.size().x;
        // A number that would run into the title is left out.
        if x + half < title_left - 6.0 {
            let corner = pos2(
                (x - half).max(strip.left() - GUTTER),
                row - 0.5 * galley.size().y + 2.0,
            );
            painter.galley(corner, galley, color);
        }
    }
    let corner = pos2(title_left, row - 0.5 * named.size().y + 2.0);
    painter.galley(corner, named, color);
    if let Some(line) = common.line {
        paint_spans(painter, strip, common, line, color);
    }
    if let (Some(x), Some(words)) = (common.hover, hover) {
        let galley =
            painter.layout_no_wrap(words.to_owned(), FONT, ui.visuals().strong_text_color());
        let half = 0.5 * galley.size().x + 4.0;
        let x = common
            .x(strip, x)
            .clamp(strip.left() + half, strip.right() - half);
        let rect = Rect::from_center_size(pos2(x, row + 2.0), galley.size() + vec2(8.0, 2.0));
        painter.rect_filled(rect, 3.0, ui.visuals().widgets.inactive.bg_fill);
        painter.galley(rect.min + vec2(4.0, 1.0), galley, color);
    }
}

/// Numbers of the spans, each in the middle of its own; every second, fifth … where they are narrow.
fn paint_spans(
    painter: &Painter,
    strip: Rect,
    common: &Common<'_>,
    line: &LineMarks,
    color: Color32,
) {
    let spans: Vec<(f64, f64)> = line.supports_m.windows(2).map(|w| (w[0], w[1])).collect();
    let Some(widest) = spans.iter().map(|(a, b)| b - a).reduce(f64::max) else {
        return;
    };
    let width = (widest / (common.scale.to - common.scale.from)) as f32 * strip.width();
    let every = [1, 2, 5, 10, 20, 50]
        .into_iter()
        .find(|n| *n as f32 * width > 34.0)
        .unwrap_or(100);
    let row = strip.top() + 1.5 * AXIS;
    for (i, (from, to)) in spans.iter().enumerate() {
        let number = i + 1;
        if let Some(x) = common.seen(strip, 0.5 * (from + to))
            && (number.is_multiple_of(every) || every == 1)
        {
            painter.text(
                pos2(x, row),
                Align2::CENTER_CENTER,
                number.to_string(),
                FONT,
                color,
            );
        }
    }
    let left = pos2(strip.left() - 8.0, row);
    painter.text(left, Align2::RIGHT_CENTER, "span", FONT, color);
}
