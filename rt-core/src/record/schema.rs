//! The message of a frame: a named field a channel, described in the file for every other program.
//!
//! ```proto
//! syntax = "proto3";
//! package pantobench;
//! message Frame {
//!   enum State { STATE_IDLE = 0; STATE_READY = 1; STATE_ARMED = 2; STATE_RUNNING = 3; STATE_STOPPING = 4; STATE_TRIPPED = 5; }
//!   uint64 seq = 1;        // tick
//!   uint64 t_nanos = 2;    // since the loop started
//!   State state = 3;
//!   bool drive_on = 4;
//!   fixed64 checksum = 5;  // over the exact bits of all columns
//!   double force = 16;     // an exact channel
//!   float uplift = 17;     // a channel in single precision
//! }
//! ```
//!
//! Fields are written all and in this order, so that frames have nearly the same length, which
//! compresses best.

use crate::channel::{ChannelSpec, Frame, MAX_CHANNELS, Role};
use crate::guard::{Drive, State};
use crate::record::checksum::checksum;
use crate::record::wire::{Fields, Value, put_bytes, put_fixed32, put_fixed64, put_uint};
use std::collections::HashSet;

/// How exactly a column is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// To the last bit, as a double.
    Exact,
    /// To 24 significant bits (a relative 6·10⁻⁸), as a float.
    Single,
}

impl Precision {
    /// What drives a recomputation is kept exactly, what follows from it is not.
    pub fn of_role(role: Role) -> Self {
        match role {
            Role::Measured | Role::Command => Precision::Exact,
            Role::Computed => Precision::Single,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Precision::Exact => "exact",
            Precision::Single => "single",
        }
    }
}

/// A channel as a recording describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChannel {
    /// Stable name.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// Unit of the values.
    pub unit: String,
    /// Who wrote it.
    pub role: Role,
    /// How exactly it is kept.
    pub precision: Precision,
}

impl From<&ChannelSpec> for RecordedChannel {
    fn from(spec: &ChannelSpec) -> Self {
        Self {
            id: spec.id.to_owned(),
            label: spec.label.to_owned(),
            unit: spec.unit.to_owned(),
            role: spec.role,
            precision: Precision::of_role(spec.role),
        }
    }
}

/// A frame as it was recorded.
#[derive(Clone, Copy, Debug)]
pub struct RecordedFrame {
    /// Tick, time, state, drive and columns. Columns past the recorded ones hold NaN.
    pub frame: Frame,
    /// [`checksum`] over the exact columns, also where they are kept in single precision.
    pub checksum: u64,
}

/// The name of the frame's message.
pub(crate) const FRAME_MESSAGE: &str = "pantobench.Frame";

const SEQ: u32 = 1;
const T_NANOS: u32 = 2;
const STATE: u32 = 3;
const DRIVE: u32 = 4;
const CHECKSUM: u32 = 5;
/// The field of the first channel; the others follow.
const FIRST_CHANNEL: u32 = 16;
const OWN_FIELDS: [(&str, u32, u64); 5] = [
    ("seq", SEQ, UINT64),
    ("t_nanos", T_NANOS, UINT64),
    ("state", STATE, ENUM),
    ("drive_on", DRIVE, BOOL),
    ("checksum", CHECKSUM, FIXED64),
];

/// Types of fields as descriptors number them.
pub(crate) const DOUBLE: u64 = 1;
const FLOAT: u64 = 2;
pub(crate) const UINT64: u64 = 4;
const FIXED64: u64 = 6;
const BOOL: u64 = 8;
pub(crate) const STRING: u64 = 9;
pub(crate) const MESSAGE: u64 = 11;
const ENUM: u64 = 14;

const STATES: [State; 7] = [
    State::Idle,
    State::Ready,
    State::Armed,
    State::Running,
    State::Stopping,
    State::Tripped,
    State::Holding,
];

/// Names of the fields of the channels: their identifiers with everything that a field's name must not
/// hold replaced by `_`, each different from all others.
pub fn field_names(channels: &[RecordedChannel]) -> Vec<String> {
    let mut taken: HashSet<String> = OWN_FIELDS.iter().map(|f| f.0.to_owned()).collect();
    channels
        .iter()
        .map(|channel| {
            let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let mut base: String = channel.id.chars().map(letter).collect();
            if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
                base.insert_str(0, "c_");
            }
            let mut name = base.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{base}_{number}");
                number += 1;
            }
            name
        })
        .collect()
}

/// The description of a field that stands once.
pub(crate) fn field(name: &str, number: u32, kind: u64) -> Vec<u8> {
    const ONCE: u64 = 1;
    let mut out = Vec::new();
    put_bytes(&mut out, 1, name.as_bytes());
    put_uint(&mut out, 3, u64::from(number));
    put_uint(&mut out, 4, ONCE);
    put_uint(&mut out, 5, kind);
    out
}

/// A description of messages, complete in one file (a `FileDescriptorSet`).
pub(crate) fn descriptor_set(file_name: &str, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    put_bytes(&mut file, 1, file_name.as_bytes());
    put_bytes(&mut file, 2, b"pantobench");
    for message in messages {
        put_bytes(&mut file, 4, message);
    }
    put_bytes(&mut file, 12, b"proto3");
    let mut set = Vec::new();
    put_bytes(&mut set, 1, &file);
    set
}

/// The description of the frames of these channels.
pub(crate) fn frame_descriptor(channels: &[RecordedChannel]) -> Vec<u8> {
    let mut message = Vec::new();
    put_bytes(&mut message, 1, b"Frame");
    for (name, number, kind) in OWN_FIELDS {
        let mut own = field(name, number, kind);
        if kind == ENUM {
            put_bytes(&mut own, 6, b".pantobench.Frame.State");
        }
        put_bytes(&mut message, 2, &own);
    }
    for (index, name) in field_names(channels).iter().enumerate() {
        let kind = match channels[index].precision {
            Precision::Exact => DOUBLE,
            Precision::Single => FLOAT,
        };
        let number = FIRST_CHANNEL + index as u32;
        put_bytes(&mut message, 2, &field(name, number, kind));
    }
    let mut states = Vec::new();
    put_bytes(&mut states, 1, b"State");
    for (number, state) in STATES.iter().enumerate() {
        let mut value = Vec::new();
        let name = format!("STATE_{}", state.name().to_uppercase());
        put_bytes(&mut value, 1, name.as_bytes());
        put_uint(&mut value, 2, number as u64);
        put_bytes(&mut states, 2, &value);
    }
    put_bytes(&mut message, 4, &states);
    descriptor_set("pantobench/frame.proto", &[message])
}

fn number_of(state: State) -> u64 {
    match state {
        State::Idle => 0,
        State::Ready => 1,
        State::Armed => 2,
        State::Running => 3,
        State::Stopping => 4,
        State::Tripped => 5,
        State::Holding => 6,
    }
}

/// Encodes a frame in place of what `out` held.
pub(crate) fn encode_frame(
    out: &mut Vec<u8>,
    channels: &[RecordedChannel],
    recorded: &RecordedFrame,
) {
    let frame = &recorded.frame;
    out.clear();
    put_uint(out, SEQ, frame.seq);
    put_uint(out, T_NANOS, frame.t_nanos);
    put_uint(out, STATE, number_of(frame.state));
    put_uint(out, DRIVE, u64::from(frame.drive == Drive::On));
    put_fixed64(out, CHECKSUM, recorded.checksum);
    for ((field, channel), value) in (FIRST_CHANNEL..).zip(channels).zip(&frame.values) {
        match channel.precision {
            Precision::Exact => put_fixed64(out, field, value.to_bits()),
            Precision::Single => put_fixed32(out, field, (*value as f32).to_bits()),
        }
    }
}

impl RecordedFrame {
    /// A frame fresh from the loop, with its checksum over the first `columns` columns.
    pub fn new(frame: &Frame, columns: usize) -> Self {
        Self {
            frame: *frame,
            checksum: checksum(&frame.values[..columns.min(MAX_CHANNELS)]),
        }
    }
}

/// Decodes a frame; `None` if a channel is missing or the bytes make no sense.
pub(crate) fn decode_frame(message: &[u8], columns: usize) -> Option<RecordedFrame> {
    let mut frame = Frame::empty();
    let mut recorded_checksum = 0;
    let mut found = 0;
    let mut fields = Fields::new(message);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (SEQ, Value::Varint(v)) => frame.seq = v,
            (T_NANOS, Value::Varint(v)) => frame.t_nanos = v,
            (STATE, Value::Varint(v)) => frame.state = *STATES.get(usize::try_from(v).ok()?)?,
            (DRIVE, Value::Varint(v)) => {
                frame.drive = if v == 0 { Drive::Off } else { Drive::On };
            }
            (CHECKSUM, Value::Fixed64(v)) => recorded_checksum = v,
            (FIRST_CHANNEL.., value) => {
                let slot = frame.values[..columns.min(MAX_CHANNELS)]
                    .get_mut((number - FIRST_CHANNEL) as usize);
                if let Some(slot) = slot {
                    *slot = match value {
                        Value::Fixed64(bits) => f64::from_bits(bits),
                        Value::Fixed32(bits) => f64::from(f32::from_bits(bits)),
                        _ => return None,
                    };
                    found += 1;
                }
            }
            _ => {}
        }
    }
    (found == columns && !fields.is_broken).then_some(RecordedFrame {
        frame,
        checksum: recorded_checksum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(id: &str, precision: Precision) -> RecordedChannel {
        RecordedChannel {
            id: id.to_owned(),
            label: String::new(),
            unit: String::new(),
            role: Role::Measured,
            precision,
        }
    }

    #[test]
    fn names_of_fields_are_valid_and_all_different() {
        let ids = ["loop.wake_us", "loop_wake_us", "seq", "2nd", "", "größe"];
        let channels: Vec<_> = ids.map(|id| channel(id, Precision::Exact)).into();
        assert_eq!(
            field_names(&channels),
            [
                "loop_wake_us",
                "loop_wake_us_2",
                "seq_2",
                "c_2nd",
                "c_",
                "gr__e"
            ]
        );
    }

    #[test]
    fn a_frame_survives_to_the_last_bit_where_that_is_promised() {
        let channels = [
            channel("a", Precision::Exact),
            channel("b", Precision::Single),
            channel("c", Precision::Exact),
        ];
        let mut frame = Frame::empty();
        frame.seq = u64::MAX;
        frame.t_nanos = 123_456_789_012;
        frame.state = State::Tripped;
        frame.drive = Drive::On;
        let odd_nan = f64::from_bits(0xFFF8_0000_0000_1234);
        frame.values[..3].copy_from_slice(&[-0.0, 0.1, odd_nan]);
        let recorded = RecordedFrame::new(&frame, 3);
        let mut bytes = Vec::new();
        encode_frame(&mut bytes, &channels, &recorded);
        let back = decode_frame(&bytes, 3).unwrap();
        assert_eq!(
            (back.frame.seq, back.frame.t_nanos),
            (u64::MAX, 123_456_789_012)
        );
        assert_eq!(
            (back.frame.state, back.frame.drive),
            (State::Tripped, Drive::On)
        );
        assert_eq!(back.checksum, checksum(&frame.values[..3]));
        let bits = |f: &Frame| [0, 2].map(|i| f.values[i].to_bits());
        assert_eq!(bits(&back.frame), bits(&frame));
        assert_eq!(back.frame.values[1], f64::from(0.1_f32));
        assert!(back.frame.values[3].is_nan());
        assert!(decode_frame(&bytes, 4).is_none(), "a channel is missing");
        assert!(decode_frame(&bytes[..bytes.len() - 1], 3).is_none());
    }
}
