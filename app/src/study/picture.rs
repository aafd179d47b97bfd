//! The picture of a study: how mean force and standard deviation are distributed, and how they depend on each varied
//! quantity, with the median and the middle eight tenths.

use super::Loaded;
use super::case::OUTPUTS;
use super::store::TaskResult;
use rt_core::svg::{Axis, decimals, escaped, rule};
use std::fmt::Write;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 62.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 14.0;

/// What is drawn: name, place among the outputs.
const SHOWN: [(&str, usize); 2] = [("mean force F_m (N)", 0), ("standard deviation σ (N)", 1)];

/// The picture as SVG. Failed samples are counted in its title.
pub fn svg(study: &Loaded, results: &[TaskResult]) -> String {
    let good: Vec<(&[f64], &[f64; OUTPUTS.len()])> = study
        .values
        .iter()
        .zip(results)
        .filter_map(|(row, r)| Some((row.as_slice(), r.outcome.as_ref().ok()?)))
        .collect();
    let rows = 1 + study.study.vary.len();
    let (width, height) = (2.0 * WIDTH, 40.0 + HEIGHT * rows as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<style>.axis{{stroke:#444;stroke-width:1}}\
         .grid{{stroke:#ddd;stroke-width:1}}.band{{fill:#1f77b4;fill-opacity:.15}}.median{{stroke:#d62728;\
         stroke-width:2;fill:none}}.dot{{fill:#1f77b4;fill-opacity:.55}}.bar{{fill:#1f77b4}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let failed = results.len() - good.len();
    let title = format!(
        "{}: {} samples, {failed} failed",
        study.study.title,
        results.len()
    );
    text(&mut out, 14.0, 24.0, "start", 16.0, &title);
    for (column, (name, output)) in SHOWN.iter().enumerate() {
        let x0 = WIDTH * column as f64;
        let values: Vec<f64> = good
            .iter()
            .map(|(_, o)| o[*output])
            .filter(|v| v.is_finite())
            .collect();
        histogram(&mut out, (x0, 40.0), name, &values);
        for (d, quantity) in study.study.vary.keys().enumerate() {
            let points: Vec<(f64, f64)> = good
                .iter()
                .map(|(row, o)| (row[d], o[*output]))
                .filter(|(_, y)| y.is_finite())
                .collect();
            scatter(
                &mut out,
                (x0, 40.0 + HEIGHT * (d + 1) as f64),
                quantity,
                name,
                &points,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, size: f64, words: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{}</text>",
        escaped(words)
    );
}

/// An axis that holds all values, also if they are all the same.
fn axis(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    let (low, high) = if low.is_finite() {
        (low, high)
    } else {
        (0.0, 1.0)
    };
    let room = if high > low {
        0.05 * (high - low)
    } else {
        0.5 * low.abs().max(1.0)
    };
    Axis {
        low: low - room,
        high: high + room,
        from,
        to,
    }
}

fn frame(out: &mut String, (x0, y0): (f64, f64), x: &Axis, y: &Axis, labels: (&str, &str)) {
    for (axis, is_x) in [(x, true), (y, false)] {
        let step = axis.tick_step(6.0);
        for tick in axis.ticks(6.0) {
            let at = axis.at(tick);
            let words = format!("{tick:.*}", decimals(step));
            if is_x {
                rule(out, "grid", at, y.from, at, y.to);
                text(out, at, y.from + 16.0, "middle", 11.0, &words);
            } else {
                rule(out, "grid", x.from, at, x.to, at);
                text(out, x.from - 6.0, at + 4.0, "end", 11.0, &words);
            }
        }
    }
    rule(out, "axis", x.from, y.from, x.to, y.from);
    rule(out, "axis", x.from, y.from, x.from, y.to);
    text(
        out,
        0.5 * (x.from + x.to),
        y.from + 34.0,
        "middle",
        12.0,
        labels.0,
    );
    text(out, x0 + 12.0, y0 + 18.0, "start", 12.0, labels.1);
}

fn histogram(out: &mut String, (x0, y0): (f64, f64), name: &str, values: &[f64]) {
    let x = axis(values.iter().copied(), x0 + LEFT, x0 + WIDTH - RIGHT);
    // Sturges' rule.
    let bins = ((values.len().max(1) as f64).log2().ceil() as usize + 1).max(4);
    let mut counts = vec![0_usize; bins];
    for v in values {
        let part = (v - x.low) / (x.high - x.low);
        counts[((part * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let y = Axis {
        low: 0.0,
        high: 1.05 * most,
        from: y0 + HEIGHT - BOTTOM,
        to: y0 + TOP,
    };
    frame(out, (x0, y0), &x, &y, (name, "number of samples"));
    for (i, count) in counts.iter().enumerate() {
        let at = |i: usize| x.from + (x.to - x.from) * i as f64 / bins as f64;
        let top = y.at(*count as f64);
        let _ = writeln!(
            out,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            at(i) + 0.5,
            (at(i + 1) - at(i) - 1.0).max(0.5),
            y.from - top
        );
    }
}

/// The value below which a part of sorted values lies, linearly between them.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() - 1) as f64;
    let (i, rest) = (at.floor() as usize, at.fract());
    let next = sorted[(i + 1).min(sorted.len() - 1)];
    sorted[i] + rest * (next - sorted[i])
}

fn scatter(
    out: &mut String,
    (x0, y0): (f64, f64),
    quantity: &str,
    name: &str,
    points: &[(f64, f64)],
) {
    let x = axis(points.iter().map(|p| p.0), x0 + LEFT, x0 + WIDTH - RIGHT);
    let y = axis(points.iter().map(|p| p.1), y0 + HEIGHT - BOTTOM, y0 + TOP);
    frame(out, (x0, y0), &x, &y, (quantity, name));
    // Samples in order of the quantity, as many in each group: 10, 50 and 90 % of each.
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let size = (sorted.len() / 8).max(5);
    let groups: Vec<[f64; 4]> = sorted
        .chunks(size)
        .filter(|group| group.len() >= 5)
        .map(|group| {
            let mut ys: Vec<f64> = group.iter().map(|p| p.1).collect();
            ys.sort_by(f64::total_cmp);
            let mean = group.iter().map(|p| p.0).sum::<f64>() / group.len() as f64;
            [
                mean,
                quantile(&ys, 0.1),
                quantile(&ys, 0.5),
                quantile(&ys, 0.9),
            ]
        })
        .collect();
    if groups.len() > 1 {
        let point = |px: f64, py: f64| format!("{:.1},{:.1}", x.at(px), y.at(py));
        let there = groups.iter().map(|g| point(g[0], g[3]));
        let back = groups.iter().rev().map(|g| point(g[0], g[1]));
        let area: Vec<String> = there.chain(back).collect();
        let median: Vec<String> = groups.iter().map(|g| point(g[0], g[2])).collect();
        let _ = writeln!(
            out,
            "<polygon class=\"band\" points=\"{}\"/>",
            area.join(" ")
        );
        let _ = writeln!(
            out,
            "<polyline class=\"median\" points=\"{}\"/>",
            median.join(" ")
        );
    }
    for (px, py) in points {
        let _ = writeln!(
            out,
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
            x.at(*px),
            y.at(*py)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_values() {
        let sorted = [1.0, 2.0, 3.0, 5.0];
        assert_eq!(
            [0.0, 0.5, 1.0].map(|p| quantile(&sorted, p)),
            [1.0, 2.5, 5.0]
        );
        assert!((quantile(&sorted, 0.9) - 4.4).abs() < 1e-12);
    }

    #[test]
    fn an_axis_holds_everything_and_nothing() {
        let axis = |v: &[f64]| super::axis(v.iter().copied(), 0.0, 100.0);
        assert!(
            axis(&[]).low < axis(&[]).high && axis(&[3.0]).low < 3.0 && axis(&[3.0]).high > 3.0
        );
        assert!(axis(&[1.0, 2.0]).at(1.5) > 0.0);
    }
}
