//! A live plot of every channel over one common time axis.

use crate::data::Channel;
use crate::history::{History, Trace};
use crate::theme;
use crate::units::{Shown, fixed_width, shown};
use eframe::egui::{self, RichText, ScrollArea, Ui};
use egui_plot::{GridMark, Line, Plot, PlotBounds, PlotPoints};
use rt_core::channel::Frame;

/// Seconds of the past that can be chosen, and how far apart the marks of the time axis then are.
const WINDOWS_S: [(f64, f64); 4] = [(2.0, 0.2), (10.0, 1.0), (30.0, 5.0), (120.0, 20.0)];
const PLOT_HEIGHT: f32 = 150.0;
/// Room for the numbers of the vertical axis, whatever they are.
const GUTTER: f32 = 64.0;

/// What the plots show, kept between frames.
pub struct Plots {
    window_s: f64,
    mark_s: f64,
    /// The time at which they were paused.
    paused_at_s: Option<f64>,
}

impl Default for Plots {
    fn default() -> Self {
        let (window_s, mark_s) = WINDOWS_S[1];
        Self {
            window_s,
            mark_s,
            paused_at_s: None,
        }
    }
}

impl Plots {
    /// Whether they are held still.
    pub fn is_paused(&self) -> bool {
        self.paused_at_s.is_some()
    }

    /// Holds them still at a time, or lets them go on.
    pub fn toggle_pause(&mut self, now_s: Option<f64>) {
        self.paused_at_s = if self.is_paused() { None } else { now_s };
    }

    /// Draws one plot a channel.
    pub fn show(&mut self, ui: &mut Ui, channels: &[Channel], history: &History, latest: &Frame) {
        let Some(now_s) = self.paused_at_s.or(history.newest_s()) else {
            ui.centered_and_justified(|ui| ui.label("Waiting for the first sample of the loop."));
            return;
        };
        ui.horizontal(|ui| {
            for (window_s, mark_s) in WINDOWS_S {
                if ui
                    .selectable_label(self.window_s == window_s, format!("{window_s:.0} s"))
                    .clicked()
                {
                    (self.window_s, self.mark_s) = (window_s, mark_s);
                }
            }
            ui.label("of the past, the newest on the right");
            if self.is_paused() {
                ui.colored_label(
                    theme::warning(ui.visuals().dark_mode),
                    "Paused; data goes on being gathered",
                );
            }
        });
        let columns = if ui.available_width() > 1400.0 { 2 } else { 1 };
        ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                for (row, pair) in channels.chunks(columns).enumerate() {
                    ui.columns(columns, |cells| {
                        for (i, (cell, spec)) in cells.iter_mut().zip(pair).enumerate() {
                            let column = row * columns + i;
                            self.one(cell, spec, column, history, latest.values[column], now_s);
                        }
                    });
                }
            });
    }

    fn one(
        &self,
        ui: &mut Ui,
        spec: &Channel,
        column: usize,
        history: &History,
        latest: f64,
        now_s: f64,
    ) {
        let unit = shown(&spec.unit);
        let from_s = now_s - self.window_s;
        let mark_s = self.mark_s;
        let points = (ui.available_width() as usize * 3).clamp(200, 3200);
        let trace = history.trace(column, from_s, now_s, points);
        title(ui, spec, unit, latest, &trace);
        let axis = Axis::holding(trace.range.map(|(a, b)| (a * unit.factor, b * unit.factor)));
        let line: PlotPoints<'_> = trace
            .points
            .iter()
            .flat_map(|p| [[p.t_s, p.min * unit.factor], [p.t_s, p.max * unit.factor]])
            .collect();
        let color = theme::line(ui.visuals().dark_mode, spec.role);
        let width = ui.available_width();
        Plot::new(("channel", &spec.id))
            .width(width)
            .height(PLOT_HEIGHT)
            .y_axis_min_width(GUTTER)
            .allow_zoom(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .show_grid(true)
            .grid_color(theme::grid(ui.visuals().dark_mode))
            .grid_fade(0.0)
            .grid_spacing(egui::Rangef::new(6.0, 40.0))
            .x_grid_spacer(move |_| marks(from_s, now_s, mark_s))
            .y_grid_spacer(move |_| axis.marks())
            .y_axis_formatter(move |mark, _| axis.label(mark.value))
            .link_cursor(egui::Id::unique("time"), [true, false])
            .x_axis_formatter(move |mark, _| {
                // A label that would be cut off at the right edge is left out.
                let is_cut = mark.value > now_s - 0.03 * (now_s - from_s);
                if is_cut {
                    String::new()
                } else {
                    format!("{:.1} s", mark.value)
                }
            })
            .label_formatter(move |hover| {
                let at = match hover {
                    egui_plot::HoverPosition::NearDataPoint { position, .. }
                    | egui_plot::HoverPosition::Elsewhere { position } => position,
                };
                Some(format!(
                    "{:.4} s\n{} {}",
                    at.x,
                    fixed_width(at.y).trim(),
                    unit.unit
                ))
            })
            .show(ui, |plot| {
                // The outermost marks stay clear of the other axis.
                let margin = 0.06 * (axis.high - axis.low);
                let (low, high) = (axis.low - margin, axis.high + margin);
                plot.set_plot_bounds(PlotBounds::from_min_max([from_s, low], [now_s, high]));
                plot.line(Line::new(&spec.label, line).color(color).width(1.6));
            });
        ui.add_space(8.0);
    }
}

fn title(ui: &mut Ui, spec: &Channel, unit: Shown<'_>, latest: f64, trace: &Trace) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(&spec.label).strong())
            .on_hover_text(format!("{} ({})", spec.id, spec.role.name()));
        ui.label(
            RichText::new(format!(
                "{} {}",
                fixed_width(latest * unit.factor),
                unit.unit
            ))
            .monospace(),
        );
        if trace.samples_per_point > 1 {
            ui.label(
                RichText::new(format!("min/max of {} samples", trace.samples_per_point))
                    .small()
                    .weak(),
            )
            .on_hover_text(
                "Each point shows the smallest and largest of so many samples: no peak is lost.",
            );
        }
    });
}

/// A vertical axis whose ends and marks are multiples of 1, 2 or 5 · 10ⁿ, so that it stands still
/// while a value moves a little.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn holding(range: Option<(f64, f64)>) -> Self {
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let smallest = 1e-3_f64.max(1e-6 * low.abs().max(high.abs()));
        let span = (high - low).max(smallest);
        let power = 10_f64.powf((span / 4.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
        let step = steps
            .into_iter()
            .find(|s| s * 4.0 >= span)
            .unwrap_or(steps[3]);
        let (low, high) = (
            (low / step - 0.1).floor() * step,
            (high / step + 0.1).ceil() * step,
        );
        Self {
            low,
            high: high.max(low + step),
            step,
        }
    }

    fn marks(self) -> Vec<GridMark> {
        marks(self.low, self.high, self.step)
    }

    /// As many decimals as the step has.
    fn label(self, value: f64) -> String {
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        // Rounding may leave a zero with a sign.
        let value = if value.abs() < 0.5 * self.step {
            0.0
        } else {
            value
        };
        format!("{value:.decimals$}")
    }
}

/// Marks at all multiples of a step within a range.
fn marks(low: f64, high: f64, step: f64) -> Vec<GridMark> {
    // Rounding must not lose a mark at an end.
    let (first, last) = (
        (low / step - 1e-6).ceil() as i64,
        (high / step + 1e-6).floor() as i64,
    );
    (first..=last)
        .map(|i| GridMark {
            value: i as f64 * step,
            step_size: step,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn the_axis_holds_the_values_and_stands_still_under_small_changes() {
        for range in [
            (0.0, 0.0),
            (-5.2, 7.3),
            (149.9, 150.1),
            (1e5, 1e5),
            (-1e-9, 1e-9),
            (0.0, 1e6),
        ] {
            let axis = Axis::holding(Some(range));
            assert!(
                axis.low < axis.high && axis.low <= range.0 && axis.high >= range.1,
                "{range:?} in {axis:?}"
            );
            assert!((2..=8).contains(&axis.marks().len()), "{axis:?}");
        }
        assert_eq!(
            Axis::holding(Some((101.0, 139.0))),
            Axis::holding(Some((101.3, 138.2)))
        );
        assert_eq!(Axis::holding(None), Axis::holding(Some((0.0, 1.0))));
    }

    #[test]
    fn marks_are_labelled_as_finely_as_they_stand() {
        let axis = Axis::holding(Some((0.0, 0.9)));
        assert_eq!(
            axis.marks()
                .iter()
                .map(|m| axis.label(m.value))
                .collect::<Vec<_>>(),
            ["-0.5", "0.0", "0.5", "1.0"]
        );
    }
}
