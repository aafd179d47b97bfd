//! From the parameters of the bench to both of its controllers, judged before they are used.

use super::config::PantographLqgConfig;
use super::{PARAMS, param};
use crate::bench::map::{AxisKind, MapAxis, MapPlane};
use crate::bench::{BuildError, Content, CutLoop, Designer, MotorModel, Prospect, Responses};
use crate::control::assessment::{
    ChannelMargins, ForceFilter, LoopMargins, Prepared, Surroundings, Tuning, Wire,
};
use crate::control::closed_loop::Channel;
use crate::control::frequency::{CutResponse, LoopResponses};
use crate::control::lqg::LqgGains;
use crate::control::predictive::{
    LinearRig, PredictiveChannel, PredictiveDesign, PredictiveMargins, PredictiveRig,
    PredictiveSurroundings, PredictiveTuning, PreparedPredictive,
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
        Ok(Design {
            lqg: LqgDesign {
                coupling: self.coupling(&tuning),
                plant: tuning.applied_to(rig).plant().map_err(|e| e.to_string())?,
                gains: tuning.gains(rig).map_err(|e| e.to_string())?,
                wire_force: self.config.wire_force,
                action_limit_m: self.config.action_limit_m,
            },
            predictive: self.predictive_design(params)?,
            in_charge: Self::in_charge(params),
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

    fn in_charge(params: &ParamSet) -> InCharge {
        if params.get(param::CONTROLLER) == InCharge::Predictive.part() {
            InCharge::Predictive
        } else {
            InCharge::Lqg
        }
    }

    fn predictive_design(&self, params: &ParamSet) -> Result<PredictiveDesign, String> {
        PredictiveDesign::new(
            &self.config.predictive_rig(self.period_s),
            &self.pantograph,
            &PredictiveTuning {
                interaction_stiffness_n_per_m: params.get(param::K_I),
                pad_factor: params.get(param::PAD_FACTOR),
                distance_weight: params.get(param::DISTANCE_WEIGHT),
                change_weight: params.get(param::CHANGE_WEIGHT),
                ..PredictiveTuning::ROBUST
            },
        )
        .map_err(|e| e.to_string())
    }

    /// The rig as assumed with a later reference: what stays below a cycle, and whole cycles.
    fn later_rig(&self, extra_delay_s: f64) -> Result<(PredictiveRig, usize), String> {
        if !(extra_delay_s >= 0.0 && extra_delay_s.is_finite()) {
            return Err(format!(
                "the extra delay is {extra_delay_s} s; expected 0 or more"
            ));
        }
        let rig = self.config.predictive_rig(self.period_s);
        let all = rig.reference_delay_s + extra_delay_s;
        // Rounding must not leave a whole cycle behind.
        let cycles = (all / self.period_s + 1e-9).floor();
        let rest = (all - cycles * self.period_s).max(0.0);
        let rig = PredictiveRig {
            reference_delay_s: rest,
            ..rig
        };
        Ok((rig, cycles as usize))
    }

    fn prospect(
        &self,
        rho_loop: f64,
        margins: Option<[(&'static str, ChannelMargins); 3]>,
    ) -> Prospect {
        Prospect {
            rho_loop,
            margins: margins.into_iter().flatten().collect(),
            needed_disk: self.config.least_disk_margin,
            remarks: Vec::new(),
        }
    }

    fn judge_lqg(&self, prepared: &Prepared, params: &ParamSet) -> Result<Prospect, String> {
        let found = prepared
            .assess(&self.tuning(params))
            .map_err(|e| e.to_string())?;
        let named = |m: LoopMargins| {
            [
                (lqg_channel(Channel::Reference), m.reference),
                (lqg_channel(Channel::Control), m.control),
                (lqg_channel(Channel::Force), m.force),
            ]
        };
        Ok(self.prospect(found.rho_loop, found.margins.map(named)))
    }

    fn judge_predictive(
        &self,
        prepared: &PreparedPredictive,
        design: &PredictiveDesign,
    ) -> Result<Prospect, String> {
        let found = prepared.assess(design).map_err(|e| e.to_string())?;
        let named = |m: PredictiveMargins| {
            [
                (
                    predictive_channel(PredictiveChannel::Reference),
                    m.reference,
                ),
                (predictive_channel(PredictiveChannel::Position), m.position),
                (predictive_channel(PredictiveChannel::Force), m.force),
            ]
        };
        Ok(self.prospect(found.rho_loop, found.margins.map(named)))
    }
}

fn lqg_channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Reference => "motor reference",
        Channel::Control => "regulator's action",
        Channel::Force => "measured force",
    }
}

fn predictive_channel(channel: PredictiveChannel) -> &'static str {
    match channel {
        PredictiveChannel::Reference => "motor reference",
        PredictiveChannel::Position => "motor position",
        PredictiveChannel::Force => "measured force",
    }
}

/// k_i, along which the loop always gets less stable.
const STIFFNESS: MapAxis = MapAxis {
    kind: AxisKind::Param(param::K_I),
    label: "k_i, interaction stiffness",
    unit: "N/m",
    low: 10e3,
    high: 200e3,
};
/// How much later the reference may come, up to some ms.
const fn delay_plane(most_ms: f64) -> MapPlane {
    MapPlane {
        id: "delay",
        title: "delay against k_i",
        x: STIFFNESS,
        y: MapAxis {
            kind: AxisKind::ExtraDelay,
            label: "extra delay, of the reference",
            unit: "ms",
            low: 0.0,
            high: most_ms,
        },
    }
}
static LQG_PLANES: [MapPlane; 2] = [
    MapPlane {
        id: "weights",
        title: "Q/R against k_i",
        x: STIFFNESS,
        y: MapAxis {
            kind: AxisKind::Ratio {
                over: param::Q,
                under: param::R,
            },
            label: "Q/R, tracking error over action",
            unit: "",
            low: 0.05,
            high: 500.0,
        },
    },
    delay_plane(3.0),
];
static PREDICTIVE_PLANES: [MapPlane; 2] = [
    MapPlane {
        id: "weights",
        title: "weight against k_i",
        x: STIFFNESS,
        y: MapAxis {
            kind: AxisKind::Param(param::DISTANCE_WEIGHT),
            label: "weight, of the distance",
            unit: "",
            low: 1e-3,
            high: 10.0,
        },
    },
    // It bears more than the LQG.
    delay_plane(8.0),
];

impl Designer for PantographDesigner {
    fn design(&self, params: &ParamSet) -> Result<(Content, Prospect), String> {
        let design = self.controllers(params)?;
        let prospect = match design.in_charge {
            InCharge::Lqg => self.judge_lqg(&self.lqg, params)?,
            InCharge::Predictive => self.judge_predictive(&self.predictive, &design.predictive)?,
        };
        Ok((Content::PantographLqg(Box::new(design)), prospect))
    }

    fn judge(&self, params: &ParamSet, extra_delay_s: f64) -> Result<Prospect, String> {
        let (rig, cycles) = self.later_rig(extra_delay_s)?;
        match Self::in_charge(params) {
            InCharge::Lqg => {
                let later = self.lqg.on_rig(&rig, &self.pantograph, cycles);
                self.judge_lqg(&later.map_err(|e| e.to_string())?, params)
            }
            InCharge::Predictive => {
                let later = self.predictive.on_rig(&rig, &self.pantograph, cycles);
                let design = self.predictive_design(params)?;
                self.judge_predictive(&later.map_err(|e| e.to_string())?, &design)
            }
        }
    }

    fn planes(&self, params: &ParamSet) -> &'static [MapPlane] {
        match Self::in_charge(params) {
            InCharge::Lqg => &LQG_PLANES,
            InCharge::Predictive => &PREDICTIVE_PLANES,
        }
    }

    fn responses(&self, params: &ParamSet, frequencies_hz: &[f64]) -> Result<Responses, String> {
        fn named<C>(
            found: LoopResponses<C>,
            name: impl Fn(C) -> &'static str,
        ) -> (f64, Vec<CutLoop>) {
            let cut = |(channel, CutResponse { ratio, margins })| CutLoop {
                name: name(channel),
                ratio,
                margins,
            };
            (found.rho_loop, found.cuts.into_iter().map(cut).collect())
        }
        let (rho_loop, cuts) = match Self::in_charge(params) {
            InCharge::Lqg => {
                let found = self.lqg.responses(&self.tuning(params), frequencies_hz);
                named(found.map_err(|e| e.to_string())?, lqg_channel)
            }
            InCharge::Predictive => {
                let design = self.predictive_design(params)?;
                let found = self.predictive.responses(&design, frequencies_hz);
                named(found.map_err(|e| e.to_string())?, predictive_channel)
            }
        };
        let rig = self.config.predictive_rig(self.period_s);
        let linear = LinearRig::new(&rig, &self.pantograph);
        let motor = frequencies_hz.iter().map(|f| {
            linear.motor_response(self.period_s, *f).ok_or_else(|| {
                format!("the motor model has no answer at {f} Hz; expected some damping")
            })
        });
        Ok(Responses {
            frequencies_hz: frequencies_hz.to_vec(),
            motor_model: MotorModel {
                natural_hz: rig.motor_omega_rad_per_s / std::f64::consts::TAU,
                damping_ratio: rig.motor_damping_ratio,
                delay_s: self.period_s + rig.reference_delay_s,
            },
            motor: motor.collect::<Result<_, _>>()?,
            cuts,
            rho_loop,
            needed_disk: self.config.least_disk_margin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pantograph::{LumpedMass, Uplift};

    fn designer() -> PantographDesigner {
        let text = r#"(specimen: "none", speed_kmh: 250.0)"#;
        let config: PantographLqgConfig = ron::from_str(text).unwrap();
        let mass = |mass_kg, stiffness_n_per_m, damping_ns_per_m| LumpedMass {
            mass_kg,
            stiffness_n_per_m,
            damping_ns_per_m,
        };
        let pantograph = Pantograph {
            name: "three masses".into(),
            masses: vec![
                mass(6.6, 7e3, 0.0),
                mass(5.8, 14.1e3, 0.0),
                mass(5.8, 80.0, 70.0),
            ],
            uplift: Uplift {
                static_n: 70.0,
                per_kmh2_n: 0.00097,
            },
        };
        let string = MovingString {
            speed_kmh: 250.0,
            ..MovingString::HIGH_SPEED_300
        };
        PantographDesigner::new(&config, pantograph, string, 2e-3).unwrap()
    }

    fn params(controller: InCharge) -> ParamSet {
        let mut params = ParamSet::new(&PARAMS);
        assert!(params.take_designed(param::CONTROLLER, controller.part()));
        params
    }

    /// The delay margin comes from the phase at one cut, the map from the eigenvalues of a loop that really
    /// is later: with a little less than the margin the loop is stable, with a little more it is not. Delays
    /// of a cut reference and of the rig's are the same up to what a delay within a cycle does to the hold.
    #[test]
    fn the_delay_margin_is_the_delay_that_destabilises() {
        let designer = designer();
        for controller in [InCharge::Lqg, InCharge::Predictive] {
            let params = params(controller);
            let judge = |delay_s: f64| designer.judge(&params, delay_s).unwrap();
            let (_, same) = designer.design(&params).unwrap();
            assert_eq!(judge(0.0), same);
            let (name, at_reference) = same.margins[0];
            assert_eq!(name, "motor reference");
            let margin_s = 1e-3 * at_reference.delay_ms.unwrap();
            assert!(judge(0.9 * margin_s).rho_loop < 1.0, "{margin_s}");
            assert!(judge(1.1 * margin_s).rho_loop > 1.0, "{margin_s}");
            assert!(designer.judge(&params, f64::NAN).is_err());
        }
    }

    #[test]
    fn margins_over_frequency_are_those_of_the_prospect() {
        let designer = designer();
        for controller in [InCharge::Lqg, InCharge::Predictive] {
            let params = params(controller);
            let (_, prospect) = designer.design(&params).unwrap();
            let found = designer.responses(&params, &[1.0, 33.8]).unwrap();
            assert!((found.rho_loop - prospect.rho_loop).abs() < 1e-9);
            for (cut, (name, margins)) in found.cuts.iter().zip(&prospect.margins) {
                assert_eq!(cut.name, *name);
                let disk = cut.margins.unwrap().disk;
                assert!((disk / margins.disk - 1.0).abs() < 1e-6, "{name}");
            }
            // A motor of 33.8 Hz follows slow references, a cycle and its own lag later.
            assert!((found.motor[0].norm() - 1.0).abs() < 0.01);
            assert!((found.motor_model.natural_hz - 33.76).abs() < 0.01);
        }
    }
}
