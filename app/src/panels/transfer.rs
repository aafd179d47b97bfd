//! The live transfer function from one channel to another: magnitude, phase and coherence above each other,
//! beside the curve of a model.

use super::pickers::{self, Export, Segments, Source};
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::stretch::{Grid, Offered, Stretch};
use crate::chart::axis::{Axis, Scale};
use crate::chart::{self, Chart, Height, Hover, Item, Pen, number};
use crate::data::Data;
use crate::theme;
use crate::view::{Ask, View};
use eframe::egui::{DragValue, Ui};
use nalgebra::Complex;
use rt_core::signal::spectrum::cross::{TransferFunction, cross_spectrum};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// How often a new estimate is computed while samples come, in s.
const PAUSE_S: f64 = 0.25;
/// Segments that a transfer function needs at least: of one alone the coherence is always 1.
const LEAST_SEGMENTS: f64 = 1.5;

/// Which estimate of the transfer function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Estimate {
    /// S_xy / S_xx: right if only the output is noisy.
    #[default]
    H1,
    /// S_yy / S_yx: right if only the input is noisy.
    H2,
}

/// What the panel shows; a layout keeps it.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct TransferPanel {
    /// Channel that goes in.
    pub input: String,
    /// Channel that comes out.
    pub output: String,
    /// Which stretch of time.
    pub stretch: Stretch,
    /// How it is cut into segments.
    pub segments: Segments,
    /// Which estimate.
    pub estimate: Estimate,
    /// Points with a coherence below are drawn hollow and pale and count for nothing.
    pub least_coherence: f64,
    /// The axis of frequencies.
    pub frequency_scale: Scale,
    /// Whether the magnitude is shown in dB; else as a ratio.
    pub is_decibel: bool,
    /// Highest frequency that is shown, in Hz; half the sample rate if `None`.
    pub up_to_hz: Option<f64>,
    /// Whether the second row of controls is open.
    pub shows_settings: bool,
    #[serde(skip)]
    offered: Offered,
    #[serde(skip)]
    desk: Desk<Settings, Estimated>,
}

impl Default for TransferPanel {
    fn default() -> Self {
        Self {
            input: "motor_reference".into(),
            output: "motor_position".into(),
            stretch: Stretch::default(),
            segments: Segments {
                seconds: 2.0,
                ..Segments::default()
            },
            estimate: Estimate::H1,
            least_coherence: 0.8,
            frequency_scale: Scale::Log,
            is_decibel: true,
            up_to_hz: Some(100.0),
            shows_settings: false,
            offered: Offered::default(),
            desk: Desk::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Settings {
    channels: [String; 2],
    segments: Segments,
    least_coherence: f64,
    up_to_hz: Option<f64>,
}

struct Estimated {
    transfer: TransferFunction,
    segments: u64,
    skipped: u64,
    /// Delay of the coherent points in s, if there are enough.
    delay_s: Option<f64>,
}

/// In a thread of its own.
fn compute(settings: &Settings, grid: &Grid) -> Result<Estimated, String> {
    let [input, output] = grid.channels.as_slice() else {
        return Err("Choose an input and an output above.".into());
    };
    let welch = settings.segments.settings(grid.rate_hz());
    let cross = cross_spectrum(input, output, &welch).map_err(|e| e.to_string())?;
    let transfer = cross.transfer_function().map_err(|e| e.to_string())?;
    let up_to_hz = settings.up_to_hz.unwrap_or(f64::INFINITY);
    Ok(Estimated {
        delay_s: delay_s(&transfer, settings.least_coherence, up_to_hz),
        transfer,
        segments: cross.segments,
        skipped: cross.skipped,
    })
}

/// τ of the straight line φ = φ₀ − 2π f τ through the coherent points up to a frequency, as long as |H| is not
/// below 1/√2 of the first of them (least squares, phases unwrapped from point to point); `None` of fewer than
/// three points. Above its bandwidth the phase of a system says little about its delay.
fn delay_s(transfer: &TransferFunction, least_coherence: f64, up_to_hz: f64) -> Option<f64> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut first_size = None;
    let all = transfer
        .frequencies_hz
        .iter()
        .zip(&transfer.h1)
        .zip(&transfer.coherence);
    for ((f, h), coherence) in all.skip(1) {
        let phase = h.arg();
        if *coherence < least_coherence || !phase.is_finite() || *f > up_to_hz {
            continue;
        }
        if h.norm() < *first_size.get_or_insert(h.norm()) / 2_f64.sqrt() {
            break;
        }
        let before = points.last().map_or(phase, |p| p.1);
        points.push((*f, phase - TAU * ((phase - before) / TAU).round()));
    }
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_f = points.iter().map(|p| p.0).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(f, phase)| (f - mean_f) * phase).sum();
    let variance: f64 = points.iter().map(|(f, _)| (f - mean_f).powi(2)).sum();
    Some(-covariance / variance / TAU)
}

impl TransferPanel {
    /// Takes over the stretches that the time plots offer.
    pub fn offer(&mut self, offered: Offered) {
        self.offered = offered;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        self.show_beside(ui, view, &[], asks);
    }

    /// Draws the panel beside the curve of a model: frequencies in Hz and the transfer function in SI units.
    pub fn show_beside(
        &mut self,
        ui: &mut Ui,
        view: &View<'_>,
        model: &[(f64, Complex<f64>)],
        asks: &mut Vec<Ask>,
    ) {
        let mut wish = self.controls(ui, view.data);
        if let Err(text) = self.update(ui, view) {
            asks.extend(wish.map(|_| pickers::nothing_to_export()));
            return pickers::empty(ui, &text);
        }
        let Some((answer, found)) = self.answer() else {
            let trouble = self.desk.trouble().map(str::to_owned);
            return pickers::empty(
                ui,
                &trouble.unwrap_or("Computing the first estimate …".into()),
            );
        };
        let charts = self.charts(view.data, found, model, ui.visuals().dark_mode);
        let shown = chart::show(ui, &charts, pickers::room_below(2));
        shown
            .response
            .context_menu(|ui| wish = wish.or(Export::menu(ui)));
        self.figures(ui, view.data, (answer, found), model, shown.hover);
        if let Some(export) = wish {
            let source = Source {
                name: "transfer-function",
                channels: &answer.settings.channels,
                found: answer.found,
                rect: shown.response.rect,
            };
            let charts = || self.charts(view.data, found, model, false);
            asks.extend(
                export.perform(ui.ctx(), source, charts, || self.numbers(view.data, found)),
            );
        }
    }

    fn answer(&self) -> Option<(&Answer<Settings, Estimated>, &Estimated)> {
        let answer = self.desk.answer()?;
        Some((answer, answer.result.as_ref().ok()?))
    }

    fn controls(&mut self, ui: &mut Ui, data: &Data) -> Option<Export> {
        let mut wish = None;
        pickers::controls(ui, |ui| {
            pickers::channel(
                ui,
                "From",
                &mut self.input,
                data,
                "The channel that goes in.",
            );
            pickers::channel(
                ui,
                "To",
                &mut self.output,
                data,
                "The channel that comes out.",
            );
            pickers::stretch(ui, &mut self.stretch);
            pickers::settings_button(
                ui,
                &mut self.shows_settings,
                "Segments, window, estimate and axes.",
            );
            wish = Export::button(ui);
        });
        if self.shows_settings {
            pickers::controls(ui, |ui| {
                self.segments.show(ui);
                let tip = "H1 is right if only the output is noisy, H2 if only the input is. They agree where the \
                           coherence is 1.";
                let estimates = [Estimate::H1, Estimate::H2];
                pickers::choice(
                    ui,
                    "Estimate",
                    &mut self.estimate,
                    &estimates,
                    |e| format!("{e:?}"),
                    tip,
                );
                let least = DragValue::new(&mut self.least_coherence)
                    .range(0.0..=1.0)
                    .speed(0.01)
                    .fixed_decimals(2)
                    .prefix("γ² ≥ ");
                ui.add(least)
                    .accessible_name("Least coherence")
                    .on_hover_text("Points with less coherence are drawn hollow and pale and count for nothing.");
                let scales = [Scale::Log, Scale::Linear];
                let name = |s: &Scale| {
                    if *s == Scale::Log {
                        "logarithmic"
                    } else {
                        "linear"
                    }
                    .to_owned()
                };
                pickers::choice(
                    ui,
                    "Frequency",
                    &mut self.frequency_scale,
                    &scales,
                    name,
                    "Axis of frequencies.",
                );
                let name = |db: &bool| if *db { "dB" } else { "ratio" }.to_owned();
                let tip = "Magnitude in decibels, 20 lg |H|, or as a ratio.";
                pickers::choice(
                    ui,
                    "Magnitude",
                    &mut self.is_decibel,
                    &[true, false],
                    name,
                    tip,
                );
                let ends = [Some(10.0), Some(20.0), Some(50.0), Some(100.0), None];
                let name = |end: &Option<f64>| end.map_or("all".into(), |hz| format!("{hz} Hz"));
                pickers::choice(
                    ui,
                    "Up to",
                    &mut self.up_to_hz,
                    &ends,
                    name,
                    "Highest frequency shown.",
                );
            });
        }
        wish
    }

    fn update(&mut self, ui: &Ui, view: &View<'_>) -> Result<(), String> {
        let needs_s = LEAST_SEGMENTS * self.segments.seconds;
        let range = (self.stretch, &self.offered);
        let (found, places) = pickers::ready(view, range, &[&self.input, &self.output], needs_s)?;
        let settings = Settings {
            channels: [self.input.clone(), self.output.clone()],
            segments: self.segments,
            least_coherence: self.least_coherence,
            up_to_hz: self.up_to_hz,
        };
        self.desk.update(
            ui.ctx(),
            view.data,
            (found, places, settings),
            PAUSE_S,
            compute,
        );
        match self.desk.answer().map(|a| &a.result) {
            Some(Err(text)) => Err(text.clone()),
            _ => Ok(()),
        }
    }

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
    fn unit(&self, data: &Data) -> (f64, String) {
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

    fn charts(
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

    fn figures(
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

    fn numbers(&self, data: &Data, found: &Estimated) -> String {
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
    use super::super::pickers::test_help::{Stage, look, stage};
    use super::*;
    use crate::analysis::desk::test_help::until;
    use crate::data::sample;
    use eframe::egui::{Role, Theme};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;
    use rt_core::signal::spectrum::Window;

    /// Uniform noise from −1 to 1.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        }
    }

    /// Reference and position for so many samples at 500 Hz.
    fn run(samples: usize, mut values: impl FnMut(usize) -> (f64, f64)) -> Data {
        let mut data = sample::run(0.0);
        for n in 0..samples {
            let (x, y) = values(n);
            data.history
                .push(n as f64 * 0.002, &[0.0, y, 0.0, 0.0, 0.0, x]);
        }
        data
    }

    /// A motor of second order (8 Hz, damping 0.6) that follows noise with a delay, with noise of the sensor.
    fn motor() -> Data {
        let (mut reference, mut sensor) = (noise(1), noise(2));
        let (mut slow, mut position, mut speed) = (0.0, 0.0, 0.0);
        let omega = TAU * 8.0;
        run(20_000, |_| {
            slow += 0.3 * (0.01 * reference() - slow);
            for _ in 0..20 {
                let acceleration = omega * omega * (slow - position) - 1.2 * omega * speed;
                speed += 1e-4 * acceleration;
                position += 1e-4 * speed;
            }
            (slow, position + 2e-5 * sensor())
        })
    }

    fn model() -> Vec<(f64, Complex<f64>)> {
        (1..400)
            .map(|i| {
                let f = 0.25 * f64::from(i);
                let (omega, s) = (TAU * 8.0, Complex::new(0.0, TAU * f));
                (
                    f,
                    Complex::from(omega * omega) / (s * s + s * 1.2 * omega + omega * omega),
                )
            })
            .collect()
    }

    fn shown(panel: TransferPanel, data: Data) -> Harness<'static, Stage<TransferPanel>> {
        let mut harness = stage(
            panel,
            data,
            [700.0, 600.0],
            Theme::Dark,
            TransferPanel::show,
        );
        until("an estimate", || {
            harness.step();
            harness.state().panel.desk.answers() > 0
        });
        harness.run_steps(2);
        harness
    }

    /// Noise that repeats in every segment, half as large and three samples later: |H| = ½, φ = −2π f · 6 ms,
    /// γ² = 1, all exact but for the floats of the history (1e−7).
    #[test]
    fn gain_and_delay_come_out_exactly() {
        let mut random = noise(7);
        let period: Vec<f64> = (0..1_000).map(|_| random()).collect();
        let data = run(15_000, |n| {
            (period[n % 1_000], 0.5 * period[(n + 997) % 1_000])
        });
        let panel = TransferPanel {
            segments: Segments {
                window: Window::Boxcar,
                seconds: 2.0,
            },
            ..TransferPanel::default()
        };
        let harness = shown(panel, data);
        let (_, found) = harness.state().panel.answer().unwrap();
        for k in 1..=499 {
            let (f, h) = (found.transfer.frequencies_hz[k], found.transfer.h1[k]);
            let expected = Complex::from_polar(0.5, -TAU * f * 0.006);
            assert!((h - expected).norm() < 1e-5, "{f} Hz: {h}");
            assert!((found.transfer.coherence[k] - 1.0).abs() < 1e-6);
            assert!((found.transfer.h2[k] - expected).norm() < 1e-5);
        }
        assert!(
            (found.delay_s.unwrap() - 0.006).abs() < 1e-7,
            "{:?}",
            found.delay_s
        );
        assert!(
            harness
                .query_by_label("Phase falls like a delay of   6.00 ms")
                .is_some()
        );
    }

    /// Two noises that have nothing to do with each other: the mean coherence of n averages is 1/n.
    #[test]
    fn noise_has_no_coherence_and_no_delay() {
        let (mut a, mut b) = (noise(3), noise(4));
        let harness = shown(TransferPanel::default(), run(15_000, |_| (a(), b())));
        let (_, found) = harness.state().panel.answer().unwrap();
        let coherence = &found.transfer.coherence[1..500];
        let mean = coherence.iter().sum::<f64>() / coherence.len() as f64;
        // 29 segments of half overlap are worth 27.5.
        assert!((0.6..1.6).contains(&(mean * 27.5)), "{mean}");
        assert_eq!(found.delay_s, None);
        assert!(
            harness
                .query_by_label_contains("Too few coherent points")
                .is_some()
        );
    }

    #[test]
    fn a_constant_input_is_explained() {
        let harness = shown(TransferPanel::default(), run(15_000, |n| (0.1, n as f64)));
        assert!(
            harness
                .query_by_label_contains("choose another stretch or channel")
                .is_some()
        );
    }

    #[test]
    fn a_person_chooses_channels_and_units_follow() {
        let mut harness = shown(TransferPanel::default(), motor());
        let data = || sample::run(0.0);
        assert_eq!(harness.state().panel.unit(&data()), (1.0, String::new()));
        harness
            .get_by_role_and_label(Role::ComboBox, "From")
            .click();
        harness.run_steps(2);
        harness.get_by_label("Contact force").click();
        harness.run_steps(2);
        assert_eq!(harness.state().panel.input, "force");
        // mm per N of m per N.
        assert_eq!(harness.state().panel.unit(&data()), (1e3, "mm/N".into()));
        harness.get_by_label("Settings").click();
        harness.run_steps(2);
        assert!(
            harness
                .query_by_role_and_label(Role::SpinButton, "Least coherence")
                .is_some()
        );
    }

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

    #[test]
    fn pictures_to_look_at() {
        let is_done = |p: &TransferPanel| p.desk.answers() > 0;
        look(
            "transfer",
            TransferPanel::default,
            motor,
            is_done,
            |panel, ui, view, asks| {
                panel.show_beside(ui, view, &model(), asks);
            },
        );
        let open = || TransferPanel {
            shows_settings: true,
            ..TransferPanel::default()
        };
        look("transfer-open", open, motor, is_done, TransferPanel::show);
    }
}
