//! How an emulated drive finds its home position: its motor travels to the home switch. Until then its encoder counts
//! from wherever it was switched on.

use super::plant::HomeSwitch;

/// The motor has arrived when it is this close, in m.
const CLOSE_M: f64 = 1e-5;

/// What came of a step of the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// It goes on: where the motor's reference is now, in m.
    Under(f64),
    /// The switch was found.
    Found,
    /// There is no switch where it should be.
    Missed,
}

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub struct Homing {
    switch: HomeSwitch,
    is_homed: bool,
    /// Where the motor was when its encoder was first looked at, in m.
    switched_on_at_m: Option<f64>,
    /// Where its own reference is, in m, and since when.
    reference: Option<(f64, u64)>,
    has_no_switch: bool,
}

impl Homing {
    /// Of a drive that was just switched on.
    pub fn new(switch: HomeSwitch) -> Self {
        Self {
            switch,
            is_homed: false,
            switched_on_at_m: None,
            reference: None,
            has_no_switch: false,
        }
    }

    /// As after a return of the supply.
    pub fn forget(&mut self) {
        self.is_homed = false;
        self.switched_on_at_m = None;
        self.reference = None;
    }

    /// Its switch is broken, or works again.
    pub fn break_switch(&mut self, is_broken: bool) {
        self.has_no_switch = is_broken;
    }

    /// Whether it knows where it is.
    pub fn is_homed(&self) -> bool {
        self.is_homed
    }

    /// Where the switch is, in m.
    pub fn switch_m(&self) -> f64 {
        self.switch.at_m
    }

    /// Whether the motor is on its way.
    pub fn is_under_way(&self) -> bool {
        self.reference.is_some()
    }

    /// Sets out from where the motor is. The encoder goes on counting as it did until the switch is found.
    pub fn begin(&mut self, position_m: f64, now: u64) {
        self.reference = Some((position_m, now));
    }

    /// Stays where it is.
    pub fn stop(&mut self) {
        self.reference = None;
    }

    /// Goes on with a speed of its own or the one that it is told, in m/s.
    pub fn go_on(&mut self, position_m: f64, speed_m_per_s: Option<f64>, now: u64) -> Way {
        let (reference, since) = self.reference.unwrap_or((position_m, now));
        let speed = speed_m_per_s.unwrap_or(self.switch.speed_m_per_s);
        let step = speed * now.saturating_sub(since) as f64 * 1e-9;
        let next = reference + (self.switch.at_m - reference).clamp(-step, step);
        let is_there = next == self.switch.at_m && (position_m - next).abs() < CLOSE_M;
        if !is_there {
            self.reference = Some((next, now));
            return Way::Under(next);
        }
        self.reference = None;
        if self.has_no_switch {
            return Way::Missed;
        }
        self.is_homed = true;
        Way::Found
    }

    /// Where the encoder counts from, in m: from its zero if it knows where it is.
    pub fn origin_m(&mut self, position_m: f64, zero_m: f64) -> f64 {
        let switched_on_at_m = *self.switched_on_at_m.get_or_insert(position_m);
        if self.is_homed {
            zero_m
        } else {
            switched_on_at_m
        }
    }
}
