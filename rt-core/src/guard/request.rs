//! What a person can ask of the guard, and how it refuses.

use super::State;

/// What a person can ask of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ready → Armed; on a rig that wants it confirmed, the first of two steps.
    Arm,
    /// The second step of arming: Ready → Armed, within the time that the rig gives.
    Confirm,
    /// Armed → Running, as soon as the actuators rest in the parked position.
    Run,
    /// Brakes; while it brakes, holds or retreats: cuts the power at once. Never refused.
    Stop,
    /// Tripped → Idle, and the only thing that resets what a drive has latched. Starts nothing.
    Acknowledge,
    /// Holding → travels to the parked position, then the drive goes off.
    Park,
}

/// A request that does not fit the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked.
    pub request: Request,
    /// The state at that moment.
    pub state: State,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let need = match self.request {
            Request::Arm => "the bench must be Ready (the rig answers and every limit holds)",
            Request::Confirm => {
                "arming must have been asked for just before, on a rig that wants it confirmed"
            }
            Request::Run => "the bench must be Armed",
            Request::Stop => "nothing",
            Request::Acknowledge => {
                "there must be a latched trip, or a drive that has latched an error"
            }
            Request::Park => {
                "the bench must be Holding: at rest and powered after a stop. From Ready, Arm travels there"
            }
        };
        write!(
            f,
            "{:?} is refused while {}: {need}",
            self.request,
            self.state.name()
        )
    }
}
