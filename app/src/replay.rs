//! Recordings computed again: exactly, with the recorded measurements, or otherwise, with other parameters.
//!
//! An exact recomputation drives the whole loop, not the bench alone: what was commanded, the states, the
//! slew of parameters and what a limit did are the guard's and the loop's work, and a recording shows that
//! it was done right only if they compute it again from what they were given. What they were given is
//! - the ticks, by their numbers: a skipped one is missing in the recording as it was in the run;
//! - the measurements, from the exact columns ([`drivers::replay::ReplayRig`]);
//! - parameters, gains and requests to stop, from the events, in the ticks in which they took effect. Gains
//!   are designed again from the parameters, which gives the same gains ([`script`]);
//! - requests to arm, run and acknowledge, from the states of the frames, because they leave no other trace.
//!
//! The loop's measurements of itself (`loop.wake_us` and the like) cannot follow from anything. They are
//! taken from the recording, which keeps them to the last bit, so that each frame's checksum over all
//! columns can be formed ([`difference`]).
//!
//! Everything is built from what the recording carries ([`embedded`]); files on the disk are not looked at.

pub mod difference;
pub mod embedded;
mod event_difference;
mod feed;
pub mod recompute;
pub mod script;
pub mod what_if;

use crate::runtime::StartError;
use rt_core::file::FileError;
use rt_core::param::ParamError;
use rt_core::record::error::RecordError;
use std::path::PathBuf;

/// Why a recording cannot be computed again at all.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It lacks a file.
    #[error(
        "the recording does not carry '{part}', without which it cannot be computed again; \
         it carries: {carried}"
    )]
    NotCarried {
        /// The part that the file plays.
        part: &'static str,
        /// What there is.
        carried: String,
    },
    /// A file in it is not the one that was recorded.
    #[error(
        "'{part}' in the recording has the hash {found}, but {recorded} was recorded: it was changed afterwards"
    )]
    Changed {
        /// The part that the file plays.
        part: String,
        /// The hash that the header states.
        recorded: String,
        /// The hash of the text.
        found: String,
    },
    /// A path in a file that it carries is written in a way that cannot be redirected.
    #[error(
        "the path '{path}' in the recording's '{part}' cannot be redirected to the file that the recording carries"
    )]
    Path {
        /// The file.
        part: &'static str,
        /// The path in it.
        path: String,
    },
    /// Made with other channels than this version has.
    #[error(
        "the recording was made by version {version} with other channels than this one has ({what}); \
         compute it again with that version"
    )]
    Channels {
        /// The version that made it.
        version: String,
        /// What differs.
        what: String,
    },
    /// The header contradicts the session that it carries.
    #[error("the header says bench '{header}', but the session that it carries is for '{session}'")]
    Bench {
        /// In the header.
        header: String,
        /// In the session.
        session: &'static str,
    },
    /// There are no gains for recorded parameters.
    #[error("there are no gains for the parameters of tick {seq}: {problem}")]
    NoDesign {
        /// When they were applied.
        seq: u64,
        /// Why.
        problem: String,
    },
    /// The bench never ran in it.
    #[error("the bench does not run in this recording: there is nothing to compute otherwise")]
    NeverRan,
    /// Nobody waits for the result.
    #[error("stopped before the end")]
    Stopped,
    /// The loop cannot be built.
    #[error("the recorded bench cannot be built again: {0}")]
    Start(#[from] StartError),
    /// A file in the recording cannot be used.
    #[error("a file that the recording carries cannot be used: {0}")]
    File(#[from] FileError),
    /// A parameter has no such name or value.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The new run cannot be recorded.
    #[error("the new run cannot be recorded: {0}")]
    Recording(String),
    /// No place for the files.
    #[error("cannot unpack the recording's files to '{}': {source}", path.display())]
    Unpack {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Does work in a thread of its own, because the loop changes how its thread computes with tiny numbers.
pub(crate) fn in_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let done = scope.spawn(work).join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
