//! The command line. Everything that the window can do is possible here too.

mod benches;
mod conductor;
mod latency;
mod run;
mod text;

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

    fn report(self) -> ExitCode {
        let (code, text) = match self {
            Failure::Result(text) => (1, text),
            Failure::Input(text) => (2, text),
            Failure::Environment(text) => (3, text),
        };
        eprintln!("pantobench: {text}");
        ExitCode::from(code)
    }
}

/// Workstation for hardware-in-the-loop tests of railway pantographs.
///
/// Without a command the window opens.
#[derive(Parser)]
#[command(
    version,
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
    /// Run a session without a window.
    Run(run::Arguments),
    /// Measure how punctually this machine wakes a real-time thread.
    Latency(latency::Arguments),
}

/// Parses the arguments and does what they say.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        None => crate::window::open(arguments.session),
        Some(CommandLine::Benches(a)) => benches::run(&a),
        Some(CommandLine::Run(a)) => run::run(&a),
        Some(CommandLine::Latency(a)) => latency::run(&a),
    };
    done.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}
