//! An emulated LinMot drive, whatever it is spoken to over: its states, its error, its homing, its watchdog.

use super::faults::{Board, LinkFault};
use super::plant::SharedPlant;
use crate::linmot::{COUNTS_PER_M, STATE_OPERATION, control, status};
use std::sync::Arc;

/// How long the drive takes to switch on, in ns.
const ENABLE_NANOS: u64 = 20_000_000;
/// How long homing takes, in ns. The emulated motor stays where it is.
const HOME_NANOS: u64 = 200_000_000;
/// Silence after which the drive switches itself off with an error, in ns.
const WATCHDOG_NANOS: u64 = 100_000_000;
/// Error code of an error that was injected: following error.
pub const INJECTED_ERROR: u16 = 0x000B;
/// Error code of the watchdog.
pub const WATCHDOG_ERROR: u16 = 0x00D4;

/// What the drive says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Status word.
    pub status: u16,
    /// State variable.
    pub state_var: u16,
    /// Actual position, in 0.1 µm.
    pub position: i32,
    /// Demand position, in 0.1 µm.
    pub demand: i32,
    /// Error code.
    pub error: u16,
}

/// See the module's text.
pub struct EmulatedDrive {
    plant: SharedPlant,
    faults: Arc<Board>,
    zero_m: f64,
    is_reversed: bool,
    home_bit: Option<u8>,
    control: u16,
    error: u16,
    on_since: Option<u64>,
    home_since: Option<u64>,
    is_homed: bool,
    count: u8,
    demand: i32,
    heard: u64,
    said: Said,
}

impl EmulatedDrive {
    /// A drive that was just switched on. One that can be homed is not; others know where they are.
    pub fn new(
        plant: SharedPlant,
        faults: Arc<Board>,
        zero_m: f64,
        is_reversed: bool,
        home_bit: Option<u8>,
    ) -> Self {
        Self {
            plant,
            faults,
            zero_m,
            is_reversed,
            home_bit,
            control: 0,
            error: 0,
            on_since: None,
            home_since: None,
            is_homed: home_bit.is_none(),
            count: 0,
            demand: 0,
            heard: 0,
            said: Said::default(),
        }
    }

    /// Whether there is power, and with it anyone who could answer. To be asked now and then.
    pub fn is_alive(&mut self, now: u64) -> bool {
        if self.faults.has(LinkFault::PowerLoss) || self.faults.has(LinkFault::Unplugged) {
            let forgets = self.faults.has(LinkFault::PowerLoss);
            self.switch_off(now);
            self.control = 0;
            self.error = 0;
            self.is_homed &= !(forgets && self.home_bit.is_some());
            return false;
        }
        if self.faults.has(LinkFault::DriveError) && self.error == 0 {
            self.fail(INJECTED_ERROR, now);
        }
        if self.on_since.is_some() && now.saturating_sub(self.heard) > WATCHDOG_NANOS {
            self.fail(WATCHDOG_ERROR, now);
        }
        true
    }

    fn fail(&mut self, code: u16, now: u64) {
        self.error = code;
        self.switch_off(now);
    }

    fn switch_off(&mut self, now: u64) {
        self.on_since = None;
        self.home_since = None;
        self.plant.release(now);
    }

    fn is_enabled(&self, now: u64) -> bool {
        let since = self
            .on_since
            .filter(|since| now.saturating_sub(*since) >= ENABLE_NANOS);
        since.is_some() && self.home_since.is_none() && !self.faults.has(LinkFault::Disabled)
    }

    /// Does what it is told: a control word and perhaps a motion command.
    pub fn told(&mut self, word: u16, motion: Option<(u16, i32)>, now: u64) {
        self.heard = now;
        let rising = word & !self.control;
        self.control = word;
        if rising & control::ACKNOWLEDGE != 0 && !self.faults.has(LinkFault::DriveError) {
            self.error = 0;
        }
        let released = word & control::RELEASED == control::RELEASED;
        let is_on = word & control::SWITCH_ON != 0 && released && self.error == 0;
        if !is_on {
            self.switch_off(now);
            return;
        }
        if self.on_since.is_none() {
            // Starts from where the motor is.
            self.on_since = Some(now);
            self.demand = self.counts(self.plant.position(now));
        }
        let homes = self.home_bit.is_some_and(|bit| word & (1 << bit) != 0);
        if homes && !self.is_homed {
            let since = *self.home_since.get_or_insert(now);
            if now.saturating_sub(since) >= HOME_NANOS {
                self.is_homed = true;
            }
        } else {
            self.home_since = None;
        }
        if !self.is_enabled(now) {
            self.plant.release(now);
            return;
        }
        if let Some((header, position)) = motion {
            let is_new = (header & 0xF) as u8 != self.count;
            let is_stream = header >> 8 == 0x03;
            if is_stream && is_new && !self.faults.has(LinkFault::IgnoreReferences) {
                self.count = (header & 0xF) as u8;
                self.demand = position;
            }
        }
        self.plant.follow(self.metres(self.demand), now);
    }

    fn sign(&self) -> f64 {
        if self.is_reversed { -1.0 } else { 1.0 }
    }

    fn metres(&self, counts: i32) -> f64 {
        self.zero_m + self.sign() * f64::from(counts) / COUNTS_PER_M
    }

    fn counts(&self, metres: f64) -> i32 {
        (self.sign() * (metres - self.zero_m) * COUNTS_PER_M).round() as i32
    }

    /// What it says of itself.
    pub fn says(&mut self, now: u64) -> Said {
        if self.faults.has(LinkFault::Stuck) {
            return self.said;
        }
        let is_enabled = self.is_enabled(now);
        let mut word = 0;
        for (bit, is_set) in [
            (status::OPERATION_ENABLED, is_enabled),
            (status::ERROR, self.error != 0),
            (status::HOMED, self.is_homed),
            (
                status::MOTION_ACTIVE,
                self.home_since.is_some() && !self.is_homed,
            ),
        ] {
            word |= if is_set { bit } else { 0 };
        }
        let main_state = match (self.error, is_enabled) {
            (0, true) => STATE_OPERATION,
            (0, false) => 2,
            _ => 4,
        };
        self.said = Said {
            status: word,
            state_var: main_state << 8 | u16::from(self.count),
            position: self.counts(self.plant.position(now)),
            demand: self.demand,
            error: self.error,
        };
        self.said
    }
}
