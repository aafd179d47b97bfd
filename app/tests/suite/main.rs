//! Tests of the program as a user starts it: arguments in, text, files and exit codes out.
//!
//! One program for all of them, because linking takes longer than most tests. The counting allocator is installed: a
//! cycle of a loop that uses the heap is a fault in every test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

mod alone;
mod calibrate;
mod cli;
mod common;
mod compare;
mod drives;
mod iterate;
mod lqg;
mod overhead_line;
mod python;
mod recordings;
mod replay;
mod report;
mod rig;
mod script;
mod segment;
mod steady;
mod study;

use rt_core::no_alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
