//! How often a channel has which value: a histogram with mean, ±σ, the normal curve, and the standard's limits
//! of the contact force.

mod picture;

use super::pickers::{self, Export, Source};
use crate::analysis::desk::{Answer, Desk};
use crate::analysis::force_limits::ForceLimits;
use crate::analysis::stretch::{Grid, Offered, Stretch};
use crate::analysis::travel::{PLACE_CHANNEL, Travel};
use crate::chart;
use crate::chart::axis::nice_step;
use crate::data::Data;
use crate::view::{Ask, View};
use eframe::egui::Ui;
use picture::numbers;
use rt_core::signal::gaps::known_statistics;
use rt_core::signal::histogram::Histogram;
use rt_core::signal::statistics::ForceStatistics;
use serde::{Deserialize, Serialize};

/// How often a new histogram is computed while samples come, in s.
const PAUSE_S: f64 = 0.25;
/// Bins at most, whatever the spread.
const MOST_BINS: f64 = 400.0;
/// Channels whose statistics the standard limits: what has passed a 20 Hz low-pass.
const LIMITED_CHANNEL: &str = "force_20hz";

/// How wide bins are, as a share of σ before rounding to 1, 2 or 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bins {
    /// A tenth of σ.
    Fine,
    /// A fifth of σ.
    #[default]
    Medium,
    /// Half of σ.
    Coarse,
}

/// What the panel shows; a layout keeps it.
#[derive(Serialize, Deserialize)]
#[serde(default)]
pub struct HistogramPanel {
    /// Channel by name.
    pub channel: String,
    /// Which stretch of time.
    pub stretch: Stretch,
    /// How wide bins are.
    pub bins: Bins,
    /// Whether the normal distribution of the same mean and σ is drawn.
    pub shows_normal: bool,
    /// Whether the standard's limits are drawn and judged.
    pub shows_limits: bool,
    /// Whether the second row of controls is open.
    pub shows_settings: bool,
    #[serde(skip)]
    offered: Offered,
    #[serde(skip)]
    desk: Desk<Settings, Counted>,
    #[serde(skip, default = "ForceLimits::ac_25_kv")]
    limits: Result<ForceLimits, String>,
}

impl Default for HistogramPanel {
    fn default() -> Self {
        Self {
            channel: "force".into(),
            stretch: Stretch::default(),
            bins: Bins::Medium,
            shows_normal: true,
            shows_limits: true,
            shows_settings: false,
            offered: Offered::default(),
            desk: Desk::default(),
            limits: ForceLimits::ac_25_kv(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Settings {
    channel: String,
    bins: Bins,
    /// From SI to the unit on the screen, in which bins are round.
    factor: f64,
}

struct Counted {
    /// In the unit on the screen.
    histogram: Histogram,
    statistics: ForceStatistics,
    travel: Option<Travel>,
}

/// In a thread of its own. The place along the line is the second channel, if there is one.
fn compute(settings: &Settings, grid: &Grid) -> Result<Counted, String> {
    let Some(samples) = grid.channels.first() else {
        return Err("Choose a channel above.".into());
    };
    let values: Vec<f64> = samples.iter().map(|v| v * settings.factor).collect();
    let statistics = known_statistics(&values).ok_or("All samples in this range are unknown.")?;
    let share = match settings.bins {
        Bins::Fine => 0.1,
        Bins::Medium => 0.2,
        Bins::Coarse => 0.5,
    };
    let spread = statistics.max - statistics.min;
    let smallest = 1e-6 * statistics.mean.abs().max(1e-6);
    let width = nice_step(
        (share * statistics.standard_deviation)
            .max(spread / MOST_BINS)
            .max(smallest),
    );
    // Bins begin at multiples of their width, so that they stand still while samples come.
    let low = (statistics.min / width).floor() * width;
    let count = ((statistics.max - low) / width).floor() as usize + 1;
    let histogram = Histogram::of(&values, low, low + count as f64 * width, count)
        .map_err(|e| e.to_string())?;
    Ok(Counted {
        histogram,
        statistics,
        travel: grid
            .channels
            .get(1)
            .and_then(|places| Travel::of(places, grid.period_s)),
    })
}

impl HistogramPanel {
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
        let Some((answer, counted)) = self.answer() else {
            let trouble = self.desk.trouble().map(str::to_owned);
            return pickers::empty(
                ui,
                &trouble.unwrap_or("Computing the first histogram …".into()),
            );
        };
        let is_force = pickers::unit_of(view.data, &answer.settings.channel).1 == "N";
        let has_limits = self.shows_limits && is_force;
        let charts = self.charts(view.data, answer, counted, ui.visuals().dark_mode);
        let lines = if has_limits { 5 } else { 2 };
        let shown = chart::show(ui, &charts, pickers::room_below(lines));
        shown
            .response
            .context_menu(|ui| wish = wish.or(Export::menu(ui)));
        self.figures(ui, view.data, (answer, counted), shown.hover);
        if has_limits {
            self.judgement(ui, answer, counted);
        }
        if let Some(export) = wish {
            let source = Source {
                name: "histogram",
                channels: std::slice::from_ref(&answer.settings.channel),
                found: answer.found,
                rect: shown.response.rect,
            };
            let charts = || self.charts(view.data, answer, counted, false);
            let numbers = || {
                numbers(
                    pickers::unit_of(view.data, &answer.settings.channel).1,
                    counted,
                )
            };
            asks.extend(export.perform(ui.ctx(), source, charts, numbers));
        }
    }

    fn answer(&self) -> Option<(&Answer<Settings, Counted>, &Counted)> {
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
                "Whose values are counted.",
            );
            pickers::stretch(ui, &mut self.stretch);
            pickers::settings_button(
                ui,
                &mut self.shows_settings,
                "Bins, normal curve and limits.",
            );
            wish = Export::button(ui);
        });
        if self.shows_settings {
            pickers::controls(ui, |ui| {
                let all = [Bins::Fine, Bins::Medium, Bins::Coarse];
                let name = |b: &Bins| format!("{b:?}").to_lowercase();
                let tip =
                    "Width of the bins: about a tenth, a fifth or half of σ, rounded to 1, 2 or 5.";
                pickers::choice(ui, "Bins", &mut self.bins, &all, name, tip);
                ui.checkbox(&mut self.shows_normal, "Normal curve")
                    .on_hover_text(
                        "The normal distribution with the same mean and σ, for comparison.",
                    );
                ui.checkbox(&mut self.shows_limits, "Limits")
                    .on_hover_text("What the standard allows of the contact force.");
            });
        }
        wish
    }

    fn update(&mut self, ui: &Ui, view: &View<'_>) -> Result<(), String> {
        let mut channels = vec![self.channel.as_str()];
        channels.extend(view.data.find(PLACE_CHANNEL).map(|_| PLACE_CHANNEL));
        let range = (self.stretch, &self.offered);
        let (found, places) = pickers::ready(view, range, &channels, 0.5)?;
        let settings = Settings {
            channel: self.channel.clone(),
            bins: self.bins,
            factor: pickers::unit_of(view.data, &self.channel).0,
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
    use super::picture::{normal_curve, shares};
    use super::*;
    use crate::analysis::desk::test_help::until;
    use crate::chart::number;
    use crate::data::sample;
    use eframe::egui::{Role, Theme};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;
    use std::f64::consts::TAU;

    fn shown(panel: HistogramPanel, data: Data) -> Harness<'static, Stage<HistogramPanel>> {
        let mut harness = stage(
            panel,
            data,
            [700.0, 500.0],
            Theme::Dark,
            HistogramPanel::show,
        );
        until("a histogram", || {
            harness.step();
            harness.state().panel.desk.answers() > 0
        });
        harness.run_steps(2);
        harness
    }

    fn grid(values: Vec<f64>) -> Grid {
        Grid {
            start_s: 0.0,
            period_s: 0.002,
            channels: vec![values],
        }
    }

    fn settings() -> Settings {
        Settings {
            channel: "force".into(),
            bins: Bins::Medium,
            factor: 1.0,
        }
    }

    /// Quantiles of the normal distribution N(150, 20), by bisection of its integral: every bar is then the
    /// integral of the curve over its bin.
    #[test]
    fn bars_of_normal_samples_follow_the_normal_curve() {
        // ∫ by Simpson's rule, 200 steps from the mean.
        let below = |z: f64| {
            let h = z / 200.0;
            let f = |i: i32| (-0.5 * (f64::from(i) * h).powi(2)).exp();
            let inner: f64 = (1..200)
                .map(|i| f(i) * if i % 2 == 0 { 2.0 } else { 4.0 })
                .sum();
            0.5 + h / 3.0 * (f(0) + inner + f(200)) / TAU.sqrt()
        };
        let quantile = |p: f64| {
            let (mut low, mut high) = (-6.0, 6.0);
            for _ in 0..50 {
                let middle: f64 = 0.5 * (low + high);
                if below(middle) < p {
                    low = middle
                } else {
                    high = middle
                }
            }
            150.0 + 20.0 * low
        };
        let samples = (0..2_000)
            .map(|i| quantile((f64::from(i) + 0.5) / 2_000.0))
            .collect();
        let counted = compute(&settings(), &grid(samples)).unwrap();
        assert!((counted.statistics.mean - 150.0).abs() < 0.01);
        assert!((counted.statistics.standard_deviation - 20.0).abs() < 0.1);
        // A fifth of 20 N, rounded up to 1, 2 or 5.
        assert!(
            (counted.histogram.width() - 5.0).abs() < 1e-12,
            "{}",
            counted.histogram.width()
        );
        let curve = normal_curve(150.0, 20.0, 5.0);
        for (i, share) in shares(&counted.histogram).iter().enumerate() {
            let middle = counted.histogram.edge(i) + 2.5;
            let near = curve
                .iter()
                .min_by(|a, b| (a[0] - middle).abs().total_cmp(&(b[0] - middle).abs()));
            // Within a bin the curve bends, and single samples are 0.05 %.
            assert!(
                (share - near.unwrap()[1]).abs() < 0.35,
                "{middle} N: {share} {near:?}"
            );
        }
        let sum: f64 = shares(&counted.histogram).iter().sum();
        assert!((sum - 100.0).abs() < 1e-9);
    }

    #[test]
    fn constant_and_unknown_samples_are_no_trouble() {
        let counted = compute(&settings(), &grid(vec![5.0; 100])).unwrap();
        assert_eq!(counted.histogram.counts(), [100]);
        let mut with_gap = vec![1.0, 2.0, 3.0];
        with_gap.push(f64::NAN);
        let counted = compute(&settings(), &grid(with_gap)).unwrap();
        assert_eq!(
            (counted.histogram.known(), counted.histogram.unknown()),
            (3, 1)
        );
        assert!(compute(&settings(), &grid(vec![f64::NAN; 5])).is_err());
        // An outlier far away must not ask for a million bins.
        let mut wild = vec![0.0; 1_000];
        wild.push(1e9);
        let counted = compute(&settings(), &grid(wild)).unwrap();
        assert!(counted.histogram.counts().len() <= 401);
    }

    #[test]
    fn the_force_is_judged_by_the_standard() {
        let panel = HistogramPanel {
            channel: "force_20hz".into(),
            ..HistogramPanel::default()
        };
        let mut harness = shown(panel, sample::run(40.0));
        // The last 30 s of 150 N ± 25 N sin(2π v t / 65 m) at 250 km/h.
        let t = (0..20_000)
            .map(|n| f64::from(n) * 0.002)
            .filter(|t| *t > 9.997);
        let forces: Vec<f64> = t
            .map(|t| 150.0 + 25.0 * (TAU * 250.0 / 3.6 * t / 65.0).sin())
            .collect();
        let s = ForceStatistics::of(&forces).unwrap();
        for text in [
            format!(
                "● σ / F_m   {} ≤   0.3   held",
                number(s.standard_deviation / s.mean)
            ),
            format!("● F_m − 3σ  {} >     0 N held", number(s.statistical_min)),
            format!("● F_m + 3σ  {} ≤   350 N held", number(s.statistical_max)),
        ] {
            assert!(harness.query_by_label(&text).is_some(), "{text}");
        }
        harness.get_by_label("Export").click();
        harness.run_steps(2);
        harness.get_by_label("Export picture as PNG…").click();
        harness.run_steps(2);
        let chart = harness.get_by_role_and_label(Role::Image, "Histogram of Contact force, 20 Hz");
        let expected = Ask::ExportPng {
            name: "histogram".into(),
            rect: chart.rect(),
        };
        assert_eq!(harness.state().asks, [expected]);
    }

    #[test]
    fn lengths_are_counted_in_millimetres_and_have_no_limits() {
        let panel = HistogramPanel {
            channel: "motor_position".into(),
            ..HistogramPanel::default()
        };
        let harness = shown(panel, sample::run(40.0));
        // 10 mm / √2, over 30 s which are 32.05 periods.
        assert!(harness.query_by_label_contains("σ     7.0").is_some());
        assert!(harness.query_by_label_contains("held").is_none());
    }

    #[test]
    fn pictures_to_look_at() {
        let is_done = |p: &HistogramPanel| p.desk.answers() > 0;
        let noisy = || {
            let mut data = sample::run(0.0);
            let mut state = 9_u64;
            let mut noise = || {
                let mut sum = 0.0;
                for _ in 0..6 {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    sum += (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5;
                }
                sum
            };
            for n in 0..20_000 {
                let t = f64::from(n) * 0.002;
                let force = 150.0 + 25.0 * (TAU * 1.07 * t).sin() + 25.0 * noise();
                data.history.push(t, &[force, 0.0, 69.4 * t, force]);
            }
            data
        };
        look(
            "histogram",
            HistogramPanel::default,
            noisy,
            is_done,
            HistogramPanel::show,
        );
        let arcsine = || HistogramPanel {
            channel: "motor_position".into(),
            shows_settings: true,
            bins: Bins::Fine,
            ..HistogramPanel::default()
        };
        look(
            "histogram-mm",
            arcsine,
            || sample::run(40.0),
            is_done,
            HistogramPanel::show,
        );
    }
}
