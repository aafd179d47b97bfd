//! Why a record cannot be analysed: what was found, what was expected, what to do.

use super::butterworth::DesignError;
use super::error_index::ErrorIndexFault;
use super::filter::TooShort;

/// Why an analysis has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnalysisError {
    /// The filter cannot be designed.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// No stretch of the record is long enough for the filter.
    #[error(transparent)]
    Filter(#[from] TooShort),
    /// Two records cannot be compared.
    #[error(transparent)]
    Index(#[from] ErrorIndexFault),
    /// Samples cannot be paired.
    #[error("{what} has {found} samples, {other} has {expected}; expected the same number")]
    Length {
        /// The record in question.
        what: &'static str,
        /// Its samples.
        found: usize,
        /// What it has to fit to.
        other: &'static str,
        /// The samples of that.
        expected: usize,
    },
    /// There are not enough samples.
    #[error("{what}: {found}; expected at least {needed}: {remedy}")]
    TooFew {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// A sample that must be known is not, or does not fit to its neighbours.
    #[error("{what} {index} is {value}; expected {expected}")]
    Sample {
        /// What the sample is.
        what: &'static str,
        /// Its index, counted from 0.
        index: usize,
        /// What was found.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// A signal without variance has no spectrum to relate to another, and no lag.
    #[error(
        "{what} stays at {value}; expected a signal that varies: choose another stretch or channel"
    )]
    Constant {
        /// The signal in question.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A setting is out of its range.
    #[error("{what} is {value}; expected {expected}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        expected: String,
    },
}

/// Refuses a sample rate that is no frequency.
pub(crate) fn check_rate(sample_rate_hz: f64) -> Result<(), AnalysisError> {
    if sample_rate_hz > 0.0 && sample_rate_hz.is_finite() {
        return Ok(());
    }
    Err(DesignError::SampleRate {
        rate_hz: sample_rate_hz,
    }
    .into())
}

/// Refuses two records whose samples cannot be paired.
pub(crate) fn check_lengths(
    (what, found): (&'static str, usize),
    (other, expected): (&'static str, usize),
) -> Result<(), AnalysisError> {
    if found == expected {
        return Ok(());
    }
    Err(AnalysisError::Length {
        what,
        found,
        other,
        expected,
    })
}
