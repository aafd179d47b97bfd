//! The panels of the window: each reads a view of the run and pushes commands.

pub mod calibration;
pub mod channels;
pub mod events;
pub mod footer;
pub mod mark;
pub mod parameters;
pub mod plots;
pub mod recordings;
pub mod rig;
pub mod status;
pub mod timing;
pub mod transport;
pub mod trip;
pub mod tuning;
