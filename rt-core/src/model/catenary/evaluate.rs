//! What a run says about current collection: force statistics, uplift, loss, distance to a reference.

use super::error::CatenaryError;
use super::linear::LinearLine;
use super::simulate::{Run, Series};
use crate::signal::contact_force::ForceFilter;
use crate::signal::error::AnalysisError;
use crate::signal::error_index::error_index_percent;
use crate::signal::place::resample_by_place;
use crate::signal::statistics::ForceStatistics;
use serde::Serialize;

/// Statistics of the unfiltered force, in N.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RawForce {
    /// Mean.
    pub mean_n: f64,
    /// Standard deviation.
    pub std_n: f64,
    /// Largest.
    pub max_n: f64,
    /// Smallest.
    pub min_n: f64,
}

/// How far a support's contact wire was lifted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Uplift {
    /// Place of the support, in m.
    pub x_m: f64,
    /// Largest rise, in mm.
    pub max: f64,
}

/// The result of a run on its evaluated spans. Forces are filtered unless they stand in `raw`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Unknowns that were integrated.
    pub dofs: usize,
    /// Step, in s.
    pub dt_s: f64,
    /// Mean force F_m, in N.
    pub mean_n: f64,
    /// Standard deviation σ, in N.
    pub std_n: f64,
    /// F_m + 3 σ, in N.
    pub stat_max_n: f64,
    /// F_m − 3 σ, in N.
    pub stat_min_n: f64,
    /// Largest force, in N.
    pub max_n: f64,
    /// Smallest force, in N.
    pub min_n: f64,
    /// Part of the time without contact (unfiltered force), in %.
    pub loss_pct: f64,
    /// The unfiltered force.
    pub raw: RawForce,
    /// Largest rise at each support of the evaluated spans.
    pub uplift_mm: Vec<Uplift>,
    /// The largest of these, in mm.
    pub uplift_max_mm: f64,
    /// Most droppers slack at the same time.
    pub max_slack: usize,
    /// Error index of the filtered force against a reference, in % of its mean.
    pub error_filtered_pct: Option<f64>,
    /// The same of the unfiltered force.
    pub error_raw_pct: Option<f64>,
    /// Simulated time, in s.
    pub simulated_s: f64,
}

/// A force record to compare with: equal steps, each with its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Step, in s.
    pub dt: f64,
    /// Places, in m, ascending.
    pub x: Vec<f64>,
    /// Unfiltered force, in N.
    pub force: Vec<f64>,
}

impl From<&Series> for Reference {
    fn from(s: &Series) -> Self {
        Self {
            dt: s.dt,
            x: s.x.clone(),
            force: s.force.clone(),
        }
    }
}

impl Reference {
    fn check(&self, from: f64, to: f64) -> Result<(), CatenaryError> {
        let problem = if self.x.len() != self.force.len() {
            format!(
                "it has {} places and {} forces",
                self.x.len(),
                self.force.len()
            )
        } else if !(self.dt > 0.0 && self.dt.is_finite()) {
            format!("its step is {} s; expected a finite value above 0", self.dt)
        } else if let Some(i) = self
            .force
            .iter()
            .chain(&self.x)
            .position(|v| !v.is_finite())
        {
            format!("row {} is not a number", i % self.x.len() + 1)
        } else if let Some(i) = self.x.windows(2).position(|w| w[1] <= w[0]) {
            format!("its places do not ascend at row {}", i + 2)
        } else if self.x.first().is_none_or(|x| *x > from) || self.x.last().is_none_or(|x| *x < to)
        {
            format!("it does not cover the evaluated spans from {from:.1} to {to:.1} m")
        } else {
            return Ok(());
        };
        Err(CatenaryError::Reference(problem))
    }

    /// Error index of a force at places in m against a record of this reference, in % of its mean.
    fn error_percent(
        &self,
        record: &[f64],
        force: &[f64],
        places: &[f64],
    ) -> Result<f64, CatenaryError> {
        let refuse = |e: AnalysisError| CatenaryError::Reference(e.to_string());
        let theirs = resample_by_place(&self.x, record, places).map_err(refuse)?;
        error_index_percent(force, &theirs.values).map_err(|e| refuse(e.into()))
    }
}

/// The filtered force of a record in equal steps of `dt` seconds.
pub(super) fn filtered(
    filter: ForceFilter,
    force: &[f64],
    dt: f64,
) -> Result<Vec<f64>, CatenaryError> {
    let filtered = filter.zero_phase(force, 1.0 / dt);
    filtered
        .map(|f| f.values)
        .map_err(|e| CatenaryError::TooShort(e.to_string()))
}

/// The steps of a series that are evaluated.
fn window(series: &Series, from: f64, to: f64) -> std::ops::Range<usize> {
    let end = series.x.partition_point(|x| *x <= to);
    series.x.partition_point(|x| *x < from).min(end)..end
}

impl Report {
    /// Evaluates a run of a model with `unknowns` unknowns.
    pub fn of(
        line: &LinearLine,
        run: &Run,
        series: &Series,
        unknowns: usize,
        filter: ForceFilter,
        reference: Option<&Reference>,
    ) -> Result<Self, CatenaryError> {
        let smooth = filtered(filter, &series.force, series.dt)?;
        let (from, to) = run.evaluated(line);
        let range = window(series, from, to);
        let none = || CatenaryError::TooShort("no step lies in the evaluated spans".into());
        let raw = ForceStatistics::of(&series.force[range.clone()]).ok_or_else(none)?;
        let force = ForceStatistics::of(&smooth[range.clone()]).ok_or_else(none)?;
        let (first, last) = (run.spans.0.saturating_sub(1), run.spans.1);
        let uplift_mm: Vec<Uplift> = (first..=last)
            .filter_map(|i| Some((line.layout.supports.get(i)?, series.support_rise.get(i)?)))
            .map(|(s, rise)| Uplift {
                x_m: s.x,
                max: 1e3 * rise,
            })
            .collect();
        let errors = reference
            .map(|r| {
                r.check(from, to)?;
                let places = &series.x[range.clone()];
                let theirs = filtered(filter, &r.force, r.dt)?;
                Ok::<_, CatenaryError>((
                    r.error_percent(&theirs, &smooth[range.clone()], places)?,
                    r.error_percent(&r.force, &series.force[range.clone()], places)?,
                ))
            })
            .transpose()?;
        Ok(Self {
            dofs: unknowns,
            dt_s: series.dt,
            mean_n: force.mean,
            std_n: force.standard_deviation,
            stat_max_n: force.statistical_max,
            stat_min_n: force.statistical_min,
            max_n: force.max,
            min_n: force.min,
            loss_pct: raw.loss_of_contact_percent,
            raw: RawForce {
                mean_n: raw.mean,
                std_n: raw.standard_deviation,
                max_n: raw.max,
                min_n: raw.min,
            },
            uplift_max_mm: uplift_mm.iter().fold(0.0, |m, u| m.max(u.max)),
            uplift_mm,
            max_slack: series.slack[range]
                .iter()
                .copied()
                .max()
                .unwrap_or(0)
                .into(),
            error_filtered_pct: errors.map(|e| e.0),
            error_raw_pct: errors.map(|e| e.1),
            simulated_s: series.dt * series.x.len() as f64,
        })
    }
}
