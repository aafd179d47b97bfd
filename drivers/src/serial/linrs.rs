//! A LinMot drive on a serial line (LinRS): telegrams `01 | ID | length | 02 | sub | main | data … | [checksum] | 04`.
//!
//! The length counts from `02` to the last byte of data. Which message carries the motion commands depends on how the
//! drive's interface is set up, so the identifiers stand in the rig file; the data are, little-endian,
//!
//! ```text
//! request:  control word 2, motion command header 2, position 4
//! response: status word 2, state variable 2, actual position 4, demand position 4, current 2, error code 2
//! ```

use super::checksum::Checksum;
use super::frame::Look;
use crate::linmot::{P_STREAM, Telegram};
use rt_core::file::{FieldError, require_within};
use serde::Deserialize;

/// A drive as the rig file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinRsConfig {
    /// The drive's number on the line.
    #[serde(default = "first_id")]
    pub id: u8,
    /// Main and sub identifier of the request.
    pub request: MessageId,
    /// Main and sub identifier of the response.
    pub response: MessageId,
    /// How telegrams prove that they are whole: `None`, `Sum16`, `Crc16Ccitt` or `Crc16CcittReflected`.
    #[serde(default)]
    pub checksum: Checksum,
    /// Whether the checksum covers the header `01 | ID | length` too.
    #[serde(default)]
    pub checksum_covers_header: bool,
    /// Where the drive's zero is, in m.
    #[serde(default)]
    pub zero_m: f64,
    /// Whether the drive counts the other way.
    #[serde(default)]
    pub is_reversed: bool,
    /// Bit of the control word that homes the drive; `None`: homed by other means.
    #[serde(default)]
    pub home_bit: Option<u8>,
    /// A reference is sent with every so many-th request.
    #[serde(default = "every")]
    pub n_com: u32,
    /// How long the drive may take to switch on, in s.
    #[serde(default = "enable_time")]
    pub enable_s: f64,
    /// How long the drive may take to home, in s.
    #[serde(default = "home_time")]
    pub home_s: f64,
}

/// Identifiers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageId {
    /// Main identifier.
    pub main: u8,
    /// Sub identifier.
    pub sub: u8,
}

fn first_id() -> u8 {
    0x11
}

fn every() -> u32 {
    1
}

fn enable_time() -> f64 {
    2.0
}

fn home_time() -> f64 {
    30.0
}

/// Its inputs, in the order of their slots.
pub(crate) const INPUTS: [&str; 4] = ["position", "demand_position", "current", "status_word"];

/// Bytes around the data.
const HEADER: usize = 6;
const REQUEST_DATA: usize = 8;
const RESPONSE_DATA: usize = 16;
/// The longest telegram here.
pub const LONGEST: usize = HEADER + RESPONSE_DATA + 2 + 1;

/// A drive's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Status word.
    pub status: u16,
    /// State variable.
    pub state_var: u16,
    /// Actual position, in 0.1 µm.
    pub position: i32,
    /// Demand position, in 0.1 µm.
    pub demand: i32,
    /// Current, in mA.
    pub current: i16,
    /// Error code.
    pub error: u16,
}

/// A request, as a drive reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Control word.
    pub control: u16,
    /// Header of the motion command.
    pub header: u16,
    /// Its position, in 0.1 µm.
    pub position: i32,
}

impl LinRsConfig {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        if matches!(
            self.checksum,
            Checksum::Sum8 | Checksum::Xor8 | Checksum::Crc16Modbus
        ) {
            let problem = format!(
                "is {:?}; expected None, Sum16, Crc16Ccitt or Crc16CcittReflected",
                self.checksum
            );
            return Err(FieldError::new("checksum", problem));
        }
        if let Some(bit) = self.home_bit.filter(|bit| !(1..=15).contains(bit)) {
            return Err(FieldError::new(
                "home_bit",
                format!("is {bit}; expected 1 to 15"),
            ));
        }
        require_within("zero_m", self.zero_m, -100.0, 100.0, "m")?;
        require_within("n_com", f64::from(self.n_com), 1.0, 100.0, "")?;
        require_within("enable_s", self.enable_s, 0.05, 60.0, "s")?;
        require_within("home_s", self.home_s, 0.05, 60.0, "s")
    }

    fn write(&self, id: MessageId, data: &[u8], out: &mut [u8; LONGEST]) -> usize {
        let head = [0x01, self.id, (3 + data.len()) as u8, 0x02, id.sub, id.main];
        out[..HEADER].copy_from_slice(&head);
        let end = HEADER + data.len();
        out[HEADER..end].copy_from_slice(data);
        let from = if self.checksum_covers_header { 0 } else { 3 };
        let sum = self.checksum.of(&out[from..end]);
        let behind = end + self.checksum.len();
        out[end..behind].copy_from_slice(&sum[..self.checksum.len()]);
        out[behind] = 0x04;
        behind + 1
    }

    fn look(&self, id: MessageId, data: usize, bytes: &[u8]) -> Look {
        let head = [0x01, self.id, (3 + data) as u8, 0x02, id.sub, id.main];
        let known = bytes.len().min(HEADER);
        if bytes[..known] != head[..known] {
            return Look::Nothing;
        }
        let end = HEADER + data;
        let behind = end + self.checksum.len();
        if bytes.len() <= behind {
            return Look::More;
        }
        let from = if self.checksum_covers_header { 0 } else { 3 };
        let sum = self.checksum.of(&bytes[from..end]);
        if bytes[end..behind] == sum[..self.checksum.len()] && bytes[behind] == 0x04 {
            Look::Frame(behind + 1)
        } else {
            Look::Damaged
        }
    }

    /// Writes a request; returns its length. Without a reference the last header is repeated, which commands nothing.
    pub fn write_request(
        &self,
        telegram: &Telegram,
        last: &mut Request,
        out: &mut [u8; LONGEST],
    ) -> usize {
        last.control = telegram.control;
        if let Some(reference) = telegram.reference {
            last.header = P_STREAM | u16::from(reference.count & 0xF);
            last.position = reference.counts;
        }
        let mut data = [0; REQUEST_DATA];
        data[..2].copy_from_slice(&last.control.to_le_bytes());
        data[2..4].copy_from_slice(&last.header.to_le_bytes());
        data[4..].copy_from_slice(&last.position.to_le_bytes());
        self.write(self.request, &data, out)
    }

    /// Whether a response begins a window of bytes.
    pub fn look_for_response(&self, bytes: &[u8]) -> Look {
        self.look(self.response, RESPONSE_DATA, bytes)
    }

    /// Whether a request begins a window of bytes.
    pub fn look_for_request(&self, bytes: &[u8]) -> Look {
        self.look(self.request, REQUEST_DATA, bytes)
    }

    /// Writes a response, as a drive does; returns its length.
    pub fn write_response(&self, response: &Response, out: &mut [u8; LONGEST]) -> usize {
        let mut data = [0; RESPONSE_DATA];
        data[..2].copy_from_slice(&response.status.to_le_bytes());
        data[2..4].copy_from_slice(&response.state_var.to_le_bytes());
        data[4..8].copy_from_slice(&response.position.to_le_bytes());
        data[8..12].copy_from_slice(&response.demand.to_le_bytes());
        data[12..14].copy_from_slice(&response.current.to_le_bytes());
        data[14..].copy_from_slice(&response.error.to_le_bytes());
        self.write(self.response, &data, out)
    }
}

/// The data of a telegram that was found.
fn data<const N: usize>(frame: &[u8]) -> Option<&[u8; N]> {
    frame.get(HEADER..)?.first_chunk()
}

/// Reads a response that [`LinRsConfig::look_for_response`] has found.
pub fn read_response(frame: &[u8]) -> Option<Response> {
    let d: &[u8; RESPONSE_DATA] = data(frame)?;
    Some(Response {
        status: u16::from_le_bytes([d[0], d[1]]),
        state_var: u16::from_le_bytes([d[2], d[3]]),
        position: i32::from_le_bytes([d[4], d[5], d[6], d[7]]),
        demand: i32::from_le_bytes([d[8], d[9], d[10], d[11]]),
        current: i16::from_le_bytes([d[12], d[13]]),
        error: u16::from_le_bytes([d[14], d[15]]),
    })
}

/// Reads a request that [`LinRsConfig::look_for_request`] has found, as a drive does.
pub fn read_request(frame: &[u8]) -> Option<Request> {
    let d: &[u8; REQUEST_DATA] = data(frame)?;
    Some(Request {
        control: u16::from_le_bytes([d[0], d[1]]),
        header: u16::from_le_bytes([d[2], d[3]]),
        position: i32::from_le_bytes([d[4], d[5], d[6], d[7]]),
    })
}

#[cfg(test)]
mod tests {
    use super::super::frame::Window;
    use super::*;
    use crate::linmot::Reference;

    fn config(checksum: Checksum) -> LinRsConfig {
        LinRsConfig {
            id: 0x11,
            request: MessageId { main: 2, sub: 0 },
            response: MessageId { main: 0, sub: 2 },
            checksum,
            checksum_covers_header: false,
            zero_m: 0.0,
            is_reversed: false,
            home_bit: None,
            n_com: 1,
            enable_s: 1.0,
            home_s: 30.0,
        }
    }

    #[test]
    fn a_request_is_laid_out_byte_by_byte() {
        let config = config(Checksum::Sum16);
        let mut out = [0; LONGEST];
        let telegram = Telegram {
            control: 0x003F,
            reference: Some(Reference {
                count: 5,
                counts: 1,
            }),
        };
        let mut last = Request::default();
        let len = config.write_request(&telegram, &mut last, &mut out);
        // 02 + 00 + 02 + 3F + 05 + 03 + 01 = 0x4C.
        let expected = [
            1, 0x11, 11, 2, 0, 2, 0x3F, 0, 0x05, 0x03, 1, 0, 0, 0, 0x4C, 0, 4,
        ];
        assert_eq!(out[..len], expected);
        let without = Telegram {
            reference: None,
            ..telegram
        };
        config.write_request(&without, &mut last, &mut out);
        assert_eq!(
            out[8..10],
            [0x05, 0x03],
            "the same count commands nothing new"
        );
    }

    #[test]
    fn responses_are_found_and_damaged_ones_are_not() {
        let response = Response {
            status: 0x0837,
            state_var: 0x0805,
            position: -5,
            demand: 6,
            current: -7,
            error: 8,
        };
        for checksum in [
            Checksum::None,
            Checksum::Sum16,
            Checksum::Crc16Ccitt,
            Checksum::Crc16CcittReflected,
        ] {
            let config = config(checksum);
            let mut out = [0; LONGEST];
            let len = config.write_response(&response, &mut out);
            let mut found = Vec::new();
            let mut window = Window::default();
            let mut cut = out[..len].to_vec();
            cut.truncate(9);
            let mut changed = out[..len].to_vec();
            changed[8] ^= 0x10;
            let mut unended = out[..len].to_vec();
            unended[len - 1] = 5;
            let stream = [&cut[..], &changed, &unended, &out[..len]].concat();
            for byte in stream {
                window.push(
                    byte,
                    |b| config.look_for_response(b),
                    |f| found.extend(read_response(f)),
                );
            }
            let whole = found.iter().filter(|f| **f == response).count();
            assert!(whole >= 1, "{checksum:?}: {found:?}");
            if checksum != Checksum::None {
                assert_eq!(found, [response], "{checksum:?}");
            }
        }
    }
}
