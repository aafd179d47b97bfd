//! Words about what is computed without a bench: a standard's bands, the steady state solved at once.

use super::{Vocabulary, add};
use crate::home;
use crate::script::bench::Bench;
use crate::script::host::{Answer, Shared, wrong};
use crate::script::outcome::Output;
use crate::script::values::of_json;
use rhai::{Dynamic, Map};
use rt_core::bench::BenchConfig;
use rt_core::file;
use rt_core::model::catenary::{Line, Standard};
use rt_core::model::pantograph::Pantograph;
use serde_json::json;

pub(super) fn register(words: &mut Vocabulary<'_>, host: &Shared) {
    let shared = host.clone();
    add!(words, "validate", move |standard: &str| {
        validate(&shared, standard, &[])
    });
    let shared = host.clone();
    add!(
        words,
        "validate",
        move |standard: &str, speeds: rhai::Array| {
            let speeds = crate::script::values::numbers(&speeds, "the list of speeds")?;
            validate(&shared, standard, &speeds)
        }
    );
    add!(words, "direct", direct);
}

/// Holds the reference solver against a standard's bands, at all of its speeds or some.
fn validate(host: &Shared, name: &str, speeds_kmh: &[f64]) -> Answer<Dynamic> {
    let file = match name {
        "en50318" => "assets/standards/en50318-2002.ron",
        other => {
            return Err(wrong(format!(
                "there is no standard '{other}'; standards: en50318"
            )));
        }
    };
    let asset = |path: String| home::find(&path).map_err(wrong);
    let mut standard: Standard = file::load(&asset(file.into())?).map_err(wrong)?;
    let line: Line =
        file::load(&asset(format!("assets/lines/{}.ron", standard.line))?).map_err(wrong)?;
    let pantograph = asset(format!("assets/pantographs/{}.ron", standard.pantograph))?;
    let pantograph: Pantograph = file::load(&pantograph).map_err(wrong)?;
    let known: Vec<f64> = standard.cases.iter().map(|c| c.speed_kmh).collect();
    if let Some(other) = speeds_kmh.iter().find(|s| !known.contains(s)) {
        return Err(wrong(format!(
            "{} has no bands at {other} km/h; speeds: {known:?}",
            standard.edition
        )));
    }
    if !speeds_kmh.is_empty() {
        standard.cases.retain(|c| speeds_kmh.contains(&c.speed_kmh));
    }
    let watch = host.borrow().watch.clone();
    let label = standard.edition.clone();
    let validation = standard.validate(&line, &pantograph, &mut |part| {
        watch.tell(Output::Progress(part, label.clone()));
    });
    watch
        .check()
        .map_err(|e| host.borrow_mut().interrupted(e))?;
    let mut found = json!(validation.map_err(wrong)?);
    found["edition"] = json!(standard.edition);
    Ok(of_json(&found))
}

/// The steady state under an endless line, solved at once for the same line, pantograph and speed.
fn direct(bench: &mut Bench) -> Answer<Map> {
    let bench = bench.0.borrow();
    let loaded = &bench.prepared.loaded;
    let BenchConfig::PantographSteady(config) = &loaded.session.bench else {
        return Err(wrong(format!(
            "direct() needs the bench 'pantograph-steady'; this one is '{}'",
            loaded.session.bench.spec().id
        )));
    };
    let specimen: Pantograph = file::load(&loaded.base().join(&config.specimen)).map_err(wrong)?;
    let period_s = loaded.period_nanos() as f64 * 1e-9;
    let line = config.line(loaded.base(), period_s).map_err(wrong)?;
    let found = config.direct(&line, &specimen).map_err(wrong)?;
    let mut map = Map::new();
    map.insert("mean_n".into(), found.mean().into());
    map.insert("std_n".into(), found.std().into());
    map.insert("speed_kmh".into(), line.speed_kmh.into());
    Ok(map)
}
