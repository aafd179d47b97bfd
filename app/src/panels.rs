//! The panels of the window: each reads a view of the run and pushes commands.

pub mod bode;
pub mod events;
pub mod parameters;
pub mod plots;
pub mod stability_map;
pub mod status;
pub mod trip;
pub mod tuning;
