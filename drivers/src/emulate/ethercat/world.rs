//! What stands behind the emulated devices, looked at once for each frame that passes.
//!
//! The plant is the one of all emulated devices of a rig. Its lock is never contended where the segment is in the same
//! process as the loop: nobody else has that plant.

use crate::emulate::plant::{HomeSwitch, SharedPlant};

/// See the module's text.
pub struct World {
    plant: SharedPlant,
    now: u64,
    position_m: f64,
    brake_grips: bool,
    readings: Vec<f64>,
}

impl World {
    /// A look at a plant.
    pub fn new(plant: SharedPlant, cells: usize) -> Self {
        Self {
            plant,
            now: 0,
            position_m: 0.0,
            brake_grips: false,
            readings: Vec::with_capacity(cells),
        }
    }

    /// Lets time pass and measures anew.
    pub fn advance_to(&mut self, now: u64) {
        self.now = now;
        self.position_m = self.plant.position(now);
        self.plant.read_cells(now, &mut self.readings);
        self.brake_grips = self.plant.brake_grips(now);
    }

    /// Whoever operates the brake tells it to let go or to hold.
    pub fn tell_brake(&mut self, released: bool) {
        self.plant.tell_brake(released, self.now);
    }

    /// What the brake's switch shows.
    pub fn brake_grips(&self) -> bool {
        self.brake_grips
    }

    /// The motor follows a reference in m from now on, or has no power.
    pub fn tell_motor(&mut self, reference_m: Option<f64>) {
        match reference_m {
            Some(reference) => self.plant.follow(reference, self.now),
            None => self.plant.release(self.now),
        }
    }

    /// What the encoder shows, in m.
    pub fn position_m(&self) -> f64 {
        self.position_m
    }

    /// Where the drive finds its home position.
    pub fn home_switch(&self) -> HomeSwitch {
        self.plant.home_switch()
    }

    /// What a load cell shows; cells that do not exist show 0.
    pub fn reading(&self, cell: usize) -> f64 {
        self.readings.get(cell).copied().unwrap_or(0.0)
    }
}
