//! Spectra of whole records at chosen frequencies: where a fit begins its search.
//!
//! A record that begins and ends at rest has a Fourier transform whose ratio of output to input is the frequency
//! response, however it was excited between.

use nalgebra::Complex;
use std::f64::consts::TAU;

/// Σ x_k e^{−iωkT} of the deviations from the first known value; unknown samples repeat the one before.
pub fn spectrum_at(samples: &[f64], period_s: f64, frequencies_hz: &[f64]) -> Vec<Complex<f64>> {
    let rest = samples
        .iter()
        .copied()
        .find(|x| x.is_finite())
        .unwrap_or(0.0);
    let at = |hz: &f64| {
        let turn = Complex::from_polar(1.0, -TAU * hz * period_s);
        let mut phasor = Complex::new(1.0, 0.0);
        let mut sum = Complex::new(0.0, 0.0);
        let mut last = rest;
        for &x in samples {
            last = if x.is_finite() { x } else { last };
            sum += phasor * (last - rest);
            phasor *= turn;
        }
        sum
    };
    frequencies_hz.iter().map(at).collect()
}

/// Frequencies in equal ratios, both ends included.
pub fn in_equal_ratios(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = (to / from).ln() / (count.max(2) - 1) as f64;
    (0..count).map(|k| from * (step * k as f64).exp()).collect()
}

/// A reference held for a cycle and sent a cycle after it was computed, against its samples:
/// e^{−iωT} (1 − e^{−iωT}) / (iωT).
pub fn held_and_sent(hz: f64, period_s: f64) -> Complex<f64> {
    let angle = TAU * hz * period_s;
    let turn = Complex::from_polar(1.0, -angle);
    turn * (Complex::new(1.0, 0.0) - turn) / Complex::new(0.0, angle)
}

/// Spectra of what went in and of what came out.
pub type Spectra = (Vec<Complex<f64>>, Vec<Complex<f64>>);

/// Delays to choose from, as factors at each frequency.
pub struct Delays {
    step_s: f64,
    factors: Vec<Vec<Complex<f64>>>,
}

impl Delays {
    /// From 0 in equal steps.
    pub fn up_to(longest_s: f64, step_s: f64, frequencies_hz: &[f64]) -> Self {
        let count = (longest_s / step_s).ceil() as usize + 1;
        let factor = |k: usize, hz: &f64| Complex::from_polar(1.0, -TAU * hz * step_s * k as f64);
        let factors = (0..count).map(|k| frequencies_hz.iter().map(|hz| factor(k, hz)).collect());
        Self {
            step_s,
            factors: factors.collect(),
        }
    }

    /// The delay in s with which a response fits best to all spectra, and how far off it is with that.
    pub fn best(&self, spectra: &[Spectra], response: &[Complex<f64>]) -> (f64, f64) {
        let of = |factors: &Vec<Complex<f64>>| -> f64 {
            let all = spectra.iter();
            all.map(|(u, y)| mismatch(u, y, response, factors)).sum()
        };
        let each = self.factors.iter().enumerate();
        let scored = each.map(|(k, factors)| (of(factors), self.step_s * k as f64));
        let best = scored.min_by(|a, b| a.0.total_cmp(&b.0));
        best.unwrap_or((f64::INFINITY, 0.0))
    }
}

/// How far a modelled response is from measured spectra: the mean of |Y − G U|² / (|Y|² + |G U|²), each frequency
/// alike.
fn mismatch(
    input: &[Complex<f64>],
    output: &[Complex<f64>],
    response: &[Complex<f64>],
    delay: &[Complex<f64>],
) -> f64 {
    let one = |(y, predicted): (&Complex<f64>, Complex<f64>)| {
        let size = y.norm_sqr() + predicted.norm_sqr();
        if size > 0.0 {
            (y - predicted).norm_sqr() / size
        } else {
            0.0
        }
    };
    let predicted = input.iter().zip(response).zip(delay);
    let predicted = predicted.map(|((u, g), late)| g * late * u);
    output.iter().zip(predicted).map(one).sum::<f64>() / input.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Inputs, motor_system};

    /// A pulse that the motor has answered by the end of the record: the ratio of the spectra is the response.
    #[test]
    fn the_ratio_of_spectra_is_the_response_of_the_held_motor() {
        let (omega, zeta, period, delay): (f64, f64, f64, f64) = (200.0, 0.4, 0.002, 0.0013);
        let mut sent = vec![0.0; 400];
        sent[5..9].fill(1.0);
        let found = motor_system(omega, zeta).respond(
            Inputs {
                sent: &sent,
                rest: 0.0,
            },
            period,
            delay,
        );
        let frequencies = in_equal_ratios(1.0, 60.0, 20);
        let u = spectrum_at(&sent, period, &frequencies);
        let y = spectrum_at(&found, period, &frequencies);
        for ((hz, u), y) in frequencies.iter().zip(u).zip(y) {
            let w = TAU * hz;
            let motor = omega * omega / Complex::new(omega * omega - w * w, 2.0 * zeta * omega * w);
            let expected =
                motor * held_and_sent(*hz, period) * Complex::from_polar(1.0, -w * delay);
            // What is above half the sampling frequency folds back: the motor lets 1 % of it through.
            assert!(
                (y / u - expected).norm() < 0.03,
                "{hz} Hz: {} {expected}",
                y / u
            );
        }
    }
}
