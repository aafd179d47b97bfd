//! What a bench is: a model and controller stepped once a cycle. One file a bench below this module.

pub mod jog;
pub mod map;
pub mod pantograph_lqg;
pub mod pantograph_steady;
pub mod profile;
mod registry;

pub use registry::{BenchConfig, BuildContext, BuildError, Built, LineSight, specs};

use crate::channel::{ChannelSpec, Frame};
use crate::control::assessment::{ChannelMargins, Verdict};
use crate::control::predictive::FallBack;
use crate::guard::LimitSpec;
use crate::param::{ParamSet, ParamSpec};
use map::MapPlane;
use nalgebra::Complex;

/// A bench's declaration: everything that the window, the recorder and the command line know of it.
#[derive(Debug)]
pub struct BenchSpec {
    /// Stable name in files and on the command line.
    pub id: &'static str,
    /// What a person reads.
    pub title: &'static str,
    /// The cycle for which the bench is made, in seconds.
    pub period_s: f64,
    /// Its columns, which are the first of every frame: what it needs measured, computes, commands.
    pub channels: &'static [ChannelSpec],
    /// What may be changed while it runs.
    pub params: &'static [ParamSpec],
    /// What protects it, unless rig or session have other limits for the same channels.
    pub limits: &'static [LimitSpec],
}

/// What the loop does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another step follows.
    Running,
    /// The bench has done its work: stop in a controlled way.
    Finished,
}

/// Why a step failed, with its numbers; words are made outside the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepFault {
    /// A computed or commanded value is not finite.
    NotFinite {
        /// Its column.
        column: usize,
    },
}

/// What a bench did by itself in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// It took a safer value of a parameter.
    FellBack {
        /// Index of the parameter.
        index: usize,
        /// The value that it has now.
        value: f64,
        /// Why.
        cause: FallBack,
    },
}

/// What was designed for new parameter values, on its way to a running bench. It comes back after use,
/// so that nothing is freed on the real-time thread.
#[derive(Debug)]
pub struct Update {
    /// The parameters that it was designed for, by index in the bench's specification: all that need a
    /// design, so that the loop's are those of its gains whatever it has done by itself meanwhile.
    pub params: Vec<(usize, f64)>,
    /// How it was judged.
    pub approval: Approval,
    /// What is exchanged with the bench.
    pub content: Content,
}

/// How an update was judged before it was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approval {
    /// Spectral radius that the model of the loop has with it.
    pub rho: f64,
    /// Smallest disk margin; `None` if the model says that it is unstable.
    pub least_disk: Option<f64>,
    /// Whether a person insisted on it against the verdict.
    pub is_override: bool,
}

/// Designs of all benches.
#[derive(Clone, Debug)]
pub enum Content {
    /// Both controllers of bench `pantograph-lqg`.
    PantographLqg(Box<pantograph_lqg::Design>),
    /// The wire's heights of bench `pantograph-steady`.
    PantographSteady(Box<pantograph_steady::SteadyDesign>),
}

/// What a bench did with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It is in use; the content is now what was in use before.
    Adopted,
    /// Another change is still being blended in; to be offered again in the next cycle.
    Later,
    /// It does not fit this bench.
    Refused,
}

/// What a set of parameters would do, before it is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// Spectral radius of the whole loop: growth per cycle, or per span where a bench goes from span to span.
    pub rho_loop: f64,
    /// Margins by the name of the cut channel; none if the loop is unstable, or for a bench without them.
    pub margins: Vec<(&'static str, ChannelMargins)>,
    /// Smallest disk margin with which it is accepted.
    pub needed_disk: f64,
    /// What a person should know before applying it.
    pub remarks: Vec<String>,
}

/// Whether parameters may be applied, the channel by its name.
pub type NamedVerdict = Verdict<&'static str>;

impl Prospect {
    /// Whether it may be applied.
    pub fn verdict(&self) -> NamedVerdict {
        if self.margins.is_empty() && self.rho_loop < 1.0 {
            // A bench without margins: the spectral radius alone decides.
            return Verdict::Stable;
        }
        Verdict::of(self.rho_loop, self.least_disk(), self.needed_disk)
    }

    /// The channel with the smallest disk margin.
    pub fn least_disk(&self) -> Option<(&'static str, f64)> {
        self.margins
            .iter()
            .map(|(name, margins)| (*name, margins.disk))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How it is told to the loop.
    pub fn approval(&self, is_override: bool) -> Approval {
        Approval {
            rho: self.rho_loop,
            least_disk: self.least_disk().map(|(_, disk)| disk),
            is_override,
        }
    }
}

/// The motor as the controllers assume it: second order by the reference, and later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotorModel {
    /// Natural frequency in Hz.
    pub natural_hz: f64,
    /// Damping ratio.
    pub damping_ratio: f64,
    /// From the reference in a frame to its arrival at the motor, in s: the cycle until it is sent, and
    /// what the rig adds.
    pub delay_s: f64,
}

/// The loop cut at one channel, over frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct CutLoop {
    /// The channel.
    pub name: &'static str,
    /// −L at each frequency; −1 is the point that destabilises.
    pub ratio: Vec<Complex<f64>>,
    /// Margins there; `None` if the closed loop is unstable.
    pub margins: Option<ChannelMargins>,
}

/// What the model says of motor and loop over frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Responses {
    /// In Hz.
    pub frequencies_hz: Vec<f64>,
    /// The motor's parameters.
    pub motor_model: MotorModel,
    /// Motor position by reference, both as they stand in the frames.
    pub motor: Vec<Complex<f64>>,
    /// The loop of the controller in charge at each of its channels.
    pub cuts: Vec<CutLoop>,
    /// Spectral radius of the closed loop.
    pub rho_loop: f64,
    /// Smallest disk margin with which a tuning is accepted.
    pub needed_disk: f64,
}

/// Turns parameter values into an update, and says what they would do, in threads that may allocate and
/// take their time.
pub trait Designer: Send + Sync {
    /// Designs and judges. An error says in words why there is no design for these values.
    fn design(&self, params: &ParamSet) -> Result<(Content, Prospect), String>;

    /// Judges alone, on a rig whose reference comes by so many seconds later than is assumed.
    fn judge(&self, params: &ParamSet, extra_delay_s: f64) -> Result<Prospect, String>;

    /// Planes in which a map of stability says most about the controller that these parameters put in
    /// charge, the most useful first.
    fn planes(&self, params: &ParamSet) -> &'static [MapPlane];

    /// Motor and loop at frequencies in Hz.
    fn responses(&self, params: &ParamSet, frequencies_hz: &[f64]) -> Result<Responses, String>;
}

/// A bench. All that allocates happens when it is built; `reset` and `step` never allocate, lock,
/// log, block or panic.
pub trait Bench: Send {
    /// Its declaration.
    fn spec(&self) -> &'static BenchSpec;

    /// Prepares the first step from a frame that holds the latest measurements and commands. The
    /// first command has to continue from the command in that frame.
    fn reset(&mut self, params: &ParamSet, start: &Frame);

    /// One cycle: reads the measured columns, writes its computed and command columns.
    ///
    /// The command columns hold on entry what the guard let through in the cycle before.
    fn step(&mut self, params: &ParamSet, frame: &mut Frame) -> Result<Progress, StepFault>;

    /// Takes over a design between two steps, leaving the old one in its place.
    fn adopt(&mut self, _content: &mut Content) -> Adoption {
        Adoption::Refused
    }

    /// What the bench did by itself in the last step, once.
    fn notice(&mut self) -> Option<Notice> {
        None
    }
}
