//! Does what was asked of the plots: axis, cursors, channels, and what is to be written.

use super::{Deed, PlotsPanel};
use crate::data::LineMarks;
use crate::plot::cursors::{Cursors, Which};
use crate::plot::gestures::Gesture;
use crate::plot::legend::LegendDeed;
use crate::plot::menus::PlotDeed;
use crate::plot::picture::PlotPicture;
use crate::plot::scale::Scale;
use crate::plot::stack::{PlotState, defaults};
use crate::plot::svg::{self, Drawing};
use crate::view::{Ask, View};
use eframe::egui::Rect;

impl PlotsPanel {
    /// Does one thing.
    pub(super) fn do_deed(
        &mut self,
        view: &View<'_>,
        scale: &Scale,
        deed: Deed,
        asks: &mut Vec<Ask>,
    ) {
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
    pub(super) fn export(
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
