//! The recording of a session that was run otherwise: it names its parent, carries the same files, and can be
//! computed again like every other.

use super::Alterations;
use crate::conductor::Outcome;
use crate::provenance;
use crate::recording::{self, Recorded, Recording};
use crate::replay::ReplayError;
use crate::session::LoadedSession;
use rt_core::channel::Layout;
use rt_core::param::ParamSet;
use rt_core::record::header::{SessionHeader, TextMap};
use rt_core::record::reader::Session;
use rt_core::record::setup::RecorderSetup;
use serde_json::Value;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// How the new run is recorded.
pub fn setup(
    parent: &Session,
    directory: &Path,
    alterations: &Alterations,
    loaded: &LoadedSession,
    layout: &Layout,
    params: &ParamSet,
) -> Result<RecorderSetup, ReplayError> {
    let unreadable = |path: &Path, e: std::io::Error| {
        ReplayError::Recording(format!("cannot read '{}': {e}", path.display()))
    };
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut header = SessionHeader {
        title: format!(
            "{}, what if: {}",
            parent.header().title,
            alterations.words()
        ),
        operator: String::new(),
        notes: String::new(),
        environment: TextMap::new(),
        software_version: provenance::VERSION.to_owned(),
        // Fits: 2⁶⁴ ns are 585 years.
        t0_unix_nanos: since_1970.unwrap_or_default().as_nanos() as u64,
        channels: layout.channels().iter().map(Into::into).collect(),
        parameters: super::params_by_name(params),
        real_time: recording::real_time(None),
        ..parent.header().clone()
    };
    let further = &mut header.further;
    further.extend(recording::own_entries(&loaded.session));
    recording::name_parent(further, parent.path()).map_err(|e| unreadable(parent.path(), e))?;
    if alterations.rig.is_some() {
        for (part, path) in recording::rig_files(loaded) {
            let text = std::fs::read_to_string(&path).map_err(|e| unreadable(&path, e))?;
            recording::embed(&mut header, part, &path, text);
        }
    }
    let of_session = header.further.get("path_of_session.ron");
    let mut words = vec![recording::stem(Path::new(
        of_session.map_or("session", String::as_str),
    ))];
    words.push(header.line.clone());
    words.extend(header.speed_kmh.map(|speed| format!("{speed:.0}kmh")));
    words.push("what-if".into());
    Ok(RecorderSetup {
        name_words: words,
        ..RecorderSetup::new(directory, header)
    })
}

/// Ends the recording with the result.
pub fn finish(
    recording: Recording,
    outcome: &Outcome,
    result: Option<&Value>,
    layout: &Layout,
) -> Recorded {
    let (reason, summary) = recording::summary(outcome, result, layout);
    recording.finish(&reason, summary)
}
