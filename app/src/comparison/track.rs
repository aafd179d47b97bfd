//! One channel of a recording against its place along the line, or against its time of running.

use super::{Axis, ComparisonError};
use crate::hil_result::evaluated_spans;
use crate::session;
use rt_core::bench::BenchConfig;
use rt_core::file::{self, FileContent};
use rt_core::guard::State;
use rt_core::model::catenary::Line;
use rt_core::model::catenary::layout::Layout;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use std::ops::Range;
use std::path::Path;

/// The channel that says where the train is, in m.
pub const PLACE: &str = "line_position";

/// A channel while the bench ran, in equal steps of time. Ticks without a frame have no value (NaN).
#[derive(Clone, Debug)]
pub struct Track {
    /// Where each sample was taken: place in m or time of running in s, ascending.
    pub positions: Vec<f64>,
    /// The samples.
    pub values: Vec<f64>,
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
}

impl Track {
    /// Reads the running part of a recording; of several sections along the line the first.
    pub fn read(session: &Session, channel: &str, axis: Axis) -> Result<Self, ComparisonError> {
        let column = session.column_index(channel)?;
        let place = match axis {
            Axis::Place => Some(session.column_index(PLACE)?),
            Axis::Time => None,
        };
        let too_many_missing = session.info().frames;
        let mut track = Self {
            positions: Vec::new(),
            values: Vec::new(),
            sample_rate_hz: 1e9 / session.header().period_nanos as f64,
        };
        let mut begin = None;
        let (mut last_seq, mut missing) = (0, 0);
        for recorded in session.frames(TimeRange::ALL) {
            let frame = recorded?.frame;
            if frame.state != State::Running {
                if begin.is_some() {
                    break;
                }
                continue;
            }
            let begin = *begin.get_or_insert(frame.t_nanos);
            let position = match place {
                Some(place) => frame.values[place],
                None => frame.t_nanos.saturating_sub(begin) as f64 / 1e9,
            };
            // Where nobody knows the place there is a gap, as if the frame were lost.
            if !position.is_finite() {
                continue;
            }
            let gap = frame.seq.saturating_sub(last_seq + 1);
            last_seq = frame.seq;
            match track.positions.last().copied() {
                // The next section has begun.
                Some(last) if position < last => break,
                // The train stands: only the last sample before it starts counts.
                Some(last) if position == last => {
                    track.positions.pop();
                    track.values.pop();
                }
                Some(last) => {
                    missing += gap;
                    if missing > too_many_missing {
                        return Err(ComparisonError::Gaps {
                            name: name_of(session.path()),
                            missing,
                            frames: too_many_missing,
                        });
                    }
                    for k in 1..=gap {
                        let part = k as f64 / (gap + 1) as f64;
                        track.positions.push(last + part * (position - last));
                        track.values.push(f64::NAN);
                    }
                }
                None => {}
            }
            track.positions.push(position);
            track.values.push(frame.values[column]);
        }
        if track.positions.len() < 2 {
            return Err(ComparisonError::NeverRan {
                name: name_of(session.path()),
                axis,
            });
        }
        Ok(track)
    }
}

/// The samples from one position to another, both included; positions ascend.
pub fn part(positions: &[f64], (from, to): (f64, f64)) -> Range<usize> {
    let end = positions.partition_point(|x| *x <= to);
    positions.partition_point(|x| *x < from).min(end)..end
}

/// A recording's file name without directory and ending.
pub fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".part").unwrap_or(&name);
    name.strip_suffix(".mcap").unwrap_or(name).to_owned()
}

/// A configuration file in a recording; `None` if it is not there or of another version.
fn parse<T: FileContent>(header: &SessionHeader, name: &str) -> Option<T> {
    file::parse(header.files.get(name)?, Path::new(name)).ok()
}

/// What a recording knows of the line it ran along.
#[derive(Clone, Debug, PartialEq)]
pub struct LineKnown {
    /// Places of all supports, in m.
    pub supports_m: Vec<f64>,
    /// Where the spans that a run evaluates begin and end, in m.
    pub evaluated_m: (f64, f64),
}

impl LineKnown {
    /// From the files in the recording; `None` if it holds no line that can be read, or no run along it.
    pub fn of(header: &SessionHeader) -> Option<Self> {
        let line: Line = parse(header, "line.ron")?;
        let session: session::Session = parse(header, "session.ron")?;
        let BenchConfig::PantographLqg(config) = &session.bench else {
            return None;
        };
        let layout = Layout::of(&line).ok()?;
        let (first, last) = evaluated_spans(config, layout.spans()).ok()?;
        let supports_m: Vec<f64> = layout.supports.iter().map(|s| s.x).collect();
        let evaluated_m = (*supports_m.get(first - 1)?, *supports_m.get(last)?);
        Some(Self {
            supports_m,
            evaluated_m,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_with_its_line_knows_supports_and_evaluated_spans() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let mut header = SessionHeader::default();
        assert_eq!(LineKnown::of(&header), None);
        header
            .files
            .insert("line.ron".into(), read("assets/lines/stitched-sw.ron"));
        header
            .files
            .insert("session.ron".into(), read("sessions/dsa380-300.ron"));
        let known = LineKnown::of(&header).unwrap();
        // 20 spans, of which 6 to 15 are evaluated.
        assert_eq!(known.supports_m.len(), 21);
        let expected = (known.supports_m[5], known.supports_m[15]);
        assert_eq!(known.evaluated_m, expected);
        header
            .files
            .insert("session.ron".into(), read("sessions/profile-sine.ron"));
        assert_eq!(LineKnown::of(&header), None);
    }

    #[test]
    fn names_are_those_of_the_files_without_endings() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("a/b.mcap"), "b");
        assert_eq!(name("b.mcap.part"), "b");
        assert_eq!(name("b.c"), "b.c");
    }
}
