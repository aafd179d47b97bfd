//! `pantobench session`: recordings listed, shown, checked, recovered, exported, compared and computed again.

mod compare;
pub(crate) mod export;
mod repair;
pub(crate) mod replay;
mod show;

use super::Failure;
use compare::CompareArguments;
use export::ExportArguments;
use replay::ReplayArguments;
use rt_core::record::check::SessionInfo;
use rt_core::record::error::RecordError;
use rt_core::record::reader::Session;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `pantobench session`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench session list recordings\n\n\
                  Exit codes: 0 done, 1 a recording is damaged or unfinished, 2 bad input, 3 the disk refuses.")]
pub struct Arguments {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(clap::Subcommand)]
enum SessionCommand {
    /// The recordings of a directory.
    #[command(after_help = "Example: pantobench session list recordings --json")]
    List(PathArguments),
    /// What a recording says about itself, its result and its events.
    #[command(after_help = "Example: pantobench session info recordings/run.mcap")]
    Info(PathArguments),
    /// Read everything and compare every checksum.
    #[command(after_help = "Example: pantobench session check recordings/run.mcap")]
    Check(PathArguments),
    /// Make whole files of recordings that were cut off, of one file or of all in a directory.
    #[command(after_help = "Example: pantobench session recover recordings")]
    Recover(PathArguments),
    /// Write a recording, or a stretch of it, for other programs.
    #[command(
        after_help = "Example: pantobench session export recordings/run.mcap --to csv --out run.csv \
                      --from 10 --until 20 --channels force,motor_position"
    )]
    Export(ExportArguments),
    /// Compare recordings with the first: differences, error index, statistics, spectra and coherence.
    #[command(
        after_help = "Example: pantobench session compare lqg.mcap predictive.mcap --out compared.svg --out compared.csv"
    )]
    Compare(CompareArguments),
    /// Compute a recording again: exactly, or with other parameters.
    #[command(
        allow_negative_numbers = true,
        after_help = "Example: pantobench session replay recordings/run.mcap\n\
                      Example: pantobench session replay recordings/run.mcap --what-if --set q=20 --set-at 6:k_i=60e3\n\n\
                      Exit codes: 0 identical, or run again; 1 different, not proven to the end, or tripped; \
                      2 bad input."
    )]
    Replay(ReplayArguments),
}

#[derive(clap::Args)]
struct PathArguments {
    /// The file or directory.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        SessionCommand::List(a) => show::list(a),
        SessionCommand::Info(a) => show::info(a),
        SessionCommand::Check(a) => check(a),
        SessionCommand::Recover(a) => repair::recover(a),
        SessionCommand::Export(a) => export::export(a),
        SessionCommand::Compare(a) => compare::compare(a),
        SessionCommand::Replay(a) => replay::replay(a),
    }
}

/// Whose fault it is decides the exit code.
pub(super) fn failure(e: RecordError) -> Failure {
    use std::io::ErrorKind;
    let text = e.to_string();
    match e {
        RecordError::Damaged { .. } => Failure::Result(text),
        RecordError::StillWritten { .. } | RecordError::Ended(_) => Failure::Environment(text),
        RecordError::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists => Failure::Input(text),
            _ => Failure::Environment(text),
        },
        RecordError::NotARecording { .. }
        | RecordError::TooNew { .. }
        | RecordError::NoChannel { .. }
        | RecordError::Setup(_) => Failure::Input(text),
    }
}

/// Opens a recording; directories and missing files are told apart in words.
fn open(path: &Path) -> Result<Session, Failure> {
    if path.is_dir() {
        return Err(Failure::Input(format!(
            "'{0}' is a directory; expected a recording: pantobench session list {0}",
            path.display()
        )));
    }
    Session::open(path).map_err(failure)
}

fn info_json(info: &SessionInfo) -> Map<String, Value> {
    let value = json!({
        "ok": info.ok, "version": info.version, "bench": info.bench, "t0": info.t0, "seconds": info.seconds,
        "frames": info.frames, "drops": info.drops, "channels": info.channels, "events": info.events,
        "recovered": info.recovered, "finished": info.finished,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn check(a: &PathArguments) -> Result<(), Failure> {
    let session = open(&a.path)?;
    let report = session.check().map_err(failure)?;
    if a.json {
        let mut map = info_json(&report.info);
        let missing = report.missing_ticks();
        map.extend([
            ("problems".into(), json!(report.problems)),
            ("missing_ticks".into(), json!(missing)),
        ]);
        say!("{}", Value::Object(map));
    } else {
        for problem in &report.problems {
            say!("{problem}");
        }
        say!(
            "{}: {} frames, {} events, {:.3} s, {} ticks without a frame, {} lost by the recorder",
            if report.info.ok { "sound" } else { "not sound" },
            report.info.frames,
            report.info.events,
            report.info.seconds,
            report.missing_ticks(),
            report.info.drops,
        );
    }
    if report.info.ok {
        return Ok(());
    }
    let advice = if report.info.finished {
        "what is sound can still be read and exported"
    } else {
        "pantobench session recover makes a whole file of what is there"
    };
    Err(Failure::Result(format!(
        "'{}' has {} problem(s); {advice}",
        a.path.display(),
        report.problems.len()
    )))
}
