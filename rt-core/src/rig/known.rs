//! What is known of a rig beyond its declaration: how its motor follows, how late its force is read, what lies
//! between motor and specimen. From its file, where identification has put what it measured.

use std::f64::consts::TAU;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownRig {
    /// Natural frequency ω of the motor with its drive, in rad/s.
    pub motor_omega_rad_per_s: f64,
    /// Damping ratio ζ of the motor with its drive.
    pub motor_damping_ratio: f64,
    /// From the exchange that brings a reference to the motor's first reaction, in s.
    pub reference_delay_s: f64,
    /// From a force at the pad to the exchange that reads it, in s.
    pub force_delay_s: f64,
    /// Corner of the force's first-order filter, in Hz.
    pub force_filter_hz: Option<f64>,
    /// Stiffness between motor and specimen, in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Damping beside it, in N s/m.
    pub pad_damping_ns_per_m: f64,
}

impl KnownRig {
    /// By how much slow changes of the force are read late, in s.
    pub fn force_lag_s(&self) -> f64 {
        self.force_delay_s + self.force_filter_hz.map_or(0.0, |hz| 1.0 / (TAU * hz))
    }

    /// By how much the motor comes later than a slow reference, in s: the loop's own cycle, half a cycle for which
    /// each reference is held, the delay, and 2ζ/ω of the motor.
    pub fn motor_lag_s(&self, period_s: f64) -> f64 {
        let motor = 2.0 * self.motor_damping_ratio / self.motor_omega_rad_per_s;
        1.5 * period_s + self.reference_delay_s + motor
    }

    /// From a force to the motor's answer to it, in s.
    pub fn loop_lag_s(&self, period_s: f64) -> f64 {
        self.motor_lag_s(period_s) + self.force_lag_s()
    }
}
