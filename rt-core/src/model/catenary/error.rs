//! What can go wrong while a line is prepared or simulated.

use crate::numeric::banded::{NotPositiveDefinite, OutsideBand};

/// Why a line could not be prepared or a simulation not run.
#[derive(Debug, thiserror::Error)]
pub enum CatenaryError {
    /// The line's description makes no sense.
    #[error(transparent)]
    Field(#[from] crate::file::FieldError),
    /// An argument makes no sense.
    #[error("{what} is {value}; expected {expected}")]
    Argument {
        /// Which.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is expected.
        expected: String,
    },
    /// A design that needs a dropper to push.
    #[error(
        "{dropper} (at {x:.2} m) would have to push with {force:.1} N to give the prescribed \
         contact-wire height; lower the wire there (presag_m) or move the dropper"
    )]
    DropperPushes {
        /// Which dropper.
        dropper: String,
        /// Where, in m.
        x: f64,
        /// With how much, in N.
        force: f64,
    },
    /// A dropper without room.
    #[error(
        "{dropper} (at {x:.2} m) would be {length:.3} m long; the messenger wire hangs too low: raise \
         encumbrance_m or the messenger tension"
    )]
    NoRoom {
        /// Which dropper.
        dropper: String,
        /// Where, in m.
        x: f64,
        /// Its length, in m.
        length: f64,
    },
    /// The iteration for the rest position does not settle.
    #[error(
        "the rest position does not settle: after {iterations} rounds the forces of {dropper} still \
         change by {change:.3e} N; check stagger, heel_rise_m and tensions"
    )]
    NotSettled {
        /// How many rounds.
        iterations: usize,
        /// The dropper that changes most.
        dropper: String,
        /// By how much, in N.
        change: f64,
    },
    /// A line that has no stable rest position.
    #[error("the line has no stable rest position: {0}; check the tensions and supports")]
    Unstable(#[from] NotPositiveDefinite),
    /// Numbering and bandwidth disagree: a defect of the program.
    #[error("internal numbering: {0}")]
    Band(#[from] OutsideBand),
    /// The eigensolver failed.
    #[error("modes: {0}")]
    Modes(String),
    /// A run whose force grows without bound.
    #[error(
        "the run diverges: at {x:.1} m the contact force is {force:.3e} N; use a smaller step, a softer \
         contact or, in the modal scheme, more modes"
    )]
    Diverged {
        /// Where, in m.
        x: f64,
        /// The force, in N.
        force: f64,
    },
    /// The section is too short for the run.
    #[error("the line is too short: {0}")]
    TooShort(String),
    /// A reference series that does not fit.
    #[error("the reference series cannot be compared: {0}")]
    Reference(String),
}
