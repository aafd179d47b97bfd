//! A frequency response applied to a whole record at once: what lies before and behind a sample both count, so
//! that filters can be undone and delays taken back.

use super::ease::smooth_step;
use super::error::{AnalysisError, check_rate};
use nalgebra::Complex;
use realfft::RealFftPlanner;

/// Length over which the end of a record is led back to its beginning, in s.
const BRIDGE_S: f64 = 1.0;

/// y(t) = Σ_k G(f_k) X_k e^{2πi f_k t} over a record, with `finer` values a sample: (n − 1) · finer + 1 in all,
/// the first at the first sample, the last at the last.
///
/// The transform sees a record that repeats; between its end and its beginning stands a smooth bridge of 1 s. What a
/// response reaches beyond the ends comes from there: records should begin and end at rest. Values have to be finite.
pub fn with_response(
    record: &[f64],
    sample_rate_hz: f64,
    finer: usize,
    response: impl Fn(f64) -> Complex<f64>,
) -> Result<Vec<f64>, AnalysisError> {
    check_rate(sample_rate_hz)?;
    if let Some(index) = record.iter().position(|v| !v.is_finite()) {
        return Err(AnalysisError::Sample {
            what: "sample",
            index,
            value: record[index],
            expected: "a finite value",
        });
    }
    let (Some(first), Some(last)) = (record.first(), record.last()) else {
        return Err(AnalysisError::TooFew {
            what: "samples of the record",
            found: 0,
            needed: 1,
            remedy: "choose a record that is not empty",
        });
    };
    let bridge = (BRIDGE_S * sample_rate_hz).round() as usize;
    let mut periodic = record.to_vec();
    for i in 1..=bridge {
        let blend = smooth_step(i as f64 / (bridge + 1) as f64);
        periodic.push(last + blend * (first - last));
    }
    // Even, so that the highest frequency is one value.
    if periodic.len() % 2 == 1 {
        periodic.push(*first);
    }
    let (coarse, fine) = (periodic.len(), periodic.len() * finer.max(1));
    let mut planner = RealFftPlanner::<f64>::new();
    let forward = planner.plan_fft_forward(coarse);
    let backward = planner.plan_fft_inverse(fine);
    let mut spectrum = backward.make_input_vec();
    let length = |_| AnalysisError::Length {
        what: "the spectrum",
        found: coarse / 2 + 1,
        other: "the transform",
        expected: fine / 2 + 1,
    };
    forward
        .process(&mut periodic, &mut spectrum[..=coarse / 2])
        .map_err(length)?;
    for (k, value) in spectrum[..=coarse / 2].iter_mut().enumerate() {
        *value *= response(k as f64 * sample_rate_hz / coarse as f64) / coarse as f64;
    }
    // Real signals have real values there.
    spectrum[0].im = 0.0;
    // Half the sample rate stands for both signs of it; among finer samples it is one of two.
    spectrum[coarse / 2] *= if fine > coarse { 0.5 } else { 1.0 };
    if fine == coarse {
        spectrum[coarse / 2].im = 0.0;
    }
    let mut answer = backward.make_output_vec();
    backward
        .process(&mut spectrum, &mut answer)
        .map_err(length)?;
    answer.truncate((record.len() - 1) * finer.max(1) + 1);
    Ok(answer)
}

/// 1 up to `pass_hz`, 0 from `stop_hz` on, and half a cosine between them.
pub fn taper(frequency_hz: f64, pass_hz: f64, stop_hz: f64) -> f64 {
    if frequency_hz <= pass_hz {
        1.0
    } else if frequency_hz >= stop_hz {
        0.0
    } else {
        let part = (frequency_hz - pass_hz) / (stop_hz - pass_hz);
        0.5 * (1.0 + (std::f64::consts::PI * part).cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// A bell of 10 Hz waves: at rest at both ends, and known between its samples.
    fn wave(t: f64) -> f64 {
        3.0 + (TAU * 10.0 * (t - 2.0)).cos() * (-(t - 2.0).powi(2) / 0.08).exp()
    }

    fn record(rate: f64) -> Vec<f64> {
        (0..(4.0 * rate) as usize)
            .map(|i| wave(i as f64 / rate))
            .collect()
    }

    #[test]
    fn finer_samples_are_those_of_the_signal_itself() {
        let found = with_response(&record(500.0), 500.0, 4, |_| 1.0.into()).unwrap();
        assert_eq!(found.len(), 1999 * 4 + 1);
        for (i, v) in found.iter().enumerate() {
            assert!((v - wave(i as f64 / 2000.0)).abs() < 1e-10, "{i}");
        }
    }

    /// An advance by 3.1 ms and the inverse of a filter, against shifting and filtering by hand.
    #[test]
    fn a_delay_and_a_filter_are_undone() {
        let (rate, tau, delay) = (500.0, 1.0 / (TAU * 100.0), 3.1e-3);
        // y + τ ẏ = x has the answer y = wave for x = wave + τ · its slope.
        let slope = |t: f64| (wave(t + 1e-6) - wave(t - 1e-6)) / 2e-6;
        let times = (0..2000).map(|i| f64::from(i) / rate);
        let late: Vec<f64> = times.clone().map(|t| wave(t - delay)).collect();
        let undo = |f: f64| {
            let s = Complex::new(0.0, TAU * f);
            (s * delay).exp() * (s * tau + 1.0) * taper(f, 60.0, 90.0)
        };
        let found = with_response(&late, rate, 1, undo).unwrap();
        for (t, v) in times.zip(found) {
            let expected = wave(t) + tau * slope(t);
            assert!((v - expected).abs() < 1e-6, "{t}: {v} {expected}");
        }
    }

    #[test]
    fn unequal_ends_are_bridged_and_bad_records_refused() {
        let ramp: Vec<f64> = (0..3001)
            .map(|i| smooth_step((f64::from(i) - 500.0) / 2000.0))
            .collect();
        let found = with_response(&ramp, 500.0, 1, |f| taper(f, 20.0, 30.0).into()).unwrap();
        let far = ramp.iter().zip(&found).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f64::max) < 1e-4);
        assert!(with_response(&[], 500.0, 1, |_| 1.0.into()).is_err());
        assert!(with_response(&[1.0, f64::NAN], 500.0, 1, |_| 1.0.into()).is_err());
        assert!(with_response(&[1.0], 0.0, 1, |_| 1.0.into()).is_err());
    }

    #[test]
    fn a_taper_falls_from_one_to_nothing() {
        let at = [0.0, 60.0, 75.0, 90.0, 200.0].map(|f| taper(f, 60.0, 90.0));
        assert_eq!([at[0], at[1], at[3], at[4]], [1.0, 1.0, 0.0, 0.0]);
        assert!((at[2] - 0.5).abs() < 1e-12);
    }
}
