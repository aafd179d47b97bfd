//! Makes whole files of recordings that were never finished.

use crate::channel::Frame;
use crate::record::disk::{self, Disk, SystemDisk};
use crate::record::error::RecordError;
use crate::record::event::EventRecord;
use crate::record::header::SessionEnd;
use crate::record::reader::{Session, TimeRange};
use crate::record::writer::SessionWriter;
use std::path::{Path, PathBuf};

/// Events of a recovery have this kind.
const KIND: &str = "recording.recovered";
/// What is appended to the name while a recovery is under way.
const UNDER_WAY: &str = "recovering";

/// What became of an unfinished recording.
#[derive(Debug)]
pub struct Recovered {
    /// The unfinished file; gone if it was recovered.
    pub part: PathBuf,
    /// The whole file, or why there is none.
    pub outcome: Result<PathBuf, RecordError>,
}

/// Recovers every unfinished recording of a directory that no program is writing any more. Files that
/// cannot be recovered stay where they are.
pub fn recover_directory(directory: &Path) -> Result<Vec<Recovered>, RecordError> {
    let entries = directory
        .read_dir()
        .map_err(RecordError::io("read the directory", directory))?;
    let mut parts: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| disk::finished_of(path).is_some())
        .collect();
    parts.sort();
    let recovered = parts.into_iter().map(|part| Recovered {
        outcome: recover(&part),
        part,
    });
    Ok(recovered
        .filter(|r| !matches!(r.outcome, Err(RecordError::StillWritten { .. })))
        .collect())
}

/// Makes a whole file, marked as recovered, of one that was never finished, and removes that one. Files
/// that are still being written are left alone.
pub fn recover(part: &Path) -> Result<PathBuf, RecordError> {
    let finished = disk::finished_of(part).ok_or_else(|| RecordError::NotARecording {
        path: part.to_owned(),
        problem: format!(
            "an unfinished recording ends in .{}.{}",
            disk::ENDING,
            disk::PART
        ),
    })?;
    // Kept to the end: two programs must not recover one file.
    let _lock = disk::lock_leftover(part)?;
    let session = Session::open(part)?;
    if is_recovery_of(&finished, &session) {
        // A recovery was cut short after its last step but one.
        std::fs::remove_file(part).map_err(RecordError::io("remove", part))?;
        return Ok(finished);
    }
    let work = part.with_extension(UNDER_WAY);
    // Left over from a recovery that was cut short; nobody else has it, because nobody else has the lock.
    if work.exists() {
        std::fs::remove_file(&work).map_err(RecordError::io("remove", &work))?;
    }
    copy(&session, &work)?;
    let path = disk::publish(&work, &finished)?;
    std::fs::remove_file(part).map_err(RecordError::io("remove", part))?;
    Ok(path)
}

fn copy(session: &Session, to: &Path) -> Result<(), RecordError> {
    let sink = SystemDisk
        .create(to)
        .map_err(RecordError::io("create the recording", to))?;
    let mut writer = SessionWriter::create(sink, to, session.header())?;
    let mut lost = Vec::new();
    session.copy_to(&mut writer, TimeRange::ALL, |problem| match problem {
        RecordError::Damaged { .. } => {
            lost.push(problem.to_string());
            Ok(())
        }
        other => Err(other),
    })?;
    lost.dedup();
    let torn = session.container().torn_bytes();
    let mut text =
        format!("recovered after the recording was cut off; {torn} bytes were not whole");
    for problem in lost {
        text.push_str("; ");
        text.push_str(&problem);
    }
    let last = session.last_frame().unwrap_or(Frame::empty());
    writer.event(&EventRecord {
        seq: last.seq,
        t_nanos: last.t_nanos,
        kind: KIND.into(),
        text: text.clone(),
        fields: Vec::new(),
    })?;
    // A recording that was finished but not renamed keeps its result.
    let end = session.end().cloned().unwrap_or_default();
    writer.finish(&SessionEnd {
        reason: text,
        drops: session.drops(),
        recovered: true,
        ..end
    })
}

/// Whether a whole file is what a recovery of `part` made.
fn is_recovery_of(finished: &Path, part: &Session) -> bool {
    Session::open(finished).is_ok_and(|made| {
        made.is_finished()
            && made.end().is_some_and(|end| end.recovered)
            && made.header() == part.header()
            && made.info().frames == part.info().frames
    })
}
