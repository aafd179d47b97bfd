//! Shows the stack of plots: events above, legends, plots, the axis and the bar of the past below.

use super::zones::{drop_zone, handle, new_plot_zone};
use super::{Deed, PlotsPanel, repaint_in};
use crate::plot::canvas::{self, Above, Common, GUTTER, TAGS};
use crate::plot::cursors::Which;
use crate::plot::events::{self, LANE, SeenEvent};
use crate::plot::gestures::{self, Gesture};
use crate::plot::legend::{self, LegendDeed};
use crate::plot::menus::{self, PlotDeed};
use crate::plot::picture::{PlotPicture, horizontal_marks, horizontal_title};
use crate::plot::scale::{Against, Horizontal, Scale};
use crate::plot::stack::PlotState;
use crate::plot::strip::{self, AXIS};
use crate::units::shown;
use crate::view::{Ask, View};
use eframe::egui::{
    self, Align, DragAndDrop, FontId, Layout, Rect, Role, ScrollArea, Sense, StrokeKind, Ui,
    UiBuilder, WidgetInfo, pos2, vec2,
};

/// No plot with its legend is lower than this, in points; the stack scrolls instead.
const LEAST_HEIGHT: f32 = 120.0;
/// The bar between two plots.
pub const HANDLE: f32 = 8.0;
/// The bar of the past below the axis.
const SCROLL: f32 = 14.0;
/// Room for the two buttons of a plot.
const BUTTONS: f32 = 70.0;

/// Where a plot stands.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    /// With its legend.
    rect: Rect,
    /// From the left to the right end of the horizontal axis.
    columns: egui::Rangef,
}

impl PlotsPanel {
    /// Shows all plots; what was asked of them is to be done.
    pub(super) fn stack(
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
        strip::paint_axis(
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
}

/// Heights of the plots: all there is, by their weights, but none too low.
fn heights(plots: &[PlotState], available: f32) -> Vec<f32> {
    let bars = HANDLE * plots.len().saturating_sub(1) as f32;
    let sum: f32 = plots.iter().map(|p| p.weight).sum();
    let least = plots.iter().map(|p| p.weight).fold(f32::INFINITY, f32::min);
    let all = (available - bars - 2.0).max(LEAST_HEIGHT * sum / least.max(0.3));
    plots.iter().map(|p| all * p.weight / sum).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_share_the_height_and_none_vanishes() {
        let mut plots = vec![PlotState::default(), PlotState::default()];
        plots[0].weight = 3.0;
        let shared = heights(&plots, 810.0);
        assert!(
            (shared[0] / shared[1] - 3.0).abs() < 1e-3
                && (shared[0] + shared[1] - 800.0).abs() < 1e-3
        );
        let many = heights(&vec![PlotState::default(); 10], 300.0);
        assert!(many.iter().all(|h| *h >= LEAST_HEIGHT));
    }
}
