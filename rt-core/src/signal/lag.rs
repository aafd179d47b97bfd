//! By how much one record comes later than another.

use super::error::{AnalysisError, check_lengths, check_rate};
use serde::Serialize;

/// The shift at which two records are most alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lag {
    /// Samples by which the record is later than the reference; negative if it is earlier.
    pub samples: f64,
    /// The same in s.
    pub seconds: f64,
    /// Correlation coefficient at the best whole shift, at most 1.
    pub coefficient: f64,
}

/// Best shift within ± `max_lag` samples.
///
/// For each whole shift the correlation coefficient of the overlapping samples is computed (means
/// and variances of the overlap itself: a plain sum would favour small shifts). The vertex of the
/// parabola through the best and its neighbours gives the fraction. For a sine of n samples a
/// period this errs by at most 0.016 (2π/n)² samples: 0.001 at 20 Hz and 500 Hz. Signals with much
/// power near half the sample rate are to be filtered first.
pub fn best_lag(
    record: &[f64],
    reference: &[f64],
    max_lag: usize,
    sample_rate_hz: f64,
) -> Result<Lag, AnalysisError> {
    check_rate(sample_rate_hz)?;
    let sizes = (
        ("the record", record.len()),
        ("the reference", reference.len()),
    );
    check_lengths(sizes.0, sizes.1)?;
    if max_lag == 0 {
        return Err(AnalysisError::Setting {
            what: "the largest lag in samples",
            value: 0.0,
            expected: "at least 1".into(),
        });
    }
    // At least half of the samples overlap at every shift.
    if record.len() < 2 * max_lag + 2 {
        return Err(AnalysisError::TooFew {
            what: "samples of the record",
            found: record.len(),
            needed: 2 * max_lag + 2,
            remedy: "choose a longer record or a smaller largest lag",
        });
    }
    let mean = centre("sample of the record", "the record", record)?;
    let reference_mean = centre("sample of the reference", "the reference", reference)?;
    let coefficient = |lag: isize| {
        let shift = lag.unsigned_abs();
        let (later, earlier) = if lag >= 0 {
            (&record[shift..], &reference[..reference.len() - shift])
        } else {
            (&record[..record.len() - shift], &reference[shift..])
        };
        correlation(later, mean, earlier, reference_mean)
    };
    let limit = max_lag as isize;
    let coefficients: Vec<f64> = (-limit..=limit).map(coefficient).collect();
    let (best, peak) =
        coefficients
            .iter()
            .enumerate()
            .fold((0, f64::NEG_INFINITY), |best, (i, c)| {
                if *c > best.1 { (i, *c) } else { best }
            });
    if best == 0 || best == coefficients.len() - 1 {
        return Err(AnalysisError::Setting {
            what: "the largest lag in samples",
            value: max_lag as f64,
            expected: "a larger one: the best shift lies at this limit".into(),
        });
    }
    let (before, after) = (coefficients[best - 1], coefficients[best + 1]);
    let bend = 2.0 * peak - before - after;
    let fraction = if bend > 0.0 {
        (after - before) / (2.0 * bend)
    } else {
        0.0
    };
    let samples = (best as isize - limit) as f64 + fraction;
    Ok(Lag {
        samples,
        seconds: samples / sample_rate_hz,
        coefficient: peak,
    })
}

/// The mean of a record, all of whose samples must be known and not all the same.
fn centre(sample: &'static str, what: &'static str, record: &[f64]) -> Result<f64, AnalysisError> {
    if let Some(index) = record.iter().position(|x| !x.is_finite()) {
        return Err(AnalysisError::Sample {
            what: sample,
            index,
            value: record[index],
            expected: "a finite value: choose a stretch without gaps",
        });
    }
    if record.iter().all(|x| *x == record[0]) {
        return Err(AnalysisError::Constant {
            what,
            value: record[0],
        });
    }
    Ok(record.iter().sum::<f64>() / record.len() as f64)
}

/// Pearson's coefficient; the means of the whole records keep the sums small. −∞, never the best,
/// if an overlap does not vary.
fn correlation(a: &[f64], a_mean: f64, b: &[f64], b_mean: f64) -> f64 {
    let n = a.len() as f64;
    let [mut sa, mut sb, mut aa, mut bb, mut ab] = [0.0; 5];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - a_mean, b - b_mean);
        sa += a;
        sb += b;
        aa += a * a;
        bb += b * b;
        ab += a * b;
    }
    let (variance_a, variance_b) = (aa - sa * sa / n, bb - sb * sb / n);
    if variance_a > 0.0 && variance_b > 0.0 {
        (ab - sa * sb / n) / (variance_a.sqrt() * variance_b.sqrt())
    } else {
        f64::NEG_INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Five sines that are no multiples of each other, up to 20 Hz at 500 Hz.
    fn force(sample: f64) -> f64 {
        let t = sample / 500.0;
        let part =
            |amplitude: f64, f: f64, phase: f64| amplitude * (2.0 * PI * f * t + phase).sin();
        120.0
            + part(25.0, 1.39, 0.0)
            + part(10.0, 3.7, 1.0)
            + part(8.0, 7.1, 2.0)
            + part(6.0, 12.3, 3.0)
            + part(4.0, 19.0, 4.0)
    }

    #[test]
    fn a_known_delay_is_found_to_a_fraction_of_a_sample() {
        let reference: Vec<f64> = (0..3000).map(|i| force(f64::from(i))).collect();
        for delay in [0.0, 0.3, -0.5, 7.25, -12.7, 40.0] {
            let record: Vec<f64> = (0..3000)
                .map(|i| 3.0 * force(f64::from(i) - delay))
                .collect();
            let lag = best_lag(&record, &reference, 60, 500.0).unwrap();
            assert!((lag.samples - delay).abs() < 2e-3, "{delay}: {lag:?}");
            assert!((lag.seconds - lag.samples / 500.0).abs() < 1e-15);
            assert!(lag.coefficient > 0.999 && lag.coefficient < 1.0 + 1e-12);
        }
    }

    #[test]
    fn lags_that_cannot_be_known_are_refused() {
        let wave: Vec<f64> = (0..300).map(|i| force(f64::from(i))).collect();
        let late: Vec<f64> = (0..300).map(|i| force(f64::from(i) - 30.0)).collect();
        let text = best_lag(&late, &wave, 10, 500.0).unwrap_err().to_string();
        assert!(text.contains("at this limit"), "{text}");
        let text = best_lag(&[5.0; 300], &wave, 10, 500.0)
            .unwrap_err()
            .to_string();
        assert!(text.contains("the record stays at 5"), "{text}");
        let mut gap = wave.clone();
        gap[17] = f64::NAN;
        let text = best_lag(&wave, &gap, 10, 500.0).unwrap_err().to_string();
        assert!(text.contains("sample of the reference 17 is NaN"), "{text}");
        assert!(best_lag(&wave, &wave[1..], 10, 500.0).is_err());
        assert!(best_lag(&wave, &wave, 150, 500.0).is_err());
        assert!(best_lag(&wave, &wave, 0, 500.0).is_err());
        assert!(best_lag(&wave, &wave, 10, 0.0).is_err());
    }
}
