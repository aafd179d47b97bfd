//! Models of the world: constant data, separate state, an integrator. No threads, no input or output.

pub mod catenary;
pub mod interaction_mass;
pub mod moving_load;
pub mod moving_string;
pub mod pantograph;
pub mod span_profile;
pub mod string_wire;
