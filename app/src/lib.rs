//! The workstation: sessions, the command line, the window.

// A closed pipe must not end a run with a panic.
#![warn(clippy::print_stdout, clippy::print_stderr)]

// First, so that its macros are known in all the others.
#[macro_use]
mod output;

mod analysis;
mod bench_run;
mod calibration_keeper;
mod changes;
mod chart;
pub mod cli;
mod command;
pub mod comparison;
mod conductor;
mod crash;
mod data;
mod event_record;
mod event_text;
mod export;
mod file_dialog;
mod follower;
pub mod grip;
mod guide;
pub mod hand;
pub mod hil_result;
mod history;
mod home;
mod ingest;
pub mod iterate;
mod line_data;
mod outlive;
mod palette;
mod panels;
pub mod parquet_export;
pub mod permit;
pub mod playback;
mod plot;
pub mod provenance;
mod recorded;
pub mod recording;
mod recording_list;
pub mod replay;
pub mod report;
mod rig_reading;
pub mod rig_work;
pub mod ron_text;
pub mod runtime;
pub mod script;
pub mod session;
mod settings;
mod signals;
pub mod statistics;
mod stay_awake;
mod steady_result;
mod studies;
pub mod study;
mod terminal;
mod theme;
mod tuner;
pub mod tuning;
mod tuning_history;
mod units;
mod validating;
mod view;
mod widened;
mod window;
mod worker;
mod workspace;
mod workstation;
