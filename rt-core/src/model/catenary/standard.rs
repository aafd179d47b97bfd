//! A standard's reference runs and acceptance bands, read from a file and held against our results.

use super::error::CatenaryError;
use super::evaluate::Report;
use super::full::FullWire;
use super::line::Line;
use super::linear::LinearLine;
use super::simulate::{Coupling, Run};
use crate::file::{FieldError, FileContent, require_positive};
use crate::model::pantograph::Pantograph;
use crate::signal::contact_force::ForceFilter;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Lowest and highest accepted value.
pub type Band = (f64, f64);

/// One reference run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Mean force, in N.
    pub mean_n: Band,
    /// Standard deviation, in N.
    pub std_n: Band,
    /// Mean and three standard deviations, in N.
    pub stat_max_n: Band,
    /// Mean less three standard deviations, in N.
    pub stat_min_n: Band,
    /// Largest force, in N.
    pub max_n: Band,
    /// Smallest force, in N.
    pub min_n: Band,
    /// Largest uplift at a support, in mm.
    pub uplift_mm: Band,
    /// Loss of contact, in %.
    pub loss_pct: Band,
}

/// Name, band, and where a report holds the value.
type BandRow = (&'static str, Band, fn(&Report) -> f64);

impl Case {
    fn bands(&self) -> [BandRow; 8] {
        [
            ("mean_n", self.mean_n, |r| r.mean_n),
            ("std_n", self.std_n, |r| r.std_n),
            ("stat_max_n", self.stat_max_n, |r| r.stat_max_n),
            ("stat_min_n", self.stat_min_n, |r| r.stat_min_n),
            ("max_n", self.max_n, |r| r.max_n),
            ("min_n", self.min_n, |r| r.min_n),
            ("uplift_mm", self.uplift_mm, |r| r.uplift_max_mm),
            ("loss_pct", self.loss_pct, |r| r.loss_pct),
        ]
    }
}

/// A standard as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standard {
    /// Which edition.
    pub edition: String,
    /// Name of the line file, without folder and extension.
    pub line: String,
    /// Name of the pantograph file, without folder and extension.
    pub pantograph: String,
    /// Longest element, in m.
    pub mesh_m: f64,
    /// Step, in s.
    pub dt_s: f64,
    /// Contact stiffness, in N/m.
    pub contact_stiffness_n_per_m: f64,
    /// The span in which a run begins, from 1.
    pub start_span: usize,
    /// First and last evaluated span, from 1.
    pub evaluated_spans: (usize, usize),
    /// The force's low-pass.
    pub filter: ForceFilter,
    /// The reference runs.
    pub cases: Vec<Case>,
}

impl FileContent for Standard {
    const KIND: &'static str = "standard file";

    fn check(&self) -> Result<(), FieldError> {
        require_positive("mesh_m", self.mesh_m, "m")?;
        require_positive("dt_s", self.dt_s, "s")?;
        require_positive(
            "contact_stiffness_n_per_m",
            self.contact_stiffness_n_per_m,
            "N/m",
        )?;
        require_positive("filter.cutoff_hz", self.filter.cutoff_hz, "Hz")?;
        for (i, case) in self.cases.iter().enumerate() {
            require_positive(&format!("cases[{i}].speed_kmh"), case.speed_kmh, "km/h")?;
            for (name, (low, high), _) in case.bands() {
                if low > high || low.is_nan() || high.is_nan() {
                    return Err(FieldError::new(
                        format!("cases[{i}].{name}"),
                        format!("is ({low}, {high}); expected the lower bound first"),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// One band and our value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BandResult {
    /// What is bounded.
    pub name: &'static str,
    /// Our value.
    pub value: f64,
    /// Lowest accepted value.
    pub low: f64,
    /// Highest accepted value.
    pub high: f64,
    /// Whether it is within.
    pub held: bool,
}

/// One run and its bands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseResult {
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Every band.
    pub bands: Vec<BandResult>,
}

/// Whether a standard's bands are held, one by one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Whether all are.
    pub held: bool,
    /// The runs.
    pub cases: Vec<CaseResult>,
}

impl Standard {
    /// Runs every case with the reference solver. `progress` hears the finished part (0 to 1).
    pub fn validate(
        &self,
        line: &Line,
        pantograph: &Pantograph,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Validation, CatenaryError> {
        let linear = Arc::new(LinearLine::build(line, self.mesh_m)?);
        let mut wire = FullWire::new(linear.clone(), self.dt_s)?;
        let mut cases = Vec::new();
        for (i, case) in self.cases.iter().enumerate() {
            let run = Run {
                speed_kmh: case.speed_kmh,
                uplift_n: pantograph.uplift.at_kmh(case.speed_kmh),
                coupling: Coupling::Implicit {
                    stiffness: self.contact_stiffness_n_per_m,
                },
                start_span: self.start_span,
                spans: self.evaluated_spans,
            };
            let mut part = |p: f64| progress((i as f64 + p) / self.cases.len() as f64);
            let series = run.simulate(&linear, &mut wire, pantograph, &mut part)?;
            let report = Report::of(&linear, &run, &series, linear.dofs(), self.filter, None)?;
            let bands = case
                .bands()
                .into_iter()
                .map(|(name, (low, high), value)| {
                    let value = value(&report);
                    BandResult {
                        name,
                        value,
                        low,
                        high,
                        held: (low..=high).contains(&value),
                    }
                })
                .collect();
            cases.push(CaseResult {
                speed_kmh: case.speed_kmh,
                bands,
            });
        }
        let held = cases.iter().all(|c| c.bands.iter().all(|b| b.held));
        Ok(Validation { held, cases })
    }
}
