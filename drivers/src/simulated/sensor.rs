//! What a sensor makes of the truth: noise, then range, then resolution.

use fastrand::Rng;

pub struct Sensor {
    noise: f64,
    resolution: Option<f64>,
    range: Option<f64>,
    random: Rng,
}

impl Sensor {
    pub fn new(noise: f64, resolution: Option<f64>, range: Option<f64>, seed: u64) -> Self {
        Self {
            noise,
            resolution,
            range,
            random: Rng::with_seed(seed),
        }
    }

    pub fn read(&mut self, truth: f64) -> f64 {
        let mut value = truth;
        if self.noise > 0.0 {
            value += self.noise * self.normal();
        }
        if let Some(range) = self.range {
            value = value.clamp(-range, range);
        }
        if let Some(step) = self.resolution {
            value = (value / step).round() * step;
        }
        value
    }

    /// A standard normal number (Box and Muller): √(−2 ln u₁) · cos(2π u₂).
    pub fn normal(&mut self) -> f64 {
        let u1 = 1.0 - self.random.f64();
        let u2 = self.random.f64();
        (-2.0 * u1.ln()).sqrt() * (std::f64::consts::TAU * u2).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_stated_mean_and_deviation_and_repeats_with_its_seed() {
        let read = |seed| {
            let mut s = Sensor::new(0.5, None, None, seed);
            (0..20_000).map(|_| s.read(100.0)).collect::<Vec<f64>>()
        };
        let values = read(7);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let std =
            (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        // Four standard errors of the mean (σ/√n) and of σ (σ/√2n).
        assert!(
            (mean - 100.0).abs() < 4.0 * 0.5 / 20_000_f64.sqrt(),
            "{mean}"
        );
        assert!((std - 0.5).abs() < 4.0 * 0.5 / 40_000_f64.sqrt(), "{std}");
        assert_eq!(values, read(7));
        assert_ne!(values, read(8));
    }

    #[test]
    fn range_and_resolution_hold() {
        let mut s = Sensor::new(0.0, Some(0.25), Some(10.0), 1);
        assert_eq!(
            [s.read(3.1), s.read(3.13), s.read(99.0), s.read(-99.0)],
            [3.0, 3.25, 10.0, -10.0]
        );
    }
}
