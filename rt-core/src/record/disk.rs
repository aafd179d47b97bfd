//! Files of recordings on the disk: made under another name, locked while they are written, renamed when
//! they are whole, never over another file.

use crate::record::error::RecordError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The ending of a recording.
pub const ENDING: &str = "mcap";
/// What is appended while a recording is not finished.
pub const PART: &str = "part";

/// Where recordings go. Tests put a disk in this place that fails when they want.
pub trait Disk: Send {
    /// Makes a file that did not exist, and locks it for as long as it is open.
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn Sink>>;

    /// Bytes that may still be written to a directory.
    fn free_bytes(&mut self, directory: &Path) -> io::Result<u64>;
}

/// An open file of a recording; `flush` makes sure that the bytes are on the disk.
pub trait Sink: Write + Send {}

/// The disks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

/// A file whose `flush` waits for the disk.
struct SyncedFile {
    file: File,
    path: PathBuf,
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    /// Also notices when the file was deleted meanwhile: the system would go on writing into nothing.
    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let here = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => Ok(()),
            Ok(_) => Err(io::Error::other("another file was put in its place")),
            Err(e) => Err(e),
        }
    }
}

impl Sink for SyncedFile {}

impl Disk for SystemDisk {
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn Sink>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.try_lock()?;
        Ok(Box::new(SyncedFile {
            file,
            path: path.to_owned(),
        }))
    }

    fn free_bytes(&mut self, directory: &Path) -> io::Result<u64> {
        let path = std::ffi::CString::new(directory.as_os_str().as_bytes())?;
        // SAFETY: an all-zero answer is valid, `path` ends with a zero, both live through the call.
        let answer = unsafe {
            let mut answer: libc::statvfs = std::mem::zeroed();
            if libc::statvfs(path.as_ptr(), &mut answer) != 0 {
                return Err(io::Error::last_os_error());
            }
            answer
        };
        Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
    }
}

/// Whether a program still writes this file. Takes the lock for as long as the answer is kept.
pub(crate) fn lock_leftover(path: &Path) -> Result<File, RecordError> {
    let file = File::open(path).map_err(RecordError::io("open", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RecordError::StillWritten {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(e)) => Err(RecordError::io("lock", path)(e)),
    }
}

/// The name under which a recording is written until it is whole.
pub(crate) fn part_of(finished: &Path) -> PathBuf {
    let mut name = finished.as_os_str().to_owned();
    name.push(".");
    name.push(PART);
    name.into()
}

/// The name that an unfinished recording will have.
pub(crate) fn finished_of(part: &Path) -> Option<PathBuf> {
    let name = part.to_str()?.strip_suffix(PART)?.strip_suffix('.')?;
    name.ends_with(&format!(".{ENDING}")).then(|| name.into())
}

/// `stem.mcap`, `stem-2.mcap`, `stem-3.mcap` …
pub(crate) fn numbered(directory: &Path, stem: &str, number: u32) -> PathBuf {
    directory.join(if number < 2 {
        format!("{stem}.{ENDING}")
    } else {
        format!("{stem}-{number}.{ENDING}")
    })
}

/// More files than this with one name in one second are a mistake.
const MOST_OF_A_NAME: u32 = 10_000;

/// Makes a new unfinished recording with a name that is free. Returns its sink and its final path.
pub(crate) fn create_part(
    disk: &mut dyn Disk,
    directory: &Path,
    stem: &str,
) -> Result<(Box<dyn Sink>, PathBuf), RecordError> {
    for number in 1..MOST_OF_A_NAME {
        let finished = numbered(directory, stem, number);
        if finished.exists() {
            continue;
        }
        let part = part_of(&finished);
        match disk.create(&part) {
            Ok(sink) => {
                // A power cut must not leave data without a name.
                sync_directory(directory)?;
                return Ok((sink, finished));
            }
            // Taken by another recording, or looked at by a recovery in this very moment.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::WouldBlock
                ) => {}
            Err(e) => return Err(RecordError::io("create the recording", &part)(e)),
        }
    }
    let full = io::Error::other("too many recordings of this name");
    Err(RecordError::io("create the recording", directory)(full))
}

/// Gives a whole file its final name, or the next free one, and waits until the disk knows it.
pub(crate) fn publish(part: &Path, finished: &Path) -> Result<PathBuf, RecordError> {
    let directory = finished.parent().unwrap_or(Path::new("."));
    let stem = finished.file_stem().unwrap_or_default().to_string_lossy();
    for number in 1..MOST_OF_A_NAME {
        let target = if number < 2 {
            finished.to_owned()
        } else {
            numbered(directory, &stem, number)
        };
        // A second name refuses to replace another file; renaming would not.
        let linked = fs::hard_link(part, &target);
        match linked {
            Ok(()) => fs::remove_file(part).map_err(RecordError::io("rename", part))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            // File systems of memory sticks know no second names.
            Err(_) if target.exists() => continue,
            Err(_) => fs::rename(part, &target).map_err(RecordError::io("rename", part))?,
        }
        sync_directory(directory)?;
        return Ok(target);
    }
    let full = io::Error::other("too many recordings of this name");
    Err(RecordError::io("rename", part)(full))
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), RecordError> {
    // An empty path is the current directory.
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(RecordError::io("sync the directory", directory))
}
