//! One run, held in memory: every column over time, its statistics, its force along the line.

use crate::hil_result::HilSamples;
use crate::session::LoadedSession;
use crate::statistics::{ChannelStatistics, RunStatistics};
use rt_core::channel::{ChannelSpec, Frame, Layout};
use rt_core::guard::State;
use rt_core::record::reader::Columns;
use rt_core::record::schema::Precision;
use rt_core::signal::comparison::Series;
use serde_json::Value;

/// One run, from the first frame of the loop to its last.
pub struct Track {
    layout: Layout,
    /// Ticks, times and values of all channels.
    pub columns: Columns,
    /// The state in each tick.
    pub states: Vec<State>,
    statistics: RunStatistics,
    samples: Option<HilSamples>,
    period_s: f64,
    /// First tick of Running, and the first behind it.
    running: Option<(u64, u64)>,
    /// Time of running and force, in s and N.
    times: Vec<f64>,
    forces: Vec<f64>,
    force: Option<usize>,
}

impl Track {
    /// An empty one for a session with these columns.
    pub fn new(layout: &Layout, loaded: &LoadedSession) -> Self {
        let period_s = loaded.period_nanos() as f64 * 1e-9;
        Self {
            columns: Columns {
                values: vec![Vec::new(); layout.len()],
                ..Columns::default()
            },
            states: Vec::new(),
            statistics: RunStatistics::new(layout.len(), loaded.session.statistics_from_s),
            samples: HilSamples::for_layout(layout, period_s),
            period_s,
            running: None,
            times: Vec::new(),
            forces: Vec::new(),
            force: layout.find("true_force").or(layout.find("force")),
            layout: layout.clone(),
        }
    }

    /// Takes a frame in, to the precision that a recording keeps: so a run and a recording of the same run are
    /// the same here too.
    pub fn add(&mut self, frame: &Frame) {
        let mut frame = *frame;
        for (value, spec) in frame.values.iter_mut().zip(self.layout.channels()) {
            if Precision::of_role(spec.role) == Precision::Single {
                *value = f64::from(*value as f32);
            }
        }
        let frame = &frame;
        self.columns.seq.push(frame.seq);
        self.columns.t_nanos.push(frame.t_nanos);
        self.states.push(frame.state);
        for (values, value) in self.columns.values.iter_mut().zip(&frame.values) {
            values.push(*value);
        }
        self.statistics.add(frame);
        if let Some(samples) = &mut self.samples {
            samples.add(frame);
        }
        if frame.state == State::Running {
            let since = self.running.map_or(frame.seq, |(since, _)| since);
            self.running = Some((since, frame.seq + 1));
            self.times.push((frame.seq - since) as f64 * self.period_s);
            let force = self.force.map(|column| frame.values[column]);
            self.forces.push(force.unwrap_or(f64::NAN));
        }
    }

    /// What the columns are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The values of a channel, one a tick.
    pub fn values(&self, id: &str) -> Option<&[f64]> {
        self.layout
            .find(id)
            .map(|column| self.columns.values[column].as_slice())
    }

    /// The first tick of Running and the first behind it.
    pub fn running_ticks(&self) -> Option<(u64, u64)> {
        self.running
    }

    /// For how long the bench ran, in s.
    pub fn running_s(&self) -> f64 {
        self.statistics.running_cycles() as f64 * self.period_s
    }

    /// Statistics of each channel while the bench ran.
    pub fn statistics(&self) -> impl Iterator<Item = (&ChannelSpec, &ChannelStatistics)> {
        self.layout
            .channels()
            .iter()
            .zip(self.statistics.channels())
    }

    /// The result of the run, if it got that far.
    pub fn result(&self, loaded: &LoadedSession, against_implicit: bool) -> Option<Value> {
        let samples = self.samples.as_ref()?;
        samples.evaluate(loaded, against_implicit).ok()
    }

    /// The force along the line, for a bench that runs along one.
    pub fn by_place(&self) -> Option<Series<'_>> {
        let series = self.samples.as_ref()?.series();
        Some(Series {
            places_m: &series.x,
            forces: &series.force,
            sample_rate_hz: 1.0 / self.period_s,
        })
    }

    /// The force over the time of running, which takes the part of the place.
    pub fn by_time(&self) -> Option<Series<'_>> {
        self.force?;
        Some(Series {
            places_m: &self.times,
            forces: &self.forces,
            sample_rate_hz: 1.0 / self.period_s,
        })
    }
}
