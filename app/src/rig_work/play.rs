//! Plays a bench on a rig from beginning to end and keeps every frame: exact and fast on a simulated rig (and, if
//! asked for, on one that is emulated in this process), in real time on hardware.

use super::WorkError;
use crate::conductor::Outcome;
use crate::follower::Follower;
use crate::grip::Grip;
use crate::permit::{self, Asked, Permit, Presence};
use crate::runtime::{self, Prepared, StartError};
use crate::session::{LoadedSession, Session};
use drivers::hardware::HardwareError;
use drivers::rig_file::RigFile;
use drivers::simulated::Injection;
use rt_core::bench::BenchConfig;
use rt_core::bench::profile::{ProfileConfig, Source};
use rt_core::calibration::date::Date;
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::guard::State;
use rt_core::identify::Record;
use rt_core::link::{Command, Objection, StopCause, UserSide};
use rt_core::rig::Purpose;
use rt_core::rt_env::RtRequest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A rig that is worked on.
#[derive(Clone)]
pub struct Stand {
    /// Its file.
    pub path: PathBuf,
    /// What the file says.
    pub file: RigFile,
    /// The loop's period in µs; `None`: the bench's.
    pub period_us: Option<f64>,
    /// Faults that a simulated rig shows.
    pub inject: Vec<Injection>,
    /// Who is beside it.
    pub presence: Presence,
    /// Who may move it: see [`Stand::permitted`].
    permit: Option<Permit>,
    /// Whether the drive may find its home position first.
    pub homes: bool,
    /// Whether what the drive has latched is reset once, before anything else.
    pub acknowledges: bool,
    /// Whether a person insists on moving hardware without real-time rights.
    pub insists: bool,
    /// Whether a rig that is emulated in this process is worked on as fast as the machine can, not in real time.
    pub fast: bool,
    /// Ends the work in a controlled way.
    pub stop: Arc<AtomicBool>,
}

impl Stand {
    /// Reads a rig file.
    pub fn load(path: &Path, stop: Arc<AtomicBool>) -> Result<Self, WorkError> {
        let file = file::load(path).map_err(|e| WorkError::Input(e.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            period_us: None,
            inject: Vec::new(),
            presence: Presence::Nobody,
            permit: None,
            homes: false,
            acknowledges: false,
            insists: false,
            fast: false,
            stop,
        })
    }

    /// The same stand, with leave to move it for a purpose: one consent for all runs of a piece of work, which follow each
    /// other at once.
    pub fn permitted(&self, purpose: Purpose) -> Result<Self, WorkError> {
        let rig = self.file.spec();
        let permit = permit::permit(&Asked {
            rig: &rig,
            purpose,
            presence: &self.presence,
            // A simulated rig beside which someone stands is worked on in that person's time.
            is_exact: self.is_exact()? && !self.is_simulated(),
            by_hand: false,
        })
        .map_err(WorkError::Input)?;
        Ok(Self {
            permit: Some(permit.for_all_runs()),
            ..self.clone()
        })
    }

    /// Who may move it.
    pub(super) fn permit(&self) -> Result<&Permit, WorkError> {
        let none = || WorkError::Environment("nobody has let this rig be moved".into());
        self.permit.as_ref().ok_or_else(none)
    }

    /// Whether nothing can be hurt.
    pub fn is_simulated(&self) -> bool {
        matches!(self.file, RigFile::Simulated(_))
    }

    /// Whether time passes only in cycles: on a simulated rig, or fast on one that is emulated in this process.
    pub fn is_exact(&self) -> Result<bool, WorkError> {
        match &self.file {
            RigFile::Simulated(_) => Ok(!self.permit.as_ref().is_some_and(Permit::is_by_person)),
            RigFile::Hardware(config) if self.fast && !config.is_in_process() => Err(
                WorkError::Input(HardwareError::RealTimeOnly(config.name.clone()).to_string()),
            ),
            RigFile::Hardware(_) => Ok(self.fast),
        }
    }

    /// The range of references that the guard passes on, and where the motor is parked, in m.
    pub fn range_m(&self) -> (f64, f64, f64) {
        let spec = self.file.spec();
        let first = spec.actuators.first();
        first.map_or((0.0, 0.0, 0.0), |a| (a.low, a.high, a.park))
    }

    /// Refuses a position outside the range.
    pub fn require_in_range(&self, what: &str, position_m: f64) -> Result<(), WorkError> {
        let (low, high, _) = self.range_m();
        if (low..=high).contains(&position_m) {
            return Ok(());
        }
        Err(WorkError::Input(format!(
            "{what} {position_m} m is refused: this rig moves within {low} to {high} m (actuator.low_m and high_m of {})",
            self.path.display()
        )))
    }

    /// A session on this rig, as if it stood beside the rig file.
    pub fn session(&self, title: &str, bench: BenchConfig, seconds: Option<f64>) -> LoadedSession {
        let rig = self
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        LoadedSession {
            path: self.path.with_file_name("commissioning.ron"),
            session: Session {
                title: title.into(),
                bench,
                rig: rig.unwrap_or_default(),
                uplift_n: None,
                seconds,
                period_us: self.period_us,
                statistics_from_s: 0.0,
                params: BTreeMap::new(),
                changes: Vec::new(),
                limits: Vec::new(),
                max_misses: 10,
                priority: RtRequest::default().priority,
                cpu: None,
                inject: self.inject.clone(),
                record: None,
            },
        }
    }

    /// Plays a profile about a height and keeps what the rig answered.
    pub fn play_profile(
        &self,
        base_m: f64,
        source: Source,
        seconds: Option<f64>,
    ) -> Result<Played, WorkError> {
        let config = ProfileConfig {
            source,
            entry_s: ENTRY_S,
            base_m,
        };
        self.play(&self.session("Commissioning", BenchConfig::Profile(config), seconds))
    }

    /// Plays a session to its end, on a stand that is [`Stand::permitted`].
    pub fn play(&self, loaded: &LoadedSession) -> Result<Played, WorkError> {
        if self.is_exact()? {
            self.play_exact(loaded)
        } else {
            self.play_in_real_time(loaded)
        }
    }

    fn play_exact(&self, loaded: &LoadedSession) -> Result<Played, WorkError> {
        let Prepared {
            mut rt_loop,
            mut user,
            layout,
            designer,
            params,
            period_nanos,
            ..
        } = runtime::prepare_exact(loaded).map_err(start_error)?;
        user.display = None;
        let grip = self.permit()?.grip(&layout);
        let mut frames = Vec::new();
        let outcome = {
            let mut follower = Follower::new(loaded, &layout, designer, params, None, |_| {});
            self.let_move(&mut follower, grip);
            follower.on_frame = Some(Box::new(|frame| frames.push(*frame)));
            while rt_loop.cycle() {
                follower.follow(&mut user, &self.stop);
            }
            follower.follow(&mut user, &self.stop);
            follower.conductor.outcome
        };
        self.judge(Played::new(frames, layout, period_nanos, outcome, &user))
    }

    fn let_move(&self, follower: &mut Follower<'_>, grip: Grip) {
        follower.grip = grip;
        follower.conductor.homes = self.homes;
        follower.conductor.acknowledges = self.acknowledges;
    }

    fn play_in_real_time(&self, loaded: &LoadedSession) -> Result<Played, WorkError> {
        let permit = self.permit()?;
        let mut run = runtime::start_real_time(loaded).map_err(start_error)?;
        run.user.display = None;
        let found = permit::hindrances(&run.user.rig.spec, Some(&run.rt), None, Date::today());
        let is_rights = |h: &permit::Hindrance| h.objection == Objection::RealTime;
        if let Some(hindrance) = found.into_iter().find(is_rights) {
            if !self.insists {
                let _ = run.quit();
                let text = format!("{} (--insist goes on all the same)", hindrance.text);
                return Err(WorkError::Environment(text));
            }
            let _ = run
                .user
                .commands
                .push(Command::NoteInsisted(hindrance.objection));
        }
        if let Some(objection) = permit.note() {
            let _ = run.user.commands.push(Command::NoteInsisted(objection));
        }
        let grip = permit.grip(&run.layout);
        let mut frames = Vec::new();
        let designer = run.designer.take();
        let outcome = {
            let layout = &run.layout;
            let mut follower = Follower::new(loaded, layout, designer, run.params, None, |_| {});
            self.let_move(&mut follower, grip);
            follower.on_frame = Some(Box::new(|frame| frames.push(*frame)));
            while !run.thread.is_finished() {
                follower.follow(&mut run.user, &self.stop);
                std::thread::park_timeout(Duration::from_millis(5));
            }
            follower.follow(&mut run.user, &self.stop);
            follower.conductor.outcome
        };
        let layout = run.layout.clone();
        let played = Played::new(frames, layout, run.period_nanos, outcome, &run.user);
        run.quit().map_err(WorkError::Result)?;
        self.judge(played)
    }

    fn judge(&self, played: Played) -> Result<Played, WorkError> {
        let outcome = &played.outcome;
        if let Some(absent) = outcome.absent {
            return Err(WorkError::Result(format!("not done: {}", absent.words())));
        }
        if !outcome.ran && !self.stop.load(std::sync::atomic::Ordering::Relaxed) {
            let why = outcome.why_it_never_ran(&played.layout);
            let text = format!("the rig could not be moved: {why}");
            return Err(WorkError::Environment(text));
        }
        if let Some((fault, _, t_s)) = outcome.fault {
            let words = fault.describe(&played.layout);
            let text = format!("at {t_s:.3} s: {}. {}", words.what, words.advice);
            return Err(WorkError::Result(text));
        }
        if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(WorkError::Stopped);
        }
        if outcome.stop == Some(StopCause::DeadMan) {
            return Err(WorkError::Result(
                "not done: the dead man's switch was let go; start it again".into(),
            ));
        }
        Ok(played)
    }
}

/// How long the motor rests before a profile begins, in s: the noise floor is taken there.
pub const ENTRY_S: f64 = 1.0;

pub(super) fn start_error(e: StartError) -> WorkError {
    match e {
        StartError::Thread(_) => WorkError::Environment(e.to_string()),
        StartError::Rig(drivers::rig_file::RigError::Hardware { .. }) => {
            WorkError::Environment(e.to_string())
        }
        _ => WorkError::Input(e.to_string()),
    }
}

/// Exchanges that a device had, and how many of them went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanges {
    /// What a person calls the device.
    pub device: String,
    /// How many were tried.
    pub tried: u64,
    /// How many were lost.
    pub lost: u64,
    /// How many came late.
    pub late: u64,
}

/// A run that is over.
pub struct Played {
    /// Every frame while the bench ran.
    pub frames: Vec<Frame>,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The period, in s.
    pub period_s: f64,
    /// The rig's devices.
    pub exchanges: Vec<Exchanges>,
    outcome: Outcome,
}

impl Played {
    fn new(
        mut frames: Vec<Frame>,
        layout: Layout,
        period_nanos: u64,
        outcome: Outcome,
        user: &UserSide,
    ) -> Self {
        use std::sync::atomic::Ordering::Relaxed;
        frames.retain(|frame| frame.state == State::Running);
        let exchanges = user.rig.devices.iter().map(|device| Exchanges {
            device: device.name.clone(),
            tried: device.exchanges.load(Relaxed),
            lost: device.lost.load(Relaxed),
            late: device.late.load(Relaxed),
        });
        Self {
            frames,
            layout,
            period_s: period_nanos as f64 * 1e-9,
            exchanges: exchanges.collect(),
            outcome,
        }
    }

    /// A channel by tick from the first of the run; NaN where a tick was skipped or the channel is not there.
    pub fn series(&self, channel: &str) -> Vec<f64> {
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else {
            return Vec::new();
        };
        let mut values = vec![f64::NAN; (last.seq - first.seq + 1) as usize];
        if let Some(column) = self.layout.find(channel) {
            for frame in &self.frames {
                values[(frame.seq - first.seq) as usize] = frame.values[column];
            }
        }
        values
    }

    /// What identification needs.
    pub fn record(&self) -> Record {
        Record {
            period_s: self.period_s,
            reference_m: self.series("motor_reference"),
            position_m: self.series("motor_position"),
            force_n: self.series("force"),
        }
    }

    /// Ticks at the beginning in which the motor rests.
    pub fn rest_ticks(&self) -> usize {
        let ticks = (0.8 * ENTRY_S / self.period_s) as usize;
        ticks.min(self.frames.len())
    }
}
