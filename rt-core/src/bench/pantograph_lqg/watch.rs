//! What the guard looks at beside the measured values: how the motor moves, whether the tracking error
//! grows, and whether the interface between wire model and motor makes energy.
//!
//! * Growth: the tracking error between 5 and 100 Hz, where this loop becomes unstable, has the amplitude
//!   a(t) = √(2 ⟨e²⟩). Over T = 0.1 s it grows with the rate g = ln(a(t)/a(t−T))/T; if it goes on for
//!   another T, it reaches a(t) e^{gT} = a(t)²/a(t−T).
//! * Interface: what the motor does to the pantograph is F_c u̇_m, what the wire model gets is F_i ż_c. Their
//!   difference is what delays and tracking errors add; it has to vanish on average.

use crate::signal::butterworth::{DesignError, low_pass};
use crate::signal::filter::CausalFilter;

/// Band of the tracking error that is watched, in Hz.
const BAND_HZ: (f64, f64) = (5.0, 100.0);
/// Time constant of the mean square of the error, in s.
const AMPLITUDE_S: f64 = 0.05;
/// T, in s.
const GROWTH_S: f64 = 0.1;
/// Amplitudes below this are the bench's everyday, whose growth means nothing, in m.
const NOISE_M: f64 = 1e-3;
/// Time constant of the mean power, in s.
const POWER_S: f64 = 0.25;

/// What a cycle shows.
pub struct Motion {
    /// The tick.
    pub seq: u64,
    /// Motor position, in m.
    pub position: f64,
    /// Tracking error, in m.
    pub tracking_error: f64,
    /// Measured force, in N.
    pub force: f64,
    /// Height of the wire in m and force on it in N; `None` while nothing is fed back.
    pub wire: Option<(f64, f64)>,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Motor speed, in m/s.
    pub speed: f64,
    /// Motor acceleration, in m/s².
    pub acceleration: f64,
    /// g, in 1/s.
    pub error_growth: f64,
    /// a(t) e^{gT}, in m; a(t) if the error does not grow.
    pub error_ahead: f64,
    /// The tracking error in the next cycle if it goes on changing as it did, in m.
    pub error_next: f64,
    /// ⟨F_c u̇_m − F_i ż_c⟩, in W.
    pub interface_power: f64,
}

/// See the module's text. After it is built nothing allocates.
pub struct Watch {
    dt: f64,
    seq: u64,
    position: f64,
    speed: f64,
    tracking_error: f64,
    wire_height: Option<f64>,
    below_band: CausalFilter,
    within_band: CausalFilter,
    mean_square: f64,
    /// Amplitudes of the last T, the next to be overwritten being the oldest.
    amplitudes: Vec<f64>,
    oldest: usize,
    power: f64,
}

impl Watch {
    /// For cycles of `dt` seconds.
    pub fn new(dt: f64) -> Result<Self, DesignError> {
        let (low, high) = BAND_HZ;
        let cycles = (GROWTH_S / dt).round().max(1.0) as usize;
        Ok(Self {
            dt,
            seq: 0,
            position: 0.0,
            speed: 0.0,
            tracking_error: 0.0,
            wire_height: None,
            below_band: CausalFilter::new(low_pass(2, low, 1.0 / dt)?),
            // A slow loop has no such high frequencies.
            within_band: CausalFilter::new(low_pass(2, high.min(0.4 / dt), 1.0 / dt)?),
            mean_square: 0.0,
            amplitudes: vec![0.0; cycles],
            oldest: 0,
            power: 0.0,
        })
    }

    /// The motor rests at a position; nothing has happened yet.
    pub fn reset(&mut self, seq: u64, position: f64) {
        (self.seq, self.position, self.speed) = (seq, position, 0.0);
        self.tracking_error = 0.0;
        self.wire_height = None;
        self.below_band.settle(0.0);
        self.within_band.settle(0.0);
        self.mean_square = 0.0;
        self.amplitudes.fill(0.0);
        self.power = 0.0;
    }

    /// Takes in a cycle.
    pub fn step(&mut self, motion: &Motion) -> Seen {
        // Skipped cycles have passed too.
        let elapsed = self.dt * motion.seq.saturating_sub(self.seq).max(1) as f64;
        self.seq = motion.seq;
        let speed = (motion.position - self.position) / elapsed;
        let acceleration = (speed - self.speed) / elapsed;
        (self.position, self.speed) = (motion.position, speed);

        let amplitude = self.amplitude(motion.tracking_error);
        let before = std::mem::replace(&mut self.amplitudes[self.oldest], amplitude);
        self.oldest = (self.oldest + 1) % self.amplitudes.len();
        let growth = amplitude.max(NOISE_M) / before.max(NOISE_M);
        let error_before = std::mem::replace(&mut self.tracking_error, motion.tracking_error);
        Seen {
            error_next: motion.tracking_error
                + (motion.tracking_error - error_before) * self.dt / elapsed,
            speed,
            acceleration,
            error_growth: growth.ln() / GROWTH_S,
            error_ahead: amplitude * growth.max(1.0),
            interface_power: self.mean_power(motion, speed, elapsed),
        }
    }

    fn amplitude(&mut self, tracking_error: f64) -> f64 {
        let slow = self.below_band.step(tracking_error);
        let error = self.within_band.step(tracking_error - slow);
        self.mean_square += (error * error - self.mean_square) * (self.dt / AMPLITUDE_S).min(1.0);
        (2.0 * self.mean_square).sqrt()
    }

    fn mean_power(&mut self, motion: &Motion, speed: f64, elapsed: f64) -> f64 {
        let last = std::mem::replace(&mut self.wire_height, motion.wire.map(|(height, _)| height));
        let power = match (last, motion.wire) {
            (Some(last), Some((height, force))) => {
                motion.force * speed - force * (height - last) / elapsed
            }
            _ => 0.0,
        };
        self.power += (power - self.power) * (elapsed / POWER_S).min(1.0);
        self.power
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    const DT: f64 = 2e-3;

    fn run(cycles: u64, motion: impl Fn(u64, f64) -> Motion) -> Vec<Seen> {
        let mut watch = Watch::new(DT).unwrap();
        watch.reset(0, motion(0, 0.0).position);
        (1..=cycles)
            .map(|k| watch.step(&motion(k, k as f64 * DT)))
            .collect()
    }

    fn still(seq: u64) -> Motion {
        Motion {
            seq,
            position: 0.0,
            tracking_error: 0.0,
            force: 100.0,
            wire: Some((0.0, 100.0)),
        }
    }

    #[test]
    fn a_growing_swing_is_seen_with_its_rate_before_it_is_large() {
        // e = 1.5 mm e^{6 t} sin(2π 20 t).
        let rate = 6.0;
        let seen = run(200, |seq, t| Motion {
            tracking_error: 1.5e-3 * (rate * t).exp() * (TAU * 20.0 * t).sin(),
            ..still(seq)
        });
        let (k, at) = (149, 150.0 * DT);
        // The mean square over τ = 50 ms lags: of e^{2gt} it sees 1/(1 + 2gτ). It ripples at 40 Hz.
        let lag = 1.0 / (1.0 + 2.0 * rate * AMPLITUDE_S).sqrt();
        let growth = seen[k - 24..=k].iter().map(|s| s.error_growth).sum::<f64>() / 25.0;
        assert!((growth / rate - 1.0).abs() < 0.1, "{growth}");
        let expected = 1.5e-3 * (rate * (at + GROWTH_S)).exp() * lag;
        let found = seen[k - 12..k + 13]
            .iter()
            .map(|s| s.error_ahead)
            .sum::<f64>()
            / 25.0;
        assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
    }

    #[test]
    fn a_lasting_swing_and_a_slow_error_do_not_grow() {
        let seen = run(1000, |seq, t| Motion {
            tracking_error: 3e-3 + 2e-3 * (TAU * 15.0 * t).sin(),
            ..still(seq)
        });
        for s in &seen[200..] {
            assert!(s.error_growth.abs() < 2.0, "{s:?}");
            assert!((1.5e-3..3.5e-3).contains(&s.error_ahead), "{s:?}");
        }
    }

    #[test]
    fn speed_and_acceleration_count_skipped_cycles() {
        let mut watch = Watch::new(DT).unwrap();
        watch.reset(0, 0.0);
        for (seq, t) in [(1, 0.002), (2, 0.004), (7, 0.014), (8, 0.016)] {
            let seen = watch.step(&Motion {
                position: 0.5 * t,
                tracking_error: 0.1 * t,
                ..still(seq)
            });
            assert!((seen.speed - 0.5).abs() < 1e-9);
            assert!((seen.error_next - 0.1 * (t + DT)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_motor_that_lags_behind_the_wire_makes_power_and_one_that_follows_does_not() {
        // F = 100 + 50 sin ωt on both sides, z = 10 mm sin(ωt): the motor late by φ has the mean power
        // ½·50 N·ω·10 mm·sin φ more than the wire.
        let omega = TAU * 4.0;
        let mean = |lag: f64| {
            let seen = run(2000, |seq, t| {
                let force = 100.0 + 50.0 * (omega * t).sin();
                Motion {
                    force,
                    position: 0.01 * (omega * t - lag).sin(),
                    wire: Some((0.01 * (omega * t).sin(), force)),
                    ..still(seq)
                }
            });
            // Over whole periods of 125 cycles.
            seen[1000..].iter().map(|s| s.interface_power).sum::<f64>() / 1000.0
        };
        assert!(mean(0.0).abs() < 1e-6);
        let expected = 0.5 * 50.0 * omega * 0.01 * 0.3_f64.sin();
        assert!((mean(0.3) / expected - 1.0).abs() < 0.02, "{}", mean(0.3));
    }
}
