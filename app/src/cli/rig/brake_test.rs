//! `pantobench rig brake-test`: whether the brake holds the motor without power.

use super::{Failure, say, tell_next};
use crate::cli::run::stop_flag;
use crate::rig_work::brake_test::{WATCH_S, brake_test};
use crate::rig_work::play::Stand;
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `pantobench rig brake-test`.
#[derive(clap::Args)]
#[command(
    after_help = "Example: pantobench rig brake-test assets/rigs/simulated-vertical-brake.ron\n\n\
                  Nothing is switched on: the motor is watched with its brake engaged, under its weight and the specimen's \
                  force. Keep out of reach all the same: a brake that fails lets it fall."
)]
pub struct BrakeTestArguments {
    /// The rig file.
    #[arg(value_name = "RIG.ron")]
    rig: PathBuf,
    /// How long the motor is watched, in s.
    #[arg(long, value_name = "S", default_value_t = WATCH_S)]
    seconds: f64,
    /// Work as fast as the machine can on a rig that is emulated in this process; simulated rigs always are.
    #[arg(long)]
    fast: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub fn run(a: &BrakeTestArguments) -> Result<(), Failure> {
    let mut stand = Stand::load(&a.rig, stop_flag()?)?;
    stand.fast = a.fast;
    let tested = brake_test(&stand, a.seconds, &mut say)?;
    if a.json {
        say!(
            "{}",
            json!({
                "held": tested.is_held(), "creep_mm": 1e3 * tested.creep_m, "allowed_mm": 1e3 * tested.allowed_m,
                "seconds": tested.seconds, "position_m": tested.position_m, "force_n": tested.force_n,
                "load_n": tested.load_n,
            })
        );
    } else {
        let load = tested
            .load_n
            .map_or_else(|| "an unknown load".to_owned(), |n| format!("{n:+.1} N"));
        say!(
            "crept by {:+.3} mm in {} s under {load} at {:.4} m; allowed: {:.3} mm",
            1e3 * tested.creep_m,
            tested.seconds,
            tested.position_m,
            1e3 * tested.allowed_m
        );
    }
    match tested.problem() {
        None => {
            tell_next("brake-test");
            Ok(())
        }
        Some(problem) => Err(Failure::Result(problem)),
    }
}
