//! The one plant behind all emulated devices: it advances by time, whoever looks at it and however often.

use crate::mounting::BrakeOutput;
use crate::simulated::LoadCells;
use crate::simulated::{
    BrakeFault, CellTrouble, MotorFault, Plant, PlantModel, Sensor, SimulatedConfig, stands_at,
    switch_at,
};
use rt_core::guard::Drive;
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::NANOS_PER_SECOND;
use std::sync::Arc;

/// Steps of the plant, in ns: those of the simulated rig.
const STEP_NANOS: u64 = 50_000;
/// Time that is made up for at once, in ns; a program that was stopped for longer goes on where it was.
const MOST_BEHIND_NANOS: u64 = NANOS_PER_SECOND;

/// A motor that is slower than this a drive brings to rest and holds until its own brake does, in m/s. A faster one goes
/// on without power until the brake grips: the worst that a drive may do.
const HELD_BELOW_M_PER_S: f64 = 0.1;

struct State {
    plant: Plant,
    until: Option<u64>,
    begin: u64,
    drive: Drive,
    /// The drive has been told to be off and holds until its own brake does.
    hands_over: bool,
    position_sensor: Sensor,
    cells: LoadCells,
}

/// Where a drive finds its home position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HomeSwitch {
    /// Where it is, in m.
    pub at_m: f64,
    /// How fast a drive goes there that was told no speed, in m/s.
    pub speed_m_per_s: f64,
}

/// See the module's text. Clones share the plant.
#[derive(Clone)]
pub struct SharedPlant {
    home_switch: HomeSwitch,
    /// Whether the drive operates the brake by itself.
    is_drives_brake: bool,
    #[expect(
        clippy::disallowed_types,
        reason = "threads of emulated devices are no real-time threads"
    )]
    state: Arc<std::sync::Mutex<State>>,
}

impl SharedPlant {
    /// At rest where the motor stands when it is switched on.
    pub fn new(config: &SimulatedConfig, pantograph: &Pantograph) -> Self {
        let model = PlantModel::build(
            config,
            pantograph,
            STEP_NANOS as f64 / NANOS_PER_SECOND as f64,
        );
        let sensor = &config.position_sensor;
        #[expect(clippy::disallowed_types, reason = "no real-time thread")]
        let state = std::sync::Mutex::new(State {
            plant: Plant::at_rest(model, stands_at(config)),
            until: None,
            begin: 0,
            drive: Drive::Off,
            hands_over: false,
            position_sensor: Sensor::new(
                sensor.noise_m,
                sensor.resolution_m,
                None,
                config.seed.wrapping_add(1),
            ),
            cells: LoadCells::new(
                &config.load_cells,
                &[],
                config.force_sensor.range_n,
                config.seed,
            ),
        });
        let brake = config.mounting.as_ref().and_then(|m| m.brake.as_ref());
        let travel_speed = config.actuator.travel_speed_m_per_s;
        Self {
            home_switch: HomeSwitch {
                at_m: switch_at(config),
                speed_m_per_s: config.homing.map_or(travel_speed, |h| h.speed_m_per_s),
            },
            is_drives_brake: brake.is_some_and(|b| b.output == BrakeOutput::Drive),
            state: Arc::new(state),
        }
    }

    /// Where a drive finds its home position.
    pub fn home_switch(&self) -> HomeSwitch {
        self.home_switch
    }

    /// The plant at a time.
    fn at<T>(&self, now: u64, look: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if state.until.is_none() {
            state.begin = now;
        }
        let mut until = state.until.unwrap_or(now);
        if now.saturating_sub(until) > MOST_BEHIND_NANOS {
            until = now - MOST_BEHIND_NANOS;
        }
        while until + STEP_NANOS <= now {
            if state.hands_over && state.plant.brake_grips() {
                (state.drive, state.hands_over) = (Drive::Off, false);
            }
            let drive = state.drive;
            state.plant.advance_period(drive, MotorFault::None);
            until += STEP_NANOS;
        }
        state.until = Some(until);
        look(&mut state)
    }

    /// The motor follows a reference from now on, in m.
    pub fn follow(&self, reference_m: f64, now: u64) {
        self.at(now, |s| {
            (s.drive, s.hands_over) = (Drive::On, false);
            if self.is_drives_brake {
                s.plant.tell_brake(true);
            }
            s.plant.set_reference(reference_m);
        });
    }

    /// The motor has no power from now on. A drive with a brake of its own holds a motor at rest until that does.
    pub fn release(&self, now: u64) {
        self.at(now, |s| {
            if !self.is_drives_brake {
                s.drive = Drive::Off;
                return;
            }
            s.plant.tell_brake(false);
            if s.hands_over || s.drive == Drive::Off {
                return;
            }
            let may_hold = s.plant.motor_speed().abs() < HELD_BELOW_M_PER_S;
            s.hands_over = may_hold && !s.plant.brake_grips();
            if s.hands_over {
                let here = s.plant.motor_position();
                s.plant.set_reference(here);
            } else {
                s.drive = Drive::Off;
            }
        });
    }

    /// Whoever operates the brake tells it to let go or to hold.
    pub fn tell_brake(&self, released: bool, now: u64) {
        self.at(now, |s| s.plant.tell_brake(released));
    }

    /// Lets the brake do something wrong from now on.
    pub fn break_brake(&self, fault: Option<BrakeFault>, now: u64) {
        self.at(now, |s| s.plant.break_brake(fault));
    }

    /// Whether the brake grips.
    pub fn brake_grips(&self, now: u64) -> bool {
        self.at(now, |s| s.plant.brake_grips())
    }

    /// Where the encoder says that the motor is, in m.
    pub fn position(&self, now: u64) -> f64 {
        self.at(now, |s| s.position_sensor.read(s.plant.motor_position()))
    }

    /// What the load cells read, after filter and delay, into a buffer: as many as there are cells.
    pub fn read_cells(&self, now: u64, readings: &mut Vec<f64>) {
        self.at(now, |s| {
            let t_s = now.saturating_sub(s.begin) as f64 * 1e-9;
            s.cells.read(s.plant.measured_force(), t_s, false);
            readings.clear();
            readings.extend(s.cells.readings());
        });
    }

    /// What a load cell does from now on instead of measuring; `None`: it measures.
    pub fn trouble_cell(&self, cell: usize, does: Option<CellTrouble>, now: u64) {
        self.at(now, |s| {
            let t_s = now.saturating_sub(s.begin) as f64 * 1e-9;
            s.cells.trouble(cell, does, t_s);
        });
    }

    /// Whether the motor has power. What a drive holds with until its own brake does is not counted: it follows nobody.
    pub fn is_powered(&self, now: u64) -> bool {
        self.at(now, |s| s.drive == Drive::On && !s.hands_over)
    }

    /// The force at the pad itself, in N.
    pub fn true_force(&self, now: u64) -> f64 {
        self.at(now, |s| s.plant.contact_force())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig_file::{rig_model, rig_pantograph};
    use std::path::Path;

    const MS: u64 = 1_000_000;

    fn plant() -> SharedPlant {
        let rig =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/simulated-load-cells.ron");
        let mut config = rig_model(&rig).unwrap();
        config.position_sensor.noise_m = 0.0;
        config.position_sensor.resolution_m = None;
        SharedPlant::new(&config, &rig_pantograph(&rig).unwrap())
    }

    #[test]
    fn time_alone_moves_the_plant_however_often_it_is_looked_at() {
        let (often, seldom) = (plant(), plant());
        for p in [&often, &seldom] {
            p.follow(0.05, 10 * MS);
            p.follow(0.052, 20 * MS);
        }
        for k in 0..300 {
            often.position(20 * MS + k * MS / 10);
        }
        let (a, b) = (often.position(50 * MS), seldom.position(50 * MS));
        assert_eq!(a, b);
        assert!((a - 0.052).abs() < 0.001, "{a}");
        seldom.release(51 * MS);
        let held = seldom.position(52 * MS);
        seldom.position(400 * MS);
        assert_eq!(seldom.position(500 * MS), held, "the brake holds");
        // A stopped program does not compute for ever.
        often.position(3600 * NANOS_PER_SECOND);
    }

    #[test]
    fn cells_share_the_force() {
        let p = plant();
        let mut readings = Vec::new();
        p.read_cells(MS, &mut readings);
        // About 116 N at the pad, half on each cell; sensitivities and zeros of the rig file, noise 0.0007.
        let expected = [0.0312 + 0.002_013 * 58.0, -0.0187 + 0.001_987 * 58.0];
        assert_eq!(readings.len(), 2);
        for (reading, expected) in readings.iter().zip(expected) {
            assert!((reading - expected).abs() < 0.01, "{reading} {expected}");
        }
    }
}
