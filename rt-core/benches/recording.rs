//! A recording of 100 channels at 10 kHz, as fast as it goes: size beside plain doubles, time beside
//! the checksum over them, worst write.
//!
//! `cargo bench -p rt-core --bench recording -- --seconds 10`. Signals are made beforehand in blocks and do not
//! count. Each precision is written in the same run, so that sizes and times can be compared.

mod figures;
mod signals;

use figures::{Figures, Outcome, time, wall};
use rt_core::channel::{Frame, Role};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::Precision;
use rt_core::record::setup::RecorderSetup;
use signals::{CHANNELS, RATE_HZ, Signals, header};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes of a frame whose values are plain doubles.
const PLAIN_BYTES: u64 = 8 * CHANNELS as u64;

fn main() -> ExitCode {
    figures::run(|figures| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording-benchmark");
        for (name, precision) in [
            (
                "computed in single precision",
                Precision::of_role as fn(Role) -> Precision,
            ),
            ("all exact", |_| Precision::Exact),
        ] {
            measure(figures, name, precision, &directory)?;
        }
        std::fs::remove_dir_all(&directory)?;
        Ok(())
    })
}

fn measure(
    figures: &mut Figures,
    name: &str,
    precision: fn(Role) -> Precision,
    directory: &Path,
) -> Outcome {
    let seconds = figures.seconds(10);
    figures.say(&format!(
        "{CHANNELS} channels at {RATE_HZ} Hz, {seconds} s, {name}"
    ));
    let [plain, spent, worst, sync, reading, bytes, plain_bytes] = figures.in_turns(5, || {
        let header = header(precision);
        let recorded = record(header, seconds, directory)?;
        let frames = seconds * RATE_HZ;
        let mut found = Ok(0);
        let reading = wall(|| found = read(&recorded.file));
        if found? != frames {
            return Err(format!("not all of the {frames} frames can be read").into());
        }
        let second = seconds as f64;
        Ok([
            recorded.plain / second,
            recorded.spent / second,
            recorded.worst,
            recorded.sync,
            reading / second,
            std::fs::metadata(&recorded.file)?.len() as f64,
            (frames * PLAIN_BYTES) as f64,
        ])
    })?;
    let id = |what: &str| format!("{name}/{what}");
    figures.ratio(&id("size"), "of plain doubles", &bytes, &plain_bytes)?;
    figures.time(&id("to write a second"), &spent)?;
    figures.ratio(
        &id("to write"),
        "checksums of plain doubles",
        &spent,
        &plain,
    )?;
    figures.time(&id("longest quarter of a second"), &worst)?;
    figures.time(&id("longest sync"), &sync)?;
    figures.time(&id("to read a second"), &reading)
}

struct Recorded {
    file: PathBuf,
    /// Processor time of the checksum of plain doubles, and of recording, in s.
    plain: f64,
    spent: f64,
    /// Of a quarter of a second and of the disk, by the clock on the wall, in s.
    worst: f64,
    sync: f64,
}

fn record(header: SessionHeader, seconds: u64, directory: &Path) -> Outcome<Recorded> {
    let mut engine = Engine::new(RecorderSetup::new(directory, header), Box::new(SystemDisk))?;
    let mut bytes = Vec::new();
    let mut signals = Signals::new();
    let (mut plain, mut spent, mut worst) = (0.0, 0.0, 0.0_f64);
    engine.start();
    for second in 0..seconds {
        let block: Vec<Frame> = (second * RATE_HZ..(second + 1) * RATE_HZ)
            .map(|seq| signals.frame(seq))
            .collect();
        // As the recorder's thread does: what a quarter of a second has brought, then the disk.
        for quarter in block.chunks(RATE_HZ as usize / 4) {
            worst = worst.max(wall(|| {
                spent += time(|| {
                    for frame in quarter {
                        engine.frame(frame);
                    }
                    engine.service(0);
                });
            }));
            plain += time(|| {
                bytes.clear();
                for frame in quarter {
                    for value in &frame.values[..CHANNELS] {
                        bytes.extend_from_slice(&value.to_le_bytes());
                    }
                }
                black_box(crc32fast::hash(&bytes));
            });
        }
    }
    let sync = engine.status().longest_sync.as_secs_f64();
    let files = engine.finish("done")?;
    Ok(Recorded {
        file: files.into_iter().next().ok_or("no file was recorded")?,
        plain,
        spent,
        worst,
        sync,
    })
}

/// How many frames a recording holds.
fn read(file: &Path) -> Outcome<u64> {
    let session = Session::open(file)?;
    let mut frames = 0;
    for recorded in session.frames(TimeRange::ALL) {
        recorded?;
        frames += 1;
    }
    Ok(frames)
}
