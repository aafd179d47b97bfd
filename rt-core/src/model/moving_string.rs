//! An overhead line as a tensioned string on an elastic layer, in the frame that moves with the
//! contact point: the compliance of the wire in a few states, for the stability of the loop.
//!
//!   μ (ü − 2V u̇′ + V² u″) + α μ u̇ + (1 + β ∂ₜ)(κ u − T u″) = F δ(ξ),  ξ = x − V t
//!
//! A long mesh whose ends absorb is projected on its own responses at a few frequencies. The
//! projected mass, stiffness and dissipation stay positive, so that the small string is stable too.

use crate::control::newmark::LinearPart;
use crate::file::{FieldError, require_not_negative, require_positive, require_within};
use nalgebra::{Complex, DMatrix, DVector};
use std::f64::consts::TAU;

/// Element of the mesh in m: 1/8 of the shortest wave at 30 Hz and 300 km/h.
const ELEMENT_M: f64 = 0.25;
/// Mesh ahead of and behind the contact point in m.
const REACH_M: f64 = 160.0;
/// Outer share of the reach in which damping grows.
const SPONGE_SHARE: f64 = 0.75;
/// Damping per mass at the very end in 1/s.
const SPONGE_PER_S: f64 = 12.0;
/// Frequencies in Hz whose responses span the small string.
const BASIS_HZ: [f64; 6] = [0.0, 1.5, 5.0, 11.0, 25.0, 60.0];

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
        // √ with a positive real part: waves die out on both sides.
        let root = (half * half + a * rest).sqrt();
        Complex::from(0.5) / root
    }

    /// The string in few states, in steps of `period_s`: z⁺ = cᵀ(A x + b F).
    pub fn linear_part(&self, period_s: f64) -> Result<LinearPart, FieldError> {
        let mesh = self.mesh(REACH_M, ELEMENT_M)?;
        let basis = mesh.basis().ok_or_else(singular)?;
        let project = |matrix: &Tridiagonal| basis.transpose() * matrix.times(&basis);
        let here = basis.row(mesh.middle()).transpose();
        small_part(
            &project(&mesh.mass),
            &project(&mesh.damping),
            &project(&mesh.stiffness),
            &here,
            period_s,
        )
        .ok_or_else(singular)
    }

    /// The string on a mesh of its own, not reduced: what the small one is judged by.
    pub fn on_mesh(
        &self,
        reach_m: f64,
        element_m: f64,
        period_s: f64,
    ) -> Result<LinearPart, FieldError> {
        let mesh = self.mesh(reach_m, element_m)?;
        let identity = DMatrix::identity(mesh.mass.main.len(), mesh.mass.main.len());
        let dense = |matrix: &Tridiagonal| matrix.times(&identity);
        let here = identity.column(mesh.middle()).into_owned();
        small_part(
            &dense(&mesh.mass),
            &dense(&mesh.damping),
            &dense(&mesh.stiffness),
            &here,
            period_s,
        )
        .ok_or_else(singular)
    }

    fn mesh(&self, reach_m: f64, element_m: f64) -> Result<Mesh, FieldError> {
        self.check()?;
        require_positive("element_m", element_m, "m")?;
        require_within("reach_m", reach_m, 2.0 * element_m, 1e4 * element_m, "m")?;
        let half = (reach_m / element_m).round() as usize;
        let (elements, h) = (2 * half, element_m);
        let (mu, v) = (self.mass_kg_per_m, self.speed_kmh / 3.6);
        let mut mesh = Mesh {
            mass: Tridiagonal::zeros(elements + 1),
            damping: Tridiagonal::zeros(elements + 1),
            stiffness: Tridiagonal::zeros(elements + 1),
        };
        let consistent = [[h / 3.0, h / 6.0], [h / 6.0, h / 3.0]];
        let curve = [[1.0 / h, -1.0 / h], [-1.0 / h, 1.0 / h]];
        let slope = [[-0.5, 0.5], [-0.5, 0.5]];
        for e in 0..elements {
            let outside = (e as f64 + 0.5 - half as f64).abs() / half as f64;
            let edge = ((outside - (1.0 - SPONGE_SHARE)) / SPONGE_SHARE).max(0.0);
            let by_mass = (self.mass_damping_per_s + SPONGE_PER_S * edge * edge) * mu;
            let beta = self.stiffness_damping_s;
            mesh.mass.add(e, &consistent, mu);
            mesh.damping
                .add(e, &consistent, by_mass + beta * self.layer_n_per_m2);
            mesh.damping.add(e, &curve, beta * self.tension_n);
            mesh.damping.add(e, &slope, -2.0 * mu * v);
            mesh.stiffness.add(e, &consistent, self.layer_n_per_m2);
            mesh.stiffness.add(e, &curve, self.tension_n - mu * v * v);
        }
        // Waves leave: u̇ = ∓(c ∓ V) u′ at the ends, so that (T − μV²) u′ is a dashpot there.
        mesh.damping.main[0] += mu * (self.wave_speed() - v);
        mesh.damping.main[elements] += mu * (self.wave_speed() + v);
        Ok(mesh)
    }
}

fn singular() -> FieldError {
    FieldError::new(
        "wire",
        "gives a singular string; expected a tension, mass and layer of usual size",
    )
}

/// Newmark steps of M ü + C u̇ + K u = g F with output gᵀu. Its state [u; u̇; ü] is replaced by
/// [u; u̇; F], because ü = M⁻¹ (g F − C u̇ − K u) at the end of every step.
fn small_part(
    mass: &DMatrix<f64>,
    damping: &DMatrix<f64>,
    stiffness: &DMatrix<f64>,
    here: &DVector<f64>,
    period_s: f64,
) -> Option<LinearPart> {
    let n = here.len();
    let full = LinearPart::newmark(mass, damping, stiffness, here, here, period_s)?;
    let inverse = mass.clone().cholesky()?;
    let mut accelerations = DMatrix::zeros(n, 2 * n + 1);
    accelerations
        .columns_mut(0, n)
        .copy_from(&-inverse.solve(stiffness));
    accelerations
        .columns_mut(n, n)
        .copy_from(&-inverse.solve(damping));
    accelerations.set_column(2 * n, &inverse.solve(here));
    let mut a = DMatrix::zeros(2 * n + 1, 2 * n + 1);
    let moved = full.a.view((0, 2 * n), (2 * n, n)) * accelerations;
    a.rows_mut(0, 2 * n).copy_from(&moved);
    let mut own = a.view_mut((0, 0), (2 * n, 2 * n));
    own += full.a.view((0, 0), (2 * n, 2 * n));
    let mut b = DVector::from_element(2 * n + 1, 1.0);
    b.rows_mut(0, 2 * n).copy_from(&full.b.rows(0, 2 * n));
    let mut c = DVector::zeros(2 * n + 1);
    c.rows_mut(0, n).copy_from(here);
    Some(LinearPart { a, b, c })
}

struct Mesh {
    mass: Tridiagonal,
    damping: Tridiagonal,
    stiffness: Tridiagonal,
}

impl Mesh {
    fn middle(&self) -> usize {
        self.mass.main.len() / 2
    }

    /// Orthonormal columns that span the responses to a force here, and those here to forces
    /// anywhere, at the frequencies of the basis.
    fn basis(&self) -> Option<DMatrix<f64>> {
        let mut columns: Vec<DVector<f64>> = Vec::new();
        let mut take = |part: Vec<f64>| {
            let mut column = DVector::from_vec(part);
            let size = column.norm();
            // Twice, because once leaves what rounding makes of nearly parallel columns.
            for _ in 0..2 {
                for known in &columns {
                    let share = known.dot(&column);
                    column.axpy(-share, known, 1.0);
                }
            }
            let left = column.norm();
            if left > 1e-9 * size {
                columns.push(column / left);
            }
        };
        for frequency in BASIS_HZ {
            let s = Complex::new(0.0, TAU * frequency);
            for transposed in [false, true] {
                let response = self.response(s, transposed)?;
                take(response.iter().map(|x| x.re).collect());
                if frequency > 0.0 {
                    take(response.iter().map(|x| x.im).collect());
                }
            }
        }
        Some(DMatrix::from_columns(&columns))
    }

    /// (s²M + sC + K)⁻¹ g, or with the transpose, by elimination along the string.
    fn response(&self, s: Complex<f64>, transposed: bool) -> Option<Vec<Complex<f64>>> {
        let n = self.mass.main.len();
        let sum = |m: &[f64], c: &[f64], k: &[f64]| -> Vec<Complex<f64>> {
            (0..m.len())
                .map(|i| s * s * m[i] + s * c[i] + k[i])
                .collect()
        };
        let (m, c, k) = (&self.mass, &self.damping, &self.stiffness);
        let mut main = sum(&m.main, &c.main, &k.main);
        let mut below = sum(&m.below, &c.below, &k.below);
        let mut above = sum(&m.above, &c.above, &k.above);
        if transposed {
            std::mem::swap(&mut below, &mut above);
        }
        let mut x = vec![Complex::from(0.0); n];
        x[self.middle()] = Complex::from(1.0);
        for i in 1..n {
            let factor = below[i - 1] / main[i - 1];
            main[i] -= factor * above[i - 1];
            let before = x[i - 1];
            x[i] -= factor * before;
        }
        for i in (0..n).rev() {
            let after = if i + 1 < n {
                above[i] * x[i + 1]
            } else {
                Complex::from(0.0)
            };
            x[i] = (x[i] - after) / main[i];
        }
        x.iter()
            .all(|x| x.re.is_finite() && x.im.is_finite())
            .then_some(x)
    }
}

/// A matrix with entries beside its diagonal only.
struct Tridiagonal {
    below: Vec<f64>,
    main: Vec<f64>,
    above: Vec<f64>,
}

impl Tridiagonal {
    fn zeros(n: usize) -> Self {
        Self {
            below: vec![0.0; n.saturating_sub(1)],
            main: vec![0.0; n],
            above: vec![0.0; n.saturating_sub(1)],
        }
    }

    /// Adds the matrix of element e, between nodes e and e + 1.
    fn add(&mut self, e: usize, element: &[[f64; 2]; 2], factor: f64) {
        self.main[e] += factor * element[0][0];
        self.above[e] += factor * element[0][1];
        self.below[e] += factor * element[1][0];
        self.main[e + 1] += factor * element[1][1];
    }

    fn times(&self, right: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.main.len();
        DMatrix::from_fn(n, right.ncols(), |i, j| {
            let mut sum = self.main[i] * right[(i, j)];
            if i > 0 {
                sum += self.below[i - 1] * right[(i - 1, j)];
            }
            if i + 1 < n {
                sum += self.above[i] * right[(i + 1, j)];
            }
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newmark's average acceleration is the bilinear transform s = (2/dt) (z − 1)/(z + 1), so
    /// that the discrete response is the continuous one at a warped frequency: no error in time.
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
                if error > worst.0 {
                    worst = (error, f);
                }
            }
            println!(
                "{speed_kmh} km/h: {} states, worst {worst:?}",
                part.states()
            );
            assert!(worst.0 < 0.03, "{speed_kmh} km/h: {worst:?}");
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
