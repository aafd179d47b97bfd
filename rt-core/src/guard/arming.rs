//! The times of arming: a confirmation that has to come soon, an armed bench that nobody runs, a dead-man's switch that
//! nobody holds. All in ticks, so that a recording shows the same as the run.

use super::State;
use crate::rig::{HELD_FOR_S, SafetySpec};

/// A time that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lapse {
    /// Arming was asked for and not confirmed.
    Confirmation,
    /// The bench was armed and nobody let it run.
    Armed,
    /// Nobody holds the dead-man's switch.
    DeadMan,
    /// A position was held for as long as it may be.
    Held,
    /// It braked and did not come to rest.
    NotAtRest,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Arming {
    confirm_ticks: Option<u64>,
    armed_ticks: Option<u64>,
    dead_man_ticks: Option<u64>,
    held_ticks: u64,
    braking_ticks: u64,
    asked_at: Option<u64>,
    armed_at: u64,
    alive_at: u64,
    resting_at: u64,
}

impl Arming {
    /// `braking_s`: the longest that braking to rest may take.
    pub fn new(spec: &SafetySpec, braking_s: f64, dt: f64) -> Self {
        let ticks = |seconds: f64| (seconds / dt).round().max(1.0) as u64;
        Self {
            confirm_ticks: spec.confirm_within_s.map(ticks),
            armed_ticks: spec.armed_for_s.map(ticks),
            dead_man_ticks: spec.dead_man_s.map(ticks),
            held_ticks: ticks(spec.held_for_s.unwrap_or(HELD_FOR_S)),
            braking_ticks: ticks(braking_s),
            asked_at: None,
            armed_at: 0,
            alive_at: 0,
            resting_at: 0,
        }
    }

    /// Notes that arming was asked for; `false` if it needs no confirmation.
    pub fn ask(&mut self, tick: u64) -> bool {
        self.asked_at = self.confirm_ticks.map(|_| tick);
        self.asked_at.is_some()
    }

    /// Whether a confirmation comes in time; it counts once.
    pub fn confirm(&mut self, tick: u64) -> bool {
        let in_time = self.awaits(tick).is_some();
        self.asked_at = None;
        in_time
    }

    /// Ticks that are left for a confirmation.
    pub fn awaits(&self, tick: u64) -> Option<u64> {
        let (asked, within) = self.asked_at.zip(self.confirm_ticks)?;
        (asked + within).checked_sub(tick)
    }

    /// The bench is armed from this tick on; whoever armed it is there.
    pub fn begin(&mut self, tick: u64) {
        self.asked_at = None;
        self.armed_at = tick;
        self.alive_at = tick;
    }

    pub fn note_alive(&mut self, tick: u64) {
        self.alive_at = tick;
    }

    /// Whether nobody has held the dead man's switch for too long.
    pub fn is_let_go(&self, tick: u64) -> bool {
        self.dead_man_ticks
            .is_some_and(|most| tick > self.alive_at + most)
    }

    /// From this tick on it comes to rest, or rests.
    pub fn rest(&mut self, tick: u64) {
        self.resting_at = tick;
    }

    /// Nothing is asked for any more.
    pub fn forget(&mut self) {
        self.asked_at = None;
    }

    /// `powered`: whether the drive is on in this state; `braking`: whether it comes to rest already; `runs`: whether Run
    /// was asked for.
    pub fn lapse(
        &mut self,
        tick: u64,
        state: State,
        powered: bool,
        braking: bool,
        runs: bool,
    ) -> Option<Lapse> {
        let longer = |since: u64, most: Option<u64>| most.is_some_and(|most| tick > since + most);
        match state {
            State::Ready
                if self
                    .asked_at
                    .is_some_and(|asked| longer(asked, self.confirm_ticks)) =>
            {
                self.asked_at = None;
                Some(Lapse::Confirmation)
            }
            _ if powered && !braking && self.is_let_go(tick) => Some(Lapse::DeadMan),
            State::Armed if !runs && longer(self.armed_at, self.armed_ticks) => Some(Lapse::Armed),
            // A journey to the parked position after a run may take its time; braking, and rest, may not.
            State::Stopping if braking && longer(self.resting_at, Some(self.braking_ticks)) => {
                Some(Lapse::NotAtRest)
            }
            State::Holding | State::Tripped
                if powered && longer(self.resting_at, Some(self.held_ticks)) =>
            {
                Some(Lapse::Held)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_run_out_in_the_tick_after_the_last_that_is_allowed() {
        let spec = SafetySpec {
            confirm_within_s: Some(0.02),
            armed_for_s: Some(0.04),
            dead_man_s: Some(0.01),
            ..SafetySpec::default()
        };
        let mut a = Arming::new(&spec, 1.0, 0.002);
        assert!(a.ask(100));
        assert_eq!(a.awaits(104), Some(6));
        assert_eq!(a.lapse(110, State::Ready, false, false, false), None);
        assert_eq!(
            a.lapse(111, State::Ready, false, false, false),
            Some(Lapse::Confirmation)
        );
        assert!(!a.confirm(112), "too late");
        assert!(
            a.ask(200) && a.confirm(210) && !a.confirm(210),
            "counts once"
        );
        a.begin(210);
        assert_eq!(a.lapse(215, State::Armed, true, false, false), None);
        assert_eq!(
            a.lapse(216, State::Armed, true, false, false),
            Some(Lapse::DeadMan)
        );
        a.note_alive(231);
        assert_eq!(a.lapse(230, State::Armed, true, false, false), None);
        assert_eq!(
            a.lapse(231, State::Armed, true, false, false),
            Some(Lapse::Armed)
        );
        assert_eq!(
            a.lapse(231, State::Armed, true, false, true),
            None,
            "Run was asked for"
        );
        assert_eq!(
            a.lapse(500, State::Stopping, true, true, false),
            None,
            "already on the way"
        );
    }
}
