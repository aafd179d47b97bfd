//! Axes, lines and text of drawings in SVG.

use std::fmt::Write;

/// An axis: value range and where it is on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Value at its begin.
    pub low: f64,
    /// Value at its end; not the same.
    pub high: f64,
    /// Where it begins on the page.
    pub from: f64,
    /// Where it ends on the page.
    pub to: f64,
}

impl Axis {
    /// Where a value is on the page.
    pub fn at(&self, v: f64) -> f64 {
        self.from + (v - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values, at most about `count` of them.
    pub fn ticks(&self, count: f64) -> Vec<f64> {
        let step = self.tick_step(count);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    /// The distance between them: 1, 2 or 5 times a power of ten.
    pub fn tick_step(&self, count: f64) -> f64 {
        let rough = (self.high - self.low) / count;
        let power = 10f64.powf(rough.log10().floor());
        [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|m| m * power)
            .find(|s| *s >= rough)
            .unwrap_or(10.0 * power)
    }
}

/// Decimals that tell values apart which lie `step` from each other.
pub fn decimals(step: f64) -> usize {
    (-(step + 1e-12).log10().floor()).clamp(0.0, 9.0) as usize
}

/// A straight line of a class.
pub fn rule(out: &mut String, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.2}" x2="{x2:.1}" y2="{y2:.2}"/>"#
    );
}

/// Text with what SVG would take for its own replaced.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not even escaped allowed in XML.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_and_values_lie_between_the_ends() {
        let axis = Axis {
            low: -0.34,
            high: 1.9,
            from: 400.0,
            to: 100.0,
        };
        let ticks = axis.ticks(6.0);
        let expected = [0.0, 0.5, 1.0, 1.5];
        assert_eq!(ticks.len(), 4);
        assert!(
            ticks
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        assert_eq!((axis.at(-0.34), axis.at(1.9)), (400.0, 100.0));
        assert_eq!([0.5, 1.0, 20.0, 0.02, 0.001].map(decimals), [1, 0, 0, 2, 3]);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot; ");
    }
}
