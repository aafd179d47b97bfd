//! What a recording is: who tested what, when, under which conditions; and what must be known before reading on.

use crate::recording::CONDITIONS;
use crate::report::document::{Block, Fact, Tone};
use crate::report::evidence::Evidence;
use rt_core::record::name::Moment;

/// What stands above everything else: a trip, a cut, damage.
pub fn warnings(evidence: &Evidence) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut warn = |tone: Tone, words: String| blocks.push(Block::Notice(tone, words));
    if let Some(trip) = evidence.trip() {
        warn(Tone::Bad, format!("THE RUN TRIPPED. {trip}"));
    }
    if evidence.end.is_none() {
        let words = "THE RECORDING WAS CUT OFF: it has no end and no result. What follows is of what was kept.";
        warn(Tone::Bad, words.into());
    }
    if evidence.end.as_ref().is_some_and(|e| e.recovered) {
        let words = "The recording was cut off and recovered: its last moments may be missing.";
        warn(Tone::Warning, words.into());
    }
    if !evidence.damage.is_empty() {
        let words = format!(
            "PARTS OF THE FILE CANNOT BE READ: {}",
            evidence.damage.join("; ")
        );
        warn(Tone::Bad, words);
    }
    for line in evidence.widened() {
        warn(Tone::Warning, format!("WITH WIDENED LIMITS: {line}"));
    }
    if evidence.info.drops > 0 {
        let words = format!(
            "{} frames were lost before they could be recorded.",
            evidence.info.drops
        );
        warn(Tone::Warning, words);
    }
    if let Some(parent) = evidence.header.further.get("parent") {
        let words = format!("This run was made of another recording: {parent}");
        warn(Tone::Plain, words);
    }
    blocks
}

fn stated(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Identity, specimen and conditions.
pub fn blocks(evidence: &Evidence) -> Vec<Block> {
    let header = &evidence.header;
    let moment = |when: Moment| when.iso().replace('T', " ");
    let t0 = header.t0_unix_nanos;
    let date = format!(
        "{} local time, {} UTC",
        moment(Moment::local(t0)),
        moment(Moment::utc(t0))
    );
    let ended = match &evidence.end {
        Some(end) => end.reason.clone(),
        None => "cut off".into(),
    };
    let speed = header.speed_kmh.map(|v| format!("{v} km/h"));
    let identity = vec![
        Fact::literal("Recording", evidence.name.clone()),
        Fact::literal(
            "Identifier (SHA-256 of the file)",
            evidence.hashes.sha256.clone(),
        ),
        Fact::or_missing("Title", stated(&header.title)),
        Fact::new("Loop started", date),
        Fact::new(
            "Length",
            format!(
                "{:.3} s, {} frames, period {} ms",
                evidence.info.seconds,
                evidence.info.frames,
                header.period_nanos as f64 * 1e-6
            ),
        ),
        Fact::or_missing("Ended", stated(&ended)),
        Fact::or_missing(
            "Recorded by",
            Some(header.software_version.clone())
                .filter(|v| !v.is_empty())
                .map(|v| format!("Pantobench {v}")),
        ),
        Fact::or_missing("Operator", stated(&header.operator)),
        Fact::or_missing("Notes", stated(&header.notes)),
    ];
    let line = match header.line.as_str() {
        "" => "no line file: a string, or none".to_owned(),
        name => name.to_owned(),
    };
    let arrangement = vec![
        Fact::new("Bench", header.bench.clone()),
        Fact::or_missing("Specimen", stated(&header.specimen)),
        Fact::new("Line", line),
        Fact::or_missing("Speed", speed),
        Fact::or_missing("Rig", evidence.sensor.rig.clone()),
    ];
    let conditions = CONDITIONS
        .iter()
        .map(|(key, name)| Fact::or_missing(*name, header.environment.get(*key).cloned()))
        .collect();
    vec![
        Block::Heading(1, "Identity".into()),
        Block::Facts(identity),
        Block::Heading(2, "Specimen and arrangement".into()),
        Block::Facts(arrangement),
        Block::Heading(2, "Environment".into()),
        Block::Facts(conditions),
    ]
}
