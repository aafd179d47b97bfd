//! Recordings for other programs: tables of text, and stretches as recordings of their own.

use crate::guard::Drive;
use crate::record::disk::{self, Sink, SystemDisk};
use crate::record::error::RecordError;
use crate::record::header::{SessionEnd, TextMap};
use crate::record::reader::{Session, TimeRange};
use crate::record::schema::Precision;
use crate::record::writer::SessionWriter;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a table: time, tick, state, drive, then a column a channel with its unit in the heading. An
/// empty list of channels stands for all. Numbers are as short as they can be without losing a bit of
/// what was recorded; columns without a value hold `NaN`. Returns the number of rows.
pub fn write_csv(
    session: &Session,
    channels: &[&str],
    range: TimeRange,
    mut out: impl Write,
    path: &Path,
) -> Result<u64, RecordError> {
    let all = &session.header().channels;
    let columns: Vec<usize> = if channels.is_empty() {
        (0..all.len()).collect()
    } else {
        let find = |id: &&str| session.column_index(id);
        channels.iter().map(find).collect::<Result<_, _>>()?
    };
    let error = || RecordError::io("write the table", path);
    let mut line = String::from("t [s],seq,state,drive");
    for &column in &columns {
        line.push(',');
        line.push_str(&heading(&all[column].id, &all[column].unit));
    }
    writeln!(out, "{line}").map_err(error())?;
    let mut rows = 0;
    for recorded in session.frames(range) {
        let frame = recorded?.frame;
        let mut row = || -> io::Result<()> {
            let (seconds, nanos) = (frame.t_nanos / 1_000_000_000, frame.t_nanos % 1_000_000_000);
            let drive = if frame.drive == Drive::On {
                "on"
            } else {
                "off"
            };
            write!(
                out,
                "{seconds}.{nanos:09},{},{},{drive}",
                frame.seq,
                frame.state.name()
            )?;
            for &column in &columns {
                let value = frame.values[column];
                match all[column].precision {
                    Precision::Exact => write!(out, ",{value:?}")?,
                    Precision::Single => write!(out, ",{:?}", value as f32)?,
                }
            }
            writeln!(out)
        };
        row().map_err(error())?;
        rows += 1;
    }
    out.flush().map_err(error())?;
    Ok(rows)
}

/// `force [N]`, in quotes where the table would not bear it otherwise.
fn heading(id: &str, unit: &str) -> String {
    let text = if unit.is_empty() {
        id.to_owned()
    } else {
        format!("{id} [{unit}]")
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Writes the frames and events of a stretch as a recording of its own, which is not allowed to replace
/// another file. Returns its path and the number of frames.
pub fn write_slice(
    session: &Session,
    range: TimeRange,
    directory: &Path,
    stem: &str,
) -> Result<(PathBuf, u64), RecordError> {
    let (sink, finished) = disk::create_part(&mut SystemDisk, directory, stem)?;
    let part = disk::part_of(&finished);
    match copy_stretch(session, range, sink, &part) {
        Ok(frames) => Ok((disk::publish(&part, &finished)?, frames)),
        Err(e) => {
            // Half a stretch is of no use; what went wrong matters more than whether it could be removed.
            let _ = std::fs::remove_file(&part);
            Err(e)
        }
    }
}

fn copy_stretch(
    session: &Session,
    range: TimeRange,
    sink: Box<dyn Sink>,
    part: &Path,
) -> Result<u64, RecordError> {
    let mut header = session.header().clone();
    let source = session.path().file_name().unwrap_or_default();
    header
        .further
        .insert("slice_of".into(), source.to_string_lossy().into_owned());
    let mut writer = SessionWriter::create(sink, part, &header)?;
    session.copy_to(&mut writer, range, Err)?;
    let frames = writer.frames();
    let end = session.end().cloned().unwrap_or_default();
    writer.finish(&SessionEnd {
        reason: "a stretch of a longer recording".into(),
        // The result is about the whole.
        result: TextMap::new(),
        ..end
    })?;
    Ok(frames)
}
