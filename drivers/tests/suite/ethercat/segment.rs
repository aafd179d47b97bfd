//! The segment itself: from nothing to a drive that follows.

use super::rig::{Bench, PERIOD, shipped};
use drivers::emulate::ethercat::fault::{FrameFault, SegmentFault};
use drivers::emulate::ethercat::in_process::{InProcess, SegmentClock};
use drivers::emulate::ethercat::segment_of;
use drivers::ethercat::EthercatBus;
use drivers::ethercat::counters::Counters;
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use rt_core::guard::State;
use rt_core::no_alloc::guarded;
use rt_core::pacing::{Clock, ExactClock};
use std::time::Duration;

#[test]
fn from_nothing_to_a_drive_that_follows() {
    let mut bench = Bench::new();
    bench.bring_to(State::Running);
    bench.cycles(1000);
    assert_eq!(bench.state(), State::Running, "{:?}", bench.said());
    let column = |id: &str| bench.layout.column(id).unwrap();
    let (position, reference) = (column("motor_position"), column("motor_reference"));
    let (force, front, rear) = (
        column("force"),
        column("force_strip_front"),
        column("force_strip_rear"),
    );
    let mut largest = 0.0_f64;
    for frame in &bench.frames[bench.frames.len() - 500..] {
        let v = &frame.values;
        largest = largest.max((v[position] - v[reference]).abs());
        assert!((v[force] - v[front] - v[rear]).abs() < 1e-9);
        assert_eq!(v[column("interlock_door")], 1.0);
    }
    // 20 mm at 1 Hz are 0.126 m/s; the motor lags by 2ζ/ω = 4 ms, and two cycles lie between: about 1 mm.
    assert!((0.0003..0.002).contains(&largest), "{largest}");
    assert_eq!(Counters::read(&bench.counters.lost), 0);
    assert_eq!(Counters::read(&bench.counters.setups), 1);
}

/// Set-up handed over, OP, enabling, following, emergencies, bad frames, a device that is gone: nothing of it uses the
/// heap on the thread that exchanges, the emulated segment included.
#[test]
fn an_exchange_never_uses_the_heap() {
    let (rig, segment, pantograph) = shipped();
    let (emulated, mut faults) = segment_of(&segment, &rig, &pantograph);
    let mut clock = ExactClock::default();
    clock.sleep_until(1_000_000_000);
    let transport = InProcess::new(emulated, SegmentClock::Exact(clock.clone()));
    let mut bus = EthercatBus::start(&segment, 1, PERIOD, 0.2, Box::new(transport)).unwrap();
    bus.wait_until_set_up(Duration::from_secs(20)).unwrap();
    let mut slots = [Slot::default(); 5];
    let mut good = 0;
    for k in 0..600_u64 {
        let now = clock.now() + PERIOD;
        clock.sleep_until(now);
        let fault = match k {
            200 => Some(SegmentFault::Emergency {
                device: 0,
                code: 0x3220,
                between_sdo: false,
            }),
            250 => Some(SegmentFault::Frames {
                how: FrameFault::Truncated(30),
                count: 5,
            }),
            300 => Some(SegmentFault::Watchdog { device: 0 }),
            550 => Some(SegmentFault::DropOut { device: 2 }),
            _ => None,
        };
        fault.into_iter().for_each(|f| faults.push(f).unwrap());
        let told = DriveCommand {
            is_on: k > 100,
            position_m: 0.05,
            may_reset: k % 2 == 0,
            ..DriveCommand::OFF
        };
        let (done, uses) = guarded(|| bus.exchange(&told, now, &mut slots));
        assert_eq!(uses, 0, "cycle {k}: {done:?}");
        good += u32::from(done.is_ok());
    }
    assert!((250..560).contains(&good), "{good}");
}
