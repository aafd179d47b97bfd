//! Checksums of serial frames.

use serde::Deserialize;

/// How a frame proves that it is whole. The checksum stands behind what it covers, low byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Checksum {
    /// It does not.
    #[default]
    None,
    /// Sum of all bytes, modulo 256.
    Sum8,
    /// All bytes combined by exclusive or.
    Xor8,
    /// Sum of all bytes, modulo 65536.
    Sum16,
    /// CRC-16/MODBUS: polynomial 0x8005, reflected, from 0xFFFF.
    Crc16Modbus,
    /// CRC-16/CCITT: polynomial 0x1021, reflected, from 0xFFFF.
    Crc16CcittReflected,
    /// CRC-16/CCITT: polynomial 0x1021, from 0xFFFF.
    Crc16Ccitt,
}

impl Checksum {
    /// Its length in bytes.
    pub fn len(self) -> usize {
        match self {
            Checksum::None => 0,
            Checksum::Sum8 | Checksum::Xor8 => 1,
            _ => 2,
        }
    }

    /// Whether frames carry none.
    pub fn is_empty(self) -> bool {
        self == Checksum::None
    }

    /// The checksum of some bytes, low byte first; only the first [`Checksum::len`] bytes count.
    pub fn of(self, bytes: &[u8]) -> [u8; 2] {
        let sum = || {
            bytes
                .iter()
                .fold(0_u16, |sum, b| sum.wrapping_add(u16::from(*b)))
        };
        match self {
            Checksum::None => 0,
            Checksum::Sum8 => sum() & 0xFF,
            Checksum::Xor8 => u16::from(bytes.iter().fold(0, |x, b| x ^ b)),
            Checksum::Sum16 => sum(),
            Checksum::Crc16Modbus => reflected(bytes, 0xA001),
            Checksum::Crc16CcittReflected => reflected(bytes, 0x8408),
            Checksum::Crc16Ccitt => forward(bytes, 0x1021),
        }
        .to_le_bytes()
    }
}

fn reflected(bytes: &[u8], polynomial: u16) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { polynomial } else { 0 }
        })
    })
}

fn forward(bytes: &[u8], polynomial: u16) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            (crc << 1) ^ if crc & 0x8000 != 0 { polynomial } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published check values: the checksum of the nine characters 123456789.
    #[test]
    fn checksums_have_their_published_check_values() {
        let of = |c: Checksum| u16::from_le_bytes(c.of(b"123456789"));
        assert_eq!(of(Checksum::Crc16Modbus), 0x4B37);
        // CRC-16/MCRF4XX.
        assert_eq!(of(Checksum::Crc16CcittReflected), 0x6F91);
        // CRC-16/IBM-3740, also called CCITT-FALSE.
        assert_eq!(of(Checksum::Crc16Ccitt), 0x29B1);
        assert_eq!(of(Checksum::Sum16), 477);
        assert_eq!(of(Checksum::Sum8), 477 % 256);
        assert_eq!(of(Checksum::Xor8), 0x31);
        assert_eq!(of(Checksum::None), 0);
    }
}
