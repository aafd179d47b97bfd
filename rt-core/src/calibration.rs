//! Calibration of force channels: from readings under known loads to newtons, with everything that proves it.
//!
//! A load cell gives a raw reading r (mV/V, counts …). A calibration is the line
//!
//! ```text
//! F = slope · r + offset
//! ```
//!
//! with the points it was taken from, who took them, when, against which weights, and until when it is valid.
//! It is kept as a text file that is never changed afterwards ([`store`]): whoever calibrates again makes another
//! file. A contact force may be the sum of several cells; each has a calibration of its own.

pub mod accept;
pub mod date;
pub mod fit;
pub mod id;
pub mod reading;
pub mod store;

use crate::file::{FieldError, FileContent, require_not_negative};
use date::{Date, Moment};
use fit::Fit;
use id::CalibrationId;
use serde::{Deserialize, Serialize};

/// Version of the file format that is written.
pub const FORMAT_VERSION: u32 = 1;

/// How a calibration is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// One known load, usually none: the offset is new, the slope is that of the calibration before.
    Zero,
    /// One known load: the slope is new, the reading at 0 N is that of the calibration before.
    Span,
    /// Two known loads: slope and offset.
    TwoPoint,
    /// Three known loads or more: slope and offset by least squares, with residuals.
    MultiPoint,
}

impl Kind {
    /// All kinds, the quickest first.
    pub const ALL: [Kind; 4] = [Kind::Zero, Kind::Span, Kind::TwoPoint, Kind::MultiPoint];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Zero => "zero",
            Kind::Span => "span",
            Kind::TwoPoint => "two-point",
            Kind::MultiPoint => "multi-point",
        }
    }

    /// What it does, in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Kind::Zero => {
                "One point without load. Corrects a drifted zero; the slope stays that of the calibration before."
            }
            Kind::Span => {
                "One point at a known load. Corrects the slope; the zero stays that of the calibration before."
            }
            Kind::TwoPoint => {
                "Two known loads. New slope and zero, but nothing says how well they fit."
            }
            Kind::MultiPoint => {
                "Three loads or more, best up and down again. New slope and zero with residuals, linearity and hysteresis."
            }
        }
    }

    /// Whether it keeps a part of the calibration before.
    pub fn needs_before(self) -> bool {
        matches!(self, Kind::Zero | Kind::Span)
    }
}

/// The line from a raw reading to newtons.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Newtons a unit of the reading.
    pub slope_n_per_unit: f64,
    /// Newtons at a reading of 0.
    pub offset_n: f64,
}

impl Line {
    /// What a cell shows before it was ever calibrated: no number, so that nothing can run on it.
    pub const UNKNOWN: Line = Line {
        slope_n_per_unit: f64::NAN,
        offset_n: f64::NAN,
    };

    /// F = slope · r + offset.
    pub fn newtons(&self, reading: f64) -> f64 {
        self.slope_n_per_unit * reading + self.offset_n
    }

    /// The reading at which this line gives 0 N.
    pub fn zero_reading(&self) -> f64 {
        -self.offset_n / self.slope_n_per_unit
    }
}

/// One known load and what was read under it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The load, in N.
    pub load_n: f64,
    /// Mean of the raw readings.
    pub reading: f64,
    /// Their standard deviation, in units of the reading; 0 of a single one.
    #[serde(default)]
    pub deviation: f64,
    /// How many were averaged.
    #[serde(default = "one")]
    pub samples: u64,
    /// For how long, in s.
    #[serde(default)]
    pub seconds: f64,
}

fn one() -> u64 {
    1
}

impl Point {
    /// A point without statistics, as a person writes it down.
    pub fn noted(load_n: f64, reading: f64) -> Self {
        Self {
            load_n,
            reading,
            deviation: 0.0,
            samples: 1,
            seconds: 0.0,
        }
    }

    fn check(&self) -> Result<(), FieldError> {
        for (field, value) in [("load_n", self.load_n), ("reading", self.reading)] {
            if !value.is_finite() {
                let problem = format!("is {value}; expected a finite number");
                return Err(FieldError::new(field, problem));
            }
        }
        require_not_negative("deviation", self.deviation, "units of the reading")?;
        require_not_negative("seconds", self.seconds, "s")?;
        if self.samples == 0 {
            return Err(FieldError::new("samples", "is 0; expected at least 1"));
        }
        Ok(())
    }
}

/// A calibration of one cell, as its file holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Version of the format.
    pub version: u32,
    /// Its name, the file's too; no two are alike.
    pub id: CalibrationId,
    /// Identifier of the load cell: its serial number, or what the rig file calls it.
    pub cell: String,
    /// Unit of the raw reading.
    pub unit: String,
    /// How it was taken.
    pub kind: Kind,
    /// When, in UTC.
    pub made: Moment,
    /// The last day on which it holds.
    pub valid_until: Date,
    /// Who took it.
    pub operator: String,
    /// Identifier of the weights or of the reference cell.
    pub reference: String,
    /// Anything worth knowing.
    #[serde(default)]
    pub notes: String,
    /// The calibration that slope or zero were kept from.
    #[serde(default)]
    pub before: Option<CalibrationId>,
    /// The points in the order in which they were taken.
    pub points: Vec<Point>,
    /// Lowest load that it was taken at, in N; with [`Kind::Zero`] and [`Kind::Span`] that of the one before too.
    pub low_n: f64,
    /// Highest such load, in N.
    pub high_n: f64,
    /// The result.
    pub line: Line,
}

/// How long a calibration still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Nothing to do.
    Valid {
        /// Days left, today not counted.
        days_left: i64,
    },
    /// Valid, but a new one should be planned.
    EndsSoon {
        /// Days left, today not counted.
        days_left: i64,
    },
    /// No longer valid.
    Expired {
        /// For how many days.
        days_ago: i64,
    },
}

impl Validity {
    /// One word for files and output.
    pub fn name(self) -> &'static str {
        match self {
            Validity::Valid { .. } => "valid",
            Validity::EndsSoon { .. } => "ends soon",
            Validity::Expired { .. } => "expired",
        }
    }
}

impl std::fmt::Display for Validity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let days = |n: i64| {
            if n == 1 {
                "1 day".to_owned()
            } else {
                format!("{n} days")
            }
        };
        match *self {
            Validity::Valid { days_left } => write!(f, "valid, {} left", days(days_left)),
            Validity::EndsSoon { days_left: 0 } => write!(f, "ends today"),
            Validity::EndsSoon { days_left } => write!(f, "ends soon, {} left", days(days_left)),
            Validity::Expired { days_ago } => write!(f, "expired {} ago", days(days_ago)),
        }
    }
}

/// Days before the end of a calibration at which it is time to plan the next one.
pub const WARN_DAYS: i64 = 30;

impl Calibration {
    /// How long it still holds; `warn_days` before its end it [`Validity::EndsSoon`].
    pub fn validity(&self, today: Date, warn_days: i64) -> Validity {
        match self.valid_until.days_after(today) {
            left if left < 0 => Validity::Expired { days_ago: -left },
            left if left <= warn_days => Validity::EndsSoon { days_left: left },
            left => Validity::Valid { days_left: left },
        }
    }

    /// The range of loads that it was taken over, in N.
    pub fn span_n(&self) -> f64 {
        self.high_n - self.low_n
    }

    /// Residuals and statistics of its points against its own line.
    pub fn statistics(&self) -> Fit {
        Fit::against(self.line, &self.points, self.span_n())
    }
}

/// How far a stored line may be from what its points give, relative to slope and span: rounding alone.
const SAME_LINE: f64 = 1e-9;

impl FileContent for Calibration {
    const KIND: &'static str = "calibration";

    fn check(&self) -> Result<(), FieldError> {
        if self.version != FORMAT_VERSION {
            let problem = format!(
                "is {}; this program knows version {FORMAT_VERSION}: use a newer one",
                self.version
            );
            return Err(FieldError::new("version", problem));
        }
        if self.cell.trim().is_empty() {
            return Err(FieldError::new(
                "cell",
                "is empty; expected the identifier of the load cell",
            ));
        }
        for (i, point) in self.points.iter().enumerate() {
            point
                .check()
                .map_err(|e| e.within(&format!("points[{i}]")))?;
        }
        let line = self.line;
        if !(line.slope_n_per_unit.is_finite() && line.offset_n.is_finite())
            || line.slope_n_per_unit == 0.0
        {
            let problem = format!(
                "is {} N/{} and {} N; expected a slope that is not 0 and finite numbers",
                line.slope_n_per_unit, self.unit, line.offset_n
            );
            return Err(FieldError::new("line", problem));
        }
        if !(self.low_n <= self.high_n && self.span_n().is_finite()) {
            let problem = format!(
                "is {} to {} N; expected low_n up to high_n",
                self.low_n, self.high_n
            );
            return Err(FieldError::new("low_n", problem));
        }
        // A line that its points do not give was edited by hand, or the points were.
        let expected = fit::line(self.kind, &self.points, Some(line))
            .map_err(|e| FieldError::new("points", e.to_string()))?;
        let slope_off = (expected.slope_n_per_unit / line.slope_n_per_unit - 1.0).abs();
        let largest = self
            .points
            .iter()
            .map(|p| p.load_n.abs())
            .fold(self.span_n(), f64::max);
        let zero_off = (expected.offset_n - line.offset_n).abs();
        let scale = largest.max(line.offset_n.abs()).max(f64::MIN_POSITIVE);
        if slope_off > SAME_LINE || zero_off > SAME_LINE * scale {
            let problem = format!(
                "is {} N/{unit} and {} N, but the points give {} N/{unit} and {} N; calibrations are not edited: \
                 take a new one",
                line.slope_n_per_unit,
                line.offset_n,
                expected.slope_n_per_unit,
                expected.offset_n,
                unit = self.unit,
            );
            return Err(FieldError::new("line", problem));
        }
        Ok(())
    }
}
