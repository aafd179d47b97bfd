//! Session recordings: written while a bench runs, opened for ever.
//!
//! # The file
//!
//! An [MCAP](https://mcap.dev) file with two channels, `frames` (one message a tick) and `events`, both as
//! protocol buffers with a field a channel ([`schema`]), described in the file, so that PlotJuggler,
//! Foxglove, Rerun and Python read it without knowing us. What it is about stands in metadata and
//! attachments ([`header`]). Chunks are compressed with zstd.
//!
//! Versions: `format_version` is 1. Newer ones are refused with that reason; older ones are always read.
//!
//! # Precision
//!
//! A recomputation has to agree to the last bit, yet a sample may take at most 6 bytes. The noise in the
//! last bits of a computed double does not compress, so by default ([`schema::Precision::of_role`])
//! measured and commanded columns, which drive a recomputation, are kept as doubles, and computed ones,
//! which follow from them, as floats. Each frame carries a [`checksum::checksum`] over the exact bits of
//! all columns: a recomputation with the same checksum is identical. Parameters are exact, in the header
//! and in events. Measured, in bytes a sample, everything in the file included:
//!
//! | recording | computed as floats | all as doubles |
//! |---|---|---|
//! | 100 channels at 10 kHz: sensors, filtered and slow signals, counters, constants (`benches/recording.rs`) | 3.57 | 5.33 |
//! | DSA-380 at 300 km/h on the simulated rig, 21 channels at 500 Hz | 4.93 | 5.94 |
//! | profile bench on the simulated rig, 14 channels at 500 Hz | 5.75 | 5.95 |
//!
//! All doubles would just do today, but 52 bits of computed noise alone are 6.5 bytes, so a bench with more
//! of it would not. Whoever needs a column exactly says so in [`schema::RecordedChannel::precision`]. With
//! few channels the rest weighs more: in each frame 16 bytes of index, which Foxglove needs, and 8 of checksum.
//! Level 3 of zstd makes real recordings 7 % smaller than level 1 and writes 100 channels at 10 kHz 9.8 times
//! faster than real time on a busy machine; lz4 takes half as much space again.
//!
//! # Loss
//!
//! Every 250 ms the chunk is closed and brought to the disk. After a kill the file is read up to its last
//! whole chunk. Drops of the ring and full disks are events in the file; see [`engine`].

pub mod check;
pub mod checksum;
mod container;
pub mod disk;
pub mod engine;
pub mod error;
pub mod event;
pub mod export;
pub mod header;
pub mod list;
pub mod name;
pub mod reader;
pub mod recorder;
pub mod recover;
pub mod schema;
pub mod setup;
pub mod trigger;
mod wire;
pub mod writer;

use error::RecordError;
use schema::RecordedChannel;

/// The version of the files that are written here, and the newest that can be read.
pub const FORMAT_VERSION: u32 = 1;

/// The column of a channel that has to exist.
fn column_of(channels: &[RecordedChannel], id: &str) -> Result<usize, RecordError> {
    let found = channels.iter().position(|c| c.id == id);
    found.ok_or_else(|| RecordError::NoChannel {
        name: id.to_owned(),
        known: channels
            .iter()
            .map(|c| c.id.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}
