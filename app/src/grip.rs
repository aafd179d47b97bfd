//! Who arms a loop and holds its dead man's switch: nobody has to, a person does, or this program may because the rig file
//! says so. Everything that would make something move goes through here on its way to the loop.

use crate::hand::{Asking, Consent, Hand, Names};
use crate::terminal::Keys;
use rt_core::channel::Frame;
use rt_core::guard::{Request, State};
use rt_core::link::{Command, Event, EventKind, UserSide};
use rt_core::rig::RigCommand;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// For how long a person is waited for.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What a person is asked to let happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The drive finds its home position: the motor moves by itself.
    Home,
    /// The drive is switched on, and what was started runs.
    Arm,
}

impl Goal {
    fn words(self) -> &'static str {
        match self {
            Goal::Home => "The motor moves to find its home position",
            Goal::Arm => "The drive is switched on and moves the motor",
        }
    }
}

/// Why a person's part came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// Nobody took the steps.
    NobodyCame,
    /// The dead man's switch was let go.
    LetGo,
    /// STOP was pressed before anything moved.
    Stopped,
    /// Homing cannot be let by a real switch alone.
    NoKeys,
}

impl Absent {
    /// In words that say what to do.
    pub fn words(self) -> &'static str {
        match self {
            Absent::NobodyCame => "nobody took the steps that it needs; start it again",
            Absent::LetGo => "the dead man's switch was let go; start it again",
            Absent::Stopped => "it was stopped before anything moved",
            Absent::NoKeys => {
                "a drive that homes shows no inputs, so that the switch alone cannot let it: home it in a terminal or in \
                 the window"
            }
        }
    }
}

/// Tells a person what to do.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A person beside the rig, for one run or for a whole piece of work.
#[derive(Clone)]
pub struct Attended {
    /// Where steps and switch are read.
    pub hand: Arc<Hand>,
    /// How they are called.
    pub names: Names,
    /// Tells what to do.
    pub tell: Tell,
    /// The terminal, as long as its keys are read.
    pub keys: Option<Arc<Keys>>,
    /// The second step has to come within this time; `None`: one step.
    pub within: Option<Duration>,
    /// For how long the switch may be let go; `None`: there is none.
    pub hold: Option<Duration>,
    /// The real switch: its channel, and whether it takes the steps too, where there are no keys.
    pub switch: Option<(&'static str, bool)>,
    /// Set once a piece of work of several runs was consented to: they follow each other.
    pub given: Option<Arc<AtomicBool>>,
}

impl Attended {
    /// The switch as keys hold it; `None` if there is none, or a real one.
    pub fn hold_by_keys(&self) -> Option<Duration> {
        self.hold.filter(|_| self.switch.is_none())
    }

    /// Whether keys hold the switch now; a real one is not their matter.
    pub fn holds(&self) -> bool {
        let by_keys = self.hold_by_keys();
        by_keys.is_none_or(|within| self.hand.is_held(within))
    }

    /// Whether the real switch takes the steps, because there are no keys.
    pub fn steps_by_switch(&self) -> bool {
        self.switch.is_some_and(|(_, steps)| steps)
    }
}

/// See the module's text.
pub enum Grip {
    /// Arms by itself, never confirms, holds nothing: for rigs that ask for none of it.
    Free,
    /// This program does it all: a computation, or what the rig file allows unattended.
    Program,
    /// A person.
    Person(Box<Person>),
}

/// A person at work on one loop.
pub struct Person {
    at: Attended,
    /// Column of the real switch.
    column: Option<usize>,
    was_pressed: bool,
    asking: Option<(Goal, Asking, Instant)>,
    /// The drive finds its home position, which the guard does not watch.
    is_homing: bool,
    absent: Option<Absent>,
}

impl Grip {
    /// A person; `column` is that of the real switch, if there is one.
    pub fn person(at: Attended, column: Option<usize>) -> Self {
        Grip::Person(Box::new(Person {
            at,
            column,
            // A switch that is held from the beginning, or stuck, is no press.
            was_pressed: true,
            asking: None,
            is_homing: false,
            absent: None,
        }))
    }

    /// A command on its way to the loop: what makes something move waits for a person.
    pub fn pass(&mut self, command: Command) -> Option<Command> {
        match (self, command) {
            (Grip::Free, Command::Request(Request::Confirm)) => None,
            (Grip::Person(person), command) => person.pass(command),
            (_, command) => Some(command),
        }
    }

    /// Looks at a frame: the real switch shows there.
    pub fn note_frame(&mut self, frame: &Frame) {
        if let Grip::Person(person) = self {
            person.note_frame(frame);
        }
    }

    /// Looks at an event.
    pub fn note_event(&mut self, event: &Event) {
        if let Grip::Person(person) = self {
            person.note_event(event);
        }
    }

    /// Passes on who holds the switch, and what a person lets happen. `ends`: this program was told to stop.
    pub fn serve(&mut self, user: &mut UserSide, ends: bool) -> Option<Command> {
        match self {
            Grip::Free => None,
            Grip::Program => {
                let spec = &user.rig.spec;
                if spec.safety.dead_man_s.is_some() && spec.dead_man.is_none() && !ends {
                    // A full ring means that the loop does not listen; then nothing is held either.
                    let _ = user.commands.push(Command::Alive);
                }
                None
            }
            Grip::Person(person) => person.serve(user),
        }
    }

    /// Whether a person is waited for.
    pub fn is_asking(&self) -> bool {
        matches!(self, Grip::Person(person) if person.asking.is_some())
    }

    /// Why a person's part came to nothing, if it did.
    pub fn absent(&self) -> Option<Absent> {
        match self {
            Grip::Person(person) => person.absent,
            _ => None,
        }
    }
}

impl Person {
    /// Whether an earlier run of the same piece of work was consented to.
    fn has_consented(&self) -> bool {
        let given = self.at.given.as_ref();
        given.is_some_and(|given| given.load(Ordering::Relaxed))
    }

    fn pass(&mut self, command: Command) -> Option<Command> {
        let goal = match command {
            Command::Request(Request::Arm) => Goal::Arm,
            Command::Rig(RigCommand::Home) => Goal::Home,
            Command::Request(Request::Confirm) => {
                return self.has_consented().then_some(command);
            }
            _ => return Some(command),
        };
        if goal == Goal::Home && self.at.steps_by_switch() {
            return self.give_up(Absent::NoKeys);
        }
        if !self.has_consented() {
            self.want(goal);
            return None;
        }
        if !self.at.holds() {
            return self.give_up(Absent::LetGo);
        }
        self.is_homing = goal == Goal::Home;
        Some(command)
    }

    fn want(&mut self, goal: Goal) {
        // A rig that homes shows no measurement meanwhile: it watches its switch by itself.
        let hold = match goal {
            Goal::Arm => self.at.hold,
            Goal::Home => self.at.hold_by_keys(),
        };
        let asking = Asking::begin(&self.at.hand, self.at.within, hold);
        let words = asking.words(&self.at.names);
        (self.at.tell)(&format!("{}: to let it, {words}.", goal.words()));
        self.asking = Some((goal, asking, Instant::now()));
    }

    fn give_up(&mut self, why: Absent) -> Option<Command> {
        self.absent.get_or_insert(why);
        self.asking = None;
        Some(Command::Quit)
    }

    fn note_frame(&mut self, frame: &Frame) {
        let Some(column) = self.column else { return };
        let value = frame.values[column];
        let is_pressed = value > 0.5;
        if is_pressed {
            self.at.hand.hold();
        } else {
            self.at.hand.let_go();
        }
        if self.at.steps_by_switch() && is_pressed && !self.was_pressed {
            self.at.hand.press_step();
        }
        // While the rig does not answer it is not known whether the switch was let go.
        if !value.is_nan() {
            self.was_pressed = is_pressed;
        }
    }

    fn note_event(&mut self, event: &Event) {
        match event.kind {
            // What kept it from being ready ends every request.
            EventKind::State {
                to: State::Idle, ..
            } => self.asking = None,
            EventKind::State { .. } => self.is_homing = false,
            EventKind::Refused(refusal)
                if refusal.request == Request::Confirm && refusal.state == State::Ready =>
            {
                self.want(Goal::Arm);
            }
            _ => {}
        }
    }

    fn serve(&mut self, user: &mut UserSide) -> Option<Command> {
        if self.at.hand.take_stop() {
            user.stop.press();
            if self.asking.is_some() {
                return self.give_up(Absent::Stopped);
            }
            return Some(Command::Quit);
        }
        if self.at.hold_by_keys().is_some() && self.at.hand.take_sign() {
            // As above.
            let _ = user.commands.push(Command::Alive);
        }
        if self.is_homing && !self.at.holds() {
            self.is_homing = false;
            return self.give_up(Absent::LetGo);
        }
        let (goal, asking, since) = self.asking.as_mut()?;
        let goal = *goal;
        match asking.poll(&self.at.hand) {
            Consent::Awaited if since.elapsed() > PATIENCE => self.give_up(Absent::NobodyCame),
            Consent::Awaited => None,
            Consent::First => {
                (self.at.tell)("First step taken.");
                (goal == Goal::Arm).then_some(Command::Request(Request::Arm))
            }
            Consent::Expired => {
                (self.at.tell)("The rest did not come in time: begin again.");
                None
            }
            Consent::Given => Some(self.consent(goal)),
        }
    }

    fn consent(&mut self, goal: Goal) -> Command {
        self.asking = None;
        if let Some(given) = &self.at.given {
            given.store(true, Ordering::Relaxed);
        }
        self.is_homing = goal == Goal::Home;
        match goal {
            Goal::Home => Command::Rig(RigCommand::Home),
            Goal::Arm if self.at.within.is_some() => Command::Request(Request::Confirm),
            Goal::Arm => Command::Request(Request::Arm),
        }
    }
}
