//! Drivers against emulated devices, and mutated telegrams through every parser.
//!
//! One program for all of them, because linking takes longer than most tests. The counting allocator is installed: a
//! cycle of a loop that uses the heap is a fault in every test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

mod ethercat;
mod locks;
mod mutations;

use rt_core::no_alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
