//! Words about signals: stretches, statistics, bands, spectra, comparisons.

use super::{Vocabulary, add};
use crate::script::host::{Answer, wrong};
use crate::script::signal::Signal;
use crate::script::values::{number, of_json, of_numbers};
use rhai::{Array, Dynamic, Map};

/// A script that takes samples one by one takes at most so many.
const MOST_VALUES: usize = 200_000;

pub(super) fn register(words: &mut Vocabulary<'_>) {
    words.engine.register_type_with_name::<Signal>("Signal");
    add!(words, "between", |signal: &mut Signal,
                            from: Dynamic,
                            to: Dynamic| {
        let (from, to) = (number(&from, "the begin")?, number(&to, "the end")?);
        signal.between(from, to).map_err(wrong)
    },);
    add!(words, "along", |signal: &mut Signal,
                          from: Dynamic,
                          to: Dynamic| {
        let (from, to) = (number(&from, "the begin")?, number(&to, "the end")?);
        signal.along(from, to).map_err(wrong)
    });
    add!(words, "mean", |signal: &mut Signal| {
        signal.statistics().map(|s| s.mean).map_err(wrong)
    });
    add!(words, "std", |signal: &mut Signal| {
        signal
            .statistics()
            .map(|s| s.standard_deviation)
            .map_err(wrong)
    });
    add!(words, "min", |signal: &mut Signal| {
        signal.statistics().map(|s| s.min).map_err(wrong)
    });
    add!(words, "max", |signal: &mut Signal| {
        signal.statistics().map(|s| s.max).map_err(wrong)
    });
    add!(words, "seconds", |signal: &mut Signal| {
        signal.samples().len() as f64 / signal.rate_hz
    });
    add!(words, "values", values);
    add!(words, "contact_force", |signal: &mut Signal| {
        signal.contact_force().map(|v| of_json(&v)).map_err(wrong)
    });
    add!(words, "sigma", |signal: &mut Signal,
                          low: Dynamic,
                          high: Dynamic| {
        let (low, high) = (
            number(&low, "the lower frequency")?,
            number(&high, "the upper frequency")?,
        );
        signal.sigma(low, high).map_err(wrong)
    },);
    add!(words, "spectrum", |signal: &mut Signal| spectrum(
        signal, None
    ));
    add!(
        words,
        "spectrum",
        |signal: &mut Signal, segment: Dynamic| {
            spectrum(signal, Some(number(&segment, "the length of a segment")?))
        }
    );
    add!(
        words,
        "compare",
        |signal: &mut Signal, reference: Signal| {
            signal
                .compare(&reference)
                .map(|v| of_json(&v))
                .map_err(wrong)
        }
    );
    add!(
        words,
        "error_index",
        |signal: &mut Signal, reference: Signal| {
            let found = signal.compare(&reference).map_err(wrong)?;
            Ok::<f64, Box<rhai::EvalAltResult>>(found["error_pct"].as_f64().unwrap_or(f64::NAN))
        }
    );
}

fn values(signal: &mut Signal) -> Answer<Array> {
    let samples = signal.samples();
    if samples.len() > MOST_VALUES {
        return Err(wrong(format!(
            "{} samples are too many for a list (at most {MOST_VALUES}); take a stretch with between(from_s, to_s)",
            samples.len()
        )));
    }
    Ok(of_numbers(samples))
}

fn spectrum(signal: &Signal, segment_s: Option<f64>) -> Answer<Map> {
    let found = signal.spectrum(segment_s).map_err(wrong)?;
    let mut map = Map::new();
    map.insert("frequency".into(), of_numbers(&found.frequencies_hz).into());
    map.insert("density".into(), of_numbers(&found.density).into());
    map.insert("segments".into(), (found.segments as f64).into());
    Ok(map)
}
