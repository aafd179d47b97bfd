//! What can go wrong in a cycle, what is done about it, and how it is told to a person.

mod cell;

pub use cell::CellFault;

use crate::bench::StepFault;
use crate::channel::Layout;
use crate::rig::RigFault;
use serde::Deserialize;

/// What the guard does about a fault. Each has one defined effect on state, command and actuator;
/// a later action is more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Action {
    /// An event; state, command and actuator go on unchanged.
    Warn,
    /// Controlled stop: the command brakes to rest, then the drive goes off or holds as its rig says. Not latched.
    Stop,
    /// Trip: the command comes to rest where it is and stays there; the drive stays on for a bounded time.
    Hold,
    /// Trip: the command travels the way that unloads the specimen, then the drive goes off.
    Retreat,
    /// Trip: the drive goes off at once; the command follows the measured position.
    PowerOff,
}

impl Action {
    /// Whether the action ends in the latched state that has to be acknowledged.
    pub fn trips(self) -> bool {
        self >= Action::Hold
    }

    /// Its effect, for people.
    pub fn effect(self) -> &'static str {
        match self {
            Action::Warn => "warned only; the run goes on",
            Action::Stop => {
                "controlled stop: brakes to rest, then drive off or held as the rig says"
            }
            Action::Hold => {
                "tripped: the actuator comes to rest and holds its position for a bounded time"
            }
            Action::Retreat => {
                "tripped: the actuator travels the way that unloads the specimen, then drive off"
            }
            Action::PowerOff => "tripped: drive off at once",
        }
    }
}

/// A fault with its numbers. Copied through rings; [`Fault::describe`] makes the words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The exchange with the rig failed.
    Rig(RigFault),
    /// A measured value is not a number.
    NotFinite {
        /// The measured column.
        column: usize,
    },
    /// A measured value repeats to the last bit although the sensor is noisy.
    Frozen {
        /// The measured column.
        column: usize,
        /// The repeated value.
        value: f64,
        /// How often in a row.
        cycles: u32,
    },
    /// A value left its limits.
    Limit {
        /// The column.
        column: usize,
        /// Its value.
        measured: f64,
        /// Lower limit.
        low: f64,
        /// Upper limit.
        high: f64,
        /// What the limit's owner asked for.
        action: Action,
    },
    /// One force sensor by itself is not right, or the force cannot be.
    Cell {
        /// Its column; for the force at rest that of the force.
        column: usize,
        /// What is wrong.
        what: CellFault,
        /// What was seen, in the unit that belongs to it.
        measured: f64,
        /// What it may be.
        limit: f64,
    },
    /// The actuator is not where it was told to be.
    Tracking {
        /// The command column.
        column: usize,
        /// Distance between command and feedback.
        error: f64,
        /// Its limit.
        limit: f64,
    },
    /// The bench could not compute its step.
    Step(StepFault),
    /// Too many deadlines in a row were missed.
    Misses {
        /// How many in a row.
        in_a_row: u32,
        /// The limit.
        limit: u32,
    },
    /// The loop did nothing for longer than may pass unnoticed while the drive is on: the program or the computer slept.
    Gap {
        /// For how long.
        seconds: f64,
        /// For how long it may.
        limit: f64,
    },
    /// A value stays outside its limits although the actuator retreats.
    Unrelieved {
        /// The column.
        column: usize,
        /// Its value.
        measured: f64,
        /// Lower limit.
        low: f64,
        /// Upper limit.
        high: f64,
    },
    /// The cycle used the heap, which may block: a defect of the software.
    Allocation {
        /// Allocations and releases in one cycle.
        count: u32,
    },
}

/// A fault in words: what, measured, limit, what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultText {
    /// Stable name, for machines.
    pub id: String,
    /// What happened.
    pub what: String,
    /// The value that was seen, where there is one.
    pub measured: Option<f64>,
    /// The limit that it broke, where there is one.
    pub limit: Option<f64>,
    /// What the technician can do.
    pub advice: &'static str,
}

impl Fault {
    /// Whether both are the same kind of fault at the same place, whatever their numbers.
    pub fn same_kind(&self, other: &Fault) -> bool {
        use std::mem::discriminant;
        match (self, other) {
            (Fault::Rig(one), Fault::Rig(other)) => discriminant(one) == discriminant(other),
            (Fault::Cell { what: one, .. }, Fault::Cell { what, .. }) if one != what => false,
            _ => discriminant(self) == discriminant(other) && self.column() == other.column(),
        }
    }

    /// The fault that follows if it stays during a retreat.
    pub(crate) fn unrelieved(&self) -> Option<Fault> {
        match *self {
            Fault::Limit {
                column,
                measured,
                low,
                high,
                ..
            } => Some(Fault::Unrelieved {
                column,
                measured,
                low,
                high,
            }),
            Fault::Cell {
                column,
                what: CellFault::Saturated,
                measured,
                limit,
            } => Some(Fault::Unrelieved {
                column,
                measured,
                low: limit.min(-limit),
                high: limit.max(-limit),
            }),
            _ => None,
        }
    }

    /// The column that the fault is about, if it is about one.
    pub fn column(&self) -> Option<usize> {
        match *self {
            Fault::NotFinite { column }
            | Fault::Frozen { column, .. }
            | Fault::Limit { column, .. }
            | Fault::Cell { column, .. }
            | Fault::Tracking { column, .. }
            | Fault::Unrelieved { column, .. }
            | Fault::Step(StepFault::NotFinite { column }) => Some(column),
            Fault::Rig(_) | Fault::Misses { .. } | Fault::Gap { .. } | Fault::Allocation { .. } => {
                None
            }
        }
    }

    /// Puts the fault in words.
    pub fn describe(&self, layout: &Layout) -> FaultText {
        let channel = self.column().and_then(|c| layout.channels().get(c));
        let id = channel.map_or("unknown", |c| c.id);
        let label = channel.map_or("unknown channel", |c| c.label);
        let unit = channel.map_or("", |c| c.unit);
        match *self {
            Fault::Rig(fault) => fault.describe(layout),
            Fault::NotFinite { .. } => FaultText {
                id: format!("not-finite.{id}"),
                what: format!("{label} is not a number"),
                measured: None,
                limit: None,
                advice: "Check the sensor's cable and amplifier, then acknowledge.",
            },
            Fault::Frozen { value, cycles, .. } => FaultText {
                id: format!("frozen.{id}"),
                what: format!("{label} is frozen: {cycles} times exactly {value} {unit}"),
                measured: Some(value),
                limit: Some(f64::from(cycles)),
                advice: "Check the sensor, its amplifier and the bus, then acknowledge.",
            },
            Fault::Limit {
                measured,
                low,
                high,
                ..
            } => FaultText {
                id: format!("limit.{id}"),
                what: format!(
                    "{label} {} {unit} is outside {low} to {high} {unit}",
                    short(measured)
                ),
                measured: Some(measured),
                limit: Some(if measured < low { low } else { high }),
                advice: "Find the cause in the second before the trip; acknowledge when the value is back.",
            },
            Fault::Cell {
                what,
                measured,
                limit,
                ..
            } => what.describe((id, label, unit), measured, limit),
            Fault::Tracking { error, limit, .. } => FaultText {
                id: format!("tracking.{id}"),
                what: format!(
                    "The actuator is {} {unit} away from {label}; allowed: {limit} {unit}",
                    short(error)
                ),
                measured: Some(error),
                limit: Some(limit),
                advice: "Check that the drive is enabled and free to move, then acknowledge.",
            },
            Fault::Step(StepFault::NotFinite { .. }) => FaultText {
                id: format!("step.not-finite.{id}"),
                what: format!("The bench computed no number for {label}"),
                measured: None,
                limit: None,
                advice: "Look at the inputs and parameters before the trip; acknowledge to start again.",
            },
            Fault::Misses { in_a_row, limit } => FaultText {
                id: "loop.misses".into(),
                what: format!("{in_a_row} deadlines in a row were missed; allowed: {limit}"),
                measured: Some(f64::from(in_a_row)),
                limit: Some(f64::from(limit)),
                advice: "See the real-time status for missing privileges, or lengthen the period.",
            },
            Fault::Gap { seconds, limit } => FaultText {
                id: "loop.gap".into(),
                what: format!(
                    "The loop did nothing for {seconds:.3} s while the drive was on; allowed: {limit} s"
                ),
                measured: Some(seconds),
                limit: Some(limit),
                advice: "Something held the program or put the computer to sleep: look at the rig, then acknowledge.",
            },
            Fault::Unrelieved {
                measured,
                low,
                high,
                ..
            } => FaultText {
                id: format!("unrelieved.{id}"),
                what: format!(
                    "{label} stays at {} {unit}, outside {low} to {high} {unit}, although the actuator retreats",
                    short(measured)
                ),
                measured: Some(measured),
                limit: Some(if measured < low { low } else { high }),
                advice: "Free the specimen by hand; check which way 'actuator.unloads' of the rig file says, then acknowledge.",
            },
            Fault::Allocation { count } => FaultText {
                id: "loop.allocation".into(),
                what: format!("The cycle used the heap {count} times"),
                measured: Some(f64::from(count)),
                limit: Some(0.0),
                advice: "This is a defect of the software: please report it with the session.",
            },
        }
    }
}

/// A number as a person would say it: whole hundredths from 1 on, five decimals below.
fn short(value: f64) -> String {
    if value.abs() >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.5}")
    }
}
