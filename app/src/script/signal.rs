//! One channel of a run as a script analyses it: samples at equal intervals, with their times and places.

use rt_core::signal::band::{Band, band_deviation};
use rt_core::signal::comparison::{ComparisonSettings, Series, compare};
use rt_core::signal::contact_force::{ContactForceReport, ReportSettings};
use rt_core::signal::gaps::known_statistics;
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::density::{Density, welch};
use rt_core::signal::statistics::ForceStatistics;
use serde_json::{Value, json};
use std::ops::Range;
use std::rc::Rc;

/// Samples of the running part of a run; NaN where there is none.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The channel.
    pub id: String,
    /// Its unit.
    pub unit: String,
    /// Samples a second, in Hz.
    pub rate_hz: f64,
    values: Rc<Vec<f64>>,
    /// Where the train was, in m, if the bench runs along a line.
    places_m: Option<Rc<Vec<f64>>>,
    /// The part that counts. Filters see all of the run, so that their ends lie outside.
    part: Range<usize>,
}

/// Order of the filters of bands.
const ORDER: usize = 4;
/// A segment of a spectrum is this long unless the script says otherwise, in s.
const SEGMENT_S: f64 = 4.0;

impl Signal {
    /// All samples of a run.
    pub fn new(
        id: &str,
        unit: &str,
        rate_hz: f64,
        values: Vec<f64>,
        places_m: Option<Vec<f64>>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            unit: unit.to_owned(),
            rate_hz,
            part: 0..values.len(),
            values: Rc::new(values),
            places_m: places_m.map(Rc::new),
        }
    }

    /// The samples that count.
    pub fn samples(&self) -> &[f64] {
        &self.values[self.part.clone()]
    }

    /// Times since the bench began to run, in s, and values.
    pub fn over_time(&self) -> Vec<[f64; 2]> {
        let times = self.part.clone().map(|i| i as f64 / self.rate_hz);
        times.zip(self.samples()).map(|(t, v)| [t, *v]).collect()
    }

    /// Places in m and values, while the train moves; `None` without a line.
    pub fn over_place(&self) -> Option<Vec<[f64; 2]>> {
        let places = &self.places_m.as_ref()?[self.part.clone()];
        let points = places.iter().zip(self.samples());
        Some(
            points
                .filter(|(x, _)| x.is_finite())
                .map(|(x, v)| [*x, *v])
                .collect(),
        )
    }

    /// The part between two times since the bench began to run, in s.
    pub fn between(&self, from_s: f64, to_s: f64) -> Result<Self, String> {
        let length = self.values.len();
        let longest_s = length as f64 / self.rate_hz;
        if !(0.0..to_s).contains(&from_s) || to_s > longest_s + 0.5 / self.rate_hz {
            return Err(format!(
                "'{}' from {from_s} to {to_s} s is refused: expected a stretch within 0 to {longest_s:.3} s",
                self.id
            ));
        }
        let at = |t: f64| ((t * self.rate_hz).round() as usize).min(length);
        Ok(self.with_part(at(from_s)..at(to_s)))
    }

    /// The part between two places along the line, in m.
    pub fn along(&self, from_m: f64, to_m: f64) -> Result<Self, String> {
        let places = self.places_m.as_ref().ok_or_else(|| {
            format!("'{}' has no places: this bench does not run along a line; use between(from_s, to_s)", self.id)
        })?;
        let inside = |x: &f64| (from_m..=to_m).contains(x);
        let (first, last) = (
            places.iter().position(inside),
            places.iter().rposition(inside),
        );
        match (first, last) {
            (Some(first), Some(last)) if last > first => Ok(self.with_part(first..last + 1)),
            _ => Err(format!(
                "'{}' has no samples from {from_m} to {to_m} m",
                self.id
            )),
        }
    }

    fn with_part(&self, part: Range<usize>) -> Self {
        Self {
            part,
            ..self.clone()
        }
    }

    /// Mean, deviation and extremes.
    pub fn statistics(&self) -> Result<ForceStatistics, String> {
        known_statistics(self.samples())
            .ok_or_else(|| format!("'{}' has no known samples in this stretch", self.id))
    }

    /// The contact force as EN 50317 wants it reported.
    pub fn contact_force(&self) -> Result<Value, String> {
        let settings = ReportSettings::default();
        let report =
            ContactForceReport::within(&self.values, self.part.clone(), self.rate_hz, &settings);
        let report = report.map_err(|e| e.to_string())?;
        let f = &report.filtered;
        Ok(json!({
            "mean_n": f.mean, "std_n": f.standard_deviation, "max_n": f.max, "min_n": f.min,
            "stat_max_n": f.statistical_max, "stat_min_n": f.statistical_min,
            "loss_pct": report.losses.percent, "losses": report.losses.count,
            "raw_mean_n": report.raw.mean, "raw_std_n": report.raw.standard_deviation,
            "cutoff_hz": report.filter.cutoff_hz,
        }))
    }

    /// σ in a band of frequencies, by filter.
    pub fn sigma(&self, low_hz: f64, high_hz: f64) -> Result<f64, String> {
        let band = Band::new(low_hz, high_hz);
        let found = band_deviation(self.samples(), self.rate_hz, band, ORDER);
        found.map(|d| d.by_filter).map_err(|e| e.to_string())
    }

    /// Power spectral density by Welch's method; segments of so many seconds.
    pub fn spectrum(&self, segment_s: Option<f64>) -> Result<Density, String> {
        let seconds = self.samples().len() as f64 / self.rate_hz;
        let segment_s = segment_s.unwrap_or(SEGMENT_S.min(0.25 * seconds));
        if !(segment_s > 0.0 && segment_s <= seconds) {
            return Err(format!(
                "segments of {segment_s} s are refused: expected more than 0 and at most the {seconds:.3} s of '{}'",
                self.id
            ));
        }
        let segment = (segment_s * self.rate_hz).round() as usize;
        welch(
            self.samples(),
            &SpectrumSettings::new(self.rate_hz, segment),
        )
        .map_err(|e| e.to_string())
    }

    /// Positions that ascend, and the samples there: places while the train moves, or times.
    fn aligned(&self, by_place: bool) -> (Vec<f64>, Vec<f64>) {
        let points = match self.over_place() {
            Some(points) if by_place => points,
            _ => self.over_time(),
        };
        let mut kept: Vec<[f64; 2]> = Vec::with_capacity(points.len());
        for point in points {
            // While the train stands only the last sample counts; a next section begins anew.
            match kept.last() {
                Some(last) if point[0] < last[0] => break,
                Some(last) if point[0] == last[0] => {
                    kept.pop();
                }
                _ => {}
            }
            kept.push(point);
        }
        kept.into_iter().map(|[x, v]| (x, v)).unzip()
    }

    /// How far it is from a reference, in % of the reference's mean: in all, and by band. By place if both have one.
    pub fn compare(&self, reference: &Self) -> Result<Value, String> {
        if self.unit != reference.unit {
            return Err(format!(
                "'{}' in [{}] cannot be compared with '{}' in [{}]",
                self.id, self.unit, reference.id, reference.unit
            ));
        }
        let by_place = self.places_m.is_some() && reference.places_m.is_some();
        let [own, other] = [self, reference].map(|s| s.aligned(by_place));
        let found = compare(
            &Series {
                places_m: &own.0,
                forces: &own.1,
                sample_rate_hz: self.rate_hz,
            },
            &Series {
                places_m: &other.0,
                forces: &other.1,
                sample_rate_hz: reference.rate_hz,
            },
            &ComparisonSettings::default(),
        )
        .map_err(|e| e.to_string())?;
        let percent = |i: usize| found.bands.get(i).map(|b| b.by_filter_percent);
        Ok(json!({
            "raw_pct": found.error_percent, "error_pct": percent(0), "error_0_5_hz_pct": percent(1),
            "error_5_20_hz_pct": percent(2), "reference_mean": found.reference_mean, "compared": found.compared,
            "by": if by_place { "place" } else { "time" },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// 100 + 20 sin(2π 2 t) + 5 sin(2π 10 t) at 500 Hz for 20 s, at 50 m/s.
    fn signal() -> Signal {
        let times: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 500.0).collect();
        let value = |t: &f64| 100.0 + 20.0 * (TAU * 2.0 * t).sin() + 5.0 * (TAU * 10.0 * t).sin();
        let places = times.iter().map(|t| 50.0 * t).collect();
        let values = times.iter().map(value).collect();
        Signal::new("force", "N", 500.0, values, Some(places))
    }

    #[test]
    fn statistics_and_bands_are_those_of_the_sines() {
        let middle = signal().between(5.0, 15.0).unwrap();
        assert_eq!(middle.samples().len(), 5000);
        let s = middle.statistics().unwrap();
        assert!((s.mean - 100.0).abs() < 1e-9);
        // σ² = (20² + 5²)/2 over whole periods.
        assert!((s.standard_deviation - (212.5_f64).sqrt()).abs() < 1e-9);
        // The slopes of the band's filter hold back less than 2 % in its middle; ends add as much again.
        assert!((middle.sigma(5.0, 20.0).unwrap() * 2.0_f64.sqrt() / 5.0 - 1.0).abs() < 0.03);
        assert!((middle.sigma(0.0, 5.0).unwrap() * 2.0_f64.sqrt() / 20.0 - 1.0).abs() < 0.03);
        let report = middle.contact_force().unwrap();
        assert!((report["mean_n"].as_f64().unwrap() - 100.0).abs() < 0.01);
        assert_eq!(report["loss_pct"], 0.0);
        let spectrum = middle.spectrum(Some(2.0)).unwrap();
        let peak = (0..spectrum.density.len())
            .max_by(|a, b| spectrum.density[*a].total_cmp(&spectrum.density[*b]))
            .unwrap();
        assert_eq!(spectrum.frequencies_hz[peak], 2.0);
    }

    #[test]
    fn a_copy_off_by_one_newton_is_one_percent_away_by_place_and_by_time() {
        let reference = signal();
        let moved: Vec<f64> = reference.samples().iter().map(|v| v + 1.0).collect();
        let places = (0..10_000).map(|i| 0.1 * f64::from(i)).collect();
        let by_place = Signal::new("force", "N", 500.0, moved.clone(), Some(places));
        let by_time = Signal::new("force", "N", 500.0, moved, None);
        for (signal, by) in [(by_place, "place"), (by_time, "time")] {
            let found = signal.compare(&reference).unwrap();
            assert_eq!(found["by"], by);
            let percent = |key: &str| found[key].as_f64().unwrap();
            assert!((percent("raw_pct") - 1.0).abs() < 1e-6, "{found}");
            assert!((percent("error_pct") - 1.0).abs() < 1e-3, "{found}");
            assert!(percent("error_5_20_hz_pct") < 0.05, "{found}");
        }
        let other = Signal::new("height", "m", 500.0, vec![0.0; 100], None);
        assert!(other.compare(&reference).unwrap_err().contains("[m]"));
    }

    #[test]
    fn stretches_outside_are_refused_with_what_there_is() {
        let signal = signal();
        for (from, to) in [(5.0, 21.0), (-1.0, 2.0), (3.0, 3.0), (f64::NAN, 4.0)] {
            let problem = signal.between(from, to).unwrap_err();
            assert!(problem.contains("within 0 to 20.000 s"), "{problem}");
        }
        assert_eq!(signal.along(100.0, 200.0).unwrap().samples().len(), 1001);
        assert!(signal.along(2000.0, 3000.0).is_err());
        assert!(signal.spectrum(Some(0.0)).is_err() && signal.spectrum(Some(100.0)).is_err());
        let unknown = Signal::new("x", "N", 500.0, vec![f64::NAN; 100], None);
        assert!(unknown.statistics().is_err() && unknown.along(0.0, 1.0).is_err());
    }
}
