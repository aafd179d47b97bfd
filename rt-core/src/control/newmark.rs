//! Second-order systems in discrete time by Newmark's average acceleration (γ = ½, β = ¼).
//!
//! M ü + C u̇ + K u = G p, the state being u, u̇, ü at the end of a step:
//!
//!   x⁺ = A x + B p⁺,  B = K_itc⁻¹ G · [1; c_VU; c_AU],  K_itc = c_M M + c_C C + K.

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

const GAMMA: f64 = 0.5;
const BETA: f64 = 0.25;

/// Mass, damping and stiffness of one degree of freedom that follows a position p:
/// m ü + c u̇ + k u = k p.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondOrder {
    /// Mass in kg.
    pub mass_kg: f64,
    /// Damping in N s/m.
    pub damping_ns_per_m: f64,
    /// Stiffness in N/m.
    pub stiffness_n_per_m: f64,
}

/// A and B of one degree of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewmarkBlock {
    /// State matrix.
    pub a: Matrix3<f64>,
    /// Input column for a position.
    pub b: Vector3<f64>,
}

impl NewmarkBlock {
    /// One degree of freedom that follows a position.
    pub fn new(system: &SecondOrder, period_s: f64) -> Self {
        let (m, c, k) = (
            system.mass_kg,
            system.damping_ns_per_m,
            system.stiffness_n_per_m,
        );
        let dt = period_s;
        let k_itc = m / (BETA * dt * dt) + GAMMA * c / (BETA * dt) + k;
        // Position at the end of the step by the state at its beginning.
        let position = Vector3::new(
            m / (BETA * dt * dt) + c * GAMMA / (BETA * dt),
            m / (BETA * dt) + c * (GAMMA / BETA - 1.0),
            m * (1.0 - 2.0 * BETA) / (2.0 * BETA) - c * dt * (1.0 - GAMMA / (2.0 * BETA)),
        ) / k_itc;
        let r = Recovery::new(dt);
        Self {
            a: Matrix3::from_rows(&[
                position.transpose(),
                r.velocity(position).transpose(),
                r.acceleration(position).transpose(),
            ]),
            b: Vector3::new(1.0, r.velocity_by_position, r.acceleration_by_position) * (k / k_itc),
        }
    }
}

/// Velocity and acceleration at the end of a step from the change of position.
struct Recovery {
    dt: f64,
    /// c_VU.
    velocity_by_position: f64,
    /// c_AU.
    acceleration_by_position: f64,
}

impl Recovery {
    fn new(dt: f64) -> Self {
        Self {
            dt,
            velocity_by_position: GAMMA / (BETA * dt),
            acceleration_by_position: 1.0 / (BETA * dt * dt),
        }
    }

    /// v⁺ = c_VU (u⁺ − u) + c_VV v + c_VA a.
    fn velocity(&self, position: Vector3<f64>) -> Vector3<f64> {
        let [by_u, by_v, by_a] = self.velocity_by_state();
        position * self.velocity_by_position + Vector3::new(by_u, by_v, by_a)
    }

    /// a⁺ = c_AU (u⁺ − u) + c_AV v + c_AA a.
    fn acceleration(&self, position: Vector3<f64>) -> Vector3<f64> {
        let [by_u, by_v, by_a] = self.acceleration_by_state();
        position * self.acceleration_by_position + Vector3::new(by_u, by_v, by_a)
    }

    fn velocity_by_state(&self) -> [f64; 3] {
        [
            -self.velocity_by_position,
            1.0 - GAMMA / BETA,
            self.dt * (1.0 - GAMMA / (2.0 * BETA)),
        ]
    }

    fn acceleration_by_state(&self) -> [f64; 3] {
        [
            -self.acceleration_by_position,
            -1.0 / (BETA * self.dt),
            1.0 - 1.0 / (2.0 * BETA),
        ]
    }
}

/// A linear part of a loop with one input and one output: x⁺ = A x + b p⁺, y⁺ = cᵀ x⁺.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearPart {
    /// State matrix.
    pub a: DMatrix<f64>,
    /// Input column.
    pub b: DVector<f64>,
    /// Output row.
    pub c: DVector<f64>,
}

impl LinearPart {
    /// M ü + C u̇ + K u = g p with the output hᵀu; the state is all u, then all u̇, then all ü.
    ///
    /// `None` if K_itc is singular, which no system with positive masses has.
    pub fn newmark(
        mass: &DMatrix<f64>,
        damping: &DMatrix<f64>,
        stiffness: &DMatrix<f64>,
        input: &DVector<f64>,
        output: &DVector<f64>,
        period_s: f64,
    ) -> Option<Self> {
        let n = mass.nrows();
        let dt = period_s;
        let k_itc = mass / (BETA * dt * dt) + damping * (GAMMA / (BETA * dt)) + stiffness;
        let lu = k_itc.lu();
        let by_u = lu.solve(&(mass / (BETA * dt * dt) + damping * (GAMMA / (BETA * dt))))?;
        let by_v = lu.solve(&(mass / (BETA * dt) + damping * (GAMMA / BETA - 1.0)))?;
        let by_a = lu.solve(
            &(mass * ((1.0 - 2.0 * BETA) / (2.0 * BETA))
                - damping * (dt * (1.0 - GAMMA / (2.0 * BETA)))),
        )?;
        let compliance = lu.solve(input)?;
        let r = Recovery::new(dt);
        let mut a = DMatrix::zeros(3 * n, 3 * n);
        let mut b = DVector::zeros(3 * n);
        let rows = [
            (1.0, [0.0; 3]),
            (r.velocity_by_position, r.velocity_by_state()),
            (r.acceleration_by_position, r.acceleration_by_state()),
        ];
        for (row, (factor, direct)) in rows.into_iter().enumerate() {
            for (column, part) in [&by_u, &by_v, &by_a].into_iter().enumerate() {
                let block = part * factor + DMatrix::identity(n, n) * direct[column];
                a.view_mut((row * n, column * n), (n, n)).copy_from(&block);
            }
            b.rows_mut(row * n, n).copy_from(&(&compliance * factor));
        }
        let mut c = DVector::zeros(3 * n);
        c.rows_mut(0, n).copy_from(output);
        Some(Self { a, b, c })
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.b.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOTOR: SecondOrder = SecondOrder {
        mass_kg: 10.0,
        damping_ns_per_m: 1800.0,
        stiffness_n_per_m: 450e3,
    };

    #[test]
    fn the_block_of_one_and_that_of_many_agree() {
        let block = NewmarkBlock::new(&MOTOR, 2e-3);
        let one = |x: f64| DMatrix::from_element(1, 1, x);
        let unit = DVector::from_element(1, 1.0);
        let part = LinearPart::newmark(
            &one(10.0),
            &one(1800.0),
            &one(450e3),
            &(&unit * 450e3),
            &unit,
            2e-3,
        )
        .unwrap();
        for i in 0..3 {
            // Accelerations are 1e6 times positions.
            assert!((part.b[i] / block.b[i] - 1.0).abs() < 1e-12);
            for j in 0..3 {
                let scale = 1e3_f64.powi(i as i32 - j as i32);
                assert!((part.a[(i, j)] - block.a[(i, j)]).abs() < 1e-11 * scale);
            }
        }
    }

    /// The step response of Table 2's motor: ω = 212.1 rad/s, ζ = 0.4243, so that the closed form
    /// has its peak 1 + exp(−πζ/√(1−ζ²)) = 1.2295 at π/(ω√(1−ζ²)) = 16.36 ms.
    #[test]
    fn a_fine_step_follows_the_closed_form_of_the_motor() {
        let dt = 1e-5;
        let block = NewmarkBlock::new(&MOTOR, dt);
        let omega = (450e3_f64 / 10.0).sqrt();
        let zeta = 1800.0 / (2.0 * 10.0 * omega);
        let damped = omega * (1.0 - zeta * zeta).sqrt();
        // The step begins at t = 0: the acceleration is already there.
        let mut x = Vector3::new(0.0, 0.0, omega * omega);
        let mut peak = (0.0, 0.0);
        for i in 1..=4000 {
            x = block.a * x + block.b;
            let t = f64::from(i) * dt;
            let exact = 1.0
                - (-zeta * omega * t).exp()
                    * ((damped * t).cos() + zeta * omega / damped * (damped * t).sin());
            // Second order: (ω dt)²/12 of a swing of a few radians.
            assert!((x[0] - exact).abs() < 3e-6, "{t}: {} {exact}", x[0]);
            if x[0] > peak.0 {
                peak = (x[0], t);
            }
        }
        assert!(
            (peak.0 - 1.2295).abs() < 1e-4 && (peak.1 - 16.36e-3).abs() < 2e-5,
            "{peak:?}"
        );
    }
}
