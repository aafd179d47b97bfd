//! EtherCAT frames as they are on the wire: datagrams are built, found and checked here, by drivers and emulator alike.
//!
//! A frame is an Ethernet header (14 bytes), a length (2 bytes) and datagrams: command, index, address (ADP, ADO),
//! length with the bit "more follow", interrupt, data, working counter. Nothing here trusts a length that it was sent.

use std::ops::Range;

/// Longest frame without check sequence.
pub const MAX_FRAME: usize = 1514;
/// Shortest Ethernet frame without check sequence; network interfaces fill up to it.
pub const MIN_FRAME: usize = 60;
/// A place for any frame.
pub type Buffer = [u8; MAX_FRAME];

const ETHERTYPE: [u8; 2] = [0x88, 0xA4];
const ETHERNET: usize = 14;
const HEADER: usize = ETHERNET + 2;
const DATAGRAM_HEADER: usize = 10;
const COUNTER: usize = 2;
const LENGTH_BITS: u16 = 0x07FF;
const MORE: u16 = 0x8000;

/// The commands that are used here, by their numbers.
pub mod command {
    #![allow(missing_docs, reason = "names of the standard")]
    pub const NOP: u8 = 0;
    pub const APRD: u8 = 1;
    pub const APWR: u8 = 2;
    pub const APRW: u8 = 3;
    pub const FPRD: u8 = 4;
    pub const FPWR: u8 = 5;
    pub const FPRW: u8 = 6;
    pub const BRD: u8 = 7;
    pub const BWR: u8 = 8;
    pub const BRW: u8 = 9;
    pub const LRD: u8 = 10;
    pub const LWR: u8 = 11;
    pub const LRW: u8 = 12;
    pub const ARMW: u8 = 13;
    pub const FRMW: u8 = 14;
}

/// Registers of a device that are used here.
pub mod register {
    #![allow(missing_docs, reason = "names of the standard")]
    pub const AL_CONTROL: u16 = 0x0120;
    pub const AL_STATUS: u16 = 0x0130;
    pub const AL_STATUS_CODE: u16 = 0x0134;
    pub const SM1_STATUS: u16 = 0x080D;
    pub const DC_SYSTEM_TIME: u16 = 0x0910;
}

/// AL states, as in AL control and AL status.
pub mod al {
    #![allow(missing_docs, reason = "names of the standard")]
    pub const INIT: u16 = 1;
    pub const PRE_OP: u16 = 2;
    pub const SAFE_OP: u16 = 4;
    pub const OP: u16 = 8;
    pub const STATE: u16 = 0x0F;
    pub const ERROR: u16 = 0x10;
}

/// Why bytes are no EtherCAT frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFrame {
    /// Another protocol, or too short to tell.
    Foreign,
    /// Shorter than its own length says.
    Truncated,
    /// Datagrams do not fit into the frame.
    Malformed,
}

/// A datagram inside a frame, by places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its command.
    pub command: u8,
    /// Its index, which an answer repeats.
    pub index: u8,
    /// Where it begins.
    pub at: usize,
    /// Its data.
    pub data: Range<usize>,
}

impl Datagram {
    /// The first part of its address: position, station, or low half of a logical address.
    pub fn adp(&self, frame: &[u8]) -> u16 {
        read_u16(frame, self.at + 2)
    }

    /// The second part: register, or high half of a logical address.
    pub fn ado(&self, frame: &[u8]) -> u16 {
        read_u16(frame, self.at + 4)
    }

    /// Its working counter.
    pub fn counter(&self, frame: &[u8]) -> u16 {
        read_u16(frame, self.data.end)
    }
}

/// Two bytes, little-endian; 0 beyond the end.
pub fn read_u16(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(two) => u16::from_le_bytes([two[0], two[1]]),
        None => 0,
    }
}

/// Puts two bytes, little-endian; nothing beyond the end.
pub fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Who sent a frame.
pub fn source(frame: &[u8]) -> Option<[u8; 6]> {
    frame.get(6..12)?.try_into().ok()
}

/// Whether these bytes are EtherCAT at all.
pub fn is_ethercat(frame: &[u8]) -> bool {
    frame.len() >= HEADER && frame[12..14] == ETHERTYPE
}

/// The datagrams of a frame, one after the other. Every place that it gives lies inside the frame.
#[derive(Clone, Debug)]
pub struct Walk {
    at: usize,
    end: usize,
    is_over: bool,
}

impl Walk {
    /// Begins with the first datagram.
    pub fn begin(frame: &[u8]) -> Result<Self, BadFrame> {
        if !is_ethercat(frame) {
            return Err(BadFrame::Foreign);
        }
        let header = read_u16(frame, ETHERNET);
        let end = HEADER + usize::from(header & LENGTH_BITS);
        // The type of the frame: 1 is datagrams.
        if header >> 12 != 1 {
            return Err(BadFrame::Foreign);
        }
        if end > frame.len() {
            return Err(BadFrame::Truncated);
        }
        Ok(Self {
            at: HEADER,
            end,
            is_over: false,
        })
    }

    /// The next datagram; `None` behind the last one.
    pub fn next(&mut self, frame: &[u8]) -> Result<Option<Datagram>, BadFrame> {
        if self.is_over {
            return Ok(None);
        }
        let at = self.at;
        if at + DATAGRAM_HEADER + COUNTER > self.end {
            return Err(BadFrame::Malformed);
        }
        let length = read_u16(frame, at + 6);
        let data = at + DATAGRAM_HEADER..at + DATAGRAM_HEADER + usize::from(length & LENGTH_BITS);
        if data.end + COUNTER > self.end {
            return Err(BadFrame::Malformed);
        }
        self.at = data.end + COUNTER;
        self.is_over = length & MORE == 0;
        Ok(Some(Datagram {
            command: frame[at],
            index: frame[at + 1],
            at,
            data,
        }))
    }
}

/// Writes a frame, datagram by datagram.
pub struct Builder {
    frame: Buffer,
    len: usize,
    last: Option<usize>,
}

impl Builder {
    /// A frame to everyone, from a source address.
    pub fn new(source: [u8; 6]) -> Self {
        let mut frame = [0; MAX_FRAME];
        frame[..6].fill(0xFF);
        frame[6..12].copy_from_slice(&source);
        frame[12..14].copy_from_slice(&ETHERTYPE);
        Self {
            frame,
            len: HEADER,
            last: None,
        }
    }

    /// Appends a datagram with zeros as data; where its data is, or `None` if there is no room for it.
    pub fn push(&mut self, command: u8, adp: u16, ado: u16, len: usize) -> Option<Datagram> {
        let at = self.len;
        let data = at + DATAGRAM_HEADER..at + DATAGRAM_HEADER + len;
        if data.end + COUNTER > MAX_FRAME {
            return None;
        }
        if let Some(before) = self.last {
            let length = read_u16(&self.frame, before + 6) | MORE;
            write_u16(&mut self.frame, before + 6, length);
        }
        self.frame[at] = command;
        write_u16(&mut self.frame, at + 2, adp);
        write_u16(&mut self.frame, at + 4, ado);
        write_u16(&mut self.frame, at + 6, len as u16);
        self.last = Some(at);
        self.len = data.end + COUNTER;
        let length = (self.len - HEADER) as u16 | 1 << 12;
        write_u16(&mut self.frame, ETHERNET, length);
        Some(Datagram {
            command,
            index: 0,
            at,
            data,
        })
    }

    /// The frame and its length, not shorter than Ethernet allows.
    pub fn finish(self) -> (Buffer, usize) {
        (self.frame, self.len.max(MIN_FRAME))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_datagrams() -> (Buffer, usize, [Datagram; 2]) {
        let mut builder = Builder::new([2; 6]);
        let one = builder.push(command::FPRD, 0x1000, 0x0130, 2).unwrap();
        let two = builder.push(command::LRW, 0, 0, 30).unwrap();
        let (frame, len) = builder.finish();
        (frame, len, [one, two])
    }

    #[test]
    fn what_is_built_is_found_again() {
        let (frame, len, built) = two_datagrams();
        let mut walk = Walk::begin(&frame[..len]).unwrap();
        for datagram in &built {
            assert_eq!(walk.next(&frame[..len]).unwrap().as_ref(), Some(datagram));
        }
        assert_eq!(walk.next(&frame[..len]), Ok(None));
        assert_eq!(
            (built[0].adp(&frame), built[0].ado(&frame)),
            (0x1000, 0x0130)
        );
        assert!(
            Builder::new([0; 6])
                .push(command::LRW, 0, 0, 1500)
                .is_none()
        );
    }

    /// Each length of the same frame, and each length that its datagrams may claim: never out of bounds.
    #[test]
    fn lengths_are_not_believed() {
        let (mut frame, len, built) = two_datagrams();
        for cut in 0..len {
            let found = Walk::begin(&frame[..cut]);
            // The datagrams end with byte 72; only what is behind them may be missing.
            assert_eq!(found.is_ok(), cut >= 72, "{cut}: {found:?}");
        }
        for length in 0..=LENGTH_BITS {
            write_u16(&mut frame, built[0].at + 6, length | MORE);
            let mut walk = Walk::begin(&frame[..len]).unwrap();
            while let Ok(Some(datagram)) = walk.next(&frame[..len]) {
                assert!(datagram.data.end + 2 <= len);
            }
        }
        assert_eq!(Walk::begin(&[0; 60]).unwrap_err(), BadFrame::Foreign);
    }
}
