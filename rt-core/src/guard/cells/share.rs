//! Which share of the force a cell carries, against what it should: how much is missing, summed up over time, so that a
//! cell that is dead under a large force is found sooner than one that is dead under a small one.
//!
//! ```text
//! S ← max(0, S + e dt),   e = k s |F| − f − f₀
//! ```
//!
//! f the cell's part in the direction of the force F, s its share, k what it has to keep of it, f₀ what its zero may be
//! off. A fault is S above its bound. Where a cell shows too much of the force, another one shows too little.

use super::CellFault;
use crate::rig::cell_watch::CellsWatch;

/// A share below this is not missed: zeros are as large.
const LEAST_SHARE: f64 = 0.1;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Share {
    least: f64,
    slack_n: f64,
    most_n_s: f64,
    dt: f64,
    sum_n_s: f64,
}

impl Share {
    /// `None` for a cell that carries next to nothing.
    pub fn new(share: f64, together: &CellsWatch, dt: f64) -> Option<Self> {
        (share >= LEAST_SHARE).then_some(Self {
            least: together.share_kept * share,
            slack_n: together.share_slack_n,
            most_n_s: together.share_impulse_n_s,
            dt,
            sum_n_s: 0.0,
        })
    }

    /// The drive is off: loads may hang on single cells.
    pub fn forget(&mut self) {
        self.sum_n_s = 0.0;
    }

    /// Takes the force of the cell and of all. What is no number changes nothing.
    pub fn note(&mut self, force: f64, total: f64) -> Option<(CellFault, f64, f64)> {
        let (force, whole) = (force * total.signum(), total.abs());
        let missing = self.least * whole - force - self.slack_n;
        // Not far beyond the bound, so that it comes back.
        let sum = (self.sum_n_s + missing * self.dt).clamp(0.0, 2.0 * self.most_n_s);
        if sum.is_finite() {
            self.sum_n_s = sum;
        }
        (self.sum_n_s > self.most_n_s).then_some((CellFault::Share, force / whole, self.least))
    }
}
