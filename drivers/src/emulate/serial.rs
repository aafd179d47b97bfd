//! Emulated devices on serial lines: an amplifier that sends by itself, and a LinMot drive that answers.

use super::faults::{Board, LinkFault};
use super::linmot::EmulatedDrive;
use super::plant::SharedPlant;
use super::pty::Pty;
use super::{Emulated, Served};
use crate::serial::amplifier::{write_frame, write_line};
use crate::serial::config::{Protocol, SerialConfig};
use crate::serial::frame::Window;
use crate::serial::linrs::{self, LinRsConfig};
use rt_core::pacing::{Clock, RealClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often an emulated amplifier sends, in ns.
const SEND_NANOS: u64 = 1_000_000;
/// How much later a late answer of a drive is sent, in ms.
const LATE_NANOS: u64 = 5_000_000;

/// The line of a device, which can be out.
struct Cable {
    path: PathBuf,
    pty: Option<Pty>,
    faults: Arc<Board>,
}

impl Cable {
    fn open(path: &str, faults: Arc<Board>) -> Result<Self, String> {
        let path = Path::new(path).to_owned();
        let pty = Some(Pty::open(&path)?);
        Ok(Self { path, pty, faults })
    }

    /// The line, if it is plugged in and its device has power.
    fn plugged(&mut self) -> Option<&mut Pty> {
        if self.faults.has(LinkFault::Unplugged) {
            self.pty = None;
        } else if self.pty.is_none() {
            // If it cannot be made now, it is tried again.
            self.pty = Pty::open(&self.path).ok();
        }
        let has_power = !self.faults.has(LinkFault::PowerLoss);
        self.pty.as_mut().filter(|_| has_power)
    }

    /// Sends bytes, or what the faults make of them. `checksum` is whether they carry one.
    fn send(&mut self, bytes: &mut Vec<u8>) {
        if self.faults.has(LinkFault::Lost) {
            return;
        }
        if self.faults.has(LinkFault::Truncated) {
            bytes.truncate(bytes.len() / 2);
        }
        if self.faults.has(LinkFault::WrongChecksum)
            && let Some(middle) = bytes.len().checked_sub(3)
        {
            bytes[middle] ^= 0x40;
        }
        if self.faults.has(LinkFault::Garbage) {
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = byte.wrapping_mul(31).wrapping_add(i as u8 ^ 0xA5);
            }
        }
        let twice = self.faults.has(LinkFault::Duplicate);
        if let Some(pty) = self.plugged() {
            pty.write(bytes);
            if twice {
                pty.write(bytes);
            }
        }
    }
}

/// An amplifier whose fields are load cells of the rig.
pub struct EmulatedAmplifier {
    cable: Cable,
    protocol: Protocol,
    /// Which cell each field shows; `None`: none, it is 1.
    cells: Vec<Option<usize>>,
    plant: SharedPlant,
}

impl EmulatedAmplifier {
    /// `cells` names the load cell of each field.
    pub fn open(
        config: &SerialConfig,
        cells: Vec<Option<usize>>,
        plant: SharedPlant,
        faults: Arc<Board>,
    ) -> Result<Self, String> {
        Ok(Self {
            cable: Cable::open(&config.port, faults)?,
            protocol: config.protocol.clone(),
            cells,
            plant,
        })
    }
}

impl Emulated for EmulatedAmplifier {
    fn served(&self) -> Served {
        Served {
            kind: "force amplifier",
            address: self.cable.path.display().to_string(),
        }
    }

    fn serve(mut self: Box<Self>, stop: &AtomicBool) {
        let mut clock = RealClock;
        let mut next = clock.now();
        let (mut readings, mut bytes, mut rubbish) = (Vec::new(), Vec::new(), [0; 64]);
        while !stop.load(Ordering::Acquire) {
            next = (next + SEND_NANOS).max(clock.now().saturating_sub(SEND_NANOS));
            clock.sleep_until(next);
            if !self.cable.faults.has(LinkFault::Stuck) {
                self.plant.read_cells(clock.now(), &mut readings);
            }
            let shown = |cell: &Option<usize>| cell.map_or(1.0, |i| readings.get(i).copied().unwrap_or(0.0));
            let values: Vec<f64> = self.cells.iter().map(shown).collect();
            bytes.clear();
            match &self.protocol {
                Protocol::Ascii(config) => write_line(config, &values, &mut bytes),
                Protocol::Binary(config) => write_frame(config, &values, &mut bytes),
                Protocol::LinRs(_) => return,
            }
            self.cable.send(&mut bytes);
            // Whatever it is told, it goes on sending.
            if let Some(pty) = self.cable.plugged() {
                pty.read(&mut rubbish, 0);
            }
        }
    }
}

/// A LinMot drive on a line.
pub struct EmulatedLinRs {
    cable: Cable,
    config: LinRsConfig,
    drive: EmulatedDrive,
}

impl EmulatedLinRs {
    /// A drive that was just switched on.
    pub fn open(
        port: &str,
        config: &LinRsConfig,
        plant: SharedPlant,
        faults: Arc<Board>,
    ) -> Result<Self, String> {
        Ok(Self {
            cable: Cable::open(port, Arc::clone(&faults))?,
            drive: EmulatedDrive::new(plant, faults, config.zero_m, config.is_reversed, config.home_bit),
            config: config.clone(),
        })
    }
}

impl Emulated for EmulatedLinRs {
    fn served(&self) -> Served {
        Served {
            kind: "LinRS drive",
            address: self.cable.path.display().to_string(),
        }
    }

    fn serve(mut self: Box<Self>, stop: &AtomicBool) {
        let mut clock = RealClock;
        let (mut window, mut buffer) = (Window::default(), [0; 256]);
        while !stop.load(Ordering::Acquire) {
            let is_alive = self.drive.is_alive(clock.now());
            let Some(pty) = self.cable.plugged() else {
                let later = clock.now() + SEND_NANOS;
                clock.sleep_until(later);
                continue;
            };
            let len = pty.read(&mut buffer, 1);
            let mut requests = Vec::new();
            for &byte in &buffer[..len] {
                let look = |bytes: &[u8]| self.config.look_for_request(bytes);
                window.push(byte, look, |frame| requests.extend(linrs::read_request(frame)));
            }
            for request in requests.into_iter().filter(|_| is_alive) {
                let now = clock.now();
                let motion = Some((request.header, request.position));
                self.drive.told(request.control, motion, now);
                let said = self.drive.says(now);
                let response = linrs::Response {
                    status: said.status,
                    state_var: said.state_var,
                    position: said.position,
                    demand: said.demand,
                    current: 0,
                    error: said.error,
                };
                let mut out = [0; linrs::LONGEST];
                let len = self.config.write_response(&response, &mut out);
                if self.cable.faults.has(LinkFault::Late) {
                    let later = clock.now() + LATE_NANOS;
                    clock.sleep_until(later);
                }
                self.cable.send(&mut out[..len].to_vec());
            }
        }
    }
}
