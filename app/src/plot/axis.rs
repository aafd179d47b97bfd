//! Axes whose ends and marks are multiples of 1, 2 or 5 · 10ⁿ, so that they stand still while values move.

use serde::{Deserialize, Serialize};

/// An axis between two of its marks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Distance of two marks.
    pub step: f64,
}

impl Axis {
    /// The smallest axis that holds a range. A value on a mark needs none beyond it.
    pub fn holding(range: Option<(f64, f64)>) -> Self {
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let smallest = 1e-3_f64.max(1e-6 * low.abs().max(high.abs()));
        let step = step_for((high - low).max(smallest), 4);
        let (low, high) = (
            (low / step + 1e-9).floor() * step,
            (high / step - 1e-9).ceil() * step,
        );
        Self {
            low,
            high: high.max(low + step),
            step,
        }
    }

    /// The axis of before as long as it holds the range and is at most twice as long as it need be:
    /// values that wander about a mark do not make the picture jump.
    pub fn steadied(before: Option<Self>, range: Option<(f64, f64)>) -> Self {
        let needed = Self::holding(range);
        let Some((before, (low, high))) = before.zip(range) else {
            return before.unwrap_or(needed);
        };
        let holds = before.low <= low && high <= before.high;
        let is_close = before.high - before.low <= 2.0 * (needed.high - needed.low);
        if holds && is_close { before } else { needed }
    }

    /// Its marks, from the lowest.
    pub fn marks(self) -> Vec<f64> {
        marks(self.low, self.high, self.step)
    }

    /// What stands at a mark: as many decimals as the step has.
    pub fn label(self, value: f64) -> String {
        label(value, self.step)
    }

    /// Where a value stands between the lower (0) and the upper end (1).
    pub fn part(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// The smallest 1, 2 or 5 · 10ⁿ of which `most` reach over a span.
pub fn step_for(span: f64, most: usize) -> f64 {
    let finest = span / most.max(1) as f64;
    let power = 10_f64.powf(finest.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    // Rounding of the power must not choose the next coarser step.
    let fits = |step: &f64| *step >= finest * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(steps[3])
}

/// All multiples of a step within a range, its ends included.
pub fn marks(low: f64, high: f64, step: f64) -> Vec<f64> {
    // Rounding must not lose a mark at an end.
    let (first, last) = (
        (low / step - 1e-6).ceil() as i64,
        (high / step + 1e-6).floor() as i64,
    );
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A value at a mark, with as many decimals as the step of the marks has.
pub fn label(value: f64, step: f64) -> String {
    // Rounding may leave a zero with a sign.
    let value = if value.abs() < 0.5 * step { 0.0 } else { value };
    if value.abs() >= 1e6 {
        return format!("{value:e}");
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_the_values_and_stands_still_under_small_changes() {
        for range in [
            (0.0, 0.0),
            (-5.2, 7.3),
            (149.9, 150.1),
            (1e5, 1e5),
            (-1e-9, 1e-9),
            (0.0, 1e6),
        ] {
            let axis = Axis::holding(Some(range));
            assert!(
                axis.low < axis.high && axis.low <= range.0 && axis.high >= range.1,
                "{range:?} in {axis:?}"
            );
            assert!((2..=8).contains(&axis.marks().len()), "{axis:?}");
        }
        assert_eq!(
            Axis::holding(Some((101.0, 139.0))),
            Axis::holding(Some((101.3, 138.2)))
        );
        assert_eq!(Axis::holding(None), Axis::holding(Some((0.0, 1.0))));
    }

    #[test]
    fn an_axis_changes_only_when_it_must() {
        let first = Axis::steadied(None, Some((0.0, 99.0)));
        // Wanders over a mark: a fresh axis would be another one.
        assert_ne!(Axis::holding(Some((0.0, 70.0))), first);
        assert_eq!(Axis::steadied(Some(first), Some((0.0, 70.0))), first);
        assert_eq!(Axis::steadied(Some(first), None), first);
        // Outgrown at once; left when much too large.
        assert!(Axis::steadied(Some(first), Some((0.0, 250.0))).high >= 250.0);
        let small = Axis::steadied(Some(first), Some((0.0, 9.0)));
        assert!(small.high < 20.0, "{small:?}");
    }

    #[test]
    fn marks_are_labelled_as_finely_as_they_stand() {
        let axis = Axis::holding(Some((0.0, 0.9)));
        let labels: Vec<String> = axis.marks().iter().map(|m| axis.label(*m)).collect();
        assert_eq!(labels, ["0.0", "0.5", "1.0"]);
        assert_eq!(label(0.15, 0.05), "0.15");
        assert_eq!(label(2e6, 1e6), "2e6");
    }

    #[test]
    fn steps_are_one_two_or_five() {
        for (span, most, expected) in [
            (10.0, 10, 1.0),
            (10.0, 9, 2.0),
            (3600.0, 8, 500.0),
            (0.02, 10, 0.002),
            (1e-3, 10, 1e-4),
        ] {
            let step = step_for(span, most);
            assert!((step / expected - 1.0).abs() < 1e-9, "{span} {most} {step}");
        }
    }
}
