//! Prepared modal bases on disk, so that a line is prepared once.
//!
//! The key is a hash of the matrices themselves, so neither a changed file nor a changed program can
//! find something stale. A file is written under another name and renamed, so that readers and other
//! writers never see half of one; a checksum finds damage, and a damaged file is made again.

use super::basis::ModalBasis;
use super::error::CatenaryError;
use super::linear::LinearLine;
use crate::numeric::banded::SymBanded;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: [u8; 8] = *b"PBBASIS1";

/// FNV-1a over 64-bit words, 128 bits wide.
#[derive(Clone, Copy)]
struct Hash(u128);

impl Hash {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn word(&mut self, word: u64) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(PRIME);
        // Words differ most in their high bits, which multiplication alone never brings down.
        self.0 ^= self.0 >> 64;
    }

    fn matrix(&mut self, m: &SymBanded) {
        self.word(m.order() as u64);
        self.word(m.half_bandwidth() as u64);
        for i in 0..m.order() {
            for j in i.saturating_sub(m.half_bandwidth())..=i {
                self.word(m.get(i, j).to_bits());
            }
        }
    }
}

/// The key of a line's basis of `modes` modes.
pub fn key(line: &LinearLine, modes: usize) -> u128 {
    let mut hash = Hash::new();
    hash.word(u64::from_le_bytes(MAGIC));
    hash.word(modes as u64);
    hash.matrix(&line.stiffness);
    hash.matrix(&line.mass);
    for d in &line.droppers {
        hash.word(d.top as u64);
        hash.word(d.bottom as u64);
    }
    for c in &line.mesh.contact {
        for dof in [c.height, c.slope] {
            hash.word(line.free.number[dof].map_or(u64::MAX, |n| n as u64));
        }
    }
    hash.0
}

/// Where a key's file is.
pub fn path(folder: &Path, key: u128) -> PathBuf {
    folder.join(format!("{key:032x}.basis"))
}

/// The basis from the folder, or built and put there. `notice` hears what a person should know: a
/// damaged file, a folder that cannot be written. Neither stops the work.
pub fn load_or_build(
    folder: &Path,
    line: &LinearLine,
    modes: usize,
    notice: &mut dyn FnMut(String),
    progress: &mut dyn FnMut(f64),
) -> Result<ModalBasis, CatenaryError> {
    let key = key(line, modes);
    let path = path(folder, key);
    match std::fs::read(&path) {
        Ok(bytes) => match decode(&bytes, key) {
            Ok(basis) => return Ok(basis),
            Err(problem) => notice(format!(
                "the prepared line '{}' is damaged ({problem}); it is prepared again",
                path.display()
            )),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => notice(format!(
            "the prepared line '{}' cannot be read: {e}",
            path.display()
        )),
    }
    let basis = ModalBasis::build(line, modes, progress)?;
    if let Err(e) = write(folder, &path, &encode(&basis, key)) {
        notice(format!(
            "the prepared line cannot be kept in '{}': {e}",
            folder.display()
        ));
    }
    Ok(basis)
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    std::fs::create_dir_all(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let done = std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    if done.is_err() {
        // Nothing more can be done about it than to say that writing failed.
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

fn encode(basis: &ModalBasis, key: u128) -> Vec<u8> {
    let mut words: Vec<u64> = vec![
        basis.modes as u64,
        basis.omega2.len() as u64,
        basis.contact.len() as u64,
        basis.droppers.len() as u64,
        basis.residual.len() as u64,
    ];
    let parts = [&basis.omega2, &basis.contact, &basis.droppers];
    words.extend(parts.into_iter().flatten().map(|v| v.to_bits()));
    words.extend(basis.residual.iter().flatten().map(|v| v.to_bits()));
    let mut bytes = Vec::with_capacity(8 * words.len() + 40);
    bytes.extend(MAGIC);
    bytes.extend(key.to_le_bytes());
    bytes.extend(checksum(words.iter().copied()).to_le_bytes());
    bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    bytes
}

fn checksum(words: impl Iterator<Item = u64>) -> u128 {
    let mut hash = Hash::new();
    words.for_each(|w| hash.word(w));
    hash.0
}

fn decode(bytes: &[u8], key: u128) -> Result<ModalBasis, &'static str> {
    let (head, body) = bytes.split_at_checked(40).ok_or("it is too short")?;
    if head[..8] != MAGIC {
        return Err("it is of another format");
    }
    if head[8..24] != key.to_le_bytes() {
        return Err("it belongs to another line");
    }
    let (chunks, rest) = body.as_chunks::<8>();
    if !rest.is_empty() {
        return Err("it is cut off");
    }
    let words = || chunks.iter().map(|c| u64::from_le_bytes(*c));
    if head[24..40] != checksum(words()).to_le_bytes() {
        return Err("its checksum is wrong");
    }
    let sizes: Vec<usize> = words().take(5).map(|w| w as usize).collect();
    let [modes, vectors, contact, droppers, residual] = sizes[..] else {
        return Err("it has no sizes");
    };
    let expected = residual.checked_mul(10).and_then(|r| {
        r.checked_add(5)?
            .checked_add(vectors)?
            .checked_add(contact)?
            .checked_add(droppers)
    });
    if expected != Some(chunks.len()) {
        return Err("its sizes are wrong");
    }
    let mut values = words().skip(5).map(f64::from_bits);
    let mut take = |n: usize| -> Vec<f64> { values.by_ref().take(n).collect() };
    let (omega2, contact, droppers) = (take(vectors), take(contact), take(droppers));
    let residual = take(10 * residual).as_chunks::<10>().0.to_vec();
    Ok(ModalBasis {
        modes,
        omega2,
        contact,
        droppers,
        residual,
    })
}
