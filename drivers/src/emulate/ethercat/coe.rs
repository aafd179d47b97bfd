//! The object dictionary of an emulated device: SDO requests are answered from it, process data is mapped from it.

use crate::ethercat::config::DeviceConfig;
use crate::ethercat::wire::read_u16;

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Object {
    index: u16,
    sub: u8,
    bits: u8,
    is_writable: bool,
    value: u64,
    default: u64,
}

/// An object in the process data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its number in the dictionary; `None` is a gap.
    pub object: Option<usize>,
    bit: usize,
    bits: u8,
}

impl Mapping {
    /// Bytes of all mappings.
    pub fn bytes(all: &[Mapping]) -> usize {
        let bits: usize = all.iter().map(|m| usize::from(m.bits)).sum();
        bits.div_ceil(8)
    }

    /// Its value in an area.
    pub fn read(&self, area: &[u8]) -> u64 {
        (0..usize::from(self.bits))
            .filter(|i| {
                let bit = self.bit + i;
                area.get(bit / 8)
                    .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
            })
            .fold(0, |value, i| value | 1 << i)
    }

    /// Puts its value into an area.
    pub fn write(&self, area: &mut [u8], value: u64) {
        for i in 0..usize::from(self.bits) {
            let bit = self.bit + i;
            if let Some(byte) = area.get_mut(bit / 8) {
                let mask = 1 << (bit % 8);
                *byte = if value >> i & 1 == 1 {
                    *byte | mask
                } else {
                    *byte & !mask
                };
            }
        }
    }
}

/// Why an SDO is refused.
mod abort {
    pub const COMMAND: u32 = 0x0504_0001;
    pub const READ_ONLY: u32 = 0x0601_0002;
    pub const NO_OBJECT: u32 = 0x0602_0000;
    pub const CANNOT_MAP: u32 = 0x0604_0041;
    pub const LENGTH: u32 = 0x0607_0010;
    pub const NO_SUBINDEX: u32 = 0x0609_0011;
    pub const STATE: u32 = 0x0800_0022;
}

/// Entries that a mapping can hold.
const MAPPED: u8 = 16;
/// PDOs that a sync manager can be assigned.
const ASSIGNED: u8 = 4;

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    objects: Vec<Object>,
    /// An object that nobody can write, although it is answered as if it was taken.
    kept: Option<u16>,
    /// An object that is answered as if it was not there.
    hidden: Option<u16>,
}

impl Dictionary {
    /// All that a device of a rig file has to have. Nothing is mapped before it is asked for.
    pub fn of(device: &DeviceConfig, identity: super::sii::Identity) -> Self {
        let mut own = Self::default();
        own.add(0x1000, 0, 32, false, 0);
        own.add(0x1018, 0, 8, false, 4);
        for (sub, value) in [
            (1, identity.vendor),
            (2, identity.product),
            (3, identity.revision),
        ] {
            own.add(0x1018, sub, 32, false, value.into());
        }
        for assignment in [0x1C12, 0x1C13] {
            own.add(assignment, 0, 8, true, 0);
            (1..=ASSIGNED).for_each(|sub| own.add(assignment, sub, 16, true, 0));
        }
        for pdo in device.outputs.iter().chain(&device.inputs) {
            own.add(pdo.index, 0, 8, true, 0);
            (1..=MAPPED).for_each(|sub| own.add(pdo.index, sub, 32, true, 0));
        }
        for (pdos, is_writable) in [(&device.outputs, true), (&device.inputs, false)] {
            for &(index, sub, bits) in pdos.iter().flat_map(|pdo| &pdo.entries) {
                if index != 0 {
                    own.add(index, sub, bits, is_writable, 0);
                }
            }
        }
        for sdo in &device.sdo {
            own.add(sdo.index, sdo.sub, 8 * sdo.value.bytes().1 as u8, true, 0);
        }
        own
    }

    /// Adds an object that is not there yet.
    pub fn add(&mut self, index: u16, sub: u8, bits: u8, is_writable: bool, value: u64) {
        if self.find(index, sub).is_none() {
            self.objects.push(Object {
                index,
                sub,
                bits,
                is_writable,
                value,
                default: value,
            });
        }
    }

    /// Number of an object.
    pub fn find(&self, index: u16, sub: u8) -> Option<usize> {
        let is_it = |o: &Object| (o.index, o.sub) == (index, sub);
        self.objects.iter().position(is_it)
    }

    /// Value of an object by its number; 0 for a gap.
    pub fn get(&self, object: Option<usize>) -> u64 {
        object
            .and_then(|i| self.objects.get(i))
            .map_or(0, |o| o.value)
    }

    /// Puts a value, whoever may write it.
    pub fn put(&mut self, object: impl Into<Option<usize>>, value: u64) {
        if let Some(object) = object.into().and_then(|i: usize| self.objects.get_mut(i)) {
            let mask = if object.bits >= 64 {
                u64::MAX
            } else {
                (1 << object.bits) - 1
            };
            object.value = value & mask;
        }
    }

    /// Lets an object stay as it is, whoever writes it.
    pub fn keep(&mut self, index: Option<u16>) {
        self.kept = index;
    }

    /// Answers for an object as if it was not there.
    pub fn hide(&mut self, index: Option<u16>) {
        self.hidden = index;
    }

    /// Back to what it was when it was built.
    pub fn reset(&mut self) {
        self.objects.iter_mut().for_each(|o| o.value = o.default);
    }

    /// What is mapped by an assignment; `None` if it names what does not exist. Does not allocate while it fits.
    pub fn mapping(&self, assignment: u16, mapped: &mut Vec<Mapping>) -> Option<()> {
        mapped.clear();
        let mut bit = 0;
        let value = |index, sub| self.find(index, sub).map(|i| self.get(Some(i)));
        for n in 1..=value(assignment, 0)? as u8 {
            let pdo = value(assignment, n)? as u16;
            for k in 1..=value(pdo, 0)? as u8 {
                let entry = value(pdo, k)?;
                let (index, sub, bits) = ((entry >> 16) as u16, (entry >> 8) as u8, entry as u8);
                let object = self.find(index, sub);
                if object.is_none() && index != 0 {
                    return None;
                }
                mapped.push(Mapping { object, bit, bits });
                bit += usize::from(bits);
            }
        }
        Some(())
    }

    /// Answers an SDO request (8 bytes: command, index, subindex, data) with an SDO response.
    pub fn answer(&mut self, request: [u8; 8], is_configurable: bool) -> [u8; 8] {
        let (index, sub) = (read_u16(&request, 1), request[3]);
        let mut response = [0; 8];
        response[1..4].copy_from_slice(&request[1..4]);
        let done = match request[0] >> 5 {
            1 => self
                .download(request, is_configurable)
                .map(|()| response[0] = 0x60),
            2 => self.upload(index, sub).map(|(bytes, n)| {
                // Expedited with its size: 4 − n bytes hold nothing.
                response[0] = 0x43 | ((4 - n) as u8) << 2;
                response[4..8].copy_from_slice(&bytes);
            }),
            _ => Err(abort::COMMAND),
        };
        if let Err(code) = done {
            response[0] = 0x80;
            response[4..8].copy_from_slice(&code.to_le_bytes());
        }
        response
    }

    fn known(&self, index: u16, sub: u8) -> Result<usize, u32> {
        if self.hidden == Some(index) {
            return Err(abort::NO_OBJECT);
        }
        self.find(index, sub).ok_or_else(|| {
            if self.objects.iter().any(|o| o.index == index) {
                abort::NO_SUBINDEX
            } else {
                abort::NO_OBJECT
            }
        })
    }

    fn upload(&self, index: u16, sub: u8) -> Result<([u8; 4], usize), u32> {
        let object = &self.objects[self.known(index, sub)?];
        let bytes = (object.value as u32).to_le_bytes();
        Ok((bytes, usize::from(object.bits).div_ceil(8).clamp(1, 4)))
    }

    fn download(&mut self, request: [u8; 8], is_configurable: bool) -> Result<(), u32> {
        let (index, sub) = (read_u16(&request, 1), request[3]);
        let number = self.known(index, sub)?;
        let object = &self.objects[number];
        // Only expedited downloads with their size.
        if request[0] & 0x03 != 0x03 {
            return Err(abort::COMMAND);
        }
        let len = 4 - usize::from(request[0] >> 2 & 3);
        if !object.is_writable {
            return Err(abort::READ_ONLY);
        }
        if len != usize::from(object.bits).div_ceil(8) {
            return Err(abort::LENGTH);
        }
        let value = u32::from_le_bytes([request[4], request[5], request[6], request[7]]);
        if (0x1600..0x1D00).contains(&index) {
            if !is_configurable {
                return Err(abort::STATE);
            }
            let is_mapping = index < 0x1C00 && sub > 0 && value != 0;
            let (i, s) = ((value >> 16) as u16, (value >> 8) as u8);
            if is_mapping && i != 0 && self.find(i, s).is_none() {
                return Err(abort::CANNOT_MAP);
            }
        }
        let mask = if len == 4 {
            u32::MAX
        } else {
            (1 << (8 * len)) - 1
        };
        if self.kept != Some(index) {
            self.put(number, u64::from(value & mask));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sii::Identity;
    use super::*;
    use crate::ethercat::config::PdoConfig;

    fn dictionary() -> Dictionary {
        let device = DeviceConfig {
            name: "drive".into(),
            vendor: 1,
            product: 2,
            revision: None,
            sync0: false,
            sdo: Vec::new(),
            outputs: vec![PdoConfig {
                index: 0x1600,
                entries: vec![(0x6040, 0, 16), (0x607A, 0, 32)],
            }],
            inputs: vec![PdoConfig {
                index: 0x1A00,
                entries: vec![(0x6041, 0, 16), (0, 0, 3), (0x60FD, 0, 5)],
            }],
        };
        Dictionary::of(
            &device,
            Identity {
                vendor: 1,
                product: 2,
                revision: 3,
            },
        )
    }

    fn code(response: [u8; 8]) -> Option<u32> {
        (response[0] == 0x80)
            .then(|| u32::from_le_bytes([response[4], response[5], response[6], response[7]]))
    }

    #[test]
    fn a_mapping_is_made_by_sdo_and_only_where_it_may() {
        let mut own = dictionary();
        let mut ask = |request| own.answer(request, true);
        // Download of one byte to 0x1A00:0, then entries: 16 bits, a gap of 3, 5 bits.
        assert_eq!(ask([0x2F, 0x00, 0x1A, 0, 0, 0, 0, 0])[0], 0x60);
        assert_eq!(ask([0x23, 0x00, 0x1A, 1, 16, 0, 0x41, 0x60])[0], 0x60);
        assert_eq!(ask([0x23, 0x00, 0x1A, 2, 3, 0, 0, 0])[0], 0x60);
        assert_eq!(ask([0x23, 0x00, 0x1A, 3, 5, 0, 0xFD, 0x60])[0], 0x60);
        assert_eq!(ask([0x2F, 0x00, 0x1A, 0, 3, 0, 0, 0])[0], 0x60);
        assert_eq!(ask([0x2B, 0x13, 0x1C, 1, 0x00, 0x1A, 0, 0])[0], 0x60);
        assert_eq!(ask([0x2F, 0x13, 0x1C, 0, 1, 0, 0, 0])[0], 0x60);
        assert_eq!(
            code(ask([0x23, 0x00, 0x1A, 1, 16, 0, 0x99, 0x99])),
            Some(0x0604_0041)
        );
        assert_eq!(
            code(ask([0x40, 0x34, 0x12, 0, 0, 0, 0, 0])),
            Some(0x0602_0000)
        );
        assert_eq!(
            code(ask([0x40, 0x18, 0x10, 9, 0, 0, 0, 0])),
            Some(0x0609_0011)
        );
        assert_eq!(
            code(ask([0x2B, 0x41, 0x60, 0, 1, 0, 0, 0])),
            Some(0x0601_0002)
        );
        assert_eq!(
            code(ask([0x2F, 0x40, 0x60, 0, 1, 0, 0, 0])),
            Some(0x0607_0010)
        );
        assert_eq!(
            code(ask([0x00, 0x40, 0x60, 0, 1, 0, 0, 0])),
            Some(0x0504_0001)
        );
        // An upload of two bytes.
        assert_eq!(
            ask([0x40, 0x13, 0x1C, 1, 0, 0, 0, 0]),
            [0x4B, 0x13, 0x1C, 1, 0x00, 0x1A, 0, 0]
        );
        assert_eq!(
            code(own.answer([0x2F, 0x13, 0x1C, 0, 0, 0, 0, 0], false)),
            Some(0x0800_0022)
        );

        let mut mapped = Vec::new();
        own.mapping(0x1C13, &mut mapped).unwrap();
        assert_eq!(Mapping::bytes(&mapped), 3);
        let mut area = [0xFF; 3];
        own.put(own.find(0x6041, 0), 0x1234);
        own.put(own.find(0x60FD, 0), 0b10101);
        for m in &mapped {
            m.write(&mut area, own.get(m.object));
        }
        assert_eq!(area, [0x34, 0x12, 0b1010_1000]);
        assert_eq!(mapped[2].read(&area), 0b10101);
    }
}
