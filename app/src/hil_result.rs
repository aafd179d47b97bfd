//! What a hardware-in-the-loop run shows about the pantograph, in the same words as a simulation, and
//! how far it is from the implicit reference of the same line, pantograph and contact stiffness.

use crate::session::LoadedSession;
use crate::statistics::ChannelStatistics;
use drivers::rig_file::{rig_model, rig_pantograph};
use rt_core::bench::BenchConfig;
use rt_core::bench::pantograph_lqg::PantographLqgConfig;
use rt_core::channel::{Frame, Layout};
use rt_core::file;
use rt_core::guard::State;
use rt_core::model::catenary::simulate::default_spans;
use rt_core::model::catenary::{
    Coupling, FullWire, Line, LinearLine, Reference, Report, Run, Series,
};
use rt_core::model::pantograph::Pantograph;
use rt_core::signal::contact_force::{ContactForceReport, ForceFilter, ReportSettings};
use rt_core::signal::spans::span_statistics;
use serde_json::{Value, json};
use std::sync::Arc;

/// Step of the reference, in s.
const REFERENCE_DT_S: f64 = 5e-4;

struct Columns {
    place: usize,
    force: usize,
    height: usize,
    rise: usize,
    slack: usize,
    tracking: usize,
}

/// Collects the first section of a run.
pub struct HilSamples {
    columns: Columns,
    series: Series,
    tracking: Vec<f64>,
    is_over: bool,
}

impl HilSamples {
    /// For a bench that runs along a line; `None` for every other.
    pub fn for_layout(layout: &Layout, period_s: f64) -> Option<Self> {
        let columns = Columns {
            place: layout.find("line_position")?,
            // A simulated rig knows the force at the pad itself; a real one only what it measures.
            force: layout.find("true_force").or(layout.find("force"))?,
            height: layout.find("wire_height")?,
            rise: layout.find("wire_rise")?,
            slack: layout.find("slack_droppers")?,
            tracking: layout.find("tracking_error")?,
        };
        let series = Series {
            dt: period_s,
            ..Series::default()
        };
        Some(Self {
            columns,
            series,
            tracking: Vec::new(),
            is_over: false,
        })
    }

    /// Takes a frame in while the train runs through its first section.
    pub fn add(&mut self, frame: &Frame) {
        let value = |column: usize| frame.values[column];
        let place = value(self.columns.place);
        let last = self.series.x.last().copied();
        if frame.state != State::Running || self.is_over || place.is_nan() {
            return;
        }
        if last.is_some_and(|last| place < last) {
            self.is_over = true;
        } else if last == Some(place) {
            // The train stands: only the last sample before it starts counts.
            self.pop();
            self.push(frame, place);
        } else {
            self.push(frame, place);
        }
    }

    fn push(&mut self, frame: &Frame, place: f64) {
        let value = |column: usize| frame.values[column];
        self.series.x.push(place);
        self.series.force.push(value(self.columns.force));
        self.series.height.push(value(self.columns.height));
        self.series.rise.push(value(self.columns.rise));
        self.series.slack.push(value(self.columns.slack) as u16);
        self.tracking.push(value(self.columns.tracking));
    }

    fn pop(&mut self) {
        self.series.x.pop();
        self.series.force.pop();
        self.series.height.pop();
        self.series.rise.pop();
        self.series.slack.pop();
        self.tracking.pop();
    }

    /// The first section, sample by sample.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The result of the run; with `against_implicit` also its error.
    pub fn evaluate(
        &self,
        loaded: &LoadedSession,
        against_implicit: bool,
    ) -> Result<Value, String> {
        let BenchConfig::PantographLqg(config) = &loaded.session.bench else {
            return Err("this bench does not run along a line".into());
        };
        let words = |e: &dyn std::fmt::Display| e.to_string();
        let Some(line) = &config.line else {
            return Err("a string has no line to be evaluated along".into());
        };
        let line: Line = file::load(&loaded.base().join(line)).map_err(|e| words(&e))?;
        let line = Arc::new(LinearLine::build(&line, config.mesh_m).map_err(|e| words(&e))?);
        let pantograph = rig_pantograph(&loaded.rig_path()).map_err(|e| words(&e))?;
        let params = loaded.session.start_params().map_err(|e| words(&e))?;
        let rig = rig_model(&loaded.rig_path()).map_err(|e| words(&e))?;
        let stiffness = config.contact_stiffness(&params, rig.pad_stiffness_n_per_m);
        let run = Self::run(config, &line, &pantograph, stiffness)?;
        let reference = if against_implicit {
            Some(implicit(loaded, &line, &run, &pantograph)?)
        } else {
            None
        };
        let report = |cutoff_hz: f64| {
            let filter = ForceFilter {
                cutoff_hz,
                ..ForceFilter::default()
            };
            Report::of(&line, &run, &self.series, 0, filter, reference.as_ref())
                .map_err(|e| words(&e))
        };
        let filtered = report(20.0)?;
        let mut result = serde_json::to_value(&filtered).map_err(|e| words(&e))?;
        result["scheme"] = json!("hil");
        // The bench follows the wire at the contact only.
        for unknown in ["dofs", "uplift_mm", "uplift_max_mm"] {
            result[unknown] = Value::Null;
        }
        if reference.is_some() {
            result["error_40hz_pct"] = json!(report(40.0)?.error_filtered_pct);
        }
        let (from, to) = run.evaluated(&line);
        result["tracking_mm"] = self.tracking_mm((from, to));
        let end = self.series.x.partition_point(|x| *x <= to);
        let part = self.series.x.partition_point(|x| *x < from).min(end)..end;
        let (forces, rate) = (&self.series.force, 1.0 / self.series.dt);
        let settings = ReportSettings::default();
        let contact_force = ContactForceReport::within(forces, part, rate, &settings);
        result["contact_force"] = json!(contact_force.map_err(|e| words(&e))?);
        let smooth = settings.filter.zero_phase(forces, rate);
        let smooth = smooth.map_err(|e| words(&e))?.values;
        let supports = &line.layout.supports[run.spans.0 - 1..=run.spans.1];
        let supports: Vec<f64> = supports.iter().map(|s| s.x).collect();
        let spans = span_statistics(&self.series.x, &smooth, &supports).map_err(|e| words(&e))?;
        result["spans"] = json!(spans.spans);
        Ok(result)
    }

    fn run(
        config: &PantographLqgConfig,
        line: &LinearLine,
        pantograph: &Pantograph,
        stiffness: f64,
    ) -> Result<Run, String> {
        let spans = evaluated_spans(config, line.layout.spans())?;
        let mut run = Run::with_spans(pantograph, config.speed_kmh, spans);
        run.start_span = config.run_spans(line.layout.spans()).0;
        run.coupling = Coupling::Implicit { stiffness };
        Ok(run)
    }

    fn tracking_mm(&self, (from, to): (f64, f64)) -> Value {
        const MM: f64 = 1e3;
        let mut statistics = ChannelStatistics::default();
        for (x, error) in self.series.x.iter().zip(&self.tracking) {
            if (from..=to).contains(x) {
                statistics.add(error * MM);
            }
        }
        let max_abs = statistics
            .max()
            .zip(statistics.min())
            .map(|(max, min)| max.max(-min));
        json!({ "mean": statistics.mean(), "std": statistics.std(), "max_abs": max_abs })
    }
}

/// First and last span of a run that are evaluated, from 1: those of a simulation that are run at all.
pub fn evaluated_spans(
    config: &PantographLqgConfig,
    spans: usize,
) -> Result<(usize, usize), String> {
    let (first, last) = default_spans(spans).map_err(|e| e.to_string())?;
    let (begin, end) = config.run_spans(spans);
    let (first, last) = (first.max(begin), last.min(end));
    if first > last {
        return Err(format!(
            "none of the spans {begin} to {end} that are run is one that is evaluated"
        ));
    }
    Ok((first, last))
}

/// The coupled solution of the same run, with small steps.
fn implicit(
    loaded: &LoadedSession,
    line: &Arc<LinearLine>,
    run: &Run,
    pantograph: &Pantograph,
) -> Result<Reference, String> {
    let rig = rig_model(&loaded.rig_path()).map_err(|e| e.to_string())?;
    let run = Run {
        uplift_n: loaded.session.uplift_n.unwrap_or(rig.uplift_n),
        ..*run
    };
    let mut wire = FullWire::new(line.clone(), REFERENCE_DT_S).map_err(|e| e.to_string())?;
    let series = run
        .simulate(line, &mut wire, pantograph, &mut |_| ())
        .map_err(|e| e.to_string())?;
    Ok(Reference::from(&series))
}
