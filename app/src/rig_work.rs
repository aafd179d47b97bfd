//! Work on a rig without a test: scan, home, brake test, check, jog, identify. The same for simulated rigs and hardware; the
//! command line and the window both do it through here.

pub mod brake_test;
pub mod check;
pub mod edit;
pub mod home;
pub mod identify;
pub mod job;
pub mod jog;
pub mod offline;
pub mod play;
pub mod scan;

/// Why a piece of work on a rig ended without success.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// Bad input: nothing was started.
    #[error("{0}")]
    Input(String),
    /// It ran, but the result is a failure: a trip, a fit that does not converge.
    #[error("{0}")]
    Result(String),
    /// Hardware or environment.
    #[error("{0}")]
    Environment(String),
    /// Someone stopped it.
    #[error("stopped before it was done")]
    Stopped,
}

/// The guided order in which a rig is put to work.
pub const ORDER: [(&str, &str); 6] = [
    ("scan", "what answers, against what the rig file expects"),
    ("home", "drives that have to find their home position first"),
    (
        "brake-test",
        "whether the brake holds without power, if there is one",
    ),
    (
        "check",
        "wiring and signs, with moves of a fraction of a millimetre",
    ),
    (
        "calibrate",
        "newtons of the load cells (pantobench calibrate)",
    ),
    ("identify", "motor, delays and pad, for the rig file"),
];
