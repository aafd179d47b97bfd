//! A recording of 100 channels at 10 kHz, as fast as it goes: size, speed against real time, worst write.
//!
//! `cargo bench -p rt-core --bench recording [SECONDS]`. Signals are made beforehand in blocks and do not
//! count. Each precision is written in the same run, so that sizes and times can be compared.

mod signals;

use rt_core::channel::{Frame, Role};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::Precision;
use rt_core::record::setup::RecorderSetup;
use signals::{CHANNELS, RATE_HZ, Signals, header};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: u64 = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(60);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording-benchmark");
    println!("{CHANNELS} channels at {RATE_HZ} Hz, {seconds} s");
    for (name, precision) in [
        (
            "computed in single precision",
            Precision::of_role as fn(Role) -> Precision,
        ),
        ("all exact", |_| Precision::Exact),
    ] {
        measure(name, header(precision), seconds, &directory)?;
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn measure(
    name: &str,
    header: SessionHeader,
    seconds: u64,
    directory: &Path,
) -> Result<(), Box<dyn Error>> {
    let mut engine = Engine::new(RecorderSetup::new(directory, header), Box::new(SystemDisk))?;
    let mut signals = Signals::new();
    let (mut spent, mut worst) = (Duration::ZERO, Duration::ZERO);
    engine.start();
    for second in 0..seconds {
        let block: Vec<Frame> = (second * RATE_HZ..(second + 1) * RATE_HZ)
            .map(|seq| signals.frame(seq))
            .collect();
        // As the recorder's thread does: what a quarter of a second has brought, then the disk.
        for quarter in block.chunks(RATE_HZ as usize / 4) {
            let begin = Instant::now();
            for frame in quarter {
                engine.frame(frame);
            }
            engine.service(0);
            let took = begin.elapsed();
            spent += took;
            worst = worst.max(took);
        }
    }
    let sync = engine.status().longest_sync;
    let files = engine.finish("done")?;
    let frames = seconds * RATE_HZ;
    let samples = (frames * CHANNELS as u64) as f64;
    let begin = Instant::now();
    let session = Session::open(&files[0])?;
    let mut read = 0;
    for recorded in session.frames(TimeRange::ALL) {
        recorded?;
        read += 1;
    }
    let reading = begin.elapsed();
    assert_eq!(read, frames);
    let whole = std::fs::metadata(&files[0])?.len() as f64;
    println!("{name}:");
    println!(
        "  {:.2} bytes a sample ({:.1} MB)",
        whole / samples,
        whole * 1e-6
    );
    println!(
        "  {:.0} frames a second, {:.1} times real time; {:.1} Msample/s",
        frames as f64 / spent.as_secs_f64(),
        seconds as f64 / spent.as_secs_f64(),
        samples * 1e-6 / spent.as_secs_f64()
    );
    println!("  longest quarter of a second took {worst:?}, longest sync {sync:?}");
    println!(
        "  read at {:.1} times real time",
        seconds as f64 / reading.as_secs_f64()
    );
    Ok(())
}
