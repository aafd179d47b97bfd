//! Rig files: which rig stands behind the bench. One variant a kind of rig.

use crate::cells;
use crate::hardware::{HardwareConfig, HardwareError, HardwareRig};
use crate::mounting::MountingConfig;
use crate::protection;
use crate::simulated::{self, Injection, SimTime, SimulatedConfig, SimulatedRig};
use rt_core::calibration::store::Library;
use rt_core::file::{self, FieldError, FileContent, FileError};
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::NANOS_PER_SECOND;
use rt_core::rig::{CellSpec, KnownRig, Rig, RigSpec};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A rig as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum RigFile {
    /// No hardware: a simulated motor and pantograph.
    Simulated(Box<SimulatedConfig>),
    /// Devices on buses and links.
    Hardware(Box<HardwareConfig>),
}

impl FileContent for RigFile {
    const KIND: &'static str = "rig file";

    fn check(&self) -> Result<(), FieldError> {
        match self {
            RigFile::Simulated(config) => config.check(),
            RigFile::Hardware(config) => config.check(),
        }
    }
}

impl RigFile {
    /// What the rig declares, without building or touching it.
    pub fn spec(&self) -> RigSpec {
        match self {
            RigFile::Simulated(config) => simulated::rig_spec(config, SimulatedRig::cells(config)),
            RigFile::Hardware(config) => config.spec(config.cells()),
        }
    }

    /// The same with another lift of the pantograph, in N, where there is one.
    pub fn with_uplift(mut self, uplift_n: Option<f64>) -> Self {
        let own = match &mut self {
            RigFile::Simulated(config) => &mut config.uplift_n,
            RigFile::Hardware(config) => &mut config.uplift_n,
        };
        *own = uplift_n.unwrap_or(*own);
        self
    }

    /// The rig as a simulation: itself, or what is known of the hardware.
    pub fn model(self) -> SimulatedConfig {
        match self {
            RigFile::Simulated(config) => *config,
            RigFile::Hardware(config) => config.model(),
        }
    }

    /// Path of the pantograph's file, relative to the rig file.
    pub fn pantograph(&self) -> &str {
        match self {
            RigFile::Simulated(config) => &config.pantograph,
            RigFile::Hardware(config) => &config.pantograph,
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        match self {
            RigFile::Simulated(config) => &config.name,
            RigFile::Hardware(config) => &config.name,
        }
    }

    /// How its motor is mounted, if its file says so.
    pub fn mounting(&self) -> Option<&MountingConfig> {
        match self {
            RigFile::Simulated(config) => config.mounting.as_ref(),
            RigFile::Hardware(config) => config.mounting.as_ref(),
        }
    }

    /// The load cells without their calibrations, and the directory of these.
    fn cells(&self) -> (Vec<CellSpec>, Option<&String>) {
        match self {
            RigFile::Simulated(config) => {
                (SimulatedRig::cells(config), config.calibrations.as_ref())
            }
            RigFile::Hardware(config) => (config.cells(), config.calibrations.as_ref()),
        }
    }
}

/// Why a rig cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The hardware cannot be set up on this computer.
    #[error("{}: {source}", path.display())]
    Hardware {
        /// The rig file.
        path: PathBuf,
        /// What is wrong.
        source: HardwareError,
    },
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

/// The pantograph that stands in a rig.
pub fn rig_pantograph(path: &Path) -> Result<Pantograph, FileError> {
    let rig: RigFile = file::load(path)?;
    file::load(&base_of(path).join(rig.pantograph()))
}

/// What protects at a rig, hazard by hazard, by its file alone: nothing is contacted. A file that is refused at load still
/// gets its table if it can be parsed.
pub fn protection_of(path: &Path, period_s: f64) -> Result<protection::Table, FileError> {
    let text = std::fs::read_to_string(path).map_err(|source| FileError::Unreadable {
        kind: RigFile::KIND,
        path: path.to_owned(),
        source,
    })?;
    let rig: RigFile = file::parse_unchecked(&text, path)?;
    let pantograph = file::load::<Pantograph>(&base_of(path).join(rig.pantograph()));
    let pantograph = pantograph.as_ref().map_err(|e| e.to_string());
    Ok(protection::Table::of(&rig, pantograph, period_s))
}

/// A rig as a simulation: itself, or what is known of the hardware.
pub fn rig_model(path: &Path) -> Result<SimulatedConfig, FileError> {
    Ok(file::load::<RigFile>(path)?.model())
}

/// What a rig file says about motor, pad and delays.
pub fn known_rig(path: &Path) -> Result<KnownRig, FileError> {
    Ok(rig_model(path)?.known())
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
    found_cells(path, &file::load(path)?, own_calibrations)
}

fn found_cells(path: &Path, rig: &RigFile, own: Option<&Path>) -> Result<FoundCells, FileError> {
    let (mut cells, shipped) = rig.cells();
    let shipped = shipped.into_iter().map(|dir| base_of(path).join(dir));
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
pub fn load_rig(path: &Path, setup: RigSetup<'_>) -> Result<Box<dyn Rig>, RigError> {
    let rig = file::load::<RigFile>(path)?.with_uplift(setup.uplift_n);
    let cells = found_cells(path, &rig, setup.own_calibrations.as_deref())?.cells;
    let pantograph = file::load(&base_of(path).join(rig.pantograph()))?;
    let period_s = setup.period_nanos as f64 / NANOS_PER_SECOND as f64;
    protection::require(&rig, &pantograph, period_s).map_err(|source| FileError::Senseless {
        kind: RigFile::KIND,
        path: path.to_owned(),
        source,
    })?;
    match rig {
        RigFile::Simulated(config) => Ok(Box::new(SimulatedRig::build(
            &config,
            &pantograph,
            cells,
            setup,
        ))),
        RigFile::Hardware(config) => {
            let opened =
                HardwareRig::open(&config, cells, &pantograph, &setup.time, setup.period_nanos);
            let rig = opened.map_err(|source| RigError::Hardware {
                path: path.to_owned(),
                source,
            })?;
            Ok(Box::new(rig))
        }
    }
}
