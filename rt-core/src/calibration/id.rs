//! Names of calibrations: short enough to travel through the loop's rings, fit for a file's name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest name, in bytes.
pub const LONGEST: usize = 40;

/// The name of a calibration. A value without heap, so that commands and events can carry it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CalibrationId {
    /// Padded with zeros.
    bytes: [u8; LONGEST],
}

/// A name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' cannot be the name of a calibration: expected 1 to {LONGEST} letters (a–z), digits, '-', '_' or '.', the first a letter or digit"
)]
pub struct BadId(pub String);

impl CalibrationId {
    /// Takes a name; refuses what cannot be a file's.
    pub fn new(text: &str) -> Result<Self, BadId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if text.len() > LONGEST || !begins_well || !text.chars().all(allowed) {
            return Err(BadId(text.to_owned()));
        }
        let mut bytes = [0; LONGEST];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { bytes })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let end = self.bytes.iter().position(|b| *b == 0).unwrap_or(LONGEST);
        // Only ASCII was taken in.
        std::str::from_utf8(&self.bytes[..end]).unwrap_or("")
    }
}

impl TryFrom<String> for CalibrationId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        Self::new(&text)
    }
}

impl From<CalibrationId> for String {
    fn from(id: CalibrationId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for CalibrationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for CalibrationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_file_can_have_are_refused() {
        for good in ["a", "SIM-1-2026-11-18", "7.b_c", &"x".repeat(LONGEST)] {
            assert_eq!(CalibrationId::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "../etc",
            ".hidden",
            "a b",
            "ä",
            &"x".repeat(LONGEST + 1),
        ] {
            let text = CalibrationId::new(bad).unwrap_err().to_string();
            assert!(text.contains("expected 1 to 40"), "{text}");
        }
    }
}
