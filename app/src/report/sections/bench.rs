//! How the bench did: tracking, its own result, controller and margins.

use crate::report::document::{Block, Cell, Fact, Side, Table, Tone, decimal};
use crate::report::evidence::Evidence;
use crate::report::figures;
use rt_core::bench::Prospect;
use rt_core::control::assessment::Verdict;
use serde_json::Value;

/// Everything about the bench itself.
pub fn blocks(evidence: &Evidence) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, "Bench and controller".into())];
    blocks.extend(tracking(evidence));
    blocks.extend(result(evidence));
    blocks.extend(controller(evidence));
    blocks
}

fn tracking(evidence: &Evidence) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, "Tracking of the motor".into())];
    match (&evidence.tracking, &evidence.force) {
        (Some(tracking), Ok(force)) => {
            if let Some((mean, std, most)) = tracking.mean_std_max {
                blocks.push(Block::Paragraph(format!(
                    "Error of the motor in the evaluated stretch: mean {} mm, σ {} mm, at most {} mm.",
                    decimal(mean, 3),
                    decimal(std, 3),
                    decimal(most, 3)
                )));
            }
            blocks.push(Block::Figure(figures::tracking(tracking, force)));
        }
        _ => blocks.push(Block::Notice(
            Tone::Missing,
            "The tracking error is not known: there is no evaluated stretch, or no such channel."
                .into(),
        )),
    }
    blocks
}

fn number(value: &Value, decimals: usize, unit: &str) -> Option<String> {
    let text = decimal(value.as_f64()?, decimals);
    Some(format!("{text} {unit}").trim_end().to_owned())
}

/// The bench's own result: the steady state, or the distance to the implicit reference.
fn result(evidence: &Evidence) -> Vec<Block> {
    let result = match &evidence.result {
        Ok(result) => result,
        Err(why) if evidence.header.bench == "pantograph-lqg" => {
            return vec![
                Block::Heading(2, "Error against the implicit reference".into()),
                Block::Notice(
                    Tone::Missing,
                    format!("Not computed: {why}. The option --against implicit computes it."),
                ),
            ];
        }
        Err(why) if evidence.header.bench == "pantograph-steady" => {
            return vec![
                Block::Heading(2, "Steady state".into()),
                Block::Notice(Tone::Missing, format!("Not known: {why}.")),
            ];
        }
        Err(_) => return Vec::new(),
    };
    if result["direct"].is_object() {
        let converged = match result["converged"].as_bool() {
            Some(true) => ("two spans agree".to_owned(), Tone::Good),
            Some(false) => ("two spans do NOT agree yet".to_owned(), Tone::Bad),
            None => ("no agreement was asked for".to_owned(), Tone::Missing),
        };
        let mut facts = vec![Fact {
            name: "Steady state".into(),
            value: converged.0,
            tone: converged.1,
        }];
        for (name, value, decimals, unit) in [
            ("Spans", &result["spans"], 0, ""),
            ("Mean force of the last span", &result["mean_n"], 2, "N"),
            ("σ of the last span", &result["std_n"], 2, "N"),
            ("Largest force of the last span", &result["max_n"], 2, "N"),
            ("Smallest force of the last span", &result["min_n"], 2, "N"),
            (
                "Change from span to span",
                &result["span_change_pct"],
                3,
                "% of σ",
            ),
            (
                "Measured against stored force",
                &result["residual_pct"],
                3,
                "% of σ",
            ),
            ("Direct solution: mean", &result["direct"]["mean_n"], 2, "N"),
            ("Direct solution: σ", &result["direct"]["std_n"], 2, "N"),
            (
                "Distance to the direct solution",
                &result["error_direct_pct"],
                2,
                "% of σ",
            ),
        ] {
            facts.push(Fact::or_missing(name, number(value, decimals, unit)));
        }
        return vec![
            Block::Heading(2, "Steady state".into()),
            Block::Facts(facts),
        ];
    }
    let mut facts = Vec::new();
    for (name, key) in [
        ("0–20 Hz", "error_filtered_pct"),
        ("0–40 Hz", "error_40hz_pct"),
        ("unfiltered", "error_raw_pct"),
    ] {
        facts.push(Fact::or_missing(name, number(&result[key], 2, "%")));
    }
    vec![
        Block::Heading(2, "Error against the implicit reference".into()),
        Block::Paragraph(
            "Deviation of the force from the coupled solution of the same line, pantograph and contact stiffness, in % of its mean."
                .into(),
        ),
        Block::Facts(facts),
    ]
}

fn controller(evidence: &Evidence) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, "Controller and margins".into())];
    match &evidence.prospect {
        Ok(prospect) => blocks.extend(margins(prospect)),
        Err(why) => blocks.push(Block::Notice(Tone::Missing, format!("No margins: {why}."))),
    }
    blocks.push(Block::Table(parameters(evidence)));
    let changes: Vec<_> = evidence
        .events
        .iter()
        .filter(|e| ["parameter", "gains", "gains.refused", "fallback"].contains(&e.kind.as_str()))
        .collect();
    if changes.is_empty() {
        blocks.push(Block::Paragraph(
            "No parameter was changed while it was recorded.".into(),
        ));
    } else {
        let mut table = Table::new(
            "Changes while it was recorded",
            &[
                ("time, s", Side::Right),
                ("what", Side::Left),
                ("ρ", Side::Right),
                ("disk margin", Side::Right),
            ],
        );
        for event in changes {
            table.rows.push(vec![
                decimal(event.t_nanos as f64 * 1e-9, 3).into(),
                event.text.clone().into(),
                Cell::number(event.number("rho"), 5),
                Cell::number(event.number("disk"), 3),
            ]);
        }
        blocks.push(Block::Table(table));
    }
    blocks
}

fn margins(prospect: &Prospect) -> Vec<Block> {
    let (verdict, tone) = match prospect.verdict() {
        Verdict::Stable => ("stable", Tone::Good),
        Verdict::TooLittleMargin { .. } => (
            "stable, with less margin than the session asks for",
            Tone::Warning,
        ),
        Verdict::Unstable { .. } => ("UNSTABLE in the model", Tone::Bad),
    };
    let mut facts = vec![
        Fact {
            name: "The loop as run at the start".into(),
            value: verdict.into(),
            tone,
        },
        Fact::new("Spectral radius ρ", format!("{:.6}", prospect.rho_loop)),
        Fact::new("Disk margin asked for", decimal(prospect.needed_disk, 3)),
    ];
    facts.extend(
        prospect
            .remarks
            .iter()
            .map(|r| Fact::new("Remark", r.clone())),
    );
    let mut blocks = vec![Block::Facts(facts)];
    if prospect.margins.is_empty() {
        let words = "This bench has no margins by channel, or the loop is unstable: the spectral radius says it all.";
        blocks.push(Block::Paragraph(words.into()));
        return blocks;
    }
    let mut table = Table::new(
        "Margins, by where the loop is cut",
        &[
            ("channel", Side::Left),
            ("disk margin", Side::Right),
            ("at, Hz", Side::Right),
            ("gain down, dB", Side::Right),
            ("gain up, dB", Side::Right),
            ("delay, ms", Side::Right),
        ],
    );
    for (name, m) in &prospect.margins {
        table.rows.push(vec![
            (*name).into(),
            decimal(m.disk, 3).into(),
            decimal(m.disk_hz, 2).into(),
            Cell::number(m.gain_down_db, 1),
            Cell::number(m.gain_up_db, 1),
            Cell::number(m.delay_ms, 2),
        ]);
    }
    blocks.push(Block::Table(table));
    blocks
}

fn parameters(evidence: &Evidence) -> Table {
    let mut table = Table::new(
        "Parameters at the start",
        &[
            ("parameter", Side::Left),
            ("what", Side::Left),
            ("value", Side::Right),
            ("unit", Side::Left),
        ],
    );
    let specs = rt_core::bench::specs();
    let bench = specs.iter().find(|b| b.id == evidence.header.bench);
    for (id, value) in &evidence.header.parameters {
        let spec = bench.and_then(|b| b.params.iter().find(|p| p.id == id));
        table.rows.push(vec![
            Cell::literal(id.clone()),
            spec.map_or("", |p| p.label).into(),
            value.to_string().replace('-', "−").into(),
            spec.map_or("", |p| p.unit).into(),
        ]);
    }
    table
}
