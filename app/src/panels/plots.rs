//! Plots over one common axis: any channels in any plot, against time or place, live or looking back.

mod deeds;
mod stack;
mod zones;

use crate::analysis::stretch::Offered;
use crate::command::UiCommand;
use crate::data::{ChannelDrag, Data, Weight};
use crate::plot::cursors::Cursors;
use crate::plot::gestures::{Gesture, Grab};
use crate::plot::legend::LegendDeed;
use crate::plot::menus::PlotDeed;
use crate::plot::scale::{Horizontal, Scale};
use crate::plot::stack::{PlotState, defaults};
use crate::plot::table;
use crate::plot::toolbar::{self, ToolDeed};
use crate::view::{Ask, View};
use eframe::egui::{self, Key, Panel, Sense, Ui};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The panel; what is saved with a layout is what a person has chosen.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct PlotsPanel {
    /// Whether the plots that the bench begins with were put in.
    is_filled: bool,
    plots: Vec<PlotState>,
    horizontal: Horizontal,
    cursors: Cursors,
    /// The lightest events that are shown.
    least_event: Option<Weight>,
    #[serde(skip)]
    grab: Option<Grab>,
    /// The text of a marker while it is written.
    #[serde(skip)]
    marker: Option<String>,
    #[serde(skip)]
    search: String,
    /// Plot and line that are pointed at in a legend.
    #[serde(skip)]
    pointed: Option<(usize, usize)>,
}

impl Default for PlotsPanel {
    fn default() -> Self {
        Self {
            is_filled: false,
            plots: Vec::new(),
            horizontal: Horizontal::default(),
            cursors: Cursors::default(),
            least_event: Some(Weight::Change),
            grab: None,
            marker: None,
            search: String::new(),
            pointed: None,
        }
    }
}

/// What was asked of the plots while they were shown, done afterwards.
enum Deed {
    Gesture(Gesture),
    Plot(usize, PlotDeed),
    Legend(usize, LegendDeed),
    Add(usize, String),
    Separate(String),
    Taller(usize, f32),
}

impl PlotsPanel {
    /// Shows the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        if !self.is_filled && !view.data.channels.is_empty() {
            self.plots = defaults(&view.data.channels);
            self.is_filled = true;
        }
        if view.data.history.newest_s().is_none() {
            ui.centered_and_justified(|ui| ui.label("Waiting for the first sample of the loop."));
            return;
        }
        self.tools(ui, view, asks);
        let scale = match self.horizontal.scale(view) {
            Ok(scale) => scale,
            Err(words) => {
                ui.centered_and_justified(|ui| ui.label(words));
                return;
            }
        };
        if self.plots.is_empty() {
            self.empty(ui, view, asks);
            return;
        }
        if self.cursors.is_on {
            self.table(ui, view, &scale);
        }
        let deeds = self.stack(ui, view, &scale, asks);
        if !deeds.is_empty() {
            ui.ctx().request_repaint();
        }
        for deed in deeds {
            self.do_deed(view, &scale, deed, asks);
        }
    }

    /// The stretches that other panels may look at: what is visible, and what lies between the cursors.
    pub fn offered(&self, view: &View<'_>) -> Offered {
        let Ok(scale) = self.horizontal.scale(view) else {
            return Offered::default();
        };
        let between = || self.cursors.range_s(scale.to_s);
        Offered {
            visible_s: Some((scale.from_s, scale.to_s)),
            cursors_s: self.cursors.is_on.then(between),
        }
    }

    fn tools(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let has_cursors = self.cursors.is_on;
        let deeds = toolbar::show(
            ui,
            view,
            &mut self.horizontal,
            &mut self.least_event,
            has_cursors,
        );
        for deed in deeds {
            match deed {
                ToolDeed::Cursors if has_cursors => self.cursors.is_on = false,
                ToolDeed::Cursors => {
                    if let Ok(scale) = self.horizontal.scale(view) {
                        let rides = self.horizontal.is_live(view);
                        self.cursors.place(scale.from_s, scale.to_s, rides);
                    }
                }
                ToolDeed::Marker => self.marker = Some(String::new()),
                ToolDeed::AddPlot => self.plots.push(PlotState::default()),
                ToolDeed::Live => self.go_live(view, asks),
            }
        }
        self.ask_marker(ui, asks);
    }

    fn go_live(&mut self, view: &View<'_>, asks: &mut Vec<Ask>) {
        self.horizontal.release();
        if !view.is_following && !view.is_replay {
            asks.push(Ask::Command(UiCommand::Pause));
        }
    }

    /// The line in which the text of a marker is written.
    fn ask_marker(&mut self, ui: &mut Ui, asks: &mut Vec<Ask>) {
        let Some(text) = &mut self.marker else {
            return;
        };
        let mut is_done = false;
        ui.horizontal(|ui| {
            let name = ui.label("Marker");
            let field = egui::TextEdit::singleline(text).desired_width(220.0);
            let field = ui.add(field).labelled_by(name.id);
            let is_entered = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            if !field.has_focus() && !field.lost_focus() {
                field.request_focus();
            }
            let add = ui
                .button("Add")
                .on_hover_text("At the present moment (Enter).");
            if add.clicked() || is_entered {
                asks.push(Ask::Mark(text.trim().to_owned()));
                is_done = true;
            }
            let cancel = ui.button("Cancel").on_hover_text("No marker.");
            is_done |= cancel.clicked();
        });
        if is_done {
            self.marker = None;
        }
    }

    /// Without plots: what to do.
    fn empty(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let rect = ui.available_rect_before_wrap();
        let zone = ui.interact(rect, ui.scope_id().with("empty"), Sense::hover());
        ui.vertical_centered(|ui| {
            ui.add_space(0.3 * rect.height());
            ui.label("No plots. Drag a channel here, or add a plot above and choose channels with its +.");
            let fill = ui
                .button("Plots to begin with")
                .on_hover_text("Force, motor and tracking error, or one for each measured channel.");
            if fill.clicked() {
                self.plots = defaults(&view.data.channels);
            }
        });
        if let Some(drag) = zone.dnd_release_payload::<ChannelDrag>() {
            self.separate(view.data, &drag.0, asks);
        }
    }

    fn separate(&mut self, data: &Data, id: &str, asks: &mut Vec<Ask>) {
        let mut plot = PlotState::default();
        match plot.add(data, id) {
            Ok(()) => self.plots.push(plot),
            Err(words) => asks.push(Ask::Tell(words)),
        }
    }

    /// The channels of all plots, each once.
    fn channels(&self, data: &Data) -> Vec<usize> {
        let mut found = Vec::new();
        for entry in self.plots.iter().flat_map(|p| &p.entries) {
            if let Some(at) = data.find(&entry.channel)
                && !found.contains(&at)
            {
                found.push(at);
            }
        }
        found
    }

    fn table(&mut self, ui: &mut Ui, view: &View<'_>, scale: &Scale) {
        let channels = self.channels(view.data);
        let clock_s = ui.input(|i| i.time);
        let edge_s = scale.to_s;
        let (measured, due_s) = self.cursors.measure(view.data, &channels, edge_s, clock_s);
        repaint_in(ui, due_s);
        let height = 64.0 + 20.0 * (channels.len() + 1) as f32;
        let most = 0.5 * ui.available_height();
        Panel::bottom(ui.scope_id().with("cursors"))
            .resizable(true)
            .default_size(height.min(most))
            .size_range(90.0..=most.max(91.0))
            .show(ui, |ui| {
                ui.add_space(4.0);
                table::head(ui, view.data, &mut self.cursors, scale, edge_s);
                table::rows(ui, view.data, &measured);
            });
    }
}

/// Asks for a frame when something of this panel is due.
fn repaint_in(ui: &Ui, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        ui.ctx()
            .request_repaint_after(Duration::from_secs_f64(seconds));
    }
}

#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
