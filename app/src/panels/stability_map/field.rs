//! A map's values between its points: interpolated, with contours and hatching.

use rt_core::bench::map::MapPoint;

/// Points of a map in rows from below; both sides are divided evenly from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Points of a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// What the model says; `None` where there are no gains.
    pub points: Vec<Option<MapPoint>>,
}

/// One number at each point of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    columns: usize,
    rows: usize,
    values: Vec<f64>,
}

/// From one place to another, in shares of the sides.
pub type Segment = [(f64, f64); 2];

/// Where there are no gains at all the loop counts as far from safe.
const NO_GAINS: f64 = -0.5;

impl Grid {
    /// The disk margin; below 0 where the loop is unstable, the more the faster it diverges.
    pub fn safety(&self) -> Field {
        self.field(|point| match point {
            Some(MapPoint {
                least_disk: Some(disk),
                ..
            }) => *disk,
            Some(MapPoint { rho, .. }) => (-10.0 * (rho - 1.0)).clamp(NO_GAINS, 0.0),
            None => NO_GAINS,
        })
    }

    /// ρ; NaN where there are no gains.
    pub fn radius(&self) -> Field {
        self.field(|point| point.map_or(f64::NAN, |p| p.rho))
    }

    /// The point nearest to a place.
    pub fn nearest(&self, x: f64, y: f64) -> Option<(usize, usize, Option<MapPoint>)> {
        let index = |share: f64, count: usize| {
            (share.clamp(0.0, 1.0) * count.saturating_sub(1) as f64).round() as usize
        };
        let (column, row) = (index(x, self.columns), index(y, self.rows));
        let point = self.points.get(row * self.columns + column)?;
        Some((column, row, *point))
    }

    fn field(&self, value: impl Fn(&Option<MapPoint>) -> f64) -> Field {
        Field {
            columns: self.columns,
            rows: self.rows,
            values: self.points.iter().map(value).collect(),
        }
    }
}

impl Field {
    /// Points of a row, and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// The value at a point.
    pub fn value(&self, column: usize, row: usize) -> f64 {
        let value = self.values.get(row * self.columns + column);
        value.copied().unwrap_or(f64::NAN)
    }

    /// All values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value between points, from the four around it.
    pub fn at(&self, x: f64, y: f64) -> f64 {
        let place = |share: f64, count: usize| {
            let exact = share.clamp(0.0, 1.0) * count.saturating_sub(1) as f64;
            let below = (exact as usize).min(count.saturating_sub(2));
            (below, exact - below as f64)
        };
        let ((c, s), (r, t)) = (place(x, self.columns), place(y, self.rows));
        let mix = |a: f64, b: f64, share: f64| a + share * (b - a);
        let low = mix(self.value(c, r), self.value(c + 1, r), s);
        let high = mix(self.value(c, r + 1), self.value(c + 1, r + 1), s);
        mix(low, high, t)
    }

    /// Where the value is a level, as pieces of line (marching squares).
    pub fn contour(&self, level: f64) -> Vec<Segment> {
        let mut pieces = Vec::new();
        let (dx, dy) = (
            1.0 / self.columns.saturating_sub(1).max(1) as f64,
            1.0 / self.rows.saturating_sub(1).max(1) as f64,
        );
        for row in 0..self.rows.saturating_sub(1) {
            for column in 0..self.columns.saturating_sub(1) {
                let corners = [(0, 0), (1, 0), (1, 1), (0, 1)];
                let values = corners.map(|(i, j)| self.value(column + i, row + j) - level);
                if values.iter().any(|v| v.is_nan()) {
                    continue;
                }
                // Where each of the four sides is crossed.
                let mut crossings = Vec::with_capacity(4);
                for side in 0..4 {
                    let (a, b) = (values[side], values[(side + 1) % 4]);
                    if (a < 0.0) == (b < 0.0) {
                        continue;
                    }
                    let share = a / (a - b);
                    let (from, to) = (corners[side], corners[(side + 1) % 4]);
                    let between = |p: usize, q: usize| p as f64 + share * (q as f64 - p as f64);
                    crossings.push((
                        (column as f64 + between(from.0, to.0)) * dx,
                        (row as f64 + between(from.1, to.1)) * dy,
                    ));
                }
                match crossings[..] {
                    [a, b] => pieces.push([a, b]),
                    [a, b, c, d] => {
                        // A saddle: its middle says which corners belong together.
                        let middle: f64 = values.iter().sum();
                        if (middle < 0.0) == (values[0] < 0.0) {
                            pieces.extend([[a, b], [c, d]]);
                        } else {
                            pieces.extend([[a, d], [b, c]]);
                        }
                    }
                    _ => {}
                }
            }
        }
        pieces
    }

    /// Diagonal lines over all places whose value is below a level, for a picture of so many points; the
    /// lines stand `spacing` points apart.
    pub fn hatching(&self, level: f64, (width, height): (f64, f64), spacing: f64) -> Vec<Segment> {
        /// Points along a line between two looks at the field.
        const STEP: f64 = 3.0;
        let mut pieces = Vec::new();
        let lines = ((width + height) / spacing).ceil() as usize;
        for line in 1..lines {
            // x + y = offset.
            let offset = line as f64 * spacing;
            let (from, to) = ((offset - height).max(0.0), offset.min(width));
            let count = ((to - from) / STEP).ceil().max(1.0) as usize;
            let place = |i: usize| {
                let x = from + (to - from) * i as f64 / count as f64;
                (x / width, (offset - x) / height)
            };
            let mut begin = None;
            for i in 0..=count {
                let (x, y) = place(i);
                let is_below = self.at(x, y) < level;
                match (is_below, begin) {
                    (true, None) => begin = Some((x, y)),
                    (false, Some(start)) => {
                        pieces.push([start, (x, y)]);
                        begin = None;
                    }
                    _ => {}
                }
            }
            if let Some(start) = begin {
                pieces.push([start, place(count)]);
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hill around the middle: 1 − r² with r measured in halves of the sides.
    fn hill(points: usize) -> Field {
        let last = (points - 1) as f64;
        let at = |i: usize| 2.0 * i as f64 / last - 1.0;
        Field {
            columns: points,
            rows: points,
            values: (0..points * points)
                .map(|n| 1.0 - at(n % points).powi(2) - at(n / points).powi(2))
                .collect(),
        }
    }

    #[test]
    fn between_points_values_are_mixed() {
        let field = Field {
            columns: 2,
            rows: 2,
            values: vec![0.0, 1.0, 2.0, 3.0],
        };
        assert_eq!(
            (field.at(0.0, 0.0), field.at(1.0, 1.0), field.at(0.5, 0.25)),
            (0.0, 3.0, 1.0)
        );
    }

    #[test]
    fn the_contour_of_a_hill_is_a_closed_circle() {
        let field = hill(41);
        let pieces = field.contour(0.75);
        let mut length = 0.0;
        for [a, b] in &pieces {
            for (x, y) in [a, b] {
                let r = ((x - 0.5).powi(2) + (y - 0.5).powi(2)).sqrt();
                // 1 − r² = ¾ at half of the half sides; linear between points 1/40 apart.
                assert!((r - 0.25).abs() < 2e-3, "{r}");
            }
            length += ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt();
        }
        // All the way round: 2π/4.
        assert!(
            (length / (0.5 * std::f64::consts::PI) - 1.0).abs() < 0.01,
            "{length}"
        );
        assert!(field.contour(5.0).is_empty());
    }

    #[test]
    fn hatching_covers_what_is_below_and_nothing_else() {
        let field = hill(41);
        let pieces = field.hatching(0.75, (400.0, 400.0), 8.0);
        assert!(pieces.len() > 50);
        for [a, b] in pieces {
            for share in [0.1, 0.5, 0.9] {
                let (x, y) = (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
                assert!(field.at(x, y) < 0.75, "{x} {y}");
            }
        }
        assert!(field.hatching(-5.0, (400.0, 400.0), 8.0).is_empty());
    }
}
