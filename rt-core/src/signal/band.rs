//! Bands of frequencies, and how much of a record lies in one: by filter and by spectrum.

use super::butterworth::{DesignError, band_pass, low_pass};
use super::error::{AnalysisError, check_rate};
use super::filter::Sos;
use super::gaps::{dropped, known_pieces, known_statistics, zero_phase_known};
use super::spectrum::density::{Density, periodogram};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Frequencies from `low_hz` to `high_hz`; from 0 Hz on it holds the mean too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Lower edge, in Hz; may be 0.
    pub low_hz: f64,
    /// Upper edge, in Hz.
    pub high_hz: f64,
}

impl Band {
    /// 0–5 Hz: spans and the line as a whole.
    pub const SPANS: Self = Self::new(0.0, 5.0);
    /// 5–20 Hz: droppers and the collector head.
    pub const DROPPERS: Self = Self::new(5.0, 20.0);
    /// 0–20 Hz: what the standards evaluate.
    pub const STANDARD: Self = Self::new(0.0, 20.0);

    /// A band; checked where it is used, because the sample rate limits it.
    pub const fn new(low_hz: f64, high_hz: f64) -> Self {
        Self { low_hz, high_hz }
    }

    /// Refuses edges that do not ascend or lie above half the sample rate.
    pub fn check(&self, nyquist_hz: f64) -> Result<(), DesignError> {
        let Self { low_hz, high_hz } = *self;
        if !(high_hz > 0.0 && high_hz <= nyquist_hz) {
            return Err(DesignError::Cutoff {
                cutoff_hz: high_hz,
                nyquist_hz,
            });
        }
        if !(low_hz >= 0.0 && low_hz < high_hz) {
            return Err(DesignError::Band { low_hz, high_hz });
        }
        Ok(())
    }

    /// The Butterworth filter of this band: a low-pass from 0 Hz on, else a band-pass.
    pub fn filter(&self, order: usize, sample_rate_hz: f64) -> Result<Sos, DesignError> {
        if self.low_hz == 0.0 {
            low_pass(order, self.high_hz, sample_rate_hz)
        } else {
            band_pass(order, self.low_hz, self.high_hz, sample_rate_hz)
        }
    }
}

/// Standard deviation of what lies in a band, in the unit of the record.
///
/// `by_filter` and `by_spectrum` differ by what the filter's slopes let through or hold back: a
/// filter run in both directions has half the amplitude at its edges, the integral is sharp. For a
/// flat spectrum and an order n low-pass their ratio is √((1 − 1/(2n)) (π/2n) / sin(π/2n)), 0.948
/// for n = 4 and 0.985 for n = 16. `spectrum_through_filter` has the same slopes as `by_filter` and
/// has to agree with it up to the ends of the record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandDeviation {
    /// The band.
    pub band: Band,
    /// σ after the band's Butterworth filter, forward and backward.
    pub by_filter: f64,
    /// Known samples missing in `by_filter`: their stretch between gaps is too short for the filter.
    pub dropped: usize,
    /// √∫S df over the band, sharp edges.
    pub by_spectrum: f64,
    /// √∫S |H|⁴ df with the response H of the filter.
    pub spectrum_through_filter: f64,
}

/// σ of a record in a band; its mean is taken off first, unknown samples are left out.
pub fn band_deviation(
    signal: &[f64],
    sample_rate_hz: f64,
    band: Band,
    order: usize,
) -> Result<BandDeviation, AnalysisError> {
    band_deviation_within(signal, 0..signal.len(), sample_rate_hz, band, order)
}

/// The same of a part of a record: the filter sees all of it, so that its ends lie outside.
pub(crate) fn band_deviation_within(
    signal: &[f64],
    part: Range<usize>,
    sample_rate_hz: f64,
    band: Band,
    order: usize,
) -> Result<BandDeviation, AnalysisError> {
    let sos = band.filter(order, sample_rate_hz)?;
    let filtered = &zero_phase_known(&sos, signal)?.values[part.clone()];
    let signal = &signal[part];
    let by_filter = known_statistics(filtered).map_or(0.0, |s| s.standard_deviation);
    let mean = known_statistics(signal).map_or(0.0, |s| s.mean);
    let centred: Vec<f64> = signal.iter().map(|x| x - mean).collect();
    let spectra = KnownSpectra::of(&centred, sample_rate_hz)?;
    Ok(BandDeviation {
        band,
        by_filter,
        dropped: dropped(signal, filtered),
        by_spectrum: spectra.mean_square(band)?.sqrt(),
        spectrum_through_filter: spectra
            .average(|d| d.weighted_power(|f| sos.response(f).norm_sqr().powi(2)))
            .sqrt(),
    })
}

/// Periodograms of all stretches without a gap. Nothing is windowed, so the powers of bands that
/// together reach from 0 to half the sample rate add up to the mean square of the known samples
/// (but those alone between two gaps).
pub(crate) struct KnownSpectra {
    pieces: Vec<(f64, Density)>,
    nyquist_hz: f64,
}

impl KnownSpectra {
    pub(crate) fn of(signal: &[f64], sample_rate_hz: f64) -> Result<Self, AnalysisError> {
        check_rate(sample_rate_hz)?;
        // A single sample between two gaps has no spectrum.
        let pieces: Vec<_> = known_pieces(signal).filter(|p| p.len() > 1).collect();
        let known: usize = pieces.iter().map(ExactSizeIterator::len).sum();
        if known == 0 {
            return Err(AnalysisError::TooFew {
                what: "known samples in a row",
                found: signal.iter().filter(|x| x.is_finite()).count().min(1),
                needed: 2,
                remedy: "choose another stretch or channel",
            });
        }
        let spectrum = |piece: std::ops::Range<usize>| {
            let weight = piece.len() as f64 / known as f64;
            Ok((weight, periodogram(&signal[piece], sample_rate_hz)?))
        };
        Ok(Self {
            pieces: pieces
                .into_iter()
                .map(spectrum)
                .collect::<Result<_, AnalysisError>>()?,
            nyquist_hz: sample_rate_hz / 2.0,
        })
    }

    /// Mean square of what lies in a band, in unit².
    pub(crate) fn mean_square(&self, band: Band) -> Result<f64, AnalysisError> {
        band.check(self.nyquist_hz)?;
        Ok(self.average(|density| density.power_within(band)))
    }

    fn average(&self, power: impl Fn(&Density) -> f64) -> f64 {
        self.pieces
            .iter()
            .map(|(weight, d)| weight * power(d))
            .sum()
    }
}
