//! Emulated devices behind the sockets and ports that a hardware rig file names, all on one simulated plant.
//!
//! The rig side does not know the difference: the same driver speaks to a device or to its emulation.

pub mod ethercat;
pub mod faults;
mod homing;
mod linmot;
pub mod linudp;
pub mod plant;
mod pty;
pub mod serial;

use crate::ethercat::Port;
use crate::hardware::{BusConfig, HardwareConfig};
use ethercat::served::EmulatedSegment;
use faults::{Board, Planned};
use linudp::EmulatedLinUdp;
use plant::SharedPlant;
use rt_core::model::pantograph::Pantograph;
use rt_core::rt_env::{self, RtRequest};
use serial::EmulatedSerial;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// SCHED_FIFO priority of emulated devices: below loop and buses, which may be on the same computer.
const DEVICE_PRIORITY: u8 = 60;

/// Where an emulated device is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// What it is.
    pub kind: &'static str,
    /// Its address, port or interface.
    pub address: String,
}

/// An emulated device, set up and ready to be served by a thread of its own.
pub trait Emulated: Send {
    /// Where it is found.
    fn served(&self) -> Served;
    /// Answers until told to stop; it looks for that at least every 100 ms.
    fn serve(self: Box<Self>, stop: &AtomicBool);
}

/// The emulated device of one bus.
pub struct Device {
    /// The bus's name in the rig file.
    pub bus: String,
    /// Where it is found.
    pub served: Served,
    /// Its faults.
    pub faults: Arc<Board>,
    thread: Option<JoinHandle<()>>,
}

/// All devices of a rig. Dropping it ends them.
pub struct Emulator {
    /// The plant behind them.
    pub plant: SharedPlant,
    /// The devices, in the order of the buses.
    pub devices: Vec<Device>,
    stop: Arc<AtomicBool>,
}

/// Why a rig cannot be emulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmulateError {
    /// A device cannot be set up.
    #[error("bus '{bus}' cannot be emulated: {problem}")]
    Device {
        /// The bus.
        bus: String,
        /// Why, and what to do.
        problem: String,
    },
    /// A fault is planned for a bus that does not exist.
    #[error("there is no bus '{bus}' to inject a fault into; the rig has: {known}")]
    NoSuchBus {
        /// The name that was given.
        bus: String,
        /// Those that exist.
        known: String,
    },
}

impl Emulator {
    /// Starts a thread for each bus of a rig file that has been checked.
    pub fn start(
        config: &HardwareConfig,
        pantograph: &Pantograph,
        planned: &[Planned],
    ) -> Result<Self, EmulateError> {
        let is_known = |p: &&Planned| config.buses.iter().any(|bus| bus.name() == p.bus);
        if let Some(unknown) = planned.iter().find(|p| !is_known(p)) {
            let known: Vec<&str> = config.buses.iter().map(BusConfig::name).collect();
            return Err(EmulateError::NoSuchBus {
                bus: unknown.bus.clone(),
                known: known.join(", "),
            });
        }
        let plant = SharedPlant::new(&config.model(), pantograph);
        let mut emulator = Self {
            devices: Vec::new(),
            stop: Arc::default(),
            plant,
        };
        for bus in &config.buses {
            let faults = Board::of(bus.name(), planned);
            let refuse = |problem: String| EmulateError::Device {
                bus: bus.name().to_owned(),
                problem,
            };
            let plant = emulator.plant.clone();
            let device = emulated(bus, config, plant, Arc::clone(&faults)).map_err(refuse)?;
            let served = device.served();
            let stop = Arc::clone(&emulator.stop);
            let thread = std::thread::Builder::new()
                .name(format!("emulated-{}", bus.name()))
                .spawn(move || {
                    rt_env::flush_denormals();
                    // A device that is late is no rig; without the rights it is one on a calm computer.
                    let _rights = rt_env::request(RtRequest {
                        priority: DEVICE_PRIORITY,
                        cpu: None,
                    });
                    device.serve(&stop);
                })
                .map_err(|e| refuse(format!("its thread cannot be started: {e}")))?;
            emulator.devices.push(Device {
                bus: bus.name().to_owned(),
                served,
                faults,
                thread: Some(thread),
            });
        }
        Ok(emulator)
    }

    /// The faults of a bus.
    pub fn faults(&self, bus: &str) -> Option<&Board> {
        let device = self.devices.iter().find(|d| d.bus == bus)?;
        Some(&device.faults)
    }

    /// Whether a device has come to its end, which none does by itself.
    pub fn has_ended(&self) -> bool {
        let threads = self.devices.iter().filter_map(|d| d.thread.as_ref());
        threads.into_iter().any(JoinHandle::is_finished)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.devices.iter_mut().filter_map(|d| d.thread.take()) {
            // One that panicked has nothing left to end.
            let _ = thread.join();
        }
    }
}

/// The emulation of a bus.
fn emulated(
    bus: &BusConfig,
    rig: &HardwareConfig,
    plant: SharedPlant,
    faults: Arc<Board>,
) -> Result<Box<dyn Emulated>, String> {
    Ok(match bus {
        BusConfig::LinUdp(config) => Box::new(EmulatedLinUdp::open(config, plant, faults)?),
        BusConfig::Ethercat(config) => match &config.port {
            Port::Interface(name) => {
                Box::new(EmulatedSegment::open(config, name, rig, plant, faults)?)
            }
            Port::InProcess => {
                return Err("it is emulated inside the program that runs the rig; name an interface in 'port'".into());
            }
        },
        BusConfig::Serial(config) => {
            let cells = cells_of(bus, rig);
            Box::new(EmulatedSerial::open(config, cells, plant, faults)?)
        }
    })
}

/// Which load cell of the rig each input of a bus shows.
pub fn cells_of(bus: &BusConfig, rig: &HardwareConfig) -> Vec<Option<usize>> {
    let cell = |input: &String| {
        let name = format!("{}.{input}", bus.name());
        rig.signals.cells.iter().position(|cell| cell.input == name)
    };
    bus.inputs().iter().map(cell).collect()
}
