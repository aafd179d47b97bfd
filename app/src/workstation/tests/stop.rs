//! STOP reaches every owner of a motor, in every state, whatever has the focus.

use super::*;
use crate::rig_work::job::{Order, Step};
use egui::{Event, Key, Modifiers};
use rt_core::stop::StopLine;

/// What has the focus, or lies over the page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Focus {
    Nothing,
    TextField,
    Palette,
    Prompt,
    Settings,
    Question,
    Minimised,
    WithCtrl,
    WithShift,
    Button,
}

const EVERYWHERE: [Focus; 9] = [
    Focus::Nothing,
    Focus::TextField,
    Focus::Palette,
    Focus::Prompt,
    Focus::Settings,
    Focus::Question,
    Focus::Minimised,
    Focus::WithCtrl,
    Focus::WithShift,
];

fn escape(modifiers: Modifiers) -> [Event; 2] {
    [true, false].map(|pressed| Event::Key {
        key: Key::Escape,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers,
    })
}

impl Bench {
    /// Puts the focus there, presses, and takes the focus away again.
    fn press_stop_with(&mut self, focus: Focus) {
        match focus {
            Focus::TextField | Focus::Prompt => {
                self.window().prompt = Some(Prompt::Mark(String::new()));
            }
            Focus::Palette => self.window().palette.toggle(),
            Focus::Settings => self.window().settings_open = true,
            Focus::Question => {
                self.window().prompt = Some(Prompt::Insist(Vec::new()));
            }
            _ => {}
        }
        self.harness.run_steps(2);
        if focus == Focus::TextField {
            let field = self.harness.get_by_label("Text of the marker");
            field.type_text("half a wo");
            self.harness.run_steps(1);
            assert!(self.window().ctx.egui_wants_keyboard_input());
        }
        match focus {
            Focus::Minimised => {
                // Nothing is drawn; the window's events come again in the next.
                let events = escape(Modifiers::NONE);
                self.window().hear_stop(&events, true);
                self.window().hear_stop(&events, true);
                self.harness.event(events[0].clone());
                self.harness.event(events[1].clone());
            }
            Focus::WithCtrl => self
                .harness
                .key_press_modifiers(Modifiers::COMMAND, Key::Escape),
            Focus::WithShift => self
                .harness
                .key_press_modifiers(Modifiers::SHIFT, Key::Escape),
            Focus::Button => self
                .harness
                .get_by_role_and_label(egui::Role::Button, "STOP")
                .click(),
            _ => self.harness.key_press(Key::Escape),
        }
        self.harness.run_steps(1);
        let window = self.window();
        (window.prompt, window.settings_open) = (None, false);
        if focus == Focus::Palette {
            window.palette.toggle();
        }
        self.harness.run_steps(1);
    }

    /// How often the loop was stopped, and how often its power was cut.
    fn told(&mut self) -> (usize, usize) {
        let count = |d: &crate::data::Data| {
            let of = |kind: &str| d.events.iter().filter(|e| e.kind == kind).count();
            (of("stopping"), of("power-cut"))
        };
        self.window().with_data(count).unwrap_or_default()
    }
}

/// Presses reach every loop of the process: nothing may run beside it.
mod alone {
    use super::*;

    /// A line that nobody answers stands for any owner of a motor: a press is seen on it.
    fn is_reached(bench: &mut Bench, focus: Focus) -> bool {
        let line = Arc::new(StopLine::default());
        rt_core::stop::register(&line);
        assert!(line.is_answered());
        bench.press_stop_with(focus);
        let is_pressed = !line.is_answered();
        bench.window().stop = StopDesk::default();
        is_pressed
    }

    #[test]
    fn every_page_reaches_every_owner_whatever_has_the_focus() {
        let mut bench = Bench::open("stop-pages", A_SINE);
        bench.window().stop = StopDesk::default();
        let session = match &bench.window().slot {
            Slot::Active(active) => active.run.loaded.clone(),
            _ => unreachable!(),
        };
        let text = |s: &str| (s.to_owned(), s.to_owned());
        for page in ["bench", "lent", "starting", "failed", "working", "again"] {
            match page {
                "lent" => bench.window().slot = Slot::Lent(Box::new(session.clone())),
                "starting" => bench.window().start(session.clone()),
                "failed" => {
                    let (title, problem) = text("nothing");
                    bench.window().slot = Slot::Failed { title, problem };
                }
                "working" => {
                    let order = Order {
                        step: Step::Identify,
                        homes: true,
                        insists: true,
                    };
                    let job = crate::rig_work::job::Job::begin(session.rig_path(), order, || ());
                    let then = session.clone();
                    let job = job.unwrap();
                    bench.window().slot = Slot::Working(Box::new(Working { job, then }));
                }
                _ => {}
            }
            for focus in EVERYWHERE {
                assert!(is_reached(&mut bench, focus), "{page} {focus:?}");
            }
            if ["lent", "working"].contains(&page) {
                assert!(is_reached(&mut bench, Focus::Button), "{page}");
            }
        }
    }

    /// Not by what was pressed, but by what the loop did.
    #[test]
    fn every_state_of_a_bench_is_stopped_and_the_second_press_cuts_the_power() {
        let root = root().join("assets");
        let text = std::fs::read_to_string(root.join("rigs/simulated-dsa-380.ron")).unwrap();
        let text = text
            .replace("..", &root.display().to_string())
            .replace("actuator: (", "actuator: (at_rest: Hold,");
        let own = std::env::temp_dir().join(format!("pantobench-holds-{}.ron", std::process::id()));
        std::fs::write(&own, text).unwrap();
        let session = A_SINE.replace(
            "ROOT/assets/rigs/simulated-dsa-380.ron",
            &own.display().to_string(),
        );
        let mut bench = Bench::open("stop-states", &session);
        bench.window().stop = StopDesk::default();
        for (i, focus) in EVERYWHERE.into_iter().enumerate() {
            bench.press("Arm");
            bench.wait("armed", |w| w.state() == State::Armed);
            if i % 2 == 0 {
                bench.press("Run");
                bench.wait("running", |w| w.state() == State::Running);
            }
            let before = bench.told();
            bench.press_stop_with(focus);
            bench.wait("held", |w| w.state() == State::Holding);
            assert_eq!(bench.told(), (before.0 + 1, before.1), "{focus:?}");
            assert!(bench.window().stop.alarm().is_none(), "answered in time");
            bench.press_stop_with(focus);
            bench.wait("off", |w| matches!(w.state(), State::Idle | State::Ready));
            assert_eq!(bench.told(), (before.0 + 1, before.1 + 1), "{focus:?}");
            bench.wait("ready", |w| w.state() == State::Ready);
        }
        // Holding → parked, by a command of its own, and STOP on the way.
        bench.press("Arm");
        bench.wait("armed", |w| w.state() == State::Armed);
        bench.press("STOP");
        bench.wait("held", |w| w.state() == State::Holding);
        bench.harness.run_steps(2);
        bench.press("Park");
        bench.wait("parked", |w| {
            matches!(w.state(), State::Idle | State::Ready)
        });
        std::fs::remove_file(own).unwrap();
    }

    /// Held for longer than a keyboard takes to repeat.
    #[test]
    fn a_held_escape_brakes_and_does_not_cut_the_power() {
        let mut bench = Bench::open("stop-held", A_SINE);
        bench.window().stop = StopDesk::default();
        bench.run();
        for _ in 0..30 {
            bench.harness.event(escape(Modifiers::NONE)[0].clone());
            bench.harness.run_steps(1);
        }
        bench.wait("stopped", |w| {
            matches!(w.state(), State::Idle | State::Ready)
        });
        assert_eq!(bench.told(), (1, 0));
        bench.harness.event(escape(Modifiers::NONE)[1].clone());
        bench.harness.run_steps(1);
        assert!(bench.window().stop.alarm().is_none());
    }

    /// Work on drives that are emulated in this process runs in real time, with a loop of its own.
    #[test]
    fn check_and_identify_in_real_time_are_stopped() {
        let mut bench = Bench::open("stop-work", A_SINE);
        bench.window().stop = StopDesk::default();
        let rig = root().join("assets/rigs/ethercat-dsa-380.ron");
        let then = match &bench.window().slot {
            Slot::Active(active) => active.run.loaded.clone(),
            _ => unreachable!(),
        };
        bench.window().slot = Slot::Failed {
            title: String::new(),
            problem: String::new(),
        };
        for (step, focus) in [
            (Step::Check, Focus::Nothing),
            (Step::Check, Focus::Minimised),
            (Step::Identify, Focus::WithCtrl),
            (Step::Identify, Focus::Button),
        ] {
            let order = Order {
                step,
                homes: true,
                insists: true,
            };
            let job = crate::rig_work::job::Job::begin(rig.clone(), order, || ()).unwrap();
            let then = then.clone();
            bench.window().slot = Slot::Working(Box::new(Working { job, then }));
            bench.wait("its loop owns a motor", |_| {
                !rt_core::stop::owners().is_empty()
            });
            bench.harness.run_steps(3);
            bench.press_stop_with(focus);
            bench.wait("its loop has ended", |_| rt_core::stop::owners().is_empty());
            bench.wait("the bench is back", |w| w.state() == State::Ready);
            let told = bench
                .window()
                .message
                .take()
                .map(|m| m.0)
                .unwrap_or_default();
            assert!(
                told.contains("stopped before it was done"),
                "{step:?}: {told}"
            );
            bench.window().slot = Slot::Failed {
                title: String::new(),
                problem: String::new(),
            };
            bench.wait("free", |_| rt_core::stop::owners().is_empty());
        }
    }
}

#[test]
fn stop_without_an_answer_is_told_in_red_and_stays() {
    let mut bench = Bench::open("stop-deaf", A_SINE);
    bench.window().stop.add_deaf_owner();
    bench.harness.key_press(Key::Escape);
    bench.wait("told", |w| w.stop.alarm().is_some());
    bench.harness.run_steps(2);
    bench
        .harness
        .get_by_label_contains("STOP was not answered within");
    bench.wait("much later", |w| {
        w.message = None;
        w.drawn.elapsed() < Duration::from_secs(1)
    });
    bench
        .harness
        .get_by_label_contains("use the emergency stop");
}

/// What is held by its keyboard repeat never reaches the bench: a second step of arming needs that the key was let go.
#[test]
fn a_held_key_arms_once() {
    let rig = r#""ROOT/assets/rigs/simulated-dsa-380.ron""#;
    let root = root().join("assets");
    let text = std::fs::read_to_string(root.join("rigs/simulated-dsa-380.ron")).unwrap();
    let text = text.replace("..", &root.display().to_string()).replace(
        "    limits: [",
        "    safety: (confirm_within_s: 5.0),\n    limits: [",
    );
    let own = std::env::temp_dir().join(format!("pantobench-held-{}.ron", std::process::id()));
    std::fs::write(&own, text).unwrap();
    let mut bench = Bench::open(
        "held-key",
        &A_SINE.replace(rig, &format!("{:?}", own.display().to_string())),
    );
    let key = |pressed| Event::Key {
        key: Key::F5,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    for _ in 0..30 {
        bench.harness.event(key(true));
        bench.harness.run_steps(1);
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(bench.window().state(), State::Ready);
    assert!(bench.window().first_step.is_some(), "the first step");
    bench.harness.event(key(false));
    bench.harness.run_steps(1);
    bench.harness.event(key(true));
    bench.harness.event(key(false));
    bench.wait("armed", |w| w.state() == State::Armed);
    std::fs::remove_file(own).unwrap();
}

/// The window is gone in a way that tears nothing down: the loop comes to its end, and the file is whole.
#[test]
fn a_recording_is_finished_without_its_window() {
    let mut bench = Bench::open("outlive", A_SINE);
    bench.run();
    bench.wait("a second of it", |w| match &w.slot {
        Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 500),
        _ => false,
    });
    let Slot::Active(active) = &bench.window().slot else {
        unreachable!()
    };
    assert!(crate::outlive::end(
        &[Arc::clone(&active.run.stop)],
        Duration::from_secs(10)
    ));
    let since = Instant::now();
    // Nothing of the window runs any more.
    let path = loop {
        let status = active.run.recorder_status().unwrap();
        if let Some(path) = status.finished.last() {
            break path.clone();
        }
        assert!(since.elapsed() < Duration::from_secs(10), "{status:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    };
    while !active.run.is_whole() {
        assert!(since.elapsed() < Duration::from_secs(10));
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let session = rt_core::record::reader::Session::open(&path).unwrap();
    let report = session.check().unwrap();
    assert!(report.info.ok && report.info.finished, "{report:?}");
}
