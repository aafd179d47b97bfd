//! What is wrong with a force sensor by itself, whatever the force: told apart, and in words.

use super::{FaultText, short};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellFault {
    /// It repeats its reading to the last bit.
    Frozen,
    /// It shows what it cannot show: a broken wire, a short circuit, an overflow.
    OutOfRange,
    /// It is at the end of its range: the force is larger than shown.
    Saturated,
    /// It has less noise than any such sensor: nothing is measured.
    TooQuiet,
    /// It has more noise than it should while nothing moves.
    TooNoisy,
    /// It carries too little of the force.
    Share,
    /// The force at rest is not that of the specimen. Of the force channel.
    RestForce,
    /// Its mean at rest is another one than the last time.
    Drift,
}

impl CellFault {
    /// The stable name of its kind.
    fn kind(self) -> &'static str {
        match self {
            CellFault::Frozen => "cell-frozen",
            CellFault::OutOfRange => "cell-range",
            CellFault::Saturated => "cell-saturated",
            CellFault::TooQuiet => "cell-quiet",
            CellFault::TooNoisy => "cell-noisy",
            CellFault::Share => "cell-share",
            CellFault::RestForce => "rest-force",
            CellFault::Drift => "cell-drift",
        }
    }

    /// In words; `id`, `label` and `unit` are those of its channel.
    pub(super) fn describe(
        self,
        (id, label, unit): (&str, &str, &str),
        measured: f64,
        limit: f64,
    ) -> FaultText {
        let (value, bound) = (short(measured), short(limit));
        let percent = |x: f64| format!("{:.0} %", 100.0 * x);
        let (what, advice) = match self {
            CellFault::Frozen => (
                format!(
                    "{label} is frozen: {measured:.0} times the same to the last bit; allowed: fewer than {limit:.0}"
                ),
                "Check this cell, its cable and its amplifier; the sum of all cells hides it.",
            ),
            CellFault::OutOfRange => (
                format!(
                    "{label} shows {value} {unit}, which it cannot: its range ends at {bound} {unit}"
                ),
                "Look for a broken wire, a short circuit or a wrong amplifier range; check 'watch.range' of the rig file.",
            ),
            CellFault::Saturated => (
                format!(
                    "{label} is saturated at {value} {unit} ({bound} {unit} is as far as it can be read): the force is larger than shown"
                ),
                "Look at the specimen before anything else, then at what pressed so hard; the cell may need a new calibration.",
            ),
            CellFault::TooQuiet => (
                format!(
                    "{label} is too quiet: its noise is {measured:.3e} {unit}; expected at least {limit:.3e}"
                ),
                "A cell that measures has noise: check cell, cable and amplifier, or 'watch.noise' of the rig file.",
            ),
            CellFault::TooNoisy => (
                format!(
                    "{label} is too noisy: {measured:.3e} {unit} while nothing moves; expected at most {limit:.3e}"
                ),
                "Check shield, plug and supply of this cell, or 'watch.noise' of the rig file.",
            ),
            CellFault::Share => (
                format!(
                    "{label} gives {} of the force; expected at least {}",
                    percent(measured),
                    percent(limit)
                ),
                "This cell is dead or loose, or another one shows too much; check both and their calibrations, or 'watch.share' of the rig file.",
            ),
            CellFault::RestForce => (
                format!(
                    "{label} at rest in the parked position is {value} {unit}; expected at {} {bound} {unit}",
                    if measured < limit { "least" } else { "most" }
                ),
                "Check that the head touches the pad, the uplift, and every load cell; 'cell_watch.rest_force' of the rig file says what is expected.",
            ),
            CellFault::Drift => (
                format!(
                    "{label} at rest has changed by {value} N since the last time; allowed: {bound} N"
                ),
                "If the uplift was changed, acknowledge and arm again; otherwise check the zero of this cell.",
            ),
        };
        FaultText {
            id: format!("{}.{id}", self.kind()),
            what,
            measured: Some(measured),
            limit: Some(limit),
            advice,
        }
    }
}
