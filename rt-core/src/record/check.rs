//! What a recording holds, and whether every byte of it is sound.

use crate::channel::Frame;
use crate::record::checksum::checksum;
use crate::record::container::{Chunk, next_message};
use crate::record::engine::OWN_KIND;
use crate::record::error::RecordError;
use crate::record::name::Moment;
use crate::record::reader::{Session, TimeRange};
use crate::record::schema::Precision;
use crate::record::writer::{EVENTS, FRAMES};

/// A recording in a few numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionInfo {
    /// Whether it is complete and nothing is known to be wrong.
    pub ok: bool,
    /// Format version.
    pub version: u32,
    /// Identifier of the bench.
    pub bench: String,
    /// When the loop's time was zero, in UTC, as in ISO 8601.
    pub t0: String,
    /// From the first to the last frame, in seconds.
    pub seconds: f64,
    /// Frames in the file.
    pub frames: u64,
    /// Frames that the recorder's ring could not take.
    pub drops: u64,
    /// Identifiers of the channels.
    pub channels: Vec<String>,
    /// Events in the file.
    pub events: u64,
    /// Whether it was put together from a file that was never finished.
    pub recovered: bool,
    /// Whether the file was finished.
    pub finished: bool,
}

/// What a thorough look has found.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The recording in numbers; `ok` is the verdict.
    pub info: SessionInfo,
    /// Everything that is wrong, in words.
    pub problems: Vec<String>,
    /// Stretches of missing ticks: the tick before, and how many are missing. Overruns of the loop skip
    /// ticks too, so a gap alone is no damage.
    pub gaps: Vec<(u64, u64)>,
    /// Frames whose checksum was recomputed and is right. Only frames whose columns are all exact can be
    /// judged this way; the others are covered by the checksums of the chunks.
    pub verified_checksums: u64,
}

impl CheckReport {
    /// All missing ticks.
    pub fn missing_ticks(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.1).sum()
    }
}

impl Session {
    /// The recording in numbers, without reading all of it. Damaged chunks are left out.
    pub fn info(&self) -> SessionInfo {
        let (mut frames, mut events) = (0, 0);
        for chunk in &self.container().chunks {
            let counts = chunk.counts.unwrap_or_else(|| self.count(chunk));
            frames += counts.0;
            events += counts.1;
        }
        let mut readable = self.frames(TimeRange::ALL).filter_map(Result::ok);
        let first = readable.next().map_or(0, |r| r.frame.t_nanos);
        let last = self.last_frame().map_or(first, |frame| frame.t_nanos);
        let header = self.header();
        SessionInfo {
            ok: self.is_finished() && self.container().problems.is_empty(),
            version: self.version(),
            bench: header.bench.clone(),
            t0: format!("{}Z", Moment::utc(header.t0_unix_nanos).iso()),
            seconds: last.saturating_sub(first) as f64 * 1e-9,
            frames,
            drops: self.drops(),
            channels: header.channels.iter().map(|c| c.id.clone()).collect(),
            events,
            recovered: self.end().is_some_and(|end| end.recovered),
            finished: self.is_finished(),
        }
    }

    /// Frames and events of a chunk whose index was cut off.
    fn count(&self, chunk: &Chunk) -> (u64, u64) {
        let unpacked = self.container().unpack(chunk).unwrap_or_default();
        let (mut position, mut counts) = (0, (0, 0));
        while let Some(message) = next_message(&unpacked, &mut position) {
            match message.channel {
                FRAMES => counts.0 += 1,
                EVENTS => counts.1 += 1,
                _ => {}
            }
        }
        counts
    }

    /// The last frame that can be read.
    pub(crate) fn last_frame(&self) -> Option<Frame> {
        let t0 = self.header().t0_unix_nanos;
        // The last chunks may hold events only.
        self.container().chunks.iter().rev().find_map(|chunk| {
            let from = chunk.from.saturating_sub(t0);
            let frames = self.frames(TimeRange { from, to: u64::MAX });
            let last = frames.filter_map(Result::ok).last();
            last.map(|recorded| recorded.frame)
        })
    }

    /// Frames that the ring could not take: as the end says, or as the recorder told before it was killed.
    pub(crate) fn drops(&self) -> u64 {
        if let Some(end) = self.end() {
            return end.drops;
        }
        let kind = format!("{OWN_KIND}drops");
        let chunks = self.container().chunks.iter();
        chunks
            .flat_map(|chunk| self.events_of(chunk).unwrap_or_default())
            .filter(|event| event.kind == kind)
            .filter_map(|event| event.number("total"))
            .fold(0.0, f64::max) as u64
    }

    /// Reads everything and compares every checksum.
    pub fn check(&self) -> Result<CheckReport, RecordError> {
        let mut problems = self.container().problems.clone();
        problems.extend(self.container().check_sections()?);
        if !self.is_finished() {
            let torn = self.container().torn_bytes();
            problems.push(format!(
                "the recording was never finished; {torn} bytes at its end are not whole"
            ));
        }
        let channels = &self.header().channels;
        let is_exact = channels.iter().all(|c| c.precision == Precision::Exact);
        let (mut frames, mut verified, mut gaps) = (0, 0, Vec::new());
        let mut last_seq: Option<u64> = None;
        for recorded in self.frames(TimeRange::ALL) {
            let recorded = match recorded {
                Ok(recorded) => recorded,
                Err(e) => {
                    problems.push(e.to_string());
                    continue;
                }
            };
            frames += 1;
            let seq = recorded.frame.seq;
            if is_exact {
                if checksum(&recorded.frame.values[..channels.len()]) == recorded.checksum {
                    verified += 1;
                } else {
                    problems.push(format!("the checksum of the frame of tick {seq} is wrong"));
                }
            }
            match last_seq {
                Some(last) if seq <= last => {
                    problems.push(format!("tick {seq} comes after tick {last}"));
                }
                Some(last) if seq > last + 1 => gaps.push((last, seq - last - 1)),
                _ => {}
            }
            last_seq = Some(seq);
        }
        if let Some(end) = self.end().filter(|end| end.frames != frames) {
            let expected = end.frames;
            problems.push(format!(
                "{frames} frames can be read; {expected} were written"
            ));
        }
        for chunk in &self.container().chunks {
            // A chunk that cannot be unpacked was told above already.
            if let Err(e) = self.events_of(chunk) {
                let problem = e.to_string();
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        let mut info = self.info();
        info.ok = problems.is_empty();
        info.frames = frames;
        Ok(CheckReport {
            info,
            problems,
            gaps,
            verified_checksums: verified,
        })
    }
}
