//! A whole rig on the emulated segment in this process, in exact time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test has to fail loudly")]

use drivers::emulate::ethercat::{self, in_process::{InProcess, SegmentClock}};
use drivers::ethercat::{EthercatBus, EthercatConfig};
use drivers::hardware::bus::{Bus, DriveCommand, Slot};
use drivers::hardware::{BusConfig, HardwareConfig};
use drivers::rig_file::{self, RigFile};
use rt_core::file;
use rt_core::pacing::{Clock, ExactClock};
use std::path::PathBuf;

const PERIOD: u64 = 2_000_000;

fn shipped() -> (HardwareConfig, PathBuf) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/ethercat-dsa-380.ron");
    let RigFile::Hardware(config) = file::load(&path).unwrap_or_else(|e| panic!("{e}")) else {
        panic!("not a hardware rig")
    };
    (*config, path)
}

fn ethercat_of(rig: &HardwareConfig) -> EthercatConfig {
    let BusConfig::Ethercat(config) = &rig.buses[0] else { panic!("no EtherCAT") };
    config.clone()
}

#[test]
fn from_nothing_to_a_drive_that_follows() {
    let (rig, path) = shipped();
    let config = ethercat_of(&rig);
    let pantograph = rig_file::rig_pantograph(&path).unwrap();
    let (segment, _faults) = ethercat::segment_of(&config, &rig, &pantograph);
    let mut clock = ExactClock::default();
    clock.sleep_until(1_000_000_000);
    let transport = InProcess::new(segment, SegmentClock::Exact(clock.clone()));
    let mut bus = EthercatBus::start(&config, 1, PERIOD, 0.2, Box::new(transport)).unwrap();
    let begin = std::time::Instant::now();
    while !bus.is_set_up() {
        for words in bus.words() { println!("{words}"); }
        assert!(begin.elapsed().as_secs() < 20, "no set-up");
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    println!("set up after {:?}", begin.elapsed());
    let mut slots = vec![Slot::default(); config.inputs().len()];
    let mut told = DriveCommand { may_reset: true, ..DriveCommand::OFF };
    let mut last = None;
    for k in 0..400_u64 {
        let now = 2_000_000_000 + k * PERIOD;
        clock.sleep_until(now);
        if k == 100 {
            told = DriveCommand { is_on: true, position_m: 0.05, ..DriveCommand::OFF };
        }
        if k > 150 { told.position_m = 0.05 + 0.0001 * (k - 150) as f64; }
        let done = bus.exchange(&told, now, &mut slots);
        if last != Some(done) { println!("{k}: {done:?} {:?}", slots[1].last()); }
        last = Some(done);
    }
    let position = slots[0].last().unwrap().value;
    println!("{position} {:?}", slots.iter().map(|s| s.last().map(|l| l.value)).collect::<Vec<_>>());
    assert!((position - 0.0749).abs() < 0.002, "{position}");
}
