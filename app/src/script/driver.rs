//! A loop that goes on as a script says: cycle by cycle on an exact clock, or watched while it runs in real time.

use super::run_log::RunLog;
use super::watch::{Interrupt, Watch};
use crate::changes::Changes;
use crate::conductor::{Outcome, obstacle};
use crate::crash;
use crate::event_text;
use crate::grip::{Absent, Grip};
use crate::hil_result::HilSamples;
use crate::permit::{self, Asked};
use crate::recording::{self, Recorded, Recording};
use crate::runtime::{self, Prepared, RealTimeRun, StartError};
use crate::session::LoadedSession;
use crate::signals::Reaching;
use crate::statistics::RunStatistics;
use crate::steady_result::SteadySamples;
use crate::tuning::Outlet;
use rt_core::bench::{BenchSpec, Update};
use rt_core::calibration::date::Date;
use rt_core::channel::{Frame, Layout};
use rt_core::fault::Fault;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, Event, EventKind, StopCause, UserSide};
use rt_core::pacing::ExactClock;
use rt_core::param::ParamSet;
use rt_core::rig::Purpose;
use rt_core::rt_env::RtStatus;
use rt_core::rt_loop::RtLoop;
use rt_core::timing::Timing;
use serde_json::Value;
use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A loop has this long to come to rest, in s of its own time.
const REST_S: f64 = 60.0;
/// How long the rings of a loop in real time are left alone.
const PAUSE: Duration = Duration::from_millis(2);

/// Where frames and events come from.
enum Source {
    /// The loop itself; nothing happens between two calls.
    Exact(Box<RtLoop<ExactClock>>, Box<UserSide>),
    /// A loop in a thread of its own.
    Real(JoinHandle<()>, Box<UserSide>, Reaching),
    /// It has come to its end.
    Gone,
}

impl Outlet for Source {
    fn command(&mut self, command: Command) -> bool {
        self.user().is_some_and(|user| user.command(command))
    }

    fn design(&mut self, update: Box<Update>) -> bool {
        self.user().is_some_and(|user| user.design(update))
    }
}

impl Source {
    fn user(&mut self) -> Option<&mut UserSide> {
        match self {
            Source::Exact(_, user) | Source::Real(_, user, _) => Some(user),
            Source::Gone => None,
        }
    }

    /// Goes on by one cycle, or waits a little. `false` once the loop has come to its end.
    fn go_on(&mut self) -> bool {
        match self {
            Source::Exact(rt_loop, _) => rt_loop.cycle(),
            Source::Real(thread, ..) => {
                std::thread::park_timeout(PAUSE);
                !thread.is_finished()
            }
            Source::Gone => false,
        }
    }
}

/// See the module's text.
pub struct Driver {
    source: Source,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The bench's declaration.
    pub bench: &'static BenchSpec,
    /// Samples a second, in Hz.
    pub rate_hz: f64,
    /// The rights that a loop in real time was granted.
    pub rt: Option<RtStatus>,
    /// Parameters and their changes.
    pub changes: Changes,
    /// The recording, if there is one.
    pub recording: Option<Recording>,
    /// Samples of the run.
    pub log: RunLog,
    /// Of every channel while the bench runs.
    pub statistics: RunStatistics,
    /// The first section, for a bench that runs along a line.
    pub samples: Option<HilSamples>,
    /// The last span, for a bench that goes from span to span.
    pub steady: Option<SteadySamples>,
    /// How it went so far.
    pub outcome: Outcome,
    /// The newest frame.
    pub latest: Frame,
    marks: BTreeMap<u32, String>,
    mark_count: u32,
    statistics_from_s: f64,
    /// Cycles of running since the bench was last started.
    running: u64,
    /// Parameters that took effect, or did not fit.
    applied: u64,
    overruns: u64,
    skipped: u64,
    drops: u64,
    lost_events: u64,
    watch: Watch,
    grip: Grip,
    /// What a person has to put right before it may be armed.
    pub obstacle: Option<Fault>,
}

/// Begins the recording of a loop, if it is to be recorded; or says why it cannot.
pub type BeginRecording<'a> =
    dyn Fn(&Layout, &ParamSet, Option<&RtStatus>) -> Result<Option<Recording>, String> + 'a;

impl Driver {
    /// Builds the loop of a session; nothing moves yet.
    pub fn start(
        loaded: &LoadedSession,
        is_exact: bool,
        watch: Watch,
        record: &BeginRecording<'_>,
    ) -> Result<Self, DriverError> {
        let (source, layout, bench, designer, params, rt);
        if is_exact {
            let prepared = runtime::prepare_exact(loaded)?;
            let Prepared { rt_loop, user, .. } = prepared;
            source = Source::Exact(Box::new(rt_loop), Box::new(user));
            (layout, bench, designer, params, rt) = (
                prepared.layout,
                prepared.bench,
                prepared.designer,
                prepared.params,
                None,
            );
        } else {
            let run = runtime::start_real_time(loaded)?;
            let RealTimeRun {
                user,
                thread,
                reaching,
                ..
            } = run;
            watch.set_line(Some(std::sync::Arc::clone(&user.stop)));
            source = Source::Real(thread, Box::new(user), reaching);
            (layout, bench, designer, params, rt) = (
                run.layout,
                run.bench,
                run.designer,
                run.params,
                Some(run.rt),
            );
        }
        let period_s = loaded.period_nanos() as f64 * 1e-9;
        let mut own = Self {
            source,
            rate_hz: 1.0 / period_s,
            changes: Changes::new(&loaded.session, designer, params),
            recording: None,
            log: RunLog::new(layout.len()),
            statistics: RunStatistics::new(layout.len(), loaded.session.statistics_from_s),
            samples: HilSamples::for_layout(&layout, period_s),
            steady: SteadySamples::for_layout(&layout),
            outcome: Outcome::default(),
            latest: Frame::empty(),
            marks: BTreeMap::new(),
            mark_count: 0,
            statistics_from_s: loaded.session.statistics_from_s,
            running: 0,
            applied: 0,
            overruns: 0,
            skipped: 0,
            drops: 0,
            lost_events: 0,
            layout,
            bench,
            rt,
            watch,
            grip: Grip::Free,
            obstacle: None,
        };
        if let Some(user) = own.source.user() {
            user.display = None;
        }
        if let Err(problem) = own.ask_permit(is_exact) {
            own.close();
            return Err(DriverError::Refused(problem));
        }
        match record(&own.layout, own.changes.applied(), own.rt.as_ref()) {
            Ok(recording) => own.recording = recording,
            Err(problem) => {
                // Nothing has moved: the loop is Idle until it is asked for something.
                own.close();
                return Err(DriverError::Recording(problem));
            }
        }
        Ok(own)
    }

    /// Finds out who lets the rig move.
    fn ask_permit(&mut self, is_exact: bool) -> Result<(), String> {
        let Some(user) = self.source.user() else {
            return Ok(());
        };
        let rig = &user.rig.spec;
        // On the exact clock there are no rights to have.
        if let Some(rt) = &self.rt {
            permit::refuse_hindered(rig, rt, Date::today())?;
        }
        let permit = permit::permit(&Asked {
            rig,
            purpose: Purpose::Script,
            presence: self.watch.presence(),
            is_exact,
            by_hand: false,
        })?;
        self.grip = permit.grip(&self.layout);
        if let Some(objection) = permit.note() {
            self.send(Command::NoteInsisted(objection));
        }
        Ok(())
    }

    /// Asks for arming: at once, or as soon as a person lets it.
    pub fn arm(&mut self) {
        if let Some(command) = self.grip.pass(Command::Request(Request::Arm)) {
            self.send(command);
        }
    }

    /// Whether a person is waited for.
    pub fn is_asking(&self) -> bool {
        self.grip.is_asking()
    }

    /// The bench's state.
    pub fn state(&self) -> State {
        self.latest.state
    }

    /// Whether the loop has come to its end.
    pub fn is_over(&self) -> bool {
        matches!(self.source, Source::Gone)
    }

    /// Seconds that the bench has been running since it was last started.
    pub fn running_s(&self) -> f64 {
        self.running as f64 / self.rate_hz
    }

    /// How many parameters the loop has answered to.
    pub fn applied_seen(&self) -> u64 {
        self.applied
    }

    /// Asks the loop for something.
    pub fn send(&mut self, command: Command) -> bool {
        self.source.command(command)
    }

    /// Changes parameters; the words say why not.
    pub fn change(
        &mut self,
        params: &BTreeMap<String, f64>,
        insist: bool,
    ) -> Result<Option<rt_core::bench::Prospect>, String> {
        let made = self.changes.make(&mut self.source, params, insist);
        made.map_err(|refused| match refused {
            crate::tuning::Refused::Verdict(_) => {
                format!("{refused}; insist(…) applies it all the same")
            }
            other => other.to_string(),
        })
    }

    /// Puts a marker with words at this moment.
    pub fn mark(&mut self, text: &str) -> bool {
        self.mark_count += 1;
        self.marks.insert(self.mark_count, text.to_owned());
        self.send(Command::Mark {
            number: self.mark_count,
        })
    }

    /// Goes on by one cycle, or for a moment of real time. `seen` looks at every new frame.
    pub fn advance(&mut self, seen: &mut dyn FnMut(&Frame)) -> Result<(), Interrupt> {
        self.watch.check()?;
        let goes_on = self.source.go_on();
        self.drain(seen);
        // A stop reaches the loop by itself: what it does then is not a result.
        self.watch.check()?;
        if let Some((fault, _, t_s)) = &self.outcome.fault {
            let words = fault.describe(&self.layout);
            return Err(Interrupt::Tripped(format!(
                "at {t_s:.3} s the bench was stopped by a fault: {} ({}). {}",
                words.what, words.id, words.advice
            )));
        }
        if goes_on {
            Ok(())
        } else {
            let absent = self.grip.absent().map(Absent::words);
            self.close();
            let why = absent.unwrap_or("the loop was told to end");
            Err(Interrupt::Stopped(why.into()))
        }
    }

    fn drain(&mut self, seen: &mut dyn FnMut(&Frame)) {
        let newest = |source: &mut Source| source.user()?.record.as_mut()?.pop().ok();
        while let Some(frame) = newest(&mut self.source) {
            self.grip.note_frame(&frame);
            self.take_frame(&frame);
            seen(&frame);
        }
        while let Some(Ok(event)) = self.source.user().map(|user| user.events.pop()) {
            self.take_event(&event);
            self.serve_event(&event);
        }
        if let Some(user) = self.source.user()
            && let Some(command) = self.grip.serve(user, false)
        {
            self.send(command);
        }
        if let (Some(recording), Some(user)) = (&mut self.recording, self.source.user()) {
            for warning in recording.service(Timing::read(&user.timing.record_drops)) {
                self.watch.note(format!("warning: {warning}"));
            }
        }
        if self.running > 0 && self.state() == State::Running {
            let running_s = self.running_s();
            self.changes.serve(&mut self.source, running_s);
        }
    }

    fn serve_event(&mut self, event: &Event) {
        self.grip.note_event(event);
        let is_asked = matches!(event.kind, EventKind::ArmingAsked { .. });
        if is_asked && let Some(command) = self.grip.pass(Command::Request(Request::Confirm)) {
            self.send(command);
        }
    }

    fn take_frame(&mut self, frame: &Frame) {
        let begins = frame.state == State::Running && self.latest.state != State::Running;
        if begins {
            self.begin_run();
        }
        self.watch.spend(frame.t_s() - self.latest.t_s());
        self.latest = *frame;
        self.running += u64::from(frame.state == State::Running);
        self.log.add(frame);
        self.statistics.add(frame);
        if let Some(samples) = &mut self.samples {
            samples.add(frame);
        }
        if let Some(steady) = &mut self.steady {
            steady.add(frame);
        }
        if let Some(recording) = &mut self.recording {
            recording.frame(frame);
        }
    }

    /// What was gathered of a run before is forgotten when a new one begins.
    fn begin_run(&mut self) {
        self.running = 0;
        self.log.clear();
        self.statistics = RunStatistics::new(self.layout.len(), self.statistics_from_s);
        self.samples = HilSamples::for_layout(&self.layout, 1.0 / self.rate_hz);
        self.steady = SteadySamples::for_layout(&self.layout);
    }

    fn take_event(&mut self, event: &Event) {
        let params = self.changes.applied().specs();
        let mark = match event.kind {
            EventKind::Mark { number } => self.marks.get(&number).map(String::as_str),
            _ => None,
        };
        let words = event_text::describe(event, &self.layout, params);
        crash::note_event(&words);
        self.watch.note(match mark {
            Some(text) => format!("{words}: {text}"),
            None => words,
        });
        if let Some(recording) = &mut self.recording {
            recording.named_event(event, mark);
        }
        self.changes.note(event);
        let t_s = event.t_nanos as f64 * 1e-9;
        match event.kind {
            EventKind::State {
                to: State::Running, ..
            } => self.outcome.ran = true,
            EventKind::Tripped { fault, action } => {
                self.outcome.fault.get_or_insert((fault, Some(action), t_s));
            }
            EventKind::Stopping(cause) => {
                if let StopCause::Fault(fault) = cause {
                    self.outcome.fault.get_or_insert((fault, None, t_s));
                }
                self.outcome.stop = Some(cause);
            }
            EventKind::Warning(fault) => {
                self.outcome.warning = Some(fault);
                if !self.outcome.ran && obstacle(&fault).is_some() {
                    self.obstacle.get_or_insert(fault);
                }
            }
            EventKind::ParamApplied { .. }
            | EventKind::ParamRefused { .. }
            | EventKind::RetuningMisfit => self.applied += 1,
            _ => {}
        }
    }

    /// Takes the bench to rest and ends the loop. What was gathered stays.
    pub fn close(&mut self) {
        self.source.command(Command::Quit);
        let begin = self.latest.t_s();
        let since = Instant::now();
        while self.source.go_on() {
            self.drain(&mut |_| ());
            let spent = match self.source {
                Source::Real(..) => since.elapsed().as_secs_f64(),
                _ => self.latest.t_s() - begin,
            };
            if spent > REST_S {
                // Without its other side the loop ends by itself as soon as it is safe to.
                break;
            }
        }
        self.drain(&mut |_| ());
        if let Some(user) = self.source.user() {
            let timing = std::sync::Arc::clone(&user.timing);
            self.overruns = Timing::read(&timing.overruns);
            self.skipped = Timing::read(&timing.skipped);
            self.drops = Timing::read(&timing.record_drops);
            self.lost_events = Timing::read(&timing.event_drops);
        }
        if let Source::Real(thread, user, _reaching) =
            std::mem::replace(&mut self.source, Source::Gone)
        {
            drop(user);
            // A loop that has panicked has nothing left to wait for.
            let _ = thread.join();
        }
        self.watch.set_line(None);
        // The keys are for whatever is moved next.
        self.grip = Grip::Free;
    }

    /// Ends the recording with the result.
    pub fn finish_recording(&mut self, result: Option<&Value>) -> Option<Recorded> {
        let recording = self.recording.take()?;
        let (reason, mut summary) = recording::summary(&self.outcome, result, &self.layout);
        if self.lost_events > 0 {
            summary.insert("lost_events".into(), self.lost_events.to_string());
        }
        Some(recording.finish(&reason, summary))
    }

    /// Overruns, skipped ticks and frames that the ring could not take; known after the end.
    pub fn losses(&self) -> [u64; 3] {
        [self.overruns, self.skipped, self.drops]
    }
}

impl Drop for Driver {
    /// A script that ends in any way leaves a bench at rest.
    fn drop(&mut self) {
        if !self.is_over() {
            self.close();
        }
    }
}

/// Why a loop could not be started.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Its files do not make a bench.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It must not be armed by a script.
    #[error("{0}")]
    Refused(String),
    /// It cannot be recorded.
    #[error("the run cannot be recorded: {0}")]
    Recording(String),
}
