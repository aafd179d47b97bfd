//! Magnitude, phase and coherence as charts, with their readouts.

use super::super::pickers;
use super::estimate::{Estimated, Settings};
use super::{Estimate, TransferPanel};
use crate::analysis::desk::Answer;
use crate::chart::axis::{Axis, Scale};
use crate::chart::{Chart, Height, Hover, Item, Pen, number};
use crate::data::Data;
use crate::theme;
use eframe::egui::Ui;
use nalgebra::Complex;

impl TransferPanel {
    fn values<'a>(&self, found: &'a Estimated) -> &'a [Complex<f64>] {
        match self.estimate {
            Estimate::H1 => &found.transfer.h1,
            Estimate::H2 => &found.transfer.h2,
        }
    }

    /// |H| as it is shown, of |H| in SI units.
    fn magnitude(&self, size: f64, factor: f64) -> f64 {
        if self.is_decibel {
            20.0 * (size * factor).log10()
        } else {
            size * factor
        }
    }

    /// Factor from SI and unit of a magnitude: a ratio of equal units has none.
    pub(super) fn unit(&self, data: &Data) -> (f64, String) {
        let (x_factor, x) = pickers::unit_of(data, &self.input);
        let (y_factor, y) = pickers::unit_of(data, &self.output);
        let ratio = match (x, y) {
            (x, y) if x == y => String::new(),
            ("", y) => y.to_owned(),
            (x, "") => format!("1/{x}"),
            (x, y) => format!("{y}/{x}"),
        };
        (y_factor / x_factor, ratio)
    }

    pub(super) fn charts(
        &self,
        data: &Data,
        found: &Estimated,
        model: &[(f64, Complex<f64>)],
        dark: bool,
    ) -> Vec<Chart> {
        let nyquist_hz = 0.5 / data.period_s;
        let high_hz = self.up_to_hz.map_or(nyquist_hz, |hz| hz.min(nyquist_hz));
        let x = match self.frequency_scale {
            Scale::Log => Axis::exactly_log(1.0 / self.segments.seconds, high_hz),
            Scale::Linear => Axis::exactly(0.0, high_hz),
        };
        let (factor, unit) = self.unit(data);
        let (values, transfer) = (self.values(found), &found.transfer);
        // The mean has been taken off: there is nothing at 0 Hz.
        let points = |of: &dyn Fn(usize) -> f64| -> Vec<[f64; 2]> {
            (1..values.len())
                .map(|k| [transfer.frequencies_hz[k], of(k)])
                .collect()
        };
        let magnitudes = points(&|k| self.magnitude(values[k].norm(), factor));
        let phases = points(&|k| values[k].arg().to_degrees());
        let coherences = points(&|k| transfer.coherence[k]);
        let curve = |of: &dyn Fn(Complex<f64>) -> f64| -> Vec<[f64; 2]> {
            model.iter().map(|(f, h)| [*f, of(*h)]).collect()
        };
        let model_magnitudes = curve(&|h| self.magnitude(h.norm(), factor));
        let model_phases = broken_at_turns(&curve(&|h| h.arg().to_degrees()));
        let visible = |p: &&[f64; 2]| p[0] <= x.high && p[0] >= x.low && p[1].is_finite();
        let mut range: Option<(f64, f64)> = None;
        let coherent = magnitudes
            .iter()
            .zip(&coherences)
            .filter(|(_, c)| c[1] >= self.least_coherence);
        for [_, y] in coherent
            .map(|(m, _)| m)
            .chain(&model_magnitudes)
            .filter(visible)
        {
            let (low, high) = range.unwrap_or((*y, *y));
            range = Some((low.min(*y), high.max(*y)));
        }
        let y_title = match (self.is_decibel, unit.as_str()) {
            (true, "") => "Magnitude (dB)".into(),
            (true, unit) => format!("Magnitude (dB re 1 {unit})"),
            (false, "") => "Magnitude (ratio)".into(),
            (false, unit) => format!("Magnitude ({unit})"),
        };
        let plot = |name: &str, y: Axis, y_title: String, items: Vec<Item>| Chart {
            name: name.into(),
            x,
            x_title: String::new(),
            y,
            y_title,
            items,
            legend: Vec::new(),
            height: Height::Share(1.0),
        };
        let mut magnitude = plot(
            "Magnitude",
            Axis::around(range),
            y_title,
            self.measured(magnitudes, &coherences, dark),
        );
        let mut phase = plot(
            "Phase",
            Axis::phases(),
            "Phase (°)".into(),
            self.measured(phases, &coherences, dark),
        );
        break_lines_at_turns(&mut phase.items);
        let threshold = Item::Level {
            y: self.least_coherence,
            pen: Pen::dashed(theme::warning(dark), 1.0),
            text: format!("hollow below {:.2}", self.least_coherence),
        };
        let mut items = self.measured(coherences.clone(), &coherences, dark);
        items.push(threshold);
        let mut coherence = plot(
            "Coherence",
            Axis::exactly(0.0, 1.08),
            "Coherence γ²".into(),
            items,
        );
        if !model.is_empty() {
            let pen = Pen::dashed(theme::series(dark, 1), 1.8);
            magnitude.items.push(Item::Line(model_magnitudes, pen));
            phase.items.push(Item::Line(model_phases, pen));
            magnitude.legend = vec![
                (Pen::of_series(dark, 0), "measured".into()),
                (pen, "model".into()),
            ];
        }
        coherence.x_title = "Frequency (Hz)".into();
        coherence.height = Height::Share(0.7);
        vec![magnitude, phase, coherence]
    }

    /// A line through neighbouring coherent points with dots on it; hollow pale circles for all others.
    fn measured(&self, points: Vec<[f64; 2]>, coherences: &[[f64; 2]], dark: bool) -> Vec<Item> {
        let pen = Pen {
            width: 1.2,
            ..Pen::of_series(dark, 0)
        };
        let is_good = |c: &[f64; 2]| c[1] >= self.least_coherence;
        let pick = |good: bool| -> Vec<[f64; 2]> {
            let chosen = points
                .iter()
                .zip(coherences)
                .filter(|(_, c)| is_good(c) == good);
            chosen.map(|(p, _)| *p).collect()
        };
        let (solid, hollow) = (pick(true), pick(false));
        let broken = points
            .iter()
            .zip(coherences)
            .map(|([f, y], c)| [*f, if is_good(c) { *y } else { f64::NAN }]);
        vec![
            Item::Dots {
                points: hollow,
                radius: 2.2,
                color: pen.color.gamma_multiply(0.45),
                is_hollow: true,
            },
            Item::Line(broken.collect(), pen),
            Item::Dots {
                points: solid,
                radius: 2.2,
                color: pen.color,
                is_hollow: false,
            },
        ]
    }

    pub(super) fn figures(
        &self,
        ui: &mut Ui,
        data: &Data,
        (answer, found): (&Answer<Settings, Estimated>, &Estimated),
        model: &[(f64, Complex<f64>)],
        hover: Option<Hover>,
    ) {
        let (factor, unit) = self.unit(data);
        let unit = if self.is_decibel { "dB" } else { unit.as_str() };
        let k = hover.map(|h| (h.x * answer.settings.segments.seconds).round().max(1.0) as usize);
        let at = k.and_then(|k| Some((k, *self.values(found).get(k)?)));
        let (first, second) = match at {
            Some((k, h)) => {
                let transfer = &found.transfer;
                let f = transfer.frequencies_hz[k];
                let point = |h: Complex<f64>| {
                    let size = number(self.magnitude(h.norm(), factor));
                    format!("{size} {unit} {:>6.1}°", h.arg().to_degrees())
                };
                let model =
                    model_at(model, f).map_or(String::new(), |h| format!("  model {}", point(h)));
                let share = 100.0 * transfer.relative_error[k];
                (
                    format!("{f:>7.2} Hz {}{model}", point(h)),
                    format!(
                        "γ² {:.3}, standard deviation {share:.1} %",
                        transfer.coherence[k]
                    ),
                )
            }
            None => (
                match found.delay_s {
                    Some(delay_s) => {
                        format!("Phase falls like a delay of {:>6.2} ms", 1e3 * delay_s)
                    }
                    None => "Too few coherent points for a delay: move the input more".into(),
                },
                how_sure(answer, found),
            ),
        };
        pickers::figures(ui, &first).on_hover_text(format!(
            "{first}\n\nPoint at a chart for the values there. The delay is the slope of the phase through the \
             coherent points, up to where the magnitude has fallen by 3 dB."
        ));
        pickers::figures(ui, &second).on_hover_text(
            "Coherence γ² is the share of the output that the input explains linearly: noise, other inputs and \
             non-linearity lower it. Of few segments it is too high by about one over their number.",
        );
    }

    pub(super) fn numbers(&self, data: &Data, found: &Estimated) -> String {
        let (factor, unit) = self.unit(data);
        let values = self.values(found);
        let transfer = &found.transfer;
        let unit = if unit.is_empty() {
            "ratio".to_owned()
        } else {
            unit
        };
        pickers::table(&[
            ("frequency (Hz)".into(), transfer.frequencies_hz.clone()),
            (
                format!("magnitude ({unit})"),
                values.iter().map(|h| h.norm() * factor).collect(),
            ),
            (
                "phase (°)".into(),
                values.iter().map(|h| h.arg().to_degrees()).collect(),
            ),
            ("coherence".into(), transfer.coherence.clone()),
            (
                "standard deviation (share)".into(),
                transfer.relative_error.clone(),
            ),
        ])
    }
}

fn break_lines_at_turns(items: &mut [Item]) {
    for item in items {
        if let Item::Line(points, _) = item {
            *points = broken_at_turns(points);
        }
    }
}

/// Breaks a line of phases where it leaps by more than half a turn: what passes ±180° goes on at the other end.
fn broken_at_turns(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut broken = Vec::with_capacity(points.len());
    for pair in points.windows(2) {
        broken.push(pair[0]);
        if (pair[1][1] - pair[0][1]).abs() > 180.0 {
            broken.push([pair[1][0], f64::NAN]);
        }
    }
    broken.extend(points.last());
    broken
}

fn how_sure(answer: &Answer<Settings, Estimated>, found: &Estimated) -> String {
    let skipped = match found.skipped {
        0 => String::new(),
        n => format!(", {n} left out for gaps"),
    };
    let cut = if answer.found.is_cut {
        ", older samples left out"
    } else {
        ""
    };
    let (from_s, to_s) = (answer.found.from_s, answer.found.to_s);
    format!(
        "{:>3} segments{skipped}, {from_s:.1} … {to_s:.1} s{cut}",
        found.segments
    )
}

/// The model at a frequency, straight between its points; `None` outside of them.
fn model_at(model: &[(f64, Complex<f64>)], hz: f64) -> Option<Complex<f64>> {
    let above = model.partition_point(|(f, _)| *f < hz);
    let (f1, h1) = *model.get(above)?;
    if f1 == hz {
        return Some(h1);
    }
    let (f0, h0) = *model.get(above.checked_sub(1)?)?;
    Some(h0 + (h1 - h0) * ((hz - f0) / (f1 - f0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_low_coherence_are_hollow_and_the_line_is_broken_there() {
        let panel = TransferPanel::default();
        let coherences = [[1.0, 0.9], [2.0, 0.5], [3.0, 0.95], [4.0, 0.99]];
        let points = vec![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]];
        let items = panel.measured(points, &coherences, true);
        let [
            Item::Dots {
                points: hollow,
                is_hollow: true,
                ..
            },
            Item::Line(line, _),
            Item::Dots {
                points: solid,
                is_hollow: false,
                ..
            },
        ] = items.as_slice()
        else {
            panic!("{items:?}");
        };
        assert_eq!(hollow.as_slice(), [[2.0, 20.0]]);
        assert_eq!(solid.as_slice(), [[1.0, 10.0], [3.0, 30.0], [4.0, 40.0]]);
        assert!(line[1][1].is_nan() && line[2] == [3.0, 30.0]);
    }

    #[test]
    fn phases_are_broken_at_a_turn_and_models_read_between_points() {
        let line = broken_at_turns(&[[1.0, -170.0], [2.0, 175.0], [3.0, 160.0]]);
        assert_eq!(line.len(), 4);
        assert!(line[1][1].is_nan() && line[2] == [2.0, 175.0]);
        let model = [(1.0, Complex::new(1.0, 0.0)), (2.0, Complex::new(0.0, 1.0))];
        assert_eq!(model_at(&model, 1.5), Some(Complex::new(0.5, 0.5)));
        assert_eq!(model_at(&model, 2.0), Some(Complex::new(0.0, 1.0)));
        assert_eq!(
            (
                model_at(&model, 0.5),
                model_at(&model, 2.5),
                model_at(&[], 1.0)
            ),
            (None, None, None)
        );
    }
}
