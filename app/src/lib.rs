//! The workstation: sessions, the command line, the window.

pub mod cli;
mod command;
mod data;
mod event_record;
mod event_text;
pub mod hil_result;
mod history;
mod home;
mod ingest;
mod panels;
mod recording;
pub mod runtime;
pub mod session;
mod signals;
pub mod statistics;
mod theme;
mod tuner;
pub mod tuning;
mod tuning_history;
mod units;
mod view;
mod window;
mod worker;
