//! Carries the library's frames over a transport while one of its futures is driven to its end.
//!
//! The library's own loop ends for good with one late, duplicated or truncated frame; here such a frame is counted and
//! the work goes on.

use super::counters::Counters;
use super::transport::{Received, Transport};
use super::wire::{self, MAX_FRAME};
use ethercrab::error::Error;
use ethercrab::{PduRx, PduTx, ReceiveAction};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Where the library's frames come back from: its own address, marked by the first device.
const RETURNED: [u8; 6] = [0x12, 0x10, 0x10, 0x10, 0x10, 0x10];
/// How long nothing is done while there is nothing to do.
const IDLE: Duration = Duration::from_micros(100);

/// Why a future was not driven to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nobody wants its result any more.
    Stopped,
    /// The interface is down or gone.
    Down,
}

/// The library's two ends.
pub struct PduIo {
    tx: PduTx<'static>,
    rx: PduRx<'static>,
}

impl PduIo {
    /// Takes both ends.
    pub fn new(tx: PduTx<'static>, rx: PduRx<'static>) -> Self {
        Self { tx, rx }
    }

    /// Drives a future, sending and receiving as it goes.
    pub fn run<T>(
        &mut self,
        transport: &mut dyn Transport,
        counters: &Counters,
        stop: &AtomicBool,
        future: impl Future<Output = T>,
    ) -> Result<T, Ended> {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        let mut buffer = [0; MAX_FRAME];
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return Ok(value);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Ended::Stopped);
            }
            let mut is_idle = true;
            while let Some(frame) = self.tx.next_sendable_frame() {
                is_idle = false;
                let mut is_down = false;
                // An answer may only be handed in after this returns.
                let sent = frame.send_blocking(|bytes| match transport.send(bytes) {
                    Ok(()) => Ok(bytes.len()),
                    Err(_) => {
                        is_down = true;
                        Err(Error::SendFrame)
                    }
                });
                if sent.is_err() && is_down {
                    return Err(Ended::Down);
                }
            }
            loop {
                match transport.receive(&mut buffer, 0) {
                    Received::Frame(len) => {
                        is_idle = false;
                        self.take(&buffer[..len], counters);
                    }
                    Received::Nothing => break,
                    Received::Down => return Err(Ended::Down),
                }
            }
            if is_idle {
                std::thread::park_timeout(IDLE);
            }
        }
    }

    /// Hands a frame to the library if it is one of its answers.
    pub fn take(&mut self, frame: &[u8], counters: &Counters) {
        if !wire::is_ethercat(frame) || wire::source(frame) != Some(RETURNED) {
            return Counters::count(&counters.foreign);
        }
        // The library reads lengths that it was sent: only whole frames reach it.
        let is_whole = wire::Walk::begin(frame).is_ok_and(|mut walk| {
            loop {
                match walk.next(frame) {
                    Ok(Some(_)) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            }
        });
        if !is_whole {
            return Counters::count(&counters.bad);
        }
        match self.rx.receive_frame(frame) {
            Ok(ReceiveAction::Processed) => {}
            Ok(ReceiveAction::Ignored) => Counters::count(&counters.foreign),
            // Nobody waits for it: it came too late or a second time.
            Err(_) => Counters::count(&counters.late),
        }
    }
}
