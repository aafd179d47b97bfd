//! How a spectrum changes in time.

use super::SpectrumSettings;
use super::density::check_segments;
use super::segment::SegmentTransform;
use crate::signal::error::AnalysisError;
use nalgebra::Complex;
use serde::Serialize;

/// The density of each segment of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spectrogram {
    /// Frequencies, in Hz.
    pub frequencies_hz: Vec<f64>,
    /// Middle of each segment, in s since the first sample.
    pub times_s: Vec<f64>,
    /// One-sided density of each segment, in unit² / Hz; NaN in segments with an unknown sample.
    pub density: Vec<Vec<f64>>,
    /// Segments with an unknown sample.
    pub skipped: usize,
}

/// Densities of all whole segments of a record, one after the other.
pub fn spectrogram(
    signal: &[f64],
    settings: &SpectrumSettings,
) -> Result<Spectrogram, AnalysisError> {
    let mut transform = SegmentTransform::new(settings)?;
    let scales = settings.scales();
    let mut spectrum = vec![Complex::default(); scales.len()];
    let mut density = Vec::new();
    let mut skipped = 0;
    for segment in signal.windows(settings.segment).step_by(settings.hop()) {
        if segment.iter().all(|x| x.is_finite()) {
            transform.run(segment.iter().copied(), &mut spectrum)?;
            let scaled = spectrum.iter().zip(&scales);
            density.push(scaled.map(|(x, scale)| x.norm_sqr() * scale).collect());
        } else {
            density.push(vec![f64::NAN; scales.len()]);
            skipped += 1;
        }
    }
    check_segments((density.len() - skipped) as u64, 1)?;
    let middle = |k: usize| (k * settings.hop()) as f64 + settings.segment as f64 / 2.0;
    Ok(Spectrogram {
        frequencies_hz: settings.frequencies_hz(),
        times_s: (0..density.len())
            .map(|k| middle(k) / settings.sample_rate_hz)
            .collect(),
        density,
        skipped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_with_a_gap_stays_unknown() {
        let settings = SpectrumSettings::new(10.0, 4);
        let signal = [1.0, 2.0, 1.0, 4.0, 1.0, 2.0, f64::NAN, 1.0];
        let found = spectrogram(&signal, &settings).unwrap();
        assert_eq!(found.times_s, [0.2, 0.4, 0.6]);
        assert_eq!(found.skipped, 1);
        assert!(found.density[..2].iter().flatten().all(|d| d.is_finite()));
        assert!(found.density[2].iter().all(|d| d.is_nan()));
        assert!(spectrogram(&signal[..3], &settings).is_err());
        assert!(spectrogram(&signal[4..], &settings).is_err());
    }
}
