//! A lumped pantograph stepped with Newmark's average-acceleration rule, in parts like the wire.

use super::error::CatenaryError;
use super::wire::Newmark;
use crate::model::pantograph::Pantograph;
use nalgebra::{DMatrix, DVector};

/// A lumped pantograph in motion. After it is built nothing allocates.
#[derive(Clone, Debug)]
pub struct LumpedStepper {
    newmark: Newmark,
    mass: DMatrix<f64>,
    damping: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    inverse: DMatrix<f64>,
    uplift: f64,
    u: DVector<f64>,
    v: DVector<f64>,
    a: DVector<f64>,
    free: DVector<f64>,
    work: [DVector<f64>; 2],
}

impl LumpedStepper {
    /// A pantograph lifted by `uplift` N on its lowest mass, stepped by `dt` s.
    pub fn new(pantograph: &Pantograph, uplift: f64, dt: f64) -> Result<Self, CatenaryError> {
        let m = pantograph.matrices();
        let n = m.mass.nrows();
        let newmark = Newmark::new(dt);
        let effective = &m.mass * newmark.accel + &m.damping * newmark.rate + &m.stiffness;
        let inverse = effective.try_inverse().ok_or_else(|| {
            crate::file::FieldError::new("masses", "give a pantograph that cannot be integrated")
        })?;
        let zero = DVector::zeros(n);
        Ok(Self {
            newmark,
            mass: m.mass,
            damping: m.damping,
            stiffness: m.stiffness,
            inverse,
            uplift,
            u: zero.clone(),
            v: zero.clone(),
            a: zero.clone(),
            free: zero.clone(),
            work: [zero.clone(), zero],
        })
    }

    /// Puts it to rest against a wire held at a height, through a contact stiffness in N/m.
    pub fn rest_against(&mut self, height: f64, contact_stiffness: f64) {
        let mut k = self.stiffness.clone();
        k[(0, 0)] += contact_stiffness;
        let mut f = DVector::zeros(self.u.len());
        f[0] = contact_stiffness * height;
        f[self.u.len() - 1] += self.uplift;
        if let Some(u) = k.lu().solve(&f) {
            self.u = u;
        }
        self.v.fill(0.0);
        self.a.fill(0.0);
    }

    /// Height of the head at the end of the next step if nothing touched it.
    pub fn predict(&mut self) -> f64 {
        let nm = self.newmark;
        let [p, q] = &mut self.work;
        for i in 0..self.u.len() {
            p[i] = nm.accel * self.u[i] + nm.jump * self.v[i] + self.a[i];
            q[i] = nm.rate * self.u[i] + self.v[i];
        }
        self.free.gemv(1.0, &self.mass, p, 0.0);
        self.free.gemv(1.0, &self.damping, q, 1.0);
        let last = self.free.len() - 1;
        self.free[last] += self.uplift;
        p.gemv(1.0, &self.inverse, &self.free, 0.0);
        self.free.copy_from(p);
        self.free[0]
    }

    /// How far a unit contact force presses the head down within a step, in m/N.
    pub fn compliance(&self) -> f64 {
        self.inverse[(0, 0)]
    }

    /// Ends the step with a contact force in N on the head.
    pub fn commit(&mut self, force: f64) {
        for i in 0..self.u.len() {
            let new = self.free[i] - self.inverse[(i, 0)] * force;
            (self.v[i], self.a[i]) = self.newmark.update(self.u[i], self.v[i], self.a[i], new);
            self.u[i] = new;
        }
    }

    /// Height of the head, in m.
    pub fn head(&self) -> f64 {
        self.u[0]
    }

    /// ½ u̇ᵀ M u̇ + ½ uᵀ K u − F₀ u_last, in J.
    pub fn energy(&self) -> f64 {
        0.5 * (self.v.dot(&(&self.mass * &self.v)) + self.u.dot(&(&self.stiffness * &self.u)))
            - self.uplift * self.u[self.u.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pantograph::{LumpedMass, Uplift};

    #[test]
    fn one_mass_swings_at_its_own_frequency() {
        let p = Pantograph {
            name: "test".into(),
            masses: vec![LumpedMass {
                mass_kg: 2.0,
                stiffness_n_per_m: 200.0,
                damping_ns_per_m: 0.0,
            }],
            uplift: Uplift {
                static_n: 0.0,
                per_kmh2_n: 0.0,
            },
        };
        let dt = 1e-3;
        // ω = 10 rad/s; from rest under a constant force: u = F/k (1 − cos ωt), error of order (ωΔt)².
        let mut s = LumpedStepper::new(&p, 20.0, dt).unwrap();
        // The acceleration at the start is F/m.
        s.a[0] = 10.0;
        for k in 1..=1000 {
            s.predict();
            s.commit(0.0);
            let exact = 0.1 * (1.0 - (10.0 * dt * f64::from(k)).cos());
            assert!(
                (s.head() - exact).abs() < 2e-5,
                "step {k}: {} {exact}",
                s.head()
            );
        }
    }
}
