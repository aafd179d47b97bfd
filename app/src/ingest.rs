//! The thread between the loop's rings and the window: drains frames and events whatever the window
//! does. A minimised or blocked window therefore loses nothing.

use crate::event_text;
use crate::history::History;
use rt_core::channel::{Frame, Layout};
use rt_core::link::{Event, EventKind};
use rt_core::param::ParamSpec;
use rtrb::Consumer;
use std::collections::VecDeque;
#[expect(
    clippy::disallowed_types,
    reason = "between ingest and window only; the real-time thread never sees it"
)]
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Events that the window can look back on.
const MAX_EVENTS: usize = 500;

/// What the window draws from.
pub struct Live {
    /// The recent past.
    pub history: History,
    /// The newest frame.
    pub latest: Frame,
    /// What happened, in words, the newest last.
    pub events: VecDeque<String>,
    /// The parameters as the loop has applied them.
    pub applied: Vec<f64>,
    /// The latched trip, if there is one.
    pub trip: Option<Event>,
}

/// The draining thread and what it has gathered.
pub struct Ingest {
    #[expect(clippy::disallowed_types, reason = "between ingest and window only")]
    live: Arc<Mutex<Live>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How often the rings are drained.
const PAUSE: Duration = Duration::from_millis(8);

impl Ingest {
    /// Starts draining. `wake` is called when there is something new.
    pub fn start(
        mut frames: Consumer<Frame>,
        mut events: Consumer<Event>,
        layout: Layout,
        params: &'static [ParamSpec],
        start_values: Vec<f64>,
        history: History,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        #[expect(clippy::disallowed_types, reason = "between ingest and window only")]
        let live = Arc::new(Mutex::new(Live {
            history,
            latest: Frame::empty(),
            events: VecDeque::new(),
            applied: start_values,
            trip: None,
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&live), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("pantobench-ingest".into())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let mut is_new = false;
                    {
                        let mut live = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        while let Ok(frame) = frames.pop() {
                            live.history.push(&frame);
                            live.latest = frame;
                            is_new = true;
                        }
                        while let Ok(event) = events.pop() {
                            live.note(&event, &layout, params);
                            is_new = true;
                        }
                    }
                    if is_new {
                        wake();
                    }
                    std::thread::park_timeout(PAUSE);
                }
            })?;
        Ok(Self {
            live,
            stop,
            thread: Some(thread),
        })
    }

    /// What has been gathered; held only while a panel is drawn.
    pub fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that has panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Live {
    fn note(&mut self, event: &Event, layout: &Layout, params: &'static [ParamSpec]) {
        match event.kind {
            EventKind::ParamApplied { index, value } => {
                if let Some(applied) = self.applied.get_mut(index) {
                    *applied = value;
                }
            }
            EventKind::Tripped { .. } => self.trip = Some(self.trip.take().unwrap_or(*event)),
            EventKind::State { to, .. } if to != rt_core::guard::State::Tripped => self.trip = None,
            _ => {}
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events
            .push_back(event_text::describe(event, layout, params));
    }
}
