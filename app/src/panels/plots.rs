//! Plots over one common axis: any channels in any plot, against time or place, live or looking back.

use crate::command::UiCommand;
use crate::data::{ChannelDrag, Data, LineMarks, Weight};
use crate::plot::canvas::{self, AXIS, Above, Common, GUTTER, TAGS};
use crate::plot::cursors::{Cursors, Which};
use crate::plot::events::{self, LANE, SeenEvent};
use crate::plot::gestures::{self, Gesture, Grab};
use crate::plot::legend::{self, LegendDeed};
use crate::plot::menus::{self, PlotDeed};
use crate::plot::picture::{PlotPicture, horizontal_marks, horizontal_title};
use crate::plot::scale::{Against, Horizontal, Scale};
use crate::plot::stack::{PlotState, defaults};
use crate::plot::svg::{self, Drawing};
use crate::plot::table;
use crate::plot::toolbar::{self, ToolDeed};
use crate::units::shown;
use crate::view::{Ask, View};
use eframe::egui::{
    self, Align, DragAndDrop, FontId, Key, Layout, Panel, Rect, Role, ScrollArea, Sense, Stroke,
    StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// No plot with its legend is lower than this, in points; the stack scrolls instead.
const LEAST_HEIGHT: f32 = 120.0;
/// The bar between two plots.
const HANDLE: f32 = 8.0;
/// The bar of the past below the axis.
const SCROLL: f32 = 14.0;
/// Room for the two buttons of a plot.
const BUTTONS: f32 = 70.0;

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

    fn stack(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        scale: &Scale,
        asks: &mut Vec<Ask>,
    ) -> Vec<Deed> {
        let data = view.data;
        let area = ui.available_rect_before_wrap();
        let has_right = self.plots.iter().any(|p| p.units(data).len() > 1);
        let right = TAGS + if has_right { GUTTER } else { 4.0 };
        let columns =
            area.left() + GUTTER..=(area.right() - right).max(area.left() + GUTTER + 40.0);
        let line = scale.passage.and(data.line.as_ref());
        let below = AXIS * if line.is_some() { 2.0 } else { 1.0 } + SCROLL;
        let across = Rect::from_x_y_ranges(columns, area.y_range());
        let lane = across.with_max_y(area.top() + LANE);
        let axis = across
            .with_min_y(area.bottom() - below)
            .with_max_y(area.bottom() - SCROLL);
        let bar = across.with_min_y(area.bottom() - SCROLL);
        let middle = area.with_min_y(lane.bottom()).with_max_y(axis.top());
        let marks = horizontal_marks(scale, across.width());
        let least = self.least_event;
        let events = least.map_or(Vec::new(), |least| events::seen(data, scale, across, least));
        let pointer = ui.input(|i| i.pointer.latest_pos());
        let is_over = ui.rect_contains_pointer(middle) && !DragAndDrop::has_any_payload(ui.ctx());
        let hover = pointer
            .filter(|p| is_over && across.x_range().contains(p.x))
            .map(|p| scale.at_part(f64::from((p.x - across.left()) / across.width())));
        let hover_s = hover.and_then(|x| scale.time_at(data, x));
        let edge_s = scale.to_s;
        let cursors = self.cursors.is_on.then(|| {
            [Which::A, Which::B].map(|w| (w, scale.at_time(data, self.cursors.time_s(w, edge_s))))
        });
        let common = Common {
            scale,
            marks: &marks,
            events: &events,
            cursors,
            hover,
            line,
        };
        lane_of_events(ui, lane, &events);
        let mut deeds = Vec::new();
        let mut plots = std::mem::take(&mut self.plots);
        ui.scope_builder(UiBuilder::new().max_rect(middle), |ui| {
            ScrollArea::vertical()
                .auto_shrink([false, false])
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    let heights = heights(&plots, middle.height());
                    for (i, (state, height)) in plots.iter_mut().zip(heights).enumerate() {
                        if i > 0 {
                            deeds.extend(handle(ui, i - 1, middle.width()));
                        }
                        let (rect, zone) =
                            ui.allocate_exact_size(vec2(middle.width(), height), Sense::hover());
                        if ui.is_rect_visible(rect) {
                            let place = Place {
                                number: i,
                                rect,
                                columns: across.x_range(),
                            };
                            self.plot(ui, view, state, &common, hover_s, place, &mut deeds);
                            drop_zone(ui, data, state, i, rect, &zone, &mut deeds);
                        }
                    }
                });
        });
        self.plots = plots;
        let said = hover.map(|x| match scale.passage {
            None => format!("{x:.4} s"),
            Some(_) => format!("{x:.2} m, {:.3} s", hover_s.unwrap_or(f64::NAN)),
        });
        canvas::paint_axis(
            ui,
            axis,
            horizontal_title(self.horizontal.against),
            &common,
            said.as_deref(),
        );
        let known = self.known(view, scale);
        deeds.extend(gestures::scroll_bar(ui, bar, scale, known).map(Deed::Gesture));
        new_plot_zone(ui, axis.union(bar), &mut deeds);
        for deed in &deeds {
            if let Deed::Plot(at, deed) = deed {
                self.export(view, scale, area, *at, *deed, asks);
            }
        }
        ui.advance_cursor_after_rect(area);
        deeds
    }

    /// Both ends of all that is known, in the axis' unit.
    fn known(&self, view: &View<'_>, scale: &Scale) -> (f64, f64) {
        let history = &view.data.history;
        match self.horizontal.against {
            Against::Time => (
                history.oldest_s().unwrap_or(scale.from),
                history.newest_s().unwrap_or(scale.to),
            ),
            Against::Place => {
                let whole = Horizontal {
                    against: Against::Place,
                    ..Horizontal::default()
                };
                whole
                    .scale(view)
                    .map_or((scale.from, scale.to), |s| (s.from, s.to))
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all that one plot needs of its frame"
    )]
    fn plot(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        state: &mut PlotState,
        common: &Common<'_>,
        hover_s: Option<f64>,
        place: Place,
        deeds: &mut Vec<Deed>,
    ) {
        let data = view.data;
        let (i, rect) = (place.number, place.rect);
        let at_s = hover_s.unwrap_or(common.scale.to_s);
        let value = |id: &str| {
            let (at, channel) = data.channel(id)?;
            let value = data.history.value_at(at, at_s)?;
            Some(value * shown(&channel.unit).factor)
        };
        let values: Vec<Option<f64>> = state.entries.iter().map(|e| value(&e.channel)).collect();
        let header = rect
            .with_max_x(rect.right() - BUTTONS)
            .shrink2(vec2(4.0, 0.0));
        let mut child = ui.new_child(
            UiBuilder::new()
                .id_salt(("legend", i))
                .max_rect(header)
                .layout(Layout::left_to_right(Align::Min).with_main_wrap(true)),
        );
        let mut pointed = None;
        for deed in legend::show(&mut child, i, state, data, &values) {
            match deed {
                LegendDeed::Point(line) => pointed = Some(line),
                other => deeds.push(Deed::Legend(i, other)),
            }
        }
        self.point(ui, i, pointed);
        let used = child.min_rect().height().max(26.0);
        self.buttons(ui, view, state, place, deeds);
        let top = (rect.top() + used + 2.0).min(rect.bottom() - 40.0);
        let plot = Rect::from_x_y_ranges(place.columns, top..=rect.bottom() - 2.0);
        let response = ui.interact(
            plot,
            ui.scope_id().with(("plot", i)),
            Sense::click_and_drag(),
        );
        response.widget_info(|| {
            let words = format!("Plot {}: {}", i + 1, state.title(data));
            WidgetInfo::labeled(Role::Canvas, true, words)
        });
        let clock_s = ui.input(|input| input.time);
        let (picture, due_s) = PlotPicture::of(view, state, common.scale, plot.width(), clock_s);
        repaint_in(ui, due_s);
        let shown_values: Vec<Option<f64>> = picture
            .lines
            .iter()
            .map(|l| hover_s.and(values.get(l.number - 1).copied().flatten()))
            .collect();
        let highlight = self.pointed.filter(|p| p.0 == i).map(|p| p.1);
        let mut note = canvas::decimation(&picture);
        if let Some(words) = &note {
            let ink = ui.visuals().weak_text_color();
            let words = ui
                .painter()
                .layout_no_wrap(words.clone(), FontId::proportional(13.0), ink);
            let left = header.right() - 6.0 - words.size().x;
            // Beside the legend if that is one short row, else over the plot.
            if used < 30.0 && child.min_rect().right() < left {
                let at = pos2(left, rect.top() + 0.5 * (used - words.size().y));
                ui.painter().galley(at, words, ink);
                note = None;
            }
        }
        let above = Above {
            values: shown_values,
            highlight,
            note,
        };
        canvas::paint(ui, plot, &picture, common, &above);
        if picture.lines.is_empty() {
            let words = "Drag a channel here, or choose one with + on the right.";
            let font = FontId::proportional(14.0);
            let ink = ui.visuals().weak_text_color();
            let words = ui
                .painter()
                .layout(words.to_owned(), font, ink, plot.width() - 20.0);
            let corner = plot.center() - 0.5 * words.size();
            ui.painter().galley(corner, words, ink);
        }
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter()
                .rect_stroke(plot, 0.0, stroke, StrokeKind::Inside);
        }
        let found = gestures::read(ui, &response, common.scale, common.cursors, &mut self.grab);
        deeds.extend(found.into_iter().map(Deed::Gesture));
        if let Some(pointer) = response.hover_pos() {
            let words = events::words_near(common.events, pointer.x);
            if !words.is_empty() && response.hovered() && self.grab.is_none() {
                tell_at_pointer(&response, words);
            }
        }
        let menu_id = ui.scope_id().with("menu at");
        if response.secondary_clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            let part = f64::from((at.x - plot.left()) / plot.width());
            ui.data_mut(|d| d.insert_temp(menu_id, common.scale.at_part(part)));
        }
        response.context_menu(|ui| {
            if let Some(deed) = menus::plot_menu(ui, state, !view.is_replay) {
                let at = ui.data(|d| d.get_temp(menu_id));
                deeds.push(match (deed, at) {
                    (PlotDeed::CursorHere(which), Some(x)) => {
                        Deed::Gesture(Gesture::Cursor(which, x))
                    }
                    (deed, _) => Deed::Plot(i, deed),
                });
            }
        });
    }

    /// Remembers which line is pointed at; the picture changes in the next frame.
    fn point(&mut self, ui: &Ui, plot: usize, line: Option<usize>) {
        let before = self.pointed;
        match line {
            Some(line) => self.pointed = Some((plot, line)),
            None if before.is_some_and(|p| p.0 == plot) => self.pointed = None,
            None => {}
        }
        if self.pointed != before {
            ui.ctx().request_repaint();
        }
    }

    /// The two buttons at the upper right of a plot.
    fn buttons(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        state: &mut PlotState,
        place: Place,
        deeds: &mut Vec<Deed>,
    ) {
        let (i, rect) = (place.number, place.rect);
        let corner = Rect::from_min_max(
            pos2(rect.right() - BUTTONS, rect.top()),
            pos2(rect.right(), rect.top() + 24.0),
        );
        let builder = UiBuilder::new()
            .id_salt(("buttons", i))
            .max_rect(corner)
            .layout(Layout::right_to_left(Align::Center));
        let mut ui = ui.new_child(builder);
        ui.spacing_mut().button_padding = vec2(8.0, 1.0);
        ui.spacing_mut().item_spacing.x = 4.0;
        let menu = ui.menu_button("…", |ui| {
            if let Some(deed) = menus::plot_menu(ui, state, !view.is_replay) {
                let here = |w| Deed::Gesture(Gesture::Cursor(w, f64::NAN));
                deeds.push(match deed {
                    PlotDeed::CursorHere(which) => here(which),
                    deed => Deed::Plot(i, deed),
                });
            }
        });
        let words = format!("Menu of plot {}", i + 1);
        menu.response
            .widget_info(|| WidgetInfo::labeled(Role::Button, true, words.as_str()));
        menu.response
            .on_hover_text("Export, cursors, what is drawn (also: right-click in the plot).");
        let search = &mut self.search;
        let add = ui.menu_button("+", |ui| {
            if let Some(id) = menus::channel_menu(ui, view.data, state, search) {
                deeds.push(Deed::Add(i, id));
            }
        });
        if add.inner.is_none() && add.response.clicked() {
            search.clear();
        }
        let words = format!("Add a channel to plot {}", i + 1);
        add.response
            .widget_info(|| WidgetInfo::labeled(Role::Button, true, words.as_str()));
        add.response.on_hover_text("Add a channel to this plot.");
    }

    fn do_deed(&mut self, view: &View<'_>, scale: &Scale, deed: Deed, asks: &mut Vec<Ask>) {
        let data = view.data;
        match deed {
            Deed::Gesture(gesture) => self.do_gesture(view, scale, gesture, asks),
            Deed::Add(at, id) => {
                if let Some(Err(words)) = self.plots.get_mut(at).map(|p| p.add(data, &id)) {
                    asks.push(Ask::Tell(words));
                }
            }
            Deed::Separate(id) => self.separate(data, &id, asks),
            Deed::Taller(above, by) => {
                if let Some([upper, lower]) = self.plots.get_mut(above..above + 2) {
                    let by = by.clamp(0.3 - upper.weight, lower.weight - 0.3);
                    upper.weight += by;
                    lower.weight -= by;
                }
            }
            Deed::Legend(at, deed) => {
                let Some(plot) = self.plots.get_mut(at) else {
                    return;
                };
                match deed {
                    LegendDeed::Remove(id) => plot.remove(&id),
                    LegendDeed::Bold(id, is_bold) => {
                        for entry in plot.entries.iter_mut().filter(|e| e.channel == id) {
                            entry.is_bold = is_bold;
                        }
                    }
                    LegendDeed::Separate(id) => {
                        plot.remove(&id);
                        self.plots.insert(at + 1, PlotState::of(&[&id]));
                    }
                    LegendDeed::Point(_) => {}
                }
            }
            Deed::Plot(at, deed) => match deed {
                PlotDeed::Marker => self.marker = Some(String::new()),
                PlotDeed::AddPlot => self.plots.insert(at + 1, PlotState::default()),
                PlotDeed::RemovePlot => {
                    self.plots.remove(at);
                }
                PlotDeed::Defaults => self.plots = defaults(&data.channels),
                // Cursors came as gestures; pictures and tables were asked for while they were seen.
                PlotDeed::CursorHere(_)
                | PlotDeed::ExportSeen
                | PlotDeed::ExportAll
                | PlotDeed::Svg
                | PlotDeed::SvgAll
                | PlotDeed::Png => {}
            },
        }
    }

    fn do_gesture(
        &mut self,
        view: &View<'_>,
        scale: &Scale,
        gesture: Gesture,
        asks: &mut Vec<Ask>,
    ) {
        let edge_s = scale.to_s;
        let cursor = |cursors: &mut Cursors, which, x: f64| {
            if !cursors.is_on {
                cursors.place(scale.from_s, scale.to_s, false);
            }
            if let Some(t_s) = scale.time_at(view.data, x).filter(|t| t.is_finite()) {
                cursors.set(which, t_s, edge_s);
            }
        };
        match gesture {
            Gesture::Pan(by) => self.horizontal.pan(view, scale, by),
            Gesture::Zoom { factor, around } => self.horizontal.zoom(view, scale, factor, around),
            Gesture::Hold(from, to) => self.horizontal.hold(view, from, to),
            Gesture::Release => self.go_live(view, asks),
            Gesture::Cursor(which, x) => cursor(&mut self.cursors, which, x),
            Gesture::Stretch(from, to) => {
                cursor(&mut self.cursors, Which::A, from);
                cursor(&mut self.cursors, Which::B, to);
            }
        }
    }

    /// Asks for tables and pictures.
    fn export(
        &mut self,
        view: &View<'_>,
        scale: &Scale,
        area: Rect,
        at: usize,
        deed: PlotDeed,
        asks: &mut Vec<Ask>,
    ) {
        let history = &view.data.history;
        let data_ask = |plot: &PlotState, from_s: f64, to_s: f64| Ask::ExportData {
            channels: plot
                .entries
                .iter()
                .map(|e| e.channel.clone())
                .filter(|id| view.data.find(id).is_some())
                .collect(),
            from_s,
            to_s,
        };
        let Some(plot) = self.plots.get(at) else {
            return;
        };
        match deed {
            PlotDeed::ExportSeen => {
                let from_s = scale.from_s.max(history.oldest_s().unwrap_or(scale.from_s));
                asks.push(data_ask(plot, from_s, scale.to_s));
            }
            PlotDeed::ExportAll => {
                if let Some((oldest, newest)) = history.oldest_s().zip(history.newest_s()) {
                    asks.push(data_ask(plot, oldest, newest));
                }
            }
            PlotDeed::Png => asks.push(Ask::ExportPng {
                name: "plots".to_owned(),
                rect: area,
            }),
            PlotDeed::Svg => {
                let (name, title) = (file_name(plot), plot.title(view.data));
                let svg = self.drawing(view, scale, at..at + 1, &title);
                asks.push(Ask::ExportSvg { name, svg });
            }
            PlotDeed::SvgAll => {
                let count = self.plots.len();
                let against = self.horizontal.against;
                let title = format!(
                    "Plots from {:.3} to {:.3} {}",
                    scale.from,
                    scale.to,
                    against.unit()
                );
                let svg = self.drawing(view, scale, 0..count, &title);
                let name = "plots".to_owned();
                asks.push(Ask::ExportSvg { name, svg });
            }
            _ => {}
        }
    }

    fn drawing(
        &mut self,
        view: &View<'_>,
        scale: &Scale,
        which: std::ops::Range<usize>,
        title: &str,
    ) -> String {
        let mut plots = self.plots[which].to_vec();
        let pictures: Vec<PlotPicture> = plots
            .iter_mut()
            .map(|p| PlotPicture::of(view, p, scale, svg::WIDTH as f32, 0.0).0)
            .collect();
        let line: Option<&LineMarks> = scale.passage.and(view.data.line.as_ref());
        svg::svg(&Drawing {
            title,
            plots: &pictures,
            scale,
            against: self.horizontal.against,
            line,
        })
    }
}

/// Where a plot stands.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    /// With its legend.
    rect: Rect,
    /// From the left to the right end of the horizontal axis.
    columns: egui::Rangef,
}

/// A name for a file of a plot.
fn file_name(plot: &PlotState) -> String {
    let ids: Vec<&str> = plot
        .entries
        .iter()
        .take(3)
        .map(|e| e.channel.as_str())
        .collect();
    match ids.is_empty() {
        true => "plot".to_owned(),
        false => ids.join("-").replace('.', "-"),
    }
}

/// Heights of the plots: all there is, by their weights, but none too low.
fn heights(plots: &[PlotState], available: f32) -> Vec<f32> {
    let bars = HANDLE * plots.len().saturating_sub(1) as f32;
    let sum: f32 = plots.iter().map(|p| p.weight).sum();
    let least = plots.iter().map(|p| p.weight).fold(f32::INFINITY, f32::min);
    let all = (available - bars - 2.0).max(LEAST_HEIGHT * sum / least.max(0.3));
    plots.iter().map(|p| all * p.weight / sum).collect()
}

/// The bar between two plots, to be dragged or moved with the arrow keys.
fn handle(ui: &mut Ui, above: usize, width: f32) -> Option<Deed> {
    let (rect, response) = ui.allocate_exact_size(vec2(width, HANDLE), Sense::click_and_drag());
    let words = format!("Height of plot {}", above + 1);
    response.widget_info(|| WidgetInfo::labeled(Role::Splitter, true, words.as_str()));
    let look = ui.visuals().widgets.style(&response);
    let grip = Rect::from_center_size(rect.center(), vec2(40.0, 2.0));
    ui.painter()
        .rect_filled(grip, 1.0, look.fg_stroke.color.gamma_multiply(0.35));
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeVertical);
    }
    let mut by = response.drag_delta().y / 150.0;
    if response.has_focus() {
        let filter = egui::EventFilter {
            vertical_arrows: true,
            ..Default::default()
        };
        ui.memory_mut(|m| m.set_focus_lock_filter(response.id, filter));
        for (key, step) in [(Key::ArrowUp, -0.1), (Key::ArrowDown, 0.1)] {
            if ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key)) {
                by += step;
            }
        }
    }
    response.on_hover_text("Drag to share the height out.");
    (by != 0.0).then_some(Deed::Taller(above, by))
}

/// Shows what a channel that is dragged over a plot would do, and takes it.
fn drop_zone(
    ui: &Ui,
    data: &Data,
    state: &PlotState,
    number: usize,
    rect: Rect,
    zone: &egui::Response,
    deeds: &mut Vec<Deed>,
) {
    if let Some(drag) = zone.dnd_hover_payload::<ChannelDrag>() {
        let (words, color) = match state.accepts(data, &drag.0) {
            Ok(()) => (
                format!("Add to plot {}", number + 1),
                ui.visuals().selection.stroke.color,
            ),
            Err(words) => (words, crate::theme::warning(ui.visuals().dark_mode)),
        };
        paint_zone(ui, rect, &words, color);
    }
    if let Some(drag) = zone.dnd_release_payload::<ChannelDrag>() {
        deeds.push(Deed::Add(number, drag.0.clone()));
    }
}

/// While a channel is dragged, the axis is a place for a plot of its own.
fn new_plot_zone(ui: &Ui, rect: Rect, deeds: &mut Vec<Deed>) {
    if !DragAndDrop::has_payload_of_type::<ChannelDrag>(ui.ctx()) {
        return;
    }
    let zone = ui.interact(rect, ui.scope_id().with("new plot"), Sense::hover());
    let color = ui.visuals().selection.stroke.color;
    paint_zone(ui, rect, "Drop here for a plot of its own", color);
    if let Some(drag) = zone.dnd_release_payload::<ChannelDrag>() {
        deeds.push(Deed::Separate(drag.0.clone()));
    }
}

fn paint_zone(ui: &Ui, rect: Rect, words: &str, color: egui::Color32) {
    let painter = ui.painter();
    painter.rect_filled(rect, 4.0, ui.visuals().panel_fill.gamma_multiply(0.7));
    painter.rect_stroke(rect, 4.0, Stroke::new(2.0, color), StrokeKind::Inside);
    let font = FontId::proportional(15.0);
    let galley = painter.layout(
        words.to_owned(),
        font,
        ui.visuals().strong_text_color(),
        rect.width() - 20.0,
    );
    painter.galley(rect.center() - 0.5 * galley.size(), galley, color);
}

/// The lane with events, and their words under the pointer.
fn lane_of_events(ui: &Ui, lane: Rect, events: &[SeenEvent<'_>]) {
    events::paint_lane(ui, lane, events);
    let response = ui.interact(lane, ui.scope_id().with("events"), Sense::hover());
    if let Some(pointer) = response.hover_pos() {
        let words = events::words_near(events, pointer.x);
        if !words.is_empty() {
            tell_at_pointer(&response, words);
        }
    }
}

fn tell_at_pointer(response: &egui::Response, words: String) {
    egui::Tooltip::for_enabled(response)
        .at_pointer()
        .show(|ui| ui.label(words));
}

/// Asks for a frame when something of this panel is due.
fn repaint_in(ui: &Ui, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        ui.ctx()
            .request_repaint_after(Duration::from_secs_f64(seconds));
    }
}

#[cfg(test)]
#[path = "plots_tests.rs"]
mod tests;
