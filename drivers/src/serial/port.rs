//! A serial port of the system, in raw mode, that can be waited on together with a bell.

use crate::drive_lock::lock_alone;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// An open port, of the system or not.
pub trait Tty: Send {
    /// Reads what is there: 0 bytes if there is nothing yet. The end of the device is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes as much as fits; a device that takes nothing loses the rest, which its checksum shows.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// A descriptor that can be waited on.
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// Opens a port, again and again.
pub trait Opener: Send {
    /// What is opened.
    type Port: Tty;
    /// Tries to open it.
    fn open(&mut self) -> io::Result<Self::Port>;
}

/// A port of the system by its path.
#[derive(Clone, Debug)]
pub struct Path {
    /// The path.
    pub path: String,
    /// Bits a second.
    pub baud: u32,
}

impl Opener for Path {
    type Port = Port;

    fn open(&mut self) -> io::Result<Port> {
        Port::open(&self.path, self.baud)
    }
}

/// An open port of the system.
#[derive(Debug)]
pub struct Port {
    file: File,
}

impl Port {
    /// Opens a terminal device: eight bits, no parity, one stop bit, nothing interpreted, for this program alone.
    pub fn open(path: &str, baud: u32) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
            .open(path)?;
        // Another program may know it by another name, or belong to another user.
        if !lock_alone(&file)? {
            return Err(io::Error::other("another program has locked it"));
        }
        let port = Self { file };
        port.make_raw(baud)?;
        Ok(port)
    }

    fn make_raw(&self, baud: u32) -> io::Result<()> {
        let fd = self.file.as_raw_fd();
        let speed = speed(baud).ok_or_else(|| io::Error::other("unknown speed"))?;
        // SAFETY: all zeros is a valid value of this plain structure, which the next call fills.
        let mut settings: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: a valid descriptor and a valid place for the answer.
        check(unsafe { libc::tcgetattr(fd, &mut settings) })?;
        // SAFETY: the structure was filled above.
        unsafe { libc::cfmakeraw(&mut settings) };
        settings.c_cflag &= !(libc::CSTOPB | libc::PARENB | libc::CRTSCTS);
        settings.c_cflag |= libc::CS8 | libc::CREAD | libc::CLOCAL;
        // SAFETY: the structure was filled above.
        check(unsafe { libc::cfsetspeed(&mut settings, speed) })?;
        // SAFETY: a valid descriptor and settings.
        check(unsafe { libc::tcsetattr(fd, libc::TCSANOW, &settings) })?;
        // Nobody else may open it, and what was sent before is of no use.
        // SAFETY: a valid descriptor of a terminal.
        unsafe {
            libc::ioctl(fd, libc::TIOCEXCL);
            libc::tcflush(fd, libc::TCIOFLUSH);
        }
        Ok(())
    }
}

impl Tty for Port {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.file.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(e) if is_later(&e) => Ok(0),
            done => done,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.file.write(bytes) {
            Err(e) if is_later(&e) => Ok(()),
            Err(e) => Err(e),
            Ok(_) => Ok(()),
        }
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}

fn is_later(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn speed(baud: u32) -> Option<libc::speed_t> {
    Some(match baud {
        1200 => libc::B1200,
        2400 => libc::B2400,
        4800 => libc::B4800,
        9600 => libc::B9600,
        19_200 => libc::B19200,
        38_400 => libc::B38400,
        57_600 => libc::B57600,
        115_200 => libc::B115200,
        230_400 => libc::B230400,
        460_800 => libc::B460800,
        921_600 => libc::B921600,
        1_000_000 => libc::B1000000,
        _ => return None,
    })
}

/// Wakes a waiting thread. Ringing never blocks, so the real-time thread may.
#[derive(Debug)]
pub struct Bell {
    fd: OwnedFd,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd })
    }

    /// Rings.
    pub fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight valid bytes. A full counter means that it has been rung already.
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Waits until it is rung, the port has something to say, or the time is over.
    pub fn wait(&self, port: Option<RawFd>, milliseconds: i32) {
        let entry = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // A negative descriptor is skipped.
        let mut both = [entry(self.fd.as_raw_fd()), entry(port.unwrap_or(-1))];
        let mut count = [0_u8; 8];
        // SAFETY: two valid entries; eight valid bytes for the counter, which is reset by being read.
        unsafe {
            libc::poll(both.as_mut_ptr(), 2, milliseconds);
            libc::read(self.fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len());
        }
    }
}
