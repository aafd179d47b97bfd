//! Two signals together: cross-spectrum, coherence and transfer function.

use super::SpectrumSettings;
use super::density::check_segments;
use super::segment::{Completed, SegmentBuffer, SegmentTransform};
use crate::signal::error::{AnalysisError, check_lengths};
use nalgebra::Complex;

/// Averaged spectra of an input x and an output y. Densities in unit² / Hz, the cross density in
/// unit of x · unit of y / Hz.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossSpectrum {
    /// Frequencies, in Hz.
    pub frequencies_hz: Vec<f64>,
    /// S_xx.
    pub xx: Vec<f64>,
    /// S_yy.
    pub yy: Vec<f64>,
    /// S_xy = ⟨X* Y⟩: its phase is that of y against x.
    pub xy: Vec<Complex<f64>>,
    /// Segments that were averaged.
    pub segments: u64,
    /// Segments that were left out because a sample of x or y in them is unknown.
    pub skipped: u64,
    /// Independent segments that these are worth.
    pub effective_averages: f64,
    /// A signal that did not vary, and its value: it has no coherence with anything.
    constant: Option<(&'static str, f64)>,
}

/// A transfer function from x to y, estimated. Gains in unit of y / unit of x.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferFunction {
    /// Frequencies, in Hz.
    pub frequencies_hz: Vec<f64>,
    /// H₁ = S_xy / S_xx: right if only y is noisy; too small if x is.
    pub h1: Vec<Complex<f64>>,
    /// H₂ = S_yy / S_yx: right if only x is noisy; too large if y is.
    pub h2: Vec<Complex<f64>>,
    /// γ² = |S_xy|² / (S_xx S_yy), from 0 to 1: the share of y that x explains linearly.
    pub coherence: Vec<f64>,
    /// Standard deviation of |H₁| as a share of it, and of its phase in rad:
    /// √((1 − γ²) / (2 γ² n)), n the effective averages (Bendat and Piersol).
    pub relative_error: Vec<f64>,
}

impl CrossSpectrum {
    /// γ² at each frequency. One segment alone would always give 1, so two are needed. NaN where
    /// one of the signals has no power at all.
    pub fn coherence(&self) -> Result<Vec<f64>, AnalysisError> {
        check_segments(self.segments, 2)?;
        if let Some((what, value)) = self.constant {
            return Err(AnalysisError::Constant { what, value });
        }
        let powers = self.xx.iter().zip(&self.yy);
        Ok(powers
            .zip(&self.xy)
            .map(|((xx, yy), xy)| xy.norm_sqr() / xx / yy)
            .collect())
    }

    /// H₁ and H₂ with their coherence and random error.
    pub fn transfer_function(&self) -> Result<TransferFunction, AnalysisError> {
        let coherence = self.coherence()?;
        let inputs = self.xy.iter().zip(&self.xx);
        let outputs = self.xy.iter().zip(&self.yy);
        let averages = self.effective_averages;
        Ok(TransferFunction {
            frequencies_hz: self.frequencies_hz.clone(),
            h1: inputs.map(|(xy, xx)| xy / *xx).collect(),
            h2: outputs.map(|(xy, yy)| xy.conj().inv() * *yy).collect(),
            relative_error: coherence
                .iter()
                // Rounding may lift γ² above 1 by a few ulp.
                .map(|c| ((1.0 - c).max(0.0) / (2.0 * c * averages)).sqrt())
                .collect(),
            coherence,
        })
    }
}

/// Welch's estimate of both signals together, over all whole segments.
pub fn cross_spectrum(
    x: &[f64],
    y: &[f64],
    settings: &SpectrumSettings,
) -> Result<CrossSpectrum, AnalysisError> {
    check_lengths(("the output", y.len()), ("the input", x.len()))?;
    let mut live = LiveCrossSpectrum::new(settings)?;
    for (x, y) in x.iter().zip(y) {
        live.push(*x, *y)?;
    }
    live.cross_spectrum()
}

/// The same of samples as they arrive. A push never allocates; the one that completes a segment
/// transforms it: feed it beside the real-time thread, not inside.
#[derive(Clone)]
pub struct LiveCrossSpectrum {
    settings: SpectrumSettings,
    buffers: [SegmentBuffer; 2],
    transform: SegmentTransform,
    spectra: [Vec<Complex<f64>>; 2],
    xx: Vec<f64>,
    yy: Vec<f64>,
    xy: Vec<Complex<f64>>,
    scales: Vec<f64>,
    /// Smallest and largest value of each signal in the segments that were averaged.
    ranges: [(f64, f64); 2],
    segments: u64,
    skipped: u64,
}

/// A range that holds nothing.
const EMPTY: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl LiveCrossSpectrum {
    /// An estimate of nothing yet.
    pub fn new(settings: &SpectrumSettings) -> Result<Self, AnalysisError> {
        let transform = SegmentTransform::new(settings)?;
        let bins = settings.segment / 2 + 1;
        let buffer = SegmentBuffer::new(settings);
        Ok(Self {
            settings: *settings,
            buffers: [buffer.clone(), buffer],
            transform,
            spectra: [
                vec![Complex::default(); bins],
                vec![Complex::default(); bins],
            ],
            xx: vec![0.0; bins],
            yy: vec![0.0; bins],
            xy: vec![Complex::default(); bins],
            scales: settings.scales(),
            ranges: [EMPTY; 2],
            segments: 0,
            skipped: 0,
        })
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.buffers.iter_mut().for_each(SegmentBuffer::reset);
        self.xx.fill(0.0);
        self.yy.fill(0.0);
        self.xy.fill(Complex::default());
        self.ranges = [EMPTY; 2];
        (self.segments, self.skipped) = (0, 0);
    }

    /// Takes one sample of each; `true` if it completed a segment.
    pub fn push(&mut self, x: f64, y: f64) -> Result<bool, AnalysisError> {
        match (self.buffers[0].push(x), self.buffers[1].push(y)) {
            (Completed::Nothing, _) | (_, Completed::Nothing) => return Ok(false),
            (Completed::Segment, Completed::Segment) => {}
            _ => {
                self.skipped += 1;
                return Ok(false);
            }
        }
        let signals = self.buffers.iter().zip(&mut self.spectra);
        for ((buffer, spectrum), range) in signals.zip(&mut self.ranges) {
            self.transform.run(buffer.samples(), spectrum)?;
            *range = buffer
                .samples()
                .fold(*range, |(low, high), v| (low.min(v), high.max(v)));
        }
        for (k, (x, y)) in self.spectra[0].iter().zip(&self.spectra[1]).enumerate() {
            self.xx[k] += x.norm_sqr();
            self.yy[k] += y.norm_sqr();
            self.xy[k] += x.conj() * y;
        }
        self.segments += 1;
        Ok(true)
    }

    /// The estimate so far; an error before the first whole segment.
    pub fn cross_spectrum(&self) -> Result<CrossSpectrum, AnalysisError> {
        check_segments(self.segments, 1)?;
        let count = self.segments as f64;
        let scaled = |sums: &[f64]| -> Vec<f64> {
            let sums = sums.iter().zip(&self.scales);
            sums.map(|(sum, scale)| sum * scale / count).collect()
        };
        let cross = self.xy.iter().zip(&self.scales);
        let constant = ["the input", "the output"]
            .into_iter()
            .zip(self.ranges)
            .find(|(_, (low, high))| low == high)
            .map(|(what, (low, _))| (what, low));
        Ok(CrossSpectrum {
            frequencies_hz: self.settings.frequencies_hz(),
            xx: scaled(&self.xx),
            yy: scaled(&self.yy),
            xy: cross.map(|(sum, scale)| sum * *scale / count).collect(),
            segments: self.segments,
            skipped: self.skipped,
            effective_averages: self.settings.effective_averages(self.segments),
            constant,
        })
    }
}
