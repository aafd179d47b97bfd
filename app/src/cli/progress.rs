//! A progress bar on a terminal; silence in a pipe.

use std::io::{IsTerminal, Write};

/// Shows how much of something is done.
pub struct Progress {
    what: &'static str,
    shown: Option<u32>,
}

impl Progress {
    /// A bar for a piece of work; it appears with the first step.
    pub fn new(what: &'static str) -> Self {
        let shown = std::io::stderr().is_terminal().then_some(u32::MAX);
        Self { what, shown }
    }

    /// Shows a finished part of 0 to 1; only whole per cents are drawn again.
    pub fn set(&mut self, part: f64) {
        let percent = (part.clamp(0.0, 1.0) * 100.0) as u32;
        if self.shown.is_some_and(|s| s != percent) {
            self.shown = Some(percent);
            let filled = "█".repeat((percent / 4) as usize);
            let mut terminal = std::io::stderr().lock();
            // A terminal that cannot be written to misses nothing else.
            let _ = write!(terminal, "\r{} {filled:25} {percent:3} %", self.what);
            let _ = terminal.flush();
        }
    }
}

impl Progress {
    /// Clears the line for what comes next.
    pub fn clear(&mut self) {
        if self.shown.is_some_and(|s| s != u32::MAX) {
            // As above.
            let _ = write!(std::io::stderr().lock(), "\r{:60}\r", "");
            self.shown = Some(u32::MAX);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
