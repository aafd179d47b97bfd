//! An emulated drive of CiA 402 in cyclic synchronous position and homing, with all of its states.

use super::coe::Dictionary;
use super::homing::{HOMING_MODE, HomingMode};
use super::world::World;
use crate::emulate::plant::HomeSwitch;
use crate::ethercat::config::DriveConfig;

/// States of CiA 402, as the statusword shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveState {
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
    fn status(self) -> u16 {
        match self {
            DriveState::SwitchOnDisabled => 0x0040,
            DriveState::ReadyToSwitchOn => 0x0021,
            DriveState::SwitchedOn => 0x0023,
            DriveState::OperationEnabled => 0x0027,
            DriveState::QuickStopActive => 0x0007,
            DriveState::FaultReactionActive => 0x000F,
            DriveState::Fault => 0x0008,
        }
    }
}

/// What a drive can be told to do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveMisbehaviour {
    /// An error with a code.
    Fault(u16),
    /// A quick stop of its own.
    QuickStop,
    /// The motor does not follow.
    FollowingError,
    /// Targets are ignored although it is enabled.
    IgnoresTarget(bool),
    /// Another mode than it was told.
    WrongMode(bool),
    /// It stays where it is in its enable sequence.
    Stuck(bool),
    /// Its home switch is not where it should be.
    NoHomeSwitch(bool),
}

/// Numbers of its objects in the dictionary.
#[derive(Clone, Copy, Debug, Default)]
struct Objects {
    control: Option<usize>,
    status: Option<usize>,
    mode: Option<usize>,
    mode_shown: Option<usize>,
    target: Option<usize>,
    actual: Option<usize>,
    error: Option<usize>,
    window: Option<usize>,
}

const CYCLIC_POSITION: u64 = 8;
/// How long a quick stop or a fault reaction lasts, in ns.
const BRAKING_NANOS: u64 = 20_000_000;
const CODE_COMMUNICATION: u16 = 0x7500;
const CODE_FOLLOWING: u16 = 0x8611;

/// See the module's text.
pub struct EmulatedDrive {
    objects: Objects,
    counts_per_m: f64,
    state: DriveState,
    error: u16,
    last_control: u16,
    braking_since: Option<u64>,
    braking_at_m: f64,
    follows: bool,
    is_following_error: bool,
    ignores_target: bool,
    wrong_mode: bool,
    is_stuck: bool,
    emergency: Option<u16>,
    /// `None`: its encoder is absolute.
    homing: Option<HomingMode>,
    /// Where its encoder counts from, in m.
    origin_m: f64,
}

impl EmulatedDrive {
    /// A drive as the rig file describes it; objects that it needs are added.
    pub fn new(config: &DriveConfig, dictionary: &mut Dictionary, switch: HomeSwitch) -> Self {
        let homing = config.homing.as_ref();
        let homing = homing.map(|h| HomingMode::new(h.homed_bit, dictionary, switch));
        dictionary.add(0x6060, 0, 8, true, 0);
        dictionary.add(0x603F, 0, 16, false, 0);
        // Following error window in counts; 0 is none.
        dictionary.add(0x6065, 0, 32, true, 0);
        let find = |index| dictionary.find(index, 0);
        Self {
            objects: Objects {
                control: find(0x6040),
                status: find(0x6041),
                mode: find(0x6060),
                mode_shown: find(0x6061),
                target: find(0x607A),
                actual: find(0x6064),
                error: find(0x603F),
                window: find(0x6065),
            },
            counts_per_m: config.counts_per_m,
            homing,
            origin_m: config.zero_m,
            state: DriveState::SwitchOnDisabled,
            error: 0,
            last_control: 0,
            braking_since: None,
            braking_at_m: 0.0,
            follows: false,
            is_following_error: false,
            ignores_target: false,
            wrong_mode: false,
            is_stuck: false,
            emergency: None,
        }
    }

    /// Its state.
    pub fn state(&self) -> DriveState {
        self.state
    }

    /// As after a return of the supply.
    pub fn power_on(&mut self) {
        self.state = DriveState::SwitchOnDisabled;
        self.error = 0;
        self.last_control = 0;
        self.braking_since = None;
        self.follows = false;
        self.is_following_error = false;
        self.emergency = None;
        if let Some(homing) = &mut self.homing {
            homing.power_on();
        }
    }

    /// Its device has left OP.
    pub fn disable(&mut self) {
        if !matches!(
            self.state,
            DriveState::Fault | DriveState::FaultReactionActive
        ) {
            self.state = DriveState::SwitchOnDisabled;
        }
        self.braking_since = None;
        self.follows = false;
    }

    /// Nothing came for too long.
    pub fn lose_communication(&mut self) {
        if self.follows {
            self.fail(CODE_COMMUNICATION);
        } else {
            self.disable();
        }
    }

    /// Does something wrong.
    pub fn misbehave(&mut self, how: DriveMisbehaviour) {
        match how {
            DriveMisbehaviour::Fault(code) => self.fail(code),
            DriveMisbehaviour::QuickStop => {
                if self.state == DriveState::OperationEnabled {
                    self.brake(DriveState::QuickStopActive);
                }
            }
            DriveMisbehaviour::FollowingError => {
                // It is watched only while the drive follows.
                if self.state == DriveState::OperationEnabled {
                    self.is_following_error = true;
                    self.fail(CODE_FOLLOWING);
                }
            }
            DriveMisbehaviour::IgnoresTarget(on) => self.ignores_target = on,
            DriveMisbehaviour::WrongMode(on) => self.wrong_mode = on,
            DriveMisbehaviour::Stuck(on) => self.is_stuck = on,
            DriveMisbehaviour::NoHomeSwitch(on) => {
                if let Some(homing) = &mut self.homing {
                    homing.break_switch(on);
                }
            }
        }
    }

    fn fail(&mut self, code: u16) {
        self.error = code;
        self.emergency = Some(code);
        if self.follows {
            self.brake(DriveState::FaultReactionActive);
        } else {
            self.state = DriveState::Fault;
        }
    }

    fn brake(&mut self, state: DriveState) {
        self.state = state;
        self.braking_since = None;
    }

    /// The emergency message that is due, once.
    pub fn take_emergency(&mut self) -> Option<u16> {
        self.emergency.take()
    }

    /// Takes controlword and target.
    pub fn step(&mut self, dictionary: &mut Dictionary, world: &mut World, now: u64) {
        let control = dictionary.get(self.objects.control) as u16;
        let mode = dictionary.get(self.objects.mode);
        let target_m = self.metres(dictionary.get(self.objects.target));
        if !self.is_stuck {
            self.obey(control);
        }
        let controls = (self.last_control, control);
        self.last_control = control;
        let mode = if self.wrong_mode { 0 } else { mode };
        let is_homing = mode == HOMING_MODE && self.state == DriveState::OperationEnabled;
        if let Some(homing) = self.homing.as_mut().filter(|_| !is_homing) {
            homing.stop();
        }
        match self.state {
            DriveState::OperationEnabled => {
                self.braking_at_m = world.position_m();
                self.follows = true;
                let at_m = self.braking_at_m;
                let reference = match (mode, &mut self.homing) {
                    (CYCLIC_POSITION, _) if !self.ignores_target => target_m,
                    (HOMING_MODE, Some(homing)) => {
                        homing.step(controls, dictionary, self.counts_per_m, at_m, now)
                    }
                    _ => at_m,
                };
                world.tell_motor(Some(reference));
                let window = dictionary.get(self.objects.window) as f64 / self.counts_per_m.abs();
                let error_m = (reference - world.position_m()).abs();
                self.is_following_error |= window > 0.0 && error_m > window;
                if self.is_following_error && self.error == 0 {
                    self.fail(CODE_FOLLOWING);
                }
            }
            DriveState::QuickStopActive | DriveState::FaultReactionActive => {
                let since = *self.braking_since.get_or_insert(now);
                world.tell_motor(Some(self.braking_at_m));
                if now.saturating_sub(since) >= BRAKING_NANOS {
                    self.state = if self.state == DriveState::QuickStopActive {
                        DriveState::SwitchOnDisabled
                    } else {
                        DriveState::Fault
                    };
                    self.follows = false;
                    world.tell_motor(None);
                }
            }
            _ => {
                self.follows = false;
                world.tell_motor(None);
            }
        }
    }

    /// Transitions by the controlword.
    fn obey(&mut self, control: u16) {
        let has = |bits: u16| control & bits == bits;
        let has_voltage = has(0b0010);
        let may_go = has(0b0110);
        self.state = match self.state {
            DriveState::Fault => {
                let is_edge = has(0x80) && self.last_control & 0x80 == 0;
                if is_edge {
                    self.error = 0;
                    self.is_following_error = false;
                    DriveState::SwitchOnDisabled
                } else {
                    DriveState::Fault
                }
            }
            DriveState::FaultReactionActive => DriveState::FaultReactionActive,
            DriveState::SwitchOnDisabled if may_go && control & 1 == 0 => {
                DriveState::ReadyToSwitchOn
            }
            DriveState::SwitchOnDisabled => DriveState::SwitchOnDisabled,
            _ if !has_voltage => DriveState::SwitchOnDisabled,
            DriveState::OperationEnabled if control & 0b0100 == 0 => {
                self.braking_since = None;
                DriveState::QuickStopActive
            }
            DriveState::QuickStopActive => DriveState::QuickStopActive,
            _ if !may_go => DriveState::SwitchOnDisabled,
            DriveState::ReadyToSwitchOn if has(0b0111) => DriveState::SwitchedOn,
            DriveState::SwitchedOn if has(0b1111) => DriveState::OperationEnabled,
            DriveState::OperationEnabled if control & 1 == 0 => DriveState::ReadyToSwitchOn,
            DriveState::OperationEnabled if control & 8 == 0 => DriveState::SwitchedOn,
            DriveState::SwitchedOn if control & 1 == 0 => DriveState::ReadyToSwitchOn,
            other => other,
        };
    }

    /// Puts statusword, position, mode and error code.
    pub fn put_inputs(&mut self, dictionary: &mut Dictionary, world: &mut World) {
        let mode = dictionary.get(self.objects.mode);
        let mode = if self.wrong_mode { 1 } else { mode };
        let is_enabled = self.state == DriveState::OperationEnabled;
        let uses_target = is_enabled && mode == CYCLIC_POSITION && !self.ignores_target;
        // Voltage is there and the drive is remote.
        let mut status = self.state.status() | 0x0010 | 0x0200;
        status |= match &self.homing {
            Some(homing) if mode == HOMING_MODE => homing.status(),
            _ => u16::from(uses_target) << 12 | u16::from(self.is_following_error) << 13,
        };
        if let Some(homing) = &mut self.homing {
            status |= homing.vendor_status();
            self.origin_m = homing.origin_m(dictionary, self.counts_per_m, world.position_m());
        }
        let counts = ((world.position_m() - self.origin_m) * self.counts_per_m).round() as i32;
        dictionary.put(self.objects.status, status.into());
        dictionary.put(self.objects.mode_shown, mode);
        dictionary.put(self.objects.actual, u64::from(counts as u32));
        dictionary.put(self.objects.error, self.error.into());
    }

    fn metres(&self, counts: u64) -> f64 {
        f64::from(counts as u32 as i32) / self.counts_per_m + self.origin_m
    }
}
