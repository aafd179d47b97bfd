//! `pantobench validate`: our reference solver against the acceptance bands of a standard.

use super::progress::Progress;
use super::{Failure, text};
use crate::home;
use rt_core::file;
use rt_core::model::catenary::{Line, Standard};
use rt_core::model::pantograph::Pantograph;

/// Arguments of `pantobench validate`.
#[derive(clap::Args)]
#[command(after_help = "Example: pantobench validate en50318")]
pub struct Arguments {
    /// Which standard.
    #[arg(value_enum)]
    standard: Known,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Known {
    /// EN 50318:2002, its reference model at 250 and 300 km/h.
    En50318,
}

/// Validates and prints; a band that is not held is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Known::En50318 = arguments.standard;
    let asset = |path: String| home::find(&path).map_err(Failure::Input);
    let standard: Standard =
        file::load(&asset("assets/standards/en50318-2002.ron".into())?).map_err(Failure::input)?;
    let line: Line = file::load(&asset(format!("assets/lines/{}.ron", standard.line))?)
        .map_err(Failure::input)?;
    let pantograph: Pantograph = file::load(&asset(format!(
        "assets/pantographs/{}.ron",
        standard.pantograph
    ))?)
    .map_err(Failure::input)?;
    let mut progress = Progress::new("validating");
    let result = standard.validate(&line, &pantograph, &mut |part| progress.set(part));
    drop(progress);
    let result = result.map_err(Failure::input)?;
    if arguments.json {
        say!(
            "{}",
            serde_json::to_string(&result).map_err(|e| Failure::Environment(e.to_string()))?
        );
    } else {
        say!(
            "{}; filter: Butterworth order {} at {} Hz, both ways",
            standard.edition,
            standard.filter.order,
            standard.filter.cutoff_hz
        );
        for case in &result.cases {
            say!("\n{} km/h", case.speed_kmh);
            let rows: Vec<Vec<String>> = case
                .bands
                .iter()
                .map(|b| {
                    let held = if b.held { "held" } else { "NOT HELD" };
                    vec![
                        b.name.into(),
                        held.into(),
                        format!("{:.2}", b.value),
                        b.low.to_string(),
                        b.high.to_string(),
                    ]
                })
                .collect();
            text::table(&["band", "", "value", "low", "high"], &rows);
        }
        say!();
    }
    if result.held {
        Ok(())
    } else {
        Err(Failure::Result(format!(
            "{}: not every band is held",
            standard.edition
        )))
    }
}
