//! Responses as curves: decibels and degrees over the logarithm of the frequency.

use rt_core::bench::{CutLoop, Responses};

/// Lowest frequency that is shown, in Hz.
pub const LOWEST_HZ: f64 = 0.5;
/// Points of a model's curve.
const POINTS: usize = 1000;

/// Frequencies of a model's curve for a period, in equal ratios up to half the sample rate.
pub fn frequencies(period_s: f64) -> Vec<f64> {
    let highest = 0.5 / period_s;
    let last = (POINTS - 1) as f64;
    (0..POINTS)
        .map(|i| LOWEST_HZ * (highest / LOWEST_HZ).powf(i as f64 / last))
        .collect()
}

/// Where a ratio is smaller than this its curve around −1 is looked at.
const NEAR: f64 = 6.0;
/// How far apart points may be there.
const CHORD: f64 = 0.08;
/// Most points between two points.
const MOST_BETWEEN: usize = 16;

/// The frequencies of responses, and more of them where a ratio moves far from one to the next: at
/// resonances that hardly anything damps.
pub fn with_bends(responses: &Responses) -> Vec<f64> {
    let frequencies = &responses.frequencies_hz;
    let mut all = Vec::with_capacity(2 * frequencies.len());
    for (i, pair) in frequencies.windows(2).enumerate() {
        let chord = responses.cuts.iter().filter_map(|cut| {
            let (a, b) = (cut.ratio.get(i)?, cut.ratio.get(i + 1)?);
            (a.norm().min(b.norm()) < NEAR).then(|| (a - b).norm())
        });
        let longest = chord.fold(0.0, f64::max);
        let pieces = (longest / CHORD).ceil().clamp(1.0, MOST_BETWEEN as f64) as usize;
        let ratio = pair[1] / pair[0];
        let between = (0..pieces).map(|k| pair[0] * ratio.powf(k as f64 / pieces as f64));
        all.extend(between);
    }
    all.extend(frequencies.last());
    all
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// In Hz.
    pub hz: f64,
    /// In dB.
    pub db: f64,
    /// In degrees.
    pub degrees: f64,
    /// Real and imaginary part.
    pub parts: (f64, f64),
}

/// A response over frequency, its phase without jumps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// From low to high frequencies.
    pub points: Vec<Point>,
}

impl Curve {
    /// From real and imaginary parts.
    pub fn new(frequencies_hz: &[f64], parts: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut before: Option<f64> = None;
        let points = frequencies_hz.iter().zip(parts).map(|(hz, (re, im))| {
            let degrees = im.atan2(re).to_degrees();
            let degrees = before.map_or(degrees, |b| nearest_turn(degrees, b));
            before = Some(degrees).filter(|d| d.is_finite()).or(before);
            Point {
                hz: *hz,
                db: 20.0 * re.hypot(im).log10(),
                degrees,
                parts: (re, im),
            }
        });
        Self {
            points: points.collect(),
        }
    }

    /// The motor of a model.
    pub fn motor(responses: &Responses) -> Self {
        Self::new(
            &responses.frequencies_hz,
            responses.motor.iter().map(|h| (h.re, h.im)),
        )
    }

    /// A cut loop of a model, its phase from −360° to 0°: −180°, which counts, is in the middle.
    pub fn cut(responses: &Responses, cut: &CutLoop) -> Self {
        let ratio = cut.ratio.iter().map(|l| (l.re, l.im));
        let mut curve = Self::new(&responses.frequencies_hz, ratio);
        for point in &mut curve.points {
            point.degrees = nearest_turn(point.degrees, -180.0);
        }
        curve
    }

    /// Between its points; `None` outside.
    pub fn at(&self, hz: f64) -> Option<Point> {
        let after = self.points.partition_point(|p| p.hz < hz);
        let (a, b) = match (after.checked_sub(1), self.points.get(after)) {
            (Some(before), Some(b)) => (self.points[before], *b),
            (None, Some(b)) if b.hz == hz => return Some(*b),
            _ => return None,
        };
        let share = (hz / a.hz).ln() / (b.hz / a.hz).ln();
        let mix = |a: f64, b: f64| a + share * (b - a);
        Some(Point {
            hz,
            db: mix(a.db, b.db),
            degrees: mix(a.degrees, nearest_turn(b.degrees, a.degrees)),
            parts: (mix(a.parts.0, b.parts.0), mix(a.parts.1, b.parts.1)),
        })
    }

    /// Smallest and largest finite value of one of its numbers.
    pub fn range(&self, number: impl Fn(&Point) -> f64) -> Option<(f64, f64)> {
        let values = self.points.iter().map(number).filter(|v| v.is_finite());
        values.fold(None, |range, v| {
            let (low, high) = range.unwrap_or((v, v));
            Some((v.min(low), v.max(high)))
        })
    }
}

/// The same angle, turned by whole turns to where it is nearest to another; in degrees.
pub fn nearest_turn(degrees: f64, to: f64) -> f64 {
    degrees + 360.0 * ((to - degrees) / 360.0).round()
}

/// A measured response beside a model: how far they are apart where it is coherent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Root mean square in dB.
    pub db: f64,
    /// Root mean square in degrees.
    pub degrees: f64,
    /// Frequencies that count.
    pub count: usize,
}

/// How far a measurement is from a model over all frequencies that it is sure of.
pub fn distance(
    model: &Curve,
    measured: &Curve,
    is_sure: impl Fn(usize) -> bool,
) -> Option<Distance> {
    let mut sums = (0.0, 0.0, 0_usize);
    for (i, point) in measured.points.iter().enumerate() {
        let Some(there) = model.at(point.hz).filter(|_| is_sure(i)) else {
            continue;
        };
        let degrees = nearest_turn(point.degrees, there.degrees) - there.degrees;
        if point.db.is_finite() {
            sums.0 += (point.db - there.db).powi(2);
            sums.1 += degrees.powi(2);
            sums.2 += 1;
        }
    }
    let count = sums.2;
    (count > 0).then(|| Distance {
        db: (sums.0 / count as f64).sqrt(),
        degrees: (sums.1 / count as f64).sqrt(),
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(frequencies: &[f64], seconds: f64) -> Curve {
        let turn = |f: &f64| {
            let angle = -std::f64::consts::TAU * f * seconds;
            (angle.cos(), angle.sin())
        };
        Curve::new(frequencies, frequencies.iter().map(turn))
    }

    #[test]
    fn the_phase_of_a_delay_goes_down_without_jumps() {
        let frequencies = frequencies(2e-3);
        assert_eq!((frequencies[0], frequencies.len()), (0.5, 1000));
        assert!((frequencies[999] - 250.0).abs() < 1e-9);
        let curve = delay(&frequencies, 0.01);
        for point in &curve.points {
            assert!(point.db.abs() < 1e-9);
            assert!((point.degrees + 3.6 * point.hz).abs() < 1e-6, "{point:?}");
        }
        let there = curve.at(100.0).unwrap();
        assert!((there.degrees + 360.0).abs() < 0.1, "{there:?}");
        assert_eq!((curve.at(0.4), curve.at(251.0)), (None, None));
    }

    #[test]
    fn sharp_bends_get_more_points() {
        let (designer, params) = crate::tuner::sample::designer();
        let longest = |responses: &Responses| {
            let mut longest: f64 = 0.0;
            for cut in &responses.cuts {
                for pair in cut.ratio.windows(2) {
                    if pair[0].norm().min(pair[1].norm()) < NEAR {
                        longest = longest.max((pair[0] - pair[1]).norm());
                    }
                }
            }
            longest
        };
        let coarse = designer.responses(&params, &frequencies(2e-3)).unwrap();
        let all = with_bends(&coarse);
        assert!(
            all.is_sorted() && all.len() > POINTS && all.len() < 8 * POINTS,
            "{}",
            all.len()
        );
        assert!(coarse.frequencies_hz.iter().all(|f| all.contains(f)));
        let fine = designer.responses(&params, &all).unwrap();
        let (before, after) = (longest(&coarse), longest(&fine));
        assert!(after < 0.5 * before, "{before} {after}");
    }

    #[test]
    fn a_measurement_is_compared_where_it_is_sure() {
        let frequencies = frequencies(2e-3);
        let model = delay(&frequencies, 0.01);
        // 1 ms more is 0.36° a hertz; twice the gain is 6.02 dB.
        let parts = delay(&frequencies[..300], 0.011).points;
        let measured = Curve::new(
            &frequencies[..300],
            parts.iter().map(|p| (2.0 * p.parts.0, 2.0 * p.parts.1)),
        );
        let found = distance(&model, &measured, |i| i == 150).unwrap();
        assert!((found.db - 6.0206).abs() < 1e-3, "{found:?}");
        assert!((found.degrees - 0.36 * frequencies[150]).abs() < 1e-6);
        assert_eq!(distance(&model, &measured, |_| false), None);
    }
}
