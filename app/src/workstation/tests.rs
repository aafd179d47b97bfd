//! The workflows of a technician, by role and label, on a bench that really runs.

mod replay;
mod stop;

use super::*;
use crate::command::UiCommand;
use crate::view::Ask;
use crate::workspace::PanelKind;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use rt_core::bench;
use rt_core::rig::RigCommand;
use std::path::Path;

/// How long a bench may take for anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(240);

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

const A_SINE: &str = r#"Session(title: "Sine", bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),
    rig: "ROOT/assets/rigs/simulated-dsa-380.ron", max_misses: 100000, INJECT)"#;

impl Bench {
    /// A bench that is ready to be armed.
    fn open(name: &str, session: &str) -> Self {
        let mut bench = Self::start(name, session);
        bench.wait("the bench is ready", |w| w.state() == State::Ready);
        bench
    }

    fn start(name: &str, session: &str) -> Self {
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
                        let mut own = Workstation::new(ui.ctx(), settings, session);
                        // Other tests have loops in this process.
                        own.stop.find_nobody_else();
                        *workstation = Some(own);
                    }
                    if let Some(workstation) = workstation {
                        workstation.show(ui);
                    }
                },
                None,
            );
        Self { harness, directory }
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
        self.harness.run_steps(2);
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
    bench.wait("a second of it", |w| match &w.slot {
        Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 600),
        _ => false,
    });
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
    let position = |w: &Workstation| w.replay.as_ref().unwrap().head.position_s();
    assert_eq!(position(bench.window()), whole.to_s);
    // From the end it plays from the beginning.
    bench.window().execute(crate::command::UiCommand::PlayPause);
    bench.wait("it plays", |w| {
        (whole.from_s + 0.05..whole.to_s).contains(&position(w))
    });
    bench.window().execute(crate::command::UiCommand::StepBack);
    let held = position(bench.window());
    bench.press("Step forward");
    let now = position(bench.window());
    assert!((now - held - 0.002).abs() < 0.0015, "{held} {now}");
    bench.press("Back to the bench");
    assert!(bench.window().replay.is_none());
}

#[test]
fn a_trip_explains_itself_and_is_acknowledged() {
    let inject = "inject: [(fault: Offset(signal: Force, size: 900.0), after_s: 1.0)],";
    let mut bench = Bench::open("trip", &UNDER_A_STRING.replace("INJECT", inject));
    bench.run();
    bench.wait("tripped", |w| w.state() == State::Tripped);
    bench.harness.run_steps(2);
    bench.harness.get_by_label_contains("■ Tripped at");
    bench.harness.get_by_label_contains("What to do");
    let pictures = bench
        .harness
        .query_all_by_label_contains("the second before");
    assert!(pictures.count() > 0);
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
    bench.window().workspace.show_only(PanelKind::Recordings);
    bench.harness.run_steps(2);
    // What stands beside a field has its name too.
    for (name, text) in [
        ("Rain", "none"),
        ("Temperature, °C", "21,5"),
        ("Wind, m/s", "-3"),
    ] {
        let field = egui::Role::TextInput;
        bench.harness.get_by_role_and_label(field, name).focus();
        bench.harness.run_steps(2);
        let field = bench.harness.get_by_role_and_label(field, name);
        field.type_text(text);
        bench.harness.run_steps(2);
    }
    bench.harness.get_by_label_contains("expected 0 to 150 m/s");
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
    let session = rt_core::record::reader::Session::open(&path).unwrap();
    let stated: Vec<(&str, &str)> = session
        .header()
        .environment
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(stated, [("rain", "none"), ("temperature_c", "21.5")]);
    for ending in ["html", "pdf"] {
        let out = bench.directory.join(format!("report.{ending}"));
        let wake = bench.window().waker();
        let content = crate::export::Content::Report(vec![path.clone()]);
        bench.window().exports.begin(content, out.clone(), wake);
        bench.wait("written", |w| w.message.is_some());
        let message = bench.window().message.take().unwrap().0;
        assert!(message.starts_with("written"), "{message}");
        assert!(out.metadata().unwrap().len() > 10_000);
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

#[test]
fn q_is_changed_after_its_prediction_and_an_unstable_k_i_needs_insisting() {
    use crate::tuner::TuningAsk;
    let mut bench = Bench::open("tune", UNDER_A_STRING);
    bench.run();
    let applied = |w: &mut Workstation, id: &str| match &w.slot {
        Slot::Active(a) => {
            let at = rt_core::param::find(a.run.bench.params, id).unwrap();
            a.run.live().unwrap().applied[at]
        }
        _ => f64::NAN,
    };
    let propose = |bench: &mut Bench, id: &str, value: f64| {
        let specs = bench::specs().iter().find(|s| s.id == "pantograph-lqg");
        let at = rt_core::param::find(specs.unwrap().params, id).unwrap();
        let ask = crate::view::Ask::Tune(TuningAsk::Propose(vec![(at, value)]));
        bench.window().serve(ask);
    };
    let can_apply = |w: &mut Workstation| match &w.slot {
        Slot::Active(a) => a.tuning.as_ref().unwrap().can_apply(),
        _ => false,
    };
    propose(&mut bench, "q", 20.0);
    bench.wait("judged", can_apply);
    assert_eq!(applied(bench.window(), "q"), 5.0);
    bench.press("Apply");
    bench.wait("applied", |w| applied(w, "q") == 20.0);
    // Undo from the keyboard, whatever panel is in front.
    bench
        .harness
        .key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    bench.wait("undone", |w| applied(w, "q") == 5.0);
    propose(&mut bench, "k_i", 300e3);
    bench.wait("judged", |w| match &w.slot {
        Slot::Active(a) => a.tuning.as_ref().unwrap().needs_insisting(),
        _ => false,
    });
    assert!(!can_apply(bench.window()));
    let apply = bench
        .harness
        .get_by_role_and_label(egui::Role::Button, "Apply");
    assert!(apply.accesskit_node().is_disabled());
    assert_eq!(applied(bench.window(), "k_i"), 50e3);
}

/// A window that does not draw for 5 s: loop, guard and recorder go on, and nothing is lost.
#[test]
fn a_blocked_window_loses_nothing() {
    use rt_core::timing::Timing;
    // No force feedback: a machine that stands still for a while must not trip what is recorded.
    let mut bench = Bench::open("blocked", A_SINE);
    bench.run();
    let cycles = |w: &Workstation| match &w.slot {
        Slot::Active(a) => {
            let t = &a.run.timing;
            let done = Timing::read(&t.cycles) + Timing::read(&t.skipped);
            (
                done,
                Timing::read(&t.record_drops) + Timing::read(&t.event_drops),
            )
        }
        _ => (0, 0),
    };
    let before = cycles(bench.window());
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(5) {
        std::thread::park_timeout(Duration::from_millis(500));
    }
    let after = cycles(bench.window());
    // 2500 ticks in 5 s; a shared machine may be late by some.
    assert!(after.0 - before.0 > 2000, "{before:?} {after:?}");
    assert_eq!(after.1, 0);
    bench.press("STOP");
    bench.wait("the recording is whole", has_whole_recording);
    let path = bench.window().list.entries()[0].path.clone();
    let session = rt_core::record::reader::Session::open(&path).unwrap();
    let report = session.check().unwrap();
    assert!(report.info.ok && report.info.drops == 0, "{report:?}");
    assert!(report.info.seconds > 5.0, "{}", report.info.seconds);
}

#[test]
fn two_runs_are_compared() {
    let sine = std::fs::read_to_string(root().join("sessions/profile-sine.ron")).unwrap();
    // A machine that is busy with other tests may be late often; that is not what is tested here. Cycles of 10 ms leave no
    // gaps in the spectra all the same.
    let sine = sine.replacen(
        "Session(",
        "Session(max_misses: 100000, period_us: 10000.0,",
        1,
    );
    let mut bench = Bench::open("compare", &sine.replace("\"../assets", "\"ROOT/assets"));
    for run in 1..=2 {
        bench.run();
        // Long enough for spectra of both.
        bench.wait("some spans", |w| match &w.slot {
            Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 800),
            _ => false,
        });
        bench.press("STOP");
        bench.wait("ready again", |w| w.state() == State::Ready);
        bench.wait("recorded", |w| {
            let whole = |e: &rt_core::record::list::ListEntry| {
                e.session.as_ref().is_ok_and(|s| s.info.finished)
            };
            w.list.entries().iter().filter(|e| whole(e)).count() == run
        });
    }
    // All of the window, so that every row can be clicked.
    bench.window().workspace.show_only(PanelKind::Recordings);
    bench.harness.run_steps(2);
    let names: Vec<String> = bench
        .window()
        .list
        .entries()
        .iter()
        .map(|e| {
            let name = e.path.file_name().unwrap().to_string_lossy();
            format!("Select {name}")
        })
        .collect();
    for name in &names {
        bench.harness.get_by_label(name).click();
        bench.harness.run_steps(2);
    }
    let report = bench.harness.get_by_label("Report …");
    assert!(!report.accesskit_node().is_disabled());
    assert_eq!(bench.window().recordings.selected().len(), 2);
    bench.press("Compare");
    bench.wait("compared", |w| w.studying.is_none());
    bench.harness.run_steps(2);
    assert_eq!(bench.window().message, None);
    bench.harness.get_by_label_contains("Curves; Differences");
}

/// In real time a script gets the rig of the window; it comes back at the end, and STOP reaches the script.
#[test]
fn a_script_gets_the_rig_and_gives_it_back() {
    let mut bench = Bench::open("script", UNDER_A_STRING);
    let source = "let b = load(\"session.ron\");\nb.arm();\nb.run_for(0.3);\ncheck(\"runs\", b.state() == \"Running\");";
    let script = bench.directory.join("test.rhai");
    std::fs::write(&script, source).unwrap();
    bench.window().open_script(&script);
    bench.window().workspace.show_only(PanelKind::Script);
    bench.harness.run_steps(2);
    bench.press("Real time");
    bench.press("▶ Run script");
    bench.wait("the script has the rig", |w| {
        matches!(w.slot, Slot::Lent(_))
    });
    bench.wait("the bench is back", |w| {
        !w.script.is_running() && w.state() == State::Ready
    });
    bench.window().workspace.show_only(PanelKind::Script);
    bench.harness.run_steps(3);
    bench
        .harness
        .get_by_label_contains("done: 1 of 1 checks held");

    std::fs::write(&script, source.replace("0.3", "3000")).unwrap();
    bench.window().open_script(&script);
    bench.harness.run_steps(2);
    bench.press("▶ Run script");
    bench.wait("the script has the rig again", |w| {
        matches!(w.slot, Slot::Lent(_))
    });
    bench.window().execute(UiCommand::Stop);
    bench.wait("the bench is back again", |w| {
        !w.script.is_running() && w.state() == State::Ready
    });
    bench.window().workspace.show_only(PanelKind::Script);
    bench.harness.run_steps(3);
    bench.harness.get_by_label_contains("✖ stopped");
}

/// Every panel of every bench in both themes: drawn, filled, with every sign in the fonts. The pictures are kept
/// where `PANTOBENCH_LOOK` says, for people to look at.
#[test]
fn every_panel_is_drawn_for_every_bench_in_both_themes() {
    let sessions = [
        (
            "profile",
            std::fs::read_to_string(root().join("sessions/profile-sine.ron")).unwrap(),
        ),
        (
            "steady",
            std::fs::read_to_string(root().join("sessions/steady-250.ron")).unwrap(),
        ),
        ("lqg", UNDER_A_STRING.to_owned()),
    ];
    let look = std::env::var_os("PANTOBENCH_LOOK").map(PathBuf::from);
    for (name, session) in sessions {
        let session = session.replace("\"../assets", "\"ROOT/assets");
        let mut bench = Bench::open(&format!("look-{name}"), &session);
        bench.run();
        for dark in [true, false] {
            bench.window().settings.dark = dark;
            let ctx = bench.window().ctx.clone();
            set_theme(&ctx, dark);
            for kind in PanelKind::ALL {
                bench.window().workspace.show_only(kind);
                bench.harness.run_steps(3);
                let Ok(picture) = bench.harness.render() else {
                    eprintln!("no pictures: there is no renderer on this machine");
                    return;
                };
                // Most of the bar at the top is background.
                let bar = picture
                    .enumerate_pixels()
                    .filter(|(_, y, _)| (16..56).contains(y));
                let mut bright: Vec<u8> = bar.map(|(_, _, p)| p.0[1]).collect();
                bright.sort_unstable();
                let middle = bright[bright.len() / 2];
                assert_eq!(middle < 128, dark, "{name} {kind:?}: {middle}");
                let below = picture.height() / 5;
                let colors: std::collections::BTreeSet<[u8; 4]> = picture
                    .enumerate_pixels()
                    .filter(|(_, y, _)| *y > below)
                    .map(|(_, _, p)| p.0)
                    .collect();
                assert!(colors.len() > 8, "{name} {kind:?} is empty");
                if let Some(directory) = &look {
                    let theme = if dark { "dark" } else { "light" };
                    let file = format!("{name}-{kind:?}-{theme}.png");
                    picture.save(directory.join(file)).unwrap();
                }
            }
        }
    }
}

const JOGGING: &str = r#"Session(title: "Jog", bench: Jog(), rig: "ROOT/assets/rigs/simulated-dsa-380.ron",
    max_misses: 100000, INJECT)"#;

#[test]
fn a_rig_is_put_to_work_and_the_bench_comes_back() {
    let mut bench = Bench::open("commissioning", JOGGING);
    bench.show(PanelKind::Commissioning);
    for step in ["Scan", "Check"] {
        bench.press(step);
        let label = if step == "Scan" {
            "Motor drive (simulated): operational"
        } else {
            "Pressing raises the force: held"
        };
        bench.wait("the bench is back", |w| w.state() == State::Ready);
        bench.show(PanelKind::Commissioning);
        let found = bench.harness.query_all_by_label_contains(label).count();
        assert_eq!(found, 1, "{step}");
    }
}

#[test]
fn a_drive_is_homed_by_the_bench_itself_and_stays_homed() {
    // Without steps and switch: who has to be there is another test's.
    let (own, session) = guarded_rig("homing", true);
    let text = std::fs::read_to_string(&own).unwrap();
    let (before, rest) = text.split_once("    safety: (").unwrap();
    let (_, after) = rest.split_once("    ),\n").unwrap();
    std::fs::write(&own, format!("{before}{after}")).unwrap();
    let mut bench = Bench::start("homing", &session);
    let says = |bench: &mut Bench, text: &str| {
        bench.harness.run_steps(1);
        bench.harness.query_all_by_label_contains(text).count() == 1
    };
    bench.wait("the loop runs", |w| {
        w.with_data(|d| !d.events.is_empty()).unwrap_or(false)
    });
    bench.show(PanelKind::Commissioning);
    assert!(says(&mut bench, "The drive has no home position: nothing"));
    bench.press("Home");
    bench.wait("homed", |w| w.state() == State::Ready);
    assert!(says(&mut bench, "The drive knows where it is."));
    std::fs::remove_file(own).unwrap();
}

#[test]
fn the_motor_moves_as_long_as_a_button_is_held() {
    let mut bench = Bench::open("jog", JOGGING);
    bench.show(PanelKind::Commissioning);
    bench.run();
    let reference = |w: &mut Workstation| match &w.slot {
        Slot::Active(active) => {
            let column = active.run.layout.column("motor_reference").unwrap();
            active.run.live().unwrap().latest.values[column]
        }
        _ => f64::NAN,
    };
    let down = bench
        .harness
        .get_by_role_and_label(egui::Role::Button, "▼ Down")
        .rect()
        .center();
    let press = |pressed| egui::Event::PointerButton {
        pos: down,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    bench.harness.event(egui::Event::PointerMoved(down));
    bench.harness.event(press(true));
    // For longer than a click may last: 30 mm at 20 mm/s.
    bench.wait("the motor goes down", |w| reference(w) < 0.02);
    bench.harness.event(press(false));
    bench.harness.run_steps(2);
    let mut before = f64::NAN;
    let mut since = Instant::now();
    bench.wait("the motor rests", |w| {
        let now = reference(w);
        if now != before {
            (before, since) = (now, Instant::now());
        }
        since.elapsed() > Duration::from_millis(500)
    });
    // It rests where it was let go, and does not go back; how far it goes on until then is the machine's.
    assert!(before > -0.1 && before < 0.0201, "rests at {before}");
}

/// The rig with everything that protects people; without its homing if that is another test's.
fn guarded_rig(name: &str, homes: bool) -> (PathBuf, String) {
    let assets = root().join("assets").display().to_string();
    let text = std::fs::read_to_string(format!("{assets}/rigs/simulated-interlocks.ron")).unwrap();
    let (known, _) = text.split_once("    homing:").unwrap();
    let text = if homes {
        text.clone()
    } else {
        format!("{known})")
    };
    let file = format!("pantobench-guarded-{name}-{}.ron", std::process::id());
    let own = std::env::temp_dir().join(file);
    std::fs::write(&own, text.replace("..", &assets)).unwrap();
    let session = format!(
        r#"Session(title: "Guarded", bench: Jog(), rig: "{}", max_misses: 100000, INJECT)"#,
        own.display()
    );
    (own, session)
}

fn key(key: egui::Key, pressed: bool) -> egui::Event {
    egui::Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: egui::Modifiers::NONE,
    }
}

#[test]
fn a_key_that_is_held_is_the_first_step_only() {
    let (own, session) = guarded_rig("held-key", false);
    let mut bench = Bench::open("held-key", &session);
    for _ in 0..12 {
        bench.harness.event(key(egui::Key::F5, true));
        bench.harness.run_steps(1);
        std::thread::park_timeout(Duration::from_millis(60));
    }
    assert!(bench.window().first_step.is_some());
    assert_eq!(
        bench.window().state(),
        State::Ready,
        "its repeats are no step"
    );
    bench.harness.event(key(egui::Key::F5, false));
    bench.harness.run_steps(1);
    bench.harness.event(key(egui::Key::F5, true));
    bench.wait("armed", |w| w.state() == State::Armed);
    std::fs::remove_file(own).unwrap();
}

#[test]
fn home_takes_two_steps_and_ends_when_the_switch_is_let_go() {
    let (own, session) = guarded_rig("homes", true);
    let mut bench = Bench::start("homes", &session);
    let asks = |bench: &mut Bench| {
        bench.window().serve(Ask::Rig(RigCommand::Home));
        bench.harness.run_steps(1);
    };
    let pause = || std::thread::park_timeout(crate::hand::PAUSE + Duration::from_millis(50));
    let events = |w: &mut Workstation, wanted: &str| match &w.slot {
        Slot::Active(active) => active.run.live().is_some_and(|live| {
            let mut events = live.data.events.iter();
            events.any(|e| e.kind == wanted)
        }),
        _ => false,
    };
    bench.wait("it is not homed", |w| events(w, "warning"));
    asks(&mut bench);
    asks(&mut bench);
    assert!(
        bench.window().first_step.is_some(),
        "a bounce is no second step"
    );
    pause();
    asks(&mut bench);
    let message = bench.window().message.clone().unwrap().0;
    assert!(message.contains("F7"), "{message}");
    assert!(!events(bench.window(), "home"), "nobody holds the switch");
    bench.harness.event(key(egui::Key::F7, true));
    asks(&mut bench);
    pause();
    asks(&mut bench);
    bench.wait("it homes", |w| events(w, "home"));
    bench.harness.event(key(egui::Key::F7, false));
    bench.wait("it is stopped", |w| events(w, "home.stopped"));
    assert_eq!(bench.window().state(), State::Idle);
    bench.harness.event(key(egui::Key::F7, true));
    asks(&mut bench);
    pause();
    asks(&mut bench);
    bench.wait("it has homed", |w| w.state() == State::Ready);
    std::fs::remove_file(own).unwrap();
}

#[test]
fn check_is_done_by_two_steps_and_the_switch() {
    use crate::rig_work::job::{Order, Step};
    let (own, session) = guarded_rig("checks", false);
    let mut bench = Bench::open("checks", &session);
    let order = Order {
        step: Step::Check,
        homes: false,
        insists: true,
    };
    bench.window().serve(Ask::RigWork(order));
    bench.wait("a person is asked", |w| match &w.slot {
        Slot::Working(working) => working.job.lines.iter().any(|l| l.contains("press F5")),
        _ => false,
    });
    for step in 0..2 {
        bench.harness.event(key(egui::Key::F5, true));
        bench.harness.run_steps(1);
        bench.harness.event(key(egui::Key::F5, false));
        bench.harness.run_steps(1);
        std::thread::park_timeout(crate::hand::PAUSE + Duration::from_millis(50));
        assert!(matches!(bench.window().slot, Slot::Working(_)), "{step}");
    }
    bench.harness.event(key(egui::Key::F7, true));
    // It moves for a while, then the switch is let go.
    let since = Instant::now();
    bench.wait("it is at work", |w| {
        since.elapsed() > Duration::from_secs(2) || !matches!(w.slot, Slot::Working(_))
    });
    bench.harness.event(key(egui::Key::F7, false));
    bench.wait("it has ended", |w| !matches!(w.slot, Slot::Working(_)));
    let message = bench.window().message.clone().unwrap().0;
    assert!(message.contains("let go"), "{message}");
    std::fs::remove_file(own).unwrap();
}

#[test]
fn a_guarded_rig_is_armed_by_pressing_twice() {
    let (own, session) = guarded_rig("twice", false);
    let mut bench = Bench::open("guarded", &session);
    bench.press("Arm");
    bench.wait("asked", |w| w.first_step.is_some());
    assert_eq!(bench.window().state(), State::Ready);
    // Sooner it would be a double click.
    std::thread::park_timeout(crate::hand::PAUSE);
    bench.harness.run_steps(1);
    let confirm = egui::Role::Button;
    bench
        .harness
        .get_all_by_role(confirm)
        .find(|b| {
            b.accesskit_node()
                .label()
                .is_some_and(|l| l.starts_with("Confirm arming"))
        })
        .unwrap()
        .click();
    bench.wait("armed", |w| w.state() == State::Armed);
    // Nobody holds F7: it stops by itself.
    bench.wait("stopped", |w| {
        matches!(w.state(), State::Idle | State::Ready)
    });
    std::fs::remove_file(own).unwrap();
}
