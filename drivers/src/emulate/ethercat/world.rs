//! What stands behind the emulated devices: motor, pad, pantograph and load cells, which go on by time.

use crate::simulated::fault::MotorFault;
use crate::simulated::load_cell::LoadCells;
use crate::simulated::sensor::Sensor;
use crate::simulated::{Plant, PlantModel, SimulatedConfig};
use rt_core::guard::Drive;
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::NANOS_PER_SECOND;

/// The plant goes on in steps of this length, in ns.
const STEP_NANOS: u64 = 50_000;
/// A longer time without a frame is not caught up with: everything is at rest by then.
const MAX_STEPS: u64 = 2 * NANOS_PER_SECOND / STEP_NANOS;

/// See the module's text.
pub struct World {
    plant: Plant,
    cells: LoadCells,
    count: usize,
    position_sensor: Sensor,
    drive: Drive,
    reached: Option<u64>,
    begin: u64,
    position_m: f64,
    readings: Vec<f64>,
}

impl World {
    /// At rest in the parked position.
    pub fn new(config: &SimulatedConfig, pantograph: &Pantograph) -> Self {
        let step_s = STEP_NANOS as f64 / NANOS_PER_SECOND as f64;
        let model = PlantModel::build(config, pantograph, step_s);
        let range_n = config.force_sensor.range_n;
        let mut world = Self {
            plant: Plant::at_rest(model, config.actuator.park_m),
            cells: LoadCells::new(&config.load_cells, &[], range_n, config.seed),
            count: config.load_cells.len(),
            position_sensor: Sensor::new(
                config.position_sensor.noise_m,
                config.position_sensor.resolution_m,
                None,
                config.seed.wrapping_add(1),
            ),
            drive: Drive::Off,
            reached: None,
            begin: 0,
            position_m: config.actuator.park_m,
            readings: vec![0.0; config.load_cells.len()],
        };
        world.measure(0);
        world
    }

    /// Lets time pass.
    pub fn advance_to(&mut self, now: u64) {
        let Some(reached) = self.reached else {
            self.reached = Some(now);
            self.begin = now;
            return;
        };
        let steps = now.saturating_sub(reached) / STEP_NANOS;
        if steps == 0 {
            return;
        }
        self.reached = Some(if steps > MAX_STEPS {
            now
        } else {
            reached + steps * STEP_NANOS
        });
        for _ in 0..steps.min(MAX_STEPS) {
            self.plant.advance_period(self.drive, MotorFault::None);
        }
        self.measure(now);
    }

    fn measure(&mut self, now: u64) {
        self.position_m = self.position_sensor.read(self.plant.motor_position());
        let t_s = now.saturating_sub(self.begin) as f64 / NANOS_PER_SECOND as f64;
        self.cells.read(self.plant.measured_force(), t_s, false);
        for (kept, reading) in self.readings.iter_mut().zip(self.cells.readings()) {
            *kept = reading;
        }
    }

    /// The motor follows a reference in m from now on, or has no power.
    pub fn tell_motor(&mut self, reference_m: Option<f64>) {
        self.drive = if reference_m.is_some() { Drive::On } else { Drive::Off };
        if let Some(reference) = reference_m {
            self.plant.set_reference(reference);
        }
    }

    /// What the encoder shows, in m.
    pub fn position_m(&self) -> f64 {
        self.position_m
    }

    /// What a load cell shows; cells that do not exist show 0.
    pub fn reading(&self, cell: usize) -> f64 {
        self.readings.get(cell).copied().unwrap_or(0.0)
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.count
    }
}
