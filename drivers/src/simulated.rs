//! The simulated rig: motor, pad, pantograph and load cell in place of hardware, behind the same trait.
//!
//! Its delays come on top of the one cycle that the loop itself needs to send what it computed.

mod config;
mod fault;
mod homing;
mod load_cell;
mod plant;
mod sensor;
mod unpowered;

pub use config::{
    ActuatorConfig, CircuitConfig, DelayConfig, ForceSensorConfig, HomingConfig, LoadCellConfig,
    MotorConfig, PositionSensorConfig, SimulatedConfig, SpecimenConfig,
};
pub use fault::{CellTrouble, Injection, Signal, SimFault};
pub use load_cell::RAW as RAW_READINGS;
pub(crate) use plant::MAX_SUBSTEP_S as SUBSTEP_S;
pub use plant::{Plant, PlantModel};
pub use unpowered::BrakeFault;

use crate::cell_watch;
use crate::intern::intern;
use crate::mounting::sequence::{BrakeSequence, Told, Wish};
use crate::mounting::{BRAKE, BrakeConfig};
use crate::rig_file::RigSetup;
use fault::Injector;
pub(crate) use fault::MotorFault;
use homing::Homing;
pub(crate) use homing::{stands_at, switch_at};
pub(crate) use load_cell::LoadCells;
use load_cell::RAW;
use rt_core::channel::{ChannelSpec, Frame, Layout, LayoutError};
use rt_core::guard::Drive;
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::{Clock, ExactClock, NANOS_PER_SECOND, RealClock};
use rt_core::rig::device::{Device, DeviceState};
use rt_core::rig::fault::INTERLOCK_PREFIX;
use rt_core::rig::{
    CellSpec, FrozenCheck, Rig, RigCommand, RigFault, RigRefusal, RigSpec, SafetySpec,
};
pub(crate) use sensor::Sensor;
use std::sync::Arc;

/// Channel of the measured contact force.
pub const FORCE: ChannelSpec = ChannelSpec::measured("force", "Contact force", "N");
/// Channel of the measured motor position.
pub const POSITION: ChannelSpec = ChannelSpec::measured("motor_position", "Motor position", "m");
/// Channel of the force at the pad itself, which only a simulation knows: unfiltered, undelayed, exact.
pub const TRUE_FORCE: ChannelSpec =
    ChannelSpec::measured("true_force", "Contact force at the pad (simulation)", "N");
/// Identifier of the command that the motor follows.
pub const REFERENCE: &str = "motor_reference";

/// Whose time passes when a simulated exchange is late.
#[derive(Clone, Debug)]
pub enum SimTime {
    /// The system's.
    Real,
    /// That of an exact clock, which the loop shares.
    Exact(ExactClock),
}

impl SimTime {
    fn spend(&self, nanos: u64) {
        match self {
            SimTime::Real => {
                let mut clock = RealClock;
                let end = clock.now() + nanos;
                clock.sleep_until(end);
            }
            SimTime::Exact(clock) => clock.spend(nanos),
        }
    }
}

/// Columns of the frame.
#[derive(Clone, Debug, Default)]
struct Columns {
    force: usize,
    position: usize,
    true_force: usize,
    reference: Option<usize>,
    raw: [usize; RAW.len()],
    /// One a safety circuit.
    interlocks: Vec<usize>,
    /// Of a rig with a brake.
    brake: Option<usize>,
}

/// See the module's text.
pub struct SimulatedRig {
    spec: RigSpec,
    columns: Columns,
    plant: Plant,
    force_sensor: Sensor,
    /// In place of the force sensor, if the rig has any.
    load_cells: Option<LoadCells>,
    position_sensor: Sensor,
    injector: Injector,
    time: SimTime,
    period_nanos: u64,
    last_t_nanos: Option<u64>,
    drive: Drive,
    last_force: f64,
    lost_in_a_row: u32,
    circuits: Vec<CircuitConfig>,
    brake: Option<BrakeSequence>,
    /// Whether the brake has a switch.
    shows_brake: bool,
    homing: Homing,
    /// Exchanges in a row in which the drive was told to be on and was not.
    not_enabled: u32,
    amplifier: Arc<Device>,
    motor: Arc<Device>,
}

impl SimulatedRig {
    /// Builds the rig at rest in its parked position. The configuration has been checked.
    /// `cells` are those of the configuration with the calibrations that they use, see [`SimulatedRig::cells`].
    pub fn build(
        config: &SimulatedConfig,
        pantograph: &Pantograph,
        cells: Vec<CellSpec>,
        setup: RigSetup<'_>,
    ) -> Self {
        let period_s = setup.period_nanos as f64 / NANOS_PER_SECOND as f64;
        let model = PlantModel::build(config, pantograph, period_s);
        Self {
            load_cells: (!cells.is_empty()).then(|| {
                LoadCells::new(
                    &config.load_cells,
                    &cells,
                    config.force_sensor.range_n,
                    config.seed,
                )
            }),
            spec: rig_spec(config, cells),
            columns: Columns::default(),
            plant: Plant::at_rest(model, stands_at(config)),
            force_sensor: Sensor::new(
                config.force_sensor.noise_n,
                config.force_sensor.resolution_n,
                Some(config.force_sensor.range_n),
                config.seed,
            ),
            position_sensor: Sensor::new(
                config.position_sensor.noise_m,
                config.position_sensor.resolution_m,
                None,
                config.seed.wrapping_add(1),
            ),
            injector: Injector::new(setup.injections),
            time: setup.time,
            period_nanos: setup.period_nanos,
            last_t_nanos: None,
            drive: Drive::Off,
            last_force: 0.0,
            lost_in_a_row: 0,
            circuits: config.interlocks.clone(),
            brake: brake_of(config).map(|brake| BrakeSequence::new(brake, false)),
            shows_brake: brake_of(config).is_some_and(|brake| brake.feedback.is_some()),
            homing: Homing::new(config),
            not_enabled: 0,
            amplifier: Device::new("Force amplifier (simulated)"),
            motor: Device::new("Motor drive (simulated)"),
        }
    }

    /// The load cells of a configuration, without their calibrations.
    pub fn cells(config: &SimulatedConfig) -> Vec<CellSpec> {
        load_cell::specs(&config.load_cells)
    }

    /// The first open circuit: one that a fault opens, or a limit switch that the motor stands on.
    fn open_circuit(&self, by_fault: Option<u16>) -> Option<u16> {
        let at = self.plant.motor_position();
        let is_open = |circuit: &CircuitConfig| {
            circuit.opens_below_m.is_some_and(|low| at < low)
                || circuit.opens_above_m.is_some_and(|high| at > high)
        };
        let by_place = self.circuits.iter().position(is_open);
        let by_place = by_place.and_then(|i| u16::try_from(i).ok());
        let by_fault = by_fault.filter(|&i| usize::from(i) < self.circuits.len());
        [by_place, by_fault].into_iter().flatten().min()
    }

    /// The drive is off and the brake engaged, at once.
    fn cut(&mut self, now: u64) {
        self.drive = Drive::Off;
        if let Some(brake) = &mut self.brake {
            let told = brake.cut(now);
            self.plant.tell_brake(told.releases);
        }
    }

    /// Drive and brake in their order.
    fn sequence(&mut self, frame: &Frame) -> Told {
        let wish = Wish::of(frame);
        let Some(brake) = &mut self.brake else {
            let is_on = wish == Wish::On;
            self.drive = frame.drive;
            return Told {
                is_on,
                releases: is_on,
                follows: is_on,
            };
        };
        if self.homing.is_under_way() {
            let told = brake.follow_itself(frame.t_nanos);
            self.plant.tell_brake(told.releases);
            return told;
        }
        let holds = self.shows_brake.then(|| self.plant.brake_grips());
        let told = brake.step(wish, frame.t_nanos, self.drive == Drive::On, holds);
        self.plant.tell_brake(told.releases);
        self.drive = if told.is_on { Drive::On } else { Drive::Off };
        told
    }

    /// What both devices show after an exchange.
    fn note(&self, failed: Option<DeviceState>, is_late: bool) {
        let motor = match self.drive {
            Drive::On => DeviceState::Powered,
            Drive::Off => DeviceState::Operational,
        };
        self.amplifier
            .note(failed.unwrap_or(DeviceState::Operational), is_late);
        self.motor.note(failed.unwrap_or(motor), is_late);
    }
}

pub(crate) fn rig_spec(config: &SimulatedConfig, cells: Vec<CellSpec>) -> RigSpec {
    RigSpec {
        name: config.name.clone(),
        channels: [FORCE, POSITION, TRUE_FORCE]
            .into_iter()
            .chain(cells.iter().map(|cell| cell.raw))
            .chain(config.interlocks.iter().map(circuit_channel))
            .chain(brake_of(config).map(|_| BRAKE))
            .collect(),
        actuators: vec![config.actuator.spec()],
        frozen: config
            .force_sensor
            .frozen_after_cycles
            .map(|cycles| FrozenCheck {
                channel: FORCE.id,
                cycles,
            })
            .into_iter()
            .collect(),
        watch: cell_watch::of_simulated(config),
        limits: config.limits.clone(),
        hangs_loads: !cells.is_empty(),
        safety: SafetySpec {
            max_gap_s: Some(config.safety.max_gap_s.unwrap_or(MAX_GAP_S)),
            max_misses: Some(config.safety.max_misses.unwrap_or(MAX_MISSES)),
            ..config.safety
        },
        dead_man: None,
        brake: brake_of(config).map(|_| BRAKE.id),
        is_hardware: false,
        cells,
    }
}

fn brake_of(config: &SimulatedConfig) -> Option<&BrakeConfig> {
    config.mounting.as_ref()?.brake.as_ref()
}

/// What a simulated rig bears if its file says nothing: nothing can be hurt, but a program that slept is told of it.
const MAX_GAP_S: f64 = 1.0;
const MAX_MISSES: u32 = 100_000;

/// The channel of a safety circuit: 1 closed, 0 open.
fn circuit_channel(circuit: &CircuitConfig) -> ChannelSpec {
    let id = intern(&format!("{INTERLOCK_PREFIX}{}", circuit.id));
    ChannelSpec::measured(id, intern(&circuit.label), "")
}

impl Rig for SimulatedRig {
    fn spec(&self) -> &RigSpec {
        &self.spec
    }

    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError> {
        self.columns = Columns {
            force: layout.column(FORCE.id)?,
            position: layout.column(POSITION.id)?,
            true_force: layout.column(TRUE_FORCE.id)?,
            reference: layout.find(REFERENCE),
            raw: [0; RAW.len()],
            interlocks: Vec::new(),
            brake: self
                .brake
                .as_ref()
                .map(|_| layout.column(BRAKE.id))
                .transpose()?,
        };
        for (column, cell) in self.columns.raw.iter_mut().zip(&self.spec.cells) {
            *column = layout.column(cell.raw.id)?;
        }
        for circuit in &self.circuits {
            let column = layout.column(circuit_channel(circuit).id)?;
            self.columns.interlocks.push(column);
        }
        Ok(())
    }

    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault> {
        let faults = self.injector.active(frame);
        self.plant.break_brake(faults.brake);
        let elapsed = self.last_t_nanos.map_or(0, |last| {
            frame.t_nanos.saturating_sub(last) / self.period_nanos
        });
        self.last_t_nanos = Some(frame.t_nanos);
        for _ in 0..elapsed {
            let drive = self
                .homing
                .drive(&mut self.plant, self.drive, self.period_nanos);
            self.plant.advance_period(drive, faults.motor);
        }
        if faults.power_lost {
            self.cut(frame.t_nanos);
            self.note(Some(DeviceState::NoPower), false);
            return Err(RigFault::PowerLoss);
        }
        if faults.late_nanos > 0 {
            self.time.spend(faults.late_nanos);
        }
        if faults.exchange_lost {
            self.lost_in_a_row += 1;
            // A drive that hears nothing goes on to its last reference, then switches itself off.
            if self.lost_in_a_row > DRIVE_WATCHDOG_CYCLES {
                self.cut(frame.t_nanos);
            }
            self.note(Some(DeviceState::NotAnswering), false);
            return Err(RigFault::LostExchange {
                in_a_row: self.lost_in_a_row,
            });
        }
        self.lost_in_a_row = 0;
        if let Some(index) = self.open_circuit(faults.open_interlock) {
            // The circuits are in the drive's enable chain: it is off whatever the loop says.
            self.cut(frame.t_nanos);
            self.homing.stop();
            self.note(None, false);
            return Err(RigFault::Interlock { index });
        }
        let told = self.sequence(frame);
        let brake_fault = self.brake.as_ref().and_then(|b| b.fault(frame.t_nanos));
        if let Some(fault) = self.homing.fault().or(brake_fault) {
            self.note(None, false);
            return Err(fault);
        }
        self.not_enabled = if faults.drive_disabled && self.drive == Drive::On {
            self.cut(frame.t_nanos);
            self.not_enabled + 1
        } else {
            0
        };
        if self.not_enabled > ENABLE_CYCLES {
            self.note(None, false);
            return Err(RigFault::DriveNotEnabled {
                status: SWITCH_ON_DISABLED,
            });
        }
        for column in &self.columns.interlocks {
            frame.values[*column] = 1.0;
        }
        if let (true, Drive::On, Some(column)) = (told.follows, self.drive, self.columns.reference)
        {
            self.plant.set_reference(frame.values[column]);
        }
        if let Some(column) = self.columns.brake {
            frame.values[column] = f64::from(u8::from(told.follows));
        }
        self.note(None, faults.late_nanos > 0);
        let truth = self.plant.measured_force();
        let force = match &mut self.load_cells {
            Some(cells) => {
                if self.drive == Drive::On {
                    cells.remove_loads();
                }
                let t_s = frame.t_s();
                for (cell, trouble) in faults.cells.into_iter().enumerate() {
                    cells.trouble(cell, trouble, t_s);
                }
                cells.read(truth, t_s, faults.force_stuck);
                for (column, reading) in self.columns.raw.iter().zip(cells.readings()) {
                    frame.values[*column] = reading;
                }
                cells.newtons()
            }
            None if faults.force_stuck => self.last_force,
            None => self.force_sensor.read(truth),
        };
        self.last_force = force;
        frame.values[self.columns.force] = faults.force_factor * force + faults.force_error;
        frame.values[self.columns.true_force] = self.plant.contact_force();
        let position = self.position_sensor.read(self.plant.motor_position());
        frame.values[self.columns.position] =
            faults.position_factor * position + faults.position_error;
        Ok(())
    }

    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        match command {
            RigCommand::Home => return self.homing.begin(&self.plant),
            RigCommand::StopHoming => {
                self.homing.stop();
                return Ok(());
            }
            RigCommand::Reset => return Err(RigRefusal::NotSupported),
            _ => {}
        }
        let cells = self.load_cells.as_mut();
        cells.map_or(Err(RigRefusal::NotSupported), |cells| {
            cells.command(command)
        })
    }

    fn is_settled(&self) -> bool {
        self.brake.as_ref().is_none_or(BrakeSequence::is_settled)
    }

    fn devices(&self) -> Vec<Arc<Device>> {
        vec![Arc::clone(&self.amplifier), Arc::clone(&self.motor)]
    }
}

/// Exchanges that a drive may need to enable.
const ENABLE_CYCLES: u32 = 3;
/// What a drive shows that does not enable: "switch on disabled" of CiA 402.
const SWITCH_ON_DISABLED: u16 = 0x0040;

/// Exchanges that the simulated drive tolerates to be lost before it switches itself off.
const DRIVE_WATCHDOG_CYCLES: u32 = 5;
