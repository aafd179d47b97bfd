//! Simulated load cells: each carries a share of the contact force, or a weight that a technician hangs on it,
//! and gives a raw reading with a zero, a drift, a bow, noise and resolution that only a calibration can undo.

use super::config::LoadCellConfig;
use super::fault::CellTrouble;
use super::sensor::Sensor;
use crate::cells::Cells;
use rt_core::channel::ChannelSpec;
use rt_core::rig::{CellSpec, RigCommand, RigRefusal};

/// The raw readings, one a cell.
pub const RAW: [ChannelSpec; 4] = [
    ChannelSpec::measured("force_raw_1", "Raw reading of load cell 1", "mV/V"),
    ChannelSpec::measured("force_raw_2", "Raw reading of load cell 2", "mV/V"),
    ChannelSpec::measured("force_raw_3", "Raw reading of load cell 3", "mV/V"),
    ChannelSpec::measured("force_raw_4", "Raw reading of load cell 4", "mV/V"),
];

/// What the rig declares of its cells; their calibrations are found later.
pub fn specs(configs: &[LoadCellConfig]) -> Vec<CellSpec> {
    let spec = |(config, raw): (&LoadCellConfig, ChannelSpec)| CellSpec {
        id: config.id.clone(),
        name: config.name.clone(),
        raw,
        force: super::FORCE.id,
        named: config.calibration.clone(),
        calibration: None,
    };
    configs.iter().zip(RAW).map(spec).collect()
}

struct LoadCell {
    config: LoadCellConfig,
    range_n: f64,
    sensor: Sensor,
    reading: f64,
    /// What it does instead of measuring, and since when.
    trouble: Option<(CellTrouble, f64)>,
}

impl LoadCell {
    /// r = zero + drift · t + sensitivity · (F + bow), the bow 4 b R x (1 − |x|) with x = F / R: b R at half the
    /// range R, none at its ends. Then noise and resolution.
    fn read(&mut self, newtons: f64, t_s: f64) {
        let c = &self.config;
        let (mut newtons, mut wrong_n) = (newtons, 0.0);
        match self.trouble {
            None => {}
            Some((CellTrouble::Stuck, _)) => return,
            Some((CellTrouble::Dead, _)) => newtons = 0.0,
            Some((CellTrouble::Noisy { by_n }, _)) => wrong_n = by_n * self.sensor.normal(),
            Some((CellTrouble::Drifting { n_per_s }, since)) => wrong_n = n_per_s * (t_s - since),
            Some((CellTrouble::Saturated, _)) => newtons = self.range_n,
        }
        let x = (newtons / self.range_n).clamp(-1.0, 1.0);
        let bow_n = 0.04 * c.bow_pct * self.range_n * x * (1.0 - x.abs());
        let truth = c.zero_mv_per_v
            + c.drift_mv_per_v_per_hour * t_s / 3600.0
            + c.sensitivity_mv_per_v_per_n * (x * self.range_n + bow_n + wrong_n);
        self.reading = self.sensor.read(truth);
    }
}

/// The cells of a simulated rig.
pub struct LoadCells {
    cells: Vec<LoadCell>,
    lines: Cells,
    /// Loads that hang on the cells in N; `None` while the pantograph presses.
    hung: Option<[f64; RAW.len()]>,
}

impl LoadCells {
    pub fn new(configs: &[LoadCellConfig], specs: &[CellSpec], range_n: f64, seed: u64) -> Self {
        let cell = |(i, config): (usize, &LoadCellConfig)| LoadCell {
            sensor: Sensor::new(
                config.noise_mv_per_v,
                config.resolution_mv_per_v,
                None,
                // The seed itself and the next one belong to the force and position sensors.
                seed.wrapping_add(2 + i as u64),
            ),
            config: config.clone(),
            range_n,
            reading: 0.0,
            trouble: None,
        };
        Self {
            cells: configs.iter().enumerate().map(cell).collect(),
            lines: Cells::new(specs),
            hung: None,
        }
    }

    /// Fresh readings of all cells under a contact force; hung loads take its place. A stuck cell repeats itself.
    pub fn read(&mut self, contact_n: f64, t_s: f64, is_stuck: bool) {
        if is_stuck {
            return;
        }
        for (i, cell) in self.cells.iter_mut().enumerate() {
            let newtons = self
                .hung
                .map_or(cell.config.share * contact_n, |loads| loads[i]);
            cell.read(newtons, t_s);
        }
    }

    /// What a cell does from now on instead of measuring; `None`: it measures. Cells that do not exist do nothing.
    pub fn trouble(&mut self, cell: usize, does: Option<CellTrouble>, t_s: f64) {
        if let Some(cell) = self.cells.get_mut(cell)
            && cell.trouble.map(|(does, _)| does) != does
        {
            cell.trouble = does.map(|does| (does, t_s));
        }
    }

    /// The readings, in the order of the cells.
    pub fn readings(&self) -> impl Iterator<Item = f64> + '_ {
        self.cells.iter().map(|c| c.reading)
    }

    /// The sum of all cells in N, as their calibrations see it.
    pub fn newtons(&self) -> f64 {
        let all = self.readings().enumerate();
        all.map(|(i, reading)| self.lines.newtons(i, reading)).sum()
    }

    /// The drive is on: nobody has left a weight there.
    pub fn remove_loads(&mut self) {
        self.hung = None;
    }

    pub fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        match command {
            RigCommand::Calibrate { cell, line, .. } => self.lines.calibrate(cell, line),
            RigCommand::HangLoad { cell, newtons } => {
                if cell >= self.cells.len() {
                    return Err(RigRefusal::NoSuchCell);
                }
                if !newtons.is_finite() {
                    return Err(RigRefusal::NotFinite);
                }
                let mut loads = [0.0; RAW.len()];
                loads[cell] = newtons;
                self.hung = Some(loads);
                Ok(())
            }
            RigCommand::RemoveLoads => {
                self.hung = None;
                Ok(())
            }
            RigCommand::Home | RigCommand::StopHoming | RigCommand::Reset => {
                Err(RigRefusal::NotSupported)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::calibration::Line;
    use rt_core::calibration::id::CalibrationId;

    fn config(share: f64) -> LoadCellConfig {
        LoadCellConfig {
            id: "A".into(),
            name: "front".into(),
            calibration: None,
            share,
            sensitivity_mv_per_v_per_n: 0.002,
            zero_mv_per_v: 0.05,
            drift_mv_per_v_per_hour: 0.036,
            bow_pct: 0.5,
            noise_mv_per_v: 0.0,
            resolution_mv_per_v: None,
            watch: Default::default(),
        }
    }

    #[test]
    fn a_reading_is_zero_drift_sensitivity_and_bow() {
        let mut cells = LoadCells::new(&[config(0.25), config(0.75)], &[], 1000.0, 1);
        let read = |cells: &mut LoadCells, n: f64, t: f64| {
            cells.read(n, t, false);
            cells.readings().collect::<Vec<_>>()
        };
        // Half the range on the first cell: the bow is 0.5 % of 1000 N. 0.036 mV/V an hour are 0.001 in 100 s.
        let both = read(&mut cells, 2000.0, 100.0);
        assert!(
            (both[0] - (0.05 + 0.001 + 0.002 * (500.0 + 5.0))).abs() < 1e-12,
            "{both:?}"
        );
        // The second one is overloaded: it stands at its range.
        assert!((both[1] - (0.05 + 0.001 + 2.0)).abs() < 1e-12, "{both:?}");
        assert!((read(&mut cells, -2000.0, 0.0)[0] - (0.05 - 0.002 * 505.0)).abs() < 1e-12);
        cells
            .command(RigCommand::HangLoad {
                cell: 1,
                newtons: 1000.0,
            })
            .unwrap();
        assert_eq!(read(&mut cells, 2000.0, 0.0), [0.05, 2.05]);
        let before = read(&mut cells, 2000.0, 0.0);
        cells.read(0.0, 9.0, true);
        assert_eq!(cells.readings().collect::<Vec<_>>(), before, "stuck");
        cells.command(RigCommand::RemoveLoads).unwrap();
        assert_ne!(read(&mut cells, 2000.0, 0.0), before);
        let missing = RigCommand::HangLoad {
            cell: 2,
            newtons: 1.0,
        };
        assert_eq!(cells.command(missing), Err(RigRefusal::NoSuchCell));
    }

    #[test]
    fn the_force_is_the_sum_and_no_number_before_calibration() {
        let configs = [config(0.5), config(0.5)];
        let mut cells = LoadCells::new(&configs, &specs(&configs), 1000.0, 1);
        cells.read(200.0, 0.0, false);
        assert!(cells.newtons().is_nan());
        for cell in 0..2 {
            let id = CalibrationId::new("x").unwrap();
            let line = Line {
                slope_n_per_unit: 500.0,
                offset_n: -25.0,
            };
            cells
                .command(RigCommand::Calibrate { cell, id, line })
                .unwrap();
        }
        // Each bow: 0.04 · 0.5 % · 1000 N · 0.1 · 0.9.
        assert!(
            (cells.newtons() - (200.0 + 2.0 * 1.8)).abs() < 1e-9,
            "{}",
            cells.newtons()
        );
    }
}
