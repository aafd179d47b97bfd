//! The rings between the real-time loop and everyone else: commands in; frames and events out. A
//! full ring never blocks the loop: what does not fit is counted.

use crate::bench::{Approval, NamedVerdict, Update};
use crate::channel::Frame;
use crate::control::predictive::FallBack;
use crate::fault::{Action, Fault};
use crate::guard::{Cut, Refusal, Request, Rest, State};
use crate::rig::{RigCommand, RigLink, RigRefusal};
use crate::stop::{StopEnd, StopLine};
use crate::timing::Timing;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What can be asked of a running loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// A change of state.
    Request(Request),
    /// A new value for a parameter, by its index in the bench's specification.
    SetParam {
        /// Index of the parameter.
        index: usize,
        /// The value asked for.
        value: f64,
    },
    /// A marker that a person sets in the recording.
    Mark {
        /// Its number; the text stays with whoever sets it.
        number: u32,
    },
    /// Something that the rig does while its drive is off.
    Rig(RigCommand),
    /// Parameters that were refused before they came to the loop: kept in the order of events.
    NoteRefusal(NamedVerdict),
    /// Someone holds the dead-man's switch; to be told again and again.
    Alive,
    /// A person insisted on arming against an objection: kept in the order of events.
    NoteInsisted(Objection),
    /// Stop in a controlled way, then end the loop.
    Quit,
}

/// What speaks against arming, outside of what the guard sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// A load cell has no calibration, or one that has expired.
    Calibration,
    /// The loop has no real-time rights.
    RealTime,
    /// The gains in use are unstable by the model, or too close to it.
    Tuning,
    /// Nobody is beside the rig; its file allows that for this purpose.
    Unattended,
}

impl Objection {
    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Objection::Calibration => "calibration",
            Objection::RealTime => "real-time",
            Objection::Tuning => "tuning",
            Objection::Unattended => "unattended",
        }
    }
}

/// Why a run ended without a trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopCause {
    /// A person asked for it.
    Requested,
    /// The time set for the run is over.
    Duration,
    /// The bench has done its work.
    Finished,
    /// A fault whose action is a controlled stop.
    Fault(Fault),
    /// Nobody is connected to the loop any more.
    Abandoned,
    /// The program lets go of the rig.
    Ending,
    /// It was armed, and nobody let it run.
    ArmedTooLong,
    /// Nobody held the dead-man's switch.
    DeadMan,
}

/// What happened, and when: `seq` is the tick in which it took effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The tick.
    pub seq: u64,
    /// The tick's time since the loop started, in nanoseconds.
    pub t_nanos: u64,
    /// What happened.
    pub kind: EventKind,
}

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The state changed.
    State {
        /// Before.
        from: State,
        /// After.
        to: State,
    },
    /// A parameter's new value took effect; a slewed one begins to move toward it.
    ParamApplied {
        /// Index of the parameter.
        index: usize,
        /// Its accepted value.
        value: f64,
    },
    /// A slewed parameter has reached its value.
    ParamSettled {
        /// Index of the parameter.
        index: usize,
        /// The value that it has now.
        value: f64,
    },
    /// A value outside the parameter's range was refused.
    ParamRefused {
        /// Index of the parameter.
        index: usize,
        /// The refused value.
        value: f64,
    },
    /// New gains took effect; the parameters that they were designed for follow.
    Retuned(Approval),
    /// New gains were not applied: the model says that the loop would be unstable or too close to it.
    RetuningRefused(NamedVerdict),
    /// New gains came that are not for this bench.
    RetuningMisfit,
    /// The bench took a safer controller by itself.
    FellBack(FallBack),
    /// A request did not fit the state.
    Refused(Refusal),
    /// Arming was asked for and waits to be confirmed.
    ArmingAsked {
        /// For so many ticks.
        within_ticks: u64,
    },
    /// Nobody confirmed it.
    ArmingExpired,
    /// A person insisted on arming against an objection.
    Insisted(Objection),
    /// A fault that warns only, or one that keeps the bench from being ready.
    Warning(Fault),
    /// A fault tripped the bench, or made a trip more severe.
    Tripped {
        /// The fault.
        fault: Fault,
        /// What is done about it.
        action: Action,
    },
    /// A controlled stop began.
    Stopping(StopCause),
    /// The power was cut at once, other than by a fault.
    PowerCut(Cut),
    /// What had power rests, or was watched for as long as that may take.
    AtRest(Rest),
    /// Armed with a limit of the bench widened by the session.
    Widened {
        /// The limited column.
        column: usize,
        /// What the bench states.
        bench: (f64, f64),
        /// What is in force.
        session: (f64, f64),
    },
    /// A person's marker.
    Mark {
        /// Its number.
        number: u32,
    },
    /// The rig has done something that it was asked for.
    RigDone(RigCommand),
    /// The rig does not do what it was asked for.
    RigRefused {
        /// What it was asked for.
        command: RigCommand,
        /// Why not.
        refusal: RigRefusal,
    },
}

/// The loop's ends of the rings.
pub(crate) struct LoopSide {
    pub commands: Consumer<Command>,
    pub updates: Consumer<Box<Update>>,
    pub used_updates: Producer<Box<Update>>,
    pub events: Producer<Event>,
    pub record: Option<Producer<Frame>>,
    pub display: Option<Producer<Frame>>,
    pub timing: Arc<Timing>,
    pub rig: RigLink,
    pub stop: StopEnd,
}

/// Everyone else's ends. Each can go to a thread of its own.
pub struct UserSide {
    /// Commands to the loop.
    pub commands: Producer<Command>,
    /// Designs for the bench.
    pub updates: UpdateSide,
    /// What happened.
    pub events: Consumer<Event>,
    /// Every frame, for whoever must not miss one; drops are counted.
    pub record: Option<Consumer<Frame>>,
    /// Frames for the screen; drops are harmless.
    pub display: Option<Consumer<Frame>>,
    /// Counters and histograms of the loop.
    pub timing: Arc<Timing>,
    /// Devices and load cells of the rig.
    pub rig: RigLink,
    /// STOP, from anywhere: a signal handler included.
    pub stop: Arc<StopLine>,
}

/// Where designs go to the loop, and come back to be freed.
pub struct UpdateSide {
    to_loop: Producer<Box<Update>>,
    used: Consumer<Box<Update>>,
}

impl UpdateSide {
    /// Frees what the loop has done with.
    pub fn free_used(&mut self) {
        while self.used.pop().is_ok() {}
    }

    /// Sends a design; given back if the loop has not yet taken those before.
    pub fn send(&mut self, update: Box<Update>) -> Result<(), Box<Update>> {
        self.free_used();
        let full = |rtrb::PushError::Full(update)| update;
        self.to_loop.push(update).map_err(full)
    }
}

/// How many entries the rings hold.
#[derive(Clone, Copy, Debug)]
pub struct RingSizes {
    /// Frames for the recorder; 0 for none.
    pub record: usize,
    /// Frames for the display; 0 for none.
    pub display: usize,
}

const COMMANDS: usize = 256;
const EVENTS: usize = 1024;
const UPDATES: usize = 8;

/// Makes both sides.
pub(crate) fn connect(sizes: RingSizes, rig: RigLink) -> (LoopSide, UserSide) {
    let (command_in, command_out) = RingBuffer::new(COMMANDS);
    let (event_in, event_out) = RingBuffer::new(EVENTS);
    let (update_in, update_out) = RingBuffer::new(UPDATES);
    let (used_in, used_out) = RingBuffer::new(UPDATES);
    let frames = |size: usize| (size > 0).then(|| RingBuffer::new(size)).unzip();
    let (record_in, record_out) = frames(sizes.record);
    let (display_in, display_out) = frames(sizes.display);
    let timing = Arc::new(Timing::default());
    let stop = Arc::new(StopLine::default());
    (
        LoopSide {
            commands: command_out,
            updates: update_out,
            used_updates: used_in,
            events: event_in,
            record: record_in,
            display: display_in,
            timing: Arc::clone(&timing),
            rig: rig.clone(),
            stop: StopEnd::of(Arc::clone(&stop)),
        },
        UserSide {
            commands: command_in,
            updates: UpdateSide {
                to_loop: update_in,
                used: used_out,
            },
            events: event_out,
            record: record_out,
            display: display_out,
            timing,
            rig,
            stop,
        },
    )
}

impl LoopSide {
    pub fn publish(&mut self, frame: &Frame) {
        if let Some(ring) = &self.record {
            let fill = (ring.buffer().capacity() - ring.slots()) as u64;
            self.timing.record_fill.store(fill, Ordering::Relaxed);
            self.timing
                .record_fill_max
                .fetch_max(fill, Ordering::Relaxed);
        }
        for (ring, drops) in [
            (&mut self.record, &self.timing.record_drops),
            (&mut self.display, &self.timing.display_drops),
        ] {
            let Some(ring) = ring else { continue };
            if ring.is_abandoned() {
                // Nobody wants these frames: not a drop.
            } else if ring.is_full() || ring.push(*frame).is_err() {
                Timing::count(drops, 1);
            }
        }
    }

    pub fn tell(&mut self, event: Event) {
        if self.events.push(event).is_err() {
            Timing::count(&self.timing.event_drops, 1);
        }
    }
}
