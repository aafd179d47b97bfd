//! Power spectral density: offline from a record, live from samples as they arrive.

use super::segment::{Completed, SegmentBuffer, SegmentTransform};
use super::{Detrend, SpectrumSettings, Window};
use crate::signal::band::Band;
use crate::signal::error::AnalysisError;
use nalgebra::Complex;
use serde::Serialize;

/// A one-sided power spectral density. With samples in N it is in N²/Hz.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Density {
    /// Frequencies, in Hz.
    pub frequencies_hz: Vec<f64>,
    /// Density at each, in unit² / Hz.
    pub density: Vec<f64>,
    /// Segments that were averaged.
    pub segments: u64,
    /// Segments that were left out because a sample in them is unknown.
    pub skipped: u64,
    /// Independent segments that these are worth.
    pub effective_averages: f64,
    /// Δf, in Hz.
    pub resolution_hz: f64,
    /// Half the sample rate, in Hz.
    pub nyquist_hz: f64,
}

impl Density {
    /// Random error of the density of a noise signal, as a share of it: 1 / √(effective averages).
    pub fn relative_error(&self) -> f64 {
        1.0 / self.effective_averages.sqrt()
    }

    /// ∫ S df over a band, in unit²: the mean square of what lies in it.
    ///
    /// The power S_k Δf of a frequency is spread evenly over its cell f_k ± Δf/2 (cut off at 0 and
    /// at half the sample rate), so bands that touch share it without loss or double count.
    pub fn band_power(&self, band: Band) -> Result<f64, AnalysisError> {
        band.check(self.nyquist_hz)?;
        Ok(self.power_within(band))
    }

    /// The same of a band that is known to be good.
    pub(crate) fn power_within(&self, band: Band) -> f64 {
        self.weighted_power(|f| self.share(f, band))
    }

    /// ∫ S df from 0 to half the sample rate, in unit².
    pub fn total_power(&self) -> f64 {
        self.weighted_power(|_| 1.0)
    }

    /// Σ S_k Δf g(f_k), in unit².
    pub(crate) fn weighted_power(&self, weight: impl Fn(f64) -> f64) -> f64 {
        let bins = self.frequencies_hz.iter().zip(&self.density);
        self.resolution_hz * bins.map(|(f, density)| weight(*f) * density).sum::<f64>()
    }

    fn share(&self, frequency_hz: f64, band: Band) -> f64 {
        let half = self.resolution_hz / 2.0;
        let from = (frequency_hz - half).max(0.0);
        let to = (frequency_hz + half).min(self.nyquist_hz);
        let inside = to.min(band.high_hz) - from.max(band.low_hz);
        (inside / (to - from)).max(0.0)
    }
}

/// Welch's estimate over all whole segments of a record.
pub fn welch(signal: &[f64], settings: &SpectrumSettings) -> Result<Density, AnalysisError> {
    let mut live = LiveDensity::new(settings)?;
    for sample in signal {
        live.push(*sample)?;
    }
    live.density()
}

/// The periodogram: one segment, all samples equal, the mean kept. Its total power is the mean
/// square of the record, exactly (Parseval).
pub fn periodogram(signal: &[f64], sample_rate_hz: f64) -> Result<Density, AnalysisError> {
    let settings = SpectrumSettings {
        sample_rate_hz,
        segment: signal.len(),
        overlap: 0,
        window: Window::Boxcar,
        detrend: Detrend::Nothing,
    };
    welch(signal, &settings)
}

/// Welch's estimate of samples as they arrive: the same segments and the same numbers as [`welch`].
///
/// A push never allocates. The one that completes a segment transforms it, which takes
/// N log N operations: feed it beside the real-time thread, not inside.
#[derive(Clone)]
pub struct LiveDensity {
    settings: SpectrumSettings,
    buffer: SegmentBuffer,
    transform: SegmentTransform,
    spectrum: Vec<Complex<f64>>,
    sum: Vec<f64>,
    scales: Vec<f64>,
    segments: u64,
    skipped: u64,
}

impl LiveDensity {
    /// An estimate of nothing yet.
    pub fn new(settings: &SpectrumSettings) -> Result<Self, AnalysisError> {
        let transform = SegmentTransform::new(settings)?;
        let bins = settings.segment / 2 + 1;
        Ok(Self {
            settings: *settings,
            buffer: SegmentBuffer::new(settings),
            transform,
            spectrum: vec![Complex::default(); bins],
            sum: vec![0.0; bins],
            scales: settings.scales(),
            segments: 0,
            skipped: 0,
        })
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.buffer.reset();
        self.sum.fill(0.0);
        (self.segments, self.skipped) = (0, 0);
    }

    /// Takes one sample; `true` if it completed a segment, so that the estimate has changed.
    pub fn push(&mut self, sample: f64) -> Result<bool, AnalysisError> {
        match self.buffer.push(sample) {
            Completed::Nothing => return Ok(false),
            Completed::SegmentWithGap => {
                self.skipped += 1;
                return Ok(false);
            }
            Completed::Segment => {}
        }
        self.transform
            .run(self.buffer.samples(), &mut self.spectrum)?;
        for (sum, x) in self.sum.iter_mut().zip(&self.spectrum) {
            *sum += x.norm_sqr();
        }
        self.segments += 1;
        Ok(true)
    }

    /// Segments averaged so far.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// The estimate so far; an error before the first whole segment.
    pub fn density(&self) -> Result<Density, AnalysisError> {
        check_segments(self.segments, 1)?;
        let count = self.segments as f64;
        let scaled = self.sum.iter().zip(&self.scales);
        Ok(Density {
            frequencies_hz: self.settings.frequencies_hz(),
            density: scaled.map(|(sum, scale)| sum * scale / count).collect(),
            segments: self.segments,
            skipped: self.skipped,
            effective_averages: self.settings.effective_averages(self.segments),
            resolution_hz: self.settings.resolution_hz(),
            nyquist_hz: self.settings.sample_rate_hz / 2.0,
        })
    }
}

/// Refuses an estimate of too few segments.
pub(super) fn check_segments(segments: u64, needed: usize) -> Result<(), AnalysisError> {
    if segments >= needed as u64 {
        return Ok(());
    }
    Err(AnalysisError::TooFew {
        what: "whole segments without an unknown sample",
        found: segments as usize,
        needed,
        remedy: "choose shorter segments, a longer record, or one with fewer gaps",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn sine(amplitude: f64, frequency_hz: f64, samples: usize) -> Vec<f64> {
        (0..samples)
            .map(|i| 117.0 + amplitude * (2.0 * PI * frequency_hz * i as f64 / 500.0).sin())
            .collect()
    }

    #[test]
    fn a_sine_has_its_peak_and_its_power_in_closed_form() {
        // On a line of the spectrum: |X| = A/2 Σw and, for Hann, (Σw)² / (N Σw²) = 1/1.5. So the
        // peak is A²/2 / (1.5 Δf), and the integral A²/2.
        let settings = SpectrumSettings::new(500.0, 500);
        let found = welch(&sine(3.0, 10.0, 5000), &settings).unwrap();
        assert_eq!(found.segments, 19);
        let peak = found.density[10];
        assert!((peak - 4.5 / 1.5).abs() < 1e-9, "{peak}");
        assert!((found.total_power() - 4.5).abs() < 1e-9);
        let around = found.band_power(Band::new(8.0, 12.0)).unwrap();
        assert!((around - 4.5).abs() < 1e-9, "{around}");
        // Off the lines by half a bin: Hann keeps all but the leakage within five bins each side.
        let found = welch(&sine(3.0, 10.5, 5000), &settings).unwrap();
        let around = found.band_power(Band::new(5.0, 16.0)).unwrap();
        assert!((around - 4.5).abs() < 0.02 * 4.5, "{around}");
    }

    #[test]
    fn powers_of_a_periodogram_add_up_to_the_mean_square_for_any_length() {
        for samples in [2_usize, 3, 97, 100, 1009] {
            let signal: Vec<f64> = (0..samples)
                .map(|i| ((i * i * 7919 + 31) % 1000) as f64 / 100.0 - 3.0)
                .collect();
            let expected = signal.iter().map(|x| x * x).sum::<f64>() / samples as f64;
            let found = periodogram(&signal, 500.0).unwrap();
            assert!((found.total_power() - expected).abs() < 1e-11 * expected);
            let parts: f64 = [(0.0, 5.0), (5.0, 20.3), (20.3, 250.0)]
                .map(|(low, high)| found.band_power(Band::new(low, high)).unwrap())
                .iter()
                .sum();
            assert!((parts - expected).abs() < 1e-11 * expected, "{samples}");
        }
    }

    #[test]
    fn segments_with_a_gap_are_left_out_and_counted() {
        let settings = SpectrumSettings::new(500.0, 100);
        let mut signal = sine(2.0, 10.0, 1000);
        signal[275] = f64::NAN;
        let found = welch(&signal, &settings).unwrap();
        // Segments begin every 50 samples; those from 200 and 250 hold sample 275.
        assert_eq!((found.segments, found.skipped), (17, 2));
        assert!((found.total_power() - 2.0).abs() < 1e-9);
        let text = welch(&signal[230..320], &settings).unwrap_err().to_string();
        assert!(text.contains("0; expected at least 1"), "{text}");
        assert!(welch(&[f64::NAN; 300], &settings).is_err());
    }

    #[test]
    fn a_reset_estimate_is_a_new_one() {
        let settings = SpectrumSettings::new(500.0, 100);
        let mut live = LiveDensity::new(&settings).unwrap();
        for x in sine(50.0, 33.0, 333) {
            live.push(x).unwrap();
        }
        live.reset();
        let signal = sine(2.0, 10.0, 400);
        let completed: usize = signal
            .iter()
            .map(|x| usize::from(live.push(*x).unwrap()))
            .sum();
        assert_eq!((completed, live.segments()), (7, 7));
        assert_eq!(live.density(), welch(&signal, &settings));
    }
}
