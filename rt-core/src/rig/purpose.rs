//! What moves a rig, by name: a rig file allows by these names what may be done with nobody beside it.

use serde::{Deserialize, Deserializer, de::Error};

/// Why a rig is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A session from the command line.
    Run,
    /// Finding the home position.
    Home,
    /// Small moves that show wiring and signs.
    Check,
    /// Moves by hand.
    Jog,
    /// Measuring motor, delays and pad.
    Identify,
    /// Iterative validation.
    Iterate,
    /// A script.
    Script,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 7] = [
        Purpose::Run,
        Purpose::Home,
        Purpose::Check,
        Purpose::Jog,
        Purpose::Identify,
        Purpose::Iterate,
        Purpose::Script,
    ];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Run => "run",
            Purpose::Home => "home",
            Purpose::Check => "check",
            Purpose::Jog => "jog",
            Purpose::Identify => "identify",
            Purpose::Iterate => "iterate",
            Purpose::Script => "script",
        }
    }
}

/// A set of purposes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purposes(u8);

impl Purposes {
    /// Every purpose.
    pub const ALL: Purposes = Purposes((1 << Purpose::ALL.len()) - 1);

    /// Whether one is among them.
    pub fn contains(self, purpose: Purpose) -> bool {
        self.0 & (1 << purpose as u8) != 0
    }

    /// Those that are among them.
    pub fn iter(self) -> impl Iterator<Item = Purpose> {
        Purpose::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}

impl<'de> Deserialize<'de> for Purposes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let mut set = Self::default();
        for name in names {
            let found = Purpose::ALL.into_iter().find(|p| p.name() == name);
            let Some(purpose) = found else {
                let known = Purpose::ALL.map(Purpose::name).join(", ");
                return Err(D::Error::custom(format!(
                    "'{name}' is no purpose; expected of: {known}"
                )));
            };
            set.0 |= 1 << purpose as u8;
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_are_read_by_name_and_unknown_ones_are_refused_with_the_known() {
        let set: Purposes = ron::from_str(r#"["run", "identify"]"#).unwrap();
        assert!(set.contains(Purpose::Run) && !set.contains(Purpose::Home));
        assert_eq!(set.iter().count(), 2);
        assert_eq!(Purposes::ALL.iter().count(), Purpose::ALL.len());
        let refused = ron::from_str::<Purposes>(r#"["dance"]"#)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("dance") && refused.contains("identify"),
            "{refused}"
        );
    }
}
