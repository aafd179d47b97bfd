//! What the standard says, from its file: limits, filter, edition; and what of it is held.

use super::document::{Block, Cell, Side, Table, Tone, decimal};
use super::evidence::force::ForceEvidence;
use crate::analysis::force_limits::{ForceLimits, Judged};

/// A limit with its verdict, in words.
fn row(judged: &Judged) -> Vec<Cell> {
    let decimals = if judged.unit.is_empty() { 3 } else { 1 };
    let unit = |v: f64| {
        let text = decimal(v, decimals);
        format!("{text} {}", judged.unit).trim_end().to_owned()
    };
    let (verdict, tone) = verdict(judged.is_held);
    vec![
        judged.what.into(),
        unit(judged.found).into(),
        format!("{} {}", judged.relation, unit(judged.limit)).into(),
        Cell::toned(verdict, tone),
    ]
}

/// Held or not, in words and tone.
pub fn verdict(is_held: bool) -> (&'static str, Tone) {
    if is_held {
        ("held", Tone::Good)
    } else {
        ("NOT held", Tone::Bad)
    }
}

/// The limits of the standard against what was found.
pub fn blocks(limits: &ForceLimits, force: &ForceEvidence, speed_kmh: Option<f64>) -> Vec<Block> {
    let judged = limits.judge(&force.report.filtered, speed_kmh);
    let mut table = Table::new(
        format!("Limits of {}", limits.edition),
        &[
            ("quantity", Side::Left),
            ("found", Side::Right),
            ("limit", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    table.rows = judged.iter().map(row).collect();
    let mut blocks = vec![Block::Table(table)];
    if speed_kmh.is_none() {
        blocks.push(Block::Notice(
            Tone::Warning,
            "The speed is not known, so that the limit of F_m + 3σ cannot be chosen.".into(),
        ));
    }
    if let Some((curve, speed)) = speed_kmh.and_then(|v| Some((limits.mean_curve_n(v)?, v))) {
        blocks.push(Block::Paragraph(format!(
            "Mean force curve of the standard at {speed:.0} km/h: {curve:.1} N; F_m is {} N away from it. The curve is what a \
             pantograph is set to and is not judged here.",
            decimal(force.report.filtered.mean - curve, 1)
        )));
    }
    blocks.push(Block::Paragraph(limits.remarks.clone()));
    blocks
}

/// Whether every limit that could be judged is held.
pub fn is_held(limits: &ForceLimits, force: &ForceEvidence, speed_kmh: Option<f64>) -> bool {
    let judged = limits.judge(&force.report.filtered, speed_kmh);
    judged.iter().all(|j| j.is_held)
}
