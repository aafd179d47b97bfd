//! What only shows when the parts work together.
//!
//! One program for all of them, because linking takes longer than most tests. The counting allocator is installed: a
//! cycle of a loop that uses the heap is a fault in every test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

mod architecture;
mod blessed;
mod brake;
mod cell_watch;
mod closed_form;
mod fault_matrix;
mod hardware_ethercat;
mod hardware_link;
mod identify;
mod link_faults;
mod live_tuning;
mod load_cells;
mod no_alloc;
mod pantograph_lqg;
mod pantograph_steady;
mod random_protection;
mod rig_work;
mod safety;
mod stop_law;
mod stopping;
mod wire_shape;

use rt_core::no_alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
