//! Second-order sections: causal (sample by sample, for live use) and zero-phase filtering.

use nalgebra::Complex;
use std::f64::consts::PI;

/// H(z) = (b₀ + b₁ z⁻¹ + b₂ z⁻²) / (1 + a₁ z⁻¹ + a₂ z⁻²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// b₀, b₁, b₂.
    pub b: [f64; 3],
    /// a₁, a₂.
    pub a: [f64; 2],
}

impl Section {
    /// Gain at rest: Σb / Σa.
    fn rest_gain(&self) -> f64 {
        self.b.iter().sum::<f64>() / (1.0 + self.a[0] + self.a[1])
    }

    /// State that a constant input 1 settles to.
    fn settled(&self) -> [f64; 2] {
        let y = self.rest_gain();
        let second = self.b[2] - self.a[1] * y;
        [self.b[1] - self.a[0] * y + second, second]
    }

    /// One sample, transposed direct form II.
    #[inline]
    pub fn step(&self, state: &mut [f64; 2], x: f64) -> f64 {
        let y = self.b[0] * x + state[0];
        state[0] = self.b[1] * x - self.a[0] * y + state[1];
        state[1] = self.b[2] * x - self.a[1] * y;
        y
    }
}

/// Why a record cannot be filtered forward and backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{samples} samples are too few for zero-phase filtering: expected at least {needed}, because \
     both ends are continued by {padding} samples"
)]
pub struct TooShort {
    /// Samples given.
    pub samples: usize,
    /// Samples needed.
    pub needed: usize,
    /// Samples added at each end.
    pub padding: usize,
}

/// A filter as a cascade of second-order sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Sos {
    sections: Vec<Section>,
    sample_rate_hz: f64,
}

impl Sos {
    /// A cascade, run at `sample_rate_hz`.
    pub fn new(sections: Vec<Section>, sample_rate_hz: f64) -> Self {
        Self {
            sections,
            sample_rate_hz,
        }
    }

    /// The sections in the order in which they are run.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The rate the filter was designed for.
    pub fn sample_rate_hz(&self) -> f64 {
        self.sample_rate_hz
    }

    /// H(e^{jωT}).
    pub fn response(&self, frequency_hz: f64) -> Complex<f64> {
        let delay = Complex::from_polar(1.0, -2.0 * PI * frequency_hz / self.sample_rate_hz);
        self.sections.iter().fold(Complex::from(1.0), |gain, s| {
            let above = (delay * s.b[2] + s.b[1]) * delay + s.b[0];
            let below = (delay * s.a[1] + s.a[0]) * delay + 1.0;
            gain * above / below
        })
    }

    /// Samples by which zero-phase filtering continues both ends: three times the filter's taps.
    fn padding(&self) -> usize {
        let first_order = |zero: &dyn Fn(&Section) -> bool| {
            self.sections.iter().filter(|section| zero(section)).count()
        };
        let shorter = first_order(&|s| s.b[2] == 0.0).min(first_order(&|s| s.a[1] == 0.0));
        3 * (2 * self.sections.len() + 1 - shorter)
    }

    /// Filters forward and backward: no phase shift, squared gain.
    ///
    /// Both ends are continued oddly (point reflection at the end sample) and the filter starts
    /// settled on the first sample, so that no start-up swing enters the record.
    pub fn zero_phase(&self, signal: &[f64]) -> Result<Vec<f64>, TooShort> {
        let padding = self.padding();
        let samples = signal.len();
        let (Some(first), Some(last)) = (signal.first(), signal.last()) else {
            return Err(TooShort {
                samples,
                needed: padding + 1,
                padding,
            });
        };
        if samples <= padding {
            return Err(TooShort {
                samples,
                needed: padding + 1,
                padding,
            });
        }
        let before = signal[1..=padding].iter().rev().map(|x| 2.0 * first - x);
        let after = signal[samples - 1 - padding..samples - 1]
            .iter()
            .rev()
            .map(|x| 2.0 * last - x);
        let mut extended: Vec<f64> = before.chain(signal.iter().copied()).chain(after).collect();
        let mut filter = CausalFilter::new(self.clone());
        for _ in 0..2 {
            filter.settle(extended.first().copied().unwrap_or(0.0));
            for sample in &mut extended {
                *sample = filter.step(*sample);
            }
            extended.reverse();
        }
        Ok(extended[padding..padding + samples].to_vec())
    }
}

/// A filter with its memory, for one sample at a time.
#[derive(Clone, Debug)]
pub struct CausalFilter {
    sos: Sos,
    states: Vec<[f64; 2]>,
}

impl CausalFilter {
    /// A filter at rest at 0.
    pub fn new(sos: Sos) -> Self {
        let states = vec![[0.0; 2]; sos.sections.len()];
        Self { sos, states }
    }

    /// The filter's coefficients.
    pub fn sos(&self) -> &Sos {
        &self.sos
    }

    /// Forgets the past as if the input had been `value` for ever.
    pub fn settle(&mut self, value: f64) {
        let mut level = value;
        for (section, state) in self.sos.sections.iter().zip(&mut self.states) {
            *state = section.settled().map(|s| s * level);
            level *= section.rest_gain();
        }
    }

    /// One sample in, one out. A sample that is not a number spoils all that follow until
    /// [`settle`](Self::settle).
    pub fn step(&mut self, x: f64) -> f64 {
        let sections = self.sos.sections.iter().zip(&mut self.states);
        sections.fold(x, |x, (section, state)| section.step(state, x))
    }
}

#[cfg(test)]
mod tests {
    use super::super::butterworth::low_pass;
    use super::*;

    #[test]
    fn a_sine_comes_out_with_the_gain_and_phase_of_the_response() {
        let sos = low_pass(3, 20.0, 500.0).unwrap();
        let mut filter = CausalFilter::new(sos.clone());
        let frequency = 13.0;
        let response = sos.response(frequency);
        let phase = |i: usize| 2.0 * PI * frequency * i as f64 / 500.0;
        for i in 0..2000 {
            let y = filter.step(phase(i).sin());
            let expected = response.norm() * (phase(i) + response.arg()).sin();
            // The start has died out to 1e-9 after 2 s.
            assert!(
                i < 1000 || (y - expected).abs() < 1e-9,
                "{i}: {y} {expected}"
            );
        }
    }

    #[test]
    fn a_settled_filter_keeps_a_constant() {
        let mut filter = CausalFilter::new(low_pass(5, 20.0, 500.0).unwrap());
        filter.settle(117.3);
        for _ in 0..100 {
            assert!((filter.step(117.3) - 117.3).abs() < 1e-11);
        }
    }

    #[test]
    fn a_record_too_short_says_how_many_samples_are_needed() {
        let sos = low_pass(4, 20.0, 500.0).unwrap();
        for samples in [0, 1, 15] {
            let error = sos.zero_phase(&vec![1.0; samples]).unwrap_err();
            assert_eq!((error.samples, error.needed), (samples, 16));
        }
        let constant = sos.zero_phase(&[2.0; 16]).unwrap();
        assert!(constant.iter().all(|y| (y - 2.0).abs() < 1e-12));
    }
}
