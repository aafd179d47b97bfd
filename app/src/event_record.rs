//! Events as a recording keeps them: a stable kind, words for people, values for programs.
//!
//! | kind | values |
//! |---|---|
//! | `state` | `from`, `to` |
//! | `parameter`, `parameter.settled`, `parameter.refused` | `id`, `index`, `value` |
//! | `gains` | `rho`, `disk`, `insisted` (1 or 0) |
//! | `gains.refused` | `rho`, or `channel`, `disk`, `needed` |
//! | `gains.misfit` | |
//! | `fallback` | `innovation`, or `distance_m` |
//! | `refused` | `request`, `state` |
//! | `warning` | `fault`, `measured`, `limit` |
//! | `trip` | `fault`, `measured`, `limit`, `action` |
//! | `stopping` | `cause`; after a fault also `fault`, `measured`, `limit` |
//! | `mark` | `number` |
//!
//! Recordings are read for ever: kinds and names of values are never changed, only added.

use crate::event_text;
use rt_core::channel::Layout;
use rt_core::control::assessment::Verdict;
use rt_core::control::predictive::FallBack;
use rt_core::fault::Fault;
use rt_core::link::{Event, EventKind, StopCause};
use rt_core::param::ParamSpec;
use rt_core::record::event::{EventRecord, FieldValue};

type Fields = Vec<(String, FieldValue)>;

fn number(key: &str, value: f64) -> (String, FieldValue) {
    (key.to_owned(), FieldValue::Number(value))
}

fn word(key: &str, value: impl Into<String>) -> (String, FieldValue) {
    (key.to_owned(), FieldValue::Text(value.into()))
}

/// An event for a recording.
pub fn of(event: &Event, layout: &Layout, params: &[ParamSpec]) -> EventRecord {
    let (kind, fields) = kind_and_fields(&event.kind, layout, params);
    EventRecord {
        seq: event.seq,
        t_nanos: event.t_nanos,
        kind: kind.to_owned(),
        text: event_text::words(event, layout, params),
        fields,
    }
}

fn kind_and_fields(
    kind: &EventKind,
    layout: &Layout,
    params: &[ParamSpec],
) -> (&'static str, Fields) {
    let parameter = |index: usize, value: f64| {
        let mut fields = vec![number("index", index as f64), number("value", value)];
        // A refused index has no name.
        fields.extend(params.get(index).map(|p| word("id", p.id)));
        fields
    };
    let fault = |fault: &Fault| {
        let text = fault.describe(layout);
        let mut fields = vec![word("fault", text.id)];
        fields.extend(text.measured.map(|x| number("measured", x)));
        fields.extend(text.limit.map(|x| number("limit", x)));
        fields
    };
    match kind {
        EventKind::State { from, to } => {
            let fields = vec![word("from", from.name()), word("to", to.name())];
            ("state", fields)
        }
        EventKind::ParamApplied { index, value } => ("parameter", parameter(*index, *value)),
        EventKind::ParamSettled { index, value } => {
            ("parameter.settled", parameter(*index, *value))
        }
        EventKind::ParamRefused { index, value } => {
            ("parameter.refused", parameter(*index, *value))
        }
        EventKind::Retuned(approval) => {
            let insisted = f64::from(u8::from(approval.is_override));
            let mut fields = vec![number("rho", approval.rho), number("insisted", insisted)];
            fields.extend(approval.least_disk.map(|disk| number("disk", disk)));
            ("gains", fields)
        }
        EventKind::RetuningRefused(verdict) => {
            let fields = match verdict {
                Verdict::Stable => Vec::new(),
                Verdict::Unstable { rho } => vec![number("rho", *rho)],
                Verdict::TooLittleMargin {
                    channel,
                    disk,
                    needed,
                } => vec![
                    word("channel", *channel),
                    number("disk", *disk),
                    number("needed", *needed),
                ],
            };
            ("gains.refused", fields)
        }
        EventKind::RetuningMisfit => ("gains.misfit", Vec::new()),
        EventKind::FellBack(cause) => {
            let field = match cause {
                FallBack::Innovation(mean) => number("innovation", *mean),
                FallBack::Tracking(far) => number("distance_m", *far),
            };
            ("fallback", vec![field])
        }
        EventKind::Refused(refusal) => {
            let request = word("request", format!("{:?}", refusal.request));
            (
                "refused",
                vec![request, word("state", refusal.state.name())],
            )
        }
        EventKind::Warning(warned) => ("warning", fault(warned)),
        EventKind::Tripped {
            fault: tripped,
            action,
        } => {
            let mut fields = fault(tripped);
            fields.push(word("action", format!("{action:?}")));
            ("trip", fields)
        }
        EventKind::Stopping(cause) => {
            let (name, mut fields) = match cause {
                StopCause::Requested => ("requested", Vec::new()),
                StopCause::Duration => ("duration", Vec::new()),
                StopCause::Finished => ("finished", Vec::new()),
                StopCause::Abandoned => ("abandoned", Vec::new()),
                StopCause::Fault(cause) => ("fault", fault(cause)),
            };
            fields.insert(0, word("cause", name));
            ("stopping", fields)
        }
        EventKind::Mark { number: n } => ("mark", vec![number("number", f64::from(*n))]),
    }
}
