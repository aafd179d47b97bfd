//! The recording of a run without a window: opened before anything moves, ended with the result.

use super::{Arguments, Report, final_state};
use crate::cli::Failure;
use crate::recording::{self, Recorded, Recording, Remarks, Subject};
use rt_core::record::header::TextMap;
use rt_core::timing::Timing;
use serde_json::Value;

/// Recovers what earlier runs left unfinished where this one will be recorded. To be called before the loop
/// starts: a large file takes a while.
pub fn recover_leftovers(arguments: &Arguments) {
    for text in arguments
        .record
        .iter()
        .flat_map(|d| recording::recover_leftovers(d))
    {
        eprintln!("note: {text}");
    }
}

/// Opens the recording, if one is asked for. Nothing has moved yet.
pub fn begin(arguments: &Arguments, subject: &Subject<'_>) -> Result<Option<Recording>, Failure> {
    let Some(directory) = &arguments.record else {
        return Ok(None);
    };
    let remarks = Remarks {
        operator: arguments.operator.clone(),
        specimen: arguments.specimen.clone(),
        notes: arguments.notes.clone(),
    };
    let recording = recording::header(subject, &remarks)
        .map(|header| recording::setup(directory, subject.loaded, header))
        .and_then(|setup| Recording::begin(setup, subject.layout, subject.params.specs()))
        .map_err(|e| Failure::Input(format!("the run cannot be recorded: {e}")))?;
    match recording.path() {
        Some(path) => eprintln!("recording to {}", path.display()),
        None => eprintln!(
            "waiting for a trigger; recordings go to {}",
            directory.display()
        ),
    }
    Ok(Some(recording))
}

/// Ends the recording with the result, and says where it is.
pub fn finish(report: &mut Report, result: Option<&Value>) -> Option<Recorded> {
    let recording = report.recording.take()?;
    let mut summary = TextMap::new();
    summary.insert("state".into(), final_state(&report.outcome).into());
    let keys = [
        "mean_n",
        "std_n",
        "max_n",
        "min_n",
        "loss_pct",
        "error_filtered_pct",
    ];
    for (key, value) in keys.map(|key| (key, result.and_then(|r| r[key].as_f64()))) {
        if let Some(value) = value {
            summary.insert(key.into(), value.to_string());
        }
    }
    let reason = match &report.outcome.fault {
        None => "the run is over".to_owned(),
        Some((fault, _, t_s)) => {
            let words = fault.describe(&report.layout);
            summary.insert("trip".into(), words.id);
            summary.insert("trip_t_s".into(), t_s.to_string());
            format!("the run was ended by a fault: {}", words.what)
        }
    };
    let lost_events = Timing::read(&report.timing.event_drops);
    if lost_events > 0 {
        summary.insert("lost_events".into(), lost_events.to_string());
        eprintln!("warning: {lost_events} events came too fast to be recorded");
    }
    let recorded = recording.finish(&reason, summary);
    if let Some(problem) = &recorded.problem {
        eprintln!("warning: the recording does not hold the whole run: {problem}");
    }
    for path in &recorded.paths {
        eprintln!("recorded to {}", path.display());
    }
    if recorded.paths.is_empty() {
        if recorded.waited_for_triggers && recorded.problem.is_none() {
            eprintln!("nothing was recorded: no trigger of the session fired");
        } else {
            eprintln!("pantobench session recover saves what was recorded before");
        }
    }
    Some(recorded)
}
