//! Tests of the core against what is independent of it: closed forms, brute force, scipy, published figures.
//!
//! One program for all of them, because linking takes longer than most tests. The counting allocator is installed: a
//! cycle of a loop that uses the heap is a fault in every test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing test has to fail loudly"
)]

mod allocation;
mod assessment;
mod banded;
mod calibration;
mod catenary;
mod catenary_brute_force;
mod catenary_dynamics;
mod catenary_files;
mod catenary_general;
mod catenary_no_alloc;
mod catenary_runs;
mod catenary_shape;
mod catenary_statics;
mod contact_force;
mod control;
mod eigen;
mod predictive;
mod predictive_design;
mod predictive_loop;
mod predictive_margins;
mod record_damage;
mod record_kill;
mod record_mutations;
mod record_recorder;
mod record_round_trip;
mod record_sustained;
mod recording;
mod retreat;
mod signal;
mod spectrum;
mod steady;
mod steady_iteration;
mod steady_line;
mod string_wire;
mod support;

use rt_core::no_alloc::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
