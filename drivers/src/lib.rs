//! Rigs for Pantobench: everything that implements [`rt_core::rig::Rig`].

pub mod cells;
pub mod drive_lock;
pub mod emulate;
pub mod ethercat;
pub mod hardware;
mod intern;
pub mod linmot;
pub mod linudp;
pub mod replay;
pub mod rig_file;
pub mod serial;
pub mod simulated;
