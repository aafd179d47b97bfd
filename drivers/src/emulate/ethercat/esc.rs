//! One emulated device: the registers that a frame reads and writes, its AL states, memory, mailbox, clock and watchdog.
//!
//! Everything that depends on time is worked out when a frame comes by, from the time that has passed.

use super::coe::{Dictionary, Mapping};
use super::drive::EmulatedDrive;
use super::mailbox::Mailboxes;
use super::sii::{self, Identity};
use super::world::World;
use crate::ethercat::wire::{al, read_u16, register, write_u16};

/// Mailbox to the device.
pub const MAILBOX_OUT: u16 = 0x1000;
/// Mailbox from the device.
pub const MAILBOX_IN: u16 = 0x1080;
/// Length of both.
pub const MAILBOX_LEN: u16 = 0x80;
/// Process data to the device.
pub const OUTPUTS_AT: u16 = 0x1100;
/// Process data from the device.
pub const INPUTS_AT: u16 = 0x1400;
/// Memory and registers of a device.
const MEMORY: usize = 0x1800;

const STATION_ADDRESS: usize = 0x0010;
const DL_STATUS: usize = 0x0110;
const WATCHDOG_DIVIDER: usize = 0x0400;
const WATCHDOG_OUTPUTS: usize = 0x0420;
const WATCHDOG_STATUS: usize = 0x0440;
const SII_CONTROL: usize = 0x0502;
const SII_ADDRESS: usize = 0x0504;
const SII_DATA: usize = 0x0508;
const FMMU: usize = 0x0600;
const FMMUS: usize = 4;
const SYNC_MANAGER: usize = 0x0800;
const DC_PORT_TIMES: usize = 0x0900;
const DC_SYSTEM_TIME: usize = 0x0910;
const DC_RECEIVE_TIME: usize = 0x0918;
const DC_OFFSET: usize = 0x0920;
const DC_DIFFERENCE: usize = 0x092C;
/// Time that a frame takes from one device to the next, in ns.
const HOP_NANOS: u64 = 600;
/// A clock follows a difference by this part of it a frame.
const CLOCK_GAIN: i64 = 8;

/// What an emulated device gives as an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Reading of a load cell; counts = (reading − offset) / scale.
    Cell {
        /// Number of the cell.
        cell: usize,
        /// Units a count.
        scale: f64,
        /// Reading at count 0.
        offset: f64,
    },
    /// Always the same count: digital inputs with every circuit closed.
    Count(i64),
    /// The same with the switch of the brake in one bit.
    Brake {
        /// All other bits.
        count: i64,
        /// The bit of the switch.
        bit: u8,
        /// Whether a set bit means that it holds.
        set_means_engaged: bool,
    },
}

/// An input with the object that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulatedInput {
    /// Number of the object in the dictionary.
    pub object: usize,
    /// Where it comes from.
    pub source: Source,
    /// What is shown in its place.
    pub held: Option<i64>,
}

/// A transition that a device refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The state that it does not go to.
    pub to: u16,
    /// The AL status code that it gives.
    pub code: u16,
}

/// See the module's text.
pub struct Esc {
    memory: Vec<u8>,
    sii: Vec<u8>,
    position: usize,
    /// Devices behind this one that are connected.
    behind: usize,
    state: u16,
    has_error: bool,
    code: u16,
    pub refusal: Option<Refusal>,
    pub mailboxes: Mailboxes,
    pub dictionary: Dictionary,
    outputs: Vec<Mapping>,
    inputs: Vec<Mapping>,
    outputs_since: Option<u64>,
    clock_skew: i64,
    clock_offset: i64,
    pub drive: Option<EmulatedDrive>,
    pub sources: Vec<EmulatedInput>,
}

impl Esc {
    pub fn new(position: usize, identity: Identity, name: &str, dictionary: Dictionary) -> Self {
        let serial = 1 + position as u32;
        let mut esc = Self {
            memory: vec![0; MEMORY],
            sii: sii::image(identity, serial, name),
            position,
            behind: 0,
            state: al::INIT,
            has_error: false,
            code: 0,
            refusal: None,
            mailboxes: Mailboxes::default(),
            outputs: Vec::with_capacity(64),
            inputs: Vec::with_capacity(64),
            dictionary,
            outputs_since: None,
            // Every device was switched on at another moment.
            clock_skew: 1_000_000_007 * (position as i64 + 1),
            clock_offset: 0,
            drive: None,
            sources: Vec::new(),
        };
        esc.power_on();
        esc
    }

    /// As after a return of the supply: nothing is configured.
    pub fn power_on(&mut self) {
        self.memory.fill(0);
        // An ET1100 with 8 FMMUs, 8 sync managers, 8 KiB, DC of 64 bits.
        self.memory[0x0000] = 0x11;
        self.memory[0x0004] = 8;
        self.memory[0x0005] = 8;
        self.memory[0x0006] = 8;
        self.memory[0x0007] = 0x0F;
        self.memory[0x0008] = 0x0C;
        write_u16(&mut self.memory, WATCHDOG_DIVIDER, 2498);
        write_u16(&mut self.memory, WATCHDOG_OUTPUTS, 1000);
        self.state = al::INIT;
        self.has_error = false;
        self.code = 0;
        self.mailboxes.clear();
        self.dictionary.reset();
        self.outputs.clear();
        self.inputs.clear();
        self.outputs_since = None;
        self.clock_offset = 0;
        if let Some(drive) = &mut self.drive {
            drive.power_on();
        }
    }

    /// Another product code, as after somebody has changed the device.
    pub fn set_product(&mut self, product: u32) {
        self.sii[2 * sii::PRODUCT..2 * sii::PRODUCT + 4].copy_from_slice(&product.to_le_bytes());
    }

    pub fn set_behind(&mut self, behind: usize) {
        self.behind = behind;
    }

    pub fn station(&self) -> u16 {
        read_u16(&self.memory, STATION_ADDRESS)
    }

    /// Whether its outputs count.
    pub fn is_op(&self) -> bool {
        self.state == al::OP
    }

    /// Leaves OP by itself.
    pub fn fall(&mut self, code: u16, now: u64) {
        if self.state == al::OP {
            self.state = al::SAFE_OP;
            self.has_error = true;
            self.code = code;
            if let Some(drive) = &mut self.drive {
                drive.lose_communication(&self.dictionary, now);
            }
        }
    }

    /// How long outputs may be missing, in ns; `None`: not watched.
    fn watchdog_nanos(&self) -> Option<u64> {
        let divider = u64::from(read_u16(&self.memory, WATCHDOG_DIVIDER)) + 2;
        let time = u64::from(read_u16(&self.memory, WATCHDOG_OUTPUTS));
        let is_watched = self.memory[SYNC_MANAGER + 2 * 8 + 4] & 0x40 != 0;
        (is_watched && time > 0 && !self.outputs.is_empty()).then_some(divider * 40 * time)
    }

    /// When the watchdog fires if nothing comes.
    pub fn watchdog_at(&self) -> Option<u64> {
        let since = self.outputs_since.filter(|_| self.state == al::OP)?;
        Some(since + self.watchdog_nanos()?)
    }

    /// The watchdog has fired.
    pub fn bite(&mut self, now: u64) {
        self.fall(0x001B, now);
        self.memory[WATCHDOG_STATUS] = 0;
    }

    /// A physical read; whether it counts.
    pub fn read(&mut self, at: u16, data: &mut [u8], or: bool, now: u64) -> bool {
        let at = usize::from(at);
        let end = at + data.len();
        if end > MEMORY {
            return false;
        }
        let mailbox = usize::from(MAILBOX_IN)..usize::from(MAILBOX_IN + MAILBOX_LEN);
        if self.state != al::INIT && at < mailbox.end && end > mailbox.start {
            if !self.mailboxes.is_in_full() {
                return false;
            }
            self.memory[mailbox.clone()].copy_from_slice(self.mailboxes.message());
            if end >= mailbox.end {
                self.mailboxes.was_read();
            }
        }
        self.refresh(at..end, now);
        for (byte, own) in data.iter_mut().zip(&self.memory[at..end]) {
            *byte = if or { *byte | own } else { *own };
        }
        true
    }

    /// A physical write; whether it counts.
    pub fn write(&mut self, at: u16, data: &[u8], now: u64) -> bool {
        let start = usize::from(at);
        let end = start + data.len();
        if end > MEMORY {
            return false;
        }
        let mailbox = usize::from(MAILBOX_OUT)..usize::from(MAILBOX_OUT + MAILBOX_LEN);
        if start < mailbox.end && end > mailbox.start {
            if self.state == al::INIT {
                return false;
            }
            self.memory[start..end].copy_from_slice(data);
            if end >= mailbox.end {
                let is_configurable = self.state == al::PRE_OP;
                let request = &self.memory[mailbox];
                self.mailboxes
                    .serve(request, &mut self.dictionary, is_configurable);
            }
            return true;
        }
        match start {
            DC_PORT_TIMES => self.latch_port_times(now),
            DC_SYSTEM_TIME => self.follow_clock(data, now),
            // What only the device itself writes.
            0x0000..0x0010 | 0x0110..0x0120 | 0x0130..0x0140 => {}
            _ => {
                self.memory[start..end].copy_from_slice(data);
                self.react(start..end, now);
            }
        }
        true
    }

    fn react(&mut self, written: std::ops::Range<usize>, now: u64) {
        let covers = |at: usize| written.contains(&at);
        if covers(usize::from(register::AL_CONTROL)) {
            let request = read_u16(&self.memory, usize::from(register::AL_CONTROL));
            self.request_state(request, now);
        }
        if covers(SII_CONTROL + 1) && self.memory[SII_CONTROL + 1] & 0x01 != 0 {
            let word = usize::from(read_u16(&self.memory, SII_ADDRESS));
            for i in 0..4 {
                let byte = self.sii.get(word * 2 + i).copied();
                self.memory[SII_DATA + i] = byte.unwrap_or(0xFF);
            }
            // Never busy, four bytes at a time, no error.
            write_u16(&mut self.memory, SII_CONTROL, 0);
        }
        if covers(DC_OFFSET) {
            let bytes = &self.memory[DC_OFFSET..DC_OFFSET + 8];
            self.clock_offset = i64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
    }

    /// Registers that show what is the case now.
    fn refresh(&mut self, read: std::ops::Range<usize>, now: u64) {
        let touches = |at: usize, len: usize| read.start < at + len && read.end > at;
        if touches(DL_STATUS, 2) {
            // Port 0 leads back, port 1 on; the others are closed.
            let on = self.behind > 0;
            let status = 0x01 | 0x10 | if on { 0x20 } else { 0 };
            let ports = 0x02 | if on { 0x08 } else { 0x04 } | 0x50;
            self.memory[DL_STATUS] = status;
            self.memory[DL_STATUS + 1] = ports;
        }
        if touches(0x0120, 0x20) {
            let error = if self.has_error { al::ERROR } else { 0 };
            write_u16(&mut self.memory, 0x0130, self.state | error);
            write_u16(&mut self.memory, 0x0134, self.code);
        }
        if touches(SYNC_MANAGER, 16) {
            self.memory[SYNC_MANAGER + 5] = 0;
            self.memory[SYNC_MANAGER + 8 + 5] = if self.mailboxes.is_in_full() { 8 } else { 0 };
        }
        if touches(DC_SYSTEM_TIME, 8) {
            let time = self.system_time(now).to_le_bytes();
            self.memory[DC_SYSTEM_TIME..DC_SYSTEM_TIME + 8].copy_from_slice(&time);
        }
    }

    fn local_time(&self, now: u64) -> i64 {
        now as i64 + self.clock_skew
    }

    /// Time of the distributed clock, in ns.
    pub fn system_time(&self, now: u64) -> i64 {
        self.local_time(now) + self.clock_offset
    }

    fn latch_port_times(&mut self, now: u64) {
        let arrives = self.local_time(now) as u64 + HOP_NANOS * self.position as u64;
        let returns = arrives + 2 * HOP_NANOS * self.behind as u64;
        self.memory[DC_RECEIVE_TIME..DC_RECEIVE_TIME + 8].copy_from_slice(&arrives.to_le_bytes());
        for (port, time) in [arrives, returns, 0, 0].into_iter().enumerate() {
            let at = DC_PORT_TIMES + 4 * port;
            self.memory[at..at + 4].copy_from_slice(&(time as u32).to_le_bytes());
        }
    }

    /// A clock does not jump: it takes a part of the difference.
    fn follow_clock(&mut self, data: &[u8], now: u64) {
        let own = self.system_time(now);
        let mut told = own.to_le_bytes();
        let n = data.len().min(8);
        told[..n].copy_from_slice(&data[..n]);
        let mut difference = i64::from_le_bytes(told).wrapping_sub(own);
        if n == 4 {
            // Only the lower half was told: the shortest way round.
            difference = i64::from(difference as u32 as i32);
        }
        self.clock_offset = self.clock_offset.wrapping_add(difference / CLOCK_GAIN);
        let sign = if difference < 0 { 0x8000_0000 } else { 0 };
        let size = difference.unsigned_abs().min(0x7FFF_FFFF) as u32;
        self.memory[DC_DIFFERENCE..DC_DIFFERENCE + 4].copy_from_slice(&(sign | size).to_le_bytes());
    }

    fn request_state(&mut self, request: u16, now: u64) {
        let to = request & al::STATE;
        if request & al::ERROR != 0 {
            self.has_error = false;
            self.code = 0;
        } else if self.has_error {
            return;
        }
        if to == self.state {
            return;
        }
        match self.check_transition(to, now) {
            Ok(()) => {
                if to == al::OP {
                    self.outputs_since = Some(now);
                    self.memory[WATCHDOG_STATUS] = 1;
                }
                if let Some(drive) = &mut self.drive
                    && self.state == al::OP
                {
                    drive.disable();
                }
                self.state = to;
            }
            Err(code) => {
                self.has_error = true;
                self.code = code;
            }
        }
    }

    fn check_transition(&mut self, to: u16, now: u64) -> Result<(), u16> {
        if let Some(refusal) = self.refusal.filter(|r| r.to == to) {
            return Err(refusal.code);
        }
        match (self.state, to) {
            (_, al::INIT) | (al::SAFE_OP | al::OP, al::PRE_OP) | (al::OP, al::SAFE_OP) => Ok(()),
            (al::INIT, al::PRE_OP) => {
                let is_set = |manager: usize, at: u16| {
                    let begin = SYNC_MANAGER + 8 * manager;
                    read_u16(&self.memory, begin) == at
                        && read_u16(&self.memory, begin + 2) == MAILBOX_LEN
                        && self.memory[begin + 6] & 1 == 1
                };
                let good = is_set(0, MAILBOX_OUT) && is_set(1, MAILBOX_IN);
                good.then_some(()).ok_or(0x0016)
            }
            (al::PRE_OP, al::SAFE_OP) => {
                self.dictionary
                    .mapping(0x1C12, &mut self.outputs)
                    .ok_or(0x0025_u16)?;
                self.dictionary
                    .mapping(0x1C13, &mut self.inputs)
                    .ok_or(0x0024_u16)?;
                let len = |manager: usize| {
                    usize::from(read_u16(&self.memory, SYNC_MANAGER + 8 * manager + 2))
                };
                if len(2) != Mapping::bytes(&self.outputs) {
                    return Err(0x001D);
                }
                if len(3) != Mapping::bytes(&self.inputs) {
                    return Err(0x001E);
                }
                Ok(())
            }
            (al::SAFE_OP, al::OP) => {
                let is_fresh = self.outputs.is_empty()
                    || self.outputs_since.is_some_and(|since| {
                        now.saturating_sub(since) <= self.watchdog_nanos().unwrap_or(u64::MAX)
                    });
                is_fresh.then_some(()).ok_or(0x0019)
            }
            _ => Err(0x0011),
        }
    }

    /// A logical command passes by; by how much the working counter grows.
    pub fn logical(&mut self, address: u32, data: &mut [u8], reads: bool, writes: bool) -> u16 {
        let mut counter = 0;
        for n in 0..FMMUS {
            let at = FMMU + 16 * n;
            let own = &self.memory[at..at + 16];
            let kind = own[11];
            if own[12] & 1 == 0 {
                continue;
            }
            let start = u32::from_le_bytes([own[0], own[1], own[2], own[3]]);
            let len = usize::from(read_u16(own, 4));
            let physical = usize::from(read_u16(own, 8));
            // The part of this FMMU that lies in the datagram.
            let first = u64::from(start.max(address));
            let end = (u64::from(start) + len as u64).min(u64::from(address) + data.len() as u64);
            if first >= end {
                continue;
            }
            let n = (end - first) as usize;
            let here = (first - u64::from(address)) as usize;
            let there = physical + (first - u64::from(start)) as usize;
            let Some(memory) = self.memory.get_mut(there..there + n) else {
                continue;
            };
            let part = &mut data[here..here + n];
            if kind & 1 != 0 && reads {
                part.copy_from_slice(memory);
                counter += 1;
            } else if kind & 2 != 0 && writes {
                memory.copy_from_slice(part);
                // One pass that reads and writes counts two for a write.
                counter += if reads { 2 } else { 1 };
            }
        }
        counter
    }

    /// Puts fresh inputs where the next frame finds them.
    pub fn put_inputs(&mut self, world: &mut World) {
        if !matches!(self.state, al::SAFE_OP | al::OP) {
            return;
        }
        if let Some(drive) = &mut self.drive {
            drive.put_inputs(&mut self.dictionary, world);
        }
        for input in &self.sources {
            let count = match (input.held, input.source) {
                (Some(held), _) => held,
                (None, Source::Count(count)) => count,
                (
                    None,
                    Source::Brake {
                        count,
                        bit,
                        set_means_engaged,
                    },
                ) => count | i64::from(world.brake_grips() == set_means_engaged) << bit,
                (
                    None,
                    Source::Cell {
                        cell,
                        scale,
                        offset,
                    },
                ) => ((world.reading(cell) - offset) / scale).round() as i64,
            };
            self.dictionary.put(input.object, count as u64);
        }
        let area = &mut self.memory[usize::from(INPUTS_AT)..];
        for mapping in &self.inputs {
            mapping.write(area, self.dictionary.get(mapping.object));
        }
    }

    /// Takes the outputs that a frame has brought.
    pub fn take_outputs(&mut self, world: &mut World, now: u64) {
        if self.outputs.is_empty() || !matches!(self.state, al::SAFE_OP | al::OP) {
            return;
        }
        self.outputs_since = Some(now);
        if self.state != al::OP {
            return;
        }
        let area = &self.memory[usize::from(OUTPUTS_AT)..];
        for mapping in &self.outputs {
            let value = mapping.read(area);
            self.dictionary.put(mapping.object, value);
        }
        if let Some(drive) = &mut self.drive {
            drive.step(&mut self.dictionary, world, now);
            if let Some(code) = drive.take_emergency() {
                self.mailboxes.push_emergency(code, 0x01);
            }
        }
    }
}
