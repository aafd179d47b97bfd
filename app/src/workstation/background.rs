//! What goes on behind the picture: benches and recordings that become ready, answers of dialogs, finished files.

use super::act::Purpose;
use super::replay::Replay;
use super::{Active, DISK_PAUSE, MESSAGE, MOVING, Slot, Workstation};
use crate::settings::BenchLayouts;
use crate::validating::Validating;
use crate::workspace::{PanelKind, Workspace};
use rt_core::record::disk::{Disk, SystemDisk};
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Workstation {
    /// Takes in everything that has become ready since the last picture.
    pub(super) fn poll(&mut self) {
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut self.drawn, now));
        self.advance_replay(elapsed.as_secs_f64());
        self.poll_bench();
        self.poll_loading();
        self.poll_recordings();
        self.poll_study();
        self.poll_validation();
        self.poll_script();
        self.poll_disk();
        self.poll_dialog();
        for sentence in self.exports.poll() {
            self.tell(sentence);
        }
        if self
            .message
            .as_ref()
            .is_some_and(|(_, since)| since.elapsed() > MESSAGE)
        {
            self.message = None;
        }
    }

    fn poll_bench(&mut self) {
        self.poll_rig_work();
        let ctx = self.ctx.clone();
        self.hold_dead_man(&ctx);
        if let Slot::Starting(starting) = &self.slot
            && let Some(answer) = starting.poll()
        {
            let title = starting.title.clone();
            let active = answer.and_then(|run| Active::new(run, self.waker()));
            self.slot = match active {
                Ok(active) => {
                    self.use_bench_layout(active.run.bench.id);
                    Slot::Active(Box::new(active))
                }
                Err(problem) => Slot::Failed { title, problem },
            };
            self.finished_seen = 0;
        }
        if let Slot::Active(active) = &mut self.slot {
            active.run.updates.free_used();
        }
        // The bench before has stopped by itself when it is dropped; that takes as long as its travel.
        if let Some(session) = self.next_session.take() {
            self.save();
            self.start(session);
        }
    }

    /// The arrangement that was last used with a bench.
    fn use_bench_layout(&mut self, bench: &'static str) {
        let layouts: Option<&BenchLayouts> = self.settings.layouts.get(bench);
        let (workspace, notice) = Workspace::load(bench, layouts);
        self.workspace = workspace;
        if let Some(notice) = notice {
            self.tell(notice);
        }
    }

    fn poll_loading(&mut self) {
        let Some(answer) = self.loading.as_ref().and_then(|l| l.poll()) else {
            return;
        };
        self.loading = None;
        match answer {
            Ok(recorded) => {
                if let Some(damage) = &recorded.damage {
                    self.tell(format!("parts of the recording cannot be read: {damage}"));
                }
                self.paused_at_s = None;
                self.replay = Some(Replay::new(recorded));
            }
            Err(problem) => self.tell(problem),
        }
    }

    fn poll_recordings(&mut self) {
        for notice in self.list.poll() {
            self.tell(notice);
        }
        let finished = match &self.slot {
            Slot::Active(active) => active.run.recorder_status().map_or(0, |s| s.finished.len()),
            _ => 0,
        };
        if finished != self.finished_seen {
            self.finished_seen = finished;
            self.list.refresh(self.waker());
        }
    }

    fn poll_study(&mut self) {
        let Some(finding) = self.studying.as_ref().and_then(|s| s.poll()) else {
            return;
        };
        self.studying = None;
        if let Some((paths, compared)) = finding.compared {
            self.comparison.take(paths, compared);
            self.workspace.bring_to_front(PanelKind::Comparison);
            // A run with other parameters is a recording too.
            self.list.refresh(self.waker());
        }
        if let Some(sentence) = finding.sentence {
            self.tell(sentence);
        }
    }

    fn poll_validation(&mut self) {
        if self.validating.as_mut().is_some_and(Validating::poll) {
            // Its rounds are recordings.
            self.list.refresh(self.waker());
        }
    }

    fn poll_script(&mut self) {
        if self.script.is_running() {
            self.ctx.request_repaint_after(MOVING);
        }
        if !self.script.poll() {
            return;
        }
        self.list.refresh(self.waker());
        let nothing = Slot::Failed {
            title: String::new(),
            problem: String::new(),
        };
        match std::mem::replace(&mut self.slot, nothing) {
            Slot::Lent(session) => self.start(*session),
            other => self.slot = other,
        }
    }

    fn poll_disk(&mut self) {
        if self.disk_seen.is_some_and(|s| s.elapsed() < DISK_PAUSE) {
            return;
        }
        self.disk_seen = Some(Instant::now());
        // The directory itself may not be there yet; the disk is that of the one above.
        let exists = |p: &&Path| p.is_dir();
        let place = self.settings.recordings.ancestors().find(exists);
        self.free_bytes = place.and_then(|p| SystemDisk.free_bytes(p).ok());
    }

    fn poll_dialog(&mut self) {
        let Some((dialog, _)) = &mut self.dialog else {
            return;
        };
        let Some(answer) = dialog.show(&self.ctx) else {
            return;
        };
        if let (Some(path), Some((_, purpose))) = (answer, self.dialog.take()) {
            self.chosen(path, purpose);
        }
        self.dialog = None;
    }

    /// What a person chose in a dialog.
    fn chosen(&mut self, path: PathBuf, purpose: Purpose) {
        match purpose {
            Purpose::OpenSession => self.open_session(&path),
            Purpose::OpenRecording => self.open_recording(path),
            Purpose::OpenScript => self.open_script(&path),
            Purpose::SaveScript => self.save_script(&path),
            Purpose::Recordings => {
                self.settings.recordings.clone_from(&path);
                self.list.set_directory(path);
                self.list.refresh(self.waker());
                self.tell("recordings go there from the next start of a session on");
            }
            Purpose::Write(content) => {
                let wake = self.waker();
                self.exports.begin(content, path, wake);
            }
        }
    }
}
