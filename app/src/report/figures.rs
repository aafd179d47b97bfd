//! The pictures of a report, as charts that every back end draws.

use super::document::{Figure, decimal};
use super::evidence::force::ForceEvidence;
use super::evidence::timing::TimingEvidence;
use super::evidence::{Evidence, TrackingEvidence};
use crate::analysis::force_limits::ForceLimits;
use crate::chart::axis::{Axis as ChartAxis, Scale};
use crate::chart::{Chart, Dash, Height, Item, Pen};
use crate::comparison::Axis;
use crate::theme;
use eframe::egui::Color32;
use rt_core::signal::histogram::Histogram;
use std::f64::consts::TAU;

const BLUE: usize = 0;
const ORANGE: usize = 1;

fn color(index: usize) -> Color32 {
    theme::series(false, index)
}

const LIMIT: Color32 = Color32::from_rgb(169, 27, 33);
const MEAN: Color32 = Color32::from_rgb(18, 101, 47);
const FAINT: Color32 = Color32::from_rgb(160, 170, 178);

fn range<'a>(values: impl Iterator<Item = &'a f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |found, v| {
        let (low, high) = found.unwrap_or((*v, *v));
        Some((low.min(*v), high.max(*v)))
    })
}

fn points(x: &[f64], y: &[f64]) -> Vec<[f64; 2]> {
    x.iter().zip(y).map(|(x, y)| [*x, *y]).collect()
}

fn x_title(axis: Axis) -> &'static str {
    match axis {
        Axis::Place => "Place along the line (m)",
        Axis::Time => "Time of running (s)",
    }
}

fn chart(name: &str, x: ChartAxis, x_title: &str, y: ChartAxis, y_title: &str) -> Chart {
    Chart {
        name: name.into(),
        x,
        x_title: x_title.into(),
        y,
        y_title: y_title.into(),
        items: Vec::new(),
        legend: Vec::new(),
        height: Height::Share(1.0),
    }
}

/// A faint line at each support, the number of the span between.
fn supports(chart: &mut Chart, force: &ForceEvidence) {
    for x in force
        .supports_m
        .iter()
        .filter(|x| chart.x.place(**x) >= -1e-9)
    {
        chart.items.push(Item::Upright {
            x: *x,
            pen: Pen::dashed(FAINT, 0.8),
            text: String::new(),
        });
    }
}

/// The force along the line or in time: raw, filtered, F_m ± 3σ and the limits.
pub fn force(force: &ForceEvidence, limits: Option<(&ForceLimits, f64)>) -> Figure {
    let part = force.part.clone();
    let (x, raw) = (&force.positions[part.clone()], &force.raw[part.clone()]);
    let filtered = &force.filtered[part];
    let found = &force.report.filtered;
    let bounds = limits.map(|(l, speed_kmh)| [l.smallest_n, l.largest_n(speed_kmh)]);
    let three_sigma = [found.statistical_min, found.statistical_max];
    let all = raw.iter().chain(&three_sigma);
    let axis = ChartAxis::around(range(all.chain(bounds.iter().flatten())));
    let mut chart = chart(
        "Contact force",
        ChartAxis::exactly(force.stretch.0, force.stretch.1),
        x_title(force.axis),
        axis,
        "Contact force (N)",
    );
    supports(&mut chart, force);
    let thin = Pen::solid(FAINT, 0.9);
    let thick = Pen::solid(color(BLUE), 1.6);
    let mean = Pen::solid(MEAN, 1.6);
    let dashed = Pen::dashed(MEAN, 1.4);
    let dotted = Pen {
        dash: Dash::Dotted,
        ..Pen::solid(LIMIT, 1.8)
    };
    chart.items.push(Item::Line(points(x, raw), thin));
    chart.items.push(Item::Line(points(x, filtered), thick));
    let mut level = |y: f64, pen: Pen, text: String| {
        chart.items.push(Item::Level { y, pen, text });
    };
    level(found.mean, mean, String::new());
    for (y, sign) in three_sigma.into_iter().zip(["−", "+"]) {
        level(y, dashed, format!("F_m {sign} 3σ: {} N", decimal(y, 1)));
    }
    for (y, sign) in bounds.into_iter().flatten().zip(["−", "+"]) {
        level(y, dotted, format!("limit of F_m {sign} 3σ: {y:.0} N"));
    }
    let cutoff = force.report.filter.cutoff_hz;
    chart.legend = vec![
        (thin, "unfiltered".into()),
        (thick, format!("{cutoff:.0} Hz low-pass")),
        (mean, format!("F_m: {:.1} N", found.mean)),
        (dashed, "F_m ± 3σ".into()),
    ];
    let mut caption = format!(
        "Contact force in the evaluated stretch, unfiltered and after the {cutoff:.0} Hz low-pass, with F_m and F_m ± 3σ"
    );
    if let Some((limits, _)) = limits {
        chart.legend.push((dotted, "limits".into()));
        caption.push_str(&format!(" and the limits of {}", limits.edition));
    }
    if !force.supports_m.is_empty() {
        caption.push_str("; upright lines are supports");
    }
    Figure {
        caption: caption + ".",
        charts: vec![chart],
        aspect: 0.5,
    }
}

/// The spectrum of the force.
pub fn spectrum(force: &ForceEvidence) -> Option<Figure> {
    let density = force.spectrum.as_ref()?;
    let root: Vec<f64> = density.density.iter().map(|d| d.sqrt()).collect();
    let most = 0.5 * force.sample_rate_hz;
    let shown = density.frequencies_hz.iter().zip(&root).skip(1);
    let (x, y): (Vec<f64>, Vec<f64>) = shown.filter(|(f, _)| **f <= most.min(60.0)).unzip();
    let mut found = chart(
        "Spectrum of the contact force",
        ChartAxis::exactly_log(*x.first()?, most.min(60.0)),
        "Frequency (Hz)",
        ChartAxis::decades(range(y.iter().filter(|v| **v > 0.0)), 5),
        "Force (N/√Hz)",
    );
    let pen = Pen::solid(color(BLUE), 1.6);
    found.items.push(Item::Line(points(&x, &y), pen));
    found.items.push(Item::Upright {
        x: force.report.filter.cutoff_hz,
        pen: Pen::dashed(LIMIT, 1.0),
        text: "filter".into(),
    });
    Some(Figure {
        caption: format!(
            "Amplitude density of the unfiltered force in the stretch (Welch, Hann window, resolution {:.2} Hz, {:.0} independent \
             averages).",
            density.resolution_hz, density.effective_averages
        ),
        charts: vec![found],
        aspect: 0.36,
    })
}

/// How often the force has which value, with the normal curve.
pub fn histogram(force: &ForceEvidence) -> Option<Figure> {
    const BINS: usize = 40;
    let values = &force.filtered[force.part.clone()];
    let found = &force.report.filtered;
    let (low, high) = range(values.iter())?;
    let margin = (0.02 * (high - low)).max(1e-6);
    let histogram = Histogram::of(values, low - margin, high + margin, BINS).ok()?;
    let density = histogram.density();
    let edges: Vec<f64> = (0..=BINS).map(|i| histogram.edge(i)).collect();
    let normal = |x: f64| {
        let z = (x - found.mean) / found.standard_deviation;
        (-0.5 * z * z).exp() / (found.standard_deviation * TAU.sqrt())
    };
    let (from, to) = (
        found.statistical_min.min(low),
        found.statistical_max.max(high),
    );
    let curve: Vec<[f64; 2]> = (0..=200)
        .map(|i| from + (to - from) * f64::from(i) / 200.0)
        .map(|x| [x, normal(x)])
        .filter(|p| p[1].is_finite())
        .collect();
    let most = density.iter().chain(curve.iter().map(|p| &p[1]));
    let top = range(most).map_or(1.0, |r| r.1);
    let mut chart = chart(
        "Histogram of the contact force",
        ChartAxis::around(Some((from, to))),
        "Contact force (N)",
        ChartAxis::from_zero(1.08 * top),
        "Density (1/N)",
    );
    chart.items.push(Item::Bars {
        edges,
        heights: density,
        fill: color(BLUE).gamma_multiply(0.55),
    });
    let pen = Pen::solid(color(ORANGE), 1.5);
    chart.items.push(Item::Line(curve, pen));
    for (x, text) in [
        (found.mean, "F_m"),
        (found.statistical_max, "F_m + 3σ"),
        (found.statistical_min, "F_m − 3σ"),
    ] {
        chart.items.push(Item::Upright {
            x,
            pen: Pen::dashed(MEAN, 1.2),
            text: text.into(),
        });
    }
    chart.legend = vec![(pen, "normal with the same F_m and σ".into())];
    Some(Figure {
        caption: format!(
            "Distribution of the force after the {:.0} Hz low-pass in the stretch.",
            force.report.filter.cutoff_hz
        ),
        charts: vec![chart],
        aspect: 0.36,
    })
}

/// The motor's error.
pub fn tracking(tracking: &TrackingEvidence, force: &ForceEvidence) -> Figure {
    let part = crate::comparison::track::part(&tracking.positions, force.stretch);
    let (x, y) = (&tracking.positions[part.clone()], &tracking.values_mm[part]);
    let mut chart = chart(
        "Tracking error",
        ChartAxis::exactly(force.stretch.0, force.stretch.1),
        x_title(force.axis),
        ChartAxis::around(range(y.iter())),
        "Error (mm)",
    );
    supports(&mut chart, force);
    chart
        .items
        .push(Item::Line(points(x, y), Pen::solid(color(BLUE), 1.2)));
    Figure {
        caption: "Motor position less reference in the evaluated stretch.".into(),
        charts: vec![chart],
        aspect: 0.28,
    }
}

/// Mean and ±σ of each span.
pub fn spans(force: &ForceEvidence) -> Option<Figure> {
    if force.spans.len() < 2 {
        return None;
    }
    let middle = |from: f64, to: f64| 0.5 * (from + to);
    let (mut means, mut bars) = (Vec::new(), Vec::new());
    let (mut most, mut least) = (Vec::new(), Vec::new());
    for span in &force.spans {
        let Some(s) = &span.statistics else { continue };
        let x = middle(span.from_m, span.to_m);
        means.push([x, s.mean]);
        bars.push([
            [x, s.mean - s.standard_deviation],
            [x, s.mean + s.standard_deviation],
        ]);
        most.push([x, s.max]);
        least.push([x, s.min]);
    }
    let all: Vec<f64> = most.iter().chain(&least).map(|p| p[1]).collect();
    let mut chart = chart(
        "Statistics of each span",
        ChartAxis::exactly(force.stretch.0, force.stretch.1),
        x_title(force.axis),
        ChartAxis::around(range(all.iter())),
        "Contact force (N)",
    );
    supports(&mut chart, force);
    let bar = Pen::solid(color(BLUE), 3.0);
    for ends in bars {
        chart.items.push(Item::Path(ends.to_vec(), bar));
    }
    for (points, radius, dot, is_hollow) in [
        (means, 4.0, color(BLUE), false),
        (most, 3.5, color(ORANGE), true),
        (least, 3.5, color(ORANGE), true),
    ] {
        chart.items.push(Item::Dots {
            points,
            radius,
            color: dot,
            is_hollow,
        });
    }
    chart.items.push(Item::Level {
        y: force.report.filtered.mean,
        pen: Pen::dashed(MEAN, 1.2),
        text: String::new(),
    });
    Some(Figure {
        caption: "Each span: mean (dot), ± σ (bar), largest and smallest force (circles), after the low-pass; the dashed line is F_m \
                  of all."
            .into(),
        charts: vec![chart],
        aspect: 0.32,
    })
}

/// Wake-up latency and execution time.
pub fn timing(timing: &TimingEvidence, period_us: f64) -> Option<Figure> {
    const BINS: usize = 60;
    let all = [&timing.wake, &timing.exec];
    let most = all.iter().filter_map(|d| d.max()).fold(0.0, f64::max);
    let least = all
        .iter()
        .filter_map(|d| d.percentile(0.001))
        .filter(|v| *v > 0.0)
        .fold(f64::INFINITY, f64::min);
    if most <= 0.0 || !least.is_finite() {
        return None;
    }
    let x = ChartAxis::decades(Some((least, most.max(period_us))), 8);
    let edges: Vec<f64> = (0..=BINS)
        .map(|i| x.value(i as f64 / BINS as f64))
        .collect();
    let charts: Vec<Chart> = [
        ("Wake-up latency", &timing.wake),
        ("Execution time", &timing.exec),
    ]
    .into_iter()
    .enumerate()
    .map(|(i, (name, durations))| {
        // Logarithmic in the count too: one late cycle in a million has to be seen.
        let counts = durations.counts(&edges);
        let top = range(counts.iter()).map_or(1.0, |r| r.1).max(1.0);
        let title = if i == 0 { "" } else { "Duration (µs)" };
        let mut y = ChartAxis::decades(Some((1.0, top)), 9);
        y.low = 0.5;
        debug_assert!(y.scale == Scale::Log);
        let mut chart = chart(name, x, title, y, &format!("{name} (cycles)"));
        chart.items.push(Item::Bars {
            edges: edges.clone(),
            heights: counts,
            fill: color(BLUE).gamma_multiply(0.7),
        });
        chart.items.push(Item::Upright {
            x: period_us,
            pen: Pen::dashed(LIMIT, 1.2),
            text: "period".into(),
        });
        if let Some(max) = durations.max() {
            chart.items.push(Item::Upright {
                x: max,
                pen: Pen::dashed(color(ORANGE), 1.2),
                text: "longest".into(),
            });
        }
        chart
    })
    .collect();
    Some(Figure {
        caption: "How late the loop woke up and how long its cycles took; both axes are logarithmic, so that a single late cycle \
                  is seen."
            .into(),
        charts,
        aspect: 0.5,
    })
}

/// Curves of several recordings over each other.
pub fn together(all: &[Evidence]) -> Option<Figure> {
    let known: Vec<(&Evidence, &ForceEvidence)> = all
        .iter()
        .filter_map(|e| Some((e, e.force.as_ref().ok()?)))
        .collect();
    let (_, first) = known.first()?;
    if known.len() < 2 || known.iter().any(|(_, f)| f.axis != first.axis) {
        return None;
    }
    let parts = known.iter().map(|(_, f)| &f.filtered[f.part.clone()]);
    let from = known
        .iter()
        .map(|(_, f)| f.stretch.0)
        .fold(f64::INFINITY, f64::min);
    let to = known
        .iter()
        .map(|(_, f)| f.stretch.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut chart = chart(
        "Contact forces together",
        ChartAxis::exactly(from, to),
        x_title(first.axis),
        ChartAxis::around(range(parts.flatten())),
        "Contact force (N)",
    );
    supports(&mut chart, first);
    for (i, (_, force)) in known.iter().enumerate() {
        let pen = Pen::of_series(false, i);
        let part = force.part.clone();
        let line = points(&force.positions[part.clone()], &force.filtered[part]);
        chart.items.push(Item::Line(line, pen));
        chart.legend.push((pen, format!("no. {}", i + 1)));
    }
    Some(Figure {
        caption:
            "The evaluated forces of all recordings after the low-pass, numbered as in the table."
                .into(),
        charts: vec![chart],
        aspect: 0.4,
    })
}

/// The change of the force from round to round.
pub fn convergence(changes: Vec<[f64; 2]>, tolerance_pct: Option<f64>) -> Option<Figure> {
    let values: Vec<f64> = changes.iter().map(|c| c[1]).filter(|c| *c > 0.0).collect();
    let last = changes.last()?[0];
    let shown = values.iter().chain(tolerance_pct.iter());
    let mut chart = chart(
        "Change from round to round",
        // Long enough for whole numbers at the marks.
        ChartAxis::exactly(0.0, (last + 1.0).max(10.0)),
        "Round",
        ChartAxis::decades(range(shown), 6),
        "Change (% of F_m)",
    );
    let pen = Pen::solid(color(BLUE), 1.6);
    chart.items.push(Item::Path(changes.clone(), pen));
    chart.items.push(Item::Dots {
        points: changes,
        radius: 4.0,
        color: color(BLUE),
        is_hollow: false,
    });
    chart.items.extend(tolerance_pct.map(|y| Item::Level {
        y,
        pen: Pen::dashed(LIMIT, 1.4),
        text: "converged below".into(),
    }));
    (!values.is_empty()).then(|| Figure {
        caption: "Change of the 20 Hz force from round to round (in the first one from the run)."
            .into(),
        charts: vec![chart],
        aspect: 0.3,
    })
}
