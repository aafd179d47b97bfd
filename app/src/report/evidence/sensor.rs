//! What is known of the sensor of the contact force: calibrations in use, their residuals, noise, resolution and delay.

use crate::home;
use drivers::rig_file::RigFile;
use rt_core::calibration::Calibration;
use rt_core::calibration::fit::Fit;
use rt_core::calibration::store::Library;
use rt_core::file;
use rt_core::record::event::EventRecord;
use rt_core::record::header::SessionHeader;
use std::path::{Path, PathBuf};

/// One load cell.
pub struct CellEvidence {
    /// Its name.
    pub cell: String,
    /// The calibration in use.
    pub calibration: String,
    /// What the calibration says, or why that is not known.
    pub found: Result<(Box<Calibration>, Fit), String>,
}

/// See the module's text.
pub struct SensorEvidence {
    /// Name of the rig, if its file can be read.
    pub rig: Option<String>,
    /// Load cells; none for a rig that gives newtons by itself.
    pub cells: Vec<CellEvidence>,
    /// Calibrations that were exchanged while it was recorded, in words.
    pub exchanged: Vec<String>,
    /// Noise of a sample, in N.
    pub noise_n: Option<f64>,
    /// Step of a reading, in N.
    pub resolution_n: Option<f64>,
    /// From a force to the exchange that reads it, in s.
    pub delay_s: Option<f64>,
}

const CELL: &str = "calibration_of_";

impl SensorEvidence {
    /// From what the recording carries, and from the calibrations that are found here.
    pub fn of(header: &SessionHeader, events: &[EventRecord]) -> Self {
        let rig = header
            .files
            .get("rig.ron")
            .map(|text| file::parse::<RigFile>(text, Path::new("rig.ron")));
        let mut found = Self {
            rig: None,
            cells: Vec::new(),
            exchanged: Vec::new(),
            noise_n: None,
            resolution_n: None,
            delay_s: None,
        };
        let mut directories: Vec<PathBuf> = vec![home::calibrations_dir()];
        directories.extend(home::shipped_calibrations());
        if let Some(Ok(RigFile::Simulated(config))) = &rig {
            found.noise_n = Some(config.force_sensor.noise_n);
            found.resolution_n = config.force_sensor.resolution_n;
        }
        if let Some(Ok(rig)) = rig {
            found.rig = Some(rig.spec().name);
            let model = rig.model();
            found.delay_s = Some(model.known().force_lag_s());
            let base = header.further.get("path_of_rig.ron").map(PathBuf::from);
            if let (Some(base), Some(own)) = (base, &model.calibrations) {
                directories.push(base.parent().unwrap_or(Path::new(".")).join(own));
            }
        }
        let library = Library::read(&directories);
        let named = header
            .further
            .iter()
            .filter_map(|(key, id)| Some((key.strip_prefix(CELL)?, id)));
        for (cell, id) in named {
            let calibration = library
                .find(id)
                .map_err(|_| "its file is not found here: residuals are not known".to_owned());
            found.cells.push(CellEvidence {
                cell: cell.to_owned(),
                calibration: id.clone(),
                found: calibration.map(|stored| {
                    let fit = stored.calibration.statistics();
                    (Box::new(stored.calibration.clone()), fit)
                }),
            });
        }
        let exchanged = events.iter().filter(|e| e.kind == "calibration");
        found.exchanged = exchanged.map(|e| e.text.clone()).collect();
        if !found.cells.is_empty() {
            found.take_noise_from_cells();
        }
        found
    }

    /// The force is the sum of the cells: so is the variance of their noise.
    fn take_noise_from_cells(&mut self) {
        let noises: Vec<f64> = self
            .cells
            .iter()
            .filter_map(|c| c.found.as_ref().ok())
            .map(|(_, fit)| fit.noise_n)
            .collect();
        let is_whole = noises.len() == self.cells.len();
        let sum = noises.iter().map(|n| n * n).sum::<f64>().sqrt();
        self.noise_n = is_whole.then_some(sum);
    }

    /// Standard uncertainties of offset and slope of the sum of all cells; words if one of them is not known.
    pub fn offset_and_gain(&self) -> Result<(f64, f64), String> {
        if self.cells.is_empty() {
            return Err("the rig gives newtons by itself and names no calibration".into());
        }
        let n = self.cells.len() as f64;
        let (mut offset, mut gain) = (0.0, 0.0);
        for cell in &self.cells {
            let (_, fit) = cell
                .found
                .as_ref()
                .map_err(|why| format!("{}: {why}", cell.cell))?;
            let (Some(error), Some(slope)) = (fit.standard_error_n, fit.slope_error_pct) else {
                return Err(format!(
                    "{}: calibration '{}' has too few points for residuals",
                    cell.cell, cell.calibration
                ));
            };
            offset += error * error;
            gain += (0.01 * slope / n).powi(2);
        }
        Ok((offset.sqrt(), gain.sqrt()))
    }
}
