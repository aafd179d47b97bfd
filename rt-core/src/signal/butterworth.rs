//! Butterworth low-pass and band-pass design as second-order sections.

use super::filter::{Section, Sos};
use nalgebra::Complex;
use std::f64::consts::PI;

/// Why a filter cannot be designed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// A filter of order 0 filters nothing.
    #[error("the filter order is 0; expected at least 1")]
    Order,
    /// The sample rate is no frequency.
    #[error("the sample rate is {rate_hz} Hz; expected a finite value above 0 Hz")]
    SampleRate {
        /// What was given.
        rate_hz: f64,
    },
    /// The cut-off is not between 0 and half the sample rate.
    #[error(
        "the cut-off is {cutoff_hz} Hz; expected a value above 0 Hz and below {nyquist_hz} Hz, half \
         the sample rate"
    )]
    Cutoff {
        /// What was given.
        cutoff_hz: f64,
        /// Half the sample rate.
        nyquist_hz: f64,
    },
    /// The edges of a band do not ascend.
    #[error(
        "the band reaches from {low_hz} Hz to {high_hz} Hz; expected its lower edge at 0 Hz or above \
         and its upper edge above that"
    )]
    Band {
        /// Lower edge.
        low_hz: f64,
        /// Upper edge.
        high_hz: f64,
    },
}

/// Refuses orders, rates and cut-offs that no filter can have.
fn check(order: usize, cutoffs_hz: &[f64], sample_rate_hz: f64) -> Result<(), DesignError> {
    if order == 0 {
        return Err(DesignError::Order);
    }
    if !(sample_rate_hz > 0.0 && sample_rate_hz.is_finite()) {
        return Err(DesignError::SampleRate {
            rate_hz: sample_rate_hz,
        });
    }
    let nyquist_hz = sample_rate_hz / 2.0;
    for &cutoff_hz in cutoffs_hz {
        if !(cutoff_hz > 0.0 && cutoff_hz < nyquist_hz) {
            return Err(DesignError::Cutoff {
                cutoff_hz,
                nyquist_hz,
            });
        }
    }
    Ok(())
}

/// Butterworth low-pass: flat, −3.01 dB at the cut-off, any order.
///
/// The analogue prototype |H|² = 1 / (1 + (ω/ω_c)²ⁿ) has the poles −ω_c (sin θ_k ± j cos θ_k),
/// θ_k = (2k − 1)π/(2n), and one at −ω_c if n is odd. The bilinear transform s = (1 − z⁻¹)/(1 + z⁻¹)
/// with the prewarped ω_c = tan(π f_c/f_s) keeps the cut-off in place.
///
/// Each section has unit gain at rest, so that no intermediate value outgrows the signal; the
/// least damped one comes last.
pub fn low_pass(order: usize, cutoff_hz: f64, sample_rate_hz: f64) -> Result<Sos, DesignError> {
    check(order, &[cutoff_hz], sample_rate_hz)?;
    let w = (PI * cutoff_hz / sample_rate_hz).tan();
    let mut sections = Vec::with_capacity(order.div_ceil(2));
    if order % 2 == 1 {
        // ω / (s + ω)
        let a0 = 1.0 + w;
        sections.push(Section {
            b: [w / a0, w / a0, 0.0],
            a: [(w - 1.0) / a0, 0.0],
        });
    }
    for k in (1..=order / 2).rev() {
        // ω² / (s² + 2 sin θ ω s + ω²)
        let theta = (2 * k - 1) as f64 * PI / (2 * order) as f64;
        let damping = 2.0 * theta.sin() * w;
        let a0 = 1.0 + damping + w * w;
        let gain = w * w / a0;
        sections.push(Section {
            b: [gain, 2.0 * gain, gain],
            a: [2.0 * (w * w - 1.0) / a0, (1.0 - damping + w * w) / a0],
        });
    }
    Ok(Sos::new(sections, sample_rate_hz))
}

/// Butterworth band-pass: flat, −3.01 dB at both edges. `order` is that of the low-pass it is made
/// from; the band-pass has twice as many poles.
///
/// The low-pass prototype with poles p_k on the unit circle becomes a band-pass by
/// s → (s² + ω₁ω₂) / ((ω₂ − ω₁) s), with edges prewarped as in [`low_pass`]: each p_k turns into the
/// two roots of s² − p_k (ω₂ − ω₁) s + ω₁ω₂ = 0, and each root with its conjugate into a section
/// g s / (s² + c₁ s + c₀) of unit gain at s = j√(ω₁ω₂).
pub fn band_pass(
    order: usize,
    low_hz: f64,
    high_hz: f64,
    sample_rate_hz: f64,
) -> Result<Sos, DesignError> {
    check(order, &[low_hz, high_hz], sample_rate_hz)?;
    if low_hz >= high_hz {
        return Err(DesignError::Band { low_hz, high_hz });
    }
    let prewarped = |edge_hz: f64| (PI * edge_hz / sample_rate_hz).tan();
    let (w1, w2) = (prewarped(low_hz), prewarped(high_hz));
    let (width, centre_squared) = (w2 - w1, w1 * w2);
    let mut sections = Vec::with_capacity(order);
    let mut push = |c1: f64, c0: f64| {
        // |j ω₀ / (c₀ − ω₀² + j c₁ ω₀)| = 1/g; then s = (1 − z⁻¹) / (1 + z⁻¹).
        let gain = ((c0 - centre_squared).powi(2) / centre_squared + c1 * c1).sqrt();
        let a0 = 1.0 + c1 + c0;
        sections.push(Section {
            b: [gain / a0, 0.0, -gain / a0],
            a: [2.0 * (c0 - 1.0) / a0, (1.0 - c1 + c0) / a0],
        });
    };
    if order % 2 == 1 {
        push(width, centre_squared);
    }
    for k in (1..=order / 2).rev() {
        let theta = (2 * k - 1) as f64 * PI / (2 * order) as f64;
        let half = Complex::new(-theta.sin(), theta.cos()) * (width / 2.0);
        let root = (half * half - centre_squared).sqrt();
        for pole in [half + root, half - root] {
            push(-2.0 * pole.re, pole.norm_sqr());
        }
    }
    Ok(Sos::new(sections, sample_rate_hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gain_is_one_at_rest_and_half_power_at_the_cutoff() {
        for order in 1..=9 {
            let filter = low_pass(order, 20.0, 500.0).unwrap();
            assert!((filter.response(0.0).norm() - 1.0).abs() < 1e-12);
            let at_cutoff = filter.response(20.0).norm_sqr();
            assert!(
                (at_cutoff - 0.5).abs() < 1e-12,
                "order {order}: {at_cutoff}"
            );
            // One octave above: 1 / (1 + (tan ratio)²ⁿ).
            let ratio = (PI * 40.0 / 500.0).tan() / (PI * 20.0 / 500.0).tan();
            let expected = 1.0 / (1.0 + ratio.powi(2 * order as i32));
            let found = filter.response(40.0).norm_sqr();
            assert!((found - expected).abs() < 1e-12 * expected.max(1e-2));
        }
    }

    #[test]
    fn impossible_filters_are_refused_with_the_allowed_range() {
        assert_eq!(low_pass(0, 20.0, 500.0).unwrap_err(), DesignError::Order);
        for cutoff in [0.0, -1.0, 250.0, f64::NAN, f64::INFINITY] {
            let text = low_pass(4, cutoff, 500.0).unwrap_err().to_string();
            assert!(text.contains("below 250 Hz"), "{text}");
        }
        assert!(low_pass(4, 20.0, f64::INFINITY).is_err());
    }

    #[test]
    fn a_band_pass_has_the_closed_form_gain() {
        for order in 1..=6 {
            let filter = band_pass(order, 5.0, 20.0, 500.0).unwrap();
            let warped = |f: f64| (PI * f / 500.0).tan();
            let (w1, w2) = (warped(5.0), warped(20.0));
            for f in [1.0, 5.0, 10.0, 20.0, 35.0, 100.0] {
                // |H|² = 1 / (1 + ((ω² − ω₁ω₂) / ((ω₂ − ω₁) ω))²ⁿ).
                let ratio = (warped(f).powi(2) - w1 * w2) / ((w2 - w1) * warped(f));
                let expected = 1.0 / (1.0 + ratio.powi(2 * order as i32));
                let found = filter.response(f).norm_sqr();
                assert!(
                    (found - expected).abs() < 1e-11,
                    "order {order} at {f} Hz: {found} {expected}"
                );
            }
            assert!(filter.response(0.0).norm() < 1e-12);
        }
    }

    #[test]
    fn impossible_bands_are_refused() {
        for (low, high) in [(20.0, 5.0), (5.0, 5.0)] {
            let text = band_pass(2, low, high, 500.0).unwrap_err().to_string();
            assert!(text.contains("upper edge above"), "{text}");
        }
        for (low, high) in [(0.0, 5.0), (5.0, 250.0), (f64::NAN, 5.0), (5.0, f64::NAN)] {
            assert!(matches!(
                band_pass(2, low, high, 500.0),
                Err(DesignError::Cutoff { .. })
            ));
        }
        assert_eq!(band_pass(0, 5.0, 20.0, 500.0), Err(DesignError::Order));
    }
}
