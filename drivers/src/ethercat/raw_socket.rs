//! A network interface as a transport: a raw packet socket that sees EtherCAT frames only.
//!
//! It needs the right CAP_NET_RAW, and works with a network card and with one end of a veth pair alike.

use super::transport::{Down, Received, Transport};
use super::wire::Buffer;
use rt_core::pacing::{Clock, NANOS_PER_SECOND, RealClock};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The protocol in network order.
const PROTOCOL: u16 = 0x88A4_u16.to_be();

/// See the module's text.
pub struct RawSocket {
    socket: OwnedFd,
}

impl RawSocket {
    /// Opens an interface by its name.
    pub fn open(interface: &str) -> Result<Self, String> {
        let name = CString::new(interface)
            .map_err(|_| format!("'{interface}' cannot be the name of an interface"))?;
        // SAFETY: the name is a valid string that lives for the call.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(format!(
                "there is no network interface '{interface}'; 'ip link' lists those that exist"
            ));
        }
        let problem = |what: &str| {
            let e = io::Error::last_os_error();
            let advice = if e.kind() == io::ErrorKind::PermissionDenied {
                "; give the program the right to it: sudo setcap cap_net_raw+ep pantobench"
            } else {
                ""
            };
            format!("{what} '{interface}': {e}{advice}")
        };
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain call; its result is checked.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, libc::c_int::from(PROTOCOL)) };
        if fd < 0 {
            return Err(problem("cannot open a packet socket on"));
        }
        // SAFETY: the descriptor is fresh and owned by nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: all zeros is a valid address of this type.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = PROTOCOL;
        address.sll_ifindex = index as libc::c_int;
        // SAFETY: address and length belong together and live for the call.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound < 0 {
            return Err(problem("cannot bind to"));
        }
        Ok(Self { socket })
    }

    fn try_receive(&mut self, frame: &mut Buffer) -> Received {
        // SAFETY: the buffer is valid for its length.
        let n = unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                frame.as_mut_ptr().cast(),
                frame.len(),
                0,
            )
        };
        if n >= 0 {
            return Received::Frame(n as usize);
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Received::Nothing,
            _ => Received::Down,
        }
    }
}

impl Transport for RawSocket {
    fn send(&mut self, frame: &[u8]) -> Result<(), Down> {
        // SAFETY: the frame is valid for its length.
        let n = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
            )
        };
        if n >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error().raw_os_error() {
            // A full queue loses the frame, as a wire would.
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Ok(()),
            _ => Err(Down),
        }
    }

    fn receive(&mut self, frame: &mut Buffer, deadline_nanos: u64) -> Received {
        loop {
            match self.try_receive(frame) {
                Received::Nothing => {}
                other => return other,
            }
            let left = deadline_nanos.saturating_sub(RealClock.now());
            if left == 0 {
                return Received::Nothing;
            }
            let timeout = libc::timespec {
                tv_sec: (left / NANOS_PER_SECOND) as libc::time_t,
                tv_nsec: (left % NANOS_PER_SECOND) as libc::c_long,
            };
            let mut poll = libc::pollfd {
                fd: self.socket.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one valid entry and a valid time.
            unsafe { libc::ppoll(&mut poll, 1, &timeout, std::ptr::null()) };
        }
    }

    fn now(&self) -> u64 {
        RealClock.now()
    }
}
