//! Recordings written for other programs: tables, and stretches as recordings of their own.

use super::{failure, info_json, open};
use crate::cli::Failure;
use crate::parquet_export;
use rt_core::record::disk::ENDING;
use rt_core::record::export;
use rt_core::record::reader::{Session, TimeRange};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Arguments of `pantobench session export`.
#[derive(clap::Args)]
pub struct ExportArguments {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A table, or a recording of its own.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// The file to write; it must not exist yet.
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// From this time since the loop started, in s.
    #[arg(long, value_name = "S")]
    from: Option<f64>,
    /// Up to just before this time, in s.
    #[arg(long, value_name = "S")]
    until: Option<f64>,
    /// Channels of the table; all if left out.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    channels: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table of text with units in its heading.
    Csv,
    /// A column a channel, for pandas, pyarrow, DuckDB …; units and the session in its metadata.
    Parquet,
    /// A recording.
    Mcap,
}

/// The stretch asked for; refused if it makes no sense or holds no frame.
fn stretch(a: &ExportArguments, session: &Session) -> Result<TimeRange, Failure> {
    for (name, value) in [("--from", a.from), ("--until", a.until)] {
        if let Some(value) = value.filter(|v| !(v.is_finite() && *v >= 0.0)) {
            return Err(Failure::Input(format!(
                "{name} is {value}; expected seconds since the loop started, 0 or more"
            )));
        }
    }
    let mut range = TimeRange::ALL;
    if let Some(from) = a.from {
        range.from = TimeRange::seconds(from, from).from;
    }
    if let Some(until) = a.until {
        range.to = TimeRange::seconds(until, until).to;
    }
    if session.frames(range).next().is_none() {
        let seconds = |t_nanos: u64| t_nanos as f64 * 1e-9;
        let first = session.frame_at(0).map_err(failure)?;
        let first = first.map_or(0.0, |f| seconds(f.frame.t_nanos));
        let last = first + session.info().seconds;
        return Err(Failure::Input(format!(
            "no frame lies in this stretch; the recording goes from {first:.3} s to {last:.3} s"
        )));
    }
    Ok(range)
}

/// Writes a whole recording in the format that the ending of the name says.
pub(crate) fn whole(recording: &Path, out: &Path) -> Result<(), String> {
    let to = match out.extension().and_then(|e| e.to_str()) {
        Some("csv") => Format::Csv,
        Some("parquet") => Format::Parquet,
        Some(ENDING) => Format::Mcap,
        _ => return Err("the name must end in .csv, .parquet or .mcap".into()),
    };
    let arguments = ExportArguments {
        file: recording.to_owned(),
        to,
        out: out.to_owned(),
        from: None,
        until: None,
        channels: Vec::new(),
        json: false,
    };
    export(&arguments).map_err(Failure::into_text)
}

/// Writes a recording for other programs.
pub fn export(a: &ExportArguments) -> Result<(), Failure> {
    let session = open(&a.file)?;
    let range = stretch(a, &session)?;
    let (out, frames) = match a.to {
        Format::Csv => (a.out.clone(), export_csv(a, &session, range)?),
        Format::Parquet => {
            let channels: Vec<&str> = a.channels.iter().map(String::as_str).collect();
            let rows = parquet_export::write(&session, &channels, range, &a.out);
            (a.out.clone(), rows.map_err(failure)?)
        }
        Format::Mcap => export_mcap(a, &session, range)?,
    };
    let info = session.info();
    if a.json {
        let mut map = info_json(&info);
        map.extend([("frames".into(), json!(frames)), ("out".into(), json!(out))]);
        if !a.channels.is_empty() {
            map.insert("channels".into(), json!(a.channels));
        }
        say!("{}", Value::Object(map));
    } else {
        say!("{frames} frames written to {}", out.display());
    }
    Ok(())
}

fn export_csv(a: &ExportArguments, session: &Session, range: TimeRange) -> Result<u64, Failure> {
    let channels: Vec<&str> = a.channels.iter().map(String::as_str).collect();
    for id in &channels {
        session.column_index(id).map_err(failure)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&a.out)
        .map_err(|e| {
            let out = a.out.display();
            Failure::Input(format!(
                "cannot write '{out}': {e}; choose a new name in a directory that you may write to"
            ))
        })?;
    let written = export::write_csv(session, &channels, range, BufWriter::new(file), &a.out);
    written.map_err(|e| {
        // Half a table is of no use; what went wrong matters more than whether it could be removed.
        let _ = std::fs::remove_file(&a.out);
        failure(e)
    })
}

fn export_mcap(
    a: &ExportArguments,
    session: &Session,
    range: TimeRange,
) -> Result<(PathBuf, u64), Failure> {
    if !a.channels.is_empty() {
        return Err(Failure::Input(
            "--channels is for --to csv and --to parquet: a recording keeps all channels, because its checksums cover them all"
                .into(),
        ));
    }
    let out = a.out.display();
    if a.out.extension().is_none_or(|e| e != ENDING) {
        return Err(Failure::Input(format!(
            "--out is '{out}'; expected a name that ends in .{ENDING}"
        )));
    }
    if a.out.exists() {
        return Err(Failure::Input(format!(
            "'{out}' exists already; choose a new name"
        )));
    }
    let directory = a.out.parent().unwrap_or(Path::new("."));
    let stem = a.out.file_stem().unwrap_or_default().to_string_lossy();
    export::write_slice(session, range, directory, &stem).map_err(failure)
}
