//! When a recording begins and ends by itself: thresholds, events, time before and after.

use crate::channel::Frame;
use crate::file::{FieldError, require_not_negative};
use crate::record::error::RecordError;
use crate::record::schema::RecordedChannel;
use serde::Deserialize;

/// What a value has to do.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Crossing {
    /// Come from below a level to it or above.
    Rising(f64),
    /// Come from above a level to it or below.
    Falling(f64),
    /// Be below `low` or above `high`; holds for as long as it is.
    Outside {
        /// Lower end of the allowed range.
        low: f64,
        /// Upper end of the allowed range.
        high: f64,
    },
}

/// What starts a recording.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Trigger {
    /// A channel does something.
    Channel {
        /// Its identifier.
        id: String,
        /// What it has to do. Columns without a value (NaN) never trigger.
        crossing: Crossing,
    },
    /// An event of a kind.
    Event {
        /// The kind.
        kind: String,
    },
}

/// Triggers, and how much is recorded around them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TriggerSetup {
    /// Any of these starts; none leaves it to a call.
    pub triggers: Vec<Trigger>,
    /// Seconds before the trigger that the recording holds too.
    pub before_s: f64,
    /// Seconds after the last trigger.
    pub after_s: f64,
    /// Whether to wait for the next trigger afterwards.
    pub repeat: bool,
}

/// A trigger of a channel, bound to its column.
#[derive(Clone, Debug)]
struct Watch {
    column: usize,
    crossing: Crossing,
    /// The last value that was a number.
    last: Option<f64>,
    text: String,
}

/// Looks at every frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    watches: Vec<Watch>,
    kinds: Vec<String>,
}

/// What the triggers say about a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Verdict {
    /// What has fired, in words.
    pub fired: Option<String>,
    /// Whether a condition lasts, so that the time afterwards has not begun.
    pub holds: bool,
}

impl TriggerSetup {
    /// Refuses times and levels that make no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        require_not_negative("before_s", self.before_s, "s")?;
        require_not_negative("after_s", self.after_s, "s")?;
        for (i, trigger) in self.triggers.iter().enumerate() {
            let Trigger::Channel { id, crossing } = trigger else {
                continue;
            };
            let is_sound = match *crossing {
                Crossing::Rising(level) | Crossing::Falling(level) => level.is_finite(),
                Crossing::Outside { low, high } => low < high,
            };
            if !is_sound {
                let problem =
                    format!("on '{id}' is {crossing:?}; expected finite levels, low below high");
                return Err(FieldError::new(format!("triggers[{i}].crossing"), problem));
            }
        }
        Ok(())
    }
}

impl Watches {
    pub fn bind(setup: &TriggerSetup, channels: &[RecordedChannel]) -> Result<Self, RecordError> {
        let mut own = Self::default();
        for (i, trigger) in setup.triggers.iter().enumerate() {
            match trigger {
                Trigger::Event { kind } => own.kinds.push(kind.clone()),
                Trigger::Channel { id, crossing } => {
                    let column = crate::record::column_of(channels, id)
                        .map_err(|e| FieldError::new(format!("triggers[{i}].id"), e.to_string()))?;
                    let unit = &channels[column].unit;
                    let text = match crossing {
                        Crossing::Rising(level) => format!("{id} has risen to {level} {unit}"),
                        Crossing::Falling(level) => format!("{id} has fallen to {level} {unit}"),
                        Crossing::Outside { low, high } => {
                            format!("{id} is outside {low} to {high} {unit}")
                        }
                    };
                    own.watches.push(Watch {
                        column,
                        crossing: *crossing,
                        last: None,
                        text,
                    });
                }
            }
        }
        Ok(own)
    }

    pub fn look_at(&mut self, frame: &Frame) -> Verdict {
        let mut verdict = Verdict::default();
        for watch in &mut self.watches {
            let value = frame.values[watch.column];
            if value.is_nan() {
                continue;
            }
            let last = watch.last.replace(value);
            let fires = match watch.crossing {
                Crossing::Rising(level) => last.is_some_and(|l| l < level) && value >= level,
                Crossing::Falling(level) => last.is_some_and(|l| l > level) && value <= level,
                Crossing::Outside { low, high } => {
                    let is_outside = value < low || value > high;
                    verdict.holds |= is_outside;
                    is_outside
                }
            };
            if fires && verdict.fired.is_none() {
                verdict.fired = Some(watch.text.clone());
            }
        }
        verdict
    }

    pub fn is_awaited(&self, kind: &str) -> bool {
        self.kinds.iter().any(|k| k == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Role;
    use crate::record::schema::Precision;

    fn fires(crossing: Crossing, values: &[f64]) -> Vec<bool> {
        let channel = RecordedChannel {
            id: "force".into(),
            label: String::new(),
            unit: "N".into(),
            role: Role::Measured,
            precision: Precision::Exact,
        };
        let setup = TriggerSetup {
            triggers: vec![Trigger::Channel {
                id: "force".into(),
                crossing,
            }],
            ..TriggerSetup::default()
        };
        setup.check().unwrap();
        let mut watches = Watches::bind(&setup, &[channel]).unwrap();
        let look = |v: &f64| {
            let mut frame = Frame::empty();
            frame.values[0] = *v;
            watches.look_at(&frame).fired.is_some()
        };
        values.iter().map(look).collect()
    }

    #[test]
    fn edges_fire_once_and_ranges_as_long_as_they_are_left() {
        let nan = f64::NAN;
        let values = [5.0, 1.0, nan, 2.0, 3.0, 2.5, 2.0, 1.9];
        let rising = fires(Crossing::Rising(2.0), &values);
        assert_eq!(
            rising,
            [false, false, false, true, false, false, false, false]
        );
        let falling = fires(Crossing::Falling(2.0), &values);
        assert_eq!(
            falling,
            [false, true, false, false, false, false, true, false]
        );
        let outside = fires(
            Crossing::Outside {
                low: 2.0,
                high: 2.8,
            },
            &values,
        );
        assert_eq!(
            outside,
            [true, true, false, false, true, false, false, true]
        );
    }

    #[test]
    fn senseless_triggers_are_refused() {
        for crossing in [
            Crossing::Rising(f64::NAN),
            Crossing::Outside {
                low: 2.0,
                high: 2.0,
            },
        ] {
            let setup = TriggerSetup {
                triggers: vec![Trigger::Channel {
                    id: "force".into(),
                    crossing,
                }],
                ..TriggerSetup::default()
            };
            let text = setup.check().unwrap_err().to_string();
            assert!(
                text.contains("force") && text.contains("expected"),
                "{text}"
            );
        }
        let setup = TriggerSetup {
            before_s: -1.0,
            ..TriggerSetup::default()
        };
        assert!(setup.check().unwrap_err().to_string().contains("before_s"));
    }
}
