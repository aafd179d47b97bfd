//! What is measured, computed and commanded: channel specifications and the frame that carries one
//! sample of all of them across threads.

use crate::guard::{Drive, Loosened, PowerOff, State};

/// The most channels that one frame can hold.
pub const MAX_CHANNELS: usize = 128;

/// Where a channel's value comes from. Each channel has exactly one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read from the rig.
    Measured,
    /// Computed by the bench or the loop.
    Computed,
    /// Proposed by the bench, made safe by the guard, followed by the rig.
    Command,
}

impl Role {
    /// The name used in files and machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Role::Measured => "measured",
            Role::Computed => "computed",
            Role::Command => "command",
        }
    }
}

/// One channel, declared once; the window, the recording, the command line, limits and replay read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelSpec {
    /// Stable name in files, scripts and output.
    pub id: &'static str,
    /// What a person reads; may change.
    pub label: &'static str,
    /// SI unit, or the unit shown where the identifier ends in one (`loop.wake_us`).
    pub unit: &'static str,
    /// Who writes it.
    pub role: Role,
}

impl ChannelSpec {
    /// A channel that the rig writes.
    pub const fn measured(id: &'static str, label: &'static str, unit: &'static str) -> Self {
        Self {
            id,
            label,
            unit,
            role: Role::Measured,
        }
    }

    /// A channel that the bench or the loop computes.
    pub const fn computed(id: &'static str, label: &'static str, unit: &'static str) -> Self {
        Self {
            id,
            label,
            unit,
            role: Role::Computed,
        }
    }

    /// A channel that the rig follows.
    pub const fn command(id: &'static str, label: &'static str, unit: &'static str) -> Self {
        Self {
            id,
            label,
            unit,
            role: Role::Command,
        }
    }
}

/// One sample of every channel. The only sample that crosses threads.
///
/// `seq` counts ticks of the period since the loop started, so a skipped tick is a visible gap.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Tick number.
    pub seq: u64,
    /// Time of the tick since the loop started, in nanoseconds.
    pub t_nanos: u64,
    /// State of the bench when the frame was published.
    pub state: State,
    /// Whether the actuators are powered.
    pub drive: Drive,
    /// While they are not to be: how their power is taken away.
    pub power_off: PowerOff,
    /// One value a column of the [`Layout`]; columns without a value hold NaN.
    pub values: [f64; MAX_CHANNELS],
}

impl Frame {
    /// A frame before the first exchange: idle, unpowered, no value known.
    pub fn empty() -> Self {
        Self {
            seq: 0,
            t_nanos: 0,
            state: State::Idle,
            drive: Drive::Off,
            power_off: PowerOff::Cut,
            values: [f64::NAN; MAX_CHANNELS],
        }
    }

    /// Time since the loop started, in seconds.
    pub fn t_s(&self) -> f64 {
        self.t_nanos as f64 * 1e-9
    }
}

/// Which column of a [`Frame`] holds which channel: the bench's own columns first and in the order
/// of its specification, then the rig's further measurements, then the loop's.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    channels: Vec<ChannelSpec>,
}

/// Why channels do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// The bench needs what the rig does not measure.
    #[error(
        "the bench needs the measured channel '{channel}' [{unit}], which the rig '{rig}' does not \
         provide; it provides: {provided}"
    )]
    NotMeasured {
        /// The missing channel.
        channel: &'static str,
        /// Its unit.
        unit: &'static str,
        /// The rig's name.
        rig: String,
        /// What the rig does provide.
        provided: String,
    },
    /// The bench commands what the rig cannot follow.
    #[error(
        "the bench commands '{channel}', but the rig '{rig}' has no actuator for it; it has: {provided}"
    )]
    NoActuator {
        /// The command channel.
        channel: &'static str,
        /// The rig's name.
        rig: String,
        /// The rig's actuators.
        provided: String,
    },
    /// Two sides use one name for different things.
    #[error("channel '{channel}' is [{expected}] on the bench but [{found}] on the rig")]
    UnitMismatch {
        /// The channel.
        channel: &'static str,
        /// The bench's unit.
        expected: &'static str,
        /// The rig's unit.
        found: &'static str,
    },
    /// Two writers for one channel.
    #[error("channel '{0}' is declared twice; each channel has exactly one writer")]
    Duplicate(&'static str),
    /// More channels than a frame holds.
    #[error("{count} channels are declared; a frame holds at most {MAX_CHANNELS}")]
    TooMany {
        /// How many were declared.
        count: usize,
    },
    /// A session would loosen what its rig states.
    #[error(transparent)]
    Loosened(Box<Loosened>),
    /// A session lets more deadlines be missed than its rig.
    #[error(
        "the session's max_misses: {session} would loosen the rig's ({rig} deadlines in a row): a session may only tighten \
         what its rig file states. Lower it; what the rig allows is 'safety.max_misses' in its file"
    )]
    TooManyMisses {
        /// What the session states.
        session: u32,
        /// What the rig allows.
        rig: u32,
    },
    /// A name that no channel has.
    #[error("there is no channel '{name}'; channels: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
}

impl Layout {
    /// Appends channels, refusing a second writer for any of them.
    pub fn append(&mut self, channels: &[ChannelSpec]) -> Result<(), LayoutError> {
        for c in channels {
            if self.find(c.id).is_some() {
                return Err(LayoutError::Duplicate(c.id));
            }
            self.channels.push(*c);
        }
        if self.channels.len() > MAX_CHANNELS {
            return Err(LayoutError::TooMany {
                count: self.channels.len(),
            });
        }
        Ok(())
    }

    /// All channels, in the order of their columns.
    pub fn channels(&self) -> &[ChannelSpec] {
        &self.channels
    }

    /// The number of columns in use.
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// Whether no channel is declared.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// The column of a channel, if it exists.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.channels.iter().position(|c| c.id == id)
    }

    /// The column of a channel that has to exist.
    pub fn column(&self, id: &str) -> Result<usize, LayoutError> {
        self.find(id).ok_or_else(|| LayoutError::Unknown {
            name: id.to_owned(),
            known: self
                .channels
                .iter()
                .map(|c| c.id)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORCE: ChannelSpec = ChannelSpec::measured("force", "Contact force", "N");

    #[test]
    fn a_channel_has_one_writer() {
        let mut layout = Layout::default();
        layout.append(&[FORCE]).unwrap();
        assert_eq!(
            layout.append(&[FORCE]),
            Err(LayoutError::Duplicate("force"))
        );
    }

    #[test]
    fn an_unknown_channel_is_named_with_the_known_ones() {
        let mut layout = Layout::default();
        layout.append(&[FORCE]).unwrap();
        let text = layout.column("farce").unwrap_err().to_string();
        assert!(text.contains("farce") && text.contains("force"), "{text}");
    }

    #[test]
    fn more_channels_than_a_frame_holds_are_refused() {
        let many: Vec<ChannelSpec> = (0..=MAX_CHANNELS)
            .map(|i| ChannelSpec::computed(Box::leak(format!("c{i}").into_boxed_str()), "", ""))
            .collect();
        assert_eq!(
            Layout::default().append(&many),
            Err(LayoutError::TooMany { count: 129 })
        );
    }
}
