//! Limits on channels: as files and benches state them, and as the guard has them in force.

use super::authority::Owner;
use crate::fault::Action;
use crate::file::FieldError;
use serde::Deserialize;

/// A limit on any channel, with the one action that it causes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The channel's identifier.
    pub channel: String,
    /// Lowest allowed value.
    pub low: f64,
    /// Highest allowed value.
    pub high: f64,
    /// For how many cycles in a row it must be broken; 1 acts at once.
    pub for_cycles: u32,
    /// What is done then.
    pub action: Action,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            low,
            high,
            for_cycles,
            action,
            ..
        } = self;
        write!(f, "{low} to {high}, for {for_cycles} cycle(s), {action:?}")
    }
}

impl Limit {
    /// Refuses limits that nothing or everything breaks.
    pub fn check(&self) -> Result<(), FieldError> {
        if self.low < self.high {
            if self.for_cycles > 0 {
                return Ok(());
            }
            return Err(FieldError::new(
                "for_cycles",
                "is 0; expected at least 1, which acts at once",
            ));
        }
        let problem = format!("is {} to {}; expected low below high", self.low, self.high);
        Err(FieldError::new(format!("'{}'", self.channel), problem))
    }
}

/// A limit that a bench declares for one of its channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitSpec {
    /// The channel's identifier.
    pub channel: &'static str,
    /// Lowest allowed value.
    pub low: f64,
    /// Highest allowed value.
    pub high: f64,
    /// For how many cycles in a row it must be broken; 1 acts at once.
    pub for_cycles: u32,
    /// What is done then.
    pub action: Action,
}

impl From<&LimitSpec> for Limit {
    fn from(spec: &LimitSpec) -> Self {
        Self {
            channel: spec.channel.into(),
            low: spec.low,
            high: spec.high,
            for_cycles: spec.for_cycles,
            action: spec.action,
        }
    }
}

/// A limit in force, by the column that it watches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveLimit {
    /// The column.
    pub column: usize,
    /// Lowest allowed value.
    pub low: f64,
    /// Highest allowed value.
    pub high: f64,
    /// For how many cycles in a row it must be broken.
    pub for_cycles: u32,
    /// What is done then.
    pub action: Action,
    /// Whose it is.
    pub owner: Owner,
    /// Range of the bench's limit in place of which it stands and than which it allows more.
    pub widens: Option<(f64, f64)>,
}
