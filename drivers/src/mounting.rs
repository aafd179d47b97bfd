//! How the motor is mounted and what holds it without power: axis, moving mass, friction, brake. Units are in the names;
//! every field is explained here.
//!
//! A pantograph pushes with 70 to 200 N whether the drive is on or not, and a vertical motor has its weight besides.

pub mod sequence;

use rt_core::channel::ChannelSpec;
use rt_core::file::{FieldError, require_not_negative, require_within};
use serde::Deserialize;

/// Channel of a rig with a brake: 1 where the brake is released and the motor follows references, 0 otherwise.
pub const BRAKE: ChannelSpec = ChannelSpec::measured("brake_released", "Brake released", "");

/// Acceleration of a body that falls, in m/s².
pub const GRAVITY_M_PER_S2: f64 = 9.81;

/// How the motor of a rig is mounted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountingConfig {
    /// Which way the motor moves: `Vertical` (positions count upwards) or `Horizontal`.
    pub axis: Axis,
    /// Everything that moves with the motor, in kg.
    pub moving_mass_kg: f64,
    /// Viscous friction of motor and guides, in N s/m.
    #[serde(default)]
    pub friction_ns_per_m: f64,
    /// Dry friction of motor and guides, in N.
    #[serde(default)]
    pub coulomb_n: f64,
    /// What holds the motor without power. It has to be stated; `None`: nothing does, and the motor falls or is pushed
    /// away whenever the drive is off.
    #[serde(deserialize_with = "Option::deserialize")]
    pub brake: Option<BrakeConfig>,
}

/// The way a motor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Axis {
    /// Up and down: its weight acts.
    Vertical,
    /// To and fro: its weight does not act.
    Horizontal,
}

/// A brake that holds without power and is released with power.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrakeConfig {
    /// How long it takes to let go, in s, by its data sheet: references are followed only then.
    pub release_s: f64,
    /// How long it takes to hold, in s, by its data sheet: a drive that is switched off in order holds for so long.
    pub engage_s: f64,
    /// Who operates it: `Drive`, the drive by itself, with the same times in its own settings; or `Output("bus.output")`,
    /// this program by a digital output of a bus, which is set to release it.
    pub output: BrakeOutput,
    /// A switch that shows whether it holds; `None`: only the times are known.
    #[serde(default)]
    pub feedback: Option<BrakeFeedback>,
    /// Force that it holds against, in N; `None`: more than ever acts. Only simulations and emulations use it.
    #[serde(default)]
    pub holds_n: Option<f64>,
    /// How far the motor may creep in a brake test, in m.
    #[serde(default = "default_creep")]
    pub creeps_at_most_m: f64,
}

/// Who operates a brake.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum BrakeOutput {
    /// The drive, by itself.
    Drive,
    /// This program, by an output of a bus, `bus.output`.
    Output(String),
}

/// A switch that shows whether a brake holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrakeFeedback {
    /// Its input, `bus.input`. `None` only on a simulated rig, which knows its own brake.
    #[serde(default)]
    pub input: Option<String>,
    /// The bit of the input that shows it; `None`: the whole input is 0 or not.
    #[serde(default)]
    pub bit: Option<u8>,
    /// Whether a set input means that the brake holds; otherwise it means that it is released.
    #[serde(default)]
    pub set_means_engaged: bool,
    /// For how long it may disagree with what the brake was told, beyond `release_s` or `engage_s`, in s.
    pub within_s: f64,
    /// How old the input may be, in s.
    #[serde(default = "default_age")]
    pub max_age_s: f64,
}

fn default_creep() -> f64 {
    0.5e-3
}

fn default_age() -> f64 {
    0.05
}

impl MountingConfig {
    /// Force along the axis that the weight exerts, in N; below zero is downwards.
    pub fn weight_n(&self) -> f64 {
        match self.axis {
            Axis::Vertical => -GRAVITY_M_PER_S2 * self.moving_mass_kg,
            Axis::Horizontal => 0.0,
        }
    }

    /// What a brake has to bear against when a specimen pushes with a force in N, upwards.
    pub fn load_n(&self, specimen_n: f64) -> f64 {
        specimen_n + self.weight_n()
    }

    /// What happens without power, where nothing holds the motor: the sentence for a person.
    pub fn danger(&self) -> Option<&'static str> {
        match (&self.brake, self.axis) {
            (Some(_), _) => None,
            (None, Axis::Vertical) => Some(
                "falls or is pushed without power: the axis is vertical and has no brake (mounting.brake None)",
            ),
            (None, Axis::Horizontal) => Some(
                "is pushed without power: nothing holds it against the specimen (mounting.brake None)",
            ),
        }
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        require_within("moving_mass_kg", self.moving_mass_kg, 0.1, 500.0, "kg")?;
        require_within(
            "friction_ns_per_m",
            self.friction_ns_per_m,
            0.0,
            1e5,
            "N s/m",
        )?;
        require_within("coulomb_n", self.coulomb_n, 0.0, 1e4, "N")?;
        let Some(brake) = &self.brake else {
            return Ok(());
        };
        brake.check().map_err(|e| e.within("brake"))?;
        let weight = self.weight_n().abs();
        if let Some(holds) = brake.holds_n.filter(|holds| *holds < weight) {
            return Err(FieldError::new(
                "brake.holds_n",
                format!(
                    "is {holds} N, less than the weight of {weight:.1} N that it has to hold ({} kg, vertical); take a \
                     stronger brake, or correct moving_mass_kg",
                    self.moving_mass_kg
                ),
            ));
        }
        Ok(())
    }
}

impl BrakeConfig {
    fn check(&self) -> Result<(), FieldError> {
        // Longer than a second is no brake of a test rig, and a drive that holds on for it is no drive that is off.
        require_within("release_s", self.release_s, 0.0, 1.0, "s")?;
        require_within("engage_s", self.engage_s, 0.0, 1.0, "s")?;
        if let Some(holds) = self.holds_n {
            require_not_negative("holds_n", holds, "N")?;
        }
        require_within("creeps_at_most_m", self.creeps_at_most_m, 1e-6, 0.01, "m")?;
        match &self.feedback {
            Some(feedback) => feedback.check().map_err(|e| e.within("feedback")),
            None => Ok(()),
        }
    }
}

impl BrakeFeedback {
    fn check(&self) -> Result<(), FieldError> {
        require_within("within_s", self.within_s, 0.001, 1.0, "s")?;
        require_within("max_age_s", self.max_age_s, 1e-4, 1.0, "s")?;
        match self.bit.filter(|bit| *bit > 31) {
            Some(bit) => Err(FieldError::new(
                "bit",
                format!("is {bit}; expected 0 to 31"),
            )),
            None => Ok(()),
        }
    }

    /// Whether an input shows that the brake holds; `None`: it shows nothing.
    pub fn shows(&self, value: f64) -> Option<bool> {
        let is_set = match self.bit {
            None => value != 0.0,
            Some(bit) => (value as i64 >> bit) & 1 == 1,
        };
        value
            .is_finite()
            .then_some(is_set == self.set_means_engaged)
    }
}

/// Refuses what only a bus can have, in the file of a simulated rig.
pub fn check_simulated(mounting: &MountingConfig) -> Result<(), FieldError> {
    let Some(brake) = &mounting.brake else {
        return Ok(());
    };
    if let BrakeOutput::Output(name) = &brake.output {
        return Err(FieldError::new(
            "brake.output",
            format!("is Output(\"{name}\"); a simulated rig has no buses: expected Drive"),
        ));
    }
    let input = brake.feedback.as_ref().and_then(|f| f.input.as_ref());
    match input {
        Some(input) => Err(FieldError::new(
            "brake.feedback.input",
            format!(
                "is '{input}'; a simulated rig has no buses: expected none, it knows its own brake"
            ),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
impl rt_core::file::FileContent for MountingConfig {
    const KIND: &'static str = "mounting";

    fn check(&self) -> Result<(), FieldError> {
        Self::check(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::file;
    use std::path::Path;

    fn parse(text: &str) -> Result<MountingConfig, String> {
        file::parse(text, Path::new("mounting.ron")).map_err(|e| e.to_string())
    }

    #[test]
    fn a_brake_is_stated_or_said_to_be_none() {
        let none = parse("(axis: Vertical, moving_mass_kg: 10.0, brake: None)").unwrap();
        assert!(none.danger().unwrap().contains("vertical"));
        assert!((none.load_n(120.0) - 21.9).abs() < 1e-9);
        let missing = parse("(axis: Vertical, moving_mass_kg: 10.0)").unwrap_err();
        assert!(missing.contains("brake"), "{missing}");
        let drive = parse(
            "(axis: Vertical, moving_mass_kg: 10.0, brake: (release_s: 0.03, engage_s: 0.05, output: Drive))",
        )
        .unwrap();
        assert_eq!(drive.danger(), None);
        assert_eq!(drive.brake.unwrap().creeps_at_most_m, 0.5e-3);
    }

    #[test]
    fn values_past_their_ends_are_refused_with_both_values() {
        for (from, to, words) in [
            ("10.0", "0.05", vec!["moving_mass_kg", "0.05", "0.1 to 500"]),
            ("10.0", "501.0", vec!["moving_mass_kg", "501"]),
            ("0.03", "1.1", vec!["brake.release_s", "1.1", "0 to 1 s"]),
            ("0.05", "-0.01", vec!["brake.engage_s", "-0.01"]),
            (
                "200.0",
                "98.0",
                vec!["brake.holds_n", "98 N", "98.1 N", "moving_mass_kg"],
            ),
            ("0.1))", "0.0))", vec!["brake.feedback.within_s"]),
        ] {
            let text = "(axis: Vertical, moving_mass_kg: 10.0, brake: (release_s: 0.03, engage_s: 0.05, output: Drive, \
                        holds_n: 200.0, feedback: (within_s: 0.1)))";
            parse(text).unwrap();
            assert!(text.contains(from));
            let error = parse(&text.replacen(from, to, 1)).unwrap_err();
            for word in words {
                assert!(error.contains(word), "{to}: {error}");
            }
        }
    }

    #[test]
    fn a_switch_says_what_it_says_or_nothing() {
        let feedback = |bit, set_means_engaged| BrakeFeedback {
            input: None,
            bit,
            set_means_engaged,
            within_s: 0.1,
            max_age_s: 0.1,
        };
        assert_eq!(feedback(None, true).shows(1.0), Some(true));
        assert_eq!(feedback(None, false).shows(1.0), Some(false));
        assert_eq!(feedback(Some(2), true).shows(4.0), Some(true));
        assert_eq!(feedback(Some(2), true).shows(3.0), Some(false));
        assert_eq!(feedback(Some(2), true).shows(f64::NAN), None);
    }
}
