//! All benches by name: what a session file may choose from.

use super::{Bench, BenchSpec, Designer, jog, pantograph_lqg, pantograph_steady, profile};
use crate::file::{FieldError, FileError};
use crate::model::catenary::{LineScene, ShapeReader};
use crate::param::ParamSet;
use crate::rig::KnownRig;
use serde::Deserialize;
use std::path::Path;

/// The bench of a session with its own settings. One variant a bench.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum BenchConfig {
    /// Plays a height profile on the motor without force feedback.
    Profile(profile::ProfileConfig),
    /// Moves the motor by hand.
    Jog(jog::JogConfig),
    /// A virtual overhead line under an LQG controller.
    PantographLqg(Box<pantograph_lqg::PantographLqgConfig>),
    /// An endless line, span after span until the force repeats.
    PantographSteady(Box<pantograph_steady::PantographSteadyConfig>),
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
    /// A model or a controller cannot be made of the settings.
    #[error("bench: {0}")]
    Other(String),
}

/// What a bench has to know of the run that it is built for.
pub struct BuildContext<'a> {
    /// Files are found relative to this directory.
    pub base: &'a Path,
    /// The loop's period, in s.
    pub period_s: f64,
    /// The parameters at the start.
    pub params: &'a ParamSet,
    /// Where prepared models are kept.
    pub cache: &'a Path,
    /// What is known of the rig.
    pub rig: Option<&'a KnownRig>,
    /// Hears what a person should know.
    pub notice: &'a mut dyn FnMut(String),
}

/// A bench, who designs its gains, if it has any, and its overhead line, if it has one.
pub struct Built {
    /// The bench.
    pub bench: Box<dyn Bench>,
    /// Turns parameters into gains.
    pub designer: Option<Box<dyn Designer>>,
    /// What can be drawn of its line.
    pub line: Option<LineSight>,
}

/// What can be drawn of a bench's overhead line.
pub struct LineSight {
    /// The line at rest.
    pub scene: LineScene,
    /// Its shape in motion; `None` of a wire that only knows its motion at the contact.
    pub shapes: Option<ShapeReader>,
}

static SPECS: [&BenchSpec; 4] = [
    &profile::SPEC,
    &jog::SPEC,
    &pantograph_lqg::SPEC,
    &pantograph_steady::SPEC,
];

/// The declarations of all benches.
pub fn specs() -> &'static [&'static BenchSpec] {
    &SPECS
}

impl BenchConfig {
    /// The chosen bench's declaration.
    pub fn spec(&self) -> &'static BenchSpec {
        match self {
            BenchConfig::Profile(_) => &profile::SPEC,
            BenchConfig::Jog(_) => &jog::SPEC,
            BenchConfig::PantographLqg(_) => &pantograph_lqg::SPEC,
            BenchConfig::PantographSteady(_) => &pantograph_steady::SPEC,
        }
    }

    /// Values with which parameters begin, where the settings say so; the session's own go before these.
    pub fn start_values(&self) -> Vec<(&'static str, f64)> {
        match self {
            BenchConfig::Profile(_) | BenchConfig::Jog(_) | BenchConfig::PantographSteady(_) => {
                Vec::new()
            }
            BenchConfig::PantographLqg(config) => vec![("controller", config.controller.part())],
        }
    }

    /// Values with which parameters begin because of what is known of the rig; the session's own go before
    /// these.
    pub fn values_from_rig(&self, rig: &KnownRig, period_s: f64) -> Vec<(&'static str, f64)> {
        match self {
            BenchConfig::Profile(_) | BenchConfig::Jog(_) | BenchConfig::PantographLqg(_) => {
                Vec::new()
            }
            BenchConfig::PantographSteady(config) => {
                vec![("n_delta", config.delay_cycles(rig, period_s))]
            }
        }
    }

    /// Builds the bench.
    pub fn build(&self, context: &mut BuildContext<'_>) -> Result<Built, BuildError> {
        Ok(match self {
            BenchConfig::Profile(config) => Built {
                bench: Box::new(profile::ProfileBench::build(
                    config,
                    context.base,
                    context.period_s,
                )?),
                designer: None,
                line: None,
            },
            BenchConfig::Jog(config) => Built {
                bench: Box::new(jog::JogBench::build(config, context.period_s)?),
                designer: None,
                line: None,
            },
            BenchConfig::PantographLqg(config) => {
                let (bench, designer, line) =
                    pantograph_lqg::PantographLqgBench::build(config, context)?;
                Built {
                    bench: Box::new(bench),
                    designer: Some(Box::new(designer)),
                    line: Some(line),
                }
            }
            BenchConfig::PantographSteady(config) => {
                let (bench, designer) =
                    pantograph_steady::PantographSteadyBench::build(config, context)?;
                Built {
                    bench: Box::new(bench),
                    designer: Some(Box::new(designer)),
                    line: None,
                }
            }
        })
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
                assert!(p.choices.is_empty() || p.max == (p.choices.len() - 1) as f64);
            }
            for limit in spec.limits {
                assert!(
                    spec.channels.iter().any(|c| c.id == limit.channel),
                    "{} is limited but not declared",
                    limit.channel
                );
                assert!(crate::guard::Limit::from(limit).check().is_ok());
            }
        }
    }
}
