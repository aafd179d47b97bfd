//! The modal wire model: every vector of the basis is an oscillator of its own.
//!
//! The stretch of a dropper is a product with all vectors, and reading that many numbers from memory
//! is what a step costs. So not every dropper is looked at in every step: those near the contact, those
//! slack or lightly loaded always; the others in turn, each once in 32 steps.

use super::basis::{ModalBasis, quadratic};
use super::error::CatenaryError;
use super::linear::LinearLine;
use super::shape::ShapePlan;
use super::slack::Slackening;
use super::vector::{dot, single_dot, two_dots};
use super::wire::{
    ElasticContact, MeshedWire, Newmark, Prediction, Response, ShapeRows, WireModel, WireState,
};
use std::sync::Arc;

/// Droppers up to this distance from the contact are looked at in every step, in m.
const NEAR_M: f64 = 80.0;
/// So are those whose predicted tension is below this part of that at rest.
const LIGHT: f64 = 0.5;
/// All others are looked at once in so many steps.
const TURNS: usize = 32;

/// What the modal model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModalOptions {
    /// Whether the contact wire yields also by the static compliance that the basis leaves out.
    pub residual: bool,
    /// Whether every dropper is looked at in every step.
    pub watch_all: bool,
}

impl Default for ModalOptions {
    fn default() -> Self {
        Self {
            residual: true,
            watch_all: false,
        }
    }
}

/// The modal model of a line at one step size.
#[derive(Clone, Debug)]
pub struct ModalWire {
    line: Arc<LinearLine>,
    basis: Arc<ModalBasis>,
    options: ModalOptions,
    newmark: Newmark,
    /// q⁺ = by_q q + by_v q̇ + by_a q̈ at zero force.
    by_q: Vec<f64>,
    by_v: Vec<f64>,
    by_a: Vec<f64>,
    /// 1/K_itc.
    inverse: Vec<f64>,
    /// What droppers slack at rest add in every step.
    rest: Vec<f64>,
    slack: Slackening,
    light: Vec<bool>,
    turn: usize,
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    free: Vec<f64>,
    /// N in the basis, and K_itc⁻¹ times it.
    shape: Vec<f64>,
    lifted: Vec<f64>,
}

impl ModalWire {
    /// Prepares the model for steps of `dt` seconds.
    pub fn new(
        line: Arc<LinearLine>,
        basis: Arc<ModalBasis>,
        dt: f64,
        options: ModalOptions,
    ) -> Result<Self, CatenaryError> {
        if !(1e-6..=0.05).contains(&dt) {
            return Err(CatenaryError::Argument {
                what: "the time step in s",
                value: dt,
                expected: "1e-6 to 0.05".into(),
            });
        }
        let (n, droppers) = (basis.len(), line.droppers.len());
        if basis.contact.len() != 2 * line.mesh.x.len() * n
            || basis.droppers.len() != droppers * n
            || basis.residual.len() + 1 != line.mesh.x.len()
        {
            return Err(CatenaryError::Modes(
                "the basis belongs to another line".into(),
            ));
        }
        let nm = Newmark::new(dt);
        let d = line.damping;
        let stiff = |w2: &f64| nm.accel + nm.rate * (d.alpha_per_s + d.beta_s * w2) + w2;
        let inverse: Vec<f64> = basis.omega2.iter().map(|w2| 1.0 / stiff(w2)).collect();
        let drag = |w2: &f64| d.alpha_per_s + d.beta_s * w2;
        let each = |f: &dyn Fn(f64) -> f64| -> Vec<f64> {
            basis
                .omega2
                .iter()
                .zip(&inverse)
                .map(|(w2, i)| i * f(drag(w2)))
                .collect()
        };
        let mut coupling = vec![0.0; droppers * droppers];
        let row = |j: usize| &basis.droppers[j * n..(j + 1) * n];
        for i in 0..droppers {
            for j in 0..=i {
                let sum: f64 = row(i)
                    .iter()
                    .zip(row(j))
                    .zip(&inverse)
                    .map(|((a, b), w)| a * b * w)
                    .sum();
                coupling[i * droppers + j] = sum;
                coupling[j * droppers + i] = sum;
            }
        }
        let mut rest = vec![0.0; n];
        for (j, link) in line
            .droppers
            .iter()
            .enumerate()
            .filter(|(_, d)| d.rest < 0.0)
        {
            for ((r, b), w) in rest.iter_mut().zip(row(j)).zip(&inverse) {
                *r -= link.rest * b * w;
            }
        }
        Ok(Self {
            newmark: nm,
            options,
            by_q: each(&|c| nm.accel + nm.rate * c),
            by_v: each(&|c| nm.jump + c),
            by_a: inverse.clone(),
            inverse,
            rest,
            slack: Slackening::new(
                line.droppers.iter().map(|d| d.stiffness).collect(),
                line.droppers.iter().map(|d| d.rest).collect(),
                coupling,
            ),
            light: vec![false; droppers],
            turn: 0,
            q: vec![0.0; n],
            v: vec![0.0; n],
            a: vec![0.0; n],
            free: vec![0.0; n],
            shape: vec![0.0; n],
            lifted: vec![0.0; n],
            line,
            basis,
        })
    }

    /// The droppers of the latest answer.
    pub fn slackening(&self) -> &Slackening {
        &self.slack
    }

    fn contact_row(&self, station: usize, slope: usize) -> &[f64] {
        let n = self.q.len();
        let row = 2 * station + slope;
        &self.basis.contact[row * n..(row + 1) * n]
    }

    /// N in the basis at a contact point.
    fn set_shape(&mut self, station: usize, w: &[f64; 4]) {
        let n = self.q.len();
        let rows = &self.basis.contact[2 * station * n..(2 * station + 4) * n];
        let (a, rest) = rows.split_at(n);
        let (b, rest) = rest.split_at(n);
        let (c, d) = rest.split_at(n);
        let out = self
            .shape
            .iter_mut()
            .zip(&mut self.lifted)
            .zip(&self.inverse);
        for (((((s, l), i), a), b), (c, d)) in out.zip(a).zip(b).zip(c.iter().zip(d)) {
            *s = w[0] * a + w[1] * b + w[2] * c + w[3] * d;
            *l = *s * i;
        }
    }

    fn solve_free(&mut self) {
        let motion = self.q.iter().zip(&self.v).zip(&self.a);
        let by = self.by_q.iter().zip(&self.by_v).zip(&self.by_a);
        let out = self.free.iter_mut().zip(&self.rest);
        for (((f, r), ((q, v), a)), ((bq, bv), ba)) in out.zip(motion).zip(by) {
            *f = bq * q + bv * v + ba * a + r;
        }
    }

    fn choose_watched(&mut self, x: f64) {
        self.slack.watched.clear();
        for (j, d) in self.line.layout.droppers.iter().enumerate() {
            let watched = self.options.watch_all
                || (d.x - x).abs() < NEAR_M
                || self.light[j]
                || self.slack.slack()[j]
                || j % TURNS == self.turn;
            if watched {
                self.slack.watched.push(j);
            }
        }
        self.turn = (self.turn + 1) % TURNS;
    }
}

impl WireModel for ModalWire {
    fn dt(&self) -> f64 {
        self.newmark.dt
    }

    fn unknowns(&self) -> usize {
        self.q.len()
    }

    fn reset(&mut self) {
        for motion in [&mut self.q, &mut self.v, &mut self.a] {
            motion.fill(0.0);
        }
        self.light.fill(false);
        self.turn = 0;
        self.slack.reset();
    }

    fn predict(&mut self, x: f64) -> Prediction {
        self.solve_free();
        let point = self.line.contact_point(x);
        self.set_shape(point.station, &point.weights);
        let (mut compliance, rise) = two_dots(&self.shape, &self.lifted, &self.free);
        if self.options.residual {
            compliance += quadratic(&self.basis.residual[point.station], &point.weights);
        }
        let height_free = self.line.rest_height(x) + rise;
        self.slack.begin(height_free, compliance);

        self.choose_watched(x);
        let n = self.q.len();
        for i in 0..self.slack.watched.len() {
            let j = self.slack.watched[i];
            let row = &self.basis.droppers[j * n..(j + 1) * n];
            let (stretch, per_force) = two_dots(row, &self.free, &self.lifted);
            self.slack.predict(j, stretch, per_force);
            self.light[j] = self.slack.predicted[j] < LIGHT * self.line.droppers[j].rest;
        }
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
        for (f, l) in self.free.iter_mut().zip(&self.lifted) {
            *f += force * l;
        }
        let n = self.q.len();
        for (j, s) in self.slack.corrections() {
            let row = &self.basis.droppers[j * n..(j + 1) * n];
            for ((f, b), i) in self.free.iter_mut().zip(row).zip(&self.inverse) {
                *f -= s * b * i;
            }
        }
        let nm = self.newmark;
        let old = self.q.iter_mut().zip(&mut self.v).zip(&mut self.a);
        for (((q, v), a), new) in old.zip(&self.free) {
            (*v, *a) = nm.update(*q, *v, *a, *new);
            *q = *new;
        }
    }

    fn rise(&self, x: f64) -> f64 {
        let point = self.line.contact_point(x);
        let value = |station, slope| dot(self.contact_row(station, slope), &self.q);
        let w = &point.weights;
        let s = point.station;
        // At a support only the height counts; its slope's row need not be read.
        let part = |weight: f64, station, slope| {
            if weight == 0.0 {
                0.0
            } else {
                weight * value(station, slope)
            }
        };
        part(w[0], s, 0) + part(w[1], s, 1) + part(w[2], s + 1, 0) + part(w[3], s + 1, 1)
    }

    fn slack_droppers(&self) -> usize {
        self.slack.count()
    }

    fn unsettled(&self) -> u64 {
        self.slack.unsettled()
    }

    fn new_state(&self) -> WireState {
        WireState {
            motion: vec![0.0; 3 * self.q.len()],
            slack: vec![false; self.line.droppers.len()],
            light: vec![false; self.line.droppers.len()],
            turn: 0,
        }
    }

    fn save(&self, state: &mut WireState) {
        let n = self.q.len();
        for (part, motion) in state
            .motion
            .chunks_exact_mut(n)
            .zip([&self.q, &self.v, &self.a])
        {
            part.copy_from_slice(motion);
        }
        state.slack.copy_from_slice(self.slack.slack());
        state.light.copy_from_slice(&self.light);
        state.turn = self.turn;
    }

    fn restore(&mut self, state: &WireState) {
        let n = self.q.len();
        let motion = [&mut self.q, &mut self.v, &mut self.a];
        for (part, motion) in state.motion.chunks_exact(n).zip(motion) {
            motion.copy_from_slice(part);
        }
        self.slack.set_slack(&state.slack);
        self.light.copy_from_slice(&state.light);
        self.turn = state.turn;
    }
    fn meshed(&self) -> Option<&dyn MeshedWire> {
        Some(self)
    }
}

impl MeshedWire for ModalWire {
    fn line(&self) -> &LinearLine {
        &self.line
    }

    fn displacement(&self) -> &[f64] {
        &self.q
    }

    fn slack(&self) -> &[bool] {
        self.slack.slack()
    }

    fn shape_rows(&self, plan: &ShapePlan) -> Box<dyn ShapeRows> {
        let single = |row: &[f64]| row.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let places = plan.stations.iter();
        let rows = places.flat_map(|&station| single(self.contact_row(station, 0)));
        Box::new(ModalRows {
            n: self.q.len(),
            places: rows.collect(),
            droppers: single(&self.basis.droppers),
        })
    }
}

/// The rows that a picture needs, as floats: reading them is what looking costs, and seven digits are enough
/// to draw.
struct ModalRows {
    n: usize,
    places: Vec<f32>,
    droppers: Vec<f32>,
}

impl ShapeRows for ModalRows {
    fn rise(&self, displacement: &[f64], place: usize) -> f64 {
        single_dot(
            &self.places[place * self.n..(place + 1) * self.n],
            displacement,
        )
    }

    fn stretch(&self, displacement: &[f64], dropper: usize) -> f64 {
        let row = &self.droppers[dropper * self.n..(dropper + 1) * self.n];
        single_dot(row, displacement)
    }
}
