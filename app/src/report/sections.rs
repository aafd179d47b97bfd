//! The parts of a report: from what recordings show to headings, tables and figures.

mod bench;
mod identity;
mod proof;
mod validation;

use super::budget::{self, Repeated};
use super::document::{Block, Cell, Document, Fact, Side, Table, Tone, decimal};
use super::evidence::Evidence;
use super::evidence::force::ForceEvidence;
use super::{Options, figures, standard};
use crate::analysis::force_limits::ForceLimits;
use crate::provenance;
use rt_core::record::name::Moment;
use rt_core::signal::statistics::ForceStatistics;

/// Everything about some recordings.
pub fn document(all: &[Evidence], limits: &ForceLimits, options: &Options) -> Document {
    let made = Moment::utc(options.made_unix_nanos);
    let made = made.iso().replace('T', " ");
    let title = match all {
        [one] if !one.header.title.is_empty() => format!("Test report: {}", one.header.title),
        [one] => format!("Test report: {}", one.name),
        _ => format!("Test report: {} recordings", all.len()),
    };
    let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
    let mut blocks = Vec::new();
    if all.len() > 1 {
        blocks.extend(summary(all, limits));
    }
    blocks.extend(validation::blocks(all, options.validation.as_ref()));
    for (i, evidence) in all.iter().enumerate() {
        let repeated = budget::repeated(all, i);
        if all.len() > 1 {
            blocks.push(Block::NewPage);
            let heading = format!("Recording {}: {}", i + 1, evidence.name);
            blocks.push(Block::Heading(1, heading));
        }
        blocks.extend(recording(evidence, limits, &repeated));
    }
    blocks.push(Block::Heading(1, "How this report was made".into()));
    blocks.push(Block::Paragraph(format!(
        "By Pantobench {} on {made} UTC from the recordings alone. The same report:",
        provenance::FULL_VERSION
    )));
    blocks.push(Block::Code(options.command()));
    Document {
        title,
        subtitle: format!("made {made} UTC by Pantobench {}", provenance::FULL_VERSION),
        footer: format!(
            "Pantobench {} · {}",
            provenance::FULL_VERSION,
            names.join(", ")
        ),
        blocks,
    }
}

/// All recordings in one table.
fn summary(all: &[Evidence], limits: &ForceLimits) -> Vec<Block> {
    let mut table = Table::new(
        "All recordings",
        &[
            ("no.", Side::Right),
            ("recording", Side::Left),
            ("km/h", Side::Right),
            ("F_m, N", Side::Right),
            ("σ, N", Side::Right),
            ("F_m + 3σ, N", Side::Right),
            ("F_m − 3σ, N", Side::Right),
            ("U(F_m), N", Side::Right),
            ("U(σ), N", Side::Right),
            ("limits", Side::Left),
            ("run", Side::Left),
        ],
    );
    for (i, e) in all.iter().enumerate() {
        let force = e.force.as_ref().ok();
        let found = force.map(|f| &f.report.filtered);
        let budget = force.map(|f| budget::of(e, f, &budget::repeated(all, i)));
        let held = force.filter(|_| is_judged(e)).map(|f| {
            let (words, tone) = standard::verdict(standard::is_held(limits, f, e.header.speed_kmh));
            match e.widened().is_empty() {
                true => Cell::toned(words, tone),
                false => Cell::toned(format!("{words}, with widened limits"), tone),
            }
        });
        let (state, tone) = state(e);
        table.rows.push(vec![
            (i + 1).to_string().into(),
            e.name.clone().into(),
            Cell::number(e.header.speed_kmh, 0),
            Cell::number(found.map(|s| s.mean), 1),
            Cell::number(found.map(|s| s.standard_deviation), 1),
            Cell::number(found.map(|s| s.statistical_max), 1),
            Cell::number(found.map(|s| s.statistical_min), 1),
            Cell::number(budget.as_ref().map(|b| b.mean.expanded_n()), 1),
            Cell::number(budget.as_ref().map(|b| b.std.expanded_n()), 1),
            held.unwrap_or_else(|| Cell::toned("not judged", Tone::Missing)),
            Cell::toned(state, tone),
        ]);
    }
    let mut blocks = vec![Block::Heading(1, "Summary".into()), Block::Table(table)];
    blocks.push(Block::Paragraph(
        "Forces after the 20 Hz low-pass in the stretch that each part below names; U covers 95 % of what is known of the \
         uncertainty."
            .into(),
    ));
    blocks.extend(figures::together(all).map(Block::Figure));
    blocks
}

/// Whether limits of a standard apply: only to a pantograph that runs under a line, not to a profile that is played.
pub(super) fn is_judged(evidence: &Evidence) -> bool {
    evidence.header.speed_kmh.is_some() && validation::round(evidence).is_none()
}

/// How the run ended, in a word.
fn state(evidence: &Evidence) -> (&'static str, Tone) {
    match (&evidence.end, evidence.trip()) {
        (_, Some(_)) => ("tripped", Tone::Bad),
        (None, None) => ("cut off", Tone::Bad),
        (Some(end), None) if end.recovered => ("recovered", Tone::Warning),
        _ if !evidence.damage.is_empty() => ("damaged", Tone::Bad),
        _ => ("whole", Tone::Plain),
    }
}

fn recording(evidence: &Evidence, limits: &ForceLimits, repeated: &Repeated) -> Vec<Block> {
    let mut blocks = identity::warnings(evidence);
    if let Ok(force) = &evidence.force {
        blocks.push(headline(evidence, force, limits, repeated));
    }
    blocks.extend(identity::blocks(evidence));
    match &evidence.force {
        Ok(force) => blocks.extend(statistics(evidence, force, limits, repeated)),
        Err(why) => {
            blocks.push(Block::Heading(1, "Contact force".into()));
            let words = format!("The contact force cannot be evaluated: {why}.");
            blocks.push(Block::Notice(Tone::Warning, words));
        }
    }
    blocks.extend(bench::blocks(evidence));
    blocks.extend(proof::blocks(evidence));
    blocks
}

/// The result in a sentence.
fn headline(
    evidence: &Evidence,
    force: &ForceEvidence,
    limits: &ForceLimits,
    repeated: &Repeated,
) -> Block {
    let found = &force.report.filtered;
    let budget = budget::of(evidence, force, repeated);
    let mut words = format!(
        "F_m = {:.1} ± {:.1} N, σ = {:.1} ± {:.1} N (95 %)",
        found.mean,
        budget.mean.expanded_n(),
        found.standard_deviation,
        budget.std.expanded_n()
    );
    let mut tone = Tone::Plain;
    if is_judged(evidence) {
        let is_held = standard::is_held(limits, force, evidence.header.speed_kmh);
        let verdict = if is_held { "all held" } else { "NOT all held" };
        words.push_str(&format!("; limits of {}: {verdict}", limits.edition));
        tone = standard::verdict(is_held).1;
    }
    match evidence.widened().len() {
        0 => {}
        1 => words.push_str("; with a widened limit of the bench, see above"),
        n => words.push_str(&format!(
            "; with {n} widened limits of the bench, see above"
        )),
    }
    Block::Notice(tone, words + ".")
}

fn statistics(
    evidence: &Evidence,
    force: &ForceEvidence,
    limits: &ForceLimits,
    repeated: &Repeated,
) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(1, "Contact force".into())];
    blocks.push(Block::Facts(what_is_evaluated(evidence, force)));
    blocks.push(Block::Table(force_table(force)));
    blocks.extend(agreement(evidence, force));
    let speed = evidence.header.speed_kmh.filter(|_| is_judged(evidence));
    let figure = figures::force(force, speed.map(|speed| (limits, speed)));
    blocks.push(Block::Figure(figure));
    if is_judged(evidence) {
        blocks.push(Block::Heading(2, "Limits of the standard".into()));
        blocks.extend(standard::blocks(limits, force, evidence.header.speed_kmh));
    }
    blocks.push(Block::Heading(2, "Uncertainty of F_m and σ".into()));
    blocks.extend(budget::blocks(
        &budget::of(evidence, force, repeated),
        force,
    ));
    blocks.push(Block::Heading(2, "Spectrum and distribution".into()));
    blocks.extend(figures::spectrum(force).map(Block::Figure));
    blocks.extend(figures::histogram(force).map(Block::Figure));
    if let Some(figure) = figures::spans(force) {
        blocks.push(Block::Heading(2, "Span by span".into()));
        blocks.push(Block::Figure(figure));
        blocks.push(Block::Table(span_table(force)));
    }
    blocks.extend(uplift(evidence, force));
    blocks
}

fn what_is_evaluated(evidence: &Evidence, force: &ForceEvidence) -> Vec<Fact> {
    let (from, to) = force.stretch;
    let unit = force.axis.unit();
    let filter = &force.report.filter;
    let channel = evidence
        .header
        .channels
        .iter()
        .find(|c| c.id == force.channel);
    let label = channel.map_or("", |c| c.label.as_str());
    let gaps = &force.report.gaps;
    vec![
        Fact::new("Channel", format!("{} ({label})", force.channel)),
        Fact::new(
            "Evaluated stretch",
            format!("{from:.2} to {to:.2} {unit}: {}", force.chosen),
        ),
        Fact::new(
            "Filter",
            format!(
                "Butterworth low-pass of order {}, {:.0} Hz, forward and backward (no phase shift); −3 dB in each direction",
                filter.order, filter.cutoff_hz
            ),
        ),
        Fact::new(
            "Samples",
            format!("{} at {:.0} Hz", gaps.samples, force.sample_rate_hz),
        ),
        Fact {
            name: "Unknown samples".into(),
            value: match gaps.missing {
                0 => "none".into(),
                n => format!(
                    "{n} in {} gaps, the longest of {}; left out",
                    gaps.count, gaps.longest
                ),
            },
            tone: if gaps.missing == 0 {
                Tone::Plain
            } else {
                Tone::Warning
            },
        },
    ]
}

fn force_table(force: &ForceEvidence) -> Table {
    let report = &force.report;
    let cutoff = format!("{:.0} Hz low-pass", report.filter.cutoff_hz);
    let mut table = Table::new(
        "Statistics of the contact force (EN 50317)",
        &[
            ("quantity", Side::Left),
            (&cutoff, Side::Right),
            ("unfiltered", Side::Right),
            ("unit", Side::Left),
        ],
    );
    let (filtered, raw) = (&report.filtered, &report.raw);
    for (name, a, b) in [
        ("mean force F_m", filtered.mean, raw.mean),
        (
            "standard deviation σ",
            filtered.standard_deviation,
            raw.standard_deviation,
        ),
        (
            "statistical maximum F_m + 3σ",
            filtered.statistical_max,
            raw.statistical_max,
        ),
        (
            "statistical minimum F_m − 3σ",
            filtered.statistical_min,
            raw.statistical_min,
        ),
        ("actual maximum", filtered.max, raw.max),
        ("actual minimum", filtered.min, raw.min),
    ] {
        table.rows.push(vec![
            name.into(),
            decimal(a, 2).into(),
            decimal(b, 2).into(),
            "N".into(),
        ]);
    }
    for band in &report.bands {
        table.rows.push(vec![
            format!("σ in {}–{} Hz", band.band.low_hz, band.band.high_hz).into(),
            Cell::default(),
            decimal(band.by_filter, 2).into(),
            "N".into(),
        ]);
    }
    let losses = &report.losses;
    for (name, text, unit) in [
        ("losses of contact", losses.count.to_string(), ""),
        ("longest loss", decimal(1e3 * losses.longest_s, 0), "ms"),
        (
            "share of time without contact",
            decimal(losses.percent, 2),
            "%",
        ),
    ] {
        table
            .rows
            .push(vec![name.into(), Cell::default(), text.into(), unit.into()]);
    }
    table
}

/// Whether the figures are those that the run itself stated.
fn agreement(evidence: &Evidence, force: &ForceEvidence) -> Option<Block> {
    // Places are recorded as floats: a sample at the border of the stretch may count or not.
    const ALIKE_N: f64 = 0.05;
    if let Some(round) = validation::round(evidence) {
        return Some(Block::Notice(
            Tone::Plain,
            format!(
                "Round {round} of an iterative validation: a profile played without feedback. The figures here are of all of its \
                 time; those of the evaluated spans stand with the validation."
            ),
        ));
    }
    if evidence.header.bench != "pantograph-lqg" {
        // The others state figures of their own: not of this filter, or none.
        return None;
    }
    let mean = evidence.stated("mean_n")?;
    let std = evidence.stated("std_n")?;
    let found = &force.report.filtered;
    let apart = (mean - found.mean)
        .abs()
        .max((std - found.standard_deviation).abs());
    let is_alike = apart <= ALIKE_N;
    let words = format!(
        "The run itself stated F_m = {mean:.2} N and σ = {std:.2} N; computed again from the frames they {} (difference {apart:.3} N).",
        if is_alike { "agree" } else { "do NOT agree" }
    );
    Some(if is_alike {
        Block::Paragraph(words)
    } else {
        Block::Notice(Tone::Warning, words)
    })
}

fn span_table(force: &ForceEvidence) -> Table {
    let mut table = Table::new(
        "Statistics of each span, 20 Hz low-pass; rise of the wire as the contact passes its first support",
        &[
            ("span", Side::Right),
            ("from, m", Side::Right),
            ("to, m", Side::Right),
            ("F_m, N", Side::Right),
            ("σ, N", Side::Right),
            ("max, N", Side::Right),
            ("min, N", Side::Right),
            ("rise, mm", Side::Right),
        ],
    );
    for span in &force.spans {
        // Spans of a line are numbered from 1.
        let number = force.supports_m.iter().position(|x| *x == span.from_m);
        let of = |value: fn(&ForceStatistics) -> f64| {
            Cell::number(span.statistics.as_ref().map(value), 2)
        };
        let mut rises = force.rise_at_supports.iter();
        let rise = rises.find(|(x, _)| *x == span.from_m);
        table.rows.push(vec![
            Cell::number(number.map(|n| (n + 1) as f64), 0),
            decimal(span.from_m, 1).into(),
            decimal(span.to_m, 1).into(),
            of(|s| s.mean),
            of(|s| s.standard_deviation),
            of(|s| s.max),
            of(|s| s.min),
            Cell::number(rise.map(|(_, rise)| 1e3 * rise), 1),
        ]);
    }
    table
}

/// What is known of the uplift at supports.
fn uplift(evidence: &Evidence, force: &ForceEvidence) -> Vec<Block> {
    if !is_judged(evidence) {
        return Vec::new();
    }
    let mut rises = force.rise_at_supports.iter().map(|r| r.1);
    let known = match rises.clone().reduce(f64::max) {
        Some(most) => format!(
            "Known is the rise of the wire at the moment in which the contact passes: {} mm at most over {} supports.",
            decimal(1e3 * most, 1),
            rises.by_ref().count()
        ),
        None => "Where the supports are is not known either.".into(),
    };
    vec![
        Block::Heading(2, "Uplift at supports".into()),
        Block::Notice(
            Tone::Missing,
            format!(
                "The largest uplift of each support is not known: the bench follows the wire at the contact only. {known}"
            ),
        ),
    ]
}
