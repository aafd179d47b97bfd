//! Homing of a CiA 402 drive, seen from the loop: when its homing mode is entered, started and left, and what it says
//! of it.
//!
//! The drive finds its home position by itself, with the method, speeds and offset that were written before OP; the loop
//! starts it and watches. The mode is entered and left without power only, so that no target of another mode is ever
//! followed in it, nor the other way round.

use super::cia402::{DriveInputs, DriveState};
use super::config::{DriveConfig, DriveHoming};
use rt_core::rig::RigFault;

/// The mode of operation.
pub const HOMING_MODE: i8 = 6;
/// Enabled, and the bit whose rising edge starts it.
const START: u16 = 0x1F;
const TARGET_REACHED: u16 = 1 << 10;
const ATTAINED: u16 = 1 << 12;
const ERROR: u16 = 1 << 13;

/// What a drive is sent in its homing mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// This controlword.
    Send(u16),
    /// Its power is taken away, after a quick stop.
    Brake,
    /// Its power is taken away at once: the motor stands.
    Cut,
}

/// How a drive says that homing has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Attained,
    Error,
}

impl Outcome {
    fn of(status: u16) -> Option<Self> {
        match status & (TARGET_REACHED | ATTAINED | ERROR) {
            bits if bits & ERROR != 0 => Some(Outcome::Error),
            bits if bits == TARGET_REACHED | ATTAINED => Some(Outcome::Attained),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Nothing is under way.
    Rest,
    /// It is being enabled in its homing mode.
    SwitchingOn { since: u64 },
    /// It was started.
    Searching(Search),
    /// Power is being taken away before the mode is left.
    Leaving { is_attained: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Search {
    since: u64,
    /// What was shown before the start, perhaps of an earlier homing.
    before: Option<Outcome>,
    /// That is no longer shown.
    has_begun: bool,
    /// Since when it shows that nothing is under way.
    idle_since: Option<u64>,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Homing {
    timeout_nanos: u64,
    enable_nanos: u64,
    homed_bit: Option<u8>,
    stage: Stage,
    is_attained: bool,
    /// The statusword with which it failed last.
    failed: Option<u16>,
    /// The present wish has had its answer: it is not tried again before it was withdrawn.
    is_served: bool,
}

impl Homing {
    /// Of a drive that has to be homed.
    pub fn new(config: &DriveConfig, homing: &DriveHoming) -> Self {
        Self {
            timeout_nanos: (homing.timeout_s * 1e9) as u64,
            enable_nanos: (config.enable_ms * 1e6) as u64,
            homed_bit: homing.homed_bit,
            stage: Stage::Rest,
            is_attained: false,
            failed: None,
            is_served: false,
        }
    }

    /// After a new set-up: the drive may have been without power. Who wants it homed has to say so anew.
    pub fn forget(&mut self) {
        self.stage = Stage::Rest;
        self.is_attained = false;
        self.failed = None;
        self.is_served = true;
    }

    /// Whether the drive knows where it is, by its statusword.
    pub fn is_homed(&self, status: u16) -> bool {
        match self.homed_bit {
            Some(bit) => status >> bit & 1 == 1,
            None => self.is_attained,
        }
    }

    /// Ends what is under way: the drive is told off from the next frame on.
    pub fn abandon(&mut self) {
        if matches!(self.stage, Stage::SwitchingOn { .. } | Stage::Searching(_)) {
            self.leave(false);
        }
    }

    fn leave(&mut self, is_attained: bool) {
        self.stage = Stage::Leaving { is_attained };
    }

    fn hear(&mut self, wish: bool, status: u16, now: u64) {
        self.is_served &= wish;
        if !wish {
            self.abandon();
        } else if self.stage == Stage::Rest && !self.is_served && !self.is_homed(status) {
            self.stage = Stage::SwitchingOn { since: now };
            self.is_served = true;
            self.failed = None;
        }
    }

    /// What it is sent in its homing mode, or `None`: the drive is told what it is told without homing.
    pub fn control(&mut self, wish: bool, last: &DriveInputs, now: u64) -> Option<Word> {
        self.hear(wish, last.status, now);
        let state = DriveState::of(last.status);
        let brakes = matches!(
            state,
            DriveState::OperationEnabled | DriveState::QuickStopActive
        );
        let is_in_mode = last.mode == HOMING_MODE;
        match self.stage {
            Stage::Rest => None,
            // It still has the power of another mode.
            Stage::SwitchingOn { .. } if brakes && !is_in_mode => None,
            Stage::SwitchingOn { .. } => Some(Word::Send(match state {
                DriveState::SwitchOnDisabled => 0x06,
                DriveState::ReadyToSwitchOn => 0x07,
                DriveState::SwitchedOn if is_in_mode => 0x0F,
                DriveState::SwitchedOn => 0x07,
                DriveState::OperationEnabled => {
                    self.stage = Stage::Searching(Search {
                        since: now,
                        before: Outcome::of(last.status),
                        has_begun: false,
                        idle_since: None,
                    });
                    START
                }
                _ => 0,
            })),
            Stage::Searching(_) => Some(Word::Send(START)),
            Stage::Leaving { .. } if !state.may_have_power() => {
                self.stage = Stage::Rest;
                None
            }
            // A motor at its home position stands still; any other has to brake first.
            Stage::Leaving { is_attained: true } => Some(Word::Cut),
            Stage::Leaving { is_attained: false } => Some(Word::Brake),
        }
    }

    /// Takes what a drive without error has sent; an error as long as it does not know where it is.
    pub fn take(&mut self, inputs: &DriveInputs, wish: bool, now: u64) -> Result<(), RigFault> {
        let status = inputs.status;
        self.hear(wish, status, now);
        let state = DriveState::of(status);
        match self.stage {
            Stage::Rest => {}
            Stage::SwitchingOn { since } => {
                if now.saturating_sub(since) > self.enable_nanos {
                    return self.fail(status);
                }
                return Err(RigFault::Homing);
            }
            Stage::Searching(mut search) => {
                let is_in_it = state == DriveState::OperationEnabled && inputs.mode == HOMING_MODE;
                let ended = search.ended(status, self.enable_nanos, now);
                let is_late = now.saturating_sub(search.since) > self.timeout_nanos;
                self.stage = Stage::Searching(search);
                match ended {
                    _ if !is_in_it => return self.fail(status),
                    Some(Outcome::Attained) => {
                        self.is_attained = true;
                        self.leave(true);
                    }
                    Some(Outcome::Error) => return self.fail(status),
                    None if is_late => return self.fail(status),
                    None => {}
                }
                return Err(RigFault::Homing);
            }
            Stage::Leaving { .. } if !state.may_have_power() => self.stage = Stage::Rest,
            Stage::Leaving { is_attained: true } => return Err(RigFault::Homing),
            Stage::Leaving { is_attained: false } => {}
        }
        match self.failed {
            _ if self.is_homed(status) => Ok(()),
            Some(status) => Err(RigFault::HomingFailed { status }),
            None => Err(RigFault::NotHomed),
        }
    }

    fn fail(&mut self, status: u16) -> Result<(), RigFault> {
        self.failed = Some(status);
        self.leave(false);
        Err(RigFault::HomingFailed { status })
    }
}

impl Search {
    /// Whether the drive says that it has ended. What it showed before the start counts only once it was gone, or if
    /// it stays for as long as a drive may take: one that homes where it stands may never show anything else.
    fn ended(&mut self, status: u16, patience: u64, now: u64) -> Option<Outcome> {
        let shown = Outcome::of(status);
        let has_had_time = now.saturating_sub(self.since) > patience;
        self.has_begun |= shown != self.before || shown.is_none();
        // Neither under way nor ended: it was never started, or was interrupted.
        let is_idle = shown.is_none() && status & TARGET_REACHED != 0;
        self.idle_since = is_idle.then(|| self.idle_since.unwrap_or(now));
        let gave_up = self
            .idle_since
            .is_some_and(|since| now.saturating_sub(since) > patience);
        if gave_up {
            return Some(Outcome::Error);
        }
        shown.filter(|_| self.has_begun || has_had_time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cia402::{Cia402, DriveOutputs};
    use super::*;
    use crate::hardware::bus::DriveCommand;

    const MS: u64 = 1_000_000;
    const HOME: DriveCommand = DriveCommand {
        home: true,
        ..DriveCommand::OFF
    };
    const ON: DriveCommand = DriveCommand {
        is_on: true,
        position_m: 0.0,
        ..DriveCommand::OFF
    };

    /// A drive and what is exchanged with it: 100 ms to be enabled, 2 s to home.
    struct Exchange {
        drive: Cia402,
        now: u64,
    }

    impl Exchange {
        fn new(homed_bit: Option<u8>) -> Self {
            let config = DriveConfig {
                device: "drive".into(),
                counts_per_m: 1000.0,
                zero_m: 0.0,
                enable_ms: 100.0,
                homing: Some(DriveHoming {
                    timeout_s: 2.0,
                    homed_bit,
                }),
                reactions: None,
            };
            Self {
                drive: Cia402::new(&config, 0.1),
                now: 0,
            }
        }

        /// What is sent, after which the drive answers with a statusword and a mode, 1 ms later than before.
        fn at(
            &mut self,
            told: &DriveCommand,
            status: u16,
            mode: i8,
        ) -> (DriveOutputs, Result<(), RigFault>) {
            self.now += MS;
            let sent = self.drive.outputs(told, self.now);
            let inputs = DriveInputs {
                status,
                actual: 77,
                mode,
                error: Some(0x2310),
            };
            (sent, self.drive.take(inputs, told, self.now))
        }

        /// Controlword and mode that are sent before an answer, and what comes of that.
        fn step(
            &mut self,
            told: &DriveCommand,
            status: u16,
            mode: i8,
        ) -> ((u16, i8), Result<(), RigFault>) {
            let (sent, done) = self.at(told, status, mode);
            assert_eq!(sent.target, if self.now == MS { 0 } else { 77 });
            ((sent.control, sent.mode), done)
        }

        /// To the first cycle in which homing is started.
        fn started(homed_bit: Option<u8>) -> Self {
            let mut x = Self::new(homed_bit);
            for (status, mode) in [(0x0240, 8), (0x0240, 8), (0x0221, 8), (0x0223, 6)] {
                let _ = x.at(&HOME, status, mode);
            }
            assert_eq!(x.step(&HOME, 0x0627, 6).0, (0x0F, 6));
            assert_eq!(x.step(&HOME, 0x0627, 6), ((0x1F, 6), Err(RigFault::Homing)));
            x
        }
    }

    #[test]
    fn the_whole_sequence_word_by_word() {
        let homing = Err(RigFault::Homing);
        let mut x = Exchange::new(None);
        // Nothing is known of it yet; without a wish it is just not homed.
        assert_eq!(
            x.step(&DriveCommand::OFF, 0x0240, 8),
            ((0, 8), Err(RigFault::NotHomed))
        );
        // The wish counts in the very cycle in which it is said.
        for (answer, sent) in [
            ((0x0240, 8), (0x06, 6)),
            ((0x0221, 8), (0x06, 6)),
            ((0x0223, 8), (0x07, 6)),
            // Not enabled before it shows the mode.
            ((0x0223, 8), (0x07, 6)),
            ((0x0223, 6), (0x07, 6)),
            ((0x0627, 6), (0x0F, 6)),
            // The start is an edge: it was not set while the drive was being enabled.
            ((0x0627, 6), (0x1F, 6)),
            ((0x0227, 6), (0x1F, 6)),
            ((0x0227, 6), (0x1F, 6)),
            // Attained, but still moving.
            ((0x1227, 6), (0x1F, 6)),
            ((0x1627, 6), (0x1F, 6)),
            // No voltage; the mode stays until power is gone.
            ((0x1627, 6), (0x00, 6)),
        ] {
            assert_eq!(x.step(&HOME, answer.0, answer.1), (sent, homing));
        }
        assert_eq!(x.step(&HOME, 0x1640, 6), ((0x00, 6), Ok(())));
        // It is homed: the same wish again changes nothing.
        for _ in 0..3 {
            assert_eq!(x.step(&HOME, 0x0240, 8), ((0x00, 8), Ok(())));
        }
        // And now it is enabled as ever, in its own mode only.
        assert_eq!(x.step(&ON, 0x0221, 6).0, (0x06, 8));
        assert_eq!(x.step(&ON, 0x0223, 6).0, (0x07, 8));
        assert_eq!(x.step(&ON, 0x0223, 8).0, (0x07, 8));
        assert_eq!(x.step(&ON, 0x1227, 8).0, (0x0F, 8));
        // A drive that goes into the homing mode by itself is braked.
        let _ = x.step(&ON, 0x1627, 6);
        assert_eq!(x.step(&ON, 0x1627, 6).0, (0x02, 8));
    }

    #[test]
    fn nothing_else_enables_a_drive_that_is_not_homed() {
        let mut x = Exchange::new(None);
        for status in [0x0240, 0x0221, 0x0223, 0x1227, 0x0240] {
            let (sent, done) = x.at(&ON, status, 8);
            assert!(matches!(sent.control, 0 | 0x02), "{sent:?}");
            assert_eq!((sent.mode, done), (8, Err(RigFault::NotHomed)));
        }
        // Told to be on and to home at once, it does neither.
        let both = DriveCommand { home: true, ..ON };
        let (sent, done) = x.at(&both, 0x0240, 8);
        assert_eq!((sent.control, done), (0, Err(RigFault::NotHomed)));
    }

    #[test]
    fn a_wish_that_is_withdrawn_stops_it_in_the_same_cycle() {
        let not_homed = Err(RigFault::NotHomed);
        let mut x = Exchange::started(None);
        let _ = x.step(&HOME, 0x0227, 6);
        assert_eq!(
            x.step(&DriveCommand::OFF, 0x0227, 6),
            ((0x02, 6), not_homed)
        );
        // Whoever wants it on now has to wait until its power is gone.
        assert_eq!(x.step(&ON, 0x0207, 6), ((0x02, 6), not_homed));
        assert_eq!(
            x.step(&DriveCommand::OFF, 0x0207, 6),
            ((0x02, 6), not_homed)
        );
        assert_eq!(
            x.step(&DriveCommand::OFF, 0x0240, 6),
            ((0x02, 6), not_homed)
        );
        assert_eq!(x.step(&DriveCommand::OFF, 0x0240, 8), ((0, 8), not_homed));
        // It can be tried again.
        assert_eq!(x.step(&HOME, 0x0240, 8), ((0x06, 6), Err(RigFault::Homing)));
    }

    #[test]
    fn a_lost_cycle_stops_it_and_it_does_not_begin_by_itself_again() {
        let mut x = Exchange::started(None);
        x.drive.miss();
        let not_homed = Err(RigFault::NotHomed);
        assert_eq!(x.step(&HOME, 0x0227, 6), ((0x02, 6), not_homed));
        assert_eq!(x.step(&HOME, 0x0240, 6), ((0x02, 6), not_homed));
        assert_eq!(x.step(&HOME, 0x0240, 8), ((0, 8), not_homed));
        // A new set-up does not begin it either.
        let mut x = Exchange::started(None);
        x.drive.forget();
        assert_eq!(x.at(&HOME, 0x0240, 8).1, not_homed);
        assert_eq!(x.step(&HOME, 0x0240, 8), ((0, 8), not_homed));
    }

    #[test]
    fn failures_switch_it_off_and_say_why() {
        let failed = |status| Err(RigFault::HomingFailed { status });
        // An error of its homing, still moving; then at rest.
        for status in [0x2227, 0x2627] {
            let mut x = Exchange::started(None);
            let _ = x.step(&HOME, 0x0227, 6);
            assert_eq!(x.step(&HOME, status, 6), ((0x1F, 6), failed(status)));
            assert_eq!(x.step(&HOME, 0x0207, 6), ((0x02, 6), failed(status)));
            let _ = x.step(&HOME, 0x0240, 6);
            assert_eq!(
                x.step(&DriveCommand::OFF, 0x0240, 8),
                ((0, 8), failed(status))
            );
            // The next attempt starts with a clean slate, whatever the drive still shows of the last.
            for (status, mode) in [(0x0240, 8), (0x0221, 6), (0x0223, 6), (status, 6)] {
                assert_eq!(x.step(&HOME, status, mode).1, Err(RigFault::Homing));
            }
            assert_eq!(x.step(&HOME, status, 6), ((0x1F, 6), Err(RigFault::Homing)));
            let _ = x.step(&HOME, 0x0227, 6);
            assert_eq!(x.step(&HOME, 0x1627, 6).1, Err(RigFault::Homing));
            let _ = x.step(&HOME, 0x1640, 6);
            assert_eq!(x.step(&HOME, 0x0240, 8).1, Ok(()));
        }
        // It leaves by itself, or leaves the mode.
        for (status, mode) in [(0x0240, 6), (0x0207, 6), (0x0227, 8)] {
            let mut x = Exchange::started(None);
            let _ = x.step(&HOME, 0x0227, 6);
            assert_eq!(x.step(&HOME, status, mode).1, failed(status));
        }
        // An error of the drive.
        let mut x = Exchange::started(None);
        assert_eq!(
            x.step(&HOME, 0x2208, 6).1,
            Err(RigFault::DriveFault { code: 0x2310 })
        );
        assert_eq!(x.step(&DriveCommand::OFF, 0x0208, 6).0.0, 0);
        assert_eq!(
            x.step(&DriveCommand::OFF, 0x0240, 8).1,
            Err(RigFault::NotHomed)
        );
    }

    #[test]
    fn times_run_out() {
        let count = |x: &mut Exchange, status, mode| {
            let mut n = 0;
            while x.at(&HOME, status, mode).1 == Err(RigFault::Homing) {
                n += 1;
                assert!(n < 10_000);
            }
            (n, x.at(&HOME, status, mode))
        };
        // 2 s, of which the cycle of the start is the first ms.
        let mut x = Exchange::started(None);
        let (n, (sent, done)) = count(&mut x, 0x0227, 6);
        assert_eq!((n, sent.control), (2000, 0x02));
        assert_eq!(done, Err(RigFault::HomingFailed { status: 0x0227 }));
        // Never begun: idle since the start, for 100 ms.
        let mut x = Exchange::started(None);
        let (n, (sent, done)) = count(&mut x, 0x0627, 6);
        assert_eq!((n, sent.control), (100, 0x02));
        assert_eq!(done, Err(RigFault::HomingFailed { status: 0x0627 }));
        // Never enabled: 100 ms.
        let mut x = Exchange::new(None);
        let _ = x.at(&DriveCommand::OFF, 0x0240, 8);
        let (n, (sent, done)) = count(&mut x, 0x0240, 8);
        assert_eq!((n, sent.control), (101, 0));
        assert_eq!(done, Err(RigFault::HomingFailed { status: 0x0240 }));
    }

    #[test]
    fn what_was_attained_before_the_start_does_not_count() {
        let mut x = Exchange::new(None);
        for (status, mode) in [(0x0240, 8), (0x1640, 6), (0x1621, 6), (0x1623, 6)] {
            let _ = x.at(&HOME, status, mode);
        }
        // Enabled, and the drive still shows an earlier homing: not homed by that, for some cycles.
        for _ in 0..10 {
            let _ = x.at(&HOME, 0x1627, 6);
        }
        assert_eq!(x.at(&HOME, 0x0227, 6).0.control, 0x1F, "still at it");
        let _ = x.at(&HOME, 0x1627, 6);
        assert_eq!(x.at(&HOME, 0x1627, 6).0.control, 0, "that one counts");
    }

    #[test]
    fn a_bit_of_the_drive_is_believed() {
        let mut x = Exchange::new(Some(14));
        assert_eq!(x.step(&HOME, 0x4240, 8), ((0, 8), Ok(())));
        assert_eq!(x.step(&HOME, 0x4240, 8), ((0, 8), Ok(())), "homed already");
        x.drive.forget();
        assert_eq!(x.at(&HOME, 0x4240, 8).1, Ok(()), "a new set-up is no news");
        x.step(&ON, 0x5227, 8).1.unwrap();
        assert_eq!(x.step(&ON, 0x1227, 8).1, Err(RigFault::NotHomed));
        assert_eq!(x.step(&ON, 0x1227, 8).0, (0x02, 8));
    }
}
