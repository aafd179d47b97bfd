//! Load-cell amplifiers on a serial line: lines of numbers, or frames of bytes.

use super::config::{AsciiConfig, BinaryConfig, Format, MOST_FIELDS};
use super::frame::{Look, Window};

/// The fields of a line or frame, in the order of the configuration; those beyond it are 0.
pub type Values = [f64; MOST_FIELDS];

/// Reads what an amplifier sends.
#[derive(Clone, Debug)]
pub enum Reader {
    /// Lines.
    Ascii(AsciiConfig, Window),
    /// Frames.
    Binary(BinaryConfig, Window),
}

impl Reader {
    /// For lines.
    pub fn ascii(config: &AsciiConfig) -> Self {
        Reader::Ascii(config.clone(), Window::default())
    }

    /// For frames.
    pub fn binary(config: &BinaryConfig) -> Self {
        Reader::Binary(config.clone(), Window::default())
    }

    /// Takes a byte; gives the values of every whole line or frame to `take`.
    pub fn push(&mut self, byte: u8, mut take: impl FnMut(&Values)) {
        match self {
            Reader::Ascii(config, window) => {
                let terminator = config.terminator.as_bytes();
                let look = |bytes: &[u8]| {
                    if !bytes.ends_with(terminator) {
                        return Look::More;
                    }
                    // A line is looked at once, when it ends; nothing of it can be the beginning of another.
                    Look::Frame(bytes.len())
                };
                let mut damaged = 0;
                window.push(byte, look, |line| {
                    let line = line.get(..line.len() - terminator.len());
                    match line.and_then(|line| ascii_values(config, line)) {
                        Some(values) => take(&values),
                        None => damaged += 1,
                    }
                });
                window.damaged += damaged;
            }
            Reader::Binary(config, window) => {
                let mut damaged = 0;
                window.push(
                    byte,
                    |bytes| binary_look(config, bytes),
                    |frame| match binary_values(config, frame) {
                        Some(values) => take(&values),
                        None => damaged += 1,
                    },
                );
                window.damaged += damaged;
            }
        }
    }

    /// Lines or frames that were damaged.
    pub fn damaged(&self) -> u64 {
        match self {
            Reader::Ascii(_, window) | Reader::Binary(_, window) => window.damaged,
        }
    }

    /// Forgets a half line: the port was closed.
    pub fn clear(&mut self) {
        match self {
            Reader::Ascii(_, window) | Reader::Binary(_, window) => window.clear(),
        }
    }
}

fn ascii_values(config: &AsciiConfig, line: &[u8]) -> Option<Values> {
    let line = std::str::from_utf8(line).ok()?;
    let line = line.strip_prefix(config.prefix.as_str())?;
    let mut values = [0.0; MOST_FIELDS];
    for (field, value) in config.fields.iter().zip(&mut values) {
        let text = line.split(config.separator.as_str()).nth(field.index)?;
        let number: f64 = text.trim().parse().ok()?;
        // "inf" and "nan" are floats to the parser, but no measurements.
        *value = Some(number * field.scale).filter(|v| v.is_finite())?;
    }
    Some(values)
}

fn binary_look(config: &BinaryConfig, bytes: &[u8]) -> Look {
    let known = bytes.len().min(config.header.len());
    if bytes[..known] != config.header[..known] {
        return Look::Nothing;
    }
    if bytes.len() < config.length {
        return Look::More;
    }
    let covered = config.covered();
    let (Some(sum_of), Some(sum)) = (
        bytes.get(config.checksum_from..covered),
        bytes.get(covered..config.length),
    ) else {
        return Look::Nothing;
    };
    if config.checksum.of(sum_of)[..config.checksum.len()] == *sum {
        Look::Frame(config.length)
    } else {
        Look::Damaged
    }
}

fn binary_values(config: &BinaryConfig, frame: &[u8]) -> Option<Values> {
    let mut values = [0.0; MOST_FIELDS];
    for (field, value) in config.fields.iter().zip(&mut values) {
        let bytes = frame.get(field.offset..field.offset + field.format.len())?;
        let number = field.format.read(bytes)?;
        *value = Some(number * field.scale).filter(|v| v.is_finite())?;
    }
    Some(values)
}

impl Format {
    /// The number that some bytes mean.
    fn read(self, bytes: &[u8]) -> Option<f64> {
        Some(match self {
            Format::U8 => f64::from(*bytes.first()?),
            Format::I16Le => f64::from(i16::from_le_bytes(*bytes.first_chunk()?)),
            Format::I16Be => f64::from(i16::from_be_bytes(*bytes.first_chunk()?)),
            Format::I24Le => {
                let [a, b, c] = *bytes.first_chunk()?;
                f64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
            }
            Format::I24Be => {
                let [a, b, c] = *bytes.first_chunk()?;
                f64::from(i32::from_be_bytes([a, b, c, 0]) >> 8)
            }
            Format::I32Le => f64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
            Format::I32Be => f64::from(i32::from_be_bytes(*bytes.first_chunk()?)),
            Format::F32Le => f64::from(f32::from_le_bytes(*bytes.first_chunk()?)),
            Format::F32Be => f64::from(f32::from_be_bytes(*bytes.first_chunk()?)),
        })
    }

    /// The bytes of a number, as an amplifier sends it; what is out of range stops at its end.
    pub fn write(self, number: f64, bytes: &mut [u8]) {
        let limited = |bits: u32| {
            let end = f64::from(1_u32 << (bits - 1));
            number.round().clamp(-end, end - 1.0) as i32
        };
        let long = match self {
            Format::U8 => [number.round().clamp(0.0, 255.0) as u8, 0, 0, 0],
            Format::I16Le => {
                let [a, b] = (limited(16) as i16).to_le_bytes();
                [a, b, 0, 0]
            }
            Format::I16Be => {
                let [a, b] = (limited(16) as i16).to_be_bytes();
                [a, b, 0, 0]
            }
            Format::I24Le => limited(24).to_le_bytes(),
            Format::I24Be => {
                let [_, a, b, c] = limited(24).to_be_bytes();
                [a, b, c, 0]
            }
            Format::I32Le => (number.round() as i32).to_le_bytes(),
            Format::I32Be => (number.round() as i32).to_be_bytes(),
            Format::F32Le => (number as f32).to_le_bytes(),
            Format::F32Be => (number as f32).to_be_bytes(),
        };
        for (to, from) in bytes.iter_mut().zip(long) {
            *to = from;
        }
    }
}

/// A line as an amplifier sends it; fields that are not read hold 0.
pub fn write_line(config: &AsciiConfig, values: &[f64], out: &mut Vec<u8>) {
    let last = config.fields.iter().map(|f| f.index).max().unwrap_or(0);
    out.extend_from_slice(config.prefix.as_bytes());
    for index in 0..=last {
        if index > 0 {
            out.extend_from_slice(config.separator.as_bytes());
        }
        let field = config.fields.iter().position(|f| f.index == index);
        let value = field.and_then(|i| Some(values.get(i)? / config.fields[i].scale));
        out.extend_from_slice(format!("{:.6}", value.unwrap_or(0.0)).as_bytes());
    }
    out.extend_from_slice(config.terminator.as_bytes());
}

/// A frame as an amplifier sends it.
pub fn write_frame(config: &BinaryConfig, values: &[f64], out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + config.length, 0);
    let frame = &mut out[begin..];
    frame[..config.header.len()].copy_from_slice(&config.header);
    for (field, value) in config.fields.iter().zip(values) {
        let at = field.offset..field.offset + field.format.len();
        field.format.write(value / field.scale, &mut frame[at]);
    }
    let (covered, sum) = frame.split_at_mut(config.covered());
    let of = config.checksum.of(&covered[config.checksum_from..]);
    sum.copy_from_slice(&of[..config.checksum.len()]);
}

#[cfg(test)]
mod tests {
    use super::super::checksum::Checksum;
    use super::super::config::{AsciiField, BinaryField};
    use super::*;

    fn read(reader: &mut Reader, bytes: &[u8]) -> Vec<[f64; 2]> {
        let mut all = Vec::new();
        for byte in bytes {
            reader.push(*byte, |values| all.push([values[0], values[1]]));
        }
        all
    }

    fn ascii() -> AsciiConfig {
        let field = |name: &str, index: usize, scale: f64| AsciiField {
            name: name.into(),
            index,
            scale,
        };
        AsciiConfig {
            terminator: "\r\n".into(),
            separator: ";".into(),
            prefix: "S".into(),
            fields: vec![field("rear", 2, 1.0), field("front", 0, 0.001)],
            start: String::new(),
        }
    }

    #[test]
    fn lines_are_read_by_field_and_what_is_no_number_is_damage() {
        let mut reader = Reader::ascii(&ascii());
        let good = read(&mut reader, b"S 1500;x;-2.5e1\r\n");
        assert_eq!(good, [[-25.0, 1.5]]);
        for bad in [
            "1500;x;2\r\n",
            "S1;2\r\n",
            "Snan;1;2\r\n",
            "S1;2;inf\r\n",
            "S;;\r\n",
            "\r\n",
            "S1;\u{e9};x\r\n",
        ] {
            assert!(read(&mut reader, bad.as_bytes()).is_empty(), "{bad:?}");
        }
        assert_eq!(
            read(&mut reader, b"\xFF\xFES1;2;3\r\nS1000;2;3\r\n"),
            [[3.0, 1.0]]
        );
        assert_eq!(reader.damaged(), 8);
    }

    #[test]
    fn a_line_that_is_too_long_is_given_up_and_the_next_one_read() {
        let mut reader = Reader::ascii(&ascii());
        let mut bytes = vec![b'7'; 5000];
        bytes.extend_from_slice(b"\r\nS1000;0;3\r\n");
        assert_eq!(read(&mut reader, &bytes), [[3.0, 1.0]]);
    }

    #[test]
    fn every_format_comes_back_as_it_was_written() {
        use Format::*;
        for (format, values) in [
            (U8, vec![0.0, 255.0]),
            (I16Le, vec![-32768.0, 12345.0]),
            (I16Be, vec![-32768.0, 12345.0]),
            (I24Le, vec![-8_388_608.0, 8_388_607.0, -1.0]),
            (I24Be, vec![-8_388_608.0, 8_388_607.0, -1.0]),
            (I32Le, vec![-2_147_483_648.0, 5.0]),
            (I32Be, vec![-2_147_483_648.0, 5.0]),
            (F32Le, vec![0.5, -1e10]),
            (F32Be, vec![0.5, -1e10]),
        ] {
            for value in values {
                let mut bytes = [0; 4];
                format.write(value, &mut bytes[..format.len()]);
                let back = format.read(&bytes[..format.len()]).unwrap();
                assert!(
                    (back - value).abs() <= 1e-6 * value.abs(),
                    "{format:?} {value} {back}"
                );
            }
        }
        // High byte first means what it says.
        let mut bytes = [0; 3];
        I24Be.write(0x01_02_03.into(), &mut bytes);
        assert_eq!(bytes, [1, 2, 3]);
    }

    #[test]
    fn a_frame_with_a_wrong_checksum_is_damage_and_the_next_one_is_found() {
        let field = |name: &str, offset: usize, scale: f64| BinaryField {
            name: name.into(),
            offset,
            format: Format::I16Be,
            scale,
        };
        let config = BinaryConfig {
            header: vec![0xAA, 0x55],
            length: 8,
            fields: vec![field("front", 2, 0.01), field("rear", 4, 1.0)],
            checksum: Checksum::Crc16Modbus,
            checksum_from: 0,
            start: Vec::new(),
        };
        let mut good = Vec::new();
        write_frame(&config, &[12.34, -7.0], &mut good);
        assert_eq!(good[..6], [0xAA, 0x55, 0x04, 0xD2, 0xFF, 0xF9]);
        let mut bad = good.clone();
        bad[3] ^= 1;
        let stream: Vec<u8> = [&[0xAA][..], &bad, &good, &good[..5], &good].concat();
        let mut reader = Reader::binary(&config);
        let all = read(&mut reader, &stream);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!((all[0][0] - 12.34).abs() < 1e-12 && all[0][1] == -7.0);
        assert_eq!(reader.damaged(), 2, "the changed one and the cut one");
    }
}
