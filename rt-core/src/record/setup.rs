//! How recordings are made, and what a recorder shows of itself.

use crate::record::header::SessionHeader;
use crate::record::trigger::TriggerSetup;
use std::path::PathBuf;
use std::time::Duration;

/// When a recording warns about the disk, and when it ends before the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceLimits {
    /// Below this many free bytes an event warns, once.
    pub warn_below: u64,
    /// Below this many free bytes the recording ends with a whole file.
    pub stop_below: u64,
}

impl Default for SpaceLimits {
    fn default() -> Self {
        Self {
            warn_below: 5 << 30,
            stop_below: 256 << 20,
        }
    }
}

/// How recordings are made.
#[derive(Clone, Debug)]
pub struct RecorderSetup {
    /// Where the files go; made if it does not exist.
    pub directory: PathBuf,
    /// What the names of the files say after date and time.
    pub name_words: Vec<String>,
    /// What the files say about themselves.
    pub header: SessionHeader,
    /// Triggers and the time around them.
    pub trigger: TriggerSetup,
    /// How often everything is brought to the disk; a kill loses no more than this and what the disk
    /// takes for it.
    pub sync_period: Duration,
    /// When the disk is too full.
    pub space: SpaceLimits,
}

impl RecorderSetup {
    /// Everything as usual: 250 ms between syncs, no triggers.
    pub fn new(directory: impl Into<PathBuf>, header: SessionHeader) -> Self {
        Self {
            directory: directory.into(),
            name_words: vec![header.title.clone()],
            header,
            trigger: TriggerSetup::default(),
            sync_period: Duration::from_millis(250),
            space: SpaceLimits::default(),
        }
    }
}

/// What the recorder is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not recording, not waiting.
    #[default]
    Idle,
    /// Waiting for a trigger.
    Waiting,
    /// Recording without a known end.
    Recording,
    /// Recording the time after a trigger.
    Post,
}

/// The recorder's state for whoever shows it.
#[derive(Clone, Debug, Default)]
pub struct RecorderStatus {
    /// What it is doing.
    pub phase: Phase,
    /// The file that is being written, under its final name.
    pub path: Option<PathBuf>,
    /// Frames in that file.
    pub frames: u64,
    /// Bytes in that file.
    pub bytes: u64,
    /// Frames that the ring could not take during that recording.
    pub drops: u64,
    /// Seconds of pre-trigger that are kept at the moment.
    pub kept_before_s: f64,
    /// Free bytes on the disk, when last looked at.
    pub free_bytes: Option<u64>,
    /// The longest time that bringing data to the disk took.
    pub longest_sync: Duration,
    /// Files that were finished, the newest last.
    pub finished: Vec<PathBuf>,
    /// Why the last recording ended by itself, if it did.
    pub error: Option<String>,
}
