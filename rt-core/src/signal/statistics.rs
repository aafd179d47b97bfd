//! Statistics of the contact force as EN 50317 reports them.

use serde::Serialize;

/// Statistics of a record of the contact force; forces in newtons.
///
/// Standards evaluate the force after a 20 Hz low-pass; loss of contact is a matter of the
/// unfiltered force. Which of the two these are is the caller's choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ForceStatistics {
    /// Number of samples N.
    pub samples: u64,
    /// F_m = ΣF / N.
    pub mean: f64,
    /// σ = √(Σ(F − F_m)² / N): of the whole population, not the estimate with N − 1.
    pub standard_deviation: f64,
    /// F_m + 3σ.
    pub statistical_max: f64,
    /// F_m − 3σ.
    pub statistical_min: f64,
    /// Largest sample.
    pub max: f64,
    /// Smallest sample.
    pub min: f64,
    /// Share of samples with F ≤ 0 in %.
    pub loss_of_contact_percent: f64,
}

impl ForceStatistics {
    /// Statistics of a record; `None` of an empty one.
    pub fn of(forces: &[f64]) -> Option<Self> {
        let mut running = RunningStatistics::default();
        forces.iter().for_each(|force| running.push(*force));
        running.statistics()
    }
}

/// The same statistics sample by sample, without memory of the record (Welford's recurrence, which
/// unlike ΣF² − (ΣF)²/N does not lose digits).
#[derive(Clone, Copy, Debug)]
pub struct RunningStatistics {
    samples: u64,
    mean: f64,
    squares: f64,
    max: f64,
    min: f64,
    lost: u64,
}

impl Default for RunningStatistics {
    fn default() -> Self {
        Self {
            samples: 0,
            mean: 0.0,
            squares: 0.0,
            max: f64::NEG_INFINITY,
            min: f64::INFINITY,
            lost: 0,
        }
    }
}

impl RunningStatistics {
    /// How many samples were taken in.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Takes one sample in newtons.
    pub fn push(&mut self, force: f64) {
        self.samples += 1;
        let before = force - self.mean;
        self.mean += before / self.samples as f64;
        self.squares += before * (force - self.mean);
        self.max = self.max.max(force);
        self.min = self.min.min(force);
        self.lost += u64::from(force <= 0.0);
    }

    /// Takes all samples that `other` has seen (Chan's update): means are moved by their difference,
    /// squares are never subtracted, so that no digits are lost.
    pub fn merge(&mut self, other: &Self) {
        if other.samples == 0 {
            return;
        }
        let (ours, theirs) = (self.samples as f64, other.samples as f64);
        let difference = other.mean - self.mean;
        let share = theirs / (ours + theirs);
        self.samples += other.samples;
        self.mean += difference * share;
        self.squares += other.squares + difference * difference * ours * share;
        self.max = self.max.max(other.max);
        self.min = self.min.min(other.min);
        self.lost += other.lost;
    }

    /// What was seen so far; `None` before the first sample.
    pub fn statistics(&self) -> Option<ForceStatistics> {
        if self.samples == 0 {
            return None;
        }
        let count = self.samples as f64;
        let standard_deviation = (self.squares / count).sqrt();
        Some(ForceStatistics {
            samples: self.samples,
            mean: self.mean,
            standard_deviation,
            statistical_max: self.mean + 3.0 * standard_deviation,
            statistical_min: self.mean - 3.0 * standard_deviation,
            max: self.max,
            min: self.min,
            loss_of_contact_percent: 100.0 * self.lost as f64 / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_a_small_record_are_those_by_hand() {
        let s = ForceStatistics::of(&[2.0, 4.0, 0.0, 6.0, -2.0]).unwrap();
        assert_eq!((s.samples, s.mean, s.max, s.min), (5, 2.0, 6.0, -2.0));
        // Deviations 0, 2, −2, 4, −4: Σ² = 40, σ² = 8.
        assert!((s.standard_deviation - 8.0_f64.sqrt()).abs() < 1e-15);
        assert!((s.statistical_max - (2.0 + 3.0 * 8.0_f64.sqrt())).abs() < 1e-14);
        assert!((s.statistical_min - (2.0 - 3.0 * 8.0_f64.sqrt())).abs() < 1e-14);
        assert_eq!(s.loss_of_contact_percent, 40.0);
        assert_eq!(ForceStatistics::of(&[]), None);
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let record: Vec<f64> = (0..37).map(|i| f64::from(i * i % 23) - 4.0).collect();
        let whole = ForceStatistics::of(&record).unwrap();
        for cut in [0, 1, 20, 37] {
            let mut merged = RunningStatistics::default();
            let mut second = RunningStatistics::default();
            record[..cut].iter().for_each(|x| merged.push(*x));
            record[cut..].iter().for_each(|x| second.push(*x));
            merged.merge(&second);
            let merged = merged.statistics().unwrap();
            assert!((merged.mean - whole.mean).abs() < 1e-13);
            assert!((merged.standard_deviation - whole.standard_deviation).abs() < 1e-13);
            assert_eq!(
                (merged.samples, merged.max, merged.min),
                (37, whole.max, whole.min)
            );
            assert_eq!(
                merged.loss_of_contact_percent,
                whole.loss_of_contact_percent
            );
        }
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        let record: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let s = ForceStatistics::of(&record).unwrap();
        assert!((s.standard_deviation - 0.5).abs() < 1e-6, "{s:?}");
    }

    #[test]
    fn a_sample_that_is_no_number_is_seen_in_the_result() {
        let s = ForceStatistics::of(&[1.0, f64::NAN, 2.0]).unwrap();
        assert!(s.mean.is_nan() && s.standard_deviation.is_nan());
    }
}
