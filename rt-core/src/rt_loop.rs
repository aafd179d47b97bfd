//! One cycle: exchange → step → guard → publish. The only place where a bench and a rig meet.

use crate::bench::{Adoption, Bench, Notice, Progress, StepFault, Update};
use crate::channel::{ChannelSpec, Frame, Layout, LayoutError, Role};
use crate::fault::{Action, Fault};
use crate::guard::Drive;
use crate::guard::{
    ActiveLimit, Cut, Guard, Lapse, Limit, Owner, Refusal, Request, State, Stopped,
};
use crate::link::{self, Command, Event, EventKind, LoopSide, RingSizes, StopCause, UserSide};
use crate::no_alloc;
use crate::pacing::{Clock, NANOS_PER_SECOND, Pacer, Tick};
use crate::param::{MAX_PARAMS, ParamSet};
use crate::rig::{Rig, RigCommand, RigLink, RigRefusal};
use crate::timing::Timing;

/// The loop's own columns, after all others. All but the first are measurements of the loop itself, to the
/// precision of a float.
pub const LOOP_CHANNELS: [ChannelSpec; 8] = [
    ChannelSpec::computed("loop.state", "State number", ""),
    ChannelSpec::computed("loop.wake_us", "Wake-up latency", "µs"),
    ChannelSpec::computed("loop.wake_max_us", "Worst wake-up latency", "µs"),
    ChannelSpec::computed("loop.exec_us", "Execution time of the cycle before", "µs"),
    ChannelSpec::computed("loop.exec_max_us", "Worst execution time", "µs"),
    ChannelSpec::computed("loop.overruns", "Overruns", ""),
    ChannelSpec::computed("loop.skipped", "Skipped ticks", ""),
    ChannelSpec::computed("loop.drops", "Dropped recorder frames", ""),
];

/// How a loop is run.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// The period, in nanoseconds.
    pub period_nanos: u64,
    /// How many deadlines in a row may be missed before a controlled stop.
    pub max_misses: u32,
    /// After how many ticks of Running a controlled stop begins; `None`: only when asked or finished.
    pub run_ticks: Option<u64>,
    /// Limits of the session: beside the rig's, and in place of those of the bench that they restate.
    pub limits: Vec<Limit>,
    /// How many frames the rings hold.
    pub rings: RingSizes,
}

/// A bench on a rig, ready to be cycled by any clock.
pub struct RtLoop<C: Clock> {
    clock: C,
    pacer: Pacer,
    bench: Box<dyn Bench>,
    rig: Box<dyn Rig>,
    params: ParamSet,
    slewing: [bool; MAX_PARAMS],
    guard: Guard,
    frame: Frame,
    loop_columns: usize,
    side: LoopSide,
    config: LoopConfig,
    dt: f64,
    running_since: u64,
    misses_in_a_row: u32,
    exec_nanos: u64,
    allocations: u32,
    last_warning: Option<Fault>,
    /// A design that the bench takes later.
    waiting: Option<Box<Update>>,
    quitting: bool,
    /// The drive was told to find its home position.
    homing: bool,
    /// Ticks that passed before this one without being served, in ns.
    gap_nanos: u64,
}

/// Commands served in one cycle; more wait for the next.
const COMMANDS_PER_CYCLE: usize = 16;

impl<C: Clock> RtLoop<C> {
    /// Joins a bench and a rig; refuses what does not fit together.
    pub fn build(
        bench: Box<dyn Bench>,
        mut rig: Box<dyn Rig>,
        params: ParamSet,
        config: LoopConfig,
        clock: C,
    ) -> Result<(Self, UserSide, Layout), LayoutError> {
        let layout = join(&*bench, &*rig)?;
        if let Some(rig) = rig
            .spec()
            .safety
            .max_misses
            .filter(|m| config.max_misses > *m)
        {
            let session = config.max_misses;
            return Err(LayoutError::TooManyMisses { session, rig });
        }
        rig.bind(&layout)?;
        let dt = config.period_nanos as f64 / NANOS_PER_SECOND as f64;
        let guard = Guard::build(&layout, bench.spec().limits, rig.spec(), &config.limits, dt)?;
        let (side, user) = link::connect(config.rings, RigLink::of(&*rig));
        let own = Self {
            clock,
            pacer: Pacer::new(config.period_nanos),
            loop_columns: layout.len() - LOOP_CHANNELS.len(),
            bench,
            rig,
            params,
            slewing: [false; MAX_PARAMS],
            guard,
            frame: Frame::empty(),
            side,
            config,
            dt,
            running_since: 0,
            misses_in_a_row: 0,
            exec_nanos: 0,
            allocations: 0,
            last_warning: None,
            waiting: None,
            quitting: false,
            homing: false,
            gap_nanos: 0,
        };
        Ok((own, user, layout))
    }

    /// The clock by which it cycles.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// All limits in force, those of bench, rig and session together.
    pub fn limits(&self) -> Vec<ActiveLimit> {
        self.guard.limits().collect()
    }

    /// Goes on behind a frame with which another loop was Ready, as if this one had made it: for computing a
    /// recording again that begins there. Nothing has moved since, so there is nothing else to know.
    pub fn resume_ready(&mut self, frame: &Frame) {
        self.pacer.resume_at(frame.seq + 1);
        self.guard.resume_ready(frame);
        self.frame = *frame;
    }

    /// Waits for the next tick and does its work. `false` once the loop has come to its end.
    pub fn cycle(&mut self) -> bool {
        let tick = self.pacer.wait(&mut self.clock);
        let begin = self.clock.now();
        let (go_on, allocations) = no_alloc::guarded(|| self.work(tick));
        self.allocations = allocations;
        self.exec_nanos = self.clock.now() - begin;
        self.side.timing.exec.add(self.exec_nanos);
        go_on
    }

    /// Cycles until the end.
    pub fn run(&mut self) {
        while self.cycle() {}
    }

    fn work(&mut self, tick: Tick) -> bool {
        let state_before = self.guard.state();
        // What this cycle's exchange will tell the rig: the loop ends only after it was told to be safe.
        let safe_is_sent = self.guard.is_safe_to_leave();
        self.frame.seq = tick.seq;
        self.frame.t_nanos = tick.t_nanos;
        self.guard.begin_tick(tick.seq);
        self.note_timing(tick);
        self.serve_stop_line();
        self.serve_commands();
        self.serve_lapse();
        self.serve_gap();
        self.serve_update();
        self.advance_params();

        let begin = self.clock.now();
        let exchanged = self.rig.exchange(&mut self.frame);
        let mut stage = self.clock.now();
        self.side.timing.exchange.add(stage.saturating_sub(begin));
        let mut fault = match exchanged {
            Err(e) => {
                self.guard.forget_inputs(&mut self.frame);
                Some(Fault::Rig(e))
            }
            Ok(()) => {
                self.homing = false;
                self.guard.check_inputs(&self.frame)
            }
        };
        let inputs_good = fault.is_none();
        if inputs_good && self.guard.start_if_settled() {
            self.running_since = tick.seq;
            self.bench.reset(&self.params, &self.frame);
        }
        let mut finished = None;
        if inputs_good && self.guard.state() == State::Running {
            match self.bench.step(&self.params, &mut self.frame) {
                Ok(Progress::Running) => {}
                Ok(Progress::Finished) => finished = Some(StopCause::Finished),
                Err(e) => fault = Some(Fault::Step(e)),
            }
            let begin = std::mem::replace(&mut stage, self.clock.now());
            self.side.timing.step.add(stage.saturating_sub(begin));
            self.tell_notice();
            if let (None, Some(column)) = (fault, self.guard.find_bad_command(&self.frame)) {
                fault = Some(Fault::Step(StepFault::NotFinite { column }));
            }
        } else {
            self.forget_computed();
        }
        if inputs_good && fault.is_none() {
            let Self {
                guard, side, frame, ..
            } = self;
            let (seq, t_nanos) = (frame.seq, frame.t_nanos);
            fault = guard.check_limits(frame, |warning| {
                side.tell(Event {
                    seq,
                    t_nanos,
                    kind: EventKind::Warning(warning),
                });
            });
        }
        if fault.is_none() {
            fault = self.check_loop();
        }
        self.react(fault);
        let over = self
            .config
            .run_ticks
            .is_some_and(|n| tick.seq >= self.running_since + n);
        if self.guard.state() == State::Running && (finished.is_some() || over) {
            self.guard.end_run();
            self.tell(EventKind::Stopping(finished.unwrap_or(StopCause::Duration)));
        }
        self.guard.write_commands(&mut self.frame);
        let state = self.guard.state();
        if state != state_before {
            self.tell(EventKind::State {
                from: state_before,
                to: state,
            });
            if state == State::Armed {
                self.tell_widened();
            }
        }
        if let Some(rest) = self.guard.take_rest() {
            self.tell(EventKind::AtRest(rest));
        }
        self.write_loop_columns(tick);
        self.side.publish(&self.frame);
        let publish = self.clock.now().saturating_sub(stage);
        self.side.timing.publish.add(publish);
        self.side.stop.answer();
        let may_end = || {
            self.guard.is_safe_to_leave() && self.guard.has_come_to_rest() && self.rig.is_settled()
        };
        !(self.quitting && safe_is_sent && may_end())
    }

    fn note_timing(&mut self, tick: Tick) {
        let timing = &self.side.timing;
        Timing::count(&timing.cycles, 1);
        timing.wake.add(tick.late_nanos);
        self.gap_nanos = tick.skipped.saturating_mul(self.config.period_nanos);
        if tick.skipped > 0 {
            Timing::count(&timing.overruns, 1);
            Timing::count(&timing.skipped, tick.skipped);
            self.misses_in_a_row = self.misses_in_a_row.saturating_add(1);
        } else {
            self.misses_in_a_row = 0;
        }
    }

    /// STOP pressed anywhere. Two presses between two cycles are two: the second cuts the power.
    fn serve_stop_line(&mut self) {
        for _ in 0..self.side.stop.take().min(2) {
            self.press_stop();
        }
    }

    fn press_stop(&mut self) {
        if self.homing {
            // Stopped as any motion is: a brake may take over before the power goes. The next STOP cuts.
            return self.stop_homing();
        }
        let stopped = self.guard.press_stop();
        self.tell_stopped(stopped, StopCause::Requested);
    }

    fn tell_stopped(&mut self, stopped: Stopped, cause: StopCause) {
        match stopped {
            Stopped::Nothing => {}
            Stopped::Brakes => self.tell(EventKind::Stopping(cause)),
            Stopped::Cut(cut) => self.tell(EventKind::PowerCut(cut)),
        }
    }

    /// A gap is over before anything is sent: a drive that is to be off is told so in this very exchange.
    fn serve_gap(&mut self) {
        if let Some(fault) = self.guard.check_gap(self.gap_nanos, self.homing) {
            self.stop_homing();
            self.react(Some(fault));
            self.frame.drive = Drive::Off;
        }
    }

    fn serve_commands(&mut self) {
        if !self.quitting {
            if self.side.stop.is_to_end() {
                self.quit(StopCause::Ending);
            } else if self.side.commands.is_abandoned() {
                self.quit(StopCause::Abandoned);
            }
        }
        for _ in 0..COMMANDS_PER_CYCLE {
            let Ok(command) = self.side.commands.pop() else {
                return;
            };
            match command {
                Command::Request(request) => self.serve_request(request),
                Command::SetParam { index, value } => self.set_param(index, value),
                Command::Mark { number } => self.tell(EventKind::Mark { number }),
                Command::Rig(command) => self.command_rig(command),
                Command::NoteRefusal(verdict) => self.tell(EventKind::RetuningRefused(verdict)),
                Command::Alive => self.guard.note_alive(),
                Command::NoteInsisted(objection) => self.tell(EventKind::Insisted(objection)),
                Command::Quit => self.quit(StopCause::Ending),
            }
        }
    }

    /// Times of arming that have run out.
    fn serve_lapse(&mut self) {
        if self.homing && self.guard.homes_unattended() {
            self.stop_homing();
            self.tell(EventKind::Stopping(StopCause::DeadMan));
        }
        match self.guard.lapse() {
            None => {}
            Some(Lapse::Confirmation) => self.tell(EventKind::ArmingExpired),
            Some(Lapse::Armed) => self.stop(StopCause::ArmedTooLong),
            Some(Lapse::DeadMan) => match self.guard.stop() {
                Stopped::Nothing => self.cut(Cut::DeadMan),
                stopped => self.tell_stopped(stopped, StopCause::DeadMan),
            },
            Some(Lapse::Held) => self.cut(Cut::HeldTooLong),
            Some(Lapse::NotAtRest) => self.cut(Cut::NotAtRest),
        }
    }

    fn serve_request(&mut self, request: Request) {
        let state = self.guard.state();
        if self.quitting && matches!(request, Request::Arm | Request::Confirm | Request::Run) {
            self.tell(EventKind::Refused(Refusal { request, state }));
        } else if request == Request::Stop {
            self.press_stop();
        } else if let Err(refusal) = self.guard.request(request) {
            self.tell(EventKind::Refused(refusal));
        } else if let (Request::Arm, Some(within_ticks)) =
            (request, self.guard.awaits_confirmation())
        {
            self.tell(EventKind::ArmingAsked { within_ticks });
        } else if request == Request::Acknowledge {
            self.reset_drives();
        }
    }

    /// Resets what drives have latched: deliberate, and the only way. A rig that latches nothing has nothing to do.
    fn reset_drives(&mut self) {
        if self.rig.command(RigCommand::Reset).is_ok() {
            self.tell(EventKind::RigDone(RigCommand::Reset));
        }
    }

    /// Says with what it is armed that the bench alone would not allow.
    fn tell_widened(&mut self) {
        let Self {
            guard, side, frame, ..
        } = self;
        for limit in guard.limits().filter(|l| l.owner == Owner::Session) {
            if let Some(bench) = limit.widens {
                side.tell(Event {
                    seq: frame.seq,
                    t_nanos: frame.t_nanos,
                    kind: EventKind::Widened {
                        column: limit.column,
                        bench,
                        session: (limit.low, limit.high),
                    },
                });
            }
        }
    }

    fn cut(&mut self, cause: Cut) {
        let stopped = self.guard.cut(cause);
        self.tell_stopped(stopped, StopCause::Requested);
    }

    /// A drive that homes moves while the guard is Idle: STOP has to reach it too.
    fn stop_homing(&mut self) {
        if std::mem::take(&mut self.homing) {
            self.command_rig(RigCommand::StopHoming);
        }
    }

    /// A force that jumps or a load that hangs must not meet a powered drive: only while Idle or Ready.
    fn command_rig(&mut self, command: RigCommand) {
        let state = self.guard.state();
        let done = if matches!(state, State::Idle | State::Ready) {
            self.rig.command(command)
        } else {
            Err(RigRefusal::State(state))
        };
        match done {
            Ok(()) => {
                if let RigCommand::Calibrate { cell, line, .. } = command {
                    self.guard.calibrate(cell, line);
                    if let Some(used) = self.side.rig.lines.get(cell) {
                        used.set(line);
                    }
                }
                if command == RigCommand::Home {
                    self.homing = true;
                    self.guard.begin_homing();
                }
                self.tell(EventKind::RigDone(command));
            }
            Err(refusal) => self.tell(EventKind::RigRefused { command, refusal }),
        }
    }

    fn set_param(&mut self, index: usize, value: f64) {
        if self.params.request(index, value) {
            self.tell(EventKind::ParamApplied { index, value });
            self.slewing[index] = self.params.get(index) != value;
        } else {
            self.tell(EventKind::ParamRefused { index, value });
        }
    }

    /// At most one design a cycle, and only if there is a place to give it back.
    fn serve_update(&mut self) {
        if self.side.used_updates.is_full() {
            return;
        }
        let waiting = self.waiting.take();
        let Some(mut update) = waiting.or_else(|| self.side.updates.pop().ok()) else {
            return;
        };
        match self.bench.adopt(&mut update.content) {
            Adoption::Later => {
                self.waiting = Some(update);
                return;
            }
            Adoption::Adopted => {
                self.tell(EventKind::Retuned(update.approval));
                for &(index, value) in &update.params {
                    if self.params.get(index) != value {
                        self.take_designed(index, value);
                    }
                }
            }
            Adoption::Refused => self.tell(EventKind::RetuningMisfit),
        }
        // There is room: only this thread fills the ring.
        let _ = self.side.used_updates.push(update);
    }

    fn take_designed(&mut self, index: usize, value: f64) {
        if self.params.take_designed(index, value) {
            self.tell(EventKind::ParamApplied { index, value });
        }
    }

    fn tell_notice(&mut self) {
        if let Some(Notice::FellBack {
            index,
            value,
            cause,
        }) = self.bench.notice()
        {
            self.tell(EventKind::FellBack(cause));
            self.take_designed(index, value);
        }
    }

    fn advance_params(&mut self) {
        self.params.advance(self.dt);
        for index in 0..self.params.specs().len() {
            let value = self.params.get(index);
            if self.slewing[index] && value == self.params.target(index) {
                self.slewing[index] = false;
                self.tell(EventKind::ParamSettled { index, value });
            }
        }
    }

    fn quit(&mut self, cause: StopCause) {
        if std::mem::replace(&mut self.quitting, true) {
            return;
        }
        match self.guard.leave() {
            // It stops already: what it would have held it lets go of now.
            Stopped::Nothing if self.guard.drive() == Drive::On => {
                self.tell(EventKind::Stopping(cause));
            }
            stopped => self.tell_stopped(stopped, cause),
        }
        self.stop_homing();
    }

    fn stop(&mut self, cause: StopCause) {
        let stopped = self.guard.stop();
        self.tell_stopped(stopped, cause);
    }

    /// Faults of the loop itself.
    fn check_loop(&mut self) -> Option<Fault> {
        let limit = self.config.max_misses;
        if self.misses_in_a_row >= limit {
            return Some(Fault::Misses {
                in_a_row: self.misses_in_a_row,
                limit,
            });
        }
        (self.allocations > 0).then_some(Fault::Allocation {
            count: self.allocations,
        })
    }

    fn react(&mut self, fault: Option<Fault>) {
        let Some(fault) = fault else {
            self.last_warning = None;
            self.guard.note_good_cycle();
            return;
        };
        let unpowered = matches!(self.guard.state(), State::Idle | State::Ready);
        match self.guard.apply(&fault) {
            Some(Action::Stop) => self.tell(EventKind::Stopping(StopCause::Fault(fault))),
            Some(action) => self.tell(EventKind::Tripped { fault, action }),
            // Said once, not in every cycle in which it lasts.
            None if unpowered && self.last_warning.is_none_or(|last| !last.same_kind(&fault)) => {
                self.tell(EventKind::Warning(fault));
            }
            None => {}
        }
        self.last_warning = Some(fault);
    }

    /// The bench's computed columns are unknown unless it runs.
    fn forget_computed(&mut self) {
        let channels = self.bench.spec().channels;
        for (value, channel) in self.frame.values.iter_mut().zip(channels) {
            if channel.role == Role::Computed {
                *value = f64::NAN;
            }
        }
    }

    fn write_loop_columns(&mut self, tick: Tick) {
        const US: f64 = 1e-3;
        let timing = &self.side.timing;
        let own = [
            self.frame.state as usize as f64,
            tick.late_nanos as f64 * US,
            timing.wake.max() as f64 * US,
            self.exec_nanos as f64 * US,
            timing.exec.max() as f64 * US,
            Timing::read(&timing.overruns) as f64,
            Timing::read(&timing.skipped) as f64,
            Timing::read(&timing.record_drops) as f64,
        ]
        // A recording keeps computed columns as floats; these cannot be recomputed from anything else.
        .map(|x| f64::from(x as f32));
        self.frame.values[self.loop_columns..self.loop_columns + own.len()].copy_from_slice(&own);
    }

    fn tell(&mut self, kind: EventKind) {
        self.side.tell(Event {
            seq: self.frame.seq,
            t_nanos: self.frame.t_nanos,
            kind,
        });
    }
}

/// The columns of a bench on a rig, after checking that each has what it needs of the other.
fn join(bench: &dyn Bench, rig: &dyn Rig) -> Result<Layout, LayoutError> {
    let needs = bench.spec().channels;
    let rig = rig.spec();
    let names = |ids: Vec<&str>| {
        if ids.is_empty() {
            "nothing".to_owned()
        } else {
            ids.join(", ")
        }
    };
    for need in needs {
        match need.role {
            Role::Measured => match rig.channels.iter().find(|c| c.id == need.id) {
                None => {
                    return Err(LayoutError::NotMeasured {
                        channel: need.id,
                        unit: need.unit,
                        rig: rig.name.clone(),
                        provided: names(rig.channels.iter().map(|c| c.id).collect()),
                    });
                }
                Some(found) if found.unit != need.unit => {
                    return Err(LayoutError::UnitMismatch {
                        channel: need.id,
                        expected: need.unit,
                        found: found.unit,
                    });
                }
                Some(_) => {}
            },
            Role::Command if !rig.actuators.iter().any(|a| a.command == need.id) => {
                return Err(LayoutError::NoActuator {
                    channel: need.id,
                    rig: rig.name.clone(),
                    provided: names(rig.actuators.iter().map(|a| a.command).collect()),
                });
            }
            Role::Command | Role::Computed => {}
        }
    }
    let further: Vec<ChannelSpec> = rig
        .channels
        .iter()
        .filter(|c| {
            !needs
                .iter()
                .any(|n| n.id == c.id && n.role == Role::Measured)
        })
        .copied()
        .collect();
    let mut layout = Layout::default();
    layout.append(needs)?;
    layout.append(&further)?;
    layout.append(&LOOP_CHANNELS)?;
    Ok(layout)
}
