//! Tables of a script: rows of numbers and words, shown as text and kept as comma-separated values.

use crate::cli::text;
use serde_json::{Value, json};
use std::fmt::Write;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number; what is not finite is an empty entry in files.
    Number(f64),
    /// A word.
    Text(String),
    /// Nothing is known.
    Empty,
}

impl Cell {
    /// As a person reads it.
    pub fn shown(&self) -> String {
        match self {
            Cell::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                format!("{value:.0}")
            }
            Cell::Number(value) => text::number(*value),
            Cell::Text(text) => text.clone(),
            Cell::Empty => "–".into(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Cell::Number(value) => json!(value.is_finite().then_some(*value)),
            Cell::Text(text) => json!(text),
            Cell::Empty => Value::Null,
        }
    }

    fn csv(&self) -> String {
        match self {
            Cell::Number(value) if value.is_finite() => value.to_string(),
            Cell::Text(text) => quoted(text),
            Cell::Number(_) | Cell::Empty => String::new(),
        }
    }

    fn parse(field: &str, was_quoted: bool) -> Self {
        if was_quoted {
            return Cell::Text(field.to_owned());
        }
        match field.trim() {
            "" => Cell::Empty,
            field => match field.parse::<f64>() {
                Ok(value) if value.is_finite() => Cell::Number(value),
                _ => Cell::Text(field.to_owned()),
            },
        }
    }
}

/// A text as an entry of a file, in quotes if it could be taken for something else.
fn quoted(text: &str) -> String {
    let is_plain =
        !text.contains([',', '"', '\n', '\r']) && text.trim() == text && !text.is_empty();
    if is_plain && text.parse::<f64>().is_err() {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableData {
    /// What it is called.
    pub name: String,
    /// What stands above the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl TableData {
    /// Adds a row; one of another length is refused.
    pub fn add(&mut self, row: Vec<Cell>) -> Result<(), String> {
        if row.len() != self.columns.len() {
            return Err(format!(
                "a row of {} entries does not fit the table '{}': it has {} columns ({})",
                row.len(),
                self.name,
                self.columns.len(),
                self.columns.join(", ")
            ));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The entries of a column.
    pub fn column(&self, name: &str) -> Result<Vec<Cell>, String> {
        let at = self.columns.iter().position(|c| c == name).ok_or_else(|| {
            format!(
                "the table '{}' has no column '{name}'; columns: {}",
                self.name,
                self.columns.join(", ")
            )
        })?;
        Ok(self.rows.iter().map(|row| row[at].clone()).collect())
    }

    /// Columns of equal width for a terminal: numbers to the right, words to the left.
    pub fn to_text(&self) -> String {
        let shown: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::shown).collect())
            .collect();
        let is_word = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column]);
            cells.clone().count() > 0 && cells.clone().any(|c| matches!(c, Cell::Text(_)))
        };
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                let cells = shown.iter().map(|row| row[i].chars().count());
                cells
                    .chain([self.columns[i].chars().count()])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        let headings = std::iter::once(&self.columns);
        for line in headings.chain(&shown) {
            let mut row = String::new();
            for (i, cell) in line.iter().enumerate() {
                let padding = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
                let parts = if is_word(i) {
                    [cell.as_str(), padding.as_str()]
                } else {
                    [padding.as_str(), cell.as_str()]
                };
                row.push_str(&parts.concat());
                row.push_str("  ");
            }
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}", row.trim_end());
        }
        out
    }

    /// As comma-separated values.
    pub fn to_csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let mut out = line(self.columns.iter().map(|c| quoted(c)).collect());
        for row in &self.rows {
            out.push_str(&line(row.iter().map(Cell::csv).collect()));
        }
        out
    }

    /// Reads what [`TableData::to_csv`] writes, and what other programs write like it.
    pub fn from_csv(name: &str, text: &str) -> Result<Self, String> {
        let mut lines = records(text)?.into_iter();
        let heading = lines.next().ok_or("it is empty")?;
        let mut table = Self {
            name: name.to_owned(),
            columns: heading.1.into_iter().map(|(field, _)| field).collect(),
            rows: Vec::new(),
        };
        for (number, record) in lines {
            let row: Vec<Cell> = record.iter().map(|(f, q)| Cell::parse(f, *q)).collect();
            if row.len() != table.columns.len() {
                return Err(format!(
                    "line {number} has {} entries; expected {}",
                    row.len(),
                    table.columns.len()
                ));
            }
            table.rows.push(row);
        }
        Ok(table)
    }

    /// For machines.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Vec<Value>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::to_json).collect())
            .collect();
        json!({ "name": self.name, "columns": self.columns, "rows": rows })
    }
}

/// Entries of a line with whether they stood in quotes, and the number of the line.
type Record = (usize, Vec<(String, bool)>);

fn records(text: &str) -> Result<Vec<Record>, String> {
    let mut found: Vec<Record> = Vec::new();
    let mut fields: Vec<(String, bool)> = Vec::new();
    let (mut field, mut was_quoted, mut in_quotes) = (String::new(), false, false);
    let (mut line, mut begin) = (1, 1);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if in_quotes && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if in_quotes => in_quotes = false,
            '"' if field.trim().is_empty() && !was_quoted => {
                field.clear();
                (in_quotes, was_quoted) = (true, true);
            }
            ',' if !in_quotes => {
                fields.push((std::mem::take(&mut field), was_quoted));
                was_quoted = false;
            }
            '\n' if !in_quotes => {
                fields.push((std::mem::take(&mut field), was_quoted));
                was_quoted = false;
                found.push((begin, std::mem::take(&mut fields)));
                line += 1;
                begin = line;
            }
            '\r' if !in_quotes && letters.peek() == Some(&'\n') => {}
            other => {
                line += usize::from(other == '\n');
                field.push(other);
            }
        }
    }
    if in_quotes {
        return Err(format!("a quote of line {begin} is not closed"));
    }
    if !field.is_empty() || was_quoted || !fields.is_empty() {
        fields.push((field, was_quoted));
        found.push((begin, fields));
    }
    // Empty lines say nothing.
    found.retain(|(_, f)| !(f.len() == 1 && f[0].0.trim().is_empty() && !f[0].1));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TableData {
        let mut table = TableData {
            name: "t".into(),
            columns: vec!["speed".into(), "σ, N".into(), "note".into()],
            rows: Vec::new(),
        };
        let text = |t: &str| Cell::Text(t.into());
        table
            .add(vec![
                Cell::Number(250.0),
                Cell::Number(0.1 + 0.2),
                text("a \"b\", c"),
            ])
            .unwrap();
        table
            .add(vec![
                Cell::Number(f64::NAN),
                Cell::Empty,
                text("two\nlines"),
            ])
            .unwrap();
        table
            .add(vec![
                Cell::Number(-1e-9),
                Cell::Number(3.0),
                text("2026-01-01"),
            ])
            .unwrap();
        table.add(vec![text("12"), text(""), text(" x")]).unwrap();
        table
    }

    #[test]
    fn a_file_gives_back_what_was_written() {
        let mut expected = table();
        // What is no number is nothing in a file.
        expected.rows[1][0] = Cell::Empty;
        let csv = table().to_csv();
        assert!(
            csv.starts_with("speed,\"σ, N\",note\n250,0.30000000000000004,"),
            "{csv}"
        );
        assert_eq!(TableData::from_csv("t", &csv).unwrap(), expected);
        let windows = csv.replace('\n', "\r\n").replace("two\r\n", "two\n");
        assert_eq!(
            TableData::from_csv("t", windows.trim_end()).unwrap(),
            expected
        );
    }

    #[test]
    fn damaged_files_are_refused_with_the_line() {
        for (text, words) in [
            ("", "empty"),
            ("a,b\n1,2\n3\n", "line 3 has 1 entries; expected 2"),
            ("a,b\n1,\"2\n", "quote of line 2"),
        ] {
            let problem = TableData::from_csv("t", text).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
        assert!(
            TableData::from_csv("t", "a,b\n")
                .is_ok_and(|t| t.rows.is_empty() && t.columns.len() == 2)
        );
    }

    #[test]
    fn rows_and_columns_that_do_not_fit_are_refused_with_the_names() {
        let mut table = table();
        let problem = table.add(vec![Cell::Empty]).unwrap_err();
        assert!(
            problem.contains("1 entries") && problem.contains("speed, σ, N, note"),
            "{problem}"
        );
        assert!(table.column("spede").unwrap_err().contains("speed"));
        assert_eq!(table.column("speed").unwrap().len(), 4);
        let text = table.to_text();
        assert!(text.lines().next().unwrap().contains("speed"), "{text}");
    }
}
