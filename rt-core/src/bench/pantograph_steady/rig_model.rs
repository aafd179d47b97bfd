//! The rig as it is known, with its specimen: linear, exact between two exchanges, at rest without uplift.
//!
//! State x = [u_m v_m | u₁ v₁ … u_n v_n | f]: motor, specimen from the head down, filtered force. A reference acts
//! from the exchange after the one in whose cycle it was computed, and later by the rig's own delay.

use crate::file::FieldError;
use crate::model::pantograph::Pantograph;
use crate::rig::KnownRig;
use nalgebra::{DMatrix, DVector};
use std::f64::consts::TAU;

/// Most cycles of delay on either side.
const MOST_DELAY: f64 = 1000.0;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct RigModel {
    a: DMatrix<f64>,
    /// Of the reference that arrives within the cycle, and of the one that was there before.
    by_new: DVector<f64>,
    by_old: DVector<f64>,
    read: DVector<f64>,
    reference_delay: usize,
    /// Whole cycles and the rest by which the force is read late.
    force_delay: (usize, f64),
    x: DVector<f64>,
    next: DVector<f64>,
    references: Vec<f64>,
    forces: Vec<f64>,
    cycle: usize,
}

impl RigModel {
    /// Rig and specimen in cycles of `period_s`, at rest.
    pub fn new(rig: &KnownRig, specimen: &Pantograph, period_s: f64) -> Result<Self, FieldError> {
        let too_late = |what: &str, delay: f64| {
            FieldError::new(
                what,
                format!("is {delay} s; expected less than {MOST_DELAY} cycles"),
            )
        };
        let cycles_of = |what: &str, delay: f64| {
            let cycles = delay / period_s;
            if (0.0..MOST_DELAY).contains(&cycles) {
                Ok((cycles.floor() as usize, cycles.fract()))
            } else {
                Err(too_late(what, delay))
            }
        };
        let (reference_delay, late) = cycles_of("reference_delay_s", rig.reference_delay_s)?;
        let force_delay = cycles_of("force_delay_s", rig.force_delay_s)?;

        let n = specimen.masses.len();
        let size = 3 + 2 * n;
        let f = size - 1;
        let (u, v) = (|i: usize| 2 + 2 * i, |i: usize| 3 + 2 * i);
        // One more column: the reference.
        let mut a = DMatrix::<f64>::zeros(size + 1, size + 1);
        let (w, zeta) = (rig.motor_omega_rad_per_s, rig.motor_damping_ratio);
        a[(0, 1)] = 1.0;
        a[(1, 0)] = -w * w;
        a[(1, 1)] = -2.0 * zeta * w;
        a[(1, size)] = w * w;
        let chain = specimen.matrices();
        for i in 0..n {
            let mass = chain.mass[(i, i)];
            a[(u(i), v(i))] = 1.0;
            for j in 0..n {
                a[(v(i), u(j))] -= chain.stiffness[(i, j)] / mass;
                a[(v(i), v(j))] -= chain.damping[(i, j)] / mass;
            }
        }
        // The pad's force F = k (u₁ − u_m) + c (v₁ − v_m).
        let (k, c) = (rig.pad_stiffness_n_per_m, rig.pad_damping_ns_per_m);
        let pad = [(u(0), k), (0, -k), (v(0), c), (1, -c)];
        let corner = rig.force_filter_hz.map(|hz| TAU * hz);
        let mut read = DVector::zeros(size);
        for (column, value) in pad {
            a[(v(0), column)] -= value / chain.mass[(0, 0)];
            match corner {
                Some(corner) => a[(f, column)] += corner * value,
                None => read[column] += value,
            }
        }
        if let Some(corner) = corner {
            a[(f, f)] = -corner;
            read[f] = 1.0;
        }
        let whole = (&a * period_s).exp();
        let rest = (&a * (period_s * (1.0 - late))).exp();
        let column = |e: &DMatrix<f64>| DVector::from_fn(size, |i, _| e[(i, size)]);
        let by_new = column(&rest);
        Ok(Self {
            a: whole.view((0, 0), (size, size)).into_owned(),
            by_old: column(&whole) - &by_new,
            by_new,
            read,
            reference_delay,
            force_delay,
            x: DVector::zeros(size),
            next: DVector::zeros(size),
            references: vec![0.0; reference_delay + 3],
            forces: vec![0.0; force_delay.0 + 2],
            cycle: 0,
        })
    }

    /// The force that this cycle reads, in N.
    pub fn force(&mut self) -> f64 {
        let count = self.forces.len();
        self.forces[self.cycle % count] = self.read.dot(&self.x);
        let (whole, rest) = self.force_delay;
        let ago = |cycles: usize| {
            if cycles > self.cycle {
                0.0
            } else {
                self.forces[(self.cycle - cycles) % count]
            }
        };
        ago(whole) + rest * (ago(whole + 1) - ago(whole))
    }

    /// Goes on to the next cycle, with the reference in m that was computed in this one.
    pub fn advance(&mut self, reference: f64) {
        let count = self.references.len();
        self.references[self.cycle % count] = reference;
        let ago = |cycles: usize| {
            if cycles > self.cycle {
                0.0
            } else {
                self.references[(self.cycle - cycles) % count]
            }
        };
        let (new, old) = (ago(self.reference_delay + 1), ago(self.reference_delay + 2));
        self.next.gemv(1.0, &self.a, &self.x, 0.0);
        self.next.axpy(new, &self.by_new, 1.0);
        self.next.axpy(old, &self.by_old, 1.0);
        std::mem::swap(&mut self.x, &mut self.next);
        self.cycle += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::moving_load::held_head;
    use crate::model::pantograph::{LumpedMass, Uplift};
    use nalgebra::Complex;

    /// A slow sine on the reference: gain and delay of the force are those of specimen, pad, motor and delays.
    #[test]
    fn a_sine_comes_back_with_the_known_lag() {
        let period = 1e-3;
        let specimen = Pantograph {
            name: "light mass on a spring".into(),
            // A heavy one would answer to each step of the held reference, always at the same moment of a cycle.
            masses: vec![LumpedMass {
                mass_kg: 0.005,
                stiffness_n_per_m: 3000.0,
                damping_ns_per_m: 1.0,
            }],
            uplift: Uplift {
                static_n: 0.0,
                per_kmh2_n: 0.0,
            },
        };
        let rig = KnownRig {
            motor_omega_rad_per_s: 700.0,
            motor_damping_ratio: 0.7,
            reference_delay_s: 6.3e-3,
            force_delay_s: 2.4e-3,
            force_filter_hz: Some(150.0),
            pad_stiffness_n_per_m: 1e6,
            pad_damping_ns_per_m: 300.0,
        };
        let mut model = RigModel::new(&rig, &specimen, period).unwrap();
        // A whole number of periods within the samples that are evaluated.
        let omega = TAU * 2.0;
        let mut sum = Complex::from(0.0);
        for n in 0..20_000_u32 {
            let t = f64::from(n) * period;
            let force = model.force();
            if n >= 15_000 {
                sum += Complex::from_polar(force, -omega * t);
            }
            model.advance((omega * t).cos());
        }
        let found = sum * (2.0 / 5000.0);
        let s = Complex::new(0.0, omega);
        let motor = Complex::from(700.0_f64.powi(2))
            / (s * s + s * (2.0 * 0.7 * 700.0) + 700.0_f64.powi(2));
        let stiffness = held_head::stiffness(&specimen, omega).unwrap();
        let pad = Complex::from(1e6) + s * 300.0;
        let filter = (s / (TAU * 150.0) + 1.0).inv();
        // The reference is held for a cycle: half a cycle of delay and sin(x)/x.
        let held = (0.5 * period * omega).sin() / (0.5 * period * omega);
        let delays = (s * -(1.5e-3 + 6.3e-3 + 2.4e-3)).exp() * held;
        let expected = -motor * filter * delays * stiffness * pad / (pad + stiffness);
        // The part of a cycle by which the force is late is interpolated: (ωΔt)²/8 = 2e-5.
        assert!((found / expected - 1.0).norm() < 2e-4, "{found} {expected}");
        // And the lag at low frequency is what the rig says.
        let lag = -(found / -stiffness).arg() / omega;
        assert!((lag - rig.loop_lag_s(period)).abs() < 5e-5, "{lag}");
    }
}
