//! Lines on standard output and standard error that bear a reader who has gone: `pantobench … | head` ends quietly, and a
//! run whose terminal was closed goes on to its controlled end.

use std::fmt::Arguments;
use std::io::{Write, stderr, stdout};

/// Writes a line to standard output.
pub fn say_line(line: Arguments<'_>) {
    // Nobody is left who could be told of the failure.
    let _ = writeln!(stdout().lock(), "{line}");
}

/// Writes a line to standard error.
pub fn tell_line(line: Arguments<'_>) {
    // Nobody is left who could be told of the failure.
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Like `println!`, without its panic.
macro_rules! say {
    () => { $crate::output::say_line(format_args!("")) };
    ($($words:tt)+) => { $crate::output::say_line(format_args!($($words)+)) };
}

/// Like `eprintln!`, without its panic.
macro_rules! tell {
    () => { $crate::output::tell_line(format_args!("")) };
    ($($words:tt)+) => { $crate::output::tell_line(format_args!($($words)+)) };
}
