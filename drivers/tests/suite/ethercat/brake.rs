//! A brake that this program operates by a digital output of the segment, with its switch on a digital input.

use super::rig::{Bench, changed};
use drivers::emulate::ethercat::fault::SegmentFault;
use drivers::simulated::BrakeFault;
use rt_core::guard::{Drive, PowerOff, Request, State};
use rt_core::pacing::Clock;

const TERMINAL: (&str, &str) = (
    "inputs: [(index: 0x1A00, entries: [(0x6000, 1, 8)])],",
    "outputs: [(index: 0x1600, entries: [(0x7000, 1, 8)])],
     inputs: [(index: 0x1A00, entries: [(0x6000, 1, 8)])],",
);
const OUTPUT: (&str, &str) = (
    "inputs: [\n                (name: \"front\",",
    "outputs: [(name: \"brake\", device: \"safety terminal\", index: 0x7000, sub: 1, bit: 3)],
            inputs: [\n                (name: \"front\",",
);
const BRAKE: (&str, &str) = (
    "brake: (release_s: 0.03, engage_s: 0.03, output: Drive),",
    "brake: (release_s: 0.04, engage_s: 0.06, output: Output(\"ecat.brake\"),
     feedback: (input: \"ecat.circuits\", bit: 2, set_means_engaged: true, within_s: 0.05)),",
);
const TERMINAL_DEVICE: usize = 3;

fn bench() -> Bench {
    let mut bench = Bench::on(changed(&[TERMINAL, OUTPUT, BRAKE]));
    bench.cycle();
    bench.until(State::Ready, 300);
    bench
}

fn position(bench: &Bench) -> f64 {
    bench.plant.position(bench.clock.now())
}

fn grips(bench: &Bench) -> bool {
    bench.plant.brake_grips(bench.clock.now())
}

/// How far the motor moves from here on, in m.
fn drift(bench: &mut Bench, cycles: usize) -> f64 {
    let from = position(bench);
    let mut far: f64 = 0.0;
    for _ in 0..cycles {
        bench.cycle();
        far = far.max((position(bench) - from).abs());
    }
    far
}

fn armed() -> Bench {
    let mut bench = bench();
    bench.ask(Request::Arm);
    bench.until(State::Armed, 5);
    // Enabling, releasing, and on the way to the parked position, where it stands.
    bench.cycles(80);
    assert_eq!(bench.state(), State::Armed, "{:?}", bench.said());
    assert!(!grips(&bench));
    bench
}

#[test]
fn it_is_released_after_the_drive_holds_and_holds_before_the_drive_goes_off() {
    let mut bench = bench();
    assert!(grips(&bench));
    assert!(drift(&mut bench, 200) < 2e-5);
    bench.ask(Request::Arm);
    bench.until(State::Armed, 5);
    let at = position(&bench);
    let column = bench.layout.column("brake_released").unwrap();
    let mut powered_at = None;
    let mut free_at = None;
    for k in 0..200 {
        bench.cycle();
        let now = bench.clock.now();
        powered_at = powered_at.or(bench.plant.is_powered(now).then_some(k));
        free_at = free_at.or((!grips(&bench)).then_some(k));
        if bench.last().values[column] > 0.5 {
            break;
        }
        assert!((position(&bench) - at).abs() < 5e-5, "{k}");
    }
    let (powered, free) = (powered_at.unwrap(), free_at.unwrap());
    // 40 ms from the output on, which is set when the drive has shown that it follows.
    assert!((20..25).contains(&(free - powered)), "{powered} {free}");
    bench.ask(Request::Run);
    bench.until(State::Running, 500);
    bench.cycles(150);
    bench.ask(Request::Stop);
    bench.until(State::Idle, 500);
    let at = position(&bench);
    for _ in 0..28 {
        assert!(
            bench.plant.is_powered(bench.clock.now()),
            "it holds for 60 ms more"
        );
        bench.cycle();
    }
    bench.cycles(20);
    assert!(grips(&bench) && !bench.plant.is_powered(bench.clock.now()));
    assert!((position(&bench) - at).abs() < 5e-5);
    assert!(drift(&mut bench, 300) < 5e-5);
    let said: Vec<String> = bench
        .said()
        .into_iter()
        .filter(|id| id.contains("brake"))
        .collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_second_stop_and_a_trip_take_the_power_and_set_the_brake_in_one_exchange() {
    for trips in [false, true] {
        let mut bench = armed();
        bench.ask(Request::Run);
        bench.until(State::Running, 500);
        bench.cycles(150);
        if trips {
            bench.inject(SegmentFault::Input {
                input: 2,
                count: Some(0),
            });
            bench.until(State::Tripped, 5);
        } else {
            bench.ask(Request::Stop);
            bench.cycle();
            bench.ask(Request::Stop);
            bench.cycle();
        }
        assert_eq!(bench.last().drive, Drive::Off);
        assert_ne!(bench.last().power_off, PowerOff::HandsOver);
        // Told in the exchange of the next cycle, held 60 ms after it; the drive makes its quick stop meanwhile.
        bench.cycles(2 + 32);
        assert!(grips(&bench), "trips: {trips}");
        assert!(drift(&mut bench, 300) < 5e-5);
    }
}

#[test]
fn a_terminal_that_is_lost_lets_the_brake_fall_in() {
    let mut bench = armed();
    bench.inject(SegmentFault::Watchdog {
        device: TERMINAL_DEVICE,
    });
    bench.until(State::Tripped, 5);
    bench.cycles(40);
    assert!(grips(&bench));
}

#[test]
fn its_switch_is_believed() {
    let mut bench = armed();
    let now = bench.clock.now();
    bench.plant.break_brake(Some(BrakeFault::StaysEngaged), now);
    bench.cycles(40);
    assert_eq!(bench.state(), State::Tripped);
    assert!(
        bench.said().iter().any(|id| id == "rig.brake-not-released"),
        "{:?}",
        bench.said()
    );

    let mut bench = armed();
    let now = bench.clock.now();
    bench
        .plant
        .break_brake(Some(BrakeFault::StaysReleased), now);
    bench.ask(Request::Stop);
    bench.until(State::Idle, 500);
    bench.cycles(100);
    assert!(
        bench.said().iter().any(|id| id == "rig.brake-not-engaged"),
        "{:?}",
        bench.said()
    );
    bench.ask(Request::Arm);
    bench.cycles(5);
    assert_eq!(
        bench.state(),
        State::Idle,
        "nothing is armed on such a brake"
    );
}

#[test]
fn an_output_is_a_bit_that_exists_and_belongs_to_nobody_else() {
    use drivers::rig_file::RigFile;
    use rt_core::file;
    let text = std::fs::read_to_string(super::rig::shipped_path()).unwrap();
    for (from, to, words) in [
        (
            "bit: 3",
            "bit: 8",
            vec!["buses[0].outputs[0].bit", "is 8", "8 bits"],
        ),
        (
            "index: 0x7000, sub: 1, bit",
            "index: 0x7001, sub: 1, bit",
            vec!["0x7001:1", "safety terminal"],
        ),
        (
            "device: \"safety terminal\", index: 0x7000, sub: 1",
            "device: \"drive\", index: 0x6040",
            vec!["0x6040", "the drive itself"],
        ),
        (
            "counts_per_m: 1.0e7,",
            "counts_per_m: 1.0e7, homing: (timeout_s: 5.0),",
            vec!["mounting.brake.output", "homes by itself", "output: Drive"],
        ),
        (
            "Output(\"ecat.brake\")",
            "Output(\"ecat.break\")",
            vec!["'ecat.break' does not exist", "ecat.brake"],
        ),
    ] {
        let mut text = text.clone();
        for (a, b) in [TERMINAL, OUTPUT, BRAKE, (from, to)] {
            // The last one: comments of the file come before what they explain.
            let at = text.rfind(a).unwrap_or_else(|| panic!("{a}"));
            text.replace_range(at..at + a.len(), b);
        }
        let parsed: Result<RigFile, _> = file::parse(&text, &super::rig::shipped_path());
        let error = parsed.unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}
