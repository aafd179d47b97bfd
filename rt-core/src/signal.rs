//! Filters, statistics, spectra and comparisons of sampled signals.
//!
//! Samples are equidistant in time unless places are asked for. A sample that is NaN or infinite is
//! *unknown*: it is counted and reported, never averaged.

pub mod band;
pub mod butterworth;
pub mod comparison;
pub mod contact_force;
pub mod ease;
pub mod error;
pub mod error_index;
pub mod filter;
pub mod gaps;
pub mod histogram;
pub mod lag;
pub mod live_force;
pub mod losses;
pub mod place;
pub mod response;
pub mod sliding;
pub mod spans;
pub mod spectrum;
pub mod statistics;
