//! From the parameters of the bench to both of its controllers, judged before they are used.

use super::config::PantographLqgConfig;
use super::{PARAMS, param};
use crate::bench::{BuildError, Content, Designer, Prospect};
use crate::control::assessment::{ForceFilter, LoopMargins, Prepared, Surroundings, Tuning, Wire};
use crate::control::lqg::LqgGains;
use crate::control::predictive::{
    PredictiveDesign, PredictiveMargins, PredictiveSurroundings, PredictiveTuning,
    PreparedPredictive,
};
use crate::control::state_space::Plant;
use crate::model::interaction_mass::{ForceUse, MassCoupling, MassForm, WireForce};
use crate::model::moving_string::MovingString;
use crate::model::pantograph::Pantograph;
use crate::param::ParamSet;

/// Which controller has the motor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum InCharge {
    /// The paper's LQG on an interaction mass.
    Lqg,
    /// Wire and pantograph predicted together.
    Predictive,
}

impl InCharge {
    /// The value of the parameter that chooses it, which is also the predictive controller's part.
    pub fn part(self) -> f64 {
        match self {
            InCharge::Lqg => 0.0,
            InCharge::Predictive => 1.0,
        }
    }
}

/// The LQG with its interaction mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LqgDesign {
    /// Interaction mass and pad.
    pub coupling: MassCoupling,
    /// The rig as the gains assume it.
    pub plant: Plant,
    /// Regulator and observer.
    pub gains: LqgGains,
    /// Which force of the mass acts on the wire.
    pub wire_force: WireForce,
    /// Largest action of the regulator, in m.
    pub action_limit_m: f64,
}

/// Both controllers; what is exchanged at the border of a cycle.
#[derive(Clone, Debug)]
pub struct Design {
    /// The LQG.
    pub lqg: LqgDesign,
    /// The predictive controller.
    pub predictive: PredictiveDesign,
    /// Which of them is in charge.
    pub in_charge: InCharge,
}

/// Designs for the rig and specimen of a session.
#[derive(Debug)]
pub struct PantographDesigner {
    config: PantographLqgConfig,
    pantograph: Pantograph,
    period_s: f64,
    lqg: Prepared,
    predictive: PreparedPredictive,
}

impl PantographDesigner {
    /// For a session, with the string that stands for its line.
    pub(super) fn new(
        config: &PantographLqgConfig,
        pantograph: Pantograph,
        string: MovingString,
        period_s: f64,
    ) -> Result<Self, BuildError> {
        let other = |e: &dyn std::fmt::Display| BuildError::Other(e.to_string());
        let wire = Wire::String(string);
        let predictive = PreparedPredictive::new(&PredictiveSurroundings {
            wire: wire.clone(),
            rig: config.predictive_rig(period_s),
            pantograph: pantograph.clone(),
            extra_delay_cycles: 0,
        });
        let surroundings = Surroundings {
            wire,
            pantograph: pantograph.clone(),
            pad_stiffness_n_per_m: config.pantograph.stiffness_n_per_m,
            force_filter: ForceFilter::FirstOrder {
                cutoff_hz: config.force_filter_hz,
            },
            extra_delay_steps: 0,
            exact_rig: Some(config.predictive_rig(period_s)),
            mass: MassForm {
                damper: config.damper,
                wire_force: config.wire_force,
            },
        };
        let rig = config.rig_model(period_s);
        Ok(Self {
            lqg: Prepared::new(&rig, &surroundings).map_err(|e| other(&e))?,
            predictive: predictive.map_err(|e| other(&e))?,
            config: config.clone(),
            pantograph,
            period_s,
        })
    }

    /// The tuning that a set of parameters means.
    pub fn tuning(&self, params: &ParamSet) -> Tuning {
        Tuning {
            q: params.get(param::Q),
            r: params.get(param::R),
            q_kf: params.get(param::Q_KF),
            r_kf: params.get(param::R_KF),
            k_i_n_per_m: params.get(param::K_I),
            c_i_ns_per_m: params.get(param::C_I),
            m_i_kg: params.get(param::M_I),
            reading: self.config.noise_reading,
            bias_step_n: Some(params.get(param::BIAS_STEP)),
        }
    }

    /// Designs both controllers.
    pub fn controllers(&self, params: &ParamSet) -> Result<Design, String> {
        for (index, spec) in PARAMS.iter().enumerate() {
            spec.check(params.get(index)).map_err(|e| e.to_string())?;
        }
        let tuning = self.tuning(params);
        let rig = self.lqg.rig();
        let in_charge = if params.get(param::CONTROLLER) == InCharge::Predictive.part() {
            InCharge::Predictive
        } else {
            InCharge::Lqg
        };
        let predictive = PredictiveDesign::new(
            &self.config.predictive_rig(self.period_s),
            &self.pantograph,
            &PredictiveTuning {
                interaction_stiffness_n_per_m: tuning.k_i_n_per_m,
                pad_factor: params.get(param::PAD_FACTOR),
                distance_weight: params.get(param::DISTANCE_WEIGHT),
                change_weight: params.get(param::CHANGE_WEIGHT),
                ..PredictiveTuning::ROBUST
            },
        )
        .map_err(|e| e.to_string())?;
        Ok(Design {
            lqg: LqgDesign {
                coupling: self.coupling(&tuning),
                plant: tuning.applied_to(rig).plant().map_err(|e| e.to_string())?,
                gains: tuning.gains(rig).map_err(|e| e.to_string())?,
                wire_force: self.config.wire_force,
                action_limit_m: self.config.action_limit_m,
            },
            predictive,
            in_charge,
        })
    }

    fn coupling(&self, tuning: &Tuning) -> MassCoupling {
        MassCoupling {
            mass: tuning.m_i_kg,
            damping: tuning.c_i_ns_per_m,
            stiffness: tuning.k_i_n_per_m,
            pad_stiffness: self.config.pantograph.stiffness_n_per_m,
            damper: self.config.damper,
            force: ForceUse::Previous,
        }
    }

    /// How the loop behaves with the controller that is in charge.
    fn prospect(&self, design: &Design, tuning: &Tuning) -> Result<Prospect, String> {
        let (rho_loop, margins) = match design.in_charge {
            InCharge::Lqg => {
                let found = self.lqg.assess(tuning).map_err(|e| e.to_string())?;
                let named = |m: LoopMargins| {
                    [
                        ("motor reference", m.reference),
                        ("regulator's action", m.control),
                        ("measured force", m.force),
                    ]
                };
                (found.rho_loop, found.margins.map(named))
            }
            InCharge::Predictive => {
                let found = self.predictive.assess(&design.predictive);
                let found = found.map_err(|e| e.to_string())?;
                let named = |m: PredictiveMargins| {
                    [
                        ("motor reference", m.reference),
                        ("motor position", m.position),
                        ("measured force", m.force),
                    ]
                };
                (found.rho_loop, found.margins.map(named))
            }
        };
        Ok(Prospect {
            rho_loop,
            margins: margins.into_iter().flatten().collect(),
            needed_disk: self.config.least_disk_margin,
        })
    }
}

impl Designer for PantographDesigner {
    fn design(&self, params: &ParamSet) -> Result<(Content, Prospect), String> {
        let design = self.controllers(params)?;
        let prospect = self.prospect(&design, &self.tuning(params))?;
        Ok((Content::PantographLqg(Box::new(design)), prospect))
    }
}
