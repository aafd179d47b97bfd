//! What a bench is: a model and controller stepped once a cycle. One file a bench below this module.

mod ease;
pub mod pantograph_lqg;
pub mod profile;
mod registry;

pub use registry::{BenchConfig, BuildContext, BuildError, specs};

use crate::channel::{ChannelSpec, Frame};
use crate::param::{ParamSet, ParamSpec};

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
    /// The controller's model no longer explains what is measured.
    Mistrusted {
        /// Mean normalised innovation squared; about 1 when all is well.
        innovation: f64,
    },
    /// A computed or commanded value is not finite.
    NotFinite {
        /// Its column.
        column: usize,
    },
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
}
