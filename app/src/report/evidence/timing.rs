//! How punctual the loop was, from the columns in which it measures itself.

use rt_core::record::reader::{Session, TimeRange};

/// A duration of the loop, sample by sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations {
    /// Ascending, in µs.
    sorted_us: Vec<f64>,
}

impl Durations {
    fn of(mut values: Vec<f64>) -> Self {
        values.retain(|v| v.is_finite());
        values.sort_by(f64::total_cmp);
        Self { sorted_us: values }
    }

    /// The duration in µs that a share of all (0 to 1) does not exceed; `None` if there are none.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let count = self.sorted_us.len();
        let rank = (share * count as f64).ceil().max(1.0) as usize;
        self.sorted_us.get(rank.min(count).checked_sub(1)?).copied()
    }

    /// The longest, in µs.
    pub fn max(&self) -> Option<f64> {
        self.sorted_us.last().copied()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted_us.len()
    }

    /// How many lie between edges that ascend; what lies outside counts at the ends.
    pub fn counts(&self, edges: &[f64]) -> Vec<f64> {
        let below: Vec<usize> = edges
            .iter()
            .map(|edge| self.sorted_us.partition_point(|v| v < edge))
            .collect();
        let last = below.len().saturating_sub(2);
        below
            .windows(2)
            .enumerate()
            .map(|(i, pair)| {
                let from = if i == 0 { 0 } else { pair[0] };
                let to = if i == last { self.count() } else { pair[1] };
                to.saturating_sub(from) as f64
            })
            .collect()
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingEvidence {
    /// From the deadline to the first instruction of a cycle.
    pub wake: Durations,
    /// Execution time of a cycle.
    pub exec: Durations,
    /// Cycles that ended after their successor's deadline; `None` if the recording does not say.
    pub overruns: Option<u64>,
    /// Ticks that were skipped because of them.
    pub skipped: Option<u64>,
    /// Ticks without a frame between the first and the last.
    pub missing: u64,
    /// Frames.
    pub frames: u64,
}

impl TimingEvidence {
    /// Reads the loop's own columns.
    pub fn of(session: &Session) -> Self {
        let column = |id: &str| session.column_index(id).ok();
        let [wake, exec, overruns, skipped] = [
            "loop.wake_us",
            "loop.exec_us",
            "loop.overruns",
            "loop.skipped",
        ]
        .map(column);
        let (mut wakes, mut execs) = (Vec::new(), Vec::new());
        let (mut first, mut last) = (None, None);
        let mut frames = 0;
        for recorded in session.frames(TimeRange::ALL).filter_map(Result::ok) {
            let frame = recorded.frame;
            frames += 1;
            first.get_or_insert(frame);
            wakes.extend(wake.map(|i| frame.values[i]));
            execs.extend(exec.map(|i| frame.values[i]));
            last = Some(frame);
        }
        // Counters since the loop began: the difference is what the recording saw.
        let counted = |column: Option<usize>| {
            let (first, last) = (first?, last?);
            let gone = last.values[column?] - first.values[column?];
            gone.is_finite().then_some(gone.max(0.0) as u64)
        };
        let ticks = first
            .zip(last)
            .map_or(0, |(f, l)| l.seq.saturating_sub(f.seq) + 1);
        Self {
            wake: Durations::of(wakes),
            exec: Durations::of(execs),
            overruns: counted(overruns),
            skipped: counted(skipped),
            missing: ticks.saturating_sub(frames),
            frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_counts_are_exact() {
        let durations = Durations::of((1..=1000).rev().map(f64::from).chain([f64::NAN]).collect());
        assert_eq!(durations.percentile(0.5), Some(500.0));
        assert_eq!(durations.percentile(0.999), Some(999.0));
        assert_eq!(
            (durations.percentile(0.0), durations.max()),
            (Some(1.0), Some(1000.0))
        );
        assert_eq!(durations.counts(&[10.0, 100.0, 500.0]), [99.0, 901.0]);
        let none = Durations::default();
        assert_eq!(
            (none.percentile(0.5), none.max(), none.count()),
            (None, None, 0)
        );
    }
}
