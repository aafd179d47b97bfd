//! Linear algebra that the models need and that general libraries do slowly or wrongly.

pub mod banded;
pub mod eigen;
pub mod francis;
