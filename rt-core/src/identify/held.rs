//! A linear system whose input is held for a cycle and arrives later by any time, exact at the sampling instants.
//!
//! ẋ = A x + b u(t − d), y = c·x, with u held from tick to tick. With d = (m + φ) T, 0 ≤ φ < 1, the input changes
//! once within each cycle, after φT:
//! x₊ = e^{AT} x + e^{A(1−φ)T} Γ(φT) u₋ + Γ((1−φ)T) u₀, Γ(s) = ∫₀ˢ e^{Aτ} dτ b.

use nalgebra::{DMatrix, DVector};

/// ẋ = A x + b u, y = c·x.
#[derive(Clone, Debug)]
pub struct HeldSystem {
    /// A.
    pub a: DMatrix<f64>,
    /// b.
    pub b: DVector<f64>,
    /// c.
    pub c: DVector<f64>,
}

/// References as they were sent.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The reference in the frame of each tick: it leaves with the exchange of the next.
    pub sent: &'a [f64],
    /// The reference before all of them, at which everything rests.
    pub rest: f64,
}

impl Inputs<'_> {
    /// What is in force from a tick on, as a deviation from rest; the reference of the frame before it.
    fn in_force(&self, tick: i64) -> f64 {
        let last = self.sent.len() as i64 - 1;
        let index = (tick - 1).min(last);
        let known = usize::try_from(index).ok().map(|i| self.sent[i]);
        // A skipped tick sends nothing: what was sent before stays.
        match known {
            Some(value) if value.is_finite() => value - self.rest,
            Some(_) => self.in_force(tick - 1),
            None => 0.0,
        }
    }
}

impl HeldSystem {
    /// The output at every tick, as a deviation from rest, for an input that arrives `delay_s` late. A delay
    /// below 0 looks ahead in the record.
    pub fn respond(&self, inputs: Inputs<'_>, period_s: f64, delay_s: f64) -> Vec<f64> {
        let n = self.a.nrows();
        let whole = (delay_s / period_s).floor();
        let early_s = delay_s - whole * period_s;
        let lag = whole as i64;
        let (phi_early, gamma_early) = self.hold(early_s);
        let (phi_late, gamma_late) = self.hold(period_s - early_s);
        let phi = &phi_late * &phi_early;
        let gamma_before = &phi_late * &gamma_early;
        let row_major: Vec<f64> = (0..n * n).map(|i| phi[(i / n, i % n)]).collect();
        let mut x = vec![0.0; n];
        let mut next = vec![0.0; n];
        let mut outputs = Vec::with_capacity(inputs.sent.len());
        for tick in 0..inputs.sent.len() as i64 {
            outputs.push(x.iter().zip(self.c.iter()).map(|(x, c)| x * c).sum());
            let before = inputs.in_force(tick - lag - 1);
            let since = inputs.in_force(tick - lag);
            for (i, out) in next.iter_mut().enumerate() {
                let row = &row_major[i * n..(i + 1) * n];
                let free: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                *out = free + gamma_before[i] * before + gamma_late[i] * since;
            }
            std::mem::swap(&mut x, &mut next);
        }
        outputs
    }

    /// e^{As} and ∫₀ˢ e^{Aτ} dτ b, from the exponential of the augmented matrix.
    fn hold(&self, s: f64) -> (DMatrix<f64>, DVector<f64>) {
        let n = self.a.nrows();
        let mut augmented = DMatrix::zeros(n + 1, n + 1);
        augmented.view_mut((0, 0), (n, n)).copy_from(&self.a);
        augmented.view_mut((0, n), (n, 1)).copy_from(&self.b);
        let e = (augmented * s).exp();
        (
            e.view((0, 0), (n, n)).into_owned(),
            DVector::from_iterator(n, (0..n).map(|i| e[(i, n)])),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motor(omega: f64, zeta: f64) -> HeldSystem {
        crate::identify::motor_system(omega, zeta)
    }

    /// Step of a second-order system at a time after it: closed form.
    fn step(omega: f64, zeta: f64, t: f64) -> f64 {
        if t <= 0.0 {
            return 0.0;
        }
        let damped = omega * (1.0 - zeta * zeta).sqrt();
        let decay = (-zeta * omega * t).exp();
        1.0 - decay * ((damped * t).cos() + zeta * omega / damped * (damped * t).sin())
    }

    #[test]
    fn a_step_is_answered_as_in_closed_form_whatever_the_delay() {
        let (omega, zeta, period) = (212.0, 0.42, 0.002);
        let mut sent = vec![0.3; 60];
        for value in &mut sent[10..] {
            *value += 1.0;
        }
        let inputs = Inputs {
            sent: &sent,
            rest: 0.3,
        };
        for delay in [0.0, 0.0007, 0.002, 0.00335, 0.0119] {
            let found = motor(omega, zeta).respond(inputs, period, delay);
            for (k, y) in found.iter().enumerate() {
                // In the frame of tick 10, sent with the exchange of tick 11.
                let expected = step(omega, zeta, (k as f64 - 11.0) * period - delay);
                assert!(
                    (y - expected).abs() < 1e-9,
                    "{delay} s, tick {k}: {y} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_skipped_tick_keeps_the_reference_before() {
        let sent = [0.0, 1.0, f64::NAN, 1.0, 1.0, 1.0];
        let whole = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let respond =
            |sent: &[f64]| motor(100.0, 0.7).respond(Inputs { sent, rest: 0.0 }, 0.002, 0.0005);
        assert_eq!(respond(&sent), respond(&whole));
    }
}
