//! Frames, ticks and curves of a picture.

use rt_core::svg::{Axis, decimals, rule};
use std::fmt::Write;

// Writing to a string cannot fail, so the results of `write!` are dropped in this file.

/// Where a chart stands on the page.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Left edge of its frame.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

/// A frame with two axes.
pub struct Chart {
    place: Place,
    x: Axis,
    y: Axis,
    /// Values of y are logarithms of base ten.
    is_logarithmic: bool,
}

impl Chart {
    /// A chart of these ranges of values.
    pub fn new(place: Place, x: (f64, f64), y: (f64, f64), is_logarithmic: bool) -> Self {
        Self {
            place,
            x: Axis {
                low: x.0,
                high: x.1,
                from: place.left,
                to: place.right,
            },
            y: Axis {
                low: y.0,
                high: y.1,
                from: place.bottom,
                to: place.top,
            },
            is_logarithmic,
        }
    }

    /// Frame, grid, numbers and names of the axes.
    pub fn frame(&self, out: &mut String, x_name: &str, y_name: &str) {
        let Place {
            left,
            right,
            top,
            bottom,
        } = self.place;
        let across = (right - left) / 80.0;
        let x_places = decimals(self.x.tick_step(across));
        for t in self.x.ticks(across) {
            let at = self.x.at(t);
            rule(out, "grid", at, bottom, at, top);
            let _ = writeln!(
                out,
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{t:.x_places$}</text>"#,
                bottom + 16.0
            );
        }
        let up = if self.is_logarithmic {
            (self.y.high - self.y.low).max(1.0)
        } else {
            (bottom - top) / 40.0
        };
        let y_places = decimals(self.y.tick_step(up));
        for t in self.y.ticks(up) {
            // Powers of ten between two powers of ten say nothing.
            if self.is_logarithmic && t.fract().abs() > 1e-9 {
                continue;
            }
            let at = self.y.at(t);
            rule(out, "grid", left, at, right, at);
            let number = if self.is_logarithmic {
                power_of_ten(t.round() as i32)
            } else {
                format!("{t:.y_places$}")
            };
            let _ = writeln!(
                out,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{number}</text>"#,
                left - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            out,
            r#"<rect class="frame" x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}"/>
<text x="{left:.1}" y="{:.1}">{y_name}</text>
<text x="{:.1}" y="{:.1}" text-anchor="end">{x_name}</text>"#,
            right - left,
            bottom - top,
            top - 6.0,
            right,
            bottom + 32.0
        );
    }

    /// A vertical line across the chart.
    pub fn upright(&self, out: &mut String, class: &str, x: f64) {
        let at = self.x.at(x);
        rule(out, class, at, self.place.bottom, at, self.place.top);
    }

    /// A curve, interrupted where a value is unknown. Of many samples in one column of the page the
    /// smallest and the largest are drawn. Values beyond the frame are drawn at its edge.
    pub fn curve(&self, out: &mut String, style: &str, x: &[f64], y: &[f64]) {
        let mut piece: Vec<(f64, f64)> = Vec::new();
        let within = |v: f64| v.clamp(self.y.low.min(self.y.high), self.y.high.max(self.y.low));
        for (x, y) in x.iter().zip(y) {
            let is_inside = (self.x.low..=self.x.high).contains(x);
            if is_inside && y.is_finite() {
                piece.push((self.x.at(*x), self.y.at(within(*y))));
            } else if !piece.is_empty() {
                polyline(out, style, &thinned(&piece));
                piece.clear();
            }
        }
        if !piece.is_empty() {
            polyline(out, style, &thinned(&piece));
        }
    }
}

/// 10⁻², in characters that every program can show.
fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    let exponent: String = exponent.to_string().chars().map(raised).collect();
    format!("10{exponent}")
}

/// At most four points for each half column of the page: first, smallest, largest, last, in their order.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let column = |p: &(f64, f64)| (2.0 * p.0).floor();
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        if group.len() <= 4 {
            kept.extend_from_slice(group);
            continue;
        }
        let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let smallest = (0..group.len()).min_by(by_height).unwrap_or(0);
        let largest = (0..group.len()).max_by(by_height).unwrap_or(0);
        let mut chosen = [0, smallest, largest, group.len() - 1];
        chosen.sort_unstable();
        kept.extend(chosen.map(|i| group[i]));
    }
    kept
}

fn polyline(out: &mut String, style: &str, points: &[(f64, f64)]) {
    let points: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(out, r#"<polyline {style} points="{}"/>"#, points.join(" "));
}

/// Smallest and largest known value with some room around, for an axis.
pub fn range<'a>(values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(*v), high.max(*v))
        });
    if low > high {
        return (0.0, 1.0);
    }
    let room = 0.06 * (high - low).max(1e-9 * high.abs()).max(1e-12);
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_raised() {
        assert_eq!(
            [-10, 0, 2, 34].map(power_of_ten),
            ["10⁻¹⁰", "10⁰", "10²", "10³⁴"]
        );
    }

    #[test]
    fn thinning_keeps_every_extreme() {
        let points: Vec<(f64, f64)> = (0..100_000)
            .map(|i| {
                let x = f64::from(i) * 0.01;
                (x, if i == 31_415 { 99.0 } else { (x * 40.0).sin() })
            })
            .collect();
        let kept = thinned(&points);
        assert!(kept.len() <= 4 * 2001, "{}", kept.len());
        assert!(kept.contains(&points[31_415]));
        assert!(kept.windows(2).all(|w| w[0].0 <= w[1].0));
        assert_eq!(kept[0], points[0]);
        assert_eq!(kept[kept.len() - 1], points[99_999]);
        assert_eq!(thinned(&points[..3]), points[..3]);
    }

    #[test]
    fn a_curve_stops_at_gaps_and_at_the_frame() {
        let place = Place {
            left: 0.0,
            right: 100.0,
            top: 0.0,
            bottom: 50.0,
        };
        let chart = Chart::new(place, (0.0, 10.0), (0.0, 5.0), false);
        let mut out = String::new();
        let n = f64::NAN;
        chart.curve(
            &mut out,
            "",
            &[-1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 11.0],
            &[1.0, 1.0, 9.0, n, 2.0, 3.0, 3.0],
        );
        let expected = "<polyline  points=\"0.0,40.0 10.0,0.0\"/>\n<polyline  points=\"30.0,30.0 100.0,20.0\"/>\n";
        assert_eq!(out, expected);
        assert_eq!(range([n].iter()), (0.0, 1.0));
        let (low, high) = range([3.0, 3.0].iter());
        assert!(low < 3.0 && high > 3.0);
    }
}
