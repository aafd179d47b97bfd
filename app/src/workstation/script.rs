//! Scripts in the window: opening, saving, running; and the bench that a script gets for a while.

use super::act::Purpose;
use super::{Slot, Workstation};
use crate::file_dialog::Question;
use rt_core::guard::State;
use std::path::{Path, PathBuf};

impl Workstation {
    /// Opens a script, or lets a person choose one.
    pub(super) fn ask_for_script(&mut self, path: Option<PathBuf>) {
        match path {
            Some(path) => self.open_script(&path),
            None => self.ask_script_file("Open script", false, Purpose::OpenScript),
        }
    }

    /// Opens a script.
    pub(super) fn open_script(&mut self, path: &Path) {
        if let Err(problem) = self.script.open(path) {
            self.tell(problem);
        }
    }

    /// Writes the script to its file, or lets a person choose another.
    pub(super) fn ask_to_save_script(&mut self, anew: bool) {
        match self.script.path().map(Path::to_owned) {
            Some(path) if !anew => self.save_script(&path),
            _ => self.ask_script_file("Save script", true, Purpose::SaveScript),
        }
    }

    /// Writes the script.
    pub(super) fn save_script(&mut self, path: &Path) {
        let sentence = match self.script.save(path) {
            Ok(()) => format!("saved to {}", path.display()),
            Err(problem) => problem,
        };
        self.tell(sentence);
    }

    fn ask_script_file(&mut self, title: &'static str, is_save: bool, purpose: Purpose) {
        let of_script = self
            .script
            .path()
            .and_then(Path::parent)
            .map(Path::to_owned);
        let name = self.script.path().and_then(Path::file_name);
        let name = name.map(|n| n.to_string_lossy().into_owned());
        let question = Question {
            title,
            is_save,
            is_directory: false,
            directory: of_script.unwrap_or_else(|| PathBuf::from("sessions")),
            name: name.unwrap_or_else(|| "script.rhai".into()),
            endings: &["rhai"],
        };
        self.ask_file(question, purpose);
    }

    /// Runs the script beside the bench, or gives it the rig.
    pub(super) fn run_script(&mut self, real_time: bool) {
        if real_time && !self.lend_bench() {
            return;
        }
        let wake = self.waker();
        if let Err(problem) = self.script.begin(wake) {
            self.tell(problem);
            self.take_back();
        }
    }

    /// The rig is free as soon as this window's loop has ended, which at rest is at once.
    fn lend_bench(&mut self) -> bool {
        if !matches!(self.state(), State::Idle | State::Ready) {
            self.tell("stop the bench and acknowledge a trip first: the script needs the rig");
            return false;
        }
        let Slot::Active(active) = &self.slot else {
            self.tell("there is no bench whose rig the script could have");
            return false;
        };
        let session = Box::new(active.run.loaded.clone());
        self.save();
        self.replay = None;
        self.paused_at_s = None;
        self.slot = Slot::Lent(session);
        true
    }

    /// A script that could not begin has not used the rig.
    fn take_back(&mut self) {
        if let Slot::Lent(session) = &self.slot {
            let session = (**session).clone();
            self.start(session);
        }
    }
}
