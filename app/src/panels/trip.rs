//! The banner of a latched trip: what, measured, limit, when, what to do, and the second before it.

use crate::data::Data;
use crate::theme;
use crate::units::{fixed_width, shown};
use eframe::egui::{self, Color32, RichText, Sense, Stroke, Ui};
use rt_core::channel::Layout;
use rt_core::fault::Fault;
use rt_core::link::{Event, EventKind};

/// How much of the past is shown, in s.
const BEFORE_S: f64 = 1.0;
/// And of what followed.
const AFTER_S: f64 = 0.1;
/// Size of the picture.
const PICTURE: egui::Vec2 = egui::vec2(330.0, 96.0);

/// Draws the banner.
pub fn show(ui: &mut Ui, trip: &Event, layout: &Layout, data: &Data) {
    let EventKind::Tripped { fault, action } = trip.kind else {
        return;
    };
    let words = fault.describe(layout);
    let t_s = trip.t_nanos as f64 * 1e-9;
    egui::Frame::new()
        .fill(theme::DANGER)
        .inner_margin(egui::Margin::symmetric(14, 10))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal(|ui| {
                let text_width = (ui.available_width() - PICTURE.x - 20.0).max(260.0);
                ui.allocate_ui(egui::vec2(text_width, PICTURE.y), |ui| {
                    ui.set_width(text_width);
                    ui.vertical(|ui| {
                        let line = |ui: &mut Ui, text: String, size: f32| {
                            ui.label(RichText::new(text).size(size).color(Color32::WHITE));
                        };
                        line(ui, format!("■ Tripped at {t_s:.3} s: {}", words.what), 18.0);
                        line(ui, format!("{}.", capitalised(action.effect())), 15.0);
                        line(ui, format!("What to do: {}", words.advice), 15.0);
                        line(ui, "Then press Acknowledge (F8).".into(), 15.0);
                    });
                });
                second_before(ui, &fault, t_s, data);
            });
        });
}

/// What is drawn for a fault: its own channel, or the contact force.
fn column_of(fault: &Fault, data: &Data) -> Option<usize> {
    fault.column().or_else(|| data.find("force"))
}

fn second_before(ui: &mut Ui, fault: &Fault, t_s: f64, data: &Data) {
    let Some(column) = column_of(fault, data) else {
        return;
    };
    let Some(channel) = data.channels.get(column) else {
        return;
    };
    let unit = shown(&channel.unit);
    let (rect, response) = ui.allocate_exact_size(PICTURE, Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 4.0, Color32::from_rgb(30, 8, 10));
    let plot = rect.with_min_y(rect.top() + 18.0).shrink(4.0);
    let (from_s, to_s) = (t_s - BEFORE_S, t_s + AFTER_S);
    let trace = data.history.trace(column, from_s, to_s, PICTURE.x as usize);
    let limits = match fault {
        Fault::Limit { low, high, .. } => [Some(*low), Some(*high)],
        Fault::Tracking { limit, .. } => [Some(*limit), None],
        _ => [None, None],
    };
    let Some((mut low, mut high)) = trace.range else {
        return;
    };
    for limit in limits.into_iter().flatten().filter(|l| l.is_finite()) {
        // A limit far away would flatten the curve.
        if limit > low - (high - low) && limit < high + (high - low) {
            (low, high) = (low.min(limit), high.max(limit));
        }
    }
    let room = ((high - low) * 0.08).max(1e-9);
    let (low, high) = (low - room, high + room);
    let x = |t: f64| plot.left() + plot.width() * ((t - from_s) / (to_s - from_s)) as f32;
    let y = |v: f64| plot.bottom() - plot.height() * ((v - low) / (high - low)) as f32;
    for limit in limits
        .into_iter()
        .flatten()
        .filter(|l| (low..high).contains(l))
    {
        let stroke = Stroke::new(1.0, Color32::from_rgb(255, 190, 90));
        let ends = [
            egui::pos2(plot.left(), y(limit)),
            egui::pos2(plot.right(), y(limit)),
        ];
        painter.extend(egui::Shape::dashed_line(&ends, stroke, 5.0, 4.0));
    }
    let stroke = Stroke::new(1.5, Color32::WHITE);
    for pair in trace.points.windows(2) {
        let [a, b] = pair else { continue };
        let ends = [
            egui::pos2(x(a.t_s), y(a.max)),
            egui::pos2(x(b.t_s), y(b.max)),
        ];
        if ends.iter().all(|p| p.y.is_finite()) {
            painter.line_segment(ends, stroke);
        }
        if a.min < a.max {
            painter.vline(x(a.t_s), y(a.max)..=y(a.min), stroke);
        }
    }
    painter.vline(
        x(t_s),
        plot.y_range(),
        Stroke::new(1.5, theme::warning(true)),
    );
    let title = format!(
        "{}, the second before: {} … {} {}",
        channel.label,
        fixed_width((low + room) * unit.factor).trim(),
        fixed_width((high - room) * unit.factor).trim(),
        unit.unit
    );
    let font = egui::FontId::proportional(13.0);
    let at = rect.left_top() + egui::vec2(6.0, 2.0);
    painter.text(at, egui::Align2::LEFT_TOP, &title, font, Color32::WHITE);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, &title));
    response.on_hover_text("The dashed lines are the limit; the upright line is the trip.");
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
