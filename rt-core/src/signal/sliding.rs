//! Statistics of the last N samples, exact however long they run.

use super::error::AnalysisError;
use super::statistics::{ForceStatistics, RunningStatistics};

/// Statistics of a sliding window.
///
/// Taking a sample out of a sum leaves its rounding error behind for ever. Here nothing is taken
/// out: the window is the leaves of a binary tree, each node the merged statistics of its two
/// children, and a new sample replaces the oldest leaf and renews its ⌈log₂ N⌉ ancestors. A step
/// costs the same every time and does not allocate.
#[derive(Clone, Debug)]
pub struct SlidingStatistics {
    /// Root at 1, children of i at 2i and 2i + 1, leaves from N on.
    nodes: Vec<RunningStatistics>,
    next: usize,
    taken: usize,
    unknown: usize,
}

impl SlidingStatistics {
    /// An empty window of `samples` samples.
    pub fn new(samples: usize) -> Result<Self, AnalysisError> {
        if samples == 0 {
            return Err(AnalysisError::TooFew {
                what: "samples of the sliding window",
                found: 0,
                needed: 1,
                remedy: "choose a longer window",
            });
        }
        Ok(Self {
            nodes: vec![RunningStatistics::default(); 2 * samples],
            next: 0,
            taken: 0,
            unknown: 0,
        })
    }

    /// Samples of a full window.
    pub fn capacity(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.nodes.fill(RunningStatistics::default());
        (self.next, self.taken, self.unknown) = (0, 0, 0);
    }

    /// Takes one sample; one that is NaN or infinite takes a place but is only counted.
    pub fn push(&mut self, value: f64) {
        let capacity = self.capacity();
        let mut leaf = RunningStatistics::default();
        if value.is_finite() {
            leaf.push(value);
        }
        let mut node = capacity + self.next;
        let leaf_before_was_unknown =
            self.taken == capacity && self.nodes[node].statistics().is_none();
        self.unknown -= usize::from(leaf_before_was_unknown);
        self.unknown += usize::from(!value.is_finite());
        self.taken = capacity.min(self.taken + 1);
        self.next = (self.next + 1) % capacity;
        self.nodes[node] = leaf;
        while node > 1 {
            node /= 2;
            let mut merged = self.nodes[2 * node];
            merged.merge(&self.nodes[2 * node + 1]);
            self.nodes[node] = merged;
        }
    }

    /// Statistics of the known samples in the window; `None` if there is none.
    pub fn statistics(&self) -> Option<ForceStatistics> {
        self.nodes[1].statistics()
    }

    /// Samples in the window that are unknown.
    pub fn unknown(&self) -> usize {
        self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::super::gaps::known_statistics;
    use super::*;

    #[test]
    fn the_window_is_what_a_fresh_evaluation_of_its_samples_gives() {
        for capacity in [1, 2, 3, 7, 64, 100] {
            let mut sliding = SlidingStatistics::new(capacity).unwrap();
            let signal: Vec<f64> = (0..350)
                .map(|i| match i {
                    150..=155 | 200 => f64::NAN,
                    _ => f64::from((i * 37) % 101) - 20.0,
                })
                .collect();
            assert!(sliding.statistics().is_none());
            for end in 1..=signal.len() {
                sliding.push(signal[end - 1]);
                let window = &signal[end.saturating_sub(capacity)..end];
                let unknown = window.iter().filter(|x| x.is_nan()).count();
                assert_eq!(sliding.unknown(), unknown);
                let (found, expected) = (sliding.statistics(), known_statistics(window));
                assert_eq!(found.is_some(), expected.is_some());
                if let (Some(found), Some(expected)) = (found, expected) {
                    assert_eq!(found.samples, expected.samples);
                    assert_eq!((found.max, found.min), (expected.max, expected.min));
                    let loss = found.loss_of_contact_percent;
                    assert_eq!(loss, expected.loss_of_contact_percent);
                    assert!((found.mean - expected.mean).abs() < 1e-12);
                    let sigma = found.standard_deviation - expected.standard_deviation;
                    assert!(sigma.abs() < 1e-12, "{capacity} {end}: {sigma:e}");
                }
            }
            sliding.reset();
            assert!(sliding.statistics().is_none() && sliding.unknown() == 0);
        }
        assert!(SlidingStatistics::new(0).is_err());
    }

    #[test]
    fn a_huge_value_leaves_no_trace_once_it_is_out() {
        let mut sliding = SlidingStatistics::new(10).unwrap();
        sliding.push(1e15);
        for i in 0..10 {
            sliding.push(f64::from(i % 2));
        }
        let s = sliding.statistics().unwrap();
        assert!((s.mean - 0.5).abs() < 1e-15 && (s.standard_deviation - 0.5).abs() < 1e-15);
        assert_eq!(s.max, 1.0);
    }
}
