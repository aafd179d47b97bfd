//! What a drive does alone: demanded, written, read back, and done by the emulated drive; and power-off that ends without
//! power or is a fault.

use super::rig::{Bench, PERIOD, changed, shipped};
use drivers::emulate::ethercat::DriveMisbehaviour;
use drivers::emulate::ethercat::fault::SegmentFault;
use drivers::emulate::ethercat::in_process::{InProcess, SegmentClock};
use drivers::emulate::ethercat::segment_on;
use drivers::emulate::plant::SharedPlant;
use drivers::ethercat::reactions::ReactionsConfig;
use drivers::ethercat::{EthercatBus, EthercatConfig};
use drivers::hardware::HardwareConfig;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use rt_core::guard::{Drive, Request, State};
use rt_core::model::pantograph::Pantograph;
use rt_core::pacing::{Clock, ExactClock};
use rt_core::rig::RigFault;
use rtrb::Producer;
use std::time::Duration;

/// A bus and what stands behind it, cycle by cycle.
struct Exchange {
    bus: EthercatBus,
    faults: Producer<SegmentFault>,
    clock: ExactClock,
    plant: SharedPlant,
    slots: [Slot; 5],
}

impl Exchange {
    fn on(
        (rig, segment, pantograph): (HardwareConfig, EthercatConfig, Pantograph),
        first: Option<SegmentFault>,
    ) -> Self {
        let plant = SharedPlant::new(&rig.model(), &pantograph);
        let (emulated, mut faults) = segment_on(&segment, &rig, plant.clone());
        first.into_iter().for_each(|f| faults.push(f).unwrap());
        let mut clock = ExactClock::default();
        clock.sleep_until(1_000_000_000);
        let transport = InProcess::new(emulated, SegmentClock::Exact(clock.clone()));
        let bus = EthercatBus::start(&segment, 1, PERIOD, 10.0, Box::new(transport)).unwrap();
        bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
        let mut own = Self {
            bus,
            faults,
            clock,
            plant,
            slots: [Slot::default(); 5],
        };
        own.cycles(&DriveCommand::OFF, 50).ok();
        own
    }

    /// With some reactions changed.
    fn with(change: impl FnOnce(&mut ReactionsConfig)) -> Self {
        let (rig, mut segment, pantograph) = shipped();
        change(segment.drive.as_mut().unwrap().reactions.as_mut().unwrap());
        Self::on((rig, segment, pantograph), None)
    }

    fn cycle(&mut self, told: &DriveCommand) -> Result<(), RigFault> {
        let now = self.clock.now() + PERIOD;
        self.clock.sleep_until(now);
        self.bus.exchange(told, now, &mut self.slots)
    }

    fn cycles(&mut self, told: &DriveCommand, n: usize) -> Result<(), RigFault> {
        (0..n).map(|_| self.cycle(told)).last().unwrap()
    }

    fn position(&self) -> f64 {
        self.plant.position(self.clock.now())
    }

    fn has_power(&self) -> bool {
        self.plant.is_powered(self.clock.now())
    }

    /// Follows at a speed in m/s; where it is then.
    fn follow(&mut self, speed: f64) -> f64 {
        let start = self.position();
        let told = |position_m| DriveCommand {
            is_on: true,
            position_m,
            ..DriveCommand::OFF
        };
        self.cycles(&told(start), 50).unwrap();
        for k in 1..=50 {
            let s = f64::from(k) * PERIOD as f64 * 1e-9;
            self.cycle(&told(start + speed * s)).unwrap();
        }
        assert!(self.has_power());
        self.position()
    }
}

fn on_at(position_m: f64) -> DriveCommand {
    DriveCommand {
        is_on: true,
        position_m,
        ..DriveCommand::OFF
    }
}

#[test]
fn all_settings_are_read_back_and_agree() {
    let x = Exchange::with(|_| ());
    let settings = x.bus.devices()[0].settings();
    let objects: Vec<&str> = settings.iter().map(|s| s.object.as_str()).collect();
    assert_eq!(
        objects,
        [
            "register 0x0400",
            "register 0x0420",
            "0x605A",
            "0x605B",
            "0x605E",
            "0x6007",
            "0x6085",
            "0x6065",
            "0x6066",
            "register 0x0814",
        ]
    );
    for setting in &settings {
        assert_eq!(setting.agrees, Some(true), "{}", setting.describe());
        assert_eq!(setting.demanded, setting.read_back);
    }
    // 40 m/s² and 0.1 µm a count; 50 ms in steps of 0.1 ms.
    assert_eq!(settings[6].read_back, Some(400_000_000));
    assert_eq!(settings[1].read_back, Some(500));
    // Amplifiers have no outputs that could be watched.
    assert!(x.bus.devices()[1].settings().is_empty());
}

#[test]
fn a_drive_that_does_not_take_a_value_is_not_armed_and_says_which() {
    for (index, demanded, found) in [
        (0x605A, 3, 2),
        (0x605B, 1, 0),
        (0x605E, 3, 2),
        (0x6007, 2, 1),
        // The emulated drive's own: 20 m/s², no window, no time.
        (0x6085, 400_000_000, 200_000_000),
        (0x6065, 300_000, 0xFFFF_FFFF),
        (0x6066, 10, 0),
    ] {
        let (rig, mut segment, pantograph) = shipped();
        let stated = segment.drive.as_mut().unwrap().reactions.as_mut().unwrap();
        (stated.quick_stop, stated.shutdown) = (3, 1);
        (stated.fault_reaction, stated.connection_loss) = (3, 2);
        let keeps = |index| SegmentFault::Drive(DriveMisbehaviour::NotTaken(index));
        let mut x = Exchange::on((rig, segment, pantograph), Some(keeps(Some(index))));
        let fault = RigFault::DeviceSetting {
            device: 1,
            object: index,
            demanded,
            found: Some(found),
        };
        let here = x.position();
        for told in [DriveCommand::OFF, on_at(here), on_at(here + 0.01)] {
            assert_eq!(x.cycles(&told, 200), Err(fault), "0x{index:04X}");
            assert!(!x.has_power(), "0x{index:04X}");
        }
        let differs: Vec<String> = x.bus.devices()[0]
            .settings()
            .iter()
            .filter(|s| s.agrees == Some(false))
            .map(|s| s.object.clone())
            .collect();
        assert_eq!(differs, [format!("0x{index:04X}")]);
    }
}

/// In the loop: it never becomes Ready, and says both values.
#[test]
fn a_bench_with_such_a_drive_is_never_ready() {
    let mut bench = Bench::on_with(
        shipped(),
        &[SegmentFault::Drive(DriveMisbehaviour::NotTaken(Some(
            0x6066,
        )))],
    );
    bench.cycles(500);
    assert_eq!(bench.state(), State::Idle);
    bench.ask(Request::Arm);
    bench.cycles(100);
    assert_eq!(bench.state(), State::Idle);
    let words = bench.words_of("rig.device-setting");
    assert!(
        words.contains("has 0 in 0x6066") && words.contains("demands 10"),
        "{words}"
    );
}

#[test]
fn an_object_that_the_drive_lacks_may_be_left_out_only_by_name() {
    let (rig, mut segment, pantograph) = shipped();
    let mut lacking = segment.clone();
    // The emulated drive has what its rig file names; this one is told of no shutdown option.
    let lack = SegmentFault::Drive(DriveMisbehaviour::Lacks(Some(0x605B)));
    let mut x = Exchange::on(
        (rig.clone(), segment.clone(), pantograph.clone()),
        Some(lack),
    );
    let fault = RigFault::DeviceSetting {
        device: 1,
        object: 0x605B,
        demanded: 0,
        found: None,
    };
    assert_eq!(x.cycles(&DriveCommand::OFF, 50), Err(fault));
    let stated = lacking.drive.as_mut().unwrap().reactions.as_mut().unwrap();
    stated.absent = vec![0x605B];
    let mut x = Exchange::on((rig.clone(), lacking, pantograph.clone()), Some(lack));
    assert_eq!(x.cycles(&DriveCommand::OFF, 50), Ok(()));
    let settings = x.bus.devices()[0].settings();
    let shown = settings.iter().find(|s| s.object == "0x605B").unwrap();
    assert!(shown.describe().contains("not there, as the rig file says"));
    // One that is said to be absent and is there is written all the same.
    let stated = segment.drive.as_mut().unwrap().reactions.as_mut().unwrap();
    (stated.absent, stated.shutdown) = (vec![0x605B], 1);
    let x = Exchange::on((rig, segment, pantograph), None);
    let settings = x.bus.devices()[0].settings();
    let shown = settings.iter().find(|s| s.object == "0x605B").unwrap();
    assert_eq!((shown.read_back, shown.agrees), (Some(1), Some(true)));
}

/// From 0.5 m/s, by each option: how far it goes, and that its power is gone within the bound.
#[test]
fn power_off_ends_without_power_by_every_option_of_the_quick_stop() {
    for option in 0..=8 {
        let mut x = Exchange::with(|r| r.quick_stop = option);
        let begin = x.follow(0.5);
        let mut powered_ms = 0;
        for _ in 0..200 {
            assert_eq!(x.cycle(&DriveCommand::OFF), Ok(()), "{option}");
            powered_ms += if x.has_power() { 2 } else { 0 };
        }
        let way = x.position() - begin;
        println!(
            "option {option}: power for {powered_ms} ms, {:.1} mm",
            1e3 * way
        );
        assert!(!x.has_power(), "{option}");
        // The bound of the shipped file is 250 ms; a ramp takes at most 25 ms (the drive's own 20 m/s² with 1 and 5).
        let most = match option {
            0 => 2,
            1..=4 => 45,
            // Its power stays until the program takes it, 20 ms after the motor rests.
            _ => 120,
        };
        assert!(powered_ms <= most, "{option}: {powered_ms} ms");
        assert!((-0.001..0.015).contains(&way), "{option}: {way}");
    }
}

/// Another drive: it counts the other way, in micrometres, and keeps its power after a quick stop.
#[test]
fn a_drive_that_counts_the_other_way_is_stopped_the_same() {
    let other = changed(&[
        ("counts_per_m: 1.0e7", "counts_per_m: -1.0e6"),
        ("quick_stop: 2", "quick_stop: 6"),
    ]);
    let mut x = Exchange::on(other, None);
    let settings = x.bus.devices()[0].settings();
    assert!(settings.iter().all(|s| s.agrees == Some(true)));
    let begin = x.follow(0.5);
    x.cycles(&DriveCommand::OFF, 100).unwrap();
    assert!(!x.has_power());
    assert!((x.position() - begin).abs() < 0.015);
}

#[test]
fn a_drive_that_keeps_its_power_is_a_fault_for_as_long_as_it_does() {
    let mut x = Exchange::with(|_| ());
    let at = x.follow(0.0);
    let stuck = |on| SegmentFault::Drive(DriveMisbehaviour::Stuck(on));
    x.faults.push(stuck(true)).unwrap();
    x.cycle(&on_at(at)).unwrap();
    let mut first = None;
    for ms in (2..3000).step_by(2) {
        match x.cycle(&DriveCommand::OFF) {
            Ok(()) => assert!(first.is_none(), "it is said as long as it lasts: {ms}"),
            Err(RigFault::DriveKeepsPower { limit_us, .. }) => {
                assert_eq!(limit_us, 250_000);
                first.get_or_insert(ms);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    let first = first.unwrap();
    assert!((250..260).contains(&first), "{first}");
    assert!(x.has_power());
    x.faults.push(stuck(false)).unwrap();
    x.cycles(&DriveCommand::OFF, 5).unwrap();
    assert!(!x.has_power());
}

/// The program dies in motion: no frame comes any more. The motor stays at its last target, and by 0x6007 the drive takes its
/// power after its watchdog of 20 ms; after a ramp it waits for 10 ms more.
#[test]
fn a_drive_that_hears_nothing_any_more_does_what_its_file_says() {
    for (connection_loss, expected_ms) in [
        (0, None),
        (1, Some(26.0..36.0)),
        (2, Some(18.0..26.0)),
        (3, Some(26.0..36.0)),
    ] {
        let (rig, mut segment, pantograph) = shipped();
        segment.watchdog_ms = Some(20.0);
        let stated = segment.drive.as_mut().unwrap().reactions.as_mut().unwrap();
        stated.connection_loss = connection_loss;
        let mut x = Exchange::on((rig, segment, pantograph), None);
        let begin_m = x.follow(0.5);
        let begin = x.clock.now();
        x.faults.push(SegmentFault::Cable(false)).unwrap();
        // What is sent from here on reaches nobody.
        let mut powered_ms = 0.0;
        for _ in 0..22 {
            let _ = x.cycle(&DriveCommand::OFF);
            if x.has_power() {
                powered_ms = (x.clock.now() - begin) as f64 * 1e-6;
            }
        }
        let way = x.position() - begin_m;
        println!(
            "connection loss {connection_loss}: power for {powered_ms:.1} ms, {:.1} mm",
            1e3 * way
        );
        let Some(expected_ms) = expected_ms else {
            assert!(x.has_power(), "it would go on for ever");
            continue;
        };
        assert!(!x.has_power(), "{connection_loss}");
        assert!(
            expected_ms.contains(&powered_ms),
            "{connection_loss}: {powered_ms}"
        );
    }
}

#[test]
fn the_window_of_the_drive_is_that_of_the_file() {
    // The motor lags by 4 ms: 2 mm at 0.5 m/s. A window of 1 mm for 10 ms is left, one of 5 mm is not.
    for (window_m, follows) in [(0.005, true), (0.001, false)] {
        let mut x = Exchange::with(|r| r.following_window_m = window_m);
        let start = x.position();
        x.cycles(&on_at(start), 50).unwrap();
        let mut last = Ok(());
        for k in 1..=30 {
            last = x.cycle(&on_at(start + 0.001 * f64::from(k)));
            if last.is_err() {
                break;
            }
        }
        assert_eq!(last.is_ok(), follows, "{window_m}: {last:?}");
        if let Err(fault) = last {
            // By its statusword, or by its message, which comes in the same frame.
            let is_said = matches!(
                fault,
                RigFault::FollowingError { .. } | RigFault::Emergency { code: 0x8611, .. }
            );
            assert!(is_said, "{fault:?}");
            x.cycles(&DriveCommand::OFF, 40).ok();
            assert!(!x.has_power());
        }
    }
}

/// A latched error waits for a person, whoever starts what; then it is reset.
#[test]
fn a_start_resets_no_drive_and_acknowledge_does() {
    let error = SegmentFault::Drive(DriveMisbehaviour::Fault(0x2310));
    let mut bench = Bench::on_with(shipped(), &[error]);
    // Four seconds.
    bench.cycles(2000);
    assert_eq!(bench.state(), State::Idle);
    assert!(bench.said().iter().any(|s| s == "rig.drive-fault"));
    bench.ask(Request::Arm);
    bench.cycles(100);
    assert_eq!(bench.state(), State::Idle, "arming resets nothing");
    bench.ask(Request::Acknowledge);
    // Unset for 50 ms, then set: 25 cycles and five good ones.
    bench.until(State::Ready, 60);
    assert!(bench.frames.iter().all(|f| f.drive == Drive::Off));
}

/// Without reactions in the file an emulated drive in the process works as ever.
#[test]
fn a_file_without_reactions_still_works_in_the_process() {
    let text = std::fs::read_to_string(super::rig::shipped_path()).unwrap();
    let begin = text.find("reactions: (").unwrap();
    let end = begin + text[begin..].find("),").unwrap() + 2;
    let mut bench = Bench::on(changed(&[(&text[begin..end], "")]));
    bench.bring_to(State::Running);
    bench.cycles(200);
    assert_eq!(bench.state(), State::Running, "{:?}", bench.said());
    bench.ask(Request::Stop);
    bench.until(State::Ready, 2000);
    bench.cycles(30);
    assert!(!bench.plant.is_powered(bench.clock.now()));
}
