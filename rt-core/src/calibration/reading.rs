//! What a reading does over a while: mean, deviation, drift, and whether it is steady enough to be taken.

/// Statistics of a stretch of readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Mean.
    pub mean: f64,
    /// Standard deviation about the drifting mean, estimated with n − 2: the noise alone.
    pub deviation: f64,
    /// How far the mean moves over the stretch: its straight line's slope times the duration.
    pub drift: f64,
    /// How many readings.
    pub samples: u64,
    /// From the first to the last, in s.
    pub seconds: f64,
}

/// Drift that is still steady, as a share of the noise: the mean is then off by a quarter of it at most.
const STEADY_SHARE: f64 = 0.5;
/// Drift that is always steady, as a share of the reading: what single precision resolves, with some room.
const STEADY_RELATIVE: f64 = 1e-6;

impl Reading {
    /// Statistics of readings with their times in s; `None` of fewer than three, of one moment, or with any
    /// that is not a number.
    pub fn of(samples: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Self> {
        let (mut n, mut t_sum, mut r_sum) = (0_u64, 0.0, 0.0);
        let (mut first, mut last) = (f64::NAN, f64::NAN);
        for (t, r) in samples.clone() {
            if n == 0 {
                first = t;
            }
            last = t;
            n += 1;
            t_sum += t - first;
            r_sum += r;
        }
        let count = n as f64;
        let (t_mean, mean) = (first + t_sum / count, r_sum / count);
        let (mut tt, mut tr, mut rr) = (0.0, 0.0, 0.0);
        for (t, r) in samples {
            let (t, r) = (t - t_mean, r - mean);
            tt += t * t;
            tr += t * r;
            rr += r * r;
        }
        if n < 3 || tt <= 0.0 || !(rr.is_finite() && tr.is_finite()) {
            return None;
        }
        let slope = tr / tt;
        let seconds = last - first;
        Some(Self {
            mean,
            deviation: ((rr - slope * tr).max(0.0) / (count - 2.0)).sqrt(),
            drift: slope * seconds,
            samples: n,
            seconds,
        })
    }

    /// Whether it stands still: it drifts by less than half its noise over the stretch.
    pub fn is_steady(&self) -> bool {
        let allowed = (STEADY_SHARE * self.deviation).max(STEADY_RELATIVE * self.mean.abs());
        self.drift.abs() <= allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: impl Fn(usize) -> f64) -> Option<Reading> {
        Reading::of((0..1000).map(|n| (n as f64 * 0.002, value(n))))
    }

    #[test]
    fn a_straight_drift_with_known_noise_is_taken_apart() {
        // ±0.01 in turns has a deviation of 0.01·√(n/(n−2)) and hardly any slope of its own.
        let noisy = |n: usize| if n.is_multiple_of(2) { 0.01 } else { -0.01 };
        let r = reading(|n| 5.0 + 0.03 * n as f64 / 999.0 + noisy(n)).unwrap();
        assert!((r.mean - 5.015).abs() < 1e-12, "{r:?}");
        assert!((r.drift - 0.03).abs() < 1e-4, "{r:?}");
        assert!(
            (r.deviation - 0.01 * (1000.0_f64 / 998.0).sqrt()).abs() < 1e-7,
            "{r:?}"
        );
        assert_eq!((r.samples, (r.seconds * 1e3).round()), (1000, 1998.0));
        assert!(!r.is_steady());
        assert!(
            reading(|n| 5.0 + 0.004 * n as f64 / 999.0 + noisy(n))
                .unwrap()
                .is_steady()
        );
    }

    #[test]
    fn a_quiet_reading_is_steady_and_a_step_is_not() {
        assert!(reading(|_| 1.25).unwrap().is_steady());
        assert!(
            !reading(|n| if n < 900 { 0.0 } else { 1.0 })
                .unwrap()
                .is_steady()
        );
        assert!(!reading(|n| n as f64).unwrap().is_steady());
    }

    #[test]
    fn nothing_is_said_of_too_little_or_of_no_number() {
        assert_eq!(Reading::of([(0.0, 1.0), (1.0, 1.0)].into_iter()), None);
        assert_eq!(Reading::of([(1.0, 1.0); 5].into_iter()), None);
        assert_eq!(reading(|n| if n == 500 { f64::NAN } else { 1.0 }), None);
    }
}
