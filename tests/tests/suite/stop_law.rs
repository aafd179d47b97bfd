//! The law of stop: every way of stopping in every state that has power, on a simulated rig and on an emulated EtherCAT
//! segment. How far the motor went, the largest force on the way, when the power was off; written to `docs/safety.md`.

use crate::blessed;
use integration_tests::{ExactRun, project_root, session_from};
use rt_core::guard::{Cut, Drive, Request, State};
use rt_core::link::{Command, EventKind, StopCause};
use std::fmt::Write;

/// A way of stopping.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// STOP, Escape: once.
    Stop,
    /// Again 10 ms later.
    SecondStop,
    /// SIGINT, SIGTERM, SIGHUP, SIGQUIT: once.
    Signal,
    /// Again 10 ms later.
    SecondSignal,
    /// The window or whoever drives the loop is gone.
    Abandoned,
    /// The dead man's switch is let go.
    DeadMan,
    /// The program is held for 3 s and goes on (SIGSTOP and SIGCONT, a suspended computer).
    Frozen,
}

const WAYS: [(Way, &str); 7] = [
    (Way::Stop, "STOP"),
    (Way::SecondStop, "STOP twice"),
    (Way::Signal, "INT, TERM, HUP, QUIT"),
    (Way::SecondSignal, "the same twice"),
    (Way::Abandoned, "window gone"),
    (Way::DeadMan, "dead man let go"),
    (Way::Frozen, "frozen for 3 s"),
];

/// Where it is stopped: a state, and how it gets there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// On its way to the parked position.
    Arming,
    /// Through the middle of its sine, as fast as it gets, into the specimen.
    Running,
    /// On its way back after the end of a run.
    Returning,
    /// Held after a stop.
    Holding,
    /// Held after a trip whose action is Hold.
    TrippedHold,
    /// On its way after a trip whose action is Retreat.
    Retreating,
}

const PLACES: [(Place, &str); 6] = [
    (Place::Arming, "Armed, travelling"),
    (Place::Running, "Running into the specimen"),
    (Place::Returning, "Stopping after a run"),
    (Place::Holding, "Holding"),
    (Place::TrippedHold, "Tripped, Hold"),
    (Place::Retreating, "Tripped, Retreat"),
];

/// A rig of its own: the shipped one with a dead man's switch and short times; it holds after a stop where that is asked.
fn rig(shipped: &str, holds: bool) -> String {
    let assets = project_root().join("assets");
    let text = std::fs::read_to_string(assets.join("rigs").join(shipped)).unwrap();
    let text = text.replace("\"../", &format!("\"{}/", assets.display()));
    let rules = "dead_man_s: 0.2, held_for_s: 5.0, max_gap_s: 0.1, armed_for_s: 60.0,\
                 unattended: [\"run\"]";
    let text = if text.contains("\n    safety: (") {
        let (before, rest) = text.split_once("\n    safety: (").unwrap();
        let (_, after) = rest.split_once("),\n").unwrap();
        format!("{before}\n    safety: ({rules}),\n{after}")
    } else {
        let (body, _) = text.rsplit_once(')').unwrap();
        format!("{body}    safety: ({rules}),\n)\n")
    };
    let text = if holds {
        text.replace("tracking_cycles: 3,", "tracking_cycles: 3, at_rest: Hold,")
    } else {
        text
    };
    let name = format!("stop-law-{holds}-{shipped}");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A technician at a loop.
struct Technician {
    run: ExactRun,
    holds_switch: bool,
}

impl Technician {
    fn new(shipped: &str, place: Place) -> Self {
        let rig = rig(shipped, place == Place::Holding);
        let (limit, seconds) = match place {
            Place::TrippedHold => (
                "limits: [(channel: \"motor_position\", low: -0.02, high: 0.16, for_cycles: 1, action: Hold)],",
                "",
            ),
            Place::Retreating => (
                "limits: [(channel: \"motor_position\", low: -0.02, high: 0.16, for_cycles: 1, action: Retreat)],",
                "",
            ),
            Place::Returning => ("", "seconds: 1.3,"),
            _ => ("", ""),
        };
        let text = format!(
            r#"Session(title: "law of stop", bench: Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 1.0), entry_s: 0.2),
            rig: {rig:?}, {seconds} {limit})"#
        );
        Self {
            run: ExactRun::new(&session_from(&text)),
            holds_switch: true,
        }
    }

    fn cycle(&mut self) {
        if self.holds_switch {
            // Nobody listens any more once the loop has ended.
            let _ = self.run.user.commands.push(Command::Alive);
        }
        if self.run.goes_on {
            self.run.cycle();
        }
    }

    fn cycles(&mut self, n: usize) {
        (0..n).for_each(|_| self.cycle());
    }

    fn until(&mut self, what: &str, most: usize, holds: impl Fn(&ExactRun) -> bool) {
        for _ in 0..most {
            if holds(&self.run) {
                return;
            }
            self.cycle();
        }
        panic!("never {what}: {:?} {:?}", self.run.state(), self.run.events);
    }

    fn until_state(&mut self, state: State) {
        self.until(state.name(), 3000, |run| run.state() == state);
    }

    fn get_to(&mut self, place: Place) {
        self.until_state(State::Ready);
        self.run.ask(Request::Arm);
        self.until_state(State::Armed);
        self.run.ask(Request::Run);
        self.until_state(State::Running);
        match place {
            // From below the parked position, where an earlier run was stopped.
            Place::Arming => {
                self.cycles(400);
                self.run.ask(Request::Stop);
                self.until_state(State::Ready);
                self.run.ask(Request::Arm);
                self.until_state(State::Armed);
                self.cycles(50);
            }
            // 30 mm · sin(2π t): 0.19 m/s through the middle.
            Place::Running => {
                self.cycles(250);
                self.until("fast enough", 600, |run| {
                    let reference = run.column("motor_reference");
                    let last = &reference[reference.len() - 2..];
                    (last[1] - last[0]) / 0.002 < -0.185
                });
            }
            Place::Returning => {
                self.until_state(State::Stopping);
                self.cycles(20);
            }
            Place::Holding => {
                self.cycles(250);
                self.run.ask(Request::Stop);
                self.until_state(State::Holding);
            }
            Place::TrippedHold | Place::Retreating => {
                self.until_state(State::Tripped);
                self.cycles(20);
            }
        }
    }

    fn stop(&mut self, way: Way) {
        match way {
            Way::Stop => self.run.ask(Request::Stop),
            Way::SecondStop => {
                self.run.user.stop.press();
                self.cycles(5);
                self.run.user.stop.press();
            }
            Way::Signal => self.run.user.stop.end_or_press(),
            Way::SecondSignal => {
                self.run.user.stop.end_or_press();
                self.cycles(5);
                self.run.user.stop.end_or_press();
            }
            Way::Abandoned => {
                let (gone, _) = rtrb::RingBuffer::new(1);
                self.run.user.commands = gone;
            }
            Way::DeadMan => self.holds_switch = false,
            Way::Frozen => self.run.rt_loop.clock().spend(3_000_000_000),
        }
    }
}

/// What was seen after a stop.
struct Seen {
    way_mm: f64,
    peak_n: f64,
    off_after_ms: f64,
    ended: &'static str,
}

fn stopped(shipped: &str, place: Place, way: Way) -> Seen {
    let what = format!("{place:?}, {way:?} on {shipped}");
    let mut bench = Technician::new(shipped, place);
    bench.get_to(place);
    let from = bench.run.frames.len();
    bench.stop(way);
    bench.cycles(2500);
    let run = &bench.run;
    let position = run.column("motor_position");
    let force = run.column("force");
    let frames = &run.frames;
    let last = frames.last().unwrap();
    assert_eq!(last.drive, Drive::Off, "{what}: {:?}", run.events);
    let off = frames[from..].iter().position(|f| f.drive == Drive::Off);
    let off = from + off.unwrap_or_else(|| panic!("{what}: never off"));
    assert!(
        frames[off..].iter().all(|f| f.drive == Drive::Off),
        "{what}: on again"
    );
    let finite = |x: &&f64| x.is_finite();
    let start = position[from - 1];
    let moved = position[from..].iter().filter(finite);
    let way_m = moved.map(|x| (x - start).abs()).fold(0.0, f64::max);
    let peak_n = force[from..]
        .iter()
        .filter(finite)
        .copied()
        .fold(0.0, f64::max);
    // Every stop is seen to its end: the last 20 frames stand still.
    let tail = &position[position.len() - 20..];
    // Behind a gap the segment is set up anew, which takes real time: nothing is measured any more.
    let is_seen = tail.iter().all(|x| x.is_finite());
    let rests = tail.iter().all(|x| (x - tail[0]).abs() < 0.5e-3);
    assert!(
        rests || !is_seen && way == Way::Frozen,
        "{what}: still moves"
    );
    let told =
        |e: &rt_core::link::Event| matches!(e.kind, EventKind::AtRest(r) if r.is_still == is_seen);
    assert!(run.events.iter().any(told), "{what}: {:?}", run.events);
    let after_s = (frames[off].seq - frames[from - 1].seq) as f64 * 0.002;
    assert!(after_s < 10.0, "{what}: powered for {after_s} s");
    judge(&what, place, way, &bench, from, after_s);
    let ended = match last.state {
        State::Tripped if !is_seen => "latched, rest not seen",
        State::Tripped => "latched",
        _ if bench.run.goes_on => "Ready",
        _ => "ended",
    };
    Seen {
        way_mm: 1e3 * way_m,
        peak_n,
        off_after_ms: 1e3 * after_s,
        ended,
    }
}

/// What has to hold of each way of stopping.
fn judge(what: &str, place: Place, way: Way, bench: &Technician, from: usize, after_s: f64) {
    let run = &bench.run;
    let since = run.frames[from - 1].seq;
    let told = |wanted: &dyn Fn(&EventKind) -> bool| {
        run.events.iter().any(|e| e.seq > since && wanted(&e.kind))
    };
    let was_stopping = matches!(
        place,
        Place::Holding | Place::TrippedHold | Place::Retreating
    );
    let at_once = match way {
        // 10 ms between the two, and the exchange that tells the drive.
        Way::SecondStop => Some(0.016),
        Way::Stop if was_stopping => Some(0.004),
        Way::SecondSignal if place != Place::Retreating => Some(0.1),
        Way::Frozen => Some(3.004),
        _ => None,
    };
    if let Some(most) = at_once {
        assert!(after_s <= most, "{what}: off after {after_s} s");
    }
    if way == Way::Stop && !was_stopping {
        assert!(
            told(&|k| *k == EventKind::Stopping(StopCause::Requested)),
            "{what}"
        );
    }
    if way == Way::SecondStop {
        assert!(
            told(&|k| *k == EventKind::PowerCut(Cut::SecondStop)),
            "{what}: {:?}",
            run.events
        );
    }
    // A stop travels nowhere: at most the way of braking from the speed that it met.
    if place != Place::Retreating {
        let spec = &run.user.rig.spec.actuators[0];
        let reference = run.column("motor_reference");
        let speed = (reference[from - 1] - reference[from - 2]).abs() / 0.002;
        let waits = match way {
            Way::DeadMan => 0.2,
            Way::SecondStop | Way::SecondSignal => 0.012,
            _ => 0.0,
        };
        let bound = speed * (0.02 + waits) + speed * speed / (2.0 * spec.travel.braking) + 2e-3;
        let powered = |i: &usize| run.frames[*i].drive == Drive::On;
        let way_m = (from..run.frames.len())
            .filter(powered)
            .map(|i| (reference[i] - reference[from - 1]).abs());
        let way_m = way_m.fold(0.0, f64::max);
        assert!(
            way_m <= bound.max(if way == Way::DeadMan { 0.1 } else { 0.0 }),
            "{what}: {way_m} m, at most {bound} m"
        );
    }
}

fn table(shipped: &str) -> String {
    let mut text = String::from("| stopped while |");
    for (_, name) in WAYS {
        write!(text, " {name} |").unwrap();
    }
    text += "\n|---|";
    text += &"---|".repeat(WAYS.len());
    for (place, name) in PLACES {
        write!(text, "\n| {name} |").unwrap();
        for (way, _) in WAYS {
            let seen = stopped(shipped, place, way);
            write!(
                text,
                " {:.0} ms, {:.1} mm, {:.0} N, {} |",
                seen.off_after_ms, seen.way_mm, seen.peak_n, seen.ended
            )
            .unwrap();
        }
    }
    text + "\n"
}

#[test]
fn every_way_of_stopping_in_every_state_with_power() {
    blessed::compare("stop-law-simulated", &table("simulated-dsa-380.ron"));
}

#[test]
fn every_way_of_stopping_in_every_state_with_power_on_a_segment() {
    blessed::compare("stop-law-ethercat", &table("ethercat-dsa-380.ron"));
}
