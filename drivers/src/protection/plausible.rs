//! Numbers that no rig has: generous bounds for each quantity, refused with what an engineer would say.

use rt_core::file::FieldError;

/// A quantity of a rig file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    unit: &'static str,
    least: f64,
    most: f64,
    /// What is usual.
    usual: &'static str,
}

/// Speed that is permitted while running.
pub const SPEED: Quantity = Quantity {
    unit: "m/s",
    least: 1e-6,
    most: 20.0,
    usual: "2 m/s is as fast as a linear motor moves under a pantograph",
};
/// Speed of arming, parking and retreating.
pub const TRAVEL_SPEED: Quantity = Quantity {
    unit: "m/s",
    least: 1e-6,
    most: 5.0,
    usual: "0.1 m/s is a usual speed to travel with",
};
/// Acceleration or deceleration.
pub const ACCELERATION: Quantity = Quantity {
    unit: "m/s²",
    least: 1e-3,
    most: 1000.0,
    usual: "a linear motor with its load does 10 to 200 m/s²",
};
/// Distance between reference and position.
pub const TRACKING_ERROR: Quantity = Quantity {
    unit: "m",
    least: 1e-7,
    most: 1.0,
    usual: "20 mm are 0.02",
};
/// A force, its limit, or a sensor's range.
pub const FORCE: Quantity = Quantity {
    unit: "N",
    least: 1e-3,
    most: 1e6,
    usual: "a pantograph presses with 100 to 500 N",
};
/// Lift of a pantograph.
pub const UPLIFT: Quantity = Quantity {
    unit: "N",
    least: 0.0,
    most: 1e5,
    usual: "a pantograph is lifted with 70 to 200 N",
};
/// Stiffness of the pad.
pub const PAD_STIFFNESS: Quantity = Quantity {
    unit: "N/m",
    least: 1e-3,
    most: 1e9,
    usual: "a rubber pad has some 100000 N/m, a load cell some 10 million",
};
/// Damping of the pad.
pub const PAD_DAMPING: Quantity = Quantity {
    unit: "N s/m",
    least: 0.0,
    most: 1e6,
    usual: "a rubber pad has some 10 N s/m",
};

impl Quantity {
    /// The same with bounds of its own: hardware is allowed less.
    pub(super) const fn up_to(self, most: f64) -> Self {
        Self { most, ..self }
    }

    /// The largest value that makes sense.
    pub(super) const fn most(&self) -> f64 {
        self.most
    }

    /// Refuses what is no such quantity.
    pub fn require(&self, field: &str, value: f64) -> Result<(), FieldError> {
        self.require_from(self.least, field, value)
    }

    /// The same from a least value on that follows from another field.
    pub fn require_from(&self, least: f64, field: &str, value: f64) -> Result<(), FieldError> {
        let Self {
            unit, most, usual, ..
        } = self;
        if (least..=*most).contains(&value) {
            return Ok(());
        }
        let mut problem =
            format!("is {value} {unit}; expected a value within {least} to {most} {unit}: {usual}");
        let in_base = value / 1000.0;
        if value.is_finite() && value > *most && in_base <= *most && unit.starts_with('m') {
            problem +=
                &format!("; {value} looks like millimetres, which would be {in_base} {unit}");
        }
        Err(FieldError::new(field, problem))
    }
}
