//! The loop of predictive controller and real rig as one linear cycle, for stability before anything
//! moves.
//!
//! While pad and wire are pressed a cycle of the controller is affine in its memory and in what it is
//! given, so deviations from a loaded rest give its matrices to rounding. They are those of
//! [`Predictive::step`] itself: there is no second set of equations that could differ. Slackening, loss
//! of contact and limits of the reference are left out.

use super::controller::{Predictive, Tick, even_way};
use super::design::PredictiveDesign;
use super::model::{self, HEAD, MOTOR};
use super::preview::HORIZON;
use super::{PredictiveError, PredictiveRig};
use crate::control::assessment::AssessmentError;
use crate::control::closed_loop::OpenLoop;
use crate::control::newmark::LinearPart;
use crate::file::FieldError;
use crate::model::catenary::wire::{WireModel, WireState};
use crate::model::pantograph::Pantograph;
use crate::model::string_wire::StringWire;
use nalgebra::{DMatrix, DVector};

/// One scalar signal of the loop that can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictiveChannel {
    /// Motor reference, between what the controller knows to be sent and what the motor gets.
    Reference,
    /// Measured force.
    Force,
    /// Measured motor position.
    Position,
}

/// The real rig over a cycle: x⁺ = A x + B₀ s(k) + B₁ s(k−1), s what the motor is sent. The uplift does
/// not change, so it is no state.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearRig {
    /// A; the motor's position is the first state.
    pub a: DMatrix<f64>,
    /// B₀.
    pub b0: DVector<f64>,
    /// B₁.
    pub b1: DVector<f64>,
    /// Place of the force that is read.
    pub force: usize,
}

impl LinearRig {
    /// Exact between the moments at which the reference changes.
    pub fn new(rig: &PredictiveRig, pantograph: &Pantograph) -> Self {
        let places = rig.places(pantograph);
        let cycle = model::cycle(rig, pantograph, rig.pad_stiffness_n_per_m);
        let (uplift, force) = (places.uplift(), places.read_force());
        Self {
            a: cycle.a.remove_row(uplift).remove_column(uplift),
            b0: cycle.b0.remove_row(uplift),
            b1: cycle.b1.remove_row(uplift),
            force: if force > uplift { force - 1 } else { force },
        }
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.b0.len()
    }

    /// A cycle on.
    pub fn step(&self, x: &DVector<f64>, sent: f64, sent_before: f64) -> DVector<f64> {
        &self.a * x + &self.b0 * sent + &self.b1 * sent_before
    }
}

/// Places of what a controller is given: u_m, force, r(k).
const GIVEN: usize = 3;

/// The controller over a cycle: [ξ⁺; r(k+1)] = M [ξ; u_m; f; r(k)], ξ = [x̂(k|k−1) | r(k−1) | wire].
#[derive(Clone, Debug)]
struct LinearController {
    matrix: DMatrix<f64>,
}

/// Load of the rest from which deviations are made, in N. Its size does not matter; deviations are a
/// share of it.
const LOAD_N: f64 = 1e3;
/// Deviations change the force by about this share of the load.
const SHARE: f64 = 0.01;
/// How far a cycle may be from affine, as a share of the deviation of heights.
const BEND: f64 = 1e-6;

impl LinearController {
    fn new(design: &PredictiveDesign, wire: &LinearPart) -> Result<Self, AssessmentError> {
        let mut probe = Probe::new(design, wire)?;
        let rest = probe.rest.clone();
        let inputs = rest.len();
        let outputs = inputs + 1 - GIVEN;
        let middle = probe.cycle(&rest);
        let sizes = probe.deviations();
        let mut matrix = DMatrix::zeros(outputs, inputs);
        for (i, size) in sizes.iter().enumerate() {
            let mut deviate = |by: f64| {
                let mut given = rest.clone();
                given[i] += by;
                // The step that was made, after rounding.
                (probe.cycle(&given), given[i] - rest[i])
            };
            let ((up, plus), (down, minus)) = (deviate(*size), deviate(-size));
            let bend = up[outputs - 1] - 2.0 * middle[outputs - 1] + down[outputs - 1];
            if !(probe.pressed && bend.abs() <= BEND * probe.height) {
                return Err(FieldError::new(
                    "design",
                    "loses contact under small deviations from a loaded rest; expected gains that \
                     are not that large",
                )
                .into());
            }
            matrix.set_column(i, &((up - down) / (plus - minus)));
        }
        Ok(Self { matrix })
    }

    /// Number of states ξ.
    fn states(&self) -> usize {
        self.matrix.nrows() - 1
    }
}

/// The controller's code with a wire of few states, for single cycles from any memory.
struct Probe {
    predictive: Predictive,
    wire: StringWire,
    state: WireState,
    part: LinearPart,
    /// ξ, u_m, f and r(k) at rest under [`LOAD_N`].
    rest: DVector<f64>,
    /// Deviation of heights, in m.
    height: f64,
    /// Whether the pad was pressed in all cycles.
    pressed: bool,
}

impl Probe {
    fn new(design: &PredictiveDesign, part: &LinearPart) -> Result<Self, AssessmentError> {
        let mut design = design.clone();
        // No saturation.
        design.tuning.reference_low_m = f64::MIN;
        design.tuning.reference_high_m = f64::MAX;
        let lift = design.rig.motor_load_m_per_n * LOAD_N;
        let spring = 1.0 / design.tuning.interaction_stiffness_n_per_m;
        let height = SHARE * LOAD_N / design.pad;
        let wire =
            StringWire::new(part.clone(), design.rig.period_s).map_err(|e| e.within("wire"))?;
        let mut predictive = Predictive::new(design, &wire).map_err(|error| match error {
            PredictiveError::Field(field) => field,
            other => FieldError::new("design", other.to_string()),
        })?;
        let loaded = wire_at_rest(part)?;
        let position = part.c.dot(&loaded) + LOAD_N * spring;
        predictive.reset(position, LOAD_N);
        let estimate = predictive.observer().state();
        let reference = position - lift;
        let mut rest = estimate.clone_owned().push(reference);
        rest = stack(&rest, &loaded);
        rest = stack(&rest, &DVector::from_vec(vec![position, LOAD_N, reference]));
        Ok(Self {
            state: wire.new_state(),
            predictive,
            wire,
            part: part.clone(),
            rest,
            height,
            pressed: true,
        })
    }

    fn estimated(&self) -> usize {
        self.predictive.design().places.count()
    }

    /// How far each entry of `rest` is moved.
    fn deviations(&self) -> DVector<f64> {
        let places = self.predictive.design().places;
        let period_s = self.predictive.design().rig.period_s;
        let (height, force) = (self.height, SHARE * LOAD_N);
        let mut sizes = self.rest.clone();
        for i in 0..places.count() {
            sizes[i] = match i {
                _ if i >= HEAD + places.pantograph() => force,
                _ if i % 2 == 0 => height,
                _ => height / period_s,
            };
        }
        sizes[places.count()] = height;
        // Units of the wire's states are its own: as much as moves the wire by `height` within the look
        // ahead.
        let mut row = self.part.c.clone();
        let mut moved = row.map(|_| 0.0);
        for _ in 0..=HORIZON {
            row = self.part.a.tr_mul(&row);
            moved.zip_apply(&row, |most: &mut f64, now: f64| *most = most.max(now.abs()));
        }
        let least = 1e-6 * moved.amax();
        for (i, most) in moved.iter().enumerate() {
            let moves = most.max(least);
            sizes[places.count() + 1 + i] = if moves > 0.0 { height / moves } else { 1.0 };
        }
        let given = sizes.len() - GIVEN;
        sizes[given] = height;
        sizes[given + 1] = force;
        sizes[given + 2] = height;
        sizes
    }

    /// One cycle of the controller from ξ, u_m, f, r(k) to ξ⁺, r(k+1).
    fn cycle(&mut self, given: &DVector<f64>) -> DVector<f64> {
        let (n, wire_states) = (self.estimated(), self.part.states());
        let now = given.len() - GIVEN;
        self.predictive
            .set_estimate(&given.rows(0, n).into_owned(), given[n]);
        self.state.motion[..wire_states]
            .copy_from_slice(given.rows(n + 1, wire_states).into_owned().as_slice());
        self.wire.restore(&self.state);
        let found = self.predictive.step(
            &mut self.wire,
            &Tick {
                motor_position: given[now],
                force: given[now + 1],
                reference: given[now + 2],
                way: even_way(0.0, 0.0, |_| 1.0),
            },
        );
        self.pressed &= found.force > 0.0 && found.force_ahead > 0.0;
        self.wire.save(&mut self.state);
        let moved = DVector::from_column_slice(&self.state.motion[..wire_states]);
        let estimate = self.predictive.observer().state();
        stack(&estimate.push(given[now + 2]), &moved).push(found.reference)
    }
}

/// x of x = A x + b F under [`LOAD_N`].
fn wire_at_rest(part: &LinearPart) -> Result<DVector<f64>, FieldError> {
    let n = part.states();
    if n == 0 {
        return Ok(DVector::zeros(0));
    }
    let matrix = DMatrix::identity(n, n) - &part.a;
    let rest = matrix.lu().solve(&(&part.b * LOAD_N));
    rest.filter(|x| x.iter().all(|v| v.is_finite()))
        .ok_or_else(|| {
            FieldError::new(
                "wire",
                "finds no rest under a lasting force; expected a wire that holds itself up",
            )
        })
}

fn stack(above: &DVector<f64>, below: &DVector<f64>) -> DVector<f64> {
    DVector::from_iterator(
        above.len() + below.len(),
        above.iter().chain(below.iter()).copied(),
    )
}

/// The whole loop. Its states: the rig's (motor, pantograph, force, forces not yet read), r(k), what the
/// motor was sent in earlier cycles with the newest first, and the controller's memory.
#[derive(Clone, Debug)]
pub struct PredictiveLoop {
    rig: LinearRig,
    controller: LinearController,
    extra_delay_cycles: usize,
    period_s: f64,
}

impl PredictiveLoop {
    pub(super) fn new(
        rig: LinearRig,
        design: &PredictiveDesign,
        wire: &LinearPart,
        extra_delay_cycles: usize,
    ) -> Result<Self, AssessmentError> {
        Ok(Self {
            rig,
            controller: LinearController::new(design, wire)?,
            extra_delay_cycles,
            period_s: design.rig.period_s,
        })
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.rig.states() + 1 + self.sent_before() + self.controller.states()
    }

    /// The loop cut at a channel.
    pub fn open(&self, channel: PredictiveChannel) -> OpenLoop {
        OpenLoop::of(self.states(), self.period_s, |x, fed_in| {
            self.advance(x, channel, fed_in)
        })
    }

    /// s(k−1) … s(k−1−D): the rig needs the last two of what comes D cycles late.
    fn sent_before(&self) -> usize {
        self.extra_delay_cycles + 1
    }

    /// One cycle. The cut channel gets the given value instead of its own, which is returned.
    fn advance(
        &self,
        x: &DVector<f64>,
        cut: PredictiveChannel,
        fed_in: f64,
    ) -> (DVector<f64>, f64) {
        let mut arrived = 0.0;
        let mut through = |channel: PredictiveChannel, value: f64| {
            if channel == cut {
                arrived = value;
                fed_in
            } else {
                value
            }
        };
        let (reference, count) = (self.rig.states(), self.sent_before());
        let before = reference + 1;
        let memory = before + count;
        let mut next = DVector::zeros(self.states());

        let sent = through(PredictiveChannel::Reference, x[reference]);
        // s(k), s(k−1) …: the last two have arrived.
        let line = |i: usize| if i == 0 { sent } else { x[before + i - 1] };
        let moved = &self.rig.a * x.rows(0, reference)
            + &self.rig.b0 * line(count - 1)
            + &self.rig.b1 * line(count);
        next.rows_mut(0, reference).copy_from(&moved);
        for i in 0..count {
            next[before + i] = line(i);
        }

        let states = self.controller.states();
        let mut given = DVector::zeros(states + GIVEN);
        given.rows_mut(0, states).copy_from(&x.rows(memory, states));
        given[states] = through(PredictiveChannel::Position, x[MOTOR]);
        given[states + 1] = through(PredictiveChannel::Force, x[self.rig.force]);
        given[states + 2] = x[reference];
        let found = &self.controller.matrix * given;
        next.rows_mut(memory, states)
            .copy_from(&found.rows(0, states));
        next[reference] = found[states];
        (next, arrived)
    }
}
