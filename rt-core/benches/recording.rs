//! A recording of 100 channels at 10 kHz, as fast as it goes: size, speed against real time, worst write.
//!
//! `cargo bench -p rt-core --bench recording [SECONDS]`. Signals are made beforehand in blocks and do not
//! count. Each precision is written in the same run, so that sizes and times can be compared.

use rt_core::channel::{Frame, Role};
use rt_core::guard::{Drive, State};
use rt_core::record::disk::SystemDisk;
use rt_core::record::engine::Engine;
use rt_core::record::header::SessionHeader;
use rt_core::record::reader::{Session, TimeRange};
use rt_core::record::schema::{Precision, RecordedChannel};
use rt_core::record::setup::RecorderSetup;
use std::error::Error;
use std::f64::consts::TAU;
use std::path::Path;
use std::time::{Duration, Instant};

const CHANNELS: usize = 100;
const RATE_HZ: u64 = 10_000;
const PERIOD: u64 = 1_000_000_000 / RATE_HZ;

/// Columns by kind: sensors, commands, filtered signals, slow signals, timing, counters, constants.
const KINDS: [(&str, usize, Role); 8] = [
    ("force", 16, Role::Measured),
    ("position", 4, Role::Measured),
    ("command", 4, Role::Command),
    ("filtered", 36, Role::Computed),
    ("slow", 20, Role::Computed),
    ("timing", 4, Role::Computed),
    ("counter", 4, Role::Computed),
    ("constant", 12, Role::Computed),
];

struct Signals {
    random: u64,
    filters: [f64; 40],
}

impl Signals {
    /// Uniform in 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal, deviation 1.
    fn noise(&mut self) -> f64 {
        ((0..12).map(|_| self.uniform()).sum::<f64>()) - 6.0
    }

    fn frame(&mut self, seq: u64) -> Frame {
        let t = seq as f64 / RATE_HZ as f64;
        let mut frame = Frame::empty();
        frame.seq = seq;
        frame.t_nanos = seq * PERIOD;
        frame.state = State::Running;
        frame.drive = Drive::On;
        let mut column = 0;
        for (kind, count, _) in KINDS {
            for i in 0..count {
                let x = i as f64;
                frame.values[column] = match kind {
                    // A load cell: 20 N around 150 N, noise of 1 N, converter steps of 0.05 N.
                    "force" => {
                        let sine = (TAU * (1.3 + 0.3 * x) * t).sin();
                        ((150.0 + 20.0 * sine + self.noise()) / 0.05).round() * 0.05
                    }
                    // An encoder: steps of 1 µm.
                    "position" => {
                        ((1.5 + 0.02 * (TAU * (1.0 + x) * t).sin()) / 1e-6).round() * 1e-6
                    }
                    // First-order low-pass filters of the sensors, 20 to 380 Hz.
                    "command" | "filtered" => {
                        let slot = i + if kind == "filtered" { 4 } else { 0 };
                        let pole = (-TAU * (20.0 + 10.0 * x) / RATE_HZ as f64).exp();
                        let input = frame.values[i % 20];
                        self.filters[slot] = pole * self.filters[slot] + (1.0 - pole) * input;
                        self.filters[slot] * (1.0 + 0.01 * x)
                    }
                    "slow" => (1.0 + x) * (TAU * (0.1 + 0.05 * x) * t + x).sin(),
                    // Nanoseconds shown as microseconds.
                    "timing" => (20_000.0 * self.uniform() * self.uniform()).round() / 1000.0,
                    "counter" => (seq / 10_u64.pow(i as u32)) as f64,
                    _ => 0.1 * x,
                };
                column += 1;
            }
        }
        frame
    }
}

fn header(precision: fn(Role) -> Precision) -> SessionHeader {
    let mut channels = Vec::new();
    for (kind, count, role) in KINDS {
        channels.extend((0..count).map(|i| RecordedChannel {
            id: format!("{kind}.{i}"),
            label: String::new(),
            unit: String::new(),
            role,
            precision: precision(role),
        }));
    }
    SessionHeader {
        title: "benchmark".into(),
        period_nanos: PERIOD,
        t0_unix_nanos: 1_795_040_103_000_000_000,
        channels,
        ..SessionHeader::default()
    }
}

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
    let mut signals = Signals {
        random: 0x9E37_79B9_7F4A_7C15,
        filters: [150.0; 40],
    };
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
