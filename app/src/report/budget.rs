//! The uncertainty of a recording's F_m and σ: what goes into the budget, and the budget as a table.

use super::document::{Block, Cell, Side, Table, Tone, decimal};
use super::evidence::Evidence;
use super::evidence::force::ForceEvidence;
use super::uncertainty::{self, Budget, Sensor, Share};

/// Recordings of the same set-up: F_m and σ of each. `None` if there is no other.
pub struct Repeated {
    /// F_m and σ, in N.
    pub runs: Vec<(f64, f64)>,
    /// Whether all were run on an exact clock: then they are one and the same run.
    pub is_exact: bool,
}

/// Whether two recordings are of the same set-up: bench, files, parameters, period.
pub fn is_same_setup(a: &Evidence, b: &Evidence) -> bool {
    let (a, b) = (&a.header, &b.header);
    a.bench == b.bench
        && a.model_hashes == b.model_hashes
        && a.parameters == b.parameters
        && a.period_nanos == b.period_nanos
        && a.speed_kmh == b.speed_kmh
        && a.specimen == b.specimen
}

/// Recordings of the same set-up as one of them, itself included.
pub fn repeated(all: &[Evidence], one: usize) -> Repeated {
    let same = all.iter().filter(|e| is_same_setup(e, &all[one]));
    let known = same.filter_map(|e| Some((e, e.force.as_ref().ok()?)));
    let is_exact = |e: &Evidence| {
        e.header
            .real_time
            .get("clock")
            .is_some_and(|c| c == "exact")
    };
    Repeated {
        runs: known
            .clone()
            .map(|(_, f)| (f.report.filtered.mean, f.report.filtered.standard_deviation))
            .collect(),
        is_exact: known.clone().all(|(e, _)| is_exact(e)),
    }
}

/// Σh² of the report's filter, by its answer to one sample.
fn noise_gain(force: &ForceEvidence) -> Option<f64> {
    const LENGTH: usize = 4001;
    let mut impulse = vec![0.0; LENGTH];
    impulse[LENGTH / 2] = 1.0;
    let answer = force
        .report
        .filter
        .zero_phase(&impulse, force.sample_rate_hz);
    Some(answer.ok()?.values.iter().map(|h| h * h).sum())
}

/// The budget of one recording.
pub fn of(evidence: &Evidence, force: &ForceEvidence, repeated: &Repeated) -> Budget {
    let (values, blocks) = force.blocks();
    let shares = vec![
        calibration_share(evidence, force, values),
        noise_share(evidence, force, values),
        delay_share(evidence, force, values),
        if force.is_period {
            steady_share(evidence, force)
        } else {
            truncation_share(force, values, &blocks)
        },
        repeatability_share(repeated),
    ];
    Budget::of(shares)
}

/// What the calibration leaves open.
fn calibration_share(evidence: &Evidence, force: &ForceEvidence, values: &[f64]) -> Share {
    let (found, how) = match evidence.sensor.offset_and_gain() {
        Ok((offset_n, gain)) => {
            let sensor = Sensor {
                offset_n,
                gain,
                ..Sensor::default()
            };
            let mut how = format!("residuals {offset_n:.3} N, slope ± {:.4} %", 100.0 * gain);
            how.push_str(simulated(force));
            (uncertainty::sensor(values, &sensor), how)
        }
        Err(why) => (None, why),
    };
    Share {
        source: "sensor: calibration",
        found: found.map(|(m, s)| (m, s, f64::INFINITY)),
        how,
    }
}

/// Noise and rounding.
fn noise_share(evidence: &Evidence, force: &ForceEvidence, values: &[f64]) -> Share {
    let source = "sensor: noise and resolution";
    let known = &evidence.sensor;
    let (Some(noise_n), Some(noise_gain)) = (known.noise_n, noise_gain(force)) else {
        return Share {
            source,
            found: None,
            how: "neither rig file nor calibrations say how large the noise is".into(),
        };
    };
    let sensor = Sensor {
        noise_n,
        noise_gain,
        resolution_n: known.resolution_n.unwrap_or(0.0),
        ..Sensor::default()
    };
    let resolution = known.resolution_n.map_or_else(
        || "no resolution stated".to_owned(),
        |r| format!("resolution {r} N"),
    );
    let found = uncertainty::sensor(values, &sensor);
    Share {
        source,
        found: found.map(|(m, s)| (m, s, f64::INFINITY)),
        how: format!("noise {noise_n:.3} N, {resolution}{}", simulated(force)),
    }
}

/// What is said where a simulation knows the true force.
fn simulated(force: &ForceEvidence) -> &'static str {
    if force.channel == "true_force" {
        "; the simulation's own force is evaluated: this is what the described sensor would add"
    } else {
        ""
    }
}

fn delay_share(evidence: &Evidence, force: &ForceEvidence, values: &[f64]) -> Share {
    let source = "delay";
    let Some(delay_s) = evidence.sensor.delay_s else {
        return Share {
            source,
            found: None,
            how: "the rig's file does not say how late the force is read".into(),
        };
    };
    let found = uncertainty::delay(values, 1.0 / force.sample_rate_hz, delay_s);
    let place = evidence.header.speed_kmh.map_or_else(String::new, |v| {
        format!(", which are {:.2} m at {v:.0} km/h", delay_s * v / 3.6)
    });
    Share {
        source,
        found: found.map(|(m, s)| (m, s, f64::INFINITY)),
        how: format!(
            "force read up to {:.2} ms late{place}; rectangular",
            1e3 * delay_s
        ),
    }
}

fn truncation_share(
    force: &ForceEvidence,
    values: &[f64],
    blocks: &[std::ops::Range<usize>],
) -> Share {
    let source = "truncation";
    let kind = if force.spans.len() >= 2 {
        "spans"
    } else {
        "equal parts"
    };
    let found = uncertainty::truncation(values, blocks);
    let how = match (found, uncertainty::effective_samples(values)) {
        (None, _) => format!(
            "{} {kind}; at least {} are needed",
            blocks.len(),
            uncertainty::LEAST_BLOCKS
        ),
        (Some(_), Some(n)) => format!(
            "jackknife over {} {kind}; for comparison σ/√N_eff = {:.2} N with N_eff = {n:.0} from the autocorrelation",
            blocks.len(),
            force.report.filtered.standard_deviation / n.sqrt()
        ),
        (Some(_), None) => format!("jackknife over {} {kind}", blocks.len()),
    };
    Share { source, found, how }
}

/// A steady state repeats for ever: nothing is cut off, but it may not be reached yet. A force that changes by Δf from span
/// to span changes mean and deviation by at most the root mean square of Δf.
fn steady_share(evidence: &Evidence, force: &ForceEvidence) -> Share {
    let source = "truncation";
    let change = evidence.result.as_ref().ok();
    let change = change.and_then(|r| r["span_change_pct"].as_f64());
    let Some(change) = change else {
        return Share {
            source,
            found: None,
            how: "how much the force still changes from span to span is not known".into(),
        };
    };
    let most = 0.01 * change * force.report.raw.standard_deviation;
    Share {
        source,
        found: Some((most, most, f64::INFINITY)),
        how: format!(
            "one span of a steady state that still changes by {change:.2} % of σ from span to span, at most"
        ),
    }
}

fn repeatability_share(repeated: &Repeated) -> Share {
    let source = "repeatability";
    let count = repeated.runs.len();
    let (found, how) = if count < 2 {
        (
            None,
            "one recording of this set-up: its spread is not known".to_owned(),
        )
    } else if repeated.is_exact {
        let how = format!(
            "{count} recordings on an exact clock are the same run; they say nothing about repeatability"
        );
        (None, how)
    } else {
        let how = format!("deviation of a single run over {count} recordings of the same set-up");
        (uncertainty::repeatability(&repeated.runs), how)
    };
    Share { source, found, how }
}

/// The budget as a table and a sentence.
pub fn blocks(budget: &Budget, force: &ForceEvidence) -> Vec<Block> {
    let mut table = Table::new(
        "Standard uncertainties",
        &[
            ("contribution", Side::Left),
            ("u(F_m), N", Side::Right),
            ("u(σ), N", Side::Right),
            ("how it was found", Side::Left),
        ],
    );
    let freedom = |v: f64| {
        if v.is_finite() {
            decimal(v, 0)
        } else {
            "∞".into()
        }
    };
    for share in &budget.shares {
        let values = match share.found {
            Some((mean, std, _)) => [decimal(mean, 3).into(), decimal(std, 3).into()],
            None => [0, 1].map(|_| Cell::toned("unknown", Tone::Missing)),
        };
        let [mean, std] = values;
        table.rows.push(vec![
            share.source.into(),
            mean,
            std,
            share.how.clone().into(),
        ]);
    }
    let (mean, std) = (&budget.mean, &budget.std);
    table.rows.push(vec![
        "combined, u".into(),
        decimal(mean.standard_n, 3).into(),
        decimal(std.standard_n, 3).into(),
        "root of the sum of squares of what is known".into(),
    ]);
    table.rows.push(vec![
        "expanded, U (95 %)".into(),
        decimal(mean.expanded_n(), 2).into(),
        decimal(std.expanded_n(), 2).into(),
        format!(
            "k = {:.2} for F_m (ν = {}), k = {:.2} for σ (ν = {})",
            mean.coverage,
            freedom(mean.freedom),
            std.coverage,
            freedom(std.freedom)
        )
        .into(),
    ]);
    let found = &force.report.filtered;
    let unknown = budget.unknown();
    let mut blocks = vec![
        Block::Paragraph(format!(
            "F_m = {:.1} N ± {:.1} N and σ = {:.1} N ± {:.1} N, expanded uncertainties that cover 95 %, of what is known.",
            found.mean,
            mean.expanded_n(),
            found.standard_deviation,
            std.expanded_n()
        )),
        Block::Table(table),
    ];
    if !unknown.is_empty() {
        blocks.push(Block::Notice(
            Tone::Warning,
            format!(
                "Not known and therefore not included: {}.",
                unknown.join(", ")
            ),
        ));
    }
    blocks
}
