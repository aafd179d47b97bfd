//! What the workstation does when a command is given or a panel asks for something.

use super::{Slot, Workstation, set_theme};
use crate::command::{RECORDING_IS_SHOWN, UiCommand};
use crate::comparison::Request;
use crate::export::{Content, Table};
use crate::file_dialog::{FileDialog, Question};
use crate::ingest::is_recording;
use crate::iterate;
use crate::recorded::Loading;
use crate::replay::what_if::Alterations;
use crate::session::LoadedSession;
use crate::settings::SCALES;
use crate::studies::{Study, Studying};
use crate::tuner::{Outgoing, TuningAsk};
use crate::tuning::Refused;
use crate::validating::Validating;
use crate::view::Ask;
use crate::workspace::PanelKind;
use eframe::egui;
use rt_core::guard::State;
use rt_core::link::Command;
use rt_core::rig::RigCommand;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// What a file is chosen for.
pub(super) enum Purpose {
    /// A session to start.
    OpenSession,
    /// A recording to look at.
    OpenRecording,
    /// A script to open.
    OpenScript,
    /// Where the script is written.
    SaveScript,
    /// Where recordings go.
    Recordings,
    /// A file to write.
    Write(Content),
}

/// A text that a person is asked for.
pub(super) enum Prompt {
    /// Text of a marker.
    Mark(String),
    /// Name of an arrangement.
    Layout(String),
    /// Whether to arm against what speaks against it.
    Insist(Vec<crate::permit::Hindrance>),
}

impl Workstation {
    /// Does what a command says.
    pub fn execute(&mut self, command: UiCommand) {
        if command != UiCommand::Stop && command.reaches_bench() && self.is_refused() {
            return;
        }
        match command {
            UiCommand::Stop => self.press_stop(),
            UiCommand::Arm => {
                self.record_before_arming();
                self.ask_to_arm(&[]);
            }
            UiCommand::Run | UiCommand::Park | UiCommand::Acknowledge => {
                if let Some(request) = command.request() {
                    self.send(Command::Request(request));
                }
            }
            UiCommand::Record => self.toggle_recording(),
            UiCommand::Capture => {
                let remarks = self.recordings.remarks.clone();
                if let Slot::Active(active) = &self.slot
                    && let Err(problem) = active.run.capture(&remarks)
                {
                    self.tell(problem);
                }
            }
            UiCommand::Mark => self.prompt = Some(Prompt::Mark(String::new())),
            UiCommand::Pause => self.toggle_pause(),
            UiCommand::Undo => self.tune(&TuningAsk::Undo),
            UiCommand::Redo => self.tune(&TuningAsk::Redo),
            UiCommand::OpenSession => self.ask_for_session(),
            UiCommand::OpenRecording => {
                let directory = self.settings.recordings.clone();
                self.ask_for_file(
                    "Open recording",
                    directory,
                    &["mcap", "part"],
                    Purpose::OpenRecording,
                );
            }
            UiCommand::CloseRecording => {
                self.replay = None;
                self.loading = None;
            }
            UiCommand::Validate => {
                let selected = match self.recordings.selected() {
                    [one] => Some(one.clone()),
                    _ => None,
                };
                match self.opened().or(selected) {
                    Some(path) => self.validate(&path),
                    None => self.workspace.bring_to_front(PanelKind::Validation),
                }
            }
            UiCommand::Report => self.report(),
            UiCommand::PlayPause => self.play_pause(),
            UiCommand::StepForward => self.step_replay(1),
            UiCommand::StepBack => self.step_replay(-1),
            UiCommand::Theme => {
                self.settings.dark = !self.settings.dark;
                set_theme(&self.ctx, self.settings.dark);
            }
            UiCommand::Larger => self.scale(1.1),
            UiCommand::Smaller => self.scale(1.0 / 1.1),
            UiCommand::SaveLayout => {
                let name = self.workspace.name().unwrap_or_default().to_owned();
                self.prompt = Some(Prompt::Layout(name));
            }
            UiCommand::ResetLayout => self.workspace.reset(),
            UiCommand::NextLayout => self.next_layout(),
            UiCommand::Palette => self.palette.toggle(),
            UiCommand::Guide => self.guide.restart(),
            UiCommand::Settings => self.settings_open = !self.settings_open,
            UiCommand::Quit => self.ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            UiCommand::Show(kind) => self.workspace.bring_to_front(kind),
        }
    }

    /// Refuses what would reach the bench while a recording is shown.
    pub(super) fn is_refused(&mut self) -> bool {
        let is_refused = self.replay.is_some();
        if is_refused {
            self.tell(RECORDING_IS_SHOWN);
        }
        is_refused
    }

    /// Does what a panel asks for.
    pub(super) fn serve(&mut self, ask: Ask) {
        if ask.reaches_bench() && self.is_refused() {
            return;
        }
        match ask {
            Ask::Command(command) => self.execute(command),
            Ask::SetParam { index, value } => self.send(Command::SetParam { index, value }),
            Ask::Tune(ask) => self.tune(&ask),
            Ask::Rig(RigCommand::Home) => self.ask_to_home(),
            Ask::Rig(command) => self.send(Command::Rig(command)),
            Ask::RigWork(order) => self.begin_rig_work(order),
            Ask::OpenJog => self.open_jog(),
            Ask::OpenSession(path) => self.open_session(&path),
            Ask::Mark(text) => {
                if let Slot::Active(active) = &mut self.slot {
                    active.run.mark(&text);
                }
            }
            Ask::ShowTime(t_s) => self.show_time(t_s),
            Ask::ExportData {
                channels,
                from_s,
                to_s,
            } => {
                let table = self.with_data(|data| Table::of(data, &channels, from_s, to_s));
                if let Some(table) = table {
                    self.ask_where("table", &["csv"], Content::Table(table));
                }
            }
            Ask::ExportSvg { name, svg } => {
                self.ask_where(&name, &["svg"], Content::Bytes(svg.into_bytes()));
            }
            Ask::ExportPng { name, rect } => {
                let (tell, picture) = mpsc::channel();
                self.screenshot = Some((name, rect, picture));
                let callback = egui::ScreenshotCallback::new(move |image| {
                    // A window that is gone by now has nobody to tell.
                    let _ = tell.send(image);
                });
                let cmd = egui::ViewportCommand::Screenshot(callback);
                self.ctx.send_viewport_cmd(cmd);
            }
            Ask::OpenRecording(path) => self.open_recording(path),
            Ask::ExportRecording(path) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let stem = stem.into_owned();
                self.ask_where(&stem, &["parquet", "csv", "mcap"], Content::Recording(path));
            }
            Ask::Report(paths) => self.ask_where_report(paths),
            Ask::ExportText { name, text } => {
                self.ask_where(&name, &["csv"], Content::Bytes(text.into_bytes()));
            }
            Ask::Compare(paths) => self.study(Study::Compare(paths, Request::default())),
            Ask::Validate(path) => self.validate(&path),
            Ask::StopValidation => {
                if let Some(validating) = &self.validating {
                    validating.stop();
                }
            }
            Ask::Recompute => {
                if let Some(path) = self.opened() {
                    self.study(Study::Recompute(path));
                }
            }
            Ask::OpenWhatIf => self.ask_what_if(),
            Ask::WhatIf(set) => {
                if let Some(path) = self.opened() {
                    let alterations = Alterations {
                        set,
                        record: Some(self.settings.recordings.clone()),
                        ..Alterations::default()
                    };
                    self.study(Study::WhatIf(path, alterations));
                }
            }
            Ask::StopStudy => self.studying = None,
            Ask::RefreshRecordings => self.list.refresh(self.waker()),
            Ask::ChooseRecordings => {
                let question = Question {
                    title: "Where recordings go",
                    is_save: false,
                    is_directory: true,
                    directory: self.settings.recordings.clone(),
                    name: String::new(),
                    endings: &[],
                };
                self.ask_file(question, Purpose::Recordings);
            }
            Ask::OpenScript(path) => self.ask_for_script(path),
            Ask::SaveScript { anew } => self.ask_to_save_script(anew),
            Ask::RunScript { real_time } => self.run_script(real_time),
            Ask::Tell(sentence) => self.tell(sentence),
        }
    }

    /// The file of the opened recording.
    fn opened(&self) -> Option<PathBuf> {
        self.replay.as_ref().map(|r| r.recorded.path.clone())
    }

    /// A report of what is selected, else of what is opened, else of the newest recording.
    fn report(&mut self) {
        let mut paths = self.recordings.selected().to_vec();
        if paths.is_empty() {
            let newest = self.list.entries().iter().find(|e| e.session.is_ok());
            let newest = newest.map(|e| e.path.clone());
            paths.extend(self.opened().or(newest));
        }
        self.ask_where_report(paths);
    }

    fn ask_where_report(&mut self, paths: Vec<PathBuf>) {
        let name = match &paths[..] {
            [] => {
                self.tell("there is no recording to report of: record a run first (Ctrl+R)");
                return;
            }
            [one] => crate::comparison::name_of(one),
            several => format!("report-of-{}-recordings", several.len()),
        };
        self.ask_where(&name, &["pdf", "html"], Content::Report(paths));
    }

    fn study(&mut self, study: Study) {
        match Studying::begin(study, self.waker()) {
            Ok(studying) => self.studying = Some(studying),
            Err(problem) => self.tell(problem),
        }
    }

    /// Begins to validate a recording in place of the validation before.
    fn validate(&mut self, path: &Path) {
        let settings = iterate::Settings {
            record: Some(self.settings.recordings.clone()),
            remarks: self.recordings.remarks.clone(),
            ..iterate::Settings::default()
        };
        match Validating::begin(path, settings, self.waker()) {
            Ok(validating) => {
                self.validating = Some(validating);
                self.validation.renew();
                self.workspace.bring_to_front(PanelKind::Validation);
            }
            Err(problem) => self.tell(problem),
        }
    }

    pub(super) fn send(&mut self, command: Command) {
        let sent = match &mut self.slot {
            Slot::Active(active) => active.run.send(command),
            // Nothing moves yet, so there is nothing to be told.
            _ => true,
        };
        if !sent {
            self.tell(
                "the loop does not take commands any more: STOP (Esc) reaches it all the same. Look at the rig",
            );
        }
    }

    /// A run is recorded from before anything moves, if the settings say so.
    fn record_before_arming(&mut self) {
        if !self.settings.record_every_run {
            return;
        }
        let Slot::Active(active) = &self.slot else {
            return;
        };
        let idle = active
            .run
            .recorder_status()
            .is_some_and(|s| !is_recording(s.phase));
        if idle && self.state() == State::Ready {
            let remarks = self.recordings.remarks.clone();
            if let Err(problem) = active.run.start_recording(&remarks, true) {
                self.tell(format!("the run is not recorded: {problem}"));
            }
        }
    }

    fn toggle_recording(&mut self) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        let Some(status) = active.run.recorder_status() else {
            return;
        };
        if is_recording(status.phase) {
            active.run.stop_recording("ended by hand");
            return;
        }
        let remarks = self.recordings.remarks.clone();
        if let Err(problem) = active.run.start_recording(&remarks, false) {
            self.tell(format!("nothing is recorded: {problem}"));
        }
    }

    fn toggle_pause(&mut self) {
        self.paused_at_s = match self.paused_at_s {
            Some(_) => None,
            None => self.with_data(|data| data.history.newest_s()).flatten(),
        };
    }

    fn show_time(&mut self, t_s: f64) {
        match &mut self.replay {
            Some(replay) => replay.head.seek(t_s),
            None => self.paused_at_s = Some(t_s),
        }
    }

    fn scale(&mut self, factor: f32) {
        let scale = self.settings.scale * factor;
        self.settings.scale = scale.clamp(*SCALES.start(), *SCALES.end());
        self.ctx.set_zoom_factor(self.settings.scale);
    }

    fn next_layout(&mut self) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        let named = self.settings.layouts.get(active.run.bench.id);
        let named = named.map(|l| l.named.clone()).unwrap_or_default();
        let now = self.workspace.name().map(str::to_owned);
        let after = now.and_then(|now| named.range(now..).nth(1));
        let Some((name, text)) = after.or(named.first_key_value()) else {
            self.tell(
                "no layout was saved yet: Save layout … (Ctrl+S) keeps this one under a name",
            );
            return;
        };
        let sentence = match self.workspace.use_named(name, text) {
            Ok(()) => format!("layout '{name}'"),
            Err(problem) => problem,
        };
        self.tell(sentence);
    }

    /// Keeps the arrangement under a name.
    pub(super) fn save_layout(&mut self, name: &str) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        match self.workspace.text() {
            Ok(text) => {
                let layouts = self.settings.layouts.entry(active.run.bench.id.to_owned());
                layouts.or_default().named.insert(name.to_owned(), text);
                self.workspace.set_name(name);
                self.save();
                self.tell(format!("layout '{name}' is kept"));
            }
            Err(problem) => self.tell(format!("the layout cannot be kept: {problem}")),
        }
    }

    fn tune(&mut self, ask: &TuningAsk) {
        if let Slot::Active(active) = &mut self.slot
            && let Some(tuner) = &mut active.tuning
            && let Some(outgoing) = tuner.handle(ask)
        {
            self.send_tuning(outgoing);
        }
    }

    /// Sends what the tuning has for the loop; not what becomes ready while a recording is shown.
    pub(super) fn send_tuning(&mut self, outgoing: Outgoing) {
        if self.is_refused() {
            return;
        }
        match outgoing {
            Outgoing::NoteRefusal(verdict) => self.send(Command::NoteRefusal(verdict)),
            Outgoing::Update(update) => {
                if let Slot::Active(active) = &mut self.slot
                    && active.run.updates.send(update).is_err()
                    && let Some(tuner) = &mut active.tuning
                {
                    tuner.tell(Some(Refused::Busy.to_string()));
                }
            }
        }
    }

    fn ask_for_session(&mut self) {
        let directory = match &self.slot {
            Slot::Active(active) => active.run.loaded.base().to_owned(),
            _ => PathBuf::from("sessions"),
        };
        self.ask_for_file("Open session", directory, &["ron"], Purpose::OpenSession);
    }

    fn ask_for_file(
        &mut self,
        title: &'static str,
        directory: PathBuf,
        endings: &'static [&'static str],
        purpose: Purpose,
    ) {
        let question = Question {
            title,
            is_save: false,
            is_directory: false,
            directory,
            name: String::new(),
            endings,
        };
        self.ask_file(question, purpose);
    }

    pub(super) fn ask_where(
        &mut self,
        name: &str,
        endings: &'static [&'static str],
        content: Content,
    ) {
        let ending = endings.first().copied().unwrap_or_default();
        let question = Question {
            title: "Save as",
            is_save: true,
            is_directory: false,
            directory: self.settings.recordings.clone(),
            name: format!("{name}.{ending}"),
            endings,
        };
        self.ask_file(question, Purpose::Write(content));
    }

    pub(super) fn ask_file(&mut self, mut question: Question, purpose: Purpose) {
        // A directory that is not there yet would send the dialog somewhere else.
        if !question.directory.is_dir() {
            let exists = question.directory.ancestors().find(|p| p.is_dir());
            question.directory = exists.unwrap_or(Path::new("/")).to_owned();
        }
        let dialog = FileDialog::open(question, self.waker());
        self.dialog = Some((dialog, purpose));
    }

    /// Starts another session file after the bench has stopped.
    pub(super) fn open_session(&mut self, path: &Path) {
        match LoadedSession::load(path) {
            Ok(session) => {
                self.replay = None;
                self.paused_at_s = None;
                self.next_session = Some(session);
                self.ctx.request_repaint();
            }
            Err(problem) => self.tell(problem.to_string()),
        }
    }

    /// Reads a recording; it is shown as soon as it is there.
    pub fn open_recording(&mut self, path: PathBuf) {
        let budget = self.settings.history_mb << 20;
        match Loading::begin(path, budget, self.waker()) {
            Ok(loading) => self.loading = Some(loading),
            Err(problem) => self.tell(problem),
        }
    }

    /// Calls a function with the data that is shown.
    pub(super) fn with_data<T>(&self, f: impl FnOnce(&crate::data::Data) -> T) -> Option<T> {
        match (&self.replay, &self.slot) {
            (Some(replay), _) => Some(f(&replay.recorded.data)),
            (None, Slot::Active(active)) => active.run.live().map(|live| f(&live.data)),
            _ => None,
        }
    }
}
