//! `pantobench`: the window without arguments, commands with them.

use std::process::ExitCode;

/// In debug builds every cycle of the loop is proven not to use the heap.
#[cfg(debug_assertions)]
#[global_allocator]
static ALLOCATOR: rt_core::no_alloc::CountingAllocator = rt_core::no_alloc::CountingAllocator;

fn main() -> ExitCode {
    pantobench::cli::main()
}
