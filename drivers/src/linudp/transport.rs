//! How LinUDP datagrams travel: a plain socket that never blocks longer than it is told to.

use super::protocol::LONGEST;
use rt_core::pacing::{Clock, NANOS_PER_SECOND, RealClock};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// A buffer that is longer than any valid datagram, so that a longer one is seen to be too long.
pub type Buffer = [u8; LONGEST + 1];

/// What came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its length; what did not fit into the buffer is not counted.
    pub len: usize,
    /// Whether it came from the drive's address.
    pub is_from_drive: bool,
}

/// A way for datagrams.
pub trait Transport: Send {
    /// The time, in ns.
    fn now(&self) -> u64;
    /// Sends a datagram to the drive. Whether it left is seen from the answers.
    fn send(&mut self, datagram: &[u8]);
    /// The next datagram, if there is one or one comes until a time.
    fn receive(&mut self, buffer: &mut Buffer, until: u64) -> Option<Received>;
}

/// A socket of the system.
pub struct Udp {
    socket: UdpSocket,
    drive: SocketAddr,
}

impl Udp {
    /// Binds a socket. Nothing has to be there at the other end.
    pub fn open(local: SocketAddr, drive: SocketAddr) -> std::io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, drive })
    }

    /// Waits until there is something to read or the time has come.
    fn wait(&self, nanos: u64) {
        let mut socket = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let time = libc::timespec {
            tv_sec: (nanos / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (nanos % NANOS_PER_SECOND) as libc::c_long,
        };
        // SAFETY: one valid descriptor, a valid time, no signal mask; whatever ends the wait, the socket is read next.
        unsafe { libc::ppoll(&mut socket, 1, &time, std::ptr::null()) };
    }
}

impl Transport for Udp {
    fn now(&self) -> u64 {
        RealClock.now()
    }

    fn send(&mut self, datagram: &[u8]) {
        // A full buffer, an unreachable network, a refused datagram before: silence tells.
        let _ = self.socket.send_to(datagram, self.drive);
    }

    fn receive(&mut self, buffer: &mut Buffer, until: u64) -> Option<Received> {
        let mut has_waited = false;
        // An error of the socket (refused, for instance) is reported once and then gone: try again, but not for ever.
        for _ in 0..4 {
            match self.socket.recv_from(buffer) {
                Ok((len, from)) => {
                    return Some(Received {
                        len,
                        is_from_drive: from == self.drive,
                    });
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    let left = until.saturating_sub(self.now());
                    if has_waited || left == 0 {
                        return None;
                    }
                    self.wait(left);
                    has_waited = true;
                }
                Err(_) => {}
            }
        }
        None
    }
}
