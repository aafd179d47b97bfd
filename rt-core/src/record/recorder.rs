//! The recorder's thread: drains the frame ring and the events, whatever the disk does.

use crate::channel::Frame;
use crate::record::engine::Engine;
use crate::record::error::RecordError;
use crate::record::event::EventRecord;
use crate::record::header::{SessionHeader, TextMap};
use crate::record::setup::RecorderStatus;
use rtrb::Consumer;
use std::path::PathBuf;
#[expect(
    clippy::disallowed_types,
    reason = "between recorder and window only; the real-time thread never sees it"
)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the thread is asked to do.
enum Request {
    Arm,
    Disarm,
    Start,
    Stop(String),
    Trigger(String),
    Describe(Box<SessionHeader>),
    Result(TextMap),
    Event(EventRecord),
    Finish(String),
}

/// How often the ring is drained.
const PAUSE: Duration = Duration::from_millis(5);
/// Frames that are taken before requests and the disk get their turn again.
const FRAMES_AT_ONCE: usize = 1024;
/// Requests and events that may wait; more are counted as lost.
const WAITING: usize = 4096;

#[expect(clippy::disallowed_types, reason = "between recorder and window only")]
type Shared<T> = Arc<Mutex<T>>;

/// A recorder in a thread of its own.
pub struct Recorder {
    requests: SyncSender<Request>,
    status: Shared<RecorderStatus>,
    notices: Shared<Vec<EventRecord>>,
    lost: AtomicU64,
    thread: JoinHandle<Result<Vec<PathBuf>, RecordError>>,
}

impl Recorder {
    /// Starts the thread. An engine that is started or armed already misses no frame. `drops` tells how many frames the ring could not take since the loop started.
    pub fn spawn(
        engine: Engine,
        frames: Consumer<Frame>,
        drops: impl FnMut() -> u64 + Send + 'static,
    ) -> Result<Self, RecordError> {
        let (requests, inbox) = mpsc::sync_channel(WAITING);
        let status = Shared::new(engine.status().into());
        let notices = Shared::<Vec<EventRecord>>::default();
        let worker = Worker {
            engine,
            frames,
            drops,
            inbox,
            status: Arc::clone(&status),
            notices: Arc::clone(&notices),
        };
        let thread = std::thread::Builder::new()
            .name("pantobench-recorder".into())
            .spawn(move || worker.run())
            .map_err(|e| RecordError::Ended(format!("its thread could not be started: {e}")))?;
        Ok(Self {
            requests,
            status,
            notices,
            lost: AtomicU64::new(0),
            thread,
        })
    }

    /// Begins to wait for a trigger.
    pub fn arm(&self) {
        self.ask(Request::Arm);
    }

    /// Waits no more for a trigger.
    pub fn disarm(&self) {
        self.ask(Request::Disarm);
    }

    /// Records until [`Self::stop`].
    pub fn start(&self) {
        self.ask(Request::Start);
    }

    /// Ends the recording with a whole file.
    pub fn stop(&self, reason: &str) {
        self.ask(Request::Stop(reason.to_owned()));
    }

    /// A trigger by hand or from a script.
    pub fn trigger(&self, reason: &str) {
        self.ask(Request::Trigger(reason.to_owned()));
    }

    /// What the next recording will say about itself, see [`Engine::describe`].
    pub fn describe(&self, header: SessionHeader) {
        self.ask(Request::Describe(Box::new(header)));
    }

    /// What the end of the recording will say about the result.
    pub fn set_result(&self, result: TextMap) {
        self.ask(Request::Result(result));
    }

    /// Records an event.
    pub fn event(&self, event: EventRecord) {
        self.ask(Request::Event(event));
    }

    /// Never blocks: while the disk stalls, what does not fit is counted.
    fn ask(&self, request: Request) {
        if self.requests.try_send(request).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Requests and events that did not fit.
    pub fn lost_requests(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The state at this moment.
    pub fn status(&self) -> RecorderStatus {
        let status = self.status.lock();
        status.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Events that the recorder itself made since the last call.
    pub fn take_notices(&self) -> Vec<EventRecord> {
        let notices = self.notices.lock();
        std::mem::take(&mut *notices.unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what is left in the ring, finishes the file and ends the thread. Returns all files of this
    /// recorder, or why the last recording failed.
    pub fn finish(self, reason: &str) -> Result<Vec<PathBuf>, RecordError> {
        // Waits for a place in the queue; if the thread is gone, joining it says why.
        let _ = self.requests.send(Request::Finish(reason.to_owned()));
        self.thread
            .join()
            .map_err(|_| RecordError::Ended("its thread has panicked".into()))?
    }
}

struct Worker<D> {
    engine: Engine,
    frames: Consumer<Frame>,
    drops: D,
    inbox: Receiver<Request>,
    status: Shared<RecorderStatus>,
    notices: Shared<Vec<EventRecord>>,
}

impl<D: FnMut() -> u64> Worker<D> {
    fn run(mut self) -> Result<Vec<PathBuf>, RecordError> {
        // Drops from before belong to no recording.
        self.engine.service((self.drops)());
        let reason = loop {
            // While frames are waiting there is no pause.
            let pause = if self.frames.is_empty() {
                PAUSE
            } else {
                Duration::ZERO
            };
            match self.inbox.recv_timeout(pause) {
                Ok(Request::Finish(reason)) => break reason,
                Ok(request) => self.serve(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break "the program let it go".into(),
            }
            self.drain();
            self.report();
        };
        while !self.frames.is_empty() {
            self.drain();
        }
        self.engine.stop(&reason);
        self.report();
        self.engine.finish(&reason)
    }

    fn drain(&mut self) {
        for _ in 0..FRAMES_AT_ONCE {
            let Ok(frame) = self.frames.pop() else { break };
            self.engine.frame(&frame);
        }
        self.engine.service((self.drops)());
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Arm => self.engine.arm(),
            Request::Disarm => self.engine.disarm(),
            Request::Start => self.engine.start(),
            Request::Stop(reason) => {
                // What was measured before the call belongs to the recording.
                self.drain();
                self.engine.stop(&reason);
            }
            Request::Trigger(reason) => self.engine.trigger(&reason),
            Request::Describe(header) => self.engine.describe(*header),
            Request::Result(result) => self.engine.set_result(result),
            Request::Event(event) => self.engine.event(event),
            // Ends the loop before it comes here.
            Request::Finish(_) => {}
        }
    }

    fn report(&mut self) {
        let new = self.engine.take_notices();
        let notices = self.notices.lock();
        notices.unwrap_or_else(PoisonError::into_inner).extend(new);
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = self.engine.status();
    }
}
