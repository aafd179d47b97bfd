//! A loop on an exact clock with a hardware rig whose devices are emulated in memory: nothing is random, nothing waits.

use crate::{ExactRun, project_root, session_from};
use drivers::emulate::cells_of;
use drivers::emulate::faults::Board;
use drivers::emulate::linudp::Wire;
use drivers::emulate::plant::SharedPlant;
use drivers::emulate::serial::{MemoryDevice, MemoryPort, in_memory};
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::hardware::{BusConfig, BusContext, HardwareConfig, HardwareRig};
use drivers::linudp::{Counters, LinUdp};
use drivers::rig_file::{RigFile, find_cells, rig_pantograph};
use drivers::serial::{Line, SerialBus, SerialConfig};
use rt_core::fault::Action;
use rt_core::file;
use rt_core::guard::{Request, State};
use rt_core::link::EventKind;
use rt_core::no_alloc;
use rt_core::pacing::{Clock, ExactClock};
use rt_core::rig::RigFault;
use rt_core::rig::device::Device;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CONTEXT: BusContext = BusContext {
    period_nanos: 2_000_000,
    catch_up_m_per_s: 0.2,
};

/// Load cells that are always fresh, unless told to be silent.
struct FreshCells {
    plant: SharedPlant,
    readings: Vec<f64>,
    is_silent: Arc<AtomicBool>,
}

impl Bus for FreshCells {
    fn devices(&self) -> Vec<Arc<Device>> {
        Vec::new()
    }

    fn exchange(
        &mut self,
        _: &DriveCommand,
        now: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault> {
        if !self.is_silent.load(Ordering::Relaxed) {
            self.plant.read_cells(now, &mut self.readings);
            for (slot, reading) in inputs.iter_mut().zip(&self.readings) {
                slot.put(*reading, now);
            }
        }
        Ok(())
    }
}

/// A serial bus without threads: between two exchanges line and device are stepped as time passes.
struct SteppedSerial {
    bus: SerialBus,
    line: Line<MemoryPort>,
    device: MemoryDevice,
    until: u64,
}

/// How finely time passes for a line, in ns.
const STEP_NANOS: u64 = 250_000;

impl Bus for SteppedSerial {
    fn devices(&self) -> Vec<Arc<Device>> {
        self.bus.devices()
    }

    fn exchange(
        &mut self,
        told: &DriveCommand,
        now: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault> {
        // Another computer and the thread of the port.
        no_alloc::apart(|| {
            while self.until < now {
                self.until += STEP_NANOS;
                self.device.step(self.until);
                self.line.step(self.until);
            }
        });
        self.bus.exchange(told, now, inputs)
    }

    fn is_following(&self) -> bool {
        self.bus.is_following()
    }
}

/// What stands between loop and drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// A LinUDP drive, cells that are always fresh.
    Udp,
    /// A LinUDP drive, cells on a serial amplifier.
    UdpAndAmplifier,
    /// A LinRS drive, cells that are always fresh.
    LinRs,
}

/// See the module's text.
pub struct LinkBench {
    /// The loop.
    pub run: ExactRun,
    /// Faults of the drive.
    pub drive_faults: Arc<Board>,
    /// Faults of the amplifier.
    pub amplifier_faults: Arc<Board>,
    /// What happened on UDP.
    pub udp: Arc<Counters>,
    /// What happened on the serial line.
    pub serial: Arc<drivers::serial::Counters>,
    /// The plant behind everything.
    pub plant: SharedPlant,
    /// Makes fresh cells silent.
    pub cells_silent: Arc<AtomicBool>,
    /// The time.
    pub clock: ExactClock,
}

/// The rig file that ships for emulation.
pub fn rig_path() -> PathBuf {
    project_root().join("assets/rigs/linmot-udp-serial.ron")
}

/// Its content.
pub fn rig_config() -> HardwareConfig {
    match file::load(&rig_path()) {
        Ok(RigFile::Hardware(config)) => *config,
        other => panic!("{other:?}"),
    }
}

/// A drive on a serial line, in place of that on UDP.
pub const LINRS: &str = r#"(name: "drive", port: "/tmp/pantobench-drive", baud: 921600, timeout_s: 0.02,
    protocol: LinRs(checksum: Sum16))"#;

/// Anything that is written in RON.
pub fn from_ron<T: serde::de::DeserializeOwned>(text: &str) -> T {
    #[derive(serde::Deserialize)]
    #[serde(bound = "T: serde::de::DeserializeOwned")]
    struct Wrapped<T>(T);
    impl<T: serde::de::DeserializeOwned> file::FileContent for Wrapped<T> {
        const KIND: &'static str = "text";
        fn check(&self) -> Result<(), file::FieldError> {
            Ok(())
        }
    }
    let wrapped: Result<Wrapped<T>, _> =
        file::parse(&format!("({text})"), std::path::Path::new("text"));
    wrapped.unwrap_or_else(|e| panic!("{e}")).0
}

impl LinkBench {
    /// A profile on the shipped rig with some changes.
    pub fn new(setup: Setup, change: impl FnOnce(&mut HardwareConfig)) -> Self {
        let bench = "Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 1.0), entry_s: 0.2)";
        Self::with(setup, bench, change)
    }

    /// A bench, and what else a session says, on the shipped rig with some changes.
    pub fn with(setup: Setup, bench: &str, change: impl FnOnce(&mut HardwareConfig)) -> Self {
        let mut config = rig_config();
        if setup == Setup::LinRs {
            config.buses[0] = BusConfig::Serial(from_ron(LINRS));
            // Its answers have no current.
            config.signals.auxiliary.clear();
        }
        change(&mut config);
        config.check().unwrap_or_else(|e| panic!("{e}"));
        let clock = ExactClock::default();
        // Times before the first tick exist, as on a real clock.
        clock.spend(1_000_000_000);
        let pantograph = rig_pantograph(&rig_path()).unwrap_or_else(|e| panic!("{e}"));
        let plant = SharedPlant::new(&config.model(), &pantograph);
        let (drive_faults, amplifier_faults) =
            (Board::of("drive", &[]), Board::of("amplifier", &[]));
        let (mut udp, mut serial) = (Arc::default(), Arc::default());
        let cells_silent = Arc::new(AtomicBool::new(false));
        let stepped =
            |serial_config: &SerialConfig, bus: &BusConfig, number: u16, faults: &Arc<Board>| {
                let cells = cells_of(bus, &config);
                let (device, port) =
                    in_memory(serial_config, cells, plant.clone(), Arc::clone(faults));
                let now = clock.now();
                let (bus, line) = SerialBus::detached(serial_config, number, &CONTEXT, port, now)
                    .unwrap_or_else(|e| panic!("{e}"));
                SteppedSerial {
                    bus,
                    line,
                    device,
                    until: now,
                }
            };
        let mut buses: Vec<Box<dyn Bus>> = Vec::new();
        match &config.buses[0] {
            BusConfig::LinUdp(drive) => {
                let faults = Arc::clone(&drive_faults);
                let wire = Wire::new(drive, plant.clone(), faults, clock.clone());
                let bus = LinUdp::on(wire, drive, 1, CONTEXT.catch_up_m_per_s);
                udp = bus.counters();
                buses.push(Box::new(bus));
            }
            BusConfig::Serial(drive) => {
                let bus = stepped(drive, &config.buses[0], 1, &drive_faults);
                serial = bus.bus.counters();
                buses.push(Box::new(bus));
            }
            #[allow(
                unreachable_patterns,
                reason = "rigs with further buses are tested elsewhere"
            )]
            other => panic!("{other:?}"),
        }
        match (&config.buses[1], setup) {
            (BusConfig::Serial(amplifier), Setup::UdpAndAmplifier) => {
                let bus = stepped(amplifier, &config.buses[1], 2, &amplifier_faults);
                serial = bus.bus.counters();
                buses.push(Box::new(bus));
            }
            _ => buses.push(Box::new(FreshCells {
                plant: plant.clone(),
                readings: Vec::with_capacity(8),
                is_silent: Arc::clone(&cells_silent),
            })),
        }
        let found = find_cells(&rig_path(), None).unwrap_or_else(|e| panic!("{e}"));
        let rig = HardwareRig::assemble(&config, buses, found.cells, Box::new(clock.clone()));
        let session = session_from(&format!(
            r#"Session(title: "link", bench: {bench}, rig: "../assets/rigs/linmot-udp-serial.ron")"#
        ));
        Self {
            run: ExactRun::on(&session, Box::new(rig), clock.clone()),
            drive_faults,
            amplifier_faults,
            udp,
            serial,
            plant,
            cells_silent,
            clock,
        }
    }

    /// Takes the bench to a state as a technician would.
    pub fn enter(&mut self, state: State) {
        match state {
            State::Idle => self.run.cycles(2),
            State::Ready => assert!(self.run.until(State::Ready, 100), "{:?}", self.run.events),
            State::Armed => {
                self.enter(State::Ready);
                self.run.ask(Request::Arm);
                assert!(self.run.until(State::Armed, 5));
                // The drive takes its time to switch on.
                self.run.cycles(20);
            }
            State::Running => {
                self.enter(State::Armed);
                self.run.ask(Request::Run);
                assert!(self.run.until(State::Running, 2000));
                self.run.cycles(200);
            }
            State::Stopping => {
                self.enter(State::Running);
                self.run.ask(Request::Stop);
                assert!(self.run.until(State::Stopping, 5));
            }
            State::Tripped => {
                self.enter(State::Running);
                let silence = drivers::emulate::faults::LinkFault::Lost;
                self.cells_silent.store(true, Ordering::Relaxed);
                self.amplifier_faults.set(silence, true);
                assert!(self.run.until(State::Tripped, 20));
                self.cells_silent.store(false, Ordering::Relaxed);
                self.amplifier_faults.set(silence, false);
                self.run.cycles(5);
            }
            State::Holding => panic!("a stop ends with this rig's drive off"),
        }
        assert_eq!(self.run.state(), state, "{:?}", self.run.events);
    }

    /// What the loop said since a tick: identifiers of faults, and actions of trips.
    pub fn said(&self, since: u64) -> Vec<(u64, String, Option<Action>)> {
        let events = self.run.events.iter().filter(|e| e.seq >= since);
        let words = |fault: rt_core::fault::Fault| fault.describe(&self.run.layout).id;
        events
            .filter_map(|e| match e.kind {
                EventKind::Tripped { fault, action } => Some((e.seq, words(fault), Some(action))),
                EventKind::Warning(fault) => Some((e.seq, words(fault), None)),
                _ => None,
            })
            .collect()
    }

    /// The last tick.
    pub fn seq(&self) -> u64 {
        self.run.frames.last().map_or(0, |f| f.seq)
    }

    /// Whether the motor has power now.
    pub fn is_powered(&self) -> bool {
        self.plant.is_powered(self.clock.now())
    }
}
