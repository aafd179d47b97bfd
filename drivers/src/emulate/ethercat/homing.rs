//! The homing mode of an emulated CiA 402 drive: its objects, its start bit, and what the statusword says of it.
//!
//! Whatever the method, the motor goes to the one home switch that there is, with the speed of the search for it. The
//! home offset leads from there to count 0.

use super::coe::Dictionary;
use crate::emulate::homing::{Homing, Way};
use crate::emulate::plant::HomeSwitch;

/// The mode of operation.
pub const HOMING_MODE: u64 = 6;
const START: u16 = 1 << 4;
const TARGET_REACHED: u16 = 1 << 10;
const ATTAINED: u16 = 1 << 12;
const ERROR: u16 = 1 << 13;

/// See the module's text.
pub struct HomingMode {
    speed: Option<usize>,
    offset: Option<usize>,
    homed_bit: Option<u8>,
    homing: Homing,
    /// What the last search ended with.
    ended: Option<Way>,
}

impl HomingMode {
    /// The objects of the mode are added.
    pub fn new(homed_bit: Option<u8>, dictionary: &mut Dictionary, switch: HomeSwitch) -> Self {
        dictionary.add(0x6098, 0, 8, true, 0);
        dictionary.add(0x6099, 0, 8, false, 2);
        dictionary.add(0x6099, 1, 32, true, 0);
        dictionary.add(0x6099, 2, 32, true, 0);
        dictionary.add(0x609A, 0, 32, true, 0);
        dictionary.add(0x607C, 0, 32, true, 0);
        Self {
            speed: dictionary.find(0x6099, 1),
            offset: dictionary.find(0x607C, 0),
            homed_bit,
            homing: Homing::new(switch),
            ended: None,
        }
    }

    /// As after a return of the supply.
    pub fn power_on(&mut self) {
        self.homing.forget();
        self.ended = None;
    }

    /// Its switch is broken, or works again.
    pub fn break_switch(&mut self, is_broken: bool) {
        self.homing.break_switch(is_broken);
    }

    /// The motor stays where it is: another mode, or no power.
    pub fn stop(&mut self) {
        self.homing.stop();
    }

    /// Enabled in this mode: where the motor is to be, in m.
    pub fn step(
        &mut self,
        (before, control): (u16, u16),
        dictionary: &Dictionary,
        counts_per_m: f64,
        position_m: f64,
        now: u64,
    ) -> f64 {
        if control & !before & START != 0 {
            self.ended = None;
            self.homing.begin(position_m, now);
        } else if control & START == 0 {
            self.homing.stop();
        }
        if !self.homing.is_under_way() {
            return position_m;
        }
        let counts_per_s = dictionary.get(self.speed) as f64;
        let speed = (counts_per_s > 0.0).then(|| counts_per_s / counts_per_m.abs());
        match self.homing.go_on(position_m, speed, now) {
            Way::Under(reference_m) => reference_m,
            ended => {
                self.ended = Some(ended);
                position_m
            }
        }
    }

    /// Bits of the statusword in this mode.
    pub fn status(&self) -> u16 {
        let mut status = match self.ended {
            Some(Way::Found) => ATTAINED,
            Some(Way::Missed) => ERROR,
            _ => 0,
        };
        if !self.homing.is_under_way() {
            status |= TARGET_REACHED;
        }
        status
    }

    /// The bit of the statusword that is the vendor's own, in every mode.
    pub fn vendor_status(&self) -> u16 {
        let bit = self.homed_bit.filter(|_| self.homing.is_homed());
        bit.map_or(0, |bit| 1 << bit)
    }

    /// Where the encoder counts from, in m.
    pub fn origin_m(&mut self, dictionary: &Dictionary, counts_per_m: f64, position_m: f64) -> f64 {
        let offset = f64::from(dictionary.get(self.offset) as u32 as i32);
        let zero_m = self.homing.switch_m() + offset / counts_per_m;
        self.homing.origin_m(position_m, zero_m)
    }
}
