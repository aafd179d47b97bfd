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
//! | `arming` | `within_ticks`; asked for, waits to be confirmed |
//! | `arming.expired` | |
//! | `insisted` | `objection` |
//! | `warning` | `fault`, `measured`, `limit` |
//! | `trip` | `fault`, `measured`, `limit`, `action` |
//! | `power-cut` | `cause` |
//! | `at-rest` | `still` (1 or 0), `after_s`, `moved_m` |
//! | `widened` | `channel`, `bench_low`, `bench_high`, `low`, `high` |
//! | `stopping` | `cause`; after a fault also `fault`, `measured`, `limit` |
//! | `mark` | `number` |
//! | `calibration`, `calibration.refused` | `cell` (from 1), `id`, `slope`, `offset` |
//! | `load`, `load.refused` | `cell` (from 1), `newtons`; neither when all loads are taken off |
//! | `home`, `home.refused` | |
//! | `reset`, `reset.refused` | |
//!
//! Recordings are read for ever: kinds and names of values are never changed, only added.

use crate::event_text;
use rt_core::channel::Layout;
use rt_core::control::assessment::Verdict;
use rt_core::control::predictive::FallBack;
use rt_core::fault::Fault;
use rt_core::guard::Cut;
use rt_core::link::{Event, EventKind, StopCause};
use rt_core::param::ParamSpec;
use rt_core::record::event::{EventRecord, FieldValue};
use rt_core::rig::RigCommand;
use serde_json::{Map, Value, json};

/// Every kind of event that a loop makes.
pub const KINDS: [&str; 28] = [
    "state",
    "parameter",
    "parameter.settled",
    "parameter.refused",
    "gains",
    "gains.refused",
    "gains.misfit",
    "fallback",
    "refused",
    "arming",
    "arming.expired",
    "insisted",
    "warning",
    "trip",
    "stopping",
    "mark",
    "calibration",
    "calibration.refused",
    "load",
    "load.refused",
    "home",
    "home.refused",
    "home.stopped",
    "power-cut",
    "at-rest",
    "widened",
    "reset",
    "reset.refused",
];

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

/// An event with its values, for machines.
pub fn to_json(event: &EventRecord) -> Value {
    let fields = event.fields.iter().map(|(key, value)| {
        let value = match value {
            FieldValue::Number(x) => json!(x),
            FieldValue::Text(text) => json!(text),
        };
        (key.clone(), value)
    });
    json!({
        "seq": event.seq, "t_s": event.t_nanos as f64 * 1e-9, "kind": event.kind, "text": event.text,
        "fields": fields.collect::<Map<_, _>>(),
    })
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
        EventKind::ArmingAsked { within_ticks } => {
            let within = number("within_ticks", *within_ticks as f64);
            ("arming", vec![within])
        }
        EventKind::ArmingExpired => ("arming.expired", Vec::new()),
        EventKind::Insisted(objection) => ("insisted", vec![word("objection", objection.name())]),
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
                StopCause::Ending => ("ending", Vec::new()),
                StopCause::Abandoned => ("abandoned", Vec::new()),
                StopCause::ArmedTooLong => ("armed-too-long", Vec::new()),
                StopCause::DeadMan => ("dead-man", Vec::new()),
                StopCause::Fault(cause) => ("fault", fault(cause)),
            };
            fields.insert(0, word("cause", name));
            ("stopping", fields)
        }
        EventKind::PowerCut(cause) => {
            let name = match cause {
                Cut::SecondStop => "second-stop",
                Cut::DeadMan => "dead-man",
                Cut::HeldTooLong => "held-too-long",
                Cut::NotAtRest => "not-at-rest",
                Cut::Ending => "ending",
            };
            ("power-cut", vec![word("cause", name)])
        }
        EventKind::AtRest(rest) => {
            let still = f64::from(u8::from(rest.is_still));
            let mut fields = vec![number("still", still), number("after_s", rest.after_s)];
            // Without a position nobody knows.
            fields.extend(
                rest.moved
                    .is_finite()
                    .then(|| number("moved_m", rest.moved)),
            );
            ("at-rest", fields)
        }
        EventKind::Widened {
            column,
            bench,
            session,
        } => {
            let channel = layout.channels().get(*column).map_or("?", |c| c.id);
            let fields = vec![
                word("channel", channel),
                number("bench_low", bench.0),
                number("bench_high", bench.1),
                number("low", session.0),
                number("high", session.1),
            ];
            ("widened", fields)
        }
        EventKind::Mark { number: n } => ("mark", vec![number("number", f64::from(*n))]),
        EventKind::RigDone(command) => {
            let (kinds, fields) = rig_command(command);
            (kinds[0], fields)
        }
        EventKind::RigRefused { command, .. } => {
            let (kinds, fields) = rig_command(command);
            (kinds[1], fields)
        }
    }
}

/// The kinds of a rig's command that was done or refused, and its values.
fn rig_command(command: &RigCommand) -> ([&'static str; 2], Fields) {
    let load = ["load", "load.refused"];
    let cell = |index: &usize| number("cell", (index + 1) as f64);
    match command {
        RigCommand::Calibrate { cell: at, id, line } => {
            let fields = vec![
                cell(at),
                word("id", id.as_str()),
                number("slope", line.slope_n_per_unit),
                number("offset", line.offset_n),
            ];
            (["calibration", "calibration.refused"], fields)
        }
        RigCommand::HangLoad { cell: at, newtons } => {
            (load, vec![cell(at), number("newtons", *newtons)])
        }
        RigCommand::RemoveLoads => (load, Vec::new()),
        RigCommand::Home => (["home", "home.refused"], Vec::new()),
        RigCommand::StopHoming => (["home.stopped", "home.stopped"], Vec::new()),
        RigCommand::Reset => (["reset", "reset.refused"], Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::bench::Approval;
    use rt_core::bench::profile;
    use rt_core::calibration::Line;
    use rt_core::calibration::id::CalibrationId;
    use rt_core::fault::Action;
    use rt_core::guard::{Refusal, Request, Rest, State};
    use rt_core::link::Objection;
    use rt_core::rig::RigRefusal;

    fn record(kind: EventKind) -> EventRecord {
        let mut layout = Layout::default();
        layout.append(profile::SPEC.channels).unwrap();
        let event = Event {
            seq: 7,
            t_nanos: 14_000_000,
            kind,
        };
        of(&event, &layout, profile::SPEC.params)
    }

    /// Scripts look for these names in old files: a change here breaks them.
    #[test]
    fn kinds_and_names_of_values_never_change() {
        let fault = Fault::Tracking {
            column: 0,
            error: 0.25,
            limit: 0.01,
        };
        let approval = Approval {
            rho: 0.97,
            least_disk: Some(0.4),
            is_override: true,
        };
        let margin = Verdict::TooLittleMargin {
            channel: "force",
            disk: 0.1,
            needed: 0.2,
        };
        let refusal = Refusal {
            request: Request::Arm,
            state: State::Tripped,
        };
        let (index, value) = (1, 0.5);
        let calibrate = RigCommand::Calibrate {
            cell: 0,
            id: CalibrationId::new("A1-1").unwrap(),
            line: Line {
                slope_n_per_unit: 500.0,
                offset_n: -25.0,
            },
        };
        let cases = [
            (
                EventKind::State {
                    from: State::Idle,
                    to: State::Ready,
                },
                "state from to",
            ),
            (
                EventKind::ParamApplied { index, value },
                "parameter index=1 value=0.5 id",
            ),
            (
                EventKind::ParamSettled { index, value },
                "parameter.settled index=1 value=0.5 id",
            ),
            (
                EventKind::ParamRefused { index: 99, value },
                "parameter.refused index=99 value=0.5",
            ),
            (
                EventKind::Retuned(approval),
                "gains rho=0.97 insisted=1 disk=0.4",
            ),
            (
                EventKind::RetuningRefused(margin),
                "gains.refused channel disk=0.1 needed=0.2",
            ),
            (
                EventKind::RetuningRefused(Verdict::Unstable { rho: 1.5 }),
                "gains.refused rho=1.5",
            ),
            (EventKind::RetuningMisfit, "gains.misfit"),
            (
                EventKind::FellBack(FallBack::Innovation(9.0)),
                "fallback innovation=9",
            ),
            (
                EventKind::FellBack(FallBack::Tracking(0.02)),
                "fallback distance_m=0.02",
            ),
            (EventKind::Refused(refusal), "refused request state"),
            (
                EventKind::ArmingAsked { within_ticks: 2500 },
                "arming within_ticks=2500",
            ),
            (EventKind::ArmingExpired, "arming.expired"),
            (
                EventKind::Insisted(Objection::RealTime),
                "insisted objection",
            ),
            (
                EventKind::Warning(fault),
                "warning fault measured=0.25 limit=0.01",
            ),
            (
                EventKind::Tripped {
                    fault,
                    action: Action::Retreat,
                },
                "trip fault measured=0.25 limit=0.01 action",
            ),
            (
                EventKind::Stopping(StopCause::Fault(fault)),
                "stopping cause fault measured=0.25 limit=0.01",
            ),
            (EventKind::Stopping(StopCause::Requested), "stopping cause"),
            (EventKind::Mark { number: 3 }, "mark number=3"),
            (
                EventKind::RigDone(calibrate),
                "calibration cell=1 id slope=500 offset=-25",
            ),
            (
                EventKind::RigRefused {
                    command: calibrate,
                    refusal: RigRefusal::State(State::Running),
                },
                "calibration.refused cell=1 id slope=500 offset=-25",
            ),
            (
                EventKind::RigDone(RigCommand::HangLoad {
                    cell: 1,
                    newtons: 50.0,
                }),
                "load cell=2 newtons=50",
            ),
            (EventKind::RigDone(RigCommand::RemoveLoads), "load"),
            (
                EventKind::RigRefused {
                    command: RigCommand::RemoveLoads,
                    refusal: RigRefusal::NotSupported,
                },
                "load.refused",
            ),
            (EventKind::RigDone(RigCommand::Home), "home"),
            (
                EventKind::RigRefused {
                    command: RigCommand::Home,
                    refusal: RigRefusal::NotSupported,
                },
                "home.refused",
            ),
            (EventKind::RigDone(RigCommand::StopHoming), "home.stopped"),
            (EventKind::PowerCut(Cut::SecondStop), "power-cut cause"),
            (
                EventKind::AtRest(Rest {
                    is_still: true,
                    after_s: 0.25,
                    moved: 0.5,
                }),
                "at-rest still=1 after_s=0.25 moved_m=0.5",
            ),
            (
                EventKind::Widened {
                    column: 0,
                    bench: (-1.0, 2.0),
                    session: (-3.0, 4.0),
                },
                "widened channel bench_low=-1 bench_high=2 low=-3 high=4",
            ),
            (EventKind::RigDone(RigCommand::Reset), "reset"),
            (
                EventKind::RigRefused {
                    command: RigCommand::Reset,
                    refusal: RigRefusal::NotSupported,
                },
                "reset.refused",
            ),
        ];
        let mut seen = Vec::new();
        for (kind, expected) in cases {
            let record = record(kind);
            seen.push(record.kind.clone());
            let mut shown = record.kind.clone();
            for (key, value) in &record.fields {
                shown.push(' ');
                shown.push_str(key);
                if let FieldValue::Number(x) = value {
                    shown.push_str(&format!("={x}"));
                }
            }
            assert_eq!(shown, expected);
            assert_eq!((record.seq, record.t_nanos), (7, 14_000_000));
            assert!(!record.text.is_empty());
        }
        seen.dedup();
        assert_eq!(seen, KINDS);
    }
}
