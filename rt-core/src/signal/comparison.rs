//! Records compared at the same places along the line: difference and error index, in all and by band.

use super::band::{Band, KnownSpectra};
use super::error::{AnalysisError, check_lengths, check_rate};
use super::error_index::share_of_mean_percent;
use super::gaps::zero_phase_known;
use super::place::resample_by_place;
use serde::{Deserialize, Serialize};

/// A force record: equal steps of time, each with its place.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Where each sample was taken, in m.
    pub places_m: &'a [f64],
    /// Unfiltered force, in N.
    pub forces: &'a [f64],
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSettings {
    /// Bands of which the error index is wanted.
    pub bands: Vec<Band>,
    /// Order of the bands' Butterworth filters.
    pub order: usize,
    /// Only places from the first to the second are compared, in m; filters see more.
    pub range_m: Option<(f64, f64)>,
}

impl Default for ComparisonSettings {
    /// 0–20 Hz and its parts 0–5 and 5–20 Hz, fourth order, all places.
    fn default() -> Self {
        Self {
            bands: vec![Band::STANDARD, Band::SPANS, Band::DROPPERS],
            order: 4,
            range_m: None,
        }
    }
}

/// How much of a difference lies in a band, as root mean squares in the unit of the records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandDifference {
    /// The band.
    pub band: Band,
    /// After the band's filter, forward and backward. It is the difference that is filtered: the
    /// ends of two records of unequal length would show otherwise.
    pub by_filter: f64,
    /// Samples that are compared but missing in `by_filter`: their stretch between gaps is too
    /// short for the filter.
    pub dropped: usize,
    /// √∫S df over the band. Squares of bands that touch add up, and those of all frequencies to the
    /// square of the difference's root mean square.
    pub by_spectrum: f64,
}

/// A record less a reference at the same places, whatever the two are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Samples of the record that were compared.
    pub compared: usize,
    /// Samples outside the reference or the range asked for.
    pub outside: usize,
    /// Samples that are unknown in one of the records.
    pub unknown: usize,
    /// Mean of the reference over the compared samples.
    pub reference_mean: f64,
    /// The reference at the record's places; NaN where it was not compared.
    pub reference: Vec<f64>,
    /// Record − reference; NaN where it was not compared.
    pub difference: Vec<f64>,
    /// Root mean square of the difference.
    pub rms: f64,
    /// Estimated root mean square error of the straight lines between the reference's samples: an
    /// `rms` of this size says nothing.
    pub resampling_rms: f64,
    /// The same by band.
    pub bands: Vec<BandDifference>,
}

/// The error index of a band, in % of the mean of the unfiltered reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandError {
    /// The band.
    pub band: Band,
    /// [`BandDifference::by_filter`] as a share.
    pub by_filter_percent: f64,
    /// [`BandDifference::dropped`].
    pub dropped: usize,
    /// [`BandDifference::by_spectrum`] as a share.
    pub by_spectrum_percent: f64,
}

/// How far a force is from a reference at the same places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Samples of the record that were compared.
    pub compared: usize,
    /// Samples outside the reference or the range asked for.
    pub outside: usize,
    /// Samples that are unknown in one of the records.
    pub unknown: usize,
    /// Mean of the reference over the compared samples, in N.
    pub reference_mean: f64,
    /// The reference at the record's places, in N; NaN where it was not compared.
    pub reference: Vec<f64>,
    /// Record − reference, in N; NaN where it was not compared.
    pub difference: Vec<f64>,
    /// Error index of the unfiltered forces, in %.
    pub error_percent: f64,
    /// [`Difference::resampling_rms`] as a share, in %.
    pub resampling_percent: f64,
    /// Error index by band.
    pub bands: Vec<BandError>,
}

/// A record less a reference, whose places must ascend; it is resampled onto the record's places.
pub fn difference(
    record: &Series,
    reference: &Series,
    settings: &ComparisonSettings,
) -> Result<Difference, AnalysisError> {
    for series in [record, reference] {
        check_rate(series.sample_rate_hz)?;
        let places = ("its places", series.places_m.len());
        check_lengths(("a record", series.forces.len()), places)?;
    }
    let places = record.places_m;
    let resampled = resample_by_place(reference.places_m, reference.forces, places)?;
    let (from, to) = settings
        .range_m
        .unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let in_range = |values: &[f64]| -> Vec<f64> {
        let kept = |(x, v): (&f64, &f64)| {
            if (from..=to).contains(x) {
                *v
            } else {
                f64::NAN
            }
        };
        places.iter().zip(values).map(kept).collect()
    };
    let pairs = record.forces.iter().zip(&resampled.values);
    // An infinite force is unknown as well.
    let everywhere: Vec<f64> = pairs
        .map(|(force, reference)| force - reference)
        .map(|d| if d.is_finite() { d } else { f64::NAN })
        .collect();
    let difference = in_range(&everywhere);
    let aligned: Vec<f64> = resampled
        .values
        .iter()
        .zip(&difference)
        .map(|(r, d)| if d.is_nan() { f64::NAN } else { *r })
        .collect();
    let pairs = difference.iter().zip(&aligned);
    let known: Vec<(f64, f64)> = pairs
        .map(|(d, r)| (*d, *r))
        .filter(|(d, _)| !d.is_nan())
        .collect();
    let too_few = |found| AnalysisError::TooFew {
        what: "samples with a known counterpart at the same place, in stretches the filter can take",
        found,
        needed: 2,
        remedy: "choose records, or a range, that overlap and have fewer gaps",
    };
    if known.len() < 2 {
        return Err(too_few(known.len()));
    }
    let compared = known.len();
    let first = reference.places_m[0].max(from);
    let last = reference.places_m[reference.places_m.len() - 1].min(to);
    let outside = places
        .iter()
        .filter(|x| x.is_finite() && !(first..=last).contains(*x))
        .count();
    let spectra = KnownSpectra::of(&difference, record.sample_rate_hz)?;
    let in_band = |band: &Band| -> Result<BandDifference, AnalysisError> {
        let sos = band.filter(settings.order, record.sample_rate_hz)?;
        let filtered = in_range(&zero_phase_known(&sos, &everywhere)?.values);
        let known = filtered.iter().filter(|d| d.is_finite());
        let (count, squares) = known.fold((0_usize, 0.0), |(n, sum), d| (n + 1, sum + d * d));
        if count == 0 {
            return Err(too_few(0));
        }
        Ok(BandDifference {
            band: *band,
            by_filter: (squares / count as f64).sqrt(),
            dropped: compared - count,
            by_spectrum: spectra.mean_square(*band)?.sqrt(),
        })
    };
    let mean_of = |sum: f64| sum / compared as f64;
    Ok(Difference {
        compared,
        outside,
        unknown: places.len() - compared - outside,
        reference_mean: mean_of(known.iter().map(|(_, r)| r).sum()),
        rms: mean_of(known.iter().map(|(d, _)| d * d).sum()).sqrt(),
        resampling_rms: resampled.rms_error,
        bands: settings
            .bands
            .iter()
            .map(in_band)
            .collect::<Result<_, _>>()?,
        reference: aligned,
        difference,
    })
}

/// Compares a force with a reference, whose places must ascend and whose mean must be above 0.
pub fn compare(
    record: &Series,
    reference: &Series,
    settings: &ComparisonSettings,
) -> Result<Comparison, AnalysisError> {
    let found = difference(record, reference, settings)?;
    let share = |rms: f64| share_of_mean_percent(rms * rms, found.reference_mean);
    let of_band = |b: &BandDifference| -> Result<BandError, AnalysisError> {
        Ok(BandError {
            band: b.band,
            by_filter_percent: share(b.by_filter)?,
            dropped: b.dropped,
            by_spectrum_percent: share(b.by_spectrum)?,
        })
    };
    Ok(Comparison {
        compared: found.compared,
        outside: found.outside,
        unknown: found.unknown,
        reference_mean: found.reference_mean,
        error_percent: share(found.rms)?,
        resampling_percent: share(found.resampling_rms)?,
        bands: found.bands.iter().map(of_band).collect::<Result<_, _>>()?,
        reference: found.reference,
        difference: found.difference,
    })
}

/// Compares several records with the same reference; each has its own result or error.
pub fn compare_each(
    records: &[Series],
    reference: &Series,
    settings: &ComparisonSettings,
) -> Vec<Result<Comparison, AnalysisError>> {
    let compare = |record| compare(record, reference, settings);
    records.iter().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series<'a>(places_m: &'a [f64], forces: &'a [f64]) -> Series<'a> {
        Series {
            places_m,
            forces,
            sample_rate_hz: 500.0,
        }
    }

    #[test]
    fn only_the_range_counts_in_every_measure() {
        // 5 N too much from 100 m to 300 m, 60 N too much from 340 m on; the mean is 100 N.
        let places: Vec<f64> = (0..2000).map(|i| 0.2 * f64::from(i)).collect();
        let reference = vec![100.0; 2000];
        let forces: Vec<f64> = places
            .iter()
            .map(|x| if *x < 340.0 { 105.0 } else { 160.0 })
            .collect();
        let settings = ComparisonSettings {
            range_m: Some((100.0, 300.0)),
            ..ComparisonSettings::default()
        };
        let (record, reference) = (series(&places, &forces), series(&places, &reference));
        let found = compare(&record, &reference, &settings).unwrap();
        assert!((found.error_percent - 5.0).abs() < 1e-12);
        assert_eq!(found.resampling_percent, 0.0);
        for band in found.bands {
            // A lasting difference lies at 0 Hz.
            let expected = if band.band.low_hz == 0.0 { 5.0 } else { 0.0 };
            // The step is 200 samples, 0.4 s, behind the range: e^{−0.4 s · 2π · 5 Hz · sin(π/8)}
            // of 55 N is left of it in the slowest filter, and less than half of that in the mean.
            assert!((band.by_filter_percent - expected).abs() < 0.25, "{band:?}");
            assert!(
                (band.by_spectrum_percent - expected).abs() < 1e-9,
                "{band:?}"
            );
            assert_eq!(band.dropped, 0);
        }
    }

    #[test]
    fn stretches_too_short_for_the_filter_are_counted() {
        let places: Vec<f64> = (0..400).map(f64::from).collect();
        let reference = vec![100.0; 400];
        let mut forces = vec![103.0; 400];
        forces[200] = f64::NAN;
        forces[206] = f64::NAN;
        let settings = ComparisonSettings::default();
        let (record, reference) = (series(&places, &forces), series(&places, &reference));
        let found = compare(&record, &reference, &settings).unwrap();
        assert_eq!((found.compared, found.unknown), (398, 2));
        assert!(found.bands.iter().all(|b| b.dropped == 5));
        let settings = ComparisonSettings {
            range_m: Some((201.0, 205.0)),
            ..settings
        };
        assert!(compare(&record, &reference, &settings).is_err());
    }
}
