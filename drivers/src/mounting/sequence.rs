//! The one order in which drive and brake follow each other, for hardware and simulations alike: the brake lets go only
//! of a motor that a drive holds, and a drive lets go only of a motor that the brake holds.
//!
//! Power that is cut is not waited for: the brake is told to hold and the drive to be off in the same exchange.

use super::{BrakeConfig, BrakeOutput};
use rt_core::channel::Frame;
use rt_core::guard::{Drive, PowerOff};
use rt_core::rig::RigFault;

/// What the guard wishes of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is to be on.
    On,
    /// It is to be off as soon as the brake holds.
    HandOver,
    /// It is to be off at once.
    Cut,
}

impl Wish {
    /// What a frame says.
    pub fn of(frame: &Frame) -> Self {
        match (frame.drive, frame.power_off) {
            (Drive::On, _) => Wish::On,
            (Drive::Off, PowerOff::HandsOver) => Wish::HandOver,
            (Drive::Off, PowerOff::Cut | PowerOff::NoVoltage) => Wish::Cut,
        }
    }
}

/// What drive and brake are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whether the drive is on.
    pub is_on: bool,
    /// Whether the brake is to be released.
    pub releases: bool,
    /// Whether the drive takes references; otherwise it holds where it is.
    pub follows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The brake holds, the drive is off.
    Off,
    /// The brake holds; the drive is told to be on and may not follow yet.
    Enabling,
    /// The drive holds; the brake lets go.
    Releasing,
    /// The drive follows references.
    Released,
    /// The drive holds; the brake takes over.
    Engaging,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct BrakeSequence {
    release_nanos: u64,
    engage_nanos: u64,
    /// For how long the switch may disagree; `None`: there is none.
    within_nanos: Option<u64>,
    stage: Stage,
    /// When the brake was told what it is told.
    told_at: u64,
    /// What its switch showed last.
    holds: Option<bool>,
    disagrees_since: Option<u64>,
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl BrakeSequence {
    /// With the brake engaged. A drive that operates its own brake engages it by itself before it goes off: nobody has to
    /// hold on for it.
    pub fn new(config: &BrakeConfig, drive_hands_over: bool) -> Self {
        let is_own = drive_hands_over && config.output == BrakeOutput::Drive;
        Self {
            release_nanos: nanos(config.release_s),
            engage_nanos: if is_own { 0 } else { nanos(config.engage_s) },
            within_nanos: config.feedback.as_ref().map(|f| {
                // What the drive does by itself takes its time all the same.
                nanos(f.within_s) + if is_own { nanos(config.engage_s) } else { 0 }
            }),
            stage: Stage::Off,
            told_at: 0,
            holds: None,
            disagrees_since: None,
        }
    }

    /// What is told in this exchange. `is_following`: whether the drive follows what it was told before; `holds`: what the
    /// brake's switch shows, if it shows anything.
    pub fn step(&mut self, wish: Wish, now: u64, is_following: bool, holds: Option<bool>) -> Told {
        self.holds = holds;
        let since = now.saturating_sub(self.told_at);
        let agrees = |wanted: bool| match (self.within_nanos, holds) {
            (None, _) => true,
            (Some(_), shown) => shown == Some(wanted),
        };
        let next = match (wish, self.stage) {
            (Wish::Cut, _) => Stage::Off,
            (Wish::On, Stage::Off | Stage::Engaging) => Stage::Enabling,
            (Wish::On, Stage::Enabling) if is_following => Stage::Releasing,
            (Wish::On, Stage::Releasing) if since >= self.release_nanos && agrees(false) => {
                Stage::Released
            }
            // The brake never let go.
            (Wish::HandOver, Stage::Off | Stage::Enabling) => Stage::Off,
            (Wish::HandOver, Stage::Releasing | Stage::Released) => Stage::Engaging,
            (Wish::HandOver, Stage::Engaging) => {
                // A switch that never shows it is a fault, and no reason to stay powered.
                let patience = self.engage_nanos + self.within_nanos.unwrap_or(0);
                let is_over = since >= self.engage_nanos && agrees(true) || since >= patience;
                if is_over { Stage::Off } else { Stage::Engaging }
            }
            (_, stage) => stage,
        };
        self.enter(next, now);
        // No time at all is over at once.
        if wish == Wish::HandOver && next == Stage::Engaging && self.engage_nanos == 0 {
            self.enter(Stage::Off, now);
        }
        self.watch(now);
        self.told()
    }

    /// The drive moves by itself, its brake released: what was told is not what is.
    pub fn follow_itself(&mut self, now: u64) -> Told {
        self.enter(Stage::Released, now);
        self.disagrees_since = None;
        self.told()
    }

    /// Takes power away and engages the brake at once.
    pub fn cut(&mut self, now: u64) -> Told {
        self.enter(Stage::Off, now);
        self.told()
    }

    fn enter(&mut self, stage: Stage, now: u64) {
        let released = |stage| matches!(stage, Stage::Releasing | Stage::Released);
        if released(stage) != released(self.stage) {
            self.told_at = now;
            self.disagrees_since = None;
        }
        self.stage = stage;
    }

    fn told(&self) -> Told {
        Told {
            is_on: self.stage != Stage::Off,
            releases: matches!(self.stage, Stage::Releasing | Stage::Released),
            follows: self.stage == Stage::Released,
        }
    }

    /// Notes since when the switch shows the other of what the brake was told, once it had its time to do it.
    fn watch(&mut self, now: u64) {
        let releases = self.told().releases;
        let time = if releases {
            self.release_nanos
        } else {
            self.engage_nanos
        };
        let is_wrong = self.holds.is_none_or(|holds| holds == releases);
        let is_due = now.saturating_sub(self.told_at) >= time;
        self.disagrees_since = (self.within_nanos.is_some() && is_wrong && is_due)
            .then(|| self.disagrees_since.unwrap_or(now));
    }

    /// Whether references are followed.
    pub fn follows(&self) -> bool {
        self.told().follows
    }

    /// Whether nothing is under way: the drive is off and the brake had its time to hold, or it follows.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Off | Stage::Released)
    }

    /// A switch that disagrees with what the brake was told for too long.
    pub fn fault(&self, now: u64) -> Option<RigFault> {
        let (since, limit) = self.disagrees_since.zip(self.within_nanos)?;
        let disagrees = now.saturating_sub(since);
        let us = |nanos: u64| u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        let (for_us, limit_us) = (us(disagrees), us(limit));
        (disagrees > limit).then_some(if self.told().releases {
            RigFault::BrakeNotReleased { for_us, limit_us }
        } else {
            RigFault::BrakeNotEngaged { for_us, limit_us }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounting::BrakeFeedback;

    const MS: u64 = 1_000_000;

    fn sequence(feedback: bool) -> BrakeSequence {
        let config = BrakeConfig {
            release_s: 0.03,
            engage_s: 0.05,
            output: BrakeOutput::Output("io.brake".into()),
            feedback: feedback.then_some(BrakeFeedback {
                input: None,
                bit: None,
                set_means_engaged: true,
                within_s: 0.02,
                max_age_s: 0.1,
            }),
            holds_n: None,
            creeps_at_most_m: 1e-3,
        };
        BrakeSequence::new(&config, true)
    }

    /// Steps every 2 ms; when each of (drive on, brake told to release, follows) changes, in ms.
    fn play(
        sequence: &mut BrakeSequence,
        span_ms: std::ops::Range<u64>,
        wish: impl Fn(u64) -> Wish,
        follows: impl Fn(u64) -> bool,
        holds: impl Fn(u64, bool) -> Option<bool>,
    ) -> Vec<(u64, bool, bool, bool)> {
        let mut seen: Vec<(u64, bool, bool, bool)> = Vec::new();
        for t in span_ms.step_by(2) {
            let releases = seen.last().is_some_and(|s| s.2);
            let told = sequence.step(wish(t), t * MS, follows(t), holds(t, releases));
            let now = (told.is_on, told.releases, told.follows);
            if seen.last().is_none_or(|s| (s.1, s.2, s.3) != now) {
                seen.push((t, now.0, now.1, now.2));
            }
        }
        seen
    }

    #[test]
    fn brake_before_power_both_ways() {
        let mut own = sequence(false);
        let wish = |t| {
            if (100..300).contains(&t) {
                Wish::On
            } else {
                Wish::HandOver
            }
        };
        let seen = play(&mut own, 0..500, wish, |t| t >= 120, |_, _| None);
        assert_eq!(
            seen,
            [
                (0, false, false, false),
                (100, true, false, false),
                // The drive follows: only now the brake lets go, and 30 ms later references count.
                (120, true, true, false),
                (150, true, true, true),
                (300, true, false, false),
                (350, false, false, false),
            ]
        );
    }

    #[test]
    fn a_cut_waits_for_nothing_in_any_stage() {
        for cut_at in (100..360).step_by(2) {
            let mut own = sequence(false);
            let wish = |t| match t {
                t if t >= cut_at => Wish::Cut,
                100..300 => Wish::On,
                _ => Wish::HandOver,
            };
            let seen = play(&mut own, 0..cut_at + 2, wish, |t| t >= 120, |_, _| None);
            let last = seen.last().unwrap();
            assert_eq!((last.1, last.2, last.3), (false, false, false), "{cut_at}");
            assert!(own.is_settled());
        }
    }

    #[test]
    fn a_switch_that_disagrees_is_waited_for_and_then_a_fault_of_its_own() {
        let on = |_| Wish::On;
        // It never shows that it lets go.
        let mut own = sequence(true);
        let seen = play(&mut own, 0..52, on, |_| true, |_, _| Some(true));
        assert!(seen.iter().all(|s| !s.3), "{seen:?}");
        assert_eq!(own.fault(50 * MS), None);
        play(&mut own, 52..56, on, |_| true, |_, _| Some(true));
        assert_eq!(
            own.fault(54 * MS),
            Some(RigFault::BrakeNotReleased {
                for_us: 22_000,
                limit_us: 20_000
            })
        );
        // It lets go, and never shows that it holds again: off after 50 + 20 ms all the same, and then a fault.
        let mut own = sequence(true);
        let wish = |t| if t < 100 { Wish::On } else { Wish::HandOver };
        let seen = play(&mut own, 0..300, wish, |_| true, |_, _| Some(false));
        assert_eq!(seen.last(), Some(&(170, false, false, false)), "{seen:?}");
        assert!(matches!(
            own.fault(298 * MS),
            Some(RigFault::BrakeNotEngaged { .. })
        ));
        // One that does both is none.
        let mut own = sequence(true);
        play(
            &mut own,
            0..300,
            wish,
            |_| true,
            |_, releases| Some(!releases),
        );
        assert_eq!(own.fault(298 * MS), None);
        // One that falls in while the motor follows is one.
        let mut own = sequence(true);
        let drops = |t, releases: bool| Some(!releases || t > 100);
        play(&mut own, 0..130, on, |_| true, drops);
        assert!(matches!(
            own.fault(128 * MS),
            Some(RigFault::BrakeNotReleased { .. })
        ));
    }

    #[test]
    fn a_stop_before_the_brake_has_let_go_switches_off_at_once() {
        let mut own = sequence(false);
        let wish = |t| if t < 10 { Wish::On } else { Wish::HandOver };
        let seen = play(&mut own, 0..20, wish, |_| false, |_, _| None);
        assert_eq!(seen, [(0, true, false, false), (10, false, false, false)]);
    }
}
