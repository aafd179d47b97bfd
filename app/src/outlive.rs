//! What has to be done before the program may end, whatever ends it: every loop has come to a controlled stop, and every
//! recording is a whole file. A window may panic, lose its display or its graphics; the loops outlive it.

use rt_core::stop::{self, StopLine};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long the program may live on for this at most. Longer, a drive's own watchdog is what remains.
const AT_MOST: Duration = Duration::from_secs(10);
/// How often it is looked whether all is done, in µs.
const PAUSE_US: libc::useconds_t = 5_000;

/// Runs whose recordings may not be whole yet.
static OPEN_RUNS: AtomicUsize = AtomicUsize::new(0);

/// A run that the program has to outlive until its recording is whole.
pub struct OpenRun {
    is_closed: AtomicBool,
}

impl OpenRun {
    /// Notes a run.
    pub fn begin() -> Arc<Self> {
        OPEN_RUNS.fetch_add(1, Ordering::AcqRel);
        Arc::new(Self {
            is_closed: AtomicBool::new(false),
        })
    }

    /// Nothing of it is left to be done.
    pub fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            OPEN_RUNS.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Whether nothing of it is left to be done.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.close();
    }
}

/// Asks loops to stop in a controlled way, and waits until each has ended. `false` if that takes too long.
pub fn end(lines: &[Arc<StopLine>], at_most: Duration) -> bool {
    for line in lines {
        line.end();
    }
    wait(at_most, || lines.iter().all(|line| line.has_ended()))
}

fn end_all_loops() {
    end(&stop::owners(), AT_MOST);
}

fn end_everything() {
    end_all_loops();
    wait(AT_MOST, || OPEN_RUNS.load(Ordering::Acquire) == 0);
}

fn wait(at_most: Duration, is_done: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !is_done() {
        if since.elapsed() > at_most {
            return false;
        }
        // SAFETY: takes a number only. While the program ends, nothing that needs thread-local storage may be used.
        unsafe { libc::usleep(PAUSE_US) };
    }
    true
}

extern "C" fn at_exit() {
    end_everything();
}

/// Whoever calls `exit` from now on waits for the loops first: Xlib does it when the display is lost.
pub fn install() -> Result<(), String> {
    // SAFETY: the function lives as long as the program, and does not unwind.
    match unsafe { libc::atexit(at_exit) } {
        0 => Ok(()),
        _ => Err("the system takes no further function that is called at the end".into()),
    }
}

/// Does something that may panic, and ends every loop when it is over, whatever became of it. The loops are asked to end
/// in the moment of the panic: whatever is torn down afterwards may take its time, or end the program at once.
pub fn guard<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let mine = std::thread::current().id();
    let before = Arc::new(std::panic::take_hook());
    let usual = Arc::clone(&before);
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == mine {
            end_all_loops();
        }
        usual(panic);
    }));
    let done = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(Box::new(move |panic| before(panic)));
    end_everything();
    done.map_err(|panic| words(&*panic))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no words were given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_open_until_it_is_closed_once() {
        let run = OpenRun::begin();
        let other = Arc::clone(&run);
        assert!(!run.is_closed());
        other.close();
        other.close();
        assert!(run.is_closed());
    }

    #[test]
    fn a_loop_that_does_not_end_is_not_waited_for_for_ever() {
        let deaf = [Arc::new(StopLine::default())];
        assert!(!end(&deaf, Duration::from_millis(20)));
        assert!(deaf[0].is_to_end());
        assert!(end(&[], Duration::ZERO));
    }

    /// Ends every loop of the process: nothing may run beside it.
    mod alone {
        use super::*;
        use crate::runtime;
        use crate::session::LoadedSession;
        use rt_core::guard::{Request, State};
        use rt_core::link::{Command, EventKind};
        use std::path::Path;

        /// The loop of a shipped session, armed.
        fn powered() -> runtime::RealTimeRun {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            let loaded = LoadedSession::load(&root.join("sessions/profile-sine.ron")).unwrap();
            let mut run = runtime::start_real_time(&loaded).unwrap();
            let mut state = |wanted| {
                let since = Instant::now();
                while since.elapsed() < Duration::from_secs(60) {
                    while let Ok(event) = run.user.events.pop() {
                        if matches!(event.kind, EventKind::State { to, .. } if to == wanted) {
                            return;
                        }
                    }
                    std::thread::park_timeout(Duration::from_millis(2));
                }
                panic!("never {wanted:?}");
            };
            state(State::Ready);
            run.user
                .commands
                .push(Command::Request(Request::Arm))
                .unwrap();
            state(State::Armed);
            run
        }

        #[test]
        fn a_panic_is_told_and_its_loop_comes_to_a_controlled_end() {
            let run = powered();
            assert!(!run.thread.is_finished());
            let ended: Result<(), String> = guard(|| panic!("the window is broken"));
            assert_eq!(ended, Err("the window is broken".into()));
            assert!(run.user.stop.has_ended());
            assert!(stop::owners().is_empty());
        }

        #[test]
        fn what_ends_without_a_panic_ends_the_loops_too() {
            let run = powered();
            assert_eq!(guard(|| 5), Ok(5));
            assert!(run.user.stop.has_ended());
        }
    }
}
