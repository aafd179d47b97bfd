//! LinMot drives, whatever they are spoken to over: words, units, and the sequence that switches one on, keeps it
//! supplied with references and notices when it does not follow.
//!
//! No time is read and nothing is sent here: time and answers come in, a [`Telegram`] goes out.

use crate::hardware::bus::DriveCommand;
use crate::hardware::catch_up::CatchUp;
use rt_core::file::{FieldError, require_within};
use rt_core::rig::RigFault;
use rt_core::rig::setting::Setting;

/// Position counts a metre: the drive counts in 0.1 µm.
pub const COUNTS_PER_M: f64 = 1e7;
/// Current counts an ampere: the drive counts in mA.
pub const COUNTS_PER_A: f64 = 1e3;

/// Bits of the control word.
pub mod control {
    /// Power for the motor.
    pub const SWITCH_ON: u16 = 1 << 0;
    /// Everything that has to be set for the drive to run but is not the switch itself: voltage, no quick stop,
    /// operation, no abort, no freeze.
    pub const RELEASED: u16 = 0b11_1110;
    /// A rising edge resets an error.
    pub const ACKNOWLEDGE: u16 = 1 << 7;
}

/// Bits of the status word.
pub mod status {
    /// The motor has power and follows.
    pub const OPERATION_ENABLED: u16 = 1 << 0;
    /// There is an error; the motor has no power.
    pub const ERROR: u16 = 1 << 3;
    /// The position is referenced.
    pub const HOMED: u16 = 1 << 11;
    /// An error that only a restart of the drive removes.
    pub const FATAL_ERROR: u16 = 1 << 12;
    /// The motor is being moved.
    pub const MOTION_ACTIVE: u16 = 1 << 13;
}

/// High byte of the state variable while the drive follows; its low nibble then repeats the command's count.
pub const STATE_OPERATION: u16 = 8;

/// High byte of the state variable while there is an error; its low byte then is the error's code.
pub const STATE_ERROR: u16 = 4;

/// Master and sub identifier of a reference in a stream of positions, in place for the count.
pub const P_STREAM: u16 = 0x0300;

/// What a drive says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveState {
    /// Status word.
    pub status: u16,
    /// State variable.
    pub state_var: u16,
    /// Error code.
    pub error: u16,
}

impl DriveState {
    fn has(&self, bit: u16) -> bool {
        self.status & bit != 0
    }
}

/// What a drive is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telegram {
    /// Control word.
    pub control: u16,
    /// A reference with its count, if one is due.
    pub reference: Option<Reference>,
}

/// One position of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Number of the command, 0 to 15: the drive takes one whose count has changed.
    pub count: u8,
    /// Where to be, in counts.
    pub counts: i32,
}

/// How a drive is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveSettings {
    /// Number of the bus, for faults.
    pub bus: u16,
    /// Where the drive's zero is, in m.
    pub zero_m: f64,
    /// Whether the drive counts the other way.
    pub is_reversed: bool,
    /// Bit of the control word that homes the drive; `None`: a drive that needs no homing.
    pub home_bit: Option<u8>,
    /// A reference is sent with every so many-th telegram.
    pub n_com: u32,
    /// Silence that is a fault, in ns.
    pub timeout_nanos: u64,
    /// How long the drive may take to switch on, in ns.
    pub enable_nanos: u64,
    /// How long the drive may take to home, in ns.
    pub home_nanos: u64,
    /// How fast a reference catches up after switching on, in m/s.
    pub catch_up_m_per_s: f64,
}

/// How long a drive that is told to be off may still say that its motor has power, in ns.
const OFF_NANOS: u64 = 500_000_000;
/// References that may be sent without the drive showing that it takes them. Its count has 4 bits.
const MOST_BEHIND: u8 = 8;
/// The acknowledging bit is up for this long, then down for as long, in ns.
const ACKNOWLEDGE_NANOS: u64 = 100_000_000;

/// The master's side of a drive.
#[derive(Clone, Debug)]
pub struct Master {
    settings: DriveSettings,
    last: Option<DriveState>,
    last_nanos: u64,
    position_m: f64,
    /// Since when the drive is told to be on.
    on_since: Option<u64>,
    is_enabled: bool,
    /// Since when it is told to be off and has power all the same.
    power_since: Option<u64>,
    homing_since: Option<u64>,
    count: u8,
    telegrams: u32,
    /// References sent since the drive is enabled; what its count shows means nothing before some were.
    references: u32,
    catch_up: CatchUp,
    sent_nanos: u64,
}

impl Master {
    /// Before anything was heard of the drive.
    pub fn new(settings: DriveSettings) -> Self {
        Self {
            settings,
            last: None,
            last_nanos: 0,
            position_m: f64::NAN,
            on_since: None,
            is_enabled: false,
            power_since: None,
            homing_since: None,
            count: 0,
            telegrams: 0,
            references: 0,
            catch_up: CatchUp::new(settings.catch_up_m_per_s),
            sent_nanos: 0,
        }
    }

    /// From counts to metres.
    pub fn metres(&self, counts: i32) -> f64 {
        let sign = if self.settings.is_reversed { -1.0 } else { 1.0 };
        self.settings.zero_m + sign * f64::from(counts) / COUNTS_PER_M
    }

    /// From metres to counts.
    pub fn counts(&self, metres: f64) -> i32 {
        let sign = if self.settings.is_reversed { -1.0 } else { 1.0 };
        // The conversion of a float to an integer stops at the ends of its range.
        (sign * (metres - self.settings.zero_m) * COUNTS_PER_M).round() as i32
    }

    /// Takes an answer.
    pub fn answered(&mut self, state: DriveState, counts: i32, now: u64) {
        self.last = Some(state);
        self.last_nanos = now;
        self.position_m = self.metres(counts);
        let is_enabled = state.has(status::OPERATION_ENABLED) && self.on_since.is_some();
        if is_enabled && !self.is_enabled {
            self.catch_up.start(self.position_m);
            self.references = 0;
        }
        self.is_enabled = is_enabled;
    }

    /// Whether the drive has power, as far as is known.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// What to send now.
    pub fn telegram(&mut self, told: &DriveCommand, now: u64) -> Telegram {
        let state = self.last.unwrap_or_default();
        let dt_s = now.saturating_sub(self.sent_nanos) as f64 * 1e-9;
        self.sent_nanos = now;
        let mut word = control::RELEASED;
        self.homing_since = (told.home && !told.is_on).then(|| self.homing_since.unwrap_or(now));
        if told.is_on {
            self.on_since.get_or_insert(now);
            word |= control::SWITCH_ON;
        } else {
            self.on_since = None;
            self.is_enabled = false;
            self.references = 0;
            if let (Some(_), Some(bit)) = (self.homing_since, self.settings.home_bit) {
                word |= control::SWITCH_ON | 1 << bit;
            } else if told.may_reset
                && state.has(status::ERROR)
                && (now / ACKNOWLEDGE_NANOS).is_multiple_of(2)
            {
                word |= control::ACKNOWLEDGE;
            }
        }
        let keeps_power = word & control::SWITCH_ON == 0 && state.has(status::OPERATION_ENABLED);
        self.power_since = keeps_power.then(|| self.power_since.unwrap_or(now));
        let is_due = self.telegrams.is_multiple_of(self.settings.n_com.max(1));
        self.telegrams = self.telegrams.wrapping_add(1);
        let reference = (told.is_on && self.is_enabled).then(|| {
            let sent_m = self.catch_up.toward(told.position_m, dt_s);
            self.counts(sent_m)
        });
        let reference = reference.filter(|_| is_due).map(|counts| {
            self.count = (self.count + 1) & 0xF;
            self.references = self.references.saturating_add(1);
            Reference {
                count: self.count,
                counts,
            }
        });
        Telegram {
            control: word,
            reference,
        }
    }

    /// Whether all is well, by the last answer and its age.
    pub fn verdict(&self, now: u64) -> Result<(), RigFault> {
        let Some(state) = self.last else {
            return Err(RigFault::Connecting {
                bus: self.settings.bus,
            });
        };
        let silent = now.saturating_sub(self.last_nanos);
        if silent > self.settings.timeout_nanos {
            return Err(RigFault::Timeout {
                bus: self.settings.bus,
                silent_us: micros(silent),
                limit_us: micros(self.settings.timeout_nanos),
            });
        }
        let kept = self
            .power_since
            .map_or(0, |since| now.saturating_sub(since));
        if kept > OFF_NANOS && state.has(status::OPERATION_ENABLED) {
            return Err(RigFault::DriveKeepsPower {
                status: state.status,
                for_us: micros(kept),
                limit_us: micros(OFF_NANOS),
            });
        }
        if state.has(status::ERROR) || state.has(status::FATAL_ERROR) {
            return Err(RigFault::DriveFault { code: state.error });
        }
        if let Some(since) = self.homing_since {
            let too_long = now.saturating_sub(since) > self.settings.home_nanos;
            if !state.has(status::HOMED) && too_long {
                return Err(RigFault::NotHomed);
            }
            if !state.has(status::HOMED) || state.has(status::MOTION_ACTIVE) {
                return Err(RigFault::Homing);
            }
        }
        if self.settings.home_bit.is_some() && !state.has(status::HOMED) {
            return Err(RigFault::NotHomed);
        }
        if let Some(since) = self.on_since {
            let has_been_enabled = self.references > 0;
            let too_long = now.saturating_sub(since) > self.settings.enable_nanos;
            if !self.is_enabled && (has_been_enabled || too_long) {
                return Err(RigFault::DriveNotEnabled {
                    status: state.status,
                });
            }
        }
        let echoes = self.is_enabled && state.state_var >> 8 == STATE_OPERATION;
        let echo = (state.state_var & 0xF) as u8;
        let behind = self.count.wrapping_sub(echo) & 0xF;
        if echoes && self.references > u32::from(MOST_BEHIND) && behind > MOST_BEHIND {
            return Err(RigFault::Sequence {
                bus: self.settings.bus,
                expected: u32::from(self.count),
                got: u32::from(echo),
            });
        }
        Ok(())
    }

    /// Whether the drive has been homed, or needs no homing.
    pub fn is_homed(&self) -> bool {
        self.settings.home_bit.is_none() || self.last.is_some_and(|s| s.has(status::HOMED))
    }
}

fn micros(nanos: u64) -> u32 {
    u32::try_from(nanos / 1000).unwrap_or(u32::MAX)
}

/// Refuses times that no drive has.
pub(crate) fn require_own_timeout(stated_s: Option<f64>) -> Result<(), FieldError> {
    stated_s.map_or(Ok(()), |s| {
        require_within("drive_timeout_s", s, 0.002, 10.0, "s")
    })
}

/// The one setting by which such a drive does something alone: when nobody speaks to it any more.
pub(crate) fn own_timeout(stated_s: Option<f64>, protocol: &str) -> Setting {
    let note = match stated_s {
        Some(_) => format!("{protocol} cannot read it: compare it with the drive's own tool"),
        None => "not stated: look it up with the drive's own tool and write drive_timeout_s".into(),
    };
    Setting {
        object: "drive_timeout_s".into(),
        name: "motor off after silence",
        demanded: stated_s.map(|s| (1e3 * s).round() as i64),
        read_back: None,
        unit: "ms",
        agrees: None,
        note: Some(note),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn master() -> Master {
        Master::new(DriveSettings {
            bus: 1,
            zero_m: 0.0,
            is_reversed: false,
            home_bit: None,
            n_com: 1,
            timeout_nanos: 100 * MS,
            enable_nanos: 1000 * MS,
            home_nanos: 1000 * MS,
            catch_up_m_per_s: 0.1,
        })
    }

    /// One exchange, in which the drive answers with a status word.
    fn exchange(
        master: &mut Master,
        told: &DriveCommand,
        word: u16,
        ms: u64,
    ) -> (u16, Result<(), RigFault>) {
        let said = DriveState {
            status: word,
            ..DriveState::default()
        };
        master.answered(said, 0, ms * MS);
        let sent = master.telegram(told, ms * MS).control;
        (sent, master.verdict(ms * MS))
    }

    #[test]
    fn a_drive_that_keeps_its_power_is_a_fault_for_as_long_as_it_does() {
        let mut drive = master();
        let on = DriveCommand {
            is_on: true,
            position_m: 0.0,
            ..DriveCommand::OFF
        };
        for ms in (0..1000).step_by(2) {
            exchange(&mut drive, &on, status::OPERATION_ENABLED, ms)
                .1
                .unwrap();
        }
        let mut first = None;
        for ms in (1000..3000).step_by(2) {
            let (_, done) = exchange(
                &mut drive,
                &DriveCommand::OFF,
                status::OPERATION_ENABLED,
                ms,
            );
            if let Err(RigFault::DriveKeepsPower { limit_us, .. }) = done {
                assert_eq!(limit_us, 500_000);
                first.get_or_insert(ms);
            } else {
                assert!(first.is_none(), "it is said as long as it lasts: {ms}");
            }
        }
        assert_eq!(first, Some(1502));
        exchange(&mut drive, &DriveCommand::OFF, 0, 3000).1.unwrap();
    }

    #[test]
    fn an_error_is_reset_by_an_edge_and_only_when_somebody_asks() {
        let mut drive = master();
        let asked = DriveCommand {
            may_reset: true,
            ..DriveCommand::OFF
        };
        let mut edges = |told: &DriveCommand, span: std::ops::Range<u64>| {
            let sent: Vec<u16> = span
                .step_by(2)
                .map(|ms| exchange(&mut drive, told, status::ERROR, ms).0 & control::ACKNOWLEDGE)
                .collect();
            sent.windows(2).filter(|w| w[0] == 0 && w[1] != 0).count()
        };
        // The program starts on a drive with an error: it waits for a person.
        assert_eq!(edges(&DriveCommand::OFF, 0..2000), 0);
        assert!(edges(&asked, 2000..4000) >= 9);
        assert_eq!(edges(&DriveCommand::OFF, 4000..5000), 0);
    }

    #[test]
    fn what_cannot_be_read_is_said_to_be_so() {
        let stated = own_timeout(Some(0.05), "LinUDP");
        assert_eq!((stated.demanded, stated.agrees), (Some(50), None));
        assert!(
            stated.describe().contains("not confirmed"),
            "{}",
            stated.describe()
        );
        assert!(own_timeout(None, "LinRS").describe().contains("not stated"));
        assert!(require_own_timeout(Some(0.001)).is_err());
        assert!(require_own_timeout(Some(f64::NAN)).is_err());
        assert!(require_own_timeout(None).is_ok());
    }
}
