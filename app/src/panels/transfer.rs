//! The live transfer function from one channel to another: magnitude, phase and coherence above each other,
//! beside the curve of a model.

mod estimate;
mod picture;

use super::pickers::{self, Export, Segments, Source};
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::stretch::{Offered, Stretch};
use crate::chart;
use crate::chart::axis::Scale;
use crate::data::Data;
use crate::view::{Ask, View};
use eframe::egui::{DragValue, Ui};
use estimate::{Estimated, Settings, compute};
use nalgebra::Complex;
use serde::{Deserialize, Serialize};

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
    use std::f64::consts::TAU;

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
