//! Every fault of the segment in every state: safe command within two cycles, the right name, and recovery.

use super::rig::{Bench, PERIOD};
use drivers::emulate::ethercat::fault::{FrameFault, SegmentFault};
use drivers::emulate::ethercat::{DriveMisbehaviour, Refusal};
use drivers::ethercat::counters::Counters;
use rt_core::guard::{Drive, Request, State};
use rt_core::pacing::Clock;
use std::sync::atomic::AtomicU64;

/// What a fault has to end in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    /// Seen in every state: a latched trip where the drive is on, not ready where it is off.
    Always(&'static str),
    /// Seen only while the drive is on.
    Powered(&'static str),
    /// Nothing happens, in no state.
    Nothing,
}
use Ends::{Always, Nothing, Powered};

struct Case {
    name: &'static str,
    faults: &'static [SegmentFault],
    /// Ends the fault.
    remedy: &'static [SegmentFault],
    ends: Ends,
    /// Cycles that the fault takes to be visible at all.
    visible_after: usize,
}

const CIRCUITS: usize = 2;

const fn frames(how: FrameFault, count: u32) -> SegmentFault {
    SegmentFault::Frames { how, count }
}

#[rustfmt::skip]
const CASES: [Case; 21] = [
    Case { name: "drive error", faults: &[SegmentFault::Drive(DriveMisbehaviour::Fault(0x2310))], remedy: &[], ends: Always("rig.drive-fault"), visible_after: 0 },
    Case { name: "quick stop of the drive", faults: &[SegmentFault::Drive(DriveMisbehaviour::QuickStop)], remedy: &[], ends: Powered("rig.drive-not-enabled"), visible_after: 0 },
    Case { name: "following error", faults: &[SegmentFault::Drive(DriveMisbehaviour::FollowingError)], remedy: &[], ends: Powered("rig.following-error"), visible_after: 0 },
    // One more cycle is allowed for each of the three in which an enabled drive may still ignore its target.
    Case { name: "targets are ignored", faults: &[SegmentFault::Drive(DriveMisbehaviour::IgnoresTarget(true))], remedy: &[SegmentFault::Drive(DriveMisbehaviour::IgnoresTarget(false))], ends: Powered("rig.drive-not-enabled"), visible_after: 3 },
    Case { name: "wrong mode", faults: &[SegmentFault::Drive(DriveMisbehaviour::WrongMode(true))], remedy: &[SegmentFault::Drive(DriveMisbehaviour::WrongMode(false))], ends: Powered("rig.drive-not-enabled"), visible_after: 3 },
    // The mailbox is seen to be full in one cycle and read in the next.
    Case { name: "emergency", faults: &[SegmentFault::Emergency { device: 1, code: 0x3220, between_sdo: false }], remedy: &[], ends: Always("rig.emergency"), visible_after: 1 },
    Case { name: "power loss", faults: &[SegmentFault::Power(false)], remedy: &[SegmentFault::Power(true)], ends: Always("rig.lost-exchange"), visible_after: 0 },
    Case { name: "power dip", faults: &[SegmentFault::Power(false), SegmentFault::Power(true)], remedy: &[], ends: Always("rig.working-counter"), visible_after: 0 },
    Case { name: "cable out", faults: &[SegmentFault::Cable(false)], remedy: &[SegmentFault::Cable(true)], ends: Always("rig.lost-exchange"), visible_after: 0 },
    Case { name: "last device gone", faults: &[SegmentFault::DropOut { device: 3 }], remedy: &[SegmentFault::Return], ends: Always("rig.working-counter"), visible_after: 0 },
    Case { name: "all but the drive gone", faults: &[SegmentFault::DropOut { device: 1 }], remedy: &[SegmentFault::Return], ends: Always("rig.working-counter"), visible_after: 0 },
    Case { name: "left OP by itself", faults: &[SegmentFault::LeaveOp { device: 1, code: 0x001A }], remedy: &[], ends: Always("rig.device-state"), visible_after: 0 },
    Case { name: "refuses to come back to OP", faults: &[SegmentFault::Refuse { device: 0, refusal: Some(Refusal { to: 8, code: 0x0030 }) }, SegmentFault::LeaveOp { device: 0, code: 0x0034 }], remedy: &[SegmentFault::Refuse { device: 0, refusal: None }], ends: Always("rig.device-state"), visible_after: 0 },
    Case { name: "watchdog", faults: &[SegmentFault::Watchdog { device: 0 }], remedy: &[], ends: Always("rig.watchdog"), visible_after: 0 },
    Case { name: "circuits open", faults: &[SegmentFault::Input { input: CIRCUITS, count: Some(0) }], remedy: &[SegmentFault::Input { input: CIRCUITS, count: None }], ends: Always("rig.interlock"), visible_after: 0 },
    // Both attempts of a cycle.
    Case { name: "two frames lost", faults: &[frames(FrameFault::Lost, 2)], remedy: &[], ends: Always("rig.lost-exchange"), visible_after: 0 },
    Case { name: "one frame lost", faults: &[frames(FrameFault::Lost, 1)], remedy: &[], ends: Nothing, visible_after: 0 },
    Case { name: "one frame late", faults: &[frames(FrameFault::Late(5_000_000), 1)], remedy: &[], ends: Nothing, visible_after: 0 },
    Case { name: "all frames twice", faults: &[frames(FrameFault::Duplicate, 1000)], remedy: &[], ends: Nothing, visible_after: 0 },
    Case { name: "one frame truncated", faults: &[frames(FrameFault::Truncated(40), 1)], remedy: &[], ends: Nothing, visible_after: 0 },
    Case { name: "one frame corrupt", faults: &[frames(FrameFault::Corrupt(16), 1)], remedy: &[], ends: Nothing, visible_after: 0 },
];

const STATES: [State; 6] = [
    State::Idle,
    State::Ready,
    State::Armed,
    State::Running,
    State::Stopping,
    State::Tripped,
];

fn check(case: &Case, state: State) {
    let what = format!("{} in {}", case.name, state.name());
    let mut bench = Bench::new();
    bench.bring_to(state);
    let said_before = bench.said().len();
    let begin = bench.frames.len();
    for &fault in case.faults {
        bench.inject(fault);
    }
    let is_powered = matches!(state, State::Armed | State::Running | State::Stopping);
    bench.cycles(case.visible_after + 2);
    let names = bench.said()[said_before..].to_vec();
    assert!(
        !names.iter().any(|n| n == "loop.allocation"),
        "{what}: {names:?}"
    );
    let id = match case.ends {
        Always(id) => Some(id),
        Powered(id) if is_powered => Some(id),
        _ => None,
    };
    match id {
        Some(id) if is_powered => {
            assert_eq!(bench.state(), State::Tripped, "{what}: {names:?}");
            assert_eq!(bench.last().drive, Drive::Off, "{what}");
            assert_eq!(
                names.first().map(String::as_str),
                Some(id),
                "{what}: {names:?}"
            );
        }
        // What is latched stays and its first name with it; what is off stays off.
        Some(_) if state == State::Tripped => assert_eq!(bench.state(), State::Tripped, "{what}"),
        Some(id) => {
            assert_eq!(bench.state(), State::Idle, "{what}: {names:?}");
            let is_said = bench.said().iter().any(|n| n == id);
            // While the segment starts the loop says that, once; the fault itself may come later.
            assert!(is_said || state == State::Idle, "{what}: {names:?}");
        }
        None => {
            assert!(
                names.is_empty() || state == State::Idle,
                "{what}: {names:?}"
            );
            bench.cycles(100);
            let later = bench.said()[said_before..].to_vec();
            assert!(
                later.iter().all(|n| n == "rig.connecting"),
                "{what}: {later:?}"
            );
            if matches!(state, State::Running | State::Tripped) {
                assert_eq!(bench.state(), state, "{what}");
            }
        }
    }
    // The motor has no power after its quick stop, whatever the loop thinks; where the drive hears nothing any more, that
    // begins after the 50 ms of its watchdog.
    if id.is_some() && is_powered {
        bench.cycles(40);
        // A segment that is set up again lives by the frames of that, which come in real time.
        let since = std::time::Instant::now();
        while bench.plant.is_powered(bench.clock.now()) && since.elapsed().as_secs() < 5 {
            bench.cycle();
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        assert!(
            !bench.plant.is_powered(bench.clock.now()),
            "{what}: the motor has power"
        );
        // No input of a failed exchange is shown.
        let position = bench.layout.column("motor_position").unwrap();
        let failed = &bench.frames[begin + case.visible_after..];
        assert!(
            failed.iter().any(|f| f.values[position].is_nan()),
            "{what}: stale inputs"
        );
    }
    // And all is well again without a restart.
    for &fault in case.remedy {
        bench.inject(fault);
    }
    if bench.state() == State::Running || bench.state() == State::Armed {
        bench.ask(Request::Stop);
    }
    if case.ends == Nothing || id.is_some() || state == State::Tripped {
        bench.until_ready_by_a_person();
        bench.ask(Request::Arm);
        bench.until(State::Armed, 5);
        bench.cycles(60);
        assert_eq!(bench.state(), State::Armed, "{what}: {:?}", bench.said());
        assert!(
            bench.plant.is_powered(bench.clock.now()),
            "{what}: not enabled again"
        );
    }
}

fn check_all(state: State) {
    for case in &CASES {
        check(case, state);
    }
}

#[test]
fn faults_while_idle() {
    check_all(STATES[0]);
}

#[test]
fn faults_while_ready() {
    check_all(STATES[1]);
}

#[test]
fn faults_while_armed() {
    check_all(STATES[2]);
}

#[test]
fn faults_while_running() {
    check_all(STATES[3]);
}

#[test]
fn faults_while_stopping() {
    check_all(STATES[4]);
}

#[test]
fn faults_while_tripped() {
    check_all(STATES[5]);
}

/// The watchdog itself, in time: the loop is away for longer than its 50 ms.
#[test]
fn a_loop_that_is_away_too_long_meets_the_watchdog() {
    let mut bench = Bench::new();
    bench.bring_to(State::Running);
    bench.clock.spend(60_000_000);
    bench.cycles(3);
    assert_eq!(bench.state(), State::Tripped);
    assert_eq!(
        bench.said().last().map(String::as_str),
        Some("rig.watchdog")
    );
    bench.until_ready_by_a_person();
    // 40 ms are within it.
    let mut bench = Bench::new();
    bench.bring_to(State::Running);
    bench.clock.spend(40_000_000);
    bench.cycles(3);
    assert_eq!(bench.state(), State::Running, "{:?}", bench.said());
}

/// Set-up again after the power was off; each time something else is wrong.
#[test]
fn a_set_up_that_fails_says_why_and_is_tried_again() {
    let cases: [(SegmentFault, SegmentFault, &str); 3] = [
        (
            SegmentFault::Product {
                device: 2,
                product: Some(0xBAD),
            },
            SegmentFault::Product {
                device: 2,
                product: None,
            },
            "rig.wrong-device",
        ),
        (
            SegmentFault::DropOut { device: 2 },
            SegmentFault::Return,
            "rig.wrong-device",
        ),
        (
            SegmentFault::Refuse {
                device: 1,
                refusal: Some(Refusal {
                    to: 4,
                    code: 0x001E,
                }),
            },
            SegmentFault::Refuse {
                device: 1,
                refusal: None,
            },
            "rig.device-state",
        ),
    ];
    for (fault, remedy, id) in cases {
        let mut bench = Bench::new();
        bench.bring_to(State::Ready);
        for fault in [SegmentFault::Power(false), fault, SegmentFault::Power(true)] {
            bench.inject(fault);
        }
        let since = std::time::Instant::now();
        while !bench.said().iter().any(|n| n == id) {
            assert!(since.elapsed().as_secs() < 30, "{id}: {:?}", bench.said());
            bench.cycle();
            std::thread::park_timeout(std::time::Duration::from_micros(200));
        }
        bench.inject(remedy);
        bench.until_slowly(State::Ready);
    }
}

/// The library panics when an emergency comes between an SDO request and its answer.
#[test]
fn a_panic_of_the_library_is_contained() {
    let mut bench = Bench::new();
    bench.bring_to(State::Ready);
    bench.inject(SegmentFault::Power(false));
    bench.inject(SegmentFault::Power(true));
    bench.inject(SegmentFault::Emergency {
        device: 0,
        code: 0x3220,
        between_sdo: true,
    });
    bench.until(State::Idle, 5);
    bench.until_slowly(State::Ready);
    assert_eq!(Counters::read(&bench.counters.panics), 1);
}

/// Chooses a counter.
type Counter = fn(&Counters) -> &AtomicU64;

/// Each kind of bad frame is counted as what it is.
#[test]
fn bad_frames_are_counted() {
    let cases: [(FrameFault, Counter); 6] = [
        (FrameFault::Lost, |c| &c.repeated),
        (FrameFault::Late(3 * PERIOD), |c| &c.late),
        (FrameFault::Duplicate, |c| &c.duplicate),
        (FrameFault::Truncated(50), |c| &c.bad),
        (FrameFault::Corrupt(20), |c| &c.bad),
        (FrameFault::Foreign, |c| &c.foreign),
    ];
    for (how, counter) in cases {
        let mut bench = Bench::new();
        bench.bring_to(State::Running);
        assert_eq!(Counters::read(counter(&bench.counters)), 0, "{how:?}");
        bench.inject(SegmentFault::Frames { how, count: 1 });
        bench.cycles(10);
        assert_eq!(Counters::read(counter(&bench.counters)), 1, "{how:?}");
        assert_eq!(bench.state(), State::Running, "{how:?}: {:?}", bench.said());
    }
}
