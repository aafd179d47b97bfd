//! What is known while the motor rests, powered, in its parked position: there the specimen alone decides the force, and
//! every cell has to show what it showed the last time.

use super::{CellFault, Frame, Moment};
use crate::fault::Fault;
use crate::rig::cell_watch::CellsWatch;

/// What a cell's mean has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drifted {
    /// Worth telling.
    pub warns: Option<(CellFault, f64, f64)>,
    /// Not to be run with.
    pub fault: Option<(CellFault, f64, f64)>,
}

/// A mean that is being formed, and the one of the last rest.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    before: Option<f64>,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Parked {
    /// The column of the force and its band.
    force: Option<(usize, (f64, f64))>,
    force_sum: f64,
    cells: Vec<Mean>,
    warn_n: f64,
    max_n: f64,
    window: u32,
    count: u32,
    /// Windows that are over since the motor rests.
    windows: u32,
}

impl Parked {
    pub fn new(
        force: Option<(usize, (f64, f64))>,
        sensors: usize,
        together: &CellsWatch,
        dt: f64,
    ) -> Self {
        Self {
            force,
            force_sum: 0.0,
            cells: vec![Mean::default(); sensors],
            warn_n: together.drift_warn_n.unwrap_or(f64::INFINITY),
            max_n: together.drift_max_n.unwrap_or(f64::INFINITY),
            window: (together.rest_window_s / dt).round().max(1.0) as u32,
            count: 0,
            windows: 0,
        }
    }

    fn watches_drift(&self) -> bool {
        self.warn_n.is_finite() || self.max_n.is_finite()
    }

    /// Whether nothing is left to be known before a run.
    pub fn lets_run(&self) -> bool {
        self.windows > 0 || (self.force.is_none() && !self.watches_drift())
    }

    /// The mean of a cell is not comparable any more.
    pub fn forget(&mut self, cell: usize) {
        if let Some(mean) = self.cells.get_mut(cell) {
            *mean = Mean::default();
        }
    }

    /// Takes the force of a cell; in the last cycle of the first window of a rest its mean is compared.
    pub fn note(&mut self, cell: usize, newtons: f64, moment: Moment) -> Drifted {
        let nothing = Drifted::default();
        let is_first = self.windows == 0 && moment.parked;
        let Some(mean) = self.cells.get_mut(cell).filter(|_| is_first) else {
            return nothing;
        };
        if self.count == 0 {
            mean.sum = 0.0;
        }
        mean.sum += newtons;
        if self.count + 1 < self.window {
            return nothing;
        }
        let now = mean.sum / f64::from(self.window);
        let Some(before) = mean.before.replace(now) else {
            return nothing;
        };
        let changed = (now - before).abs();
        let found = |most: f64| (changed > most).then_some((CellFault::Drift, changed, most));
        let fault = found(self.max_n);
        Drifted {
            warns: found(self.warn_n).filter(|_| fault.is_none()),
            fault,
        }
    }

    /// Takes the force itself, after all cells: the fault of a window's mean.
    pub fn end_cycle(&mut self, frame: &Frame, moment: Moment) -> Option<Fault> {
        if !moment.parked {
            (self.count, self.windows, self.force_sum) = (0, 0, 0.0);
            return None;
        }
        self.count += 1;
        if let Some((column, _)) = self.force {
            self.force_sum += frame.values[column];
        }
        if self.count < self.window {
            return None;
        }
        let mean = self.force_sum / f64::from(self.window);
        (self.count, self.force_sum) = (0, 0.0);
        self.windows = self.windows.saturating_add(1);
        let (column, (low, high)) = self.force?;
        let limit = if mean < low {
            low
        } else if mean > high {
            high
        } else {
            return None;
        };
        Some(Fault::Cell {
            column,
            what: CellFault::RestForce,
            measured: mean,
            limit,
        })
    }
}
