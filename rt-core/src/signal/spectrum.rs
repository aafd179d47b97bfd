//! Spectra by Welch's method: settings shared by densities, cross-spectra and spectrograms.

pub mod cross;
pub mod density;
mod segment;
pub mod spectrogram;

use super::error::{AnalysisError, check_rate};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The weight of each sample of a segment. All are periodic (the sample after the last would be
/// the first again), as spectra want them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    /// w_n = ½ − ½ cos(2πn/N): little leakage; the usual choice.
    #[default]
    Hann,
    /// w_n = 0.54 − 0.46 cos(2πn/N).
    Hamming,
    /// w_n = 1: all samples count the same, but what is not periodic in the segment leaks widely.
    Boxcar,
}

impl Window {
    fn weights(self, length: usize) -> Vec<f64> {
        let cosine = |n: usize| (2.0 * PI * n as f64 / length as f64).cos();
        (0..length)
            .map(|n| match self {
                Self::Hann => 0.5 - 0.5 * cosine(n),
                Self::Hamming => 0.54 - 0.46 * cosine(n),
                Self::Boxcar => 1.0,
            })
            .collect()
    }
}

/// What is taken off each segment before it is weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detrend {
    /// The segment's mean.
    #[default]
    Constant,
    /// Nothing: the mean shows at 0 Hz.
    Nothing,
}

/// How a record is cut into segments and transformed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpectrumSettings {
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
    /// Samples of a segment; the resolution is sample rate / segment.
    pub segment: usize,
    /// Samples that a segment shares with the one before.
    pub overlap: usize,
    /// Weights.
    pub window: Window,
    /// What is taken off first.
    pub detrend: Detrend,
}

impl SpectrumSettings {
    /// Hann window, half overlap, each segment's mean taken off.
    pub fn new(sample_rate_hz: f64, segment: usize) -> Self {
        Self {
            sample_rate_hz,
            segment,
            overlap: segment / 2,
            window: Window::Hann,
            detrend: Detrend::Constant,
        }
    }

    /// Refuses settings that have no spectrum.
    pub fn check(&self) -> Result<(), AnalysisError> {
        check_rate(self.sample_rate_hz)?;
        if self.segment < 2 {
            return Err(AnalysisError::TooFew {
                what: "samples of a segment",
                found: self.segment,
                needed: 2,
                remedy: "the resolution is the sample rate over the segment's samples",
            });
        }
        if self.overlap >= self.segment {
            return Err(AnalysisError::Setting {
                what: "the overlap in samples",
                value: self.overlap as f64,
                expected: format!("less than the segment's {} samples", self.segment),
            });
        }
        Ok(())
    }

    /// Samples from the begin of a segment to that of the next.
    pub fn hop(&self) -> usize {
        self.segment - self.overlap
    }

    /// Δf, in Hz.
    pub fn resolution_hz(&self) -> f64 {
        self.sample_rate_hz / self.segment as f64
    }

    /// Frequencies of a one-sided spectrum, in Hz: 0, Δf, … up to half the sample rate.
    pub fn frequencies_hz(&self) -> Vec<f64> {
        let samples = self.segment as f64;
        (0..=self.segment / 2)
            .map(|k| k as f64 * self.sample_rate_hz / samples)
            .collect()
    }

    /// Factors from |X_k|² to a one-sided density: 1 / (f_s Σw²), twice that for all frequencies
    /// that stand for a negative one too.
    fn scales(&self) -> Vec<f64> {
        let weights = self.window.weights(self.segment);
        let scale = 1.0 / (self.sample_rate_hz * weights.iter().map(|w| w * w).sum::<f64>());
        let single = |k: usize| k == 0 || 2 * k == self.segment;
        (0..=self.segment / 2)
            .map(|k| if single(k) { scale } else { 2.0 * scale })
            .collect()
    }

    /// How many independent segments K overlapping ones are worth for white noise (Welch 1967):
    /// K / (1 + 2 Σ_j (1 − j/K) ρ_j²), ρ_j = Σ_n w_n w_{n+jS} / Σw², S the hop.
    pub fn effective_averages(&self, segments: u64) -> f64 {
        let weights = self.window.weights(self.segment);
        let energy: f64 = weights.iter().map(|w| w * w).sum();
        let count = segments as f64;
        let shared: f64 = (1..)
            .map(|j| (j, j * self.hop()))
            .take_while(|(j, shift)| *shift < self.segment && (*j as u64) < segments)
            .map(|(j, shift)| {
                let pairs = weights.iter().zip(&weights[shift..]);
                let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / energy;
                (1.0 - j as f64 / count) * correlation * correlation
            })
            .sum();
        count / (1.0 + 2.0 * shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_averages_are_the_published_ones() {
        // Without overlap segments are independent.
        let mut settings = SpectrumSettings::new(500.0, 256);
        settings.overlap = 0;
        assert!((settings.effective_averages(10) - 10.0).abs() < 1e-12);
        // Hann, half overlap: ρ₁ = 1/6 (Harris 1978, table I, 16.7 %), so K / (1 + 2 (1 − 1/K) / 36).
        settings.overlap = 128;
        let expected = 100.0 / (1.0 + 2.0 * 0.99 / 36.0);
        assert!((settings.effective_averages(100) - expected).abs() < 1e-9);
        assert_eq!(settings.effective_averages(1), 1.0);
    }

    #[test]
    fn settings_without_a_spectrum_are_refused() {
        let good = SpectrumSettings::new(500.0, 8);
        assert_eq!(good.check(), Ok(()));
        for bad in [
            SpectrumSettings { overlap: 8, ..good },
            SpectrumSettings { segment: 1, ..good },
            SpectrumSettings {
                sample_rate_hz: f64::NAN,
                ..good
            },
        ] {
            assert!(bad.check().unwrap_err().to_string().contains("expected"));
        }
    }
}
