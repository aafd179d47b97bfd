//! What only shows when the parts work together: see `tests/` and `benches/`. Here: what they share.

#![allow(clippy::panic, reason = "a failing test has to fail loudly")]

pub mod link;

use pantobench::runtime::{self, Prepared};
use pantobench::session::{LoadedSession, Session};
use pantobench::tuning::{self, Refused};
use rt_core::bench::{Designer, LineSight, Prospect};
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, Event, UserSide};
use rt_core::pacing::ExactClock;
use rt_core::param::ParamSet;
use rt_core::rt_loop::RtLoop;
use std::path::{Path, PathBuf};

/// The directory that holds `sessions` and `assets`.
pub fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A session that ships with the project.
pub fn shipped_session(name: &str) -> LoadedSession {
    let path = project_root().join("sessions").join(name);
    LoadedSession::load(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// A session from its text, as if it stood in `sessions`.
pub fn session_from(text: &str) -> LoadedSession {
    let path = project_root().join("sessions").join("inline.ron");
    let session: Session = file::parse(text, &path).unwrap_or_else(|e| panic!("{e}"));
    LoadedSession { session, path }
}

/// A loop on an exact clock with all that it has published.
pub struct ExactRun {
    /// The loop.
    pub rt_loop: RtLoop<ExactClock>,
    /// The other side of its rings.
    pub user: UserSide,
    /// Its columns.
    pub layout: Layout,
    /// Every frame so far.
    pub frames: Vec<Frame>,
    /// Every event so far.
    pub events: Vec<Event>,
    /// Designs gains for parameters that need it.
    pub designer: Option<Box<dyn Designer>>,
    /// The parameters as they were asked for and not refused.
    pub params: ParamSet,
    /// Whether the loop goes on.
    pub goes_on: bool,
    /// What can be drawn of its overhead line, if it has one.
    pub line: Option<LineSight>,
}

impl ExactRun {
    /// Builds the loop of a session.
    pub fn new(session: &LoadedSession) -> Self {
        Self::of(runtime::prepare_exact(session).unwrap_or_else(|e| panic!("{e}")))
    }

    /// Builds the loop of a session on a rig that was made elsewhere and shares its clock.
    pub fn on(session: &LoadedSession, rig: Box<dyn rt_core::rig::Rig>, clock: ExactClock) -> Self {
        Self::of(runtime::prepare_on(session, rig, clock).unwrap_or_else(|e| panic!("{e}")))
    }

    fn of(prepared: Prepared<ExactClock>) -> Self {
        let Prepared {
            rt_loop,
            mut user,
            layout,
            designer,
            params,
            line,
            ..
        } = prepared;
        user.display = None;
        Self {
            rt_loop,
            user,
            layout,
            frames: Vec::new(),
            events: Vec::new(),
            designer,
            params,
            goes_on: true,
            line,
        }
    }

    /// One cycle; keeps what was published.
    pub fn cycle(&mut self) {
        self.goes_on = self.rt_loop.cycle();
        if let Some(record) = &mut self.user.record {
            while let Ok(frame) = record.pop() {
                self.frames.push(frame);
            }
        }
        while let Ok(event) = self.user.events.pop() {
            self.events.push(event);
        }
    }

    /// Several cycles.
    pub fn cycles(&mut self, n: usize) {
        for _ in 0..n {
            self.cycle();
        }
    }

    /// Asks something of the loop.
    pub fn ask(&mut self, request: Request) {
        self.user
            .commands
            .push(Command::Request(request))
            .unwrap_or_else(|e| panic!("{e}"));
    }

    /// Changes parameters as a technician would; what the model says of them, or why they are refused.
    pub fn change(
        &mut self,
        values: &[(&str, f64)],
        insist: bool,
    ) -> Result<Option<Prospect>, Refused> {
        let designer = self.designer.as_deref();
        tuning::change(&mut self.user, designer, &mut self.params, values, insist)
    }

    /// The state after the last cycle.
    pub fn state(&self) -> State {
        self.frames.last().map_or(State::Idle, |f| f.state)
    }

    /// Cycles until a state is reached; `false` if that takes longer than `most` cycles.
    pub fn until(&mut self, state: State, most: usize) -> bool {
        for _ in 0..most {
            if self.state() == state {
                return true;
            }
            self.cycle();
        }
        self.state() == state
    }

    /// Takes the bench to Running as a technician would.
    pub fn start(&mut self) {
        assert!(
            self.until(State::Ready, 100),
            "never ready: {:?}",
            self.events
        );
        self.ask(Request::Arm);
        assert!(
            self.until(State::Armed, 10),
            "never armed: {:?}",
            self.events
        );
        self.ask(Request::Run);
        assert!(
            self.until(State::Running, 2000),
            "never running: {:?}",
            self.events
        );
    }

    /// A channel's values over all frames.
    pub fn column(&self, channel: &str) -> Vec<f64> {
        let column = self
            .layout
            .column(channel)
            .unwrap_or_else(|e| panic!("{e}"));
        self.frames.iter().map(|f| f.values[column]).collect()
    }
}

/// A shipped simulated rig, bound to the columns of the profile bench, for a period of 2 ms.
pub fn simulated_rig(file: &str) -> Box<dyn rt_core::rig::Rig> {
    use drivers::rig_file::{RigSetup, load_rig};
    let path = project_root().join("assets/rigs").join(file);
    let time = drivers::simulated::SimTime::Exact(ExactClock::default());
    let setup = RigSetup {
        period_nanos: 2_000_000,
        time,
        injections: &[],
        uplift_n: None,
        own_calibrations: None,
    };
    let mut rig = load_rig(&path, setup).unwrap_or_else(|e| panic!("{e}"));
    let mut layout = Layout::default();
    let bound = layout
        .append(rt_core::bench::profile::SPEC.channels)
        .and_then(|()| layout.append(&[drivers::simulated::TRUE_FORCE]))
        .and_then(|()| rig.bind(&layout));
    bound.unwrap_or_else(|e| panic!("{e}"));
    rig
}
