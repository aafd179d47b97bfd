//! Events that a loop tells of itself, recorded and recomputed: the first that differs.

use rt_core::record::event::EventRecord;

/// An event that is not the same in recording and recomputation.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDifference {
    /// The tick.
    pub seq: u64,
    /// The recorded event in words, if there is one.
    pub recorded: Option<String>,
    /// The recomputed event in words, if there is one.
    pub recomputed: Option<String>,
}

/// Whether an event follows from what the loop was given, rather than being part of it.
fn follows(event: &&EventRecord) -> bool {
    match event.kind.as_str() {
        "state" | "parameter.settled" | "fallback" | "warning" | "trip" | "arming.expired" => true,
        "stopping" => !matches!(
            event.word("cause"),
            Some("requested" | "ending" | "abandoned")
        ),
        _ => false,
    }
}

/// The first event that differs. Words may change from version to version; kinds and values do not.
pub fn first_event_difference(
    recorded: &[EventRecord],
    recomputed: &[EventRecord],
) -> Option<EventDifference> {
    let mut theirs: Vec<&EventRecord> = recorded.iter().filter(follows).collect();
    theirs.sort_by_key(|event| event.seq);
    let mut theirs = theirs.into_iter();
    let mut ours = recomputed.iter().filter(follows);
    loop {
        let (a, b) = (theirs.next(), ours.next());
        let is_same = match (a, b) {
            (None, None) => return None,
            (Some(a), Some(b)) => (a.seq, &a.kind, &a.fields) == (b.seq, &b.kind, &b.fields),
            _ => false,
        };
        if !is_same {
            let first = [a, b].into_iter().flatten().map(|event| event.seq).min();
            return Some(EventDifference {
                seq: first.unwrap_or_default(),
                recorded: a.map(|event| event.text.clone()),
                recomputed: b.map(|event| event.text.clone()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, kind: &str) -> EventRecord {
        EventRecord {
            seq,
            kind: kind.into(),
            text: format!("{kind} in {seq}"),
            ..EventRecord::default()
        }
    }

    #[test]
    fn what_was_given_does_not_count_and_what_follows_does() {
        let recorded = [
            event(1, "state"),
            event(2, "parameter"),
            event(3, "warning"),
        ];
        let recomputed = [event(1, "state"), event(3, "warning"), event(4, "mark")];
        assert_eq!(first_event_difference(&recorded, &recomputed), None);
        let found = first_event_difference(&recorded, &recomputed[..1]).unwrap();
        assert_eq!((found.seq, found.recomputed), (3, None));
        assert_eq!(found.recorded.unwrap(), "warning in 3");
    }
}
