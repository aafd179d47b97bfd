//! Filters, statistics and error measures of sampled signals.

pub mod butterworth;
pub mod ease;
pub mod error_index;
pub mod filter;
pub mod statistics;
