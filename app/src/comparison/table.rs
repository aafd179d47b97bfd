//! Comparisons as tables: statistics a recording and span, and aligned samples.

use super::Compared;
use rt_core::signal::losses::Losses;
use rt_core::signal::statistics::ForceStatistics;
use std::fmt::Write;

// Writing to a string cannot fail, so the results of `write!` are dropped in this file.

/// One row: a recording as a whole, or one of its spans.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Name of the recording.
    pub recording: &'a str,
    /// `None`: the whole stretch; else the span, by its first and last place in m.
    pub span_m: Option<(f64, f64)>,
    /// Statistics of the filtered samples; `None` if a span has none.
    pub filtered: Option<ForceStatistics>,
    /// Losses of contact; of forces and whole stretches only.
    pub losses: Option<Losses>,
    /// σ of each band, of whole stretches only.
    pub bands: Vec<f64>,
    /// Root mean square of the difference to the first recording, of whole stretches only.
    pub rms_difference: Option<f64>,
    /// Error index against the first recording in %: unfiltered, then by band.
    pub errors_percent: Vec<Option<f64>>,
}

/// The rows of a comparison: each recording as a whole, then its spans.
pub fn rows(compared: &Compared) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (i, curve) in compared.curves().enumerate() {
        let against = i.checked_sub(1).and_then(|i| compared.others.get(i));
        let report = &curve.report;
        let errors = against.map(|a| {
            let bands = a.band_error_percent.iter().copied();
            std::iter::once(a.error_percent).chain(bands).collect()
        });
        rows.push(Row {
            recording: &curve.name,
            span_m: None,
            filtered: Some(report.filtered),
            losses: compared.is_force().then_some(report.losses),
            bands: report.bands.iter().map(|b| b.by_filter).collect(),
            rms_difference: against.map(|a| a.difference.rms),
            errors_percent: errors.unwrap_or_default(),
        });
        rows.extend(curve.spans.iter().map(|span| Row {
            recording: &curve.name,
            span_m: Some((span.from_m, span.to_m)),
            filtered: span.statistics,
            losses: None,
            bands: Vec::new(),
            rms_difference: None,
            errors_percent: Vec::new(),
        }));
    }
    rows
}

/// A table of text: one line a recording and span; cells that do not apply are empty.
pub fn statistics_csv(compared: &Compared) -> String {
    let bands: Vec<String> = compared
        .reference
        .report
        .bands
        .iter()
        .map(|b| format!("{}-{}hz", b.band.low_hz, b.band.high_hz))
        .collect();
    let unit = &compared.channel.unit;
    let mut out = String::from("recording,from,to,samples");
    for name in ["mean", "std", "stat_max", "stat_min", "max", "min"] {
        let _ = write!(out, ",{}", cell(&with_unit(name, unit)));
    }
    out.push_str(",losses,longest_loss [s],loss [%]");
    for band in &bands {
        let _ = write!(out, ",{}", cell(&with_unit(&format!("std_{band}"), unit)));
    }
    let _ = write!(out, ",{}", cell(&with_unit("rms_difference", unit)));
    out.push_str(",error [%]");
    for band in &bands {
        let _ = write!(out, ",error_{band} [%]");
    }
    out.push('\n');
    for row in rows(compared) {
        let (from, to) = row
            .span_m
            .unwrap_or((compared.stretch.from, compared.stretch.to));
        let _ = write!(out, "{},{from},{to},", cell(row.recording));
        match row.filtered {
            Some(s) => {
                let _ = write!(
                    out,
                    "{},{},{},{},{},{},{}",
                    s.samples,
                    s.mean,
                    s.standard_deviation,
                    s.statistical_max,
                    s.statistical_min,
                    s.max,
                    s.min
                );
            }
            None => out.push_str("0,,,,,,"),
        }
        match row.losses {
            Some(l) => {
                let _ = write!(out, ",{},{},{}", l.count, l.longest_s, l.percent);
            }
            None => out.push_str(",,,"),
        }
        let numbers = |values: Vec<Option<f64>>, count: usize, out: &mut String| {
            for i in 0..count {
                out.push(',');
                if let Some(value) = values.get(i).copied().flatten() {
                    let _ = write!(out, "{value}");
                }
            }
        };
        numbers(
            row.bands.into_iter().map(Some).collect(),
            bands.len(),
            &mut out,
        );
        numbers(vec![row.rms_difference], 1, &mut out);
        numbers(row.errors_percent, 1 + bands.len(), &mut out);
        out.push('\n');
    }
    out
}

/// The aligned samples of the stretch: a line a sample of a recording, with the first recording and the
/// difference at the same position. NaN where there is no value.
pub fn series_csv(compared: &Compared) -> String {
    let unit = &compared.channel.unit;
    let position = with_unit(compared.axis.name(), compared.axis.unit());
    let names = ["value", "reference", "difference", "filtered_difference"];
    let names = names.map(|name| cell(&with_unit(name, unit)));
    let mut out = format!("recording,{position},{}\n", names.join(","));
    for against in &compared.others {
        let curve = &against.curve;
        let stretch = (compared.stretch.from, compared.stretch.to);
        for i in super::track::part(&curve.positions, stretch) {
            let _ = writeln!(
                out,
                "{},{},{},{},{},{}",
                cell(&curve.name),
                curve.positions[i],
                curve.values[i],
                against.difference.reference[i],
                against.difference.difference[i],
                against.filtered_difference[i]
            );
        }
    }
    out
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name} [{unit}]")
    }
}

/// In quotes where the table would not bear it otherwise.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
