//! How a rig is armed, and what it refuses to be armed with. What is left out of a file is as it was before there were
//! such rules, so that old rig files and the recordings in them mean the same.

use super::purpose::Purposes;
use crate::file::{FieldError, require_within};
use serde::Deserialize;

/// For how long a position is held after a stop if the rig file says nothing, in s.
pub const HELD_FOR_S: f64 = 8.0;

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
    /// How long a bench may hold a position with power after a stop or trip, in s; then the drive goes off.
    pub held_for_s: Option<f64>,
    /// The longest gap between two cycles while the drive is on, in s; a longer one switches it off.
    pub max_gap_s: Option<f64>,
    /// How many deadlines in a row a session may let be missed.
    pub max_misses: Option<u32>,
    /// What may move the rig with nobody beside it, by name.
    pub unattended: Purposes,
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
            // Longer, a brake or the drive has to hold it, not this program.
            ("held_for_s", self.held_for_s, 0.1, 10.0),
            ("max_gap_s", self.max_gap_s, 0.001, 10.0),
            ("max_misses", self.max_misses.map(f64::from), 1.0, 1e6),
        ] {
            if let Some(value) = value {
                let unit = if field.ends_with("_s") { "s" } else { "" };
                require_within(field, value, low, high, unit)?;
            }
        }
        Ok(())
    }
}
