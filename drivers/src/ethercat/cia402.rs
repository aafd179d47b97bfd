//! A drive of CiA 402 in cyclic synchronous position, seen from the loop: which controlword and target it is sent,
//! and what its statusword means.
//!
//! The target is the actual position until the drive follows; what the command has moved meanwhile is caught up with
//! at a bounded speed, so that it never jumps. Off is a quick stop first, then no voltage, within a bound.

use super::config::DriveConfig;
use super::homing::{HOMING_MODE, Homing, Word};
use super::power_off::PowerOff;
use crate::hardware::bus::DriveCommand;
use crate::hardware::catch_up::CatchUp;
use rt_core::rig::RigFault;

/// States of CiA 402.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveState {
    /// Is not ready for anything yet.
    NotReady,
    /// No power; may not be switched on yet.
    SwitchOnDisabled,
    /// May be switched on.
    ReadyToSwitchOn,
    /// Has power.
    SwitchedOn,
    /// Follows.
    OperationEnabled,
    /// Brakes because it was told to.
    QuickStopActive,
    /// Brakes because of an error.
    FaultReactionActive,
    /// Has switched itself off.
    Fault,
    /// None that CiA 402 knows.
    Unknown,
}

impl DriveState {
    /// From a statusword: xxxx xxxx x0xx 0000 and so on.
    pub fn of(status: u16) -> Self {
        match status & 0x4F {
            0x40 => return DriveState::SwitchOnDisabled,
            0x0F => return DriveState::FaultReactionActive,
            0x08 => return DriveState::Fault,
            0x00 => return DriveState::NotReady,
            _ => {}
        }
        match status & 0x6F {
            0x21 => DriveState::ReadyToSwitchOn,
            0x23 => DriveState::SwitchedOn,
            0x27 => DriveState::OperationEnabled,
            0x07 => DriveState::QuickStopActive,
            _ => DriveState::Unknown,
        }
    }

    /// Whether its motor may have power.
    pub fn may_have_power(self) -> bool {
        !matches!(
            self,
            DriveState::SwitchOnDisabled | DriveState::Fault | DriveState::NotReady
        )
    }
}

/// What the drive has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveInputs {
    /// Statusword.
    pub status: u16,
    /// Actual position in counts.
    pub actual: i32,
    /// Mode that it is in.
    pub mode: i8,
    /// Its error code, if it is mapped.
    pub error: Option<u16>,
}

/// What the drive is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveOutputs {
    /// Controlword.
    pub control: u16,
    /// Target position in counts.
    pub target: i32,
    /// Mode of operation.
    pub mode: i8,
}

const CYCLIC_POSITION: i8 = 8;
const USES_TARGET: u16 = 1 << 12;
const FOLLOWING_ERROR: u16 = 1 << 13;
const FAULT_RESET: u16 = 0x80;
/// How long a fault reset stays set, and then unset, in ns.
const RESET_NANOS: u64 = 50_000_000;
/// Cycles in a row in which an enabled drive may ignore its target: its first answer is one cycle old.
const IGNORED_CYCLES: u32 = 3;

/// See the module's text.
pub struct Cia402 {
    counts_per_m: f64,
    zero_m: f64,
    enable_nanos: u64,
    /// What it has sent last.
    last: Option<DriveInputs>,
    asked_since: Option<(bool, u64)>,
    catch_up: CatchUp,
    /// When it was sent a target that it followed.
    followed_at: Option<u64>,
    /// Whether it has followed since it was told to.
    has_followed: bool,
    ignored: u32,
    reset_since: Option<u64>,
    /// `None`: a drive that always knows where it is.
    homing: Option<Homing>,
    power_off: PowerOff,
}

impl Cia402 {
    /// A drive of which nothing is known yet.
    pub fn new(config: &DriveConfig, catch_up_m_per_s: f64) -> Self {
        Self {
            counts_per_m: config.counts_per_m,
            zero_m: config.zero_m,
            enable_nanos: (config.enable_ms * 1e6) as u64,
            last: None,
            asked_since: None,
            catch_up: CatchUp::new(catch_up_m_per_s),
            followed_at: None,
            has_followed: false,
            ignored: 0,
            reset_since: None,
            homing: config.homing.as_ref().map(|h| Homing::new(config, h)),
            power_off: PowerOff::new(
                config.counts_per_m,
                config.reactions.as_ref().map(|r| r.off_within_ms),
            ),
        }
    }

    /// Forgets what the drive has sent: after a reconnection it may be another one.
    pub fn forget(&mut self) {
        self.last = None;
        self.asked_since = None;
        self.followed_at = None;
        self.has_followed = false;
        self.ignored = 0;
        self.reset_since = None;
        self.power_off.reset();
        if let Some(homing) = &mut self.homing {
            homing.forget();
        }
    }

    /// A cycle without a trustworthy answer, or with an error: a drive that homes unseen is stopped.
    pub fn miss(&mut self) {
        if let Some(homing) = &mut self.homing {
            homing.abandon();
        }
    }

    /// The actual position in m.
    pub fn metres(&self, counts: i32) -> f64 {
        f64::from(counts) / self.counts_per_m + self.zero_m
    }

    fn counts(&self, metres: f64) -> f64 {
        (metres - self.zero_m) * self.counts_per_m
    }

    /// Whether its motor may have power.
    pub fn has_power(&self) -> bool {
        self.last
            .is_some_and(|i| DriveState::of(i.status).may_have_power())
    }

    /// Whether it is enabled and follows what it is told.
    pub fn is_following(&self) -> bool {
        self.has_followed
    }

    /// How long taking its power away may last, in ns.
    pub fn off_within_nanos(&self) -> u64 {
        self.power_off.within_nanos()
    }

    /// What it is sent in this cycle.
    pub fn outputs(&mut self, told: &DriveCommand, now: u64) -> DriveOutputs {
        let off = DriveOutputs {
            control: 0,
            target: 0,
            mode: CYCLIC_POSITION,
        };
        let Some(last) = self.last else {
            return off;
        };
        let rest = DriveOutputs {
            target: last.actual,
            ..off
        };
        if self
            .asked_since
            .is_none_or(|(was_on, _)| was_on != told.is_on)
        {
            self.asked_since = Some((told.is_on, now));
        }
        let state = DriveState::of(last.status);
        if state == DriveState::Fault {
            self.followed_at = None;
            self.power_off.reset();
            let control = if told.may_reset {
                self.reset_edge(now)
            } else {
                self.reset_since = None;
                0
            };
            return DriveOutputs { control, ..rest };
        }
        self.reset_since = None;
        let homing = self.homing.as_mut();
        let word = homing.and_then(|h| h.control(wishes_home(told), &last, now));
        if let Some(word) = word {
            self.followed_at = None;
            let mut off = |brakes| self.power_off.control(state, last.actual, brakes, now);
            let control = match word {
                Word::Send(control) => {
                    self.power_off.reset();
                    control
                }
                Word::Brake => off(true),
                Word::Cut => off(false),
            };
            let mode = HOMING_MODE;
            return DriveOutputs {
                control,
                mode,
                ..rest
            };
        }
        // Targets mean nothing to a drive that does not know where it is, or that is in its homing mode.
        let knows = self.homing.as_ref().is_none_or(|h| h.is_homed(last.status));
        let is_elsewhere = state == DriveState::OperationEnabled && last.mode == HOMING_MODE;
        let is_on = told.is_on && told.position_m.is_finite() && knows && !is_elsewhere;
        let brakes_alone = matches!(
            state,
            DriveState::QuickStopActive | DriveState::FaultReactionActive
        );
        // Whoever wants it on while it brakes has to wait until its power is gone.
        if !is_on || brakes_alone {
            self.followed_at = None;
            let control = self.power_off.control(state, last.actual, !told.cuts, now);
            return DriveOutputs { control, ..rest };
        }
        self.power_off.reset();
        let control = match state {
            DriveState::SwitchOnDisabled => 0x06,
            DriveState::ReadyToSwitchOn => 0x07,
            // Following in another mode would be following something else.
            DriveState::SwitchedOn if last.mode != CYCLIC_POSITION => 0x07,
            DriveState::SwitchedOn | DriveState::OperationEnabled => 0x0F,
            _ => 0,
        };
        if state != DriveState::OperationEnabled {
            self.followed_at = None;
            return DriveOutputs { control, ..rest };
        }
        let dt_s = match self.followed_at.replace(now) {
            Some(before) => now.saturating_sub(before) as f64 * 1e-9,
            None => {
                self.catch_up.start(self.metres(last.actual));
                0.0
            }
        };
        let reference = self.catch_up.toward(told.position_m, dt_s);
        let target = self.counts(reference);
        DriveOutputs {
            control,
            target: target.round() as i32,
            ..rest
        }
    }

    /// Rising edges, as long as they are needed: unset first.
    fn reset_edge(&mut self, now: u64) -> u16 {
        let since = *self.reset_since.get_or_insert(now);
        let phase = now.saturating_sub(since) / RESET_NANOS;
        if phase % 2 == 1 { FAULT_RESET } else { 0 }
    }

    /// Takes what the drive has sent in answer; a fault if it does not do what it was told.
    pub fn take(
        &mut self,
        inputs: DriveInputs,
        told: &DriveCommand,
        now: u64,
    ) -> Result<(), RigFault> {
        self.last = Some(inputs);
        let state = DriveState::of(inputs.status);
        let status = inputs.status;
        self.power_off.see(inputs.actual, now);
        if let Err(fault) = self.power_off.verdict(status, now) {
            self.miss();
            return Err(fault);
        }
        if matches!(state, DriveState::Fault | DriveState::FaultReactionActive) {
            let code = inputs.error.unwrap_or(0);
            self.miss();
            // In the homing mode the bit means something else.
            if status & FOLLOWING_ERROR != 0 && inputs.mode != HOMING_MODE {
                return Err(RigFault::FollowingError { status });
            }
            return Err(RigFault::DriveFault { code });
        }
        if let Some(homing) = &mut self.homing {
            homing.take(&inputs, wishes_home(told), now)?;
        }
        let is_enabled = state == DriveState::OperationEnabled;
        let asked = self.asked_since.filter(|(is_on, _)| *is_on == told.is_on);
        let waited = asked.map_or(0, |(_, since)| now.saturating_sub(since));
        let not_done = Err(RigFault::DriveNotEnabled { status });
        if !told.is_on {
            self.ignored = 0;
            self.has_followed = false;
            return Ok(());
        }
        if !is_enabled {
            // It has left by itself, or takes too long. A quick stop from before may still go on.
            let is_late = waited > self.enable_nanos;
            return if self.has_followed || is_late {
                not_done
            } else {
                Ok(())
            };
        }
        self.has_followed = true;
        if status & FOLLOWING_ERROR != 0 {
            return Err(RigFault::FollowingError { status });
        }
        let uses_target = status & USES_TARGET != 0 && inputs.mode == CYCLIC_POSITION;
        self.ignored = if uses_target {
            0
        } else {
            self.ignored.saturating_add(1)
        };
        if self.ignored > IGNORED_CYCLES {
            not_done
        } else {
            Ok(())
        }
    }
}

/// Whoever wants the drive on wants it nowhere else.
fn wishes_home(told: &DriveCommand) -> bool {
    told.home && !told.is_on
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn drive() -> Cia402 {
        let config = DriveConfig {
            device: "drive".into(),
            counts_per_m: 1000.0,
            zero_m: 1.0,
            enable_ms: 100.0,
            homing: None,
            reactions: None,
        };
        Cia402::new(&config, 0.1)
    }

    fn on(position_m: f64) -> DriveCommand {
        DriveCommand {
            is_on: true,
            position_m,
            ..DriveCommand::OFF
        }
    }

    fn sent(status: u16, actual: i32) -> DriveInputs {
        DriveInputs {
            status,
            actual,
            mode: 8,
            error: Some(0x2310),
        }
    }

    #[test]
    fn statuswords_mean_their_states() {
        use DriveState::*;
        // With every bit that does not matter set.
        for (status, state) in [
            (0xFFB0, NotReady),
            (0xFFF0, SwitchOnDisabled),
            (0xFFB1, ReadyToSwitchOn),
            (0xFFB3, SwitchedOn),
            (0xFFB7, OperationEnabled),
            (0xFF97, QuickStopActive),
            (0xFFBF, FaultReactionActive),
            (0xFFB8, Fault),
        ] {
            assert_eq!(DriveState::of(status), state, "{status:04X}");
        }
    }

    #[test]
    fn a_cut_is_no_voltage_at_once_whatever_the_drive_does() {
        for status in [0x1227, 0x0207] {
            let mut drive = drive();
            drive.take(sent(status, 150), &on(1.2), MS).unwrap();
            let cut = DriveCommand {
                cuts: true,
                ..DriveCommand::OFF
            };
            assert_eq!(drive.outputs(&cut, MS).control, 0, "{status:04X}");
        }
    }

    #[test]
    fn it_is_enabled_step_by_step_with_the_target_where_the_motor_is() {
        let mut drive = drive();
        let told = on(1.2);
        assert_eq!(
            drive.outputs(&told, 0).control,
            0,
            "nothing is known of it yet"
        );
        let mut now = MS;
        for (status, control) in [(0x0240, 0x06), (0x0221, 0x07), (0x0223, 0x0F)] {
            drive.take(sent(status, 100), &told, now).unwrap();
            let out = drive.outputs(&told, now);
            assert_eq!(
                (out.control, out.target, out.mode),
                (control, 100, 8),
                "{status:04X}"
            );
            now += MS;
        }
        // It follows: from the motor's place at 0.1 m/s towards 1.2 m, which is count 200.
        drive.take(sent(0x1227, 100), &told, now).unwrap();
        assert_eq!(drive.outputs(&told, now).target, 100);
        assert_eq!(drive.outputs(&told, now + 100 * MS).target, 110);
        // Off: a quick stop where it is, then no voltage.
        drive.take(sent(0x1227, 150), &told, now).unwrap();
        let out = drive.outputs(&DriveCommand::OFF, now);
        assert_eq!((out.control, out.target), (0x02, 150));
        drive
            .take(sent(0x0207, 151), &DriveCommand::OFF, now)
            .unwrap();
        assert_eq!(drive.outputs(&DriveCommand::OFF, now).control, 0x02);
        drive
            .take(sent(0x0240, 151), &DriveCommand::OFF, now)
            .unwrap();
        assert_eq!(drive.outputs(&DriveCommand::OFF, now).control, 0);
    }

    #[test]
    fn it_is_not_enabled_in_another_mode() {
        let mut drive = drive();
        let inputs = DriveInputs {
            mode: 1,
            ..sent(0x0223, 0)
        };
        drive.take(inputs, &on(1.0), 0).unwrap();
        assert_eq!(drive.outputs(&on(1.0), 0).control, 0x07);
        let late = drive.take(inputs, &on(1.0), 101 * MS);
        assert_eq!(late, Err(RigFault::DriveNotEnabled { status: 0x0223 }));
    }

    #[test]
    fn what_it_does_by_itself_is_a_fault() {
        let mut drive = drive();
        drive.take(sent(0x1227, 0), &on(1.0), 0).unwrap();
        let take = |drive: &mut Cia402, status| drive.take(sent(status, 0), &on(1.0), MS);
        assert_eq!(
            take(&mut drive, 0x0240),
            Err(RigFault::DriveNotEnabled { status: 0x0240 }),
            "left by itself"
        );
        assert_eq!(
            take(&mut drive, 0x3227),
            Err(RigFault::FollowingError { status: 0x3227 })
        );
        assert_eq!(
            take(&mut drive, 0x0208),
            Err(RigFault::DriveFault { code: 0x2310 })
        );
        // Three cycles without its target are allowed, a fourth is not.
        for _ in 0..3 {
            take(&mut drive, 0x0227).unwrap();
        }
        assert_eq!(
            take(&mut drive, 0x0227),
            Err(RigFault::DriveNotEnabled { status: 0x0227 })
        );
    }

    #[test]
    fn an_error_is_reset_by_edges_and_only_when_it_may_be() {
        let mut drive = drive();
        let may = DriveCommand {
            may_reset: true,
            ..DriveCommand::OFF
        };
        let fault = drive.take(sent(0x0208, 0), &DriveCommand::OFF, 0);
        assert_eq!(fault, Err(RigFault::DriveFault { code: 0x2310 }));
        assert_eq!(drive.outputs(&DriveCommand::OFF, 0).control, 0);
        let controls: Vec<u16> = (0..40)
            .map(|k| drive.outputs(&may, k * 10 * MS).control)
            .collect();
        let edges = controls
            .windows(2)
            .filter(|w| w[0] == 0 && w[1] == 0x80)
            .count();
        assert_eq!((controls[0], edges), (0, 4), "{controls:?}");
    }
}
