//! An axis of a chart: linear with marks at 1, 2 or 5 · 10ⁿ, or logarithmic with decades.

use serde::{Deserialize, Serialize};

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Equal steps are equal lengths.
    #[default]
    Linear,
    /// Equal ratios are equal lengths; values of 0 and below have no place.
    Log,
}

/// A range of values and how they are laid out. `low < high`, both above 0 if logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// How values are laid out.
    pub scale: Scale,
    /// Value at the begin.
    pub low: f64,
    /// Value at the end.
    pub high: f64,
    /// Whether values are degrees, with marks at parts of a turn.
    pub is_angle: bool,
}

/// A line of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where it stands.
    pub value: f64,
    /// What is written beside; lines between the main ones have nothing.
    pub label: Option<String>,
}

/// Points of the screen that a decade needs to be divided by lines.
const LEAST_DECADE: f64 = 50.0;

/// The smallest of 1, 2 or 5 · 10ⁿ that is not below a value; 1 for what is no positive number.
pub fn nice_step(at_least: f64) -> f64 {
    if !(at_least > 0.0 && at_least.is_finite()) {
        return 1.0;
    }
    let exponent = at_least.log10().floor() as i32;
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| round_decimal(s, exponent));
    // Rounding must not lift 2 to 5.
    let fits = |s: &&f64| **s >= at_least * (1.0 - 1e-9);
    steps.iter().find(fits).copied().unwrap_or(steps[3])
}

/// mantissa · 10^exponent with only the rounding of one operation, so that marks are equal to literals.
fn round_decimal(mantissa: f64, exponent: i32) -> f64 {
    if exponent >= 0 {
        mantissa * 10_f64.powi(exponent)
    } else {
        mantissa / 10_f64.powi(-exponent)
    }
}

impl Axis {
    /// A linear axis that ends on marks and therefore stands still while values move a little. Without
    /// values it goes from 0 to 1.
    pub fn around(range: Option<(f64, f64)>) -> Self {
        let (low, high) = range.unwrap_or((0.0, 1.0));
        let smallest = (1e-6 * low.abs().max(high.abs())).max(1e-12);
        let step = nice_step((high - low).max(smallest) / 10.0);
        let low = (low / step - 0.05).floor() * step;
        let high = ((high / step + 0.05).ceil() * step).max(low + step);
        Self::exactly(low, high)
    }

    /// A linear axis from 0 to a mark at or above a value.
    pub fn from_zero(high: f64) -> Self {
        let step = nice_step(high / 10.0);
        Self::exactly(0.0, (high / step - 1e-9).ceil() * step)
    }

    /// A linear axis with these ends.
    pub fn exactly(low: f64, high: f64) -> Self {
        Self {
            scale: Scale::Linear,
            low,
            high: if high > low { high } else { low + 1.0 },
            is_angle: false,
        }
    }

    /// Phases from −180° to 180°.
    pub fn phases() -> Self {
        Self {
            is_angle: true,
            ..Self::exactly(-180.0, 180.0)
        }
    }

    /// A logarithmic axis that ends on decades, at most `decades` of them from the top.
    pub fn decades(range: Option<(f64, f64)>, decades: i32) -> Self {
        let (low, high) = range
            .filter(|(low, high)| *low > 0.0 && high.is_finite() && high >= low)
            .unwrap_or((0.1, 1.0));
        let top = (high.log10() - 1e-9).ceil() as i32;
        let bottom = ((low.log10() + 1e-9).floor() as i32)
            .max(top - decades)
            .min(top - 1);
        Self {
            scale: Scale::Log,
            low: round_decimal(1.0, bottom),
            high: round_decimal(1.0, top),
            is_angle: false,
        }
    }

    /// A logarithmic axis with these ends, both above 0.
    pub fn exactly_log(low: f64, high: f64) -> Self {
        let low = if low > 0.0 { low } else { 1e-3 };
        Self {
            scale: Scale::Log,
            low,
            high: if high > low { high } else { 10.0 * low },
            is_angle: false,
        }
    }

    /// Where a value stands: 0 at the begin, 1 at the end; NaN for what has no place.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => f64::NAN,
        }
    }

    /// The value at a place.
    pub fn value(&self, place: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + place * (self.high - self.low),
            Scale::Log => self.low * (self.high / self.low).powf(place),
        }
    }

    /// Marks of an axis of so many points on the screen, labels at least `apart` from each other.
    pub fn marks(&self, length: f32, apart: f32) -> Vec<Mark> {
        let labels = f64::from((length / apart).max(1.0));
        match self.scale {
            Scale::Linear => self.linear_marks(labels),
            Scale::Log => self.log_marks(labels, length),
        }
    }

    fn linear_marks(&self, labels: f64) -> Vec<Mark> {
        let least = (self.high - self.low) / labels;
        let step = if self.is_angle {
            let parts = [15.0, 30.0, 45.0, 90.0, 180.0];
            parts.into_iter().find(|p| *p >= least).unwrap_or(360.0)
        } else {
            nice_step(least)
        };
        let decimals = (-(step * 1.000_001).log10().floor()).max(0.0) as usize;
        // Rounding must not lose a mark at an end.
        let first = (self.low / step - 1e-6).ceil() as i64;
        let last = (self.high / step + 1e-6).floor() as i64;
        (first..=last)
            .map(|i| {
                let value = i as f64 * step;
                let label = if value.abs() >= 1e6 || step < 1e-5 {
                    short(value)
                } else {
                    format!("{value:.decimals$}")
                };
                Mark {
                    value,
                    label: Some(label.replace('-', "−")),
                }
            })
            .collect()
    }

    fn log_marks(&self, labels: f64, length: f32) -> Vec<Mark> {
        let (from, to) = (self.low.log10(), self.high.log10());
        let (first, last) = ((from - 1e-9).floor() as i32, (to + 1e-9).floor() as i32);
        let decades = to - from;
        // Every decade, every second, third …, or also what lies between them.
        let every = (decades / labels).ceil().max(1.0) as i32;
        let labelled_between: &[u32] = match labels / decades {
            room if room >= 14.0 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
            room if room >= 4.0 => &[1, 2, 5],
            _ => &[1],
        };
        let inside = |v: f64| v >= self.low * (1.0 - 1e-9) && v <= self.high * (1.0 + 1e-9);
        let has_room_between = f64::from(length) >= LEAST_DECADE * decades;
        let digits: &[u32] = if has_room_between {
            &[1, 2, 3, 4, 5, 6, 7, 8, 9]
        } else {
            &[1]
        };
        let all = (first..=last).flat_map(|e| digits.iter().map(move |d| (e, *d)));
        all.filter_map(|(exponent, digit)| {
            let value = round_decimal(f64::from(digit), exponent);
            let is_labelled = labelled_between.contains(&digit) && exponent.rem_euclid(every) == 0;
            inside(value).then(|| Mark {
                value,
                label: is_labelled.then(|| short(value)),
            })
        })
        .collect()
    }
}

/// A round number in few characters: 0.05, 200, 1e−6.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        // At most three digits, trailing zeros left out.
        let text = format!("{value:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        return format!("{mantissa}e{exponent}").replace('-', "−");
    }
    format!("{}", (value * 1e6).round() / 1e6).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, length: f32) -> Vec<String> {
        let marks = axis.marks(length, 50.0);
        marks.into_iter().filter_map(|m| m.label).collect()
    }

    #[test]
    fn steps_are_one_two_or_five() {
        for (at_least, step) in [
            (0.3, 0.5),
            (0.5, 0.5),
            (0.51, 1.0),
            (2.0, 2.0),
            (0.02, 0.02),
            (1.1e-7, 2e-7),
            (3000.0, 5000.0),
            (0.0, 1.0),
            (f64::NAN, 1.0),
        ] {
            let found = nice_step(at_least);
            assert!((found - step).abs() <= 1e-12 * step, "{at_least}: {found}");
        }
    }

    #[test]
    fn a_linear_axis_holds_its_values_ends_on_marks_and_stands_still() {
        for range in [
            (0.0, 0.0),
            (-5.2, 7.3),
            (149.9, 150.1),
            (1e5, 1e5),
            (-1e-9, 1e-9),
        ] {
            let axis = Axis::around(Some(range));
            assert!(axis.low <= range.0 && axis.high >= range.1 && axis.low < axis.high);
        }
        assert_eq!(Axis::from_zero(8.3), Axis::exactly(0.0, 9.0));
        let (a, b) = (
            Axis::around(Some((101.0, 139.0))),
            Axis::around(Some((101.6, 138.2))),
        );
        assert_eq!(a, b);
        assert_eq!(labels(a, 300.0), ["100", "110", "120", "130", "140"]);
        assert_eq!(
            labels(Axis::exactly(-0.5, 0.5), 130.0),
            ["−0.5", "0.0", "0.5"]
        );
    }

    #[test]
    fn a_logarithmic_axis_is_marked_at_decades_and_between() {
        let axis = Axis::exactly_log(0.25, 250.0);
        assert_eq!(labels(axis, 300.0), ["1", "10", "100"]);
        assert_eq!(
            labels(axis, 900.0),
            ["0.5", "1", "2", "5", "10", "20", "50", "100", "200"]
        );
        assert_eq!(
            labels(Axis::phases(), 200.0),
            ["−180", "−90", "0", "90", "180"]
        );
        let lines: Vec<f64> = axis.marks(300.0, 50.0).iter().map(|m| m.value).collect();
        assert_eq!(lines.first(), Some(&0.3));
        assert_eq!(lines.last(), Some(&200.0));
        // 0.3 … 0.9, 1 … 9, 10 … 90, 100 and 200.
        assert_eq!(lines.len(), 7 + 9 + 9 + 2);
        // Twelve decades in a low plot: not every one has room for a number.
        let high = Axis::decades(Some((3e-9, 700.0)), 12);
        assert_eq!((high.low, high.high), (1e-9, 1e3));
        assert_eq!(labels(high, 200.0), ["1e−9", "1e−6", "0.001", "1", "1000"]);
    }

    #[test]
    fn places_and_values_are_inverse() {
        for axis in [Axis::exactly(-3.0, 5.0), Axis::exactly_log(0.02, 500.0)] {
            for place in [0.0, 0.3, 1.0] {
                let back = axis.place(axis.value(place));
                assert!((back - place).abs() < 1e-12, "{axis:?} {place} {back}");
            }
        }
        // Each decade is as long as the next.
        let axis = Axis::exactly_log(0.1, 1000.0);
        assert!((axis.place(1.0) - 0.25).abs() < 1e-12 && (axis.place(100.0) - 0.75).abs() < 1e-12);
        assert!(axis.place(0.0).is_nan() && axis.place(-1.0).is_nan());
    }

    #[test]
    fn decades_hold_the_largest_value_and_not_more_than_asked_for() {
        let axis = Axis::decades(Some((1e-30, 42.0)), 8);
        assert_eq!((axis.low, axis.high), (1e-6, 1e2));
        assert_eq!(Axis::decades(Some((10.0, 10.0)), 8).low, 1.0);
        for none in [None, Some((0.0, 0.0)), Some((f64::NAN, 1.0))] {
            let axis = Axis::decades(none, 8);
            assert_eq!((axis.low, axis.high), (0.1, 1.0));
        }
    }
}
