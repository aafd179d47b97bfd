//! The segment itself: from nothing to a drive that follows.

use crate::rig::Bench;
use drivers::ethercat::counters::Counters;
use rt_core::guard::State;

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
