//! What proves where something comes from: version and commit of this program, and hashes that `sha256sum` verifies.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that it was built of, and whether the tree was clean then.
pub const COMMIT: &str = env!("PANTOBENCH_COMMIT");
/// Both, as `--version` says it.
pub const FULL_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("PANTOBENCH_COMMIT"),
    ")"
);

/// Digits of a hash that recordings had before SHA-256 (FNV-1a, 64 bits).
const OLD_DIGITS: usize = 16;
/// Read at once.
const BLOCK: usize = 1 << 16;

/// SHA-256 of a text or of bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    in_digits(&Sha256::digest(bytes))
}

/// The hashes of a file.
#[derive(Clone, Debug)]
pub struct FileHashes {
    /// SHA-256, as `sha256sum` prints it.
    pub sha256: String,
    fnv_1a: String,
}

impl FileHashes {
    /// Reads a file, which is never in memory as a whole.
    pub fn of(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let (mut sha256, mut old) = (Sha256::new(), FNV_START);
        let mut block = vec![0; BLOCK];
        loop {
            match file.read(&mut block)? {
                0 => break,
                n => {
                    sha256.update(&block[..n]);
                    old = fnv_1a(old, &block[..n]);
                }
            }
        }
        Ok(Self {
            sha256: in_digits(&sha256.finalize()),
            fnv_1a: format!("{old:016x}"),
        })
    }

    /// Whether a recorded hash, of this or of an older version, is that of this file.
    pub fn include(&self, recorded: &str) -> bool {
        self.sha256 == recorded || self.fnv_1a == recorded
    }
}

/// The hash of these bytes in the form of a recorded one: what older recordings hold is still verified.
pub fn hash_like(recorded: &str, bytes: &[u8]) -> String {
    if recorded.len() == OLD_DIGITS {
        format!("{:016x}", fnv_1a(FNV_START, bytes))
    } else {
        sha256(bytes)
    }
}

fn in_digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

const FNV_START: u64 = 14_695_981_039_346_656_037;

/// FNV-1a, 64 bits: tells whether two files are the same, not whether someone forged one.
///
/// ```text
/// h₀ = 14695981039346656037,  hₖ₊₁ = (hₖ ⊕ byteₖ) · 1099511628211  mod 2⁶⁴
/// ```
fn fnv_1a(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |h, byte| {
        (h ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of FIPS 180-4, and values published with FNV (draft-eastlake-fnv).
    #[test]
    fn hashes_are_the_published_ones() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b"abc"), of_abc);
        assert_eq!(sha256(b""), of_nothing);
        assert_eq!(hash_like(of_nothing, b"abc"), of_abc);
        for (text, hash) in [
            ("", "cbf29ce484222325"),
            ("a", "af63dc4c8601ec8c"),
            ("foobar", "85944171f73967e8"),
        ] {
            assert_eq!(hash_like("0123456789abcdef", text.as_bytes()), hash);
        }
    }

    #[test]
    fn a_file_is_hashed_as_sha256sum_does() {
        let path = std::env::temp_dir().join(format!("pantobench-hash-{}", std::process::id()));
        let bytes: Vec<u8> = (0..3 * BLOCK + 17).map(|i| (i * 31 % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let theirs = std::process::Command::new("sha256sum")
            .arg(&path)
            .output()
            .unwrap();
        let theirs = String::from_utf8(theirs.stdout).unwrap();
        let ours = FileHashes::of(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(theirs.split(' ').next(), Some(ours.sha256.as_str()));
        assert_eq!(ours.sha256, sha256(&bytes));
        assert!(ours.include(&hash_like("0123456789abcdef", &bytes)));
        assert!(!ours.include(&hash_like("0123456789abcdef", b"other")));
    }

    #[test]
    fn the_program_names_its_commit() {
        assert!(COMMIT.starts_with("commit "), "{COMMIT}");
        assert_eq!(FULL_VERSION, format!("{VERSION} ({COMMIT})"));
    }
}
