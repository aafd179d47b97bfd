//! The settings of the bench in a session file, and what is prepared from them.

use super::controller::{Controller, LqgController};
use super::course::Course;
use crate::bench::{BuildContext, BuildError};
use crate::control::kalman::{Kalman, KalmanTuning};
use crate::control::lqg::{Lqg, LqgGains};
use crate::control::lqr::{Lqr, LqrWeights};
use crate::control::newmark::SecondOrder;
use crate::control::predictive::{
    Monitor, MonitorLimits, Predictive, PredictiveDesign, PredictiveRig, PredictiveTuning,
};
use crate::control::state_space::RigModel;
use crate::file::{self, require_positive, require_within};
use crate::model::catenary::scheme::Scheme;
use crate::model::catenary::simulate::FAST;
use crate::model::catenary::{Line, LinearLine, WireModel};
use crate::model::interaction_mass::{DamperForm, ForceUse, MassCoupling};
use crate::model::pantograph::Pantograph;
use serde::Deserialize;
use std::sync::Arc;

/// Which model of the wire runs in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum WireChoice {
    /// Lowest modes with attachment vectors of all droppers.
    Modal {
        /// How many modes.
        modes: usize,
    },
    /// Every unknown.
    Full,
}

/// Which tuning of the predictive controller is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum PredictivePreset {
    /// Bears errors of the model: the default choice.
    Robust,
    /// Follows more closely, bears less.
    Fast,
}

/// Which controller runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ControllerChoice {
    /// The paper's LQG on an interaction mass.
    Lqg,
    /// Wire and pantograph predicted together. Its stiffness k_i is `interaction.stiffness_n_per_m`.
    Predictive {
        /// Path of the pantograph file that it assumes, relative to the session file.
        pantograph: String,
        /// Which tuning.
        tuning: PredictivePreset,
        /// Corner of the rig's first-order force filter, in Hz.
        force_filter_hz: f64,
        /// Whole cycles by which the force is read late.
        force_delay_cycles: usize,
        /// Delay of the reference on top of the loop's own cycle, below one cycle, in s.
        reference_delay_s: f64,
    },
}

/// The settings of the bench in a session file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PantographLqgConfig {
    /// Path of the line file, relative to the session file.
    pub line: String,
    /// Longest element, in m.
    #[serde(default = "default_mesh_m")]
    pub mesh_m: f64,
    /// The model of the wire.
    #[serde(default = "default_wire")]
    pub wire: WireChoice,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// First and last span that the train runs through, from 1; the third to the last but two if left out.
    #[serde(default)]
    pub spans: Option<(usize, usize)>,
    /// How many sections are run one after another.
    #[serde(default = "default_sections")]
    pub sections: u32,
    /// Seconds in which the motor glides to the wire before the train starts.
    #[serde(default = "default_approach_s")]
    pub approach_s: f64,
    /// The controller.
    #[serde(default = "default_controller")]
    pub controller: ControllerChoice,
    /// Interaction mass m_i, c_i, k_i.
    #[serde(default = "default_interaction")]
    pub interaction: SecondOrder,
    /// Where the damper of the interaction mass is attached.
    #[serde(default = "default_damper")]
    pub damper: DamperForm,
    /// The rig as the controller assumes it: motor.
    #[serde(default = "default_motor")]
    pub motor: SecondOrder,
    /// The rig as the controller assumes it: pantograph head on the pad.
    #[serde(default = "default_pantograph")]
    pub pantograph: SecondOrder,
    /// Q and R of the regulator.
    #[serde(default = "default_weights")]
    pub weights: LqrWeights,
    /// Q_kf and R_kf of the observer.
    #[serde(default = "default_observer")]
    pub observer: KalmanTuning,
    /// Largest action of the regulator, in m.
    #[serde(default = "default_action_limit_m")]
    pub action_limit_m: f64,
}

fn default_mesh_m() -> f64 {
    1.0
}
fn default_wire() -> WireChoice {
    WireChoice::Modal { modes: 2000 }
}
fn default_sections() -> u32 {
    1
}
fn default_approach_s() -> f64 {
    3.0
}
fn default_controller() -> ControllerChoice {
    ControllerChoice::Lqg
}
fn default_interaction() -> SecondOrder {
    RigModel::TUR_2024.interaction
}
fn default_damper() -> DamperForm {
    DamperForm::Relative
}
fn default_motor() -> SecondOrder {
    RigModel::TUR_2024.motor
}
fn default_pantograph() -> SecondOrder {
    RigModel::TUR_2024.pantograph
}
fn default_weights() -> LqrWeights {
    LqrWeights::TUR_2024
}
fn default_observer() -> KalmanTuning {
    // The force bias, which the paper leaves out, removes the mean tracking error. A faster one costs
    // stability at 300 km/h, a slower one at 250 km/h, on the stitched line with the DSA-380.
    KalmanTuning {
        bias_step_n: Some(4.0),
        ..KalmanTuning::TUR_2024
    }
}
fn default_action_limit_m() -> f64 {
    0.02
}

/// All that the bench is made of.
pub(super) struct Prepared {
    pub wire: Box<dyn WireModel>,
    pub course: Course,
    pub controller: Controller,
}

impl PantographLqgConfig {
    /// The rig as the controller assumes it, for a period.
    pub fn rig_model(&self, period_s: f64) -> RigModel {
        RigModel {
            interaction: self.interaction,
            motor: self.motor,
            pantograph: self.pantograph,
            pad_stiffness_n_per_m: self.pantograph.stiffness_n_per_m,
            period_s,
        }
    }

    /// First and last span that the train runs through, from 1.
    pub fn run_spans(&self, spans: usize) -> (usize, usize) {
        self.spans
            .unwrap_or((3.min(spans), spans.saturating_sub(2).max(3.min(spans))))
    }

    pub(super) fn prepare(&self, context: &mut BuildContext<'_>) -> Result<Prepared, BuildError> {
        require_within("speed_kmh", self.speed_kmh, 10.0, 500.0, "km/h")?;
        require_within("approach_s", self.approach_s, 1.0, 60.0, "s")?;
        require_within("sections", f64::from(self.sections), 1.0, 10_000.0, "")?;
        require_within("action_limit_m", self.action_limit_m, 1e-4, 0.1, "m")?;
        require_positive("weights.error", self.weights.error, "")?;
        require_positive("weights.action", self.weights.action, "")?;
        require_positive("observer.process", self.observer.process, "")?;
        require_positive("observer.measurement", self.observer.measurement, "")?;
        let path = context.base.join(&self.line);
        let line: Line = file::load(&path)?;
        let of_line =
            |e: &dyn std::fmt::Display| BuildError::Other(format!("{}: {e}", path.display()));
        let linear = Arc::new(LinearLine::build(&line, self.mesh_m).map_err(|e| of_line(&e))?);
        let course = self.course(&linear)?;
        let fast = self.speed_kmh / 3.6 / linear.wave_speed;
        if fast > FAST {
            (context.notice)(format!(
                "{} km/h is {:.0} % of the wave speed",
                self.speed_kmh,
                100.0 * fast
            ));
        }
        let (scheme, modes) = match self.wire {
            WireChoice::Full => (Scheme::Full, 0),
            WireChoice::Modal { modes } => (Scheme::Modal, modes),
        };
        let (cache, notice) = (Some(context.cache), &mut *context.notice);
        let wire = scheme
            .build(&linear, context.period_s, modes, cache, notice, &mut |_| ())
            .map_err(|e| of_line(&e))?;
        let controller = self.build_controller(context, wire.as_ref())?;
        Ok(Prepared {
            wire,
            course,
            controller,
        })
    }

    fn build_controller(
        &self,
        context: &BuildContext<'_>,
        wire: &dyn WireModel,
    ) -> Result<Controller, BuildError> {
        let other = |e: &dyn std::fmt::Display| BuildError::Other(e.to_string());
        let ControllerChoice::Predictive {
            pantograph,
            tuning,
            force_filter_hz,
            force_delay_cycles,
            reference_delay_s,
        } = &self.controller
        else {
            let plant = self.rig_model(context.period_s).plant()?;
            let gains = LqgGains {
                lqr: Lqr::design(&plant, &self.weights).map_err(|e| other(&e))?,
                kalman: Kalman::design(&plant, &self.observer).map_err(|e| other(&e))?,
            };
            let lqg = Lqg::new(gains, self.action_limit_m);
            let controller = LqgController::new(self.coupling(), plant, lqg, context.period_s);
            return Ok(Controller::Lqg(Box::new(controller)));
        };
        if self.sections > 1 {
            return Err(BuildError::Other(
                "sections: the predictive controller runs one section".into(),
            ));
        }
        let (omega2, damping) = (
            self.motor.stiffness_n_per_m / self.motor.mass_kg,
            self.motor.damping_ns_per_m / self.motor.mass_kg,
        );
        let rig = PredictiveRig {
            motor_omega_rad_per_s: omega2.sqrt(),
            motor_damping_ratio: 0.5 * damping / omega2.sqrt(),
            pad_stiffness_n_per_m: self.pantograph.stiffness_n_per_m,
            force_filter_hz: *force_filter_hz,
            force_delay_cycles: *force_delay_cycles,
            reference_delay_s: *reference_delay_s,
            period_s: context.period_s,
            ..PredictiveRig::TUR_2024
        };
        let tuning = PredictiveTuning {
            interaction_stiffness_n_per_m: self.interaction.stiffness_n_per_m,
            ..match tuning {
                PredictivePreset::Robust => PredictiveTuning::ROBUST,
                PredictivePreset::Fast => PredictiveTuning::FAST,
            }
        };
        let pantograph: Pantograph = file::load(&context.base.join(pantograph))?;
        let design = PredictiveDesign::new(&rig, &pantograph, &tuning).map_err(|e| other(&e))?;
        let predictive = Predictive::new(design, wire).map_err(|e| other(&e))?;
        let monitor = Monitor::new(MonitorLimits::default())?;
        Ok(Controller::Predictive {
            predictive: Box::new(predictive),
            monitor,
            grace: 0,
        })
    }

    fn course(&self, line: &LinearLine) -> Result<Course, BuildError> {
        let spans = line.layout.spans();
        let (first, last) = self.run_spans(spans);
        let supports = &line.layout.supports;
        let (Some(from), Some(to)) = (supports.get(first.wrapping_sub(1)), supports.get(last))
        else {
            return Err(BuildError::Other(format!(
                "spans {first} to {last} cannot be run: the line has spans 1 to {spans}"
            )));
        };
        if from.x >= to.x {
            return Err(BuildError::Other(format!(
                "spans {first} to {last} are in the wrong order"
            )));
        }
        let speed = self.speed_kmh / 3.6;
        Ok(Course::new(
            from.x,
            to.x,
            speed,
            self.sections,
            line.rest_height(from.x),
        ))
    }

    /// Interaction mass and pad.
    pub fn coupling(&self) -> MassCoupling {
        MassCoupling {
            mass: self.interaction.mass_kg,
            damping: self.interaction.damping_ns_per_m,
            stiffness: self.interaction.stiffness_n_per_m,
            pad_stiffness: self.pantograph.stiffness_n_per_m,
            damper: self.damper,
            force: ForceUse::Previous,
        }
    }
}
