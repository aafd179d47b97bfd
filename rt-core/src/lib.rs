//! The real-time core of Pantobench. No window, no bus, no dialog: models, control and the loop.

pub mod control;
pub mod file;
pub mod model;
pub mod numeric;
pub mod signal;
