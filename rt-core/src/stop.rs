//! STOP: one line from anywhere to each loop that owns a motor. Pressing it is a count, not a message: no full ring and no
//! lock can lose it, signal handlers may do it, and the loop's answer is the same count given back.
//!
//! The first press brakes; a further one while the loop brakes, holds or retreats cuts the power at once.

#[expect(
    clippy::disallowed_types,
    reason = "who owns a motor is noted where loops are built; no loop looks at it"
)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, Weak};

/// See the module's text.
#[derive(Debug, Default)]
pub struct StopLine {
    pressed: AtomicU32,
    answered: AtomicU32,
    is_to_end: AtomicBool,
    has_ended: AtomicBool,
}

impl StopLine {
    /// Presses STOP.
    pub fn press(&self) {
        self.pressed.fetch_add(1, Ordering::AcqRel);
    }

    /// Asks the loop to stop in a controlled way and to end.
    pub fn end(&self) {
        self.is_to_end.store(true, Ordering::Release);
    }

    /// Asks the loop to end; whoever asks again presses STOP, which cuts the power.
    pub fn end_or_press(&self) {
        if self.is_to_end.swap(true, Ordering::AcqRel) {
            self.press();
        }
    }

    /// Whether the loop has taken every press. One that has ended has nothing left to stop.
    pub fn is_answered(&self) -> bool {
        self.has_ended() || self.answered.load(Ordering::Acquire) == self.count()
    }

    /// Whether the loop has come to its end.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Whether the loop was asked to end.
    pub fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Acquire)
    }

    fn count(&self) -> u32 {
        self.pressed.load(Ordering::Acquire)
    }
}

/// The loop's end of a [`StopLine`].
#[derive(Debug, Default)]
pub(crate) struct StopEnd {
    line: Arc<StopLine>,
    seen: u32,
}

impl StopEnd {
    pub fn of(line: Arc<StopLine>) -> Self {
        Self { line, seen: 0 }
    }

    /// How often it was pressed since it was last looked at.
    pub fn take(&mut self) -> u32 {
        let pressed = self.line.count();
        pressed.wrapping_sub(std::mem::replace(&mut self.seen, pressed))
    }

    /// What was taken has had its effect.
    pub fn answer(&self) {
        self.line.answered.store(self.seen, Ordering::Release);
    }

    pub fn is_to_end(&self) -> bool {
        self.line.is_to_end()
    }
}

impl Drop for StopEnd {
    fn drop(&mut self) {
        self.line.has_ended.store(true, Ordering::Release);
    }
}

/// Every loop of this process that owns a motor.
#[expect(clippy::disallowed_types, reason = "see above")]
static OWNERS: Mutex<Vec<Weak<StopLine>>> = Mutex::new(Vec::new());

/// Notes a loop as the owner of a motor, until it has ended.
pub fn register(line: &Arc<StopLine>) {
    let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    owners.retain(|owner| owner.upgrade().is_some_and(|line| !line.has_ended()));
    owners.push(Arc::downgrade(line));
}

/// The lines of all loops that own a motor now.
pub fn owners() -> Vec<Arc<StopLine>> {
    let owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    let living = owners.iter().filter_map(Weak::upgrade);
    living.filter(|line| !line.has_ended()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_press_is_taken_once_and_answered() {
        let line = Arc::new(StopLine::default());
        let mut end = StopEnd::of(Arc::clone(&line));
        assert!(line.is_answered() && end.take() == 0);
        line.press();
        line.press();
        assert!(!line.is_answered());
        assert_eq!((end.take(), end.take()), (2, 0));
        assert!(!line.is_answered(), "taken, but without effect yet");
        end.answer();
        assert!(line.is_answered());
        line.press();
        drop(end);
        assert!(line.is_answered() && line.has_ended());
    }

    #[test]
    fn who_asks_twice_to_end_presses_stop() {
        let line = StopLine::default();
        line.end_or_press();
        assert!(line.is_answered() && line.is_to_end());
        line.end();
        assert!(line.is_answered());
        line.end_or_press();
        assert!(!line.is_answered());
    }

    #[test]
    fn owners_are_those_that_live() {
        let line = Arc::new(StopLine::default());
        let end = StopEnd::of(Arc::clone(&line));
        register(&line);
        let is_there = || owners().iter().any(|owner| Arc::ptr_eq(owner, &line));
        assert!(is_there());
        drop(end);
        assert!(!is_there());
    }
}
