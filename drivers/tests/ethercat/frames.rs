//! Mutated frames.
