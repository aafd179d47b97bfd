//! How the spectrum of a channel changes in time: a picture of densities with a scale of colours.

mod paint;

use super::pickers::{self, Export, Segments, Source};
use super::spectra::density_unit;
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::stretch::{Offered, Stretch};
use crate::chart::axis::{Axis, Scale};
use crate::chart::{self, Chart, Height, Hover, Item, color_map};
use crate::data::Data;
use crate::view::{Ask, View};
use eframe::egui::{ColorImage, TextureHandle, TextureOptions, Ui};
use paint::{Painted, Settings, compute, numbers};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How often a new picture is computed while samples come, in s.
const PAUSE_S: f64 = 0.25;
/// Colours of the scale.
const SCALE_COLUMNS: usize = 128;

/// What the panel shows; a layout keeps it.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct SpectrogramPanel {
    /// Channel by name.
    pub channel: String,
    /// Which stretch of time.
    pub stretch: Stretch,
    /// How it is cut into segments.
    pub segments: Segments,
    /// The axis of frequencies.
    pub frequency_scale: Scale,
    /// Highest frequency that is shown, in Hz; half the sample rate if `None`.
    pub up_to_hz: Option<f64>,
    /// How many dB the colours span below the highest density.
    pub span_db: f64,
    /// Whether the second row of controls is open.
    pub shows_settings: bool,
    #[serde(skip)]
    offered: Offered,
    #[serde(skip)]
    desk: Desk<Settings, Painted>,
    /// Picture and scale on the screen, and of which answer they are.
    #[serde(skip)]
    textures: Option<(u64, TextureHandle, TextureHandle)>,
}

impl Default for SpectrogramPanel {
    fn default() -> Self {
        Self {
            channel: "force".into(),
            stretch: Stretch::default(),
            segments: Segments {
                seconds: 1.0,
                ..Segments::default()
            },
            frequency_scale: Scale::Linear,
            up_to_hz: Some(50.0),
            span_db: 60.0,
            shows_settings: false,
            offered: Offered::default(),
            desk: Desk::default(),
            textures: None,
        }
    }
}

impl SpectrogramPanel {
    /// Takes over the stretches that the time plots offer.
    pub fn offer(&mut self, offered: Offered) {
        self.offered = offered;
    }

    /// Draws the panel.
    pub fn show(&mut self, ui: &mut Ui, view: &View<'_>, asks: &mut Vec<Ask>) {
        let mut wish = self.controls(ui, view.data);
        if let Err(text) = self.update(ui, view) {
            asks.extend(wish.map(|_| pickers::nothing_to_export()));
            return pickers::empty(ui, &text);
        }
        self.upload(ui);
        let (Some((answer, painted)), Some(_)) = (self.answer(), &self.textures) else {
            let trouble = self.desk.trouble().map(str::to_owned);
            return pickers::empty(
                ui,
                &trouble.unwrap_or("Computing the first picture …".into()),
            );
        };
        let charts = self.charts(view.data, answer, painted);
        let shown = chart::show(ui, &charts, pickers::room_below(1));
        shown
            .response
            .context_menu(|ui| wish = wish.or(Export::menu(ui)));
        figures(
            ui,
            view.data,
            answer,
            painted,
            shown.hover.filter(|h| h.chart == 0),
        );
        if let Some(export) = wish {
            let source = Source {
                name: "spectrogram",
                channels: std::slice::from_ref(&answer.settings.channel),
                found: answer.found,
                rect: shown.response.rect,
            };
            let charts = || self.charts(view.data, answer, painted);
            asks.extend(export.perform(ui.ctx(), source, charts, || numbers(painted)));
        }
    }

    fn answer(&self) -> Option<(&Answer<Settings, Painted>, &Painted)> {
        let answer = self.desk.answer()?;
        Some((answer, answer.result.as_ref().ok()?))
    }

    fn controls(&mut self, ui: &mut Ui, data: &Data) -> Option<Export> {
        let mut wish = None;
        pickers::controls(ui, |ui| {
            pickers::channel(
                ui,
                "Channel",
                &mut self.channel,
                data,
                "Whose spectrum is drawn over time.",
            );
            pickers::stretch(ui, &mut self.stretch);
            pickers::settings_button(
                ui,
                &mut self.shows_settings,
                "Segments, window, axis and colours.",
            );
            wish = Export::button(ui);
        });
        if self.shows_settings {
            pickers::controls(ui, |ui| {
                self.segments.show(ui);
                let scales = [Scale::Linear, Scale::Log];
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
                let tip = "From the darkest to the lightest colour.";
                let spans = [30.0, 40.0, 60.0, 80.0, 100.0];
                pickers::choice(
                    ui,
                    "Colours",
                    &mut self.span_db,
                    &spans,
                    |db| format!("{db} dB"),
                    tip,
                );
            });
        }
        wish
    }

    fn update(&mut self, ui: &Ui, view: &View<'_>) -> Result<(), String> {
        let range = (self.stretch, &self.offered);
        let (found, places) = pickers::ready(view, range, &[&self.channel], self.segments.seconds)?;
        let settings = Settings {
            channel: self.channel.clone(),
            factor: pickers::unit_of(view.data, &self.channel).0,
            segments: self.segments,
            scale: self.frequency_scale,
            up_to_hz: self.up_to_hz,
            span_db: self.span_db,
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

    /// Brings the picture to the screen, once for each answer.
    fn upload(&mut self, ui: &Ui) {
        let answers = self.desk.answers();
        let Some((_, painted)) = self.answer() else {
            return;
        };
        let pixels = Arc::clone(&painted.pixels);
        match &mut self.textures {
            Some((of, picture, _)) if *of != answers => {
                picture.set(pixels, TextureOptions::NEAREST);
                *of = answers;
            }
            Some(_) => {}
            None => {
                let load = |name: &str, image: Arc<ColorImage>, options| {
                    ui.ctx().load_texture(name, image, options)
                };
                let picture = load("spectrogram", pixels, TextureOptions::NEAREST);
                let scale = load(
                    "scale of colours",
                    Arc::new(scale_pixels()),
                    TextureOptions::LINEAR,
                );
                self.textures = Some((answers, picture, scale));
            }
        }
    }

    /// The picture, and below it the scale of its colours.
    fn charts(
        &self,
        data: &Data,
        answer: &Answer<Settings, Painted>,
        painted: &Painted,
    ) -> Vec<Chart> {
        let Some((_, picture, scale)) = &self.textures else {
            return Vec::new();
        };
        let label = pickers::label_of(data, &answer.settings.channel);
        let unit = density_unit(pickers::unit_of(data, &answer.settings.channel).1);
        let levels = (painted.top_db - answer.settings.span_db, painted.top_db);
        vec![
            Chart {
                name: format!("Spectrogram of {label}"),
                x: Axis::exactly(painted.time_s.0, painted.time_s.1),
                x_title: "Time (s)".into(),
                y: painted.axis,
                y_title: format!("Frequency (Hz) – {label}"),
                items: vec![Item::Picture {
                    texture: picture.id(),
                    pixels: Arc::clone(&painted.pixels),
                    x: painted.time_s,
                    y: (painted.picture.low, painted.picture.high),
                }],
                legend: Vec::new(),
                height: Height::Share(1.0),
            },
            Chart {
                name: "scale of colours".into(),
                x: Axis::exactly(levels.0, levels.1),
                x_title: format!("Density (dB re 1 {unit}), grey: no samples"),
                y: Axis::exactly(0.0, 1.0),
                y_title: String::new(),
                items: vec![Item::Picture {
                    texture: scale.id(),
                    pixels: Arc::new(scale_pixels()),
                    x: levels,
                    y: (0.0, 1.0),
                }],
                legend: Vec::new(),
                height: Height::Points(14.0),
            },
        ]
    }
}

fn scale_pixels() -> ColorImage {
    let shade = |i: usize| color_map::color(i as f64 / (SCALE_COLUMNS - 1) as f64);
    ColorImage::new([SCALE_COLUMNS, 1], (0..SCALE_COLUMNS).map(shade).collect())
}

fn figures(
    ui: &mut Ui,
    data: &Data,
    answer: &Answer<Settings, Painted>,
    painted: &Painted,
    hover: Option<Hover>,
) {
    let unit = density_unit(pickers::unit_of(data, &answer.settings.channel).1);
    let text = match hover {
        Some(hover) => {
            let level = match painted.level(hover.x, hover.y) {
                Some(level) if level.is_finite() => format!("{level:>6.1} dB re 1 {unit}"),
                _ => "no samples".into(),
            };
            format!("{:>8.2} s {:>7.2} Hz  {level}", hover.x, hover.y)
        }
        None => {
            let skipped = match painted.skipped {
                0 => String::new(),
                n => format!(", {n} with gaps"),
            };
            let cut = if answer.found.is_cut {
                ", older samples left out"
            } else {
                ""
            };
            let per_column = painted.segments.div_ceil(painted.columns);
            let merged = if per_column > 1 {
                format!(", the highest of {per_column} in a column")
            } else {
                String::new()
            };
            format!("{:>4} segments{skipped}{merged}{cut}", painted.segments)
        }
    };
    pickers::figures(ui, &text).on_hover_text(
        "Point at the picture for the density at a time and a frequency. Segments overlap by three quarters; where \
         several share a column or a row, the highest density is shown: no short event is lost.",
    );
}

#[cfg(test)]
mod tests {
    use super::super::pickers::test_help::{look, stage};
    use super::*;
    use crate::analysis::desk::test_help::until;
    use crate::data::sample;
    use eframe::egui::{Role, Theme};
    use egui_kittest::kittest::Queryable;
    use std::f64::consts::TAU;

    /// A sweep from 5 to 45 Hz in 40 s, and half a second without samples.
    fn sweep() -> Data {
        let mut data = sample::run(0.0);
        for n in (0..20_000).filter(|n| !(12_000..12_250).contains(n)) {
            let t = f64::from(n) * 0.002;
            let phase = TAU * (5.0 * t + 0.5 * t * t);
            data.history.push(t, &[150.0 + 10.0 * phase.sin()]);
        }
        data
    }

    #[test]
    fn the_panel_shows_gaps_and_answers_the_pointer() {
        let mut harness = stage(
            SpectrogramPanel::default(),
            sweep(),
            [700.0, 500.0],
            Theme::Dark,
            SpectrogramPanel::show,
        );
        until("a picture", || {
            harness.step();
            harness.state().panel.desk.answers() > 0
        });
        harness.run_steps(2);
        let (_, painted) = harness.state().panel.answer().unwrap();
        assert!(painted.skipped > 0 && painted.level(24.2, 20.0).unwrap().is_nan());
        let name = "Spectrogram of Contact force; scale of colours";
        let rect = harness.get_by_role_and_label(Role::Image, name).rect();
        // The gap is in the middle.
        harness.hover_at(rect.center() + eframe::egui::vec2(120.0, 0.0));
        harness.run_steps(2);
        assert!(harness.query_by_label_contains("dB re 1 N²/Hz").is_some());
        harness.get_by_label("Export").click();
        harness.run_steps(2);
        harness.get_by_label("Export picture as SVG…").click();
        harness.run_steps(2);
        let asks = &harness.state().asks;
        assert!(
            matches!(&asks[..], [Ask::ExportSvg { svg, .. }] if svg.contains("data:image/png;base64,"))
        );
    }

    #[test]
    fn pictures_to_look_at() {
        let is_done = |p: &SpectrogramPanel| p.textures.is_some();
        look(
            "spectrogram",
            SpectrogramPanel::default,
            sweep,
            is_done,
            SpectrogramPanel::show,
        );
        let log = || SpectrogramPanel {
            frequency_scale: Scale::Log,
            shows_settings: true,
            ..SpectrogramPanel::default()
        };
        look(
            "spectrogram-log",
            log,
            || sample::run(40.0),
            is_done,
            SpectrogramPanel::show,
        );
    }
}
