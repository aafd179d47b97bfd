//! Overhead lines: from a line file to the rest position, the reference solver and real-time models.
pub mod assembly;
pub mod basis;
pub mod error;
pub mod full;
pub mod layout;
pub mod line;
pub mod linear;
pub mod lumped;
pub mod mesh;
pub mod modal;
pub mod simulate;
pub mod slack;
pub mod statics;
pub mod wire;

pub use error::CatenaryError;
pub use full::FullWire;
pub use line::Line;
pub use linear::LinearLine;
pub use modal::{ModalOptions, ModalWire};
pub use basis::ModalBasis;
pub use wire::WireModel;
