//! The cyclic frame: built once, patched in every cycle, sent and checked on the real-time thread.
//!
//! It is our own and not the library's: the library's timeouts allocate and lock. One frame holds the clocks, all
//! process data, the AL status and status code of every device and whether its mailbox is full; places for AL control
//! and for reading one mailbox are there from the beginning and do nothing (NOP) until they are needed. A cycle is
//! good only if the working counter is complete and every device is in OP.

mod frame;

pub use frame::{Plan, PlanDevice};

use super::config::MAX_DEVICES;
use super::counters::Counters;
use super::transport::{Received, Transport};
use super::wire::{self, Buffer, Builder, Datagram, Walk, al, command, read_u16, write_u16};
use frame::{Layout, Match, Places, matches};
use rt_core::rig::RigFault;
use std::sync::Arc;

/// Where our cyclic frames come from; the library has another address, so neither takes the other's answers.
const SOURCE: [u8; 6] = [0x10, 0x10, 0x10, 0x10, 0x10, 0x1C];

/// What a device did in the last cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    al_status: u16,
    al_code: u16,
    answers: bool,
    mailbox_full: bool,
    /// When AL control was written last.
    asked_at: Option<u64>,
}

/// How a cycle ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cycle {
    /// Inputs are fresh.
    Good,
    /// They are not.
    Bad(RigFault),
    /// They are not, and the segment has to be set up again.
    Broken(RigFault),
}

/// AL control is written again after this time, in ns.
const AL_RETRY_NANOS: u64 = 100_000_000;
/// Cycles without an answer of the segment or of a device after which it is set up again.
const LOST_CYCLES: u32 = 25;
/// Good cycles before OP is asked for: devices have to have seen outputs and clocks.
const CYCLES_BEFORE_OP: u32 = 10;
/// Frames that are taken in vain in one cycle before it is given up.
const MAX_IN_VAIN: u32 = 32;

/// See the module's text.
pub struct Cyclic {
    transport: Box<dyn Transport>,
    plan: Plan,
    bus: u16,
    frame: Buffer,
    len: usize,
    reply: Buffer,
    clock_write: Option<Datagram>,
    clock_read: Option<Datagram>,
    data: Datagram,
    places: Vec<Places>,
    /// Places for reading a mailbox, one for each length.
    mailboxes: Vec<Datagram>,
    /// Device and place that are read in this cycle.
    reading_mailbox: Option<(usize, usize)>,
    expected: u16,
    index: u8,
    was_answered: bool,
    seen: [Seen; MAX_DEVICES],
    lost: u32,
    missing: u32,
    good: u32,
    has_been_op: bool,
    /// Time of the reference clock at a time of ours: the origin of the grid.
    origin: Option<(u64, u64)>,
    /// Difference of the reference clock from the grid, in ns.
    clock_error: i64,
    sent_at: u64,
    counters: Arc<Counters>,
}

impl Cyclic {
    /// Builds the frame; `Err` gives the transport back if it does not fit into one.
    pub fn new(
        transport: Box<dyn Transport>,
        plan: Plan,
        bus: u16,
        counters: Arc<Counters>,
    ) -> Result<Self, Box<dyn Transport>> {
        let mut builder = Builder::new(SOURCE);
        let Some(layout) = Layout::push(&mut builder, &plan) else {
            return Err(transport);
        };
        let (frame, len) = builder.finish();
        Ok(Self {
            transport,
            bus,
            expected: plan.expected_counter(),
            plan,
            frame,
            len,
            reply: [0; wire::MAX_FRAME],
            clock_write: layout.clock_write,
            clock_read: layout.clock_read,
            data: layout.data,
            places: layout.places,
            mailboxes: layout.mailboxes,
            reading_mailbox: None,
            index: 0,
            was_answered: true,
            seen: [Seen::default(); MAX_DEVICES],
            lost: 0,
            missing: 0,
            good: 0,
            has_been_op: false,
            origin: None,
            clock_error: 0,
            sent_at: 0,
            counters,
        })
    }

    /// Gives the transport back.
    pub fn into_transport(self) -> Box<dyn Transport> {
        self.transport
    }

    /// The outputs of a device for the next cycle.
    pub fn outputs(&mut self, device: usize) -> &mut [u8] {
        let range = self
            .plan
            .devices
            .get(device)
            .map_or(0..0, |d| d.outputs.clone());
        let data = &mut self.frame[self.data.data.clone()];
        data.get_mut(range).unwrap_or_default()
    }

    /// The inputs of a device from the last good cycle.
    pub fn inputs(&self, device: usize) -> &[u8] {
        let range = self
            .plan
            .devices
            .get(device)
            .map_or(0..0, |d| d.inputs.clone());
        let data = &self.reply[self.data.data.clone()];
        data.get(range).unwrap_or_default()
    }

    /// The setting by which nothing may be switched on.
    pub fn differs(&self) -> Option<RigFault> {
        self.plan.differs
    }

    /// The transport's time, in ns.
    pub fn now(&self) -> u64 {
        self.transport.now()
    }

    /// When the last frame was sent.
    pub fn sent_at(&self) -> u64 {
        self.sent_at
    }

    /// By how much the reference clock differs from the loop's grid, in ns.
    pub fn clock_error(&self) -> i64 {
        self.clock_error
    }

    /// One cycle.
    pub fn exchange(&mut self, now: u64) -> Cycle {
        self.patch(now);
        let answered = self.send_and_wait();
        match answered {
            Ok(true) => {
                self.lost = 0;
                self.was_answered = true;
                self.judge()
            }
            Ok(false) => {
                self.was_answered = false;
                self.good = 0;
                self.lost = self.lost.saturating_add(1);
                Counters::count(&self.counters.lost);
                let in_a_row = self.lost;
                if self.lost < LOST_CYCLES {
                    return Cycle::Bad(RigFault::LostExchange { in_a_row });
                }
                let limit = self.plan.period_nanos * u64::from(LOST_CYCLES);
                Cycle::Broken(RigFault::Timeout {
                    bus: self.bus,
                    silent_us: us(self.plan.period_nanos * u64::from(in_a_row)),
                    limit_us: us(limit),
                })
            }
            Err(_) => Cycle::Broken(RigFault::Unplugged { bus: self.bus }),
        }
    }

    /// Puts this cycle's index, clock, AL control and mailbox into the frame.
    fn patch(&mut self, now: u64) {
        self.index = self.index.wrapping_add(1);
        let time = self.grid_time(now);
        if let (Some(place), Some(time)) = (&self.clock_write, time) {
            self.frame[place.at] = command::FPWR;
            self.frame[place.data.clone()].copy_from_slice(&(time as u32).to_le_bytes());
        }
        let may_ask = self.good >= CYCLES_BEFORE_OP || self.has_been_op;
        for (place, seen) in self.places.iter().zip(&mut self.seen) {
            let ask = seen.al_control(may_ask, now);
            self.frame[place.control.at] = if ask.is_some() {
                command::FPWR
            } else {
                command::NOP
            };
            if let Some(value) = ask {
                seen.asked_at = Some(now);
                write_u16(&mut self.frame, place.control.data.start, value);
            }
        }
        self.patch_mailbox();
        let mut walk = Walk::begin(&self.frame[..self.len]);
        while let Ok(Some(datagram)) = walk
            .as_mut()
            .map_or(Ok(None), |w| w.next(&self.frame[..self.len]))
        {
            self.frame[datagram.at + 1] = self.index;
        }
    }

    /// Reads the first mailbox that is full; one a cycle.
    fn patch_mailbox(&mut self) {
        self.reading_mailbox = None;
        for place in &self.mailboxes {
            self.frame[place.at] = command::NOP;
        }
        let Some(i) = self.seen.iter().position(|s| s.mailbox_full) else {
            return;
        };
        let Some((device, (address, len))) =
            self.plan.devices.get(i).and_then(|d| Some((d, d.mailbox?)))
        else {
            return;
        };
        let is_fit = |place: &Datagram| place.data.len() == usize::from(len);
        if let Some(n) = self.mailboxes.iter().position(is_fit) {
            let at = self.mailboxes[n].at;
            self.frame[at] = command::FPRD;
            write_u16(&mut self.frame, at + 2, device.station);
            write_u16(&mut self.frame, at + 4, address);
            self.reading_mailbox = Some((i, n));
        }
    }

    /// What the reference clock should show when this frame arrives: a point of the loop's grid.
    fn grid_time(&self, now: u64) -> Option<u64> {
        let (own, theirs) = self.origin?;
        let period = self.plan.period_nanos;
        let ticks = (now.saturating_sub(own) + period / 2) / period;
        Some(theirs + ticks * period)
    }

    /// Whether an answer came; the frame is sent a second time if none did.
    fn send_and_wait(&mut self) -> Result<bool, super::transport::Down> {
        self.drain();
        for attempt in 0..2 {
            self.sent_at = self.transport.now();
            self.transport.send(&self.frame[..self.len])?;
            Counters::count(&self.counters.sent);
            if attempt > 0 {
                Counters::count(&self.counters.repeated);
            }
            let deadline = self.sent_at + self.plan.reply_nanos;
            for _ in 0..MAX_IN_VAIN {
                match self.transport.receive(&mut self.reply, deadline) {
                    Received::Frame(len) if self.is_answer(len) => {
                        let taken = self.transport.now().saturating_sub(self.sent_at);
                        self.counters.round_trip.add(taken);
                        return Ok(true);
                    }
                    Received::Frame(_) => {}
                    Received::Nothing => break,
                    Received::Down => return Err(super::transport::Down),
                }
            }
        }
        Ok(false)
    }

    /// Takes what has come since the last cycle.
    fn drain(&mut self) {
        for _ in 0..MAX_IN_VAIN {
            match self.transport.receive(&mut self.reply, 0) {
                // The index is that of the next cycle by now: nothing here can be its answer.
                Received::Frame(len) => {
                    self.is_answer(len);
                }
                Received::Nothing | Received::Down => return,
            }
        }
    }

    /// Whether the received frame is the answer to the frame of this cycle; others are counted.
    fn is_answer(&self, len: usize) -> bool {
        let reply = &self.reply[..len.min(wire::MAX_FRAME)];
        let mut returned = SOURCE;
        returned[0] |= 0x02;
        if !wire::is_ethercat(reply) || wire::source(reply) != Some(returned) {
            Counters::count(&self.counters.foreign);
            return false;
        }
        match matches(reply, &self.frame[..self.len]) {
            Match::Same => true,
            Match::OtherIndex(index) => {
                let is_last = index == self.index.wrapping_sub(1) || index == self.index;
                let counter = if is_last && self.was_answered {
                    &self.counters.duplicate
                } else {
                    &self.counters.late
                };
                Counters::count(counter);
                false
            }
            Match::Bad => {
                Counters::count(&self.counters.bad);
                false
            }
        }
    }

    /// What the answer means.
    fn judge(&mut self) -> Cycle {
        self.follow_clock();
        let got = self.data.counter(&self.reply);
        let mut worst = None;
        let mut lowest = al::OP;
        for (i, (place, seen)) in self.places.iter().zip(&mut self.seen).enumerate() {
            seen.take(place, &self.reply);
            let device = 1 + i as u16;
            let state = seen.al_status & al::STATE;
            if seen.answers {
                lowest = lowest.min(state);
            }
            let is_op = seen.al_status & (al::STATE | al::ERROR) == al::OP;
            if seen.answers && !is_op && worst.is_none() {
                worst = Some(seen.fault(device));
            }
        }
        let emergency = self.take_mailbox();
        if self.seen[..self.places.len()].iter().any(|s| !s.answers) || got != self.expected {
            self.good = 0;
            self.missing = self.missing.saturating_add(1);
            let fault = RigFault::WorkingCounter {
                expected: self.expected,
                got,
            };
            return if self.missing >= LOST_CYCLES {
                Cycle::Broken(fault)
            } else {
                Cycle::Bad(fault)
            };
        }
        self.missing = 0;
        self.good = self.good.saturating_add(1);
        if let Some(fault) = worst {
            // A device that has forgotten its set-up does not come back by itself.
            if lowest < al::SAFE_OP {
                return Cycle::Broken(fault);
            }
            let is_starting =
                !self.has_been_op && !matches!(fault, RigFault::DeviceState { al_code: 1.., .. });
            return Cycle::Bad(if is_starting {
                RigFault::Connecting { bus: self.bus }
            } else {
                fault
            });
        }
        self.has_been_op = true;
        emergency.map_or(Cycle::Good, Cycle::Bad)
    }

    /// Compares the reference clock with the grid; the first answer gives the grid its origin, so that the clock has
    /// at most half a period to go.
    fn follow_clock(&mut self) {
        let (Some(place), Some(clocks)) = (&self.clock_read, &self.plan.clocks) else {
            return;
        };
        let bytes = self
            .reply
            .get(place.data.clone())
            .and_then(|b| b.try_into().ok());
        let theirs = bytes.map_or(0, u64::from_le_bytes);
        if place.counter(&self.reply) == 0 || theirs == 0 {
            return;
        }
        match self.grid_time(self.sent_at) {
            Some(due) => self.clock_error = theirs.wrapping_sub(due) as i64,
            None => {
                let period = self.plan.period_nanos;
                // SYNC0 comes at whole periods of the reference clock.
                let before = ((1.0 - clocks.sync0_after.clamp(0.0, 1.0)) * period as f64) as u64;
                let nearest = (theirs + period - before + period / 2) / period;
                self.origin = Some((self.sent_at, nearest * period + before - period));
            }
        }
    }

    /// What a mailbox held; only an emergency means something here.
    fn take_mailbox(&mut self) -> Option<RigFault> {
        let (device, place) = self.reading_mailbox?;
        let place = self.mailboxes.get(place)?;
        if place.counter(&self.reply) == 0 {
            return None;
        }
        let message = self.reply.get(place.data.clone())?;
        let is_coe = message.get(5)? & 0x0F == 3;
        let is_emergency = is_coe && read_u16(message, 6) >> 12 == 1;
        let code = read_u16(message, 8);
        // Code 0 says that an error is over.
        (is_emergency && code != 0).then_some(RigFault::Emergency {
            device: 1 + device as u16,
            code,
        })
    }
}

fn us(nanos: u64) -> u32 {
    u32::try_from(nanos / 1000).unwrap_or(u32::MAX)
}

impl Seen {
    fn take(&mut self, place: &Places, reply: &[u8]) {
        self.answers = place.status.counter(reply) == 1;
        if self.answers {
            self.al_status = read_u16(reply, place.status.data.start);
            self.al_code = read_u16(reply, place.status.data.start + 4);
        }
        self.mailbox_full = place.mailbox_full.as_ref().is_some_and(|full| {
            full.counter(reply) == 1 && reply.get(full.data.start).is_some_and(|s| s & 0x08 != 0)
        });
    }

    /// What AL control is told now: an error is acknowledged first, then OP is asked for.
    fn al_control(&self, may_ask: bool, now: u64) -> Option<u16> {
        let is_soon = self
            .asked_at
            .is_some_and(|at| now.saturating_sub(at) < AL_RETRY_NANOS);
        let state = self.al_status & al::STATE;
        if !self.answers || state != al::SAFE_OP || !may_ask {
            return None;
        }
        if self.al_status & al::ERROR != 0 {
            (!is_soon).then_some(al::SAFE_OP | al::ERROR)
        } else {
            (!is_soon).then_some(al::OP)
        }
    }

    fn fault(&self, device: u16) -> RigFault {
        if self.al_code == 0x001B {
            return RigFault::Watchdog { device };
        }
        RigFault::DeviceState {
            device,
            al_status: self.al_status,
            al_code: self.al_code,
        }
    }
}
