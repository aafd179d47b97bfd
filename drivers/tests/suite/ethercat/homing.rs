//! A drive with an incremental encoder: it stands at 20 mm, its home switch is at 60 mm, and it travels there at
//! 500 000 counts/s, which are 50 mm/s. 40 mm take 0.8 s: 400 cycles.

use super::rig::{Bench, PERIOD, changed};
use drivers::emulate::ethercat::DriveMisbehaviour;
use drivers::emulate::ethercat::fault::{FrameFault, SegmentFault};
use drivers::emulate::ethercat::in_process::{InProcess, SegmentClock};
use drivers::emulate::ethercat::segment_on;
use drivers::emulate::plant::SharedPlant;
use drivers::ethercat::EthercatBus;
use drivers::ethercat::counters::Counters;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use rt_core::guard::{Drive, Request, State};
use rt_core::link::{Command, EventKind};
use rt_core::no_alloc::guarded;
use rt_core::pacing::{Clock, ExactClock};
use rt_core::rig::device::DeviceState;
use rt_core::rig::{RigCommand, RigFault};
use std::time::{Duration, Instant};

const STANDS_AT_M: f64 = 0.02;
const SWITCH_AT_M: f64 = 0.06;
/// The motor swings a little about the switch when it arrives.
const NEAR_M: f64 = 1e-4;
const TRAVEL_CYCLES: usize = 400;
/// Enabling before it and taking power away after it, and the motor's own lag at the end.
const BESIDES_CYCLES: std::ops::Range<usize> = 5..40;

const OBJECTS: (&str, &str) = (
    "(index: 0x6060, value: I8(8)),",
    "(index: 0x6060, value: I8(8)),
     (index: 0x6098, value: I8(19)),
     (index: 0x6099, sub: 1, value: U32(500000)),
     (index: 0x6099, sub: 2, value: U32(100000)),
     (index: 0x609A, value: U32(10000000)),
     (index: 0x607C, value: I32(-600000)),",
);
const HOMING: (&str, &str) = (
    "counts_per_m: 1.0e7,",
    "counts_per_m: 1.0e7, homing: (timeout_s: 5.0),",
);
const EMULATED: (&str, &str) = (
    "seed: 1,",
    "seed: 1, homing: (stands_at_m: 0.02, speed_m_per_s: 0.01, switch_at_m: 0.06),",
);

fn bench(more: &[(&str, &str)]) -> Bench {
    let mut changes = vec![OBJECTS, HOMING, EMULATED];
    changes.extend(more);
    let mut bench = Bench::on(changed(&changes));
    // Ten cycles before OP is asked for, and some more.
    bench.cycles(50);
    assert_eq!(bench.state(), State::Idle);
    bench
}

fn tell(bench: &mut Bench, command: RigCommand) {
    bench.user.commands.push(Command::Rig(command)).unwrap();
}

fn true_position(bench: &Bench) -> f64 {
    bench.plant.position(bench.clock.now())
}

fn has_power(bench: &Bench) -> bool {
    bench.plant.is_powered(bench.clock.now())
}

fn has_said(bench: &Bench, id: &str) -> bool {
    bench.said().iter().any(|said| said == id)
}

/// On its way for so many cycles.
fn under_way(cycles: usize) -> Bench {
    let mut bench = bench(&[]);
    tell(&mut bench, RigCommand::Home);
    bench.cycles(cycles);
    assert!(has_power(&bench) && has_said(&bench, "rig.homing"));
    bench
}

/// Not homed, and without power for good: also when nothing is said any more.
fn assert_off(bench: &mut Bench, what: &str) {
    assert!(!has_power(bench), "{what}: {:?}", bench.said());
    let at = true_position(bench);
    bench.cycles(1000);
    assert_eq!(bench.state(), State::Idle, "{what}");
    assert!(!has_power(bench), "{what}");
    assert!((true_position(bench) - at).abs() < 2e-5, "{what}");
    assert!(bench.frames.iter().all(|f| f.drive == Drive::Off), "{what}");
}

#[test]
fn it_is_not_armed_before_it_is_homed_and_then_goes_to_the_right_places() {
    let mut bench = bench(&[]);
    assert!(has_said(&bench, "rig.not-homed"), "{:?}", bench.said());
    bench.ask(Request::Arm);
    bench.cycles(500);
    assert_eq!(bench.state(), State::Idle);
    let is_refusal = |e: &rt_core::link::Event| matches!(e.kind, EventKind::Refused(_));
    assert!(bench.events.iter().any(is_refusal));
    assert!(!has_power(&bench));
    assert!((true_position(&bench) - STANDS_AT_M).abs() < 2e-5);

    let begin = bench.frames.len();
    tell(&mut bench, RigCommand::Home);
    // Half of the way after half of the time, up to the cycles before and the motor's lag of 4 ms.
    bench.cycles(TRAVEL_CYCLES / 2);
    let half = true_position(&bench);
    assert!((half - 0.040).abs() < 0.001, "{half}");
    bench.until(State::Ready, 1000);
    // Five good cycles before it is Ready.
    let taken = bench.frames.len() - begin - TRAVEL_CYCLES - 5;
    println!("{taken} cycles besides {TRAVEL_CYCLES} of travel");
    assert!(BESIDES_CYCLES.contains(&taken), "{taken}");
    assert!(!has_power(&bench), "homed and off");
    assert!((true_position(&bench) - SWITCH_AT_M).abs() < NEAR_M);
    let position = bench.layout.column("motor_position").unwrap();
    let seen = bench.last().values[position];
    assert!((seen - true_position(&bench)).abs() < 2e-5, "{seen}");

    // The sine of 20 mm about 0 is where it should be.
    bench.bring_to(State::Running);
    let (mut low, mut high) = (1.0_f64, -1.0_f64);
    for _ in 0..1000 {
        bench.cycle();
        let (seen, is) = (bench.last().values[position], true_position(&bench));
        // At 0.126 m/s, a cycle is 0.25 mm.
        assert!((seen - is).abs() < 4e-4, "{seen} {is}");
        (low, high) = (low.min(is), high.max(is));
    }
    assert_eq!(bench.state(), State::Running, "{:?}", bench.said());
    assert!(
        (high - 0.02).abs() < 1e-3 && (low + 0.02).abs() < 1e-3,
        "{low} {high}"
    );
    // To home what is homed changes nothing.
    bench.ask(Request::Stop);
    bench.until(State::Ready, 3000);
    tell(&mut bench, RigCommand::Home);
    bench.cycles(50);
    assert_eq!(bench.state(), State::Ready);
    assert!(!has_power(&bench));
}

#[test]
fn stop_ends_it_half_way_without_power() {
    let mut bench = under_way(200);
    bench.ask(Request::Stop);
    bench.cycles(2);
    let stopped = true_position(&bench);
    // The quick stop of the emulated drive takes 20 ms.
    bench.cycles(12);
    assert!((true_position(&bench) - stopped).abs() < 5e-4);
    assert!((0.035..0.045).contains(&stopped), "{stopped}");
    assert_off(&mut bench, "stopped");
    assert!(!has_said(&bench, "rig.homing-failed"), "nobody failed");
    tell(&mut bench, RigCommand::Home);
    bench.until(State::Ready, 1000);
    assert!((true_position(&bench) - SWITCH_AT_M).abs() < NEAR_M);
}

#[test]
fn whatever_happens_on_the_way_takes_its_power() {
    let faults = [
        (
            "drive error",
            SegmentFault::Drive(DriveMisbehaviour::Fault(0x2310)),
            "rig.drive-fault",
        ),
        (
            "quick stop of its own",
            SegmentFault::Drive(DriveMisbehaviour::QuickStop),
            "rig.homing-failed",
        ),
        (
            "two frames lost",
            SegmentFault::Frames {
                how: FrameFault::Lost,
                count: 2,
            },
            "rig.lost-exchange",
        ),
        (
            "emergency of another device",
            SegmentFault::Emergency {
                device: 1,
                code: 0x1000,
                between_sdo: false,
            },
            "rig.emergency",
        ),
        (
            "safety circuit",
            SegmentFault::Input {
                input: 2,
                count: Some(0),
            },
            "rig.interlock",
        ),
        (
            "watchdog",
            SegmentFault::Watchdog { device: 0 },
            "rig.watchdog",
        ),
    ];
    for (what, fault, id) in faults {
        let mut bench = under_way(200);
        bench.inject(fault);
        bench.cycles(3);
        assert!(has_said(&bench, id), "{what}: {:?}", bench.said());
        // Told in the next cycle, then a quick stop of 20 ms.
        bench.cycles(12);
        assert_off(&mut bench, what);
    }
}

#[test]
fn a_switch_that_is_not_found_is_said() {
    let mut bench = bench(&[]);
    bench.inject(SegmentFault::Drive(DriveMisbehaviour::NoHomeSwitch(true)));
    tell(&mut bench, RigCommand::Home);
    bench.cycles(TRAVEL_CYCLES + 60);
    assert!(has_said(&bench, "rig.homing-failed"), "{:?}", bench.said());
    let words = bench.events.iter().find_map(|e| match e.kind {
        EventKind::Warning(fault) => {
            Some(fault.describe(&bench.layout)).filter(|words| words.id == "rig.homing-failed")
        }
        _ => None,
    });
    let words = words.unwrap();
    assert!(
        words
            .what
            .contains("an error of its homing (status 0x2637)"),
        "{}",
        words.what
    );
    assert_off(&mut bench, "no switch");
    // It is repaired, and homed.
    bench.inject(SegmentFault::Drive(DriveMisbehaviour::NoHomeSwitch(false)));
    tell(&mut bench, RigCommand::Home);
    bench.until(State::Ready, 1000);
}

#[test]
fn it_gets_no_more_time_than_the_file_says() {
    // 0.1 mm/s would take 400 s; 0.5 s are 250 cycles.
    let slow = ("value: U32(500000)", "value: U32(1000)");
    let short = ("timeout_s: 5.0", "timeout_s: 0.5");
    let mut bench = bench(&[slow, short]);
    tell(&mut bench, RigCommand::Home);
    bench.cycles(250);
    assert!(has_power(&bench) && !has_said(&bench, "rig.homing-failed"));
    bench.cycles(30);
    assert!(has_said(&bench, "rig.homing-failed"), "{:?}", bench.said());
    assert_off(&mut bench, "timeout");
}

/// Without power the encoder forgets; without a cable only the segment is set up again.
#[test]
fn power_and_cable_are_told_apart_only_by_a_bit_of_the_drive() {
    let bit = ("timeout_s: 5.0", "timeout_s: 5.0, homed_bit: 14");
    let power = [SegmentFault::Power(false), SegmentFault::Power(true)];
    let cable = [SegmentFault::Cable(false), SegmentFault::Cable(true)];
    for (more, faults, is_homed) in [
        (&[][..], power, false),
        (&[][..], cable, false),
        (&[bit][..], power, false),
        (&[bit][..], cable, true),
    ] {
        let mut bench = bench(more);
        tell(&mut bench, RigCommand::Home);
        bench.until(State::Ready, 1000);
        let what = format!("{more:?} {faults:?}");
        let setups = Counters::read(&bench.counters.setups);
        let [gone, back] = faults;
        bench.inject(gone);
        bench.cycles(40);
        bench.inject(back);
        bench.events.clear();
        let begin = Instant::now();
        while Counters::read(&bench.counters.setups) == setups {
            bench.cycle();
            std::thread::park_timeout(Duration::from_micros(200));
            assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        }
        for _ in 0..200 {
            bench.cycle();
            std::thread::park_timeout(Duration::from_micros(200));
        }
        let expected = if is_homed { State::Ready } else { State::Idle };
        assert_eq!(bench.state(), expected, "{what}: {:?}", bench.said());
        assert_eq!(has_said(&bench, "rig.not-homed"), !is_homed, "{what}");
        assert!(!has_power(&bench), "{what}");
    }
}

/// On the bus itself: the encoder's count before and after, and no heap in any cycle.
#[test]
fn the_encoder_counts_from_where_it_was_switched_on_until_it_is_homed() {
    let (rig, segment, pantograph) = changed(&[OBJECTS, HOMING, EMULATED]);
    let plant = SharedPlant::new(&rig.model(), &pantograph);
    let (emulated, mut faults) = segment_on(&segment, &rig, plant.clone());
    let mut clock = ExactClock::default();
    clock.sleep_until(1_000_000_000);
    let transport = InProcess::new(emulated, SegmentClock::Exact(clock.clone()));
    let mut bus = EthercatBus::start(&segment, 1, PERIOD, 0.2, Box::new(transport)).unwrap();
    bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
    let drive = std::sync::Arc::clone(&bus.devices()[0]);
    let mut slots = [Slot::default(); 5];
    let mut exchange = |told: &DriveCommand, cycles: usize| {
        let mut last = Ok(());
        for _ in 0..cycles {
            let now = clock.now() + PERIOD;
            clock.sleep_until(now);
            let (done, uses) = guarded(|| bus.exchange(told, now, &mut slots));
            assert_eq!(uses, 0, "{done:?}");
            last = done;
        }
        let shown = slots[0].last().map(|sample| sample.value);
        (last, shown, plant.position(clock.now()))
    };
    let home = DriveCommand {
        home: true,
        ..DriveCommand::OFF
    };
    let (done, shown, is) = exchange(&DriveCommand::OFF, 50);
    assert_eq!(done, Err(RigFault::NotHomed));
    // Count 0 where it stands: wrong by 20 mm.
    assert!(shown.unwrap().abs() < 2e-5 && (is - STANDS_AT_M).abs() < 2e-5);
    let (done, ..) = exchange(&home, 1);
    assert_eq!(done, Err(RigFault::Homing), "from the first cycle on");
    let (done, shown, is) = exchange(&home, 200);
    assert_eq!(done, Err(RigFault::Homing));
    assert!((is - shown.unwrap() - STANDS_AT_M).abs() < 3e-4);
    assert_eq!(drive.state(), DeviceState::Powered);
    // A cycle is lost: it does not go on, although the wish is still there.
    let lost = SegmentFault::Frames {
        how: FrameFault::Lost,
        count: 2,
    };
    faults.push(lost).unwrap();
    let (done, ..) = exchange(&home, 1);
    assert_eq!(done, Err(RigFault::LostExchange { in_a_row: 1 }));
    let (done, _, stopped) = exchange(&home, 20);
    assert_eq!(done, Err(RigFault::NotHomed));
    let (_, _, later) = exchange(&home, 100);
    assert!((later - stopped).abs() < 2e-5, "{stopped} {later}");
    assert_eq!(drive.state(), DeviceState::Operational);
    // Withdrawn, and once more to the end.
    let _ = exchange(&DriveCommand::OFF, 20);
    let _ = exchange(&home, 300);
    let (done, shown, is) = exchange(&DriveCommand::OFF, 5);
    assert_eq!(done, Ok(()));
    assert!((is - SWITCH_AT_M).abs() < NEAR_M, "{is}");
    assert!((shown.unwrap() - is).abs() < 2e-5, "{shown:?} {is}");
    // With an error on the way, too, nothing uses the heap.
    faults.push(SegmentFault::Power(false)).unwrap();
    faults.push(SegmentFault::Power(true)).unwrap();
    let _ = exchange(&home, 10);
}
