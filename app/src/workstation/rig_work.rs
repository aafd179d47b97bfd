//! Arming with all that speaks against it, the dead man's switch, and work for which the bench gives the rig free.

use super::act::Prompt;
use super::{Slot, Working, Workstation};
use crate::grip::Goal;
use crate::hand::PAUSE;
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
use rt_core::rig::RigCommand;
use std::time::{Duration, Instant};

/// The key that is held on rigs with a dead man's switch.
pub(super) const DEAD_MAN: Key = Key::F7;

/// What a press of a person is.
enum Step {
    /// The first of two; the second has to come within so many seconds.
    First(f64),
    /// The second.
    Second,
    /// The rig asks for one only.
    Only,
    /// Too fast to be one.
    None,
}

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
        match self.take_step(Goal::Arm) {
            Step::First(within_s) => {
                self.send(Command::Request(Request::Arm));
                self.tell(format!(
                    "Look at the rig. Press Arm again within {within_s} s to confirm."
                ));
            }
            Step::Second => {
                self.message = None;
                self.send(Command::Request(Request::Confirm));
            }
            Step::Only => self.send(Command::Request(Request::Arm)),
            Step::None => {}
        }
    }

    /// Lets the drive find its home position, by the same steps as arming: the motor moves by itself.
    pub(super) fn ask_to_home(&mut self) {
        let Slot::Active(active) = &self.slot else {
            return;
        };
        let spec = &active.run.rig.spec;
        let needs_hold = spec.safety.dead_man_s.is_some() && spec.dead_man.is_none();
        match self.take_step(Goal::Home) {
            Step::First(within_s) => {
                let hold = if needs_hold { ", with F7 held" } else { "" };
                self.tell(format!(
                    "Look at the rig: the motor moves by itself. Press Home again within {within_s} s{hold}."
                ));
            }
            Step::None => {}
            Step::Only | Step::Second => {
                let is_held = self.ctx.input(|i| i.key_down(DEAD_MAN));
                if needs_hold && !is_held {
                    self.tell("Not homed: keep F7 pressed, press Home twice, and hold F7 on.");
                    return;
                }
                self.homes_while_held = needs_hold;
                self.message = None;
                self.send(Command::Rig(RigCommand::Home));
            }
        }
    }

    /// A step of a person: a second one counts in its time, and not as fast as a bounce.
    fn take_step(&mut self, goal: Goal) -> Step {
        let within_s = match &self.slot {
            Slot::Active(active) => active.run.rig.spec.safety.confirm_within_s,
            _ => None,
        };
        let Some(within_s) = within_s else {
            return Step::Only;
        };
        let before = self.first_step.filter(|(of, _)| *of == goal);
        let since = before.map(|(_, at)| at.elapsed());
        match since {
            Some(since) if since < PAUSE => Step::None,
            Some(since) if since.as_secs_f64() < within_s => {
                self.first_step = None;
                Step::Second
            }
            _ => {
                self.first_step = Some((goal, Instant::now()));
                Step::First(within_s)
            }
        }
    }

    /// What is left of the time for the second step of arming.
    pub(super) fn confirm_left(&self) -> Option<Duration> {
        let Slot::Active(active) = &self.slot else {
            return None;
        };
        let within_s = active.run.rig.spec.safety.confirm_within_s?;
        let (_, at) = self.first_step.filter(|(goal, _)| *goal == Goal::Arm)?;
        Duration::from_secs_f64(within_s).checked_sub(at.elapsed())
    }

    /// Steps and switch for work that is done beside the window's bench.
    pub(super) fn lend_hand(&mut self, ctx: &egui::Context, presses_arm: bool) {
        let hand = match &self.slot {
            Slot::Working(working) => &working.job.hand,
            Slot::Lent(_) => &self.script.hand,
            _ => return,
        };
        if presses_arm {
            hand.press_step();
        }
        if ctx.input(|i| i.key_down(DEAD_MAN)) {
            hand.hold();
        } else {
            hand.let_go();
        }
        ctx.request_repaint_after(Duration::from_millis(30));
    }

    /// What speaks against arming now. Calibrations are read anew: one may have been taken since the start.
    fn hindrances(&self) -> Vec<Hindrance> {
        let Slot::Active(active) = &self.slot else {
            return Vec::new();
        };
        if self.confirm_left().is_some() {
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
        let state = self.state();
        let Slot::Active(active) = &mut self.slot else {
            return;
        };
        let fits = match self.first_step {
            Some((Goal::Arm, _)) => state == State::Ready,
            Some((Goal::Home, _)) | None => state == State::Idle,
        };
        if !fits {
            // A bench that was asked for something and could not forgets it.
            self.first_step = None;
        }
        self.homes_while_held &= state == State::Idle;
        let spec = &active.run.rig.spec;
        if spec.safety.dead_man_s.is_none() || spec.dead_man.is_some() {
            return;
        }
        let is_held = ctx.input(|i| i.key_down(DEAD_MAN));
        if self.homes_while_held && !is_held {
            // The guard does not see a drive that homes: this is its dead man.
            self.homes_while_held = false;
            active.run.send(Command::Rig(RigCommand::StopHoming));
        }
        if is_held {
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
            ui.label(
                RichText::new("Where the rig asks for it: F5, look at the rig, F5 again, and F7 held until it is done.")
                    .weak(),
            );
            for line in &working.job.lines {
                ui.label(line);
            }
        });
        ui.ctx().request_repaint_after(Duration::from_millis(100));
    });
}
