//! How well the loop keeps time: counters and histograms that the real-time thread writes without a
//! lock and everyone else may read at any moment.

use std::sync::atomic::{AtomicU64, Ordering};

/// Each power of two is divided into 2⁴ buckets, so a percentile is right within 1/16.
const SUB_BITS: u32 = 4;
const SUB: usize = 1 << SUB_BITS;
/// Values up to 2³⁶ ns (69 s) have a bucket of their own; longer ones share the last.
const BUCKETS: usize = SUB * 33;

/// A histogram of durations in nanoseconds.
#[derive(Debug)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            max: AtomicU64::new(0),
        }
    }
}

fn bucket_of(nanos: u64) -> usize {
    let value = nanos.max(1);
    let exponent = value.ilog2();
    let index = if exponent < SUB_BITS {
        value as usize
    } else {
        let mantissa = (value >> (exponent - SUB_BITS)) as usize - SUB;
        (exponent - SUB_BITS + 1) as usize * SUB + mantissa
    };
    index.min(BUCKETS - 1)
}

/// The smallest duration that falls into a bucket, in nanoseconds.
fn bucket_start(index: usize) -> u64 {
    if index < SUB {
        index as u64
    } else {
        let exponent = (index / SUB - 1) as u32;
        ((SUB + index % SUB) as u64) << exponent
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn add(&self, nanos: u64) {
        self.buckets[bucket_of(nanos)].fetch_add(1, Ordering::Relaxed);
        self.max.fetch_max(nanos, Ordering::Relaxed);
    }

    /// The longest duration so far, in nanoseconds.
    pub fn max(&self) -> u64 {
        self.max.load(Ordering::Relaxed)
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|b| b.load(Ordering::Relaxed)).sum()
    }

    /// The duration in nanoseconds that a share `p` (0 to 1) of all does not exceed, to 1/16; 0 if empty.
    pub fn percentile(&self, p: f64) -> u64 {
        let wanted = (p.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        for (i, bucket) in self.buckets.iter().enumerate() {
            seen += bucket.load(Ordering::Relaxed);
            if seen >= wanted && seen > 0 {
                // The largest value of the bucket, but never more than was really seen.
                return (bucket_start(i + 1) - 1).min(self.max());
            }
        }
        self.max()
    }

    /// The buckets in use as (from, to, count), durations in nanoseconds.
    pub fn filled_buckets(&self) -> Vec<(u64, u64, u64)> {
        let all = self.buckets.iter().enumerate();
        all.map(|(i, b)| {
            (
                bucket_start(i),
                bucket_start(i + 1),
                b.load(Ordering::Relaxed),
            )
        })
        .filter(|&(_, _, count)| count > 0)
        .collect()
    }
}

/// Everything that is counted about a loop.
#[derive(Debug, Default)]
pub struct Timing {
    /// Wake-up latency: from the deadline to the first instruction of the cycle.
    pub wake: Histogram,
    /// Execution time of a whole cycle.
    pub exec: Histogram,
    /// Of that: the exchange with the rig.
    pub exchange: Histogram,
    /// Of that: the step of the bench, while it runs.
    pub step: Histogram,
    /// Of that: the guard, and frame and events on their way to the rings.
    pub publish: Histogram,
    /// Cycles done.
    pub cycles: AtomicU64,
    /// Cycles that ended after their successor's deadline.
    pub overruns: AtomicU64,
    /// Ticks skipped because of them.
    pub skipped: AtomicU64,
    /// Frames that the recorder's ring had no room for.
    pub record_drops: AtomicU64,
    /// Frames that the display's ring had no room for.
    pub display_drops: AtomicU64,
    /// Events that the event ring had no room for.
    pub event_drops: AtomicU64,
    /// Frames that waited in the recorder's ring in the latest cycle.
    pub record_fill: AtomicU64,
    /// The most frames that ever waited there.
    pub record_fill_max: AtomicU64,
}

impl Timing {
    /// Adds to a counter.
    pub(crate) fn count(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_gapless_and_percentiles_right_to_a_sixteenth() {
        for i in 1..BUCKETS - 1 {
            assert_eq!(bucket_of(bucket_start(i)), i);
            assert_eq!(bucket_of(bucket_start(i + 1) - 1), i);
        }
        let h = Histogram::default();
        for us in 1..=1000_u64 {
            h.add(us * 1000);
        }
        assert_eq!(h.count(), 1000);
        for (p, exact) in [(0.5, 500_000.0), (0.99, 990_000.0), (0.999, 999_000.0)] {
            let found = h.percentile(p) as f64;
            assert!(
                (found / exact - 1.0).abs() <= 1.0 / 16.0,
                "p{p}: {found} against {exact}"
            );
        }
        assert_eq!(h.max(), 1_000_000);
    }

    #[test]
    fn empty_and_huge_are_no_trouble() {
        let h = Histogram::default();
        assert_eq!((h.percentile(0.5), h.max()), (0, 0));
        h.add(u64::MAX);
        assert_eq!(h.percentile(1.0), bucket_start(BUCKETS) - 1);
    }
}
