//! 100 channels as a bench has them: sensors, commands, filtered and slow signals, timing, counters, constants.

use rt_core::channel::{Frame, Role};
use rt_core::guard::{Drive, State};
use rt_core::record::header::SessionHeader;
use rt_core::record::schema::{Precision, RecordedChannel};
use std::f64::consts::TAU;

/// Columns of a frame.
pub const CHANNELS: usize = 100;
/// Frames a second.
pub const RATE_HZ: u64 = 10_000;
/// Nanoseconds between two frames.
pub const PERIOD: u64 = 1_000_000_000 / RATE_HZ;

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

/// Signals as a bench has them.
pub struct Signals {
    random: u64,
    filters: [f64; 40],
}

impl Signals {
    /// The same signals every time.
    pub fn new() -> Self {
        Self {
            random: 0x9E37_79B9_7F4A_7C15,
            filters: [150.0; 40],
        }
    }

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

    /// The frame of a tick; ticks ascend.
    pub fn frame(&mut self, seq: u64) -> Frame {
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

/// What a recording of them says about itself.
pub fn header(precision: fn(Role) -> Precision) -> SessionHeader {
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
