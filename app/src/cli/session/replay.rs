//! `pantobench session replay`: a recording computed again, exactly or with other parameters.

use super::{failure, open};
use crate::changes::{self, Made};
use crate::cli::progress::Progress;
use crate::cli::run::stop_flag;
use crate::cli::{Failure, text};
use crate::replay::ReplayError;
use crate::replay::difference::{CHECKSUM, Difference, Shown};
use crate::replay::recompute::{Recomputed, recompute};
use crate::replay::what_if::{Along, Alterations, Track, WhatIf, what_if};
use rt_core::record::reader::Session;
use rt_core::signal::comparison::Comparison;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Arguments of `pantobench session replay`.
#[derive(clap::Args)]
pub struct ReplayArguments {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Compute it again from its own measurements and compare every bit; this is what is done without --what-if.
    #[arg(long, conflicts_with = "what_if")]
    recompute: bool,
    /// Run the recorded session again on the simulated rig, with what the further options change.
    #[arg(long)]
    what_if: bool,
    /// A parameter that begins with another value and keeps it, for example q=20; may be repeated.
    #[arg(long, value_name = "ID=VALUE", requires = "what_if")]
    set: Vec<String>,
    /// Change parameters while the bench runs, for example 6:q=500,r=2 after 6 s; may be repeated.
    #[arg(long, value_name = "S:ID=VALUE,…", requires = "what_if")]
    set_at: Vec<String>,
    /// Another rig file.
    #[arg(long, value_name = "RIG.ron", requires = "what_if")]
    rig: Option<PathBuf>,
    /// Apply parameters even if the model says that the loop is unstable or too close to it.
    #[arg(long, requires = "what_if")]
    insist: bool,
    /// Compare both runs with the coupled solution of the same line, pantograph and stiffness.
    #[arg(long, value_enum, value_name = "WHAT", requires = "what_if")]
    against: Option<Against>,
    /// Record the new run to a new file in this directory; it names the recording that it was made of.
    #[arg(long, value_name = "DIR", requires = "what_if")]
    record: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// The implicit reference solver.
    Implicit,
}

/// Does what the arguments say.
pub fn replay(a: &ReplayArguments) -> Result<(), Failure> {
    let session = open(&a.file)?;
    if a.what_if {
        run_otherwise(a, &session)
    } else {
        run_again(a, &session)
    }
}

fn refused(e: ReplayError) -> Failure {
    match e {
        ReplayError::Record(e) => failure(e),
        ReplayError::Stopped | ReplayError::Unpack { .. } => Failure::Environment(e.to_string()),
        _ => Failure::Input(e.to_string()),
    }
}

fn run_again(a: &ReplayArguments, session: &Session) -> Result<(), Failure> {
    let stop = stop_flag()?;
    let frames = session.info().frames.max(1) as f64;
    let mut bar = Progress::new("computing again");
    let found = recompute(session, &mut |done| {
        bar.set(done as f64 / frames);
        !stop.load(Ordering::Relaxed)
    });
    drop(bar);
    let found = found.map_err(refused)?;
    for note in &found.notes {
        tell!("note: {note}");
    }
    if a.json {
        say!("{}", recomputed_json(&found));
    } else {
        print_recomputed(&found);
    }
    if found.is_identical() {
        return Ok(());
    }
    Err(Failure::Result(verdict(&found)))
}

fn shown_json(shown: &Shown) -> Value {
    match shown {
        Shown::Number(x) => json!(x),
        Shown::Text(text) => json!(text),
    }
}

fn recomputed_json(r: &Recomputed) -> Value {
    let difference = r.first_difference.as_ref().map(|d| {
        json!({
            "seq": d.seq, "channel": d.channel, "recorded": shown_json(&d.recorded),
            "recomputed": shown_json(&d.recomputed), "t_s": d.t_s,
        })
    });
    let event = r
        .event_difference
        .as_ref()
        .map(|e| json!({ "seq": e.seq, "recorded": e.recorded, "recomputed": e.recomputed }));
    json!({
        "identical": r.is_identical(), "frames": r.frames, "first_difference": difference,
        "equal": r.equal, "given": r.given, "as_kept": r.as_kept,
        "proven": r.proven.map(|(from, to)| json!({ "from_seq": from, "to_seq": to })),
        "first_event_difference": event, "obstacle": r.obstacle.as_ref().map(ToString::to_string),
        "skipped": r.skipped, "notes": r.notes,
    })
}

fn print_recomputed(r: &Recomputed) {
    match r.proven {
        None => say!("nothing could be computed again"),
        Some((from, to)) => say!(
            "{} of {} frames are identical, from tick {from} to tick {to}; {} ticks in between were skipped",
            r.equal,
            r.frames,
            r.skipped
        ),
    }
    if r.as_kept > 0 {
        say!(
            "{} of them are so only as far as their columns are kept: this older recording lacks the bits of \
             the loop's own timing, without which no checksum can be formed",
            r.as_kept
        );
    }
}

/// Why a recording is not proven to its end.
pub(crate) fn verdict(r: &Recomputed) -> String {
    if let Some(d) = &r.first_difference {
        return difference_text(d);
    }
    if let Some(obstacle) = &r.obstacle {
        return obstacle.to_string();
    }
    if let Some(event) = &r.event_difference {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".into());
        return format!(
            "every frame is identical, but in tick {} the recording says '{}' and the recomputation '{}'",
            event.seq,
            or_none(&event.recorded),
            or_none(&event.recomputed)
        );
    }
    "nothing could be computed again: there is no frame behind one with which the bench was Ready"
        .into()
}

fn difference_text(d: &Difference) -> String {
    if d.channel == CHECKSUM {
        return format!(
            "first difference in tick {} ({:.3} s): no column shows it, but the checksum of all bits; a computed \
             value differs in its last bits, or a measured one was changed in the file",
            d.seq, d.t_s
        );
    }
    format!(
        "first difference in tick {} ({:.3} s), '{}': recorded {}, recomputed {}",
        d.seq, d.t_s, d.channel, d.recorded, d.recomputed
    )
}

fn alterations(a: &ReplayArguments) -> Result<Alterations, Failure> {
    let mut set = Vec::new();
    for text in &a.set {
        let pairs = changes::pairs(text)
            .map_err(|e| Failure::Input(format!("--set {text} is refused: {e}")))?;
        set.extend(pairs);
    }
    let mut set_at = Vec::new();
    for text in &a.set_at {
        let change = changes::parse(text, a.insist)
            .map_err(|e| Failure::Input(format!("--set-at {text} is refused: {e}")))?;
        set_at.push(change);
    }
    Ok(Alterations {
        set,
        set_at,
        rig: a.rig.clone(),
        insist: a.insist,
        against_implicit: a.against.is_some(),
        record: a.record.clone(),
    })
}

fn run_otherwise(a: &ReplayArguments, session: &Session) -> Result<(), Failure> {
    let alterations = alterations(a)?;
    let stop = stop_flag()?;
    let say = |text: &str| tell!("{text}");
    let found = what_if(session, &alterations, say, &stop).map_err(refused)?;
    for note in &found.notes {
        tell!("note: {note}");
    }
    if let Some(recorded) = &found.recording {
        match (recorded.paths.last(), &recorded.problem) {
            (Some(path), _) => tell!("recorded to {}", path.display()),
            (None, problem) => tell!(
                "warning: the new run was not recorded: {}",
                problem.as_deref().unwrap_or("unknown")
            ),
        }
    }
    if a.json {
        say!("{}", what_if_json(session, &alterations, &found));
    } else {
        print_what_if(session, &alterations, &found);
    }
    judge(&found)
}

fn judge(found: &WhatIf) -> Result<(), Failure> {
    if let Some((fault, _, t_s)) = &found.outcome.fault {
        let words = fault.describe(found.computed.layout());
        return Err(Failure::Result(format!(
            "the new run was ended at {t_s:.3} s: {}",
            words.what
        )));
    }
    let refusal = |made: &Made| Some((made.after_s, made.outcome.as_ref().err()?.to_string()));
    if let Some((after_s, refused)) = found.changes.iter().find_map(refusal) {
        return Err(Failure::Result(format!(
            "the change after {after_s} s was refused: {refused}. Insist on it with --insist"
        )));
    }
    if !found.outcome.ran {
        return Err(Failure::Environment(
            "the bench did not run: it was stopped or never became ready".into(),
        ));
    }
    Ok(())
}

fn track_json(track: &Track, result: Option<&Value>) -> Value {
    let channels: Map<String, Value> = track
        .statistics()
        .map(|(spec, s)| {
            let value = json!({ "mean": s.mean(), "std": s.std(), "min": s.min(), "max": s.max() });
            (spec.id.to_owned(), value)
        })
        .collect();
    json!({ "seconds": track.running_s(), "channels": channels, "result": result })
}

fn along_name(along: Along) -> &'static str {
    match along {
        Along::Place => "place",
        Along::Time => "time",
    }
}

fn comparison_json(along: Along, comparison: &Result<Comparison, String>) -> Value {
    match comparison {
        Err(problem) => json!({ "aligned_by": along_name(along), "problem": problem }),
        Ok(c) => json!({
            "aligned_by": along_name(along), "compared": c.compared, "error_pct": c.error_percent,
            "resampling_pct": c.resampling_percent,
            "bands": c.bands.iter().map(|b| json!({
                "low_hz": b.band.low_hz, "high_hz": b.band.high_hz, "error_pct": b.by_filter_percent,
            })).collect::<Vec<_>>(),
        }),
    }
}

fn what_if_json(session: &Session, alterations: &Alterations, found: &WhatIf) -> Value {
    let trip = found.outcome.fault.map(|(fault, _, t_s)| {
        let words = fault.describe(found.computed.layout());
        json!({ "fault": words.id, "t_s": t_s, "measured": words.measured, "limit": words.limit })
    });
    let specs = found.params.specs().iter().enumerate();
    let params: Map<String, Value> = specs
        .map(|(i, spec)| (spec.id.to_owned(), json!(found.params.get(i))))
        .collect();
    let mut computed = track_json(&found.computed, found.results[1].as_ref());
    computed["state"] = json!(found.outcome.final_state());
    computed["trip"] = json!(trip);
    let mut recorded = track_json(&found.recorded, found.results[0].as_ref());
    let end = session.end().map(|end| &end.result);
    for key in ["state", "trip"] {
        recorded[key] = json!(end.and_then(|result| result.get(key)));
    }
    json!({
        "bench": session.header().bench, "what": alterations.words(), "parameters": params,
        "changes": found.changes.iter().map(Made::to_json).collect::<Vec<_>>(),
        "recorded": recorded, "what_if": computed,
        "comparison": comparison_json(found.along, &found.comparison),
        "recording": found.recording.as_ref().and_then(|r| r.paths.last()), "notes": found.notes,
    })
}

fn print_what_if(session: &Session, alterations: &Alterations, found: &WhatIf) {
    say!("{}: {}\n", session.header().title, alterations.words());
    let or_dash = |v: Option<f64>| text::number(v.unwrap_or(f64::NAN));
    let own = |id: &str| id.starts_with("loop.");
    let theirs = found.recorded.statistics().filter(|(s, _)| !own(s.id));
    let rows: Vec<Vec<String>> = theirs
        .filter_map(|(spec, a)| {
            let (_, b) = found.computed.statistics().find(|(s, _)| s.id == spec.id)?;
            let mut row = vec![spec.id.to_owned(), spec.unit.to_owned()];
            row.extend([a.mean(), b.mean(), a.std(), b.std(), a.min(), b.min()].map(or_dash));
            row.extend([a.max(), b.max()].map(or_dash));
            Some(row)
        })
        .collect();
    let heading = [
        "channel", "unit", "mean", "what if", "std", "what if", "min", "what if", "max", "what if",
    ];
    text::table(&heading, &rows);
    say!(
        "\nrunning {:.3} s, what if {:.3} s; ended {}",
        found.recorded.running_s(),
        found.computed.running_s(),
        found.outcome.final_state()
    );
    let both = [
        ("recorded", &found.results[0]),
        ("what if", &found.results[1]),
    ];
    for (name, result) in both.iter().filter_map(|(n, r)| Some((n, r.as_ref()?))) {
        let number = |key: &str| {
            result[key]
                .as_f64()
                .map_or_else(|| "–".into(), text::number)
        };
        say!(
            "{name:9} force, 20 Hz   mean {} N   σ {} N   max {}   min {} N   error {} %",
            number("mean_n"),
            number("std_n"),
            number("max_n"),
            number("min_n"),
            number("error_filtered_pct")
        );
    }
    match &found.comparison {
        Err(problem) => say!("the forces cannot be compared: {problem}"),
        Ok(c) => {
            let bands: Vec<String> = c
                .bands
                .iter()
                .map(|b| {
                    let (low, high) = (b.band.low_hz, b.band.high_hz);
                    format!("{low}–{high} Hz {:.2} %", b.by_filter_percent)
                })
                .collect();
            say!(
                "difference of the forces by {}: {:.2} % of the mean; {}",
                along_name(found.along),
                c.error_percent,
                bands.join(", ")
            );
        }
    }
}
