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

pub use config::{ControllerChoice, PantographLqgConfig, PredictivePreset, WireChoice};

use super::{Bench, BenchSpec, BuildContext, BuildError, Progress, StepFault};
use crate::bench::ease::smooth_step;
use crate::channel::{ChannelSpec, Frame};
use crate::model::catenary::WireModel;
use crate::param::ParamSet;
use crate::signal::butterworth::low_pass;
use crate::signal::filter::CausalFilter;
use config::Prepared;
use controller::{Controller, Cycle};
use course::Course;

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
const REFERENCE: usize = 11;

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
        ChannelSpec::command("motor_reference", "Motor reference", "m"),
    ],
    params: &[],
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
    course: Course,
    controller: Controller,
    mean_force: CausalFilter,
    display_force: CausalFilter,
    phase: Phase,
    approach_ticks: u64,
    last_seq: u64,
    dt: f64,
}

impl PantographLqgBench {
    /// Reads and prepares line and wire model, designs the controller.
    pub fn build(
        config: &PantographLqgConfig,
        context: &mut BuildContext<'_>,
    ) -> Result<Self, BuildError> {
        let Prepared {
            wire,
            course,
            controller,
        } = config.prepare(context)?;
        let dt = context.period_s;
        let filter = |cutoff_hz: f64| {
            let sos = low_pass(4, cutoff_hz, 1.0 / dt);
            sos.map(CausalFilter::new)
                .map_err(|e| BuildError::Other(e.to_string()))
        };
        Ok(Self {
            // Slow enough for the mean, fast enough to have settled when the approach is over.
            mean_force: filter(1.0)?,
            display_force: filter(20.0)?,
            phase: Phase::Section,
            approach_ticks: (config.approach_s / dt).round().max(1.0) as u64,
            last_seq: 0,
            wire,
            course,
            controller,
            dt,
        })
    }

    fn engage(&mut self, force: f64) {
        self.wire.reset();
        self.course.begin();
        self.controller.engage(self.course.start_height(), force);
        self.phase = Phase::Section;
    }

    fn approach(&mut self, start: f64, ticks: u64, frame: &mut Frame) {
        self.last_seq = frame.seq;
        let mean = self.mean_force.step(frame.values[FORCE]).max(0.0);
        let height = self.course.start_height();
        let rest = height + mean / self.controller.interaction_stiffness();
        let ticks = ticks + 1;
        // The first half moves, the second lets the mean force settle.
        let blend = smooth_step(2.0 * ticks as f64 / self.approach_ticks as f64);
        frame.values[REFERENCE] = start + blend * (rest - start);
        frame.values[PLACE] = self.course.place();
        frame.values[WIRE_HEIGHT] = height;
        frame.values[WIRE_RISE] = 0.0;
        frame.values[MASS_HEIGHT] = rest;
        frame.values[FORCE_ON_WIRE] = 0.0;
        frame.values[ACTION] = 0.0;
        frame.values[SLACK] = 0.0;
        if ticks >= self.approach_ticks {
            self.engage(mean);
        } else {
            self.phase = Phase::Approach { start, ticks };
        }
    }

    fn section(&mut self, frame: &mut Frame) -> Result<Progress, StepFault> {
        let going = self.course.advance(self.dt);
        let place = self.course.place();
        let cycle = Cycle {
            after_overrun: frame.seq > self.last_seq + 1,
            place,
            speed: self.course.speed(),
            entry: self.course.entry(),
            share: self.course.force_share(),
            joint_offset: self.course.joint_offset(),
            force: frame.values[FORCE],
            position: frame.values[POSITION],
            reference: frame.values[REFERENCE],
        };
        self.last_seq = frame.seq;
        let found = self.controller.step(self.wire.as_mut(), &cycle)?;
        frame.values[REFERENCE] = found.reference;
        frame.values[PLACE] = place;
        frame.values[WIRE_HEIGHT] = found.wire_height;
        frame.values[WIRE_RISE] = self.wire.rise(place);
        frame.values[MASS_HEIGHT] = found.target;
        frame.values[FORCE_ON_WIRE] = found.force_on_wire;
        frame.values[ACTION] = found.action;
        frame.values[SLACK] = self.wire.slack_droppers() as f64;
        // The paper's error: what is to be followed against the motor.
        frame.values[TRACKING] = found.target - frame.values[POSITION];
        if going {
            return Ok(Progress::Running);
        }
        if self.course.is_last_section() {
            return Ok(Progress::Finished);
        }
        // The wire of the next section rests; what is left of the old one's motion is bled off.
        self.wire.reset();
        self.course.next_section(found.wire_height);
        Ok(Progress::Running)
    }
}

impl Bench for PantographLqgBench {
    fn spec(&self) -> &'static BenchSpec {
        &SPEC
    }

    fn reset(&mut self, _params: &ParamSet, start: &Frame) {
        self.mean_force.settle(start.values[FORCE]);
        self.display_force.settle(start.values[FORCE]);
        self.wire.reset();
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
            Phase::Section => self.section(frame),
        }
    }
}
