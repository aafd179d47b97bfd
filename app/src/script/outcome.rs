//! What a script has shown: checks, tables, files and runs, and why it ended.

use super::plot::PlotData;
use super::table::TableData;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Why a script ended before its last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// The script or its input is wrong: nothing is said about the bench.
    Input,
    /// It says itself that it failed.
    Failed,
    /// A person stopped it.
    Stopped,
    /// A fault ended the run.
    Tripped,
    /// It took more steps, time or memory than it may.
    Limit,
    /// Hardware, disk or system.
    Environment,
}

impl EndKind {
    /// Stable name, for machines.
    pub fn id(self) -> &'static str {
        match self {
            EndKind::Input => "input",
            EndKind::Failed => "failed",
            EndKind::Stopped => "stopped",
            EndKind::Tripped => "tripped",
            EndKind::Limit => "limit",
            EndKind::Environment => "environment",
        }
    }
}

/// An error with the place in the script where it came up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{message}", place(.file, *.line, *.column))]
pub struct ScriptError {
    /// What kind of end it is.
    pub kind: EndKind,
    /// What happened and what to do.
    pub message: String,
    /// The script.
    pub file: String,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1.
    pub column: Option<usize>,
}

fn place(file: &str, line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
        (Some(line), None) => format!("{file}:{line}: "),
        _ => format!("{file}: "),
    }
}

/// A value that was held against its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// The value, if it was a number.
    pub value: Option<f64>,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Whether it lies between them.
    pub held: bool,
}

impl Check {
    /// A number against bounds; what is no number holds no bounds.
    pub fn within(name: &str, value: f64, low: f64, high: f64) -> Self {
        Self {
            name: name.to_owned(),
            value: Some(value),
            low: Some(low),
            high: Some(high),
            held: (low..=high).contains(&value),
        }
    }

    /// Something that is so or not.
    pub fn flag(name: &str, held: bool) -> Self {
        Self {
            name: name.to_owned(),
            value: None,
            low: None,
            high: None,
            held,
        }
    }

    /// In one line.
    pub fn words(&self) -> String {
        let verdict = if self.held { "held" } else { "NOT HELD" };
        match (self.value, self.low, self.high) {
            (Some(value), Some(low), Some(high)) => format!(
                "{verdict}: {} = {} ({} to {})",
                self.name,
                crate::cli::text::number(value),
                low,
                high
            ),
            _ => format!("{verdict}: {}", self.name),
        }
    }

    fn to_json(&self) -> Value {
        let known = |v: Option<f64>| v.filter(|v| v.is_finite());
        json!({ "name": self.name, "value": known(self.value), "low": known(self.low), "high": known(self.high),
                "held": self.held })
    }
}

/// What whoever watches a script gets to see, as it happens.
#[derive(Clone, Debug)]
pub enum Output {
    /// A line of text that the script prints.
    Text(String),
    /// A note of the bench: states, events, warnings.
    Note(String),
    /// A table that is shown.
    Table(TableData),
    /// A plot, and the file that it was written to.
    Plot(PlotData, PathBuf),
    /// A file that was written.
    File(PathBuf),
    /// A check.
    Check(Check),
    /// How much is done, from 0 to 1, and what is being done.
    Progress(f64, String),
}

/// Everything about a script that has ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Checks in their order.
    pub checks: Vec<Check>,
    /// Tables that were shown.
    pub tables: Vec<TableData>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// What became of each run, for machines.
    pub runs: Vec<Value>,
    /// Time that benches spent, in s of their own clock.
    pub bench_s: f64,
    /// Why it ended, if not at its last line.
    pub error: Option<ScriptError>,
}

impl Outcome {
    /// Whether the script came to its end and every check held.
    pub fn is_ok(&self) -> bool {
        self.error.is_none() && self.checks.iter().all(|c| c.held)
    }

    /// Checks that did not hold, in a sentence.
    pub fn failed_checks(&self) -> Option<String> {
        let failed: Vec<&str> = self
            .checks
            .iter()
            .filter(|c| !c.held)
            .map(|c| c.name.as_str())
            .collect();
        (!failed.is_empty()).then(|| {
            format!(
                "{} of {} checks did not hold: {}",
                failed.len(),
                self.checks.len(),
                failed.join("; ")
            )
        })
    }

    /// For machines.
    pub fn to_json(&self, script: &str) -> Value {
        let error = self.error.as_ref().map(|e| {
            json!({ "kind": e.kind.id(), "message": e.message, "file": e.file, "line": e.line, "column": e.column })
        });
        json!({
            "script": script,
            "ok": self.is_ok(),
            "checks": self.checks.iter().map(Check::to_json).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(TableData::to_json).collect::<Vec<_>>(),
            "files": self.files,
            "runs": self.runs,
            "seconds": self.bench_s,
            "error": error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_between_its_bounds_and_a_gap_never_does() {
        assert!(Check::within("a", 1.0, 1.0, 2.0).held);
        assert!(!Check::within("a", 2.01, 1.0, 2.0).held);
        let unknown = Check::within("a", f64::NAN, f64::NEG_INFINITY, 2.0);
        assert!(!unknown.held);
        assert_eq!(unknown.to_json()["value"], Value::Null);
        assert_eq!(unknown.to_json()["low"], Value::Null);
        assert!(
            unknown.words().starts_with("NOT HELD: a = –"),
            "{}",
            unknown.words()
        );
        let mut outcome = Outcome::default();
        assert!(outcome.is_ok() && outcome.failed_checks().is_none());
        outcome.checks = vec![Check::flag("good", true), Check::flag("bad", false)];
        assert!(!outcome.is_ok());
        let words = outcome.failed_checks().unwrap();
        assert_eq!(words, "1 of 2 checks did not hold: bad");
    }

    #[test]
    fn an_error_names_file_line_and_column() {
        let mut error = ScriptError {
            kind: EndKind::Input,
            message: "no".into(),
            file: "a.rhai".into(),
            line: Some(3),
            column: Some(7),
        };
        assert_eq!(error.to_string(), "a.rhai:3:7: no");
        error.column = None;
        assert_eq!(error.to_string(), "a.rhai:3: no");
        error.line = None;
        assert_eq!(error.to_string(), "a.rhai: no");
    }
}
