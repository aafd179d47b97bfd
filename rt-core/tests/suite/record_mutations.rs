//! Ten thousand spoilt recordings: each is refused or read in part, none panics, none takes much memory.

use crate::recording::{Scratch, frame, header};
use rt_core::no_alloc::watched;
use rt_core::record::error::RecordError;
use rt_core::record::event::EventRecord;
use rt_core::record::header::SessionEnd;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::recover::recover;
use rt_core::record::schema::RecordedFrame;
use rt_core::record::writer::SessionWriter;
use std::path::Path;

const FILES: usize = 10_000;
/// Every so many spoilt files one is recovered too, which waits for the disk.
const RECOVERED_EVERY: usize = 50;
const PERIOD: u64 = 1_000_000;
/// A chunk may claim 64 MiB, and the last one is let go only when the next is there.
const MOST_MEMORY: usize = (2 * 64 + 8) << 20;

/// A small recording: four chunks of frames and events, and all of its metadata.
fn sound() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        SessionWriter::create(&mut bytes, Path::new("memory"), &header(5, PERIOD)).unwrap();
    for seq in 0..24 {
        let recorded = RecordedFrame::new(&frame(seq, PERIOD, 5), 5);
        writer.frame(&recorded).unwrap();
        if seq % 6 == 5 {
            let event = EventRecord {
                seq,
                t_nanos: seq * PERIOD,
                kind: "mark".into(),
                text: "a mark".into(),
                ..EventRecord::default()
            };
            writer.event(&event).unwrap();
            writer.flush().unwrap();
        }
    }
    writer.finish(&SessionEnd::default()).unwrap();
    bytes
}

/// Xorshift: the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    /// A run of at most `longest` bytes.
    fn run(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let from = self.below(length);
        from..(from + 1 + self.below(longest)).min(length)
    }
}

/// Where chunks begin and how long their records are.
fn chunks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = mcap::MAGIC.len();
    while at + 9 <= bytes.len() {
        let length = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        let Some(end) = length.checked_add(at + 9).filter(|e| *e <= bytes.len()) else {
            break;
        };
        if bytes[at] == mcap::records::op::CHUNK {
            found.push((at, 9 + length));
        }
        at = end;
    }
    found
}

/// A chunk whose content is spoilt but whose lengths and checksum fit, so that only the reader of
/// messages can notice.
fn forge_chunk(bytes: &mut Vec<u8>, random: &mut Random) {
    let all = chunks(bytes);
    let (at, length) = all[random.below(all.len())];
    let body = &bytes[at + 9..at + length];
    let name = u32::from_le_bytes(body[28..32].try_into().unwrap()) as usize;
    let data = 32 + name + 8;
    let mut content = zstd::bulk::decompress(&body[data..], 1 << 20).unwrap();
    for _ in 0..=random.below(4) {
        let run = random.run(content.len(), 12);
        for i in run {
            content[i] = random.byte();
        }
    }
    let packed = zstd::bulk::compress(&content, 1).unwrap();
    // Some lie about how large they are.
    let lies = [60 << 20, 65 << 20, u64::MAX];
    let claimed = lies.get(random.below(12)).copied();
    let mut forged = body[..16].to_vec();
    forged.extend(claimed.unwrap_or(content.len() as u64).to_le_bytes());
    forged.extend(crc32fast::hash(&content).to_le_bytes());
    forged.extend(&body[28..32 + name]);
    forged.extend((packed.len() as u64).to_le_bytes());
    forged.extend(packed);
    let mut record = vec![bytes[at]];
    record.extend((forged.len() as u64).to_le_bytes());
    record.extend(forged);
    bytes.splice(at..at + length, record);
}

fn spoil(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len();
    match random.below(7) {
        0 => {
            for _ in 0..=random.below(8) {
                bytes[random.below(length)] ^= 1 << random.below(8);
            }
        }
        1 => {
            for i in random.run(length, 64) {
                bytes[i] = random.byte();
            }
        }
        // What a length would be at its worst.
        2 => {
            let worst = [u64::MAX, 1 << 63, 1 << 40, 1 << 32, 63 << 20, 0];
            let value = worst[random.below(worst.len())].to_le_bytes();
            let width = [4, 8][random.below(2)];
            let at = random.below(length - width);
            bytes[at..at + width].copy_from_slice(&value[..width]);
        }
        3 => {
            let run = random.run(length, 200);
            bytes.drain(run);
        }
        4 => {
            let copy = bytes[random.run(length, 400)].to_vec();
            let at = random.below(length);
            bytes.splice(at..at, copy);
        }
        5 => {
            bytes.truncate(16 + random.below(length));
            for _ in 0..random.below(300) {
                bytes.push(random.byte());
            }
        }
        _ => {
            let (a, b) = (random.run(length, 100), random.below(length));
            let taken: Vec<u8> = bytes.drain(a).collect();
            let at = b.min(bytes.len());
            bytes.splice(at..at, taken);
        }
    }
}

/// Uses everything that a reader offers.
fn read_all(path: &Path) -> Result<usize, RecordError> {
    let session = Session::open(path)?;
    let frames = session.frames(TimeRange::ALL).filter(Result::is_ok).count();
    let _ = (
        session.check()?,
        session.info(),
        session.events(TimeRange::ALL),
        session.frame_at(1),
        session.columns(&[], TimeRange::ALL),
    );
    Ok(frames)
}

#[test]
fn ten_thousand_spoilt_files_are_refused_or_read_in_part_in_bounded_memory() {
    let scratch = Scratch::new("mutations");
    let path = scratch.path().join("a.mcap");
    let sound = sound();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut refused, mut in_part, mut unharmed, mut recovered) = (0, 0, 0, 0);
    let mut most = 0;
    for number in 0..FILES {
        let mut bytes = sound.clone();
        if number % 8 == 0 {
            forge_chunk(&mut bytes, &mut random);
        } else {
            // One injury, sometimes several.
            for _ in 0..=random.below(2) * random.below(3) {
                spoil(&mut bytes, &mut random);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let ((), heap) = watched(|| {
            match read_all(&path) {
                Err(e) => {
                    assert!(e.to_string().contains("a.mcap"), "{e}");
                    refused += 1;
                }
                Ok(24) => unharmed += 1,
                Ok(frames) => {
                    // A copied chunk is read twice: more than were written, never many more.
                    assert!(frames < 100, "{frames}");
                    in_part += 1;
                }
            }
            if number % RECOVERED_EVERY == 0 {
                let part = scratch.path().join("b.mcap.part");
                std::fs::rename(&path, &part).unwrap();
                match recover(&part) {
                    Ok(whole) => {
                        let report = Session::open(&whole).unwrap().check().unwrap();
                        assert!(report.info.recovered);
                        recovered += 1;
                        std::fs::remove_file(whole).unwrap();
                    }
                    Err(e) => {
                        assert!(!e.to_string().is_empty());
                        std::fs::remove_file(part).unwrap();
                    }
                }
            }
        });
        let taken = heap.most_bytes;
        most = most.max(taken);
        assert!(taken < MOST_MEMORY, "file {number} took {taken} bytes");
    }
    println!(
        "{refused} refused, {in_part} read in part, {unharmed} with all frames, {recovered} recovered; most memory \
         {} MiB",
        most >> 20
    );
    assert_eq!(refused + in_part + unharmed, FILES);
    assert!(refused > FILES / 20 && in_part > FILES / 20 && recovered > 0);
}
