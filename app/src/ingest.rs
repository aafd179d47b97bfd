//! The thread between the loop's rings and the window: drains frames and events whatever the window
//! does. A minimised or blocked window therefore loses nothing.

use crate::data::Data;
use crate::event_record;
use rt_core::channel::{Frame, Layout};
use rt_core::link::{Event, EventKind};
use rt_core::param::ParamSpec;
use rtrb::Consumer;
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
    /// Channels, their recent past, and what happened.
    pub data: Data,
    /// The newest frame.
    pub latest: Frame,
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
        data: Data,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        #[expect(clippy::disallowed_types, reason = "between ingest and window only")]
        let live = Arc::new(Mutex::new(Live {
            data,
            latest: Frame::empty(),
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
                            live.data.history.push(frame.t_s(), &frame.values);
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
        let events = &mut self.data.events;
        if events.len() == MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(event_record::of(event, layout, params));
    }
}
