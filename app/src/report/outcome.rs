//! What a report says, for programs.

use super::budget;
use super::evidence::Evidence;
use super::standard;
use super::uncertainty::{Budget, Combined};
use crate::analysis::force_limits::ForceLimits;
use serde_json::{Value, json};

/// All recordings with what was found of each.
pub fn of(all: &[Evidence], limits: &ForceLimits) -> Value {
    let one = |(i, e): (usize, &Evidence)| recording(e, limits, &budget::repeated(all, i));
    all.iter().enumerate().map(one).collect()
}

fn recording(evidence: &Evidence, limits: &ForceLimits, repeated: &budget::Repeated) -> Value {
    let header = &evidence.header;
    let speed = header
        .speed_kmh
        .filter(|_| super::sections::is_judged(evidence));
    let force = match &evidence.force {
        Err(why) => json!({ "problem": why }),
        Ok(force) => {
            let judged = limits.judge(&force.report.filtered, speed);
            let judged: Vec<Value> = judged
                .iter()
                .filter(|_| speed.is_some())
                .map(|j| {
                    json!({ "what": j.what, "found": j.found, "limit": j.limit, "relation": j.relation, "held": j.is_held })
                })
                .collect();
            let found = &force.report.filtered;
            json!({
                "channel": force.channel,
                "from": force.stretch.0,
                "to": force.stretch.1,
                "axis": force.axis.name(),
                "mean_n": found.mean,
                "std_n": found.standard_deviation,
                "stat_max_n": found.statistical_max,
                "stat_min_n": found.statistical_min,
                "max_n": found.max,
                "min_n": found.min,
                "filter": force.report.filter,
                "limits": { "edition": limits.edition, "judged": judged },
                "held": speed.map(|_| standard::is_held(limits, force, speed)),
                "uncertainty": budget_json(&budget::of(evidence, force, repeated)),
            })
        }
    };
    let prospect = evidence.prospect.as_ref().ok();
    json!({
        "name": evidence.name,
        "id": evidence.hashes.sha256,
        "bench": header.bench,
        "speed_kmh": header.speed_kmh,
        "finished": evidence.end.is_some(),
        "recovered": evidence.info.recovered,
        "damage": evidence.damage,
        "trip": evidence.trip(),
        "force": force,
        "rho": prospect.map(|p| p.rho_loop),
        "least_disk": prospect.and_then(|p| p.least_disk()).map(|(_, disk)| disk),
        "overruns": evidence.timing.overruns,
        "skipped": evidence.timing.skipped,
        "drops": evidence.info.drops,
    })
}

fn budget_json(budget: &Budget) -> Value {
    // JSON has no infinity.
    let freedom = |v: f64| v.is_finite().then_some(v);
    let shares: Vec<Value> = budget
        .shares
        .iter()
        .map(|s| {
            json!({
                "source": s.source, "mean_n": s.found.map(|f| f.0), "std_n": s.found.map(|f| f.1),
                "freedom": s.found.and_then(|f| freedom(f.2)), "how": s.how,
            })
        })
        .collect();
    let combined = |c: &Combined| {
        json!({
            "standard_n": c.standard_n, "freedom": freedom(c.freedom), "coverage": c.coverage,
            "expanded_n": c.expanded_n(),
        })
    };
    json!({
        "shares": shares, "mean": combined(&budget.mean), "std": combined(&budget.std), "unknown": budget.unknown(),
    })
}
