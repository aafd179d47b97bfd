//! Emulated devices, so that everything runs without hardware: they speak on the wire what real ones speak.

pub mod ethercat;
