//! The window itself: opens it, keeps its title, and sees that the bench stops when it closes or a signal comes. Nothing that
//! befalls it (a panic, a lost display, lost graphics) reaches the loop other than as the wish to come to a controlled end.

use crate::cli::Failure;
use crate::home;
use crate::outlive;
use crate::session::LoadedSession;
use crate::signals;
use crate::workstation::Workstation;
use eframe::egui;
use rt_core::stop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The session that opens when none is named.
const FIRST_SESSION: &str = "sessions/first-look.ron";
/// How often signals are looked for.
const SIGNAL_PAUSE: Duration = Duration::from_millis(50);
/// How long a window may take to close by itself after a signal.
const GRACE: Duration = Duration::from_secs(3);

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
    let asked_to_end = Arc::new(AtomicBool::new(false));
    signals::set_on_request_to_end(&asked_to_end).map_err(Failure::Environment)?;
    let viewport = egui::ViewportBuilder::default()
        .with_title(format!("Pantobench – {}", loaded.session.title))
        .with_app_id("pantobench")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([900.0, 560.0]);
    let options = eframe::NativeOptions {
        viewport,
        ..Default::default()
    };
    let settings = home::config_dir().join("settings.ron");
    let create = move |cc: &eframe::CreationContext<'_>| {
        close_on_signal(asked_to_end, cc.egui_ctx.clone())?;
        let workstation = Workstation::new(&cc.egui_ctx, settings, loaded);
        let title = workstation.title();
        Ok(Box::new(Window { workstation, title }) as Box<dyn eframe::App>)
    };
    outlive::install().map_err(Failure::Environment)?;
    let run = || eframe::run_native("pantobench", options, Box::new(create));
    match outlive::guard(run) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(e)) => Err(Failure::Input(format!(
            "the window could not be opened, or has lost its display or graphics ({e}); every bench was stopped and its \
             recording finished. Without a display use 'pantobench run SESSION.ron'."
        ))),
        Err(panic) => Err(Failure::Environment(format!(
            "the window has ended by a defect of the software ({panic}); every bench was stopped and its recording finished"
        ))),
    }
}

/// A thread that sees to signals, because a minimised window does nothing. The loops hear of them by themselves; the
/// window closes, and the program ends once every motor rests.
fn close_on_signal(asked: Arc<AtomicBool>, ctx: egui::Context) -> std::io::Result<()> {
    let work = move || {
        while !asked.load(Ordering::Relaxed) {
            std::thread::park_timeout(SIGNAL_PAUSE);
        }
        // A window that can still draw closes by itself and finishes its recording.
        ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        ctx.request_repaint();
        let since = Instant::now();
        while since.elapsed() < GRACE || !stop::owners().is_empty() {
            std::thread::park_timeout(SIGNAL_PAUSE);
        }
        std::process::exit(0);
    };
    std::thread::Builder::new()
        .name("pantobench-signal".into())
        .spawn(work)?;
    Ok(())
}

struct Window {
    workstation: Workstation,
    title: String,
}

impl eframe::App for Window {
    /// Keys as they come, those of a minimised window included, which is not drawn.
    fn raw_input_hook(&mut self, _ctx: &egui::Context, raw_input: &mut egui::RawInput) {
        self.workstation.hear_stop(&raw_input.events, true);
    }

    fn logic(&mut self, _ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.workstation.attend_stop();
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.workstation.show(ui);
        let title = self.workstation.title();
        if title != self.title {
            ui.ctx()
                .send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.workstation.save();
    }
}
