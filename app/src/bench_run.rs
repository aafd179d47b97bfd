//! A running bench as the window knows it: the loop's thread, the threads that drain its rings, the recorder, and the
//! designer of gains. Everything here goes on whatever the window does.

use crate::data::{Channel, Data, LineMarks};
use crate::history::History;
use crate::ingest::{Ending, Ingest, Live, Source};
use crate::line_data::LineData;
use crate::outlive::OpenRun;
use crate::recording::{self, Remarks, Subject};
use crate::runtime::{self, Moves, RealTimeRun};
use crate::session::LoadedSession;
use crate::settings::Settings;
use crate::signals::Reaching;
use crate::widened;
use rt_core::bench::{BenchSpec, Designer};
use rt_core::channel::Layout;
use rt_core::guard::{ActiveLimit, State};
use rt_core::link::{Command, UpdateSide};
use rt_core::param::ParamSet;
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::recorder::Recorder;
use rt_core::record::setup::RecorderStatus;
use rt_core::record::trigger::{Trigger, TriggerSetup};
use rt_core::rig::RigLink;
use rt_core::rt_env::RtStatus;
use rt_core::stop::StopLine;
use rt_core::timing::Timing;
use rtrb::Producer;
use std::sync::Arc;
use std::sync::{MutexGuard, mpsc};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

/// See the module's text.
pub struct BenchRun {
    /// The session.
    pub loaded: LoadedSession,
    /// Which column holds which channel.
    pub layout: Layout,
    /// The bench's declaration.
    pub bench: &'static BenchSpec,
    /// Counters of the loop.
    pub timing: Arc<Timing>,
    /// Rights of its thread.
    pub rt: RtStatus,
    /// The period, in nanoseconds.
    pub period_nanos: u64,
    /// The parameters at the start.
    pub params: ParamSet,
    /// Devices and load cells of the rig.
    pub rig: RigLink,
    /// All limits in force.
    pub limits: Vec<ActiveLimit>,
    /// What it moves.
    pub moves: Moves,
    /// Frames that the recorder's ring can hold.
    pub record_ring: u64,
    /// Designs on their way to the loop.
    pub updates: UpdateSide,
    /// Designs gains for parameters that need it, until the tuning takes it.
    pub designer: Option<Box<dyn Designer>>,
    /// Stops the bench from anywhere.
    pub stop: Arc<StopLine>,
    /// Signals reach the loop by themselves as long as it is there.
    _reaching: Reaching,
    commands: Option<Producer<Command>>,
    thread: Option<JoinHandle<()>>,
    ingest: Option<Ingest>,
    recorder: Option<Arc<Recorder>>,
    t0: SystemTime,
    marks: u32,
    /// The program does not end before its recording is whole.
    open: Arc<OpenRun>,
}

/// A bench that is being prepared in a thread: lines take their time.
pub struct Starting {
    /// What the session is called.
    pub title: String,
    /// Since when.
    pub since: Instant,
    answer: mpsc::Receiver<Result<BenchRun, String>>,
}

impl Starting {
    /// Prepares a session; `wake` is called when there is something new to draw. The bench `before` comes to rest and
    /// gives its rig free first: whoever waits for that does not see STOP.
    pub fn begin(
        loaded: LoadedSession,
        settings: &Settings,
        before: Option<BenchRun>,
        wake: impl Fn(State) + Clone + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let (tell, answer) = mpsc::channel();
        let title = loaded.session.title.clone();
        let settings = settings.clone();
        let work = move || {
            drop(before);
            let run = BenchRun::start(loaded, &settings, wake.clone());
            // A window that is gone by now has nobody to tell.
            let _ = tell.send(run);
            wake(State::Running);
        };
        std::thread::Builder::new()
            .name("pantobench-start".into())
            .spawn(work)
            .map_err(|e| format!("the session cannot be prepared: no thread ({e})"))?;
        Ok(Self {
            title,
            since: Instant::now(),
            answer,
        })
    }

    /// The bench, as soon as it is there.
    pub fn poll(&self) -> Option<Result<BenchRun, String>> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => Some(Err(
                "the session could not be prepared: its thread has ended".into(),
            )),
        }
    }
}

impl BenchRun {
    /// Starts a session in real time; the bench is Idle and waits for commands.
    pub fn start(
        loaded: LoadedSession,
        settings: &Settings,
        wake: impl Fn(State) + Clone + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let run = runtime::start_real_time(&loaded).map_err(|e| e.to_string())?;
        let t0 = SystemTime::now();
        let RealTimeRun {
            reaching,
            user,
            layout,
            bench,
            designer,
            line,
            params,
            period_nanos,
            limits,
            moves,
            rt,
            thread,
        } = run;
        let data = Data {
            channels: layout.channels().iter().map(Into::into).collect(),
            history: History::new(layout.len(), settings.history_mb << 20),
            events: Default::default(),
            period_s: period_nanos as f64 * 1e-9,
            line: line.as_ref().map(|sight| LineMarks::from(&sight.scene)),
            wire: line.map(LineData::live),
        };
        let record_ring = user.record.as_ref().map_or(0, |r| r.buffer().capacity()) as u64;
        let recorder = match user.record {
            None => None,
            Some(frames) => {
                let subject = Subject {
                    loaded: &loaded,
                    layout: &layout,
                    params: &params,
                    rt: Some(&rt),
                    t0,
                };
                let mut header = recording::header(&subject, &Remarks::default())?;
                widened::note(&mut header, &limits, &data.channels);
                let mut setup = recording::setup(&settings.recordings, &loaded, header);
                add_triggers(&mut setup.trigger, settings);
                let mut engine =
                    Engine::new(setup, Box::new(SystemDisk)).map_err(|e| e.to_string())?;
                engine.arm();
                let drops = Arc::clone(&user.timing);
                let count = move || Timing::read(&drops.record_drops);
                let recorder = Recorder::spawn(engine, frames, count).map_err(|e| e.to_string())?;
                Some(Arc::new(recorder))
            }
        };
        let frames = user.display.ok_or("the loop has no ring for the display")?;
        let live = Live::new(data, &params);
        let events = user.events;
        let open = OpenRun::begin();
        let source = Source {
            frames,
            events,
            layout: layout.clone(),
            recorder: recorder.clone(),
            ending: Ending::of(&user.stop, &open),
        };
        let ingest = Ingest::start(source, live, wake)
            .map_err(|e| format!("no thread for the display: {e}"))?;
        Ok(Self {
            loaded,
            layout,
            bench,
            timing: user.timing,
            rig: user.rig,
            rt,
            period_nanos,
            params,
            limits,
            moves,
            record_ring,
            updates: user.updates,
            designer,
            stop: user.stop,
            _reaching: reaching,
            commands: Some(user.commands),
            thread: Some(thread),
            ingest: Some(ingest),
            recorder,
            t0,
            marks: 0,
            open,
        })
    }

    /// What has been gathered; held only while panels are drawn. `None` only while it is being dropped.
    pub fn live(&self) -> Option<MutexGuard<'_, Live>> {
        self.ingest.as_ref().map(Ingest::live)
    }

    /// Whether the loop's thread has ended.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Whether the loop has ended and nothing of its recording is left to be done.
    #[cfg(test)]
    pub fn is_whole(&self) -> bool {
        self.open.is_closed()
    }

    /// Sends a command. `false` if the loop no longer serves them.
    pub fn send(&mut self, command: Command) -> bool {
        self.commands
            .as_mut()
            .is_some_and(|ring| ring.push(command).is_ok())
    }

    /// Puts a marker with a text at this moment.
    pub fn mark(&mut self, text: &str) {
        self.marks += 1;
        let number = self.marks;
        if let Some(mut live) = self.live() {
            live.mark_texts.insert(number, text.trim().to_owned());
        }
        self.send(Command::Mark { number });
    }

    /// What the recorder is doing.
    pub fn recorder_status(&self) -> Option<RecorderStatus> {
        self.recorder.as_ref().map(|r| r.status())
    }

    /// Starts a recording, what was measured just before included. `ends_with_run`: it ends by itself
    /// when the bench is idle again.
    pub fn start_recording(&self, remarks: &Remarks, ends_with_run: bool) -> Result<(), String> {
        let (Some(recorder), Some(mut live)) = (&self.recorder, self.live()) else {
            return Err("this bench has no recorder".into());
        };
        let kept = recorder.status().kept_before_s;
        let first_s = live.data.history.newest_s().unwrap_or(0.0) - kept;
        let params = live.params_at(first_s);
        live.set_ends_with_run(ends_with_run);
        drop(live);
        recorder.describe(self.header(&params, remarks)?);
        recorder.start();
        Ok(())
    }

    /// Ends the recording with a whole file.
    pub fn stop_recording(&self, reason: &str) {
        if let (Some(recorder), Some(live)) = (&self.recorder, self.live()) {
            recorder.set_result(live.result());
            recorder.stop(reason);
            recorder.arm();
        }
    }

    /// Records what was kept before, and the time after.
    pub fn capture(&self, remarks: &Remarks) -> Result<(), String> {
        let (Some(recorder), Some(live)) = (&self.recorder, self.live()) else {
            return Err("this bench has no recorder".into());
        };
        let first_s = live.data.history.newest_s().unwrap_or(0.0) - recorder.status().kept_before_s;
        let params = live.params_at(first_s);
        drop(live);
        recorder.describe(self.header(&params, remarks)?);
        recorder.trigger("asked for");
        Ok(())
    }

    fn header(
        &self,
        params: &ParamSet,
        remarks: &Remarks,
    ) -> Result<rt_core::record::header::SessionHeader, String> {
        let subject = Subject {
            loaded: &self.loaded,
            layout: &self.layout,
            params,
            rt: Some(&self.rt),
            t0: self.t0,
        };
        let mut header = recording::header(&subject, remarks)?;
        let channels: Vec<Channel> = self.layout.channels().iter().map(Into::into).collect();
        widened::note(&mut header, &self.limits, &channels);
        Ok(header)
    }
}

/// The session's own triggers, and what the settings ask for on top.
fn add_triggers(setup: &mut TriggerSetup, settings: &Settings) {
    let on_trip = settings.capture_on_trip.then(|| Trigger::Event {
        kind: "trip".into(),
    });
    setup.triggers.extend(on_trip);
    setup.before_s = setup.before_s.max(settings.before_s);
    setup.after_s = setup.after_s.max(settings.after_s);
    setup.repeat = true;
}

impl Drop for BenchRun {
    /// Stops the bench in a controlled way, waits for it, and finishes its recording.
    fn drop(&mut self) {
        self.send(Command::Quit);
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A loop that has panicked has nothing left to wait for.
            let _ = thread.join();
        }
        let result = self.live().map(|live| live.result()).unwrap_or_default();
        // Its thread takes the last events to the recorder before it ends.
        self.ingest = None;
        if let Some(recorder) = self.recorder.take().and_then(Arc::into_inner) {
            recorder.set_result(result);
            // What could not be finished is recovered at the next start.
            let _ = recorder.finish("the window was closed");
        }
        self.open.close();
    }
}
