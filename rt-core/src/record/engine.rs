//! The recorder without its thread: frames and events go in, files come out.
//!
//! | phase | what happens to frames | left by |
//! |---|---|---|
//! | Idle | nothing | start, arm |
//! | Waiting | the last `before_s` seconds are kept | a trigger, start, disarm |
//! | Recording | written | stop; the end of a lasting trigger → Post |
//! | Post | written | `after_s` seconds after the last trigger → Waiting or Idle |
//!
//! Whatever the disk does, the engine goes on taking frames: a failed recording ends with an error that
//! stays in the status, and the loop never notices.

use crate::channel::Frame;
use crate::file::FieldError;
use crate::record::disk::{self, Disk, Sink};
use crate::record::error::RecordError;
use crate::record::event::{EventRecord, FieldValue};
use crate::record::header::{SessionEnd, SessionHeader, TextMap};
use crate::record::name::{self, Moment};
use crate::record::schema::RecordedFrame;
use crate::record::setup::{Phase, RecorderSetup, RecorderStatus};
use crate::record::trigger::Watches;
use crate::record::writer::SessionWriter;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

/// A file that is being written.
struct Open {
    writer: SessionWriter<Box<dyn Sink>>,
    finished: PathBuf,
    drops_before: u64,
    last_sync: Instant,
    has_warned: bool,
}

/// Events made by the recorder itself have kinds that begin with this.
pub const OWN_KIND: &str = "recording.";

/// The recorder without its thread.
pub struct Engine {
    setup: RecorderSetup,
    disk: Box<dyn Disk>,
    watches: Watches,
    before: VecDeque<Frame>,
    events_before: VecDeque<EventRecord>,
    before_nanos: u64,
    after_nanos: u64,
    phase: Phase,
    /// Recording was started by a call and ends by one.
    by_call: bool,
    post_until: u64,
    open: Option<Open>,
    drops: u64,
    result: TextMap,
    now: (u64, u64),
    notices: Vec<EventRecord>,
    status: RecorderStatus,
}

/// The most memory for frames before the trigger.
const MOST_BEFORE_BYTES: u64 = 2 << 30;

impl Engine {
    /// Checks the setup and makes the directory. Nothing is recorded yet.
    pub fn new(setup: RecorderSetup, disk: Box<dyn Disk>) -> Result<Self, RecordError> {
        setup.header.check()?;
        setup.trigger.check()?;
        let watches = Watches::bind(&setup.trigger, &setup.header.channels)?;
        let nanos = |seconds: f64| (seconds * 1e9) as u64;
        let frames_before = nanos(setup.trigger.before_s) / setup.header.period_nanos;
        let bytes = frames_before.saturating_mul(size_of::<Frame>() as u64);
        if bytes > MOST_BEFORE_BYTES {
            let most = MOST_BEFORE_BYTES / size_of::<Frame>() as u64 * setup.header.period_nanos;
            let problem = format!(
                "is {} s, which takes {} MB of memory; expected at most {} s at this period",
                setup.trigger.before_s,
                bytes >> 20,
                most as f64 * 1e-9
            );
            return Err(FieldError::new("before_s", problem).into());
        }
        std::fs::create_dir_all(&setup.directory)
            .map_err(RecordError::io("make the directory", &setup.directory))?;
        Ok(Self {
            before_nanos: nanos(setup.trigger.before_s),
            after_nanos: nanos(setup.trigger.after_s),
            setup,
            disk,
            watches,
            before: VecDeque::new(),
            events_before: VecDeque::new(),
            phase: Phase::Idle,
            by_call: false,
            post_until: 0,
            open: None,
            drops: 0,
            result: TextMap::new(),
            now: (0, 0),
            notices: Vec::new(),
            status: RecorderStatus::default(),
        })
    }

    /// Begins to wait for a trigger; no effect while recording.
    pub fn arm(&mut self) {
        if self.phase == Phase::Idle {
            self.phase = Phase::Waiting;
        }
    }

    /// Waits no more; no effect while recording.
    pub fn disarm(&mut self) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Idle;
            self.forget_before();
        }
    }

    /// Records from now, and what was kept before, until [`Self::stop`].
    pub fn start(&mut self) {
        if self.open.is_none() {
            self.begin("started");
        }
        if self.open.is_some() {
            self.by_call = true;
            self.phase = Phase::Recording;
        }
    }

    /// A trigger by hand or from a script: records the time before and after.
    pub fn trigger(&mut self, reason: &str) {
        self.fire(reason, false);
    }

    /// Ends the recording, if there is one, with a whole file.
    pub fn stop(&mut self, reason: &str) {
        self.by_call = false;
        self.end(reason);
        if self.phase != Phase::Waiting {
            self.phase = Phase::Idle;
        }
    }

    /// What the next recording will say about itself; no effect on one that is being written. Channels
    /// and period stay those of the setup.
    pub fn describe(&mut self, header: SessionHeader) {
        let SessionHeader {
            channels,
            period_nanos,
            ..
        } = std::mem::replace(&mut self.setup.header, header);
        self.setup.header.channels = channels;
        self.setup.header.period_nanos = period_nanos;
    }

    /// What the end of the recording will say about the result.
    pub fn set_result(&mut self, result: TextMap) {
        self.result = result;
    }

    /// Takes a frame.
    pub fn frame(&mut self, frame: &Frame) {
        self.now = (frame.seq, frame.t_nanos);
        if self.phase == Phase::Idle {
            return;
        }
        let verdict = self.watches.look_at(frame);
        if self.phase == Phase::Waiting {
            self.keep(frame);
            if let Some(reason) = &verdict.fired {
                self.fire(reason, verdict.holds);
            }
            return;
        }
        self.write(frame);
        if self.by_call || self.open.is_none() {
            return;
        }
        let is_new = !verdict.holds || self.phase == Phase::Post;
        if let Some(reason) = verdict.fired.filter(|_| is_new) {
            self.fire(&reason, verdict.holds);
        } else if self.phase == Phase::Recording {
            if !verdict.holds {
                self.phase = Phase::Post;
                self.post_until = frame.t_nanos.saturating_add(self.after_nanos);
            }
        } else if frame.t_nanos >= self.post_until {
            self.end("the time after the trigger is over");
            self.phase = if self.setup.trigger.repeat {
                Phase::Waiting
            } else {
                Phase::Idle
            };
        }
    }

    /// Takes an event that is worded already.
    pub fn event(&mut self, event: EventRecord) {
        let reason = self
            .watches
            .is_awaited(&event.kind)
            .then(|| format!("event '{}'", event.kind));
        if self.open.is_some() {
            self.write_event(&event);
        } else if self.phase == Phase::Waiting {
            self.events_before.push_back(event);
        }
        if let (Some(reason), true) = (reason, self.phase != Phase::Idle) {
            self.fire(&reason, false);
        }
    }

    /// To be called often: brings data to the disk when it is time, and looks how full the disk is.
    /// `drops` is how many frames the ring could not take since the loop started.
    pub fn service(&mut self, drops: u64) {
        let new_drops = drops.saturating_sub(self.drops);
        self.drops = drops;
        let Some(open) = &self.open else { return };
        if new_drops > 0 {
            let total = drops.saturating_sub(open.drops_before);
            self.tell(
                "drops",
                format!("{new_drops} frames were lost: the recorder could not keep up"),
                &[("new", new_drops as f64), ("total", total as f64)],
            );
        }
        let is_due = self
            .open
            .as_ref()
            .is_some_and(|open| open.last_sync.elapsed() >= self.setup.sync_period);
        if is_due {
            self.sync();
            self.look_at_space();
        }
    }

    /// Ends the recording and gives the files that were made.
    pub fn finish(mut self, reason: &str) -> Result<Vec<PathBuf>, RecordError> {
        self.stop(reason);
        match self.status.error {
            Some(error) => Err(RecordError::Ended(error)),
            None => Ok(self.status.finished),
        }
    }

    /// Events that the recorder made since the last call, for people.
    pub fn take_notices(&mut self) -> Vec<EventRecord> {
        std::mem::take(&mut self.notices)
    }

    /// The state at this moment.
    pub fn status(&self) -> RecorderStatus {
        let mut status = self.status.clone();
        status.phase = self.phase;
        if let (Some(first), Some(last)) = (self.before.front(), self.before.back()) {
            status.kept_before_s = (last.t_nanos - first.t_nanos) as f64 * 1e-9;
        }
        if let Some(open) = &self.open {
            status.path = Some(open.finished.clone());
            status.frames = open.writer.frames();
            status.bytes = open.writer.bytes();
            status.drops = self.drops.saturating_sub(open.drops_before);
        }
        status
    }

    fn keep(&mut self, frame: &Frame) {
        self.before.push_back(*frame);
        let oldest = frame.t_nanos.saturating_sub(self.before_nanos);
        while self.before.front().is_some_and(|f| f.t_nanos < oldest) {
            self.before.pop_front();
        }
        while self
            .events_before
            .front()
            .is_some_and(|e| e.t_nanos < oldest)
        {
            self.events_before.pop_front();
        }
    }

    fn forget_before(&mut self) {
        self.before.clear();
        self.events_before.clear();
    }

    fn fire(&mut self, reason: &str, holds: bool) {
        if self.open.is_none() {
            self.begin(reason);
        } else {
            self.tell("trigger", format!("triggered again: {reason}"), &[]);
        }
        if self.open.is_some() && !self.by_call {
            self.phase = if holds { Phase::Recording } else { Phase::Post };
            self.post_until = self.now.1.saturating_add(self.after_nanos);
        }
    }

    /// Opens a file and writes what was kept before.
    fn begin(&mut self, reason: &str) {
        self.status.error = None;
        match self.open_file() {
            Ok(open) => self.open = Some(open),
            Err(e) => return self.fail(&e),
        }
        let earlier = std::mem::take(&mut self.before);
        for event in std::mem::take(&mut self.events_before) {
            self.write_event(&event);
        }
        for frame in &earlier {
            self.write(frame);
        }
        self.tell("trigger", format!("recording: {reason}"), &[]);
    }

    fn open_file(&mut self) -> Result<Open, RecordError> {
        let header = &self.setup.header;
        let first = self.before.front().map_or(self.now.1, |f| f.t_nanos);
        let when = Moment::local(header.t0_unix_nanos.saturating_add(first));
        let words: Vec<&str> = self.setup.name_words.iter().map(String::as_str).collect();
        let stem = name::stem(when, &words);
        let (sink, finished) = disk::create_part(&mut *self.disk, &self.setup.directory, &stem)?;
        let part = disk::part_of(&finished);
        let writer = SessionWriter::create(sink, &part, header).inspect_err(|_| {
            // Nothing is in it yet; if it cannot be removed either, recovery names it.
            let _ = std::fs::remove_file(&part);
        })?;
        Ok(Open {
            writer,
            finished,
            drops_before: self.drops,
            last_sync: Instant::now(),
            has_warned: false,
        })
    }

    fn write(&mut self, frame: &Frame) {
        let columns = self.setup.header.channels.len();
        if let Some(open) = &mut self.open
            && let Err(e) = open.writer.frame(&RecordedFrame::new(frame, columns))
        {
            self.fail(&e);
        }
    }

    fn write_event(&mut self, event: &EventRecord) {
        if let Some(open) = &mut self.open
            && let Err(e) = open.writer.event(event)
        {
            self.fail(&e);
        }
    }

    fn sync(&mut self) {
        let Some(open) = &mut self.open else { return };
        let begin = Instant::now();
        let done = open.writer.flush();
        open.last_sync = begin;
        self.status.longest_sync = self.status.longest_sync.max(begin.elapsed());
        if let Err(e) = done {
            self.fail(&e);
        }
    }

    fn look_at_space(&mut self) {
        let (Some(open), Ok(free)) = (&mut self.open, self.disk.free_bytes(&self.setup.directory))
        else {
            return;
        };
        self.status.free_bytes = Some(free);
        let megabytes = free as f64 * 1e-6;
        if free < self.setup.space.stop_below {
            let text = format!("recording ended: the disk has only {megabytes:.0} MB left");
            self.tell("disk_full", text.clone(), &[("free_bytes", free as f64)]);
            self.end("the disk is nearly full");
            self.give_up(format!(
                "{text}; the file is whole; free space or record to another disk"
            ));
        } else if free < self.setup.space.warn_below && !open.has_warned {
            open.has_warned = true;
            let text = format!("the disk has only {megabytes:.0} MB left");
            self.tell("low_space", text, &[("free_bytes", free as f64)]);
        }
    }

    /// Finishes the file.
    fn end(&mut self, reason: &str) {
        if self.open.is_none() {
            return;
        }
        self.tell("end", format!("recording ended: {reason}"), &[]);
        // Telling may have failed, which ends the recording too.
        let Some(open) = self.open.take() else { return };
        let end = SessionEnd {
            reason: reason.to_owned(),
            drops: self.drops.saturating_sub(open.drops_before),
            result: std::mem::take(&mut self.result),
            ..SessionEnd::default()
        };
        let part = disk::part_of(&open.finished);
        let done = open
            .writer
            .finish(&end)
            .and_then(|()| disk::publish(&part, &open.finished));
        match done {
            Ok(path) => self.status.finished.push(path),
            Err(e) => self.fail(&e),
        }
    }

    /// The disk refused: the recording is over, the rest goes on. What was written stays in the
    /// unfinished file, for recovery.
    fn fail(&mut self, error: &RecordError) {
        let left = self.open.take().map(|open| disk::part_of(&open.finished));
        let kept = match left {
            Some(part) if part.exists() => {
                format!("; what was recorded before is kept in '{}'", part.display())
            }
            _ => String::new(),
        };
        self.tell("failed", format!("recording failed: {error}{kept}"), &[]);
        self.give_up(format!("{error}{kept}"));
    }

    fn give_up(&mut self, error: String) {
        self.status.error = Some(error);
        self.phase = Phase::Idle;
        self.by_call = false;
        self.forget_before();
    }

    /// An event of the recorder itself: into the file, and to whoever listens.
    fn tell(&mut self, kind: &str, text: String, numbers: &[(&str, f64)]) {
        let number = |(key, x): &(&str, f64)| ((*key).to_owned(), FieldValue::Number(*x));
        let event = EventRecord {
            seq: self.now.0,
            t_nanos: self.now.1,
            kind: format!("{OWN_KIND}{kind}"),
            text,
            fields: numbers.iter().map(number).collect(),
        };
        self.write_event(&event);
        self.notices.push(event);
    }
}
