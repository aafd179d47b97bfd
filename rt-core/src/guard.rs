//! The guard: the states of a bench, its limits, and the only place that decides what the actuators
//! are told. Nothing moves before [`State::Armed`]; leaving [`State::Running`] never makes a command jump.
//!
//! | state | command | drive |
//! |---|---|---|
//! | Idle, Ready | follows the measured position | off |
//! | Armed | travels to the parked position and rests there | on |
//! | Running | the bench's, within range and speed | on |
//! | Stopping | brakes to rest; after the end of a run: travels to the parked position | on |
//! | Holding | rests where a stop ended, for a bounded time | on |
//! | Tripped | by its [`Action`]: brakes and rests, unloads the specimen, or follows the measurement | by action |
//!
//! A stop ends motion and starts none: going somewhere else is another command. A second one cuts the power.

mod actuator;
mod arming;
mod authority;
mod cells;
mod checks;
mod limit;
mod request;
mod standstill;
mod stopping;

pub use arming::Lapse;
pub use authority::{Loosened, Owned, Owner};
pub use limit::{ActiveLimit, Limit, LimitSpec};
pub use request::{Refusal, Request};
pub use stopping::{Cut, PowerOff, Rest, Stopped};

use crate::calibration::Line;
use crate::channel::{Frame, Layout, LayoutError};
use crate::fault::{Action, Fault};
use crate::rig::{AtRest, RigSpec};
use crate::travel::Travel;
use actuator::{Actuator, SPEED_CYCLES};
use arming::Arming;
use cells::Cells;
use checks::{BoundFrozen, BoundLimit};
use serde::Deserialize;
use standstill::Standstill;
use stopping::{Law, STANDSTILL_S};

/// The state of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum State {
    /// Not ready: the rig does not answer yet, or a limit is broken.
    Idle,
    /// The rig answers and every limit holds: may be armed.
    Ready,
    /// Powered, at rest in the parked position: may be run.
    Armed,
    /// The bench commands.
    Running,
    /// Comes to rest: where it is after a stop, in the parked position after the end of a run.
    Stopping,
    /// A fault is latched until it is acknowledged.
    Tripped,
    /// Powered and at rest where a stop ended.
    Holding,
}

impl State {
    /// The name used in files and output.
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "Idle",
            State::Ready => "Ready",
            State::Armed => "Armed",
            State::Running => "Running",
            State::Stopping => "Stopping",
            State::Tripped => "Tripped",
            State::Holding => "Holding",
        }
    }
}

/// Whether the actuators are powered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// No power; commands are not followed.
    Off,
    /// Powered; commands are followed.
    On,
}

/// How long a force may stay above its limit during a retreat, beyond the time that braking takes, in s.
const RELIEF_S: f64 = 0.1;
/// How long a motor may take to stand still behind a command that rests, in s.
const SETTLE_S: f64 = 0.4;
/// Good cycles in a row before Idle becomes Ready.
const READY_AFTER_CYCLES: u32 = 5;

/// See the module's text.
pub struct Guard {
    state: State,
    dt: f64,
    limits: Vec<BoundLimit>,
    frozen: Vec<BoundFrozen>,
    cells: Cells,
    actuators: Vec<Actuator>,
    measured: Vec<usize>,
    good_cycles: u32,
    run_requested: bool,
    /// What the latched trip does, while [`State::Tripped`].
    trip_action: Action,
    /// The trip is acknowledged and ends with its retreat.
    is_acknowledged: bool,
    at_rest: bool,
    arming: Arming,
    tick: u64,
    /// How it comes to rest, while [`State::Stopping`].
    law: Law,
    /// The program ends: nothing is held.
    leaving: bool,
    /// Cycles in a row of a retreat in which a limit that trips was broken, and how many may be.
    unrelieved: u32,
    relief_cycles: u32,
    /// Since when the drive is off, in ticks, and for how long its standstill is waited for.
    off_since: Option<u64>,
    rest_is_told: bool,
    was_powered: bool,
    standstill_ticks: u64,
    max_gap_nanos: u64,
    dead_man: Option<usize>,
    brake: Option<usize>,
    /// How power that is off was taken away.
    power_off: PowerOff,
}

impl Guard {
    /// Resolves all names once. Who may loosen what stands in `authority`.
    pub fn build(
        layout: &Layout,
        bench: &[LimitSpec],
        rig: &RigSpec,
        session: &[Limit],
        dt: f64,
    ) -> Result<Self, LayoutError> {
        let limits = authority::combine(bench, &rig.limits, session)
            .map_err(|loosened| LayoutError::Loosened(Box::new(loosened)))?
            .into_iter()
            .map(|owned| {
                let l = &owned.limit;
                Ok(BoundLimit {
                    limit: ActiveLimit {
                        column: layout.column(&l.channel)?,
                        low: l.low,
                        high: l.high,
                        for_cycles: l.for_cycles,
                        action: l.action,
                        owner: owned.owner,
                        widens: owned
                            .widens
                            .as_ref()
                            .map(|of_bench| (of_bench.low, of_bench.high)),
                    },
                    broken_cycles: 0,
                })
            })
            .collect::<Result<_, LayoutError>>()?;
        let frozen = rig
            .frozen
            .iter()
            .map(|f| {
                let column = layout.column(f.channel)?;
                Ok(BoundFrozen {
                    column,
                    cycles: f.cycles,
                    last_bits: 0,
                    repeats: 0,
                })
            })
            .collect::<Result<_, LayoutError>>()?;
        let actuators = rig
            .actuators
            .iter()
            .filter(|a| layout.find(a.command).is_some())
            .map(|a| {
                Ok(Actuator {
                    command: layout.column(a.command)?,
                    feedback: layout.column(a.feedback)?,
                    travel: Travel::at_rest(a.park),
                    recent: [a.park; SPEED_CYCLES],
                    tracking_cycles: 0,
                    standstill: Standstill::new(a.still_within, dt),
                    stopped_at: f64::NAN,
                    spec: a.clone(),
                })
            })
            .collect::<Result<Vec<Actuator>, LayoutError>>()?;
        let braking_s = |a: &Actuator| a.spec.max_speed / a.spec.travel.braking;
        let braking_s = actuators.iter().map(braking_s).fold(0.0, f64::max);
        let ticks = |seconds: f64| (seconds / dt).ceil();
        let measured = rig
            .channels
            .iter()
            .map(|c| layout.column(c.id))
            .collect::<Result<_, LayoutError>>()?;
        Ok(Self {
            state: State::Idle,
            dt,
            limits,
            frozen,
            cells: Cells::build(layout, rig, dt)?,
            actuators,
            measured,
            good_cycles: 0,
            run_requested: false,
            trip_action: Action::PowerOff,
            is_acknowledged: false,
            at_rest: true,
            arming: Arming::new(&rig.safety, braking_s + SETTLE_S, dt),
            tick: 0,
            law: Law::Brake,
            leaving: false,
            unrelieved: 0,
            relief_cycles: ticks(braking_s + RELIEF_S) as u32,
            off_since: None,
            rest_is_told: true,
            was_powered: false,
            standstill_ticks: ticks(STANDSTILL_S) as u64,
            max_gap_nanos: rig.safety.max_gap_s.map_or(u64::MAX, |s| (s * 1e9) as u64),
            dead_man: rig.dead_man.map(|id| layout.column(id)).transpose()?,
            brake: rig.brake.map(|id| layout.column(id)).transpose()?,
            power_off: PowerOff::HandsOver,
        })
    }

    /// All limits in force.
    pub fn limits(&self) -> impl Iterator<Item = ActiveLimit> + '_ {
        self.limits.iter().map(|bound| bound.limit)
    }

    /// Goes on behind a frame with which a bench was Ready and at rest.
    pub fn resume_ready(&mut self, frame: &Frame) {
        self.state = State::Ready;
        self.good_cycles = READY_AFTER_CYCLES;
        for a in &mut self.actuators {
            a.travel = Travel::at_rest(frame.values[a.command]);
            a.recent = [a.travel.position; SPEED_CYCLES];
        }
        for f in &mut self.frozen {
            (f.last_bits, f.repeats) = (frame.values[f.column].to_bits(), 1);
        }
        self.cells.resume(frame);
    }

    /// A load cell's readings mean other newtons from now on.
    pub fn calibrate(&mut self, cell: usize, line: Line) {
        self.cells.calibrate(cell, line);
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the actuators are to be powered.
    pub fn drive(&self) -> Drive {
        let on = match self.state {
            State::Idle | State::Ready => false,
            State::Armed | State::Running | State::Stopping | State::Holding => true,
            State::Tripped => match self.trip_action {
                Action::Hold => !(self.leaving && self.at_rest),
                Action::Retreat => !self.at_rest,
                Action::Warn | Action::Stop | Action::PowerOff => false,
            },
        };
        if on { Drive::On } else { Drive::Off }
    }

    fn is_unloading(&self) -> bool {
        self.state == State::Tripped
            && self.trip_action == Action::Retreat
            && self.drive() == Drive::On
    }

    /// Begins a tick: times are counted in ticks, skipped ones included.
    pub fn begin_tick(&mut self, seq: u64) {
        self.tick = seq;
    }

    /// Takes a request of a person.
    pub fn request(&mut self, request: Request) -> Result<(), Refusal> {
        match (request, self.state) {
            (Request::Arm, State::Ready) => {
                if !self.arming.ask(self.tick) {
                    self.arm();
                }
            }
            (Request::Confirm, State::Ready) if self.arming.confirm(self.tick) => self.arm(),
            (Request::Run, State::Armed) => self.run_requested = true,
            (Request::Stop, _) => {
                self.press_stop();
            }
            // What unloads the specimen is not ended halfway.
            (Request::Acknowledge, State::Tripped) if self.is_unloading() => {
                self.is_acknowledged = true;
            }
            (Request::Acknowledge, State::Tripped) => self.become_idle(),
            // Resets what a drive has latched; the loop passes it on.
            (Request::Acknowledge, State::Idle) => {}
            (Request::Park, State::Holding) => self.come_to_rest(Law::Return),
            (_, state) => return Err(Refusal { request, state }),
        }
        Ok(())
    }

    fn arm(&mut self) {
        self.state = State::Armed;
        self.run_requested = false;
        self.at_rest = false;
        self.arming.begin(self.tick);
    }

    /// For how many ticks arming still waits to be confirmed; `None` if it does not.
    pub fn awaits_confirmation(&self) -> Option<u64> {
        self.arming.awaits(self.tick)
    }

    /// Someone holds the dead-man's switch.
    ///
    /// Where a real switch is read, nothing else counts.
    pub fn note_alive(&mut self) {
        if self.dead_man.is_none() {
            self.arming.note_alive(self.tick);
        }
    }

    /// Whoever lets the drive find its home position is there.
    pub fn begin_homing(&mut self) {
        self.arming.note_alive(self.tick);
    }

    /// Whether the dead man's switch was let go while the drive homes. A real switch cannot be read then: the rig itself
    /// watches it.
    pub fn homes_unattended(&self) -> bool {
        self.dead_man.is_none() && self.arming.is_let_go(self.tick)
    }

    /// A time that has run out in this tick.
    pub fn lapse(&mut self) -> Option<Lapse> {
        let powered = self.drive() == Drive::On;
        let braking = self.state == State::Stopping && self.law == Law::Brake;
        self.arming
            .lapse(self.tick, self.state, powered, braking, self.run_requested)
    }

    /// A gap between two cycles that is too long to go on behind it, while the drive is on or homes by itself.
    pub fn check_gap(&self, gap_nanos: u64, is_homing: bool) -> Option<Fault> {
        let moves = is_homing || self.drive() == Drive::On;
        (moves && gap_nanos > self.max_gap_nanos).then_some(Fault::Gap {
            seconds: gap_nanos as f64 * 1e-9,
            limit: self.max_gap_nanos as f64 * 1e-9,
        })
    }

    /// Armed → Running when that was asked for and everything rests; `true` in that cycle.
    pub fn start_if_settled(&mut self) -> bool {
        let starts = self.state == State::Armed
            && self.run_requested
            && self.at_rest
            && self.cells.let_run();
        if starts {
            self.state = State::Running;
            self.at_rest = false;
        }
        starts
    }

    /// What a fault causes. A fault of the position measurement leaves no safe way to move.
    pub fn action_for(&self, fault: &Fault) -> Action {
        match *fault {
            Fault::Rig(_)
            | Fault::Tracking { .. }
            | Fault::Gap { .. }
            | Fault::Unrelieved { .. } => Action::PowerOff,
            Fault::NotFinite { column } | Fault::Frozen { column, .. } => {
                if self.actuators.iter().any(|a| a.feedback == column) {
                    Action::PowerOff
                } else {
                    Action::Retreat
                }
            }
            Fault::Limit { action, .. } => action,
            // What presses is not known any more: away from it.
            Fault::Step(_) | Fault::Cell { .. } => Action::Retreat,
            Fault::Misses { .. } | Fault::Allocation { .. } => Action::Stop,
        }
    }

    /// Applies a fault to the state; returns the action if it changed anything.
    pub fn apply(&mut self, fault: &Fault) -> Option<Action> {
        self.good_cycles = 0;
        let action = self.action_for(fault);
        if action == Action::PowerOff {
            self.take_power(PowerOff::Cut);
        }
        match self.state {
            State::Idle => None,
            State::Ready => {
                self.state = State::Idle;
                self.arming.forget();
                None
            }
            State::Armed | State::Running | State::Stopping | State::Holding if action.trips() => {
                self.state = State::Tripped;
                self.trip_action = action;
                self.at_rest = false;
                self.note_stop();
                Some(action)
            }
            State::Armed | State::Running | State::Stopping => {
                (self.stop() == Stopped::Brakes).then_some(action)
            }
            State::Holding => None,
            State::Tripped => {
                let escalates = action > self.trip_action;
                if escalates {
                    self.trip_action = action;
                    self.at_rest = false;
                }
                escalates.then_some(action)
            }
        }
    }

    /// A cycle without fault: counts toward Ready.
    pub fn note_good_cycle(&mut self) {
        self.good_cycles = self.good_cycles.saturating_add(1);
        // What was cut may still move.
        let rests = self.power_off == PowerOff::HandsOver || self.has_come_to_rest();
        if self.state == State::Idle && self.good_cycles >= READY_AFTER_CYCLES && rests {
            self.state = State::Ready;
        }
    }

    /// The column of a bench command that is no number.
    pub fn find_bad_command(&self, frame: &Frame) -> Option<usize> {
        self.actuators
            .iter()
            .map(|a| a.command)
            .find(|&c| !frame.values[c].is_finite())
    }

    /// Writes what the actuators are really told, and ends Stopping when all have arrived.
    ///
    /// After an overrun a command goes on from where it stood: catching up would be a jump.
    pub fn write_commands(&mut self, frame: &mut Frame) {
        let dt = self.dt;
        let is_powered = self.drive() == Drive::On;
        let brake = self.brake.map(|column| frame.values[column]);
        let is_braked = brake.is_some_and(|released| released.is_nan() || released < 0.5);
        let mut all_at_rest = true;
        for a in &mut self.actuators {
            if self.state != State::Running {
                a.recent = [a.travel.position; SPEED_CYCLES];
            }
            let spec = &a.spec;
            let brakes = match self.state {
                State::Stopping => self.law == Law::Brake,
                State::Holding => true,
                State::Tripped => self.trip_action == Action::Hold,
                _ => false,
            };
            let feedback = frame.values[a.feedback];
            a.standstill.note(feedback);
            let at_rest = match (self.state, self.trip_action) {
                _ if brakes => a.travel.brake(&spec.travel, dt) && a.standstill.is_still(),
                // Nothing travels against a brake: it would be a jump when it lets go.
                (State::Armed, _) if is_braked => {
                    if feedback.is_finite() {
                        a.travel = Travel::at_rest(feedback);
                    }
                    false
                }
                (State::Armed | State::Stopping, _) => a.travel.toward(spec.park, &spec.travel, dt),
                (State::Tripped, Action::Retreat) => a.travel.toward(a.refuge(), &spec.travel, dt),
                (State::Running, _) => {
                    a.follow(frame.values[a.command], dt);
                    false
                }
                _ => {
                    if feedback.is_finite() {
                        a.travel = Travel::at_rest(feedback);
                    }
                    true
                }
            };
            all_at_rest &= at_rest;
            let spec = &a.spec;
            if is_powered && !(spec.low..=spec.high).contains(&a.travel.position) {
                // Braking never takes the actuator past its range.
                a.travel = Travel::at_rest(a.travel.position.clamp(spec.low, spec.high));
            }
            frame.values[a.command] = a.travel.position;
        }
        self.at_rest = all_at_rest;
        if self.state == State::Stopping && all_at_rest {
            let holds = |a: &Actuator| a.spec.at_rest == AtRest::Hold;
            if self.law == Law::Brake && !self.leaving && self.actuators.iter().any(holds) {
                self.state = State::Holding;
            } else {
                self.become_idle();
            }
        }
        if self.is_acknowledged && self.state == State::Tripped && !self.is_unloading() {
            self.become_idle();
        }
        frame.state = self.state;
        frame.drive = self.drive();
        frame.power_off = self.power_off;
        match frame.drive {
            Drive::On => (self.off_since, self.power_off) = (None, PowerOff::HandsOver),
            Drive::Off if self.was_powered => {
                self.off_since = Some(self.tick);
                self.rest_is_told = false;
            }
            Drive::Off => {}
        }
        self.was_powered = frame.drive == Drive::On;
    }

    fn become_idle(&mut self) {
        self.is_acknowledged = false;
        self.state = State::Idle;
        self.good_cycles = 0;
        self.run_requested = false;
        self.at_rest = true;
    }
}
