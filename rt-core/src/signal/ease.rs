//! Smooth transitions.

/// Smooth step from 0 to 1 with zero speed and acceleration at both ends: 6s⁵ − 15s⁴ + 10s³.
pub fn smooth_step(s: f64) -> f64 {
    let s = s.clamp(0.0, 1.0);
    s * s * s * (s * (6.0 * s - 15.0) + 10.0)
}
