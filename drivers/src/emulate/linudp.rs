//! An emulated LinMot drive on a UDP port.

use super::faults::{Board, LinkFault};
use super::linmot::EmulatedDrive;
use super::plant::SharedPlant;
use super::{Emulated, Served};
use crate::linudp::LinUdpConfig;
use crate::linudp::protocol::{LONGEST, Response, read_request, write_response};
use rt_core::pacing::{Clock, RealClock};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much later a late answer is sent, in ns: some cycles.
const LATE_NANOS: u64 = 5_000_000;
/// How long a request is waited for before the drive looks after itself.
const PATIENCE: Duration = Duration::from_millis(1);
/// Late answers that are kept at most.
const MOST_LATE: usize = 64;

/// See the module's text.
pub struct EmulatedLinUdp {
    socket: UdpSocket,
    /// Where datagrams come from that are none of the drive's business.
    stranger: UdpSocket,
    drive: EmulatedDrive,
    faults: Arc<Board>,
    late: Vec<(u64, SocketAddr, [u8; LONGEST], usize)>,
}

impl EmulatedLinUdp {
    /// Binds the drive's port; the drive's address has to be one of this computer.
    pub fn open(config: &LinUdpConfig, plant: SharedPlant, faults: Arc<Board>) -> Result<Self, String> {
        let drive = config.drive();
        let bind = |address: SocketAddr| {
            let socket = UdpSocket::bind(address)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(socket)
        };
        let refuse = |e: std::io::Error| {
            format!(
                "UDP port {drive} cannot be opened ({e}); for emulation drive_address has to be one of this computer, \
                 for example 127.0.0.1"
            )
        };
        Ok(Self {
            socket: bind(drive).map_err(refuse)?,
            stranger: bind(SocketAddr::new(drive.ip(), 0)).map_err(refuse)?,
            drive: EmulatedDrive::new(
                plant,
                Arc::clone(&faults),
                config.zero_m,
                config.is_reversed,
                config.home_bit,
            ),
            faults,
            late: Vec::new(),
        })
    }

    fn answer(&mut self, datagram: &[u8], from: SocketAddr, now: u64) {
        let Ok(request) = read_request(datagram) else {
            return;
        };
        if let Some(control) = request.control {
            self.drive.told(control, request.motion, now);
        }
        let said = self.drive.says(now);
        let response = Response {
            status: said.status,
            state_var: said.state_var,
            position: said.position,
            demand: said.demand,
            current: 0,
            warn: 0,
            error: said.error,
            monitoring: [0; 4],
        };
        let mut out = [0; LONGEST];
        let mut len = write_response(&request, &response, &mut out);
        if self.faults.has(LinkFault::Foreign) {
            // Somebody else's answer looks the same but for a position that would hurt.
            let mut other = out;
            other[12..16].copy_from_slice(&i32::MAX.to_le_bytes());
            self.say(&self.stranger, &other[..len], from);
        }
        if self.faults.has(LinkFault::Lost) {
            return;
        }
        if self.faults.has(LinkFault::Truncated) {
            len /= 3;
        }
        if self.faults.has(LinkFault::Garbage) {
            for (i, byte) in out.iter_mut().enumerate() {
                *byte = byte.wrapping_mul(31).wrapping_add(i as u8 ^ 0xA5);
            }
        }
        if self.faults.has(LinkFault::Late) {
            if self.late.len() < MOST_LATE {
                self.late.push((now + LATE_NANOS, from, out, len));
            }
            return;
        }
        self.say(&self.socket, &out[..len], from);
        if self.faults.has(LinkFault::Duplicate) {
            self.say(&self.socket, &out[..len], from);
        }
    }

    /// Like on a wire, nobody learns whether it arrives.
    fn say(&self, socket: &UdpSocket, bytes: &[u8], to: SocketAddr) {
        let _ = socket.send_to(bytes, to);
    }

    fn say_late(&mut self, now: u64) {
        while let Some(&(due, to, bytes, len)) = self.late.first()
            && due <= now
        {
            self.say(&self.socket, &bytes[..len], to);
            self.late.remove(0);
        }
    }
}

impl Emulated for EmulatedLinUdp {
    fn served(&self) -> Served {
        let address = self.socket.local_addr();
        Served {
            kind: "LinUDP drive",
            address: address.map_or_else(|e| e.to_string(), |a| a.to_string()),
        }
    }

    fn serve(mut self: Box<Self>, stop: &AtomicBool) {
        let mut buffer = [0; 512];
        while !stop.load(Ordering::Acquire) {
            let received = self.socket.recv_from(&mut buffer);
            let now = RealClock.now();
            let is_alive = self.drive.is_alive(now);
            if let (Ok((len, from)), true) = (received, is_alive) {
                self.answer(&buffer[..len], from, now);
            }
            self.say_late(now);
        }
    }
}
