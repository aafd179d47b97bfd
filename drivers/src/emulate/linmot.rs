//! An emulated LinMot drive, whatever it is spoken to over: its states, its error, its homing, its watchdog.

use super::faults::{Board, LinkFault};
use super::homing::{Homing, Way};
use super::plant::SharedPlant;
use crate::linmot::{COUNTS_PER_M, STATE_ERROR, STATE_OPERATION, control, status};
use std::sync::Arc;

/// How long the drive takes to switch on, in ns.
const ENABLE_NANOS: u64 = 20_000_000;
/// Silence after which the drive switches itself off with an error if the rig file does not say, in s.
const WATCHDOG_S: f64 = 0.1;
/// High byte of the state variable while the drive waits to be switched on.
const STATE_READY: u16 = 2;
/// Error code of an error that was injected: following error.
pub const INJECTED_ERROR: u16 = 0x000B;
/// Error code of the watchdog.
pub const WATCHDOG_ERROR: u16 = 0x00D4;
/// Error code of a home switch that was not found.
pub const HOMING_ERROR: u16 = 0x0020;

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
    /// Where its encoder counts from, in m.
    origin_m: f64,
    is_reversed: bool,
    home_bit: Option<u8>,
    watchdog_nanos: u64,
    control: u16,
    error: u16,
    on_since: Option<u64>,
    homing: Option<Homing>,
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
        timeout_s: Option<f64>,
    ) -> Self {
        let homing = home_bit.map(|_| Homing::new(plant.home_switch()));
        Self {
            plant,
            faults,
            zero_m,
            origin_m: zero_m,
            is_reversed,
            home_bit,
            watchdog_nanos: (timeout_s.unwrap_or(WATCHDOG_S) * 1e9) as u64,
            control: 0,
            error: 0,
            on_since: None,
            homing,
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
            if let Some(homing) = self.homing.as_mut().filter(|_| forgets) {
                homing.forget();
            }
            return false;
        }
        if self.faults.has(LinkFault::DriveError) && self.error == 0 {
            self.fail(INJECTED_ERROR, now);
        }
        if self.on_since.is_some() && now.saturating_sub(self.heard) > self.watchdog_nanos {
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
        if let Some(homing) = &mut self.homing {
            homing.stop();
        }
        self.plant.release(now);
    }

    fn has_power(&self, now: u64) -> bool {
        let since = self
            .on_since
            .filter(|since| now.saturating_sub(*since) >= ENABLE_NANOS);
        since.is_some() && !self.faults.has(LinkFault::Disabled)
    }

    fn is_enabled(&self, now: u64) -> bool {
        self.has_power(now) && !self.wants_home()
    }

    fn is_homed(&self) -> bool {
        self.homing.is_none_or(|h| h.is_homed())
    }

    /// Whether it was told to home and has not done it.
    fn wants_home(&self) -> bool {
        let is_told = self
            .home_bit
            .is_some_and(|bit| self.control & (1 << bit) != 0);
        is_told && !self.is_homed()
    }

    /// One step of the way to the home switch.
    fn home(&mut self, now: u64) {
        let position = self.plant.position(now);
        let Some(homing) = &mut self.homing else {
            return;
        };
        homing.break_switch(self.faults.has(LinkFault::NoHomeSwitch));
        if !homing.is_under_way() {
            homing.begin(position, now);
        }
        match homing.go_on(position, None, now) {
            Way::Under(reference) => self.plant.follow(reference, now),
            // From here on it counts otherwise, and stays where it is.
            Way::Found => self.demand = self.counts(position),
            Way::Missed => self.fail(HOMING_ERROR, now),
        }
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
            let position = self.plant.position(now);
            self.demand = self.counts(position);
        }
        if !self.has_power(now) {
            self.plant.release(now);
            return;
        }
        if self.wants_home() {
            self.home(now);
            return;
        }
        if let Some(homing) = &mut self.homing {
            homing.stop();
        }
        if let Some((header, position)) = motion {
            let is_new = (header & 0xF) as u8 != self.count;
            let is_stream = header >> 8 == 0x03;
            if is_stream && is_new && !self.faults.has(LinkFault::IgnoreReferences) {
                self.count = (header & 0xF) as u8;
                self.demand = position;
            }
        }
        let reference = self.origin_m + self.sign() * f64::from(self.demand) / COUNTS_PER_M;
        self.plant.follow(reference, now);
    }

    fn sign(&self) -> f64 {
        if self.is_reversed { -1.0 } else { 1.0 }
    }

    /// What the encoder shows where the motor is.
    fn counts(&mut self, position_m: f64) -> i32 {
        let zero_m = self.zero_m;
        let homing = self.homing.as_mut();
        self.origin_m = homing.map_or(zero_m, |h| h.origin_m(position_m, zero_m));
        (self.sign() * (position_m - self.origin_m) * COUNTS_PER_M).round() as i32
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
            (status::HOMED, self.is_homed()),
            (
                status::MOTION_ACTIVE,
                self.homing.is_some_and(|h| h.is_under_way()),
            ),
        ] {
            word |= if is_set { bit } else { 0 };
        }
        let (main_state, sub_state) = match (self.error, is_enabled) {
            (0, true) => (STATE_OPERATION, u16::from(self.count)),
            (0, false) => (STATE_READY, 0),
            (code, _) => (STATE_ERROR, code & 0xFF),
        };
        let position = self.plant.position(now);
        let position = self.counts(position);
        self.said = Said {
            status: word,
            state_var: main_state << 8 | sub_state,
            position,
            demand: self.demand,
            error: self.error,
        };
        self.said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig_file::{rig_model, rig_pantograph};
    use crate::simulated::HomingConfig;
    use std::path::Path;

    const MS: u64 = 1_000_000;
    const HOME_BIT: u8 = 11;
    const ON: u16 = control::RELEASED | control::SWITCH_ON;
    const HOME: u16 = ON | 1 << HOME_BIT;

    /// At 20 mm; the switch is at 50 mm, the drive's zero at 10 mm, and it goes at 50 mm/s.
    fn drive() -> (EmulatedDrive, Arc<Board>) {
        let rig =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/simulated-load-cells.ron");
        let mut config = rig_model(&rig).unwrap();
        config.position_sensor.noise_m = 0.0;
        config.position_sensor.resolution_m = None;
        config.homing = Some(HomingConfig {
            stands_at_m: 0.02,
            speed_m_per_s: 0.05,
            switch_at_m: None,
        });
        let plant = SharedPlant::new(&config, &rig_pantograph(&rig).unwrap());
        let faults = Board::of("drive", &[]);
        let drive = EmulatedDrive::new(
            plant,
            Arc::clone(&faults),
            0.01,
            false,
            Some(HOME_BIT),
            None,
        );
        (drive, faults)
    }

    /// Tells it the same word every 2 ms, for a while.
    fn tell(drive: &mut EmulatedDrive, word: u16, span_ms: std::ops::Range<u64>) -> Said {
        for t in span_ms.step_by(2) {
            assert!(drive.is_alive(t * MS));
            drive.told(word, None, t * MS);
        }
        drive.says(drive.heard)
    }

    #[test]
    fn homing_travels_and_only_then_counts_are_right() {
        let (mut drive, faults) = drive();
        let said = tell(&mut drive, control::RELEASED, 0..100);
        assert_eq!((said.position, said.status & status::HOMED), (0, 0));
        // 20 ms to switch on, then 30 mm at 50 mm/s: 600 ms. Half of it is 15 mm, from where it was switched on.
        // The motor lags by 4 ms, 0.2 mm.
        let said = tell(&mut drive, HOME, 100..420);
        assert!((said.position - 150_000).abs() < 5_000, "{said:?}");
        assert_ne!(said.status & status::MOTION_ACTIVE, 0);
        let said = tell(&mut drive, HOME, 420..716);
        assert_eq!(said.status & status::HOMED, 0, "{said:?}");
        let said = tell(&mut drive, HOME, 716..800);
        assert_eq!(
            said.status & (status::HOMED | status::MOTION_ACTIVE),
            status::HOMED
        );
        // 50 mm are 40 mm beyond the drive's zero; the motor swings a little.
        assert!((said.position - 400_000).abs() < 1_000, "{said:?}");
        let now = drive.heard;
        assert!((drive.plant.position(now) - 0.05).abs() < 1e-4);
        tell(&mut drive, control::RELEASED, 800..900);
        // Without power it forgets; the motor stays where it is, which is count 0 now.
        faults.set(LinkFault::PowerLoss, true);
        assert!(!drive.is_alive(900 * MS));
        faults.set(LinkFault::PowerLoss, false);
        let said = tell(&mut drive, control::RELEASED, 902..1000);
        assert_eq!((said.position, said.status & status::HOMED), (0, 0));
    }

    #[test]
    fn a_switch_that_is_missing_is_an_error_without_power() {
        let (mut drive, faults) = drive();
        faults.set(LinkFault::NoHomeSwitch, true);
        let said = tell(&mut drive, HOME, 0..800);
        assert_eq!(said.error, HOMING_ERROR);
        assert_eq!(said.status & status::HOMED, 0);
        assert!(!drive.plant.is_powered(drive.heard));
    }

    #[test]
    fn homing_that_is_stopped_stays_where_it_is() {
        let (mut drive, _) = drive();
        tell(&mut drive, HOME, 0..320);
        let said = tell(&mut drive, control::RELEASED, 320..1000);
        assert_eq!(said.status & (status::HOMED | status::MOTION_ACTIVE), 0);
        assert!((said.position - 150_000).abs() < 5_000, "{said:?}");
        assert!(!drive.plant.is_powered(drive.heard));
    }
}
