//! What a panel sees of the bench, and what it may ask for. Panels read a [`View`] and push [`Ask`]s; nothing
//! else passes between a panel and the rest of the program.

use crate::command::UiCommand;
use crate::data::Data;
use crate::tuner::TuningAsk;
use std::path::PathBuf;

/// What a panel sees in one frame of the window.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Channels, their past and events: of the running loop, or of a recording.
    pub data: &'a Data,
    /// The moment that is shown, in s: the newest sample, the time of a pause, or the play head.
    pub now_s: f64,
    /// Whether the picture moves with new samples.
    pub is_following: bool,
    /// Whether this is a recording that is played back.
    pub is_replay: bool,
}

/// What a panel asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// A command of the window.
    Command(UiCommand),
    /// A new value of a parameter that needs no design.
    SetParam {
        /// Its index in the bench's specification.
        index: usize,
        /// The value in SI units.
        value: f64,
    },
    /// Something about parameters that need a design.
    Tune(TuningAsk),
    /// Something that the rig does while its drive is off.
    Rig(rt_core::rig::RigCommand),
    /// A piece of work on the rig, for which the bench gives it free.
    RigWork(crate::rig_work::job::Order),
    /// The bench that moves the motor by hand, on the same rig.
    OpenJog,
    /// Another session.
    OpenSession(PathBuf),
    /// A marker with text at the present moment.
    Mark(String),
    /// Hold or move the play head or the paused picture to a time, in s.
    ShowTime(f64),
    /// A table of channels between two times, to be written where a person chooses.
    ExportData {
        /// Channels by name.
        channels: Vec<String>,
        /// From, in s.
        from_s: f64,
        /// To, in s.
        to_s: f64,
    },
    /// A picture that is already drawn as SVG, to be written where a person chooses.
    ExportSvg {
        /// Suggested name without extension.
        name: String,
        /// The picture.
        svg: String,
    },
    /// A picture of a part of the window as it is on the screen, to be written where a person chooses.
    ExportPng {
        /// Suggested name without extension.
        name: String,
        /// Which part, in points of the window.
        rect: eframe::egui::Rect,
    },
    /// Opens a recording for playing back.
    OpenRecording(PathBuf),
    /// A text, such as a table, to be written where a person chooses.
    ExportText {
        /// Suggested name without extension.
        name: String,
        /// The text.
        text: String,
    },
    /// Compares recordings with the first of them.
    Compare(Vec<PathBuf>),
    /// Validates a recording by iteration.
    Validate(PathBuf),
    /// Stops the validation.
    StopValidation,
    /// Computes the opened recording again.
    Recompute,
    /// Asks a person what is to be different when the opened recording is run again.
    OpenWhatIf,
    /// Runs the opened recording again with other values of parameters.
    WhatIf(Vec<(String, f64)>),
    /// Gives up what is being computed.
    StopStudy,
    /// Writes a whole recording for another program, where a person chooses.
    ExportRecording(PathBuf),
    /// Writes a report of recordings, where a person chooses.
    Report(Vec<PathBuf>),
    /// Reads the directory of recordings again.
    RefreshRecordings,
    /// Another directory of recordings, which a person chooses.
    ChooseRecordings,
    /// Opens a script, or lets a person choose one.
    OpenScript(Option<PathBuf>),
    /// Writes the script to its file, or to another one.
    SaveScript {
        /// Whether a person chooses where.
        anew: bool,
    },
    /// Runs the script.
    RunScript {
        /// Whether it gets the rig of this window; else it runs on an exact clock.
        real_time: bool,
    },
    /// A sentence for the technician, shown for a while at the bottom.
    Tell(String),
}

impl Ask {
    /// Whether it reaches the bench or its rig: nothing of that is done while a recording is shown.
    pub fn reaches_bench(&self) -> bool {
        match self {
            Ask::Command(command) => command.reaches_bench() && *command != UiCommand::Stop,
            Ask::SetParam { .. }
            | Ask::Tune(_)
            | Ask::Rig(_)
            | Ask::RigWork(_)
            | Ask::OpenJog
            | Ask::OpenSession(_)
            | Ask::Mark(_) => true,
            Ask::RunScript { real_time } => *real_time,
            Ask::ShowTime(_)
            | Ask::ExportData { .. }
            | Ask::ExportSvg { .. }
            | Ask::ExportPng { .. }
            | Ask::OpenRecording(_)
            | Ask::ExportText { .. }
            | Ask::Compare(_)
            | Ask::Validate(_)
            | Ask::StopValidation
            | Ask::Recompute
            | Ask::OpenWhatIf
            | Ask::WhatIf(_)
            | Ask::StopStudy
            | Ask::ExportRecording(_)
            | Ask::Report(_)
            | Ask::RefreshRecordings
            | Ask::ChooseRecordings
            | Ask::OpenScript(_)
            | Ask::SaveScript { .. }
            | Ask::Tell(_) => false,
        }
    }
}
