//! Opens recordings, finished or killed, and reads frames, columns and events out of them.

use crate::record::column_of;
use crate::record::container::{Chunk, Container, next_message};
use crate::record::error::RecordError;
use crate::record::event::{EventRecord, decode_event};
use crate::record::header::{SessionEnd, SessionHeader};
use crate::record::schema::{RecordedFrame, decode_frame};
use crate::record::writer::{EVENTS, FRAMES, SessionWriter};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A stretch of the loop's time, in nanoseconds: from `from` to just before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// First moment inside.
    pub from: u64,
    /// First moment past it.
    pub to: u64,
}

impl TimeRange {
    /// Everything.
    pub const ALL: Self = Self {
        from: 0,
        to: u64::MAX,
    };

    /// A stretch in seconds of the loop's time.
    pub fn seconds(from: f64, to: f64) -> Self {
        Self {
            from: (from * 1e9).round() as u64,
            to: (to * 1e9).round() as u64,
        }
    }

    fn contains(&self, t_nanos: u64) -> bool {
        (self.from..self.to).contains(&t_nanos)
    }
}

/// Columns of a stretch, one vector a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Ticks.
    pub seq: Vec<u64>,
    /// Times since the loop started, in nanoseconds.
    pub t_nanos: Vec<u64>,
    /// The values of each channel asked for, in that order.
    pub values: Vec<Vec<f64>>,
}

/// An open recording.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    version: u32,
    header: SessionHeader,
    end: Option<SessionEnd>,
    container: Container,
}

impl Session {
    /// Opens a recording; one that was never finished is read up to its last whole chunk.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let container = Container::open(path)?;
        let (version, mut header) = SessionHeader::from_metadata(&container.metadata, path)?;
        header.files = container.attachments.iter().cloned().collect();
        let end = SessionEnd::from_metadata(&container.metadata);
        Ok(Self {
            path: path.to_owned(),
            version,
            header,
            end,
            container,
        })
    }

    /// Which file it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What the recording says about itself.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// How it ended; `None` if it was killed.
    pub fn end(&self) -> Option<&SessionEnd> {
        self.end.as_ref()
    }

    /// Whether the file is complete.
    pub fn is_finished(&self) -> bool {
        self.container.is_finished() && self.end.is_some()
    }

    pub(crate) fn container(&self) -> &Container {
        &self.container
    }

    /// The column of a channel.
    pub fn column_index(&self, id: &str) -> Result<usize, RecordError> {
        column_of(&self.header.channels, id)
    }

    /// Frames of a stretch, in the order of the file. Seeks by the times of the chunks. A damaged chunk
    /// gives one error, then reading goes on behind it.
    pub fn frames(&self, range: TimeRange) -> Frames<'_> {
        self.frames_of(&self.container.chunks, range)
    }

    fn frames_of<'a>(&'a self, chunks: &'a [Chunk], range: TimeRange) -> Frames<'a> {
        Frames {
            session: self,
            range,
            chunks: chunks.iter(),
            chunk_at: 0,
            unpacked: Vec::new(),
            position: 0,
        }
    }

    /// The first frame at or after a time.
    pub fn frame_at(&self, t_nanos: u64) -> Result<Option<RecordedFrame>, RecordError> {
        let range = TimeRange {
            from: t_nanos,
            to: u64::MAX,
        };
        self.frames(range).next().transpose()
    }

    /// Channels of a stretch as vectors; an empty list of names stands for all.
    pub fn columns(&self, ids: &[&str], range: TimeRange) -> Result<Columns, RecordError> {
        let wanted: Vec<usize> = if ids.is_empty() {
            (0..self.header.channels.len()).collect()
        } else {
            let find = |id: &&str| self.column_index(id);
            ids.iter().map(find).collect::<Result<_, _>>()?
        };
        let mut columns = Columns {
            values: vec![Vec::new(); wanted.len()],
            ..Columns::default()
        };
        for recorded in self.frames(range) {
            let frame = recorded?.frame;
            columns.seq.push(frame.seq);
            columns.t_nanos.push(frame.t_nanos);
            for (values, column) in columns.values.iter_mut().zip(&wanted) {
                values.push(frame.values[*column]);
            }
        }
        Ok(columns)
    }

    /// Events of a stretch, in the order of the file.
    pub fn events(&self, range: TimeRange) -> Result<Vec<EventRecord>, RecordError> {
        let mut events = Vec::new();
        for chunk in &self.container.chunks {
            if self.overlaps(chunk, range) {
                events.extend(self.events_of(chunk)?);
            }
        }
        events.retain(|event| range.contains(event.t_nanos));
        Ok(events)
    }

    /// The events of one chunk.
    pub(crate) fn events_of(&self, chunk: &Chunk) -> Result<Vec<EventRecord>, RecordError> {
        let mut events = Vec::new();
        if chunk.counts.is_some_and(|(_, events)| events == 0) {
            return Ok(events);
        }
        let unpacked = self.container.unpack(chunk)?;
        let mut position = 0;
        while let Some(message) = next_message(&unpacked, &mut position) {
            if message.channel == EVENTS {
                let event = decode_event(message.data);
                events
                    .push(event.ok_or_else(|| self.damaged(chunk.at, "an event cannot be read"))?);
            }
        }
        Ok(events)
    }

    /// Copies frames and events of a stretch, chunk by chunk, so that they stay in the order of time.
    /// `on_damage` decides whether to go on.
    pub(crate) fn copy_to<W: Write>(
        &self,
        writer: &mut SessionWriter<W>,
        range: TimeRange,
        mut on_damage: impl FnMut(RecordError) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let chunks = &self.container.chunks;
        for chunk in chunks.iter().filter(|c| self.overlaps(c, range)) {
            match self.events_of(chunk) {
                Ok(events) => {
                    for event in events.iter().filter(|e| range.contains(e.t_nanos)) {
                        writer.event(event)?;
                    }
                }
                Err(e) => on_damage(e)?,
            }
            for recorded in self.frames_of(std::slice::from_ref(chunk), range) {
                match recorded {
                    Ok(recorded) => writer.frame(&recorded)?,
                    Err(e) => on_damage(e)?,
                }
            }
        }
        Ok(())
    }

    fn overlaps(&self, chunk: &Chunk, range: TimeRange) -> bool {
        let t0 = self.header.t0_unix_nanos;
        chunk.to >= t0.saturating_add(range.from) && chunk.from < t0.saturating_add(range.to)
    }

    fn damaged(&self, at: u64, problem: &str) -> RecordError {
        RecordError::Damaged {
            path: self.path.clone(),
            at,
            problem: problem.to_owned(),
        }
    }
}

/// Frames, one after the other.
pub struct Frames<'a> {
    session: &'a Session,
    range: TimeRange,
    chunks: std::slice::Iter<'a, Chunk>,
    chunk_at: u64,
    unpacked: Vec<u8>,
    position: usize,
}

impl Iterator for Frames<'_> {
    type Item = Result<RecordedFrame, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let session = self.session;
        let columns = session.header.channels.len();
        loop {
            while let Some(message) = next_message(&self.unpacked, &mut self.position) {
                if message.channel != FRAMES {
                    continue;
                }
                match decode_frame(message.data, columns) {
                    Some(recorded) if self.range.contains(recorded.frame.t_nanos) => {
                        return Some(Ok(recorded));
                    }
                    Some(_) => {}
                    None => {
                        let problem = "a frame cannot be read";
                        return Some(Err(session.damaged(self.chunk_at, problem)));
                    }
                }
            }
            let chunk = self.chunks.next()?;
            self.chunk_at = chunk.at;
            self.unpacked.clear();
            self.position = 0;
            if session.overlaps(chunk, self.range) {
                match session.container.unpack(chunk) {
                    Ok(unpacked) => self.unpacked = unpacked,
                    Err(e) => return Some(Err(e)),
                }
            }
        }
    }
}
