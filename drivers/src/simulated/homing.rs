//! A simulated drive that does not know where it is until it has homed: it travels to its home switch by itself.

use super::config::SimulatedConfig;
use super::plant::Plant;
use rt_core::guard::Drive;
use rt_core::rig::{RigFault, RigRefusal};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// It knows where it is.
    Known,
    /// It does not.
    Unknown,
    /// It travels; where its own reference is, in m.
    Finding(f64),
}

/// See the module's text.
pub struct Homing {
    stage: Stage,
    home_m: f64,
    speed_m_per_s: f64,
}

/// Where the motor of a rig stands when it is switched on, in m.
pub fn stands_at(config: &SimulatedConfig) -> f64 {
    config
        .homing
        .map_or(config.actuator.park_m, |h| h.stands_at_m)
}

/// Where its home switch is, in m.
pub fn switch_at(config: &SimulatedConfig) -> f64 {
    let switch = config.homing.and_then(|h| h.switch_at_m);
    switch.unwrap_or(config.actuator.park_m)
}

/// The motor has arrived when it is this close, in m.
const CLOSE_M: f64 = 1e-5;

impl Homing {
    pub fn new(config: &SimulatedConfig) -> Self {
        Self {
            stage: config.homing.map_or(Stage::Known, |_| Stage::Unknown),
            home_m: switch_at(config),
            speed_m_per_s: config.homing.map_or(0.0, |h| h.speed_m_per_s),
        }
    }

    /// Why inputs cannot be trusted.
    pub fn fault(&self) -> Option<RigFault> {
        match self.stage {
            Stage::Known => None,
            Stage::Unknown => Some(RigFault::NotHomed),
            Stage::Finding(_) => Some(RigFault::Homing),
        }
    }

    /// Whether the drive moves by itself.
    pub fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Finding(_))
    }

    /// Begins to travel.
    pub fn begin(&mut self, plant: &Plant) -> Result<(), RigRefusal> {
        // One that travels or knows has nothing to begin.
        if self.stage == Stage::Unknown {
            self.stage = Stage::Finding(plant.motor_position());
        }
        Ok(())
    }

    /// The drive goes off where it is, and does not know more than before.
    pub fn stop(&mut self) {
        if matches!(self.stage, Stage::Finding(_)) {
            self.stage = Stage::Unknown;
        }
    }

    /// One period: what the drive does by itself, or what the loop told it.
    pub fn drive(&mut self, plant: &mut Plant, told: Drive, period_nanos: u64) -> Drive {
        let Stage::Finding(reference) = &mut self.stage else {
            return told;
        };
        let step = self.speed_m_per_s * period_nanos as f64 * 1e-9;
        *reference += (self.home_m - *reference).clamp(-step, step);
        plant.set_reference(*reference);
        let is_there = (plant.motor_position() - self.home_m).abs() < CLOSE_M;
        if is_there && *reference == self.home_m {
            self.stage = Stage::Known;
        }
        Drive::On
    }
}
