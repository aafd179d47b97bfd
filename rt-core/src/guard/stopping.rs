//! How a bench comes to rest: braking, returning, taking the power away, and whether everything then stands still.

use super::actuator::Actuator;
use super::{Action, Drive, Guard, State};

/// How a bench comes to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// Along the last direction, as fast as the rig brakes.
    Brake,
    /// In the parked position: the run is over, nobody asked for a stop.
    Return,
}

/// Why the power was cut other than by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// STOP was pressed while the bench was already stopping, holding or retreating.
    SecondStop,
    /// The dead man's switch was let go.
    DeadMan,
    /// It has held a position for as long as it may.
    HeldTooLong,
    /// It braked and the motor did not come to rest.
    NotAtRest,
    /// The program ends.
    Ending,
}

/// How power is taken away, from the gentlest to the harshest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PowerOff {
    /// A drive may go on holding where it is until a brake has taken over.
    HandsOver,
    /// At once; a drive stops as its rig file says.
    Cut,
    /// At once, and not even a drive's own way of stopping is waited for.
    NoVoltage,
}

/// How what had power came to its rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Whether it was seen to stand still; otherwise the time for that was over.
    pub is_still: bool,
    /// How long after the power was off, in s.
    pub after_s: f64,
    /// The longest way from where a stop, trip or cut began.
    pub moved: f64,
}

/// What a stop did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// There was nothing to stop, or it is being stopped already.
    Nothing,
    /// It brakes.
    Brakes,
    /// The power is cut.
    Cut(Cut),
}

/// For how long at most a motor is watched to its standstill after the power was cut, in s.
pub(super) const STANDSTILL_S: f64 = 2.0;

impl Guard {
    /// Whether ending the loop now would leave nothing powered.
    pub fn is_safe_to_leave(&self) -> bool {
        self.drive() == Drive::Off
    }

    /// Whether everything that had power stands still, or has had the time to.
    pub fn has_come_to_rest(&self) -> bool {
        let has_had_time = |since| self.tick >= since + self.standstill_ticks;
        self.off_since
            .is_none_or(|since| has_had_time(since) || self.is_still())
    }

    fn is_still(&self) -> bool {
        self.actuators.iter().all(|a| a.standstill.is_still())
    }

    /// How it came to rest after the drive went off, once.
    pub fn take_rest(&mut self) -> Option<Rest> {
        let since = self.off_since?;
        if self.rest_is_told || !self.has_come_to_rest() {
            return None;
        }
        self.rest_is_told = true;
        let moved = |a: &Actuator| (a.standstill.last() - a.stopped_at).abs();
        Some(Rest {
            is_still: self.is_still(),
            after_s: (self.tick - since) as f64 * self.dt,
            moved: self.actuators.iter().map(moved).fold(0.0, f64::max),
        })
    }

    pub(super) fn note_stop(&mut self) {
        self.arming.rest(self.tick);
        for a in &mut self.actuators {
            a.stopped_at = a.standstill.last();
        }
    }

    /// A person presses STOP.
    pub fn press_stop(&mut self) -> Stopped {
        if self.is_stopping() {
            return self.cut(Cut::SecondStop);
        }
        // A drive that still holds until its brake does loses its power now.
        if self.drive() == Drive::Off {
            self.take_power(PowerOff::Cut);
        }
        self.stop()
    }

    /// Comes to rest where it is, or is doing so.
    fn is_stopping(&self) -> bool {
        match self.state {
            State::Stopping => self.law == Law::Brake,
            State::Holding => true,
            State::Tripped => self.drive() == Drive::On,
            State::Idle | State::Ready | State::Armed | State::Running => false,
        }
    }

    /// Brakes, where there is something to stop.
    pub fn stop(&mut self) -> Stopped {
        self.arming.forget();
        match self.state {
            State::Armed | State::Running | State::Stopping if !self.is_stopping() => {
                self.come_to_rest(Law::Brake);
                Stopped::Brakes
            }
            _ => Stopped::Nothing,
        }
    }

    /// Lets a run end: it travels to the parked position.
    pub fn end_run(&mut self) {
        if self.state == State::Running {
            self.arming.forget();
            self.come_to_rest(Law::Return);
        }
    }

    /// Brakes, holds nothing from now on, and lets the loop end.
    pub fn leave(&mut self) -> Stopped {
        self.leaving = true;
        match self.state {
            State::Holding => self.cut(Cut::Ending),
            _ => self.stop(),
        }
    }

    /// Takes the power away at once.
    pub fn cut(&mut self, cause: Cut) -> Stopped {
        // What ends because its time is over stands still: a brake may take over first.
        self.take_power(match cause {
            Cut::SecondStop | Cut::DeadMan | Cut::NotAtRest => PowerOff::NoVoltage,
            Cut::HeldTooLong | Cut::Ending => PowerOff::HandsOver,
        });
        match self.state {
            State::Idle | State::Ready => return Stopped::Nothing,
            State::Tripped => self.trip_action = Action::PowerOff,
            State::Armed | State::Running | State::Stopping | State::Holding => self.become_idle(),
        }
        Stopped::Cut(cause)
    }

    /// Power that is off, or goes now, is taken away at least like this.
    pub(super) fn take_power(&mut self, how: PowerOff) {
        self.power_off = self.power_off.max(how);
    }

    pub(super) fn come_to_rest(&mut self, law: Law) {
        self.state = State::Stopping;
        self.law = law;
        self.at_rest = false;
        self.note_stop();
    }
}
