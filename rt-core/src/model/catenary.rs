//! Overhead lines: from a line file to the rest position, the reference solver and real-time models.
pub mod assembly;
pub mod error;
pub mod layout;
pub mod line;
pub mod linear;
pub mod mesh;
pub mod slack;
pub mod statics;

pub use error::CatenaryError;
pub use line::Line;
pub use linear::LinearLine;
