//! Who may end a script from outside: a person, the time that it may take, and who hears what it says.

use super::outcome::Output;
use crate::permit::Presence;
use rt_core::stop::StopLine;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
#[expect(
    clippy::disallowed_types,
    reason = "between a person's button and the script; the real-time thread never sees it"
)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A button that stops a script and the bench that it drives, from any thread.
#[derive(Clone, Debug, Default)]
pub struct StopSwitch {
    /// Set by Ctrl-C too.
    pub flag: Arc<AtomicBool>,
    #[expect(clippy::disallowed_types, reason = "no real-time thread is involved")]
    line: Arc<Mutex<Option<Arc<StopLine>>>>,
}

impl StopSwitch {
    /// Stops the loop in a controlled way, even while the script is busy with something else.
    pub fn press(&self) {
        self.flag.store(true, Ordering::Relaxed);
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.as_ref() {
            line.end_or_press();
        }
    }

    /// Whether it was pressed.
    pub fn is_pressed(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Why a script does not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Interrupt {
    /// A person stopped it.
    Stopped(String),
    /// A fault stopped the bench.
    Tripped(String),
    /// It took longer than it may.
    Limit(String),
}

/// Hears everything that a script says.
pub type Sink = Rc<RefCell<dyn FnMut(Output)>>;

/// See the module's text.
#[derive(Clone)]
pub struct Watch {
    switch: StopSwitch,
    deadline: Instant,
    limit_s: f64,
    spent_s: Rc<Cell<f64>>,
    sink: Sink,
    presence: Presence,
}

impl Watch {
    /// A script may take so many seconds, of the bench's time and of everyone's.
    pub fn new(switch: StopSwitch, limit_s: f64, sink: Sink) -> Self {
        let limit = Duration::try_from_secs_f64(limit_s).unwrap_or(Duration::MAX);
        let now = Instant::now();
        Self {
            switch,
            // A year is as good as for ever.
            deadline: now
                .checked_add(limit)
                .unwrap_or(now + Duration::from_secs(31_536_000)),
            limit_s,
            spent_s: Rc::default(),
            sink,
            presence: Presence::Nobody,
        }
    }

    /// Someone is beside the rig.
    #[must_use]
    pub fn beside(self, presence: Presence) -> Self {
        Self { presence, ..self }
    }

    /// Who is beside the rig.
    pub fn presence(&self) -> &Presence {
        &self.presence
    }

    /// Whether the script may go on.
    pub fn check(&self) -> Result<(), Interrupt> {
        if self.switch.is_pressed() {
            return Err(Interrupt::Stopped("the script was stopped".into()));
        }
        let is_late = self.spent_s.get() > self.limit_s || Instant::now() > self.deadline;
        if is_late {
            return Err(Interrupt::Limit(format!(
                "the script took longer than the {} s that it may take; allow more with --time-limit",
                self.limit_s
            )));
        }
        Ok(())
    }

    /// The flag that stops the script, for work that looks at it by itself.
    pub fn stop_flag(&self) -> &AtomicBool {
        &self.switch.flag
    }

    /// Counts time of a bench, in s.
    pub fn spend(&self, seconds: f64) {
        self.spent_s.set(self.spent_s.get() + seconds.max(0.0));
    }

    /// Time that benches have spent, in s.
    pub fn spent_s(&self) -> f64 {
        self.spent_s.get()
    }

    /// What the stop button reaches besides the script: the loop in real time.
    pub fn set_line(&self, line: Option<Arc<StopLine>>) {
        let slot = &self.switch.line;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = line;
        if self.switch.is_pressed() {
            // Pressed while the loop was being built.
            self.switch.press();
        }
    }

    /// Tells whoever listens.
    pub fn tell(&self, output: Output) {
        (self.sink.borrow_mut())(output);
    }

    /// Tells of the bench.
    pub fn note(&self, text: String) {
        self.tell(Output::Note(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_button_reaches_the_loop_whenever_it_was_pressed() {
        let switch = StopSwitch::default();
        let watch = Watch::new(switch.clone(), 10.0, Rc::new(RefCell::new(|_| ())));
        assert_eq!(watch.check(), Ok(()));
        let first = Arc::new(StopLine::default());
        watch.set_line(Some(Arc::clone(&first)));
        switch.press();
        assert!(first.is_to_end());
        assert!(matches!(watch.check(), Err(Interrupt::Stopped(_))));
        let later = Arc::new(StopLine::default());
        watch.set_line(Some(Arc::clone(&later)));
        assert!(later.is_to_end());
    }

    #[test]
    fn time_of_the_bench_is_limited() {
        let sink: Sink = Rc::new(RefCell::new(|_| ()));
        let watch = Watch::new(StopSwitch::default(), 10.0, sink);
        watch.clone().spend(9.0);
        watch.spend(-5.0);
        assert_eq!(watch.check(), Ok(()));
        watch.spend(1.5);
        assert!(matches!(watch.check(), Err(Interrupt::Limit(words)) if words.contains("10 s")));
        assert_eq!(watch.spent_s(), 10.5);
    }
}
