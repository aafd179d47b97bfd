//! Every fault that the emulated LinUDP drive can show, in every state, on an exact clock: what it ends in, how fast,
//! with which words; that the drive itself is off by then; and that the bench is Ready again afterwards, without a restart.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

use drivers::emulate::faults::{Board, LinkFault};
use drivers::emulate::linudp::Wire;
use drivers::emulate::plant::SharedPlant;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::hardware::{BusConfig, HardwareConfig, HardwareRig};
use drivers::linudp::{Counters, LinUdp};
use drivers::rig_file::{RigFile, find_cells, rig_pantograph};
use integration_tests::{ExactRun, project_root, session_from};
use rt_core::fault::Action;
use rt_core::file;
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::pacing::{Clock, ExactClock};
use rt_core::rig::device::Device;
use rt_core::rig::{RigCommand, RigFault};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Load cells that are always fresh: the faults of this test are the drive's.
struct FreshCells {
    plant: SharedPlant,
    readings: Vec<f64>,
    /// Cells that stop sending.
    is_silent: Arc<AtomicBool>,
}

impl Bus for FreshCells {
    fn devices(&self) -> Vec<Arc<Device>> {
        Vec::new()
    }

    fn exchange(&mut self, _: &DriveCommand, now: u64, inputs: &mut [Slot]) -> Result<(), RigFault> {
        if !self.is_silent.load(Ordering::Relaxed) {
            self.plant.read_cells(now, &mut self.readings);
            for (slot, reading) in inputs.iter_mut().zip(&self.readings) {
                slot.put(*reading, now);
            }
        }
        Ok(())
    }
}

struct Bench {
    run: ExactRun,
    faults: Arc<Board>,
    counters: Arc<Counters>,
    plant: SharedPlant,
    cells_silent: Arc<AtomicBool>,
    clock: ExactClock,
}

fn rig_path() -> PathBuf {
    project_root().join("assets/rigs/linmot-udp-serial.ron")
}

fn config() -> HardwareConfig {
    let RigFile::Hardware(config) = file::load(&rig_path()).unwrap() else {
        panic!("not a hardware rig")
    };
    *config
}

fn bench(change: impl FnOnce(&mut HardwareConfig)) -> Bench {
    let mut config = config();
    change(&mut config);
    config.check().unwrap();
    let clock = ExactClock::default();
    // Times before the first tick exist, as on a real clock.
    clock.spend(1_000_000_000);
    let plant = SharedPlant::new(&config.model(), &rig_pantograph(&rig_path()).unwrap());
    let BusConfig::LinUdp(drive) = &config.buses[0] else {
        panic!("the drive is not on UDP")
    };
    let faults = Board::of("drive", &[]);
    let wire = Wire::new(drive, plant.clone(), Arc::clone(&faults), clock.clone());
    let udp = LinUdp::on(wire, drive, 1, 0.2);
    let counters = udp.counters();
    let cells_silent = Arc::new(AtomicBool::new(false));
    let cells = FreshCells {
        plant: plant.clone(),
        readings: Vec::with_capacity(8),
        is_silent: Arc::clone(&cells_silent),
    };
    let found = find_cells(&rig_path(), None).unwrap().cells;
    let rig = HardwareRig::assemble(
        &config,
        vec![Box::new(udp), Box::new(cells)],
        found,
        Box::new(clock.clone()),
    );
    let session = session_from(
        r#"Session(title: "link faults", bench: Profile(source: Sine(amplitude_m: 0.03, frequency_hz: 1.0), entry_s: 0.2),
        rig: "../assets/rigs/linmot-udp-serial.ron")"#,
    );
    Bench {
        run: ExactRun::on(&session, Box::new(rig), clock.clone()),
        faults,
        counters,
        plant,
        cells_silent,
        clock,
    }
}

impl Bench {
    fn enter(&mut self, state: State) {
        match state {
            State::Idle => self.run.cycles(2),
            State::Ready => assert!(self.run.until(State::Ready, 50), "{:?}", self.run.events),
            State::Armed => {
                self.enter(State::Ready);
                self.run.ask(Request::Arm);
                assert!(self.run.until(State::Armed, 5));
                // The drive takes its time to switch on.
                self.run.cycles(20);
            }
            State::Running => {
                self.enter(State::Armed);
                self.run.ask(Request::Run);
                assert!(self.run.until(State::Running, 2000));
                self.run.cycles(200);
            }
            State::Stopping => {
                self.enter(State::Running);
                self.run.ask(Request::Stop);
                assert!(self.run.until(State::Stopping, 5));
            }
            State::Tripped => {
                self.enter(State::Running);
                self.cells_silent.store(true, Ordering::Relaxed);
                assert!(self.run.until(State::Tripped, 20));
                self.cells_silent.store(false, Ordering::Relaxed);
                self.run.cycles(5);
            }
        }
        assert_eq!(self.run.state(), state, "{:?}", self.run.events);
    }

    /// What the loop said since a tick: identifiers of faults.
    fn said(&self, since: u64) -> Vec<(u64, String, Option<Action>)> {
        let events = self.run.events.iter().filter(|e| e.seq >= since);
        events
            .filter_map(|e| match e.kind {
                EventKind::Tripped { fault, action } => {
                    Some((e.seq, fault.describe(&self.run.layout).id, Some(action)))
                }
                EventKind::Warning(fault) => Some((e.seq, fault.describe(&self.run.layout).id, None)),
                _ => None,
            })
            .collect()
    }

    fn seq(&self) -> u64 {
        self.run.frames.last().map_or(0, |f| f.seq)
    }
}

/// How a fault that lasts is seen: its name and after how many cycles at most; `None`: never, and it need not be.
type Seen = Option<(&'static str, u64)>;

struct Case {
    fault: LinkFault,
    /// While the drive is off.
    off: Seen,
    /// While it is on.
    on: Seen,
}

/// Inputs may be 10 ms old, five cycles.
const STALE: Seen = Some(("rig.stale-input", 6));

#[rustfmt::skip]
const CASES: [Case; 12] = [
    Case { fault: LinkFault::Lost, off: STALE, on: STALE },
    Case { fault: LinkFault::Truncated, off: STALE, on: STALE },
    Case { fault: LinkFault::Garbage, off: STALE, on: STALE },
    Case { fault: LinkFault::PowerLoss, off: STALE, on: STALE },
    Case { fault: LinkFault::Unplugged, off: STALE, on: STALE },
    Case { fault: LinkFault::DriveError, off: Some(("rig.drive-fault", 1)), on: Some(("rig.drive-fault", 1)) },
    Case { fault: LinkFault::Disabled, off: None, on: Some(("rig.drive-not-enabled", 1)) },
    // The drive's count lags behind by more than eight commands.
    Case { fault: LinkFault::IgnoreReferences, off: None, on: Some(("rig.sequence", 10)) },
    Case { fault: LinkFault::Stuck, off: None, on: Some(("rig.sequence", 10)) },
    // Alone none of these ends anything.
    Case { fault: LinkFault::Late, off: None, on: None },
    Case { fault: LinkFault::Duplicate, off: None, on: None },
    Case { fault: LinkFault::Foreign, off: None, on: None },
];

const STATES: [State; 6] = [
    State::Idle,
    State::Ready,
    State::Armed,
    State::Running,
    State::Stopping,
    State::Tripped,
];

fn check(case: &Case, state: State, wait_us: u32) {
    let what = format!("{:?} in {} with wait {wait_us}", case.fault, state.name());
    let mut b = bench(|config| {
        if let BusConfig::LinUdp(drive) = &mut config.buses[0] {
            drive.wait_us = wait_us;
        }
    });
    b.enter(state);
    let since = b.seq();
    b.faults.set(case.fault, true);
    // Without waiting, the first answer that shows it is read one cycle later.
    let later = u64::from(wait_us == 0);
    let is_on = matches!(state, State::Armed | State::Running | State::Stopping);
    let seen = if is_on { case.on } else { case.off };
    b.run.cycles(40);
    let said = b.said(since + 1);
    match seen {
        None => {
            assert!(said.is_empty(), "{what}: {said:?}");
            let stays = match state {
                State::Idle => State::Ready,
                other => other,
            };
            assert_eq!(b.run.state(), stays, "{what}");
        }
        Some((id, within)) if is_on => {
            let (seq, found, action) = said.first().unwrap_or_else(|| panic!("{what}: unseen"));
            assert_eq!((found.as_str(), *action), (id, Some(Action::PowerOff)), "{what}");
            let needed = seq - since;
            assert!(needed <= within + 1 + later, "{what}: after {needed} cycles");
            // The command is safe in the very cycle, and the drive off one cycle later.
            let frame = b.run.frames.iter().find(|f| f.seq == *seq).unwrap();
            assert_eq!((frame.state, frame.drive), (State::Tripped, Drive::Off), "{what}");
            assert_eq!(b.run.state(), State::Tripped, "{what}: latched");
            assert!(!b.plant.is_powered(b.clock.now()), "{what}: the motor still has power");
        }
        Some((id, _)) if state != State::Tripped => {
            assert!(said.iter().any(|(_, found, _)| found == id), "{what}: {said:?}");
            assert_eq!(b.run.state(), State::Idle, "{what}");
        }
        Some(_) => assert_eq!(b.run.state(), State::Tripped, "{what}"),
    }
    // No input was ever wrong without being said: values are from the motor's range or none.
    let positions = b.run.column("motor_position");
    assert!(positions.iter().all(|p| p.is_nan() || p.abs() < 0.2), "{what}");
    recover(&mut b, case.fault, &what);
}

/// The fault is removed, the trip acknowledged: Ready without a restart, and it can run again.
fn recover(b: &mut Bench, fault: LinkFault, what: &str) {
    b.faults.set(fault, false);
    if b.run.state() == State::Tripped {
        // Still latched without a person.
        b.run.cycles(100);
        assert_eq!(b.run.state(), State::Tripped, "{what}");
        b.run.ask(Request::Acknowledge);
        b.run.cycle();
    } else if b.run.state() != State::Idle {
        b.run.ask(Request::Stop);
    }
    assert!(b.run.until(State::Ready, 1500), "{what}: {:?}", b.run.events.last());
    b.run.ask(Request::Arm);
    assert!(b.run.until(State::Armed, 5), "{what}");
    b.run.cycles(50);
    assert_eq!(b.run.state(), State::Armed, "{what}: {:?}", b.run.events.last());
    assert!(b.plant.is_powered(b.clock.now()), "{what}");
}

#[test]
fn every_fault_in_every_state_waiting_for_answers() {
    for case in &CASES {
        for state in STATES {
            check(case, state, 500);
        }
    }
}

#[test]
fn every_fault_in_every_state_taking_the_answer_of_the_cycle_before() {
    for case in &CASES {
        for state in STATES {
            check(case, state, 0);
        }
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[test]
fn one_bad_datagram_is_counted_and_ends_nothing() {
    let mut b = bench(|_| ());
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
            b.faults.set(fault, true);
            b.run.cycle();
            b.faults.set(fault, false);
            b.run.cycles(25);
        }
    }
    assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
    let c = &b.counters;
    assert_eq!(read(&c.foreign), 20);
    assert_eq!(read(&c.malformed), 40);
    assert_eq!(read(&c.surplus), 20);
    // Lost, cut and unreadable ones; a late one is found to be there after all.
    assert_eq!(read(&c.lost), 60, "{c:?}");
    assert!(read(&c.late) >= 20, "{c:?}");
    // The position's age says what happened, and never more than it may.
    let ages = b.run.column("age_motor_position");
    let oldest = ages.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
    assert!((0.002..=0.010).contains(&oldest), "{oldest}");
    // Afterwards all is as before: no loss makes later answers look old.
    assert!(ages[ages.len() - 5..].iter().all(|a| a.abs() < 1e-3), "{:?}", &ages[ages.len() - 5..]);
}

/// Constant lateness is never taken for freshness: the age is at least what it really is.
#[test]
fn answers_that_are_always_late_are_as_old_as_they_are() {
    let mut b = bench(|_| ());
    b.enter(State::Running);
    b.faults.set(LinkFault::Late, true);
    b.run.cycles(300);
    assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
    let ages = b.run.column("age_motor_position");
    // Answers leave the drive 5 ms after their request and are read at the next exchange, 6 ms after it.
    let late = &ages[ages.len() - 250..];
    assert!(late.iter().all(|a| *a > 0.0059), "{:?}", late.iter().copied().fold(1.0, f64::min));
}

#[test]
fn a_cell_that_stops_sending_is_a_stale_input_with_its_name() {
    let mut b = bench(|_| ());
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
    assert!(words.what.contains("load cell 1") && words.what.contains("10.0 ms"), "{}", words.what);
    assert!(words.measured.unwrap() > 0.010 && words.limit == Some(0.010));
}

#[test]
fn a_drive_without_home_is_not_ready_until_it_is_homed() {
    let mut b = bench(|config| {
        if let BusConfig::LinUdp(drive) = &mut config.buses[0] {
            drive.home_bit = Some(11);
        }
    });
    b.run.cycles(50);
    assert_eq!(b.run.state(), State::Idle);
    assert!(b.said(0).iter().any(|(_, id, _)| id == "rig.not-homed"), "{:?}", b.said(0));
    b.run.user.commands.push(Command::Rig(RigCommand::Home)).unwrap();
    b.run.cycles(20);
    assert!(b.said(0).iter().any(|(_, id, _)| id == "rig.homing"), "{:?}", b.said(0));
    assert!(b.run.until(State::Ready, 200), "{:?}", b.run.events.last());
    assert!(!b.plant.is_powered(b.clock.now()), "after homing the drive is off again");
    b.enter(State::Running);
}

#[test]
fn references_are_sent_every_n_com_th_cycle_and_the_motor_follows() {
    for n_com in [1, 4] {
        let mut b = bench(|config| {
            if let BusConfig::LinUdp(drive) = &mut config.buses[0] {
                drive.n_com = n_com;
            }
        });
        b.enter(State::Running);
        b.run.cycles(1000);
        assert_eq!(b.run.state(), State::Running, "{:?}", b.run.events.last());
        let error = b
            .run
            .column("motor_reference")
            .iter()
            .zip(b.run.column("motor_position"))
            .skip(400)
            .map(|(r, p)| (r - p).abs())
            .fold(0.0, f64::max);
        // 30 mm at 1 Hz: 0.19 m/s; the motor's lag of 4 ms, the loop's cycle, and n_com cycles of holding.
        let lag = 0.004 + 0.002 + 0.002 * f64::from(n_com);
        assert!(error > 0.0004 && error < 0.19 * lag * 1.3, "{n_com}: {error}");
    }
}

#[test]
fn an_open_interlock_is_named_and_switches_off() {
    let mut b = bench(|config| {
        let text = r#"(id: "enabled", label: "Drive enable chain", input: "drive.status_word", bit: 3,
            closed_means_safe: false, max_age_s: 0.01)"#;
        // Any bit of any input will do: the error bit stands for a switch.
        config.signals.interlocks = vec![ron_of(text)];
    });
    b.enter(State::Running);
    b.faults.set(LinkFault::DriveError, true);
    let since = b.seq();
    b.run.cycles(5);
    let trip = b.run.events.iter().find_map(|e| match e.kind {
        EventKind::Tripped { fault, action } if e.seq > since => Some((fault.describe(&b.run.layout), action)),
        _ => None,
    });
    let (words, action) = trip.unwrap();
    assert_eq!((words.id.as_str(), action), ("rig.interlock", Action::PowerOff));
    assert!(words.what.contains("Drive enable chain"), "{}", words.what);
}

fn ron_of(text: &str) -> drivers::hardware::signals::InterlockConfig {
    #[derive(serde::Deserialize)]
    struct Wrapped(drivers::hardware::signals::InterlockConfig);
    impl file::FileContent for Wrapped {
        const KIND: &'static str = "interlock";
        fn check(&self) -> Result<(), file::FieldError> {
            Ok(())
        }
    }
    let wrapped: Wrapped = file::parse(&format!("({text})"), std::path::Path::new("x")).unwrap();
    wrapped.0
}
