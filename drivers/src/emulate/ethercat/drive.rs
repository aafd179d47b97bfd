//! An emulated drive of CiA 402 in cyclic synchronous position and homing, with all of its states. What it does alone
//! follows from its objects: see [`super::reactions`].

use super::coe::Dictionary;
use super::homing::{HOMING_MODE, HomingMode};
use super::reactions::{Braking, Ramp, Reactions, WhenLost};
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
    /// Whether its motor may be driven.
    fn drives(self) -> bool {
        matches!(
            self,
            DriveState::OperationEnabled
                | DriveState::QuickStopActive
                | DriveState::FaultReactionActive
        )
    }

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
    /// This object stays as it is, although writing it is answered as if it was taken; `None`: none any more.
    NotTaken(Option<u16>),
    /// This object is not there; `None`: all are there.
    Lacks(Option<u16>),
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
}

const CYCLIC_POSITION: u64 = 8;
/// How finely a ramp is worked out, in ns.
const RAMP_STEP_NANOS: u64 = 250_000;
/// How old a speed may be with which a ramp begins, in ns: without targets the motor stands where it was sent.
const SPEED_NANOS: u64 = 10_000_000;
/// No drive believes in a faster motor, in m/s.
const FASTEST_M_PER_S: f64 = 5.0;
const CODE_COMMUNICATION: u16 = 0x7500;
const CODE_FOLLOWING: u16 = 0x8611;

/// Where a motor is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    at_m: f64,
    at_nanos: u64,
    speed_m_per_s: f64,
}

impl Demand {
    /// From rest.
    fn stand(at_m: f64, at_nanos: u64) -> Self {
        Self {
            at_m,
            at_nanos,
            speed_m_per_s: 0.0,
        }
    }

    fn go_on(&mut self, at_m: f64, now: u64) {
        let dt = now.saturating_sub(self.at_nanos) as f64 * 1e-9;
        // A frame that is repeated brings no news.
        if dt > 0.0 {
            let speed = (at_m - self.at_m) / dt;
            self.speed_m_per_s = speed.clamp(-FASTEST_M_PER_S, FASTEST_M_PER_S);
        }
        (self.at_m, self.at_nanos) = (at_m, now);
    }
}

/// See the module's text.
pub struct EmulatedDrive {
    objects: Objects,
    counts_per_m: f64,
    state: DriveState,
    error: u16,
    last_control: u16,
    reactions: Reactions,
    /// Where it sends its motor, in m, since when, and how fast.
    demand: Demand,
    /// It brakes, and what it is at the end of that.
    ramp: Option<(Ramp, DriveState)>,
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
        let reactions = Reactions::new(dictionary, config.counts_per_m);
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
            },
            counts_per_m: config.counts_per_m,
            homing,
            origin_m: config.zero_m,
            state: DriveState::SwitchOnDisabled,
            error: 0,
            last_control: 0,
            reactions,
            demand: Demand::default(),
            ramp: None,
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
        self.ramp = None;
        self.is_following_error = false;
        self.emergency = None;
        self.reactions.forget();
        if let Some(homing) = &mut self.homing {
            homing.power_on();
        }
    }

    /// Its device was told to leave OP.
    pub fn disable(&mut self) {
        if self.state != DriveState::Fault {
            self.end(DriveState::SwitchOnDisabled);
        }
    }

    /// Nothing came for too long, or its device has left OP by itself.
    pub fn lose_communication(&mut self, dictionary: &Dictionary, now: u64) {
        if self.state != DriveState::OperationEnabled {
            // What brakes goes on; what could be enabled is not.
            if !self.state.drives() {
                self.disable();
            }
            return;
        }
        match self.reactions.when_lost(dictionary) {
            WhenLost::Nothing => {}
            WhenLost::Error => self.fail(CODE_COMMUNICATION, dictionary, now),
            WhenLost::PowerOff => self.end(DriveState::SwitchOnDisabled),
            WhenLost::QuickStop => self.quick_stop(dictionary, now),
        }
    }

    /// Does something wrong.
    pub fn misbehave(&mut self, how: DriveMisbehaviour, dictionary: &mut Dictionary, now: u64) {
        match how {
            DriveMisbehaviour::Fault(code) => self.fail(code, dictionary, now),
            DriveMisbehaviour::QuickStop => {
                if self.state == DriveState::OperationEnabled {
                    self.quick_stop(dictionary, now);
                }
            }
            DriveMisbehaviour::FollowingError => {
                // It is watched only while the drive follows.
                if self.state == DriveState::OperationEnabled {
                    self.is_following_error = true;
                    self.fail(CODE_FOLLOWING, dictionary, now);
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
            DriveMisbehaviour::NotTaken(index) => dictionary.keep(index),
            DriveMisbehaviour::Lacks(index) => dictionary.hide(index),
        }
    }

    fn fail(&mut self, code: u16, dictionary: &Dictionary, now: u64) {
        self.error = code;
        self.emergency = Some(code);
        if !self.state.drives() {
            self.end(DriveState::Fault);
            return;
        }
        let braking = self.reactions.fault(dictionary);
        self.brake(
            braking,
            DriveState::FaultReactionActive,
            DriveState::Fault,
            now,
        );
    }

    fn quick_stop(&mut self, dictionary: &Dictionary, now: u64) {
        let (braking, keeps_power) = self.reactions.quick_stop(dictionary);
        let then = if keeps_power {
            DriveState::QuickStopActive
        } else {
            DriveState::SwitchOnDisabled
        };
        self.brake(braking, DriveState::QuickStopActive, then, now);
    }

    /// Brakes in a state, and is in another at the end of it.
    fn brake(&mut self, braking: Braking, state: DriveState, then: DriveState, now: u64) {
        let Braking::Ramp(deceleration) = braking else {
            return self.end(then);
        };
        let Demand {
            at_m,
            at_nanos,
            speed_m_per_s,
        } = self.demand;
        let is_fresh = now.saturating_sub(at_nanos) <= SPEED_NANOS;
        let speed = if is_fresh { speed_m_per_s } else { 0.0 };
        self.ramp = Some((Ramp::begin(at_m, speed, deceleration, now), then));
        self.state = state;
    }

    /// Is in another state from now on, without braking.
    fn end(&mut self, state: DriveState) {
        self.state = state;
        self.ramp = None;
        self.reactions.forget();
    }

    /// Time passes, with frames or without.
    pub fn live(&mut self, world: &mut World, now: u64) {
        while let Some((ramp, then)) = &mut self.ramp {
            if ramp.until >= now {
                break;
            }
            let next = (ramp.until + RAMP_STEP_NANOS).min(now);
            let (rests, then) = (ramp.advance(next), *then);
            world.advance_to(next);
            world.tell_motor(Some(ramp.at_m));
            self.demand = Demand::stand(ramp.at_m, next);
            if rests {
                self.end(then);
            }
        }
        if !self.state.drives() {
            world.tell_motor(None);
        }
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
        let was_enabled = self.state == DriveState::OperationEnabled;
        if !self.is_stuck {
            self.obey(control, dictionary, now);
        }
        let controls = (self.last_control, control);
        self.last_control = control;
        let mode = if self.wrong_mode { 0 } else { mode };
        let is_enabled = self.state == DriveState::OperationEnabled;
        let is_homing = mode == HOMING_MODE && is_enabled;
        if let Some(homing) = self.homing.as_mut().filter(|_| !is_homing) {
            homing.stop();
        }
        if !is_enabled || self.ramp.is_some() {
            if !self.state.drives() {
                world.tell_motor(None);
            }
            return;
        }
        let at_m = world.position_m();
        if !was_enabled {
            self.demand = Demand::stand(at_m, now);
        }
        let reference = match (mode, &mut self.homing) {
            (CYCLIC_POSITION, _) if !self.ignores_target => target_m,
            (HOMING_MODE, Some(homing)) => {
                homing.step(controls, dictionary, self.counts_per_m, at_m, now)
            }
            _ => at_m,
        };
        self.demand.go_on(reference, now);
        world.tell_motor(Some(reference));
        let error_m = reference - at_m;
        if self.reactions.does_not_follow(dictionary, error_m, now) {
            self.is_following_error = true;
            self.fail(CODE_FOLLOWING, dictionary, now);
        }
    }

    /// Transitions by the controlword.
    fn obey(&mut self, control: u16, dictionary: &Dictionary, now: u64) {
        let has = |bits: u16| control & bits == bits;
        let has_voltage = has(0b0010);
        let may_go = has(0b0110);
        match self.state {
            DriveState::Fault => {
                let is_edge = has(0x80) && self.last_control & 0x80 == 0;
                if is_edge {
                    self.error = 0;
                    self.is_following_error = false;
                    self.end(DriveState::SwitchOnDisabled);
                }
            }
            DriveState::FaultReactionActive => {}
            DriveState::SwitchOnDisabled => {
                if may_go && control & 1 == 0 {
                    self.state = DriveState::ReadyToSwitchOn;
                }
            }
            _ if !has_voltage => self.end(DriveState::SwitchOnDisabled),
            DriveState::QuickStopActive => {}
            DriveState::OperationEnabled if control & 0b0100 == 0 => {
                self.quick_stop(dictionary, now);
            }
            _ if !may_go => self.end(DriveState::SwitchOnDisabled),
            // It is on its way out already.
            DriveState::OperationEnabled if self.ramp.is_some() => {}
            DriveState::OperationEnabled if control & 1 == 0 => {
                let braking = self.reactions.shutdown(dictionary);
                let then = DriveState::ReadyToSwitchOn;
                self.brake(braking, DriveState::OperationEnabled, then, now);
            }
            DriveState::OperationEnabled if control & 8 == 0 => self.end(DriveState::SwitchedOn),
            DriveState::OperationEnabled => {}
            DriveState::ReadyToSwitchOn if has(0b0111) => self.state = DriveState::SwitchedOn,
            DriveState::ReadyToSwitchOn => {}
            DriveState::SwitchedOn if has(0b1111) => self.state = DriveState::OperationEnabled,
            DriveState::SwitchedOn if control & 1 == 0 => self.state = DriveState::ReadyToSwitchOn,
            DriveState::SwitchedOn => {}
        }
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
