//! The whole loop as one linear step: wire, interaction mass, regulator, observer, delays, motor,
//! real pantograph, force filter. For stability before anything moves.

use super::kalman::OBSERVED;
use super::lqg::LqgGains;
use super::newmark::{LinearPart, NewmarkBlock};
use super::predictive::LinearRig;
use super::state_space::RigModel;
use crate::file::FieldError;
use crate::model::interaction_mass::{
    ForceUse, InteractionMass, MassCoupling, MassForm, WireForce,
};
use crate::model::pantograph::Pantograph;
use crate::signal::filter::Sos;
use nalgebra::{DMatrix, DVector, SVector, Vector3};

/// One scalar signal of the loop that can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Motor reference: interaction mass plus action.
    Reference,
    /// Action of the regulator.
    Control,
    /// Measured force on its way to the interaction mass.
    Force,
}

/// What the loop is made of.
#[derive(Clone, Debug)]
pub struct LoopParts {
    /// Interaction mass, motor and period; its pantograph is only the observer's.
    pub rig: RigModel,
    /// Regulator and observer; `None` runs the rig without.
    pub gains: Option<LqgGains>,
    /// Wire height in m by the force on it in N: z_c⁺ = cᵀ(A x + b F_i).
    /// `None` holds the wire.
    pub wire: Option<LinearPart>,
    /// Head height by motor position, from [`pantograph_on_pad`].
    pub pantograph: LinearPart,
    /// Stiffness of the real pad in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Filter of the measured force.
    pub force_filter: Option<Sos>,
    /// Steps by which the reference comes later than the one step that the rig model has.
    pub extra_delay_steps: usize,
    /// How the interaction mass meets the wire.
    pub mass: MassForm,
    /// The rig as it runs, exact and with a reference that is held between exchanges, in place of motor,
    /// pantograph, pad and force filter by Newmark's rule.
    pub exact_rig: Option<LinearRig>,
}

/// A lumped pantograph whose head rests on the motor through a pad.
pub fn pantograph_on_pad(
    pantograph: &Pantograph,
    pad_stiffness_n_per_m: f64,
    period_s: f64,
) -> Result<LinearPart, FieldError> {
    let mut matrices = pantograph.matrices();
    let n = matrices.mass.nrows();
    matrices.stiffness[(0, 0)] += pad_stiffness_n_per_m;
    let mut head = DVector::zeros(n);
    head[0] = 1.0;
    LinearPart::newmark(
        &matrices.mass,
        &matrices.damping,
        &matrices.stiffness,
        &(&head * pad_stiffness_n_per_m),
        &head,
        period_s,
    )
    .ok_or_else(|| FieldError::new("masses", "give a singular matrix; expected positive masses"))
}

/// The open loop at a cut channel: x⁺ = A x + b s, out = cᵀ x + d s, s being what is fed in after
/// the cut and `out` what arrives before it. Closing it is s = out.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// State matrix.
    pub a: DMatrix<f64>,
    /// Input column.
    pub b: DVector<f64>,
    /// Output row.
    pub c: DVector<f64>,
    /// Direct part.
    pub d: f64,
    /// Cycle in s.
    pub period_s: f64,
}

impl OpenLoop {
    /// From one linear cycle: the state and what is fed in give the next state and what arrives.
    pub(super) fn of(
        states: usize,
        period_s: f64,
        cycle: impl Fn(&DVector<f64>, f64) -> (DVector<f64>, f64),
    ) -> Self {
        let mut a = DMatrix::zeros(states, states);
        let mut c = DVector::zeros(states);
        for i in 0..states {
            let (next, out) = cycle(&unit(states, i), 0.0);
            a.set_column(i, &next);
            c[i] = out;
        }
        let (b, d) = cycle(&DVector::zeros(states), 1.0);
        Self {
            a,
            b,
            c,
            d,
            period_s,
        }
    }

    /// State matrix of the loop closed with the gain g: s = g · out.
    pub fn closed(&self, g: f64) -> DMatrix<f64> {
        &self.a + &self.b * self.c.transpose() * (g / (1.0 - g * self.d))
    }
}

impl LoopParts {
    /// State matrix of the closed loop.
    pub fn matrix(&self) -> DMatrix<f64> {
        let step = Step::new(self);
        let columns: Vec<DVector<f64>> = (0..step.states)
            .map(|i| step.advance(&unit(step.states, i), None).0)
            .collect();
        DMatrix::from_columns(&columns)
    }

    /// The loop cut at a channel.
    pub fn open(&self, channel: Channel) -> OpenLoop {
        let step = Step::new(self);
        OpenLoop::of(step.states, self.rig.period_s, |x, fed_in| {
            step.advance(x, Some((channel, fed_in)))
        })
    }
}

fn unit(n: usize, i: usize) -> DVector<f64> {
    let mut x = DVector::zeros(n);
    x[i] = 1.0;
    x
}

/// Where each part's states are, and one cycle of the loop.
struct Step<'a> {
    parts: &'a LoopParts,
    interaction: MassCoupling,
    motor: NewmarkBlock,
    places: Places,
    states: usize,
}

#[derive(Default)]
struct Places {
    wire: usize,
    interaction: usize,
    motor: usize,
    pantograph: usize,
    filter: usize,
    measured_force: usize,
    references: usize,
    action: usize,
    estimate: usize,
    force_on_wire: usize,
    exact_rig: usize,
    /// The reference in force, then the one before.
    sent: usize,
}

impl<'a> Step<'a> {
    fn new(parts: &'a LoopParts) -> Self {
        let mut states = 0;
        let mut place = |count: usize| {
            states += count;
            states - count
        };
        let sections = parts
            .force_filter
            .as_ref()
            .map_or(0, |f| f.sections().len());
        let places = Places {
            wire: place(parts.wire.as_ref().map_or(0, LinearPart::states)),
            interaction: place(3),
            motor: place(3),
            pantograph: place(parts.pantograph.states()),
            filter: place(2 * sections),
            measured_force: place(1),
            references: place(parts.extra_delay_steps),
            action: place(usize::from(parts.gains.is_some())),
            estimate: place(parts.gains.as_ref().map_or(0, |gains| gains.kalman.states)),
            force_on_wire: place(1),
            exact_rig: place(parts.exact_rig.as_ref().map_or(0, LinearRig::states)),
            sent: place(if parts.exact_rig.is_some() { 2 } else { 0 }),
        };
        Self {
            parts,
            interaction: MassCoupling {
                mass: parts.rig.interaction.mass_kg,
                damping: parts.rig.interaction.damping_ns_per_m,
                stiffness: parts.rig.interaction.stiffness_n_per_m,
                pad_stiffness: parts.pad_stiffness_n_per_m,
                damper: parts.mass.damper,
                force: ForceUse::Previous,
            },
            motor: NewmarkBlock::new(&parts.rig.motor, parts.rig.period_s),
            places,
            states,
        }
    }

    /// One cycle from t to t + 1. A cut channel gets the given value instead of its own, which is
    /// returned.
    fn advance(&self, x: &DVector<f64>, cut: Option<(Channel, f64)>) -> (DVector<f64>, f64) {
        let Places {
            interaction, motor, ..
        } = self.places;
        let mut next = DVector::zeros(self.states);
        let mut arrived = 0.0;
        let mut through = |channel: Channel, value: f64| match cut {
            Some((cut, instead)) if cut == channel => {
                arrived = value;
                instead
            }
            _ => value,
        };
        // The rig as it runs comes first: its force is that of the end of the cycle.
        let exact = self.exact_rig(x, &mut next);
        // Wire and interaction mass, with the force measured in the last cycle.
        let measured = exact.map_or(x[self.places.measured_force], |(force, _)| force);
        let force = through(Channel::Force, measured);
        let (height, next_height) = self.wire_and_mass(x, &mut next, force);
        // Motor with the reference of the last cycle, or of an earlier one.
        let own_action = if self.parts.gains.is_some() {
            x[self.places.action]
        } else {
            0.0
        };
        let action = through(Channel::Control, own_action);
        let reference = through(Channel::Reference, x[interaction] + action);
        let late = self.delayed(x, &mut next, reference);
        let next_motor = if let Some((_, position)) = exact {
            next[self.places.sent] = late;
            next[self.places.sent + 1] = x[self.places.sent];
            position
        } else {
            let next_motor = self.motor.a * three(x, motor) + self.motor.b * late;
            next.rows_mut(motor, 3).copy_from(&next_motor);
            self.pantograph_and_force(x, &mut next, next_motor[0]);
            next_motor[0]
        };
        self.controller(x, &mut next, (height, next_height), next_motor);
        (next, arrived)
    }

    /// Moves the rig as it runs: the force that is read then, and the motor's position.
    fn exact_rig(&self, x: &DVector<f64>, next: &mut DVector<f64>) -> Option<(f64, f64)> {
        let rig = self.parts.exact_rig.as_ref()?;
        let own = x.rows(self.places.exact_rig, rig.states()).into_owned();
        let moved = rig.step(&own, x[self.places.sent], x[self.places.sent + 1]);
        next.rows_mut(self.places.exact_rig, rig.states())
            .copy_from(&moved);
        Some((moved[rig.force], moved[0]))
    }

    /// Moves wire and interaction mass; the wire's height before and after.
    fn wire_and_mass(
        &self,
        x: &DVector<f64>,
        next: &mut DVector<f64>,
        contact_force: f64,
    ) -> (f64, f64) {
        let own = self.places.interaction;
        let in_motion = |height: f64| {
            InteractionMass::in_motion(
                self.interaction,
                self.parts.rig.period_s,
                [x[own], x[own + 1], x[own + 2]],
                height,
                x[self.places.force_on_wire],
            )
        };
        let (mass, height, next_height) = match &self.parts.wire {
            None => (in_motion(0.0), 0.0, 0.0),
            Some(wire) => {
                let state = x.rows(self.places.wire, wire.states());
                let height = wire.c.dot(&state);
                let mass = in_motion(height);
                let mut moved = &wire.a * state;
                let force = match self.parts.mass.wire_force {
                    WireForce::Previous => mass.force_on_wire(),
                    // F = F₀ − S z of the mass, z = z_f + c F of the wire.
                    WireForce::Implicit => {
                        let (at_zero, stiffness) = mass.force_law(0.0, contact_force);
                        (at_zero - stiffness * wire.c.dot(&moved))
                            / (1.0 + stiffness * wire.c.dot(&wire.b))
                    }
                };
                moved.axpy(force, &wire.b, 1.0);
                next.rows_mut(self.places.wire, wire.states())
                    .copy_from(&moved);
                (mass, height, wire.c.dot(&moved))
            }
        };
        let mut mass = mass;
        mass.step_measured(next_height, contact_force);
        for (i, value) in mass.motion().into_iter().enumerate() {
            next[own + i] = value;
        }
        next[self.places.force_on_wire] = mass.force_on_wire();
        (height, next_height)
    }

    /// The reference that reaches the motor now.
    fn delayed(&self, x: &DVector<f64>, next: &mut DVector<f64>, reference: f64) -> f64 {
        let (first, count) = (self.places.references, self.parts.extra_delay_steps);
        let mut late = reference;
        for place in (first..first + count).rev() {
            // The newest waits at the end.
            next[place] = late;
            late = x[place];
        }
        late
    }

    fn pantograph_and_force(&self, x: &DVector<f64>, next: &mut DVector<f64>, motor: f64) {
        let pantograph = &self.parts.pantograph;
        let (place, count) = (self.places.pantograph, pantograph.states());
        let moved = &pantograph.a * x.rows(place, count) + &pantograph.b * motor;
        let mut force = self.parts.pad_stiffness_n_per_m * (pantograph.c.dot(&moved) - motor);
        next.rows_mut(place, count).copy_from(&moved);
        let sections = self.parts.force_filter.iter().flat_map(|f| f.sections());
        for (i, section) in sections.enumerate() {
            let place = self.places.filter + 2 * i;
            let mut state = [x[place], x[place + 1]];
            force = section.step(&mut state, force);
            [next[place], next[place + 1]] = state;
        }
        next[self.places.measured_force] = force;
    }

    /// u⁺ = −K (x̂ − x_ss z_c − x_f f̂), then the observer's step with it and with what is measured next.
    fn controller(
        &self,
        x: &DVector<f64>,
        next: &mut DVector<f64>,
        (height, next_height): (f64, f64),
        next_motor: f64,
    ) {
        let Some(LqgGains { lqr, kalman }) = &self.parts.gains else {
            return;
        };
        let (place, count) = (self.places.estimate, kalman.states);
        let mut estimate = SVector::<f64, OBSERVED>::zeros();
        estimate.rows_mut(0, count).copy_from(&x.rows(place, count));
        let action = lqr.action(&estimate, height);
        kalman.predict(&mut estimate, next_height, action);
        let positions = [next[self.places.interaction], next_motor];
        kalman.correct(&mut estimate, positions);
        next[self.places.action] = action;
        next.rows_mut(place, count)
            .copy_from(&estimate.rows(0, count));
    }
}

fn three(x: &DVector<f64>, place: usize) -> Vector3<f64> {
    Vector3::new(x[place], x[place + 1], x[place + 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::assessment::Tuning;
    use crate::control::lqg::Lqg;
    use crate::control::predictive::PredictiveRig;
    use crate::model::catenary::WireModel;
    use crate::model::moving_string::MovingString;
    use crate::model::pantograph::{LumpedMass, Uplift};
    use crate::model::string_wire::StringWire;

    /// The loop as the bench runs it, cycle by cycle with its own parts, against powers of the matrix.
    #[test]
    fn the_loop_as_it_runs_is_the_one_that_is_judged() {
        let rig = RigModel::TUR_2024;
        let dt = rig.period_s;
        let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
            mass_kg,
            stiffness_n_per_m,
            damping_ns_per_m,
        };
        let pantograph = Pantograph {
            name: "two masses".into(),
            masses: vec![mass(6.6, 7e3, 20.0), mass(11.0, 80.0, 70.0)],
            uplift: Uplift {
                static_n: 70.0,
                per_kmh2_n: 0.0,
            },
        };
        let real = PredictiveRig {
            force_delay_cycles: 1,
            ..PredictiveRig::TUR_2024
        };
        let exact = LinearRig::new(&real, &pantograph);
        let gains = Tuning::TUR_2024.gains(&rig).unwrap();
        let part = MovingString::HIGH_SPEED_300.linear_part(dt).unwrap();
        for form in [MassForm::IMPLICIT, MassForm::PRINTED] {
            let parts = LoopParts {
                rig,
                gains: Some(gains),
                wire: Some(part.clone()),
                pantograph: pantograph_on_pad(&pantograph, 240e3, dt).unwrap(),
                pad_stiffness_n_per_m: 240e3,
                force_filter: None,
                extra_delay_steps: 0,
                mass: form,
                exact_rig: Some(exact.clone()),
            };
            let step = Step::new(&parts);
            let matrix = parts.matrix();
            let mut x = DVector::zeros(step.states);
            x[step.places.interaction] = 1e-4;

            let mut wire = StringWire::new(part.clone(), dt).unwrap();
            let mut moving =
                InteractionMass::in_motion(step.interaction, dt, [1e-4, 0.0, 0.0], 0.0, 0.0);
            let mut lqg = Lqg::new(gains, f64::INFINITY, dt);
            let mut state = DVector::zeros(exact.states());
            let (mut sent, mut sent_before, mut action) = (0.0, 0.0, 0.0);
            // What the cycle before ended with: the reference asked for then is sent now.
            let mut next_action = 0.0;
            for cycle in 0..300 {
                let reference = moving.height() + action;
                state = exact.step(&state, sent, sent_before);
                (sent_before, sent) = (sent, reference);
                let (position, force) = (state[0], state[exact.force]);
                let ahead = wire.predict(0.0);
                let on_wire = match form.wire_force {
                    WireForce::Previous => moving.force_on_wire(),
                    WireForce::Implicit => {
                        let (at_zero, stiffness) = moving.force_law(0.0, force);
                        (at_zero - stiffness * ahead.height_free)
                            / (1.0 + stiffness * ahead.compliance)
                    }
                };
                let height = wire.respond(on_wire);
                wire.commit();
                moving.step_measured(height, force);
                action = next_action;
                // The analysis begins with an observer that knows nothing of the disturbance.
                next_action = lqg.step(height, [moving.height(), position]);
                x = &matrix * x;
                let scale = x.amax().max(1e-9);
                for (name, found, expected) in [
                    ("mass", moving.height(), x[step.places.interaction]),
                    ("motor", position, x[step.places.exact_rig]),
                ] {
                    assert!(
                        (found - expected).abs() < 1e-9 * scale,
                        "{form:?}, cycle {cycle}, {name}: {found} {expected}"
                    );
                }
            }
        }
    }
}
