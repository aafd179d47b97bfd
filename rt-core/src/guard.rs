//! The guard: the states of a bench, its limits, and the only place that decides what the actuators
//! are told. Nothing moves before [`State::Armed`]; leaving [`State::Running`] never makes a command jump.
//!
//! | state | command | drive |
//! |---|---|---|
//! | Idle, Ready | follows the measured position | off |
//! | Armed | travels to the parked position and rests there | on |
//! | Running | the bench's, within range and speed | on |
//! | Stopping | travels to the parked position | on |
//! | Tripped | by its [`Action`]: rests, travels to the parked position, or follows the measurement | by action |

mod arming;
mod limit;
mod request;

pub use arming::Lapse;
pub use limit::{ActiveLimit, Limit, LimitSpec};
pub use request::{Refusal, Request};

use crate::channel::{Frame, Layout, LayoutError};
use crate::fault::{Action, Fault};
use crate::rig::{ActuatorSpec, RigSpec};
use crate::travel::Travel;
use arming::Arming;
use serde::Deserialize;

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
    /// On the way to the parked position.
    Stopping,
    /// A fault is latched until it is acknowledged.
    Tripped,
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

struct BoundLimit {
    limit: ActiveLimit,
    broken_cycles: u32,
}

struct BoundFrozen {
    column: usize,
    cycles: u32,
    last_bits: u64,
    repeats: u32,
}

struct Actuator {
    spec: ActuatorSpec,
    command: usize,
    feedback: usize,
    travel: Travel,
    /// The last commands, from which the speed is taken that a stop or retreat begins with.
    recent: [f64; SPEED_CYCLES],
    tracking_cycles: u32,
}

/// Cycles over which the speed of a command is taken. A loop that has become unstable commands one step up
/// and one down: the speed of its last step would take a retreat far the wrong way.
const SPEED_CYCLES: usize = 8;

impl Actuator {
    /// A bench's command, within range and speed.
    fn follow(&mut self, wanted: f64, dt: f64) {
        let step = self.spec.max_speed * dt;
        let wanted = wanted.clamp(self.spec.low, self.spec.high);
        let position = self.travel.position + (wanted - self.travel.position).clamp(-step, step);
        let speed = (position - self.recent[0]) / (SPEED_CYCLES as f64 * dt);
        self.recent.rotate_left(1);
        self.recent[SPEED_CYCLES - 1] = position;
        self.travel = Travel { position, speed };
    }
}

/// Good cycles in a row before Idle becomes Ready.
const READY_AFTER_CYCLES: u32 = 5;

/// See the module's text.
pub struct Guard {
    state: State,
    dt: f64,
    limits: Vec<BoundLimit>,
    frozen: Vec<BoundFrozen>,
    actuators: Vec<Actuator>,
    measured: Vec<usize>,
    good_cycles: u32,
    run_requested: bool,
    /// What the latched trip does, while [`State::Tripped`].
    trip_action: Action,
    at_rest: bool,
    arming: Arming,
    tick: u64,
}

impl Guard {
    /// Resolves all names once. Limits of the session replace the rig's for the same channel, and those
    /// of the rig the bench's.
    pub fn build(
        layout: &Layout,
        bench: &[LimitSpec],
        rig: &RigSpec,
        session: &[Limit],
        dt: f64,
    ) -> Result<Self, LayoutError> {
        let named_in = |limits: &[Limit], l: &Limit| limits.iter().any(|o| o.channel == l.channel);
        let bench: Vec<Limit> = bench.iter().map(Limit::from).collect();
        let of_bench = bench.iter().filter(|l| !named_in(&rig.limits, l));
        let limits = of_bench
            .chain(&rig.limits)
            .filter(|l| !named_in(session, l))
            .chain(session)
            .map(|l| {
                Ok(BoundLimit {
                    limit: ActiveLimit {
                        column: layout.column(&l.channel)?,
                        low: l.low,
                        high: l.high,
                        for_cycles: l.for_cycles,
                        action: l.action,
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
                    spec: a.clone(),
                })
            })
            .collect::<Result<_, LayoutError>>()?;
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
            actuators,
            measured,
            good_cycles: 0,
            run_requested: false,
            trip_action: Action::PowerOff,
            at_rest: true,
            arming: Arming::new(&rig.safety, dt),
            tick: 0,
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
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the actuators are to be powered.
    pub fn drive(&self) -> Drive {
        let on = match self.state {
            State::Idle | State::Ready => false,
            State::Armed | State::Running | State::Stopping => true,
            State::Tripped => match self.trip_action {
                Action::Hold => true,
                Action::Retreat => !self.at_rest,
                Action::Warn | Action::Stop | Action::PowerOff => false,
            },
        };
        if on { Drive::On } else { Drive::Off }
    }

    /// Whether ending the loop now would leave nothing powered or moving.
    pub fn is_safe_to_leave(&self) -> bool {
        self.drive() == Drive::Off
            || (self.state == State::Tripped && self.trip_action == Action::Hold && self.at_rest)
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
            (Request::Stop, _) => self.stop(),
            (Request::Acknowledge, State::Tripped) => self.become_idle(),
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
    pub fn note_alive(&mut self) {
        self.arming.note_alive(self.tick);
    }

    /// A time that has run out in this tick.
    pub fn lapse(&mut self) -> Option<Lapse> {
        self.arming.lapse(self.tick, self.state, self.run_requested)
    }

    /// Begins a controlled stop, where there is something to stop.
    pub fn stop(&mut self) {
        self.arming.forget();
        if matches!(self.state, State::Armed | State::Running) {
            self.state = State::Stopping;
            self.at_rest = false;
        }
    }

    /// Armed → Running when that was asked for and everything rests; `true` in that cycle.
    pub fn start_if_settled(&mut self) -> bool {
        let starts = self.state == State::Armed && self.run_requested && self.at_rest;
        if starts {
            self.state = State::Running;
            self.at_rest = false;
        }
        starts
    }

    /// Marks all inputs as unknown after a failed exchange, so that no stale value passes for a fresh one.
    pub fn forget_inputs(&self, frame: &mut Frame) {
        for &column in &self.measured {
            frame.values[column] = f64::NAN;
        }
    }

    /// The first fault in fresh inputs: values that are no number, sensors that are frozen.
    pub fn check_inputs(&mut self, frame: &Frame) -> Option<Fault> {
        let not_finite = self
            .measured
            .iter()
            .find(|&&c| !frame.values[c].is_finite());
        if let Some(&column) = not_finite {
            return Some(Fault::NotFinite { column });
        }
        let mut fault = None;
        for f in &mut self.frozen {
            let bits = frame.values[f.column].to_bits();
            f.repeats = if bits == f.last_bits {
                f.repeats.saturating_add(1)
            } else {
                1
            };
            f.last_bits = bits;
            if f.repeats >= f.cycles && fault.is_none() {
                let value = frame.values[f.column];
                fault = Some(Fault::Frozen {
                    column: f.column,
                    value,
                    cycles: f.repeats,
                });
            }
        }
        fault
    }

    /// The most severe broken limit, tracking errors included. `warnings` hears of each limit that
    /// only warns in the cycle in which it is broken for the first time.
    pub fn check_limits(
        &mut self,
        frame: &Frame,
        mut warnings: impl FnMut(Fault),
    ) -> Option<Fault> {
        let mut worst: Option<(Action, Fault)> = None;
        for bound in &mut self.limits {
            let l = bound.limit;
            let measured = frame.values[l.column];
            // Computed columns hold no number while the bench does not run: nothing to limit then.
            let unknown = measured.is_nan() && self.state != State::Running;
            if unknown || (l.low..=l.high).contains(&measured) {
                bound.broken_cycles = 0;
                continue;
            }
            bound.broken_cycles = bound.broken_cycles.saturating_add(1);
            if bound.broken_cycles < l.for_cycles {
                continue;
            }
            let fault = Fault::Limit {
                column: l.column,
                measured,
                low: l.low,
                high: l.high,
                action: l.action,
            };
            if l.action == Action::Warn {
                if bound.broken_cycles == l.for_cycles {
                    warnings(fault);
                }
            } else if worst.is_none_or(|(action, _)| l.action > action) {
                worst = Some((l.action, fault));
            }
        }
        for a in &mut self.actuators {
            // What was sent, not what the bench proposes for the next exchange.
            let error = (a.travel.position - frame.values[a.feedback]).abs();
            let broken = frame.drive == Drive::On && error > a.spec.max_tracking_error;
            a.tracking_cycles = if broken {
                a.tracking_cycles.saturating_add(1)
            } else {
                0
            };
            if a.tracking_cycles >= a.spec.tracking_cycles.max(1) {
                let limit = a.spec.max_tracking_error;
                worst = Some((
                    Action::PowerOff,
                    Fault::Tracking {
                        column: a.command,
                        error,
                        limit,
                    },
                ));
            }
        }
        worst.map(|(_, fault)| fault)
    }

    /// What a fault causes. A fault of the position measurement leaves no safe way to move.
    pub fn action_for(&self, fault: &Fault) -> Action {
        match *fault {
            Fault::Rig(_) | Fault::Tracking { .. } => Action::PowerOff,
            Fault::NotFinite { column } | Fault::Frozen { column, .. } => {
                if self.actuators.iter().any(|a| a.feedback == column) {
                    Action::PowerOff
                } else {
                    Action::Retreat
                }
            }
            Fault::Limit { action, .. } => action,
            Fault::Step(_) => Action::Retreat,
            Fault::Misses { .. } | Fault::Allocation { .. } => Action::Stop,
        }
    }

    /// Applies a fault to the state; returns the action if it changed anything.
    pub fn apply(&mut self, fault: &Fault) -> Option<Action> {
        self.good_cycles = 0;
        let action = self.action_for(fault);
        match self.state {
            State::Idle => None,
            State::Ready => {
                self.state = State::Idle;
                self.arming.forget();
                None
            }
            State::Armed | State::Running | State::Stopping if action.trips() => {
                self.state = State::Tripped;
                self.trip_action = action;
                self.at_rest = false;
                Some(action)
            }
            State::Armed | State::Running => {
                self.stop();
                Some(action)
            }
            State::Stopping => None,
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
        if self.state == State::Idle && self.good_cycles >= READY_AFTER_CYCLES {
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
        let frame_is_powered = self.drive() == Drive::On;
        let mut all_at_rest = true;
        for a in &mut self.actuators {
            if self.state != State::Running {
                a.recent = [a.travel.position; SPEED_CYCLES];
            }
            let spec = &a.spec;
            let at_rest = match (self.state, self.trip_action) {
                (State::Armed | State::Stopping, _) | (State::Tripped, Action::Retreat) => {
                    a.travel.toward(spec.park, &spec.travel, dt)
                }
                (State::Tripped, Action::Hold) => a.travel.brake(&spec.travel, dt),
                (State::Running, _) => {
                    a.follow(frame.values[a.command], dt);
                    false
                }
                (State::Idle | State::Ready | State::Tripped, _) => {
                    let feedback = frame.values[a.feedback];
                    if feedback.is_finite() {
                        a.travel = Travel::at_rest(feedback);
                    }
                    true
                }
            };
            all_at_rest &= at_rest;
            let spec = &a.spec;
            if frame_is_powered && !(spec.low..=spec.high).contains(&a.travel.position) {
                // Braking never takes the actuator past its range.
                a.travel = Travel::at_rest(a.travel.position.clamp(spec.low, spec.high));
            }
            frame.values[a.command] = a.travel.position;
        }
        self.at_rest = all_at_rest;
        if self.state == State::Stopping && all_at_rest {
            self.become_idle();
        }
        frame.state = self.state;
        frame.drive = self.drive();
    }

    fn become_idle(&mut self) {
        self.state = State::Idle;
        self.good_cycles = 0;
        self.run_requested = false;
        self.at_rest = true;
    }
}
