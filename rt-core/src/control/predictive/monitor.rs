//! Says when the predictive controller should give way: its model does not explain what is measured,
//! or the motor is not where it should be.
//!
//! The normalised innovation νᵀ S⁻¹ ν has the mean 2 if disturbances are as large as the observer was
//! designed for, and they were assumed large. Its mean over a window far above that, or a tracking
//! error that stays too large, means that the rig is another one than designed for.

use super::controller::TickResult;
use crate::file::{FieldError, require_positive};

/// When to give way.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorLimits {
    /// Cycles over which innovations are averaged.
    pub window_cycles: usize,
    /// Largest mean of the normalised innovation squared.
    pub innovation: f64,
    /// Largest distance between motor and target, in m.
    pub tracking_m: f64,
    /// Cycles in a row for which the distance must be larger.
    pub tracking_cycles: usize,
}

impl Default for MonitorLimits {
    fn default() -> Self {
        Self {
            window_cycles: 50,
            innovation: 4.0,
            tracking_m: 3e-3,
            tracking_cycles: 5,
        }
    }
}

/// Why to give way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FallBack {
    /// Mean of the normalised innovation squared.
    Innovation(f64),
    /// Distance between motor and target, in m.
    Tracking(f64),
}

/// Longest window, in cycles.
const LONGEST_WINDOW: usize = 100_000;

/// Watches cycle by cycle. After it is built nothing allocates.
#[derive(Clone, Debug)]
pub struct Monitor {
    limits: MonitorLimits,
    window: Vec<f64>,
    next: usize,
    far_in_a_row: usize,
}

impl Monitor {
    /// With an empty window.
    pub fn new(limits: MonitorLimits) -> Result<Self, FieldError> {
        require_positive("innovation", limits.innovation, "")?;
        require_positive("tracking_m", limits.tracking_m, "m")?;
        for (field, value) in [
            ("window_cycles", limits.window_cycles),
            ("tracking_cycles", limits.tracking_cycles),
        ] {
            if !(1..=LONGEST_WINDOW).contains(&value) {
                return Err(FieldError::new(
                    field,
                    format!("is {value}; expected 1 to {LONGEST_WINDOW}"),
                ));
            }
        }
        Ok(Self {
            limits,
            window: vec![0.0; limits.window_cycles],
            next: 0,
            far_in_a_row: 0,
        })
    }

    /// Forgets the past.
    pub fn reset(&mut self) {
        self.window.fill(0.0);
        self.next = 0;
        self.far_in_a_row = 0;
    }

    /// Mean of the normalised innovation squared over the window; what is not yet known counts as 0.
    pub fn mean_innovation(&self) -> f64 {
        // Summed anew: a running sum would keep the rounding of one large value for ever.
        self.window.iter().sum::<f64>() / self.window.len() as f64
    }

    /// Takes in a cycle; says whether to give way.
    pub fn watch(&mut self, result: &TickResult) -> Option<FallBack> {
        if let Some(place) = self.window.get_mut(self.next) {
            *place = result.surprise.normalised;
        }
        self.next = (self.next + 1) % self.window.len().max(1);
        let far = result.tracking_error.abs();
        // Written so that NaN is far.
        self.far_in_a_row = if far <= self.limits.tracking_m {
            0
        } else {
            self.far_in_a_row.saturating_add(1)
        };
        let mean = self.mean_innovation();
        if mean > self.limits.innovation {
            Some(FallBack::Innovation(mean))
        } else if self.far_in_a_row >= self.limits.tracking_cycles {
            Some(FallBack::Tracking(far))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::predictive::observer::Surprise;

    fn cycle(normalised: f64, tracking_error: f64) -> TickResult {
        TickResult {
            surprise: Surprise {
                normalised,
                ..Surprise::default()
            },
            tracking_error,
            ..TickResult::default()
        }
    }

    #[test]
    fn a_lasting_surprise_is_told_and_a_single_one_is_not() {
        let mut monitor = Monitor::new(MonitorLimits::default()).unwrap();
        assert_eq!(monitor.watch(&cycle(100.0, 0.0)), None);
        for _ in 0..50 {
            assert_eq!(monitor.watch(&cycle(2.0, 0.0)), None);
        }
        assert!((monitor.mean_innovation() - 2.0).abs() < 1e-12);
        // 2 + n (20 − 2)/50 passes 4 with n = 6.
        let told = (1..50).find(|_| monitor.watch(&cycle(20.0, 0.0)).is_some());
        assert_eq!(told, Some(6));
    }

    #[test]
    fn a_motor_that_stays_away_is_told_and_so_is_one_that_is_nowhere() {
        let mut monitor = Monitor::new(MonitorLimits::default()).unwrap();
        for far in [4e-3, f64::NAN] {
            monitor.reset();
            for _ in 0..4 {
                assert_eq!(monitor.watch(&cycle(0.0, far)), None);
            }
            assert!(matches!(
                monitor.watch(&cycle(0.0, far)),
                Some(FallBack::Tracking(_))
            ));
        }
    }

    #[test]
    fn an_empty_window_is_refused() {
        let limits = MonitorLimits {
            window_cycles: 0,
            ..MonitorLimits::default()
        };
        let text = Monitor::new(limits).unwrap_err().to_string();
        assert!(text.contains("window_cycles: is 0"), "{text}");
    }
}
