//! Rig files: which rig stands behind the bench. One variant a kind of rig.

use crate::cells;
use crate::simulated::{self, Injection, SimTime, SimulatedConfig, SimulatedRig};
use rt_core::calibration::store::Library;
use rt_core::file::{self, FieldError, FileContent, FileError};
use rt_core::model::pantograph::Pantograph;
use rt_core::rig::{CellSpec, KnownRig, Rig, RigSpec};
use serde::Deserialize;
use std::path::{Path, PathBuf};

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
            RigFile::Simulated(config) => simulated::rig_spec(config, SimulatedRig::cells(config)),
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
    /// Directory of a person's own calibrations, in addition to the rig file's.
    pub own_calibrations: Option<PathBuf>,
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

/// The load cells of a rig with the calibrations that they use today, and where calibrations were looked for.
pub struct FoundCells {
    /// The cells.
    pub cells: Vec<CellSpec>,
    /// The directories: the rig file's, then the person's own.
    pub directories: Vec<PathBuf>,
    /// All calibrations there.
    pub library: Library,
}

/// Reads which load cells a rig file declares and which calibrations they use.
pub fn find_cells(path: &Path, own_calibrations: Option<&Path>) -> Result<FoundCells, FileError> {
    let RigFile::Simulated(config) = file::load(path)?;
    found_cells(path, &config, own_calibrations)
}

fn found_cells(
    path: &Path,
    config: &SimulatedConfig,
    own: Option<&Path>,
) -> Result<FoundCells, FileError> {
    let mut cells = SimulatedRig::cells(config);
    let shipped = config
        .calibrations
        .iter()
        .map(|dir| base_of(path).join(dir));
    let directories: Vec<PathBuf> = shipped.chain(own.map(Path::to_owned)).collect();
    // Rigs without load cells do not care what lies there.
    let library = if cells.is_empty() {
        Library::default()
    } else {
        Library::read(&directories)
    };
    cells::find_calibrations(&mut cells, &library).map_err(|(cell, e)| FileError::Senseless {
        kind: RigFile::KIND,
        path: path.to_owned(),
        source: FieldError::new(format!("load_cells[{cell}].calibration"), e.to_string()),
    })?;
    Ok(FoundCells {
        cells,
        directories,
        library,
    })
}

/// Reads a rig file and builds the rig; files named in it are found relative to it.
pub fn load_rig(path: &Path, setup: RigSetup<'_>) -> Result<Box<dyn Rig>, FileError> {
    let rig: RigFile = file::load(path)?;
    match rig {
        RigFile::Simulated(mut config) => {
            config.uplift_n = setup.uplift_n.unwrap_or(config.uplift_n);
            let pantograph = file::load(&base_of(path).join(&config.pantograph))?;
            let found = found_cells(path, &config, setup.own_calibrations.as_deref())?;
            Ok(Box::new(SimulatedRig::build(
                &config,
                &pantograph,
                found.cells,
                setup,
            )))
        }
    }
}
