//! One program a drive: whoever speaks to a drive or device holds a lock for as long as it does, by the address, the
//! network interface or the port. The system frees it when its holder dies, however that happens.
//!
//! A locked file says who holds it. Two programs of one computer may have different directories for such files (another
//! user, a terminal without a desktop), so a name in the system's own space of socket names is held besides; that of a
//! serial port is the lock on the port itself.

use rt_core::calibration::date::Moment;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, DirBuilder, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::path::{Path, PathBuf};

/// Characters of a lock's name before its number.
const LONGEST_NAME: usize = 160;

/// See the module's text. Dropping it frees the drive.
#[derive(Debug)]
pub struct DriveLock {
    _file: File,
    _name: Option<UnixDatagram>,
}

/// What is locked: a name that follows from it, and what people call it.
struct Subject {
    name: String,
    shown: String,
    /// Whether its name means the same only within this network namespace.
    is_in_network: bool,
}

impl DriveLock {
    /// A drive at an address of the network.
    pub fn of_address(drive: SocketAddr) -> Result<Self, String> {
        // The same drive, however its address is written.
        let ip: IpAddr = drive.ip().to_canonical();
        let drive = SocketAddr::new(ip, drive.port());
        Self::take(&Subject {
            name: format!("udp-{drive}"),
            shown: format!("the drive at {drive}"),
            is_in_network: true,
        })
    }

    /// A segment on a network interface.
    pub fn of_interface(interface: &str) -> Result<Self, String> {
        Self::take(&Subject {
            name: format!("interface-{interface}"),
            shown: format!("the segment on the network interface '{interface}'"),
            is_in_network: true,
        })
    }

    /// A device on a serial port. Names that lead to the same port are the same, if the port is there.
    pub fn of_port(path: &str) -> Result<Self, String> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
        Self::take(&Subject {
            name: format!("port-{}", real.display()),
            shown: format!("the device at the port '{path}'"),
            is_in_network: false,
        })
    }

    fn take(subject: &Subject) -> Result<Self, String> {
        let failed = |what: &Path, e: io::Error| {
            format!(
                "{}: the lock that keeps other programs from it cannot be made ({}: {e})",
                subject.shown,
                what.display()
            )
        };
        let directory = directory().map_err(|(path, e)| failed(&path, e))?;
        Self::take_in(&directory, subject)
    }

    fn take_in(directory: &Path, subject: &Subject) -> Result<Self, String> {
        let name = name_of(subject);
        let path = directory.join(format!("{name}.lock"));
        let failed = |e: io::Error| {
            format!(
                "{}: the lock that keeps other programs from it cannot be made ({}: {e})",
                subject.shown,
                path.display()
            )
        };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(failed)?;
        if !lock_alone(&file).map_err(failed)? {
            let holder = holder(&mut file).unwrap_or_else(|| "another program".into());
            return Err(in_use(subject, &holder));
        }
        let held = if subject.is_in_network {
            match hold_name(&name) {
                Ok(socket) => Some(socket),
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                    return Err(in_use(subject, "a program of another user or session"));
                }
                Err(e) => return Err(failed(e)),
            }
        } else {
            None
        };
        let said = format!("pid {}\nsince {}\n", std::process::id(), Moment::now());
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(said.as_bytes()))
            .map_err(failed)?;
        Ok(Self {
            _file: file,
            _name: held,
        })
    }
}

fn in_use(subject: &Subject, holder: &str) -> String {
    format!(
        "{} is in use by {holder}; two programs that tell one drive what to do are dangerous, so nothing was sent to it: \
         end the other one first",
        subject.shown
    )
}

/// Locks a file or port for this program alone, until it is closed; `false` if another program has it.
pub(crate) fn lock_alone(file: &File) -> io::Result<bool> {
    // SAFETY: a valid descriptor; no pointers.
    let done = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if done == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
        e => Err(e),
    }
}

/// Who holds a locked file, by its own account.
fn holder(file: &mut File) -> Option<String> {
    let mut text = String::new();
    file.take(200).read_to_string(&mut text).ok()?;
    let line = |key: &str| text.lines().find_map(|l| l.strip_prefix(key));
    let (pid, since) = (line("pid ")?, line("since ")?);
    Some(format!("the process {pid} since {since}"))
}

/// A name for the file and in the space of socket names. Characters that a file's name may not have are written as
/// numbers, so that different things never get one name.
fn name_of(subject: &Subject) -> String {
    let mut name = String::from("drive-");
    for byte in subject.name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => name.push(byte.into()),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    if name.len() > LONGEST_NAME {
        // Paths may be longer than a file's name; their ends tell them apart for people, the number for the system.
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let end = name.split_off(name.len() - LONGEST_NAME);
        name = format!("drive-{:016x}-{end}", hasher.finish());
    }
    if let Some(network) = subject.is_in_network.then(network_number).flatten() {
        name.push_str(&format!("-net{network}"));
    }
    name
}

/// The number of this process's network namespace: interfaces and addresses mean something else in another.
fn network_number() -> Option<u64> {
    Some(fs::metadata("/proc/self/ns/net").ok()?.ino())
}

/// Holds a name that nothing but the holder's end gives free.
fn hold_name(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&UnixAddress::from_abstract_name(format!(
        "pantobench-{name}"
    ))?)
}

/// Where locks are: below the directory of the person's session, or in one of the person's own for temporary files.
fn directory() -> Result<PathBuf, (PathBuf, io::Error)> {
    // SAFETY: no arguments, and it cannot fail.
    let user = unsafe { libc::geteuid() };
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_own = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|m| m.is_dir() && m.uid() == user)
    };
    let directory = match session.filter(is_own) {
        Some(session) => session.join("pantobench"),
        None => PathBuf::from(format!("/tmp/pantobench-{user}")),
    };
    make_own(&directory, user).map_err(|e| (directory.clone(), e))?;
    Ok(directory)
}

/// Makes a directory that only this person can look into; one of somebody else is not taken.
fn make_own(path: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    // Not what a link leads to.
    let found = fs::symlink_metadata(path)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(
        "is not a directory that belongs to this user alone; remove it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A directory that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("pantobench-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn subject(name: &str, is_in_network: bool) -> Subject {
        Subject {
            name: name.into(),
            shown: format!("the drive at {name}"),
            is_in_network,
        }
    }

    #[test]
    fn the_second_is_told_who_has_it_until_the_first_ends() {
        let scratch = Scratch::new("lock-twice");
        let own = subject(&format!("twice-{}", std::process::id()), true);
        let first = DriveLock::take_in(&scratch.0, &own).unwrap();
        let refused = DriveLock::take_in(&scratch.0, &own).unwrap_err();
        let expected = format!("in use by the process {} since 20", std::process::id());
        assert!(refused.contains(&expected), "{refused}");
        // Another directory, as another user has: the name is taken all the same.
        let elsewhere = Scratch::new("lock-elsewhere");
        let refused = DriveLock::take_in(&elsewhere.0, &own).unwrap_err();
        assert!(refused.contains("another user or session"), "{refused}");
        drop(first);
        // And what it has left behind is no lock.
        DriveLock::take_in(&scratch.0, &own).unwrap();
        DriveLock::take_in(&elsewhere.0, &own).unwrap();
    }

    #[test]
    fn names_are_files_and_never_the_same_for_different_things() {
        let (long, longer) = ("x/".repeat(300), "x/".repeat(301));
        let names = [
            "a/b", "a%2fb", "a_b", "a b", "[::1]:5", "../../x", &long, &longer,
        ];
        let names = names.map(|n| name_of(&subject(n, false)));
        for (i, name) in names.iter().enumerate() {
            assert!(!name.contains('/') && name.len() < 240, "{name}");
            assert!(!names[..i].contains(name), "{name}");
        }
    }

    #[test]
    fn one_drive_has_one_name_however_it_is_written() {
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:49001".parse().unwrap();
        let plain: SocketAddr = "127.0.0.1:49001".parse().unwrap();
        let _first = DriveLock::of_address(mapped).unwrap();
        let refused = DriveLock::of_address(plain).unwrap_err();
        assert!(refused.contains("127.0.0.1:49001"), "{refused}");
        let other: SocketAddr = "127.0.0.1:49002".parse().unwrap();
        DriveLock::of_address(other).unwrap();
    }

    #[test]
    fn a_port_is_the_same_by_each_of_its_names() {
        let scratch = Scratch::new("lock-port");
        let (port, link) = (scratch.0.join("ttyUSB0"), scratch.0.join("by-id"));
        fs::write(&port, "").unwrap();
        symlink(&port, &link).unwrap();
        let _first = DriveLock::of_port(port.to_str().unwrap()).unwrap();
        DriveLock::of_port(link.to_str().unwrap()).unwrap_err();
    }

    #[test]
    fn a_directory_of_somebody_else_is_not_taken() {
        let scratch = Scratch::new("lock-directory");
        // SAFETY: no arguments, and it cannot fail.
        let user = unsafe { libc::geteuid() };
        let path = scratch.0.join("own");
        make_own(&path, user).unwrap();
        make_own(&path, user).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(make_own(&path, user + 1).is_err(), "of another user");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_own(&path, user).is_err(), "others can look into it");
        let link = scratch.0.join("link");
        symlink(&scratch.0, &link).unwrap();
        assert!(make_own(&link, user).is_err(), "a link");
    }
}
