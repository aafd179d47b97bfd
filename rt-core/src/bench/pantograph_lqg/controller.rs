//! The two ways to turn force and wire into a motor reference, and how one gives way to the other: the
//! paper's LQG on an interaction mass, and the predictive controller.
//!
//! Both observe all the time, and there is one wire. Whoever is in charge has the reference and the force
//! on the wire. A change of charge is made at once, so that a mixture of both never has to be stable; the
//! difference of their references is added and let go smoothly, and both observers know what was sent. The
//! predictive controller gives way to the LQG by itself when its model no longer explains what is measured.

use super::design::{Design, InCharge, LqgDesign};
use crate::bench::Adoption;
use crate::control::kalman::BIAS;
use crate::control::lqg::Lqg;
use crate::control::predictive::{FallBack, Monitor, Predictive, Tick, TickResult, Way};
use crate::control::state_space::Plant;
use crate::model::catenary::WireModel;
use crate::model::catenary::wire::Prediction;
use crate::model::interaction_mass::{InteractionMass, WireForce};
use crate::signal::ease::Parting;

/// Cycles after an overrun in which the monitor is not asked: the observer was not there, so its surprise
/// says nothing about its model.
const GRACE_CYCLES: u32 = 50;
/// How long the difference that a change of charge makes is let go, in s.
const HAND_OVER_S: f64 = 0.2;
/// The same when the predictive controller is not trusted any more: what it asked for is worth little.
const FALL_BACK_S: f64 = 0.02;
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
    /// Which controller is in charge.
    pub in_charge: InCharge,
}

/// The paper's controller with its interaction mass.
struct LqgController {
    design: LqgDesign,
    mass: InteractionMass,
    lqg: Lqg,
    /// The action for the reference of this cycle, computed in the cycle before.
    action: f64,
    /// The reference of the cycle before, as it left the controllers.
    sent: f64,
    /// Height of the wire as the mass sees it in this cycle, in m.
    seen: f64,
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
            sent: 0.0,
            seen: 0.0,
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
        self.sent = self.mass.height();
    }

    /// The estimate, the mass and the action on its way remain; the force on the wire does not jump.
    fn adopt(&mut self, design: &LqgDesign) {
        if design.coupling == self.design.coupling {
            self.lqg.blend_gains(design.gains);
        } else {
            let raised = self.mass.exchange(design.coupling);
            self.rest_offset += raised;
            self.bleed = self.rest_offset.abs() * self.dt / REST_BLEED_S;
            self.lqg.exchange_gains(design.gains, raised);
        }
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
        let (at_zero, stiffness) = self.mass.force_law(raised, c.force);
        let stiffer = 1.0 + stiffness * here.share * ahead.compliance;
        let mut force = (at_zero - stiffness * ahead.height_free) / stiffer;
        for _ in 0..SLACK_CORRECTIONS {
            let height = wire.respond(here.share * force);
            force += (at_zero - stiffness * height - force) / stiffer;
        }
        force
    }

    /// Goes on in a cycle whose wire has reached `height`.
    fn step(&mut self, height: f64, c: &Cycle) -> Asked {
        self.seen = height + self.rest_offset;
        // What the guard made of the last reference.
        self.lqg.note_sent(c.reference - self.sent);
        self.mass.step_measured(self.seen, c.force);
        self.lqg
            .observe(self.seen, [self.mass.height(), c.position]);
        Asked {
            reference: self.mass.height() + self.action,
            target: self.mass.height(),
        }
    }

    /// Ends a cycle in which this reference is sent, whoever asked for it.
    fn conclude(&mut self, reference: f64) {
        self.sent = reference;
        self.lqg
            .note_sent(reference - (self.mass.height() + self.action));
        self.action = self.lqg.decide(self.seen);
    }
}

/// What a controller asks for.
struct Asked {
    reference: f64,
    target: f64,
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
    /// Who was in charge until a moment ago, and how long the difference is let go, in s.
    left: Option<(InCharge, f64)>,
    parting: Parting,
    fell_back: Option<FallBack>,
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
            left: None,
            parting: Parting::new(dt),
            fell_back: None,
        }
    }

    /// k_i: how far the motor stands above the wire per newton at rest, as a stiffness in N/m.
    pub fn interaction_stiffness(&self) -> f64 {
        self.lqg.design.coupling.stiffness
    }

    /// Who is in charge.
    pub fn in_charge(&self) -> InCharge {
        self.in_charge
    }

    /// Takes over a rig at rest, the motor where this force puts it above a wire at this height.
    pub fn engage(&mut self, height: f64, force: f64) {
        self.lqg.engage(height, force);
        self.left = None;
        self.parting.end();
        self.fell_back = None;
        let position = height + force / self.interaction_stiffness();
        self.watched.predictive.reset(position, force);
        self.watched.monitor.reset();
        self.watched.grace = 0;
    }

    /// Ends what is still dying away of earlier changes.
    pub fn settle(&mut self) {
        self.lqg.lqg.settle();
        self.left = None;
        self.parting.end();
    }

    /// Takes over a design; what has to be freed is left in it.
    pub fn adopt(&mut self, design: &mut Design) -> Adoption {
        if self.lqg.lqg.is_changing() || self.left.is_some() || self.parting.goes_on() {
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
        self.left = Some((std::mem::replace(&mut self.in_charge, to), seconds));
        self.watched.monitor.reset();
    }

    /// One cycle.
    pub fn step(&mut self, wire: &mut dyn WireModel, c: &Cycle) -> Outcome {
        let here = c.way[0];
        let observed = self.watched.predictive.observe(c.position, c.force);
        let ahead = wire.predict(here.place);
        let interaction = self.lqg.force_on_wire(wire, ahead, c);
        let force = match self.in_charge {
            InCharge::Lqg => interaction,
            InCharge::Predictive => observed,
        };
        let wire_height = wire.respond(here.share * force) + here.offset;
        wire.commit();

        let by_lqg = self.lqg.step(wire_height, c);
        // In the cycle of a change of charge both are asked, to know the difference.
        let left = self.left.take();
        let takes_part = |who| self.in_charge == who || left.is_some_and(|(left, _)| left == who);
        let by_predictive = if takes_part(InCharge::Predictive) {
            Some(self.watched.plan(wire, wire_height, c))
        } else {
            self.watched.predictive.follow(c.reference);
            None
        };
        let asked_by = |who| match (who, by_predictive) {
            (InCharge::Predictive, Some(found)) => (found.reference, found.target),
            _ => (by_lqg.reference, by_lqg.target),
        };
        let (reference, target) = asked_by(self.in_charge);
        if let Some((left, seconds)) = left {
            self.parting.begin(asked_by(left).0 - reference, seconds);
        }
        let reference = reference + self.parting.step();
        self.lqg.conclude(reference);
        let innovation = self.watched.monitor.mean_innovation();
        self.watch(by_predictive.as_ref(), c.after_overrun);
        Outcome {
            reference,
            target,
            wire_height,
            force,
            action: reference - target,
            innovation,
            in_charge: self.in_charge,
        }
    }

    /// Asks the monitor of the predictive controller, unless a cycle was missed shortly before or a change
    /// of charge has not yet died away.
    fn watch(&mut self, found: Option<&TickResult>, after_overrun: bool) {
        let watched = &mut self.watched;
        if after_overrun {
            watched.grace = GRACE_CYCLES;
        }
        let trusted = watched.grace > 0 || self.parting.goes_on();
        watched.grace = watched.grace.saturating_sub(1);
        if trusted {
            watched.monitor.reset();
            return;
        }
        if let (InCharge::Predictive, Some(found)) = (self.in_charge, found)
            && let Some(cause) = watched.monitor.watch(found)
        {
            self.fell_back = Some(cause);
            self.hand_over(InCharge::Lqg, FALL_BACK_S);
        }
    }
}

impl Watched {
    fn plan(&mut self, wire: &mut dyn WireModel, wire_height: f64, c: &Cycle) -> TickResult {
        let tick = Tick {
            force: c.force,
            motor_position: c.position,
            reference: c.reference,
            way: c.way,
        };
        self.predictive.plan(wire, &tick, wire_height)
    }
}
