//! 100 channels at 10 kHz through ring and recorder while another process writes to the same disk: the short
//! form of `benches/recording_sustained.rs`.

use crate::recording::{Scratch, frame, header};
use rt_core::pacing::{Clock, RealClock};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::recorder::Recorder;
use rt_core::record::setup::RecorderSetup;
use rtrb::RingBuffer;
use std::io::{Seek, Write};
use std::process::{Command, Stdio};

const RATE_HZ: u64 = 10_000;
const PERIOD: u64 = 1_000_000_000 / RATE_HZ;
const CHANNELS: usize = 100;
const SECONDS: u64 = 3;
/// Seconds that the ring bridges, as in a run: longer than this test, so that no busy disk fails it.
const RING_SECONDS: u64 = 8;
const FILE: &str = "PANTOBENCH_SUSTAINED_TEST";

/// Not a test of its own: the process that keeps the disk busy, until it is killed.
#[test]
fn the_disturber() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![0xA5; 4 << 20];
    loop {
        for _ in 0..16 {
            file.write_all(&block).unwrap();
        }
        file.sync_data().unwrap();
        file.rewind().unwrap();
    }
}

#[test]
fn nothing_is_lost_beside_a_process_that_keeps_the_disk_busy() {
    if std::env::var_os(FILE).is_some() {
        return;
    }
    let scratch = Scratch::new("sustained");
    let mut disturber = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "record_sustained::the_disturber"])
        .env(FILE, scratch.path().join("disturbance"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let setup = RecorderSetup::new(scratch.path(), header(CHANNELS, PERIOD));
    let (mut ring, frames) = RingBuffer::new((RING_SECONDS * RATE_HZ) as usize);
    let mut engine = Engine::new(setup, Box::new(SystemDisk)).unwrap();
    engine.start();
    let recorder = Recorder::spawn(engine, frames, || 0).unwrap();
    let mut clock = RealClock;
    let begin = clock.now();
    let mut dropped = 0;
    for seq in 0..SECONDS * RATE_HZ {
        clock.sleep_until(begin + seq * PERIOD);
        dropped += usize::from(ring.push(frame(seq, PERIOD, CHANNELS)).is_err());
    }
    let files = recorder.finish("done").unwrap();
    disturber.kill().unwrap();
    disturber.wait().unwrap();
    assert_eq!(dropped, 0);
    let session = Session::open(&files[0]).unwrap();
    let report = session.check().unwrap();
    assert!(report.info.ok, "{:?}", report.problems);
    assert_eq!(report.info.frames, SECONDS * RATE_HZ);
    assert_eq!((report.info.drops, report.missing_ticks()), (0, 0));
    for recorded in session.frames(TimeRange::ALL) {
        let recorded = recorded.unwrap().frame;
        let original = frame(recorded.seq, PERIOD, CHANNELS);
        let exact = CHANNELS - 1;
        assert_eq!(
            recorded.values[exact].to_bits(),
            original.values[exact].to_bits()
        );
    }
}
