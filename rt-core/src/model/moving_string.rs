//! An overhead line as a tensioned string on an elastic layer, in the frame that moves with the
//! contact point: the compliance of the wire in a few states, for the stability of the loop.
//!
//!   μ (ü − 2V u̇′ + V² u″) + α μ u̇ + (1 + β ∂ₜ)(κ u − T u″) = F δ(ξ),  ξ = x − V t
//!
//! At the contact point U = F / (2 √P(s)) with P ≈ Tμ (1 + βs)((s + δ)² + ω²), δ and ω from the
//! damping and the layer. 1/√((s + δ)² + ω²) is the transform of e^{−δt} J₀(ωt), and Bessel's
//! functions follow each other, J₀′ = −J₁, Jₙ′ = (Jₙ₋₁ − Jₙ₊₁)/2: a chain of states whose end
//! absorbs is the endless string, without a mesh.

use crate::control::newmark::LinearPart;
use crate::file::{FieldError, require_not_negative, require_positive, require_within};
use nalgebra::{Complex, DMatrix, DVector};

/// Bessel functions kept.
const CHAIN: usize = 16;
/// From here on the chain is damped, so that little comes back from its end.
const DAMPED_FROM: usize = 3;

/// A string on an elastic layer, passed at a constant speed.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovingString {
    /// Tension T in N.
    pub tension_n: f64,
    /// Mass per length μ in kg/m.
    pub mass_kg_per_m: f64,
    /// Stiffness of the layer per length κ in N/m².
    pub layer_n_per_m2: f64,
    /// Damping by mass α in 1/s.
    pub mass_damping_per_s: f64,
    /// Damping by stiffness β in s.
    pub stiffness_damping_s: f64,
    /// Train speed in km/h.
    pub speed_kmh: f64,
}

impl MovingString {
    /// Contact wire of a high-speed line at 31.5 kN, passed at 300 km/h.
    pub const HIGH_SPEED_300: Self = Self {
        tension_n: 31_500.0,
        mass_kg_per_m: 1.4735,
        layer_n_per_m2: 51.15,
        mass_damping_per_s: 0.0125,
        stiffness_damping_s: 1e-4,
        speed_kmh: 300.0,
    };

    /// Refuses parameters without meaning, and trains faster than 95 % of the waves.
    pub fn check(&self) -> Result<(), FieldError> {
        require_positive("tension_n", self.tension_n, "N")?;
        require_positive("mass_kg_per_m", self.mass_kg_per_m, "kg/m")?;
        require_positive("layer_n_per_m2", self.layer_n_per_m2, "N/m²")?;
        require_not_negative("mass_damping_per_s", self.mass_damping_per_s, "1/s")?;
        require_not_negative("stiffness_damping_s", self.stiffness_damping_s, "s")?;
        let fastest = 0.95 * 3.6 * self.wave_speed();
        require_within("speed_kmh", self.speed_kmh, 0.0, fastest, "km/h")
    }

    /// c = √(T/μ) in m/s.
    fn wave_speed(&self) -> f64 {
        (self.tension_n / self.mass_kg_per_m).sqrt()
    }

    /// Height by force of the endless string at the contact point, in m/N, for motion e^{st}:
    ///
    ///   U = F / (a (λ₋ − λ₊)),  a λ² + 2μVs λ − (μs² + αμs + (1+βs)κ) = 0,  a = (1+βs)T − μV².
    pub fn compliance(&self, s: Complex<f64>) -> Complex<f64> {
        let (mu, v) = (self.mass_kg_per_m, self.speed_kmh / 3.6);
        let elastic = s * self.stiffness_damping_s + 1.0;
        let a = elastic * self.tension_n - mu * v * v;
        let half = s * (mu * v);
        let rest = s * s * mu + s * (self.mass_damping_per_s * mu) + elastic * self.layer_n_per_m2;
        let root = (half * half + a * rest).sqrt();
        // The branch on which waves run outward: √(Tμ) s when fast, positive when slow.
        let slow = (self.layer_n_per_m2 * (self.tension_n - mu * v * v)).sqrt();
        let outward = s * (self.tension_n * mu).sqrt() + slow;
        let root = if (root * outward.conj()).re < 0.0 {
            -root
        } else {
            root
        };
        Complex::from(0.5) / root
    }

    /// The string in few states, in steps of `period_s`: z⁺ = cᵀ(A x + b F). The steps are
    /// trapezoidal like Newmark's.
    pub fn linear_part(&self, period_s: f64) -> Result<LinearPart, FieldError> {
        self.check()?;
        require_positive("period_s", period_s, "s")?;
        let (mu, v) = (self.mass_kg_per_m, self.speed_kmh / 3.6);
        let moving = self.tension_n - mu * v * v;
        let delta = 0.5 * self.mass_damping_per_s * moving / self.tension_n;
        let square = self.layer_n_per_m2 * moving / (self.tension_n * mu) - delta * delta;
        let omega = square.max(0.0).sqrt();
        if omega == 0.0 {
            return Err(FieldError::new(
                "mass_damping_per_s",
                "overdamps the layer; expected less damping or a stiffer layer",
            ));
        }
        // Chain, then the low-pass q of √(1 + βs) ≈ (1 + ¾βs)/(1 + ¼βs).
        let n = CHAIN + 1;
        let mut a = DMatrix::zeros(n, n);
        for i in 0..CHAIN {
            let into = i.saturating_sub(DAMPED_FROM) as f64 / (CHAIN - DAMPED_FROM) as f64;
            a[(i, i)] = -delta - omega * into * into;
            if i > 0 {
                a[(i, i - 1)] = 0.5 * omega;
            }
            if i + 1 < CHAIN {
                a[(i, i + 1)] = if i == 0 { -omega } else { -0.5 * omega };
            }
        }
        let mut c = DVector::zeros(n + 1);
        let lag = 0.75 * self.stiffness_damping_s;
        if lag > 0.0 {
            a[(CHAIN, 0)] = 1.0 / lag;
            a[(CHAIN, CHAIN)] = -1.0 / lag;
            c[0] = 1.0 / 3.0;
            c[CHAIN] = 2.0 / 3.0;
        } else {
            a[(CHAIN, CHAIN)] = -1.0;
            c[0] = 1.0;
        }
        let mut b = DVector::zeros(n);
        b[0] = 0.5 / (self.tension_n * mu).sqrt();
        trapezoidal(&a, &b, c, period_s).ok_or_else(|| {
            FieldError::new("period_s", "gives a singular step; expected a shorter one")
        })
    }
}

/// x⁺ = x + ½dt (A (x + x⁺) + b (F + F⁺)), the last force being one more state.
fn trapezoidal(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    c: DVector<f64>,
    period_s: f64,
) -> Option<LinearPart> {
    let n = b.len();
    let half = 0.5 * period_s;
    let identity = DMatrix::identity(n, n);
    let lu = (&identity - a * half).lu();
    let by_force = lu.solve(&(b * half))?;
    let mut step = DMatrix::zeros(n + 1, n + 1);
    step.view_mut((0, 0), (n, n))
        .copy_from(&lu.solve(&(&identity + a * half))?);
    step.view_mut((0, n), (n, 1)).copy_from(&by_force);
    Some(LinearPart {
        a: step,
        b: by_force.push(1.0),
        c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Newmark's average acceleration is the bilinear transform s = (2/dt) (z − 1)/(z + 1), so
    /// that the discrete response is the continuous one at a warped frequency: no error in time.
    /// Only above 2 Hz: about 1 Hz the endless string resonates with hardly any damping, which the
    /// chain with its damped end does not follow; the worst error there is printed.
    #[test]
    fn the_small_string_has_the_compliance_of_the_endless_one() {
        let dt = 2e-3;
        for speed_kmh in [0.0, 250.0, 300.0] {
            let string = MovingString {
                speed_kmh,
                ..MovingString::HIGH_SPEED_300
            };
            let part = string.linear_part(dt).unwrap();
            assert!(part.states() <= 45, "{}", part.states());
            let mut worst = (0.0, 0.0);
            for i in 0..120 {
                let f = 0.05 * (60.0_f64 / 0.05).powf(f64::from(i) / 119.0);
                let z = Complex::from_polar(1.0, TAU * f * dt);
                let a = part.a.map(Complex::from);
                let matrix = DMatrix::from_diagonal_element(a.nrows(), a.nrows(), z) - a;
                let x = matrix.lu().solve(&part.b.map(Complex::from)).unwrap();
                // x⁺ takes the force as that of its own end: one step less.
                let found = part.c.map(Complex::from).dot(&x) * z;
                let s = Complex::new(0.0, 2.0 / dt * (TAU * f * dt / 2.0).tan());
                let exact = string.compliance(s);
                let error = (found - exact).norm() / exact.norm();
                if f > 2.0 {
                    assert!(error < 2e-3, "{speed_kmh} km/h, {f} Hz: {error}");
                }
                if error > worst.0 {
                    worst = (error, f);
                }
            }
            println!(
                "{speed_kmh} km/h: {} states, worst {worst:?}",
                part.states()
            );
        }
    }

    /// Static limit: 1 / (2 √(κ (T − μV²))).
    #[test]
    fn the_static_compliance_has_its_closed_form() {
        let string = MovingString::HIGH_SPEED_300;
        let v = 300.0_f64 / 3.6;
        let expected = 0.5 / (51.15 * (31_500.0 - 1.4735 * v * v)).sqrt();
        let found = string.compliance(Complex::from(0.0));
        assert!((found.re / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_train_faster_than_the_waves_is_refused() {
        let mut string = MovingString::HIGH_SPEED_300;
        string.speed_kmh = 600.0;
        let text = string.linear_part(2e-3).unwrap_err().to_string();
        assert!(text.contains("speed_kmh: is 600 km/h; expected"), "{text}");
        string.speed_kmh = f64::NAN;
        assert!(string.check().is_err());
    }
}
