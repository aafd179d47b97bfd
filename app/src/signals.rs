//! Ctrl-C and requests to terminate.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Lets both set a flag instead of ending the program at once, which would leave a motor to itself.
pub fn set_on_request_to_end(flag: &Arc<AtomicBool>) -> Result<(), String> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag))
            .map_err(|e| format!("signals cannot be handled: {e}"))?;
    }
    Ok(())
}
