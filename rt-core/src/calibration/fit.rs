//! From points to a line, and how well the line fits: residuals, linearity, hysteresis, repeatability.
//!
//! Loads are known exactly, readings are not: the reading is fitted over the load and the line turned round
//! afterwards. Fitting the load over the reading instead would make every slope a little too small.
//!
//! ```text
//! r = a + b F,   b = Σ(F − F̄)(r − r̄) / Σ(F − F̄)²,   a = r̄ − b F̄;     slope = 1/b,  offset = −a/b
//! ```
//!
//! All points count the same: what is wrong with a point is how the load was hung, not the noise of its mean.

use super::{Kind, Line, Point};

/// Why points give no line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Too few or too many.
    #[error("a {kind} calibration needs {needed}, but there {are}", kind = kind.name(),
        are = if *found == 1 { "is 1".to_owned() } else { format!("are {found}") })]
    Count {
        /// The kind.
        kind: Kind,
        /// How many it needs, in words.
        needed: &'static str,
        /// How many there are.
        found: usize,
    },
    /// Two loads that are the same, where different ones are needed.
    #[error("{found} different load(s) where {needed} are needed: choose loads further apart")]
    SameLoads {
        /// Different loads among the points.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A span point without load.
    #[error(
        "the load of a span calibration is 0 N: hang a known weight, or take a zero calibration"
    )]
    SpanWithoutLoad,
    /// The reading did not move with the load.
    #[error(
        "the reading does not change with the load: check that the load is on this cell and the cell is connected"
    )]
    NoResponse,
    /// Slope or zero of a calibration before is needed.
    #[error("a {kind} calibration corrects an earlier one and this cell has none: take a two-point or multi-point calibration", kind = kind.name())]
    NothingBefore {
        /// The kind.
        kind: Kind,
    },
    /// A value that is no number.
    #[error(
        "point {number} is {load_n} N at a reading of {reading}: expected finite numbers; take it again"
    )]
    NotFinite {
        /// Which point, from 1.
        number: usize,
        /// Its load.
        load_n: f64,
        /// Its reading.
        reading: f64,
    },
}

/// Whether two loads are the same weights: closer than a millionth of the span.
pub fn same_load(a: f64, b: f64, span: f64) -> bool {
    (a - b).abs() <= 1e-6 * span
}

/// Lowest and highest load.
pub fn range(points: &[Point]) -> (f64, f64) {
    let loads = points.iter().map(|p| p.load_n);
    loads.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), load| {
        (low.min(load), high.max(load))
    })
}

/// Different loads among the points, in rising order.
pub(super) fn distinct_loads(points: &[Point]) -> Vec<f64> {
    let (low, high) = range(points);
    let mut loads: Vec<f64> = points.iter().map(|p| p.load_n).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup_by(|a, b| same_load(*a, *b, high - low));
    loads
}

/// The line that points give; `before` is needed by kinds that keep a part of it.
pub fn line(kind: Kind, points: &[Point], before: Option<Line>) -> Result<Line, FitError> {
    let count = |needed, good: bool| {
        let found = points.len();
        if good {
            Ok(())
        } else {
            Err(FitError::Count {
                kind,
                needed,
                found,
            })
        }
    };
    match kind {
        Kind::Zero | Kind::Span => count("1 point", points.len() == 1)?,
        Kind::TwoPoint => count("2 points", points.len() == 2)?,
        Kind::MultiPoint => count("at least 3 points", points.len() >= 3)?,
    }
    let is_bad = |p: &Point| !(p.load_n.is_finite() && p.reading.is_finite());
    if let Some(at) = points.iter().position(is_bad) {
        return Err(FitError::NotFinite {
            number: at + 1,
            load_n: points[at].load_n,
            reading: points[at].reading,
        });
    }
    match (kind, points) {
        (Kind::Zero, [point]) => {
            let slope = before
                .ok_or(FitError::NothingBefore { kind })?
                .slope_n_per_unit;
            Ok(Line {
                slope_n_per_unit: slope,
                offset_n: point.load_n - slope * point.reading,
            })
        }
        (Kind::Span, [point]) => {
            let zero = before
                .ok_or(FitError::NothingBefore { kind })?
                .zero_reading();
            if point.load_n == 0.0 {
                return Err(FitError::SpanWithoutLoad);
            }
            if point.reading == zero {
                return Err(FitError::NoResponse);
            }
            let slope = point.load_n / (point.reading - zero);
            Ok(Line {
                slope_n_per_unit: slope,
                offset_n: -slope * zero,
            })
        }
        _ => {
            let needed = if kind == Kind::TwoPoint { 2 } else { 3 };
            let found = distinct_loads(points).len();
            if found < needed {
                return Err(FitError::SameLoads { found, needed });
            }
            least_squares(points)
        }
    }
}

/// Sums about the means.
struct Sums {
    load_mean: f64,
    reading_mean: f64,
    /// Σ(F − F̄)².
    load_squares: f64,
    /// Σ(F − F̄)(r − r̄).
    products: f64,
}

fn sums(points: &[Point]) -> Sums {
    let n = points.len() as f64;
    let load_mean = points.iter().map(|p| p.load_n).sum::<f64>() / n;
    let reading_mean = points.iter().map(|p| p.reading).sum::<f64>() / n;
    let (mut load_squares, mut products) = (0.0, 0.0);
    for p in points {
        let (load, reading) = (p.load_n - load_mean, p.reading - reading_mean);
        load_squares += load * load;
        products += load * reading;
    }
    Sums {
        load_mean,
        reading_mean,
        load_squares,
        products,
    }
}

fn least_squares(points: &[Point]) -> Result<Line, FitError> {
    let s = sums(points);
    // r − r̄ = b (F − F̄)  ⇔  F = F̄ + (r − r̄)/b
    let slope = s.load_squares / s.products;
    if s.products == 0.0 || !slope.is_finite() {
        return Err(FitError::NoResponse);
    }
    Ok(Line {
        slope_n_per_unit: slope,
        offset_n: s.load_mean - slope * s.reading_mean,
    })
}

/// Whether a point was reached by adding or by taking off load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a lower load.
    Rising,
    /// From a higher load.
    Falling,
}

/// The direction of every point, in the order in which they were taken. The first goes the way of the second;
/// a load that is the same again keeps its direction.
pub fn directions(points: &[Point]) -> Vec<Direction> {
    let of = |from: f64, to: f64, before: Direction| match to.total_cmp(&from) {
        std::cmp::Ordering::Greater => Direction::Rising,
        std::cmp::Ordering::Less => Direction::Falling,
        std::cmp::Ordering::Equal => before,
    };
    let loads: Vec<f64> = points.iter().map(|p| p.load_n).collect();
    let moved = loads.windows(2).find(|w| w[0] != w[1]);
    let mut now = moved.map_or(Direction::Rising, |w| of(w[0], w[1], Direction::Rising));
    let mut all = Vec::with_capacity(loads.len());
    for (i, load) in loads.iter().enumerate() {
        if i > 0 {
            now = of(loads[i - 1], *load, now);
        }
        all.push(now);
    }
    all
}

/// How well a line fits its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The line.
    pub line: Line,
    /// Range of loads, in N.
    pub span_n: f64,
    /// What the line gives minus the load, a point each, in N.
    pub residuals_n: Vec<f64>,
    /// Direction of each point.
    pub directions: Vec<Direction>,
    /// Largest residual in % of the span; `None` with fewer than three points, whose line has to fit.
    pub linearity_pct: Option<f64>,
    /// √(Σ residual² / (n − 2)) in N; `None` with fewer than three points.
    pub standard_error_n: Option<f64>,
    /// Standard error of the slope in % of the slope; `None` with fewer than three points.
    pub slope_error_pct: Option<f64>,
    /// Largest difference between falling and rising load in % of the span; `None` if no load was met both ways.
    pub hysteresis_pct: Option<f64>,
    /// Largest spread of the same load met in the same direction, in N; `None` if none was met twice.
    pub repeatability_n: Option<f64>,
    /// Largest standard deviation of the readings of a point, in N.
    pub noise_n: f64,
}

impl Fit {
    /// Statistics of points against a line, over a span of loads in N.
    pub fn against(line: Line, points: &[Point], span_n: f64) -> Self {
        let residuals_n: Vec<f64> = points
            .iter()
            .map(|p| line.newtons(p.reading) - p.load_n)
            .collect();
        let directions = directions(points);
        let largest = residuals_n.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        let is_tested = points.len() > 2;
        let of_span = |n: f64| 100.0 * n / span_n;
        let standard_error_n = is_tested.then(|| {
            let squares: f64 = residuals_n.iter().map(|r| r * r).sum();
            (squares / (points.len() - 2) as f64).sqrt()
        });
        // s_b / b = (s / √Σ(F − F̄)²) / b, and residuals in N are those of the reading over b.
        let slope_error_pct =
            standard_error_n.map(|s| 100.0 * s / sums(points).load_squares.sqrt());
        let mean_at = |load: f64, direction: Direction| {
            let same = points
                .iter()
                .zip(&directions)
                .filter(|(p, d)| **d == direction && same_load(p.load_n, load, span_n));
            let readings: Vec<f64> = same.map(|(p, _)| line.newtons(p.reading)).collect();
            let (low, high) = readings
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), r| {
                    (l.min(*r), h.max(*r))
                });
            let mean = readings.iter().sum::<f64>() / readings.len() as f64;
            (readings.len(), mean, high - low)
        };
        let (mut hysteresis, mut repeatability) = (None::<f64>, None::<f64>);
        for load in distinct_loads(points) {
            let (up, up_mean, up_spread) = mean_at(load, Direction::Rising);
            let (down, down_mean, down_spread) = mean_at(load, Direction::Falling);
            if up > 0 && down > 0 {
                let apart = (down_mean - up_mean).abs();
                hysteresis = Some(hysteresis.unwrap_or(0.0).max(apart));
            }
            for (count, spread) in [(up, up_spread), (down, down_spread)] {
                if count > 1 {
                    repeatability = Some(repeatability.unwrap_or(0.0).max(spread));
                }
            }
        }
        let noise = points
            .iter()
            .map(|p| p.deviation * line.slope_n_per_unit.abs());
        Self {
            line,
            span_n,
            directions,
            linearity_pct: is_tested.then(|| of_span(largest)),
            standard_error_n,
            slope_error_pct,
            hysteresis_pct: hysteresis.map(of_span),
            repeatability_n: repeatability,
            noise_n: noise.fold(0.0, f64::max),
            residuals_n,
        }
    }
}
