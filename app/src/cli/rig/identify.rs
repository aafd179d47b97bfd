//! `pantobench rig identify`: motor, delays and pad of a rig, old against new, and into its file.

use super::{RigArguments, say};
use crate::cli::{Failure, text};
use crate::rig_work::edit;
use crate::rig_work::identify::{Choice, Identified, SpecimenChoice, identify};
use rt_core::identify::Estimate;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example: pantobench rig identify assets/rigs/simulated-dsa-380.ron\n\
                  Example: pantobench rig identify rigs/bench.ron --write\n\n\
                  The motor is moved by less than 2 mm about its parked position, so gently that contact is not lost: \
                  probes that grow, a sweep, steps, and steps of another height which the fit has to predict. Motor: \
                  second order with a delay, each reference held for a cycle. Pad: with the specimen's masses known \
                  (the rig file's pantograph) or clamped. Confidence is 95 %."
)]
pub struct IdentifyArguments {
    #[command(flatten)]
    rig: RigArguments,
    /// Height about which the motor is moved, in m; the parked position if left out.
    #[arg(long, value_name = "M")]
    at: Option<f64>,
    /// The pantograph that stands there, in place of the rig file's.
    #[arg(long, value_name = "PANTOGRAPH.ron", conflicts_with = "clamped")]
    specimen: Option<PathBuf>,
    /// What the pad presses against does not give way.
    #[arg(long)]
    clamped: bool,
    /// Period of the loop, in µs.
    #[arg(long, value_name = "US")]
    period_us: Option<f64>,
    /// Write the result into the rig file; the file as it was is kept beside it.
    #[arg(long, conflicts_with = "out")]
    write: bool,
    /// Write the result to a new file beside the rig file.
    #[arg(long, value_name = "NEW.ron")]
    out: Option<PathBuf>,
}

pub fn run(a: &IdentifyArguments) -> Result<(), Failure> {
    let mut stand = a.rig.stand()?;
    if let Some(us) = a.period_us {
        if !(100.0..=20_000.0).contains(&us) {
            return Err(Failure::Input(format!(
                "--period-us {us} is refused: expected 100 to 20000 µs"
            )));
        }
        stand.period_us = Some(us);
    }
    let specimen = match (&a.specimen, a.clamped) {
        (Some(path), _) => Some(SpecimenChoice::File(path.clone())),
        (None, true) => Some(SpecimenChoice::Clamped),
        (None, false) => None,
    };
    let choice = Choice {
        at_m: a.at,
        specimen,
    };
    let found = identify(&stand, &choice, &mut say)?;
    let written = if a.write || a.out.is_some() {
        let kept = edit::keep(&a.rig.rig, a.out.as_deref(), &found)?;
        if let Some(old) = &kept.old {
            tell!("the file as it was: {}", old.display());
        }
        Some(kept.path)
    } else {
        None
    };
    if a.rig.json {
        say!("{}", to_json(&found, written.as_deref()));
    } else {
        print(&found);
        match &written {
            Some(path) => say!("\nwritten to {}", path.display()),
            None => say!(
                "\nnothing was written; --write puts it into the rig file, --out into a new one"
            ),
        }
    }
    for doubt in found.doubts() {
        tell!("note: {doubt}");
    }
    Ok(())
}

fn estimate(found: Option<Estimate>) -> Value {
    found.map_or(Value::Null, |e| {
        let (low, high) = e.interval_95();
        json!({ "value": e.value, "std_error": e.std_error, "low_95": low, "high_95": high })
    })
}

fn to_json(found: &Identified, written: Option<&Path>) -> Value {
    let mut values = Map::new();
    for row in found.rows() {
        let mut value = estimate(row.found);
        if let Value::Object(map) = &mut value {
            map.insert("before".into(), json!(row.before));
        }
        values.insert(row.id.into(), value);
    }
    json!({
        "at_m": found.at_m, "static_n": found.static_n, "force_swing_n": found.force_swing_n,
        "force_noise_n": found.force_noise_n, "position_noise_m": found.position_noise_m,
        "gain": estimate(Some(found.motor.gain)), "values": values,
        "residual_position_m": found.motor.residual_m,
        "residual_force_n": found.force.as_ref().ok().map(|f| f.residual_n),
        "explained_position_pct": found.motor.explained_pct,
        "explained_force_pct": found.force.as_ref().ok().map(|f| f.explained_pct),
        "predicted_position_pct": found.predicted_position_pct,
        "predicted_force_pct": found.predicted_force_pct,
        "force_problem": found.force.as_ref().err(), "doubts": found.doubts(), "moved_s": found.moved_s,
        "written": written,
    })
}

fn print(found: &Identified) {
    let rows: Vec<Vec<String>> = found
        .rows()
        .iter()
        .map(|row| {
            let shown = |x: Option<f64>| text::number(x.unwrap_or(f64::NAN));
            let half = row.found.map(|e| e.interval_95().1 - e.value);
            let change = row.found.zip(row.before).filter(|(_, b)| *b != 0.0);
            let change = change.map(|(e, b)| 100.0 * (e.value / b - 1.0));
            vec![
                row.label.into(),
                row.unit.into(),
                shown(row.before),
                shown(row.found.map(|e| e.value)),
                shown(half),
                change.map_or_else(|| "–".into(), |pct| format!("{pct:+.2} %")),
            ]
        })
        .collect();
    text::table(
        &["value", "unit", "rig file", "found", "± 95 %", "change"],
        &rows,
    );
    say!(
        "\nnoise at rest: force σ {:.3} N, position σ {:.2} µm; the force swung by {:.0} N about {:.1} N",
        found.force_noise_n,
        1e6 * found.position_noise_m,
        found.force_swing_n,
        found.static_n
    );
    let force = found
        .predicted_force_pct
        .map_or_else(String::new, |pct| format!(" and {pct:.2} % of its force"));
    say!(
        "predicted {:.3} % of the motion{force} of a run that was not fitted",
        found.predicted_position_pct
    );
}
