//! What the model says of the values that are asked for, in a place that never changes its size.

use super::{Cells, cell};
use crate::theme;
use crate::tuner::Tuner;
use crate::tuning::Proposal;
use eframe::egui::{Align, Align2, Color32, CornerRadius, FontId, RichText, Sense, Ui, vec2};
use rt_core::bench::Prospect;
use rt_core::control::assessment::{ChannelMargins, Verdict};
use rt_core::guard::State;

const SMALL: f32 = 13.0;
/// Rows of the table of margins: as many as a loop has channels.
const ROWS: usize = 3;

/// Draws it.
pub(super) fn show(ui: &mut Ui, tuner: &Tuner) {
    strip(ui, tuner);
    let designed = tuner.proposal().map(|p| &p.designed);
    let dark = ui.visuals().dark_mode;
    let mut line = Cells::new(ui, 24.0);
    let place = line.next(16.0);
    let rest = ui.available_width() - 22.0;
    let (words, rho) = (line.next(0.5 * rest), line.next(0.5 * rest - 6.0));
    let hint = "ρ: largest growth per cycle of any disturbance in the model of the whole loop; below 1 it \
                dies away.";
    let mut say = |color: Color32, text: &str, number: String| {
        let strong = |text: &str| RichText::new(text).color(color).strong();
        cell(ui, words, strong(text), Align::Min);
        cell(ui, rho, strong(&number), Align::Max).on_hover_text(hint);
    };
    match designed {
        None => say(theme::weak_text(dark), "computing …", "ρ  –".into()),
        Some(Err(problem)) => {
            say(theme::danger_text(dark), "no gains", "ρ  –".into());
            theme::paint_state_shape(
                ui.painter(),
                State::Tripped,
                place.center(),
                6.0,
                theme::danger_text(dark),
            );
            ui.interact(words, ui.scope_id().with("no gains"), Sense::hover())
                .on_hover_text(problem);
        }
        Some(Ok((_, prospect))) => {
            // Shapes as in the bar: full circle good, triangle careful, square stop.
            let (color, shape, words) = match prospect.verdict() {
                Verdict::Stable => (theme::good(dark), State::Ready, "stable"),
                Verdict::TooLittleMargin { .. } => {
                    (theme::warning(dark), State::Armed, "too little margin")
                }
                Verdict::Unstable { .. } => (theme::danger_text(dark), State::Tripped, "unstable"),
            };
            say(color, words, format!("ρ  {:.5}", prospect.rho_loop));
            theme::paint_state_shape(ui.painter(), shape, place.center(), 6.0, color);
        }
    }
    margins(ui, tuner.proposal().and_then(Proposal::prospect));
    applied(ui, tuner.applied_prospect());
    ui.add_space(4.0);
}

/// Whether all is applied, across the panel.
fn strip(ui: &mut Ui, tuner: &Tuner) {
    let dark = ui.visuals().dark_mode;
    let changes = tuner.changes();
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::hover());
    let specs = tuner.asked().specs();
    let short = |index: usize| {
        let label = specs.get(index).map_or("?", |spec| spec.label);
        label.split(',').next().unwrap_or(label).to_owned()
    };
    let names: Vec<String> = changes.iter().map(|(index, _)| short(*index)).collect();
    let (color, text) = if names.is_empty() {
        (theme::weak_text(dark), "Everything is applied".to_owned())
    } else {
        (
            theme::warning(dark),
            format!("Not applied yet: {}", names.join(", ")),
        )
    };
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    painter.rect_filled(rect, CornerRadius::same(4), color.gamma_multiply(0.16));
    let center = rect.left_center() + vec2(14.0, 0.0);
    if names.is_empty() {
        painter.circle_filled(center, 4.5, color);
    } else {
        theme::paint_diamond(&painter, center, 5.5, color);
    }
    let at = rect.left_center() + vec2(28.0, 0.0);
    let font = FontId::proportional(14.0);
    painter.text(at, Align2::LEFT_CENTER, &text, font, color);
    response
        .widget_info(|| eframe::egui::WidgetInfo::labeled(eframe::egui::Role::Label, true, &text));
    response.on_hover_text(if names.is_empty() {
        "What the controls show is what the loop uses.".to_owned()
    } else {
        format!(
            "{text}. The prediction below is for these values; the loop still uses the old ones."
        )
    });
}

/// Widths of the table's columns as shares.
const SHARES: [f32; 4] = [0.40, 0.14, 0.25, 0.21];

fn margins(ui: &mut Ui, prospect: Option<&Prospect>) {
    let dark = ui.visuals().dark_mode;
    let row = |ui: &mut Ui, texts: [RichText; 4], hints: [&str; 4]| {
        let room = ui.available_width() - 18.0;
        let mut line = Cells::new(ui, 19.0);
        for (i, (text, hint)) in texts.into_iter().zip(hints).enumerate() {
            let align = if i == 0 { Align::Min } else { Align::Max };
            let response = cell(ui, line.next(SHARES[i] * room), text, align);
            if !hint.is_empty() {
                response.on_hover_text(hint);
            }
        }
    };
    let title = |text: &str| {
        RichText::new(text)
            .size(SMALL)
            .color(theme::weak_text(dark))
    };
    row(
        ui,
        ["margin at", "disk", "gain dB", "delay ms"].map(title),
        [
            "Where the loop is cut.",
            "How far gain and phase may change together; 0.02 is very little, 0.5 is much.",
            "How much gain may be lost and added.",
            "How much delay may be added.",
        ],
    );
    let or_none = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.1}"));
    let small = |text: String| RichText::new(text).size(SMALL);
    for i in 0..ROWS {
        let found: Option<&(&str, ChannelMargins)> = prospect.and_then(|p| p.margins.get(i));
        let texts = match found {
            Some((name, m)) => {
                let gain = format!("{}…{}", or_none(m.gain_down_db), or_none(m.gain_up_db));
                [
                    (*name).to_owned(),
                    format!("{:.3}", m.disk),
                    gain,
                    or_none(m.delay_ms),
                ]
            }
            None => {
                let why = match (i, prospect) {
                    (0, Some(p)) if p.rho_loop < 1.0 => "none here",
                    (0, Some(_)) => "none: unstable",
                    _ => "–",
                };
                [why, "–", "–", "–"].map(str::to_owned)
            }
        };
        row(ui, texts.map(small), [""; 4]);
    }
}

fn applied(ui: &mut Ui, prospect: Option<&Prospect>) {
    let dark = ui.visuals().dark_mode;
    let text = match prospect {
        Some(p) => match p.least_disk() {
            Some((_, disk)) => format!("applied: ρ {:.5}, least disk {disk:.3}", p.rho_loop),
            None if p.rho_loop < 1.0 => format!("applied: ρ {:.5}", p.rho_loop),
            None => format!("applied: ρ {:.5}, unstable", p.rho_loop),
        },
        None => "applied: not yet judged".to_owned(),
    };
    let needs = prospect.map_or_else(String::new, |p| {
        format!(
            "The session asks for a disk margin of {} or more. ",
            p.needed_disk
        )
    });
    let needs = format!("{needs}This line is of the values that the loop uses now.");
    let mut line = Cells::new(ui, 20.0);
    let width = ui.available_width();
    let text = RichText::new(text)
        .size(SMALL)
        .color(theme::weak_text(dark));
    cell(ui, line.next(width), text, Align::Min).on_hover_text(needs);
}
