//! The endless string on an elastic layer under a moving force, with damping at rest beside the track
//! (Gil et al. 2022, equations 1 to 4 and appendix A).
//!
//!   μ ü − T u″ + (αμ + βκ) u̇ − βT u̇″ + κ u = e^{iωt} δ(x − Vt)
//!   D(k) = λk³ + ηk² + τk + σ,  H(ω) = (1/2π) ∫ dk / D(k) = −i Σ_{Im k<0} 1/D′(k)
//!   λ = iβTV,  η = T − μV² + iβTω,  τ = i(αμ + βκ)V − 2μVω,  σ = κ + i(αμ + βκ)ω − μω²
//!
//! [`MovingString::compliance`] lets the damping travel with the force instead, which needs no third wave
//! and is what a few states can follow. The roots are found together by Aberth's iteration: the closed form
//! loses digits at small β. One root alone has Im k < 0 where damping is light, but not always.

use super::{MovingLoad, MovingLoadError, SpanResponse, check_count};
use crate::file::{FieldError, require_within};
use crate::model::moving_string::MovingString;
use nalgebra::Complex;
use std::f64::consts::TAU;

/// A string whose rest height repeats after a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpanString {
    string: MovingString,
    span_m: f64,
}

/// Rounds after which roots that still move are given up.
const MOST_ROUNDS: usize = 200;

impl SpanString {
    /// Refuses a string without meaning and trains faster than 95 % of the waves.
    pub fn new(string: MovingString, span_m: f64) -> Result<Self, FieldError> {
        string.check()?;
        require_within("span_m", span_m, 1.0, 500.0, "m")?;
        require_within("speed_kmh", string.speed_kmh, 1.0, 1000.0, "km/h")?;
        Ok(Self { string, span_m })
    }

    /// λ, η, τ, σ.
    fn coefficients(&self, omega: f64) -> [Complex<f64>; 4] {
        let s = &self.string;
        let (t, mu, v) = (s.tension_n, s.mass_kg_per_m, s.speed_kmh / 3.6);
        let (kappa, beta) = (s.layer_n_per_m2, s.stiffness_damping_s);
        let damping = s.mass_damping_per_s * mu + beta * kappa;
        [
            Complex::new(0.0, beta * t * v),
            Complex::new(t - mu * v * v, beta * t * omega),
            Complex::new(-2.0 * mu * v * omega, damping * v),
            Complex::new(kappa - mu * omega * omega, damping * omega),
        ]
    }
}

impl MovingLoad for SpanString {
    fn span_rad_per_s(&self) -> f64 {
        TAU * self.string.speed_kmh / 3.6 / self.span_m
    }

    fn response(&self, omega: f64) -> Result<Complex<f64>, MovingLoadError> {
        let d = self.coefficients(omega);
        let roots = roots(d).ok_or_else(|| {
            MovingLoadError::Numeric(format!(
                "the waves of the string at {omega} rad/s could not be found; check its parameters"
            ))
        })?;
        let slope = |k: Complex<f64>| (d[0] * k * 3.0 + d[1] * 2.0) * k + d[2];
        // ∂D/∂ω, for waves without any damping: they belong to the side to which they carry energy.
        let s = &self.string;
        let (mu, v, beta) = (s.mass_kg_per_m, s.speed_kmh / 3.6, s.stiffness_damping_s);
        let damping = s.mass_damping_per_s * mu + beta * s.layer_n_per_m2;
        let by_omega = |k: Complex<f64>| {
            (k * k * (beta * s.tension_n) + damping) * Complex::i() - (k * v + omega) * (2.0 * mu)
        };
        let runs_ahead = |k: Complex<f64>| {
            if k.im.abs() > 1e-12 * k.norm() {
                k.im < 0.0
            } else {
                // ω − iε shifts k by −iε dk/dω, dk/dω = −D_ω/D_k.
                (by_omega(k) / slope(k)).re < 0.0
            }
        };
        let ahead = roots.iter().filter(|k| runs_ahead(**k)).count();
        // The sum over one side is minus the sum over the other; the side with fewer waves is exact.
        let (of_ahead, sign) = if 2 * ahead <= roots.len() {
            (true, -1.0)
        } else {
            (false, 1.0)
        };
        let sum: Complex<f64> = roots
            .iter()
            .filter(|k| runs_ahead(**k) == of_ahead)
            .map(|k| slope(*k).inv())
            .sum();
        Ok(sum * Complex::new(0.0, sign))
    }

    fn span_response(&self, count: usize) -> Result<SpanResponse, MovingLoadError> {
        check_count(count)?;
        let omega = self.span_rad_per_s();
        let values = (0..count)
            .map(|k| self.response(k as f64 * omega))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(SpanResponse::diagonal(omega, &values)?)
    }
}

/// All roots of d₀k³ + d₁k² + d₂k + d₃; two if d₀ = 0.
fn roots(d: [Complex<f64>; 4]) -> Option<Vec<Complex<f64>>> {
    let half = d[2] * 0.5;
    let mut root = (half * half - d[1] * d[3]).sqrt();
    if (half.conj() * root).re < 0.0 {
        root = -root;
    }
    // The larger root without cancellation, the other by their product.
    let large = -(half + root) / d[1];
    let mut found = if large.norm() > 0.0 {
        vec![large, d[3] / (d[1] * large)]
    } else {
        return None;
    };
    if d[0].norm() > 0.0 {
        found.push(-d[1] / d[0] - found[0] - found[1]);
    }
    if found[0] == found[1] {
        found[1] *= Complex::new(1.0, 1e-3);
    }
    for _ in 0..MOST_ROUNDS {
        let mut moves = false;
        for i in 0..found.len() {
            let k = found[i];
            let value = ((d[0] * k + d[1]) * k + d[2]) * k + d[3];
            let slope = (d[0] * k * 3.0 + d[1] * 2.0) * k + d[2];
            let newton = value / slope;
            let others: Complex<f64> = (0..found.len())
                .filter(|j| *j != i)
                .map(|j| (k - found[j]).inv())
                .sum();
            let step = newton / (Complex::from(1.0) - newton * others);
            if !step.norm().is_finite() {
                return None;
            }
            found[i] = k - step;
            moves |= step.norm() > 4.0 * f64::EPSILON * found[i].norm();
        }
        if !moves {
            return Some(found);
        }
    }
    // Rounding may keep the last digits moving; the residual then decides.
    let is_root = |k: &Complex<f64>| {
        let terms = [d[0] * k * k * k, d[1] * k * k, d[2] * k, d[3]];
        let size: f64 = terms.iter().map(|t| t.norm()).sum();
        terms.iter().sum::<Complex<f64>>().norm() < 1e-12 * size
    };
    found.iter().all(is_root).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(alpha: f64, beta: f64, speed_kmh: f64) -> SpanString {
        let string = MovingString {
            mass_damping_per_s: alpha,
            stiffness_damping_s: beta,
            speed_kmh,
            ..MovingString::HIGH_SPEED_300
        };
        SpanString::new(string, 65.0).unwrap()
    }

    /// (1/2π) ∫ dk/D(k): adaptive over k = k₀ tan(φ), which takes in all wavenumbers.
    fn by_quadrature(s: &SpanString, omega: f64) -> Complex<f64> {
        let d = s.coefficients(omega);
        let f = |phi: f64| {
            let k = Complex::from(0.3 * phi.tan());
            let value = ((d[0] * k + d[1]) * k + d[2]) * k + d[3];
            Complex::from(0.3 / phi.cos().powi(2) / TAU) / value
        };
        let half_pi = TAU / 4.0;
        adaptive(&f, -half_pi, half_pi, 1e-17, 60)
    }

    /// Gauss's rule, on halves until both agree with the whole.
    fn adaptive(
        f: &dyn Fn(f64) -> Complex<f64>,
        a: f64,
        b: f64,
        tolerance: f64,
        depth: usize,
    ) -> Complex<f64> {
        // Gauss–Legendre of 10 points: nodes and weights of half the interval.
        const NODES: [(f64, f64); 5] = [
            (0.148_874_338_981_631_22, 0.295_524_224_714_752_87),
            (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
            (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
            (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
            (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
        ];
        let rule = |a: f64, b: f64| -> Complex<f64> {
            let (middle, half) = ((a + b) / 2.0, (b - a) / 2.0);
            let pair = |(x, w): &(f64, f64)| (f(middle - half * x) + f(middle + half * x)) * *w;
            NODES.iter().map(pair).sum::<Complex<f64>>() * half
        };
        let whole = rule(a, b);
        let middle = (a + b) / 2.0;
        let halves = rule(a, middle) + rule(middle, b);
        if depth == 0 || (halves - whole).norm() < tolerance.max(1e-15 * whole.norm()) {
            return halves;
        }
        adaptive(f, a, middle, tolerance, depth - 1) + adaptive(f, middle, b, tolerance, depth - 1)
    }

    #[test]
    fn the_response_is_the_integral_over_wavenumbers() {
        let mut worst: f64 = 0.0;
        for (alpha, beta) in [(0.0125, 1e-4), (0.0125, 1e-3), (0.2, 1e-2), (0.05, 0.0)] {
            for speed in [50.0, 200.0, 250.0, 300.0, 450.0] {
                let s = string(alpha, beta, speed);
                for hz in [0.0, 0.3, 0.8, 1.28, 2.5, 7.0, 25.0, 60.0] {
                    let omega = TAU * hz;
                    let exact = by_quadrature(&s, omega);
                    let found = s.response(omega).unwrap();
                    let error = (found - exact).norm() / exact.norm();
                    worst = worst.max(error);
                    assert!(
                        error < 1e-9,
                        "α {alpha} β {beta} {speed} km/h {hz} Hz: {found} against {exact}: {error}"
                    );
                }
            }
        }
        println!("worst relative difference {worst:.1e}");
    }

    #[test]
    fn the_static_limit_has_its_closed_form() {
        for speed in [1.0, 250.0, 300.0, 480.0] {
            let v: f64 = speed / 3.6;
            let expected: f64 = 0.5 / (51.15 * (31_500.0 - 1.4735 * v * v)).sqrt();
            for damping in [0.0, 1e-12, 1e-9] {
                let found = string(damping, damping, speed).response(0.0).unwrap();
                assert!(
                    (found - expected).norm() < 1e-6 * expected,
                    "{speed}: {found} against {expected}"
                );
            }
            let exact = string(0.0, 0.0, speed).response(0.0).unwrap();
            assert!((exact - expected).norm() < 1e-13 * expected, "{exact}");
        }
    }

    /// Without any damping waves carry energy away all the same: the limit of vanishing damping.
    #[test]
    fn an_undamped_string_is_the_limit_of_light_damping() {
        for hz in [0.5, 1.5, 10.0, 25.0] {
            let omega = TAU * hz;
            let none = string(0.0, 0.0, 300.0).response(omega).unwrap();
            let light = string(1e-9, 1e-12, 300.0).response(omega).unwrap();
            assert!(
                (none - light).norm() < 1e-6 * none.norm(),
                "{hz}: {none} {light}"
            );
            // Work is done on the string, never by it.
            assert!(none.im <= 1e-20, "{none}");
        }
    }

    #[test]
    fn a_train_faster_than_the_waves_is_refused() {
        let fast = MovingString {
            speed_kmh: 600.0,
            ..MovingString::HIGH_SPEED_300
        };
        let text = SpanString::new(fast, 65.0).unwrap_err().to_string();
        assert!(text.starts_with("speed_kmh: is 600 km/h"), "{text}");
        assert!(SpanString::new(MovingString::HIGH_SPEED_300, 0.0).is_err());
    }
}
