//! `pantobench calibrate`: calibrations of load cells listed, shown, taken and checked.

mod new;
mod show;

use super::Failure;
use crate::home;
use drivers::rig_file::{self, FoundCells};
use rt_core::calibration::date::Date;
use rt_core::calibration::fit::Direction;
use rt_core::calibration::store::Library;
use rt_core::calibration::{Calibration, Validity, WARN_DAYS};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `pantobench calibrate`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench calibrate check --rig assets/rigs/simulated-load-cells.ron\n\n\
                  Exit codes: 0 done, 1 refused, expired or missing, 2 bad input, 3 the disk refuses."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: CalibrateCommand,
}

#[derive(clap::Subcommand)]
enum CalibrateCommand {
    /// All calibrations, the newest first.
    #[command(after_help = "Example: pantobench calibrate list --cell SIM-A")]
    List(ListArguments),
    /// One calibration with its points and residuals.
    #[command(after_help = "Example: pantobench calibrate show SIM-A-2026-11-18")]
    Show(ShowArguments),
    /// Take a calibration from noted points, or from readings of the rig.
    New(Box<new::NewArguments>),
    /// Whether every load cell of a rig has a valid calibration.
    #[command(
        after_help = "Example: pantobench calibrate check --rig assets/rigs/simulated-load-cells.ron"
    )]
    Check(CheckArguments),
}

/// Where calibrations are looked for.
#[derive(clap::Args)]
struct Places {
    /// Look beside this rig file, in addition to one's own calibrations.
    #[arg(long, value_name = "RIG.ron")]
    rig: Option<PathBuf>,
    /// Directory of one's own calibrations, in place of the one in the configuration directory.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

#[derive(clap::Args)]
struct ListArguments {
    #[command(flatten)]
    places: Places,
    /// Only those of this load cell.
    #[arg(long, value_name = "ID")]
    cell: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ShowArguments {
    /// Name of the calibration.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    places: Places,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct CheckArguments {
    /// The rig file.
    #[arg(long, value_name = "RIG.ron")]
    rig: PathBuf,
    /// Directory of one's own calibrations, in place of the one in the configuration directory.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Days before the end of a calibration from which on it is told.
    #[arg(long, value_name = "DAYS", default_value_t = WARN_DAYS)]
    warn_days: i64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        CalibrateCommand::List(a) => show::list(a),
        CalibrateCommand::Show(a) => show::show(a),
        CalibrateCommand::New(a) => new::new(a),
        CalibrateCommand::Check(a) => show::check(a),
    }
}

fn own_directory(named: Option<&Path>) -> PathBuf {
    named.map_or_else(home::calibrations_dir, Path::to_owned)
}

fn cells_of(rig: &Path, own: &Path) -> Result<FoundCells, Failure> {
    rig_file::find_cells(rig, Some(own)).map_err(Failure::input)
}

impl Places {
    fn own(&self) -> PathBuf {
        own_directory(self.directory.as_deref())
    }

    /// All calibrations there; files that cannot be used are told on standard error.
    fn library(&self) -> Result<Library, Failure> {
        let own = self.own();
        let library = match &self.rig {
            Some(rig) => {
                let found = cells_of(rig, &own)?;
                // A rig without load cells has looked nowhere.
                if found.cells.is_empty() {
                    Library::read(&found.directories)
                } else {
                    found.library
                }
            }
            None => Library::read(
                &[home::shipped_calibrations(), Some(own)]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>(),
            ),
        };
        tell_problems(&library);
        Ok(library)
    }
}

fn tell_problems(library: &Library) {
    for problem in &library.problems {
        tell!("warning: {problem}");
    }
}

fn validity_json(validity: Validity) -> Value {
    let days_left = match validity {
        Validity::Valid { days_left } | Validity::EndsSoon { days_left } => days_left,
        Validity::Expired { days_ago } => -days_ago,
    };
    json!({ "state": validity.name(), "days_left": days_left })
}

fn to_json(c: &Calibration, path: Option<&Path>) -> Value {
    let fit = c.statistics();
    let with_residuals = c.points.iter().zip(&fit.residuals_n).zip(&fit.directions);
    let points = with_residuals.map(|((p, residual), direction)| {
        json!({
            "load_n": p.load_n, "reading": p.reading, "deviation": p.deviation, "samples": p.samples,
            "seconds": p.seconds, "residual_n": residual, "rising": *direction == Direction::Rising,
        })
    });
    json!({
        "id": c.id.as_str(), "cell": c.cell, "unit": c.unit, "kind": c.kind.name(),
        "made": c.made.to_string(), "valid_until": c.valid_until.to_string(),
        "validity": validity_json(c.validity(Date::today(), WARN_DAYS)),
        "operator": c.operator, "reference": c.reference, "notes": c.notes,
        "before": c.before.map(|id| id.to_string()),
        "slope_n_per_unit": c.line.slope_n_per_unit, "offset_n": c.line.offset_n,
        "low_n": c.low_n, "high_n": c.high_n,
        "linearity_pct": fit.linearity_pct, "hysteresis_pct": fit.hysteresis_pct,
        "standard_error_n": fit.standard_error_n, "slope_error_pct": fit.slope_error_pct,
        "repeatability_n": fit.repeatability_n, "noise_n": fit.noise_n,
        "points": points.collect::<Vec<_>>(), "path": path,
    })
}
