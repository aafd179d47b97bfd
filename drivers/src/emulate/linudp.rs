//! An emulated LinMot drive on a UDP port, or without any socket on any clock.

use super::faults::{Board, LinkFault};
use super::linmot::EmulatedDrive;
use super::plant::SharedPlant;
use super::{Emulated, Served};
use crate::linudp::LinUdpConfig;
use crate::linudp::protocol::{LONGEST, Response, read_request, write_response};
use crate::linudp::transport::{Buffer, Received, Transport};
use rt_core::pacing::{Clock, RealClock};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much later a late answer is sent, in ns: some cycles.
const LATE_NANOS: u64 = 5_000_000;
/// How long a request is waited for before the drive looks after itself.
const PATIENCE: Duration = Duration::from_millis(1);
/// Datagrams that are under way at most.
const MOST_UNDER_WAY: usize = 64;

/// A datagram on its way.
#[derive(Clone, Copy)]
struct Datagram {
    due: u64,
    bytes: [u8; LONGEST],
    len: usize,
    is_foreign: bool,
}

/// The drive's interface, without a socket.
struct Interface {
    drive: EmulatedDrive,
    faults: Arc<Board>,
    under_way: VecDeque<Datagram>,
}

impl Interface {
    fn new(config: &LinUdpConfig, plant: SharedPlant, faults: Arc<Board>) -> Self {
        Self {
            drive: EmulatedDrive::new(
                plant,
                Arc::clone(&faults),
                config.zero_m,
                config.is_reversed,
                config.home_bit,
                config.drive_timeout_s,
            ),
            faults,
            // Never grows: on an exact clock it is a part of the loop's cycle.
            under_way: VecDeque::with_capacity(MOST_UNDER_WAY),
        }
    }

    fn send(&mut self, datagram: Datagram) {
        if self.under_way.len() < MOST_UNDER_WAY {
            self.under_way.push_back(datagram);
        }
    }

    /// The next datagram that is due.
    fn due(&mut self, now: u64) -> Option<Datagram> {
        let at = self.under_way.iter().position(|d| d.due <= now)?;
        self.under_way.remove(at)
    }

    fn told(&mut self, datagram: &[u8], now: u64) {
        if !self.drive.is_alive(now) {
            return;
        }
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
            error: said.error,
            ..Response::default()
        };
        let mut bytes = [0; LONGEST];
        let len = write_response(&request, &response, &mut bytes);
        let mut answer = Datagram {
            due: now,
            bytes,
            len,
            is_foreign: false,
        };
        if self.faults.has(LinkFault::Foreign) {
            // Somebody else's answer looks the same but for a position that would hurt.
            let mut other = answer;
            other.is_foreign = true;
            other.bytes[12..16].copy_from_slice(&i32::MAX.to_le_bytes());
            self.send(other);
        }
        if self.faults.has(LinkFault::Lost) {
            return;
        }
        if self.faults.has(LinkFault::Truncated) {
            answer.len /= 3;
        }
        if self.faults.has(LinkFault::Garbage) {
            for (i, byte) in answer.bytes.iter_mut().enumerate() {
                *byte = byte.wrapping_mul(31).wrapping_add(i as u8 ^ 0xA5);
            }
        }
        if self.faults.has(LinkFault::Late) {
            answer.due += LATE_NANOS;
        }
        self.send(answer);
        if self.faults.has(LinkFault::Duplicate) {
            self.send(answer);
        }
    }
}

/// A drive on a UDP port.
pub struct EmulatedLinUdp {
    socket: UdpSocket,
    /// Where datagrams come from that are none of the drive's.
    stranger: UdpSocket,
    interface: Interface,
    master: Option<SocketAddr>,
}

impl EmulatedLinUdp {
    /// Binds the drive's port; the drive's address has to be one of this computer.
    pub fn open(
        config: &LinUdpConfig,
        plant: SharedPlant,
        faults: Arc<Board>,
    ) -> Result<Self, String> {
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
            interface: Interface::new(config, plant, faults),
            master: None,
        })
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
            if let Ok((len, from)) = received {
                self.master = Some(from);
                self.interface.told(&buffer[..len], now);
            } else {
                // Power and watchdog go on without requests.
                self.interface.drive.is_alive(now);
            }
            while let (Some(master), Some(datagram)) = (self.master, self.interface.due(now)) {
                let socket = if datagram.is_foreign {
                    &self.stranger
                } else {
                    &self.socket
                };
                // Like on a wire, nobody learns whether it arrives.
                let _ = socket.send_to(&datagram.bytes[..datagram.len], master);
            }
        }
    }
}

/// A drive and the wire to it in memory, on any clock: nothing is random, nothing waits.
pub struct Wire<C: Clock> {
    clock: C,
    interface: Interface,
}

impl<C: Clock> Wire<C> {
    /// A drive that was just switched on.
    pub fn new(config: &LinUdpConfig, plant: SharedPlant, faults: Arc<Board>, clock: C) -> Self {
        Self {
            clock,
            interface: Interface::new(config, plant, faults),
        }
    }
}

impl<C: Clock> Transport for Wire<C> {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn send(&mut self, datagram: &[u8]) {
        let now = self.clock.now();
        self.interface.told(datagram, now);
    }

    fn receive(&mut self, buffer: &mut Buffer, _until: u64) -> Option<Received> {
        let now = self.clock.now();
        self.interface.drive.is_alive(now);
        let datagram = self.interface.due(now)?;
        buffer[..LONGEST].copy_from_slice(&datagram.bytes);
        Some(Received {
            len: datagram.len,
            is_from_drive: !datagram.is_foreign,
        })
    }
}
