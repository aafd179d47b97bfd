//! Markers and events over the plots: a shape and a line for each, its words where there is room.

use super::scale::Scale;
use crate::data::{Data, Weight};
use crate::theme;
use eframe::egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, Ui, pos2, vec2};
use rt_core::record::event::EventRecord;

/// Height of the lane above the plots, in points.
pub const LANE: f32 = 22.0;
/// Half the size of a shape, in points.
const HALF: f32 = 5.0;

/// An event within what is seen.
pub struct SeenEvent<'a> {
    /// Where on the screen.
    pub x: f32,
    /// How much it matters.
    pub weight: Weight,
    /// What happened.
    pub event: &'a EventRecord,
}

/// The events within the axis, of weights from the given one on; the oldest first.
pub fn seen<'a>(data: &'a Data, scale: &Scale, area: Rect, least: Weight) -> Vec<SeenEvent<'a>> {
    data.events
        .iter()
        .filter_map(|event| {
            let weight = Weight::of(event);
            let t_s = event.t_nanos as f64 * 1e-9;
            let part = scale.part(scale.at_time(data, t_s)?);
            ((0.0..=1.0).contains(&part) && weight >= least).then(|| SeenEvent {
                x: area.left() + part as f32 * area.width(),
                weight,
                event,
            })
        })
        .collect()
}

/// Colour of events of a weight; the shape says the same.
pub fn color(weight: Weight, dark: bool) -> Color32 {
    match weight {
        Weight::Note => Color32::from_gray(if dark { 130 } else { 120 }),
        Weight::Change => theme::series(dark, 0),
        Weight::Marker => theme::series(dark, 2),
        Weight::Warning => theme::warning(dark),
        Weight::Trip => {
            if dark {
                Color32::from_rgb(255, 110, 105)
            } else {
                theme::DANGER
            }
        }
    }
}

/// A shape for a weight: a line, a dot, a flag, a triangle, a square.
pub fn paint_shape(painter: &Painter, weight: Weight, at: Pos2, color: Color32) {
    let point = |x: f32, y: f32| at + HALF * vec2(x, y);
    let polygon = |corners: &[(f32, f32)]| {
        let corners = corners.iter().map(|(x, y)| point(*x, *y)).collect();
        painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
    };
    match weight {
        Weight::Note => {
            painter.line_segment([point(0.0, -1.0), point(0.0, 1.0)], (2.0, color));
        }
        Weight::Change => {
            painter.circle_filled(at, 0.8 * HALF, color);
        }
        Weight::Marker => polygon(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        Weight::Warning => polygon(&[(0.0, -1.0), (1.1, 0.9), (-1.1, 0.9)]),
        Weight::Trip => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
    }
}

/// The lane above the plots: shapes, and words of markers, warnings and trips where there is room.
pub fn paint_lane(ui: &Ui, lane: Rect, events: &[SeenEvent<'_>]) {
    let dark = ui.visuals().dark_mode;
    let painter = ui
        .painter()
        .with_clip_rect(lane.expand2(vec2(HALF + 2.0, 0.0)));
    let font = FontId::proportional(13.0);
    for (i, seen) in events.iter().enumerate() {
        let color = color(seen.weight, dark);
        paint_shape(&painter, seen.weight, pos2(seen.x, lane.center().y), color);
        if seen.weight < Weight::Marker {
            continue;
        }
        let next = events.get(i + 1).map_or(lane.right(), |e| e.x - HALF);
        let room = next - seen.x - HALF - 10.0;
        // Six letters at least, or the shape alone is better.
        let letters = (room / 6.5) as usize;
        if letters >= 6 {
            let words = shortened(&seen.event.text, letters);
            let at = pos2(seen.x + HALF + 4.0, lane.center().y);
            painter.text(at, Align2::LEFT_CENTER, words, font.clone(), color);
        }
    }
}

/// Words cut to a number of letters.
fn shortened(words: &str, letters: usize) -> String {
    if words.chars().count() <= letters {
        return words.to_owned();
    }
    let kept: String = words.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Lines of the events through a plot.
pub fn paint_lines(painter: &Painter, plot: Rect, events: &[SeenEvent<'_>], dark: bool) {
    for seen in events {
        let strength = match seen.weight {
            Weight::Note => 0.25,
            Weight::Change => 0.4,
            Weight::Marker | Weight::Warning => 0.7,
            Weight::Trip => 1.0,
        };
        let color = color(seen.weight, dark).gamma_multiply(strength);
        painter.vline(seen.x, plot.y_range(), Stroke::new(1.0, color));
    }
}

/// Words of the events near a place of the screen, the heaviest first; empty if there are none.
pub fn words_near(events: &[SeenEvent<'_>], x: f32) -> String {
    let mut near: Vec<_> = events
        .iter()
        .filter(|e| (e.x - x).abs() <= HALF + 2.0)
        .collect();
    near.sort_by_key(|e| std::cmp::Reverse(e.weight));
    let more = near.len().saturating_sub(6);
    let mut words: Vec<String> = near
        .iter()
        .take(6)
        .map(|e| {
            let t_s = e.event.t_nanos as f64 * 1e-9;
            format!("{t_s:.3} s  {}: {}", e.weight.name(), e.event.text)
        })
        .collect();
    if more > 0 {
        words.push(format!("and {more} more: look closer to see them apart"));
    }
    words.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn events_stand_at_their_time_and_light_ones_can_be_left_out() {
        let data = sample::run(10.0);
        let scale = Scale {
            from: 1.0,
            to: 5.0,
            from_s: 1.0,
            to_s: 5.0,
            passage: None,
        };
        let area = Rect::from_min_max(pos2(100.0, 0.0), pos2(500.0, 22.0));
        let all = seen(&data, &scale, area, Weight::Note);
        let places: Vec<f32> = all.iter().map(|e| e.x).collect();
        assert_eq!(places, [200.0, 300.0, 400.0]);
        assert_eq!(seen(&data, &scale, area, Weight::Marker).len(), 2);
        assert!(words_near(&all, 402.0).contains("trip: contact force is 512.0 N"));
        assert!(words_near(&all, 350.0).is_empty());
    }

    #[test]
    fn long_words_are_cut_and_say_so() {
        assert_eq!(shortened("marker 1", 8), "marker 1");
        assert_eq!(shortened("contact force is high", 9), "contact…");
    }
}
