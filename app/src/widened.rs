//! Limits of a bench that a session has widened, in words: in the window before and while the bench is armed, of a recording,
//! and beside the verdict of a report.

use crate::data::Channel;
use crate::units::shown;
use rt_core::guard::ActiveLimit;
use rt_core::record::event::EventRecord;
use rt_core::record::header::SessionHeader;

/// One line for each limit in force that allows more than its bench does.
pub fn of_limits(limits: &[ActiveLimit], channels: &[Channel]) -> Vec<String> {
    let line = |limit: &ActiveLimit| {
        let bench = limit.widens?;
        let channel = channels.get(limit.column)?;
        let unit = shown(&channel.unit);
        let range = |(low, high): (f64, f64)| {
            format!(
                "{} to {}",
                number(low * unit.factor),
                number(high * unit.factor)
            )
        };
        Some(format!(
            "widened by the session: {} {} {} in place of {} of the bench",
            channel.label,
            range((limit.low, limit.high)),
            unit.unit,
            range(bench)
        ))
    };
    limits.iter().filter_map(line).collect()
}

/// What a recording says of limits that were widened when it began.
const FURTHER: &str = "widened_limits";

/// Notes them in a recording's header: one that begins after arming has no event that tells of them.
pub fn note(header: &mut SessionHeader, limits: &[ActiveLimit], channels: &[Channel]) {
    let lines = of_limits(limits, channels);
    if !lines.is_empty() {
        header.further.insert(FURTHER.into(), lines.join("; "));
    }
}

/// One line for each that a recording tells of, however often it was armed.
pub fn of_recording<'a>(
    header: &SessionHeader,
    events: impl IntoIterator<Item = &'a EventRecord>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in events.into_iter().filter(|e| e.kind == "widened") {
        if !lines.contains(&event.text) {
            lines.push(event.text.clone());
        }
    }
    if lines.is_empty() {
        lines.extend(header.further.get(FURTHER).cloned());
    }
    lines
}

/// Without digits that only come from a change of unit.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::channel::ChannelSpec;
    use rt_core::fault::Action;
    use rt_core::guard::Owner;

    #[test]
    fn a_widened_limit_is_told_with_both_ranges_and_others_are_not() {
        let channels = [Channel::from(&ChannelSpec::computed(
            "tracking_error",
            "Tracking error",
            "m",
        ))];
        let limit = |owner, widens| ActiveLimit {
            column: 0,
            low: -7e-3,
            high: 7e-3,
            for_cycles: 1,
            action: Action::Retreat,
            owner,
            widens,
        };
        let limits = [
            limit(Owner::Rig, None),
            limit(Owner::Session, Some((-5e-3, 5e-3))),
        ];
        let lines = of_limits(&limits, &channels);
        assert_eq!(
            lines,
            ["widened by the session: Tracking error -7 to 7 mm in place of -5 to 5 of the bench"]
        );
    }
}
