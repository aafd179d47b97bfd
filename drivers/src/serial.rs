//! Serial lines: load-cell amplifiers that send by themselves, and LinMot drives that are asked (LinRS).
//!
//! A thread of the bus owns the port. It reads and parses, opens the port again after it was unplugged, and exchanges
//! samples and requests with the loop through rings, so that the loop never waits for a line.

pub mod amplifier;
pub mod checksum;
pub mod config;
pub mod drive_talk;
pub mod frame;
pub mod linrs;
pub mod port;

pub use config::{Protocol, SerialConfig};

use crate::drive_lock::DriveLock;
use crate::hardware::bus::{Bus, DriveCommand, Slot};
use crate::hardware::{BUS_PRIORITY, BusContext};
use crate::linmot::{DriveSettings, DriveState, Master, Telegram, own_timeout};
use amplifier::{Reader, Values};
use config::MOST_FIELDS;
use drive_talk::DriveTalk;
use port::{Bell, Opener, Tty};
use rt_core::pacing::{Clock, RealClock};
use rt_core::rig::RigFault;
use rt_core::rig::device::{Device, DeviceState};
use rt_core::rt_env::{self, RtRequest};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Samples that the ring to the loop holds.
const RING: usize = 256;
/// How often a port that is not there is tried again, in ms.
const RETRY_MS: i32 = 100;
/// How long the thread waits for bytes before it looks whether it is to end, in ms.
const IDLE_MS: i32 = 50;

/// What happened on the line, readable at any moment.
#[derive(Debug, Default)]
pub struct Counters {
    /// Lines, frames or answers taken.
    pub frames: AtomicU64,
    /// Lines, frames or answers that were damaged.
    pub damaged: AtomicU64,
    /// Samples that the loop did not fetch in time.
    pub dropped: AtomicU64,
    /// How often the port was opened.
    pub opened: AtomicU64,
}

/// What the thread tells the loop.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// When it was measured, in ns.
    t_nanos: u64,
    values: Values,
    /// What a drive says of itself.
    drive: Option<(DriveState, i32)>,
}

/// What loop and thread share besides the rings.
struct Shared {
    is_open: AtomicBool,
    stop: AtomicBool,
    bell: Bell,
    counters: Arc<Counters>,
}

/// See the module's text.
pub struct SerialBus {
    number: u16,
    samples: Consumer<Item>,
    /// Requests to a drive.
    requests: Option<Producer<Telegram>>,
    master: Option<Master>,
    timeout_nanos: u64,
    last_nanos: Option<u64>,
    /// When the port was last seen closed, or the bus was made.
    closed_nanos: u64,
    device: Arc<Device>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Freed when everything else has gone.
    lock: Option<DriveLock>,
}

impl SerialBus {
    /// Starts the thread of the bus; the port may come later.
    pub fn open(config: &SerialConfig, number: u16, context: &BusContext) -> Result<Self, String> {
        let lock = DriveLock::of_port(&config.port)?;
        let path = port::Path {
            path: config.port.clone(),
            baud: config.baud,
        };
        let now = RealClock.now();
        let (mut bus, line) = Self::detached(config, number, context, path, now)?;
        let thread = std::thread::Builder::new()
            .name(format!("pantobench-{}", config.name))
            .spawn(move || line.serve())
            .map_err(|e| format!("its thread cannot be started: {e}"))?;
        bus.thread = Some(thread);
        bus.lock = Some(lock);
        Ok(bus)
    }

    /// A bus whose line has no thread: whoever has it steps it, on any clock.
    pub fn detached<O: Opener>(
        config: &SerialConfig,
        number: u16,
        context: &BusContext,
        opener: O,
        now: u64,
    ) -> Result<(Self, Line<O>), String> {
        let shared = Arc::new(Shared {
            is_open: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bell: Bell::new().map_err(|e| format!("no event descriptor: {e}"))?,
            counters: Arc::default(),
        });
        let (give_samples, samples) = RingBuffer::new(RING);
        let (give_requests, requests) = RingBuffer::new(RING);
        let timeout_nanos = (config.timeout_s * 1e9) as u64;
        let amplifier = |reader: Reader, start: &[u8]| Talk::Amplifier {
            reader,
            start: start.to_vec(),
        };
        let (talk, master) = match &config.protocol {
            Protocol::Ascii(a) => (amplifier(Reader::ascii(a), a.start.as_bytes()), None),
            Protocol::Binary(b) => (amplifier(Reader::binary(b), &b.start), None),
            Protocol::LinRs(drive) => {
                let master = Master::new(DriveSettings {
                    bus: number,
                    zero_m: drive.zero_m,
                    is_reversed: drive.is_reversed,
                    home_bit: drive.home_bit,
                    n_com: drive.n_com,
                    timeout_nanos,
                    enable_nanos: (drive.enable_s * 1e9) as u64,
                    home_nanos: (drive.home_s * 1e9) as u64,
                    catch_up_m_per_s: context.catch_up_m_per_s,
                });
                let talk = DriveTalk::new(drive.clone(), requests, timeout_nanos / 2);
                let talk = Talk::Drive(talk);
                (talk, Some(master))
            }
        };
        let line = Line {
            opener,
            port: None,
            next_try: 0,
            latency_nanos: (config.latency_s * 1e9) as u64,
            talk,
            samples: give_samples,
            shared: Arc::clone(&shared),
        };
        let device = Device::new(format!("{} at {}", config.kind(), config.port));
        if let Protocol::LinRs(drive) = &config.protocol {
            device.tell_settings(vec![own_timeout(drive.drive_timeout_s, "LinRS")]);
        }
        let bus = Self {
            number,
            samples,
            requests: master.is_some().then_some(give_requests),
            master,
            timeout_nanos,
            last_nanos: None,
            closed_nanos: now,
            device,
            shared,
            thread: None,
            lock: None,
        };
        Ok((bus, line))
    }

    /// What happened on the line.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    fn take(&mut self, item: &Item, now: u64, inputs: &mut [Slot]) {
        self.last_nanos = Some(now);
        let mut values = item.values;
        if let (Some(master), Some((state, counts))) = (&mut self.master, item.drive) {
            master.answered(state, counts, now);
            values[0] = master.metres(counts);
        }
        for (slot, value) in inputs.iter_mut().zip(values) {
            slot.put(value, item.t_nanos);
        }
    }

    fn verdict(&mut self, now: u64) -> Result<(), RigFault> {
        if !self.shared.is_open.load(Ordering::Acquire) {
            self.closed_nanos = now;
            return Err(RigFault::Unplugged { bus: self.number });
        }
        // After the port was closed, silence counts from when it is open again.
        let heard = self.last_nanos.filter(|last| *last >= self.closed_nanos);
        let silent = now.saturating_sub(heard.unwrap_or(self.closed_nanos));
        if silent > self.timeout_nanos {
            return Err(RigFault::Timeout {
                bus: self.number,
                silent_us: u32::try_from(silent / 1000).unwrap_or(u32::MAX),
                limit_us: u32::try_from(self.timeout_nanos / 1000).unwrap_or(u32::MAX),
            });
        }
        if heard.is_none() {
            return Err(RigFault::Connecting { bus: self.number });
        }
        self.master.as_ref().map_or(Ok(()), |m| m.verdict(now))
    }
}

impl Bus for SerialBus {
    fn devices(&self) -> Vec<Arc<Device>> {
        vec![Arc::clone(&self.device)]
    }

    fn exchange(
        &mut self,
        told: &DriveCommand,
        now_nanos: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault> {
        // No more than the ring holds: the thread goes on filling it meanwhile.
        for _ in 0..RING {
            let Ok(item) = self.samples.pop() else { break };
            self.take(&item, now_nanos, inputs);
        }
        if let (Some(master), Some(requests)) = (&mut self.master, &mut self.requests) {
            let telegram = master.telegram(told, now_nanos);
            // A thread that does not fetch requests is seen by the missing answers.
            let _ = requests.push(telegram);
            self.shared.bell.ring();
        }
        let verdict = self.verdict(now_nanos);
        let state = match verdict {
            Err(RigFault::Connecting { .. }) => DeviceState::Starting,
            Err(RigFault::Unplugged { .. } | RigFault::Timeout { .. }) => DeviceState::NotAnswering,
            _ if self.master.as_ref().is_some_and(Master::is_enabled) => DeviceState::Powered,
            _ => DeviceState::Operational,
        };
        self.device.note(state, false);
        let damaged = self.shared.counters.damaged.load(Ordering::Relaxed);
        self.device.rejected.store(damaged, Ordering::Relaxed);
        verdict
    }

    fn is_following(&self) -> bool {
        self.master.as_ref().is_some_and(Master::is_enabled)
    }
}

impl Drop for SerialBus {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.bell.ring();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed the port: nothing is left to do.
            let _ = thread.join();
        }
    }
}

impl SerialConfig {
    fn kind(&self) -> &'static str {
        match self.protocol {
            Protocol::Ascii(_) | Protocol::Binary(_) => "Force amplifier",
            Protocol::LinRs(_) => "LinMot drive",
        }
    }
}

/// What is said on the line.
enum Talk {
    Amplifier { reader: Reader, start: Vec<u8> },
    Drive(DriveTalk),
}

/// The thread's side of a bus.
pub struct Line<O: Opener> {
    opener: O,
    port: Option<O::Port>,
    /// When a port that is not there is tried again.
    next_try: u64,
    latency_nanos: u64,
    talk: Talk,
    samples: Producer<Item>,
    shared: Arc<Shared>,
}

impl<O: Opener> Line<O> {
    fn serve(mut self) {
        // Without these rights it works too, less punctually; what is missing is told for the loop already.
        let _rights = rt_env::request(RtRequest {
            priority: BUS_PRIORITY,
            cpu: None,
        });
        while !self.shared.stop.load(Ordering::Acquire) {
            self.step(RealClock.now());
            let (fd, patience) = match &self.port {
                Some(port) => (port.fd(), IDLE_MS),
                None => (None, RETRY_MS),
            };
            self.shared.bell.wait(fd, patience);
        }
        self.switch_off();
    }

    /// The loop has told a drive to be off before it ends; should it have ended in any other way, it is told now.
    fn switch_off(&mut self) {
        if let (Talk::Drive(talk), Some(port)) = (&self.talk, &mut self.port) {
            let mut out = [0; linrs::LONGEST];
            let len = talk.say_off(&mut out);
            // A port that is gone has no drive to be told.
            let _ = port.write(&out[..len]);
        }
    }

    /// Reads what is there and says what is to be said; opens the port if it is not there. Never waits.
    pub fn step(&mut self, now: u64) {
        if self.port.is_none() && now >= self.next_try {
            self.next_try = now + RETRY_MS as u64 * 1_000_000;
            self.port = self.opener.open().ok();
            if self.port.is_some() {
                self.shared.counters.opened.fetch_add(1, Ordering::Relaxed);
                self.begin();
            }
        }
        let is_open = self.talk(now).is_ok();
        if !is_open {
            self.port = None;
        }
        self.shared.is_open.store(is_open, Ordering::Release);
    }

    /// A port was opened: nothing from before is of use.
    fn begin(&mut self) {
        match &mut self.talk {
            Talk::Amplifier { reader, start } => {
                reader.clear();
                if let Some(port) = &mut self.port {
                    // If that fails, so does the next read.
                    let _ = port.write(start);
                }
            }
            Talk::Drive(talk) => talk.begin(),
        }
    }

    fn talk(&mut self, now: u64) -> std::io::Result<()> {
        let Some(mut port) = self.port.take() else {
            if let Talk::Drive(talk) = &mut self.talk {
                talk.forget_wishes();
            }
            return Err(std::io::ErrorKind::NotConnected.into());
        };
        let mut buffer = [0; 512];
        let len = port.read(&mut buffer)?;
        self.take(&buffer[..len], now);
        self.ask(&mut port, now)?;
        self.port = Some(port);
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], now: u64) {
        let Self {
            talk,
            samples,
            shared,
            latency_nanos,
            ..
        } = self;
        let counters = &shared.counters;
        let mut give = |item: Item| {
            counters.frames.fetch_add(1, Ordering::Relaxed);
            if samples.push(item).is_err() {
                counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
        };
        match talk {
            Talk::Amplifier { reader, .. } => {
                for &byte in bytes {
                    reader.push(byte, |values| {
                        give(Item {
                            t_nanos: now.saturating_sub(*latency_nanos),
                            values: *values,
                            drive: None,
                        });
                    });
                }
                counters.damaged.store(reader.damaged(), Ordering::Relaxed);
            }
            Talk::Drive(talk) => {
                for &byte in bytes {
                    if let Some((response, t_nanos)) = talk.hear(byte, now) {
                        give(drive_item(&response, t_nanos));
                    }
                }
                counters.damaged.store(talk.unusable(), Ordering::Relaxed);
            }
        }
    }

    /// Says to a drive what is to be said now.
    fn ask(&mut self, port: &mut O::Port, now: u64) -> std::io::Result<()> {
        let Talk::Drive(talk) = &mut self.talk else {
            return Ok(());
        };
        let mut out = [0; linrs::LONGEST];
        match talk.say(now, &mut out) {
            0 => Ok(()),
            len => port.write(&out[..len]),
        }
    }
}

fn drive_item(response: &linrs::Response, t_nanos: u64) -> Item {
    let mut values = [0.0; MOST_FIELDS];
    values[1] = f64::from(response.status);
    values[2] = f64::from(response.state_var);
    Item {
        t_nanos,
        values,
        drive: Some((response.drive_state(), response.position)),
    }
}
