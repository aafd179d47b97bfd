//! The thread between the loop's rings and the window: drains frames and events whatever the window does. A minimised
//! or blocked window therefore loses nothing, and a recording that belongs to a run ends with it.

use crate::crash;
use crate::data::Data;
use crate::event_record;
use crate::outlive::OpenRun;
use rt_core::channel::{Frame, Layout};
use rt_core::guard::State;
use rt_core::link::{Event, EventKind};
use rt_core::param::ParamSet;
use rt_core::record::event::EventRecord;
use rt_core::record::header::TextMap;
use rt_core::record::recorder::Recorder;
use rt_core::record::setup::Phase;
use rt_core::signal::contact_force::ForceFilter;
use rt_core::signal::live_force::LiveForce;
use rt_core::stop::StopLine;
use rtrb::Consumer;
use std::collections::BTreeMap;
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
const MAX_EVENTS: usize = 5000;

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
    /// What persons wrote to their markers, by number.
    pub mark_texts: BTreeMap<u32, String>,
    /// Statistics of the contact force since the bench began to run, if it measures one.
    pub force: Option<(usize, LiveForce)>,
    start: ParamSet,
    /// Every applied change: when, which, its value.
    changes: Vec<(f64, usize, f64)>,
    ends_with_run: bool,
    was_tripped: bool,
    /// The motor may move: it has had power and was not seen to rest since.
    may_move: bool,
    /// The bench is Idle again and the motor rests: the end of the stop is part of a recording.
    is_over: bool,
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
/// Contact is lost below this force, in N.
const LOSS_THRESHOLD_N: f64 = 0.0;
/// Window of the sliding statistics, in s.
const SLIDING_S: f64 = 10.0;

impl Ingest {
    /// Starts draining. `wake` is called with the bench's state when there is something new.
    pub fn start(
        mut source: Source,
        live: Live,
        wake: impl Fn(State) + Send + 'static,
    ) -> std::io::Result<Self> {
        #[expect(clippy::disallowed_types, reason = "between ingest and window only")]
        let live = Arc::new(Mutex::new(live));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopped) = (Arc::clone(&live), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("pantobench-ingest".into())
            .spawn(move || {
                let mut is_last = false;
                while !is_last {
                    // What is in the rings when the end is asked for is taken too.
                    is_last = stopped.load(Ordering::Relaxed);
                    let news = {
                        let mut live = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        source.drain(&mut live)
                    };
                    if let Some(state) = news {
                        wake(state);
                    }
                    if !is_last {
                        std::thread::park_timeout(PAUSE);
                    }
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

/// How it is seen that a loop has ended, and that nothing of its recording is left to be done.
pub struct Ending {
    stop: Arc<StopLine>,
    open: Arc<OpenRun>,
    /// The recording was asked to end.
    is_asked: bool,
}

impl Ending {
    /// Of a loop with this line, and of the run that the program has to outlive.
    pub fn of(stop: &Arc<StopLine>, open: &Arc<OpenRun>) -> Self {
        Self {
            stop: Arc::clone(stop),
            open: Arc::clone(open),
            is_asked: false,
        }
    }
}

/// What is drained.
pub struct Source {
    /// Frames for the display.
    pub frames: Consumer<Frame>,
    /// Events of the loop.
    pub events: Consumer<Event>,
    /// Which column holds which channel.
    pub layout: Layout,
    /// Hears the events.
    pub recorder: Option<Arc<Recorder>>,
    /// The end of the loop.
    pub ending: Ending,
}

impl Source {
    /// Takes all that has come; the state if there was anything.
    fn drain(&mut self, live: &mut Live) -> Option<State> {
        let mut is_new = false;
        // Looked at first: what a loop has published before its end is in the rings then.
        let has_ended = self.ending.stop.has_ended();
        while let Ok(frame) = self.frames.pop() {
            live.take(&frame);
            is_new = true;
        }
        while let Ok(event) = self.events.pop() {
            let record = live.note(&event, &self.layout);
            crash::note_event(&format!(
                "{:.3} s  {}",
                event.t_nanos as f64 * 1e-9,
                record.text
            ));
            is_new = true;
            let Some(recorder) = &self.recorder else {
                continue;
            };
            recorder.event(record);
            if live.ends_with_run && live.is_over {
                live.ends_with_run = false;
                recorder.set_result(live.result());
                recorder.stop("the run is over");
                recorder.arm();
            }
        }
        if has_ended {
            self.end_recording(live);
        }
        if let Some(wire) = &mut live.data.wire {
            is_new |= wire.poll();
        }
        if let Some(recorder) = &self.recorder {
            for notice in recorder.take_notices() {
                live.keep(notice);
                is_new = true;
            }
        }
        is_new.then_some(live.latest.state)
    }

    /// The loop is over, whoever ended it: its recording is finished here, because the window may be gone.
    fn end_recording(&mut self, live: &mut Live) {
        let Some(recorder) = &self.recorder else {
            self.ending.open.close();
            return;
        };
        if !std::mem::replace(&mut self.ending.is_asked, true) {
            live.ends_with_run = false;
            recorder.set_result(live.result());
            recorder.stop("the bench has ended");
        } else if !self.ending.open.is_closed() && !is_recording(recorder.status().phase) {
            self.ending.open.close();
        }
    }
}

impl Live {
    /// Nothing gathered yet.
    pub fn new(data: Data, start: &ParamSet) -> Self {
        let rate = 1.0 / data.period_s;
        let window = (SLIDING_S * rate).round().max(1.0) as usize;
        let force = data.find("force").and_then(|column| {
            let live = LiveForce::new(ForceFilter::default(), rate, window, LOSS_THRESHOLD_N);
            // A loop that is too slow for the filter has no filtered force.
            Some((column, live.ok()?))
        });
        Self {
            data,
            latest: Frame::empty(),
            applied: (0..start.specs().len()).map(|i| start.get(i)).collect(),
            trip: None,
            mark_texts: BTreeMap::new(),
            force,
            start: *start,
            changes: Vec::new(),
            ends_with_run: false,
            was_tripped: false,
            may_move: false,
            is_over: false,
        }
    }

    fn take(&mut self, frame: &Frame) {
        if let Some((column, force)) = &mut self.force {
            let began = frame.state == State::Running && self.latest.state != State::Running;
            if began {
                force.reset();
                self.was_tripped = false;
            }
            if frame.state == State::Running {
                force.push(frame.values[*column]);
            }
        }
        self.data.history.push(frame.t_s(), &frame.values);
        self.latest = *frame;
    }

    fn note(&mut self, event: &Event, layout: &Layout) -> EventRecord {
        let specs = self.start.specs();
        match event.kind {
            EventKind::ParamApplied { index, value } => {
                if let Some(applied) = self.applied.get_mut(index) {
                    *applied = value;
                    let t_s = event.t_nanos as f64 * 1e-9;
                    self.changes.push((t_s, index, value));
                }
            }
            EventKind::Tripped { .. } => {
                self.was_tripped = true;
                self.trip = Some(self.trip.take().unwrap_or(*event));
            }
            EventKind::State { to, .. } => {
                if to != State::Tripped {
                    self.trip = None;
                }
                self.may_move |= to == State::Armed;
            }
            EventKind::AtRest(_) => self.may_move = false,
            _ => {}
        }
        let becomes_idle = matches!(
            event.kind,
            EventKind::State {
                to: State::Idle,
                ..
            }
        );
        let rests = matches!(event.kind, EventKind::AtRest(_));
        let is_unpowered = matches!(self.latest.state, State::Idle | State::Ready);
        self.is_over = !self.may_move && (becomes_idle || rests && is_unpowered);

        let mut record = event_record::of(event, layout, specs);
        if let EventKind::Mark { number } = event.kind
            && let Some(text) = self.mark_texts.get(&number).filter(|t| !t.is_empty())
        {
            record.text = text.clone();
        }
        self.keep(record.clone());
        record
    }

    fn keep(&mut self, record: EventRecord) {
        let events = &mut self.data.events;
        if events.len() == MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(record);
    }

    /// Whether the recording that runs ends by itself when the bench is idle again.
    pub fn set_ends_with_run(&mut self, ends: bool) {
        self.ends_with_run = ends;
    }

    /// How many changes of parameters the loop has applied.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// The parameters as they were at a time: a recording that begins there starts with these.
    pub fn params_at(&self, t_s: f64) -> ParamSet {
        let mut params = self.start;
        for &(at_s, index, value) in &self.changes {
            if at_s < t_s {
                params.take_designed(index, value);
            }
        }
        params
    }

    /// What the end of a recording says about the run.
    pub fn result(&self) -> TextMap {
        let mut result = TextMap::new();
        let state = if self.was_tripped {
            "tripped"
        } else {
            self.latest.state.name()
        };
        result.insert("state".into(), state.to_lowercase());
        if let Some((_, force)) = &self.force
            && let Some(s) = force.since_reset()
        {
            for (key, value) in [
                ("mean_n", s.mean),
                ("std_n", s.standard_deviation),
                ("max_n", s.max),
                ("min_n", s.min),
            ] {
                result.insert(key.into(), value.to_string());
            }
            result.insert("filter".into(), "20 Hz, causal".into());
        }
        result
    }
}

/// Whether a recorder is writing a file.
pub fn is_recording(phase: Phase) -> bool {
    matches!(phase, Phase::Recording | Phase::Post)
}
