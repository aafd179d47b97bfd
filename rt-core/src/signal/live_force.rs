//! Live statistics of the contact force: since a reset and over a sliding window.

use super::contact_force::ForceFilter;
use super::error::AnalysisError;
use super::filter::CausalFilter;
use super::losses::{LossCounter, Losses};
use super::sliding::SlidingStatistics;
use super::statistics::{ForceStatistics, RunningStatistics};

/// Filters and evaluates the force sample by sample, without allocation.
///
/// The causal filter passes each sample later than the zero-phase filter of a record does, and its
/// slope is half as steep: σ and extremes differ a little from a report of the same stretch.
#[derive(Clone, Debug)]
pub struct LiveForce {
    filter: CausalFilter,
    settled: bool,
    since_reset: RunningStatistics,
    window: SlidingStatistics,
    losses: LossCounter,
    unknown: u64,
}

impl LiveForce {
    /// Nothing seen yet; `window` is in samples.
    pub fn new(
        filter: ForceFilter,
        sample_rate_hz: f64,
        window: usize,
        loss_threshold_n: f64,
    ) -> Result<Self, AnalysisError> {
        Ok(Self {
            filter: filter.causal(sample_rate_hz)?,
            settled: false,
            since_reset: RunningStatistics::default(),
            window: SlidingStatistics::new(window)?,
            losses: LossCounter::new(loss_threshold_n, sample_rate_hz)?,
            unknown: 0,
        })
    }

    /// Takes one sample in N and returns it filtered. An unknown sample (NaN or infinite) is
    /// counted and gives NaN; behind it, as at the start, the filter begins settled on the first
    /// known sample.
    pub fn push(&mut self, force_n: f64) -> f64 {
        self.losses.push(force_n);
        if !force_n.is_finite() {
            self.unknown += 1;
            self.settled = false;
            self.window.push(f64::NAN);
            return f64::NAN;
        }
        if !self.settled {
            self.filter.settle(force_n);
            self.settled = true;
        }
        let filtered = self.filter.step(force_n);
        self.since_reset.push(filtered);
        self.window.push(filtered);
        filtered
    }

    /// Forgets all statistics; the filter goes on, so that no new swing begins.
    pub fn reset(&mut self) {
        self.since_reset = RunningStatistics::default();
        self.window.reset();
        self.losses.reset();
        self.unknown = 0;
    }

    /// Statistics of the filtered force since the reset; `None` before the first known sample.
    pub fn since_reset(&self) -> Option<ForceStatistics> {
        self.since_reset.statistics()
    }

    /// Statistics of the filtered force in the window.
    pub fn window(&self) -> Option<ForceStatistics> {
        self.window.statistics()
    }

    /// Unknown samples in the window.
    pub fn unknown_in_window(&self) -> usize {
        self.window.unknown()
    }

    /// Losses of the unfiltered force since the reset.
    pub fn losses(&self) -> Losses {
        self.losses.losses()
    }

    /// Unknown samples since the reset.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_statistics_are_those_of_the_filtered_samples() {
        let mut live = LiveForce::new(ForceFilter::default(), 500.0, 50, 0.0).unwrap();
        let mut filter = ForceFilter::default().causal(500.0).unwrap();
        let forces: Vec<f64> = (0..400)
            .map(|i| 30.0 + 50.0 * (0.04 * f64::from(i)).sin())
            .collect();
        filter.settle(forces[0]);
        let expected: Vec<f64> = forces.iter().map(|f| filter.step(*f)).collect();
        let found: Vec<f64> = forces.iter().map(|f| live.push(*f)).collect();
        assert_eq!(found, expected);
        assert_eq!(live.since_reset(), ForceStatistics::of(&expected));
        let (window, fresh) = (
            live.window().unwrap(),
            ForceStatistics::of(&expected[350..]).unwrap(),
        );
        assert!((window.standard_deviation - fresh.standard_deviation).abs() < 1e-12);
        assert_eq!((window.samples, window.max), (50, fresh.max));
        assert!(live.losses().count >= 2);
        live.reset();
        assert_eq!((live.since_reset(), live.losses().count), (None, 0));
    }

    #[test]
    fn a_gap_is_counted_and_leaves_the_filter_sound() {
        let mut live = LiveForce::new(ForceFilter::default(), 500.0, 10, 0.0).unwrap();
        (0..20).for_each(|_| _ = live.push(80.0));
        assert!(live.push(f64::NAN).is_nan() && live.push(f64::INFINITY).is_nan());
        assert_eq!((live.unknown(), live.unknown_in_window()), (2, 2));
        assert!((live.push(120.0) - 120.0).abs() < 1e-12);
        assert_eq!(live.since_reset().unwrap().samples, 21);
        assert_eq!(live.window().unwrap().samples, 8);
    }
}
