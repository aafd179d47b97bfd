//! A segment in the same process, as a transport: frames go through it as they are sent, on the caller's thread.

use super::fault::FrameFault;
use super::{Answer, Segment};
use crate::ethercat::transport::{Down, Received, Transport};
use crate::ethercat::wire::{Buffer, MAX_FRAME};
use rt_core::pacing::{Clock, ExactClock, RealClock};
use std::collections::VecDeque;

/// Answers that may be on their way.
const WAITING: usize = 8;

/// Whose time passes.
pub enum SegmentClock {
    /// The system's.
    Real,
    /// That of an exact clock, which a loop shares.
    Exact(ExactClock),
}

impl SegmentClock {
    fn now(&self) -> u64 {
        match self {
            SegmentClock::Real => RealClock.now(),
            SegmentClock::Exact(clock) => clock.now(),
        }
    }
}

struct Underway {
    due: u64,
    len: usize,
    frame: Buffer,
}

/// See the module's text.
pub struct InProcess {
    segment: Segment,
    clock: SegmentClock,
    underway: VecDeque<Underway>,
}

impl InProcess {
    /// A segment of its own.
    pub fn new(segment: Segment, clock: SegmentClock) -> Self {
        Self {
            segment,
            clock,
            underway: VecDeque::with_capacity(WAITING),
        }
    }

    fn push(&mut self, frame: &Buffer, len: usize, due: u64) {
        // More than a device can have underway is lost.
        if self.underway.len() < WAITING {
            self.underway.push_back(Underway {
                due,
                len,
                frame: *frame,
            });
        }
    }
}

/// What a fault makes of an answer, besides its time: new length.
pub(super) fn treat(how: FrameFault, frame: &mut Buffer, len: usize) -> usize {
    match how {
        FrameFault::Truncated(n) => n.min(len),
        FrameFault::Corrupt(from) => {
            frame
                .iter_mut()
                .take(len)
                .skip(from)
                .for_each(|byte| *byte ^= 0xA5);
            len
        }
        _ => len,
    }
}

impl Transport for InProcess {
    fn send(&mut self, frame: &[u8]) -> Result<(), Down> {
        let now = self.clock.now();
        let len = frame.len().min(MAX_FRAME);
        let mut copy = [0; MAX_FRAME];
        copy[..len].copy_from_slice(&frame[..len]);
        match self.segment.pass(&mut copy[..len], now) {
            Answer::None => {}
            Answer::Returns => self.push(&copy, len, now),
            Answer::Treated(how) => {
                let len = treat(how, &mut copy, len);
                match how {
                    FrameFault::Late(by) => self.push(&copy, len, now + by),
                    FrameFault::Duplicate => {
                        self.push(&copy, len, now);
                        self.push(&copy, len, now);
                    }
                    FrameFault::Foreign => {
                        let mut foreign = copy;
                        foreign[12..14].copy_from_slice(&[0x08, 0x00]);
                        self.push(&foreign, len, now);
                        self.push(&copy, len, now);
                    }
                    _ => self.push(&copy, len, now),
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, frame: &mut Buffer, deadline_nanos: u64) -> Received {
        let mut now = self.clock.now();
        loop {
            let ready = self.underway.iter().position(|u| u.due <= now);
            if let Some(found) = ready.and_then(|i| self.underway.remove(i)) {
                *frame = found.frame;
                return Received::Frame(found.len);
            }
            if now >= deadline_nanos {
                return Received::Nothing;
            }
            let next = self.underway.iter().map(|u| u.due).min();
            let until = next.map_or(deadline_nanos, |due| due.min(deadline_nanos));
            match &mut self.clock {
                SegmentClock::Real => RealClock.sleep_until(until),
                SegmentClock::Exact(clock) => clock.sleep_until(until),
            }
            now = self.clock.now();
        }
    }

    fn now(&self) -> u64 {
        self.clock.now()
    }
}
