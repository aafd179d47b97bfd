//! Nothing on a page that shows a recording reaches the bench but STOP.

use super::*;
use crate::command::RECORDING_IS_SHOWN;
use crate::rig_work::job::{Order, Step};
use crate::tuner::TuningAsk;
use crate::view::Ask;
use rt_core::record::setup::Phase;
use rt_core::rig::RigCommand;

/// Everything of a bench that something could have changed.
#[derive(Debug, PartialEq)]
struct Looked {
    state: State,
    applied: Vec<f64>,
    events: usize,
    phase: Option<Phase>,
    asks_for_text: bool,
}

fn of_bench(w: &Workstation) -> Looked {
    let Slot::Active(active) = &w.slot else {
        panic!("the bench is gone");
    };
    let live = active.run.live().unwrap();
    Looked {
        state: live.latest.state,
        applied: live.applied.clone(),
        events: live.data.events.len(),
        phase: active.run.recorder_status().map(|s| s.phase),
        asks_for_text: w.prompt.is_some(),
    }
}

fn asks() -> Vec<Ask> {
    let order = Order {
        step: Step::Check,
        homes: true,
        insists: true,
    };
    vec![
        Ask::SetParam {
            index: 0,
            value: 0.3,
        },
        Ask::Tune(TuningAsk::Propose(vec![(0, 50.0)])),
        Ask::Tune(TuningAsk::Apply { insist: true }),
        Ask::Tune(TuningAsk::Undo),
        Ask::Tune(TuningAsk::Redo),
        Ask::Tune(TuningAsk::SwitchSides),
        Ask::Tune(TuningAsk::LoadPreset("any".into())),
        Ask::Rig(RigCommand::Home),
        Ask::Rig(RigCommand::RemoveLoads),
        Ask::RigWork(order),
        Ask::OpenJog,
        Ask::OpenSession("sessions/profile-sine.ron".into()),
        Ask::Mark("here".into()),
        Ask::RunScript { real_time: true },
    ]
}

/// With a recording of its own open, in each state that commands are for.
fn refuses_everything(bench: &mut Bench) {
    let before = of_bench(bench.window());
    let commands = UiCommand::all().filter(|c| c.reaches_bench() && *c != UiCommand::Stop);
    let asked = commands.map(Ask::Command).chain(asks());
    for ask in asked {
        bench.window().message = None;
        bench.window().serve(ask.clone());
        let told = bench.window().message.take().map(|m| m.0);
        assert_eq!(told.as_deref(), Some(RECORDING_IS_SHOWN), "{ask:?}");
    }
    // The same by key.
    for command in UiCommand::all().filter(|c| c.reaches_bench() && *c != UiCommand::Stop) {
        let shortcut = command.shortcut();
        bench
            .harness
            .key_press_modifiers(shortcut.modifiers, shortcut.logical_key);
        bench.harness.run_steps(2);
        let told = bench.window().message.take().map(|m| m.0);
        assert_eq!(told.as_deref(), Some(RECORDING_IS_SHOWN), "{command:?}");
    }
    for name in ["Arm", "Run", "Acknowledge", "Record"] {
        let button = bench
            .harness
            .get_by_role_and_label(egui::Role::Button, name);
        assert!(button.accesskit_node().is_disabled(), "{name}");
    }
    std::thread::park_timeout(Duration::from_millis(300));
    bench.harness.run_steps(2);
    assert_eq!(of_bench(bench.window()), before);
}

#[test]
fn only_stop_reaches_the_bench_while_a_recording_is_shown() {
    let mut bench = Bench::open("replay-only", UNDER_A_STRING);
    bench.window().settings.record_every_run = false;
    bench.press("Record");
    bench.wait("recording", |w| match &w.slot {
        Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 200),
        _ => false,
    });
    bench.press("End recording");
    bench.wait("listed", has_whole_recording);
    let path = bench.window().list.entries()[0].path.clone();
    let open = |bench: &mut Bench| {
        bench.window().open_recording(path.clone());
        bench.wait("the recording is open", |w| w.replay.is_some());
    };
    open(&mut bench);
    refuses_everything(&mut bench);
    bench.window().execute(UiCommand::CloseRecording);
    bench.run();
    open(&mut bench);
    assert_eq!(bench.window().state(), State::Running);
    refuses_everything(&mut bench);
    // Its sliders and steps are grey.
    for kind in [PanelKind::Parameters, PanelKind::Commissioning] {
        bench.window().workspace.show_only(kind);
        bench.harness.run_steps(2);
        let words = bench
            .harness
            .query_all_by_label_contains(RECORDING_IS_SHOWN);
        assert!(words.count() > 0, "{kind:?}");
    }
    let scan = bench
        .harness
        .get_by_role_and_label(egui::Role::Button, "Scan");
    assert!(scan.accesskit_node().is_disabled());
    bench.harness.key_press(egui::Key::Escape);
    bench.wait("stopped", |w| {
        matches!(w.state(), State::Idle | State::Ready)
    });
    assert!(bench.window().replay.is_some(), "STOP closes nothing");
}

/// Asked before the recording came, answered after it.
#[test]
fn a_question_from_before_arms_nothing_behind_a_recording() {
    let mut bench = Bench::open("replay-insist", A_SINE);
    bench.press("Record");
    bench.wait("recording", |w| match &w.slot {
        Slot::Active(a) => a.run.recorder_status().is_some_and(|s| s.frames > 50),
        _ => false,
    });
    bench.press("End recording");
    bench.wait("listed", has_whole_recording);
    let path = bench.window().list.entries()[0].path.clone();
    bench.window().prompt = Some(Prompt::Insist(vec![crate::permit::Hindrance {
        objection: rt_core::link::Objection::RealTime,
        text: "no rights".into(),
    }]));
    bench.window().open_recording(path);
    bench.wait("the recording is open", |w| w.replay.is_some());
    bench.harness.run_steps(3);
    bench.press("Arm all the same");
    let told = bench.window().message.take().map(|m| m.0);
    assert_eq!(told.as_deref(), Some(RECORDING_IS_SHOWN));
    std::thread::park_timeout(Duration::from_millis(200));
    bench.harness.run_steps(2);
    assert_eq!(bench.window().state(), State::Ready);
}
