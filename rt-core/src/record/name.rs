//! Names of recordings that a person can read: when, what, under which line, how fast.

use std::fmt;

/// A date and time of day without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Year, month from 1, day from 1.
    pub date: (i32, i32, i32),
    /// Hour, minute, second.
    pub time: (i32, i32, i32),
}

type Convert = unsafe extern "C" fn(*const libc::time_t, *mut libc::tm) -> *mut libc::tm;

impl Moment {
    /// The time that clocks on the wall show here.
    pub fn local(unix_nanos: u64) -> Self {
        Self::convert(unix_nanos, libc::localtime_r)
    }

    /// The time in Greenwich.
    pub fn utc(unix_nanos: u64) -> Self {
        Self::convert(unix_nanos, libc::gmtime_r)
    }

    fn convert(unix_nanos: u64, convert: Convert) -> Self {
        // Fits: 2⁶⁴ ns are 585 years.
        let seconds = (unix_nanos / 1_000_000_000) as libc::time_t;
        // SAFETY: an all-zero `tm` is valid (its pointer may be null), both pointers are valid for the call.
        let tm = unsafe {
            let mut tm: libc::tm = std::mem::zeroed();
            convert(&seconds, &mut tm);
            tm
        };
        Self {
            date: (tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday),
            time: (tm.tm_hour, tm.tm_min, tm.tm_sec),
        }
    }

    /// As in ISO 8601, without a zone.
    pub fn iso(&self) -> String {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.time);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.time);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}_{hour:02}-{minute:02}-{second:02}"
        )
    }
}

/// The longest word in a name; file systems allow 255 bytes for the whole.
const LONGEST_WORD: usize = 40;

/// A name without its ending: `2026-11-17_22-15-03_dsa380-300_stitched-sw_300kmh`. Words keep letters,
/// digits, dots and dashes; everything else becomes a dash.
pub fn stem(when: Moment, words: &[&str]) -> String {
    let mut stem = when.to_string();
    for word in words {
        let mut clean = String::new();
        for c in word.chars() {
            let c = if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            };
            let is_repeated = c == '-' && (clean.is_empty() || clean.ends_with('-'));
            if !is_repeated && clean.len() + c.len_utf8() <= LONGEST_WORD {
                clean.push(c);
            }
        }
        let clean = clean.trim_matches(['-', '.']);
        if !clean.is_empty() {
            stem.push('_');
            stem.push_str(clean);
        }
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 795 040 103 s is 2026-11-18 22:15:03 UTC (`date -u -d @1795040103`).
    const WHEN: u64 = 1_795_040_103_000_000_000;

    #[test]
    fn a_name_tells_when_and_what() {
        let name = stem(Moment::utc(WHEN), &["dsa380-300", "stitched-sw", "300kmh"]);
        assert_eq!(name, "2026-11-18_22-15-03_dsa380-300_stitched-sw_300kmh");
        assert_eq!(Moment::utc(WHEN).iso(), "2026-11-18T22:15:03");
    }

    #[test]
    fn nothing_leaves_the_directory_or_breaks_the_name() {
        let words = [
            "../../etc/passwd",
            "a b\tc\n",
            "..",
            "",
            "№ 7: \"x\"",
            "Prüfling",
        ];
        let name = stem(Moment::utc(WHEN), &words);
        assert_eq!(name, "2026-11-18_22-15-03_etc-passwd_a-b-c_7-x_Prüfling");
        let long = "ü".repeat(500);
        assert!(stem(Moment::utc(WHEN), &[&long, &long, &long]).len() < 200);
    }
}
