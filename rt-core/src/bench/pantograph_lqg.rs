//! Bench `pantograph-lqg`: a whole overhead line computes the wire height from the measured force, a
//! virtual interaction mass turns height and force into a motor reference, and an LQG controller keeps
//! that loop stable in spite of its delays. In its place a predictive controller may be chosen.
//!
//! A run: *approach* (the motor glides to where the interaction mass would rest; the train stands),
//! *section* (the train runs; the force reaches the wire gradually over 50 m and leaves it again over
//! the last 50 m), then the next section or the end.

mod config;
mod controller;
mod course;
mod design;
mod watch;

pub use config::{PantographLqgConfig, WireChoice};
pub use design::{Design, InCharge, LqgDesign, PantographDesigner};

use super::{
    Adoption, Bench, BenchSpec, BuildContext, BuildError, Content, LineSight, Notice, Progress,
    StepFault,
};
use crate::channel::{ChannelSpec, Frame};
use crate::fault::Action;
use crate::guard::LimitSpec;
use crate::model::catenary::WireModel;
use crate::model::catenary::shape::{Moment, ShapeSampler};
use crate::param::{Applies, ParamSet, ParamSpec, Scale};
use crate::signal::butterworth::low_pass;
use crate::signal::ease::smooth_step;
use crate::signal::filter::CausalFilter;
use config::Prepared;
use controller::{Controllers, Cycle};
use course::Course;
use watch::{Motion, Watch};

const FORCE: usize = 0;
const POSITION: usize = 1;
const PLACE: usize = 2;
const WIRE_HEIGHT: usize = 3;
const WIRE_RISE: usize = 4;
const MASS_HEIGHT: usize = 5;
const FORCE_ON_WIRE: usize = 6;
const TRACKING: usize = 7;
const ACTION: usize = 8;
const FORCE_20HZ: usize = 9;
const SLACK: usize = 10;
const SPEED: usize = 11;
const ACCELERATION: usize = 12;
const ERROR_GROWTH: usize = 13;
const ERROR_AHEAD: usize = 14;
const INTERFACE_POWER: usize = 15;
const INNOVATION: usize = 16;
const CONTROLLER: usize = 17;
const ERROR_NEXT: usize = 18;
const REFERENCE: usize = 19;

/// Places of the parameters.
mod param {
    pub const Q: usize = 0;
    pub const R: usize = 1;
    pub const Q_KF: usize = 2;
    pub const R_KF: usize = 3;
    pub const BIAS_STEP: usize = 4;
    pub const K_I: usize = 5;
    pub const C_I: usize = 6;
    pub const M_I: usize = 7;
    pub const CONTROLLER: usize = 8;
    pub const PAD_FACTOR: usize = 9;
    pub const DISTANCE_WEIGHT: usize = 10;
    pub const CHANGE_WEIGHT: usize = 11;
}

/// Defaults of the LQG: tables 2 and 3 of Tur et al. 2024. The force bias, which the paper leaves out,
/// removes the mean tracking error; a faster one costs stability at 300 km/h, a slower one at 250 km/h, on
/// the stitched line with the DSA-380. Those of the predictive controller bear errors of the model.
static PARAMS: [ParamSpec; 12] = [
    ParamSpec::designed(
        "q",
        "Q, weight of the tracking error",
        "",
        5.0,
        (1e-3, 1e6),
        "More makes the motor follow the wire more closely and the loop more fragile.",
    ),
    ParamSpec::designed(
        "r",
        "R, weight of the action",
        "",
        1.0,
        (1e-3, 1e3),
        "More spares the motor. Only Q/R counts.",
    ),
    ParamSpec::designed(
        "q_kf",
        "Q_kf, noise of the pantograph's force",
        "N",
        10.0,
        (1e-2, 1e4),
        "More lets the observer trust the measured positions more than its model.",
    ),
    ParamSpec::designed(
        "r_kf",
        "R_kf, noise of the positions",
        "m",
        1e-3,
        (1e-6, 0.1),
        "More lets the observer trust its model more than the measured positions.",
    ),
    ParamSpec::designed(
        "bias_step",
        "Step of the lasting force",
        "N",
        4.0,
        (1e-3, 1e3),
        "How fast the estimate of the mean contact force may change, per cycle. 10 N for sections one after another.",
    ),
    ParamSpec::designed(
        "k_i",
        "k_i, interaction stiffness",
        "N/m",
        50e3,
        (1e3, 1e6),
        "Spring between motor and wire. Stiffer is closer to the real contact and less stable.",
    ),
    ParamSpec::designed(
        "c_i",
        "c_i, interaction damping",
        "N s/m",
        50.0,
        (0.0, 5e3),
        "Damper beside the interaction spring.",
    ),
    ParamSpec::designed(
        "m_i",
        "m_i, interaction mass",
        "kg",
        0.05,
        (1e-3, 10.0),
        "The virtual mass that carries spring and damper.",
    ),
    ParamSpec {
        id: "controller",
        label: "Controller",
        unit: "",
        default: 0.0,
        min: 0.0,
        max: 1.0,
        slew_per_s: None,
        scale: Scale::Linear,
        choices: &["LQG", "Predictive"],
        applies: Applies::ByDesign,
        help: "LQG as published, or wire and pantograph predicted together.",
    },
    ParamSpec::designed(
        "pad_factor",
        "Predictive: assumed pad stiffness",
        "",
        1.15,
        (0.5, 3.0),
        "Factor on the pad's stiffness. Above 1 is what makes the predictive loop robust.",
    ),
    ParamSpec::designed(
        "distance_weight",
        "Predictive: weight of the distance",
        "",
        0.03,
        (1e-4, 10.0),
        "More keeps the reference nearer to where the motor should be.",
    ),
    ParamSpec::designed(
        "change_weight",
        "Predictive: weight of changes",
        "",
        0.03,
        (0.0, 10.0),
        "More makes the reference change less from cycle to cycle.",
    ),
];

/// The declaration of the bench.
pub static SPEC: BenchSpec = BenchSpec {
    id: "pantograph-lqg",
    title: "Pantograph under a virtual overhead line, LQG controlled",
    period_s: 0.002,
    channels: &[
        ChannelSpec::measured("force", "Contact force", "N"),
        ChannelSpec::measured("motor_position", "Motor position", "m"),
        ChannelSpec::computed("line_position", "Place along the line (m)", ""),
        ChannelSpec::computed("wire_height", "Height of the contact wire", "m"),
        ChannelSpec::computed("wire_rise", "Rise of the wire at the contact", "m"),
        ChannelSpec::computed("mass_height", "Height of the interaction mass", "m"),
        ChannelSpec::computed("force_on_wire", "Force on the wire", "N"),
        ChannelSpec::computed("tracking_error", "Motor tracking error", "m"),
        ChannelSpec::computed("lqg_action", "Action of the regulator", "m"),
        ChannelSpec::computed("force_20hz", "Contact force, 20 Hz", "N"),
        ChannelSpec::computed("slack_droppers", "Slack droppers", ""),
        ChannelSpec::computed("motor_speed", "Motor speed", "m/s"),
        ChannelSpec::computed("motor_acceleration", "Motor acceleration", "m/s²"),
        ChannelSpec::computed("error_growth", "Growth of the tracking error", "1/s"),
        ChannelSpec::computed("error_ahead", "Tracking error if it grows on", "m"),
        ChannelSpec::computed("interface_power", "Power error of the interface", "W"),
        ChannelSpec::computed("innovation", "Innovation of the predictive observer", ""),
        ChannelSpec::computed(
            "controller",
            "Controller in charge (0 LQG, 1 predictive)",
            "",
        ),
        ChannelSpec::computed(
            "error_next",
            "Tracking error expected in the next cycle",
            "m",
        ),
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ],
    params: &PARAMS,
    limits: &[
        LimitSpec {
            channel: "tracking_error",
            low: -5e-3,
            high: 5e-3,
            for_cycles: 1,
            action: Action::Retreat,
        },
        // Trips a fast divergence one cycle before the error is there.
        LimitSpec {
            channel: "error_next",
            low: -5e-3,
            high: 5e-3,
            for_cycles: 1,
            action: Action::Retreat,
        },
        LimitSpec {
            channel: "error_ahead",
            low: -1.0,
            high: 8e-3,
            for_cycles: 1,
            action: Action::Retreat,
        },
        LimitSpec {
            channel: "lqg_action",
            low: -15e-3,
            high: 15e-3,
            for_cycles: 3,
            action: Action::Retreat,
        },
        LimitSpec {
            channel: "motor_speed",
            low: -1.5,
            high: 1.5,
            for_cycles: 2,
            action: Action::Retreat,
        },
        LimitSpec {
            channel: "motor_acceleration",
            low: -150.0,
            high: 150.0,
            for_cycles: 2,
            action: Action::Retreat,
        },
        LimitSpec {
            channel: "interface_power",
            low: -20.0,
            high: 20.0,
            for_cycles: 1,
            action: Action::Retreat,
        },
    ],
};

enum Phase {
    /// The motor glides from `start` to where the mass would rest.
    Approach { start: f64, ticks: u64 },
    /// The train runs.
    Section,
}

/// The bench.
pub struct PantographLqgBench {
    wire: Box<dyn WireModel>,
    /// Takes the wire's shape for a window.
    sampler: Option<ShapeSampler>,
    course: Course,
    controllers: Controllers,
    watch: Watch,
    mean_force: CausalFilter,
    display_force: CausalFilter,
    phase: Phase,
    approach_ticks: u64,
    last_seq: u64,
    /// Whether the controllers were stepped since a design was offered last.
    stepped: bool,
    /// Of the wire at the contact, in m and m/s.
    wire_height: f64,
    wire_speed: f64,
    dt: f64,
}

impl PantographLqgBench {
    /// Reads and prepares line and wire model, designs the controller.
    pub fn build(
        config: &PantographLqgConfig,
        context: &mut BuildContext<'_>,
    ) -> Result<(Self, PantographDesigner, LineSight), BuildError> {
        let Prepared {
            wire,
            scene,
            course,
            controllers,
            designer,
        } = config.prepare(context)?;
        let dt = context.period_s;
        let filter = |cutoff_hz: f64| {
            let sos = low_pass(4, cutoff_hz, 1.0 / dt);
            sos.map(CausalFilter::new)
                .map_err(|e| BuildError::Other(e.to_string()))
        };
        let sampled = wire.meshed().map(|wire| ShapeSampler::new(wire, dt));
        let (sampler, shapes) = sampled.unzip();
        let bench = Self {
            sampler,
            // Slow enough for the mean, fast enough to have settled when the approach is over.
            mean_force: filter(1.0)?,
            display_force: filter(20.0)?,
            phase: Phase::Section,
            approach_ticks: (config.approach_s / dt).round().max(1.0) as u64,
            last_seq: 0,
            stepped: false,
            wire_height: 0.0,
            wire_speed: 0.0,
            watch: Watch::new(dt).map_err(|e| BuildError::Other(e.to_string()))?,
            wire,
            course,
            controllers,
            dt,
        };
        Ok((bench, designer, LineSight { scene, shapes }))
    }

    fn engage(&mut self, force: f64) {
        self.wire.reset();
        self.course.begin();
        self.controllers.engage(self.course.start_height(), force);
        self.phase = Phase::Section;
    }

    fn approach(&mut self, start: f64, ticks: u64, frame: &mut Frame) {
        self.last_seq = frame.seq;
        let mean = self.mean_force.step(frame.values[FORCE]).max(0.0);
        let height = self.course.start_height();
        let rest = height + mean / self.controllers.interaction_stiffness();
        let ticks = ticks + 1;
        // The first half moves, the second lets the mean force settle.
        let blend = smooth_step(2.0 * ticks as f64 / self.approach_ticks as f64);
        frame.values[REFERENCE] = start + blend * (rest - start);
        frame.values[PLACE] = self.course.here().place;
        frame.values[WIRE_HEIGHT] = height;
        frame.values[WIRE_RISE] = 0.0;
        frame.values[MASS_HEIGHT] = rest;
        frame.values[FORCE_ON_WIRE] = 0.0;
        frame.values[ACTION] = 0.0;
        frame.values[SLACK] = 0.0;
        frame.values[INNOVATION] = 0.0;
        frame.values[CONTROLLER] = self.controllers.in_charge().part();
        // Nothing is fed back yet: there is no interface whose power could be wrong.
        self.watch(frame, None);
        self.show_shape(frame);
        if ticks >= self.approach_ticks {
            self.engage(mean);
        } else {
            self.phase = Phase::Approach { start, ticks };
        }
    }

    fn watch(&mut self, frame: &mut Frame, wire: Option<(f64, f64)>) {
        let seen = self.watch.step(&Motion {
            seq: frame.seq,
            position: frame.values[POSITION],
            tracking_error: frame.values[TRACKING],
            force: frame.values[FORCE],
            wire,
        });
        frame.values[SPEED] = seen.speed;
        frame.values[ACCELERATION] = seen.acceleration;
        frame.values[ERROR_GROWTH] = seen.error_growth;
        frame.values[ERROR_AHEAD] = seen.error_ahead;
        frame.values[ERROR_NEXT] = seen.error_next;
        frame.values[INTERFACE_POWER] = seen.interface_power;
    }

    /// Lets a window see the wire as this cycle left it.
    fn show_shape(&mut self, frame: &Frame) {
        if let (Some(sampler), Some(wire)) = (&mut self.sampler, self.wire.meshed()) {
            let now = Moment {
                seq: frame.seq,
                t_nanos: frame.t_nanos,
                contact_m: frame.values[PLACE],
            };
            sampler.step(wire, now);
        }
    }

    fn section(&mut self, frame: &mut Frame) -> Progress {
        let going = self.course.advance(self.dt);
        let cycle = Cycle {
            after_overrun: frame.seq > self.last_seq + 1,
            way: self.course.way(self.dt),
            force: frame.values[FORCE],
            position: frame.values[POSITION],
            reference: frame.values[REFERENCE],
        };
        self.last_seq = frame.seq;
        let here = cycle.way[0];
        let found = self.controllers.step(self.wire.as_mut(), &cycle);
        self.stepped = true;
        frame.values[REFERENCE] = found.reference;
        frame.values[PLACE] = here.place;
        self.wire_speed = (found.wire_height - self.wire_height) / self.dt;
        self.wire_height = found.wire_height;
        frame.values[WIRE_HEIGHT] = found.wire_height;
        frame.values[WIRE_RISE] = self.wire.rise(here.place);
        frame.values[MASS_HEIGHT] = found.target;
        frame.values[FORCE_ON_WIRE] = here.share * found.force;
        frame.values[ACTION] = found.action;
        frame.values[SLACK] = self.wire.slack_droppers() as f64;
        frame.values[INNOVATION] = found.innovation;
        frame.values[CONTROLLER] = found.in_charge.part();
        // The paper's error: what is to be followed against the motor.
        frame.values[TRACKING] = found.target - frame.values[POSITION];
        self.watch(frame, Some((found.wire_height, found.force)));
        self.show_shape(frame);
        if going {
            return Progress::Running;
        }
        if self.course.is_last_section() {
            return Progress::Finished;
        }
        // The wire of the next section rests; what is left of the old one's motion is bled off.
        self.wire.reset();
        self.course.next_section(found.wire_height, self.wire_speed);
        Progress::Running
    }
}

impl Bench for PantographLqgBench {
    fn spec(&self) -> &'static BenchSpec {
        &SPEC
    }

    fn reset(&mut self, _params: &ParamSet, start: &Frame) {
        self.mean_force.settle(start.values[FORCE]);
        self.display_force.settle(start.values[FORCE]);
        self.watch.reset(start.seq, start.values[POSITION]);
        self.wire.reset();
        if let Some(sampler) = &mut self.sampler {
            sampler.reset();
        }
        self.course.restart();
        self.phase = Phase::Approach {
            start: start.values[REFERENCE],
            ticks: 0,
        };
    }

    fn step(&mut self, _params: &ParamSet, frame: &mut Frame) -> Result<Progress, StepFault> {
        frame.values[TRACKING] = frame.values[REFERENCE] - frame.values[POSITION];
        frame.values[FORCE_20HZ] = self.display_force.step(frame.values[FORCE]);
        match self.phase {
            Phase::Approach { start, ticks } => {
                self.approach(start, ticks, frame);
                Ok(Progress::Running)
            }
            Phase::Section => Ok(self.section(frame)),
        }
    }

    fn adopt(&mut self, content: &mut Content) -> Adoption {
        let Content::PantographLqg(design) = content else {
            return Adoption::Refused;
        };
        // While the controllers are not stepped, nothing dies away that would have to be waited for.
        if !std::mem::take(&mut self.stepped) {
            self.controllers.settle();
        }
        self.controllers.adopt(design)
    }

    fn notice(&mut self) -> Option<Notice> {
        self.controllers.fell_back().map(|cause| Notice::FellBack {
            index: param::CONTROLLER,
            value: InCharge::Lqg.part(),
            cause,
        })
    }
}
