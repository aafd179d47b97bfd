//! The devices of a rig, with states and counters that the real-time thread writes without a lock.

use super::setting::Setting;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What a device of a rig does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DeviceState {
    /// Nothing was heard of it yet.
    Starting,
    /// It answers.
    Operational,
    /// It answers, and moves or holds an actuator with power.
    Powered,
    /// It did not answer the last exchange.
    NotAnswering,
    /// It has no power.
    NoPower,
}

impl DeviceState {
    const ALL: [DeviceState; 5] = [
        DeviceState::Starting,
        DeviceState::Operational,
        DeviceState::Powered,
        DeviceState::NotAnswering,
        DeviceState::NoPower,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            DeviceState::Starting => "starting",
            DeviceState::Operational => "operational",
            DeviceState::Powered => "operational, drive on",
            DeviceState::NotAnswering => "not answering",
            DeviceState::NoPower => "no power",
        }
    }
}

/// A device of a rig: its state and counters, written by the real-time thread without a lock.
#[derive(Debug)]
pub struct Device {
    /// What a person calls it.
    pub name: String,
    state: AtomicU8,
    /// Exchanges that were tried.
    pub exchanges: AtomicU64,
    /// Exchanges without an answer.
    pub lost: AtomicU64,
    /// Answers that came later than they should.
    pub late: AtomicU64,
    /// What came and was not used: damaged, doubled, or from somebody else.
    pub rejected: AtomicU64,
    #[expect(
        clippy::disallowed_types,
        reason = "written by the thread that connects, never by the real-time thread"
    )]
    problem: std::sync::Mutex<Option<String>>,
    #[expect(
        clippy::disallowed_types,
        reason = "written by the thread that connects, never by the real-time thread"
    )]
    identity: std::sync::Mutex<Option<String>>,
    #[expect(
        clippy::disallowed_types,
        reason = "written by the thread that connects, never by the real-time thread"
    )]
    settings: std::sync::Mutex<Vec<Setting>>,
}

impl Device {
    /// A device of which nothing was heard yet.
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            state: AtomicU8::new(DeviceState::Starting as u8),
            exchanges: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            late: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            problem: Default::default(),
            identity: Default::default(),
            settings: Default::default(),
        })
    }

    /// Notes an exchange and what the device does after it. For the real-time thread.
    pub fn note(&self, state: DeviceState, is_late: bool) {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        let is_lost = matches!(state, DeviceState::NotAnswering | DeviceState::NoPower);
        self.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
        self.late.fetch_add(u64::from(is_late), Ordering::Relaxed);
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Says why it cannot be connected, or that it can. Not for the real-time thread.
    pub fn tell_problem(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(|e| e.into_inner()) = problem;
    }

    /// Why it cannot be connected: what, where, expected, what to do.
    pub fn problem(&self) -> Option<String> {
        self.problem
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()
    }

    /// Says what the device has told of itself. Not for the real-time thread.
    pub fn tell_identity(&self, identity: String) {
        *self.identity.lock().unwrap_or_else(|e| e.into_inner()) = Some(identity);
    }

    /// What it has told of itself (name, maker, product, revision, serial number), where its protocol has such.
    pub fn identity(&self) -> Option<String> {
        self.identity
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()
    }

    /// Says which settings were demanded of the device and what became of them. Not for the real-time thread.
    pub fn tell_settings(&self, settings: Vec<Setting>) {
        *self.settings.lock().unwrap_or_else(|e| e.into_inner()) = settings;
    }

    /// The settings that decide what it does alone, as demanded and as read back.
    pub fn settings(&self) -> Vec<Setting> {
        self.settings
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()
    }

    /// What it did in the last exchange.
    pub fn state(&self) -> DeviceState {
        let number = usize::from(self.state.load(Ordering::Relaxed));
        DeviceState::ALL
            .get(number)
            .copied()
            .unwrap_or(DeviceState::Starting)
    }
}
