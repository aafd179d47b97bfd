//! Which share of the force a cell carries, against what it should: how far it is outside, summed up over time, so that
//! a cell that is dead under a large force is found sooner than one that is dead under a small one.
//!
//! ```text
//! S ← max(0, S + e dt),   e = max(k s |F| − f, f − (1 − k (1 − s)) |F|) − f₀
//! ```
//!
//! f the cell's part in the direction of the force F, s its share, k what it has to keep of it, f₀ what its zero may be
//! off. A fault is S above its bound.

use super::CellFault;
use crate::rig::cell_watch::CellsWatch;

/// A share below this is not missed, nor is what is left beside one that is nearly everything: zeros are as large.
const LEAST_SHARE: f64 = 0.1;

/// See the module's text.
#[derive(Debug)]
pub(super) struct Share {
    low: Option<f64>,
    high: Option<f64>,
    slack_n: f64,
    most_n_s: f64,
    dt: f64,
    sum_n_s: f64,
}

impl Share {
    pub fn new(share: f64, together: &CellsWatch, dt: f64) -> Self {
        let kept = together.share_kept;
        let others = 1.0 - share;
        Self {
            low: (share >= LEAST_SHARE).then_some(kept * share),
            high: (others >= LEAST_SHARE).then_some(1.0 - kept * others),
            slack_n: together.share_slack_n,
            most_n_s: together.share_impulse_n_s,
            dt,
            sum_n_s: 0.0,
        }
    }

    /// The drive is off: loads may hang on single cells.
    pub fn forget(&mut self) {
        self.sum_n_s = 0.0;
    }

    /// Takes the force of the cell and of all. What is no number changes nothing.
    pub fn note(&mut self, force: f64, total: f64) -> Option<(CellFault, f64, f64)> {
        let (force, whole) = (force * total.signum(), total.abs());
        let short = self
            .low
            .map_or(f64::NEG_INFINITY, |low| low * whole - force);
        let over = self
            .high
            .map_or(f64::NEG_INFINITY, |high| force - high * whole);
        let outside = short.max(over) - self.slack_n;
        // Not far beyond the bound, so that it comes back.
        let sum = (self.sum_n_s + outside * self.dt).clamp(0.0, 2.0 * self.most_n_s);
        if sum.is_finite() {
            self.sum_n_s = sum;
        }
        let bound = if short > over { self.low } else { self.high };
        let is_out = self.sum_n_s > self.most_n_s;
        bound
            .filter(|_| is_out)
            .map(|bound| (CellFault::Share, force / whole, bound))
    }
}
