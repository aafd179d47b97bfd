//! The contact force of a record as EN 50317 wants it reported, with the filter stated.

use super::band::{Band, BandDeviation, band_deviation_within};
use super::butterworth::{DesignError, low_pass};
use super::error::{AnalysisError, check_rate};
use super::filter::CausalFilter;
use super::gaps::{Filtered, Gaps, dropped, known_statistics, zero_phase_known};
use super::losses::{LossCounter, Losses};
use super::statistics::ForceStatistics;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The low-pass before the evaluation: Butterworth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceFilter {
    /// Order of the filter; run forward and backward its slope is twice as steep.
    pub order: usize,
    /// Cut-off, in Hz: −3 dB in one direction, −6 dB forward and backward.
    pub cutoff_hz: f64,
}

impl Default for ForceFilter {
    /// Fourth order, 20 Hz.
    fn default() -> Self {
        Self {
            order: 4,
            cutoff_hz: 20.0,
        }
    }
}

impl ForceFilter {
    /// Without phase shift, for records; forces in N. Stretches between gaps are filtered apart.
    pub fn zero_phase(
        &self,
        forces: &[f64],
        sample_rate_hz: f64,
    ) -> Result<Filtered, AnalysisError> {
        let sos = low_pass(self.order, self.cutoff_hz, sample_rate_hz)?;
        zero_phase_known(&sos, forces)
    }

    /// Sample by sample, for live use; later by the filter's delay.
    pub fn causal(&self, sample_rate_hz: f64) -> Result<CausalFilter, DesignError> {
        low_pass(self.order, self.cutoff_hz, sample_rate_hz).map(CausalFilter::new)
    }
}

/// What a report evaluates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportSettings {
    /// The low-pass before the statistics.
    pub filter: ForceFilter,
    /// Contact is lost while the unfiltered force is at or below this, in N.
    pub loss_threshold_n: f64,
    /// Bands of which σ is wanted.
    pub bands: Vec<Band>,
}

impl Default for ReportSettings {
    /// 20 Hz, loss at 0 N, σ in 0–5, 5–20 and 0–20 Hz.
    fn default() -> Self {
        Self {
            filter: ForceFilter::default(),
            loss_threshold_n: 0.0,
            bands: vec![Band::SPANS, Band::DROPPERS, Band::STANDARD],
        }
    }
}

/// The contact force of a record. Forces in N.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContactForceReport {
    /// The filter that was used, forward and backward.
    pub filter: ForceFilter,
    /// Samples a second, in Hz.
    pub sample_rate_hz: f64,
    /// What of the record is unknown; it enters nothing below.
    pub gaps: Gaps,
    /// Known samples that lie between gaps too close for the filter; they enter `raw` and `losses`
    /// only.
    pub dropped: usize,
    /// Statistics of the filtered force.
    pub filtered: ForceStatistics,
    /// Statistics of the unfiltered force.
    pub raw: ForceStatistics,
    /// Losses of contact of the unfiltered force.
    pub losses: Losses,
    /// σ of the unfiltered force in each band, in N.
    pub bands: Vec<BandDeviation>,
}

impl ContactForceReport {
    /// Evaluates a record of the unfiltered force, in N.
    pub fn of(
        forces: &[f64],
        sample_rate_hz: f64,
        settings: &ReportSettings,
    ) -> Result<Self, AnalysisError> {
        Self::within(forces, 0..forces.len(), sample_rate_hz, settings)
    }

    /// Evaluates a part of a record. The filter sees all of it, so that its ends lie outside; a loss
    /// of contact is counted from where the part begins.
    pub fn within(
        forces: &[f64],
        part: Range<usize>,
        sample_rate_hz: f64,
        settings: &ReportSettings,
    ) -> Result<Self, AnalysisError> {
        check_rate(sample_rate_hz)?;
        let none = || AnalysisError::TooFew {
            what: "known samples of the force",
            found: 0,
            needed: 1,
            remedy: "choose another stretch or channel",
        };
        let own = forces.get(part.clone()).ok_or_else(none)?;
        let raw = known_statistics(own).ok_or_else(none)?;
        let filtered = settings.filter.zero_phase(forces, sample_rate_hz)?;
        let filtered = &filtered.values[part.clone()];
        let mut losses = LossCounter::new(settings.loss_threshold_n, sample_rate_hz)?;
        own.iter().for_each(|f| losses.push(*f));
        let in_band = |band: &Band| {
            let order = settings.filter.order;
            band_deviation_within(forces, part.clone(), sample_rate_hz, *band, order)
        };
        Ok(Self {
            filter: settings.filter,
            sample_rate_hz,
            gaps: Gaps::of(own),
            dropped: dropped(own, filtered),
            filtered: known_statistics(filtered).ok_or_else(none)?,
            raw,
            losses: losses.losses(),
            bands: settings
                .bands
                .iter()
                .map(in_band)
                .collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_evaluated_as_if_the_filter_had_seen_the_whole() {
        // A step of 60 N ends 20 samples behind the part: a filter that saw the part alone would
        // not know of it.
        let forces: Vec<f64> = (0..2000)
            .map(|i| if i < 1520 { 100.0 } else { 160.0 })
            .collect();
        let settings = ReportSettings::default();
        let part = 500..1500;
        let found = ContactForceReport::within(&forces, part.clone(), 500.0, &settings).unwrap();
        let filtered = settings.filter.zero_phase(&forces, 500.0).unwrap().values;
        let expected = known_statistics(&filtered[part.clone()]).unwrap();
        assert_eq!(found.filtered, expected);
        assert!(found.filtered.standard_deviation > 0.01);
        assert_eq!(found.raw.standard_deviation, 0.0);
        // σ of 0–20 Hz is the same filter.
        assert_eq!(found.bands[2].by_filter, expected.standard_deviation);
        assert_eq!((found.dropped, found.gaps.samples), (0, 1000));
        assert!(ContactForceReport::within(&forces, 1500..2001, 500.0, &settings).is_err());
        assert!(ContactForceReport::within(&forces, 7..7, 500.0, &settings).is_err());
    }

    #[test]
    fn a_gap_is_reported_and_enters_nothing() {
        let force = |i: usize| 100.0 + 20.0 * (0.05 * i as f64).sin();
        let mut forces: Vec<f64> = (0..2000).map(force).collect();
        let whole = ContactForceReport::of(&forces, 500.0, &ReportSettings::default()).unwrap();
        assert_eq!((whole.gaps.missing, whole.dropped), (0, 0));
        forces[1000..1010].fill(f64::NAN);
        forces[1013..1015].fill(f64::NAN);
        let found = ContactForceReport::of(&forces, 500.0, &ReportSettings::default()).unwrap();
        assert_eq!((found.gaps.missing, found.gaps.count), (12, 2));
        assert_eq!((found.dropped, found.raw.samples), (3, 1988));
        assert_eq!(found.filtered.samples, 1985);
        // 15 of 2000 samples within ± 20 N are missing: at most 0.15 N of the mean.
        assert!((found.filtered.mean - whole.filtered.mean).abs() < 0.15);
        let nothing = [f64::NAN; 100];
        assert!(ContactForceReport::of(&nothing, 500.0, &ReportSettings::default()).is_err());
        assert!(ContactForceReport::of(&[], 500.0, &ReportSettings::default()).is_err());
    }

    #[test]
    fn bad_settings_are_refused_with_what_is_allowed() {
        let forces = vec![100.0; 200];
        let mut settings = ReportSettings::default();
        settings.filter.cutoff_hz = 300.0;
        let text = ContactForceReport::of(&forces, 500.0, &settings)
            .unwrap_err()
            .to_string();
        assert!(text.contains("below 250 Hz"), "{text}");
        let mut settings = ReportSettings::default();
        settings.bands.push(Band::new(20.0, 5.0));
        assert!(ContactForceReport::of(&forces, 500.0, &settings).is_err());
        assert!(ContactForceReport::of(&forces, f64::NAN, &ReportSettings::default()).is_err());
        let short = ContactForceReport::of(&forces[..10], 500.0, &ReportSettings::default());
        assert!(short.unwrap_err().to_string().contains("at least 16"));
    }
}
