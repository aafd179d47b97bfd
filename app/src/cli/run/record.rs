//! The recording of a run without a window: opened before anything moves, ended with the result.

use super::{Arguments, Report};
use crate::cli::Failure;
use crate::recording::{self, Environment, Recorded, Recording, Remarks, Subject};
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
        tell!("note: {text}");
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
        environment: Environment {
            rain: arguments.rain.clone(),
            ice: arguments.ice.clone(),
            temperature_c: arguments.temperature,
            wind_m_per_s: arguments.wind,
            tunnel: arguments.tunnel.clone(),
        },
    };
    let recording = recording::header(subject, &remarks)
        .map(|header| recording::setup(directory, subject.loaded, header))
        .and_then(|setup| Recording::begin(setup, subject.layout, subject.params.specs()))
        .map_err(|e| Failure::Input(format!("the run cannot be recorded: {e}")))?;
    match recording.path() {
        Some(path) => tell!("recording to {}", path.display()),
        None => tell!(
            "waiting for a trigger; recordings go to {}",
            directory.display()
        ),
    }
    Ok(Some(recording))
}

/// Ends the recording with the result, and says where it is.
pub fn finish(report: &mut Report, result: Option<&Value>) -> Option<Recorded> {
    let recording = report.recording.take()?;
    let (reason, mut summary) = recording::summary(&report.outcome, result, &report.layout);
    let lost_events = Timing::read(&report.timing.event_drops);
    if lost_events > 0 {
        summary.insert("lost_events".into(), lost_events.to_string());
        tell!("warning: {lost_events} events came too fast to be recorded");
    }
    let recorded = recording.finish(&reason, summary);
    if let Some(problem) = &recorded.problem {
        tell!("warning: the recording does not hold the whole run: {problem}");
    }
    for path in &recorded.paths {
        tell!("recorded to {}", path.display());
    }
    if recorded.paths.is_empty() {
        if recorded.waited_for_triggers && recorded.problem.is_none() {
            tell!("nothing was recorded: no trigger of the session fired");
        } else {
            tell!("pantobench session recover saves what was recorded before");
        }
    }
    Some(recorded)
}
