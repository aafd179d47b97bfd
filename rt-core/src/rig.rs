//! What a rig is: the hardware behind the loop, or its simulation. Drivers implement [`Rig`].

pub mod al_code;
pub mod cell_watch;
mod compensation;
pub mod device;
pub mod fault;
mod known;
mod purpose;
mod safety;
pub mod setting;

pub use compensation::PlayedBand;
pub use fault::RigFault;
pub use known::KnownRig;
pub use purpose::{Purpose, Purposes};
pub use safety::{HELD_FOR_S, SafetySpec};

use crate::calibration::id::CalibrationId;
use crate::calibration::{Calibration, Line};
use crate::channel::{ChannelSpec, Frame, Layout, LayoutError};
use crate::guard::{Limit, State};
use crate::travel::TravelLimits;
use cell_watch::ForceWatch;
use device::Device;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What becomes of an actuator that a stop has brought to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum AtRest {
    /// The drive goes off (stop category 1).
    #[default]
    SwitchOff,
    /// It holds its position with power for a bounded time (stop category 2).
    Hold,
}

/// Which way an actuator moves to unload the specimen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Unloads {
    /// Towards larger positions.
    Up,
    /// Towards smaller positions.
    Down,
}

/// An actuator that follows a command channel, with what the guard needs to keep it safe.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorSpec {
    /// The command channel that it follows.
    pub command: &'static str,
    /// The measured channel that shows what it does.
    pub feedback: &'static str,
    /// Where it rests; arming and the end of a run travel here.
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
    /// What a stop ends in.
    pub at_rest: AtRest,
    /// Where a retreat goes: never the other way.
    pub unloads: Unloads,
    /// How little the feedback moves where it stands still.
    pub still_within: f64,
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

/// A load cell: one of those whose sum is a force channel.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSpec {
    /// Its serial number, or what else identifies it: calibrations belong to it.
    pub id: String,
    /// Where it stands, for people.
    pub name: String,
    /// The measured channel with its raw reading.
    pub raw: ChannelSpec,
    /// The force channel that it is a part of.
    pub force: &'static str,
    /// The calibration that the rig file names; otherwise the newest valid one is used.
    pub named: Option<String>,
    /// The calibration that the rig was built with; without one the force is not a number.
    pub calibration: Option<Calibration>,
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
    /// How each force sensor is watched by itself, and the force as a whole.
    pub watch: ForceWatch,
    /// Limits that protect rig and specimen; nobody but this file may loosen them.
    pub limits: Vec<Limit>,
    /// Load cells that can be calibrated; none if the rig measures newtons by itself.
    pub cells: Vec<CellSpec>,
    /// Whether known loads can be hung by command, which only a simulation can.
    pub hangs_loads: bool,
    /// How it is armed, and what it refuses to be armed with.
    pub safety: SafetySpec,
    /// The measured channel that shows the dead man's switch (1: held), where it is a real one.
    pub dead_man: Option<&'static str>,
    /// The measured channel that shows whether the brake is released and references are followed (1), where a brake
    /// holds the actuators without power. Until then no command moves.
    pub brake: Option<&'static str>,
    /// Whether something real moves: neither simulated nor emulated in this process.
    pub is_hardware: bool,
}

/// What can be asked of a rig while its drive is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RigCommand {
    /// Turn the readings of a cell into newtons by another line from now on.
    Calibrate {
        /// Index of the cell.
        cell: usize,
        /// The calibration's name.
        id: CalibrationId,
        /// Its line.
        line: Line,
    },
    /// Hang a known load on one cell, in N; the other cells and the pantograph are unloaded. Only simulated
    /// rigs can.
    HangLoad {
        /// Index of the cell.
        cell: usize,
        /// The load, in N.
        newtons: f64,
    },
    /// Take all hung loads off: the pantograph presses again.
    RemoveLoads,
    /// Find the drive's home position. The motor moves by itself: whoever asks has looked.
    Home,
    /// Stop finding it: the drive goes off at once.
    StopHoming,
    /// Reset what a drive has latched. Starts nothing.
    Reset,
}

/// Why a rig does not do what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RigRefusal {
    /// The drive may be on.
    #[error("only while Idle or Ready: stop the bench first")]
    State(State),
    /// A safety circuit is open or unknown, or nobody holds the dead man's switch.
    #[error("a safety circuit is open, or nobody holds the dead man's switch: nothing may move")]
    NotSafe,
    /// This rig cannot.
    #[error("this rig cannot do that")]
    NotSupported,
    /// There is no such cell.
    #[error("there is no such load cell")]
    NoSuchCell,
    /// A number that is none.
    #[error("expected finite numbers and a slope that is not 0")]
    NotFinite,
}

/// The line that a cell uses now, readable at any moment.
#[derive(Debug)]
pub struct UsedLine {
    slope: AtomicU64,
    offset: AtomicU64,
}

impl UsedLine {
    fn new(line: Line) -> Self {
        Self {
            slope: AtomicU64::new(line.slope_n_per_unit.to_bits()),
            offset: AtomicU64::new(line.offset_n.to_bits()),
        }
    }

    pub(crate) fn set(&self, line: Line) {
        self.slope
            .store(line.slope_n_per_unit.to_bits(), Ordering::Relaxed);
        self.offset
            .store(line.offset_n.to_bits(), Ordering::Relaxed);
    }

    /// Slope and offset.
    pub fn get(&self) -> Line {
        Line {
            slope_n_per_unit: f64::from_bits(self.slope.load(Ordering::Relaxed)),
            offset_n: f64::from_bits(self.offset.load(Ordering::Relaxed)),
        }
    }
}

/// What everyone else sees of a rig while the loop drives it.
#[derive(Clone, Debug)]
pub struct RigLink {
    /// Its declaration.
    pub spec: RigSpec,
    /// Its devices.
    pub devices: Vec<Arc<Device>>,
    /// The line that each cell uses now, as the loop has confirmed it.
    pub lines: Arc<[UsedLine]>,
}

impl RigLink {
    /// Looks at a rig before the loop takes it.
    pub fn of(rig: &dyn Rig) -> Self {
        let spec = rig.spec().clone();
        let line = |cell: &CellSpec| cell.calibration.as_ref().map_or(Line::UNKNOWN, |c| c.line);
        Self {
            lines: spec
                .cells
                .iter()
                .map(|cell| UsedLine::new(line(cell)))
                .collect(),
            devices: rig.devices(),
            spec,
        }
    }
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

    /// Does something between two exchanges; the loop asks only while Idle or Ready. The same rules hold as
    /// for [`Rig::exchange`]. A rig with load cells has to take [`RigCommand::Calibrate`].
    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        let _ = command;
        Err(RigRefusal::NotSupported)
    }

    /// Whether everything that it was told by the last exchange is done: a brake that had to take over holds. The loop
    /// does not end before.
    fn is_settled(&self) -> bool {
        true
    }

    /// Its devices with their counters. Called once, before the loop starts.
    fn devices(&self) -> Vec<Arc<Device>> {
        Vec::new()
    }
}
