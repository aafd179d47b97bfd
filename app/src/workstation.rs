//! The workstation: everything that the window shows and does, apart from the window system itself, so that tests can
//! drive it without one.

mod act;
mod background;
mod replay;
mod rig_work;
mod script;
mod show;
mod stop;
#[cfg(test)]
mod tests;
mod what_if;

use crate::analysis::stretch::Offered;
use crate::bench_run::{BenchRun, Starting};
use crate::crash;
use crate::export::Exports;
use crate::file_dialog::FileDialog;
use crate::grip::Goal;
use crate::guide::Guide;
use crate::home;
use crate::palette::Palette;
use crate::panels::commissioning::CommissioningPanel;
use crate::panels::comparison::ComparisonPanel;
use crate::panels::parameters::Controls;
use crate::panels::recordings::RecordingsPanel;
use crate::panels::rig::RigPanel;
use crate::panels::script::ScriptPanel;
use crate::panels::validation::ValidationPanel;
use crate::recorded::Loading;
use crate::recording_list::RecordingList;
use crate::rig_work::job::Job;
use crate::session::LoadedSession;
use crate::settings::{Settings, SettingsFile};
use crate::studies::Studying;
use crate::theme;
use crate::tuner::Tuner;
use crate::tuning_history::Presets;
use crate::validating::Validating;
use crate::workspace::Workspace;
use act::{Prompt, Purpose};
use eframe::egui::{self, ThemePreference};
use replay::Replay;
use rt_core::guard::State;
use rt_core::param::ParamSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use stop::StopDesk;
use what_if::WhatIfForm;

/// How often the picture is drawn anew while something moves, and while nothing does.
const MOVING: Duration = Duration::from_millis(33);
const RESTING: Duration = Duration::from_millis(250);
/// For how long a message stays.
const MESSAGE: Duration = Duration::from_secs(12);
/// How often the free space of the disk is looked at.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// The bench in the window.
enum Slot {
    /// It is being prepared.
    Starting(Starting),
    /// It is there.
    Active(Box<Active>),
    /// It has given the rig free for a piece of work on it.
    Working(Box<Working>),
    /// A script has its rig; this session comes back afterwards.
    Lent(Box<LoadedSession>),
    /// It could not be started.
    Failed {
        /// What the session is called.
        title: String,
        /// Why not.
        problem: String,
    },
}

/// A piece of work on a rig, and the session that follows it.
struct Working {
    job: Job,
    then: LoadedSession,
}

/// A running bench with the panels that belong to it.
struct Active {
    run: BenchRun,
    controls: Controls,
    tuning: Option<Tuner>,
    rig: RigPanel,
    changes_seen: usize,
}

/// See the module's text.
pub struct Workstation {
    ctx: egui::Context,
    settings: Settings,
    file: SettingsFile,
    slot: Slot,
    replay: Option<Replay>,
    loading: Option<Loading>,
    /// When the picture was drawn last.
    drawn: Instant,
    workspace: Workspace,
    paused_at_s: Option<f64>,
    offered: Offered,
    recordings: RecordingsPanel,
    comparison: ComparisonPanel,
    commissioning: CommissioningPanel,
    script: ScriptPanel,
    studying: Option<Studying>,
    validating: Option<Validating>,
    validation: ValidationPanel,
    what_if: Option<WhatIfForm>,
    list: RecordingList,
    /// Recordings that were finished when the list was read last.
    finished_seen: usize,
    free_bytes: Option<u64>,
    disk_seen: Option<Instant>,
    palette: Palette,
    guide: Guide,
    prompt: Option<Prompt>,
    dialog: Option<(FileDialog, Purpose)>,
    /// A picture of the window that was asked for: its name, the part of it, and where it comes from.
    screenshot: Option<(String, egui::Rect, mpsc::Receiver<Arc<egui::ColorImage>>)>,
    exports: Exports,
    settings_open: bool,
    message: Option<(String, Instant)>,
    /// What is waiting until the bench has stopped.
    next_session: Option<LoadedSession>,
    /// When the first of two steps was taken, and what it is to let happen.
    first_step: Option<(Goal, Instant)>,
    /// The drive finds its home position as long as the dead man's switch is held.
    homes_while_held: bool,
    stop: StopDesk,
}

impl Workstation {
    /// Opens a session; the bench is prepared in the background.
    pub fn new(ctx: &egui::Context, settings_path: PathBuf, session: LoadedSession) -> Self {
        let (file, settings, notice) = SettingsFile::load(settings_path);
        theme::apply(ctx);
        set_theme(ctx, settings.dark);
        ctx.set_zoom_factor(settings.scale);
        let bench = session.session.bench.spec().id;
        let (workspace, layout_notice) = Workspace::load(bench, settings.layouts.get(bench));
        let mut own = Self {
            ctx: ctx.clone(),
            slot: Slot::Failed {
                title: session.session.title.clone(),
                problem: String::new(),
            },
            replay: None,
            loading: None,
            drawn: Instant::now(),
            workspace,
            paused_at_s: None,
            offered: Offered::default(),
            recordings: RecordingsPanel::default(),
            comparison: ComparisonPanel::default(),
            commissioning: CommissioningPanel::default(),
            script: ScriptPanel::default(),
            studying: None,
            validating: None,
            validation: ValidationPanel::default(),
            what_if: None,
            list: RecordingList::new(settings.recordings.clone()),
            finished_seen: 0,
            free_bytes: None,
            disk_seen: None,
            palette: Palette::default(),
            guide: Guide::new(!settings.guide_seen),
            prompt: None,
            dialog: None,
            screenshot: None,
            exports: Exports::default(),
            settings_open: false,
            message: None,
            next_session: None,
            first_step: None,
            homes_while_held: false,
            stop: StopDesk::default(),
            settings,
            file,
        };
        own.recordings.remarks.operator =
            Some(own.settings.operator.clone()).filter(|o| !o.is_empty());
        own.start(session);
        own.list.refresh(own.waker());
        for notice in [notice, layout_notice].into_iter().flatten() {
            own.tell(notice);
        }
        if let Some(report) = crash::take_unseen() {
            let path = report.display();
            own.tell(format!(
                "The program was ended by a defect the last time; what is known is in {path}"
            ));
        }
        own
    }

    /// A function that has the picture drawn anew, soon.
    fn waker(&self) -> impl Fn() + Clone + Send + Sync + 'static {
        let ctx = self.ctx.clone();
        move || ctx.request_repaint()
    }

    /// Prepares a session in place of the bench that was there.
    fn start(&mut self, session: LoadedSession) {
        let ctx = self.ctx.clone();
        let wake = move |state: State| {
            let is_moving = !matches!(state, State::Idle | State::Ready);
            ctx.request_repaint_after(if is_moving { MOVING } else { RESTING });
        };
        let title = session.session.title.clone();
        let nothing = Slot::Failed {
            title: title.clone(),
            problem: String::new(),
        };
        let before = match std::mem::replace(&mut self.slot, nothing) {
            Slot::Active(active) => Some(active.run),
            _ => None,
        };
        self.slot = match Starting::begin(session, &self.settings, before, wake) {
            Ok(starting) => Slot::Starting(starting),
            Err(problem) => Slot::Failed { title, problem },
        };
    }

    /// A sentence for the technician.
    fn tell(&mut self, sentence: impl Into<String>) {
        self.message = Some((sentence.into(), Instant::now()));
        self.ctx.request_repaint_after(MESSAGE);
    }

    /// State of the bench.
    pub fn state(&self) -> State {
        match &self.slot {
            Slot::Active(active) => active.run.live().map_or(State::Idle, |l| l.latest.state),
            _ => State::Idle,
        }
    }

    /// What the window is called.
    pub fn title(&self) -> String {
        let session = match &self.slot {
            Slot::Starting(starting) => &starting.title,
            Slot::Active(active) => &active.run.loaded.session.title,
            Slot::Working(working) => &working.then.session.title,
            Slot::Lent(session) => &session.session.title,
            Slot::Failed { title, .. } => title,
        };
        format!("Pantobench – {session}")
    }

    /// Keeps settings and arrangement for the next start.
    pub fn save(&mut self) {
        if let Slot::Active(active) = &self.slot
            && let Ok(text) = self.workspace.text()
        {
            let bench = active.run.bench.id.to_owned();
            self.settings.layouts.entry(bench).or_default().current = Some(text);
        }
        self.settings.operator = self.recordings.remarks.operator.clone().unwrap_or_default();
        if let Err(problem) = self.file.save(&self.settings) {
            self.tell(problem);
        }
    }
}

fn set_theme(ctx: &egui::Context, dark: bool) {
    ctx.set_theme(if dark {
        ThemePreference::Dark
    } else {
        ThemePreference::Light
    });
}

impl Active {
    fn new(mut run: BenchRun, wake: impl Fn() + Send + 'static) -> Result<Self, String> {
        let params: ParamSet = run.params;
        let start: Vec<f64> = (0..params.specs().len()).map(|i| params.get(i)).collect();
        let tuning = run.designer.take().map(|designer| {
            let file = format!("presets-{}.ron", run.bench.id);
            let presets = Presets::load(home::config_dir().join(file));
            Tuner::start(Arc::from(designer), params, presets, wake)
        });
        let tuning = tuning.transpose();
        let file = run.loaded.rig_path();
        Ok(Self {
            rig: RigPanel::new(run.rig.clone(), file, home::calibrations_dir()),
            controls: Controls::new(&start),
            tuning: tuning.map_err(|e| format!("no thread for the design of gains: {e}"))?,
            run,
            changes_seen: 0,
        })
    }
}
