//! 100 channels at 10 kHz in real time through ring and recorder thread, while another process writes to the
//! same disk as fast as it can: size, how full the ring was, the longest sync. A frame that is dropped is an error.
//!
//! `cargo bench -p rt-core --bench recording_sustained -- --seconds 600`, 60 s if left out.
//!
//! Seen on two busy processors with compilers at work beside it: 600 000 frames, none dropped, 3.58 bytes a
//! sample, the ring at most 6.3 % full (501 ms of 8 s), the longest sync 105 ms, while the other process wrote
//! 1230 MB/s.

mod figures;
mod signals;

use figures::{Figures, Outcome};
use rt_core::pacing::{Clock, RealClock};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::reader::Session;
use rt_core::record::recorder::Recorder;
use rt_core::record::schema::Precision;
use rt_core::record::setup::RecorderSetup;
use rtrb::RingBuffer;
use signals::{CHANNELS, PERIOD, RATE_HZ, Signals, header};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Seconds that the ring bridges, as in a run.
const RING_SECONDS: u64 = 8;
/// What the other process writes before it waits for the disk and begins again.
const ROUND_BYTES: usize = 256 << 20;
const BLOCK_BYTES: usize = 4 << 20;
const DISTURB: &str = "PANTOBENCH_DISTURB";

/// The other process: prints how much it has written, until it is killed.
fn disturb(path: &Path) -> Outcome {
    let mut file = File::create(path)?;
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|i| (i * i / 7) as u8).collect();
    let mut out = std::io::stdout();
    loop {
        for _ in 0..ROUND_BYTES / BLOCK_BYTES {
            file.write_all(&block)?;
        }
        file.sync_data()?;
        file.rewind()?;
        writeln!(out, "{ROUND_BYTES}")?;
    }
}

fn main() -> ExitCode {
    if let Some(path) = std::env::var_os(DISTURB) {
        return figures::exit_code(disturb(Path::new(&path)));
    }
    figures::run(measure)
}

fn measure(figures: &mut Figures) -> Outcome {
    let seconds = figures.seconds(60);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sustained-benchmark");
    std::fs::create_dir_all(&directory)?;
    let mut other = Command::new(std::env::current_exe()?)
        .env(DISTURB, directory.join("disturbance"))
        .stdout(Stdio::piped())
        .spawn()?;

    let setup = RecorderSetup::new(&directory, header(Precision::of_role));
    let (mut ring, frames) = RingBuffer::new((RING_SECONDS * RATE_HZ) as usize);
    let capacity = ring.buffer().capacity();
    let mut engine = Engine::new(setup, Box::new(SystemDisk))?;
    engine.start();
    let recorder = Recorder::spawn(engine, frames, || 0)?;
    let mut signals = Signals::new();
    let mut clock = RealClock;
    let begin = clock.now();
    let (mut dropped, mut fullest) = (0_u64, 0);
    for seq in 0..seconds * RATE_HZ {
        let frame = signals.frame(seq);
        clock.sleep_until(begin + seq * PERIOD);
        dropped += u64::from(ring.push(frame).is_err());
        fullest = fullest.max(capacity - ring.slots());
    }
    let took = (clock.now() - begin) as f64 * 1e-9;
    let status = recorder.status();
    let files = recorder.finish("done")?;
    other.kill()?;
    let written = other.stdout.take().map_or(0, |out| {
        let rounds = BufReader::new(out).lines().map_while(Result::ok).count();
        rounds * ROUND_BYTES
    });
    other.wait()?;

    let report = Session::open(&files[0])?.check()?;
    let bytes = std::fs::metadata(&files[0])?.len() as f64;
    std::fs::remove_dir_all(&directory)?;
    let missing = report.missing_ticks();
    if dropped > 0 || missing > 0 || report.info.frames != seconds * RATE_HZ || !report.info.ok {
        return Err(format!(
            "{} frames recorded, {dropped} dropped, {missing} ticks missing, file {}",
            report.info.frames,
            if report.info.ok { "sound" } else { "not sound" }
        )
        .into());
    }
    figures.say(&format!(
        "{CHANNELS} channels at {RATE_HZ} Hz for {took:.1} s, none of {} frames dropped",
        report.info.frames
    ));
    let plain = (report.info.frames * 8 * CHANNELS as u64) as f64;
    figures.ratio("size", "of plain doubles", &[bytes], &[plain])?;
    let full = 100.0 * fullest as f64 / capacity as f64;
    figures.absolute("ring at its fullest", "%", &[full])?;
    figures.time("longest sync", &[status.longest_sync.as_secs_f64()])?;
    let rate = written as f64 * 1e-6 / took;
    figures.absolute("the other process wrote", "MB/s", &[rate])
}
