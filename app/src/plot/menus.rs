//! The menus of a plot: channels to add, export, cursors, what is drawn.

use super::cursors::Which;
use super::stack::PlotState;
use crate::data::Data;
use crate::units::shown;
use eframe::egui::{Button, ScrollArea, TextEdit, Ui};

/// What a person asks of one plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotDeed {
    /// Writes the channels within what is seen.
    ExportSeen,
    /// Writes the channels from the first to the last sample.
    ExportAll,
    /// A drawing of this plot.
    Svg,
    /// A drawing of all plots.
    SvgAll,
    /// A picture of all plots as they are on the screen.
    Png,
    /// Puts a cursor where the menu was opened.
    CursorHere(Which),
    /// Asks for the text of a marker.
    Marker,
    /// An empty plot below.
    AddPlot,
    /// Removes the plot.
    RemovePlot,
    /// The plots that the bench begins with.
    Defaults,
}

/// The menu of a plot. What is drawn is changed at once; everything else is asked for.
pub fn plot_menu(ui: &mut Ui, state: &mut PlotState, can_mark: bool) -> Option<PlotDeed> {
    let mut found = None;
    let mut entry = |ui: &mut Ui, words: &str, about: &str, deed: PlotDeed| {
        if ui.button(words).on_hover_text(about).clicked() {
            found = Some(deed);
        }
    };
    entry(
        ui,
        "Export what is seen…",
        "All samples of these channels within the picture, as a table.",
        PlotDeed::ExportSeen,
    );
    entry(
        ui,
        "Export all of these channels…",
        "All samples of these channels that are in memory, as a table.",
        PlotDeed::ExportAll,
    );
    entry(
        ui,
        "This plot as SVG…",
        "A drawing with axes and legend on a light ground, for reports.",
        PlotDeed::Svg,
    );
    entry(
        ui,
        "All plots as SVG…",
        "A drawing of the whole stack on a light ground, for reports.",
        PlotDeed::SvgAll,
    );
    entry(
        ui,
        "All plots as PNG…",
        "The plots as they are on the screen.",
        PlotDeed::Png,
    );
    ui.separator();
    for which in [Which::A, Which::B] {
        entry(
            ui,
            &format!("Cursor {} here", which.letter()),
            "Key A or B does the same where the pointer is.",
            PlotDeed::CursorHere(which),
        );
    }
    if can_mark {
        entry(
            ui,
            "Add marker…",
            "A marker with text at the present moment.",
            PlotDeed::Marker,
        );
    }
    ui.separator();
    if state.force().is_some() {
        ui.checkbox(&mut state.has_statistics, "F_m and F_m ± 3σ")
            .on_hover_text("Mean and three deviations of the force over what is seen.");
        let limits = ui
            .checkbox(&mut state.has_limits, "Limits of EN 50367")
            .on_hover_text("Of F_m ± 3σ at the speed over what is seen.");
        if limits.changed() {
            state.axes = [None; 2];
        }
    }
    ui.checkbox(&mut state.is_held, "Hold the vertical axis")
        .on_hover_text("The numbers on the left and right stay as they are.");
    ui.separator();
    let mut entry = |ui: &mut Ui, words: &str, about: &str, deed: PlotDeed| {
        if ui.button(words).on_hover_text(about).clicked() {
            found = Some(deed);
        }
    };
    entry(
        ui,
        "Add a plot below",
        "An empty plot; drag channels to it or use its +.",
        PlotDeed::AddPlot,
    );
    entry(
        ui,
        "Remove this plot",
        "Its channels go on being recorded.",
        PlotDeed::RemovePlot,
    );
    entry(
        ui,
        "Plots to begin with",
        "Replaces all plots by those that the bench begins with.",
        PlotDeed::Defaults,
    );
    found
}

/// The menu of channels that can be added to a plot; the one that was chosen.
pub fn channel_menu(
    ui: &mut Ui,
    data: &Data,
    state: &PlotState,
    search: &mut String,
) -> Option<String> {
    let mut chosen = None;
    ui.set_min_width(260.0);
    let field = ui.add(TextEdit::singleline(search).hint_text("Search channels"));
    if search.is_empty() && !ui.ctx().egui_wants_keyboard_input() {
        field.request_focus();
    }
    let wanted = search.to_lowercase();
    ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
        for channel in &data.channels {
            let is_found = channel.label.to_lowercase().contains(&wanted)
                || channel.id.to_lowercase().contains(&wanted);
            if !is_found {
                continue;
            }
            let unit = shown(&channel.unit).unit;
            let words = match unit {
                "" => channel.label.clone(),
                unit => format!("{} ({unit})", channel.label),
            };
            let refusal = state.accepts(data, &channel.id).err();
            let response = ui
                .add_enabled(refusal.is_none(), Button::new(words))
                .on_hover_text(&channel.id)
                .on_disabled_hover_text(refusal.unwrap_or_default());
            if response.clicked() {
                chosen = Some(channel.id.clone());
            }
        }
    });
    chosen
}
