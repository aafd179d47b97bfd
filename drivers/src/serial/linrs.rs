//! A LinMot drive on a serial line (LinRS): telegrams `01 | ID | length | 02 | sub | main | data … | [checksum] | 04`.
//!
//! The length counts from `02` to the last byte of data. The master sends one of two messages and waits for the drive's
//! default response to it; the data are, little-endian,
//!
//! ```text
//! main 1, sub 0: control word 2
//! main 2, sub 0: motion command header 2, position 4
//! main 0, sub 0: state of the communication 1 (0: in order), status word 2, state variable 2, actual position 4
//! ```
//!
//! Messages, lengths and the tests' telegrams are those of the examples in the maker's manual of the interface. The error
//! code is the low byte of the state variable in the error state.

use super::checksum::Checksum;
use super::frame::Look;
use crate::linmot::{DriveState, P_STREAM, Reference, STATE_ERROR, require_own_timeout};
use rt_core::file::{FieldError, require_within};
use serde::Deserialize;

/// A drive as the rig file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinRsConfig {
    /// The drive's number on the line.
    #[serde(default = "first_id")]
    pub id: u8,
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
    /// After how long without a request the drive itself switches its motor off, in s, as it is set in the drive. The
    /// protocol cannot read it: it is shown as not confirmed. `None`: nobody has looked.
    #[serde(default)]
    pub drive_timeout_s: Option<f64>,
    /// How long the drive may take to switch on, in s.
    #[serde(default = "enable_time")]
    pub enable_s: f64,
    /// How long the drive may take to home, in s.
    #[serde(default = "home_time")]
    pub home_s: f64,
}

/// Identifiers of a message.
#[derive(Clone, Copy)]
struct MessageId {
    main: u8,
    sub: u8,
}

const CONTROL_WORD: MessageId = MessageId { main: 1, sub: 0 };
const MOTION: MessageId = MessageId { main: 2, sub: 0 };
const RESPONSE: MessageId = MessageId { main: 0, sub: 0 };

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
pub(crate) const INPUTS: [&str; 3] = ["position", "status_word", "state_variable"];

/// Bytes around the data.
const HEADER: usize = 6;
const CONTROL_DATA: usize = 2;
const MOTION_DATA: usize = 6;
const RESPONSE_DATA: usize = 9;
/// The longest telegram here.
pub const LONGEST: usize = HEADER + RESPONSE_DATA + 2 + 1;

/// A drive's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// State of the communication: 0, or an error of the request before.
    pub communication: u8,
    /// Status word.
    pub status: u16,
    /// State variable.
    pub state_var: u16,
    /// Actual position, in 0.1 µm.
    pub position: i32,
}

impl Response {
    /// What it means for the drive's master.
    pub fn drive_state(&self) -> DriveState {
        let [code, state] = self.state_var.to_le_bytes();
        DriveState {
            status: self.status,
            state_var: self.state_var,
            error: if u16::from(state) == STATE_ERROR {
                u16::from(code)
            } else {
                0
            },
        }
    }
}

/// What a drive is told with one telegram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A control word.
    Control(u16),
    /// A motion command.
    Motion {
        /// Its header.
        header: u16,
        /// Its position, in 0.1 µm.
        position: i32,
    },
}

impl Request {
    /// A reference of a stream.
    pub fn reference(reference: Reference) -> Self {
        Request::Motion {
            header: P_STREAM | u16::from(reference.count & 0xF),
            position: reference.counts,
        }
    }
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
        require_own_timeout(self.drive_timeout_s)?;
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

    /// Writes a request; returns its length.
    pub fn write_request(&self, request: &Request, out: &mut [u8; LONGEST]) -> usize {
        match request {
            Request::Control(word) => self.write(CONTROL_WORD, &word.to_le_bytes(), out),
            Request::Motion { header, position } => {
                let mut data = [0; MOTION_DATA];
                data[..2].copy_from_slice(&header.to_le_bytes());
                data[2..].copy_from_slice(&position.to_le_bytes());
                self.write(MOTION, &data, out)
            }
        }
    }

    /// Whether a response begins a window of bytes.
    pub fn look_for_response(&self, bytes: &[u8]) -> Look {
        self.look(RESPONSE, RESPONSE_DATA, bytes)
    }

    /// Whether a request begins a window of bytes.
    pub fn look_for_request(&self, bytes: &[u8]) -> Look {
        match self.look(CONTROL_WORD, CONTROL_DATA, bytes) {
            Look::Nothing => self.look(MOTION, MOTION_DATA, bytes),
            found => found,
        }
    }

    /// Writes a response, as a drive does; returns its length.
    pub fn write_response(&self, response: &Response, out: &mut [u8; LONGEST]) -> usize {
        let mut data = [0; RESPONSE_DATA];
        data[0] = response.communication;
        data[1..3].copy_from_slice(&response.status.to_le_bytes());
        data[3..5].copy_from_slice(&response.state_var.to_le_bytes());
        data[5..].copy_from_slice(&response.position.to_le_bytes());
        self.write(RESPONSE, &data, out)
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
        communication: d[0],
        status: u16::from_le_bytes([d[1], d[2]]),
        state_var: u16::from_le_bytes([d[3], d[4]]),
        position: i32::from_le_bytes([d[5], d[6], d[7], d[8]]),
    })
}

/// Reads a request that [`LinRsConfig::look_for_request`] has found, as a drive does.
pub fn read_request(frame: &[u8]) -> Option<Request> {
    if *frame.get(5)? == CONTROL_WORD.main {
        let d: &[u8; CONTROL_DATA] = data(frame)?;
        return Some(Request::Control(u16::from_le_bytes(*d)));
    }
    let d: &[u8; MOTION_DATA] = data(frame)?;
    Some(Request::Motion {
        header: u16::from_le_bytes([d[0], d[1]]),
        position: i32::from_le_bytes([d[2], d[3], d[4], d[5]]),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::frame::Window;
    use super::*;
    use crate::linmot::{STATE_OPERATION, status};

    pub fn config(checksum: Checksum) -> LinRsConfig {
        LinRsConfig {
            id: 0x11,
            checksum,
            checksum_covers_header: false,
            zero_m: 0.0,
            is_reversed: false,
            home_bit: None,
            n_com: 1,
            drive_timeout_s: None,
            enable_s: 1.0,
            home_s: 30.0,
        }
    }

    fn written(checksum: Checksum, request: Request) -> Vec<u8> {
        let mut out = [0; LONGEST];
        let len = config(checksum).write_request(&request, &mut out);
        out[..len].to_vec()
    }

    /// The telegrams of the maker's examples: clear the control word, go to 10 mm.
    #[test]
    fn requests_are_those_of_the_manual() {
        let clear = [0x01, 0x11, 0x05, 0x02, 0x00, 0x01, 0x00, 0x00, 0x04];
        assert_eq!(written(Checksum::None, Request::Control(0)), clear);
        let go = [
            0x01, 0x11, 0x09, 0x02, 0x00, 0x02, 0x01, 0x02, 0xA0, 0x86, 0x01, 0x00, 0x04,
        ];
        let to_10_mm = Request::Motion {
            header: 0x0201,
            position: 100_000,
        };
        assert_eq!(written(Checksum::None, to_10_mm), go);
        for (telegram, request) in [(&clear[..], Request::Control(0)), (&go, to_10_mm)] {
            let look = config(Checksum::None).look_for_request(telegram);
            assert!(matches!(look, Look::Frame(n) if n == telegram.len()));
            assert_eq!(read_request(telegram), Some(request));
        }
    }

    #[test]
    fn a_reference_is_a_motion_command_with_its_count_and_a_checksum_if_wanted() {
        let reference = Request::reference(Reference {
            count: 5,
            counts: 1,
        });
        // 02 + 00 + 02 + 05 + 03 + 01 = 0x0D.
        let expected = [1, 0x11, 9, 2, 0, 2, 0x05, 0x03, 1, 0, 0, 0, 0x0D, 0, 4];
        assert_eq!(written(Checksum::Sum16, reference), expected);
    }

    /// The answers of the maker's examples.
    #[test]
    fn responses_are_those_of_the_manual() {
        let read = |telegram: &[u8]| {
            let look = config(Checksum::None).look_for_response(telegram);
            assert!(matches!(look, Look::Frame(16)));
            read_response(telegram).unwrap()
        };
        let cleared = read(&[
            0x01, 0x11, 0x0C, 0x02, 0, 0, 0, 0xB4, 0x40, 0x00, 0x02, 0xAB, 0, 0, 0, 0x04,
        ]);
        assert_eq!((cleared.status, cleared.state_var), (0x40B4, 0x0200));
        assert_eq!((cleared.communication, cleared.position), (0, 171));
        assert_eq!(cleared.status & status::OPERATION_ENABLED, 0);
        let going = read(&[
            0x01, 0x11, 0x0C, 0x02, 0, 0, 0, 0x37, 0x68, 0xA1, 0x08, 0x8B, 0xFC, 0xFF, 0xFF, 0x04,
        ]);
        let all = status::OPERATION_ENABLED | status::HOMED | status::MOTION_ACTIVE;
        assert_eq!(going.status & all, all);
        // It follows, and its count is that of the command that it was sent.
        assert_eq!(going.state_var >> 8, STATE_OPERATION);
        assert_eq!(going.state_var & 0xF, 1);
        assert_eq!((going.position, going.drive_state().error), (-885, 0));
        let failed = Response {
            state_var: 0x040B,
            ..going
        };
        assert_eq!(failed.drive_state().error, 0x0B);
    }

    #[test]
    fn responses_are_found_and_damaged_ones_are_not() {
        let response = Response {
            communication: 0,
            status: 0x0837,
            state_var: 0x0805,
            position: -5,
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
