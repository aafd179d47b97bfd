//! A bench in the hands of a script: prepared, armed, run and brought to rest.

use super::driver::{Driver, DriverError};
use super::host::{Answer, Host, Shared, wrong};
use super::outcome::EndKind;
use super::prepared::PreparedSession;
use super::run_log::no_channel;
use super::signal::Signal;
use super::watch::Interrupt;
use crate::conductor::further_advice;
use crate::recording::{self, Recording, Remarks, Subject};
use rt_core::bench::Prospect;
use rt_core::channel::{Frame, Layout};
use rt_core::guard::{Request, State};
use rt_core::link::Command;
use rt_core::param::{Applies, ParamSet};
use rt_core::rt_env::RtStatus;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::SystemTime;

/// A loop that is not ready by then will not be, in s of its own time.
const READY_S: f64 = 5.0;
/// The longest travel to the parked position, in s.
const TRAVEL_S: f64 = 60.0;
/// The longest time until a loop has taken new parameters, in s.
const APPLY_S: f64 = 2.0;

/// See the module's text.
pub struct BenchState {
    host: Shared,
    /// The session.
    pub prepared: PreparedSession,
    name: String,
    record_to: Option<(PathBuf, Remarks)>,
    /// Whether a trip is a result of the run rather than the end of the script.
    pub allows_trip: bool,
    driver: Option<Driver>,
    result: Option<Value>,
    /// Recordings of the run.
    pub recordings: Vec<PathBuf>,
    /// What the iterative validation of the run said, for its report.
    pub validation: Option<Value>,
    is_told: bool,
}

/// A handle that scripts copy freely.
#[derive(Clone)]
pub struct Bench(pub Rc<RefCell<BenchState>>);

impl BenchState {
    /// A session that has not been started.
    pub fn new(host: Shared, name: &str, prepared: PreparedSession) -> Self {
        Self {
            host,
            prepared,
            name: name.to_owned(),
            record_to: None,
            allows_trip: false,
            driver: None,
            result: None,
            recordings: Vec::new(),
            validation: None,
            is_told: false,
        }
    }

    /// Records the run from its beginning.
    pub fn record(&mut self, remarks: Remarks) -> Answer<()> {
        if self.driver.is_some() {
            return Err(wrong(
                "record() comes before arm(): the run has already begun",
            ));
        }
        let made = self.host.borrow().sandbox.for_writing("recordings/x");
        let file = match made {
            Ok(file) => file,
            Err(e) => return Err(self.host.borrow_mut().terminate(EndKind::Environment, e)),
        };
        let directory = file.parent().map(PathBuf::from).unwrap_or_default();
        self.record_to = Some((directory, remarks));
        Ok(())
    }

    fn begin(&mut self) -> Answer<()> {
        let (is_exact, watch) = {
            let host = self.host.borrow();
            (host.is_exact, host.watch.clone())
        };
        watch
            .check()
            .map_err(|e| self.host.borrow_mut().interrupted(e))?;
        let (prepared, record_to) = (&self.prepared, self.record_to.as_ref());
        let record = |layout: &Layout, params: &ParamSet, rt: Option<&RtStatus>| {
            let Some((directory, remarks)) = record_to else {
                return Ok(None);
            };
            let subject = Subject {
                loaded: &prepared.loaded,
                layout,
                params,
                rt,
                t0: SystemTime::now(),
            };
            let mut header = recording::header(&subject, remarks)?;
            let text = prepared.text.clone();
            recording::embed(&mut header, "session.ron", &prepared.loaded.path, text);
            let setup = recording::setup(directory, &prepared.loaded, header);
            Recording::begin(setup, layout, params.specs()).map(Some)
        };
        let started = Driver::start(&prepared.loaded, is_exact, watch, &record);
        match started {
            Ok(driver) => {
                self.driver = Some(driver);
                Ok(())
            }
            Err(DriverError::Start(e @ crate::runtime::StartError::Thread(_))) => {
                Err(self.host.borrow_mut().terminate(EndKind::Environment, e))
            }
            Err(e @ (DriverError::Recording(_) | DriverError::Refused(_))) => {
                Err(self.host.borrow_mut().terminate(EndKind::Environment, e))
            }
            Err(DriverError::Start(e)) => Err(wrong(e)),
        }
    }

    fn driver(&mut self) -> Answer<&mut Driver> {
        let name = &self.name;
        self.driver
            .as_mut()
            .ok_or_else(|| wrong(format!("'{name}' has not been started: arm() comes first")))
    }

    /// The driver of a loop that still goes on.
    fn running_driver(&mut self) -> Answer<&mut Driver> {
        let name = self.name.clone();
        let driver = self.driver()?;
        if driver.is_over() {
            return Err(wrong(format!(
                "the run of '{name}' is over: load it again to run it again"
            )));
        }
        Ok(driver)
    }

    /// Switches the drive on; builds the loop first if need be.
    pub fn arm(&mut self) -> Answer<()> {
        if self.driver.is_none() {
            self.begin()?;
        }
        let is_there = |frame: &Frame, state: State| frame.state == state;
        self.running_driver()?;
        let ready = self.until_ready(&mut |f| !is_there(f, State::Idle))?;
        if !ready {
            let driver = self.driver()?;
            let why = driver.outcome.warning.map_or_else(
                || "the rig says nothing".to_owned(),
                |fault| {
                    let words = fault.describe(&driver.layout);
                    format!("{}. {}", words.what, words.advice)
                },
            );
            self.finish();
            let message = format!("the bench is not ready after {READY_S} s: {why}");
            return Err(self
                .host
                .borrow_mut()
                .terminate(EndKind::Environment, message));
        }
        self.expect_state(State::Ready, "arm()")?;
        let driver = self.running_driver()?;
        driver.arm();
        while self.running_driver()?.is_asking() {
            // A person takes the time that it takes.
            self.until(READY_S, &mut |_| true)?;
        }
        self.reach(State::Armed, READY_S)
    }

    /// Waits until the bench is ready; what a person has to put right ends the script.
    fn until_ready(&mut self, is_ready: &mut dyn FnMut(&Frame) -> bool) -> Answer<bool> {
        let begin = self.running_driver()?.latest.t_s();
        let mut is_found = false;
        loop {
            let goes_on = self.until(READY_S, &mut |f| {
                is_found |= is_ready(f);
                true
            })?;
            let driver = self.running_driver()?;
            if let Some(fault) = driver.obstacle {
                let words = fault.describe(&driver.layout);
                let further = further_advice(&fault);
                let message = format!(
                    "the bench is not ready: {}. {}{further}",
                    words.what, words.advice
                );
                self.finish();
                return Err(self
                    .host
                    .borrow_mut()
                    .terminate(EndKind::Environment, message));
            }
            if is_found || !goes_on || driver.latest.t_s() - begin >= READY_S {
                return Ok(is_found);
            }
        }
    }

    fn expect_state(&mut self, expected: State, what: &str) -> Answer<()> {
        let state = self.running_driver()?.state();
        if state == expected {
            return Ok(());
        }
        Err(wrong(format!(
            "{what} is refused: the bench is {}; expected {}",
            state.name(),
            expected.name()
        )))
    }

    fn reach(&mut self, state: State, within_s: f64) -> Answer<()> {
        if self.until(within_s, &mut |f| f.state == state)? {
            return Ok(());
        }
        let now = self.driver()?.state().name();
        Err(wrong(format!(
            "the bench is still {now} after {within_s} s; expected {}",
            state.name()
        )))
    }

    /// Lets the bench command the motor, if it does not yet.
    fn run(&mut self) -> Answer<()> {
        let driver = self.running_driver()?;
        match driver.state() {
            State::Running => Ok(()),
            State::Armed => {
                driver.send(Command::Request(Request::Run));
                self.reach(State::Running, TRAVEL_S)
            }
            other => Err(wrong(format!(
                "the bench is {}; arm() comes before it runs",
                other.name()
            ))),
        }
    }

    /// Goes on until a frame shows something; `false` if it does not within so many seconds. A trip that is allowed
    /// ends the run, and this with it.
    fn until(&mut self, within_s: f64, found: &mut dyn FnMut(&Frame) -> bool) -> Answer<bool> {
        let mut is_found = false;
        let mut begin = None;
        loop {
            let driver = self.running_driver()?;
            let is_late = begin.is_some_and(|b| driver.latest.t_s() - b >= within_s);
            if is_found || is_late {
                return Ok(is_found);
            }
            let first = driver.latest.t_s();
            begin.get_or_insert(first);
            let went = driver.advance(&mut |frame| is_found |= found(frame));
            if let Err(interrupt) = went {
                return self.end_by(interrupt);
            }
        }
    }

    fn end_by(&mut self, interrupt: Interrupt) -> Answer<bool> {
        self.finish();
        if self.allows_trip && matches!(interrupt, Interrupt::Tripped(_)) {
            return Ok(false);
        }
        Err(self.host.borrow_mut().interrupted(interrupt))
    }

    /// Runs for so long; `false` if the run was over before.
    pub fn run_for(&mut self, seconds: f64) -> Answer<bool> {
        check_seconds(seconds)?;
        let goes_on = self.running_driver()?.state() == State::Running;
        self.run()?;
        // Ticks, so that rounding of times neither adds nor loses one; the first one has been seen by now.
        let driver = self.running_driver()?;
        let ticks = (seconds * driver.rate_hz).round() as u64;
        let last = driver.latest.seq + ticks.saturating_sub(u64::from(!goes_on));
        if driver.latest.seq >= last {
            return Ok(true);
        }
        let mut is_over = false;
        self.until(f64::INFINITY, &mut |frame| {
            is_over |= frame.state != State::Running;
            is_over || frame.seq >= last
        })?;
        Ok(!is_over)
    }

    /// Runs until the session's time is over or the bench has done its work, and comes to rest.
    pub fn run_to_end(&mut self) -> Answer<()> {
        self.run()?;
        let at_rest = |f: &Frame| matches!(f.state, State::Idle | State::Ready);
        self.until(f64::INFINITY, &mut |frame| at_rest(frame))?;
        self.finish();
        Ok(())
    }

    /// Runs until a channel lies above or below a level; `false` if it does not within so many seconds.
    pub fn run_until(
        &mut self,
        channel: &str,
        is_met: fn(&f64, &f64) -> bool,
        level: f64,
        within_s: f64,
    ) -> Answer<bool> {
        check_seconds(within_s)?;
        let driver = self.running_driver()?;
        let column = driver.layout.find(channel);
        let column = column.ok_or_else(|| wrong(no_channel(&driver.layout, channel)))?;
        self.run()?;
        let mut is_found = false;
        self.until(within_s, &mut |frame| {
            is_found |= is_met(&frame.values[column], &level);
            is_found || frame.state != State::Running
        })?;
        Ok(is_found)
    }

    /// Lets time go by, whatever the bench is doing; `false` if the loop has ended.
    pub fn pass(&mut self, seconds: f64) -> Answer<bool> {
        if self.driver()?.is_over() {
            return Ok(false);
        }
        self.until(seconds, &mut |_| false)?;
        Ok(!self.driver()?.is_over())
    }

    /// Time of the loop, in s.
    pub fn loop_s(&mut self) -> Answer<f64> {
        Ok(self.driver()?.latest.t_s())
    }

    /// Comes to rest.
    pub fn stop(&mut self) -> Answer<()> {
        self.driver()?;
        self.finish();
        Ok(())
    }

    /// Sets parameters: those to begin with, or those of the running bench. Gives what the model says of them.
    pub fn set(
        &mut self,
        params: &BTreeMap<String, f64>,
        insist: bool,
    ) -> Answer<Option<Prospect>> {
        let Some(driver) = &mut self.driver else {
            return self
                .prepared
                .set_params(params)
                .map(|()| None)
                .map_err(wrong);
        };
        if driver.is_over() {
            return Err(wrong("the run is over: parameters cannot be set any more"));
        }
        let before = *driver.changes.applied();
        let prospect = driver.change(params, insist).map_err(wrong)?;
        let after = *driver.changes.applied();
        let is_new = |i: usize| before.target(i) != after.target(i);
        if (0..after.specs().len()).any(is_new) {
            let seen = driver.applied_seen();
            let begin = driver.latest.t_s();
            while self.running_driver()?.applied_seen() == seen {
                if self.driver()?.latest.t_s() - begin > APPLY_S {
                    return Err(wrong(format!(
                        "the loop has not taken the parameters within {APPLY_S} s"
                    )));
                }
                if let Err(interrupt) = self.running_driver()?.advance(&mut |_| ()) {
                    self.end_by(interrupt)?;
                    break;
                }
            }
        }
        Ok(prospect)
    }

    /// A parameter as it was sent last, and whether it needs a design.
    pub fn param(&mut self, id: &str) -> Answer<(f64, bool)> {
        let params = match &self.driver {
            Some(driver) => *driver.changes.applied(),
            None => self.prepared.loaded.session.start_params().map_err(wrong)?,
        };
        let index = rt_core::param::find(params.specs(), id).map_err(wrong)?;
        let is_designed = params.specs()[index].applies == Applies::ByDesign;
        Ok((params.target(index), is_designed))
    }

    /// The newest value of a channel.
    pub fn value(&mut self, channel: &str) -> Answer<f64> {
        let driver = self.driver()?;
        let column = driver.layout.find(channel);
        let column = column.ok_or_else(|| wrong(no_channel(&driver.layout, channel)))?;
        Ok(driver.latest.values[column])
    }

    /// The bench's state in words.
    pub fn state(&self) -> &'static str {
        match &self.driver {
            None => "Loaded",
            Some(driver) if driver.is_over() => driver.outcome.final_state(),
            Some(driver) => driver.state().name(),
        }
    }

    /// Seconds of running.
    pub fn time(&self) -> f64 {
        self.driver.as_ref().map_or(0.0, Driver::running_s)
    }

    /// A marker with words.
    pub fn mark(&mut self, text: &str) -> Answer<()> {
        if self.running_driver()?.mark(text) {
            Ok(())
        } else {
            Err(wrong("the loop does not take commands any more"))
        }
    }

    /// The fault that ended the run, in words.
    pub fn trip(&self) -> Option<String> {
        let driver = self.driver.as_ref()?;
        let (fault, _, _) = driver.outcome.fault.as_ref()?;
        Some(fault.describe(&driver.layout).what)
    }

    /// All samples of a channel of the run so far.
    pub fn signal(&mut self, channel: &str) -> Answer<Signal> {
        let driver = self.driver()?;
        let signal = driver.log.signal(&driver.layout, channel, driver.rate_hz);
        signal.map_err(wrong)
    }

    /// The bench's own result.
    pub fn result(&mut self, against_implicit: bool) -> Answer<Value> {
        if let Some(known) = self.result.as_ref().filter(|_| !against_implicit) {
            return Ok(known.clone());
        }
        self.driver()?;
        let (Some(driver), loaded) = (&self.driver, &self.prepared.loaded) else {
            return Err(wrong("the bench has not run yet"));
        };
        let result = super::result::of(driver, loaded, against_implicit).map_err(wrong)?;
        if driver.is_over() && !against_implicit {
            self.result = Some(result.clone());
        }
        Ok(result)
    }

    /// Brings the bench to rest, ends its recording, and notes what became of the run. More than once does no harm.
    pub fn finish(&mut self) {
        let Some(driver) = &mut self.driver else {
            return;
        };
        if !driver.is_over() {
            driver.close();
        }
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let result = if driver.recording.is_some() && driver.outcome.fault.is_none() {
            super::result::of(driver, &self.prepared.loaded, false).ok()
        } else {
            None
        };
        let recorded = driver.finish_recording(result.as_ref());
        let mut host = self.host.borrow_mut();
        let problem = recorded.as_ref().and_then(|r| r.problem.clone());
        if let Some(problem) = &problem {
            let text = format!("warning: the recording does not hold the whole run: {problem}");
            host.watch.note(text);
        }
        self.recordings = recorded.map(|r| r.paths).unwrap_or_default();
        for path in &self.recordings {
            host.note_file(path.clone());
        }
        let run = summary(&self.name, &self.prepared, driver, &self.recordings, &host);
        host.outcome.runs.push(run);
    }
}

impl Drop for BenchState {
    /// A bench that a script forgets comes to rest too.
    fn drop(&mut self) {
        self.finish();
    }
}

fn check_seconds(seconds: f64) -> Answer<()> {
    const MOST_S: f64 = 7.0 * 24.0 * 3600.0;
    if (0.0..=MOST_S).contains(&seconds) {
        return Ok(());
    }
    Err(wrong(format!(
        "{seconds} s is refused: it must lie within 0 to {MOST_S} s"
    )))
}

fn summary(
    name: &str,
    prepared: &PreparedSession,
    driver: &Driver,
    recordings: &[PathBuf],
    host: &Host,
) -> Value {
    let trip = driver.outcome.fault.map(|(fault, _, t_s)| {
        let words = fault.describe(&driver.layout);
        json!({ "fault": words.id, "t_s": t_s, "measured": words.measured, "limit": words.limit,
                "what": words.what })
    });
    let [overruns, skipped, drops] = driver.losses();
    json!({
        "session": name, "title": prepared.loaded.session.title, "bench": driver.bench.id,
        "clock": if host.is_exact { "exact" } else { "real" },
        "seconds": driver.running_s(), "state": driver.outcome.final_state(), "trip": trip,
        "overruns": overruns, "skipped": skipped, "drops": drops, "recordings": recordings,
    })
}
