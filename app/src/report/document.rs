//! A report before it is drawn: headings, paragraphs, tables, figures. Every back end draws the same one, so they all
//! say the same.

use crate::chart::Chart;

/// A whole report.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is called.
    pub title: String,
    /// What stands below the title.
    pub subtitle: String,
    /// What stands at the foot of every page: what it is about, and what made it.
    pub footer: String,
    /// What it says, in order.
    pub blocks: Vec<Block>,
}

/// One thing in a report.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading; level 1 begins a part of its own.
    Heading(u8, String),
    /// Words.
    Paragraph(String),
    /// A sentence that must not be overlooked.
    Notice(Tone, String),
    /// What something is, name by name.
    Facts(Vec<Fact>),
    /// A table.
    Table(Table),
    /// A picture.
    Figure(Figure),
    /// Something to be typed, to the letter.
    Code(String),
    /// Another page, where there are pages.
    NewPage,
}

/// How a text is meant. Colour is never the only sign: whatever is good or bad says so in words too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Held, sound.
    Good,
    /// To be looked at.
    Warning,
    /// Not held, failed.
    Bad,
    /// What is not known.
    Missing,
    /// Names that are typed to the letter: identifiers, hashes, paths.
    Literal,
}

/// A name and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// What is known.
    pub value: String,
    /// How it is meant.
    pub tone: Tone,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            tone: Tone::Plain,
        }
    }

    /// A fact that is typed to the letter.
    pub fn literal(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            tone: Tone::Literal,
            ..Self::new(name, value)
        }
    }

    /// A fact that nobody stated is said to be missing.
    pub fn or_missing(name: impl Into<String>, value: Option<String>) -> Self {
        match value.filter(|v| !v.trim().is_empty()) {
            Some(value) => Self::new(name, value),
            None => Self {
                name: name.into(),
                value: "not stated".into(),
                tone: Tone::Missing,
            },
        }
    }
}

/// One field of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
}

impl Cell {
    /// A field that is meant in a special way.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }

    /// A name that is typed to the letter.
    pub fn literal(text: impl Into<String>) -> Self {
        Self::toned(text, Tone::Literal)
    }

    /// A number, or a dash where there is none.
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        match value.filter(|v| v.is_finite()) {
            Some(value) => decimal(value, decimals).into(),
            None => Self::toned("–", Tone::Missing),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

/// A number with a true minus.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // What is rounded to zero has no sign.
    let is_zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    if is_zero {
        text.trim_start_matches('-').to_owned()
    } else {
        text.replace('-', "−")
    }
}

/// Where the texts of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Headings and sides of the columns.
    pub columns: Vec<(String, Side)>,
    /// Its rows, a field a column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(caption: impl Into<String>, columns: &[(&str, Side)]) -> Self {
        Self {
            caption: caption.into(),
            columns: columns.iter().map(|(t, s)| ((*t).to_owned(), *s)).collect(),
            rows: Vec::new(),
        }
    }
}

/// A picture of charts below each other.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it shows, below it and for people who do not see it.
    pub caption: String,
    /// The charts, from top to bottom.
    pub charts: Vec<Chart>,
    /// Its height by its width.
    pub aspect: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_stated_is_said_to_be_missing() {
        for value in [None, Some(String::new()), Some("  ".into())] {
            let fact = Fact::or_missing("Operator", value);
            assert_eq!(
                (fact.value.as_str(), fact.tone),
                ("not stated", Tone::Missing)
            );
        }
        let fact = Fact::or_missing("Operator", Some("late shift".into()));
        assert_eq!(
            (fact.value.as_str(), fact.tone),
            ("late shift", Tone::Plain)
        );
        assert_eq!(Cell::number(Some(f64::NAN), 2).text, "–");
    }

    #[test]
    fn numbers_have_a_true_minus_and_no_negative_zero() {
        assert_eq!(decimal(-1.25, 1), "−1.2");
        assert_eq!(decimal(-0.004, 2), "0.00");
        assert_eq!(decimal(12.345, 2), "12.35");
    }
}
