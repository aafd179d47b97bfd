//! What a rig is: the hardware behind the loop, or its simulation. Drivers implement [`Rig`].

mod known;

pub use known::KnownRig;

use crate::channel::{ChannelSpec, Frame, Layout, LayoutError};
use crate::guard::Limit;
use crate::travel::TravelLimits;

/// An actuator that follows a command channel, with what the guard needs to keep it safe.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorSpec {
    /// The command channel that it follows.
    pub command: &'static str,
    /// The measured channel that shows what it does.
    pub feedback: &'static str,
    /// Where it rests; a stop ends here.
    pub park: f64,
    /// Lowest command that is passed on.
    pub low: f64,
    /// Highest command that is passed on.
    pub high: f64,
    /// Fastest command that is passed on while running, in units per second.
    pub max_speed: f64,
    /// How arming, stopping and retreating move it.
    pub travel: TravelLimits,
    /// Largest tolerated distance between command and feedback.
    pub max_tracking_error: f64,
    /// For how many cycles in a row it may be exceeded before the drive is switched off.
    pub tracking_cycles: u32,
}

/// A measured channel that is known to be noisy, so that a value which repeats to the last bit shows
/// a frozen sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrozenCheck {
    /// The measured channel.
    pub channel: &'static str,
    /// How many identical values in a row are a fault.
    pub cycles: u32,
}

/// A rig's declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct RigSpec {
    /// Its name, for people.
    pub name: String,
    /// Everything that it measures.
    pub channels: Vec<ChannelSpec>,
    /// Everything that it can move.
    pub actuators: Vec<ActuatorSpec>,
    /// Sensors that are watched for frozen values.
    pub frozen: Vec<FrozenCheck>,
    /// Limits that protect rig and specimen; a session may replace them.
    pub limits: Vec<Limit>,
}

/// Why an exchange brought no trustworthy inputs, with its numbers; words are made outside the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RigFault {
    /// No answer to this exchange.
    LostExchange {
        /// How many in a row are lost by now.
        in_a_row: u32,
    },
    /// The rig has no power.
    PowerLoss,
}

/// The hardware of a bench, or its simulation.
pub trait Rig: Send {
    /// Its declaration.
    fn spec(&self) -> &RigSpec;

    /// Learns which columns to read and write. Called once, before the loop starts.
    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError>;

    /// Sends the commands that the frame holds from the cycle before (only if its `drive` is on),
    /// then writes fresh measurements into it. `frame.t_nanos` is the time of this tick.
    ///
    /// Never allocates, locks, logs or panics, and blocks no longer than the exchange itself.
    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault>;
}
