//! A piece of work on a rig in a thread of its own, for the window: what it says on the way, what it ends with, and how it
//! is stopped.

use super::WorkError;
use super::brake_test::{BrakeTested, WATCH_S, brake_test};
use super::check::{Checked, check};
use super::identify::{Choice, Identified, identify};
use super::play::Stand;
use super::scan::{Scan, scan};
use crate::grip::Tell;
use crate::hand::Hand;
use crate::permit::Presence;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// What can be worked on from the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What answers.
    Scan,
    /// Wiring and signs.
    Check,
    /// Motor, delays, pad.
    Identify,
    /// Whether the brake holds.
    BrakeTest,
}

impl Step {
    /// What its button says.
    pub fn name(self) -> &'static str {
        match self {
            Step::Scan => "Scan",
            Step::Check => "Check",
            Step::Identify => "Identify",
            Step::BrakeTest => "Test brake",
        }
    }

    /// What it does, and whether anything moves.
    pub fn help(self) -> &'static str {
        match self {
            Step::Scan => "What answers on the rig, against its file. Nothing moves.",
            Step::Check => "Wiring and signs. The motor steps by less than half a millimetre.",
            Step::Identify => {
                "Motor, delays, pad and noise. The motor moves by less than two millimetres for about a minute."
            }
            Step::BrakeTest => {
                "Whether the brake holds without power. Nothing is switched on; keep out of reach of what may fall."
            }
        }
    }
}

/// A step that a person has asked for. Where the rig wants someone beside it, that person lets it move with the keys of the
/// window: see [`Job::hand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What is to be done.
    pub step: Step,
    /// Whether a drive that forgets its home position when the bench gives it free may find it again by itself: the
    /// person has homed it before.
    pub homes: bool,
    /// Whether hardware is moved without real-time rights.
    pub insists: bool,
}

/// What a piece of work ended with.
pub enum Outcome {
    /// See [`Step::Scan`].
    Scan(Scan),
    /// See [`Step::Check`].
    Check(Checked),
    /// See [`Step::Identify`].
    Identify(Box<Identified>),
    /// See [`Step::BrakeTest`].
    BrakeTest(BrakeTested),
}

enum Message {
    Line(String),
    Done(Result<Outcome, WorkError>),
}

/// See the module's text.
pub struct Job {
    /// What is done.
    pub step: Step,
    /// What it said so far.
    pub lines: Vec<String>,
    /// The keys of the window.
    pub hand: Arc<Hand>,
    stop: Arc<AtomicBool>,
    messages: mpsc::Receiver<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Job {
    /// Begins; `wake` is called when there is something new.
    pub fn begin(
        rig: PathBuf,
        order: Order,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, messages) = mpsc::channel();
        let stop_of_work = Arc::clone(&stop);
        let hand = Arc::new(Hand::default());
        let hand_of_work = Arc::clone(&hand);
        let asking = tell.clone();
        let tell_person: Tell = Arc::new(move |text: &str| {
            // As below.
            let _ = asking.send(Message::Line(text.to_owned()));
        });
        let work = move || {
            let mut say = |line: &str| {
                // A window that is gone has nobody to tell.
                let _ = tell.send(Message::Line(line.to_owned()));
                wake();
            };
            let presence = Presence::Window(hand_of_work, tell_person);
            let done = do_step(rig, order, presence, stop_of_work, &mut say);
            let _ = tell.send(Message::Done(done));
            wake();
        };
        let thread = std::thread::Builder::new()
            .name("pantobench-rig".into())
            .spawn(work)
            .map_err(|e| format!("no thread for the work on the rig: {e}"))?;
        Ok(Self {
            step: order.step,
            lines: Vec::new(),
            hand,
            stop,
            messages,
            thread: Some(thread),
        })
    }

    /// Stops in a controlled way; the end comes as [`WorkError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The end, once it is there.
    pub fn poll(&mut self) -> Option<Result<Outcome, WorkError>> {
        loop {
            match self.messages.try_recv() {
                Ok(Message::Line(line)) => self.lines.push(line),
                Ok(Message::Done(done)) => return Some(done),
                Err(mpsc::TryRecvError::Empty) => return None,
                Err(mpsc::TryRecvError::Disconnected) => {
                    let text = "the work on the rig has ended without a result";
                    return Some(Err(WorkError::Environment(text.into())));
                }
            }
        }
    }
}

impl Drop for Job {
    /// Stops and waits: a program that ends must not leave a motor that moves.
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Work that has panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

fn do_step(
    rig: PathBuf,
    order: Order,
    presence: Presence,
    stop: Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, WorkError> {
    let mut stand = Stand::load(&rig, stop)?;
    stand.presence = presence;
    // A simulated drive forgets its home position with every start.
    stand.homes = order.homes || stand.is_simulated();
    stand.insists = order.insists;
    Ok(match order.step {
        Step::Scan => Outcome::Scan(scan(&stand)?),
        Step::Check => Outcome::Check(check(&stand, say)?),
        Step::Identify => {
            let found = identify(&stand, &Choice::default(), say)?;
            Outcome::Identify(Box::new(found))
        }
        Step::BrakeTest => Outcome::BrakeTest(brake_test(&stand, WATCH_S, say)?),
    })
}
