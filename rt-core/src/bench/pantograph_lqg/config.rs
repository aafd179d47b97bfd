//! The settings of the bench in a session file, and what is prepared from them.

use super::controller::Controllers;
use super::course::Course;
use super::design::{InCharge, PantographDesigner};
use super::param;
use crate::bench::{BuildContext, BuildError, Content, Designer};
use crate::control::assessment::Verdict;
use crate::control::kalman::NoiseReading;
use crate::control::newmark::SecondOrder;
use crate::control::predictive::{Monitor, MonitorLimits, Predictive, PredictiveRig};
use crate::control::state_space::RigModel;
use crate::file::{self, FieldError, require_within};
use crate::model::catenary::equivalent_string::equivalent_string;
use crate::model::catenary::scheme::Scheme;
use crate::model::catenary::simulate::FAST;
use crate::model::catenary::{Line, LineScene, LinearLine, WireModel};
use crate::model::interaction_mass::{DamperForm, WireForce};
use crate::model::moving_string::MovingString;
use crate::model::pantograph::Pantograph;
use crate::model::string_wire::StringWireConfig;
use crate::param::ParamSet;
use serde::Deserialize;
use std::sync::Arc;

/// Which model of the wire runs in the loop.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum WireChoice {
    /// Lowest modes with attachment vectors of all droppers.
    Modal {
        /// How many modes.
        modes: usize,
    },
    /// Every unknown.
    Full,
    /// A string on an elastic layer, without line file: small, and judged exactly.
    String(StringWireConfig),
}

/// The settings of the bench in a session file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PantographLqgConfig {
    /// Path of the line file, relative to the session file. A string needs none.
    #[serde(default)]
    pub line: Option<String>,
    /// Longest element, in m.
    #[serde(default = "default_mesh_m")]
    pub mesh_m: f64,
    /// The model of the wire.
    #[serde(default = "default_wire")]
    pub wire: WireChoice,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// First and last span that the train runs through, from 1; the third to the last but two of the line,
    /// or twenty of the string, if left out.
    #[serde(default)]
    pub spans: Option<(usize, usize)>,
    /// How many sections are run one after another.
    #[serde(default = "default_sections")]
    pub sections: u32,
    /// Seconds in which the motor glides to the wire before the train starts.
    #[serde(default = "default_approach_s")]
    pub approach_s: f64,
    /// Path of the pantograph file that the bench assumes, relative to the session file.
    pub specimen: String,
    /// The controller that begins; parameter `controller`.
    #[serde(default = "default_controller")]
    pub controller: InCharge,
    /// Where the damper of the interaction mass is attached.
    #[serde(default = "default_damper")]
    pub damper: DamperForm,
    /// Which force of the interaction mass acts on the wire.
    #[serde(default = "default_wire_force")]
    pub wire_force: WireForce,
    /// The rig as the controller assumes it: motor.
    #[serde(default = "default_motor")]
    pub motor: SecondOrder,
    /// The rig as the controller assumes it: pantograph head on the pad.
    #[serde(default = "default_pantograph")]
    pub pantograph: SecondOrder,
    /// The rig as the controller assumes it: corner of the first-order force filter, in Hz.
    #[serde(default = "default_force_filter_hz")]
    pub force_filter_hz: f64,
    /// The rig as the controller assumes it: whole cycles by which the force is read late.
    #[serde(default = "default_force_delay_cycles")]
    pub force_delay_cycles: usize,
    /// The rig as the controller assumes it: delay of the reference on top of the loop's own cycle, below
    /// one cycle, in s.
    #[serde(default)]
    pub reference_delay_s: f64,
    /// How Q_kf and R_kf are read.
    #[serde(default = "default_noise_reading")]
    pub noise_reading: NoiseReading,
    /// Smallest disk margin with which a tuning is accepted without being insisted on.
    #[serde(default = "default_least_disk_margin")]
    pub least_disk_margin: f64,
    /// Begins even with parameters that the model says are unstable.
    #[serde(default)]
    pub start_unstable: bool,
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
fn default_controller() -> InCharge {
    InCharge::Lqg
}
fn default_force_filter_hz() -> f64 {
    100.0
}
fn default_force_delay_cycles() -> usize {
    1
}
fn default_noise_reading() -> NoiseReading {
    NoiseReading::StandardDeviation
}
fn default_least_disk_margin() -> f64 {
    // The published tuning has 0.035 on a string of the stitched line's tension.
    0.02
}
fn default_damper() -> DamperForm {
    DamperForm::Relative
}
fn default_wire_force() -> WireForce {
    WireForce::Implicit
}
fn default_motor() -> SecondOrder {
    RigModel::TUR_2024.motor
}
fn default_pantograph() -> SecondOrder {
    RigModel::TUR_2024.pantograph
}
fn default_action_limit_m() -> f64 {
    0.02
}

/// All that the bench is made of.
pub(super) struct Prepared {
    pub wire: Box<dyn WireModel>,
    pub scene: LineScene,
    pub course: Course,
    pub controllers: Controllers,
    pub designer: PantographDesigner,
}

/// What the pantograph meets, and the string that stands for it when a loop is judged.
struct Surface {
    wire: Box<dyn WireModel>,
    scene: LineScene,
    course: Course,
    string: MovingString,
}

/// Length of a span where the string has no profile that says so, in m.
const SPAN_M: f64 = 65.0;
/// Spans of the string that are run if a session does not say.
const SPANS_OF_STRING: usize = 20;

impl PantographLqgConfig {
    /// The rig as the controller assumes it, for a period; the interaction mass is the parameters'.
    pub fn rig_model(&self, period_s: f64) -> RigModel {
        RigModel {
            motor: self.motor,
            pantograph: self.pantograph,
            pad_stiffness_n_per_m: self.pantograph.stiffness_n_per_m,
            period_s,
            ..RigModel::TUR_2024
        }
    }

    /// The rig as the predictive controller assumes it, for a period.
    pub fn predictive_rig(&self, period_s: f64) -> PredictiveRig {
        let motor = &self.motor;
        let omega = (motor.stiffness_n_per_m / motor.mass_kg).sqrt();
        PredictiveRig {
            motor_omega_rad_per_s: omega,
            motor_damping_ratio: 0.5 * motor.damping_ns_per_m / (motor.mass_kg * omega),
            pad_stiffness_n_per_m: self.pantograph.stiffness_n_per_m,
            force_filter_hz: self.force_filter_hz,
            force_delay_cycles: self.force_delay_cycles,
            reference_delay_s: self.reference_delay_s,
            period_s,
            ..PredictiveRig::TUR_2024
        }
    }

    /// Stiffness between pantograph and wire, a rig's pad and k_i in series, in N/m.
    pub fn contact_stiffness(&self, params: &ParamSet, pad_n_per_m: f64) -> f64 {
        1.0 / (1.0 / pad_n_per_m + 1.0 / params.get(param::K_I))
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
        require_within("least_disk_margin", self.least_disk_margin, 0.0, 2.0, "")?;
        let Surface {
            wire,
            scene,
            course,
            string,
        } = match &self.wire {
            WireChoice::String(string) => self.string_surface(string, context.period_s)?,
            WireChoice::Full => self.line_surface(Scheme::Full, 0, context)?,
            WireChoice::Modal { modes } => self.line_surface(Scheme::Modal, *modes, context)?,
        };
        let specimen: Pantograph = file::load(&context.base.join(&self.specimen))?;
        let designer = PantographDesigner::new(self, specimen, string, context.period_s)?;
        let controllers = self.first_controllers(&designer, context, wire.as_ref())?;
        Ok(Prepared {
            wire,
            scene,
            course,
            controllers,
            designer,
        })
    }

    fn string_surface(
        &self,
        string: &StringWireConfig,
        period_s: f64,
    ) -> Result<Surface, BuildError> {
        let within = |e: FieldError| e.within("wire");
        let wire = string.build(self.speed_kmh, period_s).map_err(within)?;
        let span_m = string.profile.as_ref().map_or(SPAN_M, |p| p.span_m);
        let (first, last) = self.spans.unwrap_or((1, SPANS_OF_STRING));
        if first == 0 || last < first {
            return Err(BuildError::Other(format!(
                "spans {first} to {last} cannot be run: expected the first from 1 on and not behind the last"
            )));
        }
        let (from, to) = ((first - 1) as f64 * span_m, last as f64 * span_m);
        Ok(Surface {
            course: Course::new(
                from,
                to,
                self.speed_kmh / 3.6,
                self.sections,
                string.rest_height(from),
            ),
            string: string.string(self.speed_kmh),
            scene: LineScene::of_string(string, span_m, last),
            wire: Box::new(wire),
        })
    }

    fn line_surface(
        &self,
        scheme: Scheme,
        modes: usize,
        context: &mut BuildContext<'_>,
    ) -> Result<Surface, BuildError> {
        let Some(line) = &self.line else {
            return Err(BuildError::Other(
                "line: is missing; expected the path of a line file, or wire: String()".into(),
            ));
        };
        let path = context.base.join(line);
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
        let (cache, notice) = (Some(context.cache), &mut *context.notice);
        let wire = scheme
            .build(&linear, context.period_s, modes, cache, notice, &mut |_| ())
            .map_err(|e| of_line(&e))?;
        let string = equivalent_string(&line, &linear, self.speed_kmh).map_err(|e| of_line(&e))?;
        Ok(Surface {
            wire,
            scene: LineScene::of(&line.name, &linear),
            course,
            string,
        })
    }

    /// Controllers for the parameters of the start, which have to be sound.
    fn first_controllers(
        &self,
        designer: &PantographDesigner,
        context: &mut BuildContext<'_>,
        wire: &dyn WireModel,
    ) -> Result<Controllers, BuildError> {
        let (Content::PantographLqg(design), prospect) =
            designer.design(context.params).map_err(BuildError::Other)?
        else {
            return Err(BuildError::Other("the design is for another bench".into()));
        };
        match prospect.verdict() {
            Verdict::Stable => {}
            Verdict::Unstable { .. } if !self.start_unstable => {
                return Err(BuildError::Other(format!(
                    "{}; choose other parameters, or write start_unstable: true to begin with them all \
                     the same",
                    prospect.verdict()
                )));
            }
            verdict => (context.notice)(verdict.to_string()),
        }
        let predictive = Predictive::new(design.predictive, wire)
            .map_err(|e| BuildError::Other(e.to_string()))?;
        let monitor = Monitor::new(MonitorLimits::default())?;
        Ok(Controllers::new(
            design.lqg,
            predictive,
            monitor,
            design.in_charge,
            context.period_s,
        ))
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
}
