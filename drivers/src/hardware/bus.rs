//! What every bus or link of a hardware rig implements: it is set up outside the loop and exchanged inside it.

use rt_core::rig::RigFault;
use rt_core::rig::device::Device;
use std::sync::Arc;

/// What the drive is told in an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveCommand {
    /// Whether the motor has power and follows; otherwise the drive has to be off.
    pub is_on: bool,
    /// Where the motor is to be, in m. While the drive is off: where it is, as far as known; may be NaN then.
    pub position_m: f64,
    /// Whether a latched error of the drive may be reset: only for a moment after someone has asked for it. A bus
    /// makes whatever edges its drive needs out of this level, and repeats them.
    pub may_reset: bool,
    /// Whether the drive is to find its home position. Only while the loop's drive is off; someone has asked for it and
    /// stands beside it.
    pub home: bool,
    /// While it is off: whether the power goes at once, without the drive's own way of stopping.
    pub cuts: bool,
}

impl DriveCommand {
    /// What a bus is told that does not move the motor.
    pub const OFF: DriveCommand = DriveCommand {
        is_on: false,
        position_m: f64::NAN,
        may_reset: false,
        home: false,
        cuts: false,
    };
}

/// A value and when it was measured, by the clock of the rig (monotonic).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The value, in the unit of its input.
    pub value: f64,
    /// When it was measured, in ns.
    pub t_nanos: u64,
}

/// An input of a bus: its last two samples, from which the value at a tick is made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    last: Option<Sample>,
    before: Option<Sample>,
}

impl Slot {
    /// Takes a measured value. One that is older than the last is dropped: inputs never go back in time.
    pub fn put(&mut self, value: f64, t_nanos: u64) {
        let sample = Sample { value, t_nanos };
        match self.last {
            Some(last) if last.t_nanos > t_nanos => {}
            Some(last) if last.t_nanos == t_nanos => self.last = Some(sample),
            last => (self.before, self.last) = (last, Some(sample)),
        }
    }

    /// Forgets everything: after a reconnection nothing from before is used.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The newest sample.
    pub fn last(&self) -> Option<Sample> {
        self.last
    }

    /// The one before it.
    pub fn before(&self) -> Option<Sample> {
        self.before
    }
}

/// A bus or link with its devices.
///
/// It is built outside the loop and has a thread of its own where anything may block or allocate (connecting,
/// initialising, reconnecting). Dropping it ends that thread and leaves the drive without power.
pub trait Bus: Send {
    /// Its devices with their counters. Called once, before the loop starts.
    fn devices(&self) -> Vec<Arc<Device>>;

    /// Tells the drive what it is told and puts fresh inputs into the slots, which are those of
    /// `BusConfig::inputs` in that order. `now_nanos` is the rig's clock at the start of the exchange.
    ///
    /// Never allocates, locks, logs or panics, and blocks no longer than the budget that its configuration states.
    /// After an error the inputs of this cycle are not used; the bus goes on by itself towards working again, so that
    /// later exchanges succeed.
    /// [`RigFault::NotHomed`], [`RigFault::Homing`] and [`RigFault::HomingFailed`] are the answers of a drive that has to
    /// be homed.
    fn exchange(
        &mut self,
        told: &DriveCommand,
        now_nanos: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault>;

    /// Sets a digital output, by its number in `BusConfig::outputs`, from the next exchange on. Outputs are not set
    /// before, nor while nothing can be exchanged.
    fn put_output(&mut self, number: usize, is_set: bool) {
        let _ = (number, is_set);
    }

    /// Whether the drive is enabled and follows what it is told: only then its brake is released.
    fn is_following(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_never_go_back_in_time() {
        let mut slot = Slot::default();
        slot.put(1.0, 100);
        slot.put(2.0, 200);
        slot.put(9.0, 150);
        let sample = |value, t_nanos| Some(Sample { value, t_nanos });
        assert_eq!(
            (slot.before(), slot.last()),
            (sample(1.0, 100), sample(2.0, 200))
        );
        slot.put(3.0, 200);
        assert_eq!(
            (slot.before(), slot.last()),
            (sample(1.0, 100), sample(3.0, 200))
        );
        slot.clear();
        assert_eq!((slot.before(), slot.last()), (None, None));
    }
}
