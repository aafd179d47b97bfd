//! The window: wires a real-time run to the panels.

use crate::cli::Failure;
use crate::command::UiCommand;
use crate::data::Data;
use crate::history::History;
use crate::ingest::Ingest;
use crate::panels::tuning::TuningPanel;
use crate::panels::{events, parameters::Controls, plots::Plots, status, trip};
use crate::runtime::{self, RealTimeRun};
use crate::session::LoadedSession;
use crate::tuner::{Outgoing, Tuner};
use crate::tuning::Refused;
use crate::tuning_history::Presets;
use crate::view::{Ask, View};
use crate::{home, signals, theme};
use eframe::egui::{self, Panel, ThemePreference};
use rt_core::channel::Layout;
use rt_core::link::{Command, UpdateSide};
use rt_core::param::{Applies, ParamSet};
use rt_core::rt_env::RtStatus;
use rt_core::timing::Timing;
use rtrb::Producer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// The session that opens when none is named.
const FIRST_SESSION: &str = "sessions/first-look.ron";
/// Memory for the past that the plots can show.
const HISTORY_BYTES: usize = 512 << 20;

/// Opens the window with a session, or with the first one.
pub fn open(session: Option<PathBuf>) -> Result<(), Failure> {
    if !["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()))
    {
        return Err(Failure::Input(
            "there is no display to open a window on. Without one use 'pantobench run SESSION.ron', \
             for example 'pantobench run sessions/profile-sine.ron'; 'pantobench --help' lists all commands."
                .into(),
        ));
    }
    let path = match session {
        Some(path) => path,
        None => home::find(FIRST_SESSION).map_err(Failure::Input)?,
    };
    let loaded = LoadedSession::load(&path).map_err(Failure::input)?;
    let run = runtime::start_real_time(&loaded).map_err(Failure::input)?;
    end_on_signal(&run).map_err(Failure::Environment)?;
    let viewport = egui::ViewportBuilder::default()
        .with_title(format!("Pantobench – {}", loaded.session.title))
        .with_app_id("pantobench")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([900.0, 560.0]);
    let options = eframe::NativeOptions {
        viewport,
        ..Default::default()
    };
    eframe::run_native("pantobench", options, Box::new(|cc| Ok(Box::new(Window::new(cc, &loaded, run)?)))).map_err(
        |e| {
            Failure::Input(format!(
                "the window could not be opened ({e}). Without a display use 'pantobench run SESSION.ron'."
            ))
        },
    )
}

/// Ctrl-C stops the bench in a controlled way, then ends the program; a thread sees to it, because a
/// minimised window does nothing.
fn end_on_signal(run: &RealTimeRun) -> Result<(), String> {
    let (quit, ended) = (Arc::clone(&run.user.quit), Arc::clone(&run.ended));
    signals::set_on_request_to_end(&quit)?;
    let watch = move || {
        while !(quit.load(Ordering::Relaxed) && ended.load(Ordering::Acquire)) {
            std::thread::park_timeout(SIGNAL_PAUSE);
        }
        std::process::exit(0);
    };
    let thread = std::thread::Builder::new()
        .name("pantobench-signal".into())
        .spawn(watch);
    thread
        .map(drop)
        .map_err(|e| format!("the thread for signals could not be started: {e}"))
}

/// How often signals are looked for.
const SIGNAL_PAUSE: Duration = Duration::from_millis(50);

struct Window {
    title: String,
    rig: String,
    layout: Layout,
    timing: Arc<Timing>,
    rt: RtStatus,
    period_nanos: u64,
    params: ParamSet,
    commands: Option<Producer<Command>>,
    thread: Option<JoinHandle<()>>,
    ingest: Ingest,
    controls: Controls,
    plots: Plots,
    updates: UpdateSide,
    /// Of benches whose parameters need gains.
    tuning: Option<(TuningPanel, Tuner)>,
}

impl Window {
    fn new(
        cc: &eframe::CreationContext<'_>,
        loaded: &LoadedSession,
        run: RealTimeRun,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        theme::apply(&cc.egui_ctx);
        cc.egui_ctx.set_theme(ThemePreference::Dark);
        let RealTimeRun {
            user,
            layout,
            bench,
            designer,
            params,
            period_nanos,
            rt,
            thread,
            ..
        } = run;
        let start: Vec<f64> = (0..bench.params.len()).map(|i| params.get(i)).collect();
        let frames = user.display.ok_or("the loop has no ring for the display")?;
        let data = Data {
            channels: layout.channels().iter().map(Into::into).collect(),
            history: History::new(layout.len(), HISTORY_BYTES),
            events: Default::default(),
            period_s: period_nanos as f64 * 1e-9,
            line: None,
        };
        let ctx = cc.egui_ctx.clone();
        let tuning = designer
            .map(|designer| {
                let ctx = ctx.clone();
                let file = format!("presets-{}.ron", bench.id);
                let presets = Presets::load(home::config_dir().join(file));
                let wake = move || ctx.request_repaint();
                let tuner = Tuner::start(Arc::from(designer), params, presets, wake)?;
                Ok::<_, std::io::Error>((TuningPanel::default(), tuner))
            })
            .transpose()?;
        let wake = move || ctx.request_repaint();
        let ingest = Ingest::start(
            frames,
            user.events,
            layout.clone(),
            bench.params,
            start.clone(),
            data,
            wake,
        )?;
        Ok(Self {
            title: loaded.session.title.clone(),
            rig: loaded.rig_name(),
            timing: user.timing,
            commands: Some(user.commands),
            controls: Controls::new(&start),
            plots: Plots::default(),
            updates: user.updates,
            tuning,
            thread: Some(thread),
            layout,
            rt,
            period_nanos,
            params,
            ingest,
        })
    }

    fn send(&mut self, command: Command) {
        if let Some(ring) = &mut self.commands {
            // 256 unserved commands mean that the loop no longer cycles; the bar then says so.
            let _ = ring.push(command);
        }
    }

    /// Sends what the tuning has for the loop.
    fn send_tuning(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::NoteRefusal(verdict) => self.send(Command::NoteRefusal(verdict)),
            Outgoing::Update(update) => {
                if self.updates.send(update).is_err()
                    && let Some((_, tuner)) = &mut self.tuning
                {
                    tuner.tell(Some(Refused::Busy.to_string()));
                }
            }
        }
    }

    fn execute(&mut self, ctx: &egui::Context, command: UiCommand) {
        if let Some(request) = command.request() {
            self.send(Command::Request(request));
        }
        match command {
            UiCommand::Pause => {
                let now = self.ingest.live().data.history.newest_s();
                self.plots.toggle_pause(now);
            }
            UiCommand::Theme => {
                let dark = ctx.theme() == egui::Theme::Dark;
                ctx.set_theme(if dark {
                    ThemePreference::Light
                } else {
                    ThemePreference::Dark
                });
            }
            UiCommand::Arm | UiCommand::Run | UiCommand::Stop | UiCommand::Acknowledge => {}
        }
    }
}

impl eframe::App for Window {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let mut todo: Vec<UiCommand> = UiCommand::ALL
            .into_iter()
            .filter(|c| ctx.input_mut(|input| input.consume_shortcut(&c.shortcut())))
            .collect();
        let mut changes = Vec::new();
        let mut asks = Vec::new();
        let mut tuned = Vec::new();
        {
            let live = self.ingest.live();
            let view = status::View {
                state: live.latest.state,
                ended: self.thread.as_ref().is_none_or(JoinHandle::is_finished),
                timing: &self.timing,
                rt: &self.rt,
                period_nanos: self.period_nanos,
                paused: self.plots.is_paused(),
            };
            Panel::top("status").show(ui, |ui| {
                ui.add_space(6.0);
                todo.extend(status::show(ui, &view));
                ui.add_space(6.0);
            });
            if let Some(event) = &live.trip {
                Panel::top("trip").show(ui, |ui| trip::show(ui, event, &self.layout));
            }
            Panel::bottom("events")
                .resizable(true)
                .default_size(130.0)
                .show(ui, |ui| {
                    ui.add_space(4.0);
                    events::show(ui, live.data.events.iter());
                });
            Panel::left("parameters")
                .resizable(false)
                .exact_size(if self.tuning.is_some() { 350.0 } else { 290.0 })
                .show(ui, |ui| {
                    ui.add_space(6.0);
                    ui.heading(&self.title);
                    ui.label(format!("Rig: {}", self.rig));
                    ui.separator();
                    let direct = |p: &rt_core::param::ParamSpec| p.applies == Applies::Directly;
                    if self.tuning.is_none() || self.params.specs().iter().any(direct) {
                        changes = self.controls.show(ui, self.params.specs(), &live.applied);
                    }
                    if let Some((panel, tuner)) = &mut self.tuning {
                        tuned.extend(tuner.follow(&live.applied));
                        let view = View {
                            data: &live.data,
                            now_s: live.data.history.newest_s().unwrap_or(0.0),
                            is_following: true,
                            is_replay: false,
                        };
                        panel.show(ui, &view, Some(tuner), &mut asks);
                    }
                });
            egui::CentralPanel::default().show(ui, |ui| {
                self.plots
                    .show(ui, &live.data.channels, &live.data.history, &live.latest);
            });
        }
        for (index, value) in changes {
            self.send(Command::SetParam { index, value });
        }
        if let Some((_, tuner)) = &mut self.tuning {
            for ask in &asks {
                if let Ask::Tune(ask) = ask {
                    tuned.extend(tuner.handle(ask));
                }
            }
        }
        for outgoing in tuned {
            self.send_tuning(outgoing);
        }
        self.updates.free_used();
        for command in todo {
            self.execute(&ctx, command);
        }
    }
}

impl Drop for Window {
    /// Closing the window stops the bench in a controlled way and waits for it.
    fn drop(&mut self) {
        self.send(Command::Quit);
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A loop that has panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}
