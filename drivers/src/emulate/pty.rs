//! A pseudo-terminal under the path that a rig file gives to a serial port.

use rt_core::pacing::NANOS_PER_SECOND;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The device's end of a line. Dropping it is pulling the plug: the other end sees a device that is gone.
#[derive(Debug)]
pub struct Pty {
    device: File,
    /// Kept open so that the line does not hang up while nobody has opened it.
    _line: File,
    link: PathBuf,
}

impl Pty {
    /// Makes a pseudo-terminal and puts a link to it at a path. What stands there is only replaced if it is a link
    /// that leads nowhere or to another pseudo-terminal.
    pub fn open(link: &Path) -> Result<Self, String> {
        let path = link.display();
        if let Ok(found) = std::fs::symlink_metadata(link) {
            let leads_to = std::fs::read_link(link).unwrap_or_default();
            if !(found.is_symlink() && leads_to.starts_with("/dev/pts")) {
                return Err(format!(
                    "'{path}' exists and is no link of an emulator; give the port another path, for example \
                     /tmp/pantobench-amplifier"
                ));
            }
            std::fs::remove_file(link).map_err(|e| format!("'{path}' cannot be replaced: {e}"))?;
        }
        let (device, name) =
            open_pair().map_err(|e| format!("there is no pseudo-terminal: {e}"))?;
        let line = File::options().read(true).write(true).open(&name);
        let line = line.map_err(|e| format!("'{}' cannot be opened: {e}", name.display()))?;
        std::os::unix::fs::symlink(&name, link).map_err(|e| {
            format!("'{path}' cannot be made ({e}); give the port a path that can be written")
        })?;
        Ok(Self {
            device,
            _line: line,
            link: link.to_owned(),
        })
    }

    /// Waits for bytes for some time and reads what is there.
    pub fn read(&mut self, buffer: &mut [u8], nanos: u64) -> usize {
        let time = libc::timespec {
            tv_sec: (nanos / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (nanos % NANOS_PER_SECOND) as libc::c_long,
        };
        let mut entry = libc::pollfd {
            fd: self.device.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid entry, a valid time, no signal mask.
        unsafe { libc::ppoll(&mut entry, 1, &time, std::ptr::null()) };
        self.device.read(buffer).unwrap_or(0)
    }

    /// Sends bytes. What nobody reads is lost, as on a line.
    pub fn write(&mut self, bytes: &[u8]) {
        let _ = self.device.write(bytes);
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Somebody may have removed it.
        let _ = std::fs::remove_file(&self.link);
    }
}

fn open_pair() -> io::Result<(File, PathBuf)> {
    // SAFETY: no pointers; the result is checked.
    let fd = unsafe {
        libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else owns.
    let device = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let mut name = [0_u8; 128];
    // SAFETY: the descriptor is that of a pseudo-terminal; the buffer and its length are valid.
    let failed = unsafe {
        libc::grantpt(fd) != 0
            || libc::unlockpt(fd) != 0
            || libc::ptsname_r(fd, name.as_mut_ptr().cast(), name.len()) != 0
    };
    if failed {
        return Err(io::Error::last_os_error());
    }
    let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    let raw = |fd: libc::c_int| {
        // SAFETY: all zeros is a valid value; the descriptor is that of a terminal.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            libc::tcgetattr(fd, &mut settings);
            libc::cfmakeraw(&mut settings);
            libc::tcsetattr(fd, libc::TCSANOW, &settings);
        }
    };
    raw(fd);
    Ok((device, PathBuf::from(name)))
}
