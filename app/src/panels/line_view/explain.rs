//! The line view in words: what is known of a place, and the picture in a sentence.

use super::motion::{Motion, Uplift};
use super::pass::Pass;
use super::picture::Picture;
use eframe::egui::{Grid, RichText, Ui};
use rt_core::model::catenary::LineScene;
use rt_core::signal::statistics::ForceStatistics;

/// A number of a table, always as wide.
fn number(value: Option<f64>) -> RichText {
    let text = value.map_or("–".to_owned(), |v| format!("{v:.1}"));
    RichText::new(format!("{text:>7}")).monospace()
}

/// The head of a column of numbers.
fn head(name: &str) -> RichText {
    RichText::new(format!("{name:>7}")).monospace()
}

/// What is known of a place in m and of its span.
pub fn place(ui: &mut Ui, place: f64, scene: &LineScene, motion: &Motion, pass: &Pass) {
    match scene.span_at(place) {
        Some(span) => {
            let (from, to) = (scene.supports_m[span], scene.supports_m[span + 1]);
            let title = format!("Span {}, {from:.0} to {to:.0} m", span + 1);
            ui.label(RichText::new(title).strong());
            let uplift = |index: usize| motion.uplift.get(index).copied().unwrap_or_default();
            forces(ui, span, pass);
            uplifts(ui, &[uplift(span), uplift(span + 1)]);
        }
        None => {
            ui.label("Outside of the line");
        }
    }
    let rise = motion.rise_at(place);
    let rise = rise.map_or(String::new(), |r| {
        format!(", wire {:.1} mm above rest", 1e3 * r)
    });
    ui.label(format!("At {place:.1} m{rise}"));
    if let Some(bin) = pass.bin_at(place) {
        ui.label(format!(
            "Passed at {:.2} s with {:.0} to {:.0} N (within half a metre).\nClick to go there.",
            bin.t_s, bin.raw.min, bin.raw.max
        ));
    }
}

fn forces(ui: &mut Ui, span: usize, pass: &Pass) {
    let forces = pass.span(span).copied().unwrap_or_default();
    let columns = [forces.filtered.statistics(), forces.raw.statistics()];
    type Get = fn(&ForceStatistics) -> f64;
    let rows: [(&str, Get); 4] = [
        ("mean", |s| s.mean),
        ("σ", |s| s.standard_deviation),
        ("largest", |s| s.max),
        ("smallest", |s| s.min),
    ];
    Grid::new("forces").show(ui, |ui| {
        ui.label("Force in N");
        for name in ["20 Hz", "raw"] {
            ui.label(head(name));
        }
        ui.end_row();
        for (name, get) in rows {
            ui.label(name);
            for statistics in &columns {
                ui.label(number(statistics.as_ref().map(get)));
            }
            ui.end_row();
        }
    });
}

fn uplifts(ui: &mut Ui, ends: &[Uplift; 2]) {
    Grid::new("uplifts").show(ui, |ui| {
        ui.label("Uplift in mm");
        for name in ["now", "max"] {
            ui.label(head(name));
        }
        ui.end_row();
        for (name, uplift) in ["first support", "second support"].into_iter().zip(ends) {
            ui.label(name);
            for value in [uplift.now_m, uplift.highest_m] {
                ui.label(number(value.map(|m| 1e3 * m)));
            }
            ui.end_row();
        }
    });
}

/// The picture in one sentence, for screen readers.
pub fn summary(picture: &Picture, motion: &Motion) -> String {
    let (from, to) = (picture.from_m, picture.to_m);
    let contact = match (motion.contact_m, motion.force) {
        (Some(x), Some(force)) => format!("contact at {x:.0} m with {force:.0} N"),
        (Some(x), None) => format!("contact at {x:.0} m"),
        _ => "no contact".into(),
    };
    let slack = motion
        .slack_count
        .map_or(String::new(), |n| format!(", {n} slack droppers"));
    let highest = motion
        .uplift
        .iter()
        .filter_map(|u| u.highest_m)
        .fold(0.0, f64::max);
    format!(
        "Line from {from:.0} to {to:.0} m, {contact}{slack}, highest uplift at a support {:.1} mm",
        1e3 * highest
    )
}
