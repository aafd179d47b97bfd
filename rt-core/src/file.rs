//! Reading the project's text files (RON): every error says which file, where, what was expected.

use ron::extensions::Extensions;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// A kind of file: how it is called and when its content makes sense.
pub trait FileContent: DeserializeOwned {
    /// What a person calls such a file ("rig file").
    const KIND: &'static str;

    /// Checks values that parse but make no sense.
    fn check(&self) -> Result<(), FieldError>;
}

/// A value that parses but makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    /// Where in the file, as a path of field names.
    pub field: String,
    /// What is wrong, and what is expected.
    pub problem: String,
}

impl FieldError {
    /// Names a field and what is wrong with it.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// Puts the name of an enclosing field in front.
    pub fn within(self, outer: &str) -> Self {
        Self {
            field: format!("{outer}.{}", self.field),
            problem: self.problem,
        }
    }
}

/// Refuses a value that is not a finite number above zero.
pub fn require_positive(field: &str, value: f64, unit: &str) -> Result<(), FieldError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(FieldError::new(
            field,
            format!("is {value} {unit}; expected a finite value above 0 {unit}"),
        ))
    }
}

/// Refuses a value that is not a finite number of at least zero.
pub fn require_not_negative(field: &str, value: f64, unit: &str) -> Result<(), FieldError> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(FieldError::new(
            field,
            format!("is {value} {unit}; expected a finite value of at least 0 {unit}"),
        ))
    }
}

/// Refuses a value outside a closed range, or one that is not a number.
pub fn require_within(
    field: &str,
    value: f64,
    min: f64,
    max: f64,
    unit: &str,
) -> Result<(), FieldError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(FieldError::new(
            field,
            format!("is {value} {unit}; expected a value within {min} to {max} {unit}"),
        ))
    }
}

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Missing, a directory, no permission …
    #[error("cannot read the {kind} '{}': {source}", path.display())]
    Unreadable {
        /// What kind of file was expected.
        kind: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Not RON, or not of the expected form.
    #[error("{}:{line}:{column}: this is not a valid {kind}: {problem}", path.display())]
    Malformed {
        /// What kind of file was expected.
        kind: &'static str,
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says, with the expected fields.
        problem: String,
    },
    /// Parses, but makes no sense.
    #[error("{}: this {kind} cannot be used: {source}", path.display())]
    Senseless {
        /// What kind of file was expected.
        kind: &'static str,
        /// Which file.
        path: PathBuf,
        /// The field and its problem.
        source: FieldError,
    },
}

/// Reads and checks a file.
pub fn load<T: FileContent>(path: &Path) -> Result<T, FileError> {
    let text = std::fs::read_to_string(path).map_err(|source| FileError::Unreadable {
        kind: T::KIND,
        path: path.to_owned(),
        source,
    })?;
    parse(&text, path)
}

/// Parses and checks the text of a file; `path` is only named in errors.
pub fn parse<T: FileContent>(text: &str, path: &Path) -> Result<T, FileError> {
    let content: T = parse_unchecked(text, path)?;
    content.check().map_err(|source| FileError::Senseless {
        kind: T::KIND,
        path: path.to_owned(),
        source,
    })?;
    Ok(content)
}

/// Parses the text of a file without asking whether its values make sense: for saying what is wrong with it.
pub fn parse_unchecked<T: FileContent>(text: &str, path: &Path) -> Result<T, FileError> {
    // Neither `Some` nor a second pair of brackets needs to be spelled out.
    let options = ron::Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
    options.from_str(text).map_err(|e| FileError::Malformed {
        kind: T::KIND,
        path: path.to_owned(),
        line: e.span.start.line,
        column: e.span.start.col,
        problem: e.code.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Ball {
        mass_kg: f64,
    }

    impl FileContent for Ball {
        const KIND: &'static str = "ball file";
        fn check(&self) -> Result<(), FieldError> {
            require_positive("mass_kg", self.mass_kg, "kg")
        }
    }

    fn error_of(text: &str) -> String {
        parse::<Ball>(text, Path::new("ball.ron"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_wrong_field_is_located_and_the_expected_ones_named() {
        let text = error_of("(\n  maas_kg: 1.0,\n)");
        assert!(text.starts_with("ball.ron:2:"), "{text}");
        assert!(
            text.contains("maas_kg") && text.contains("mass_kg"),
            "{text}"
        );
    }

    #[test]
    fn a_senseless_value_names_field_value_and_expectation() {
        let text = error_of("(mass_kg: -2.0)");
        assert!(
            text.contains("mass_kg: is -2 kg; expected a finite value above 0 kg"),
            "{text}"
        );
        assert!(error_of("(mass_kg: NaN)").contains("NaN"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let text = load::<Ball>(Path::new("no/such.ron"))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("ball file") && text.contains("no/such.ron"),
            "{text}"
        );
    }
}
