//! A drive of CiA 402 in cyclic synchronous position, seen from the loop: which controlword and target it is sent,
//! and what its statusword means.
//!
//! The target is the actual position until the drive follows; what the command has moved meanwhile is caught up with
//! at a bounded speed, so that it never jumps. Off is a quick stop first, then no voltage.

use super::config::DriveConfig;
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
}

impl DriveState {
    /// From a statusword: xxxx xxxx x0xx 0000 and so on.
    pub fn of(status: u16) -> Self {
        match status & 0x4F {
            0x40 => return DriveState::SwitchOnDisabled,
            0x0F => return DriveState::FaultReactionActive,
            0x08 => return DriveState::Fault,
            _ => {}
        }
        match status & 0x6F {
            0x21 => DriveState::ReadyToSwitchOn,
            0x23 => DriveState::SwitchedOn,
            0x27 => DriveState::OperationEnabled,
            0x07 => DriveState::QuickStopActive,
            _ => DriveState::NotReady,
        }
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
        let state = self.last.map(|i| DriveState::of(i.status));
        !matches!(
            state,
            Some(DriveState::SwitchOnDisabled | DriveState::Fault | DriveState::NotReady) | None
        )
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
        if self.asked_since.is_none_or(|(was_on, _)| was_on != told.is_on) {
            self.asked_since = Some((told.is_on, now));
        }
        let state = DriveState::of(last.status);
        if state == DriveState::Fault {
            self.followed_at = None;
            let control = if told.may_reset { self.reset_edge(now) } else { 0 };
            return DriveOutputs { control, ..rest };
        }
        self.reset_since = None;
        let is_on = told.is_on && told.position_m.is_finite();
        if !is_on {
            self.followed_at = None;
            // A quick stop is voltage without the bit that forbids it.
            let brakes = matches!(state, DriveState::OperationEnabled | DriveState::QuickStopActive);
            let control = if brakes { 0x02 } else { 0 };
            return DriveOutputs { control, ..rest };
        }
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
    pub fn take(&mut self, inputs: DriveInputs, told: &DriveCommand, now: u64) -> Result<(), RigFault> {
        self.last = Some(inputs);
        let state = DriveState::of(inputs.status);
        let status = inputs.status;
        if matches!(state, DriveState::Fault | DriveState::FaultReactionActive) {
            let code = inputs.error.unwrap_or(0);
            if status & FOLLOWING_ERROR != 0 {
                return Err(RigFault::FollowingError { status });
            }
            return Err(RigFault::DriveFault { code });
        }
        let is_enabled = state == DriveState::OperationEnabled;
        let asked = self.asked_since.filter(|(is_on, _)| *is_on == told.is_on);
        let waited = asked.map_or(0, |(_, since)| now.saturating_sub(since));
        let not_done = Err(RigFault::DriveNotEnabled { status });
        if !told.is_on {
            self.ignored = 0;
            self.has_followed = false;
            return if is_enabled && waited > self.enable_nanos { not_done } else { Ok(()) };
        }
        if !is_enabled {
            // It has left by itself, or takes too long. A quick stop from before may still go on.
            let is_late = waited > self.enable_nanos;
            return if self.has_followed || is_late { not_done } else { Ok(()) };
        }
        self.has_followed = true;
        if status & FOLLOWING_ERROR != 0 {
            return Err(RigFault::FollowingError { status });
        }
        let uses_target = status & USES_TARGET != 0 && inputs.mode == CYCLIC_POSITION;
        self.ignored = if uses_target { 0 } else { self.ignored.saturating_add(1) };
        if self.ignored > IGNORED_CYCLES { not_done } else { Ok(()) }
    }
}
