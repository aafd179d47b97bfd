//! Losses of contact: how many, how long, which share of the time.

use super::error::{AnalysisError, check_rate};
use serde::Serialize;

/// Losses of contact of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Losses {
    /// Number of losses: runs of samples at or below the threshold.
    pub count: u64,
    /// Duration of the longest, in s.
    pub longest_s: f64,
    /// Duration of all, in s.
    pub total_s: f64,
    /// Share of the known time without contact, in %; 0 while nothing is known.
    pub percent: f64,
}

/// Counts losses sample by sample, without allocation.
///
/// A sample stands for one period: k samples in a row are a loss of k / f_s. An unknown sample
/// (NaN or infinite) ends a loss and counts neither as contact nor as loss. The force is to be
/// unfiltered: a low-pass hides short losses.
#[derive(Clone, Copy, Debug)]
pub struct LossCounter {
    threshold_n: f64,
    sample_rate_hz: f64,
    known: u64,
    lost: u64,
    count: u64,
    current: u64,
    longest: u64,
}

impl LossCounter {
    /// A counter of forces F ≤ `threshold_n`.
    pub fn new(threshold_n: f64, sample_rate_hz: f64) -> Result<Self, AnalysisError> {
        check_rate(sample_rate_hz)?;
        if !threshold_n.is_finite() {
            return Err(AnalysisError::Setting {
                what: "the force below which contact is lost",
                value: threshold_n,
                expected: "a finite value in N, usually 0".into(),
            });
        }
        Ok(Self {
            threshold_n,
            sample_rate_hz,
            known: 0,
            lost: 0,
            count: 0,
            current: 0,
            longest: 0,
        })
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        (self.known, self.lost, self.count) = (0, 0, 0);
        (self.current, self.longest) = (0, 0);
    }

    /// Takes one sample in newtons.
    pub fn push(&mut self, force_n: f64) {
        self.known += u64::from(force_n.is_finite());
        if !(force_n.is_finite() && force_n <= self.threshold_n) {
            self.current = 0;
            return;
        }
        self.count += u64::from(self.current == 0);
        self.current += 1;
        self.lost += 1;
        self.longest = self.longest.max(self.current);
    }

    /// What was seen so far; a loss that goes on is included.
    pub fn losses(&self) -> Losses {
        Losses {
            count: self.count,
            longest_s: self.longest as f64 / self.sample_rate_hz,
            total_s: self.lost as f64 / self.sample_rate_hz,
            percent: 100.0 * self.lost as f64 / self.known.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_a_small_record_are_those_by_hand() {
        let mut counter = LossCounter::new(0.0, 500.0).unwrap();
        let record = [
            -1.0,
            0.0,
            5.0,
            -1.0,
            f64::NAN,
            -2.0,
            -2.0,
            -2.0,
            9.0,
            f64::NEG_INFINITY,
        ];
        record.iter().for_each(|f| counter.push(*f));
        let losses = counter.losses();
        // Runs of 2, 1 and 3 samples of 2 ms; 6 of 8 known samples.
        assert_eq!(losses.count, 3);
        assert!((losses.longest_s - 0.006).abs() < 1e-15);
        assert!((losses.total_s - 0.012).abs() < 1e-15);
        assert_eq!(losses.percent, 75.0);
        counter.reset();
        assert_eq!(counter.losses(), Losses::default());
    }

    #[test]
    fn impossible_counters_are_refused() {
        assert!(LossCounter::new(f64::NAN, 500.0).is_err());
        let text = LossCounter::new(0.0, 0.0).unwrap_err().to_string();
        assert!(text.contains("sample rate is 0 Hz"), "{text}");
    }
}
