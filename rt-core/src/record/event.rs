//! Events in a recording: what happened in which tick, in words and in numbers.
//!
//! ```proto
//! message Event {
//!   uint64 seq = 1;
//!   uint64 t_nanos = 2;
//!   string kind = 3;                 // stable: "parameter", "state", "recording.trigger" …
//!   string text = 4;                 // for people
//!   repeated EventField fields = 5;
//! }
//! message EventField { string key = 1; oneof value { double number = 2; string text = 3; } }
//! ```

use crate::record::schema::{DOUBLE, MESSAGE, STRING, UINT64, descriptor_set, field};
use crate::record::wire::{Fields, Value, put_bytes, put_fixed64, put_uint};

/// A value that belongs to an event.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// A number, kept to the last bit.
    Number(f64),
    /// Words.
    Text(String),
}

/// What happened, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventRecord {
    /// The tick in which it took effect.
    pub seq: u64,
    /// The time of that tick since the loop started, in nanoseconds.
    pub t_nanos: u64,
    /// A stable name of this kind of event; triggers and scripts look for it.
    pub kind: String,
    /// What a person reads.
    pub text: String,
    /// Values by name.
    pub fields: Vec<(String, FieldValue)>,
}

impl EventRecord {
    /// A number that the event carries.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.fields.iter().find_map(|(k, value)| match value {
            FieldValue::Number(x) if k == key => Some(*x),
            _ => None,
        })
    }

    /// A word that the event carries.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.fields.iter().find_map(|(k, value)| match value {
            FieldValue::Text(word) if k == key => Some(word.as_str()),
            _ => None,
        })
    }
}

/// The name of the event's message.
pub(crate) const EVENT_MESSAGE: &str = "pantobench.Event";

/// The description of events.
pub(crate) fn event_descriptor() -> Vec<u8> {
    const REPEATED: u64 = 3;
    let mut event = Vec::new();
    put_bytes(&mut event, 1, b"Event");
    for (name, number, kind) in [
        ("seq", 1, UINT64),
        ("t_nanos", 2, UINT64),
        ("kind", 3, STRING),
        ("text", 4, STRING),
    ] {
        put_bytes(&mut event, 2, &field(name, number, kind));
    }
    let mut fields = Vec::new();
    put_bytes(&mut fields, 1, b"fields");
    put_uint(&mut fields, 3, 5);
    put_uint(&mut fields, 4, REPEATED);
    put_uint(&mut fields, 5, MESSAGE);
    put_bytes(&mut fields, 6, b".pantobench.EventField");
    put_bytes(&mut event, 2, &fields);

    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, b"EventField");
    put_bytes(&mut pair, 2, &field("key", 1, STRING));
    for (name, number, kind) in [("number", 2, DOUBLE), ("text", 3, STRING)] {
        let mut choice = field(name, number, kind);
        put_uint(&mut choice, 9, 0);
        put_bytes(&mut pair, 2, &choice);
    }
    let mut choice = Vec::new();
    put_bytes(&mut choice, 1, b"value");
    put_bytes(&mut pair, 8, &choice);
    descriptor_set("pantobench/event.proto", &[event, pair])
}

/// Encodes an event.
pub(crate) fn encode_event(event: &EventRecord) -> Vec<u8> {
    let mut out = Vec::new();
    put_uint(&mut out, 1, event.seq);
    put_uint(&mut out, 2, event.t_nanos);
    put_bytes(&mut out, 3, event.kind.as_bytes());
    put_bytes(&mut out, 4, event.text.as_bytes());
    for (key, value) in &event.fields {
        let mut pair = Vec::new();
        put_bytes(&mut pair, 1, key.as_bytes());
        match value {
            FieldValue::Number(x) => put_fixed64(&mut pair, 2, x.to_bits()),
            FieldValue::Text(text) => put_bytes(&mut pair, 3, text.as_bytes()),
        }
        put_bytes(&mut out, 5, &pair);
    }
    out
}

fn words(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Decodes an event; `None` if the bytes make no sense.
pub(crate) fn decode_event(message: &[u8]) -> Option<EventRecord> {
    let mut event = EventRecord::default();
    let mut fields = Fields::new(message);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Varint(v)) => event.seq = v,
            (2, Value::Varint(v)) => event.t_nanos = v,
            (3, Value::Bytes(b)) => event.kind = words(b)?,
            (4, Value::Bytes(b)) => event.text = words(b)?,
            (5, Value::Bytes(b)) => event.fields.push(decode_pair(b)?),
            _ => {}
        }
    }
    (!fields.is_broken).then_some(event)
}

fn decode_pair(message: &[u8]) -> Option<(String, FieldValue)> {
    let (mut key, mut found) = (String::new(), FieldValue::Text(String::new()));
    let mut fields = Fields::new(message);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Bytes(b)) => key = words(b)?,
            (2, Value::Fixed64(bits)) => found = FieldValue::Number(f64::from_bits(bits)),
            (3, Value::Bytes(b)) => found = FieldValue::Text(words(b)?),
            _ => {}
        }
    }
    (!fields.is_broken).then_some((key, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_as_it_was() {
        let event = EventRecord {
            seq: 7,
            t_nanos: 14_000_000,
            kind: "parameter".into(),
            text: "Scale = 0.1 applied".into(),
            fields: vec![
                ("value".into(), FieldValue::Number(0.1)),
                ("id".into(), FieldValue::Text("scale".into())),
            ],
        };
        let bytes = encode_event(&event);
        assert_eq!(decode_event(&bytes), Some(event.clone()));
        assert_eq!(event.number("value"), Some(0.1));
        assert_eq!(event.number("id"), None);
        assert_eq!(
            (event.word("id"), event.word("value")),
            (Some("scale"), None)
        );
        assert_eq!(decode_event(&bytes[..bytes.len() - 1]), None);
    }
}
