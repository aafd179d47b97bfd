//! The container (MCAP) as it is found on the disk: read from the front, without trust in its summary.
//!
//! A file is a magic, records (kind, length, body) and the magic again. Chunks are records that hold
//! compressed messages. A finished file has a summary at its end; one that was killed just stops. Both
//! are read the same way: from record to record, up to the first that is not whole. Nothing that a
//! damaged file claims is believed before it is checked against the length of the file.

use crate::record::error::RecordError;
use crate::record::header::TextMap;
use crate::record::writer::{EVENTS, FRAMES};
use mcap::MAGIC;
use mcap::records::op;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Kind and length of a record.
const RECORD_HEAD: u64 = 9;
/// Metadata and attachments above this size are none of ours.
const LARGEST_TEXT: u64 = 64 << 20;
/// A chunk holds 1 MiB and one message; a message is a frame or a short text.
const LARGEST_CHUNK: u64 = 64 << 20;
/// The record at the end of the data holds its checksum.
const DATA_END_LENGTH: u64 = 4;
/// Footer record and magic.
const TAIL: u64 = RECORD_HEAD + 20 + MAGIC.len() as u64;

/// A chunk and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// Where its record begins.
    pub at: u64,
    data_at: u64,
    data_length: usize,
    unpacked_length: usize,
    crc: u32,
    /// Earliest time in it (nanoseconds since 1970).
    pub from: u64,
    /// Latest time in it.
    pub to: u64,
    /// How many frames and events it holds, if its index says so.
    pub counts: Option<(u64, u64)>,
}

/// One message out of a chunk.
pub(crate) struct Message<'a> {
    pub channel: u16,
    pub data: &'a [u8],
}

/// A file, scanned.
#[derive(Debug)]
pub(crate) struct Container {
    file: File,
    path: PathBuf,
    length: u64,
    pub metadata: Vec<(String, TextMap)>,
    pub attachments: Vec<(String, String)>,
    pub chunks: Vec<Chunk>,
    /// The end of the last record that is whole.
    pub whole_to: u64,
    /// Where the data ends, if the file is finished.
    data_end: Option<u64>,
    /// What does not fit although the file goes on.
    pub problems: Vec<String>,
}

/// Takes numbers and strings from the front of bytes.
struct Take<'a>(&'a [u8]);

impl<'a> Take<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }
}

fn read_metadata(body: &[u8]) -> Option<(String, TextMap)> {
    let mut take = Take(body);
    let name = take.text()?;
    let length = take.u32()? as usize;
    let mut pairs = Take(take.bytes(length)?);
    let mut map = TextMap::new();
    while !pairs.0.is_empty() {
        map.insert(pairs.text()?, pairs.text()?);
    }
    Some((name, map))
}

/// Name and text of an attachment whose checksum is right.
fn read_attachment(body: &[u8]) -> Option<(String, String)> {
    let (checked, crc) = body.split_last_chunk::<4>()?;
    let mut take = Take(checked);
    take.bytes(16)?;
    let name = take.text()?;
    take.text()?;
    let length = usize::try_from(take.u64()?).ok()?;
    let text = String::from_utf8(take.bytes(length)?.to_vec()).ok()?;
    (crc32fast::hash(checked) == u32::from_le_bytes(*crc)).then_some((name, text))
}

impl Container {
    /// Scans a file.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let open = || -> std::io::Result<(File, u64)> {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(std::io::ErrorKind::IsADirectory.into());
            }
            Ok((file, metadata.len()))
        };
        let (file, length) = open().map_err(RecordError::io("open the recording", path))?;
        let mut own = Self {
            file,
            path: path.to_owned(),
            length,
            metadata: Vec::new(),
            attachments: Vec::new(),
            chunks: Vec::new(),
            whole_to: MAGIC.len() as u64,
            data_end: None,
            problems: Vec::new(),
        };
        if own.read(0, MAGIC.len() as u64)? != MAGIC {
            return Err(RecordError::NotARecording {
                path: path.to_owned(),
                problem: "it is not an MCAP file".into(),
            });
        }
        while own.scan_record()? {}
        Ok(own)
    }

    /// Whether the file was finished: data, summary and end are there.
    pub fn is_finished(&self) -> bool {
        self.data_end.is_some()
    }

    /// Bytes after the last whole record of an unfinished file.
    pub fn torn_bytes(&self) -> u64 {
        match self.data_end {
            Some(_) => 0,
            None => self.length.saturating_sub(self.whole_to),
        }
    }

    /// The bytes of a stretch; fewer at the end of the file.
    fn read(&self, at: u64, length: u64) -> Result<Vec<u8>, RecordError> {
        let length = length.min(self.length.saturating_sub(at));
        let mut bytes = vec![0; length as usize];
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(RecordError::io("read the recording", &self.path))?;
        Ok(bytes)
    }

    /// Takes the next record; `false` at the end of what is whole.
    fn scan_record(&mut self) -> Result<bool, RecordError> {
        let at = self.whole_to;
        let head = self.read(at, RECORD_HEAD)?;
        let Some((kind, length)) = head
            .split_first()
            .and_then(|(kind, length)| Some((*kind, u64::from_le_bytes(length.try_into().ok()?))))
        else {
            return Ok(false);
        };
        let body_at = at + RECORD_HEAD;
        let Some(end) = body_at.checked_add(length).filter(|e| *e <= self.length) else {
            return Ok(false);
        };
        match kind {
            op::METADATA if length <= LARGEST_TEXT => {
                match read_metadata(&self.read(body_at, length)?) {
                    Some(metadata) => self.metadata.push(metadata),
                    None => self.complain(at, "metadata that cannot be read"),
                }
            }
            op::ATTACHMENT if length <= LARGEST_TEXT => {
                match read_attachment(&self.read(body_at, length)?) {
                    Some(attachment) => self.attachments.push(attachment),
                    None => self.complain(at, "an attachment that cannot be read"),
                }
            }
            op::CHUNK => match self.scan_chunk(at, body_at, length)? {
                Some(chunk) => self.chunks.push(chunk),
                None => self.complain(at, "a chunk whose sizes do not fit"),
            },
            op::MESSAGE_INDEX => self.count_messages(body_at, length)?,
            op::DATA_END if length == DATA_END_LENGTH => {
                self.whole_to = end;
                self.find_end(at)?;
                return Ok(false);
            }
            // Channels and schemas are for other programs, the header says all; kinds that do not
            // exist yet are left out, as the format asks.
            op::HEADER | op::SCHEMA | op::CHANNEL | 0x80.. => {}
            _ => {
                // Not a record of ours, so its length may be wrong too.
                self.complain(
                    at,
                    "a record of an unknown kind; nothing after it can be read",
                );
                return Ok(false);
            }
        }
        self.whole_to = end;
        Ok(true)
    }

    fn complain(&mut self, at: u64, what: &str) {
        self.problems.push(format!("at byte {at}: {what}"));
    }

    fn scan_chunk(&self, at: u64, body_at: u64, length: u64) -> Result<Option<Chunk>, RecordError> {
        const LONGEST_HEAD: u64 = 64;
        let head = self.read(body_at, length.min(LONGEST_HEAD))?;
        let read = || {
            let mut take = Take(&head);
            let (from, to) = (take.u64()?, take.u64()?);
            let unpacked = take.u64()?;
            let crc = take.u32()?;
            let compression = take.text()?;
            let packed = take.u64()?;
            let head_length = (head.len() - take.0.len()) as u64;
            let fits = compression == "zstd"
                && unpacked <= LARGEST_CHUNK
                && head_length.checked_add(packed)? == length;
            fits.then_some(Chunk {
                at,
                data_at: body_at + head_length,
                data_length: usize::try_from(packed).ok()?,
                unpacked_length: usize::try_from(unpacked).ok()?,
                crc,
                from,
                to,
                counts: None,
            })
        };
        Ok(read())
    }

    /// The index after a chunk says how many messages a channel has in it.
    fn count_messages(&mut self, body_at: u64, length: u64) -> Result<(), RecordError> {
        const ENTRY: u64 = 16;
        let head = self.read(body_at, 6.min(length))?;
        let mut take = Take(&head);
        let (Some(channel), Some(bytes)) = (take.u16(), take.u32()) else {
            return Ok(());
        };
        if let Some(chunk) = self.chunks.last_mut() {
            let (frames, events) = chunk.counts.get_or_insert((0, 0));
            match channel {
                FRAMES => *frames += u64::from(bytes) / ENTRY,
                EVENTS => *events += u64::from(bytes) / ENTRY,
                _ => {}
            }
        }
        Ok(())
    }

    fn find_end(&mut self, data_end: u64) -> Result<(), RecordError> {
        let tail = self.read(self.length.saturating_sub(TAIL), TAIL)?;
        if tail.len() as u64 == TAIL && tail[0] == op::FOOTER && tail.ends_with(MAGIC) {
            self.data_end = Some(data_end);
        }
        Ok(())
    }

    /// The messages of a chunk, unpacked and checked.
    pub fn unpack(&self, chunk: &Chunk) -> Result<Vec<u8>, RecordError> {
        let damaged = |problem: String| RecordError::Damaged {
            path: self.path.clone(),
            at: chunk.at,
            problem,
        };
        let packed = self.read(chunk.data_at, chunk.data_length as u64)?;
        let bytes = zstd::bulk::decompress(&packed, chunk.unpacked_length)
            .map_err(|e| damaged(format!("a chunk cannot be unpacked ({e})")))?;
        if crc32fast::hash(&bytes) != chunk.crc {
            return Err(damaged("the checksum of a chunk is wrong".into()));
        }
        Ok(bytes)
    }

    /// Compares the checksums of data and summary with the bytes of the file. Unfinished files have none.
    pub fn check_sections(&self) -> Result<Vec<String>, RecordError> {
        let mut problems = Vec::new();
        let Some(data_end) = self.data_end else {
            return Ok(problems);
        };
        let saved = self.read(data_end + RECORD_HEAD, DATA_END_LENGTH)?;
        if self.crc(0, data_end)?.to_le_bytes() != *saved {
            problems.push("the checksum of the data is wrong".into());
        }
        let footer = self.read(self.length.saturating_sub(TAIL), TAIL)?;
        let mut take = Take(footer.get(RECORD_HEAD as usize..).unwrap_or_default());
        let (Some(start), Some(_), Some(saved)) = (take.u64(), take.u64(), take.u32()) else {
            return Ok(problems);
        };
        // The checksum includes the footer up to itself.
        let end = self.length.saturating_sub(MAGIC.len() as u64 + 4);
        if start > end || self.crc(start, end)? != saved {
            problems.push("the checksum of the summary is wrong".into());
        }
        Ok(problems)
    }

    fn crc(&self, from: u64, to: u64) -> Result<u32, RecordError> {
        const STEP: u64 = 1 << 20;
        let mut hasher = crc32fast::Hasher::new();
        let mut at = from;
        while at < to {
            let bytes = self.read(at, STEP.min(to - at))?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(&bytes);
            at += bytes.len() as u64;
        }
        Ok(hasher.finalize())
    }
}

/// The next message at `position` of an unpacked chunk; moves the position behind it. Records of other
/// kinds are left out.
pub(crate) fn next_message<'a>(unpacked: &'a [u8], position: &mut usize) -> Option<Message<'a>> {
    loop {
        let mut take = Take(unpacked.get(*position..)?);
        let kind = take.array::<1>()?[0];
        let length = usize::try_from(take.u64()?).ok()?;
        let mut body = Take(take.bytes(length)?);
        *position = unpacked.len() - take.0.len();
        if kind == op::MESSAGE {
            let channel = body.u16()?;
            // Number and two times stand in the message itself.
            body.bytes(20)?;
            return Some(Message {
                channel,
                data: body.0,
            });
        }
    }
}
