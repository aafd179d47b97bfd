//! What keeps a bench from being ready, and who may put it right.

use super::*;
use crate::grip::Attended;
use crate::hand::{Hand, WINDOW};
use crate::runtime::{self, Prepared};
use drivers::rig_file::{self, RigSetup};
use drivers::simulated::SimTime;
use rt_core::channel::LayoutError;
use rt_core::guard::State;
use rt_core::pacing::{ExactClock, NANOS_PER_SECOND};
use rt_core::rig::{Rig, RigCommand, RigFault, RigRefusal, RigSpec};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A rig whose drive has latched an error before anyone came; after a reset it is as good as new, or has it again.
struct Latched {
    rig: Box<dyn Rig>,
    is_latched: bool,
    stays: bool,
}

impl Rig for Latched {
    fn spec(&self) -> &RigSpec {
        self.rig.spec()
    }

    fn bind(&mut self, layout: &Layout) -> Result<(), LayoutError> {
        self.rig.bind(layout)
    }

    fn exchange(&mut self, frame: &mut Frame) -> Result<(), RigFault> {
        self.rig.exchange(frame)?;
        if self.is_latched {
            return Err(RigFault::DriveFault { code: 0x8611 });
        }
        Ok(())
    }

    fn command(&mut self, command: RigCommand) -> Result<(), RigRefusal> {
        if command == RigCommand::Reset {
            self.is_latched = self.stays;
            return Ok(());
        }
        self.rig.command(command)
    }
}

fn session() -> LoadedSession {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/inline.ron");
    let text = r#"Session(title: "latched", bench: Profile(source: Sine(amplitude_m: 0.002, frequency_hz: 1.0)),
        rig: "../assets/rigs/simulated-dsa-380.ron", seconds: 0.5)"#;
    LoadedSession {
        session: rt_core::file::parse(text, &path).unwrap(),
        path,
    }
}

/// A run to its end, and the words for one that never began.
fn run(stays: bool, change: impl FnOnce(&mut Follower<'_>)) -> (bool, String, u64) {
    let loaded = session();
    let clock = ExactClock::default();
    let setup = RigSetup {
        period_nanos: loaded.period_nanos(),
        time: SimTime::Exact(clock.clone()),
        injections: &[],
        uplift_n: None,
        own_calibrations: None,
    };
    let rig = Latched {
        rig: rig_file::load_rig(&loaded.rig_path(), setup).unwrap(),
        is_latched: true,
        stays,
    };
    let prepared = runtime::prepare_on(&loaded, Box::new(rig), clock).unwrap();
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        designer,
        params,
        ..
    } = prepared;
    let mut follower = Follower::new(&loaded, &layout, designer, params, None, |_| ());
    change(&mut follower);
    let nothing = AtomicBool::new(false);
    while rt_loop.cycle() {
        follower.follow(&mut user, &nothing);
    }
    follower.follow(&mut user, &nothing);
    let outcome = &follower.conductor.outcome;
    let cycles = Timing::read(&user.timing.cycles);
    (outcome.ran, outcome.why_it_never_ran(&layout), cycles)
}

#[test]
fn an_error_that_the_drive_has_latched_ends_the_request_and_names_what_resets_it() {
    let (ran, why, cycles) = run(false, |_| ());
    assert!(!ran && cycles < 10, "{cycles}");
    assert!(
        why.contains("0x8611") && why.contains("--acknowledge"),
        "{why}"
    );
}

#[test]
fn a_person_who_asks_at_the_start_resets_it_once() {
    let (ran, ..) = run(false, |f| f.conductor.acknowledges = true);
    assert!(ran);
    let (ran, why, cycles) = run(true, |f| f.conductor.acknowledges = true);
    let seconds = (cycles * session().period_nanos()) as f64 / NANOS_PER_SECOND as f64;
    assert!(!ran && why.contains("0x8611"), "{why}");
    assert!(seconds < READY_TIMEOUT_S + 0.5, "{seconds}");
}

#[test]
fn a_free_grip_confirms_nothing_and_a_person_is_asked_before_anything_is_sent() {
    let mut free = Grip::Free;
    let arm = Command::Request(rt_core::guard::Request::Arm);
    let confirm = Command::Request(rt_core::guard::Request::Confirm);
    assert_eq!((free.pass(arm), free.pass(confirm)), (Some(arm), None));
    let hand = Arc::new(Hand::default());
    let told = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&told);
    let attended = Attended {
        hand: Arc::clone(&hand),
        names: WINDOW,
        tell: Arc::new(move |_| hears.store(true, Ordering::Relaxed)),
        keys: None,
        within: Some(Duration::from_secs(5)),
        hold: None,
        switch: None,
        given: None,
    };
    let mut person = Grip::person(attended, None);
    assert_eq!((person.pass(arm), person.pass(confirm)), (None, None));
    assert!(told.load(Ordering::Relaxed) && person.is_asking());
    // A circuit that opens ends what was asked for.
    person.note_event(&rt_core::link::Event {
        seq: 1,
        t_nanos: 0,
        kind: rt_core::link::EventKind::State {
            from: State::Ready,
            to: State::Idle,
        },
    });
    assert!(!person.is_asking());
}
