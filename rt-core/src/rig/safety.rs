//! How a rig is armed, and what it refuses to be armed with. What is left out of a file is as it was before there were
//! such rules, so that old rig files and the recordings in them mean the same.

use crate::file::{FieldError, require_within};
use serde::Deserialize;

/// See the module's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SafetySpec {
    /// Arming takes two steps: the second has to come within so many seconds; `None`: one step.
    pub confirm_within_s: Option<f64>,
    /// An armed bench that nobody runs stops after so many seconds; `None`: it waits.
    pub armed_for_s: Option<f64>,
    /// Someone has to hold a key or button, told at least so often, in s, while the drive is on; otherwise the bench
    /// stops. `None`: nobody has to.
    pub dead_man_s: Option<f64>,
    /// Whether arming is refused without real-time rights; `None`: on hardware only.
    pub needs_real_time: Option<bool>,
    /// Whether arming is refused while a load cell has no valid calibration; `None`: yes.
    pub needs_calibration: Option<bool>,
}

impl SafetySpec {
    /// Refuses times that make no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        for (field, value, low, high) in [
            ("confirm_within_s", self.confirm_within_s, 0.5, 60.0),
            ("armed_for_s", self.armed_for_s, 1.0, 86_400.0),
            // Shorter than a window draws, it would stop every run; longer, it protects nobody.
            ("dead_man_s", self.dead_man_s, 0.1, 2.0),
        ] {
            if let Some(value) = value {
                require_within(field, value, low, high, "s")?;
            }
        }
        Ok(())
    }
}
