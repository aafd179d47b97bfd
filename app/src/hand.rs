//! A person's hand at a rig: the two steps of arming and the dead man's switch, from wherever they are read (keys of the
//! window, keys of the terminal, a real switch) to whoever moves the rig. Nothing here ever presses by itself.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Signs of a held switch further apart are not one hold: keys repeat faster.
const HOLD_GAP: Duration = Duration::from_millis(200);
/// So many signs in a row are a hold, not a tap.
const HOLD_SIGNS: u32 = 3;
/// Between the first step and the second a person looks at the rig: what comes sooner is a bounce or a double click.
pub const PAUSE: Duration = Duration::from_millis(300);

/// See the module's text.
#[derive(Debug)]
pub struct Hand {
    base: Instant,
    first: AtomicBool,
    second: AtomicBool,
    stop: AtomicBool,
    /// The first step was taken: the second is waited for.
    is_asked: AtomicBool,
    /// When the first step was pressed, in ns since `base`.
    first_at: AtomicU64,
    /// When the switch was last seen held, in ns since `base`.
    held_at: AtomicU64,
    signs: AtomicU32,
    /// A sign that nobody has passed on yet.
    is_fresh: AtomicBool,
}

impl Default for Hand {
    fn default() -> Self {
        Self {
            base: Instant::now(),
            first: AtomicBool::new(false),
            second: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            first_at: AtomicU64::new(0),
            held_at: AtomicU64::new(0),
            signs: AtomicU32::new(0),
            is_fresh: AtomicBool::new(false),
        }
    }
}

impl Hand {
    fn now(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// The first step was pressed.
    pub fn press_first(&self) {
        self.first_at.store(self.now(), Ordering::Relaxed);
        self.second.store(false, Ordering::Relaxed);
        self.first.store(true, Ordering::Release);
    }

    /// The second step was pressed. Counts only after a pause.
    pub fn press_second(&self) {
        let since = self
            .now()
            .saturating_sub(self.first_at.load(Ordering::Relaxed));
        if since >= PAUSE.as_nanos() as u64 {
            self.second.store(true, Ordering::Release);
        }
    }

    /// One key or switch that takes both steps was pressed anew.
    pub fn press_step(&self) {
        if self.is_asked.load(Ordering::Acquire) {
            self.press_second();
        } else {
            self.press_first();
        }
    }

    /// Something else was pressed: no step is taken.
    pub fn take_back(&self) {
        self.first.store(false, Ordering::Relaxed);
        self.second.store(false, Ordering::Relaxed);
    }

    /// The dead man's switch is held at this moment; to be told again and again.
    pub fn hold(&self) {
        let now = self.now();
        let before = self.held_at.swap(now, Ordering::AcqRel);
        if now.saturating_sub(before) > HOLD_GAP.as_nanos() as u64 {
            self.signs.store(1, Ordering::Release);
        } else {
            self.signs.fetch_add(1, Ordering::AcqRel);
        }
        self.is_fresh.store(true, Ordering::Release);
    }

    /// The dead man's switch was let go.
    pub fn let_go(&self) {
        self.signs.store(0, Ordering::Release);
        self.is_fresh.store(false, Ordering::Release);
    }

    /// Whether it is held, by signs of which the last is no older than this.
    pub fn is_held(&self, within: Duration) -> bool {
        let age = self
            .now()
            .saturating_sub(self.held_at.load(Ordering::Acquire));
        self.signs.load(Ordering::Acquire) >= HOLD_SIGNS && age <= within.as_nanos() as u64
    }

    /// Whether there was a sign since this was last asked: what may be passed on as one.
    pub fn take_sign(&self) -> bool {
        self.is_fresh.swap(false, Ordering::AcqRel)
    }

    /// STOP was pressed.
    pub fn press_stop(&self) {
        self.take_back();
        self.stop.store(true, Ordering::Release);
    }

    /// Whether STOP was pressed since this was last asked.
    pub fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn take_first(&self) -> bool {
        self.first.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn take_second(&self) -> bool {
        self.second.swap(false, Ordering::AcqRel)
    }
}

/// How the two steps and the switch are called where a person is asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The first step.
    pub first: &'static str,
    /// The second step.
    pub second: &'static str,
    /// The dead man's switch.
    pub hold: &'static str,
}

/// Keys of the terminal.
pub const TERMINAL: Names = Names {
    first: "press A",
    second: "press C",
    hold: "keep the space bar pressed",
};

/// Keys of the window.
pub const WINDOW: Names = Names {
    first: "press F5",
    second: "press F5 again",
    hold: "keep F7 pressed",
};

/// A real switch of the rig, where there are no keys.
pub const SWITCH: Names = Names {
    first: "press the dead man's switch and let it go",
    second: "press it again",
    hold: "keep the dead man's switch pressed",
};

/// What came of asking a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing yet.
    Awaited,
    /// The first of two steps was taken.
    First,
    /// Everything that was asked for was done: it may move.
    Given,
    /// The second step did not come in time.
    Expired,
}

/// The way from nothing to consent: first step, pause, second step, switch held.
#[derive(Debug)]
pub struct Asking {
    /// The second step has to come within this time; `None`: there is one step only.
    within: Option<Duration>,
    /// The switch has to be held, by signs no older than this.
    hold: Option<Duration>,
    asked: Option<Instant>,
    has_second: bool,
}

impl Asking {
    /// From the beginning: what was pressed before anyone asked does not count.
    pub fn begin(hand: &Hand, within: Option<Duration>, hold: Option<Duration>) -> Self {
        hand.take_back();
        hand.is_asked.store(false, Ordering::Release);
        Self {
            within,
            hold,
            asked: None,
            has_second: false,
        }
    }

    /// What a person did since the last time.
    pub fn poll(&mut self, hand: &Hand) -> Consent {
        if hand.take_first() {
            self.asked = Some(Instant::now());
            self.has_second = self.within.is_none();
            if self.within.is_some() {
                hand.is_asked.store(true, Ordering::Release);
                return Consent::First;
            }
        }
        let Some(asked) = self.asked else {
            hand.take_second();
            return Consent::Awaited;
        };
        self.has_second |= hand.take_second();
        let is_late = self.within.is_some_and(|within| asked.elapsed() > within);
        let is_held = self.hold.is_none_or(|within| hand.is_held(within));
        if self.has_second && is_held && !is_late {
            self.asked = None;
            hand.is_asked.store(false, Ordering::Release);
            return Consent::Given;
        }
        if is_late {
            self.asked = None;
            hand.is_asked.store(false, Ordering::Release);
            return Consent::Expired;
        }
        Consent::Awaited
    }

    /// What a person has to do, in words.
    pub fn words(&self, names: &Names) -> String {
        let mut parts = vec![names.first.to_owned()];
        if let Some(within) = self.within {
            let seconds = within.as_secs_f64();
            parts.push(format!(
                "look at the rig, {} within {seconds} s",
                names.second
            ));
        }
        parts.extend(self.hold.map(|_| names.hold.to_owned()));
        parts.join(", then ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause() {
        std::thread::park_timeout(PAUSE + Duration::from_millis(20));
    }

    fn hold(hand: &Hand) {
        for _ in 0..HOLD_SIGNS {
            hand.hold();
        }
    }

    #[test]
    fn two_steps_need_a_pause_between_and_the_switch_at_the_end() {
        let hand = Hand::default();
        let mut asking = Asking::begin(
            &hand,
            Some(Duration::from_secs(5)),
            Some(Duration::from_millis(500)),
        );
        hand.press_second();
        assert_eq!(asking.poll(&hand), Consent::Awaited, "no first step");
        hand.press_first();
        assert_eq!(asking.poll(&hand), Consent::First);
        hand.press_second();
        hold(&hand);
        assert_eq!(asking.poll(&hand), Consent::Awaited, "without a pause");
        pause();
        hand.press_second();
        hand.let_go();
        assert_eq!(asking.poll(&hand), Consent::Awaited, "nobody at the switch");
        hand.hold();
        assert_eq!(asking.poll(&hand), Consent::Awaited, "a tap is no hold");
        hold(&hand);
        assert_eq!(asking.poll(&hand), Consent::Given);
        assert_eq!(asking.poll(&hand), Consent::Awaited, "it counts once");
    }

    #[test]
    fn the_second_step_comes_in_time_or_not_at_all() {
        let hand = Hand::default();
        hand.press_first();
        let mut asking = Asking::begin(&hand, Some(Duration::from_millis(400)), None);
        assert_eq!(asking.poll(&hand), Consent::Awaited, "before it was asked");
        hand.press_first();
        assert_eq!(asking.poll(&hand), Consent::First);
        std::thread::park_timeout(Duration::from_millis(450));
        assert_eq!(asking.poll(&hand), Consent::Expired);
        hand.press_second();
        assert_eq!(asking.poll(&hand), Consent::Awaited, "too late");
        hand.press_first();
        asking.poll(&hand);
        pause();
        hand.take_back();
        assert_eq!(asking.poll(&hand), Consent::Awaited);
        hand.press_second();
        assert_eq!(asking.poll(&hand), Consent::Given);
    }

    #[test]
    fn one_step_is_enough_where_the_rig_asks_for_one() {
        let hand = Hand::default();
        let mut asking = Asking::begin(&hand, None, None);
        assert_eq!(asking.poll(&hand), Consent::Awaited);
        hand.press_first();
        assert_eq!(asking.poll(&hand), Consent::Given);
    }

    #[test]
    fn a_switch_that_is_let_go_is_not_held() {
        let hand = Hand::default();
        hold(&hand);
        assert!(hand.is_held(Duration::from_millis(100)));
        std::thread::park_timeout(Duration::from_millis(130));
        assert!(!hand.is_held(Duration::from_millis(100)));
        assert!(hand.take_sign() && !hand.take_sign());
    }
}
