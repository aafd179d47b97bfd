//! `pantobench report`: recordings as a report, HTML or PDF.

use super::Failure;
use crate::report::{self, Options, ReportError};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Arguments of `pantobench report`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench report recordings/RUN.mcap --out report.pdf\n\
                  Example: pantobench report a.mcap b.mcap c.mcap --out report.html --json\n\n\
                  A report of a tripped or cut-off run says so at its top. Exit codes: 0 written, whatever it says; \
                  2 bad input, 3 the disk refuses."
)]
pub struct Arguments {
    /// The recordings; several of the same set-up give the repeatability too.
    #[arg(value_name = "SESSION.mcap", required = true)]
    recordings: Vec<PathBuf>,
    /// Where the report goes; the ending, .html or .pdf, says the format. A file that is there is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Compare runs along a line with the coupled solution of the same line, pantograph and stiffness.
    #[arg(long, value_enum, value_name = "WHAT")]
    against: Option<Against>,
    /// What pantobench iterate --json said about one of the recordings, to be reported too.
    #[arg(long, value_name = "FILE.json")]
    validation: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// The implicit reference solver.
    Implicit,
}

/// Does what the arguments say.
pub fn run(a: &Arguments) -> Result<(), Failure> {
    let validation = a.validation.as_deref().map(read_validation).transpose()?;
    let options = Options {
        against_implicit: a.against.is_some(),
        validation,
        ..Options::new(&a.recordings, &a.out)
    };
    let written = report::write(&options).map_err(failure)?;
    if a.json {
        say!("{written}");
        return Ok(());
    }
    for recording in written["recordings"].as_array().into_iter().flatten() {
        say!("{}", sentence(recording));
    }
    say!("written: {}", a.out.display());
    Ok(())
}

fn read_validation(path: &Path) -> Result<Value, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::Input(format!("cannot read '{shown}': {e}")))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|e| Failure::Input(format!("'{shown}' is not JSON: {e}")))?;
    if !value["iterations"].is_array() {
        return Err(Failure::Input(format!(
            "'{shown}' has no 'iterations'; expected what pantobench iterate --json printed"
        )));
    }
    Ok(value)
}

fn failure(e: ReportError) -> Failure {
    match e {
        ReportError::Record(e) => super::session::failure(e),
        ReportError::Nothing | ReportError::Format { .. } => Failure::input(e),
        ReportError::Limits(_) | ReportError::Pages(_) | ReportError::Write { .. } => {
            Failure::Environment(e.to_string())
        }
    }
}

/// A recording in a line.
fn sentence(recording: &Value) -> String {
    let force = &recording["force"];
    let name = recording["name"].as_str().unwrap_or_default();
    let mut words = match force["problem"].as_str() {
        Some(problem) => format!("{name}: no contact force ({problem})"),
        None => {
            let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
            let expanded = |of: &str| number(&force["uncertainty"][of]["expanded_n"]);
            format!(
                "{name}: F_m {:.2} ± {:.2} N, σ {:.2} ± {:.2} N",
                number(&force["mean_n"]),
                expanded("mean"),
                number(&force["std_n"]),
                expanded("std")
            )
        }
    };
    match force["held"].as_bool() {
        Some(true) => words.push_str(", limits held"),
        Some(false) => words.push_str(", limits NOT held"),
        None => {}
    }
    if !recording["trip"].is_null() {
        words.push_str(", tripped");
    }
    if recording["finished"] == false {
        words.push_str(", cut off");
    }
    words
}
