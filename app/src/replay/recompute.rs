//! A recording computed again from its own measurements, frame by frame, and compared to the last bit.

use super::difference::{Comparator, Difference, Verdict};
use super::embedded::Embedded;
use super::event_difference::{EventDifference, first_event_difference};
use super::feed::Feed;
use super::script::Script;
use super::{ReplayError, in_own_thread};
use crate::event_record;
use crate::runtime::{self, Prepared};
use drivers::replay::{RecordedExchange, ReplayRig};
use rt_core::bench::BenchConfig;
use rt_core::channel::{Frame, Layout};
use rt_core::guard::State;
use rt_core::link::{Event, UserSide};
use rt_core::pacing::ExactClock;
use rt_core::record::error::RecordError;
use rt_core::record::event::EventRecord;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::RecordedFrame;
use rt_core::rt_env::flush_denormals;
use rt_core::rt_loop::RtLoop;
use rtrb::Producer;

/// Why a recording cannot be computed again to its end; up to there it is proven.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Obstacle {
    /// It does not begin with the loop.
    #[error(
        "the recording begins with tick {seq} in state {}, and what was measured before is not known: only what \
         follows the next tick in state Ready can be computed again",
        state.name()
    )]
    BeginsLater {
        /// Its first tick.
        seq: u64,
        /// The state then.
        state: State,
    },
    /// Frames are missing that the loop made.
    #[error(
        "{missing} frame(s) between tick {after} and tick {next} were lost by the recorder: what was measured \
         then is not known"
    )]
    LostFrames {
        /// The last tick before.
        after: u64,
        /// The first tick behind.
        next: u64,
        /// How many are missing that were not skipped.
        missing: u64,
    },
    /// A part of the file cannot be read.
    #[error("behind tick {after} the recording is damaged: {problem}")]
    Damaged {
        /// The last tick before.
        after: u64,
        /// What is wrong.
        problem: String,
    },
    /// The loop reacted to a defect that is not repeated.
    #[error(
        "in tick {seq} the loop used the heap and stopped for that; a recomputation does not repeat this"
    )]
    HeapUsed {
        /// The tick.
        seq: u64,
    },
}

/// What a recomputation found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recomputed {
    /// Frames in the recording.
    pub frames: u64,
    /// Frames that were computed again and are equal.
    pub equal: u64,
    /// Frames at the beginning that were taken as they are, because the recording begins after the loop.
    pub given: u64,
    /// Of the equal ones, frames that are only known to be equal as far as their columns are kept.
    pub as_kept: u64,
    /// First and last tick up to which everything is equal.
    pub proven: Option<(u64, u64)>,
    /// Where recording and recomputation differ first.
    pub first_difference: Option<Difference>,
    /// The first event that differs, if no frame does.
    pub event_difference: Option<EventDifference>,
    /// What keeps the rest from being computed again.
    pub obstacle: Option<Obstacle>,
    /// Ticks that the loop skipped, in the recomputed part.
    pub skipped: u64,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl Recomputed {
    /// Whether every frame of the recording was computed again and is the same. Of one that begins later than
    /// its loop, but at rest, this is every frame behind the first with which the loop was Ready.
    pub fn is_identical(&self) -> bool {
        self.equal + self.given == self.frames
            && self.equal > 0
            && self.obstacle.is_none()
            && self.event_difference.is_none()
    }
}

/// Computes a recording again up to its end, an obstacle or the first difference. `go_on` hears now and then
/// how many frames are done, and ends it by `false`.
pub fn recompute(
    session: &Session,
    go_on: &mut (dyn FnMut(u64) -> bool + Send),
) -> Result<Recomputed, ReplayError> {
    in_own_thread(|| run(session, go_on))
}

/// Frames between two calls of `go_on`.
const FRAMES_BETWEEN_CALLS: u64 = 500;

fn run(
    session: &Session,
    go_on: &mut (dyn FnMut(u64) -> bool + Send),
) -> Result<Recomputed, ReplayError> {
    let header = session.header();
    // A real-time loop is built outside the thread that it runs in; tiny numbers are treated as it did.
    let is_exact = header.real_time.get("clock").is_some_and(|c| c == "exact");
    if is_exact {
        flush_denormals();
    }
    let embedded = Embedded::unpack(header)?;
    let recorded_layout = embedded.layout(header)?;
    let bench = embedded.loaded.session.bench.spec();
    let events = readable_events(session)?;
    let mut script = Script::read(&events, bench.params)?;
    script.begin_with(&embedded.calibrations);
    let mut loaded = embedded.loaded.clone();
    let period_s = header.period_nanos as f64 * 1e-9;
    loaded.session.seconds = script.run_ticks.map(|ticks| ticks as f64 * period_s);
    // It did begin with these parameters, whatever the model says of them.
    match &mut loaded.session.bench {
        BenchConfig::PantographLqg(config) => config.start_unstable = true,
        BenchConfig::PantographSteady(config) => config.start_unstable = true,
        BenchConfig::Profile(_) | BenchConfig::Jog(_) => {}
    }
    let (rig, give) = ReplayRig::new(embedded.rig.clone());
    let clock = ExactClock::default();
    let Prepared {
        rt_loop,
        mut user,
        layout,
        designer,
        params,
        period_nanos,
        ..
    } = runtime::prepare_on(&loaded, Box::new(rig), clock.clone())?;
    require_same_columns(&recorded_layout, &layout, &header.software_version)?;
    let updates = script.design(&params, designer.as_deref())?;
    flush_denormals();
    user.display = None;
    let mut replay = Replay {
        feed: Feed::new(
            &script,
            updates,
            &layout,
            bench.channels.len(),
            &embedded.rig,
            period_s,
        ),
        comparator: Comparator::new(header),
        rt_loop,
        user,
        give,
        clock,
        period_nanos,
        told: Vec::new(),
        begins: None,
        result: Recomputed {
            frames: session.info().frames,
            notes: embedded.notes.clone(),
            ..Recomputed::default()
        },
    };
    replay.frames(session, go_on)?;
    let Replay {
        mut result, told, ..
    } = replay;
    if result.equal + result.given == result.frames && result.obstacle.is_none() {
        match why_events_are_incomplete(session) {
            Some(note) => result.notes.push(note),
            None => {
                let words = |event: &Event| event_record::of(event, &layout, bench.params);
                let told: Vec<EventRecord> = told.iter().map(words).collect();
                let from = result.proven.map_or(0, |(first, _)| first);
                let events: Vec<EventRecord> =
                    events.into_iter().filter(|e| e.seq >= from).collect();
                result.event_difference = first_event_difference(&events, &told);
            }
        }
    }
    Ok(result)
}

/// Events up to the first damage.
fn readable_events(session: &Session) -> Result<Vec<EventRecord>, RecordError> {
    session.events(TimeRange::ALL).or_else(|_| {
        let readable = session.frames(TimeRange::ALL).map_while(Result::ok);
        let to = readable.last().map_or(0, |last| last.frame.t_nanos);
        session.events(TimeRange { from: 0, to })
    })
}

fn why_events_are_incomplete(session: &Session) -> Option<String> {
    let Some(end) = session.end().filter(|end| !end.recovered) else {
        return Some("the recording was cut off, so its last events were not compared".into());
    };
    let lost = end.result.get("lost_events")?;
    Some(format!(
        "{lost} events came too fast to be recorded, so events were not compared"
    ))
}

fn require_same_columns(
    recorded: &Layout,
    built: &Layout,
    version: &str,
) -> Result<(), ReplayError> {
    let (theirs, ours) = (recorded.channels(), built.channels());
    let pairs = theirs.iter().zip(ours);
    let what = match pairs.clone().position(|(a, b)| a.id != b.id) {
        Some(at) => format!(
            "column {at} is '{}' there and '{}' here",
            theirs[at].id, ours[at].id
        ),
        None if theirs.len() != ours.len() => {
            format!("{} there, {} here", theirs.len(), ours.len())
        }
        None => return Ok(()),
    };
    Err(ReplayError::Channels {
        version: version.to_owned(),
        what,
    })
}

/// A loop that is computed again.
struct Replay<'a> {
    feed: Feed<'a>,
    comparator: Comparator,
    rt_loop: RtLoop<ExactClock>,
    user: UserSide,
    give: Producer<RecordedExchange>,
    clock: ExactClock,
    period_nanos: u64,
    /// Events of the loop.
    told: Vec<Event>,
    /// Whether it has begun; `None` before the first frame.
    begins: Option<bool>,
    result: Recomputed,
}

impl Replay<'_> {
    /// Frame by frame, to the end, an obstacle or the first difference.
    fn frames(
        &mut self,
        session: &Session,
        go_on: &mut (dyn FnMut(u64) -> bool + Send),
    ) -> Result<(), ReplayError> {
        for recorded in session.frames(TimeRange::ALL) {
            let done = self.result.equal + self.result.given;
            if done.is_multiple_of(FRAMES_BETWEEN_CALLS) && !go_on(done) {
                return Err(ReplayError::Stopped);
            }
            let done = recorded
                .map_err(|e| Obstacle::Damaged {
                    after: self.result.proven.map_or(0, |(_, last)| last),
                    problem: e.to_string(),
                })
                .and_then(|recorded| self.tick(&recorded));
            match done {
                Ok(true) => {}
                Ok(false) => break,
                Err(obstacle) => {
                    self.result.obstacle = Some(obstacle);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether a frame is still taken as it is, because the state before it is not known.
    fn is_given(&mut self, frame: &Frame) -> bool {
        let begins = *self.begins.get_or_insert(frame.seq == 0);
        if begins {
            return false;
        }
        if self.result.given == 0 && !matches!(frame.state, State::Idle | State::Ready) {
            let (seq, state) = (frame.seq, frame.state);
            self.result.obstacle = Some(Obstacle::BeginsLater { seq, state });
        }
        self.result.given += 1;
        if frame.state == State::Ready {
            self.rt_loop.resume_ready(frame);
            self.feed.begin_behind(frame);
            self.begins = Some(true);
            self.result.notes.push(format!(
                "the recording begins later than its loop; up to tick {} it is taken as it is",
                frame.seq
            ));
        }
        true
    }

    /// One tick; `false` at the first difference.
    fn tick(&mut self, recorded: &RecordedFrame) -> Result<bool, Obstacle> {
        if self.is_given(&recorded.frame) {
            return Ok(true);
        }
        let inputs = self.feed.next(&recorded.frame)?;
        if inputs.skipped > 0 {
            // Into the tick before the one that is to come: that one lies ahead, all others have begun.
            self.clock.spend(inputs.skipped * self.period_nanos + 1);
            self.result.skipped += inputs.skipped;
        }
        // The loop has taken what it was given in the tick before: there is room in every ring.
        for command in inputs.commands {
            let _ = self.user.commands.push(command);
        }
        for update in inputs.updates {
            let _ = self.user.updates.send(Box::new(update));
        }
        let _ = self.give.push(RecordedExchange {
            frame: recorded.frame,
            fault: inputs.fault,
        });
        self.rt_loop.cycle();
        while let Ok(event) = self.user.events.pop() {
            self.told.push(event);
        }
        let published = self.user.record.as_mut().and_then(|ring| ring.pop().ok());
        let ours = published.unwrap_or_else(Frame::empty);
        match self.comparator.compare(recorded, &ours) {
            Verdict::Different(difference) => {
                self.result.first_difference = Some(difference);
                return Ok(false);
            }
            Verdict::AsKept => self.result.as_kept += 1,
            Verdict::Identical => {}
        }
        self.result.equal += 1;
        let seq = recorded.frame.seq;
        let first = self.result.proven.map_or(seq, |(first, _)| first);
        self.result.proven = Some((first, seq));
        Ok(true)
    }
}
