//! Taking the power from a CiA 402 drive: a quick stop until the motor rests or its time is over, then no voltage; and
//! whether the drive has lost it by then. A drive whose quick stop ends with power (options 5 to 8) ends without, too.

use super::cia402::DriveState;
use super::reactions::{CUT_BEFORE_MS, OFF_WITHIN_MS};
use rt_core::rig::RigFault;

/// A quick stop.
const QUICK_STOP: u16 = 0x02;
/// No voltage.
const NO_VOLTAGE: u16 = 0;
/// For how long a motor has to stand still before it rests, in ns, and how far it may move meanwhile, in m.
const REST_NANOS: u64 = 20_000_000;
const REST_M: f64 = 20e-6;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct PowerOff {
    within_nanos: u64,
    rest_counts: u32,
    /// Since when power is being taken away; `None`: it is gone, or nobody wants it gone.
    since: Option<u64>,
    /// Where the motor was when it was last seen to move, and when.
    moved: (i32, u64),
    /// When the motor was seen last: one that nobody sees does not rest by that.
    seen: u64,
    /// The quick stop is over.
    is_cut: bool,
}

impl PowerOff {
    /// Of a drive that has so much time for it; the usual time if its file does not say.
    pub fn new(counts_per_m: f64, within_ms: Option<f64>) -> Self {
        Self {
            within_nanos: (within_ms.unwrap_or(OFF_WITHIN_MS) * 1e6) as u64,
            rest_counts: (REST_M * counts_per_m.abs()).max(2.0) as u32,
            since: None,
            moved: (0, 0),
            seen: 0,
            is_cut: false,
        }
    }

    /// Nobody wants the power gone.
    pub fn reset(&mut self) {
        self.since = None;
        self.is_cut = false;
    }

    /// How long it may take, in ns.
    pub fn within_nanos(&self) -> u64 {
        self.within_nanos
    }

    /// The controlword for a drive in a state, with its motor at a count. `brakes`: whether a quick stop comes first.
    pub fn control(&mut self, state: DriveState, actual: i32, brakes: bool, now: u64) -> u16 {
        if !state.may_have_power() {
            self.reset();
            return NO_VOLTAGE;
        }
        if self.since.is_none() {
            self.since = Some(now);
            self.moved = (actual, now);
            self.seen = now;
        }
        let cut_after = self
            .within_nanos
            .saturating_sub((CUT_BEFORE_MS * 1e6) as u64);
        let rests = self.seen.saturating_sub(self.moved.1) >= REST_NANOS;
        self.is_cut |= !brakes || rests || self.taken(now) >= cut_after;
        let can_brake = matches!(
            state,
            DriveState::OperationEnabled | DriveState::QuickStopActive
        );
        if can_brake && !self.is_cut {
            QUICK_STOP
        } else {
            NO_VOLTAGE
        }
    }

    /// The drive has told where its motor is.
    pub fn see(&mut self, actual: i32, now: u64) {
        if actual.abs_diff(self.moved.0) > self.rest_counts {
            self.moved = (actual, now);
        }
        self.seen = now;
    }

    fn taken(&self, now: u64) -> u64 {
        self.since.map_or(0, |since| now.saturating_sub(since))
    }

    /// A fault if a drive with a statusword has had its power for too long.
    pub fn verdict(&self, status: u16, now: u64) -> Result<(), RigFault> {
        let taken = self.taken(now);
        if taken <= self.within_nanos || !DriveState::of(status).may_have_power() {
            return Ok(());
        }
        let us = |nanos: u64| u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        Err(RigFault::DriveKeepsPower {
            status,
            for_us: us(taken),
            limit_us: us(self.within_nanos),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A drive with 1000 counts a millimetre that has 200 ms.
    fn power_off() -> PowerOff {
        PowerOff::new(1e6, Some(200.0))
    }

    /// One exchange: the motor is seen, then something is sent.
    fn exchange(off: &mut PowerOff, actual: i32, ms: u64) -> u16 {
        off.see(actual, ms * MS);
        off.control(DriveState::QuickStopActive, actual, true, ms * MS)
    }

    #[test]
    fn a_quick_stop_ends_when_the_motor_rests() {
        let mut off = power_off();
        // 1 mm/ms for 50 ms, then it stands, but for its noise.
        for ms in 0..50 {
            let at = 1000 * ms as i32;
            assert_eq!(exchange(&mut off, at, ms), QUICK_STOP, "{ms}");
        }
        let sent: Vec<u16> = (50..80)
            .map(|ms| exchange(&mut off, 49_000 + (ms % 3) as i32, ms))
            .collect();
        let first = sent.iter().position(|c| *c == NO_VOLTAGE);
        assert_eq!(first, Some(19), "20 ms after it moved last: {sent:?}");
        // Pushed by the specimen it does not brake anew: that would be power again.
        assert_eq!(exchange(&mut off, 80_000, 90), NO_VOLTAGE);
    }

    #[test]
    fn a_motor_that_is_not_seen_does_not_rest() {
        let mut off = power_off();
        for ms in 0..140 {
            let sent = off.control(DriveState::QuickStopActive, 7, true, ms * MS);
            assert_eq!(sent, QUICK_STOP, "{ms}");
        }
    }

    #[test]
    fn one_that_never_rests_loses_its_voltage_before_the_bound_and_is_a_fault_behind_it() {
        let mut off = power_off();
        let sent: Vec<u16> = (0..=250)
            .map(|ms| exchange(&mut off, 1000 * ms as i32, ms))
            .collect();
        let first = sent.iter().position(|c| *c == NO_VOLTAGE);
        assert_eq!(first, Some(150));
        assert!(sent[150..].iter().all(|c| *c == NO_VOLTAGE));
        assert_eq!(off.verdict(0x0207, 200 * MS), Ok(()));
        let fault = RigFault::DriveKeepsPower {
            status: 0x0207,
            for_us: 250_000,
            limit_us: 200_000,
        };
        // As often as it is asked, and whatever powered state it is in.
        for _ in 0..3 {
            assert_eq!(off.verdict(0x0207, 250 * MS), Err(fault));
        }
        for status in [0x0221, 0x0223, 0x0227, 0x020F] {
            assert!(off.verdict(status, 250 * MS).is_err(), "{status:04X}");
        }
        for status in [0x0240, 0x0208] {
            assert_eq!(off.verdict(status, 250 * MS), Ok(()));
        }
        // Without power it is over.
        off.control(DriveState::SwitchOnDisabled, 0, true, 260 * MS);
        assert_eq!(off.verdict(0x0227, 400 * MS), Ok(()));
    }

    #[test]
    fn one_that_stands_at_home_is_not_braked() {
        let mut off = power_off();
        assert_eq!(
            off.control(DriveState::OperationEnabled, 5, false, 0),
            NO_VOLTAGE
        );
    }
}
