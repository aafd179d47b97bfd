//! Every fault that emulated drives and amplifiers can show, in every state, on an exact clock: what it ends in, how fast,
//! with which words; that the drive itself is off by then; and that the bench is Ready again afterwards, without a restart.

use drivers::emulate::faults::{Board, LinkFault};
use drivers::hardware::BusConfig;
use drivers::serial::config::Protocol;
use drivers::simulated::HomingConfig;
use integration_tests::link::{LinkBench, Setup, from_ron};
use rt_core::fault::Action;
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::pacing::Clock;
use rt_core::rig::RigCommand;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a fault that lasts is seen: its name, what is done if the drive is on, and after how many cycles at most; `None`:
/// never, and it need not be.
type Seen = Option<(&'static str, Action, u64)>;

struct Case {
    fault: LinkFault,
    /// While the drive is off.
    off: Seen,
    /// While it is on.
    on: Seen,
}

/// Inputs may be 10 ms old, five cycles.
const STALE: Seen = off_by("rig.stale-input", 6);
const ERROR: Seen = off_by("rig.drive-fault", 1);

const fn off_by(id: &'static str, within: u64) -> Seen {
    Some((id, Action::PowerOff, within))
}

#[rustfmt::skip]
const UDP: [Case; 12] = [
    Case { fault: LinkFault::Lost, off: STALE, on: STALE },
    Case { fault: LinkFault::Truncated, off: STALE, on: STALE },
    Case { fault: LinkFault::Garbage, off: STALE, on: STALE },
    Case { fault: LinkFault::PowerLoss, off: STALE, on: STALE },
    Case { fault: LinkFault::Unplugged, off: STALE, on: STALE },
    Case { fault: LinkFault::DriveError, off: ERROR, on: ERROR },
    Case { fault: LinkFault::Disabled, off: None, on: off_by("rig.drive-not-enabled", 1) },
    // The drive's count lags behind by more than eight commands.
    Case { fault: LinkFault::IgnoreReferences, off: None, on: off_by("rig.sequence", 10) },
    Case { fault: LinkFault::Stuck, off: None, on: off_by("rig.sequence", 10) },
    // Alone none of these ends anything.
    Case { fault: LinkFault::Late, off: None, on: None },
    Case { fault: LinkFault::Duplicate, off: None, on: None },
    Case { fault: LinkFault::Foreign, off: None, on: None },
];

#[rustfmt::skip]
const LINRS: [Case; 12] = [
    Case { fault: LinkFault::Lost, off: STALE, on: STALE },
    Case { fault: LinkFault::Truncated, off: STALE, on: STALE },
    Case { fault: LinkFault::Garbage, off: STALE, on: STALE },
    Case { fault: LinkFault::WrongChecksum, off: STALE, on: STALE },
    Case { fault: LinkFault::PowerLoss, off: STALE, on: STALE },
    Case { fault: LinkFault::Unplugged, off: off_by("rig.unplugged", 1), on: off_by("rig.unplugged", 1) },
    Case { fault: LinkFault::DriveError, off: ERROR, on: ERROR },
    Case { fault: LinkFault::Disabled, off: None, on: off_by("rig.drive-not-enabled", 1) },
    Case { fault: LinkFault::IgnoreReferences, off: None, on: off_by("rig.sequence", 10) },
    Case { fault: LinkFault::Stuck, off: None, on: off_by("rig.sequence", 10) },
    Case { fault: LinkFault::Late, off: None, on: None },
    Case { fault: LinkFault::Duplicate, off: None, on: None },
];

#[rustfmt::skip]
const AMPLIFIER: [Case; 8] = [
    Case { fault: LinkFault::Lost, off: STALE, on: STALE },
    Case { fault: LinkFault::Truncated, off: STALE, on: STALE },
    Case { fault: LinkFault::Garbage, off: STALE, on: STALE },
    Case { fault: LinkFault::WrongChecksum, off: STALE, on: STALE },
    Case { fault: LinkFault::PowerLoss, off: STALE, on: STALE },
    Case { fault: LinkFault::Unplugged, off: off_by("rig.unplugged", 1), on: off_by("rig.unplugged", 1) },
    // Noise that is missing: 25 identical values.
    Case { fault: LinkFault::Stuck, off: off_by("frozen.force", 26), on: Some(("frozen.force", Action::Retreat, 26)) },
    Case { fault: LinkFault::Duplicate, off: None, on: None },
];

const STATES: [State; 6] = [
    State::Idle,
    State::Ready,
    State::Armed,
    State::Running,
    State::Stopping,
    State::Tripped,
];

/// Which device has the faults of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    /// The LinUDP drive, and how long its answers are waited for.
    Udp(u32),
    /// The LinRS drive.
    LinRs,
    /// The amplifier.
    Amplifier,
}

impl On {
    fn bench(self) -> LinkBench {
        match self {
            On::Udp(wait_us) => LinkBench::new(Setup::Udp, |config| {
                if let BusConfig::LinUdp(drive) = &mut config.buses[0] {
                    drive.wait_us = wait_us;
                }
            }),
            On::LinRs => LinkBench::new(Setup::LinRs, |_| ()),
            On::Amplifier => LinkBench::new(Setup::UdpAndAmplifier, |_| ()),
        }
    }

    fn faults(self, b: &LinkBench) -> Arc<Board> {
        Arc::clone(match self {
            On::Udp(_) | On::LinRs => &b.drive_faults,
            On::Amplifier => &b.amplifier_faults,
        })
    }

    /// Cycles by which anything is seen later: without waiting, an answer is read in the next cycle.
    fn later(self) -> u64 {
        u64::from(self != On::Udp(500))
    }
}

fn check(case: &Case, state: State, on: On) {
    let what = format!("{:?} in {} of {on:?}", case.fault, state.name());
    let mut b = on.bench();
    b.enter(state);
    let since = b.seq();
    let faults = on.faults(&b);
    faults.set(case.fault, true);
    b.run.cycles(40);
    let said = b.said(since + 1);
    // A stop takes some cycles only: what is seen later than that is seen with the drive off.
    let is_over = state == State::Stopping && said.first().is_none_or(|s| s.2.is_none());
    let is_on = matches!(state, State::Armed | State::Running | State::Stopping) && !is_over;
    let seen = if is_on { case.on } else { case.off };
    match seen {
        None => {
            assert!(said.is_empty(), "{what}: {said:?}");
            let stays = match state {
                State::Idle | State::Stopping => State::Ready,
                other => other,
            };
            assert_eq!(b.run.state(), stays, "{what}");
        }
        Some((id, action, within)) if is_on => {
            let (seq, found, did) = said.first().unwrap_or_else(|| panic!("{what}: unseen"));
            assert_eq!((found.as_str(), *did), (id, Some(action)), "{what}");
            let needed = seq - since;
            assert!(
                needed <= within + 1 + on.later(),
                "{what}: after {needed} cycles"
            );
            // The command is safe in the very cycle, and the drive off one cycle later.
            let frame = b.run.frames.iter().find(|f| f.seq == *seq).unwrap();
            assert_eq!(frame.state, State::Tripped, "{what}");
            assert_eq!(b.run.state(), State::Tripped, "{what}: latched");
            if action == Action::PowerOff {
                assert_eq!(frame.drive, Drive::Off, "{what}");
                assert!(!b.is_powered(), "{what}: the motor still has power");
            }
        }
        Some((id, ..)) if state != State::Tripped => {
            assert!(
                said.iter().any(|(_, found, _)| found == id),
                "{what}: {said:?}"
            );
            assert_eq!(b.run.state(), State::Idle, "{what}");
        }
        Some(_) => assert_eq!(b.run.state(), State::Tripped, "{what}"),
    }
    // No input was ever wrong without being said: values are from the motor's range or none.
    let positions = b.run.column("motor_position");
    assert!(
        positions.iter().all(|p| p.is_nan() || p.abs() < 0.2),
        "{what}"
    );
    faults.set(case.fault, false);
    recover(&mut b, &what);
}

/// The fault is removed, the trip acknowledged: Ready without a restart, and it can run again.
fn recover(b: &mut LinkBench, what: &str) {
    match b.run.state() {
        State::Tripped => {
            // Still latched without a person.
            b.run.cycles(100);
            assert_eq!(b.run.state(), State::Tripped, "{what}");
            // A retreat is waited for: what unloads the specimen is not ended halfway.
            for _ in 0..2000 {
                if b.run.frames.last().unwrap().drive == Drive::Off {
                    break;
                }
                b.run.cycle();
            }
            b.run.ask(Request::Acknowledge);
            b.run.cycle();
        }
        // What a drive has latched is reset by a person only, also while nothing is tripped.
        State::Idle => b.run.ask(Request::Acknowledge),
        _ => b.run.ask(Request::Stop),
    }
    assert!(
        b.run.until(State::Ready, 1500),
        "{what}: {:?}",
        b.run.events.last()
    );
    b.run.ask(Request::Arm);
    assert!(b.run.until(State::Armed, 5), "{what}");
    b.run.cycles(50);
    let last = &b.run.events[b.run.events.len().saturating_sub(3)..];
    assert_eq!(b.run.state(), State::Armed, "{what}: {last:?}");
    assert!(b.is_powered(), "{what}");
}

fn check_all(cases: &[Case], on: On) {
    for case in cases {
        for state in STATES {
            check(case, state, on);
        }
    }
}

#[test]
fn every_fault_of_a_udp_drive_in_every_state_waiting_for_answers() {
    check_all(&UDP, On::Udp(500));
}

#[test]
fn every_fault_of_a_udp_drive_in_every_state_taking_the_answer_of_the_cycle_before() {
    check_all(&UDP, On::Udp(0));
}

#[test]
fn every_fault_of_a_serial_drive_in_every_state() {
    check_all(&LINRS, On::LinRs);
}

#[test]
fn every_fault_of_a_serial_amplifier_in_every_state() {
    check_all(&AMPLIFIER, On::Amplifier);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[test]
fn one_bad_datagram_is_counted_and_ends_nothing() {
    let mut b = LinkBench::new(Setup::Udp, |_| ());
    b.enter(State::Running);
    let faults = [
        LinkFault::Lost,
        LinkFault::Late,
        LinkFault::Duplicate,
        LinkFault::Truncated,
        LinkFault::Garbage,
        LinkFault::Foreign,
    ];
    for _ in 0..20 {
        for fault in faults {
            b.drive_faults.set(fault, true);
            b.run.cycle();
            b.drive_faults.set(fault, false);
            b.run.cycles(25);
        }
    }
    assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
    let c = &b.udp;
    assert_eq!(read(&c.foreign), 20);
    assert_eq!(read(&c.malformed), 40);
    assert_eq!(read(&c.surplus), 20);
    // Lost, cut and unreadable ones; a late one is found to be there after all.
    assert_eq!(read(&c.lost), 60, "{c:?}");
    assert!(read(&c.late) >= 20, "{c:?}");
    // The position's age says what happened, and never more than it may.
    let ages = b.run.column("age_motor_position");
    let oldest = ages
        .iter()
        .copied()
        .filter(|a| a.is_finite())
        .fold(0.0, f64::max);
    assert!((0.002..=0.010).contains(&oldest), "{oldest}");
    // Afterwards all is as before: no loss makes later answers look old.
    assert!(
        ages[ages.len() - 5..].iter().all(|a| a.abs() < 1e-3),
        "{:?}",
        &ages[ages.len() - 5..]
    );
}

/// Constant lateness is never taken for freshness: the age is at least what it really is.
#[test]
fn answers_that_are_always_late_are_as_old_as_they_are() {
    let mut b = LinkBench::new(Setup::Udp, |_| ());
    b.enter(State::Running);
    b.drive_faults.set(LinkFault::Late, true);
    b.run.cycles(300);
    assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
    let ages = b.run.column("age_motor_position");
    // Answers leave the drive 5 ms after their request and are read at the next exchange, 6 ms after it.
    let late = &ages[ages.len() - 250..];
    assert!(
        late.iter().all(|a| *a > 0.0059),
        "{:?}",
        late.iter().copied().fold(1.0, f64::min)
    );
}

#[test]
fn a_cell_that_stops_sending_is_a_stale_input_with_its_name() {
    let mut b = LinkBench::new(Setup::Udp, |_| ());
    b.enter(State::Running);
    let since = b.seq();
    b.cells_silent.store(true, Ordering::Relaxed);
    b.run.cycles(10);
    let said = b.said(since);
    assert_eq!(said[0].1, "rig.stale-input");
    assert!(said[0].0 - since <= 7, "{said:?}");
    let trip = b.run.events.iter().find_map(|e| match e.kind {
        EventKind::Tripped { fault, .. } => Some(fault.describe(&b.run.layout)),
        _ => None,
    });
    let words = trip.unwrap();
    assert!(
        words.what.contains("load cell 1") && words.what.contains("10.0 ms"),
        "{}",
        words.what
    );
    assert!(words.measured.unwrap() > 0.010 && words.limit == Some(0.010));
}

/// A drive that stands at 20 mm and has its home switch at 60 mm, 0.8 s away at 50 mm/s: 400 cycles.
fn lost(setup: Setup) -> LinkBench {
    let mut b = LinkBench::new(setup, |config| {
        match &mut config.buses[0] {
            BusConfig::LinUdp(drive) => drive.home_bit = Some(11),
            BusConfig::Serial(serial) => match &mut serial.protocol {
                Protocol::LinRs(drive) => drive.home_bit = Some(11),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
        config.emulated.as_mut().unwrap().homing = Some(HomingConfig {
            stands_at_m: 0.02,
            speed_m_per_s: 0.05,
            switch_at_m: Some(0.06),
        });
    });
    b.run.cycles(50);
    assert_eq!(b.run.state(), State::Idle);
    b
}

fn home(b: &mut LinkBench) {
    b.run
        .user
        .commands
        .push(Command::Rig(RigCommand::Home))
        .unwrap();
}

fn has_said(b: &LinkBench, id: &str) -> bool {
    b.said(0).iter().any(|(_, said, _)| said == id)
}

#[test]
fn a_drive_without_home_is_not_ready_until_it_is_homed_and_then_is_where_it_says() {
    for setup in [Setup::Udp, Setup::LinRs] {
        let mut b = lost(setup);
        assert!(has_said(&b, "rig.not-homed"), "{:?}", b.said(0));
        b.run.ask(Request::Arm);
        b.run.cycles(20);
        assert_eq!(b.run.state(), State::Idle);
        let begin = b.seq();
        home(&mut b);
        b.run.cycles(20);
        assert!(has_said(&b, "rig.homing"), "{:?}", b.said(0));
        assert!(b.run.until(State::Ready, 600), "{:?}", b.run.events.last());
        // 10 cycles to switch on, some until the motor has settled, 5 good ones.
        let besides = b.seq() - begin - 400;
        println!("{setup:?}: {besides} cycles besides 400 of travel");
        assert!((15..50).contains(&besides), "{besides}");
        b.run.cycles(5);
        assert!(!b.is_powered(), "after homing the drive is off again");
        let shown = *b.run.column("motor_position").last().unwrap();
        let is = b.plant.position(b.clock.now());
        assert!((is - 0.06).abs() < 1e-4, "{is}");
        assert!((shown - is).abs() < 2e-5, "{shown} {is}");
        // Not one value came from before, nor from a line between before and after.
        let positions = b.run.column("motor_position");
        let known = positions.iter().filter(|p| p.is_finite());
        assert!(
            known.into_iter().all(|p| (p - 0.06).abs() < 2e-4),
            "{setup:?}"
        );
        b.enter(State::Running);
    }
}

#[test]
fn homing_that_is_stopped_or_finds_no_switch_leaves_the_drive_without_power() {
    for setup in [Setup::Udp, Setup::LinRs] {
        let mut b = lost(setup);
        home(&mut b);
        b.run.cycles(210);
        assert!(b.is_powered());
        b.run.ask(Request::Stop);
        b.run.cycles(3);
        assert!(!b.is_powered(), "{setup:?}");
        let at = b.plant.position(b.clock.now());
        assert!((0.037..0.041).contains(&at), "{setup:?}: {at}");
        b.run.cycles(500);
        assert_eq!(b.run.state(), State::Idle, "{setup:?}");
        // Cut off at once, the motor is pushed until its brake grips: 22 N on 10 kg for 30 ms.
        assert!((b.plant.position(b.clock.now()) - at).abs() < 2e-3);

        b.drive_faults.set(LinkFault::NoHomeSwitch, true);
        home(&mut b);
        b.run.cycles(400);
        assert!(
            has_said(&b, "rig.drive-fault"),
            "{setup:?}: {:?}",
            b.said(0)
        );
        assert!(!b.is_powered(), "{setup:?}");
        assert_eq!(b.run.state(), State::Idle, "{setup:?}");
    }
}

#[test]
fn references_are_sent_every_n_com_th_cycle_and_the_motor_follows() {
    for n_com in [1, 4] {
        let mut b = LinkBench::new(Setup::Udp, |config| {
            if let BusConfig::LinUdp(drive) = &mut config.buses[0] {
                drive.n_com = n_com;
            }
        });
        b.enter(State::Running);
        b.run.cycles(1000);
        assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
        // The run begins once the force at rest has been looked at; then the entry is left out.
        let runs = |f: &rt_core::channel::Frame| f.state == State::Running;
        let entered = b.run.frames.iter().position(runs).unwrap() + 370;
        let error = b
            .run
            .column("motor_reference")
            .iter()
            .zip(b.run.column("motor_position"))
            .skip(entered)
            .map(|(r, p)| (r - p).abs())
            .fold(0.0, f64::max);
        // 30 mm at 1 Hz: 0.19 m/s; the motor's lag of 4 ms, the loop's cycle, and n_com cycles of holding.
        let lag = 0.004 + 0.002 + 0.002 * f64::from(n_com);
        assert!(
            error > 0.0004 && error < 0.19 * lag * 1.3,
            "{n_com}: {error}"
        );
    }
}

#[test]
fn an_open_interlock_is_named_and_switches_off() {
    let mut b = LinkBench::new(Setup::Udp, |config| {
        let text = r#"(id: "enabled", label: "Drive enable chain", input: "drive.status_word", bit: 3,
            closed_means_safe: false, max_age_s: 0.01)"#;
        // Any bit of any input will do: the error bit stands for a switch.
        config.signals.interlocks = vec![from_ron(text)];
    });
    b.enter(State::Running);
    b.drive_faults.set(LinkFault::DriveError, true);
    let since = b.seq();
    b.run.cycles(5);
    let trip = b.run.events.iter().find_map(|e| match e.kind {
        EventKind::Tripped { fault, action } if e.seq > since => {
            Some((fault.describe(&b.run.layout), action))
        }
        _ => None,
    });
    let (words, action) = trip.unwrap();
    assert_eq!(
        (words.id.as_str(), action),
        ("rig.interlock", Action::PowerOff)
    );
    assert!(words.what.contains("Drive enable chain"), "{}", words.what);
}
