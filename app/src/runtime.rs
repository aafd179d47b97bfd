//! From a session file to a loop that cycles: on an exact clock in the caller's thread, or in real
//! time in a thread of its own.

use crate::crash;
use crate::home;
use crate::session::LoadedSession;
use crate::signals::{self, Reaching};
use crate::stay_awake;
use drivers::cells;
use drivers::rig_file::{self, RigError, RigFile, RigSetup};
use drivers::simulated::SimTime;
use rt_core::bench::{BenchSpec, BuildContext, BuildError, Built, Designer, LineSight};
use rt_core::calibration::WARN_DAYS;
use rt_core::calibration::date::Date;
use rt_core::channel::{Layout, LayoutError};
use rt_core::file::{self, FileError};
use rt_core::guard::ActiveLimit;
use rt_core::link::{Command, RingSizes, UserSide};
use rt_core::pacing::{Clock, ExactClock, NANOS_PER_SECOND, RealClock};
use rt_core::param::{ParamError, ParamSet};
use rt_core::rig::Rig;
use rt_core::rt_env::{self, RtRequest, RtStatus};
use rt_core::rt_loop::{LoopConfig, RtLoop};
use rt_core::stop;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Why a session cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The rig cannot be built.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The bench cannot be built.
    #[error("{path}: {source}")]
    Bench {
        /// The session file.
        path: String,
        /// What is wrong with it.
        source: BuildError,
    },
    /// Bench and rig, or limits and channels, do not fit together.
    #[error("{path}: {source}")]
    Layout {
        /// The session file.
        path: String,
        /// What does not fit.
        source: LayoutError,
    },
    /// Faults are to be injected into hardware.
    #[error(
        "{path}: 'inject' is refused: the rig '{rig}' is hardware, and only a simulated rig can show faults on demand. Leave \
         'inject' out, or name a simulated rig in 'rig'"
    )]
    Inject {
        /// The session file.
        path: String,
        /// The rig.
        rig: String,
    },
    /// A parameter has no such name or value.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The system gives no thread.
    #[error("the real-time thread could not be started: {0}")]
    Thread(std::io::Error),
}

/// A loop that is ready to cycle, and its other side.
pub struct Prepared<C: Clock> {
    /// The loop.
    pub rt_loop: RtLoop<C>,
    /// Everyone else's ends of its rings.
    pub user: UserSide,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The bench's declaration.
    pub bench: &'static BenchSpec,
    /// Designs gains for parameters that need it.
    pub designer: Option<Box<dyn Designer>>,
    /// What can be drawn of its overhead line, if it has one.
    pub line: Option<LineSight>,
    /// The parameters at the start.
    pub params: ParamSet,
    /// The period, in nanoseconds.
    pub period_nanos: u64,
    /// All limits in force.
    pub limits: Vec<ActiveLimit>,
}

/// Seconds that the recorder's ring can bridge.
const RECORD_SECONDS: u64 = 8;
/// Seconds that the display's ring can bridge: short, so that it stays in the processor's cache.
const DISPLAY_SECONDS: u64 = 1;

/// Joins the session's bench with a rig; `rig` is built last.
fn prepare<C: Clock>(
    loaded: &LoadedSession,
    clock: C,
    rig: impl FnOnce() -> Result<Box<dyn Rig>, RigError>,
) -> Result<Prepared<C>, StartError> {
    let session = &loaded.session;
    let path = || loaded.path.display().to_string();
    let period_nanos = loaded.period_nanos();
    let period_s = period_nanos as f64 / NANOS_PER_SECOND as f64;
    let spec = session.bench.spec();
    let mut notice = |text: String| tell!("note: {text}");
    let mut params = session.start_params()?;
    let known = rig_file::known_rig(&loaded.rig_path())?;
    for (id, value) in session.bench.values_from_rig(&known, period_s) {
        if !session.params.contains_key(id) {
            params.preset(id, value)?;
        }
    }
    let Built {
        bench,
        designer,
        line,
    } = session
        .bench
        .build(&mut BuildContext {
            base: loaded.base(),
            period_s,
            params: &params,
            cache: &home::cache_dir(),
            rig: Some(&known),
            notice: &mut notice,
        })
        .map_err(|source| StartError::Bench {
            path: path(),
            source,
        })?;
    let rig = rig()?;
    for warning in cells::warnings(&rig.spec().cells, Date::today(), WARN_DAYS) {
        notice(warning);
    }
    let frames_in =
        |seconds: u64| (seconds * NANOS_PER_SECOND / period_nanos).clamp(64, 200_000) as usize;
    let config = LoopConfig {
        period_nanos,
        max_misses: session.max_misses,
        run_ticks: session.seconds.map(|s| (s / period_s).round() as u64),
        limits: session.limits.clone(),
        rings: RingSizes {
            record: frames_in(RECORD_SECONDS),
            display: frames_in(DISPLAY_SECONDS),
        },
    };
    let (rt_loop, user, layout) =
        RtLoop::build(bench, rig, params, config, clock).map_err(|source| StartError::Layout {
            path: path(),
            source,
        })?;
    Ok(Prepared {
        user,
        layout,
        bench: spec,
        designer,
        line,
        params,
        period_nanos,
        limits: rt_loop.limits(),
        rt_loop,
    })
}

/// The session's own rig.
fn own_rig(loaded: &LoadedSession, time: SimTime) -> Result<Box<dyn Rig>, RigError> {
    let setup = RigSetup {
        period_nanos: loaded.period_nanos(),
        time,
        injections: &loaded.session.inject,
        uplift_n: loaded.session.uplift_n,
        own_calibrations: Some(home::calibrations_dir()),
    };
    rig_file::load_rig(&loaded.rig_path(), setup)
}

/// What a session moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// A computation.
    Simulation,
    /// Drives that are emulated in this process: everything but the hardware.
    Emulation,
    /// A real motor.
    Hardware,
}

/// What a session moves; faults cannot be injected into anything but a simulation.
fn what_moves(loaded: &LoadedSession) -> Result<Moves, StartError> {
    match file::load(&loaded.rig_path())? {
        RigFile::Simulated(_) => Ok(Moves::Simulation),
        RigFile::Hardware(config) if !loaded.session.inject.is_empty() => Err(StartError::Inject {
            path: loaded.path.display().to_string(),
            rig: config.name,
        }),
        RigFile::Hardware(config) if config.is_in_process() => Ok(Moves::Emulation),
        RigFile::Hardware(_) => Ok(Moves::Hardware),
    }
}

/// Prepares a loop on an exact clock: the caller cycles it as fast as it likes.
pub fn prepare_exact(loaded: &LoadedSession) -> Result<Prepared<ExactClock>, StartError> {
    what_moves(loaded)?;
    let clock = ExactClock::default();
    prepare(loaded, clock.clone(), || {
        own_rig(loaded, SimTime::Exact(clock))
    })
}

/// Prepares a loop whose rig is given, on an exact clock that the caller shares.
pub fn prepare_on(
    loaded: &LoadedSession,
    rig: Box<dyn Rig>,
    clock: ExactClock,
) -> Result<Prepared<ExactClock>, StartError> {
    prepare(loaded, clock, || Ok(rig))
}

/// A loop that runs in real time in a thread of its own.
pub struct RealTimeRun {
    /// Everyone else's ends of its rings.
    pub user: UserSide,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The bench's declaration.
    pub bench: &'static BenchSpec,
    /// Designs gains for parameters that need it.
    pub designer: Option<Box<dyn Designer>>,
    /// What can be drawn of its overhead line, if it has one.
    pub line: Option<LineSight>,
    /// The parameters at the start.
    pub params: ParamSet,
    /// The period, in nanoseconds.
    pub period_nanos: u64,
    /// All limits in force.
    pub limits: Vec<ActiveLimit>,
    /// What it moves.
    pub moves: Moves,
    /// The rights that the thread was granted.
    pub rt: RtStatus,
    /// Signals reach the loop by themselves.
    pub reaching: Reaching,
    /// The thread; it ends after [`Command::Quit`], or when the command ring's other end is dropped.
    pub thread: JoinHandle<()>,
}

/// Starts a session in real time; the bench is Idle and waits for commands.
pub fn start_real_time(loaded: &LoadedSession) -> Result<RealTimeRun, StartError> {
    let moves = what_moves(loaded)?;
    let wanted = RtRequest {
        priority: loaded.session.priority,
        cpu: loaded.session.cpu,
    };
    let Prepared {
        mut rt_loop,
        user,
        layout,
        bench,
        designer,
        line,
        params,
        period_nanos,
        limits,
    } = prepare(loaded, RealClock, || {
        let rig = own_rig(loaded, SimTime::Real)?;
        Ok(match moves {
            Moves::Hardware => stay_awake::around(rig),
            Moves::Simulation | Moves::Emulation => rig,
        })
    })?;
    let reaching = signals::reach(&user.stop)
        .map_err(|problem| StartError::Thread(std::io::Error::other(problem)))?;
    stop::register(&user.stop);
    let (tell, told) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("pantobench-rt".into())
        .spawn(move || {
            rt_env::flush_denormals();
            // Held until the loop has ended.
            let rights = rt_env::request(wanted);
            // Whoever waits for the status has failed if it is gone; the loop then sees that it is abandoned.
            let _ = tell.send(rights.status.clone());
            rt_loop.run();
            drop(rights);
        })
        .map_err(StartError::Thread)?;
    let rt = told
        .recv()
        .map_err(|e| StartError::Thread(std::io::Error::other(e)))?;
    Ok(RealTimeRun {
        user,
        layout,
        bench,
        designer,
        line,
        params,
        period_nanos,
        limits,
        moves,
        rt,
        reaching,
        thread,
    })
}

impl RealTimeRun {
    /// Stops in a controlled way and waits for the end. Frames and events stay readable until then. An error if the loop
    /// did not end by itself: it has let go of its rig in a panic.
    pub fn quit(mut self) -> Result<(), String> {
        // A full ring means that the loop no longer serves commands; dropping the ring ends it too.
        let _ = self.user.commands.push(Command::Quit);
        drop(self.user);
        self.thread.join().map_err(|_| {
            crash::write_pending();
            "the loop ended in a panic and let go of its rig: look at it. This is a defect of the software: please report \
             it with the session"
                .into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use std::path::Path;

    fn on(rig: &str, further: &str) -> LoadedSession {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/inline.ron");
        let text = format!(
            r#"Session(title: "t", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
                rig: "../assets/rigs/{rig}.ron", {further})"#
        );
        let session: Session = file::parse(&text, &path).unwrap();
        LoadedSession { session, path }
    }

    #[test]
    fn faults_cannot_be_injected_into_hardware_and_whoever_tries_is_told_what_to_do() {
        let inject = "inject: [(fault: Offset(signal: Force, size: 900.0), after_s: 1.0)],";
        for rig in ["ethercat-dsa-380", "linmot-udp-serial"] {
            let loaded = on(rig, inject);
            let exact = prepare_exact(&loaded).err().map(|e| e.to_string());
            let real = start_real_time(&loaded).err().map(|e| e.to_string());
            for refused in [exact, real] {
                let refused = refused.unwrap();
                for part in ["inline.ron", "'inject' is refused", "is hardware", "Leave"] {
                    assert!(refused.contains(part), "{part}: {refused}");
                }
            }
        }
        assert!(prepare_exact(&on("simulated-dsa-380", inject)).is_ok());
    }

    #[test]
    fn what_a_session_moves_follows_from_its_rig() {
        let of = |rig| what_moves(&on(rig, "")).unwrap();
        assert_eq!(of("simulated-dsa-380"), Moves::Simulation);
        assert_eq!(of("ethercat-dsa-380"), Moves::Emulation);
        assert_eq!(of("linmot-udp-serial"), Moves::Hardware);
    }
}
