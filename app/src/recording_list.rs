//! The list of recordings, read in a thread of its own: a directory with many files takes its time. Recordings that
//! were cut off are made whole when the list is first read.

use rt_core::record::list::{ListEntry, list};
use rt_core::record::recover::recover_directory;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

/// What was found.
#[derive(Clone, Default)]
pub struct Found {
    /// The recordings, the newest first.
    pub entries: Arc<Vec<ListEntry>>,
    /// What a person should know: recovered files, or why there is no list.
    pub notices: Vec<String>,
}

/// The list, and a newer one that is being read.
pub struct RecordingList {
    directory: PathBuf,
    found: Found,
    reading: Option<mpsc::Receiver<Found>>,
    has_recovered: bool,
}

fn read(directory: &Path, recovers: bool) -> Found {
    let mut notices = Vec::new();
    if !directory.is_dir() {
        // The first recording makes it.
        return Found::default();
    }
    if recovers {
        match recover_directory(directory) {
            Ok(recovered) => notices.extend(recovered.iter().map(|r| match &r.outcome {
                Ok(path) => format!(
                    "a recording that was cut off was recovered: {}",
                    path.display()
                ),
                Err(e) => format!("'{}' could not be recovered: {e}", r.part.display()),
            })),
            Err(e) => notices.push(e.to_string()),
        }
    }
    let entries = match list(directory) {
        Ok(mut entries) => {
            entries.reverse();
            entries
        }
        Err(e) => {
            notices.push(e.to_string());
            Vec::new()
        }
    };
    Found {
        entries: Arc::new(entries),
        notices,
    }
}

impl RecordingList {
    /// Nothing read yet.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            found: Found::default(),
            reading: None,
            has_recovered: false,
        }
    }

    /// Which directory it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Another directory.
    pub fn set_directory(&mut self, directory: PathBuf) {
        if directory != self.directory {
            *self = Self::new(directory);
        }
    }

    /// Reads the directory again; `wake` is called when that is done.
    pub fn refresh(&mut self, wake: impl Fn() + Send + 'static) {
        let (tell, answer) = mpsc::channel();
        let directory = self.directory.clone();
        let recovers = !std::mem::replace(&mut self.has_recovered, true);
        let thread = std::thread::Builder::new().name("pantobench-list".into());
        let started = thread.spawn(move || {
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(read(&directory, recovers));
            wake();
        });
        match started {
            Ok(_) => self.reading = Some(answer),
            Err(e) => self.found.notices = vec![format!("no thread for the list: {e}")],
        }
    }

    /// Takes a newer list if there is one, and gives what a person should know of it.
    pub fn poll(&mut self) -> Vec<String> {
        let Some(reading) = &self.reading else {
            return Vec::new();
        };
        match reading.try_recv() {
            Ok(found) => {
                self.reading = None;
                self.found = found;
                std::mem::take(&mut self.found.notices)
            }
            Err(mpsc::TryRecvError::Empty) => Vec::new(),
            Err(mpsc::TryRecvError::Disconnected) => {
                self.reading = None;
                Vec::new()
            }
        }
    }

    /// Whether a newer list is being read.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// The recordings, the newest first.
    pub fn entries(&self) -> &Arc<Vec<ListEntry>> {
        &self.found.entries
    }
}
