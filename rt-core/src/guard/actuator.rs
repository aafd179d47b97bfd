//! One actuator as the guard sees it: what it was told, where it is, where it may go.

use super::standstill::Standstill;
use crate::rig::{ActuatorSpec, Unloads};
use crate::travel::Travel;

/// Cycles over which the speed of a command is taken. A loop that has become unstable commands one step up
/// and one down: the speed of its last step would take a retreat far the wrong way.
pub(super) const SPEED_CYCLES: usize = 8;

/// See the module's text.
pub(super) struct Actuator {
    pub spec: ActuatorSpec,
    pub command: usize,
    pub feedback: usize,
    pub travel: Travel,
    /// The last commands, from which the speed is taken that a stop or retreat begins with.
    pub recent: [f64; SPEED_CYCLES],
    pub tracking_cycles: u32,
    pub standstill: Standstill,
    /// Where it was when it was stopped, tripped or switched off.
    pub stopped_at: f64,
}

impl Actuator {
    /// A bench's command, within range and speed.
    pub fn follow(&mut self, wanted: f64, dt: f64) {
        let step = self.spec.max_speed * dt;
        let wanted = wanted.clamp(self.spec.low, self.spec.high);
        let position = self.travel.position + (wanted - self.travel.position).clamp(-step, step);
        let speed = (position - self.recent[0]) / (SPEED_CYCLES as f64 * dt);
        self.recent.rotate_left(1);
        self.recent[SPEED_CYCLES - 1] = position;
        self.travel = Travel { position, speed };
    }

    /// Where a retreat goes: the parked position if the way there unloads the specimen, else the end of the range that
    /// does.
    pub fn refuge(&self) -> f64 {
        let (spec, here) = (&self.spec, self.travel.position);
        match spec.unloads {
            Unloads::Up if spec.park >= here => spec.park,
            Unloads::Up => spec.high,
            Unloads::Down if spec.park <= here => spec.park,
            Unloads::Down => spec.low,
        }
    }
}
