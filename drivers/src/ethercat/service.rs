//! The thread that sets a segment up, as often as it takes. The transport belongs to this thread while it works and to
//! the real-time thread while the cycle runs; it goes from one to the other through rings, without a lock.
//!
//! The library can panic when an emergency message comes at the wrong moment: that is contained here and told.

use super::config::EthercatConfig;
use super::counters::Counters;
use super::cyclic::Cyclic;
use super::pdu_io::{Ended, PduIo};
use super::settings::Compared;
use super::setup::{self, Problem, SetUp};
use super::transport::Transport;
use ethercrab::{MainDevice, MainDeviceConfig, PduLoop, PduStorage, RetryBehaviour, Timeouts};
use rt_core::rig::RigFault;
use rt_core::rig::device::Device;
use rtrb::{Consumer, Producer, RingBuffer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Frames of the library that may be underway.
const FRAMES: usize = 16;
/// Longest payload of its frames.
const FRAME_DATA: usize = PduStorage::element_size(1100);
/// Between two set-ups that fail.
const RETRY: Duration = Duration::from_millis(300);
/// How often a ring is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// The real-time side.
pub struct ServiceLink {
    /// Cycles that are ready to run.
    pub ready: Consumer<Box<Cyclic>>,
    /// Cycles that are broken and have to be set up again.
    pub broken: Producer<Box<Cyclic>>,
    /// Why the last set-up failed.
    pub faults: Consumer<RigFault>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Service {
    config: EthercatConfig,
    bus: u16,
    period_nanos: u64,
    counters: Arc<Counters>,
    ready: Producer<Box<Cyclic>>,
    broken: Consumer<Box<Cyclic>>,
    faults: Producer<RigFault>,
    devices: Vec<Arc<Device>>,
    stop: Arc<AtomicBool>,
}

/// The library's parts that outlive a set-up.
struct Library {
    io: PduIo,
    /// `None` only while a set-up runs.
    pdus: Option<PduLoop<'static>>,
}

impl Library {
    /// Its storage has to live for ever; it is made once for each bus.
    fn new() -> Result<Self, String> {
        let storage: &'static PduStorage<FRAMES, FRAME_DATA> =
            Box::leak(Box::new(PduStorage::new()));
        let (tx, rx, pdus) = storage
            .try_split()
            .map_err(|()| "the storage of frames is in use".to_owned())?;
        Ok(Self {
            io: PduIo::new(tx, rx),
            pdus: Some(pdus),
        })
    }

    /// Runs some work with a fresh main device; a panic of the library is contained. Whatever happens, the storage is
    /// ready for the next work.
    fn with<T>(
        &mut self,
        config: MainDeviceConfig,
        work: impl FnOnce(&MainDevice<'static>, &mut PduIo) -> T,
    ) -> Result<T, String> {
        let pdus = self.pdus.take().ok_or("the storage of frames is lost")?;
        let md = MainDevice::new(pdus, timeouts(), config);
        let done = catch_unwind(AssertUnwindSafe(|| work(&md, &mut self.io)));
        // SAFETY: groups live only inside `work`, which is over.
        self.pdus = Some(unsafe { md.release() });
        done.map_err(|cause| {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
            text.unwrap_or("without words").to_owned()
        })
    }
}

fn timeouts() -> Timeouts {
    Timeouts {
        pdu: Duration::from_millis(50),
        eeprom: Duration::from_millis(500),
        // The default of 0 floods the bus.
        wait_loop_delay: Duration::from_millis(1),
        state_transition: Duration::from_secs(3),
        mailbox_echo: Duration::from_millis(500),
        mailbox_response: Duration::from_secs(1),
    }
}

/// Begins to set a segment up in a thread of its own. Each device tells who it is; problems are told by the first, in words.
pub fn start(
    config: &EthercatConfig,
    bus: u16,
    period_nanos: u64,
    transport: Box<dyn Transport>,
    counters: Arc<Counters>,
    devices: Vec<Arc<Device>>,
) -> Result<ServiceLink, String> {
    let (ready_put, ready) = RingBuffer::new(1);
    let (broken, broken_take) = RingBuffer::new(1);
    let (faults_put, faults) = RingBuffer::new(4);
    let stop = Arc::new(AtomicBool::new(false));
    let service = Service {
        config: config.clone(),
        bus,
        period_nanos,
        counters,
        ready: ready_put,
        broken: broken_take,
        faults: faults_put,
        devices,
        stop: Arc::clone(&stop),
    };
    let library = Library::new()?;
    let thread = std::thread::Builder::new()
        .name(format!("ethercat {}", config.name))
        .spawn(move || service.run(library, transport))
        .map_err(|e| format!("the thread that sets the segment up cannot be started: {e}"))?;
    Ok(ServiceLink {
        ready,
        broken,
        faults,
        stop,
        thread: Some(thread),
    })
}

impl Drop for ServiceLink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread itself was contained or is of no consequence any more.
            let _ = thread.join();
        }
    }
}

impl Service {
    fn run(mut self, mut library: Library, mut transport: Box<dyn Transport>) {
        while !self.is_stopped() {
            transport = match self.set_up(&mut library, transport) {
                Ok(cyclic) => {
                    self.tell_problem(None);
                    // There is room: the real-time side has given the last one back.
                    if self.ready.push(Box::new(cyclic)).is_err() {
                        return;
                    }
                    match self.wait_for_broken() {
                        Some(transport) => transport,
                        None => return,
                    }
                }
                Err((transport, problem)) => {
                    self.tell(problem);
                    self.wait(RETRY);
                    transport
                }
            };
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn wait(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_stopped() {
            std::thread::park_timeout(LOOK);
        }
    }

    fn wait_for_broken(&mut self) -> Option<Box<dyn Transport>> {
        while !self.is_stopped() {
            if let Ok(cyclic) = self.broken.pop() {
                return Some(cyclic.into_transport());
            }
            if self.broken.is_abandoned() {
                return None;
            }
            std::thread::park_timeout(LOOK);
        }
        None
    }

    fn tell(&mut self, problem: Problem) {
        // A full ring keeps the older one, which is as good.
        let _ = self.faults.push(problem.fault);
        if !problem.words.is_empty() {
            self.tell_problem(Some(problem.words));
        }
    }

    fn tell_problem(&self, words: Option<String>) {
        if let Some(first) = self.devices.first() {
            first.tell_problem(words);
        }
    }

    fn set_up(
        &mut self,
        library: &mut Library,
        mut transport: Box<dyn Transport>,
    ) -> Result<Cyclic, (Box<dyn Transport>, Problem)> {
        Counters::count(&self.counters.setups);
        let clocks = self.config.clocks.map_or(0, |c| c.static_iterations);
        let md_config = MainDeviceConfig {
            dc_static_sync_iterations: clocks,
            retry_behaviour: RetryBehaviour::Count(3),
        };
        let now = transport.now();
        let (config, bus, period) = (&self.config, self.bus, self.period_nanos);
        let (counters, stop) = (&self.counters, &self.stop);
        let done = library.with(md_config, |md, io| {
            let work = setup::set_up(md, config, bus, period, now);
            io.run(&mut *transport, counters, stop, work)
        });
        let connecting = |words: String| Problem {
            fault: RigFault::Connecting { bus },
            words,
        };
        let problem = match done {
            Ok(Ok(Ok(SetUp {
                plan,
                found,
                settings,
            }))) => {
                for (device, found) in self.devices.iter().zip(&found) {
                    device.tell_identity(found.to_string());
                }
                for (device, settings) in self.devices.iter().zip(settings) {
                    device.tell_settings(settings.into_iter().map(Compared::setting).collect());
                }
                return Cyclic::new(transport, plan, bus, Arc::clone(&self.counters)).map_err(|transport| {
                    let words = format!(
                        "EtherCAT '{}': the cycle does not fit into one frame; use fewer devices or smaller mailboxes",
                        self.config.name
                    );
                    (transport, connecting(words))
                });
            }
            Ok(Ok(Err(problem))) => problem,
            Ok(Err(Ended::Down)) => Problem {
                fault: RigFault::Unplugged { bus },
                words: format!(
                    "EtherCAT '{}': the network interface is down",
                    self.config.name
                ),
            },
            Ok(Err(Ended::Stopped)) => connecting(String::new()),
            Err(panic) => {
                Counters::count(&self.counters.panics);
                connecting(format!(
                    "EtherCAT '{}': the set-up failed inside the library and is tried again: {panic}",
                    self.config.name
                ))
            }
        };
        Err((transport, problem))
    }
}
