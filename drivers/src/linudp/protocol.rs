//! LinUDP datagrams: two definitions of bits, then the fields that the bits announce, little-endian.
//!
//! ```text
//! request:  u32 request bits, u32 response bits, control word 2, MC interface 32, realtime config 8
//! response: u32 request bits, u32 response bits, status 2, state variable 2, actual position 4, demand position 4,
//!           current 2, warn word 2, error code 2, monitoring 16, realtime config 8; zeros up to 64 bytes
//! ```

use crate::linmot::{P_STREAM, Reference, Telegram};

/// Bits of the request definition.
pub mod request {
    /// Control word.
    pub const CONTROL: u32 = 1 << 0;
    /// Motion command interface.
    pub const MOTION: u32 = 1 << 1;
    /// Realtime configuration.
    pub const CONFIG: u32 = 1 << 2;
    /// All that there are.
    pub const ALL: u32 = 0b111;
}

/// Sizes of the response's fields, by bit.
const RESPONSE_SIZES: [usize; 9] = [2, 2, 4, 4, 2, 2, 2, 16, 8];
/// What this program asks for: everything but the realtime configuration.
pub const ASKED: u32 = 0b0_1111_1111;
/// All response bits that there are.
const RESPONSE_ALL: u32 = 0b1_1111_1111;
/// Both definitions.
const HEADER: usize = 8;
/// Size of the motion command interface.
const MOTION_BYTES: usize = 32;
/// Size of the realtime configuration.
const CONFIG_BYTES: usize = 8;
/// Shorter responses are filled up to this.
pub const SHORTEST_RESPONSE: usize = 64;
/// The longest datagram of either kind.
pub const LONGEST: usize = 64;

/// Why a datagram is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It ends before its fields do.
    Short,
    /// It announces fields that do not exist.
    Bits,
    /// It is an answer to something else than was asked.
    NotAsked,
}

/// A drive's answer to [`ASKED`].
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
    /// Warn word.
    pub warn: u16,
    /// Error code.
    pub error: u16,
    /// Four monitoring channels.
    pub monitoring: [i32; 4],
}

/// Reads little-endian numbers off a datagram; past its end there is nothing.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_le_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.take()?))
    }
}

/// Writes little-endian numbers; what does not fit any more is not written.
struct Writer<'a> {
    buffer: &'a mut [u8; LONGEST],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let end = (self.len + bytes.len()).min(LONGEST);
        let fits = end - self.len;
        self.buffer[self.len..end].copy_from_slice(&bytes[..fits]);
        self.len = end;
    }
}

/// A request with control word and, if there is one, a reference. Returns its length.
pub fn write_request(telegram: &Telegram, buffer: &mut [u8; LONGEST]) -> usize {
    *buffer = [0; LONGEST];
    let mut out = Writer { buffer, len: 0 };
    let motion = if telegram.reference.is_some() {
        request::MOTION
    } else {
        0
    };
    out.put(&(request::CONTROL | motion).to_le_bytes());
    out.put(&ASKED.to_le_bytes());
    out.put(&telegram.control.to_le_bytes());
    if let Some(Reference { count, counts }) = telegram.reference {
        let mut interface = [0; MOTION_BYTES];
        interface[..2].copy_from_slice(&(P_STREAM | u16::from(count & 0xF)).to_le_bytes());
        interface[2..6].copy_from_slice(&counts.to_le_bytes());
        out.put(&interface);
    }
    out.len
}

/// Reads a response to [`ASKED`].
pub fn read_response(datagram: &[u8]) -> Result<Response, Malformed> {
    let mut reader = Reader { rest: datagram };
    let request_bits = reader.u32()?;
    let response_bits = reader.u32()?;
    if request_bits & !request::ALL != 0 || response_bits & !RESPONSE_ALL != 0 {
        return Err(Malformed::Bits);
    }
    if response_bits != ASKED {
        return Err(Malformed::NotAsked);
    }
    if datagram.len() < SHORTEST_RESPONSE {
        return Err(Malformed::Short);
    }
    Ok(Response {
        status: reader.u16()?,
        state_var: reader.u16()?,
        position: reader.i32()?,
        demand: reader.i32()?,
        current: reader.u16()? as i16,
        warn: reader.u16()?,
        error: reader.u16()?,
        monitoring: [reader.i32()?, reader.i32()?, reader.i32()?, reader.i32()?],
    })
}

/// A request as a drive understands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Which fields are asked for.
    pub asked: u32,
    /// The request bits, which the response repeats.
    pub bits: u32,
    /// Control word, if it is there.
    pub control: Option<u16>,
    /// Header of the motion command and its first parameter, if they are there.
    pub motion: Option<(u16, i32)>,
}

/// Reads a request, as a drive does.
pub fn read_request(datagram: &[u8]) -> Result<Request, Malformed> {
    let mut reader = Reader { rest: datagram };
    let bits = reader.u32()?;
    let asked = reader.u32()?;
    if bits & !request::ALL != 0 || asked & !RESPONSE_ALL != 0 {
        return Err(Malformed::Bits);
    }
    let control = if bits & request::CONTROL != 0 {
        Some(reader.u16()?)
    } else {
        None
    };
    let motion = if bits & request::MOTION != 0 {
        let interface: [u8; MOTION_BYTES] = reader.take()?;
        let mut reader = Reader { rest: &interface };
        Some((reader.u16()?, reader.i32()?))
    } else {
        None
    };
    if bits & request::CONFIG != 0 {
        reader.take::<CONFIG_BYTES>()?;
    }
    Ok(Request {
        asked,
        bits,
        control,
        motion,
    })
}

/// A response to a request, as a drive writes it. Returns its length.
pub fn write_response(request: &Request, response: &Response, buffer: &mut [u8; LONGEST]) -> usize {
    *buffer = [0; LONGEST];
    let mut fields = [[0_u8; 16]; RESPONSE_SIZES.len()];
    let mut monitoring = [0; 16];
    for (channel, bytes) in response
        .monitoring
        .iter()
        .zip(monitoring.chunks_exact_mut(4))
    {
        bytes.copy_from_slice(&channel.to_le_bytes());
    }
    fields[0][..2].copy_from_slice(&response.status.to_le_bytes());
    fields[1][..2].copy_from_slice(&response.state_var.to_le_bytes());
    fields[2][..4].copy_from_slice(&response.position.to_le_bytes());
    fields[3][..4].copy_from_slice(&response.demand.to_le_bytes());
    fields[4][..2].copy_from_slice(&response.current.to_le_bytes());
    fields[5][..2].copy_from_slice(&response.warn.to_le_bytes());
    fields[6][..2].copy_from_slice(&response.error.to_le_bytes());
    fields[7] = monitoring;
    let mut out = Writer { buffer, len: 0 };
    out.put(&request.bits.to_le_bytes());
    out.put(&request.asked.to_le_bytes());
    for (bit, (size, field)) in RESPONSE_SIZES.iter().zip(&fields).enumerate() {
        if request.asked & (1 << bit) != 0 {
            out.put(&field[..*size]);
        }
    }
    out.len.max(SHORTEST_RESPONSE)
}

const _: () = assert!(HEADER + 2 + MOTION_BYTES + CONFIG_BYTES <= LONGEST);
const _: () = assert!(HEADER + 2 + 2 + 4 + 4 + 2 + 2 + 2 + 16 + 8 <= LONGEST);

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte as the public description lays it out.
    #[test]
    fn a_request_is_laid_out_by_its_bits() {
        let mut buffer = [0xEE; LONGEST];
        let mut telegram = Telegram {
            control: 0x003F,
            reference: None,
        };
        let len = write_request(&telegram, &mut buffer);
        assert_eq!(buffer[..len], [1, 0, 0, 0, 0xFF, 0, 0, 0, 0x3F, 0]);
        telegram.reference = Some(Reference {
            count: 7,
            counts: -123_456,
        });
        let len = write_request(&telegram, &mut buffer);
        assert_eq!(len, 42);
        assert_eq!(buffer[..10], [3, 0, 0, 0, 0xFF, 0, 0, 0, 0x3F, 0]);
        assert_eq!(buffer[10..12], [0x07, 0x03]);
        assert_eq!(buffer[12..16], (-123_456_i32).to_le_bytes());
        assert_eq!(buffer[16..42], [0; 26]);
        let read = read_request(&buffer[..len]).unwrap();
        assert_eq!(read.control, Some(0x3F));
        assert_eq!(read.motion, Some((0x0307, -123_456)));
    }

    #[test]
    fn a_response_comes_back_as_it_was_written() {
        let response = Response {
            status: 0x0837,
            state_var: 0x0805,
            position: -2_000_000_000,
            demand: 77,
            current: -1500,
            warn: 0x8001,
            error: 0x000D,
            monitoring: [1, -2, 3, i32::MIN],
        };
        let request = Request {
            asked: ASKED,
            bits: 1,
            ..Request::default()
        };
        let mut buffer = [0xEE; LONGEST];
        let len = write_response(&request, &response, &mut buffer);
        assert_eq!(len, 64);
        // Offsets of the description: status at 8, position at 12, current at 20, error at 24, monitoring at 26.
        assert_eq!(buffer[8..10], [0x37, 0x08]);
        assert_eq!(buffer[12..16], (-2_000_000_000_i32).to_le_bytes());
        assert_eq!(buffer[20..22], (-1500_i16).to_le_bytes());
        assert_eq!(buffer[24..26], [0x0D, 0]);
        assert_eq!(buffer[38..42], i32::MIN.to_le_bytes());
        assert_eq!(read_response(&buffer), Ok(response));
        assert_eq!(read_response(&buffer[..63]), Err(Malformed::Short));
        assert_eq!(read_response(&buffer[..5]), Err(Malformed::Short));
        buffer[4] = 0x7F;
        assert_eq!(read_response(&buffer), Err(Malformed::NotAsked));
        buffer[6] = 1;
        assert_eq!(read_response(&buffer), Err(Malformed::Bits));
    }

    #[test]
    fn fields_follow_each_other_without_gaps_whatever_is_asked() {
        let request = Request {
            asked: 0b101,
            ..Request::default()
        };
        let response = Response {
            status: 0x1234,
            position: 0x0506_0708,
            ..Response::default()
        };
        let mut buffer = [0; LONGEST];
        assert_eq!(write_response(&request, &response, &mut buffer), 64);
        assert_eq!(buffer[8..14], [0x34, 0x12, 0x08, 0x07, 0x06, 0x05]);
        assert_eq!(buffer[14..], [0; 50]);
    }
}
