//! Iterative validation: how the force changed from round to round, and how far the run is from what it came to. From the
//! recordings of the rounds, and from what `pantobench iterate --json` said.

use crate::report::document::{Block, Cell, Side, Table, Tone, decimal};
use crate::report::evidence::Evidence;
use crate::report::figures;
use serde_json::Value;

/// Entries of the header of a round.
const ITERATION: &str = "iteration";
const PARENT_HASH: &str = "parent_hash";

/// The number of the round that a recording is of; `None` for every other.
pub fn round(evidence: &Evidence) -> Option<usize> {
    evidence.header.further.get(ITERATION)?.parse().ok()
}

/// Whether a recorded hash is that of a recording.
fn is_of(evidence: &Evidence, recorded: Option<&String>) -> bool {
    recorded.is_some_and(|recorded| evidence.hashes.include(recorded))
}

/// The rounds that are among recordings, in order, each made of the one before.
fn chains(all: &[Evidence]) -> Vec<Vec<&Evidence>> {
    let mut rounds: Vec<(usize, &Evidence)> =
        all.iter().filter_map(|e| Some((round(e)?, e))).collect();
    rounds.sort_by_key(|(index, _)| *index);
    let mut chains: Vec<Vec<&Evidence>> = Vec::new();
    for (_, evidence) in rounds {
        let parent = evidence.header.further.get(PARENT_HASH);
        let made_of =
            |chain: &&mut Vec<&Evidence>| chain.last().is_some_and(|last| is_of(last, parent));
        match chains.iter_mut().find(made_of) {
            Some(chain) => chain.push(evidence),
            None => chains.push(vec![evidence]),
        }
    }
    chains
}

/// What the rounds among recordings say.
pub fn blocks(all: &[Evidence], stated: Option<&Value>) -> Vec<Block> {
    let chains = chains(all);
    if chains.is_empty() && stated.is_none() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading(1, "Iterative validation".into())];
    blocks.push(Block::Paragraph(
        "The force of the run is applied offline to the line, the wire's heights are played on the rig without feedback, and the \
         force is measured again, until it no longer changes. What it then is, is the reference for the run."
            .into(),
    ));
    for chain in &chains {
        blocks.extend(convergence(all, chain));
    }
    match stated {
        Some(stated) => blocks.extend(errors(stated)),
        None => blocks.push(Block::Notice(
            Tone::Missing,
            "How far the run is from the reference is not in the recordings: the option --validation takes what pantobench iterate \
             --json said."
                .into(),
        )),
    }
    blocks
}

fn convergence(all: &[Evidence], chain: &[&Evidence]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
        return blocks;
    };
    let parent = first.header.further.get(PARENT_HASH);
    let run = all.iter().find(|e| is_of(e, parent));
    let run = match (run, first.header.further.get("parent")) {
        (Some(run), _) => run.name.clone(),
        (None, Some(path)) => format!("{path}, which is not part of this report"),
        (None, None) => "a recording that is not named".into(),
    };
    let end = last.end.as_ref();
    let has_converged = end
        .and_then(|e| e.result.get("converged"))
        .is_some_and(|c| c == "true");
    let tolerance = last.header.further.get("tolerance_pct");
    let tolerance = tolerance.map_or("an unknown limit".into(), |t| format!("{t} %"));
    let (tone, words) = if has_converged {
        (
            Tone::Good,
            "converged: the force no longer changes by more than",
        )
    } else {
        (
            Tone::Warning,
            "NOT shown to have converged: the last round given changes the force by more than",
        )
    };
    blocks.push(Block::Notice(
        tone,
        format!("Rounds of {run}: {words} {tolerance} of its mean."),
    ));
    let mut table = Table::new(
        "Rounds",
        &[
            ("round", Side::Right),
            ("change, %", Side::Right),
            ("part of the step", Side::Right),
            ("F_m, N", Side::Right),
            ("σ, N", Side::Right),
            ("recording", Side::Left),
        ],
    );
    let mut changes = Vec::new();
    for evidence in chain {
        let index = round(evidence);
        let change = evidence.stated("change_pct");
        changes.extend(index.zip(change).map(|(i, c)| [i as f64, c]));
        let relaxation = evidence
            .header
            .further
            .get("relaxation")
            .and_then(|r| r.parse().ok());
        table.rows.push(vec![
            Cell::number(index.map(|i| i as f64), 0),
            Cell::number(change, 3),
            Cell::number(relaxation, 2),
            Cell::number(evidence.stated("mean_n"), 2),
            Cell::number(evidence.stated("std_n"), 2),
            Cell::literal(evidence.name.clone()),
        ]);
    }
    blocks.push(Block::Table(table));
    let limit = last
        .header
        .further
        .get("tolerance_pct")
        .and_then(|t| t.parse().ok());
    blocks.extend(figures::convergence(changes, limit).map(Block::Figure));
    blocks
}

/// What `pantobench iterate --json` said.
fn errors(stated: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(verdict) = stated["verdict"].as_str() {
        let tone = if stated["converged"] == true {
            Tone::Good
        } else {
            Tone::Warning
        };
        let title = stated["title"].as_str().unwrap_or("the run");
        blocks.push(Block::Notice(tone, format!("{title}: {verdict}.")));
    }
    let mut table = Table::new(
        "Error indices in % of the mean force, by band in time (and in frequency)",
        &[("compared", Side::Left), ("0–20 Hz", Side::Right)],
    );
    let kinds = [
        (
            "hil",
            "error_hil_pct",
            "the run against the converged reference",
        ),
        (
            "vs_implicit",
            "error_vs_implicit_pct",
            "the reference against the coupled solution",
        ),
        (
            "hil_vs_implicit",
            "error_hil_vs_implicit_pct",
            "the run against the coupled solution with k_i",
        ),
        (
            "interaction_spring",
            "interaction_spring_pct",
            "the share of k_i in series with the pad",
        ),
    ];
    let bands = stated["errors"]["hil"]["bands"].as_array();
    let bands: Vec<&Value> = bands.into_iter().flatten().skip(1).collect();
    for band in &bands {
        let hz = |key: &str| {
            band[key]
                .as_f64()
                .map_or_else(|| "?".into(), |f| f.to_string())
        };
        table.columns.push((
            format!("{}–{} Hz", hz("low_hz"), hz("high_hz")),
            Side::Right,
        ));
    }
    for (key, pct, name) in kinds {
        let mut row: Vec<Cell> = vec![name.into(), Cell::number(stated[pct].as_f64(), 2)];
        for i in 1..=bands.len() {
            let band = &stated["errors"][key]["bands"][i];
            let [time, frequency] = ["time_pct", "frequency_pct"].map(|k| band[k].as_f64());
            row.push(match (time, frequency) {
                (Some(t), Some(f)) => format!("{} ({})", decimal(t, 2), decimal(f, 2)).into(),
                _ => Cell::number(time, 2),
            });
        }
        table.rows.push(row);
    }
    blocks.push(Block::Table(table));
    blocks
}
