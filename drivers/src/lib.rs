//! Rigs for Pantobench: everything that implements [`rt_core::rig::Rig`].

mod cell_watch;
pub mod cells;
pub mod drive_lock;
pub mod emulate;
pub mod ethercat;
pub mod hardware;
mod intern;
pub mod linmot;
pub mod linudp;
pub mod mounting;
pub mod protection;
pub mod replay;
pub mod rig_file;
pub mod serial;
pub mod simulated;
