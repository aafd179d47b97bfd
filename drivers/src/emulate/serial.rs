//! Emulated devices on serial lines: an amplifier that sends by itself, and a LinMot drive that answers. On a
//! pseudo-terminal, or on a line in memory on any clock.

use super::faults::{Board, LinkFault};
use super::linmot::EmulatedDrive;
use super::plant::SharedPlant;
use super::pty::Pty;
use super::{Emulated, Served};
use crate::serial::amplifier::{write_frame, write_line};
use crate::serial::config::{Protocol, SerialConfig};
use crate::serial::frame::Window;
use crate::serial::linrs::{self, LinRsConfig};
use crate::serial::port::{Opener, Tty};
use rt_core::pacing::{Clock, RealClock};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often an emulated amplifier sends, in ns.
const SEND_NANOS: u64 = 1_000_000;
/// How much later a late answer of a drive is sent, in ns.
const LATE_NANOS: u64 = 5_000_000;

/// A device at the end of a line.
trait Device: Send {
    /// Hears bytes and says some, at a time.
    fn step(&mut self, now: u64, heard: &[u8], say: &mut Vec<u8>);
}

/// An amplifier whose fields are load cells of the rig.
struct Amplifier {
    protocol: Protocol,
    /// Which cell each field shows; `None`: none, it is 1.
    cells: Vec<Option<usize>>,
    plant: SharedPlant,
    faults: Arc<Board>,
    readings: Vec<f64>,
    next: u64,
}

impl Device for Amplifier {
    /// Whatever it is told, it goes on sending.
    fn step(&mut self, now: u64, _heard: &[u8], say: &mut Vec<u8>) {
        if now < self.next {
            return;
        }
        // Nothing is made up for after a pause.
        self.next = (self.next + SEND_NANOS).max(now.saturating_sub(SEND_NANOS));
        if !self.faults.has(LinkFault::Stuck) {
            self.plant.read_cells(now, &mut self.readings);
        }
        let reading = |i: usize| self.readings.get(i).copied().unwrap_or(0.0);
        let values: Vec<f64> = self.cells.iter().map(|c| c.map_or(1.0, reading)).collect();
        let mut frame = Vec::new();
        match &self.protocol {
            Protocol::Ascii(config) => write_line(config, &values, &mut frame),
            Protocol::Binary(config) => write_frame(config, &values, &mut frame),
            Protocol::LinRs(_) => {}
        }
        damage(&self.faults, frame, say);
    }
}

/// A LinMot drive.
struct LinRs {
    config: LinRsConfig,
    drive: EmulatedDrive,
    /// The last control word: motion commands come without one.
    control: u16,
    faults: Arc<Board>,
    window: Window,
    /// Answers that are not sent yet, and when they are.
    late: Vec<(u64, Vec<u8>)>,
}

impl Device for LinRs {
    fn step(&mut self, now: u64, heard: &[u8], say: &mut Vec<u8>) {
        let mut requests = Vec::new();
        for &byte in heard {
            let look = |bytes: &[u8]| self.config.look_for_request(bytes);
            self.window.push(byte, look, |frame| {
                requests.extend(linrs::read_request(frame))
            });
        }
        let is_alive = self.drive.is_alive(now);
        if !is_alive {
            self.control = 0;
        }
        for request in requests.into_iter().filter(|_| is_alive) {
            let motion = match request {
                linrs::Request::Control(word) => {
                    self.control = word;
                    None
                }
                linrs::Request::Motion { header, position } => Some((header, position)),
            };
            self.drive.told(self.control, motion, now);
            let said = self.drive.says(now);
            let response = linrs::Response {
                communication: 0,
                status: said.status,
                state_var: said.state_var,
                position: said.position,
            };
            let mut out = [0; linrs::LONGEST];
            let len = self.config.write_response(&response, &mut out);
            let is_late = self.faults.has(LinkFault::Late);
            let due = now + if is_late { LATE_NANOS } else { 0 };
            self.late.push((due, out[..len].to_vec()));
        }
        while self.late.first().is_some_and(|(due, _)| *due <= now) {
            let (_, frame) = self.late.remove(0);
            damage(&self.faults, frame, say);
        }
    }
}

/// Says a frame, or what the faults make of it.
fn damage(faults: &Board, mut frame: Vec<u8>, say: &mut Vec<u8>) {
    if faults.has(LinkFault::Lost) {
        return;
    }
    if faults.has(LinkFault::Truncated) {
        frame.truncate(frame.len() / 2);
    }
    if faults.has(LinkFault::WrongChecksum) {
        let at = frame.len().saturating_sub(4);
        if let Some(byte) = frame.get_mut(at) {
            *byte ^= 0x40;
        }
    }
    if faults.has(LinkFault::Garbage) {
        for (i, byte) in frame.iter_mut().enumerate() {
            *byte = byte.wrapping_mul(31).wrapping_add(i as u8 ^ 0xA5);
        }
    }
    say.extend_from_slice(&frame);
    if faults.has(LinkFault::Duplicate) {
        say.extend_from_slice(&frame);
    }
}

/// The device that a configuration describes; `cells` names the load cell of each field of an amplifier.
fn device(
    config: &SerialConfig,
    cells: Vec<Option<usize>>,
    plant: SharedPlant,
    faults: Arc<Board>,
) -> Box<dyn Device> {
    match &config.protocol {
        Protocol::LinRs(drive) => Box::new(LinRs {
            config: drive.clone(),
            drive: EmulatedDrive::new(
                plant,
                Arc::clone(&faults),
                drive.zero_m,
                drive.is_reversed,
                drive.home_bit,
                drive.drive_timeout_s,
            ),
            control: 0,
            faults,
            window: Window::default(),
            late: Vec::new(),
        }),
        protocol => Box::new(Amplifier {
            protocol: protocol.clone(),
            cells,
            plant,
            faults,
            readings: Vec::new(),
            next: 0,
        }),
    }
}

/// A device on a pseudo-terminal.
pub struct EmulatedSerial {
    path: PathBuf,
    kind: &'static str,
    /// `None` while the cable is out.
    pty: Option<Pty>,
    device: Box<dyn Device>,
    faults: Arc<Board>,
}

impl EmulatedSerial {
    /// Makes the port; `cells` names the load cell of each field of an amplifier.
    pub fn open(
        config: &SerialConfig,
        cells: Vec<Option<usize>>,
        plant: SharedPlant,
        faults: Arc<Board>,
    ) -> Result<Self, String> {
        let path = Path::new(&config.port).to_owned();
        Ok(Self {
            pty: Some(Pty::open(&path)?),
            path,
            kind: if config.drives() {
                "LinRS drive"
            } else {
                "force amplifier"
            },
            device: device(config, cells, plant, Arc::clone(&faults)),
            faults,
        })
    }
}

impl Emulated for EmulatedSerial {
    fn served(&self) -> Served {
        Served {
            kind: self.kind,
            address: self.path.display().to_string(),
        }
    }

    fn serve(mut self: Box<Self>, stop: &AtomicBool) {
        let mut clock = RealClock;
        let (mut heard, mut say) = ([0; 256], Vec::new());
        while !stop.load(Ordering::Acquire) {
            if self.faults.has(LinkFault::Unplugged) {
                self.pty = None;
            } else if self.pty.is_none() {
                // If it cannot be made now, it is tried again.
                self.pty = Pty::open(&self.path).ok();
            }
            let len = match &mut self.pty {
                Some(pty) => pty.read(&mut heard, SEND_NANOS),
                None => {
                    let later = clock.now() + SEND_NANOS;
                    clock.sleep_until(later);
                    0
                }
            };
            say.clear();
            self.device.step(clock.now(), &heard[..len], &mut say);
            if let Some(pty) = self
                .pty
                .as_mut()
                .filter(|_| !self.faults.has(LinkFault::PowerLoss))
            {
                pty.write(&say);
            }
        }
    }
}

/// What is on a line in memory.
#[derive(Default)]
struct Bytes {
    to_device: Vec<u8>,
    from_device: Vec<u8>,
    is_plugged: bool,
}

#[expect(
    clippy::disallowed_types,
    reason = "a line in memory stands in for a device in tests; no real-time thread is involved"
)]
type SharedBytes = Arc<std::sync::Mutex<Bytes>>;

fn with<T>(bytes: &SharedBytes, work: impl FnOnce(&mut Bytes) -> T) -> T {
    work(
        &mut bytes
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()),
    )
}

/// The device's end of a line in memory.
pub struct MemoryDevice {
    device: Box<dyn Device>,
    faults: Arc<Board>,
    bytes: SharedBytes,
}

/// The rig's end of a line in memory.
pub struct MemoryPort(SharedBytes);

/// A device and a line to it in memory, on any clock.
pub fn in_memory(
    config: &SerialConfig,
    cells: Vec<Option<usize>>,
    plant: SharedPlant,
    faults: Arc<Board>,
) -> (MemoryDevice, MemoryPort) {
    let bytes = SharedBytes::default();
    let device = MemoryDevice {
        device: device(config, cells, plant, Arc::clone(&faults)),
        faults,
        bytes: Arc::clone(&bytes),
    };
    (device, MemoryPort(bytes))
}

impl MemoryDevice {
    /// Lets the device hear and say what it does at a time.
    pub fn step(&mut self, now: u64) {
        let is_plugged = !self.faults.has(LinkFault::Unplugged);
        let heard = with(&self.bytes, |bytes| {
            bytes.is_plugged = is_plugged;
            std::mem::take(&mut bytes.to_device)
        });
        let mut say = Vec::new();
        self.device.step(now, &heard, &mut say);
        if is_plugged && !self.faults.has(LinkFault::PowerLoss) {
            with(&self.bytes, |bytes| bytes.from_device.extend(say));
        }
    }
}

impl Opener for MemoryPort {
    type Port = MemoryPort;

    fn open(&mut self) -> io::Result<MemoryPort> {
        with(&self.0, |bytes| {
            bytes.from_device.clear();
            if bytes.is_plugged {
                Ok(())
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        })
        .map(|()| MemoryPort(Arc::clone(&self.0)))
    }
}

impl Tty for MemoryPort {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        with(&self.0, |bytes| {
            if !bytes.is_plugged {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let len = buffer.len().min(bytes.from_device.len());
            for (to, from) in buffer.iter_mut().zip(bytes.from_device.drain(..len)) {
                *to = from;
            }
            Ok(len)
        })
    }

    fn write(&mut self, out: &[u8]) -> io::Result<()> {
        with(&self.0, |bytes| bytes.to_device.extend_from_slice(out));
        Ok(())
    }
}
