//! What the tests of recordings share: a header, frames that follow from their tick, and places to write.

use rt_core::channel::{Frame, Role};
use rt_core::guard::{Drive, State};
use rt_core::record::header::SessionHeader;
use rt_core::record::schema::{Precision, RecordedChannel};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub const T0: u64 = 1_795_040_103_000_000_000;

/// Channels in turn measured, computed and commanded.
pub fn header(channels: usize, period_nanos: u64) -> SessionHeader {
    let roles = [Role::Measured, Role::Computed, Role::Command];
    let channel = |i: usize| RecordedChannel {
        id: format!("group.channel_{i}"),
        label: format!("Channel {i}"),
        unit: "N".into(),
        role: roles[i % 3],
        precision: Precision::of_role(roles[i % 3]),
    };
    SessionHeader {
        bench: "pantograph-lqg".into(),
        title: "dsa380-300".into(),
        specimen: "DSA-380 № 7".into(),
        line: "stitched-sw".into(),
        speed_kmh: Some(300.0),
        operator: "night shift".into(),
        notes: "two lines\nof notes".into(),
        environment: [("rain".into(), "light".into())].into(),
        software_version: "0.1.0".into(),
        period_nanos,
        t0_unix_nanos: T0,
        channels: (0..channels).map(channel).collect(),
        parameters: [("scale".into(), 0.1), ("offset".into(), -1e-300)].into(),
        files: [
            ("session.ron".into(), "Session(\n)".into()),
            ("rig.ron".into(), "µ".into()),
        ]
        .into(),
        model_hashes: [("line".into(), "9f86d081".into())].into(),
        real_time: [("scheduler".into(), "fifo".into())].into(),
        further: [("camera".into(), "none".into())].into(),
    }
}

/// The value of a column at a tick: irrational enough to need every bit, so that a lost bit shows.
pub fn value(seq: u64, column: usize) -> f64 {
    let x = (seq as f64 * 0.001 + column as f64).sin() * 10_f64.powi(column as i32 % 7 - 3);
    if (seq + column as u64).is_multiple_of(97) {
        f64::NAN
    } else {
        x
    }
}

pub fn frame(seq: u64, period_nanos: u64, columns: usize) -> Frame {
    let mut frame = Frame::empty();
    frame.seq = seq;
    frame.t_nanos = seq * period_nanos;
    frame.state = if seq.is_multiple_of(2) {
        State::Running
    } else {
        State::Stopping
    };
    frame.drive = if seq.is_multiple_of(3) {
        Drive::On
    } else {
        Drive::Off
    };
    for column in 0..columns {
        frame.values[column] = value(seq, column);
    }
    frame
}

/// An empty directory that is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("{name}-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
