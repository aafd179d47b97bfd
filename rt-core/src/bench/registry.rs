//! All benches by name: what a session file may choose from.

use super::{Bench, BenchSpec, profile};
use crate::file::{FieldError, FileError};
use serde::Deserialize;
use std::path::Path;

/// The bench of a session with its own settings. One variant a bench.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum BenchConfig {
    /// Plays a height profile on the motor without force feedback.
    Profile(profile::ProfileConfig),
}

/// Why a bench could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A setting makes no sense.
    #[error("bench.{0}")]
    Field(#[from] FieldError),
    /// A file that the bench needs cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

static SPECS: [&BenchSpec; 1] = [&profile::SPEC];

/// The declarations of all benches.
pub fn specs() -> &'static [&'static BenchSpec] {
    &SPECS
}

impl BenchConfig {
    /// The chosen bench's declaration.
    pub fn spec(&self) -> &'static BenchSpec {
        match self {
            BenchConfig::Profile(_) => &profile::SPEC,
        }
    }

    /// Builds the bench for a period in seconds; files are found relative to `base`.
    pub fn build(&self, base: &Path, period_s: f64) -> Result<Box<dyn Bench>, BuildError> {
        match self {
            BenchConfig::Profile(config) => Ok(Box::new(profile::ProfileBench::build(
                config, base, period_s,
            )?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::{MAX_PARAMS, Scale};
    use std::collections::BTreeSet;

    #[test]
    fn every_declaration_is_complete_and_consistent() {
        let mut ids = BTreeSet::new();
        for spec in specs() {
            assert!(ids.insert(spec.id), "two benches are called {}", spec.id);
            assert!(spec.period_s > 0.0 && !spec.title.is_empty());
            assert!(spec.params.len() <= MAX_PARAMS);
            let mut names = BTreeSet::new();
            for c in spec.channels {
                assert!(names.insert(c.id), "two channels are called {}", c.id);
                assert!(!c.label.is_empty());
            }
            let mut names = BTreeSet::new();
            for p in spec.params {
                assert!(names.insert(p.id), "two parameters are called {}", p.id);
                assert!(
                    p.check(p.default).is_ok(),
                    "default of {} is out of range",
                    p.id
                );
                assert!(!p.help.is_empty() && !p.label.is_empty());
                assert!(
                    p.scale == Scale::Linear || p.min > 0.0,
                    "{} needs a positive range",
                    p.id
                );
                assert!(p.slew_per_s.is_none_or(|s| s > 0.0));
            }
        }
    }
}
