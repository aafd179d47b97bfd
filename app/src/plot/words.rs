//! Paints lines across a plot and the words in it, so that none covers another.

use super::canvas::{FONT, y};
use super::overlay::{AcrossLine, Meaning};
use super::picture::PlotPicture;
use eframe::egui::{Align2, Color32, Painter, Pos2, Rect, Shape, Stroke, Ui, pos2, vec2};

/// Paints the lines across.
pub fn paint_across(painter: &Painter, plot: Rect, picture: &PlotPicture, dark: bool) {
    for (line, at) in seen_across(plot, picture) {
        let path = [pos2(plot.left(), at), pos2(plot.right(), at)];
        let (dash, gap) = match line.meaning {
            Meaning::Limit => (10.0, 6.0),
            Meaning::Mean => (24.0, 3.0),
            Meaning::Deviation => (3.0, 4.0),
        };
        let stroke = Stroke::new(1.2, across_color(line, dark));
        painter.extend(Shape::dashed_line(&path, stroke, dash, gap));
    }
}

fn seen_across(plot: Rect, picture: &PlotPicture) -> impl Iterator<Item = (&AcrossLine, f32)> {
    let (side, lines) = &picture.across;
    let axis = picture.axes[*side].as_ref().map(|(axis, _)| *axis);
    lines.iter().filter_map(move |line| {
        let at = y(plot, axis?, line.value);
        plot.y_range().contains(at).then_some((line, at))
    })
}

fn across_color(line: &AcrossLine, dark: bool) -> Color32 {
    match line.meaning {
        Meaning::Limit => super::events::color(crate::data::Weight::Trip, dark),
        Meaning::Mean | Meaning::Deviation => Color32::from_gray(if dark { 215 } else { 50 }),
    }
}

/// Words on plates: what the picture leaves out, then what stands at the lines across: limits on the right,
/// the others on the left, above or below their line. Where another plate stands already there is none.
pub fn paint_words(
    ui: &Ui,
    painter: &Painter,
    plot: Rect,
    picture: &PlotPicture,
    note: Option<&str>,
    dark: bool,
) {
    let mut taken: Vec<Rect> = Vec::new();
    let mut plate = |anchor: Align2, at: Pos2, words: &str, color: Color32| {
        let galley = painter.layout_no_wrap(words.to_owned(), FONT, color);
        let rect = anchor.anchor_size(at, galley.size());
        let is_free = plot.contains_rect(rect) && !taken.iter().any(|t| t.intersects(rect));
        if is_free {
            let ground = if dark { 14 } else { 255 };
            let ground = Color32::from_rgba_unmultiplied(ground, ground, ground, 140);
            painter.rect_filled(rect.expand2(vec2(3.0, 0.0)), 2.0, ground);
            painter.galley(rect.min, galley, color);
            taken.push(rect.expand2(vec2(4.0, 0.0)));
        }
        is_free
    };
    if let Some(words) = note {
        let corner = plot.right_top() + vec2(-6.0, 3.0);
        plate(
            Align2::RIGHT_TOP,
            corner,
            words,
            ui.visuals().weak_text_color(),
        );
    }
    for (line, at) in seen_across(plot, picture) {
        let color = across_color(line, dark);
        let (x, above, below) = match line.meaning {
            Meaning::Limit => (plot.right() - 8.0, Align2::RIGHT_BOTTOM, Align2::RIGHT_TOP),
            Meaning::Mean | Meaning::Deviation => {
                (plot.left() + 8.0, Align2::LEFT_BOTTOM, Align2::LEFT_TOP)
            }
        };
        let roomy = plot.width() > 620.0;
        let words = if roomy { &line.label } else { &line.short };
        let _ = plate(above, pos2(x, at - 1.0), words, color)
            || plate(below, pos2(x, at + 1.0), words, color);
    }
}
