//! What an emulated segment can be told to do wrong, while it runs.

use super::drive::DriveMisbehaviour;
use super::esc::Refusal;

/// A fault of an emulated segment, or its end. Devices are counted from 0, as the rig file lists them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SegmentFault {
    /// The drive does something wrong.
    Drive(DriveMisbehaviour),
    /// A device sends an emergency message.
    Emergency {
        /// Which device.
        device: usize,
        /// Its code.
        code: u16,
        /// Whether it waits until it can come between an SDO request and its answer.
        between_sdo: bool,
    },
    /// The supply is switched off or on again.
    Power(bool),
    /// The cable before the first device is out or in again.
    Cable(bool),
    /// This device and all behind it are gone.
    DropOut {
        /// Which device.
        device: usize,
    },
    /// All devices are there again; those that were gone have been without power.
    Return,
    /// A device refuses a transition from now on, or no longer.
    Refuse {
        /// Which device.
        device: usize,
        /// What it refuses.
        refusal: Option<Refusal>,
    },
    /// A device leaves OP by itself with an AL status code.
    LeaveOp {
        /// Which device.
        device: usize,
        /// Its AL status code.
        code: u16,
    },
    /// A device fails to hear outputs: its watchdog fires.
    Watchdog {
        /// Which device.
        device: usize,
    },
    /// A device was exchanged for another product, or back.
    Product {
        /// Which device.
        device: usize,
        /// Its product code; `None`: as the rig file says.
        product: Option<u32>,
    },
    /// An input shows a count of its own, or what it measures again.
    Input {
        /// Number of the input in the rig file.
        input: usize,
        /// The count.
        count: Option<i64>,
    },
    /// Answers are treated badly.
    Frames {
        /// How.
        how: FrameFault,
        /// How many of them, from the next on.
        count: u32,
    },
}

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// It never comes.
    Lost,
    /// It comes this much later, in ns.
    Late(u64),
    /// It comes twice.
    Duplicate,
    /// Only this many bytes of it come.
    Truncated(usize),
    /// Its bytes are wrong from this place on.
    Corrupt(usize),
    /// A frame of another protocol comes before it.
    Foreign,
}
