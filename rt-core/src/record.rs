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
