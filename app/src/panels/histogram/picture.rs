//! Bars, curve and limits as a chart, with readouts and verdicts.

use super::super::pickers;
use super::{Counted, HistogramPanel, LIMITED_CHANNEL, Settings};
use crate::analysis::desk::Answer;
use crate::analysis::force_limits::Judged;
use crate::chart::axis::Axis;
use crate::chart::{Chart, Dash, Height, Hover, Item, Pen, number};
use crate::data::Data;
use crate::theme;
use eframe::egui::{Color32, Ui};
use rt_core::signal::histogram::Histogram;
use std::f64::consts::TAU;

impl HistogramPanel {
    pub(super) fn charts(
        &self,
        data: &Data,
        answer: &Answer<Settings, Counted>,
        counted: &Counted,
        dark: bool,
    ) -> Vec<Chart> {
        let label = pickers::label_of(data, &answer.settings.channel);
        let unit = pickers::unit_of(data, &answer.settings.channel).1;
        let (histogram, s) = (&counted.histogram, &counted.statistics);
        let edges: Vec<f64> = (0..=histogram.counts().len())
            .map(|i| histogram.edge(i))
            .collect();
        let heights = shares(histogram);
        let mut high = heights.iter().copied().fold(0.0, f64::max);
        let sigma = s.standard_deviation;
        let bar = theme::series(dark, 0).gamma_multiply(if dark { 0.65 } else { 0.55 });
        let mark = if dark { 235 } else { 20 };
        let mark = Color32::from_gray(mark);
        let mut items = vec![
            Item::Band {
                from: s.mean - sigma,
                to: s.mean + sigma,
                fill: theme::series(dark, 0).gamma_multiply(0.12),
            },
            Item::Bars {
                edges: edges.clone(),
                heights,
                fill: bar,
            },
        ];
        let mut legend = Vec::new();
        if self.shows_normal && sigma > 0.0 {
            let curve = normal_curve(s.mean, sigma, histogram.width());
            high = curve.iter().map(|p| p[1]).fold(high, f64::max);
            let pen = Pen::solid(theme::series(dark, 1), 1.6);
            legend.push((pen, "normal".to_owned()));
            items.push(Item::Line(curve, pen));
        }
        let upright = |x: f64, pen: Pen, text: &str| Item::Upright {
            x,
            pen,
            text: text.into(),
        };
        items.push(upright(s.mean, Pen::solid(mark, 1.6), "mean"));
        if sigma > 0.0 {
            let dashed = Pen::dashed(mark, 1.0);
            for (x, text) in [
                (s.mean - sigma, "−σ"),
                (s.mean + sigma, "+σ"),
                (s.statistical_min, "−3σ"),
                (s.statistical_max, "+3σ"),
            ] {
                items.push(upright(x, dashed, text));
            }
        }
        let mut range = (
            edges[0].min(s.statistical_min),
            s.statistical_max.max(edges[edges.len() - 1]),
        );
        if let (true, "N", Ok(limits)) = (self.shows_limits, unit, &self.limits) {
            let pen = Pen {
                dash: Dash::Dotted,
                ..Pen::solid(theme::danger_text(dark), 2.0)
            };
            let largest = counted
                .travel
                .map(|t| limits.largest_n(3.6 * t.speed_m_per_s));
            for limit in [Some(limits.smallest_n), largest].into_iter().flatten() {
                items.push(upright(limit, pen, &format!("limit {limit:.0} N")));
                range = (range.0.min(limit), range.1.max(limit));
            }
        }
        vec![Chart {
            name: format!("Histogram of {label}"),
            x: Axis::around(Some(range)),
            x_title: pickers::title_of(data, &answer.settings.channel),
            // Room for the words above the bars.
            y: Axis::from_zero(1.25 * high),
            y_title: format!(
                "Samples (% per {} {unit})",
                (1e9 * histogram.width()).round() / 1e9
            ),
            items,
            legend,
            height: Height::Share(1.0),
        }]
    }

    pub(super) fn figures(
        &self,
        ui: &mut Ui,
        data: &Data,
        (answer, counted): (&Answer<Settings, Counted>, &Counted),
        hover: Option<Hover>,
    ) {
        let unit = pickers::unit_of(data, &answer.settings.channel).1;
        let s = &counted.statistics;
        let text = format!(
            "mean {} {unit}  σ {} {unit}",
            number(s.mean),
            number(s.standard_deviation)
        );
        pickers::figures(ui, &text)
            .on_hover_text("Of the known samples in the range; σ of the whole population.");
        let histogram = &counted.histogram;
        let bin = hover.and_then(|h| {
            let i = ((h.x - histogram.edge(0)) / histogram.width()).floor();
            let count = *histogram.counts().get(i as usize).filter(|_| i >= 0.0)?;
            Some((i as usize, count))
        });
        let text = match (bin, hover) {
            (Some((i, count)), _) => format!(
                "{} to {} {unit}: {count} samples, {:.2} %",
                number(histogram.edge(i)).trim(),
                number(histogram.edge(i + 1)).trim(),
                100.0 * count as f64 / histogram.known().max(1) as f64
            ),
            (None, Some(_)) => "no samples here".into(),
            (None, None) => {
                let cut = if answer.found.is_cut {
                    ", older left out"
                } else {
                    ""
                };
                let unknown = match histogram.unknown() {
                    0 => String::new(),
                    n => format!(", {n} unknown"),
                };
                let (low, high) = (number(s.min), number(s.max));
                format!(
                    "min  {low} {unit}  max {high} {unit}  {} samples{unknown}{cut}",
                    s.samples
                )
            }
        };
        pickers::figures(ui, &text).on_hover_text("Point at a bar for the samples in it.");
    }

    /// Each limit with what was found, in words, shape and colour.
    pub(super) fn judgement(
        &self,
        ui: &mut Ui,
        answer: &Answer<Settings, Counted>,
        counted: &Counted,
    ) {
        let dark = ui.visuals().dark_mode;
        let limits = match &self.limits {
            Ok(limits) => limits,
            Err(text) => {
                ui.colored_label(theme::warning(dark), text);
                return;
            }
        };
        let speed_kmh = counted.travel.map(|t| 3.6 * t.speed_m_per_s);
        let advice = if answer.settings.channel == LIMITED_CHANNEL {
            format!("{}.", limits.edition)
        } else {
            format!(
                "{}. The standard judges the force below 20 Hz: choose a filtered channel for a verdict that counts.",
                limits.edition
            )
        };
        for judged in limits.judge(&counted.statistics, speed_kmh) {
            let (color, text) = verdict(&judged, dark);
            ui.scope(|ui| {
                ui.visuals_mut().override_text_color = Some(color);
                pickers::figures(ui, &text).on_hover_text(&advice);
            });
        }
        if speed_kmh.is_none() {
            pickers::figures(
                ui,
                "F_m + 3σ: its limit depends on the speed, which is not known here",
            );
        }
    }
}

fn verdict(judged: &Judged, dark: bool) -> (Color32, String) {
    let Judged {
        what,
        found,
        limit,
        unit,
        relation,
        is_held,
    } = judged;
    let (color, sign, word) = if *is_held {
        (theme::good(dark), "●", "held")
    } else {
        (theme::danger_text(dark), "▲", "NOT held")
    };
    (
        color,
        format!(
            "{sign} {what:<9} {} {relation} {limit:>5} {unit:<1} {word}",
            number(*found)
        ),
    )
}

/// Samples of each bin in % of all known ones.
pub(super) fn shares(histogram: &Histogram) -> Vec<f64> {
    let width = histogram.width();
    histogram
        .density()
        .iter()
        .map(|d| 100.0 * d * width)
        .collect()
}

/// The normal distribution in % of samples in a bin of a width: 100 · width / (σ √(2π)) · exp(−½ ((x − m)/σ)²).
pub(super) fn normal_curve(mean: f64, sigma: f64, width: f64) -> Vec<[f64; 2]> {
    (-80..=80)
        .map(|i| {
            let z = 0.05 * f64::from(i);
            let density = (-0.5 * z * z).exp() / (sigma * TAU.sqrt());
            [mean + z * sigma, 100.0 * width * density]
        })
        .collect()
}

pub(super) fn numbers(unit: &str, counted: &Counted) -> String {
    let histogram = &counted.histogram;
    let bins = 0..histogram.counts().len();
    let edges = |shift: usize| bins.clone().map(|i| histogram.edge(i + shift)).collect();
    pickers::table(&[
        (format!("from ({unit})"), edges(0)),
        (format!("to ({unit})"), edges(1)),
        (
            "samples".into(),
            histogram.counts().iter().map(|c| *c as f64).collect(),
        ),
        ("share (%)".into(), shares(histogram)),
    ])
}
