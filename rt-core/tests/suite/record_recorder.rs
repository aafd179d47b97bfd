//! The recorder: triggers, the disk, and the thread.

use crate::recording::{Scratch, frame, header};
use rt_core::channel::Frame;
use rt_core::record::disk::{Disk, Sink, SystemDisk};
use rt_core::record::engine::Engine;
use rt_core::record::event::EventRecord;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::recorder::Recorder;
use rt_core::record::recover::{recover, recover_directory};
use rt_core::record::setup::{Phase, RecorderSetup, SpaceLimits};
use rt_core::record::trigger::{Crossing, Trigger, TriggerSetup};
use rtrb::RingBuffer;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PERIOD: u64 = 1_000_000;
const CHANNELS: usize = 4;

fn setup(directory: &Path) -> RecorderSetup {
    let mut setup = RecorderSetup::new(directory, header(CHANNELS, PERIOD));
    setup.name_words = vec!["dsa380-300".into(), "stitched-sw".into(), "300 km/h".into()];
    // Every service looks at the disk.
    setup.sync_period = Duration::ZERO;
    setup.space = SpaceLimits {
        warn_below: 0,
        stop_below: 0,
    };
    setup
}

/// A frame whose first column is 1 or 0.
fn pulse(seq: u64, is_high: bool) -> Frame {
    let mut frame = frame(seq, PERIOD, CHANNELS);
    frame.values[0] = f64::from(u8::from(is_high));
    frame
}

fn triggered(crossing: Crossing, repeat: bool) -> TriggerSetup {
    TriggerSetup {
        triggers: vec![Trigger::Channel {
            id: "group.channel_0".into(),
            crossing,
        }],
        before_s: 0.010,
        after_s: 0.020,
        repeat,
    }
}

/// First and last tick of each file, and whether all ticks between are there.
fn ticks(paths: &[std::path::PathBuf]) -> Vec<(u64, u64)> {
    let span = |path: &std::path::PathBuf| {
        let session = Session::open(path).unwrap();
        assert!(session.check().unwrap().info.ok);
        let ticks = session.columns(&[], TimeRange::ALL).unwrap().seq;
        assert!(ticks.windows(2).all(|w| w[1] == w[0] + 1));
        (ticks[0], ticks[ticks.len() - 1])
    };
    paths.iter().map(span).collect()
}

#[test]
fn an_edge_records_the_time_before_and_after_and_a_second_one_extends() {
    let scratch = Scratch::new("edge");
    let mut setup = setup(scratch.path());
    setup.trigger = triggered(Crossing::Rising(0.5), true);
    let mut engine = Engine::new(setup, Box::new(SystemDisk)).unwrap();
    assert_eq!(engine.status().phase, Phase::Idle);
    for seq in 0..50 {
        engine.frame(&pulse(seq, (20..30).contains(&seq)));
    }
    assert!(engine.status().finished.is_empty(), "not armed");
    engine.arm();
    for seq in 50..400 {
        // Twice within the time after, then alone.
        engine.frame(&pulse(seq, matches!(seq, 100..102 | 110..115 | 300)));
        engine.service(0);
        let phase = engine.status().phase;
        let records = (100..130).contains(&seq) || (300..320).contains(&seq);
        assert_eq!(
            phase,
            if records { Phase::Post } else { Phase::Waiting },
            "tick {seq}"
        );
    }
    let kept = engine.status().kept_before_s;
    assert!((kept - 0.010).abs() < 1e-9, "{kept}");
    let files = engine.finish("done").unwrap();
    assert_eq!(ticks(&files), [(90, 130), (290, 320)]);
    let events = Session::open(&files[0])
        .unwrap()
        .events(TimeRange::ALL)
        .unwrap();
    let told: Vec<_> = events.iter().map(|e| (e.seq, e.text.as_str())).collect();
    let expected = [
        (100, "recording: group.channel_0 has risen to 0.5 N"),
        (110, "triggered again: group.channel_0 has risen to 0.5 N"),
        (130, "recording ended: the time after the trigger is over"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_range_records_while_it_is_left_and_then_the_time_after() {
    let scratch = Scratch::new("range");
    let mut setup = setup(scratch.path());
    setup.trigger = triggered(
        Crossing::Outside {
            low: -1.0,
            high: 0.5,
        },
        false,
    );
    let mut engine = Engine::new(setup, Box::new(SystemDisk)).unwrap();
    engine.arm();
    for seq in 0..200 {
        engine.frame(&pulse(seq, (50..100).contains(&seq)));
        let phase = match seq {
            0..50 => Phase::Waiting,
            50..100 => Phase::Recording,
            100..120 => Phase::Post,
            _ => Phase::Idle,
        };
        assert_eq!(engine.status().phase, phase, "tick {seq}");
    }
    assert_eq!(ticks(&engine.finish("done").unwrap()), [(40, 120)]);
}

#[test]
fn an_event_or_a_call_triggers_and_earlier_events_are_kept() {
    let scratch = Scratch::new("event");
    let mut setup = setup(scratch.path());
    setup.trigger = TriggerSetup {
        triggers: vec![Trigger::Event {
            kind: "tripped".into(),
        }],
        ..triggered(Crossing::Rising(0.0), true)
    };
    let mut engine = Engine::new(setup, Box::new(SystemDisk)).unwrap();
    engine.arm();
    let event = |seq: u64, kind: &str| EventRecord {
        seq,
        t_nanos: seq * PERIOD,
        kind: kind.into(),
        ..EventRecord::default()
    };
    for seq in 0..200 {
        engine.frame(&frame(seq, PERIOD, CHANNELS));
        match seq {
            20 | 45 | 55 => engine.event(event(seq, "marker")),
            50 => engine.event(event(seq, "tripped")),
            150 => engine.trigger("button"),
            _ => {}
        }
    }
    let files = engine.finish("done").unwrap();
    assert_eq!(ticks(&files), [(40, 70), (140, 170)]);
    let kinds: Vec<_> = Session::open(&files[0])
        .unwrap()
        .events(TimeRange::ALL)
        .unwrap();
    let kinds: Vec<_> = kinds.iter().map(|e| (e.seq, e.kind.as_str())).collect();
    let expected = [
        (45, "marker"),
        (50, "tripped"),
        (50, "recording.trigger"),
        (55, "marker"),
        (70, "recording.end"),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn names_are_readable_and_nothing_is_replaced() {
    let scratch = Scratch::new("names");
    let mut engine = Engine::new(setup(scratch.path()), Box::new(SystemDisk)).unwrap();
    for _ in 0..3 {
        engine.start();
        engine.frame(&frame(1, PERIOD, CHANNELS));
        engine.stop("enough");
    }
    let files = engine.finish("done").unwrap();
    let name = |i: usize| files[i].file_name().unwrap().to_str().unwrap().to_owned();
    // The hour depends on where the machine stands.
    assert!(
        name(0).starts_with("2026-11-1")
            && name(0).ends_with("_dsa380-300_stitched-sw_300-km-h.mcap"),
        "{}",
        name(0)
    );
    assert!(name(1).ends_with("300-km-h-2.mcap") && name(2).ends_with("300-km-h-3.mcap"));
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        3,
        "nothing unfinished is left"
    );
}

#[test]
fn what_is_being_written_is_not_recovered() {
    let scratch = Scratch::new("busy");
    let mut engine = Engine::new(setup(scratch.path()), Box::new(SystemDisk)).unwrap();
    engine.start();
    engine.frame(&frame(1, PERIOD, CHANNELS));
    let part = scratch
        .path()
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert!(
        recover(&part)
            .unwrap_err()
            .to_string()
            .contains("still being written")
    );
    assert!(recover_directory(scratch.path()).unwrap().is_empty());
    assert!(part.exists());
    assert_eq!(engine.finish("done").unwrap().len(), 1);
}

/// A disk that has room for so many bytes, and says so.
struct SmallDisk {
    room: Arc<AtomicU64>,
}

struct SmallSink {
    inner: Box<dyn Sink>,
    room: Arc<AtomicU64>,
}

impl Write for SmallSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.room.load(Ordering::Relaxed) as usize;
        if left == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = self.inner.write(&bytes[..bytes.len().min(left)])?;
        self.room.fetch_sub(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Sink for SmallSink {}

impl Disk for SmallDisk {
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn Sink>> {
        let room = Arc::clone(&self.room);
        Ok(Box::new(SmallSink {
            inner: SystemDisk.create(path)?,
            room,
        }))
    }

    fn free_bytes(&mut self, _: &Path) -> io::Result<u64> {
        Ok(self.room.load(Ordering::Relaxed))
    }
}

fn small(room: u64) -> (Box<SmallDisk>, Arc<AtomicU64>) {
    let room = Arc::new(AtomicU64::new(room));
    (
        Box::new(SmallDisk {
            room: Arc::clone(&room),
        }),
        room,
    )
}

#[test]
fn a_disk_that_fills_up_is_warned_of_and_the_file_ends_whole() {
    let scratch = Scratch::new("space");
    let mut setup = setup(scratch.path());
    setup.space = SpaceLimits {
        warn_below: 200_000,
        stop_below: 100_000,
    };
    let (disk, room) = small(300_000);
    let mut engine = Engine::new(setup, disk).unwrap();
    engine.start();
    let mut seq = 0;
    while engine.status().phase == Phase::Recording {
        engine.frame(&frame(seq, PERIOD, CHANNELS));
        if seq.is_multiple_of(50) {
            engine.service(0);
        }
        seq += 1;
    }
    assert!(room.load(Ordering::Relaxed) > 80_000, "ended in time");
    let kinds: Vec<String> = engine.take_notices().into_iter().map(|e| e.kind).collect();
    let expected = ["trigger", "low_space", "disk_full", "end"].map(|k| format!("recording.{k}"));
    assert_eq!(kinds, expected);
    let status = engine.status();
    assert!(
        status.error.clone().unwrap().contains("free space"),
        "{status:?}"
    );
    let session = Session::open(&status.finished[0]).unwrap();
    assert!(session.check().unwrap().info.ok);
    assert_eq!(session.info().frames, seq);
    assert!(
        session
            .events(TimeRange::ALL)
            .unwrap()
            .iter()
            .any(|e| e.kind == "recording.disk_full")
    );
    // The loop goes on and a new recording may be tried.
    engine.frame(&frame(seq, PERIOD, CHANNELS));
    assert!(
        engine
            .finish("done")
            .unwrap_err()
            .to_string()
            .contains("free space")
    );
}

#[test]
fn a_full_disk_ends_the_recording_with_an_error_and_nothing_is_lost_before() {
    // From the first byte on, at any place of the file.
    for room in [0, 5, 1000, 5000, 20_000, 30_001, 60_000] {
        let scratch = Scratch::new("full");
        let (disk, _) = small(room);
        let mut engine = Engine::new(setup(scratch.path()), disk).unwrap();
        engine.start();
        let mut synced = 0;
        for seq in 0..5000 {
            engine.frame(&frame(seq, PERIOD, CHANNELS));
            if seq % 50 == 49 {
                engine.service(0);
                if engine.status().error.is_none() {
                    synced = seq + 1;
                }
            }
        }
        let status = engine.status();
        let error = status.error.unwrap();
        assert!(
            error.contains("free space") && error.contains("another disk"),
            "{error}"
        );
        assert_eq!((status.phase, status.finished.len()), (Phase::Idle, 0));
        assert!(
            engine
                .take_notices()
                .iter()
                .any(|n| n.kind == "recording.failed")
        );
        drop(engine);
        if synced > 0 {
            let recovered = recover_directory(scratch.path()).unwrap();
            let session = Session::open(recovered[0].outcome.as_ref().unwrap()).unwrap();
            assert!(
                session.info().frames >= synced,
                "{room} bytes: {synced} were on the disk"
            );
        } else {
            assert!(room <= 5000, "{room} bytes hold a header and frames");
        }
    }
}

#[test]
fn a_directory_that_vanishes_or_is_forbidden_is_told() {
    let scratch = Scratch::new("vanish");
    let directory = scratch.path().join("usb");
    let mut engine = Engine::new(setup(&directory), Box::new(SystemDisk)).unwrap();
    engine.start();
    engine.frame(&frame(0, PERIOD, CHANNELS));
    std::fs::remove_dir_all(&directory).unwrap();
    engine.service(0);
    let error = engine.status().error.unwrap();
    assert!(
        error.contains("usb") && error.contains("disk is connected"),
        "{error}"
    );
    engine.start();
    assert!(
        engine
            .status()
            .error
            .unwrap()
            .contains("create the recording")
    );
    assert_eq!(engine.status().phase, Phase::Idle);

    let file = scratch.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let text = Engine::new(setup(&file), Box::new(SystemDisk))
        .err()
        .unwrap()
        .to_string();
    assert!(
        text.contains("a file") && text.contains("directory"),
        "{text}"
    );
}

#[test]
fn a_senseless_setup_is_refused() {
    let scratch = Scratch::new("setup");
    let refused = |change: fn(&mut RecorderSetup)| {
        let mut setup = setup(scratch.path());
        change(&mut setup);
        Engine::new(setup, Box::new(SystemDisk))
            .err()
            .unwrap()
            .to_string()
    };
    assert!(refused(|s| s.header.channels.clear()).contains("expected 1 to 128"));
    assert!(refused(|s| s.header.channels[1].id = "group.channel_0".into()).contains("twice"));
    assert!(refused(|s| s.trigger.before_s = 1e6).contains("MB of memory"));
    assert!(refused(|s| s.trigger.after_s = f64::NAN).contains("after_s"));
    assert!(refused(|s| s.header.period_nanos = 0).contains("period_nanos"));
    let unknown = refused(|s| {
        s.trigger = triggered(Crossing::Rising(0.5), false);
        s.trigger.triggers.push(Trigger::Channel {
            id: "farce".into(),
            crossing: Crossing::Rising(0.0),
        });
    });
    assert!(
        unknown.contains("farce") && unknown.contains("group.channel_3"),
        "{unknown}"
    );
}

#[test]
fn the_thread_takes_all_frames_and_tells_drops() {
    let scratch = Scratch::new("thread");
    let (mut ring, frames) = RingBuffer::new(256);
    let drops = Arc::new(AtomicU64::new(5));
    let told = Arc::clone(&drops);
    let engine = Engine::new(setup(scratch.path()), Box::new(SystemDisk)).unwrap();
    let recorder = Recorder::spawn(engine, frames, move || told.load(Ordering::Relaxed)).unwrap();
    recorder.start();
    recorder.event(EventRecord {
        kind: "marker".into(),
        text: "look here".into(),
        ..EventRecord::default()
    });
    while recorder.status().phase != Phase::Recording {
        std::thread::yield_now();
    }
    for seq in 0..20_000 {
        let frame = frame(seq, PERIOD, CHANNELS);
        while ring.push(frame).is_err() {
            std::thread::yield_now();
        }
        if seq == 10_000 {
            drops.store(12, Ordering::Relaxed);
        }
    }
    recorder.set_result([("mean_n".to_owned(), "1".to_owned())].into());
    assert_eq!(recorder.lost_requests(), 0);
    let files = recorder.finish("done").unwrap();
    assert_eq!(ticks(&files), [(0, 19_999)]);
    let session = Session::open(&files[0]).unwrap();
    let end = session.end().unwrap();
    assert_eq!(
        (
            end.reason.as_str(),
            end.drops,
            end.result["mean_n"].as_str()
        ),
        ("done", 7, "1")
    );
    let events = session.events(TimeRange::ALL).unwrap();
    assert!(events.iter().any(|e| e.text == "look here"));
    let told = events.iter().find(|e| e.kind == "recording.drops").unwrap();
    assert_eq!(
        (told.number("new"), told.number("total")),
        (Some(7.0), Some(7.0))
    );
}

#[test]
fn a_recorder_that_is_let_go_still_finishes_its_file() {
    let scratch = Scratch::new("let-go");
    let (mut ring, frames) = RingBuffer::new(64);
    let engine = Engine::new(setup(scratch.path()), Box::new(SystemDisk)).unwrap();
    let recorder = Recorder::spawn(engine, frames, || 0).unwrap();
    recorder.start();
    while recorder.status().phase != Phase::Recording {
        std::thread::yield_now();
    }
    for seq in 0..10 {
        ring.push(frame(seq, PERIOD, CHANNELS)).unwrap();
    }
    while recorder.status().frames < 10 {
        std::thread::yield_now();
    }
    drop(recorder);
    let is_whole = || {
        let mut files = scratch.path().read_dir().unwrap();
        files.any(|f| f.unwrap().path().extension().is_some_and(|e| e == "mcap"))
    };
    while !is_whole() {
        std::thread::yield_now();
    }
}
