//! A comparison as one picture: curves over each other, differences, spectra and coherence.

use super::chart::{Chart, Place, range};
use super::{Compared, Curve};
use rt_core::svg::{decimals, escaped, rule};
use std::fmt::Write;

// Writing to a string cannot fail, so the results of `write!` are dropped in this file.

const WIDTH: f64 = 1400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = WIDTH - 24.0;
/// The legend begins here, a line a recording.
const LEGEND: f64 = 56.0;
const LEGEND_LINE: f64 = 20.0;
/// Space between two charts: numbers and names of axes.
const BETWEEN: f64 = 64.0;
const OVERLAY: f64 = 300.0;
const DIFFERENCE: f64 = 200.0;
const SPECTRA: f64 = 280.0;
/// Spectra are drawn up to twice the filter's cut-off.
const BEYOND_CUTOFF: f64 = 2.0;
/// Densities below this part of the largest are not looked at.
const LEAST_DENSITY: f64 = 1e-6;

/// Colours that people with any colour vision tell apart (Okabe and Ito): red, green, blue.
const COLOURS: [[u8; 3]; 6] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
];

/// Attributes of a curve: unfiltered ones are thin and pale. Pale and not transparent, which not every program
/// can show.
fn style(index: usize, is_filtered: bool) -> String {
    let (width, share) = if is_filtered { (1.6, 1.0) } else { (0.7, 0.4) };
    let pale = |c: u8| 255.0 - share * (255.0 - f64::from(c));
    let [r, g, b] = COLOURS[index % COLOURS.len()].map(pale);
    // Beyond the last colour curves are dashed.
    let dash = if index < COLOURS.len() {
        ""
    } else {
        r#" stroke-dasharray="6 3""#
    };
    format!(
        r#"fill="none" stroke="rgb({r:.0},{g:.0},{b:.0})" stroke-width="{width}" stroke-linejoin="round"{dash}"#
    )
}

/// A value with five significant digits.
fn number(value: f64) -> String {
    format!("{value:.*}", decimals(1e-4 * value.abs().max(1e-3)))
}

/// Draws a comparison as SVG.
pub fn svg(compared: &Compared) -> String {
    let curves: Vec<&Curve> = compared.curves().collect();
    let overlay_top = LEGEND + LEGEND_LINE * curves.len() as f64 + 24.0;
    let difference_top = overlay_top + OVERLAY + BETWEEN;
    let spectra_top = difference_top + DIFFERENCE + BETWEEN;
    let height = spectra_top + SPECTRA + BETWEEN;
    let mut out = String::new();
    head(&mut out, compared, height);
    legend(&mut out, compared, &curves);
    overlay(&mut out, compared, &curves, overlay_top);
    differences(&mut out, compared, difference_top);
    let middle = (LEFT + RIGHT) / 2.0;
    let cutoff = compared.reference.report.filter.cutoff_hz;
    let nyquist = curves.iter().map(|c| c.sample_rate_hz / 2.0);
    let highest = nyquist.fold(BEYOND_CUTOFF * cutoff, f64::min);
    spectra(
        &mut out,
        compared,
        &curves,
        Place {
            left: LEFT,
            right: middle - 20.0,
            top: spectra_top,
            bottom: spectra_top + SPECTRA,
        },
        highest,
    );
    coherence(
        &mut out,
        compared,
        Place {
            left: middle + 60.0,
            right: RIGHT,
            top: spectra_top,
            bottom: spectra_top + SPECTRA,
        },
        highest,
    );
    out.push_str("</svg>\n");
    out
}

fn head(out: &mut String, compared: &Compared, height: f64) {
    let stretch = &compared.stretch;
    let label = if compared.channel.label.is_empty() {
        &compared.channel.id
    } else {
        &compared.channel.label
    };
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">
<style>
.paper {{ fill: #fff }} .frame {{ fill: none; stroke: #888 }} .grid {{ stroke: #e2e2e2 }}
.support {{ stroke: #999; stroke-dasharray: 4 3 }} .zero {{ stroke: #666 }}
</style>
<rect class="paper" width="{WIDTH}" height="{height}"/>
<text x="{LEFT}" y="30" font-size="17">{}, {:.1} to {:.1} {} ({}); bold below {} Hz, pale unfiltered</text>"##,
        escaped(label),
        stretch.from,
        stretch.to,
        compared.axis.unit(),
        stretch.chosen,
        compared.reference.report.filter.cutoff_hz
    );
}

fn legend(out: &mut String, compared: &Compared, curves: &[&Curve]) {
    let unit = escaped(&compared.channel.unit);
    for (i, curve) in curves.iter().enumerate() {
        let y = LEGEND + LEGEND_LINE * i as f64;
        let s = &curve.report.filtered;
        let mut text = format!(
            "{}: mean {} {unit}, σ {} {unit}",
            escaped(&curve.name),
            number(s.mean),
            number(s.standard_deviation)
        );
        let against = i.checked_sub(1).and_then(|i| compared.others.get(i));
        match against.map(|a| (a.error_percent, a.difference.rms)) {
            Some((Some(error), _)) => {
                let _ = write!(text, ", error index {error:.2} %");
            }
            Some((None, rms)) => {
                let _ = write!(text, ", difference {} {unit} rms", number(rms));
            }
            None => text.push_str(" (what the others are compared with)"),
        }
        let _ = writeln!(
            out,
            r#"<polyline {} points="{LEFT},{:.1} {:.1},{:.1}"/>
<text x="{:.1}" y="{y:.1}">{text}</text>"#,
            style(i, true),
            y - 4.0,
            LEFT + 34.0,
            y - 4.0,
            LEFT + 42.0
        );
    }
}

/// Samples of the stretch alone, for the ranges of axes.
fn inside<'a>(
    compared: &'a Compared,
    curve: &'a Curve,
    values: &'a [f64],
) -> impl Iterator<Item = &'a f64> {
    let stretch = (compared.stretch.from, compared.stretch.to);
    values[super::track::part(&curve.positions, stretch)].iter()
}

/// Supports of the line behind the curves.
fn supports(out: &mut String, chart: &Chart, compared: &Compared) {
    let spans = &compared.reference.spans;
    let ends = spans.last().map(|s| s.to_m);
    for x in spans.iter().map(|s| s.from_m).chain(ends) {
        chart.upright(out, "support", x);
    }
}

fn overlay(out: &mut String, compared: &Compared, curves: &[&Curve], top: f64) {
    let place = Place {
        left: LEFT,
        right: RIGHT,
        top,
        bottom: top + OVERLAY,
    };
    let values = curves.iter().flat_map(|c| inside(compared, c, &c.values));
    let stretch = (compared.stretch.from, compared.stretch.to);
    let chart = Chart::new(place, stretch, range(values), false);
    let (x_name, y_name) = names(compared, &compared.channel.id);
    chart.frame(out, &x_name, &y_name);
    supports(out, &chart, compared);
    for is_filtered in [false, true] {
        for (i, curve) in curves.iter().enumerate() {
            let values = if is_filtered {
                &curve.filtered
            } else {
                &curve.values
            };
            chart.curve(out, &style(i, is_filtered), &curve.positions, values);
        }
    }
}

fn differences(out: &mut String, compared: &Compared, top: f64) {
    let place = Place {
        left: LEFT,
        right: RIGHT,
        top,
        bottom: top + DIFFERENCE,
    };
    let others = || compared.others.iter();
    let values = others().flat_map(|a| inside(compared, &a.curve, &a.difference.difference));
    let stretch = (compared.stretch.from, compared.stretch.to);
    let chart = Chart::new(place, stretch, range(values), false);
    let (x_name, y_name) = names(compared, "difference to the first");
    chart.frame(out, &x_name, &y_name);
    supports(out, &chart, compared);
    for is_filtered in [false, true] {
        for (i, against) in others().enumerate() {
            let values = if is_filtered {
                &against.filtered_difference
            } else {
                &against.difference.difference
            };
            let style = style(i + 1, is_filtered);
            chart.curve(out, &style, &against.curve.positions, values);
        }
    }
}

fn names(compared: &Compared, what: &str) -> (String, String) {
    let axis = compared.axis;
    let x = format!("{} in {}", axis.name(), axis.unit());
    let unit = &compared.channel.unit;
    let y = if unit.is_empty() {
        escaped(what)
    } else {
        format!("{} in {}", escaped(what), escaped(unit))
    };
    (x, y)
}

/// Edges of the report's bands.
fn band_edges(out: &mut String, chart: &Chart, compared: &Compared, highest: f64) {
    let mut edges: Vec<f64> = compared
        .reference
        .report
        .bands
        .iter()
        .flat_map(|b| [b.band.low_hz, b.band.high_hz])
        .filter(|edge| *edge > 0.0 && *edge < highest)
        .collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    for edge in edges {
        chart.upright(out, "support", edge);
    }
}

fn spectra(
    out: &mut String,
    compared: &Compared,
    curves: &[&Curve],
    place: Place,
    highest_hz: f64,
) {
    let logarithms: Vec<Vec<f64>> = curves
        .iter()
        .map(|c| c.spectrum.density.iter().map(|s| s.log10()).collect())
        .collect();
    let shown = curves.iter().zip(&logarithms).flat_map(|(c, l)| {
        let pairs = c.spectrum.frequencies_hz.iter().zip(l);
        // The mean is taken off, so nothing is to be seen at 0 Hz.
        pairs.filter(|(f, l)| **f > 0.0 && **f <= highest_hz && l.is_finite())
    });
    let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, l)| {
        (low.min(*l), high.max(*l))
    });
    let (low, high) = if low > high {
        (0.0, 1.0)
    } else {
        (
            low.max(high + LEAST_DENSITY.log10()).floor(),
            high.ceil().max(low.floor() + 1.0),
        )
    };
    let chart = Chart::new(place, (0.0, highest_hz), (low, high), true);
    let unit = escaped(&compared.channel.unit);
    let is_single = unit.chars().all(char::is_alphabetic);
    let squared = match unit.as_str() {
        "" => "1".to_owned(),
        unit if is_single => format!("{unit}²"),
        unit => format!("({unit})²"),
    };
    let y_name = format!("spectral density in {squared}/Hz");
    chart.frame(out, "frequency in Hz", &y_name);
    band_edges(out, &chart, compared, highest_hz);
    for (i, (curve, logarithms)) in curves.iter().zip(&logarithms).enumerate() {
        let frequencies = &curve.spectrum.frequencies_hz;
        chart.curve(out, &style(i, true), &frequencies[1..], &logarithms[1..]);
    }
}

fn coherence(out: &mut String, compared: &Compared, place: Place, highest_hz: f64) {
    let chart = Chart::new(place, (0.0, highest_hz), (0.0, 1.0), false);
    chart.frame(out, "frequency in Hz", "coherence with the first");
    band_edges(out, &chart, compared, highest_hz);
    let mut refusals = 0.0;
    for (i, against) in compared.others.iter().enumerate() {
        match &against.coherence {
            Ok(c) => chart.curve(
                out,
                &style(i + 1, true),
                &c.frequencies_hz[1..],
                &c.coherence[1..],
            ),
            Err(e) => {
                let y = place.top + 20.0 + 16.0 * refusals;
                let x = place.left + 10.0;
                let name = escaped(&against.curve.name);
                let problem = escaped(&e.to_string());
                let _ = writeln!(
                    out,
                    r#"<text x="{x:.1}" y="{y:.1}">{name}: {problem}</text>"#
                );
                refusals += 1.0;
            }
        }
    }
    rule(
        out,
        "zero",
        place.left,
        place.bottom,
        place.right,
        place.bottom,
    );
}
