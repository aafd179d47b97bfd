//! The workflows of a technician, by role and label, on a bench that really runs.

use super::*;
use crate::workspace::PanelKind;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use std::path::Path;

/// How long a bench may take for anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A window with files of its own.
struct Bench {
    harness: Harness<'static, Option<Workstation>>,
    directory: PathBuf,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pantograph under a string: prepared at once, tuned like any other.
const UNDER_A_STRING: &str = r#"Session(
    title: "Pantograph under a string",
    bench: PantographLqg(
        wire: String(),
        speed_kmh: 250.0,
        specimen: "ROOT/assets/pantographs/dsa-380.ron",
    ),
    rig: "ROOT/assets/rigs/simulated-dsa-380.ron",
    uplift_n: 130.625,
    max_misses: 100000,
    INJECT
)"#;

impl Bench {
    fn open(name: &str, session: &str) -> Self {
        let own = format!("pantobench-window-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(own);
        // Left over from a run that was killed.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let settings = directory.join("settings.ron");
        let recordings = directory.join("recordings");
        let text = format!(
            "(guide_seen: true, history_mb: 64, before_s: 1.0, recordings: \"{}\")",
            recordings.display()
        );
        std::fs::write(&settings, text).unwrap();
        let file = directory.join("session.ron");
        let text = session.replace("ROOT", &root().display().to_string());
        std::fs::write(&file, text.replace("INJECT", "")).unwrap();
        let mut session = Some(LoadedSession::load(&file).unwrap());
        let harness = Harness::builder()
            .with_size(egui::vec2(1280.0, 800.0))
            .build_ui_state(
                move |ui, workstation: &mut Option<Workstation>| {
                    if let Some(session) = session.take() {
                        let settings = settings.clone();
                        *workstation = Some(Workstation::new(ui.ctx(), settings, session));
                    }
                    if let Some(workstation) = workstation {
                        workstation.show(ui);
                    }
                },
                None,
            );
        let mut bench = Self { harness, directory };
        bench.wait("the bench is ready", |w| w.state() == State::Ready);
        bench
    }

    fn window(&mut self) -> &mut Workstation {
        self.harness.state_mut().as_mut().unwrap()
    }

    fn wait(&mut self, what: &str, mut is_so: impl FnMut(&mut Workstation) -> bool) {
        let since = Instant::now();
        loop {
            self.harness.run_steps(1);
            if is_so(self.window()) {
                return;
            }
            let message = self.window().message.clone().map(|m| m.0);
            assert!(
                since.elapsed() < PATIENCE,
                "waited for: {what}; {message:?}"
            );
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn press(&mut self, label: &str) {
        self.harness
            .get_by_role_and_label(egui::Role::Button, label)
            .click();
        self.harness.run_steps(2);
    }

    fn show(&mut self, kind: PanelKind) {
        self.window().execute(crate::command::UiCommand::Show(kind));
        self.harness.run_steps(2);
    }

    fn run(&mut self) {
        self.press("Arm");
        self.wait("armed", |w| w.state() == State::Armed);
        self.press("Run");
        self.wait("running", |w| w.state() == State::Running);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        *self.harness.state_mut() = None;
        // A test that has failed already matters more than what is left behind.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Whether the list has a recording that is not being written any more.
fn has_whole_recording(w: &mut Workstation) -> bool {
    let mut sessions = w
        .list
        .entries()
        .iter()
        .filter_map(|e| e.session.as_ref().ok());
    sessions.any(|s| s.info.finished)
}

#[test]
fn arm_run_stop_and_the_run_is_recorded_and_replayed() {
    let mut bench = Bench::open("arm-run-stop", UNDER_A_STRING);
    let run = bench
        .harness
        .get_by_role_and_label(egui::Role::Button, "Run");
    assert!(run.accesskit_node().is_disabled());
    bench.run();
    bench.harness.get_by_label("State: Running");
    bench.harness.get_by_label("End recording");
    // Escape stops from anywhere.
    bench.harness.key_press(egui::Key::Escape);
    bench.wait("stopped", |w| {
        matches!(w.state(), State::Idle | State::Ready)
    });
    bench.wait("the recording is listed", has_whole_recording);
    bench.show(PanelKind::Recordings);
    bench
        .harness
        .get_by_role_and_label(egui::Role::Link, "Pantograph under a string")
        .click();
    bench.wait("the recording is open", |w| w.replay.is_some());
    let whole = bench.window().replay.as_ref().unwrap().head.whole();
    assert!(whole.length_s() > 0.5, "{whole:?}");
    bench.press("Play");
    bench.wait("it plays", |w| {
        w.replay.as_ref().unwrap().head.position_s() > whole.from_s + 0.05
    });
    bench.press("Play");
    let held = bench.window().replay.as_ref().unwrap().head.position_s();
    bench.press("Step forward");
    let now = bench.window().replay.as_ref().unwrap().head.position_s();
    assert!((now - held - 0.002).abs() < 0.0015, "{held} {now}");
    bench.press("Back to the bench");
    assert!(bench.window().replay.is_none());
}

#[test]
fn a_trip_explains_itself_and_is_acknowledged() {
    let inject = "inject: [(fault: Offset(signal: Force, size: 900.0), after_s: 10.0)],";
    let mut bench = Bench::open("trip", &UNDER_A_STRING.replace("INJECT", inject));
    bench.press("Arm");
    bench.wait("tripped", |w| w.state() == State::Tripped);
    bench.harness.run_steps(2);
    bench.harness.get_by_label_contains("■ Tripped at");
    bench.harness.get_by_label_contains("What to do");
    bench.harness.get_by_label_contains("the second before");
    bench.press("Acknowledge");
    bench.wait("released", |w| w.state() != State::Tripped);
}

#[test]
fn a_marker_with_a_text_is_among_the_events() {
    let mut bench = Bench::open("marker", UNDER_A_STRING);
    bench
        .harness
        .key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::M);
    bench.harness.run_steps(2);
    bench
        .harness
        .get_by_label("Text of the marker")
        .type_text("new strips");
    bench.harness.run_steps(1);
    bench.press("OK");
    bench.wait("the marker is there", |w| {
        let text = |d: &crate::data::Data| d.events.iter().any(|e| e.text == "new strips");
        w.with_data(text).unwrap_or(false)
    });
}

#[test]
fn a_recording_by_hand_is_exported() {
    let mut bench = Bench::open("export", UNDER_A_STRING);
    bench.press("Record");
    bench.wait("recording", |w| match &w.slot {
        Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 200),
        _ => false,
    });
    bench.press("End recording");
    bench.wait("listed", has_whole_recording);
    let path = bench.window().list.entries()[0].path.clone();
    for ending in ["csv", "mcap", "parquet"] {
        let out = bench.directory.join(format!("table.{ending}"));
        let wake = bench.window().waker();
        let content = crate::export::Content::Recording(path.clone());
        bench.window().exports.begin(content, out.clone(), wake);
        bench.wait("written", |w| w.message.is_some());
        let message = bench.window().message.take().unwrap().0;
        assert!(message.starts_with("written"), "{message}");
        assert!(out.metadata().unwrap().len() > 1000);
    }
}

#[test]
fn panels_open_by_command_and_layouts_are_kept_by_name() {
    let mut bench = Bench::open("layout", UNDER_A_STRING);
    for kind in PanelKind::ALL {
        bench.show(kind);
        assert!(bench.window().workspace.is_open(kind), "{kind:?}");
    }
    bench.window().save_layout("everything");
    bench
        .window()
        .execute(crate::command::UiCommand::ResetLayout);
    assert_eq!(bench.window().workspace.name(), None);
    bench
        .window()
        .execute(crate::command::UiCommand::NextLayout);
    assert_eq!(bench.window().workspace.name(), Some("everything"));
    bench.harness.run_steps(2);
}

#[test]
fn the_palette_finds_and_does() {
    let mut bench = Bench::open("palette", UNDER_A_STRING);
    bench
        .harness
        .key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::P);
    bench.harness.run_steps(2);
    bench
        .harness
        .get_by_label("Search commands")
        .type_text("dark");
    bench.harness.run_steps(2);
    bench.harness.key_press(egui::Key::Enter);
    bench.harness.run_steps(2);
    assert!(!bench.window().settings.dark);
}

#[test]
fn a_session_that_cannot_be_started_says_why() {
    let own = format!("pantobench-window-bad-{}", std::process::id());
    let directory = std::env::temp_dir().join(own);
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("session.ron");
    let text = UNDER_A_STRING.replace("ROOT/assets/rigs", "/nowhere");
    let text = text.replace("ROOT", &root().display().to_string());
    std::fs::write(&file, text.replace("INJECT", "")).unwrap();
    let session = LoadedSession::load(&file).unwrap();
    let settings = directory.join("settings.ron");
    let ctx = egui::Context::default();
    let mut workstation = Workstation::new(&ctx, settings, session);
    let since = Instant::now();
    let problem = loop {
        workstation.poll();
        if let Slot::Failed { problem, .. } = &workstation.slot
            && !problem.is_empty()
        {
            break problem.clone();
        }
        assert!(since.elapsed() < PATIENCE);
        std::thread::park_timeout(Duration::from_millis(10));
    };
    assert!(problem.contains("/nowhere"), "{problem}");
    std::fs::remove_dir_all(&directory).unwrap();
}
