//! The row above the plots: how much of the past, against what, cursors, markers, events, live or not.

use super::scale::{Against, Horizontal, PLACE_CHANNEL, SPANS_M, SPANS_S};
use crate::data::Weight;
use crate::theme;
use crate::view::View;
use eframe::egui::{Frame, Margin, RichText, Stroke, Ui};

/// Narrower than this, choices go into menus.
const NARROW: f32 = 760.0;

/// What a person asks for in the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDeed {
    /// Shows or puts away the cursors.
    Cursors,
    /// Asks for the text of a marker.
    Marker,
    /// An empty plot.
    AddPlot,
    /// Back to what comes in.
    Live,
}

/// Shows the row.
pub fn show(
    ui: &mut Ui,
    view: &View<'_>,
    horizontal: &mut Horizontal,
    least_event: &mut Option<Weight>,
    has_cursors: bool,
) -> Vec<ToolDeed> {
    let mut deeds = Vec::new();
    let is_narrow = ui.available_width() < NARROW;
    ui.horizontal_wrapped(|ui| {
        if is_narrow {
            let now = span_words(horizontal.against, span(horizontal));
            ui.menu_button(now, |ui| spans(ui, horizontal))
                .response
                .on_hover_text("How much of the past is shown");
        } else {
            spans(ui, horizontal);
            ui.separator();
        }
        against(ui, view, horizontal);
        ui.separator();
        let cursors = ui.selectable_label(has_cursors, "Cursors").on_hover_text(
            "Two lines A and B: values at both, difference, and statistics of what lies between.\n\
             Shift and drag in a plot puts them around a stretch.",
        );
        if cursors.clicked() {
            deeds.push(ToolDeed::Cursors);
        }
        events(ui, least_event);
        if !view.is_replay {
            let marker = ui.button("Marker…").on_hover_text(
                "Add a marker with text at the present moment (key M adds one without).",
            );
            if marker.clicked() {
                deeds.push(ToolDeed::Marker);
            }
        }
        let add = ui
            .button("Add plot")
            .on_hover_text("An empty plot below the others.");
        if add.clicked() {
            deeds.push(ToolDeed::AddPlot);
        }
        live(ui, view, horizontal, &mut deeds);
    });
    deeds
}

fn span(horizontal: &Horizontal) -> Option<f64> {
    match horizontal.against {
        Against::Time => horizontal.span_s,
        Against::Place => horizontal.span_m,
    }
}

fn span_words(against: Against, span: Option<f64>) -> String {
    match (against, span) {
        (Against::Time, None) => "All".to_owned(),
        (Against::Place, None) => "Section".to_owned(),
        (against, Some(span)) => {
            let digits = usize::from(span < 10.0 && span.fract() != 0.0) * 2;
            format!("{span:.digits$} {}", against.unit())
        }
    }
}

fn spans(ui: &mut Ui, horizontal: &mut Horizontal) {
    let against = horizontal.against;
    let choices: &[f64] = match against {
        Against::Time => &SPANS_S,
        Against::Place => &SPANS_M,
    };
    let choices = choices.iter().map(|s| Some(*s)).chain([None]);
    for choice in choices {
        let is_chosen = horizontal.held.is_none() && span(horizontal) == choice;
        let about = match (against, choice) {
            (Against::Time, Some(_)) => {
                "The newest on the right. Turn the wheel over a plot for other widths."
            }
            (Against::Time, None) => "All that is in memory.",
            (Against::Place, Some(_)) => "The stretch of line up to the train.",
            (Against::Place, None) => "The whole section.",
        };
        let response = ui.selectable_label(is_chosen, span_words(against, choice));
        if response.on_hover_text(about).clicked() {
            horizontal.release();
            match against {
                Against::Time => horizontal.span_s = choice,
                Against::Place => horizontal.span_m = choice,
            }
        }
    }
}

fn against(ui: &mut Ui, view: &View<'_>, horizontal: &mut Horizontal) {
    for choice in [Against::Time, Against::Place] {
        let can = choice == Against::Time || view.data.find(PLACE_CHANNEL).is_some();
        let about = match choice {
            Against::Time => "Draw against time.",
            Against::Place => {
                "Draw the newest run through the section against the place along the line, with supports and \
                 droppers."
            }
        };
        ui.add_enabled_ui(can, |ui| {
            let response = ui
                .selectable_label(horizontal.against == choice, choice.name())
                .on_hover_text(about)
                .on_disabled_hover_text("This bench has no line.");
            if response.clicked() && horizontal.against != choice {
                horizontal.release();
                horizontal.against = choice;
            }
        });
    }
}

fn events(ui: &mut Ui, least: &mut Option<Weight>) {
    ui.menu_button("Events", |ui| {
        ui.label("Show in the plots");
        for weight in Weight::ALL {
            let words = match weight {
                Weight::Note => "everything".to_owned(),
                Weight::Trip => "trips only".to_owned(),
                other => format!("{}s and heavier", other.name()),
            };
            ui.radio_value(least, Some(weight), words);
        }
        ui.radio_value(least, None, "none");
    })
    .response
    .on_hover_text("Which events are shown as lines through the plots.");
}

fn live(ui: &mut Ui, view: &View<'_>, horizontal: &Horizontal, deeds: &mut Vec<ToolDeed>) {
    let dark = ui.visuals().dark_mode;
    if horizontal.is_live(view) {
        let words = RichText::new("Live").color(theme::good(dark));
        ui.label(words)
            .on_hover_text("The picture follows the newest samples.");
        return;
    }
    let (words, back) = match (horizontal.held, view.is_replay) {
        (Some((from, to)), is_replay) => (
            format!(
                "Not live: {from:.2} to {to:.2} {}",
                horizontal.against.unit()
            ),
            Some(if is_replay {
                "Back to the play head"
            } else {
                "Back to live"
            }),
        ),
        (None, true) => (format!("Recording at {:.3} s", view.now_s), None),
        (None, false) => (
            format!("Not live: stands at {:.3} s", view.now_s),
            Some("Back to live"),
        ),
    };
    let color = theme::warning(dark);
    Frame::new()
        .stroke(Stroke::new(1.5, color))
        .corner_radius(5)
        .inner_margin(Margin::symmetric(8, 3))
        .show(ui, |ui| {
            ui.label(RichText::new(words).color(color)).on_hover_text(
                "The picture stands still; samples go on being gathered and nothing is lost.",
            );
        });
    if let Some(back) = back {
        let button = ui
            .button(back)
            .on_hover_text("Also: double-click in a plot, or key Home there.");
        if button.clicked() {
            deeds.push(ToolDeed::Live);
        }
    }
}
