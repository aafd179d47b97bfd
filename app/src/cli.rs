//! The command line. Everything that the window can do is possible here too.

mod benches;
mod calibrate;
mod emulate;
mod iterate;
mod latency;
mod line;
mod lqg;
mod progress;
mod report;
mod rig;
mod run;
mod script;
pub(crate) mod session;
mod simulate;
mod steady;
mod study;
pub(crate) mod text;
mod validate;

use crate::crash;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Why a command ended without success; the number is its exit code.
#[derive(Debug)]
pub enum Failure {
    /// It ran, but the result is a failure: a trip, a band not held.
    Result(String),
    /// Bad input: nothing was started.
    Input(String),
    /// Hardware or environment.
    Environment(String),
}

impl Failure {
    /// Bad input, with the words of an error.
    pub fn input(e: impl std::fmt::Display) -> Self {
        Failure::Input(e.to_string())
    }

    /// What happened, in words.
    pub fn into_text(self) -> String {
        match self {
            Failure::Result(text) | Failure::Input(text) | Failure::Environment(text) => text,
        }
    }

    fn report(self) -> ExitCode {
        let code = match self {
            Failure::Result(_) => 1,
            Failure::Input(_) => 2,
            Failure::Environment(_) => 3,
        };
        let text = self.into_text();
        tell!("pantobench: {text}");
        ExitCode::from(code)
    }
}

/// Workstation for hardware-in-the-loop tests of railway pantographs.
///
/// Without a command the window opens.
#[derive(Parser)]
#[command(
    version = crate::provenance::FULL_VERSION,
    after_help = "Example: pantobench run sessions/profile-sine.ron --fast"
)]
struct Arguments {
    /// Session that the window opens with.
    #[arg(long, value_name = "SESSION.ron")]
    session: Option<std::path::PathBuf>,
    #[command(subcommand)]
    command: Option<CommandLine>,
}

#[derive(Subcommand)]
enum CommandLine {
    /// List the benches with their channels and parameters.
    Benches(benches::Arguments),
    /// Calibrations of load cells: list, show, take, check.
    Calibrate(calibrate::Arguments),
    /// Put a rig to work: scan, home, check, jog, identify.
    Rig(rig::Arguments),
    /// Be the devices of a hardware rig, for another process.
    Emulate(emulate::Arguments),
    /// Run a session without a window.
    Run(run::Arguments),
    /// Validate a hardware-in-the-loop run by iteration: play the wire that its force makes, measure again.
    Iterate(iterate::Arguments),
    /// Measure how punctually this machine wakes a real-time thread.
    Latency(latency::Arguments),
    /// Check an overhead line, its rest position, its modes, its drawing.
    Line(line::Arguments),
    /// Gains, stability and margins of the LQG loop.
    Lqg(lqg::Arguments),
    /// Write a report of recordings, as HTML or PDF.
    Report(report::Arguments),
    /// Run a script: a whole test with its checks, tables and plots.
    Script(script::Arguments),
    /// List, check, recover, export and compare recordings.
    Session(session::Arguments),
    /// Run a pantograph along an overhead line, offline.
    Simulate(simulate::Arguments),
    /// The steady-state bench: answers of lines to a moving force, direct solutions, σ against speed.
    Steady(steady::Arguments),
    /// Sweeps and Monte Carlo studies: run one, or plan, do and gather its tasks anywhere.
    Study(study::Arguments),
    /// Hold the reference solver against the acceptance bands of a standard.
    Validate(validate::Arguments),
}

/// Parses the arguments and does what they say.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    crash::install();
    // Whatever happens to this thread, loops come to a controlled stop before the program ends.
    let done = crate::outlive::guard(|| match arguments.command {
        None => crate::window::open(arguments.session),
        Some(CommandLine::Benches(a)) => benches::run(&a),
        Some(CommandLine::Calibrate(a)) => calibrate::run(&a),
        Some(CommandLine::Rig(a)) => rig::run(&a),
        Some(CommandLine::Emulate(a)) => emulate::run(&a),
        Some(CommandLine::Run(a)) => run::run(&a),
        Some(CommandLine::Iterate(a)) => iterate::run(&a),
        Some(CommandLine::Latency(a)) => latency::run(&a),
        Some(CommandLine::Line(a)) => line::run(&a),
        Some(CommandLine::Lqg(a)) => lqg::run(&a),
        Some(CommandLine::Report(a)) => report::run(&a),
        Some(CommandLine::Script(a)) => script::run(&a),
        Some(CommandLine::Session(a)) => session::run(&a),
        Some(CommandLine::Simulate(a)) => simulate::run(&a),
        Some(CommandLine::Steady(a)) => steady::run(&a),
        Some(CommandLine::Study(a)) => study::run(&a),
        Some(CommandLine::Validate(a)) => validate::run(&a),
    });
    crash::write_pending();
    let done = done.unwrap_or_else(|panic| {
        let text = format!("{panic}. This is a defect of the software: please report it");
        Err(Failure::Result(text))
    });
    done.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

/// Spans as `A..B`, both included, from 1.
fn parse_spans(text: &str) -> Result<(usize, usize), String> {
    let bounds = text
        .split_once("..")
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match bounds {
        Some((first, last)) if 1 <= first && first <= last => Ok((first, last)),
        _ => Err("expected FIRST..LAST, both included, from 1: for example 6..15".into()),
    }
}
