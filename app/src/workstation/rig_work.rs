//! Arming with all that speaks against it, the dead man's switch, and work for which the bench gives the rig free.

use super::act::Prompt;
use super::{Slot, Working, Workstation};
use crate::home;
use crate::permit::{self, Hindrance};
use crate::rig_work::job::{Job, Order};
use crate::session::LoadedSession;
use drivers::rig_file;
use eframe::egui::{self, Key, RichText, Ui};
use rt_core::bench::Approval;
use rt_core::calibration::date::Date;
use rt_core::guard::{Request, State};
use rt_core::link::Command;
use std::time::{Duration, Instant};

/// The key that is held on rigs with a dead man's switch.
pub(super) const DEAD_MAN: Key = Key::F7;

impl Workstation {
    /// Asks for arming, or confirms it; what speaks against it is shown first.
    pub(super) fn ask_to_arm(&mut self, insisted: &[Hindrance]) {
        if self.is_refused() {
            return;
        }
        if insisted.is_empty() {
            let found = self.hindrances();
            if !found.is_empty() {
                self.prompt = Some(Prompt::Insist(found));
                return;
            }
        }
        let mut kinds: Vec<_> = insisted.iter().map(|h| h.objection).collect();
        kinds.dedup();
        for objection in kinds {
            self.send(Command::NoteInsisted(objection));
        }
        let within_s = match &self.slot {
            Slot::Active(active) => active.run.rig.spec.safety.confirm_within_s,
            _ => None,
        };
        let waits = self
            .confirm_until
            .take()
            .is_some_and(|until| Instant::now() < until);
        if waits {
            self.message = None;
            self.send(Command::Request(Request::Confirm));
            return;
        }
        self.send(Command::Request(Request::Arm));
        if let Some(within_s) = within_s {
            self.confirm_until = Some(Instant::now() + Duration::from_secs_f64(within_s));
            self.tell(format!(
                "Look at the rig. Press Arm again within {within_s} s to confirm."
            ));
        }
    }

    /// What speaks against arming now. Calibrations are read anew: one may have been taken since the start.
    fn hindrances(&self) -> Vec<Hindrance> {
        let Slot::Active(active) = &self.slot else {
            return Vec::new();
        };
        if self
            .confirm_until
            .is_some_and(|until| Instant::now() < until)
        {
            // They were shown with the first step.
            return Vec::new();
        }
        let run = &active.run;
        let mut spec = run.rig.spec.clone();
        let own = home::calibrations_dir();
        if let Ok(found) = rig_file::find_cells(&run.loaded.rig_path(), Some(&own)) {
            spec.cells = found.cells;
        }
        let gains = run.live().and_then(|live| {
            let last = live.data.events.iter().rev().find(|e| e.kind == "gains")?;
            Some(Approval {
                rho: last.number("rho")?,
                least_disk: last.number("disk"),
                is_override: last.number("insisted") == Some(1.0),
            })
        });
        permit::hindrances(&spec, Some(&run.rt), gains.as_ref(), Date::today())
    }

    /// Tells the loop that the switch is held, as long as it is.
    pub(super) fn hold_dead_man(&mut self, ctx: &egui::Context) {
        let Slot::Active(active) = &mut self.slot else {
            return;
        };
        if active.run.rig.spec.safety.dead_man_s.is_none() {
            return;
        }
        if ctx.input(|i| i.key_down(DEAD_MAN)) {
            // A full ring means that the loop does not listen; then nothing is held either.
            active.run.send(Command::Alive);
        }
        // Keys are seen when the window is drawn: often enough for the shortest time that a rig may ask for.
        ctx.request_repaint_after(Duration::from_millis(30));
    }

    /// Gives the rig free and begins a piece of work on it.
    pub(super) fn begin_rig_work(&mut self, order: Order) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        if !matches!(self.state(), State::Idle | State::Ready) {
            self.tell("stop the bench first: the rig has to be free");
            return;
        }
        let then = active.run.loaded.clone();
        let rig = then.rig_path();
        self.save();
        // Dropping the bench stops it and gives the rig free before the work begins.
        self.slot = Slot::Failed {
            title: then.session.title.clone(),
            problem: String::new(),
        };
        let ctx = self.ctx.clone();
        self.slot = match Job::begin(rig, order, move || ctx.request_repaint()) {
            Ok(job) => Slot::Working(Box::new(Working { job, then })),
            Err(problem) => Slot::Failed {
                title: then.session.title.clone(),
                problem,
            },
        };
    }

    /// Takes what a piece of work ended with and opens the bench again.
    pub(super) fn poll_rig_work(&mut self) {
        let Slot::Working(working) = &mut self.slot else {
            return;
        };
        let Some(result) = working.job.poll() else {
            return;
        };
        let (step, then) = (working.job.step, working.then.clone());
        if let Err(problem) = &result {
            let sentence = format!("{}: {problem}", step.name());
            self.tell(sentence);
        }
        self.commissioning.keep(&then.rig_path(), step, result);
        self.next_session = Some(then);
    }

    /// Opens the bench that moves the motor by hand, on the rig of this session.
    pub(super) fn open_jog(&mut self) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        let loaded = active.run.loaded.clone();
        match jog_session(&loaded) {
            Ok(path) => {
                self.commissioning.back_to = Some(loaded.path);
                self.open_session(&path);
            }
            Err(problem) => self.tell(problem),
        }
    }
}

/// A session file for jogging on the rig of another session.
fn jog_session(loaded: &LoadedSession) -> Result<std::path::PathBuf, String> {
    let rig = std::path::absolute(loaded.rig_path()).map_err(|e| e.to_string())?;
    let directory = home::cache_dir().join("commissioning");
    let path = directory.join("jog.ron");
    let text = format!(
        "// Written by the window: moves the motor of a rig by hand.\nSession(title: \"Jog {}\", bench: Jog(), rig: {:?})\n",
        loaded.rig_name(),
        rig.display().to_string()
    );
    std::fs::create_dir_all(&directory)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    Ok(path)
}

/// What is drawn while a piece of work goes on.
pub(super) fn show_working(ui: &mut Ui, working: &Working) {
    egui::CentralPanel::default().show(ui, |ui| {
        ui.add_space(60.0);
        ui.vertical_centered(|ui| {
            let step = working.job.step;
            ui.label(
                RichText::new(format!("{} …", step.name()))
                    .size(20.0)
                    .strong(),
            );
            ui.label(step.help());
            ui.add_space(12.0);
            for line in &working.job.lines {
                ui.label(line);
            }
        });
        ui.ctx().request_repaint_after(Duration::from_millis(100));
    });
}
