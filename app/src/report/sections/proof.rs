//! What the figures rest on: timing of the loop, calibrations, files and their hashes, and how to do it all again.

use crate::report::document::{Block, Cell, Fact, Side, Table, Tone, decimal};
use crate::report::evidence::Evidence;
use crate::report::evidence::timing::Durations;
use crate::report::figures;

/// Everything that the figures rest on.
pub fn blocks(evidence: &Evidence) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, "Timing of the loop".into())];
    blocks.extend(timing(evidence));
    blocks.push(Block::Heading(1, "Traceability".into()));
    blocks.push(Block::Heading(2, "Calibrations".into()));
    blocks.extend(calibrations(evidence));
    blocks.push(Block::Heading(2, "Files".into()));
    blocks.extend(files(evidence));
    blocks.push(Block::Heading(2, "Events".into()));
    blocks.push(events(evidence));
    blocks.push(Block::Heading(2, "Doing it again".into()));
    blocks.extend(again(evidence));
    blocks
}

fn timing(evidence: &Evidence) -> Vec<Block> {
    let (timing, header) = (&evidence.timing, &evidence.header);
    let real_time = &header.real_time;
    let mut blocks = Vec::new();
    if real_time.get("clock").is_some_and(|c| c == "exact") {
        blocks.push(Block::Notice(
            Tone::Plain,
            "The run was computed on an exact clock, not in real time: every cycle was punctual by construction, and there is no \
             latency to prove."
                .into(),
        ));
    }
    let count = |v: Option<u64>| v.map(|n| n.to_string());
    let bad = |name: &str, v: Option<u64>| Fact {
        tone: if v.is_some_and(|n| n > 0) {
            Tone::Warning
        } else {
            Tone::Plain
        },
        ..Fact::or_missing(name, count(v))
    };
    let overruns = bad("Missed deadlines (overruns)", timing.overruns);
    let skipped = bad("Skipped cycles", timing.skipped);
    let missing = bad("Ticks without a frame in the file", Some(timing.missing));
    let lost = bad("Frames lost by the recorder", Some(evidence.info.drops));
    let mut facts = vec![
        Fact::new("Cycles in the file", timing.frames.to_string()),
        overruns,
        skipped,
        missing,
        lost,
    ];
    for (key, name) in [
        ("clock", "Clock"),
        ("scheduler", "Scheduler"),
        ("priority", "Priority"),
        ("cpu", "Processor of its own"),
        ("memory_locked", "Memory locked"),
        ("kept_awake", "Processors kept awake"),
        ("preempt_rt", "PREEMPT_RT kernel"),
        ("governor", "Frequency governor"),
        ("missing", "Real-time rights that were missing"),
    ] {
        match real_time.get(key) {
            Some(value) => facts.push(Fact::new(name, value.clone())),
            None if key == "clock" => facts.push(Fact::or_missing(name, None)),
            None => {}
        }
    }
    // What an exact clock or an unfinished setup leaves open is missing, not unknown.
    if real_time.get("clock").is_some_and(|c| c == "real") && !real_time.contains_key("missing") {
        facts.push(Fact::new("Real-time rights that were missing", "none"));
    }
    blocks.push(Block::Facts(facts));
    if timing.wake.max().is_none_or(|m| m <= 0.0) && timing.exec.max().is_none_or(|m| m <= 0.0) {
        blocks.push(Block::Paragraph("There are no durations to show.".into()));
        return blocks;
    }
    let mut table = Table::new(
        "Durations in µs",
        &[
            ("", Side::Left),
            ("median", Side::Right),
            ("99 %", Side::Right),
            ("99.9 %", Side::Right),
            ("longest", Side::Right),
            ("cycles", Side::Right),
        ],
    );
    let mut row = |name: &str, d: &Durations| {
        table.rows.push(vec![
            name.into(),
            Cell::number(d.percentile(0.5), 1),
            Cell::number(d.percentile(0.99), 1),
            Cell::number(d.percentile(0.999), 1),
            Cell::number(d.max(), 1),
            d.count().to_string().into(),
        ]);
    };
    row("wake-up latency", &timing.wake);
    row("execution of a cycle", &timing.exec);
    blocks.push(Block::Table(table));
    let period_us = header.period_nanos as f64 * 1e-3;
    blocks.extend(figures::timing(timing, period_us).map(Block::Figure));
    blocks
}

fn calibrations(evidence: &Evidence) -> Vec<Block> {
    let sensor = &evidence.sensor;
    if sensor.cells.is_empty() {
        let words = "No calibration is named: the rig gives newtons by itself.";
        return vec![Block::Notice(Tone::Missing, words.into())];
    }
    let mut table = Table::new(
        "Calibrations in use when the recording began",
        &[
            ("load cell", Side::Left),
            ("calibration", Side::Left),
            ("valid until", Side::Left),
            ("residuals, N", Side::Right),
            ("slope, ± %", Side::Right),
            ("hysteresis, %", Side::Right),
            ("remark", Side::Left),
        ],
    );
    for cell in &sensor.cells {
        let mut row: Vec<Cell> = vec![cell.cell.clone().into(), cell.calibration.clone().into()];
        match &cell.found {
            Ok((calibration, fit)) => row.extend([
                calibration.valid_until.to_string().into(),
                Cell::number(fit.standard_error_n, 3),
                Cell::number(fit.slope_error_pct, 4),
                Cell::number(fit.hysteresis_pct, 3),
                format!("{}, {}", calibration.operator, calibration.reference).into(),
            ]),
            Err(why) => {
                row.extend([
                    Cell::number(None, 0),
                    Cell::number(None, 0),
                    Cell::number(None, 0),
                    Cell::number(None, 0),
                ]);
                row.push(Cell::toned(why.clone(), Tone::Missing));
            }
        }
        table.rows.push(row);
    }
    let mut blocks = vec![Block::Table(table)];
    for words in &sensor.exchanged {
        blocks.push(Block::Notice(
            Tone::Warning,
            format!("Exchanged while it was recorded: {words}"),
        ));
    }
    blocks
}

fn files(evidence: &Evidence) -> Vec<Block> {
    let header = &evidence.header;
    let mut table = Table::new(
        "Files that the recording carries, with their hashes (SHA-256, as sha256sum prints it; 16 digits are FNV-1a of an older version)",
        &[
            ("part", Side::Left),
            ("hash", Side::Left),
            ("path when it was recorded", Side::Left),
        ],
    );
    for (part, hash) in &header.model_hashes {
        let path = header.further.get(&format!("path_of_{part}"));
        table.rows.push(vec![
            part.clone().into(),
            Cell::literal(hash.clone()),
            path.map_or_else(
                || Cell::toned("not stated", Tone::Missing),
                |p| Cell::literal(p.clone()),
            ),
        ]);
    }
    if table.rows.is_empty() {
        let words = "The recording names no files and no hashes.";
        return vec![Block::Notice(Tone::Missing, words.into())];
    }
    vec![Block::Table(table)]
}

fn events(evidence: &Evidence) -> Block {
    // Long lists belong to `session info`.
    const MOST: usize = 40;
    if evidence.events.is_empty() {
        return Block::Notice(Tone::Missing, "The recording holds no events.".into());
    }
    let count = evidence.events.len();
    let caption = if count > MOST {
        format!("The first {MOST} of {count} events; pantobench session info shows all")
    } else {
        format!("All {count} events")
    };
    let mut table = Table::new(caption, &[("time, s", Side::Right), ("what", Side::Left)]);
    for event in evidence.events.iter().take(MOST) {
        let tone = if ["trip", "warning"].contains(&event.kind.as_str()) {
            Tone::Bad
        } else {
            Tone::Plain
        };
        table.rows.push(vec![
            decimal(event.t_nanos as f64 * 1e-9, 3).into(),
            Cell::toned(event.text.clone(), tone),
        ]);
    }
    Block::Table(table)
}

fn again(evidence: &Evidence) -> Vec<Block> {
    let header = &evidence.header;
    let arguments = header.further.get("arguments").filter(|a| !a.is_empty());
    let session = header.further.get("path_of_session.ron");
    let run = match (arguments, session) {
        (Some(arguments), _) if arguments.starts_with("run ") => format!("pantobench {arguments}"),
        (_, Some(session)) => format!("pantobench run {session} --record recordings"),
        _ => String::new(),
    };
    let mut blocks = vec![
        Block::Paragraph("The run (a command as it was given, without quotation marks, or the one that does the same):".into()),
    ];
    blocks.push(if run.is_empty() {
        Block::Notice(
            Tone::Missing,
            "The recording does not say which session it was.".into(),
        )
    } else {
        Block::Code(run)
    });
    blocks.push(Block::Paragraph(
        "The proof that its frames follow from its measurements, to the last bit:".into(),
    ));
    blocks.push(Block::Code(format!(
        "pantobench session replay {}.mcap",
        evidence.name
    )));
    blocks
}
