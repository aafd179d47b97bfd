//! A live plot of every channel over one common time axis.

use crate::history::{History, Trace};
use crate::theme;
use crate::units::{Shown, fixed_width, shown};
use eframe::egui::{self, RichText, ScrollArea, Ui};
use egui_plot::{GridMark, Line, Plot, PlotBounds, PlotPoints};
use rt_core::channel::{ChannelSpec, Frame};

/// Seconds of the past that can be chosen.
const WINDOWS_S: [f64; 4] = [2.0, 10.0, 30.0, 120.0];
const PLOT_HEIGHT: f32 = 150.0;
/// Room for the numbers of the vertical axis, whatever they are.
const GUTTER: f32 = 64.0;

/// What the plots show, kept between frames.
pub struct Plots {
    window_s: f64,
    /// The time at which they were paused.
    paused_at_s: Option<f64>,
}

impl Default for Plots {
    fn default() -> Self {
        Self {
            window_s: 10.0,
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
    pub fn show(
        &mut self,
        ui: &mut Ui,
        channels: &[ChannelSpec],
        history: &History,
        latest: &Frame,
    ) {
        let Some(now_s) = self.paused_at_s.or(history.newest_s()) else {
            ui.centered_and_justified(|ui| ui.label("Waiting for the first sample of the loop."));
            return;
        };
        ui.horizontal(|ui| {
            for window in WINDOWS_S {
                ui.selectable_value(&mut self.window_s, window, format!("{window:.0} s"));
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
        spec: &ChannelSpec,
        column: usize,
        history: &History,
        latest: f64,
        now_s: f64,
    ) {
        let unit = shown(spec.unit);
        let from_s = now_s - self.window_s;
        let points = (ui.available_width() as usize * 2).clamp(200, 3200);
        let trace = history.trace(column, from_s, now_s, points);
        title(ui, spec, unit, latest, &trace);
        let axis = Axis::holding(trace.range.map(|(a, b)| (a * unit.factor, b * unit.factor)));
        let line: PlotPoints<'_> = trace
            .points
            .iter()
            .map(|&[t, v]| [t, v * unit.factor])
            .collect();
        let color = theme::line(ui.visuals().dark_mode, spec.role);
        // A label that passes the right edge needs room to leave.
        let width = ui.available_width() - 20.0;
        Plot::new(("channel", spec.id))
            .width(width)
            .height(PLOT_HEIGHT)
            .y_axis_min_width(GUTTER)
            .allow_zoom(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .show_grid(true)
            .grid_spacing(egui::Rangef::new(6.0, 40.0))
            .y_grid_spacer(move |_| axis.marks())
            .y_axis_formatter(move |mark, _| axis.label(mark.value))
            .link_cursor(egui::Id::unique("time"), [true, false])
            .x_axis_formatter(|mark, _| format!("{:.1} s", mark.value))
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
                plot.set_plot_bounds(PlotBounds::from_min_max(
                    [from_s, axis.low],
                    [now_s, axis.high],
                ));
                plot.line(Line::new(spec.label, line).color(color).width(1.6));
            });
        ui.add_space(8.0);
    }
}

fn title(ui: &mut Ui, spec: &ChannelSpec, unit: Shown, latest: f64, trace: &Trace) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(spec.label).strong())
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
        let count = ((self.high - self.low) / self.step).round() as usize;
        let value = |i: usize| self.low + i as f64 * self.step;
        (0..=count)
            .map(|i| GridMark {
                value: value(i),
                step_size: self.step,
            })
            .collect()
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
