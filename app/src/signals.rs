//! Ctrl-C, Ctrl-\\, a closed terminal and requests to terminate: all of them stop in a controlled way, none ends the
//! program at once, which would leave a motor to itself.

use rt_core::stop::StopLine;
use signal_hook::SigId;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Ctrl-Z too: a loop that is held while its drive goes on is worse than one that ends.
const REQUESTS_TO_END: [i32; 8] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM,
];

/// Lets all of them set a flag.
pub fn set_on_request_to_end(flag: &Arc<AtomicBool>) -> Result<(), String> {
    for signal in REQUESTS_TO_END {
        signal_hook::flag::register(signal, Arc::clone(flag)).map_err(cannot)?;
    }
    Ok(())
}

/// Signals that reach a loop by themselves, whatever the rest of the program does, as long as this lives.
pub struct Reaching(Vec<SigId>);

/// The first signal stops a loop in a controlled way and ends it; each further one presses STOP, which cuts the power.
pub fn reach(line: &Arc<StopLine>) -> Result<Reaching, String> {
    let mut reaching = Reaching(Vec::new());
    for signal in REQUESTS_TO_END {
        let line = Arc::clone(line);
        // SAFETY: the handler touches atomics only.
        let id = unsafe { signal_hook::low_level::register(signal, move || line.end_or_press()) };
        reaching.0.push(id.map_err(cannot)?);
    }
    Ok(reaching)
}

impl Drop for Reaching {
    fn drop(&mut self) {
        for id in &self.0 {
            signal_hook::low_level::unregister(*id);
        }
    }
}

fn cannot(problem: std::io::Error) -> String {
    format!("signals cannot be handled: {problem}")
}
