//! The panels of the window: each reads a view of the run and pushes commands.

pub mod bode;
pub mod calibration;
pub mod channels;
pub mod comparison;
pub mod events;
pub mod footer;
pub mod histogram;
pub mod line_view;
pub mod mark;
pub mod parameters;
pub mod pickers;
pub mod plots;
pub mod recordings;
pub mod rig;
pub mod script;
pub mod spectra;
pub mod spectrogram;
pub mod stability_map;
pub mod status;
pub mod timing;
pub mod transfer;
pub mod transport;
pub mod trip;
pub mod tuning;
pub mod xy;
