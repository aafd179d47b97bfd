//! Recordings compared, as tables, pictures and JSON.

use super::{failure, open};
use crate::cli::{Failure, text};
use crate::comparison::{
    self, Against, Axis, Compared, ComparisonError, Curve, Request, picture, table,
};
use rt_core::signal::statistics::ForceStatistics;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `pantobench session compare`.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct CompareArguments {
    /// The recordings; the others are compared with the first.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// The channel.
    #[arg(long, value_name = "ID", default_value = "force")]
    channel: String,
    /// How samples are aligned; by place if all recordings have one, else by time.
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// From this place along the line, in m; where the evaluated spans begin if left out.
    #[arg(long, value_name = "M", conflicts_with_all = ["from_s", "to_s"])]
    from_m: Option<f64>,
    /// Up to this place, in m.
    #[arg(long, value_name = "M")]
    to_m: Option<f64>,
    /// From this time of running, in s, when aligned by time.
    #[arg(long, value_name = "S")]
    from_s: Option<f64>,
    /// Up to this time of running, in s.
    #[arg(long, value_name = "S", conflicts_with = "to_m")]
    to_s: Option<f64>,
    /// Write the statistics (.csv) or a picture (.svg); may be repeated. Files must not exist yet.
    #[arg(long, value_name = "OUT")]
    out: Vec<PathBuf>,
    /// Write the aligned samples and differences as a table (.csv).
    #[arg(long, value_name = "OUT.csv")]
    series: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The place along the line.
    Place,
    /// The time since the bench began to run.
    Time,
}

/// Compares recordings.
pub fn compare(a: &CompareArguments) -> Result<(), Failure> {
    let outputs: Vec<(&Path, Output)> =
        a.out.iter().map(|p| output(p)).collect::<Result<_, _>>()?;
    let sessions = a
        .files
        .iter()
        .map(|file| open(file))
        .collect::<Result<Vec<_>, _>>()?;
    let axis = axis(a)?;
    let request = Request {
        channel: a.channel.clone(),
        axis,
        from: a.from_m.or(a.from_s),
        to: a.to_m.or(a.to_s),
        ..Request::default()
    };
    let compared = comparison::compare(&sessions, &request).map_err(|e| match e {
        ComparisonError::Record(e) => failure(e),
        other => Failure::Input(other.to_string()),
    })?;
    for (path, kind) in &outputs {
        let text = match kind {
            Output::Table => table::statistics_csv(&compared),
            Output::Picture => picture::svg(&compared),
        };
        write_new(path, &text)?;
    }
    if let Some(path) = &a.series {
        write_new(path, &table::series_csv(&compared))?;
    }
    for note in &compared.notes {
        tell!("note: {note}");
    }
    if a.json {
        say!("{}", to_json(&compared, a));
    } else {
        print(&compared);
        for path in a.out.iter().chain(&a.series) {
            say!("written to {}", path.display());
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Output {
    Table,
    Picture,
}

fn output(path: &Path) -> Result<(&Path, Output), Failure> {
    let ending = path.extension().unwrap_or_default();
    if ending == "csv" {
        Ok((path, Output::Table))
    } else if ending == "svg" {
        Ok((path, Output::Picture))
    } else {
        Err(Failure::Input(format!(
            "--out is '{}'; expected a name that ends in .csv or .svg",
            path.display()
        )))
    }
}

/// A range in m asks for places, one in s for times.
fn axis(a: &CompareArguments) -> Result<Option<Axis>, Failure> {
    let by_place = a.from_m.is_some() || a.to_m.is_some();
    let by_time = a.from_s.is_some() || a.to_s.is_some();
    match (a.by, by_place, by_time) {
        (Some(By::Time), true, _) => Err(Failure::Input(
            "--from-m and --to-m are places; with --by time expected --from-s and --to-s".into(),
        )),
        (Some(By::Place), _, true) => Err(Failure::Input(
            "--from-s and --to-s are times; with --by place expected --from-m and --to-m".into(),
        )),
        (Some(By::Place), ..) | (None, true, _) => Ok(Some(Axis::Place)),
        (Some(By::Time), ..) | (None, _, true) => Ok(Some(Axis::Time)),
        (None, false, false) => Ok(None),
    }
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|e| {
            Failure::Input(format!(
                "cannot write '{shown}': {e}; choose a new name in a directory that you may write to"
            ))
        })?;
    file.write_all(text.as_bytes()).map_err(|e| {
        // Half a table is of no use; what went wrong matters more than whether it could be removed.
        let _ = std::fs::remove_file(path);
        Failure::Environment(format!("cannot write '{shown}': {e}"))
    })
}

fn statistics_json(s: &ForceStatistics) -> Value {
    json!({
        "samples": s.samples, "mean": s.mean, "std": s.standard_deviation, "stat_max": s.statistical_max,
        "stat_min": s.statistical_min, "max": s.max, "min": s.min,
    })
}

fn curve_json(curve: &Curve, is_force: bool) -> Value {
    let report = &curve.report;
    let bands: Vec<Value> = report
        .bands
        .iter()
        .map(|b| json!({ "low_hz": b.band.low_hz, "high_hz": b.band.high_hz, "std": b.by_filter }))
        .collect();
    let spans: Vec<Value> = curve
        .spans
        .iter()
        .map(|s| {
            json!({
                "from_m": s.from_m, "to_m": s.to_m, "unknown": s.unknown,
                "statistics": s.statistics.as_ref().map(statistics_json),
            })
        })
        .collect();
    json!({
        "name": curve.name,
        "title": curve.title,
        "speed_kmh": curve.speed_kmh,
        "sample_rate_hz": curve.sample_rate_hz,
        "filter": report.filter,
        "filtered": statistics_json(&report.filtered),
        "raw": statistics_json(&report.raw),
        "missing": report.gaps.missing,
        "losses": is_force.then_some(report.losses),
        "bands": bands,
        "spans": spans,
        "spectrum": {
            "frequencies_hz": curve.spectrum.frequencies_hz, "density": curve.spectrum.density,
            "averages": curve.spectrum.effective_averages,
        },
    })
}

fn against_json(against: &Against) -> Value {
    let found = &against.difference;
    let bands: Vec<Value> = found
        .bands
        .iter()
        .zip(&against.band_error_percent)
        .map(|(b, error)| {
            json!({
                "low_hz": b.band.low_hz, "high_hz": b.band.high_hz, "rms": b.by_filter, "error_pct": error,
            })
        })
        .collect();
    let coherence = match &against.coherence {
        Ok(c) => json!({
            "frequencies_hz": c.frequencies_hz, "coherence": c.coherence, "averages": c.effective_averages,
        }),
        Err(_) => Value::Null,
    };
    json!({
        "name": against.curve.name,
        "compared": found.compared,
        "outside": found.outside,
        "unknown": found.unknown,
        "rms": found.rms,
        "resampling_rms": found.resampling_rms,
        "error_pct": against.error_percent,
        "bands": bands,
        "coherence": coherence,
        "coherence_problem": against.coherence.as_ref().err().map(ToString::to_string),
    })
}

fn to_json(compared: &Compared, a: &CompareArguments) -> Value {
    let is_force = compared.is_force();
    json!({
        "channel": compared.channel.id,
        "unit": compared.channel.unit,
        "by": compared.axis.name(),
        "range": { "from": compared.stretch.from, "to": compared.stretch.to, "chosen": compared.stretch.chosen },
        "sessions": compared.curves().map(|c| curve_json(c, is_force)).collect::<Vec<_>>(),
        "against_first": compared.others.iter().map(against_json).collect::<Vec<_>>(),
        "notes": compared.notes,
        "out": a.out.iter().chain(&a.series).collect::<Vec<_>>(),
    })
}

fn print(compared: &Compared) {
    let stretch = &compared.stretch;
    say!(
        "{} [{}] by {}, {:.2} to {:.2} {}: {}\n",
        compared.channel.id,
        compared.channel.unit,
        compared.axis.name(),
        stretch.from,
        stretch.to,
        compared.axis.unit(),
        stretch.chosen
    );
    let bands: Vec<String> = compared
        .reference
        .report
        .bands
        .iter()
        .map(|b| format!("{}–{} Hz", b.band.low_hz, b.band.high_hz))
        .collect();
    let mut heading = vec!["recording".to_owned(), "span, m".into()];
    heading.extend(["mean", "σ", "max", "min", "losses"].map(str::to_owned));
    heading.extend(bands.iter().map(|b| format!("σ {b}")));
    heading.push("error %".into());
    heading.extend(bands.iter().map(|b| format!("{b} %")));
    let percent = |error: Option<f64>| error.map_or_else(String::new, |e| format!("{e:.2}"));
    let rows: Vec<Vec<String>> = table::rows(compared)
        .iter()
        .map(|row| {
            let of = |value: fn(&ForceStatistics) -> f64| {
                row.filtered
                    .as_ref()
                    .map_or_else(|| "–".into(), |s| text::number(value(s)))
            };
            let span = row
                .span_m
                .map_or_else(|| "all".into(), |(from, to)| format!("{from:.1}–{to:.1}"));
            let mut cells = vec![row.recording.to_owned(), span];
            cells.extend([
                of(|s| s.mean),
                of(|s| s.standard_deviation),
                of(|s| s.max),
                of(|s| s.min),
            ]);
            cells.push(row.losses.map_or_else(String::new, |l| l.count.to_string()));
            let count = bands.len();
            let band = |i: usize| {
                row.bands
                    .get(i)
                    .map_or_else(String::new, |b| text::number(*b))
            };
            cells.extend((0..count).map(band));
            let error = |i: usize| percent(row.errors_percent.get(i).copied().flatten());
            cells.extend((0..=count).map(error));
            cells
        })
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    text::table(&heading, &rows);
    say!();
    for against in &compared.others {
        let found = &against.difference;
        say!(
            "{}: {} samples compared, difference {} {} rms ({} of it by resampling); {}",
            against.curve.name,
            found.compared,
            text::number(found.rms),
            compared.channel.unit,
            text::number(found.resampling_rms),
            coherence_text(against)
        );
    }
}

/// Where the coherence is lost, in a few words.
fn coherence_text(against: &Against) -> String {
    const HALF: f64 = 0.5;
    match &against.coherence {
        Err(e) => format!("no coherence: {e}"),
        Ok(c) => {
            let pairs = c.frequencies_hz.iter().zip(&c.coherence).skip(1);
            let lost = pairs.clone().find(|(_, c)| **c < HALF);
            match lost {
                Some((f, _)) => format!("coherent (γ² ≥ {HALF}) up to {f:.1} Hz"),
                None => format!("coherent (γ² ≥ {HALF}) at all frequencies"),
            }
        }
    }
}
