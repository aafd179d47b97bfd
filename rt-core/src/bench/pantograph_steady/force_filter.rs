//! A symmetric low-pass of the measured force: its delay is a whole number of cycles at every frequency, and what it
//! takes from the harmonics that are kept is known exactly and given back.
//!
//! Weights w_m ∝ 1 − cos(2π(m+1)/(M+1)), m = 0 … M−1, of a mean over M samples. It is there because a force enters
//! the wire's height with a jump from one step to the next, through which fast vibration of the specimen on its pad
//! would be fed back.

use crate::file::FieldError;
use nalgebra::Complex;
use std::f64::consts::TAU;

/// Most samples of the mean.
const MOST: usize = 201;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct ForceFilter {
    weights: Vec<f64>,
    kept: Vec<f64>,
    next: usize,
}

impl ForceFilter {
    /// A mean over an odd number of samples; 1 is no filter.
    pub fn new(samples: usize) -> Result<Self, FieldError> {
        if samples.is_multiple_of(2) || samples > MOST {
            return Err(FieldError::new(
                "filter_samples",
                format!("is {samples}; expected an odd number from 1 to {MOST}"),
            ));
        }
        let weight = |m: usize| 1.0 - (TAU * (m + 1) as f64 / (samples + 1) as f64).cos();
        let sum: f64 = (0..samples).map(weight).sum();
        Ok(Self {
            weights: (0..samples).map(|m| weight(m) / sum).collect(),
            kept: vec![0.0; samples],
            next: 0,
        })
    }

    /// Cycles by which its output comes late.
    pub fn delay(&self) -> usize {
        self.weights.len() / 2
    }

    /// Its gain for motion that turns by an angle a cycle, beside its delay.
    pub fn gain(&self, angle: f64) -> f64 {
        let middle = self.delay() as f64;
        let part = |(m, w): (usize, &f64)| Complex::from_polar(*w, angle * (middle - m as f64)).re;
        self.weights.iter().enumerate().map(part).sum()
    }

    /// As if the force had always been this, in N.
    pub fn settle(&mut self, force: f64) {
        self.kept.fill(force);
    }

    /// Takes a force and gives the filtered one, in N.
    #[inline]
    pub fn step(&mut self, force: f64) -> f64 {
        self.kept[self.next] = force;
        self.next += 1;
        if self.next == self.kept.len() {
            self.next = 0;
        }
        // The oldest comes first; the weights are symmetric.
        let (newer, older) = self.kept.split_at(self.next);
        let values = older.iter().chain(newer);
        values.zip(&self.weights).map(|(f, w)| f * w).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_comes_late_and_smaller_as_stated_and_fast_ones_vanish() {
        for samples in [1, 21, 35] {
            for angle in [0.0, 0.01, 0.157, 0.8] {
                let mut filter = ForceFilter::new(samples).unwrap();
                let sent = |n: usize| 100.0 + 20.0 * (angle * n as f64).cos();
                let (gain, delay) = (filter.gain(angle), filter.delay());
                for n in 0..300 {
                    let found = filter.step(sent(n));
                    if n > samples {
                        let expected = 100.0 + gain * (sent(n - delay) - 100.0);
                        assert!((found - expected).abs() < 1e-10, "{samples} {angle}");
                    }
                }
            }
        }
        let filter = ForceFilter::new(21).unwrap();
        // 25 Hz and 138 Hz in cycles of 1 ms.
        assert!(filter.gain(TAU * 0.025) > 0.8);
        assert!(filter.gain(TAU * 0.138).abs() < 0.03);
        assert!(ForceFilter::new(20).is_err() && ForceFilter::new(999).is_err());
    }
}
