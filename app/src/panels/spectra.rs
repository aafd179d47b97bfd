//! Power spectral densities of chosen channels, with their peaks and the marks of spans and droppers.

mod picture;

use super::pickers::{self, Export, Segments, Source};
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::peaks::{Peak, peaks};
use crate::analysis::stretch::{Grid, Offered, Stretch};
use crate::analysis::travel::{PLACE_CHANNEL, Travel};
use crate::chart;
use crate::chart::axis::Scale;
use crate::data::Data;
use crate::view::{Ask, View};
use eframe::egui::Ui;
pub use picture::density_unit;
use picture::{figures, numbers};
use rt_core::signal::spectrum::density::{Density, welch};
use serde::{Deserialize, Serialize};

/// Channels in one panel, so that their lines can be told apart.
const MOST_CHANNELS: usize = 6;
/// Peaks that are named for each channel.
const MOST_PEAKS: usize = 3;
/// How often a new spectrum is computed while samples come, in s.
const PAUSE_S: f64 = 0.25;

/// What the panel shows; a layout keeps it.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct SpectraPanel {
    /// Channels by name.
    pub channels: Vec<String>,
    /// Which stretch of time.
    pub stretch: Stretch,
    /// How it is cut into segments.
    pub segments: Segments,
    /// The axis of frequencies.
    pub frequency_scale: Scale,
    /// The axis of densities.
    pub density_scale: Scale,
    /// Highest frequency that is shown, in Hz; half the sample rate if `None`.
    pub up_to_hz: Option<f64>,
    /// Whether passing frequencies of spans and droppers are marked.
    pub shows_marks: bool,
    /// Whether the second row of controls is open.
    pub shows_settings: bool,
    #[serde(skip)]
    offered: Offered,
    #[serde(skip)]
    desk: Desk<Settings, Spectra>,
}

impl Default for SpectraPanel {
    fn default() -> Self {
        Self {
            channels: vec!["force".into()],
            stretch: Stretch::default(),
            segments: Segments::default(),
            frequency_scale: Scale::Log,
            density_scale: Scale::Log,
            up_to_hz: Some(100.0),
            shows_marks: true,
            shows_settings: false,
            offered: Offered::default(),
            desk: Desk::default(),
        }
    }
}

/// What a computation depends on besides the samples. The place along the line is the last channel if it is
/// known.
#[derive(Clone, Debug, PartialEq)]
struct Settings {
    channels: Vec<String>,
    has_place: bool,
    segments: Segments,
    up_to_hz: Option<f64>,
}

/// One channel's density with its highest peaks.
struct Spectrum {
    density: Density,
    peaks: Vec<Peak>,
}

struct Spectra {
    /// In the order of the channels that were asked for; SI units.
    spectra: Vec<Result<Spectrum, String>>,
    travel: Option<Travel>,
}

/// In a thread of its own.
fn compute(settings: &Settings, grid: &Grid) -> Result<Spectra, String> {
    let welch_settings = settings.segments.settings(grid.rate_hz());
    let up_to_hz = settings.up_to_hz.unwrap_or(f64::INFINITY);
    let spectrum = |samples: &Vec<f64>| {
        let density = welch(samples, &welch_settings).map_err(|e| e.to_string())?;
        let peaks = peaks(&density, up_to_hz, MOST_PEAKS);
        Ok(Spectrum { density, peaks })
    };
    let signals = grid.channels.iter().take(settings.channels.len());
    let place = settings.has_place.then(|| grid.channels.last()).flatten();
    Ok(Spectra {
        spectra: signals.map(spectrum).collect(),
        travel: place.and_then(|p| Travel::of(p, grid.period_s)),
    })
}

impl SpectraPanel {
    /// Takes over the stretches that the time plots offer.
    pub fn offer(&mut self, offered: Offered) {
        self.offered = offered;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let mut wish = self.controls(ui, view.data);
        match self.update(ui, view) {
            Ok(()) => {}
            Err(text) => {
                asks.extend(wish.map(|_| pickers::nothing_to_export()));
                return pickers::empty(ui, &text);
            }
        }
        let Some((answer, spectra)) = self.answer() else {
            let trouble = self.desk.trouble().map(str::to_owned);
            return pickers::empty(
                ui,
                &trouble.unwrap_or("Computing the first spectrum …".into()),
            );
        };
        let charts = self.charts(view.data, answer, spectra, ui.visuals().dark_mode);
        let lines = answer.settings.channels.len();
        let shown = chart::show(ui, &charts, pickers::room_below(lines + 1));
        shown
            .response
            .context_menu(|ui| wish = wish.or(Export::menu(ui)));
        figures(ui, view.data, answer, spectra, shown.hover);
        if let Some(export) = wish {
            let source = Source {
                name: "spectrum",
                channels: &answer.settings.channels,
                found: answer.found,
                rect: shown.response.rect,
            };
            let charts = || self.charts(view.data, answer, spectra, false);
            let numbers = || numbers(view.data, answer, spectra);
            asks.extend(export.perform(ui.ctx(), source, charts, numbers));
        }
    }

    fn answer(&self) -> Option<(&Answer<Settings, Spectra>, &Spectra)> {
        let answer = self.desk.answer()?;
        Some((answer, answer.result.as_ref().ok()?))
    }

    fn controls(&mut self, ui: &mut Ui, data: &Data) -> Option<Export> {
        let mut wish = None;
        pickers::controls(ui, |ui| {
            let tip =
                "Whose spectra are drawn. Channels of different units get plots of their own.";
            pickers::channels(ui, &mut self.channels, data, MOST_CHANNELS, tip);
            pickers::stretch(ui, &mut self.stretch);
            pickers::settings_button(ui, &mut self.shows_settings, "Segments, window and axes.");
            wish = Export::button(ui);
        });
        if self.shows_settings {
            pickers::controls(ui, |ui| {
                self.segments.show(ui);
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
                pickers::choice(
                    ui,
                    "Density",
                    &mut self.density_scale,
                    &scales,
                    name,
                    "Axis of densities.",
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
                ui.checkbox(&mut self.shows_marks, "Line marks")
                    .on_hover_text(
                        "How often spans and droppers are passed, where speed and line are known.",
                    );
            });
        }
        wish
    }

    fn update(&mut self, ui: &Ui, view: &View<'_>) -> Result<(), String> {
        if self.channels.is_empty() {
            return Err("Choose a channel above.".into());
        }
        let mut channels: Vec<&str> = self.channels.iter().map(String::as_str).collect();
        let has_place = view.data.find(PLACE_CHANNEL).is_some();
        if has_place {
            channels.push(PLACE_CHANNEL);
        }
        let range = (self.stretch, &self.offered);
        let (found, places) = pickers::ready(view, range, &channels, self.segments.seconds)?;
        let settings = Settings {
            channels: self.channels.clone(),
            has_place,
            segments: self.segments,
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
    use super::picture::marks;
    use super::*;
    use crate::analysis::desk::test_help::until;
    use crate::chart::Item;
    use crate::data::sample;
    use eframe::egui::{Key, Role, Theme};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;
    use std::f64::consts::TAU;

    fn shown(panel: SpectraPanel, data: Data) -> Harness<'static, Stage<SpectraPanel>> {
        let mut harness = stage(panel, data, [700.0, 500.0], Theme::Dark, SpectraPanel::show);
        until("a spectrum", || {
            harness.step();
            harness.state().panel.desk.answers() > 0
        });
        harness.run_steps(2);
        harness
    }

    /// 8 N at 20 Hz on a line of the spectrum: mean square A²/2 = 32 N², peak A²/2 / (1.5 Δf) under a Hann
    /// window. Samples are kept as floats: seven digits of 158 N are 1e−5 N, far below the tolerance.
    #[test]
    fn a_sine_keeps_its_power_and_its_frequency_on_the_way_through_the_panel() {
        let mut data = sample::run(0.0);
        for n in 0..15_000 {
            let t = f64::from(n) * 0.002;
            data.history
                .push(t, &[150.0 + 8.0 * (TAU * 20.0 * t).sin()]);
        }
        let harness = shown(SpectraPanel::default(), data);
        let (_, spectra) = harness.state().panel.answer().unwrap();
        let spectrum = spectra.spectra[0].as_ref().unwrap();
        assert!((spectrum.density.total_power() - 32.0).abs() < 1e-4);
        let peak = spectrum.peaks[0];
        assert!((peak.frequency_hz - 20.0).abs() < 1e-3, "{peak:?}");
        assert!(
            (peak.density - 32.0 / (1.5 * 0.25)).abs() < 1e-3,
            "{peak:?}"
        );
        assert!((peak.rms - 32_f64.sqrt()).abs() < 1e-4, "{peak:?}");
        assert_eq!(spectra.travel, None, "the place was not recorded");
    }

    #[test]
    fn spans_and_droppers_are_marked_and_peaks_are_read_out() {
        let harness = shown(SpectraPanel::default(), sample::run(40.0));
        let (_, spectra) = harness.state().panel.answer().unwrap();
        let line = harness.state().data.line.clone().unwrap();
        let passing = spectra.travel.unwrap().passing(&line);
        // 250 km/h over 65 m and over 8.125 m; the place is kept as a float.
        assert!((passing.span_hz.unwrap() - 250.0 / 3.6 / 65.0).abs() < 1e-4);
        assert!((passing.dropper_hz.unwrap() - 250.0 / 3.6 / 8.125).abs() < 1e-3);
        let marks = marks(&harness.state().data, spectra, true);
        let texts: Vec<&str> = marks
            .iter()
            .filter_map(|m| match m {
                Item::Upright { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["spans 1.07 Hz", "droppers 8.55 Hz"]);
        let peaks: Vec<f64> = spectra.spectra[0]
            .as_ref()
            .unwrap()
            .peaks
            .iter()
            .map(|p| p.rms)
            .collect();
        for (found, amplitude) in peaks.iter().zip([25.0, 8.0, 6.0]) {
            assert!(
                (found - amplitude / 2_f64.sqrt()).abs() < 0.02 * amplitude,
                "{peaks:?}"
            );
        }
        assert!(
            harness
                .query_by_label_contains("Contact force  peaks (rms)")
                .is_some()
        );
        assert!(harness.query_by_label_contains("14 segments").is_some());
    }

    #[test]
    fn a_person_chooses_channels_range_and_exports() {
        let panel = SpectraPanel {
            shows_settings: true,
            ..SpectraPanel::default()
        };
        let mut harness = shown(panel, sample::run(12.0));
        harness
            .get_by_role_and_label(Role::ComboBox, "Channels")
            .click();
        harness.run_steps(2);
        harness.get_by_label("Motor position").click();
        harness.run_steps(2);
        assert_eq!(harness.state().panel.channels, ["force", "motor_position"]);
        harness.key_press(Key::Escape);
        harness.run_steps(2);
        harness
            .get_by_role_and_label(Role::ComboBox, "Segment")
            .click();
        harness.run_steps(2);
        harness.get_by_label("1 s, Δf 1 Hz").click();
        until("both spectra", || {
            harness.step();
            let answer = harness.state().panel.answer();
            answer.is_some_and(|(a, s)| a.settings.segments.seconds == 1.0 && s.spectra.len() == 2)
        });
        harness.run_steps(2);
        // A plot for each unit.
        let chart = "Power spectral density in N²/Hz; Power spectral density in mm²/Hz";
        harness
            .get_by_role_and_label(Role::Image, chart)
            .click_secondary();
        harness.run_steps(2);
        harness.get_by_label("Export picture as SVG…").click();
        harness.run_steps(2);
        harness.get_by_label("Export").click();
        harness.run_steps(2);
        harness.get_by_label("Export samples…").click();
        harness.run_steps(2);
        let asks = &harness.state().asks;
        let [
            Ask::ExportSvg { name, svg },
            Ask::ExportData {
                channels,
                from_s,
                to_s,
            },
        ] = asks.as_slice()
        else {
            panic!("{asks:?}");
        };
        assert_eq!(name, "spectrum");
        assert!(
            svg.contains("mm²/Hz")
                && svg.contains("spans 1.07 Hz")
                && svg.contains("Motor position")
        );
        assert_eq!(channels.as_slice(), ["force", "motor_position"]);
        assert!(
            *from_s == 0.0 && (*to_s - 11.998).abs() < 1e-9,
            "{from_s} {to_s}"
        );
    }

    #[test]
    fn what_is_needed_is_said_before_there_is_enough() {
        let mut harness = stage(
            SpectraPanel::default(),
            sample::run(1.2),
            [420.0, 400.0],
            Theme::Light,
            SpectraPanel::show,
        );
        harness.run_steps(2);
        harness.get_by_label("Needs 4 s of samples; 1.2 s so far.");
        harness.get_by_label("Export").click();
        harness.run_steps(2);
        harness.get_by_label("Copy numbers").click();
        harness.run_steps(2);
        assert_eq!(harness.state().asks, [pickers::nothing_to_export()]);
    }

    #[test]
    fn the_table_has_all_lines_and_the_layout_keeps_the_choices() {
        let harness = shown(SpectraPanel::default(), sample::run(12.0));
        let (answer, spectra) = harness.state().panel.answer().unwrap();
        let text = numbers(&harness.state().data, answer, spectra);
        assert!(
            text.starts_with("frequency (Hz)\tforce (N²/Hz)\n0\t"),
            "{text}"
        );
        // 0 … 250 Hz every 0.25 Hz, and the names.
        assert_eq!(text.lines().count(), 1002);
        let panel = SpectraPanel {
            stretch: Stretch::Cursors,
            up_to_hz: None,
            ..SpectraPanel::default()
        };
        let kept = ron::to_string(&panel).unwrap();
        let back: SpectraPanel = ron::from_str(&kept).unwrap();
        assert_eq!((back.stretch, back.up_to_hz), (Stretch::Cursors, None));
        assert!(
            ron::from_str::<SpectraPanel>("()").is_ok(),
            "what is missing has its default"
        );
    }

    #[test]
    fn units_of_densities_are_squares() {
        let units = ["N", "mm", "", "m/s²"].map(density_unit);
        assert_eq!(units, ["N²/Hz", "mm²/Hz", "1/Hz", "(m/s²)²/Hz"]);
    }

    #[test]
    fn pictures_to_look_at() {
        let channels = ["force", "force_20hz", "motor_position"].map(String::from);
        let panel = || SpectraPanel {
            channels: channels.to_vec(),
            shows_settings: true,
            ..SpectraPanel::default()
        };
        let is_done = |p: &SpectraPanel| p.desk.answers() > 0;
        look(
            "spectra",
            panel,
            || sample::run(40.0),
            is_done,
            SpectraPanel::show,
        );
        look(
            "spectra-plain",
            SpectraPanel::default,
            || sample::run(40.0),
            is_done,
            SpectraPanel::show,
        );
        let linear = || SpectraPanel {
            frequency_scale: Scale::Linear,
            density_scale: Scale::Linear,
            up_to_hz: Some(50.0),
            ..SpectraPanel::default()
        };
        look(
            "spectra-linear",
            linear,
            || sample::run(40.0),
            is_done,
            SpectraPanel::show,
        );
    }
}
