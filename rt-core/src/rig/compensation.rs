//! What a rig does to a reference and to a force, taken back for records that are known as a whole: a profile is made
//! so that the motor is where it should be when it should be, and a measured force is led back to the pad.

use super::KnownRig;
use crate::signal::error::AnalysisError;
use crate::signal::response::{taper, with_response};
use nalgebra::Complex;
use std::f64::consts::TAU;

/// Frequencies that are taken back: all up to the first, none from the second on, in Hz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayedBand {
    /// Up to here everything.
    pub pass_hz: f64,
    /// From here on nothing.
    pub stop_hz: f64,
}

impl PlayedBand {
    /// Everything up to a frequency, and nothing from half as much again on.
    pub fn up_to(pass_hz: f64) -> Self {
        Self {
            pass_hz,
            stop_hz: 1.5 * pass_hz,
        }
    }

    /// Its part at a frequency.
    pub fn part(&self, frequency_hz: f64) -> f64 {
        taper(frequency_hz, self.pass_hz, self.stop_hz)
    }
}

impl KnownRig {
    /// From the references of a bench, one a cycle, to the motor:
    ///
    ///   G = e^{−iω(T + δ + T/2)} · sin(ωT/2)/(ωT/2) · ω₀² / (ω₀² − ω² + 2iζω₀ω)
    ///
    /// T the cycle after which a reference is sent and for which it is held, δ the rig's delay.
    pub fn reference_response(&self, frequency_hz: f64, period_s: f64) -> Complex<f64> {
        let w = TAU * frequency_hz;
        let (w0, zeta) = (self.motor_omega_rad_per_s, self.motor_damping_ratio);
        let motor = Complex::from(w0 * w0) / Complex::new(w0 * w0 - w * w, 2.0 * zeta * w0 * w);
        let half = 0.5 * w * period_s;
        let hold = if half == 0.0 { 1.0 } else { half.sin() / half };
        let late = Complex::new(0.0, -w * (1.5 * period_s + self.reference_delay_s)).exp();
        late * hold * motor
    }

    /// From the force at the pad to the force that is read: G = e^{−iωδ} / (1 + iω/ω_c).
    pub fn force_response(&self, frequency_hz: f64) -> Complex<f64> {
        let w = TAU * frequency_hz;
        let late = Complex::new(0.0, -w * self.force_delay_s).exp();
        let lag = self.force_filter_hz.map_or(0.0, |hz| frequency_hz / hz);
        late / Complex::new(1.0, lag)
    }

    /// The references, one a cycle, with which the motor passes through these heights, `finer` of which are given a
    /// cycle. It begins and ends at rest.
    pub fn references_for(
        &self,
        heights: &[f64],
        finer: usize,
        period_s: f64,
        band: PlayedBand,
    ) -> Result<Vec<f64>, AnalysisError> {
        let finer = finer.max(1);
        let undone = |f: f64| Complex::from(band.part(f)) / self.reference_response(f, period_s);
        // Beyond the band there is nothing, and the response may vanish there.
        let undone = |f: f64| {
            if f < band.stop_hz {
                undone(f)
            } else {
                0.0.into()
            }
        };
        let all = with_response(heights, finer as f64 / period_s, 1, undone)?;
        Ok(all.into_iter().step_by(finer).collect())
    }

    /// The force at the pad from the force that was read, one sample a cycle, `finer` values a sample.
    pub fn force_at_pad(
        &self,
        read: &[f64],
        finer: usize,
        period_s: f64,
        band: PlayedBand,
    ) -> Result<Vec<f64>, AnalysisError> {
        let undone = |f: f64| Complex::from(band.part(f)) / self.force_response(f);
        with_response(read, 1.0 / period_s, finer, undone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIG: KnownRig = KnownRig {
        motor_omega_rad_per_s: 212.0,
        motor_damping_ratio: 0.42,
        reference_delay_s: 0.7e-3,
        force_delay_s: 2e-3,
        force_filter_hz: Some(100.0),
        pad_stiffness_n_per_m: 240e3,
        pad_damping_ns_per_m: 10.0,
    };
    const BAND: PlayedBand = PlayedBand {
        pass_hz: 60.0,
        stop_hz: 90.0,
    };
    const T: f64 = 2e-3;

    fn height(t: f64) -> f64 {
        let bell = (-(t - 2.0).powi(2) / 0.2).exp();
        0.01 * bell * ((TAU * 3.0 * t).sin() + 0.1 * (TAU * 25.0 * t).cos())
    }

    /// A motor ü = ω₀²(r − u) − 2ζω₀u̇ stepped by 1 µs with held and late references meets the heights.
    #[test]
    fn a_motor_passes_through_the_heights() {
        let heights: Vec<f64> = (0..8000).map(|i| height(f64::from(i) * T / 4.0)).collect();
        let references = RIG.references_for(&heights, 4, T, BAND).unwrap();
        assert_eq!(references.len(), 2000);
        let (mut u, mut v, h) = (0.0_f64, 0.0_f64, 1e-6);
        let (w, z) = (RIG.motor_omega_rad_per_s, RIG.motor_damping_ratio);
        for i in 0..3_900_000_u32 {
            let t = f64::from(i) * h;
            if i % 2000 == 0 {
                // Images of the sampled signal are what is left: 470 Hz and more, (33.7 Hz/470 Hz)² of it.
                assert!((u - height(t)).abs() < 5e-6, "{t}: {u} {}", height(t));
            }
            let age = t - RIG.reference_delay_s - T;
            let r = if age < 0.0 {
                0.0
            } else {
                references[(age / T + 1e-9) as usize]
            };
            v += h * (w * w * (r - u) - 2.0 * z * w * v);
            u += h * v;
        }
    }

    /// ḟ = ω_c (F − f), read late.
    #[test]
    fn a_read_force_is_led_back_to_the_pad() {
        let force = |t: f64| 150.0 + 1e4 * height(t);
        let (mut f, h) = (force(0.0), 1e-6);
        let mut read = vec![f];
        for i in 0..4_000_000_u32 {
            if i % 2000 == 0 {
                read.push(f);
            }
            f += h * TAU * 100.0 * (force(f64::from(i) * h) - f);
        }
        // The first value stands for the two milliseconds that the force is old.
        let found = RIG.force_at_pad(&read, 2, T, BAND).unwrap();
        for (i, value) in found.iter().enumerate() {
            let t = i as f64 * T / 2.0;
            assert!((value - force(t)).abs() < 0.05, "{t}: {value} {}", force(t));
        }
    }
}
