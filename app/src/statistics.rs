//! Mean, deviation and extremes of every channel while the bench runs.

use rt_core::channel::Frame;
use rt_core::guard::State;
use rt_core::signal::statistics::{ForceStatistics, RunningStatistics};

/// Running statistics of one channel. Values that are no number are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelStatistics(RunningStatistics);

impl ChannelStatistics {
    /// Takes one value in.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.0.push(value);
        }
    }

    /// Takes in what another one has gathered, as if its values had been added one by one.
    pub fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// How many values it has taken in.
    pub fn count(&self) -> u64 {
        self.0.samples()
    }

    fn known(&self, value: fn(&ForceStatistics) -> f64) -> Option<f64> {
        self.0.statistics().as_ref().map(value)
    }

    /// Mean; `None` without values, as all others.
    pub fn mean(&self) -> Option<f64> {
        self.known(|s| s.mean)
    }

    /// Standard deviation of the population: √(Σ(x − mean)²/n).
    pub fn std(&self) -> Option<f64> {
        self.known(|s| s.standard_deviation)
    }

    /// Root mean square: √(mean² + std²).
    pub fn rms(&self) -> Option<f64> {
        Some(self.mean()?.hypot(self.std()?))
    }

    /// Smallest value.
    pub fn min(&self) -> Option<f64> {
        self.known(|s| s.min)
    }

    /// Largest value.
    pub fn max(&self) -> Option<f64> {
        self.known(|s| s.max)
    }
}

/// Statistics of all channels over the running part of a run.
pub struct RunStatistics {
    channels: Vec<ChannelStatistics>,
    from_nanos: u64,
    running_since: Option<u64>,
    running_cycles: u64,
}

impl RunStatistics {
    /// For so many columns, leaving out the first seconds of running.
    pub fn new(columns: usize, from_s: f64) -> Self {
        Self {
            channels: vec![ChannelStatistics::default(); columns],
            from_nanos: (from_s * 1e9).round() as u64,
            running_since: None,
            running_cycles: 0,
        }
    }

    /// Takes one frame in, if the bench runs.
    pub fn add(&mut self, frame: &Frame) {
        if frame.state != State::Running {
            return;
        }
        self.running_cycles += 1;
        let since = *self.running_since.get_or_insert(frame.t_nanos);
        if frame.t_nanos - since >= self.from_nanos {
            for (channel, &value) in self.channels.iter_mut().zip(&frame.values) {
                channel.add(value);
            }
        }
    }

    /// One entry a column.
    pub fn channels(&self) -> &[ChannelStatistics] {
        &self.channels
    }

    /// Cycles in which the bench ran.
    pub fn running_cycles(&self) -> u64 {
        self.running_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_textbook_and_skip_what_is_no_number() {
        let mut s = ChannelStatistics::default();
        assert_eq!(s.mean(), None);
        for v in [2.0, 4.0, f64::NAN, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            s.add(v);
        }
        // A standard example: mean 5, population deviation 2.
        assert!((s.mean().unwrap() - 5.0).abs() < 1e-15 && (s.std().unwrap() - 2.0).abs() < 1e-15);
        assert_eq!((s.min(), s.max()), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn merged_parts_are_as_the_whole() {
        let values: Vec<f64> = (0..1000).map(|i| 150.0 + f64::from(i * i % 97)).collect();
        let of = |part: &[f64]| {
            let mut found = ChannelStatistics::default();
            part.iter().for_each(|v| found.add(*v));
            found
        };
        let whole = of(&values);
        let mut merged = ChannelStatistics::default();
        for part in [&values[..1], &values[1..700], &[], &values[700..]] {
            merged.merge(&of(part));
        }
        assert_eq!((merged.count(), merged.min()), (1000, whole.min()));
        assert_eq!(merged.max(), whole.max());
        // Both sum a thousand numbers of three digits: 1e-12 of their size is far above rounding.
        assert!((merged.mean().unwrap() - whole.mean().unwrap()).abs() < 1e-10);
        assert!((merged.std().unwrap() - whole.std().unwrap()).abs() < 1e-10);
        let squares: f64 = values.iter().map(|v| v * v).sum();
        assert!((merged.rms().unwrap() - (squares / 1000.0).sqrt()).abs() < 1e-10);
    }

    #[test]
    fn only_running_frames_after_the_start_count() {
        let mut all = RunStatistics::new(1, 0.004);
        let mut frame = Frame::empty();
        for k in 0..6 {
            frame.t_nanos = k * 2_000_000;
            frame.state = if k == 0 { State::Armed } else { State::Running };
            frame.values[0] = k as f64;
            all.add(&frame);
        }
        assert_eq!(all.running_cycles(), 5);
        assert_eq!(all.channels()[0].min(), Some(3.0));
    }
}
