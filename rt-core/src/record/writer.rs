//! Writes a recording to any sink: header, frames, events, end.

use crate::record::error::RecordError;
use crate::record::event::{EVENT_MESSAGE, EventRecord, encode_event, event_descriptor};
use crate::record::header::{SessionEnd, SessionHeader, TextMap};
use crate::record::schema::{FRAME_MESSAGE, RecordedFrame, encode_frame, frame_descriptor};
use mcap::records::{MessageHeader, Metadata};
use mcap::write::{NoSeek, WriteOptions, Writer};
use mcap::{Attachment, Compression};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The channel of the container that carries frames.
pub(crate) const FRAMES: u16 = 1;
/// The channel of the container that carries events.
pub(crate) const EVENTS: u16 = 2;

/// A chunk is closed when it holds this much: about 0.15 s of 100 channels at 10 kHz.
const CHUNK_BYTES: u64 = 1 << 20;
/// Six per cent smaller than level 1 and still many times faster than real time; see the measurements at
/// the top of `record.rs`.
const ZSTD_LEVEL: u32 = 3;

/// Counts what reaches the sink.
struct Counted<W> {
    sink: W,
    bytes: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

/// A recording that is being written. The sink's `flush` is called once for every [`Self::flush`] and at
/// the end: there a file makes sure that the bytes are on the disk.
pub struct SessionWriter<W: Write> {
    container: Writer<NoSeek<Counted<W>>>,
    /// Named in errors.
    path: PathBuf,
    header: SessionHeader,
    message: Vec<u8>,
    frames: u64,
    events: u64,
    bytes: Arc<AtomicU64>,
}

const DOING: &str = "write the recording";

impl<W: Write> SessionWriter<W> {
    /// Writes the header. `path` is only named in errors.
    pub fn create(sink: W, path: &Path, header: &SessionHeader) -> Result<Self, RecordError> {
        header.check()?;
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            sink,
            bytes: Arc::clone(&bytes),
        };
        let error = || RecordError::mcap(DOING, path);
        let mut container = WriteOptions::new()
            .profile("pantobench")
            .library(format!("pantobench {}", header.software_version))
            .compression(Some(Compression::Zstd))
            .compression_level(ZSTD_LEVEL)
            // The recorder has one thread; more would only take processors from the loop.
            .compression_threads(0)
            .chunk_size(Some(CHUNK_BYTES))
            // A chunk reaches the file in one piece, so that a killed recording ends cleanly.
            .disable_seeking(true)
            .create(NoSeek::new(counted))
            .map_err(error())?;
        for (name, metadata) in header.to_metadata() {
            put_metadata(&mut container, name, metadata).map_err(error())?;
        }
        for (name, text) in &header.files {
            let attachment = Attachment {
                log_time: header.t0_unix_nanos,
                create_time: header.t0_unix_nanos,
                name: name.clone(),
                media_type: "text/plain".into(),
                data: Cow::Borrowed(text.as_bytes()),
            };
            container.attach(&attachment).map_err(error())?;
        }
        let none = BTreeMap::new();
        for (channel, topic, message, schema) in [
            (
                FRAMES,
                "frames",
                FRAME_MESSAGE,
                frame_descriptor(&header.channels),
            ),
            (EVENTS, "events", EVENT_MESSAGE, event_descriptor()),
        ] {
            let schema = container
                .add_schema(message, "protobuf", &schema)
                .map_err(error())?;
            container
                .add_channel_with_id(channel, schema, topic, "protobuf", &none)
                .map_err(error())?;
        }
        let mut own = Self {
            container,
            path: path.to_owned(),
            header: header.clone(),
            message: Vec::new(),
            frames: 0,
            events: 0,
            bytes,
        };
        // From here on a kill leaves a file that opens.
        own.flush()?;
        Ok(own)
    }

    /// Appends a frame.
    pub fn frame(&mut self, frame: &RecordedFrame) -> Result<(), RecordError> {
        encode_frame(&mut self.message, &self.header.channels, frame);
        let t_nanos = frame.frame.t_nanos;
        // The container numbers messages with 32 bits; the whole number is in the message.
        let number = frame.frame.seq as u32;
        let head = self.message_head(FRAMES, number, t_nanos);
        self.container
            .write_to_known_channel(&head, &self.message)
            .map_err(RecordError::mcap(DOING, &self.path))?;
        self.frames += 1;
        Ok(())
    }

    /// Appends an event.
    pub fn event(&mut self, event: &EventRecord) -> Result<(), RecordError> {
        let head = self.message_head(EVENTS, self.events as u32, event.t_nanos);
        self.container
            .write_to_known_channel(&head, &encode_event(event))
            .map_err(RecordError::mcap(DOING, &self.path))?;
        self.events += 1;
        Ok(())
    }

    fn message_head(&self, channel_id: u16, sequence: u32, t_nanos: u64) -> MessageHeader {
        let time = self.header.t0_unix_nanos.saturating_add(t_nanos);
        MessageHeader {
            channel_id,
            sequence,
            log_time: time,
            publish_time: time,
        }
    }

    /// Closes the chunk and flushes the sink: what came before survives a kill.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.container
            .flush()
            .map_err(RecordError::mcap(DOING, &self.path))
    }

    /// Writes the end and the summary. The number of frames is that of the frames written.
    pub fn finish(mut self, end: &SessionEnd) -> Result<(), RecordError> {
        let end = SessionEnd {
            frames: self.frames,
            ..end.clone()
        };
        for (name, metadata) in end.to_metadata() {
            put_metadata(&mut self.container, name, metadata)
                .map_err(RecordError::mcap(DOING, &self.path))?;
        }
        self.container
            .finish()
            .map_err(RecordError::mcap(DOING, &self.path))?;
        Ok(())
    }

    /// Frames written so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Bytes that reached the sink so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn put_metadata<W: Write + std::io::Seek>(
    container: &mut Writer<W>,
    name: &str,
    metadata: TextMap,
) -> Result<(), mcap::McapError> {
    container.write_metadata(&Metadata {
        name: name.to_owned(),
        metadata,
    })
}
