//! `kill -9` at any moment: every recording opens, and no more than half a second is lost.

use crate::recording::{Scratch, frame, header};
use rt_core::pacing::{Clock, RealClock};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::recorder::Recorder;
use rt_core::record::recover::recover_directory;
use rt_core::record::setup::{Phase, RecorderSetup};
use rtrb::RingBuffer;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

const PERIOD: u64 = 1_000_000;
const CHANNELS: usize = 100;
const DIRECTORY: &str = "PANTOBENCH_KILL_TEST";
const KILLS: u64 = 20;
const AT_ONCE: u64 = 5;
/// Half a second of ticks.
const MOST_LOST: u64 = 500;

/// Not a test of its own: the process that is killed. Records in real time for ever and prints each
/// tick after it was handed to the recorder.
#[test]
fn the_victim() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let setup = RecorderSetup::new(directory, header(CHANNELS, PERIOD));
    let (mut ring, frames) = RingBuffer::new(16_384);
    let engine = Engine::new(setup, Box::new(SystemDisk)).unwrap();
    let recorder = Recorder::spawn(engine, frames, || 0).unwrap();
    recorder.start();
    while recorder.status().phase != Phase::Recording {
        std::thread::yield_now();
    }
    let mut clock = RealClock;
    let begin = clock.now();
    let mut out = std::io::stderr();
    for seq in 0.. {
        clock.sleep_until(begin + seq * PERIOD);
        ring.push(frame(seq, PERIOD, CHANNELS)).unwrap();
        out.write_all(&seq.to_le_bytes()).unwrap();
    }
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "record_kill::the_victim", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a recording after so many ticks and returns how many were produced.
fn kill_after(directory: &Path, ticks: u64) -> u64 {
    let mut child = start(directory);
    let mut printed = child.stderr.take().unwrap();
    let mut tick = [0; 8];
    for _ in 0..ticks {
        printed.read_exact(&mut tick).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What was printed before the kill but not read yet.
    let mut rest = Vec::new();
    printed.read_to_end(&mut rest).unwrap();
    ticks + (rest.len() / 8) as u64
}

#[test]
fn killed_twenty_times_every_file_opens_and_little_is_lost() {
    if std::env::var_os(DIRECTORY).is_some() {
        return;
    }
    let (found, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for lane in 0..AT_ONCE {
            let found = found.clone();
            scope.spawn(move || {
                for round in 0..KILLS / AT_ONCE {
                    let number = lane * KILLS / AT_ONCE + round;
                    let scratch = Scratch::new("kill");
                    // Spread over the second that holds four syncs, different in every run.
                    let ticks = 20 + (number * 57 + u64::from(std::process::id()) * 31) % 1100;
                    let produced = kill_after(scratch.path(), ticks);
                    found.send((produced, examine(scratch.path()))).unwrap();
                }
            });
        }
    });
    drop(found);
    let results: Vec<(u64, u64)> = results.iter().collect();
    assert_eq!(results.len() as u64, KILLS);
    let worst = results
        .iter()
        .map(|(produced, kept)| produced.saturating_sub(*kept))
        .max();
    println!("produced and kept: {results:?}; most lost: {worst:?} ms");
    for (produced, kept) in &results {
        assert!(
            kept + MOST_LOST >= *produced,
            "{produced} ticks were produced, {kept} kept"
        );
        assert!(
            kept <= &(produced + 1),
            "the last may be recorded but not printed"
        );
    }
}

/// The unfinished file opens, and so does what is recovered of it. Returns the number of ticks.
fn examine(directory: &Path) -> u64 {
    let part = directory
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(part.extension().unwrap(), "part");
    let before = Session::open(&part).unwrap().info();
    assert!(!before.finished);
    let recovered = recover_directory(directory).unwrap();
    let session = Session::open(recovered[0].outcome.as_ref().unwrap()).unwrap();
    let report = session.check().unwrap();
    assert!(
        report.info.ok && report.info.recovered,
        "{:?}",
        report.problems
    );
    assert_eq!(report.info.frames, before.frames);
    for recorded in session.frames(TimeRange::ALL) {
        let recorded = recorded.unwrap().frame;
        let original = frame(recorded.seq, PERIOD, CHANNELS);
        assert_eq!(recorded.values[0].to_bits(), original.values[0].to_bits());
    }
    report.info.frames
}
