//! Calibrations in tables and words: all of them, one in full, and whether a rig's are valid.

use super::{
    CheckArguments, ListArguments, ShowArguments, cells_of, own_directory, tell_problems, to_json,
    validity_json,
};
use crate::cli::{Failure, text};
use rt_core::calibration::date::Date;
use rt_core::calibration::fit::Direction;
use rt_core::calibration::store::Stored;
use rt_core::calibration::{Calibration, Validity, WARN_DAYS};
use serde_json::{Value, json};

/// Lists calibrations.
pub fn list(a: &ListArguments) -> Result<(), Failure> {
    let library = a.places.library()?;
    let is_wanted = |s: &&Stored| {
        a.cell
            .as_ref()
            .is_none_or(|cell| *cell == s.calibration.cell)
    };
    let wanted: Vec<&Stored> = library.calibrations.iter().filter(is_wanted).collect();
    if a.json {
        let all: Vec<Value> = wanted
            .iter()
            .map(|s| to_json(&s.calibration, Some(&s.path)))
            .collect();
        say!(
            "{}",
            json!({ "calibrations": all, "problems": library.problems })
        );
        return Ok(());
    }
    if wanted.is_empty() {
        say!("no calibrations; take one with 'pantobench calibrate new', see its --help");
        return Ok(());
    }
    let row = |s: &&Stored| {
        let c = &s.calibration;
        vec![
            c.id.to_string(),
            c.cell.clone(),
            c.kind.name().to_owned(),
            c.made.date().to_string(),
            c.validity(Date::today(), WARN_DAYS).to_string(),
            format!("{} N/({})", text::number(c.line.slope_n_per_unit), c.unit),
            format!("{} N", text::number(c.line.offset_n)),
        ]
    };
    let heading = ["id", "cell", "kind", "made", "validity", "slope", "offset"];
    text::table(&heading, &wanted.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

/// Shows one in full.
pub fn show(a: &ShowArguments) -> Result<(), Failure> {
    let library = a.places.library()?;
    let stored = library.find(&a.id).map_err(Failure::input)?;
    if a.json {
        say!("{}", to_json(&stored.calibration, Some(&stored.path)));
    } else {
        print(&stored.calibration);
    }
    Ok(())
}

/// A calibration for people.
pub fn print(c: &Calibration) {
    let fit = c.statistics();
    let or_dash = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| "–".to_owned(), |v| format!("{} {unit}", text::number(v)))
    };
    let validity = c.validity(Date::today(), WARN_DAYS);
    let lines = [
        ("calibration", c.id.to_string()),
        ("load cell", c.cell.clone()),
        ("kind", c.kind.name().to_owned()),
        ("made", c.made.to_string()),
        ("valid until", format!("{} ({validity})", c.valid_until)),
        ("operator", c.operator.clone()),
        ("reference", c.reference.clone()),
        ("notes", c.notes.clone()),
        (
            "after",
            c.before.map_or_else(String::new, |id| id.to_string()),
        ),
        (
            "slope",
            format!("{} N/({})", text::number(c.line.slope_n_per_unit), c.unit),
        ),
        ("offset", format!("{} N", text::number(c.line.offset_n))),
        ("range", format!("{} to {} N", c.low_n, c.high_n)),
        ("linearity", or_dash(fit.linearity_pct, "% of span")),
        ("hysteresis", or_dash(fit.hysteresis_pct, "% of span")),
        ("standard error", or_dash(fit.standard_error_n, "N")),
        ("slope uncertain by", or_dash(fit.slope_error_pct, "%")),
        ("repeatability", or_dash(fit.repeatability_n, "N")),
    ];
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        say!("{name:20}{value}");
    }
    say!();
    let rows: Vec<Vec<String>> = c
        .points
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let way = if fit.directions[i] == Direction::Rising {
                "up"
            } else {
                "down"
            };
            vec![
                (i + 1).to_string(),
                way.to_owned(),
                text::number(p.load_n),
                text::number(p.reading),
                text::number(p.deviation),
                p.samples.to_string(),
                format!("{:+.4}", fit.residuals_n[i]),
            ]
        })
        .collect();
    let reading = format!("reading {}", c.unit);
    let heading = [
        "point",
        "way",
        "load N",
        reading.as_str(),
        "σ",
        "samples",
        "residual N",
    ];
    text::table(&heading, &rows);
}

/// Whether every cell of a rig has a valid calibration.
pub fn check(a: &CheckArguments) -> Result<(), Failure> {
    let own = own_directory(a.directory.as_deref());
    let found = cells_of(&a.rig, &own)?;
    tell_problems(&found.library);
    let today = Date::today();
    let validity = |c: &Option<Calibration>| c.as_ref().map(|c| c.validity(today, a.warn_days));
    let is_good =
        |v: Option<Validity>| matches!(v, Some(Validity::Valid { .. } | Validity::EndsSoon { .. }));
    let bad = found
        .cells
        .iter()
        .filter(|cell| !is_good(validity(&cell.calibration)))
        .count();
    let ok = bad == 0 && found.library.problems.is_empty();
    if a.json {
        let cells = found.cells.iter().map(|cell| {
            json!({
                "cell": cell.id, "name": cell.name,
                "id": cell.calibration.as_ref().map(|c| c.id.to_string()),
                "valid_until": cell.calibration.as_ref().map(|c| c.valid_until.to_string()),
                "validity": validity(&cell.calibration).map(validity_json),
            })
        });
        let cells: Vec<Value> = cells.collect();
        say!(
            "{}",
            json!({ "ok": ok, "cells": cells, "problems": found.library.problems })
        );
    } else if found.cells.is_empty() {
        say!(
            "the rig '{}' has no load cells to calibrate",
            a.rig.display()
        );
    } else {
        let row = |cell: &rt_core::rig::CellSpec| {
            let state = validity(&cell.calibration)
                .map_or_else(|| "never calibrated".into(), |v| v.to_string());
            let of = |get: &dyn Fn(&Calibration) -> String| {
                cell.calibration.as_ref().map_or_else(|| "–".into(), get)
            };
            vec![
                cell.id.clone(),
                cell.name.clone(),
                of(&|c| c.id.to_string()),
                of(&|c| c.valid_until.to_string()),
                state,
            ]
        };
        let rows: Vec<Vec<String>> = found.cells.iter().map(row).collect();
        text::table(
            &["cell", "name", "calibration", "valid until", "state"],
            &rows,
        );
    }
    if ok {
        return Ok(());
    }
    Err(Failure::Result(format!(
        "{bad} load cell(s) without a valid calibration, {} unusable file(s); take one with 'pantobench calibrate new'",
        found.library.problems.len()
    )))
}
