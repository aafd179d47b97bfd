//! Computations of the panels that take longer than a frame of the window may: stretches of the history are
//! copied and evaluated in threads.

pub mod desk;
pub mod force_limits;
pub mod peaks;
pub mod stretch;
pub mod travel;
pub mod worker;
