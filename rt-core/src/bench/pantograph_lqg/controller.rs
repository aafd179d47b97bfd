//! The two ways to turn force and wire into a motor reference: the paper's LQG on an interaction mass,
//! and the predictive controller.

use crate::bench::StepFault;
use crate::control::kalman::BIAS;
use crate::control::lqg::Lqg;
use crate::control::predictive::{Entry, Monitor, Predictive, Tick};
use crate::control::state_space::Plant;
use crate::model::catenary::WireModel;
use crate::model::interaction_mass::{InteractionMass, MassCoupling};

/// Cycles after an overrun in which the monitor is not asked: the observer was not there, so its surprise
/// says nothing about its model.
const GRACE_CYCLES: u32 = 50;

/// What a cycle brings.
pub struct Cycle {
    /// Whether cycles were missed since the one before.
    pub after_overrun: bool,
    /// Place of the contact, in m.
    pub place: f64,
    /// Speed of the train, in m/s.
    pub speed: f64,
    /// Where the force begins to reach the wire, in m, and over which length.
    pub entry: Entry,
    /// Part of the force that reaches the wire.
    pub share: f64,
    /// What is added to the wire's height after a joint, in m.
    pub joint_offset: f64,
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
    /// Force on the wire, in N.
    pub force_on_wire: f64,
    /// What the regulator adds to the target, in m.
    pub action: f64,
}

/// The paper's controller with its interaction mass.
pub struct LqgController {
    coupling: MassCoupling,
    plant: Plant,
    mass: InteractionMass,
    lqg: Lqg,
    /// The action for the reference of this cycle, computed in the cycle before.
    action: f64,
    dt: f64,
}

impl LqgController {
    /// At rest without force.
    pub fn new(coupling: MassCoupling, plant: Plant, lqg: Lqg, dt: f64) -> Self {
        let mass = InteractionMass::new(coupling, dt, 0.0, 0.0);
        Self {
            coupling,
            plant,
            mass,
            lqg,
            action: 0.0,
            dt,
        }
    }

    /// The whole rig at rest at a wire height and under a contact force: nothing moves when it starts.
    fn engage(&mut self, height: f64, force: f64) {
        self.mass = InteractionMass::new(self.coupling, self.dt, height, force);
        let mut estimate = (Plant::rest() * height + self.plant.rest_under_force * force).push(0.0);
        estimate[BIAS] = force;
        self.lqg.reset_to(estimate);
        self.action = 0.0;
    }

    fn step(&mut self, wire: &mut dyn WireModel, c: &Cycle) -> Outcome {
        // Eq. 4 with the interaction force of the step before, then Eq. 7 for the height.
        wire.predict(c.place);
        let height = wire.respond(c.share * self.mass.force_on_wire()) + c.joint_offset;
        wire.commit();
        self.mass.step_measured(height, c.force);
        let action = self.action;
        self.action = self.lqg.step(height, [self.mass.height(), c.position]);
        Outcome {
            reference: self.mass.height() + action,
            target: self.mass.height(),
            wire_height: height,
            force_on_wire: self.mass.force_on_wire(),
            action,
        }
    }
}

/// One of the two.
pub enum Controller {
    /// LQG on an interaction mass.
    Lqg(Box<LqgController>),
    /// Wire and pantograph predicted together.
    Predictive {
        /// The controller.
        predictive: Box<Predictive>,
        /// Says when not to trust it.
        monitor: Monitor,
        /// Cycles for which the monitor is not asked.
        grace: u32,
    },
}

impl Controller {
    /// k_i: how far the motor stands above the wire per newton at rest, as a stiffness in N/m.
    pub fn interaction_stiffness(&self) -> f64 {
        match self {
            Controller::Lqg(lqg) => lqg.coupling.stiffness,
            Controller::Predictive { predictive, .. } => {
                predictive.design().tuning.interaction_stiffness_n_per_m
            }
        }
    }

    /// Takes over a rig at rest, the motor where this force puts it above a wire at this height.
    pub fn engage(&mut self, height: f64, force: f64) {
        let position = height + force / self.interaction_stiffness();
        match self {
            Controller::Lqg(lqg) => lqg.engage(height, force),
            Controller::Predictive {
                predictive,
                monitor,
                grace,
            } => {
                predictive.reset(position, force);
                monitor.reset();
                *grace = 0;
            }
        }
    }

    /// One cycle.
    pub fn step(&mut self, wire: &mut dyn WireModel, c: &Cycle) -> Result<Outcome, StepFault> {
        match self {
            Controller::Lqg(lqg) => Ok(lqg.step(wire, c)),
            Controller::Predictive {
                predictive,
                monitor,
                grace,
            } => {
                if c.after_overrun {
                    *grace = GRACE_CYCLES;
                    monitor.reset();
                }
                let result = predictive.step(
                    wire,
                    &Tick {
                        force: c.force,
                        motor_position: c.position,
                        reference: c.reference,
                        place: c.place,
                        speed: c.speed,
                        entry: c.entry,
                    },
                );
                if *grace > 0 {
                    *grace -= 1;
                } else if monitor.watch(&result).is_some() {
                    return Err(StepFault::Mistrusted {
                        innovation: monitor.mean_innovation(),
                    });
                }
                Ok(Outcome {
                    reference: result.reference,
                    target: result.target,
                    wire_height: result.wire_height,
                    force_on_wire: result.force * c.share,
                    action: result.reference - result.target,
                })
            }
        }
    }
}
