//! `pantobench script`: a test written down as a text, run without a window.

use super::Failure;
use super::progress::Progress;
use crate::permit::Presence;
use crate::script::outcome::{EndKind, Outcome, Output};
use crate::script::watch::StopSwitch;
use crate::script::{self, Limits, Setup};
use std::path::PathBuf;

/// Arguments of `pantobench script`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench script sessions/known-mass.rhai --fast\n\
                  Example: pantobench script sessions/speed-sweep.rhai --fast -D step_kmh=50 --out sweep --json\n\n\
                  The functions of a script are explained in docs/scripts.md. Ctrl-C stops the bench in a controlled \
                  way. Exit codes: 0 done and all checks held, 1 a check did not hold, a trip or a stop, 2 the script \
                  or its input is wrong, 3 hardware, disk or system."
)]
pub struct Arguments {
    /// The script.
    #[arg(value_name = "FILE.rhai")]
    file: PathBuf,
    /// Only look whether the script is well-formed; nothing is run.
    #[arg(long, conflicts_with_all = ["fast", "out", "define"])]
    check: bool,
    /// Run on an exact clock, as fast as the machine can: the same result every time.
    #[arg(long)]
    fast: bool,
    /// Directory of everything that the script writes; ~/Pantobench/scripts/NAME if left out.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Another value for a setting of the script; may be repeated.
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    define: Vec<String>,
    /// Longest time of the script, of its benches and of the clock on the wall, in s.
    #[arg(long, value_name = "S", default_value_t = Limits::default().seconds)]
    time_limit: f64,
    /// Most steps of the language.
    #[arg(long, value_name = "N", default_value_t = Limits::default().operations)]
    max_operations: u64,
    /// Show every event of the benches too.
    #[arg(long)]
    events: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs or checks, and prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.file.display().to_string();
    let source = std::fs::read_to_string(&arguments.file)
        .map_err(|e| Failure::Input(format!("the script '{file}' cannot be read: {e}")))?;
    if arguments.check {
        return check(&source, &file, arguments.json);
    }
    if arguments.time_limit.is_nan() || arguments.time_limit <= 0.0 {
        return Err(Failure::Input(format!(
            "--time-limit {} is refused: it must be above 0 s",
            arguments.time_limit
        )));
    }
    let switch = StopSwitch::default();
    crate::signals::set_on_request_to_end(&switch.flag).map_err(Failure::Environment)?;
    let default = || script::default_output(&arguments.file);
    let setup = Setup {
        path: arguments.file.clone(),
        output: arguments.out.clone().unwrap_or_else(default),
        is_exact: arguments.fast,
        settings: script::settings(&arguments.define).map_err(Failure::Input)?,
        limits: Limits {
            operations: arguments.max_operations.max(1),
            seconds: arguments.time_limit,
        },
        switch,
        presence: Presence::Terminal,
    };
    let (is_json, events) = (arguments.json, arguments.events);
    let mut progress = Progress::new("script");
    let outcome = script::run(&source, setup, move |output| {
        if let Output::Progress(part, _) = &output {
            progress.set(*part);
        } else {
            progress.clear();
        }
        show(output, is_json, events);
    });
    if is_json {
        say!("{}", outcome.to_json(&file));
    }
    judge(&outcome)
}

fn check(source: &str, file: &str, is_json: bool) -> Result<(), Failure> {
    let found = script::check(source, file);
    if is_json {
        let outcome = Outcome {
            error: found.as_ref().err().cloned(),
            ..Outcome::default()
        };
        say!("{}", outcome.to_json(file));
    } else if found.is_ok() {
        say!("{file}: well-formed");
    }
    found.map_err(Failure::input)
}

/// Text goes to standard output, unless that is for machines.
fn show(output: Output, is_json: bool, events: bool) {
    let say = |text: String| {
        if is_json {
            tell!("{text}");
        } else {
            say!("{text}");
        }
    };
    match output {
        Output::Text(text) => say(text),
        Output::Table(table) => say(format!("\n{}\n{}", table.name, table.to_text())),
        Output::Check(check) => say(check.words()),
        Output::Plot(_, path) | Output::File(path) => {
            tell!("written to {}", path.display());
        }
        Output::Note(text) => {
            if events || text.starts_with("warning") {
                tell!("{text}");
            }
        }
        Output::Progress(..) => {}
    }
}

fn judge(outcome: &Outcome) -> Result<(), Failure> {
    if let Some(error) = &outcome.error {
        let text = error.to_string();
        return Err(match error.kind {
            EndKind::Input | EndKind::Limit => Failure::Input(text),
            EndKind::Failed | EndKind::Stopped | EndKind::Tripped => Failure::Result(text),
            EndKind::Environment => Failure::Environment(text),
        });
    }
    outcome
        .failed_checks()
        .map_or(Ok(()), |text| Err(Failure::Result(text)))
}
