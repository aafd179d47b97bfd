//! The motor as it is measured: reference to position over the newest seconds, computed beside the window.

use crate::data::Data;
use crate::worker::Worker;
use rt_core::signal::spectrum::SpectrumSettings;
use rt_core::signal::spectrum::cross::{TransferFunction, cross_spectrum};

/// Shortest segment in s: it resolves half a hertz.
const SEGMENT_S: f64 = 2.0;

/// A stretch of input and output, evenly spaced; NaN where samples are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// What goes in.
    pub input: Vec<f64>,
    /// What comes out.
    pub output: Vec<f64>,
    /// Time between two samples, in s.
    pub period_s: f64,
}

impl Stretch {
    /// Of two channels between two times; what was not gathered is filled up with NaN.
    pub fn copy(data: &Data, (input, output): (usize, usize), from_s: f64, to_s: f64) -> Self {
        let mut stretch = Self {
            input: Vec::new(),
            output: Vec::new(),
            period_s: data.period_s,
        };
        let mut last: Option<f64> = None;
        let history = &data.history;
        for ((t_s, x), (_, y)) in history
            .samples(input, from_s, to_s)
            .zip(history.samples(output, from_s, to_s))
        {
            let steps = last.map_or(1.0, |last| ((t_s - last) / data.period_s).round());
            // A pause longer than a segment need not be filled up further than that.
            let most = (SEGMENT_S / data.period_s).ceil();
            for _ in 1..steps.clamp(1.0, most) as usize {
                stretch.input.push(f64::NAN);
                stretch.output.push(f64::NAN);
            }
            stretch.input.push(x);
            stretch.output.push(y);
            last = Some(t_s);
        }
        stretch
    }

    /// H₁ with its coherence, in segments of two seconds that overlap by half.
    pub fn transfer_function(&self) -> Result<TransferFunction, String> {
        let segment = ((SEGMENT_S / self.period_s) as usize).next_power_of_two();
        let settings = SpectrumSettings::new(1.0 / self.period_s, segment);
        cross_spectrum(&self.input, &self.output, &settings)
            .and_then(|cross| cross.transfer_function())
            .map_err(|e| e.to_string())
    }
}

/// Starts the thread that estimates.
pub fn start(
    wake: impl Fn() + Send + 'static,
) -> std::io::Result<Worker<Stretch, Result<TransferFunction, String>>> {
    Worker::start("transfer", wake, |stretch: Stretch, desk| {
        desk.answer(stretch.transfer_function());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use std::f64::consts::TAU;

    /// A first-order lag y⁺ = a y + (1 − a) x under noise: H = (1 − a)/(z − a) in closed form.
    #[test]
    fn a_lag_is_found_and_gaps_are_left_out() {
        let a = 0.9;
        let mut noise = 1_u64;
        let mut random = || {
            // A linear congruential generator is random enough to excite all frequencies.
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (noise >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
        };
        let mut data = sample::run(0.0);
        let channels = (
            data.find("motor_reference").unwrap(),
            data.find("motor_position").unwrap(),
        );
        let mut y = 0.0;
        for n in 0..20_000 {
            let x = random();
            // 100 samples are lost on the way to the window.
            if !(9_000..9_100).contains(&n) {
                data.history
                    .push(0.002 * f64::from(n), &[0.0, y, 0.0, 0.0, 0.0, x]);
            }
            y = a * y + (1.0 - a) * x;
        }
        let stretch = Stretch::copy(&data, channels, 0.0, 40.0);
        assert_eq!(stretch.input.len(), 20_000);
        assert_eq!(stretch.input.iter().filter(|v| v.is_nan()).count(), 100);
        let found = stretch.transfer_function().unwrap();
        for f in [2.0, 20.0, 60.0] {
            let k = found.frequencies_hz.iter().position(|g| *g >= f).unwrap();
            let z = unit(TAU * found.frequencies_hz[k] * 0.002);
            let expected = lag(a, z);
            let (re, im) = (found.h1[k].re - expected.0, found.h1[k].im - expected.1);
            let size = (expected.0.powi(2) + expected.1.powi(2)).sqrt();
            // Leakage of a Hann window over a slope of this size stays below 3 %.
            assert!(
                (re.hypot(im)) < 0.03 * size,
                "{f} Hz: {:?} {expected:?}",
                found.h1[k]
            );
            assert!(found.coherence[k] > 0.97);
        }
    }

    fn unit(angle: f64) -> (f64, f64) {
        (angle.cos(), angle.sin())
    }

    /// (1 − a)/(z − a).
    fn lag(a: f64, (re, im): (f64, f64)) -> (f64, f64) {
        let (re, size) = (re - a, (re - a).powi(2) + im * im);
        ((1.0 - a) * re / size, -(1.0 - a) * im / size)
    }

    #[test]
    fn too_short_a_stretch_says_what_is_missing() {
        let data = sample::run(1.0);
        let channels = (
            data.find("motor_reference").unwrap(),
            data.find("motor_position").unwrap(),
        );
        let text = Stretch::copy(&data, channels, 0.0, 1.0)
            .transfer_function()
            .unwrap_err();
        assert!(text.contains("segment"), "{text}");
    }
}
