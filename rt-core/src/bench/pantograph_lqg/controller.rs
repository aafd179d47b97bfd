//! The two ways to turn force and wire into a motor reference, and how one gives way to the other: the
//! paper's LQG on an interaction mass, and the predictive controller.
//!
//! Both observe all the time, and there is one wire. Whoever is in charge has the reference and the force
//! on the wire; a change of charge goes over smoothly. The predictive controller gives way to the LQG by
//! itself when its model no longer explains what is measured.

use super::design::{Design, InCharge, LqgDesign};
use crate::bench::Adoption;
use crate::control::kalman::BIAS;
use crate::control::lqg::Lqg;
use crate::control::predictive::{FallBack, Monitor, Predictive, Tick, TickResult, Way};
use crate::control::state_space::Plant;
use crate::model::catenary::WireModel;
use crate::model::catenary::wire::Prediction;
use crate::model::interaction_mass::{InteractionMass, WireForce};
use crate::signal::ease::smooth_step;

/// Cycles after an overrun in which the monitor is not asked: the observer was not there, so its surprise
/// says nothing about its model.
const GRACE_CYCLES: u32 = 50;
/// How long a change of charge takes that a person asked for, in s.
const HAND_OVER_S: f64 = 0.2;
/// How long it takes when the predictive controller is not trusted any more, in s.
const FALL_BACK_S: f64 = 0.04;
/// How long the rest-length offset of another interaction stiffness is bled off, in s.
const REST_BLEED_S: f64 = 0.5;

/// How often the force on the wire is corrected for droppers that become slack or tight. Each leaves less
/// than a tenth of the error: the mass yields more than the wire within a cycle.
const SLACK_CORRECTIONS: usize = 2;

/// What a cycle brings.
pub struct Cycle {
    /// Whether cycles were missed since the one before.
    pub after_overrun: bool,
    /// Where the train is now and in the cycles to come.
    pub way: Way,
    /// Measured force, in N.
    pub force: f64,
    /// Measured motor position, in m.
    pub position: f64,
    /// The reference that is in force in this cycle, in m.
    pub reference: f64,
}

/// What a cycle found.
pub struct Outcome {
    /// The reference for the next exchange, in m.
    pub reference: f64,
    /// Where the motor should be, in m.
    pub target: f64,
    /// Height of the wire, in m.
    pub wire_height: f64,
    /// Force between motor and wire as the wire model has it, in N.
    pub force: f64,
    /// What the regulator adds to the target, in m.
    pub action: f64,
    /// Mean normalised innovation of the predictive controller's observer while it is in charge.
    pub innovation: f64,
    /// Part that the predictive controller has in the reference, 0 to 1.
    pub predictive_part: f64,
}

/// The paper's controller with its interaction mass.
struct LqgController {
    design: LqgDesign,
    mass: InteractionMass,
    lqg: Lqg,
    /// The action for the reference of this cycle, computed in the cycle before.
    action: f64,
    /// The reference asked for in the cycle before.
    asked: f64,
    /// How far the wire seems higher than it is after a change of k_i, and how much of that goes in a
    /// cycle.
    rest_offset: f64,
    bleed: f64,
    dt: f64,
}

impl LqgController {
    fn new(design: LqgDesign, dt: f64) -> Self {
        Self {
            mass: InteractionMass::new(design.coupling, dt, 0.0, 0.0),
            lqg: Lqg::new(design.gains, design.action_limit_m, dt),
            design,
            action: 0.0,
            asked: 0.0,
            rest_offset: 0.0,
            bleed: 0.0,
            dt,
        }
    }

    fn engage(&mut self, height: f64, force: f64) {
        self.mass = InteractionMass::new(self.design.coupling, self.dt, height, force);
        let rest = Plant::rest() * height + self.design.plant.rest_under_force * force;
        let mut estimate = rest.push(0.0);
        estimate[BIAS] = force;
        self.lqg.reset_to(estimate);
        (self.action, self.rest_offset) = (0.0, 0.0);
        self.asked = self.mass.height();
    }

    /// The estimate, the mass and the action on its way remain; the force on the wire does not jump.
    fn adopt(&mut self, design: &LqgDesign) {
        self.rest_offset += self.mass.exchange(design.coupling);
        self.bleed = self.rest_offset.abs() * self.dt / REST_BLEED_S;
        self.lqg.set_gains(design.gains);
        self.design = *design;
    }

    /// Begins a cycle: the force on the wire, in N.
    fn force_on_wire(&mut self, wire: &mut dyn WireModel, ahead: Prediction, c: &Cycle) -> f64 {
        self.rest_offset -= self.rest_offset.max(-self.bleed).min(self.bleed);
        if self.design.wire_force == WireForce::Previous {
            return self.mass.force_on_wire();
        }
        // F = F₀ − S z of the mass and z = z_f + c F of the wire; then what slack droppers change.
        let here = c.way[0];
        let raised = here.offset + self.rest_offset;
        let at_zero = self.mass.force_at(raised, c.force);
        let stiffness = at_zero - self.mass.force_at(raised + 1.0, c.force);
        let stiffer = 1.0 + stiffness * here.share * ahead.compliance;
        let mut force = (at_zero - stiffness * ahead.height_free) / stiffer;
        for _ in 0..SLACK_CORRECTIONS {
            let height = wire.respond(here.share * force);
            force += (at_zero - stiffness * height - force) / stiffer;
        }
        force
    }

    /// Ends a cycle whose wire has reached `height`: (reference, target, action).
    fn step(&mut self, height: f64, c: &Cycle) -> (f64, f64, f64) {
        let seen = height + self.rest_offset;
        self.lqg.note_sent(c.reference - self.asked);
        self.mass.step_measured(seen, c.force);
        let action = self.action;
        self.action = self.lqg.step(seen, [self.mass.height(), c.position]);
        self.asked = self.mass.height() + action;
        (self.asked, self.mass.height(), action)
    }
}

/// The predictive controller with what watches over it.
struct Watched {
    predictive: Predictive,
    monitor: Monitor,
    /// Cycles for which the monitor is not asked.
    grace: u32,
}

/// Both controllers and who is in charge.
pub struct Controllers {
    lqg: LqgController,
    watched: Watched,
    in_charge: InCharge,
    /// How far the change to the predictive controller has come, 0 to 1, and how fast it goes.
    handed_over: f64,
    hand_over_step: f64,
    fell_back: Option<FallBack>,
    dt: f64,
}

impl Controllers {
    /// At rest without force. Steps must be given the wire model that `predictive` was made for.
    pub fn new(
        lqg: LqgDesign,
        predictive: Predictive,
        monitor: Monitor,
        in_charge: InCharge,
        dt: f64,
    ) -> Self {
        Self {
            lqg: LqgController::new(lqg, dt),
            watched: Watched {
                predictive,
                monitor,
                grace: 0,
            },
            in_charge,
            handed_over: in_charge.part(),
            hand_over_step: dt / HAND_OVER_S,
            fell_back: None,
            dt,
        }
    }

    /// k_i: how far the motor stands above the wire per newton at rest, as a stiffness in N/m.
    pub fn interaction_stiffness(&self) -> f64 {
        self.lqg.design.coupling.stiffness
    }

    /// Takes over a rig at rest, the motor where this force puts it above a wire at this height.
    pub fn engage(&mut self, height: f64, force: f64) {
        self.lqg.engage(height, force);
        self.handed_over = self.in_charge.part();
        self.fell_back = None;
        let position = height + force / self.interaction_stiffness();
        self.watched.predictive.reset(position, force);
        self.watched.monitor.reset();
        self.watched.grace = 0;
    }

    /// Takes over a design; what has to be freed is left in it.
    pub fn adopt(&mut self, design: &mut Design) -> Adoption {
        if self.lqg.lqg.is_blending() || self.handed_over != self.in_charge.part() {
            return Adoption::Later;
        }
        let own = &mut self.watched.predictive;
        if own.swap_design(&mut design.predictive).is_err() {
            return Adoption::Refused;
        }
        self.lqg.adopt(&design.lqg);
        if self.in_charge != design.in_charge {
            self.hand_over(design.in_charge, HAND_OVER_S);
        }
        Adoption::Adopted
    }

    /// Why the predictive controller gave way since this was asked last.
    pub fn fell_back(&mut self) -> Option<FallBack> {
        self.fell_back.take()
    }

    fn hand_over(&mut self, to: InCharge, seconds: f64) {
        self.in_charge = to;
        self.hand_over_step = self.dt / seconds;
        self.watched.monitor.reset();
    }

    /// One cycle.
    pub fn step(&mut self, wire: &mut dyn WireModel, c: &Cycle) -> Outcome {
        let wanted = self.in_charge.part();
        let to_go = wanted - self.handed_over;
        self.handed_over += to_go.clamp(-self.hand_over_step, self.hand_over_step);
        let part = smooth_step(self.handed_over);

        let watched = &mut self.watched;
        let observed = watched.predictive.observe(c.position, c.force);
        let here = c.way[0];
        let ahead = wire.predict(here.place);
        let interaction = self.lqg.force_on_wire(wire, ahead, c);
        let force = interaction + part * (observed - interaction);
        let height = wire.respond(here.share * force) + here.offset;
        wire.commit();

        let (reference, target, action) = self.lqg.step(height, c);
        let mut outcome = Outcome {
            reference,
            target,
            wire_height: height,
            force,
            action,
            innovation: 0.0,
            predictive_part: part,
        };
        if part == 0.0 {
            watched.predictive.follow(c.reference);
            return outcome;
        }
        let tick = Tick {
            force: c.force,
            motor_position: c.position,
            reference: c.reference,
            way: c.way,
        };
        let found = watched.predictive.plan(wire, &tick, height);
        outcome.reference += part * (found.reference - reference);
        outcome.target += part * (found.target - target);
        outcome.action = outcome.reference - outcome.target;
        let alone = self.handed_over == 1.0 && wanted == 1.0;
        let mistrust = watched.watch(&found, c.after_overrun, alone);
        outcome.innovation = watched.monitor.mean_innovation();
        if let Some(cause) = mistrust {
            self.fell_back = Some(cause);
            self.hand_over(InCharge::Lqg, FALL_BACK_S);
        }
        outcome
    }
}

impl Watched {
    /// Asks the monitor, unless a cycle was missed shortly before or another controller has a part.
    fn watch(&mut self, found: &TickResult, after_overrun: bool, alone: bool) -> Option<FallBack> {
        if after_overrun {
            self.grace = GRACE_CYCLES;
        }
        if self.grace > 0 || !alone {
            self.grace = self.grace.saturating_sub(1);
            self.monitor.reset();
            return None;
        }
        self.monitor.watch(found)
    }
}
