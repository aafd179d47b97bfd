//! Whether a calibration may be used: what is refused, and what a person should look at.

use super::fit::{self, Fit, FitError};
use super::{Calibration, Kind, Line, Point};

/// What is demanded of a calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demands {
    /// Largest standard deviation of a point's readings, in % of the span.
    pub most_noise_pct: f64,
    /// Largest residual, in % of the span.
    pub most_residual_pct: f64,
    /// Whether the reading falls as the load grows: a cell that is mounted the other way round.
    pub falls_with_load: bool,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            most_noise_pct: 1.0,
            most_residual_pct: 1.0,
            falls_with_load: false,
        }
    }
}

impl Demands {
    /// The usual ones; a cell keeps the direction that it had before.
    pub fn after(before: Option<&Calibration>) -> Self {
        Self {
            falls_with_load: before.is_some_and(|b| b.line.slope_n_per_unit < 0.0),
            ..Self::default()
        }
    }
}

/// Why a calibration is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// There is no line.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The reading goes back while the load grows.
    #[error(
        "from {from_n} N to {to_n} N the reading goes the other way than at the other loads: \
         check which weights were on, and take these points again"
    )]
    NotMonotone {
        /// The lower load.
        from_n: f64,
        /// The higher load.
        to_n: f64,
    },
    /// The wrong sign.
    #[error(
        "the reading {found} as the load grows, but it should {expected}: check the signs of the loads, swap the \
         signal wires, or state that this cell is mounted the other way round"
    )]
    Sign {
        /// What it does.
        found: &'static str,
        /// What it should do.
        expected: &'static str,
    },
    /// Too noisy.
    #[error(
        "the readings at {load_n} N scatter by {noise_n:.3} N ({noise_pct:.2} % of the span; {most_pct} % are allowed): \
         let the weight come to rest, look for vibration or a loose shield, and take the point again"
    )]
    Noise {
        /// At which load.
        load_n: f64,
        /// Standard deviation in N.
        noise_n: f64,
        /// In % of the span.
        noise_pct: f64,
        /// What is allowed.
        most_pct: f64,
    },
    /// A point far from the line.
    #[error(
        "point {number} ({load_n} N) lies {residual_n:+.3} N off the line ({residual_pct:.2} % of the span; \
         {most_pct} % are allowed): check its weight and take it again"
    )]
    Residual {
        /// Which point, from 1.
        number: usize,
        /// Its load.
        load_n: f64,
        /// Line minus load, in N.
        residual_n: f64,
        /// In % of the span.
        residual_pct: f64,
        /// What is allowed.
        most_pct: f64,
    },
}

/// Something that does not forbid a calibration, but should be understood.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// A slope that moved.
    #[error(
        "the slope is {change_pct:+.2} % from that of {before}: a cell's slope hardly changes; check the weights"
    )]
    SlopeMoved {
        /// The one before.
        before: String,
        /// By how much.
        change_pct: f64,
    },
    /// Nothing to judge it by.
    #[error("two points always fit: take three or more to know the linearity")]
    Untested,
    /// Nothing about hysteresis.
    #[error("no load was met both ways: go up and down again to know the hysteresis")]
    OneWay,
}

/// A slope that moved by less is not worth a word, in %.
const SLOPE_MOVED_PCT: f64 = 1.0;

/// A calibration that may be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// Line, residuals, statistics.
    pub fit: Fit,
    /// Lowest load that it holds for, in N.
    pub low_n: f64,
    /// Highest load that it holds for, in N.
    pub high_n: f64,
    /// What to look at.
    pub doubts: Vec<Doubt>,
}

/// The line of points and its statistics, whether it is accepted or not.
pub fn preview(
    kind: Kind,
    points: &[Point],
    before: Option<&Calibration>,
) -> Result<Fit, FitError> {
    let line = fit::line(kind, points, before.map(|b| b.line))?;
    let (low, high) = holds_for(points, before.filter(|_| kind.needs_before()));
    Ok(Fit::against(line, points, high - low))
}

fn holds_for(points: &[Point], kept: Option<&Calibration>) -> (f64, f64) {
    let (low, high) = fit::range(points);
    kept.map_or((low, high), |k| (low.min(k.low_n), high.max(k.high_n)))
}

/// Judges points.
pub fn judge(
    kind: Kind,
    points: &[Point],
    before: Option<&Calibration>,
    demands: &Demands,
) -> Result<Accepted, Refused> {
    let fit = preview(kind, points, before)?;
    let (low_n, high_n) = holds_for(points, before.filter(|_| kind.needs_before()));
    check_sign(fit.line, demands)?;
    check_monotone(points)?;
    let pct = |newtons: f64| 100.0 * newtons / fit.span_n;
    for point in points {
        let noise_n = point.deviation * fit.line.slope_n_per_unit.abs();
        if pct(noise_n) > demands.most_noise_pct {
            return Err(Refused::Noise {
                load_n: point.load_n,
                noise_n,
                noise_pct: pct(noise_n),
                most_pct: demands.most_noise_pct,
            });
        }
    }
    let worst = fit
        .residuals_n
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    if let Some((at, &residual_n)) = worst
        && pct(residual_n.abs()) > demands.most_residual_pct
    {
        return Err(Refused::Residual {
            number: at + 1,
            load_n: points[at].load_n,
            residual_n,
            residual_pct: pct(residual_n.abs()),
            most_pct: demands.most_residual_pct,
        });
    }
    let mut doubts = Vec::new();
    if let Some(before) = before {
        let change_pct = 100.0 * (fit.line.slope_n_per_unit / before.line.slope_n_per_unit - 1.0);
        if change_pct.abs() > SLOPE_MOVED_PCT {
            let before = before.id.to_string();
            doubts.push(Doubt::SlopeMoved { before, change_pct });
        }
    }
    match kind {
        Kind::TwoPoint => doubts.push(Doubt::Untested),
        Kind::MultiPoint if fit.hysteresis_pct.is_none() => doubts.push(Doubt::OneWay),
        _ => {}
    }
    Ok(Accepted {
        fit,
        low_n,
        high_n,
        doubts,
    })
}

fn check_sign(line: Line, demands: &Demands) -> Result<(), Refused> {
    let falls = line.slope_n_per_unit < 0.0;
    if falls == demands.falls_with_load {
        return Ok(());
    }
    let (found, expected) = if falls {
        ("falls", "rise")
    } else {
        ("rises", "fall")
    };
    Err(Refused::Sign { found, expected })
}

/// From each load to the next higher one the mean reading has to go the same way.
fn check_monotone(points: &[Point]) -> Result<(), Refused> {
    let (low, high) = fit::range(points);
    let loads = fit::distinct_loads(points);
    let mean = |load: f64| {
        let same = points
            .iter()
            .filter(|p| fit::same_load(p.load_n, load, high - low));
        let readings: Vec<f64> = same.map(|p| p.reading).collect();
        readings.iter().sum::<f64>() / readings.len() as f64
    };
    let means: Vec<f64> = loads.iter().map(|load| mean(*load)).collect();
    let (Some(first), Some(last)) = (means.first(), means.last()) else {
        return Ok(());
    };
    let rises = last > first;
    for (pair, load) in means.windows(2).zip(loads.windows(2)) {
        let goes_on = if rises {
            pair[1] > pair[0]
        } else {
            pair[1] < pair[0]
        };
        if !goes_on {
            return Err(Refused::NotMonotone {
                from_n: load[0],
                to_n: load[1],
            });
        }
    }
    Ok(())
}
