//! What can go wrong with a recording, in words that say what to do.

use std::path::{Path, PathBuf};

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refuses: no such file, no permission, disk full …
    #[error("cannot {doing} '{}': {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried ("write the recording").
        doing: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something else than a recording of ours.
    #[error("'{}' is not a Pantobench recording: {problem}", path.display())]
    NotARecording {
        /// Which file.
        path: PathBuf,
        /// What was found instead.
        problem: String,
    },
    /// Written by a newer Pantobench.
    #[error(
        "'{}' has format version {found}, but this Pantobench reads versions up to {known}: open it with a newer \
         Pantobench",
        path.display()
    )]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// Bytes that were written whole are not any more.
    #[error("'{}' is damaged at byte {at}: {problem}; the rest of the file can still be read", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where.
        at: u64,
        /// What is wrong there.
        problem: String,
    },
    /// Another program still writes it.
    #[error("'{}' is still being written; it is left alone", path.display())]
    StillWritten {
        /// Which file.
        path: PathBuf,
    },
    /// No such channel in the recording.
    #[error("there is no channel '{name}' in the recording; channels: {known}")]
    NoChannel {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A setting that makes no sense.
    #[error("the recording cannot be set up: {0}")]
    Setup(#[from] crate::file::FieldError),
    /// The recorder's thread is gone.
    #[error("the recorder has ended: {0}")]
    Ended(String),
}

impl RecordError {
    /// Names what was tried, and with which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// The same for errors of the container.
    pub(crate) fn mcap(doing: &'static str, path: &Path) -> impl FnOnce(mcap::McapError) -> Self {
        move |error| Self::Io {
            doing,
            path: path.to_owned(),
            source: match error {
                mcap::McapError::Io(source) => source,
                other => std::io::Error::other(other.to_string()),
            },
        }
    }
}

fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free space or record to another disk; what was written before is kept"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; choose a directory that you may write to"
        }
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "; a file is in the way: choose another name"
        }
        ErrorKind::NotFound => "; check that the directory exists and the disk is connected",
        _ => "",
    }
}
