//! A serial line and what is spoken on it, as the rig file describes it.

use super::checksum::Checksum;
use super::linrs::LinRsConfig;
use crate::hardware::config::{NAME_RULE, is_name};
use rt_core::file::{FieldError, require_within};
use serde::Deserialize;

/// Most fields of a line or frame.
pub const MOST_FIELDS: usize = 16;
/// Longest line or frame, in bytes.
pub const LONGEST_FRAME: usize = 256;

/// See the module's text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SerialConfig {
    /// Name of the bus.
    pub name: String,
    /// Path of the port, for example `/dev/serial/by-id/…`: that name stays when the adapter comes back.
    pub port: String,
    /// Bits a second.
    pub baud: u32,
    /// What is spoken.
    pub protocol: Protocol,
    /// From the measurement to its last byte here, in s.
    #[serde(default)]
    pub latency_s: f64,
    /// Silence that is a fault, in s.
    pub timeout_s: f64,
}

/// What is spoken on a line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum Protocol {
    /// An amplifier that sends lines of numbers.
    Ascii(AsciiConfig),
    /// An amplifier that sends frames of bytes.
    Binary(BinaryConfig),
    /// A LinMot drive.
    LinRs(LinRsConfig),
}

/// Lines such as `12.5,13.1⏎`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsciiConfig {
    /// What ends a line.
    #[serde(default = "newline")]
    pub terminator: String,
    /// What stands between two fields.
    #[serde(default = "comma")]
    pub separator: String,
    /// What a line begins with, if it always does.
    #[serde(default)]
    pub prefix: String,
    /// The fields that are read.
    pub fields: Vec<AsciiField>,
    /// What the amplifier is sent to make it begin.
    #[serde(default)]
    pub start: String,
}

fn newline() -> String {
    "\r\n".into()
}

fn comma() -> String {
    ",".into()
}

/// A number of a line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsciiField {
    /// Name of the input.
    pub name: String,
    /// Which field of the line, from 0.
    pub index: usize,
    /// Units of the input a unit of the number.
    #[serde(default = "one")]
    pub scale: f64,
}

fn one() -> f64 {
    1.0
}

/// Frames of a fixed length: header, fields, checksum.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryConfig {
    /// The bytes that a frame begins with.
    pub header: Vec<u8>,
    /// Bytes of the whole frame, with header and checksum.
    pub length: usize,
    /// The fields that are read.
    pub fields: Vec<BinaryField>,
    /// How the frame ends; it covers everything from `checksum_from` on.
    #[serde(default)]
    pub checksum: Checksum,
    /// First byte that the checksum covers.
    #[serde(default)]
    pub checksum_from: usize,
    /// What the amplifier is sent to make it begin.
    #[serde(default)]
    pub start: Vec<u8>,
}

/// A number of a frame.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryField {
    /// Name of the input.
    pub name: String,
    /// Where it begins in the frame, from 0.
    pub offset: usize,
    /// How it is written.
    pub format: Format,
    /// Units of the input a unit of the number.
    #[serde(default = "one")]
    pub scale: f64,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Format {
    /// One byte without sign.
    U8,
    /// Two bytes with sign, low byte first.
    I16Le,
    /// Two bytes with sign, high byte first.
    I16Be,
    /// Three bytes with sign, low byte first.
    I24Le,
    /// Three bytes with sign, high byte first.
    I24Be,
    /// Four bytes with sign, low byte first.
    I32Le,
    /// Four bytes with sign, high byte first.
    I32Be,
    /// A float of four bytes, low byte first.
    F32Le,
    /// A float of four bytes, high byte first.
    F32Be,
}

impl Format {
    /// Its length in bytes.
    pub fn len(self) -> usize {
        match self {
            Format::U8 => 1,
            Format::I16Le | Format::I16Be => 2,
            Format::I24Le | Format::I24Be => 3,
            _ => 4,
        }
    }

    /// No number has no bytes.
    pub fn is_empty(self) -> bool {
        false
    }
}

/// Speeds that every system knows, in bits a second.
pub const BAUDS: [u32; 12] = [
    1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600, 1_000_000,
];

impl SerialConfig {
    /// Names of its inputs, in the order of their slots.
    pub fn inputs(&self) -> Vec<String> {
        match &self.protocol {
            Protocol::Ascii(a) => a.fields.iter().map(|f| f.name.clone()).collect(),
            Protocol::Binary(b) => b.fields.iter().map(|f| f.name.clone()).collect(),
            Protocol::LinRs(_) => super::linrs::INPUTS.map(str::to_owned).to_vec(),
        }
    }

    /// Whether it can drive a motor.
    pub fn drives(&self) -> bool {
        matches!(self.protocol, Protocol::LinRs(_))
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        if self.port.trim().is_empty() {
            let problem = "is empty; expected a path such as '/dev/ttyUSB0'";
            return Err(FieldError::new("port", problem));
        }
        if !BAUDS.contains(&self.baud) {
            let known = BAUDS.map(|b| b.to_string()).join(", ");
            let problem = format!("is {}; expected one of: {known}", self.baud);
            return Err(FieldError::new("baud", problem));
        }
        require_within("latency_s", self.latency_s, 0.0, 1.0, "s")?;
        require_within("timeout_s", self.timeout_s, 1e-3, 10.0, "s")?;
        match &self.protocol {
            Protocol::Ascii(ascii) => ascii.check(),
            Protocol::Binary(binary) => binary.check(),
            Protocol::LinRs(linrs) => linrs.check(),
        }
        .map_err(|e| e.within("protocol"))
    }
}

/// Names are names, each once, and there are not too many.
fn check_fields<'a>(names: impl Iterator<Item = (&'a String, f64)>) -> Result<(), FieldError> {
    let fields: Vec<(&String, f64)> = names.collect();
    if !(1..=MOST_FIELDS).contains(&fields.len()) {
        let problem = format!("are {}; expected 1 to {MOST_FIELDS}", fields.len());
        return Err(FieldError::new("fields", problem));
    }
    for (i, (name, scale)) in fields.iter().enumerate() {
        let field = |f: &str| format!("fields[{i}].{f}");
        if !is_name(name) || fields[..i].iter().any(|(other, _)| other == name) {
            let problem = format!("is '{name}'; each field has a name of its own: {NAME_RULE}");
            return Err(FieldError::new(field("name"), problem));
        }
        if !scale.is_finite() || *scale == 0.0 {
            let problem = format!("is {scale}; expected a finite number that is not 0");
            return Err(FieldError::new(field("scale"), problem));
        }
    }
    Ok(())
}

impl AsciiConfig {
    fn check(&self) -> Result<(), FieldError> {
        for (field, text) in [
            ("terminator", &self.terminator),
            ("separator", &self.separator),
        ] {
            if text.is_empty() || text.len() > 8 {
                let problem = "expected 1 to 8 characters";
                return Err(FieldError::new(field, problem));
            }
        }
        check_fields(self.fields.iter().map(|f| (&f.name, f.scale)))?;
        for (i, field) in self.fields.iter().enumerate() {
            if field.index >= MOST_FIELDS {
                let problem = format!("is {}; expected 0 to {}", field.index, MOST_FIELDS - 1);
                return Err(FieldError::new(format!("fields[{i}].index"), problem));
            }
        }
        Ok(())
    }
}

impl BinaryConfig {
    /// Bytes before the checksum.
    pub fn covered(&self) -> usize {
        self.length.saturating_sub(self.checksum.len())
    }

    fn check(&self) -> Result<(), FieldError> {
        if self.header.is_empty() || self.header.len() > 8 {
            let problem =
                "expected 1 to 8 bytes: without any, the begin of a frame cannot be found";
            return Err(FieldError::new("header", problem));
        }
        let least = self.header.len() + 1 + self.checksum.len();
        if !(least..=LONGEST_FRAME).contains(&self.length) {
            let problem = format!(
                "is {} bytes; expected {least} (header, one byte, checksum) to {LONGEST_FRAME}",
                self.length
            );
            return Err(FieldError::new("length", problem));
        }
        if self.checksum_from >= self.covered() {
            let problem = format!(
                "is {}; the frame has {} bytes",
                self.checksum_from, self.length
            );
            return Err(FieldError::new("checksum_from", problem));
        }
        check_fields(self.fields.iter().map(|f| (&f.name, f.scale)))?;
        for (i, field) in self.fields.iter().enumerate() {
            let end = field.offset.saturating_add(field.format.len());
            if field.offset < self.header.len() || end > self.covered() {
                let problem = format!(
                    "is {}; expected the field between header and checksum, within bytes {} to {}",
                    field.offset,
                    self.header.len(),
                    self.covered()
                );
                return Err(FieldError::new(format!("fields[{i}].offset"), problem));
            }
        }
        Ok(())
    }
}
