//! The wire format of protocol buffers: just what a recording needs to write and read.
//!
//! A field is a tag (number · 8 + kind, as a varint) and a value: a varint, 8 bytes, 4 bytes, or a
//! length and that many bytes.

/// One field as it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Integers, booleans, enumerations.
    Varint(u64),
    /// Doubles and fixed 64-bit integers, as bits.
    Fixed64(u64),
    /// Strings and messages.
    Bytes(&'a [u8]),
    /// Floats, as bits.
    Fixed32(u32),
}

/// Appends a variable-length integer: seven bits a byte, the lowest first.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends an integer field.
pub fn put_uint(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends a field of 8 bytes.
pub fn put_fixed64(out: &mut Vec<u8>, field: u32, bits: u64) {
    put_varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a field of 4 bytes.
pub fn put_fixed32(out: &mut Vec<u8>, field: u32, bits: u32) {
    put_varint(out, u64::from(field) << 3 | 5);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a string, or a message that is encoded already.
pub fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The fields of a message, one after the other. Ends early, with `is_broken`, where the bytes make no
/// sense.
pub struct Fields<'a> {
    rest: &'a [u8],
    /// Whether reading ended at bytes that are not a field.
    pub is_broken: bool,
}

impl<'a> Fields<'a> {
    /// Starts at the beginning of a message.
    pub fn new(message: &'a [u8]) -> Self {
        Self {
            rest: message,
            is_broken: false,
        }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.is_broken {
            return None;
        }
        let field = self.field();
        self.is_broken = field.is_none();
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the documentation of protocol buffers: 150 in field 1, "testing" in field 2.
    #[test]
    fn the_published_examples_are_written_and_read() {
        let mut out = Vec::new();
        put_uint(&mut out, 1, 150);
        put_bytes(&mut out, 2, b"testing");
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing");
        let fields: Vec<_> = Fields::new(&out).collect();
        assert_eq!(
            fields,
            [(1, Value::Varint(150)), (2, Value::Bytes(b"testing"))]
        );
    }

    #[test]
    fn whatever_is_cut_off_is_noticed() {
        let mut out = Vec::new();
        put_fixed64(&mut out, 300, 7);
        put_uint(&mut out, 5, u64::MAX);
        for length in 1..out.len() {
            let mut fields = Fields::new(&out[..length]);
            let whole = fields.by_ref().count();
            assert_eq!(
                fields.is_broken,
                length != 10,
                "{length} bytes, {whole} fields"
            );
        }
    }
}
