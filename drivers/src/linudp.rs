//! A LinMot drive on UDP (LinUDP V2): one request a cycle, answers matched to requests, silence supervised.
//!
//! Lost, late, doubled, cut and foreign datagrams are counted; alone none of them ends anything. What they do to the
//! inputs shows in their age.

mod config;
pub mod protocol;
pub mod transport;

pub use config::LinUdpConfig;

use crate::drive_lock::DriveLock;
use crate::hardware::bus::{Bus, DriveCommand, Slot};
use crate::linmot::{COUNTS_PER_A, DriveSettings, DriveState, Master, own_timeout};
use protocol::{LONGEST, Response, read_response, write_request};
use rt_core::rig::RigFault;
use rt_core::rig::device::{Device, DeviceState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use transport::{Buffer, Transport, Udp};

/// Datagrams read in one exchange; more wait for the next.
const MOST_PER_EXCHANGE: usize = 16;
/// Requests that may wait for an answer at the same time.
const MOST_OPEN: usize = 64;
/// Exchanges with more than one open request after which it is found out whether an answer is late or lost.
const PAUSE_AFTER: u32 = 8;

/// What happened on the wire, readable at any moment.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests sent.
    pub sent: AtomicU64,
    /// Answers taken.
    pub answers: AtomicU64,
    /// Requests without an answer.
    pub lost: AtomicU64,
    /// Answers that came after a later request was sent.
    pub late: AtomicU64,
    /// Answers to nothing.
    pub surplus: AtomicU64,
    /// Datagrams from the drive that are no answers: cut, too long, or with other fields.
    pub malformed: AtomicU64,
    /// Datagrams from elsewhere.
    pub foreign: AtomicU64,
}

fn count(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// When the requests were sent that wait for an answer, the oldest first.
///
/// Answers carry no number, so each is taken for that of the oldest open request: a value is never said to be younger
/// than it may be. After a loss all answers would then be taken for older than they are. So when more than one request
/// has been open for a while, one exchange sends none: what stays open although nothing comes any more is lost.
#[derive(Clone, Copy, Debug)]
struct Open {
    sent: [u64; MOST_OPEN],
    len: usize,
    /// For how many exchanges more than one has been open.
    behind_for: u32,
    /// In the exchange before no request was sent, and nothing has come since.
    is_silent: bool,
}

impl Open {
    const NONE: Open = Open {
        sent: [0; MOST_OPEN],
        len: 0,
        behind_for: 0,
        is_silent: false,
    };

    /// Whether to send nothing in this exchange, to see what still comes.
    fn pauses(&mut self) -> bool {
        let pauses = self.behind_for > PAUSE_AFTER && !self.is_silent;
        if pauses {
            (self.behind_for, self.is_silent) = (0, true);
        }
        pauses
    }

    /// Notes a request; returns how many before it are lost.
    fn push(&mut self, now: u64) -> u64 {
        let mut lost = 0;
        if self.is_silent {
            (lost, self.len) = (self.len, 0);
        } else if self.len == MOST_OPEN {
            self.pop();
            lost = 1;
        }
        self.is_silent = false;
        self.behind_for = if self.len == 0 {
            0
        } else {
            self.behind_for + 1
        };
        self.sent[self.len] = now;
        self.len += 1;
        lost as u64
    }

    /// The request that an answer is for.
    fn pop(&mut self) -> Option<u64> {
        self.is_silent = false;
        let first = (self.len > 0).then(|| self.sent[0])?;
        self.sent.copy_within(1..self.len, 0);
        self.len -= 1;
        Some(first)
    }
}

/// See the module's text.
pub struct LinUdp<T: Transport = Udp> {
    transport: T,
    master: Master,
    wait_nanos: u64,
    open: Open,
    /// Whether the drive was told to be on by the last request.
    was_on: bool,
    buffer: Buffer,
    device: Arc<Device>,
    counters: Arc<Counters>,
    /// Freed when everything else has gone.
    lock: Option<DriveLock>,
}

impl LinUdp<Udp> {
    /// Opens the socket; the drive may come later.
    pub fn open(config: &LinUdpConfig, number: u16, catch_up_m_per_s: f64) -> Result<Self, String> {
        let lock = DriveLock::of_address(config.drive())?;
        let local = SocketAddr::new(config.local_address, config.local_port);
        let udp = Udp::open(local, config.drive()).map_err(|e| {
            format!(
                "UDP port {local} cannot be opened ({e}); check local_address and whether another program uses the port"
            )
        })?;
        let mut bus = Self::on(udp, config, number, catch_up_m_per_s);
        bus.lock = Some(lock);
        Ok(bus)
    }
}

impl<T: Transport> LinUdp<T> {
    /// A drive on any transport.
    pub fn on(transport: T, config: &LinUdpConfig, number: u16, catch_up_m_per_s: f64) -> Self {
        let device = Device::new(format!("LinMot drive at {}", config.drive()));
        device.tell_settings(vec![own_timeout(config.drive_timeout_s, "LinUDP")]);
        Self {
            master: Master::new(DriveSettings {
                bus: number,
                zero_m: config.zero_m,
                is_reversed: config.is_reversed,
                home_bit: config.home_bit,
                n_com: config.n_com,
                timeout_nanos: (config.timeout_s * 1e9) as u64,
                enable_nanos: (config.enable_s * 1e9) as u64,
                home_nanos: (config.home_s * 1e9) as u64,
                catch_up_m_per_s,
            }),
            transport,
            wait_nanos: u64::from(config.wait_us) * 1000,
            open: Open::NONE,
            was_on: false,
            buffer: [0; LONGEST + 1],
            device,
            counters: Arc::default(),
            lock: None,
        }
    }

    /// What happened on the wire.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    fn ask(&mut self, told: &DriveCommand, now: u64) {
        let telegram = self.master.telegram(told, now);
        let mut request = [0; LONGEST];
        let len = write_request(&telegram, &mut request);
        self.transport.send(&request[..len]);
        self.was_on = told.is_on;
        let lost = self.open.push(now);
        count(&self.counters.sent, 1);
        count(&self.counters.lost, lost);
    }

    /// Takes what has come; waits for the first answer until a time. Whether there was an answer, and a late one.
    fn receive(&mut self, until: u64, inputs: &mut [Slot]) -> (bool, bool) {
        let (mut has_answer, mut has_late) = (false, false);
        for _ in 0..MOST_PER_EXCHANGE {
            let until = if has_answer { 0 } else { until };
            let Some(received) = self.transport.receive(&mut self.buffer, until) else {
                break;
            };
            if !received.is_from_drive {
                count(&self.device.rejected, 1);
                count(&self.counters.foreign, 1);
                continue;
            }
            let datagram = self.buffer.get(..received.len).unwrap_or_default();
            let is_too_long = received.len > LONGEST;
            let Some(response) = read_response(datagram).ok().filter(|_| !is_too_long) else {
                count(&self.device.rejected, 1);
                count(&self.counters.malformed, 1);
                continue;
            };
            let is_late = self.open.len > 1;
            let Some(sent) = self.open.pop() else {
                count(&self.device.rejected, 1);
                count(&self.counters.surplus, 1);
                continue;
            };
            count(&self.counters.answers, 1);
            count(&self.counters.late, u64::from(is_late));
            has_late |= is_late;
            has_answer = true;
            let now = self.transport.now();
            // Between request and answer; if this may be the answer to an earlier request, at the earliest.
            let waited_for = self.wait_nanos > 0 && !is_late;
            let measured = if waited_for {
                sent + now.saturating_sub(sent) / 2
            } else {
                sent
            };
            self.take(&response, measured, now, inputs);
        }
        (has_answer, has_late)
    }

    fn take(&mut self, response: &Response, measured: u64, now: u64, inputs: &mut [Slot]) {
        let state = DriveState {
            status: response.status,
            state_var: response.state_var,
            error: response.error,
        };
        self.master.answered(state, response.position, now);
        let values = [
            self.master.metres(response.position),
            self.master.metres(response.demand),
            f64::from(response.current) / COUNTS_PER_A,
            f64::from(response.status),
            f64::from(response.warn),
            f64::from(response.monitoring[0]),
            f64::from(response.monitoring[1]),
            f64::from(response.monitoring[2]),
            f64::from(response.monitoring[3]),
        ];
        for (slot, value) in inputs.iter_mut().zip(values) {
            slot.put(value, measured);
        }
    }
}

/// The loop has told the drive to be off before it ends; should it have ended in any other way, it is told now.
impl<T: Transport> Drop for LinUdp<T> {
    fn drop(&mut self) {
        let now = self.transport.now();
        self.ask(&DriveCommand::OFF, now);
    }
}

impl<T: Transport> Bus for LinUdp<T> {
    fn devices(&self) -> Vec<Arc<Device>> {
        vec![Arc::clone(&self.device)]
    }

    fn exchange(
        &mut self,
        told: &DriveCommand,
        now_nanos: u64,
        inputs: &mut [Slot],
    ) -> Result<(), RigFault> {
        let (before, late_before) = self.receive(0, inputs);
        // Whatever is new is said at once.
        let is_news = told.is_on != self.was_on || told.home;
        if is_news || !self.open.pauses() {
            self.ask(told, now_nanos);
        }
        let (after, late_after) = if self.wait_nanos > 0 {
            self.receive(now_nanos + self.wait_nanos, inputs)
        } else {
            (false, false)
        };
        let verdict = self.master.verdict(now_nanos);
        let state = match verdict {
            Err(RigFault::Timeout { .. }) => DeviceState::NotAnswering,
            Err(RigFault::Connecting { .. }) => DeviceState::Starting,
            _ if !(before || after) => DeviceState::NotAnswering,
            _ if self.master.is_enabled() => DeviceState::Powered,
            _ => DeviceState::Operational,
        };
        self.device.note(state, late_before || late_after);
        verdict
    }

    fn is_following(&self) -> bool {
        self.master.is_enabled()
    }
}
