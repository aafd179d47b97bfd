//! The result of a run in a script: the bench's own where it has one, and the force and the tracking of every other.

use super::driver::Driver;
use crate::session::LoadedSession;
use serde_json::{Value, json};

/// Of a section without spans, as of a string, this part at both ends is left out.
const LEFT_OUT: f64 = 0.2;

/// The result of a run; words say why there is none.
pub fn of(
    driver: &Driver,
    loaded: &LoadedSession,
    against_implicit: bool,
) -> Result<Value, String> {
    if let Some(samples) = &driver.samples
        && (against_implicit || has_spans(loaded))
    {
        return samples.evaluate(loaded, against_implicit);
    }
    if against_implicit {
        return Err("this bench does not run along a line, so there is no coupled solution".into());
    }
    let mut result = match &driver.steady {
        Some(steady) => steady.evaluate(loaded)?,
        None => force(driver, loaded)?,
    };
    result["tracking_mm"] = tracking(driver);
    Ok(result)
}

fn has_spans(loaded: &LoadedSession) -> bool {
    use rt_core::bench::{BenchConfig, pantograph_lqg::WireChoice};
    matches!(&loaded.session.bench, BenchConfig::PantographLqg(config)
        if !matches!(config.wire, WireChoice::String(_)))
}

/// The contact force of the part that counts: the middle of a section, or what the session's statistics take.
fn force(driver: &Driver, loaded: &LoadedSession) -> Result<Value, String> {
    // A simulated rig knows the force at the pad itself; a real one only what it measures.
    let channel = if driver.layout.find("true_force").is_some() {
        "true_force"
    } else {
        "force"
    };
    let signal = driver.log.signal(&driver.layout, channel, driver.rate_hz)?;
    let places = signal.over_place().unwrap_or_default();
    let part = match (places.first(), places.last()) {
        (Some([first, _]), Some([last, _])) if last > first => {
            let margin = LEFT_OUT * (last - first);
            signal.along(first + margin, last - margin)?
        }
        _ => {
            let to_s = driver.log.len() as f64 / driver.rate_hz;
            signal.between(loaded.session.statistics_from_s.min(0.9 * to_s), to_s)?
        }
    };
    part.contact_force()
}

fn tracking(driver: &Driver) -> Value {
    const MM: f64 = 1e3;
    let Some(column) = driver.layout.find("tracking_error") else {
        return Value::Null;
    };
    let s = &driver.statistics.channels()[column];
    let max_abs = s.max().zip(s.min()).map(|(max, min)| max.max(-min) * MM);
    json!({ "mean": s.mean().map(|v| v * MM), "std": s.std().map(|v| v * MM), "max_abs": max_abs })
}
