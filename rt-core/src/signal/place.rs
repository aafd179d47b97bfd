//! Values of one record at the places of another, with the error this costs.

use super::error::{AnalysisError, check_lengths};
use serde::Serialize;

/// A record at other places, by straight lines between its samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resampled {
    /// Values in the unit of the record; NaN where there is none.
    pub values: Vec<f64>,
    /// Places before the first or behind the last sample of the record.
    pub outside: usize,
    /// Places that are unknown themselves or next to an unknown sample of the record.
    pub unknown: usize,
    /// Largest estimated error of the straight lines, in the unit of the record.
    pub largest_error: f64,
    /// Root mean square of the estimated errors, in the unit of the record.
    pub rms_error: f64,
}

/// Values of a record (`places_m` strictly ascending, one value each) at the places `onto_m`.
///
/// Between two samples h apart a straight line errs by s (1 − s) h² |f″| / 2, s the part of the way;
/// f″ is estimated by second differences at both samples and the larger one taken, so the error is
/// exact for a parabola. For a sine of n samples a period it is at most (π/n)²/2 of the amplitude:
/// 0.8 % for 20 Hz at 500 Hz.
pub fn resample_by_place(
    places_m: &[f64],
    values: &[f64],
    onto_m: &[f64],
) -> Result<Resampled, AnalysisError> {
    check_lengths(("the record", values.len()), ("its places", places_m.len()))?;
    if places_m.len() < 2 {
        return Err(AnalysisError::TooFew {
            what: "samples to interpolate between",
            found: places_m.len(),
            needed: 2,
            remedy: "choose a longer record",
        });
    }
    check_ascending(places_m)?;
    let last = places_m.len() - 1;
    let (mut outside, mut unknown) = (0, 0);
    let (mut largest_error, mut squares) = (0.0_f64, 0.0);
    let mut resampled = Vec::with_capacity(onto_m.len());
    for &place in onto_m {
        resampled.push(f64::NAN);
        if !place.is_finite() {
            unknown += 1;
            continue;
        }
        if place < places_m[0] || place > places_m[last] {
            outside += 1;
            continue;
        }
        let after = places_m.partition_point(|p| *p <= place).clamp(1, last);
        let before = after - 1;
        let width = places_m[after] - places_m[before];
        let part = (place - places_m[before]) / width;
        // A sample that is hit needs no neighbour.
        let value = if part == 0.0 {
            values[before]
        } else if part == 1.0 {
            values[after]
        } else {
            values[before] * (1.0 - part) + values[after] * part
        };
        if !value.is_finite() {
            unknown += 1;
            continue;
        }
        if let Some(kept) = resampled.last_mut() {
            *kept = value;
        }
        let bend = curvature(places_m, values, before).max(curvature(places_m, values, after));
        let error = part * (1.0 - part) / 2.0 * width * width * bend;
        largest_error = largest_error.max(error);
        squares += error * error;
    }
    let found = resampled.len() - outside - unknown;
    Ok(Resampled {
        values: resampled,
        outside,
        unknown,
        largest_error,
        rms_error: (squares / found.max(1) as f64).sqrt(),
    })
}

/// Places that do not ascend say nothing about where a value between them lies.
fn check_ascending(places_m: &[f64]) -> Result<(), AnalysisError> {
    let before = std::iter::once(f64::NEG_INFINITY).chain(places_m.iter().copied());
    for (index, (&value, before)) in places_m.iter().zip(before).enumerate() {
        if !(value.is_finite() && value > before) {
            return Err(AnalysisError::Sample {
                what: "place",
                index,
                value,
                expected: "a finite value in m above the one before: cut the record where it stands \
                           still or begins again",
            });
        }
    }
    Ok(())
}

/// |f″| at sample i by divided differences; 0 at the ends and beside a gap, where it is unknown.
fn curvature(places: &[f64], values: &[f64], i: usize) -> f64 {
    if i == 0 || i + 1 >= places.len() {
        return 0.0;
    }
    let slope = |a: usize, b: usize| (values[b] - values[a]) / (places[b] - places[a]);
    let second = 2.0 * (slope(i, i + 1) - slope(i - 1, i)) / (places[i + 1] - places[i - 1]);
    if second.is_finite() {
        second.abs()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn a_straight_line_is_exact_and_a_parabola_has_the_stated_error() {
        let places = [0.0, 1.0, 2.5, 3.0, 5.0];
        let onto = [0.0, 0.5, 1.0, 2.0, 4.0, 5.0];
        let line = places.map(|x| 3.0 - 2.0 * x);
        let found = resample_by_place(&places, &line, &onto).unwrap();
        for (value, x) in found.values.iter().zip(onto) {
            assert!((value - (3.0 - 2.0 * x)).abs() < 1e-14);
        }
        assert!(found.largest_error < 1e-14);
        let parabola = places.map(|x| 4.0 * x * x);
        let found = resample_by_place(&places, &parabola, &onto).unwrap();
        let errors = found.values.iter().zip(onto).map(|(v, x)| v - 4.0 * x * x);
        let errors: Vec<f64> = errors.collect();
        // At 4, half-way between 3 and 5: 4 · 1 · 1.
        assert!((errors[4] - 4.0).abs() < 1e-12);
        assert!((found.largest_error - 4.0).abs() < 1e-12);
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / 6.0).sqrt();
        assert!((found.rms_error - rms).abs() < 1e-12);
    }

    #[test]
    fn a_sine_errs_as_much_as_stated() {
        let places: Vec<f64> = (0..500).map(f64::from).collect();
        let wave = |x: f64| (2.0 * PI * x / 25.0 + 0.3).sin();
        let values: Vec<f64> = places.iter().map(|x| wave(*x)).collect();
        let onto: Vec<f64> = (1..4980).map(|i| 0.1 * f64::from(i)).collect();
        let found = resample_by_place(&places, &values, &onto).unwrap();
        let worst = found
            .values
            .iter()
            .zip(&onto)
            .map(|(v, x)| (v - wave(*x)).abs())
            .fold(0.0, f64::max);
        let bound = (PI / 25.0).powi(2) / 2.0;
        assert!(worst < bound && worst > 0.9 * bound, "{worst} {bound}");
        assert!((found.largest_error / worst - 1.0).abs() < 0.02);
    }

    #[test]
    fn nothing_is_invented_outside_and_across_gaps() {
        let n = f64::NAN;
        let onto = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.5, n, 4.0, 4.1];
        let values = [1.0, 2.0, n, 4.0, 5.0];
        let found = resample_by_place(&[0.0, 1.0, 2.0, 3.0, 4.0], &values, &onto).unwrap();
        let known: Vec<bool> = found.values.iter().map(|v| v.is_finite()).collect();
        let expected = [false, true, true, true, false, false, false, true, false];
        assert_eq!(known, expected);
        assert_eq!((found.outside, found.unknown), (2, 3));
    }

    #[test]
    fn places_that_do_not_ascend_are_named() {
        for places in [[0.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 1.0, f64::NAN]] {
            let error = resample_by_place(&places, &[0.0; 3], &[0.5]).unwrap_err();
            assert!(
                error.to_string().contains("above the one before"),
                "{error}"
            );
        }
        assert!(resample_by_place(&[0.0], &[1.0], &[0.0]).is_err());
        assert!(resample_by_place(&[0.0, 1.0], &[1.0], &[0.0]).is_err());
    }
}
