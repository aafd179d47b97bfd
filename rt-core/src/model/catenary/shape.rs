//! The shape of the wire in motion for a window: taken from the running model about 25 times a second without
//! disturbing it.
//!
//! The displacement is copied in one cycle and looked at in the cycles that follow, a few places in each, so
//! that a shape is that of one moment and no cycle has much to do. Near the contact the places are close to
//! each other, far from it there are little more than supports and droppers. All are stations of the mesh,
//! where one row of the modal basis is all that has to be read.

use super::linear::LinearLine;
use super::wire::{MeshedWire, ShapeRows};
use crate::triple_buffer::{Reader, Writer, triple_buffer};
use std::sync::Arc;

/// Time from one shape to the next, in s.
const EVERY_S: f64 = 0.04;
/// Up to this distance from the contact places are close, and upper ends of droppers are computed, in m.
const NEAR_M: f64 = 100.0;
/// Distance of places near the contact, in m.
const FINE_M: f64 = 2.5;
/// Distance of places elsewhere, in m; supports and droppers are always among them.
const COARSE_M: f64 = 10.0;

/// Where a line's shape is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapePlan {
    /// Places along the line, ascending, in m.
    pub places_m: Vec<f64>,
    /// Their stations in the mesh.
    pub stations: Vec<usize>,
    /// Which of them are also looked at far from the contact.
    coarse: Vec<bool>,
    /// The place of each support.
    pub supports: Vec<usize>,
    /// The place of each dropper.
    pub droppers: Vec<usize>,
}

impl ShapePlan {
    /// The places of a line.
    pub fn of(line: &LinearLine) -> Self {
        let x = &line.mesh.x;
        let mut is_mark = vec![false; x.len()];
        let stations = || {
            line.mesh
                .support_station
                .iter()
                .chain(&line.mesh.dropper_station)
        };
        stations().for_each(|&s| is_mark[s] = true);
        let all: Vec<usize> = (0..x.len()).collect();
        let fine = thinned(&all, x, &is_mark, FINE_M);
        let coarse = thinned(&fine, x, &is_mark, COARSE_M);
        let find = |station: &usize| fine.partition_point(|f| f < station);
        Self {
            places_m: fine.iter().map(|&s| x[s]).collect(),
            coarse: fine
                .iter()
                .map(|s| coarse.binary_search(s).is_ok())
                .collect(),
            supports: line.mesh.support_station.iter().map(find).collect(),
            droppers: line.mesh.dropper_station.iter().map(find).collect(),
            stations: fine,
        }
    }
}

/// As few of the stations as leave no gap above `most` that need not be there; marks always remain.
fn thinned(stations: &[usize], x: &[f64], is_mark: &[bool], most: f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for (i, &station) in stations.iter().enumerate() {
        let last = kept.last().map(|&k| x[k]);
        let next = stations.get(i + 1).map(|&n| x[n]);
        let needed = match (last, next) {
            (Some(last), Some(next)) => next - last > most + 1e-9,
            _ => true,
        };
        if needed || is_mark[station] {
            kept.push(station);
        }
    }
    kept
}

/// The wire at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct WireShape {
    /// Tick of the loop at whose end the wire was like this.
    pub seq: u64,
    /// The tick's time since the loop started, in nanoseconds.
    pub t_nanos: u64,
    /// Where the contact was, in m.
    pub contact_m: f64,
    /// Rise above rest at the plan's places, in m; NaN where nobody looked.
    pub rise_m: Vec<f32>,
    /// Rise of each dropper's upper end, in m; NaN far from the contact, where nobody looked.
    pub top_rise_m: Vec<f32>,
    /// Which droppers are slack.
    pub slack: Vec<bool>,
    /// Largest rise at each support since the run began, in m: of every cycle at the supports on both
    /// sides of the contact, of every shape at the others.
    pub highest_m: Vec<f32>,
}

impl WireShape {
    /// Time since the loop started, in s.
    pub fn t_s(&self) -> f64 {
        self.t_nanos as f64 * 1e-9
    }

    /// A wire at rest with room for a line's shape.
    fn at_rest(plan: &ShapePlan) -> Self {
        Self {
            seq: 0,
            t_nanos: 0,
            contact_m: 0.0,
            rise_m: vec![0.0; plan.places_m.len()],
            top_rise_m: vec![0.0; plan.droppers.len()],
            slack: vec![false; plan.droppers.len()],
            highest_m: vec![0.0; plan.supports.len()],
        }
    }
}

/// Tick, time and place of a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The tick.
    pub seq: u64,
    /// Its time since the loop started, in nanoseconds.
    pub t_nanos: u64,
    /// Where the contact is, in m.
    pub contact_m: f64,
}

/// Takes shapes from a running wire. After it is built nothing allocates.
pub struct ShapeSampler {
    plan: Arc<ShapePlan>,
    rows: Box<dyn ShapeRows>,
    writer: Writer<WireShape>,
    cycles: usize,
    displacement: Vec<f64>,
    highest_m: Vec<f32>,
    /// Places, then droppers (counted on from the last place), of the shape that is being taken.
    todo: Vec<usize>,
    done: usize,
}

/// The other end: the newest shape.
pub struct ShapeReader {
    plan: Arc<ShapePlan>,
    reader: Reader<WireShape>,
}

impl ShapeReader {
    /// Where the shapes were looked at.
    pub fn plan(&self) -> &Arc<ShapePlan> {
        &self.plan
    }

    /// The newest shape, if it was not taken yet.
    pub fn newest(&mut self) -> Option<&WireShape> {
        self.reader.update().then(|| self.reader.value())
    }
}

impl ShapeSampler {
    /// For a wire that is stepped every `period_s` seconds.
    pub fn new(wire: &dyn MeshedWire, period_s: f64) -> (Self, ShapeReader) {
        let plan = Arc::new(ShapePlan::of(wire.line()));
        let (writer, reader) = triple_buffer(WireShape::at_rest(&plan));
        let most = plan.places_m.len() + plan.droppers.len();
        let sampler = Self {
            cycles: (EVERY_S / period_s).floor().max(1.0) as usize,
            displacement: vec![0.0; wire.displacement().len()],
            highest_m: vec![0.0; plan.supports.len()],
            todo: Vec::with_capacity(most),
            rows: wire.shape_rows(&plan),
            done: 0,
            plan: Arc::clone(&plan),
            writer,
        };
        (sampler, ShapeReader { plan, reader })
    }

    /// A new run begins: what was highest is forgotten, and so is the shape that was being taken.
    pub fn reset(&mut self) {
        self.highest_m.fill(0.0);
        self.todo.clear();
        self.done = 0;
    }

    /// One cycle after the wire was stepped. Does nothing once nobody reads any more.
    pub fn step(&mut self, wire: &dyn MeshedWire, now: Moment) {
        if self.writer.is_unread() {
            return;
        }
        self.watch_supports(wire, now.contact_m);
        if self.done == self.todo.len() {
            self.begin(wire, now);
        }
        let part = self.todo.len().div_ceil(self.cycles);
        let end = (self.done + part).min(self.todo.len());
        let places = self.plan.places_m.len();
        let draft = self.writer.draft();
        for &at in &self.todo[self.done..end] {
            if at < places {
                draft.rise_m[at] = self.rows.rise(&self.displacement, at) as f32;
            } else {
                let dropper = at - places;
                let stretch = self.rows.stretch(&self.displacement, dropper) as f32;
                draft.top_rise_m[dropper] = draft.rise_m[self.plan.droppers[dropper]] + stretch;
            }
        }
        self.done = end;
        if self.done == self.todo.len() {
            self.finish();
        }
    }

    /// Copies the displacement and chooses what is looked at.
    fn begin(&mut self, wire: &dyn MeshedWire, now: Moment) {
        self.displacement.copy_from_slice(wire.displacement());
        self.todo.clear();
        self.done = 0;
        let draft = self.writer.draft();
        draft.seq = now.seq;
        draft.t_nanos = now.t_nanos;
        draft.contact_m = now.contact_m;
        draft.slack.copy_from_slice(wire.slack());
        draft.rise_m.fill(f32::NAN);
        draft.top_rise_m.fill(f32::NAN);
        let is_near = |x: f64| (x - now.contact_m).abs() < NEAR_M;
        for (i, (&x, coarse)) in self.plan.places_m.iter().zip(&self.plan.coarse).enumerate() {
            if *coarse || is_near(x) {
                self.todo.push(i);
            }
        }
        for (j, &at) in self.plan.droppers.iter().enumerate() {
            if is_near(self.plan.places_m[at]) {
                self.todo.push(self.plan.places_m.len() + j);
            }
        }
    }

    fn finish(&mut self) {
        let draft = self.writer.draft();
        for (highest, &at) in self.highest_m.iter_mut().zip(&self.plan.supports) {
            *highest = highest.max(draft.rise_m[at]);
        }
        draft.highest_m.copy_from_slice(&self.highest_m);
        self.writer.publish();
    }

    /// A pantograph passes a support too fast for 25 looks a second to find the highest point.
    fn watch_supports(&mut self, wire: &dyn MeshedWire, contact_m: f64) {
        let supports = &self.plan.supports;
        let after = supports.partition_point(|at| self.plan.places_m[*at] <= contact_m);
        let near = after.saturating_sub(1)..(after + 1).min(supports.len());
        for (support, highest) in supports[near.clone()].iter().zip(&mut self.highest_m[near]) {
            let rise = self.rows.rise(wire.displacement(), *support) as f32;
            *highest = highest.max(rise);
        }
    }
}
