//! The file of a hardware rig. Units are in the names; every field is explained here.
//!
//! What is known of motor, pad, delays and specimen stands under the same names as in the file of a simulated rig: the
//! benches design with it, identification writes it, and the emulator is built from it.

use super::signals::{self, SignalsConfig};
use crate::ethercat::EthercatConfig;
use crate::linudp::LinUdpConfig;
use crate::mounting::{BrakeOutput, MountingConfig};
use crate::serial::SerialConfig;
use crate::simulated::{
    ActuatorConfig, DelayConfig, ForceSensorConfig, HomingConfig, LoadCellConfig, MotorConfig,
    PositionSensorConfig, SimulatedConfig, SpecimenConfig,
};
use rt_core::file::FieldError;
use rt_core::guard::Limit;
use rt_core::rig::SafetySpec;
use rt_core::rig::cell_watch::CellsWatch;
use serde::Deserialize;

/// A hardware rig as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareConfig {
    /// Its name, for people.
    pub name: String,
    /// Path of the file of the pantograph that stands in it, relative to this file.
    pub pantograph: String,
    /// Lift that the pantograph is set to, in N.
    pub uplift_n: f64,
    /// Stiffness of the pad between motor and collector head, in N/m.
    pub pad_stiffness_n_per_m: f64,
    /// Damping of the pad, in N s/m.
    pub pad_damping_ns_per_m: f64,
    /// Whether the specimen is fixed to the pad.
    #[serde(default)]
    pub pad_pulls: bool,
    /// The linear motor with its own controller.
    pub motor: MotorConfig,
    /// How the motor is mounted and what holds it without power. It has to be stated for hardware; a segment that is
    /// emulated in this process may leave it out and has an ideal brake then.
    #[serde(default)]
    pub mounting: Option<MountingConfig>,
    /// Pure delays beyond the one cycle that the loop itself needs.
    pub delays: DelayConfig,
    /// Corner of the force's first-order low-pass, in Hz; `None`: unfiltered.
    pub force_filter_hz: Option<f64>,
    /// Identical values of the force in a row that mean a frozen sensor; `None`: not watched.
    pub force_frozen_after_cycles: Option<u32>,
    /// How the load cells are watched together.
    #[serde(default)]
    pub cell_watch: CellsWatch,
    /// Directory of the load cells' calibrations, relative to this file; a person's own ones are looked through too.
    #[serde(default)]
    pub calibrations: Option<String>,
    /// How the guard treats the motor.
    pub actuator: ActuatorConfig,
    /// Limits that protect rig and specimen.
    pub limits: Vec<Limit>,
    /// How it is armed, and what it refuses to be armed with.
    #[serde(default)]
    pub safety: SafetySpec,
    /// Buses and links with their devices.
    pub buses: Vec<BusConfig>,
    /// Name of the bus that drives the motor.
    pub drive: String,
    /// Which input is what.
    pub signals: SignalsConfig,
    /// What stands under the motor, and what it bears: has to be stated before anything is moved.
    #[serde(default)]
    pub specimen: Option<SpecimenConfig>,
    /// What `pantobench emulate` needs to know besides; `None`: an emulated rig without noise.
    #[serde(default)]
    pub emulated: Option<EmulatedConfig>,
}

/// A bus or link of a rig.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum BusConfig {
    /// A LinMot drive that is spoken to over UDP.
    LinUdp(LinUdpConfig),
    /// An EtherCAT segment.
    Ethercat(EthercatConfig),
    /// An amplifier or a LinMot drive on a serial line.
    Serial(SerialConfig),
}

/// What the emulated sensors do that a real rig does by itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulatedConfig {
    /// The encoder.
    pub position_sensor: PositionSensorConfig,
    /// The load cells, by the identifiers of `signals.cells`.
    pub load_cells: Vec<LoadCellConfig>,
    /// Largest force of either sign that each cell shows, in N.
    pub range_n: f64,
    /// Seed of the noise.
    pub seed: u64,
    /// Where the motor stands and where its home switch is, for a drive that homes; `None`: both are parked.
    #[serde(default)]
    pub homing: Option<HomingConfig>,
}

impl BusConfig {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            BusConfig::LinUdp(config) => &config.name,
            BusConfig::Ethercat(config) => &config.name,
            BusConfig::Serial(config) => &config.name,
        }
    }

    /// The names of its inputs, in the order of their slots.
    pub fn inputs(&self) -> Vec<String> {
        match self {
            BusConfig::LinUdp(config) => config.inputs(),
            BusConfig::Ethercat(config) => config.inputs(),
            BusConfig::Serial(config) => config.inputs(),
        }
    }

    /// Its digital outputs, `bus.output`, in their order.
    pub fn outputs(&self) -> Vec<String> {
        match self {
            BusConfig::Ethercat(config) => {
                let outputs = config.outputs.iter();
                outputs
                    .map(|o| format!("{}.{}", config.name, o.name))
                    .collect()
            }
            BusConfig::LinUdp(_) | BusConfig::Serial(_) => Vec::new(),
        }
    }

    /// Whether it can drive a motor.
    pub fn drives(&self) -> bool {
        match self {
            BusConfig::LinUdp(_) => true,
            BusConfig::Ethercat(config) => config.drive.is_some(),
            BusConfig::Serial(config) => config.drives(),
        }
    }

    /// Refuses a drive that cannot stop from a speed in the time that it has for it.
    fn check_stop(&self, speed_m_per_s: f64) -> Result<(), FieldError> {
        match self {
            BusConfig::Ethercat(config) => config.check_stop(speed_m_per_s),
            BusConfig::LinUdp(_) | BusConfig::Serial(_) => Ok(()),
        }
    }

    fn check(&self) -> Result<(), FieldError> {
        match self {
            BusConfig::LinUdp(config) => config.check(),
            BusConfig::Ethercat(config) => config.check(),
            BusConfig::Serial(config) => config.check(),
        }
    }
}

impl HardwareConfig {
    /// The simulated rig that is closest to it: what benches design with, and what the emulator is made of.
    pub fn model(&self) -> SimulatedConfig {
        let emulated = self.emulated.as_ref();
        SimulatedConfig {
            name: self.name.clone(),
            pantograph: self.pantograph.clone(),
            uplift_n: self.uplift_n,
            pad_stiffness_n_per_m: self.pad_stiffness_n_per_m,
            pad_damping_ns_per_m: self.pad_damping_ns_per_m,
            pad_pulls: self.pad_pulls,
            motor: self.motor,
            delays: self.delays,
            force_sensor: ForceSensorConfig {
                filter_hz: self.force_filter_hz,
                noise_n: 0.0,
                resolution_n: None,
                range_n: emulated.map_or(DEFAULT_RANGE_N, |e| e.range_n),
                frozen_after_cycles: None,
            },
            load_cells: emulated.map_or_else(Vec::new, |e| e.load_cells.clone()),
            cell_watch: self.cell_watch,
            calibrations: self.calibrations.clone(),
            position_sensor: emulated.map_or(
                PositionSensorConfig {
                    noise_m: 0.0,
                    resolution_m: None,
                },
                |e| e.position_sensor,
            ),
            seed: emulated.map_or(0, |e| e.seed),
            actuator: self.actuator,
            limits: self.limits.clone(),
            safety: self.safety,
            interlocks: Vec::new(),
            homing: emulated.and_then(|e| e.homing),
            specimen: self.specimen,
            mounting: self.mounting.clone(),
        }
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), FieldError> {
        self.model().check_model()?;
        if let Some(n) = self.force_frozen_after_cycles.filter(|n| *n < 5) {
            return Err(FieldError::new(
                "force_frozen_after_cycles",
                format!("is {n}; expected at least 5, or None"),
            ));
        }
        if self.buses.is_empty() {
            return Err(FieldError::new("buses", "are none; expected at least one"));
        }
        for (i, bus) in self.buses.iter().enumerate() {
            let wrong = |problem: String| Err(FieldError::new(format!("buses[{i}].name"), problem));
            let name = bus.name();
            if !is_name(name) {
                return wrong(format!("is '{name}'; {NAME_RULE}"));
            }
            if self.buses[..i].iter().any(|other| other.name() == name) {
                return wrong(format!(
                    "'{name}' stands twice; each bus has a name of its own"
                ));
            }
            bus.check()
                .and_then(|()| bus.check_stop(self.actuator.max_speed_m_per_s))
                .map_err(|e| e.within(&format!("buses[{i}]")))?;
        }
        match self.buses.iter().find(|bus| bus.name() == self.drive) {
            Some(bus) if bus.drives() => {}
            found => {
                let able = self.buses.iter().filter(|bus| bus.drives());
                let able: Vec<&str> = able.map(BusConfig::name).collect();
                let what = found.map_or("is no bus", |_| "drives no motor");
                return Err(FieldError::new(
                    "drive",
                    format!(
                        "'{}' {what}; expected one of: {}",
                        self.drive,
                        able.join(", ")
                    ),
                ));
            }
        }
        self.signals
            .check(&self.buses)
            .map_err(|e| e.within("signals"))?;
        match &self.mounting {
            Some(mounting) => self
                .check_brake(mounting)
                .map_err(|e| e.within("mounting.brake"))?,
            None if self.is_in_process() => {}
            None => {
                return Err(FieldError::new(
                    "mounting",
                    "is not stated; hardware has to say what holds its motor without power. Write for example mounting: \
                     (axis: Vertical, moving_mass_kg: 10.0, brake: (release_s: 0.03, engage_s: 0.03, output: Drive)), or \
                     brake: None if nothing holds it",
                ));
            }
        }
        if self.signals.dead_man.is_some() && self.safety.dead_man_s.is_none() {
            return Err(FieldError::new(
                "signals.dead_man",
                "names a dead man's switch that nothing looks at; give the time for which it may be let go: \
                 safety: (dead_man_s: 0.5)",
            ));
        }
        self.check_emulated()
    }

    /// Whoever operates a brake by an output, or watches its switch, names what exists.
    fn check_brake(&self, mounting: &MountingConfig) -> Result<(), FieldError> {
        let Some(brake) = &mounting.brake else {
            return Ok(());
        };
        if let Some(feedback) = &brake.feedback {
            signals::check_feedback(feedback, &self.buses).map_err(|e| e.within("feedback"))?;
        }
        let BrakeOutput::Output(name) = &brake.output else {
            return Ok(());
        };
        let wrong = |problem: String| Err(FieldError::new("output", problem));
        if signals::find_output(name, &self.buses).is_none() {
            let known: Vec<String> = self.buses.iter().flat_map(BusConfig::outputs).collect();
            return wrong(format!(
                "'{name}' does not exist; the buses have the outputs: {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            ));
        }
        let homes = |bus: &BusConfig| {
            matches!(bus, BusConfig::Ethercat(e) if e.drive.as_ref().is_some_and(|d| d.homing.is_some()))
                || matches!(bus, BusConfig::LinUdp(l) if l.home_bit.is_some())
        };
        if self
            .buses
            .iter()
            .any(|bus| bus.name() == self.drive && homes(bus))
        {
            return wrong(format!(
                "is Output(\"{name}\"), but the drive homes by itself, with power of its own: only the drive can release \
                 the brake then. Wire the brake to the drive and write output: Drive"
            ));
        }
        Ok(())
    }

    fn check_emulated(&self) -> Result<(), FieldError> {
        let Some(emulated) = &self.emulated else {
            return Ok(());
        };
        let ids = |ids: Vec<&str>| ids.join(", ");
        let declared: Vec<&str> = self.signals.cells.iter().map(|c| c.id.as_str()).collect();
        let given: Vec<&str> = emulated.load_cells.iter().map(|c| c.id.as_str()).collect();
        if declared != given {
            return Err(FieldError::new(
                "emulated.load_cells",
                format!(
                    "are '{}'; expected those of signals.cells in their order: '{}'",
                    ids(given),
                    ids(declared)
                ),
            ));
        }
        Ok(())
    }
}

/// Range of an emulated force sensor about which the file says nothing, in N.
const DEFAULT_RANGE_N: f64 = 1000.0;

/// Whether a text can be a part of a channel's identifier.
pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// What [`is_name`] expects.
pub(crate) const NAME_RULE: &str =
    "expected a name of a–z, 0–9 and _, beginning with a letter, for example 'drive'";
