//! Records compared at the same places along the line: difference and error index, in all and by band.

use super::band::{Band, KnownSpectra};
use super::error::{AnalysisError, check_lengths, check_rate};
use super::error_index::{error_index_percent, share_of_mean_percent};
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

/// The error index of a band, in % of the mean of the unfiltered reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandError {
    /// The band.
    pub band: Band,
    /// Root mean square of the difference after the band's filter, forward and backward. It is the
    /// difference that is filtered: the ends of two records of unequal length would show otherwise.
    pub by_filter_percent: f64,
    /// Samples that are compared but missing in `by_filter_percent`: their stretch between gaps is
    /// too short for the filter.
    pub dropped: usize,
    /// √∫S df of the difference over the band. Squares of bands that touch add up, and those of all
    /// frequencies to the square of `error_percent`.
    pub by_spectrum_percent: f64,
}

/// How far a record is from a reference at the same places.
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
    /// Estimated root mean square error of the straight lines between the reference's samples, in %:
    /// an `error_percent` of this size says nothing.
    pub resampling_percent: f64,
    /// Error index by band.
    pub bands: Vec<BandError>,
}

/// Compares a record with a reference, whose places must ascend; it is resampled onto the record's
/// places.
pub fn compare(
    record: &Series,
    reference: &Series,
    settings: &ComparisonSettings,
) -> Result<Comparison, AnalysisError> {
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
    let known = difference.iter().zip(record.forces.iter().zip(&aligned));
    let (ours, theirs): (Vec<f64>, Vec<f64>) = known
        .filter(|(d, _)| !d.is_nan())
        .map(|(_, (force, reference))| (*force, *reference))
        .unzip();
    let too_few = |found| AnalysisError::TooFew {
        what: "samples with a known counterpart at the same place, in stretches the filter can take",
        found,
        needed: 2,
        remedy: "choose records, or a range, that overlap and have fewer gaps",
    };
    if ours.len() < 2 {
        return Err(too_few(ours.len()));
    }
    let first = reference.places_m[0].max(from);
    let last = reference.places_m[reference.places_m.len() - 1].min(to);
    let outside = places
        .iter()
        .filter(|x| x.is_finite() && !(first..=last).contains(*x))
        .count();
    let reference_mean = theirs.iter().sum::<f64>() / theirs.len() as f64;
    let spectra = KnownSpectra::of(&difference, record.sample_rate_hz)?;
    let in_band = |band: &Band| -> Result<BandError, AnalysisError> {
        let sos = band.filter(settings.order, record.sample_rate_hz)?;
        let filtered = in_range(&zero_phase_known(&sos, &everywhere)?.values);
        let known = filtered.iter().filter(|d| d.is_finite());
        let (count, squares) = known.fold((0_usize, 0.0), |(n, sum), d| (n + 1, sum + d * d));
        if count == 0 {
            return Err(too_few(0));
        }
        let by_filter = squares / count as f64;
        Ok(BandError {
            band: *band,
            by_filter_percent: share_of_mean_percent(by_filter, reference_mean)?,
            dropped: ours.len() - count,
            by_spectrum_percent: share_of_mean_percent(
                spectra.mean_square(*band)?,
                reference_mean,
            )?,
        })
    };
    Ok(Comparison {
        compared: ours.len(),
        outside,
        unknown: places.len() - ours.len() - outside,
        reference_mean,
        error_percent: error_index_percent(&ours, &theirs)?,
        resampling_percent: share_of_mean_percent(resampled.rms_error.powi(2), reference_mean)?,
        bands: settings
            .bands
            .iter()
            .map(in_band)
            .collect::<Result<_, _>>()?,
        reference: aligned,
        difference,
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
