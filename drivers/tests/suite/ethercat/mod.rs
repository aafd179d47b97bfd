//! EtherCAT on emulated segments: in this process in exact time, and on a network interface with a second process.
//!
//! The counting allocator is installed: a cycle that uses the heap stops the loop with that fault, in every test.

mod brake;
mod cells;
mod fault_matrix;
mod frames;
mod homing;
mod reactions;
mod rig;
mod segment;
mod veth;
