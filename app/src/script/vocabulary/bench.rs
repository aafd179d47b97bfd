//! Words about a bench: load, arm, run, set, wait, mark, record, stop, and what it shows.

use super::{Vocabulary, add};
use crate::recording::Remarks;
use crate::script::bench::{Bench, BenchState};
use crate::script::host::{Answer, Shared, wrong};
use crate::script::prepared::PreparedSession;
use crate::script::signal::Signal;
use crate::script::values::{number, of_json, options, params};
use rhai::{Dynamic, FnPtr, ImmutableString, Map, NativeCallContext};
use rt_core::bench::Prospect;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How often a condition in the script's own words is looked at, in s.
const LOOK_S: f64 = 0.01;
/// Steps of a ramp, in s: gains have to be designed for some parameters.
const RAMP_STEP_S: f64 = 0.01;
const DESIGNED_STEP_S: f64 = 0.1;

pub(super) fn register(words: &mut Vocabulary<'_>, host: &Shared) {
    words.engine.register_type_with_name::<Bench>("Bench");
    let shared = host.clone();
    add!(words, "load", move |name: &str| load(
        &shared,
        name,
        &Map::new()
    ));
    let shared = host.clone();
    add!(words, "load", move |name: &str, changes: Map| {
        load(&shared, name, &changes)
    });
    let shared = host.clone();
    add!(words, "arm", move |bench: &mut Bench| arm(&shared, bench));
    add!(words, "run_for", |bench: &mut Bench, seconds: Dynamic| {
        let seconds = number(&seconds, "the time")?;
        bench.0.borrow_mut().run_for(seconds)
    });
    add!(words, "run_to_end", |bench: &mut Bench| {
        bench.0.borrow_mut().run_to_end()
    });
    add!(words, "run_until", run_until);
    add!(words, "wait_for", wait_for);
    add!(words, "stop", |bench: &mut Bench| bench
        .0
        .borrow_mut()
        .stop());
    add_parameters(words);
    add!(words, "mark", |bench: &mut Bench, text: &str| {
        bench.0.borrow_mut().mark(text)
    });
    add!(words, "record", |bench: &mut Bench| {
        bench.0.borrow_mut().record(Remarks::default())
    });
    add!(words, "record", |bench: &mut Bench, remarks: Map| {
        bench.0.borrow_mut().record(remarks_of(&remarks)?)
    });
    add!(words, "allow_trip", |bench: &mut Bench| {
        bench.0.borrow_mut().allows_trip = true;
    });
    add_views(words);
}

fn load(host: &Shared, name: &str, changes: &Map) -> Answer<Bench> {
    let sandbox = host.borrow().sandbox.clone();
    let prepared = PreparedSession::load(&sandbox, name, &options(changes)?).map_err(wrong)?;
    let state = BenchState::new(host.clone(), name, prepared);
    Ok(Bench(Rc::new(RefCell::new(state))))
}

fn arm(host: &Shared, bench: &mut Bench) -> Answer<()> {
    // There is one rig: the bench before comes to rest first.
    let before = host.borrow_mut().set_live(&bench.0);
    if let Some(before) = before {
        before.borrow_mut().finish();
    }
    bench.0.borrow_mut().arm()
}

fn run_until(
    bench: &mut Bench,
    channel: &str,
    sign: &str,
    level: Dynamic,
    within: Dynamic,
) -> Answer<bool> {
    let (level, within_s) = (number(&level, "the level")?, number(&within, "the time")?);
    let is_met: fn(&f64, &f64) -> bool = match sign {
        ">" => |a, b| a > b,
        ">=" => |a, b| a >= b,
        "<" => |a, b| a < b,
        "<=" => |a, b| a <= b,
        other => {
            return Err(wrong(format!(
                "'{other}' is no comparison; expected \">\", \">=\", \"<\" or \"<=\""
            )));
        }
    };
    bench
        .0
        .borrow_mut()
        .run_until(channel, is_met, level, within_s)
}

fn wait_for(
    context: NativeCallContext<'_>,
    bench: &mut Bench,
    condition: FnPtr,
    within: Dynamic,
) -> Answer<bool> {
    let within_s = number(&within, "the time")?;
    let begin = bench.0.borrow_mut().loop_s()?;
    loop {
        let met: Dynamic = condition.call_within_context(&context, (bench.clone(),))?;
        let met = met.as_bool().map_err(|found| {
            wrong(format!(
                "the condition gives a '{found}'; expected true or false"
            ))
        })?;
        if met {
            return Ok(true);
        }
        let mut state = bench.0.borrow_mut();
        if state.loop_s()? - begin >= within_s || !state.pass(LOOK_S)? {
            return Ok(false);
        }
    }
}

fn add_parameters(words: &mut Vocabulary<'_>) {
    let one = |id: &str, value: &Dynamic| -> Answer<BTreeMap<String, f64>> {
        let value = number(value, &format!("parameter '{id}'"))?;
        Ok(BTreeMap::from([(id.to_owned(), value)]))
    };
    add!(words, "set", move |bench: &mut Bench,
                             id: &str,
                             value: Dynamic| {
        set(bench, &one(id, &value)?, false)
    });
    add!(words, "set", |bench: &mut Bench, values: Map| {
        set(bench, &params(&values)?, false)
    });
    add!(
        words,
        "insist",
        move |bench: &mut Bench, id: &str, value: Dynamic| set(bench, &one(id, &value)?, true),
    );
    add!(words, "insist", |bench: &mut Bench, values: Map| {
        set(bench, &params(&values)?, true)
    });
    add!(words, "ramp", |bench: &mut Bench,
                         id: &str,
                         to: Dynamic,
                         seconds: Dynamic| {
        let to = number(&to, &format!("parameter '{id}'"))?;
        ramp(bench, id, to, number(&seconds, "the time")?)
    },);
    add!(words, "param", |bench: &mut Bench, id: &str| {
        bench.0.borrow_mut().param(id).map(|(value, _)| value)
    });
}

fn set(bench: &mut Bench, values: &BTreeMap<String, f64>, insist: bool) -> Answer<Dynamic> {
    let prospect = bench.0.borrow_mut().set(values, insist)?;
    let of = |p: &Prospect| {
        let disk = p.least_disk().map(|(_, disk)| disk);
        let mut map = Map::new();
        map.insert("rho".into(), p.rho_loop.into());
        map.insert("disk".into(), disk.map_or(Dynamic::UNIT, Dynamic::from));
        Dynamic::from(map)
    };
    Ok(prospect.as_ref().map_or(Dynamic::UNIT, of))
}

/// Linear in time, in small steps while the bench goes on.
fn ramp(bench: &mut Bench, id: &str, to: f64, seconds: f64) -> Answer<bool> {
    let mut state = bench.0.borrow_mut();
    let (from, is_designed) = state.param(id)?;
    let step_s = if is_designed {
        DESIGNED_STEP_S
    } else {
        RAMP_STEP_S
    };
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err(wrong(format!(
            "a ramp of {seconds} s is refused: it must last 0 to 86400 s"
        )));
    }
    let steps = (seconds / step_s).round().max(1.0);
    for step in 1..=steps as u64 {
        let value = if step as f64 == steps {
            to
        } else {
            from + (to - from) * step as f64 / steps
        };
        state.set(&BTreeMap::from([(id.to_owned(), value)]), false)?;
        if !state.pass(seconds / steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn remarks_of(map: &Map) -> Answer<Remarks> {
    let mut remarks = Remarks::default();
    for (key, value) in map {
        let text = Some(value.to_string());
        match key.as_str() {
            "operator" => remarks.operator = text,
            "specimen" => remarks.specimen = text,
            "notes" => remarks.notes = text,
            other => {
                return Err(wrong(format!(
                    "record() has no '{other}'; expected operator, specimen or notes"
                )));
            }
        }
    }
    Ok(remarks)
}

fn add_views(words: &mut Vocabulary<'_>) {
    add!(words, "value", |bench: &mut Bench, channel: &str| {
        bench.0.borrow_mut().value(channel)
    });
    add!(words, "state", |bench: &mut Bench| -> ImmutableString {
        bench.0.borrow().state().into()
    });
    add!(words, "time", |bench: &mut Bench| bench.0.borrow().time());
    add!(words, "trip", |bench: &mut Bench| -> Dynamic {
        bench.0.borrow().trip().map_or(Dynamic::UNIT, Dynamic::from)
    });
    add!(words, "signal", |bench: &mut Bench,
                           channel: &str|
     -> Answer<Signal> {
        bench.0.borrow_mut().signal(channel)
    },);
    add!(words, "result", |bench: &mut Bench| {
        let result = bench.0.borrow_mut().result(false)?;
        Ok::<_, Box<rhai::EvalAltResult>>(of_json(&result))
    });
    add!(words, "result_against_implicit", |bench: &mut Bench| {
        let result = bench.0.borrow_mut().result(true)?;
        Ok::<_, Box<rhai::EvalAltResult>>(of_json(&result))
    });
    add!(words, "recordings", |bench: &mut Bench| -> rhai::Array {
        let bench = bench.0.borrow();
        let names = bench.recordings.iter().map(|p| p.display().to_string());
        names.map(Dynamic::from).collect()
    });
}
