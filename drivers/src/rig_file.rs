//! Rig files: which rig stands behind the bench. One variant a kind of rig.

use crate::simulated::{self, Injection, SimTime, SimulatedConfig, SimulatedRig};
use rt_core::file::{self, FieldError, FileContent, FileError};
use rt_core::model::pantograph::Pantograph;
use rt_core::rig::{KnownRig, Rig, RigSpec};
use serde::Deserialize;
use std::path::Path;

/// A rig as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum RigFile {
    /// No hardware: a simulated motor and pantograph.
    Simulated(SimulatedConfig),
}

impl FileContent for RigFile {
    const KIND: &'static str = "rig file";

    fn check(&self) -> Result<(), FieldError> {
        match self {
            RigFile::Simulated(config) => config.check(),
        }
    }
}

impl RigFile {
    /// What the rig declares, without building or touching it.
    pub fn spec(&self) -> RigSpec {
        match self {
            RigFile::Simulated(config) => simulated::rig_spec(config),
        }
    }
}

/// What a rig has to know of the run that it is built for.
pub struct RigSetup<'a> {
    /// The loop's period, in nanoseconds.
    pub period_nanos: u64,
    /// Whose time a simulated rig spends when it is late.
    pub time: SimTime,
    /// Faults that a simulated rig is told to show.
    pub injections: &'a [Injection],
    /// Lift of a simulated pantograph in N, in place of the file's.
    pub uplift_n: Option<f64>,
}

/// The pantograph of a simulated rig.
pub fn simulated_pantograph(path: &Path) -> Result<Pantograph, FileError> {
    let RigFile::Simulated(config) = file::load(path)?;
    file::load(&base_of(path).join(&config.pantograph))
}

/// What a rig file says about motor, pad and delays.
pub fn known_rig(path: &Path) -> Result<KnownRig, FileError> {
    let RigFile::Simulated(config) = file::load(path)?;
    Ok(config.known())
}

fn base_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Reads a rig file and builds the rig; files named in it are found relative to it.
pub fn load_rig(path: &Path, setup: RigSetup<'_>) -> Result<Box<dyn Rig>, FileError> {
    let rig: RigFile = file::load(path)?;
    match rig {
        RigFile::Simulated(mut config) => {
            config.uplift_n = setup.uplift_n.unwrap_or(config.uplift_n);
            let pantograph = file::load(&base_of(path).join(&config.pantograph))?;
            Ok(Box::new(SimulatedRig::build(&config, &pantograph, setup)))
        }
    }
}
