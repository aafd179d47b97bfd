//! Recordings in tables and words: those of a directory, and one in full.

use super::{PathArguments, failure, info_json, open};
use crate::cli::{Failure, text};
use crate::event_record;
use crate::widened;
use rt_core::record::check::SessionInfo;
use rt_core::record::list::{self, ListEntry};
use rt_core::record::reader::{Session, TimeRange};
use serde_json::{Value, json};

/// Lists a directory.
pub fn list(a: &PathArguments) -> Result<(), Failure> {
    let entries = list::list(&a.path).map_err(failure)?;
    if a.json {
        let sessions: Vec<Value> = entries.iter().map(entry_json).collect();
        say!("{}", json!({ "sessions": sessions }));
        return Ok(());
    }
    if entries.is_empty() {
        say!("no recordings in '{}'", a.path.display());
        return Ok(());
    }
    let rows: Vec<Vec<String>> = entries.iter().map(entry_row).collect();
    let heading = [
        "file", "date", "title", "specimen", "line", "km/h", "s", "mean N", "σ N", "state",
    ];
    text::table(&heading, &rows);
    for entry in &entries {
        if let Err(e) = &entry.session {
            tell!("{e}");
        }
    }
    Ok(())
}

fn entry_json(entry: &ListEntry) -> Value {
    let listed = match &entry.session {
        Ok(listed) => listed,
        Err(e) => {
            return json!({ "path": entry.path, "ok": false, "error": e.to_string() });
        }
    };
    let mut map = info_json(&listed.info);
    map.extend([
        ("path".into(), json!(entry.path)),
        ("error".into(), Value::Null),
        ("date".into(), json!(listed.date)),
        ("title".into(), json!(listed.title)),
        ("specimen".into(), json!(listed.specimen)),
        ("line".into(), json!(listed.line)),
        ("speed_kmh".into(), json!(listed.speed_kmh)),
        ("reason".into(), json!(listed.reason)),
        ("result".into(), json!(listed.result)),
    ]);
    Value::Object(map)
}

fn entry_row(entry: &ListEntry) -> Vec<String> {
    let name = entry.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let Ok(listed) = &entry.session else {
        return vec![name, "cannot be read".into()];
    };
    let number = |key: &str| {
        let value = listed.result.get(key).and_then(|s| s.parse().ok());
        value.map_or_else(|| "–".to_owned(), |x: f64| format!("{x:.2}"))
    };
    let state = match (listed.info.finished, listed.result.get("trip")) {
        (false, _) => "unfinished".to_owned(),
        (true, Some(trip)) => trip.clone(),
        // A recording around a trigger ends before the run has a result.
        (true, None) => {
            let state = listed.result.get("state");
            state.unwrap_or(&listed.reason).clone()
        }
    };
    let state = if listed.info.recovered {
        format!("{state} (recovered)").trim().to_owned()
    } else {
        state
    };
    let speed = listed.speed_kmh;
    vec![
        name,
        listed.date.clone(),
        listed.title.clone(),
        listed.specimen.clone(),
        listed.line.clone(),
        speed.map_or_else(|| "–".into(), |v| format!("{v:.0}")),
        format!("{:.1}", listed.info.seconds),
        number("mean_n"),
        number("std_n"),
        state,
    ]
}

/// Shows one recording.
pub fn info(a: &PathArguments) -> Result<(), Failure> {
    let session = open(&a.path)?;
    let (info, header) = (session.info(), session.header());
    let events = session.events(TimeRange::ALL).unwrap_or_else(|e| {
        tell!("the events cannot be shown: {e}");
        Vec::new()
    });
    let end = session.end().cloned().unwrap_or_default();
    if a.json {
        let mut map = info_json(&info);
        map.extend([
            ("title".into(), json!(header.title)),
            ("specimen".into(), json!(header.specimen)),
            ("line".into(), json!(header.line)),
            ("speed_kmh".into(), json!(header.speed_kmh)),
            ("operator".into(), json!(header.operator)),
            ("notes".into(), json!(header.notes)),
            ("environment".into(), json!(header.environment)),
            ("software_version".into(), json!(header.software_version)),
            ("period_s".into(), json!(header.period_nanos as f64 * 1e-9)),
            ("parameters".into(), json!(header.parameters)),
            ("files".into(), json!(header.files)),
            ("hashes".into(), json!(header.model_hashes)),
            ("real_time".into(), json!(header.real_time)),
            ("further".into(), json!(header.further)),
            ("reason".into(), json!(end.reason)),
            ("result".into(), json!(end.result)),
            (
                "event_list".into(),
                events.iter().map(event_record::to_json).collect(),
            ),
        ]);
        say!("{}", Value::Object(map));
        return Ok(());
    }
    print_info(&session, &info);
    for line in widened::of_recording(header, &events) {
        say!("\nwith widened limits: {line}");
    }
    say!("\nevents");
    for event in &events {
        say!("{:10.3} s  {}", event.t_nanos as f64 * 1e-9, event.text);
    }
    if !info.finished {
        tell!(
            "the recording was cut off; pantobench session recover {} makes a whole file of it",
            a.path.display()
        );
    }
    Ok(())
}

fn print_info(session: &Session, info: &SessionInfo) {
    let header = session.header();
    let end = session.end().cloned().unwrap_or_default();
    let speed = header.speed_kmh.map_or_else(String::new, |v| v.to_string());
    let lines = [
        ("title", header.title.clone()),
        ("bench", header.bench.clone()),
        ("specimen", header.specimen.clone()),
        ("line", header.line.clone()),
        ("speed, km/h", speed),
        ("operator", header.operator.clone()),
        ("notes", header.notes.clone()),
        ("loop started", info.t0.clone()),
        ("seconds", format!("{:.3}", info.seconds)),
        (
            "period, ms",
            (header.period_nanos as f64 * 1e-6).to_string(),
        ),
        ("frames", info.frames.to_string()),
        ("lost frames", info.drops.to_string()),
        ("software", header.software_version.clone()),
        ("format version", info.version.to_string()),
        ("ended", end.reason),
    ];
    for (name, value) in lines.iter().filter(|line| !line.1.is_empty()) {
        say!("{name:15} {value}");
    }
    let maps = [
        ("result", &end.result),
        ("environment", &header.environment),
        ("real time", &header.real_time),
        ("files", &header.model_hashes),
    ];
    for (name, map) in maps.iter().filter(|map| !map.1.is_empty()) {
        say!("\n{name}");
        for (key, value) in *map {
            say!("  {key:18} {value}");
        }
    }
    say!("\nparameters at the start");
    for (id, value) in &header.parameters {
        say!("  {id:18} {value}");
    }
    say!();
    let rows: Vec<Vec<String>> = header
        .channels
        .iter()
        .map(|c| vec![c.id.clone(), c.label.clone(), c.unit.clone()])
        .collect();
    text::table(&["channel", "what", "unit"], &rows);
}
