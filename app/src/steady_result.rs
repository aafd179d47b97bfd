//! What a run of the steady-state bench shows: the last whole span, how far it agrees with the one before, and how
//! far it is from the direct solution.

use crate::session::LoadedSession;
use rt_core::bench::BenchConfig;
use rt_core::channel::{Frame, Layout};
use serde_json::{Value, json};

struct Columns {
    force: usize,
    direct: usize,
    span: usize,
    mean: usize,
    std: usize,
    change: usize,
    residual: usize,
    error: usize,
}

/// Keeps the last whole span of a run.
pub struct SteadySamples {
    columns: Columns,
    /// Force and direct solution of the span that goes on, and of the one before it.
    current: Vec<(f64, f64)>,
    last: Vec<(f64, f64)>,
    latest: Option<Frame>,
}

impl SteadySamples {
    /// For a bench that goes from span to span; `None` for every other.
    pub fn for_layout(layout: &Layout) -> Option<Self> {
        let columns = Columns {
            // A simulated rig knows the force at the pad itself; a real one only what it measures.
            force: layout.find("true_force").or(layout.find("force"))?,
            direct: layout.find("direct_force")?,
            span: layout.find("span")?,
            mean: layout.find("span_mean")?,
            std: layout.find("span_std")?,
            change: layout.find("span_change")?,
            residual: layout.find("residual")?,
            error: layout.find("direct_error")?,
        };
        Some(Self {
            columns,
            current: Vec::new(),
            last: Vec::new(),
            latest: None,
        })
    }

    /// Takes a frame in.
    pub fn add(&mut self, frame: &Frame) {
        let span = |frame: &Frame| frame.values[self.columns.span];
        // The frame in which the bench has finished belongs to it, though it is no longer running.
        if span(frame).is_nan() {
            return;
        }
        if self.latest.as_ref().is_some_and(|l| span(l) != span(frame)) {
            self.last = std::mem::take(&mut self.current);
        }
        let value = |column: usize| frame.values[column];
        self.current
            .push((value(self.columns.force), value(self.columns.direct)));
        self.latest = Some(*frame);
    }

    /// The result of the run; an error says why there is none.
    pub fn evaluate(&self, loaded: &LoadedSession) -> Result<Value, String> {
        let BenchConfig::PantographSteady(config) = &loaded.session.bench else {
            return Err("this bench does not go from span to span".into());
        };
        let latest = self.latest.as_ref().filter(|_| !self.last.is_empty());
        let latest = latest.ok_or("the run ended before its first span was over")?;
        let value = |column: usize| latest.values[column];
        let columns = &self.columns;
        let (change, residual) = (value(columns.change), value(columns.residual));
        let agreed = config
            .agree_pct
            .map(|agree| change <= agree && residual <= agree);
        let largest = |f: fn(f64, f64) -> f64| self.last.iter().map(|s| s.0).reduce(f);
        let count = self.last.len() as f64;
        let direct_mean = self.last.iter().map(|s| s.1).sum::<f64>() / count;
        let direct_square = self.last.iter().map(|s| (s.1 - direct_mean).powi(2));
        Ok(json!({
            "converged": agreed,
            "spans": value(columns.span),
            "mean_n": value(columns.mean),
            "std_n": value(columns.std),
            "max_n": largest(f64::max),
            "min_n": largest(f64::min),
            "span_change_pct": number(change),
            "residual_pct": number(residual),
            "error_direct_pct": number(value(columns.error)),
            "direct": { "mean_n": direct_mean, "std_n": (direct_square.sum::<f64>() / count).sqrt() },
        }))
    }
}

fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
