//! The load cells of a rig: readings in, newtons out, by lines that may change between two exchanges.

use rt_core::calibration::Line;
use rt_core::calibration::date::Date;
use rt_core::calibration::store::{Library, NotFound};
use rt_core::rig::{CellSpec, RigRefusal};

/// The lines in use, one a cell.
pub struct Cells {
    lines: Vec<Line>,
}

impl Cells {
    /// The lines of the calibrations that the cells were declared with; without one a cell gives no number.
    pub fn new(specs: &[CellSpec]) -> Self {
        let line = |spec: &CellSpec| spec.calibration.as_ref().map_or(Line::UNKNOWN, |c| c.line);
        Self {
            lines: specs.iter().map(line).collect(),
        }
    }

    /// The force of a cell, in N.
    pub fn newtons(&self, cell: usize, reading: f64) -> f64 {
        self.lines
            .get(cell)
            .map_or(f64::NAN, |line| line.newtons(reading))
    }

    /// Uses another line from now on. Does not allocate.
    pub fn calibrate(&mut self, cell: usize, line: Line) -> Result<(), RigRefusal> {
        let is_good = line.slope_n_per_unit.is_finite()
            && line.slope_n_per_unit != 0.0
            && line.offset_n.is_finite();
        let used = self.lines.get_mut(cell).ok_or(RigRefusal::NoSuchCell)?;
        if !is_good {
            return Err(RigRefusal::NotFinite);
        }
        *used = line;
        Ok(())
    }
}

/// Gives each cell the calibration that it uses today; the error names the cell by its index.
pub fn find_calibrations(
    cells: &mut [CellSpec],
    library: &Library,
) -> Result<(), (usize, NotFound)> {
    let today = Date::today();
    for (i, cell) in cells.iter_mut().enumerate() {
        let found = library
            .active(&cell.id, cell.named.as_deref(), today)
            .map_err(|e| (i, e))?;
        cell.calibration = found.cloned();
    }
    Ok(())
}

/// What a person should know of the cells' calibrations before a run: none, expired, or about to be.
pub fn warnings(cells: &[CellSpec], today: Date, warn_days: i64) -> Vec<String> {
    use rt_core::calibration::Validity;
    let mut all = Vec::new();
    for cell in cells {
        let (id, name) = (&cell.id, &cell.name);
        match &cell.calibration {
            None => all.push(format!(
                "load cell '{id}' ({name}) was never calibrated, so the force is not a number: calibrate it in the Rig \
                 panel or with 'pantobench calibrate new'"
            )),
            Some(c) => {
                let validity = c.validity(today, warn_days);
                if !matches!(validity, Validity::Valid { .. }) {
                    all.push(format!(
                        "calibration {} of load cell '{id}' ({name}) {validity} ({}): calibrate it again",
                        c.id, c.valid_until
                    ));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::channel::ChannelSpec;

    #[test]
    fn a_cell_without_calibration_gives_no_number_and_bad_lines_are_refused() {
        let spec = CellSpec {
            id: "A".into(),
            name: "front".into(),
            raw: ChannelSpec::measured("force_raw_1", "", "mV/V"),
            force: "force",
            named: None,
            calibration: None,
        };
        let mut cells = Cells::new(&[spec]);
        assert!(cells.newtons(0, 1.0).is_nan() && cells.newtons(1, 1.0).is_nan());
        let line = |slope_n_per_unit, offset_n| Line {
            slope_n_per_unit,
            offset_n,
        };
        assert_eq!(
            cells.calibrate(1, line(2.0, 0.0)),
            Err(RigRefusal::NoSuchCell)
        );
        for bad in [
            line(0.0, 1.0),
            line(f64::NAN, 0.0),
            line(1.0, f64::INFINITY),
        ] {
            assert_eq!(cells.calibrate(0, bad), Err(RigRefusal::NotFinite));
        }
        assert_eq!(cells.calibrate(0, line(2.0, -1.0)), Ok(()));
        assert_eq!(cells.newtons(0, 3.0), 5.0);
    }
}
