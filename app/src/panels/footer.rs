//! The line at the bottom: free disk, the limit that is nearest, the last event, and messages.

use crate::data::Channel;
use crate::theme;
use crate::units::{bytes, shown};
use eframe::egui::{self, Grid, RichText, Ui};
use rt_core::channel::Frame;
use rt_core::guard::ActiveLimit;
use rt_core::record::event::EventRecord;
use std::path::Path;

/// What the line shows.
pub struct Footer<'a> {
    /// Bytes that are free where recordings go.
    pub free_bytes: Option<u64>,
    /// Where that is.
    pub recordings: &'a Path,
    /// The last recording that failed, in words.
    pub recorder_error: Option<&'a str>,
    /// Limits in force.
    pub limits: &'a [ActiveLimit],
    /// Channels, by column.
    pub channels: &'a [Channel],
    /// The newest frame.
    pub latest: &'a Frame,
    /// The last event.
    pub last_event: Option<&'a EventRecord>,
    /// A sentence for the technician.
    pub message: Option<&'a str>,
}

/// Below this there is a warning.
const LITTLE_SPACE: u64 = 5 << 30;
/// From this share of a limit on there is a warning.
const NEAR: f64 = 0.8;

/// How much of a limit is used up: 1 at its edge. Measured from zero where the range holds zero, else from its
/// middle.
fn share_used(limit: &ActiveLimit, value: f64) -> Option<f64> {
    if !value.is_finite() {
        return None;
    }
    let (low, high) = (limit.low, limit.high);
    let share = if low <= 0.0 && high >= 0.0 {
        let edge = if value < 0.0 { low } else { high };
        if edge == 0.0 {
            // Beyond an edge at zero there is nothing to measure with.
            f64::from(u8::from(value != 0.0))
        } else {
            value / edge
        }
    } else {
        let middle = low.midpoint(high);
        2.0 * (value - middle).abs() / (high - low)
    };
    share.is_finite().then_some(share)
}

/// The limit that is nearest to being broken.
fn nearest<'a>(limits: &'a [ActiveLimit], frame: &Frame) -> Option<(&'a ActiveLimit, f64)> {
    limits
        .iter()
        .filter_map(|l| Some((l, share_used(l, frame.values[l.column])?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Draws the line.
pub fn show(ui: &mut Ui, footer: &Footer<'_>) {
    ui.horizontal(|ui| {
        disk(ui, footer);
        ui.separator();
        limits(ui, footer);
        ui.separator();
        let dark = ui.visuals().dark_mode;
        let text = match (footer.message, footer.last_event) {
            (Some(message), _) => RichText::new(message).color(theme::warning(dark)),
            (None, Some(event)) => {
                let t_s = event.t_nanos as f64 * 1e-9;
                RichText::new(format!("{t_s:.3} s  {}", event.text))
            }
            (None, None) => RichText::new("Nothing has happened yet."),
        };
        ui.add(egui::Label::new(text.size(14.0)).truncate())
            .on_hover_text("The last event; all of them are in the panel Events.");
    });
}

fn disk(ui: &mut Ui, footer: &Footer<'_>) {
    let dark = ui.visuals().dark_mode;
    let (text, color) = match footer.free_bytes {
        Some(free) if free < LITTLE_SPACE => (
            format!("⚠ disk {:>8} free", bytes(free)),
            theme::warning(dark),
        ),
        Some(free) => (
            format!("disk {:>8} free", bytes(free)),
            theme::weak_text(dark),
        ),
        None => ("disk: unknown".into(), theme::weak_text(dark)),
    };
    let place = footer.recordings.display();
    ui.label(RichText::new(text).size(14.0).color(color))
        .on_hover_text(format!("Recordings go to {place}"));
    if let Some(error) = footer.recorder_error {
        ui.label(RichText::new("✖ recording failed").color(theme::danger_text(dark)))
            .on_hover_text(error);
    }
}

fn limits(ui: &mut Ui, footer: &Footer<'_>) {
    let dark = ui.visuals().dark_mode;
    let name = |column: usize| {
        footer
            .channels
            .get(column)
            .map_or("?", |c| c.label.as_str())
    };
    let (text, color) = match nearest(footer.limits, footer.latest) {
        Some((limit, share)) => {
            let near = share >= NEAR;
            let sign = if near { "⚠ " } else { "" };
            let text = format!(
                "{sign}{} limits, nearest {:>3.0} % {}",
                footer.limits.len(),
                100.0 * share,
                name(limit.column)
            );
            let color = if near {
                theme::warning(dark)
            } else {
                theme::weak_text(dark)
            };
            (text, color)
        }
        None => (
            format!("{} limits in force", footer.limits.len()),
            theme::weak_text(dark),
        ),
    };
    // As wide as the longest label, so that the last event does not move.
    let width = 330.0_f32.min(ui.available_width() * 0.5);
    let label = egui::Label::new(RichText::new(text).size(14.0).color(color)).truncate();
    let response = ui
        .allocate_ui(egui::vec2(width, 18.0), |ui| {
            ui.set_width(width);
            ui.add(label)
        })
        .inner;
    response.on_hover_ui(|ui| {
        ui.label(RichText::new("Limits in force").strong());
        Grid::new("limits")
            .num_columns(5)
            .spacing([14.0, 2.0])
            .show(ui, |ui| {
                for limit in footer.limits {
                    let unit = footer
                        .channels
                        .get(limit.column)
                        .map_or("", |c| c.unit.as_str());
                    let unit = shown(unit);
                    ui.label(name(limit.column));
                    let number = |v: f64| {
                        if v.is_finite() {
                            format!("{:.4}", v * unit.factor)
                                .trim_end_matches('0')
                                .trim_end_matches('.')
                                .to_owned()
                        } else {
                            "–".into()
                        }
                    };
                    ui.label(format!(
                        "{} … {} {}",
                        number(limit.low),
                        number(limit.high),
                        unit.unit
                    ));
                    ui.label(match limit.for_cycles {
                        1 => "at once".to_owned(),
                        n => format!("{n} cycles"),
                    });
                    ui.label(limit.action.effect());
                    let whose = match limit.widens {
                        Some(_) => "session, wider than the bench's".to_owned(),
                        None => limit.owner.name().to_owned(),
                    };
                    ui.label(whose);
                    ui.end_row();
                }
            });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::fault::Action;
    use rt_core::guard::Owner;

    fn limit(column: usize, low: f64, high: f64) -> ActiveLimit {
        ActiveLimit {
            column,
            low,
            high,
            for_cycles: 1,
            action: Action::Retreat,
            owner: Owner::Rig,
            widens: None,
        }
    }

    #[test]
    fn the_share_of_a_limit_is_one_at_its_edge() {
        assert_eq!(share_used(&limit(0, -5.0, 5.0), 5.0), Some(1.0));
        assert_eq!(share_used(&limit(0, 0.0, 500.0), 250.0), Some(0.5));
        assert_eq!(share_used(&limit(0, -10.0, 500.0), -5.0), Some(0.5));
        assert_eq!(share_used(&limit(0, 100.0, 200.0), 200.0), Some(1.0));
        assert_eq!(share_used(&limit(0, 100.0, 200.0), 150.0), Some(0.0));
        let inf = f64::INFINITY;
        assert_eq!(share_used(&limit(0, -inf, 10.0), 5.0), Some(0.5));
        assert_eq!(share_used(&limit(0, -10.0, inf), 5.0), Some(0.0));
        assert_eq!(share_used(&limit(0, -1.0, 1.0), f64::NAN), None);
    }

    #[test]
    fn the_nearest_limit_is_found() {
        let mut frame = Frame::empty();
        frame.values[..2].copy_from_slice(&[0.5, 0.9]);
        let limits = [
            limit(0, -1.0, 1.0),
            limit(1, -1.0, 1.0),
            limit(2, -1.0, 1.0),
        ];
        let (found, share) = nearest(&limits, &frame).unwrap();
        assert_eq!((found.column, share), (1, 0.9));
    }
}
