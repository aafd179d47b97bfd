//! The brake of a hardware rig: its output, its switch, and where the drive holds while it works.

use super::config::{BusConfig, HardwareConfig};
use super::signals::find_output;
use crate::mounting::sequence::{BrakeSequence, Wish};
use crate::mounting::{BrakeConfig, BrakeFeedback, BrakeOutput};
use rt_core::channel::Frame;
use rt_core::guard::Drive;
use rt_core::rig::RigFault;

/// What the drive is told besides: whether it is on, and where it is to be, in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Holding {
    pub is_on: bool,
    pub position_m: f64,
}

/// See the module's text.
pub(super) struct Brake {
    sequence: BrakeSequence,
    /// Bus and number of its output; `None`: the drive operates it.
    pub output: Option<(usize, usize)>,
    /// Its switch, and which of the rig's inputs that is.
    feedback: Option<(BrakeFeedback, usize)>,
    /// Where the drive holds while it takes no references.
    held_m: f64,
    pub column: usize,
    pub releases: bool,
}

impl HardwareConfig {
    pub(super) fn brake(&self) -> Option<&BrakeConfig> {
        self.mounting.as_ref()?.brake.as_ref()
    }
}

impl Brake {
    /// `input` is the number of its switch among the rig's inputs.
    pub fn new(config: &BrakeConfig, buses: &[BusConfig], input: usize) -> Self {
        Self {
            sequence: BrakeSequence::new(config, true),
            output: match &config.output {
                BrakeOutput::Drive => None,
                BrakeOutput::Output(name) => find_output(name, buses),
            },
            feedback: config.feedback.clone().map(|feedback| (feedback, input)),
            held_m: f64::NAN,
            column: 0,
            releases: false,
        }
    }

    /// Brake and drive in their order. `values` are the rig's inputs as they were read last, the motor's position first.
    pub fn tell(
        &mut self,
        frame: &Frame,
        reference_m: f64,
        values: &[f64],
        is_following: bool,
        homes: bool,
        now: u64,
    ) -> Holding {
        if homes {
            // The drive moves by itself, with its own brake.
            self.sequence.follow_itself(now);
            self.releases = false;
            return Holding {
                is_on: false,
                position_m: reference_m,
            };
        }
        let is_lost = frame.drive == Drive::On && !reference_m.is_finite();
        let wish = if is_lost { Wish::Cut } else { Wish::of(frame) };
        let holds = self
            .feedback
            .as_ref()
            .and_then(|(feedback, input)| feedback.shows(*values.get(*input)?));
        let told = self.sequence.step(wish, now, is_following, holds);
        let position_m = values.first().copied().unwrap_or(f64::NAN);
        if told.follows {
            self.held_m = reference_m;
        } else if !told.is_on || !self.held_m.is_finite() {
            // It will hold where it is found.
            self.held_m = if position_m.is_finite() {
                position_m
            } else {
                reference_m
            };
        }
        self.releases = told.releases;
        Holding {
            is_on: told.is_on && self.held_m.is_finite(),
            position_m: self.held_m,
        }
    }

    /// Whether references are followed.
    pub fn follows(&self) -> bool {
        self.sequence.follows()
    }

    /// Whether nothing is under way.
    pub fn is_settled(&self) -> bool {
        self.sequence.is_settled()
    }

    /// A switch that disagrees for too long.
    pub fn fault(&self, now: u64) -> Option<RigFault> {
        self.sequence.fault(now)
    }
}
