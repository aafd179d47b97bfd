//! A pantograph whose head is held and moved: the force that it presses with, frequency by frequency.
//!
//! With the head at z the chain (−ω²M + iωC + K) u = b − F e₁, u₁ = z, presses with F = F_b − S z, where
//! S = A₁₁ − A₁ᵣ A_rr⁻¹ A_r1 and F_b = b₁ − A₁ᵣ A_rr⁻¹ b_r. A single mass has S = −mω².

use crate::model::pantograph::Pantograph;
use nalgebra::{Complex, DMatrix, DVector};

/// S and F_b of unit uplift at a frequency; `None` where the chain below the head resonates undamped.
fn held(pantograph: &Pantograph, omega: f64) -> Option<(Complex<f64>, Complex<f64>)> {
    let chain = pantograph.matrices();
    let n = pantograph.masses.len();
    let a = DMatrix::from_fn(n, n, |i, j| {
        Complex::new(
            chain.stiffness[(i, j)] - omega * omega * chain.mass[(i, j)],
            omega * chain.damping[(i, j)],
        )
    });
    if n == 1 {
        return Some((a[(0, 0)], Complex::from(1.0)));
    }
    let below = a.view((1, 1), (n - 1, n - 1)).into_owned().lu();
    let column = a.view((1, 0), (n - 1, 1)).into_owned();
    let mut load = DVector::from_element(n - 1, Complex::from(0.0));
    load[n - 2] = Complex::from(1.0);
    let by_head = below.solve(&column)?;
    let by_load = below.solve(&load)?;
    let sum = |x: &dyn Fn(usize) -> Complex<f64>| -> Complex<f64> {
        (0..n - 1).map(|i| a[(0, i + 1)] * x(i)).sum()
    };
    Some((a[(0, 0)] - sum(&|i| by_head[(i, 0)]), -sum(&|i| by_load[i])))
}

/// S(ω) in N/m: how much less the head presses for each metre that it is held higher.
pub fn stiffness(pantograph: &Pantograph, omega: f64) -> Option<Complex<f64>> {
    held(pantograph, omega).map(|(s, _)| s)
}

/// The force in N that a lift on the lowest mass presses with while the head rests at height 0.
pub fn resting_force(pantograph: &Pantograph, uplift_n: f64) -> Option<f64> {
    held(pantograph, 0.0).map(|(_, f)| f.re * uplift_n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pantograph::{LumpedMass, Uplift};

    fn chain(masses: &[(f64, f64, f64)]) -> Pantograph {
        Pantograph {
            name: "test".into(),
            masses: masses
                .iter()
                .map(
                    |&(mass_kg, stiffness_n_per_m, damping_ns_per_m)| LumpedMass {
                        mass_kg,
                        stiffness_n_per_m,
                        damping_ns_per_m,
                    },
                )
                .collect(),
            uplift: Uplift {
                static_n: 0.0,
                per_kmh2_n: 0.0,
            },
        }
    }

    #[test]
    fn a_mass_resists_with_its_inertia_alone() {
        let mass = chain(&[(5.29, 0.0, 0.0)]);
        let s = stiffness(&mass, 10.0).unwrap();
        assert!((s - Complex::from(-529.0)).norm() < 1e-12, "{s}");
        assert_eq!(resting_force(&mass, -51.0), Some(-51.0));
    }

    /// Against the whole chain with the head free: S = 1/[A⁻¹]₁₁ and F_b = S [A⁻¹ b]₁.
    #[test]
    fn a_chain_agrees_with_its_inverse() {
        let p = chain(&[(6.6, 7000.0, 0.0), (5.8, 14_100.0, 0.0), (5.8, 80.0, 70.0)]);
        let m = p.matrices();
        for omega in [0.0, 3.0, 40.0, 157.0] {
            let a = DMatrix::from_fn(3, 3, |i, j| {
                Complex::new(
                    m.stiffness[(i, j)] - omega * omega * m.mass[(i, j)],
                    omega * m.damping[(i, j)],
                )
            });
            let inverse = a.try_inverse().unwrap();
            let (s, f) = held(&p, omega).unwrap();
            let expected = inverse[(0, 0)].inv();
            assert!((s / expected - 1.0).norm() < 1e-10, "{omega}: {s}");
            let force = expected * inverse[(0, 2)];
            assert!((f / force - 1.0).norm() < 1e-10, "{omega}: {f}");
        }
    }
}
