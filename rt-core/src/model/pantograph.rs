//! Lumped pantographs: a chain of masses from the collector head down to the base frame.

use crate::file::{
    FieldError, FileContent, require_not_negative, require_positive, require_within,
};
use nalgebra::DMatrix;
use serde::Deserialize;

/// One mass of the chain, with the spring and damper that carry it from below.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LumpedMass {
    /// Mass in kg.
    pub mass_kg: f64,
    /// Stiffness to the next mass below, or from the last mass to the base frame, in N/m.
    pub stiffness_n_per_m: f64,
    /// Damping beside that spring, in N s/m.
    pub damping_ns_per_m: f64,
}

/// The lift of the pantograph on its lowest mass: F₀(v) = constant + per_kmh2 · v², v in km/h.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uplift {
    /// Force at standstill, in N; below zero for what hangs from the rig.
    pub static_n: f64,
    /// Aerodynamic part, in N per (km/h)².
    pub per_kmh2_n: f64,
}

impl Uplift {
    /// The uplift force in N at a train speed in km/h.
    pub fn at_kmh(&self, speed_kmh: f64) -> f64 {
        self.static_n + self.per_kmh2_n * speed_kmh * speed_kmh
    }
}

/// A lumped pantograph as its file describes it. Heights are upward; all springs are unstretched
/// where all masses are at height 0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename = "Pantograph")]
pub struct Pantograph {
    /// Its name, for people.
    pub name: String,
    /// The masses, the collector head first.
    pub masses: Vec<LumpedMass>,
    /// The lift on the lowest mass.
    pub uplift: Uplift,
}

impl FileContent for Pantograph {
    const KIND: &'static str = "pantograph file";

    fn check(&self) -> Result<(), FieldError> {
        if self.masses.is_empty() {
            return Err(FieldError::new(
                "masses",
                "is empty; expected at least the collector head",
            ));
        }
        for (i, m) in self.masses.iter().enumerate() {
            let at = |e: FieldError| e.within(&format!("masses[{i}]"));
            require_positive("mass_kg", m.mass_kg, "kg").map_err(at)?;
            require_not_negative("stiffness_n_per_m", m.stiffness_n_per_m, "N/m").map_err(at)?;
            require_not_negative("damping_ns_per_m", m.damping_ns_per_m, "N s/m").map_err(at)?;
        }
        // Below zero where the specimen hangs from the rig: a mass by its weight.
        require_within(
            "uplift.static_n",
            self.uplift.static_n,
            -2000.0,
            2000.0,
            "N",
        )?;
        require_not_negative("uplift.per_kmh2_n", self.uplift.per_kmh2_n, "N/(km/h)²")
    }
}

/// Mass, damping and stiffness matrices of M ü + C u̇ + K u = f.
#[derive(Clone, Debug)]
pub struct Matrices {
    /// M, in kg.
    pub mass: DMatrix<f64>,
    /// C, in N s/m.
    pub damping: DMatrix<f64>,
    /// K, in N/m.
    pub stiffness: DMatrix<f64>,
}

impl Pantograph {
    /// M, C and K of the free chain, the head in row 0.
    pub fn matrices(&self) -> Matrices {
        let n = self.masses.len();
        let mut mass = DMatrix::zeros(n, n);
        let mut damping = DMatrix::zeros(n, n);
        let mut stiffness = DMatrix::zeros(n, n);
        for (i, m) in self.masses.iter().enumerate() {
            mass[(i, i)] = m.mass_kg;
            for (matrix, value) in [
                (&mut damping, m.damping_ns_per_m),
                (&mut stiffness, m.stiffness_n_per_m),
            ] {
                matrix[(i, i)] += value;
                if i + 1 < n {
                    matrix[(i + 1, i + 1)] += value;
                    matrix[(i, i + 1)] -= value;
                    matrix[(i + 1, i)] -= value;
                }
            }
        }
        Matrices {
            mass,
            damping,
            stiffness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_masses() -> Pantograph {
        Pantograph {
            name: "test".into(),
            masses: vec![
                LumpedMass {
                    mass_kg: 1.0,
                    stiffness_n_per_m: 10.0,
                    damping_ns_per_m: 0.1,
                },
                LumpedMass {
                    mass_kg: 2.0,
                    stiffness_n_per_m: 30.0,
                    damping_ns_per_m: 0.3,
                },
            ],
            uplift: Uplift {
                static_n: 70.0,
                per_kmh2_n: 0.00097,
            },
        }
    }

    #[test]
    fn springs_in_series_carry_a_force_on_the_head() {
        // Compliance of a chain under a force at its head: the sum of 1/k.
        let k = two_masses().matrices().stiffness;
        let x = k
            .lu()
            .solve(&nalgebra::DVector::from_vec(vec![1.0, 0.0]))
            .unwrap();
        assert!((x[0] - (1.0 / 10.0 + 1.0 / 30.0)).abs() < 1e-15);
        assert!((x[1] - 1.0 / 30.0).abs() < 1e-15);
    }

    #[test]
    fn uplift_follows_the_mean_force_law_of_en_50367() {
        assert!((two_masses().uplift.at_kmh(300.0) - 157.3).abs() < 1e-12);
    }

    #[test]
    fn a_negative_mass_is_refused_with_its_place() {
        let mut p = two_masses();
        p.masses[1].mass_kg = -2.0;
        let text = p.check().unwrap_err().to_string();
        assert!(text.contains("masses[1].mass_kg: is -2 kg"), "{text}");
        p.masses.clear();
        assert!(p.check().is_err());
    }
}
