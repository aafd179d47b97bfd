//! Whatever happens to the bytes of a recording: it opens, or it says why not; it never panics.

use crate::recording::{Scratch, frame, header};
use rt_core::record::error::RecordError;
use rt_core::record::event::EventRecord;
use rt_core::record::header::SessionEnd;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::recover::{recover, recover_directory};
use rt_core::record::schema::RecordedFrame;
use rt_core::record::writer::SessionWriter;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PERIOD: u64 = 1_000_000;
const FRAMES: u64 = 30;
/// Frames in a chunk.
const FLUSH: u64 = 6;

/// A small recording as bytes, and how many bytes there were after each flush.
fn bytes() -> (Vec<u8>, Vec<usize>) {
    let header = header(3, PERIOD);
    let mut bytes = Vec::new();
    let mut flushed = Vec::new();
    let mut writer = SessionWriter::create(&mut bytes, Path::new("memory"), &header).unwrap();
    for seq in 0..FRAMES {
        writer
            .frame(&RecordedFrame::new(&frame(seq, PERIOD, 3), 3))
            .unwrap();
        if seq % FLUSH == FLUSH - 1 {
            let event = EventRecord {
                seq,
                t_nanos: seq * PERIOD,
                ..EventRecord::default()
            };
            writer.event(&event).unwrap();
            writer.flush().unwrap();
            flushed.push(writer.bytes() as usize);
        }
    }
    writer.finish(&SessionEnd::default()).unwrap();
    (bytes, flushed)
}

/// Uses everything that a reader offers; panics are the failures that are looked for. Returns the ticks.
fn read_all(path: &Path) -> Result<Vec<u64>, RecordError> {
    let session = Session::open(path)?;
    let ticks = session
        .frames(TimeRange::ALL)
        .filter_map(Result::ok)
        .map(|r| r.frame.seq)
        .collect();
    let _ = (
        session.check()?,
        session.info(),
        session.events(TimeRange::ALL),
        session.frame_at(1),
    );
    Ok(ticks)
}

#[test]
fn cut_off_anywhere_it_opens_up_to_the_last_whole_chunk() {
    let scratch = Scratch::new("cut");
    let path = scratch.path().join("a.mcap");
    let (bytes, flushed) = bytes();
    let mut refused_up_to = 0;
    std::fs::write(&path, &bytes).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for length in (0..bytes.len()).rev() {
        file.set_len(length as u64).unwrap();
        match read_all(&path) {
            Err(e) => {
                let text = e.to_string();
                assert!(text.contains("a.mcap"), "{text}");
                refused_up_to = refused_up_to.max(length);
            }
            Ok(ticks) => {
                let whole = flushed.iter().filter(|f| **f <= length).count() as u64 * FLUSH;
                // The index after the chunk is not needed, so one more chunk may be there.
                let count = ticks.len() as u64;
                assert!(
                    (whole..=whole + FLUSH).contains(&count),
                    "{length} bytes: {count} frames"
                );
                assert!(ticks.iter().copied().eq(0..count));
                assert!(!Session::open(&path).unwrap().is_finished());
            }
        }
    }
    assert!(
        refused_up_to > 0 && refused_up_to < flushed[0],
        "only without a whole header"
    );
}

#[test]
fn one_wrong_byte_anywhere_is_found_and_never_a_panic() {
    let scratch = Scratch::new("flip");
    let path = scratch.path().join("a.mcap");
    let (bytes, _) = bytes();
    let mut unnoticed = Vec::new();
    std::fs::write(&path, &bytes).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for at in 0..bytes.len() {
        let flip = [0x01, 0x80, 0xFF, 0x10][at % 4];
        file.write_all_at(&[bytes[at] ^ flip], at as u64).unwrap();
        let is_ok = Session::open(&path).is_ok_and(|s| s.check().is_ok_and(|r| r.info.ok));
        if is_ok {
            unnoticed.push(at);
        }
        file.write_all_at(&[bytes[at]], at as u64).unwrap();
    }
    assert_eq!(unnoticed, [0; 0], "of {} bytes", bytes.len());
}

#[test]
fn junk_of_any_kind_is_refused() {
    let scratch = Scratch::new("junk");
    let path = scratch.path().join("a.mcap");
    let magic = mcap::MAGIC;
    let mut state = 1_u64;
    for round in 0..300 {
        let mut junk = if round % 2 == 0 {
            magic.to_vec()
        } else {
            Vec::new()
        };
        for _ in 0..round * 3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            junk.push((state >> 56) as u8);
        }
        std::fs::write(&path, junk).unwrap();
        assert!(read_all(&path).is_err());
    }
}

#[test]
fn recovery_makes_a_whole_file_with_a_mark_and_is_done_once() {
    let scratch = Scratch::new("recover");
    let (bytes, flushed) = bytes();
    let part = scratch.path().join("a.mcap.part");
    std::fs::write(&part, &bytes[..flushed[2] + 20]).unwrap();
    std::fs::write(scratch.path().join("empty.mcap.part"), "").unwrap();
    std::fs::write(scratch.path().join("a.mcap.recovering"), "cut short").unwrap();
    let recovered = recover_directory(scratch.path()).unwrap();
    assert_eq!(recovered.len(), 2);
    let path = recovered[0].outcome.as_ref().unwrap();
    assert_eq!(*path, scratch.path().join("a.mcap"));
    assert!(!part.exists() && !scratch.path().join("a.mcap.recovering").exists());
    assert!(recovered[1].outcome.is_err() && recovered[1].part.exists());
    let session = Session::open(path).unwrap();
    let report = session.check().unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert!(report.info.recovered);
    assert_eq!((report.info.frames, report.info.events), (3 * FLUSH, 4));
    assert!(session.end().unwrap().reason.contains("20 bytes"));
    let told = session.events(TimeRange::ALL).unwrap().pop().unwrap();
    assert_eq!(
        (told.kind.as_str(), told.t_nanos),
        ("recording.recovered", (3 * FLUSH - 1) * PERIOD)
    );
    let ticks: Vec<u64> = session
        .frames(TimeRange::ALL)
        .map(|f| f.unwrap().frame.seq)
        .collect();
    assert!(ticks.into_iter().eq(0..3 * FLUSH));

    // Cut short just before the unfinished file was removed: not recovered twice.
    std::fs::write(&part, &bytes[..flushed[2] + 20]).unwrap();
    assert_eq!(recover(&part).unwrap(), *path);
    assert!(!part.exists());
    // Another recording of that name is not replaced.
    std::fs::write(&part, &bytes[..flushed[3]]).unwrap();
    assert_eq!(recover(&part).unwrap(), scratch.path().join("a-2.mcap"));
    assert!(
        recover(path)
            .unwrap_err()
            .to_string()
            .contains(".mcap.part")
    );
}

#[test]
fn recovery_goes_on_behind_a_damaged_chunk() {
    let scratch = Scratch::new("recover-damaged");
    let (mut bytes, flushed) = bytes();
    let part = scratch.path().join("a.mcap.part");
    // The packed data of the third chunk begins 53 bytes after the second was flushed.
    bytes[flushed[1] + 100] ^= 0xFF;
    std::fs::write(&part, &bytes[..flushed[4]]).unwrap();
    let session = Session::open(&recover(&part).unwrap()).unwrap();
    assert_eq!(session.info().frames, 4 * FLUSH);
    assert!(
        session.end().unwrap().reason.contains("damaged"),
        "{:?}",
        session.end()
    );
}
