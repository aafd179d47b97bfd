//! The recordings of a directory, with what a person looks for; unreadable ones are named too.

use crate::record::check::SessionInfo;
use crate::record::disk::{ENDING, finished_of};
use crate::record::error::RecordError;
use crate::record::header::TextMap;
use crate::record::name::Moment;
use crate::record::reader::Session;
use std::path::{Path, PathBuf};

/// One recording of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedSession {
    /// When it began, in local time: `2026-11-17_22-15-03`.
    pub date: String,
    /// What the session is called.
    pub title: String,
    /// The tested pantograph.
    pub specimen: String,
    /// The overhead line.
    pub line: String,
    /// Speed of the train, in km/h.
    pub speed_kmh: Option<f64>,
    /// Why it ended; empty if it was killed.
    pub reason: String,
    /// The result.
    pub result: TextMap,
    /// The recording in numbers.
    pub info: SessionInfo,
}

/// One file of a list.
#[derive(Debug)]
pub struct ListEntry {
    /// Which file.
    pub path: PathBuf,
    /// What it holds, or why it cannot be read.
    pub session: Result<ListedSession, RecordError>,
}

/// All recordings of a directory, finished or not, by name, which is by date.
pub fn list(directory: &Path) -> Result<Vec<ListEntry>, RecordError> {
    let entries = directory
        .read_dir()
        .map_err(RecordError::io("read the directory", directory))?;
    let is_recording =
        |p: &PathBuf| p.extension().is_some_and(|e| e == ENDING) || finished_of(p).is_some();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_recording)
        .collect();
    paths.sort();
    Ok(paths
        .into_iter()
        .map(|path| ListEntry {
            session: Session::open(&path).map(|session| describe(&session)),
            path,
        })
        .collect())
}

fn describe(session: &Session) -> ListedSession {
    let header = session.header();
    let end = session.end().cloned().unwrap_or_default();
    ListedSession {
        date: Moment::local(header.t0_unix_nanos).to_string(),
        title: header.title.clone(),
        specimen: header.specimen.clone(),
        line: header.line.clone(),
        speed_kmh: header.speed_kmh,
        reason: end.reason,
        result: end.result,
        info: session.info(),
    }
}
