//! How the spectrum of a channel changes in time: a picture of densities with a scale of colours.

use super::pickers::{self, Export, Segments, Source};
use super::spectra::density_unit;
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::stretch::{Grid, Offered, Stretch};
use crate::chart::axis::{Axis, Scale};
use crate::chart::{self, Chart, Height, Hover, Item, color_map};
use crate::data::Data;
use crate::view::{Ask, View};
use eframe::egui::{ColorImage, TextureHandle, TextureOptions, Ui};
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::spectrogram::{Spectrogram, spectrogram};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How often a new picture is computed while samples come, in s.
const PAUSE_S: f64 = 0.25;
/// The most columns and rows of a picture; where there are more segments or lines, the highest is shown.
const MOST_COLUMNS: usize = 640;
const MOST_ROWS: usize = 320;
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

#[derive(Clone, Debug, PartialEq)]
struct Settings {
    channel: String,
    /// From SI to the unit on the screen.
    factor: f64,
    segments: Segments,
    scale: Scale,
    up_to_hz: Option<f64>,
    span_db: f64,
}

/// A picture of densities.
struct Painted {
    /// Levels in dB of unit² / Hz, row by row from the top; NaN where a sample is missing.
    levels: Vec<f32>,
    columns: usize,
    rows: usize,
    pixels: Arc<ColorImage>,
    /// Time at the left and the right edge, in s.
    time_s: (f64, f64),
    /// The axis of frequencies.
    axis: Axis,
    /// Frequencies from the lower to the upper edge of the picture.
    picture: Axis,
    /// Level of the lightest colour, a multiple of 10 dB.
    top_db: f64,
    skipped: usize,
    segments: usize,
}

/// In a thread of its own.
fn compute(settings: &Settings, grid: &Grid) -> Result<Painted, String> {
    let Some(samples) = grid.channels.first() else {
        return Err("Choose a channel above.".into());
    };
    let welch = settings.segments.settings(grid.rate_hz());
    let welch = SpectrumSettings {
        // Three quarters: with half, what happens at the edges of segments would hardly be seen.
        overlap: welch.segment * 3 / 4,
        ..welch
    };
    let found = spectrogram(samples, &welch).map_err(|e| e.to_string())?;
    Ok(paint(settings, &found, grid.start_s, &welch))
}

fn paint(
    settings: &Settings,
    found: &Spectrogram,
    start_s: f64,
    welch: &SpectrumSettings,
) -> Painted {
    let nyquist_hz = 0.5 * welch.sample_rate_hz;
    let high_hz = settings
        .up_to_hz
        .map_or(nyquist_hz, |hz| hz.min(nyquist_hz));
    let resolution_hz = welch.resolution_hz();
    let axis = match settings.scale {
        Scale::Log => Axis::exactly_log(resolution_hz, high_hz),
        Scale::Linear => Axis::exactly(0.0, high_hz),
    };
    let segments = found.density.len();
    let columns = segments.min(MOST_COLUMNS);
    // Line 0 is what is left of the mean and is not shown.
    let last = found.frequencies_hz.len() - 1;
    let lines = ((high_hz / resolution_hz).round() as usize).clamp(1, last);
    // A line stands for what lies within half a resolution on each side.
    let (rows, picture) = match settings.scale {
        Scale::Linear => {
            let ends = [0.5, lines as f64 + 0.5].map(|k| k * resolution_hz);
            (lines.min(MOST_ROWS), Axis::exactly(ends[0], ends[1]))
        }
        Scale::Log => (MOST_ROWS, axis),
    };
    let lines_of_row = |row: usize| match settings.scale {
        Scale::Linear => {
            let up = rows - 1 - row;
            1 + up * lines / rows..1 + (up + 1) * lines / rows
        }
        Scale::Log => {
            let edge =
                |row: usize| picture.value(1.0 - row as f64 / rows as f64) / resolution_hz + 0.5;
            let from = (edge(row + 1).floor() as usize).clamp(1, last);
            from..(edge(row).ceil() as usize).clamp(from + 1, last + 1)
        }
    };
    let segments_of_column = |c: usize| c * segments / columns..((c + 1) * segments / columns);
    let mut levels = vec![f32::NAN; columns * rows];
    for row in 0..rows {
        let lines = lines_of_row(row);
        for column in 0..columns {
            let covered = &found.density[segments_of_column(column)];
            // `max` prefers a number to NaN: a gap shows only where all is unknown.
            let highest = covered
                .iter()
                .flat_map(|d| &d[lines.clone()])
                .copied()
                .fold(f64::NAN, f64::max);
            levels[row * columns + column] = decibel(highest, settings.factor) as f32;
        }
    }
    let top = levels
        .iter()
        .copied()
        .filter(|l| l.is_finite())
        .fold(f32::NEG_INFINITY, f32::max);
    let top_db = if top.is_finite() {
        (f64::from(top) / 10.0).ceil() * 10.0
    } else {
        0.0
    };
    let shade =
        |level: &f32| color_map::color((f64::from(*level) - top_db) / settings.span_db + 1.0);
    let pixels = levels.iter().map(shade).collect();
    // A segment is shown where its middle is, as wide as the way to the next.
    let hop_s = welch.hop() as f64 / welch.sample_rate_hz;
    let middle_s = |k: usize| start_s + found.times_s.get(k).copied().unwrap_or(0.0);
    Painted {
        levels,
        columns,
        rows,
        pixels: Arc::new(ColorImage::new([columns, rows], pixels)),
        time_s: (
            middle_s(0) - 0.5 * hop_s,
            middle_s(segments - 1) + 0.5 * hop_s,
        ),
        axis,
        picture,
        top_db,
        skipped: found.skipped,
        segments,
    }
}

/// 10 lg of a density in the unit on the screen. Nothing at all is far below every scale.
fn decibel(density: f64, factor: f64) -> f64 {
    if density <= 0.0 {
        -1e6
    } else {
        10.0 * (density * factor * factor).log10()
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

impl Painted {
    /// Level at a time and a frequency; `None` outside.
    fn level(&self, t_s: f64, hz: f64) -> Option<f64> {
        let across = (t_s - self.time_s.0) / (self.time_s.1 - self.time_s.0);
        let down = 1.0 - self.picture.place(hz);
        if !((0.0..1.0).contains(&across) && (0.0..1.0).contains(&down)) {
            return None;
        }
        let (column, row) = (across * self.columns as f64, down * self.rows as f64);
        self.levels
            .get(row as usize * self.columns + column as usize)
            .map(|l| f64::from(*l))
    }
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

/// Levels in dB: a row for each time, a column for each frequency.
fn numbers(painted: &Painted) -> String {
    let time = |c: usize| {
        let share = (c as f64 + 0.5) / painted.columns as f64;
        painted.time_s.0 + share * (painted.time_s.1 - painted.time_s.0)
    };
    let mut columns = vec![(
        "time (s)".to_owned(),
        (0..painted.columns).map(time).collect(),
    )];
    for row in (0..painted.rows).rev() {
        let hz = painted
            .axis
            .value(1.0 - (row as f64 + 0.5) / painted.rows as f64);
        let levels = &painted.levels[row * painted.columns..][..painted.columns];
        columns.push((
            format!("{hz:.3} Hz (dB)"),
            levels.iter().map(|l| f64::from(*l)).collect(),
        ));
    }
    pickers::table(&columns)
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

    fn settings(scale: Scale) -> Settings {
        Settings {
            channel: "force".into(),
            factor: 1.0,
            segments: Segments {
                seconds: 1.0,
                ..Segments::default()
            },
            scale,
            up_to_hz: Some(50.0),
            span_db: 60.0,
        }
    }

    fn grid(signal: impl Fn(f64) -> f64) -> Grid {
        Grid {
            start_s: 100.0,
            period_s: 0.002,
            channels: vec![(0..20_000).map(|n| signal(f64::from(n) * 0.002)).collect()],
        }
    }

    /// At each time the highest row is that of the frequency 5 Hz + t · 1 Hz/s, to a line of 1 Hz.
    #[test]
    fn a_sweep_is_where_it_was_at_each_time_on_both_axes() {
        for scale in [Scale::Linear, Scale::Log] {
            let phase = |t: f64| TAU * (5.0 * t + 0.5 * t * t);
            let painted = compute(&settings(scale), &grid(|t| 150.0 + phase(t).sin())).unwrap();
            for t in [2.0, 10.0, 20.0, 35.0] {
                let rows = (1..=490).map(|i| f64::from(i) * 0.1);
                let level = |hz: &f64| painted.level(100.0 + t, *hz).unwrap_or(f64::NEG_INFINITY);
                let best = rows.max_by(|a, b| level(a).total_cmp(&level(b))).unwrap();
                assert!((best - (5.0 + t)).abs() < 1.3, "{scale:?} {t} s: {best} Hz");
            }
        }
    }

    /// A sine of 10 N on a line: 50 N² / (1.5 · 1 Hz) = 15.2 dB, and the scale goes up to the next 10 dB.
    #[test]
    fn the_level_of_a_sine_is_that_of_the_closed_form() {
        let painted = compute(
            &settings(Scale::Linear),
            &grid(|t| 10.0 * (TAU * 20.0 * t).sin()),
        )
        .unwrap();
        let level = painted.level(120.0, 20.2).unwrap();
        assert!(
            (level - 10.0 * (50.0_f64 / 1.5).log10()).abs() < 0.01,
            "{level}"
        );
        assert_eq!(painted.top_db, 20.0);
        // Every row is one line of the spectrum: 1, 2 … 50 Hz.
        assert_eq!(painted.rows, 50);
        let in_mm = Settings {
            factor: 1e3,
            ..settings(Scale::Linear)
        };
        let larger = compute(&in_mm, &grid(|t| 10.0 * (TAU * 20.0 * t).sin())).unwrap();
        assert!((larger.level(120.0, 20.2).unwrap() - level - 60.0).abs() < 0.01);
    }

    #[test]
    fn a_short_event_is_seen_however_many_segments_share_a_column() {
        let burst = |t: f64| {
            if (20.0..20.1).contains(&t) {
                (TAU * 30.0 * t).sin()
            } else {
                0.0
            }
        };
        let mut long = grid(burst);
        // 400 s: 1597 segments in 640 columns.
        long.channels[0].extend(std::iter::repeat_n(0.0, 180_000));
        let painted = compute(&settings(Scale::Linear), &long).unwrap();
        assert_eq!((painted.columns, painted.segments), (640, 1597));
        assert!(painted.level(120.05, 30.0).unwrap() > painted.top_db - 10.0);
        assert!(painted.level(300.0, 30.0).unwrap() < painted.top_db - 60.0);
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
