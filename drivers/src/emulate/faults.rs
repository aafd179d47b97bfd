//! Faults that emulated devices show: switched by hand, or at times that were planned.

use rt_core::file::FieldError;
use rt_core::pacing::{Clock, NANOS_PER_SECOND, RealClock};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What can go wrong with an emulated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkFault {
    /// Answers, lines or frames are not sent.
    Lost,
    /// Answers come some cycles late.
    Late,
    /// Each is sent twice.
    Duplicate,
    /// Each ends too early.
    Truncated,
    /// Rubbish is sent in place of each.
    Garbage,
    /// Checksums are wrong.
    WrongChecksum,
    /// Somebody else sends, too.
    Foreign,
    /// The values stand still although everything else goes on.
    Stuck,
    /// The drive has an error.
    DriveError,
    /// The drive does not take references.
    IgnoreReferences,
    /// The drive switches off by itself, without an error.
    Disabled,
    /// The device has no power.
    PowerLoss,
    /// The cable is out.
    Unplugged,
    /// A device of a segment sends an emergency message.
    Emergency,
    /// A device of a segment hears no outputs: its watchdog fires.
    Watchdog,
    /// The last device of a segment is gone.
    DropOut,
    /// A device of a segment refuses to go to OP.
    RefuseOp,
    /// A device of a segment is another product.
    WrongDevice,
    /// All safety circuits are open.
    OpenCircuits,
    /// The drive's home switch is not where it should be.
    NoHomeSwitch,
}

impl LinkFault {
    /// All of them.
    pub const ALL: [LinkFault; 20] = [
        LinkFault::Lost,
        LinkFault::Late,
        LinkFault::Duplicate,
        LinkFault::Truncated,
        LinkFault::Garbage,
        LinkFault::WrongChecksum,
        LinkFault::Foreign,
        LinkFault::Stuck,
        LinkFault::DriveError,
        LinkFault::IgnoreReferences,
        LinkFault::Disabled,
        LinkFault::PowerLoss,
        LinkFault::Unplugged,
        LinkFault::Emergency,
        LinkFault::Watchdog,
        LinkFault::DropOut,
        LinkFault::RefuseOp,
        LinkFault::WrongDevice,
        LinkFault::OpenCircuits,
        LinkFault::NoHomeSwitch,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LinkFault::Lost => "lost",
            LinkFault::Late => "late",
            LinkFault::Duplicate => "duplicate",
            LinkFault::Truncated => "truncated",
            LinkFault::Garbage => "garbage",
            LinkFault::WrongChecksum => "wrong-checksum",
            LinkFault::Foreign => "foreign",
            LinkFault::Stuck => "stuck",
            LinkFault::DriveError => "drive-error",
            LinkFault::IgnoreReferences => "ignore-references",
            LinkFault::Disabled => "disabled",
            LinkFault::PowerLoss => "power-loss",
            LinkFault::Unplugged => "unplugged",
            LinkFault::Emergency => "emergency",
            LinkFault::Watchdog => "watchdog",
            LinkFault::DropOut => "drop-out",
            LinkFault::RefuseOp => "refuse-op",
            LinkFault::WrongDevice => "wrong-device",
            LinkFault::OpenCircuits => "open-circuits",
            LinkFault::NoHomeSwitch => "no-home-switch",
        }
    }

    fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// A fault that is planned: `bus:fault@from` or `bus:fault@from+seconds`, in s since the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Name of the bus.
    pub bus: String,
    /// What goes wrong there.
    pub fault: LinkFault,
    /// When it begins, in s.
    pub from_s: f64,
    /// How long it lasts, in s.
    pub for_s: f64,
}

impl FromStr for Planned {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Self, FieldError> {
        let wrong = || {
            FieldError::new(
                text,
                "is no fault; expected BUS:FAULT@FROM or BUS:FAULT@FROM+SECONDS, for example drive:lost@5+0.1",
            )
        };
        let (bus, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (name, times) = rest.split_once('@').ok_or_else(wrong)?;
        let fault = LinkFault::ALL.into_iter().find(|f| f.name() == name);
        let fault = fault.ok_or_else(|| {
            let known = LinkFault::ALL.map(LinkFault::name).join(", ");
            FieldError::new(
                text,
                format!("'{name}' is no fault; expected one of: {known}"),
            )
        })?;
        let (from, lasts) = times.split_once('+').unwrap_or((times, "1e9"));
        let number = |text: &str| text.parse().ok().filter(|s: &f64| (0.0..=1e9).contains(s));
        Ok(Self {
            bus: bus.to_owned(),
            fault,
            from_s: number(from).ok_or_else(wrong)?,
            for_s: number(lasts).ok_or_else(wrong)?,
        })
    }
}

/// The faults of one device, shared with whoever switches them.
#[derive(Debug, Default)]
pub struct Board {
    switched: AtomicU64,
    /// Bits, from, to, in ns.
    planned: Vec<(u64, u64, u64)>,
}

impl Board {
    /// The faults that are planned for a bus, from now on.
    pub fn of(bus: &str, planned: &[Planned]) -> Arc<Self> {
        let begin = RealClock.now();
        let nanos = |s: f64| (s * NANOS_PER_SECOND as f64) as u64;
        let own = planned.iter().filter(|p| p.bus == bus);
        Arc::new(Self {
            switched: AtomicU64::new(0),
            planned: own
                .map(|p| {
                    let from = begin + nanos(p.from_s);
                    (p.fault.bit(), from, from + nanos(p.for_s))
                })
                .collect(),
        })
    }

    /// Switches a fault on or off.
    pub fn set(&self, fault: LinkFault, is_on: bool) {
        if is_on {
            self.switched.fetch_or(fault.bit(), Ordering::AcqRel);
        } else {
            self.switched.fetch_and(!fault.bit(), Ordering::AcqRel);
        }
    }

    /// Whether a fault shows now.
    pub fn has(&self, fault: LinkFault) -> bool {
        if self.switched.load(Ordering::Acquire) & fault.bit() != 0 {
            return true;
        }
        let now = if self.planned.is_empty() {
            0
        } else {
            RealClock.now()
        };
        self.planned
            .iter()
            .any(|(bit, from, to)| bit & fault.bit() != 0 && (*from..*to).contains(&now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_faults_are_read_and_nonsense_is_explained() {
        let planned: Planned = "drive:drive-error@5+0.25".parse().unwrap();
        assert_eq!(
            (planned.fault, planned.from_s, planned.for_s),
            (LinkFault::DriveError, 5.0, 0.25)
        );
        let text = "amp:lots@1".parse::<Planned>().unwrap_err().to_string();
        assert!(
            text.contains("lots") && text.contains("wrong-checksum"),
            "{text}"
        );
        for bad in [
            "",
            "drive",
            "drive:lost",
            "drive:lost@x",
            "drive:lost@-1",
            "drive:lost@1+nan",
        ] {
            let text = bad.parse::<Planned>().unwrap_err().to_string();
            assert!(text.contains("BUS:FAULT@FROM"), "{bad}: {text}");
        }
        let board = Board::of(
            "drive",
            &[
                "drive:lost@0".parse().unwrap(),
                "drive:late@900".parse().unwrap(),
            ],
        );
        assert!(board.has(LinkFault::Lost) && !board.has(LinkFault::Late));
        board.set(LinkFault::Stuck, true);
        assert!(board.has(LinkFault::Stuck));
        board.set(LinkFault::Stuck, false);
        assert!(!board.has(LinkFault::Stuck));
    }
}
