//! Counters of a segment, which the real-time thread writes without a lock and everyone may read.

use rt_core::timing::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module's text.
#[derive(Debug, Default)]
pub struct Counters {
    /// Frames that were sent in the cycle.
    pub sent: AtomicU64,
    /// Frames that were sent a second time because no answer came.
    pub repeated: AtomicU64,
    /// Cycles without any answer.
    pub lost: AtomicU64,
    /// Answers that came after nobody waited for them any more.
    pub late: AtomicU64,
    /// Answers that came a second time.
    pub duplicate: AtomicU64,
    /// Frames that cannot be read, or that answer nothing that was asked.
    pub bad: AtomicU64,
    /// Frames of somebody else.
    pub foreign: AtomicU64,
    /// Times that the segment was set up.
    pub setups: AtomicU64,
    /// Times that the set-up failed by a defect, which was contained.
    pub panics: AtomicU64,
    /// From sending a frame to its answer, in ns.
    pub round_trip: Histogram,
}

impl Counters {
    /// Counts one.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
