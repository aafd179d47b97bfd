//! The full-order wire model: banded, nothing truncated. The reference solver and a real-time model.
//!
//! One substitution a step. The answers to unit forces at the contact wire's unknowns and at the
//! droppers are columns of K_itc⁻¹, computed once. Within one step nothing travels far, so a column
//! fades fast and only the part above rounding is kept.

use super::error::CatenaryError;
use super::linear::{ContactPoint, LinearLine};
use super::shape::ShapePlan;
use super::slack::Slackening;
use super::wire::{
    ElasticContact, MeshedWire, Newmark, Prediction, Response, ShapeRows, WireModel, WireState,
};
use crate::numeric::banded::{BandedCholesky, SymBanded};
use std::sync::Arc;

/// Entries below this part of a column's largest one are left out at both ends.
const NEGLIGIBLE: f64 = 1e-17;

/// Columns of K_itc⁻¹ without their negligible ends.
#[derive(Clone, Debug, Default)]
struct Columns {
    /// Where each column's values begin, and the first row that they are for.
    begin: Vec<(usize, usize)>,
    values: Vec<f64>,
}

impl Columns {
    fn push(&mut self, column: &[f64]) {
        let largest = column.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let kept = |v: &f64| v.abs() > NEGLIGIBLE * largest;
        let first = column.iter().position(kept).unwrap_or(0);
        let end = column.iter().rposition(kept).map_or(first, |last| last + 1);
        self.begin.push((self.values.len(), first));
        self.values.extend_from_slice(&column[first..end]);
    }

    /// First row and values of a column.
    #[inline]
    fn get(&self, index: usize) -> (usize, &[f64]) {
        let (from, row) = self.begin[index];
        let to = self
            .begin
            .get(index + 1)
            .map_or(self.values.len(), |next| next.0);
        (row, &self.values[from..to])
    }

    #[inline]
    fn add_to(&self, index: usize, factor: f64, u: &mut [f64]) {
        let (row, values) = self.get(index);
        for (u, v) in u[row..row + values.len()].iter_mut().zip(values) {
            *u += factor * v;
        }
    }
}

/// The full-order model of a line at one step size.
#[derive(Clone, Debug)]
pub struct FullWire {
    line: Arc<LinearLine>,
    newmark: Newmark,
    factor: BandedCholesky,
    /// For each free unknown the index of its column, if it belongs to the contact wire.
    column_of: Vec<usize>,
    contact_columns: Columns,
    dropper_columns: Columns,
    slack: Slackening,
    /// B s⁰ of droppers that are slack at rest: (unknown, force).
    rest_load: Vec<(usize, f64)>,
    u: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    free: Vec<f64>,
    work: Vec<f64>,
    point: ContactPoint,
    /// K_itc⁻¹ Nᵀ; zero outside of `touched`.
    lifted: Vec<f64>,
    touched: (usize, usize),
    /// The droppers whose `per_force` is not zero.
    near: (usize, usize),
}

/// a and b of K_itc = 4/Δt² M + 2/Δt (α M + β K) + K = a M + b K.
fn effective_factors(line: &LinearLine, newmark: &Newmark) -> (f64, f64) {
    let d = &line.damping;
    (
        newmark.accel + newmark.rate * d.alpha_per_s,
        1.0 + newmark.rate * d.beta_s,
    )
}

/// K_itc of a line for a step.
pub fn effective_stiffness(line: &LinearLine, newmark: &Newmark) -> SymBanded {
    let (a, b) = effective_factors(line, newmark);
    SymBanded::linear_combination(a, &line.mass, b, &line.stiffness)
}

impl FullWire {
    /// Prepares the model for steps of `dt` seconds.
    pub fn new(line: Arc<LinearLine>, dt: f64) -> Result<Self, CatenaryError> {
        if !(1e-6..=0.05).contains(&dt) {
            return Err(CatenaryError::Argument {
                what: "the time step in s",
                value: dt,
                expected: "1e-6 to 0.05".into(),
            });
        }
        let newmark = Newmark::new(dt);
        let n = line.dofs();
        let factor = effective_stiffness(&line, &newmark).cholesky()?;

        let contact: Vec<usize> = line
            .mesh
            .contact
            .iter()
            .flat_map(|c| [c.height, c.slope])
            .filter_map(|dof| line.free.number[dof])
            .collect();
        let mut column_of = vec![usize::MAX; n];
        let mut contact_columns = Columns::default();
        // A few at a time: faster than one by one, without the memory of all.
        let mut columns = Vec::new();
        for batch in contact.chunks(16) {
            columns.clear();
            columns.resize(batch.len() * n, 0.0);
            for (column, &dof) in columns.chunks_exact_mut(n).zip(batch) {
                column[dof] = 1.0;
            }
            factor.solve_columns_in_place(&mut columns);
            for (column, &dof) in columns.chunks_exact(n).zip(batch) {
                column_of[dof] = contact_columns.begin.len();
                contact_columns.push(column);
            }
        }
        let dense = line.dropper_columns(&factor);
        let mut dropper_columns = Columns::default();
        let count = line.droppers.len();
        let mut coupling = vec![0.0; count * count];
        for (j, column) in dense.chunks_exact(n).enumerate() {
            dropper_columns.push(column);
            for i in 0..count {
                coupling[i * count + j] = line.stretch(i, column);
            }
        }
        let rest_load = line
            .droppers
            .iter()
            .filter(|d| d.rest < 0.0)
            .flat_map(|d| [(d.top, -d.rest), (d.bottom, d.rest)])
            .collect();
        Ok(Self {
            newmark,
            factor,
            column_of,
            contact_columns,
            dropper_columns,
            slack: Slackening::new(
                line.droppers.iter().map(|d| d.stiffness).collect(),
                line.droppers.iter().map(|d| d.rest).collect(),
                coupling,
            ),
            rest_load,
            u: vec![0.0; n],
            v: vec![0.0; n],
            a: vec![0.0; n],
            free: vec![0.0; n],
            work: vec![0.0; n],
            point: line.contact_point(0.0),
            lifted: vec![0.0; n],
            touched: (0, 0),
            near: (0, 0),
            line,
        })
    }

    /// Displacement, velocity and acceleration of the free unknowns.
    pub fn motion(&self) -> (&[f64], &[f64], &[f64]) {
        (&self.u, &self.v, &self.a)
    }

    /// Sets the motion of the free unknowns; the lengths must be theirs.
    pub fn set_motion(&mut self, u: &[f64], v: &[f64], a: &[f64]) {
        self.u.copy_from_slice(u);
        self.v.copy_from_slice(v);
        self.a.copy_from_slice(a);
    }

    /// The droppers of the latest answer.
    pub fn slackening(&self) -> &Slackening {
        &self.slack
    }

    /// u at zero force and without corrections.
    ///
    /// With K_itc = a M + b K the stiffness-proportional damping needs no product with K:
    /// K_itc⁻¹ β K q = β/b (q − a K_itc⁻¹ M q).
    fn solve_free(&mut self) {
        let (nm, d) = (self.newmark, self.line.damping);
        let (a, b) = effective_factors(&self.line, &nm);
        let share = d.beta_s / b;
        let by_q = d.alpha_per_s - share * a;
        // p + by_q q, written out by u, u̇, ü.
        let (by_u, by_v) = (nm.accel + by_q * nm.rate, nm.jump + by_q);
        let motion = self.u.iter().zip(&self.v).zip(&self.a);
        for (((u, v), a), w) in motion.zip(self.work.iter_mut()) {
            *w = by_u * u + by_v * v + a;
        }
        self.line.mass.mul_vec(&self.work, &mut self.free);
        for &(dof, force) in &self.rest_load {
            self.free[dof] += force;
        }
        self.factor.solve_in_place(&mut self.free);
        if share != 0.0 {
            let motion = self.u.iter().zip(&self.v);
            for ((u, v), f) in motion.zip(self.free.iter_mut()) {
                *f += share * (nm.rate * u + v);
            }
        }
    }

    /// K_itc⁻¹ Nᵀ from the stored columns.
    fn lift(&mut self) {
        self.lifted[self.touched.0..self.touched.1].fill(0.0);
        let (mut from, mut to) = (usize::MAX, 0);
        for (&dof, &w) in self.point.dofs.iter().zip(&self.point.weights) {
            let column = self.column_of[dof];
            if w == 0.0 || column == usize::MAX {
                continue;
            }
            let (row, values) = self.contact_columns.get(column);
            from = from.min(row);
            to = to.max(row + values.len());
            self.contact_columns.add_to(column, w, &mut self.lifted);
        }
        self.touched = if from < to { (from, to) } else { (0, 0) };
    }
}

impl WireModel for FullWire {
    fn dt(&self) -> f64 {
        self.newmark.dt
    }

    fn unknowns(&self) -> usize {
        self.u.len()
    }

    fn reset(&mut self) {
        for motion in [&mut self.u, &mut self.v, &mut self.a] {
            motion.fill(0.0);
        }
        self.slack.reset();
    }

    fn predict(&mut self, x: f64) -> Prediction {
        self.solve_free();
        self.point = self.line.contact_point(x);
        self.lift();
        for j in self.near.0..self.near.1 {
            self.slack.per_force[j] = 0.0;
        }
        let droppers = &self.line.droppers;
        let (from, to) = self.touched;
        self.near = (
            droppers.partition_point(|d| d.top.max(d.bottom) < from),
            droppers.partition_point(|d| d.top.min(d.bottom) < to),
        );
        for (j, d) in droppers.iter().enumerate() {
            let per_force = if (self.near.0..self.near.1).contains(&j) {
                d.stretch_of(&self.lifted)
            } else {
                0.0
            };
            self.slack.predict(j, d.stretch_of(&self.free), per_force);
        }
        let height_free = self.line.rest_height(x) + self.point.of(&self.free);
        let compliance = self.point.of(&self.lifted);
        self.slack.begin(height_free, compliance);
        Prediction {
            height_free,
            compliance,
        }
    }

    fn respond(&mut self, force_on_wire: f64) -> f64 {
        self.slack.respond(force_on_wire)
    }

    fn respond_to(&mut self, contact: &ElasticContact) -> Response {
        self.slack.respond_to(contact)
    }

    fn commit(&mut self) {
        let force = self.slack.force_on_wire();
        let (from, to) = self.touched;
        for (u, w) in self.free[from..to].iter_mut().zip(&self.lifted[from..to]) {
            *u += force * w;
        }
        for (j, s) in self.slack.corrections() {
            self.dropper_columns.add_to(j, -s, &mut self.free);
        }
        let nm = self.newmark;
        let old = self.u.iter_mut().zip(&mut self.v).zip(&mut self.a);
        for (((u, v), a), new) in old.zip(&self.free) {
            (*v, *a) = nm.update(*u, *v, *a, *new);
            *u = *new;
        }
    }

    fn rise(&self, x: f64) -> f64 {
        self.line.contact_point(x).of(&self.u)
    }

    fn slack_droppers(&self) -> usize {
        self.slack.count()
    }

    fn unsettled(&self) -> u64 {
        self.slack.unsettled()
    }

    fn new_state(&self) -> WireState {
        WireState {
            motion: vec![0.0; 3 * self.u.len()],
            slack: vec![false; self.line.droppers.len()],
            light: Vec::new(),
            turn: 0,
        }
    }

    fn save(&self, state: &mut WireState) {
        let n = self.u.len();
        for (part, motion) in state
            .motion
            .chunks_exact_mut(n)
            .zip([&self.u, &self.v, &self.a])
        {
            part.copy_from_slice(motion);
        }
        state.slack.copy_from_slice(self.slack.slack());
    }

    fn restore(&mut self, state: &WireState) {
        let n = self.u.len();
        let motion = [&mut self.u, &mut self.v, &mut self.a];
        for (part, motion) in state.motion.chunks_exact(n).zip(motion) {
            motion.copy_from_slice(part);
        }
        self.slack.set_slack(&state.slack);
    }
    fn meshed(&self) -> Option<&dyn MeshedWire> {
        Some(self)
    }
}

impl MeshedWire for FullWire {
    fn line(&self) -> &LinearLine {
        &self.line
    }

    fn displacement(&self) -> &[f64] {
        &self.u
    }

    fn slack(&self) -> &[bool] {
        self.slack.slack()
    }

    fn shape_rows(&self, plan: &ShapePlan) -> Box<dyn ShapeRows> {
        let height =
            |&station: &usize| self.line.free.number[self.line.mesh.contact[station].height];
        Box::new(FullRows {
            line: Arc::clone(&self.line),
            heights: plan.stations.iter().map(height).collect(),
        })
    }
}

/// Which unknown is the height of each place; `None` if it is held.
struct FullRows {
    line: Arc<LinearLine>,
    heights: Vec<Option<usize>>,
}

impl ShapeRows for FullRows {
    fn rise(&self, displacement: &[f64], place: usize) -> f64 {
        self.heights[place].map_or(0.0, |unknown| displacement[unknown])
    }

    fn stretch(&self, displacement: &[f64], dropper: usize) -> f64 {
        self.line.stretch(dropper, displacement)
    }
}
