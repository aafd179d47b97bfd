//! A recorded frame beside the recomputed one: the same to the last bit, or where they differ first.

use crate::recording::{LOOP_TIMING, SINGLE};
use rt_core::channel::Frame;
use rt_core::record::checksum::checksum;
use rt_core::record::header::SessionHeader;
use rt_core::record::schema::{Precision, RecordedChannel, RecordedFrame};
use rt_core::rt_loop::LOOP_CHANNELS;

/// What a difference shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// A value of a channel.
    Number(f64),
    /// A state, or a checksum.
    Text(String),
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shown::Number(x) => write!(f, "{x}"),
            Shown::Text(text) => f.write_str(text),
        }
    }
}

/// Where a recomputation differs from the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The tick.
    pub seq: u64,
    /// Its time since the loop started, in s.
    pub t_s: f64,
    /// The channel; `state`, `drive`, or [`CHECKSUM`].
    pub channel: String,
    /// What was recorded.
    pub recorded: Shown,
    /// What was recomputed.
    pub recomputed: Shown,
}

/// The channel of a difference that no column shows at the precision that it is kept with: a computed value
/// differs in its last bits, or a measured one was changed in the file.
pub const CHECKSUM: &str = "checksum";

/// What a comparison of two frames says.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Equal to the last bit, proven by the checksum.
    Identical,
    /// Equal as far as the columns are kept; the checksum cannot be formed.
    AsKept,
    /// Different.
    Different(Difference),
}

/// Compares frames of one recording.
pub struct Comparator {
    channels: Vec<RecordedChannel>,
    /// Columns of the loop's own timing.
    timing: Vec<usize>,
    /// Whether the recording holds these to the last bit.
    keeps_timing: bool,
}

impl Comparator {
    /// For frames with the columns of a recording.
    pub fn new(header: &SessionHeader) -> Self {
        let is_timing = |id: &str| LOOP_CHANNELS[1..].iter().any(|own| own.id == id);
        let columns = header.channels.iter().enumerate();
        Self {
            timing: columns
                .filter(|(_, c)| is_timing(&c.id))
                .map(|(i, _)| i)
                .collect(),
            channels: header.channels.clone(),
            keeps_timing: header.further.get(LOOP_TIMING).is_some_and(|p| p == SINGLE),
        }
    }

    /// Compares. The loop's own timing, which follows from nothing, is the recording's.
    pub fn compare(&self, recorded: &RecordedFrame, recomputed: &Frame) -> Verdict {
        let mut ours = *recomputed;
        for &column in &self.timing {
            ours.values[column] = recorded.frame.values[column];
        }
        let columns = self.channels.len();
        let is_same_state =
            (ours.state, ours.drive) == (recorded.frame.state, recorded.frame.drive);
        let own_checksum = checksum(&ours.values[..columns]);
        if is_same_state && own_checksum == recorded.checksum {
            return Verdict::Identical;
        }
        if let Some(difference) = self.locate(&recorded.frame, &ours) {
            return Verdict::Different(difference);
        }
        if !self.keeps_timing {
            // Older recordings kept it as floats of what were whole nanoseconds: exact up to 8 ms.
            for &column in &self.timing {
                ours.values[column] = (ours.values[column] * 1e3).round() * 1e-3;
            }
            let is_proven = checksum(&ours.values[..columns]) == recorded.checksum;
            return if is_proven {
                Verdict::Identical
            } else {
                Verdict::AsKept
            };
        }
        let shown = |sum: u64| Shown::Text(format!("{sum:016x}"));
        let (recorded, recomputed) = (shown(recorded.checksum), shown(own_checksum));
        Verdict::Different(difference_at(&ours, CHECKSUM, recorded, recomputed))
    }

    /// The first column that differs at the precision that it is kept with, then state and drive.
    fn locate(&self, recorded: &Frame, ours: &Frame) -> Option<Difference> {
        let columns = self.channels.iter().zip(&recorded.values).zip(&ours.values);
        for ((channel, theirs), own) in columns {
            let is_same = match channel.precision {
                Precision::Exact => theirs.to_bits() == own.to_bits(),
                Precision::Single => is_same_float(*theirs, *own),
            };
            if !is_same {
                let (recorded, recomputed) = (Shown::Number(*theirs), Shown::Number(*own));
                return Some(difference_at(ours, &channel.id, recorded, recomputed));
            }
        }
        let text = |words: &str| Shown::Text(words.to_owned());
        if recorded.state != ours.state {
            let (recorded, recomputed) = (text(recorded.state.name()), text(ours.state.name()));
            return Some(difference_at(ours, "state", recorded, recomputed));
        }
        (recorded.drive != ours.drive).then(|| {
            let words = |frame: &Frame| Shown::Text(format!("{:?}", frame.drive));
            difference_at(ours, "drive", words(recorded), words(ours))
        })
    }
}

/// Equal as floats; numbers too small for a float's full precision may have been taken as zero.
fn is_same_float(a: f64, b: f64) -> bool {
    let (x, y) = (a as f32, b as f32);
    let is_tiny = |x: f32| x.abs() < f32::MIN_POSITIVE;
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()) || (is_tiny(x) && is_tiny(y))
}

fn difference_at(frame: &Frame, channel: &str, recorded: Shown, recomputed: Shown) -> Difference {
    Difference {
        seq: frame.seq,
        t_s: frame.t_s(),
        channel: channel.to_owned(),
        recorded,
        recomputed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::channel::{ChannelSpec, Layout};
    use rt_core::guard::State;

    fn header(is_marked: bool) -> SessionHeader {
        let mut layout = Layout::default();
        let force = ChannelSpec::measured("force", "Force", "N");
        let rise = ChannelSpec::computed("rise", "Rise", "m");
        layout.append(&[force, rise]).unwrap();
        layout.append(&LOOP_CHANNELS).unwrap();
        let mut header = SessionHeader {
            channels: layout.channels().iter().map(Into::into).collect(),
            ..SessionHeader::default()
        };
        if is_marked {
            header.further.insert(LOOP_TIMING.into(), SINGLE.into());
        }
        header
    }

    /// A frame as the loop made it, with a wake-up that took so long, and as a recording gives it back.
    fn frames(wake_us: f64) -> (Frame, RecordedFrame) {
        let mut made = Frame::empty();
        made.seq = 7;
        made.values[..3].copy_from_slice(&[0.1, 0.2, 3.0]);
        made.values[3..10].fill(0.0);
        made.values[3] = wake_us;
        let mut recorded = RecordedFrame::new(&made, 10);
        recorded.frame.values[1] = f64::from(0.2_f32);
        recorded.frame.values[3] = f64::from(wake_us as f32);
        (made, recorded)
    }

    fn recomputed(made: &Frame) -> Frame {
        let mut frame = *made;
        frame.values[3..10].fill(55.0);
        frame
    }

    #[test]
    fn timing_is_the_recordings_and_every_other_bit_counts() {
        let comparator = Comparator::new(&header(true));
        let (made, recorded) = frames(f64::from(12.345_f32));
        let mut ours = recomputed(&made);
        assert_eq!(comparator.compare(&recorded, &ours), Verdict::Identical);

        ours.values[1] = 0.3;
        let Verdict::Different(found) = comparator.compare(&recorded, &ours) else {
            panic!("a column differs");
        };
        assert_eq!((found.seq, found.channel.as_str()), (7, "rise"));
        assert_eq!(found.recomputed, Shown::Number(0.3));

        // Less than a float shows.
        ours.values[1] = f64::from_bits(0.2_f64.to_bits() + 1);
        let Verdict::Different(found) = comparator.compare(&recorded, &ours) else {
            panic!("the last bit differs");
        };
        assert_eq!(found.channel, CHECKSUM);

        ours = recomputed(&made);
        ours.state = State::Tripped;
        let Verdict::Different(found) = comparator.compare(&recorded, &ours) else {
            panic!("the state differs");
        };
        assert_eq!(
            (found.channel.as_str(), found.recomputed),
            ("state", Shown::Text("Tripped".into()))
        );
    }

    #[test]
    fn older_recordings_are_proven_as_far_as_nanoseconds_go() {
        let comparator = Comparator::new(&header(false));
        // 12345 ns; then 20.000001 ms, which a float does not hold.
        for (wake_nanos, expected) in [
            (12_345.0, Verdict::Identical),
            (20_000_001.0, Verdict::AsKept),
        ] {
            let (made, recorded) = frames(wake_nanos * 1e-3);
            let verdict = comparator.compare(&recorded, &recomputed(&made));
            assert_eq!(verdict, expected, "{wake_nanos} ns");
        }
    }
}
