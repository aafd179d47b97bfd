//! Tests of the rig panel: the whole calibration of a load cell by role and label, on the real loop with an exact clock.

use super::*;
use crate::data::Data;
use crate::history::History;
use crate::runtime::{self, Prepared};
use crate::session::LoadedSession;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use rt_core::guard::Request;
use rt_core::link::{Command, EventKind, UserSide};
use rt_core::pacing::ExactClock;
use rt_core::rt_loop::RtLoop;
use std::path::Path;

/// A loop on an exact clock with the panel beside it.
struct Station {
    rt_loop: RtLoop<ExactClock>,
    user: UserSide,
    data: Data,
    panel: RigPanel,
    own: PathBuf,
    events: Vec<EventKind>,
    told: Vec<String>,
    is_replay: bool,
}

impl Drop for Station {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.own);
    }
}

impl Station {
    fn new(session: &str, name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let loaded = LoadedSession::load(&root.join("sessions").join(session)).unwrap();
        let Prepared {
            rt_loop,
            user,
            layout,
            period_nanos,
            ..
        } = runtime::prepare_exact(&loaded).unwrap();
        let own = std::env::temp_dir().join(format!("rig-panel-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&own);
        Self {
            panel: RigPanel::new(user.rig.clone(), loaded.rig_path(), own.clone()),
            data: Data {
                channels: layout.channels().iter().map(Into::into).collect(),
                history: History::new(layout.len(), 16 << 20),
                events: Default::default(),
                period_s: period_nanos as f64 * 1e-9,
                line: None,
                wire: None,
            },
            rt_loop,
            user,
            own,
            events: Vec::new(),
            told: Vec::new(),
            is_replay: false,
        }
    }

    fn cycles(&mut self, n: usize) {
        for _ in 0..n {
            self.rt_loop.cycle();
            if let Some(frames) = &mut self.user.display {
                while let Ok(frame) = frames.pop() {
                    self.data.history.push(frame.t_s(), &frame.values);
                }
            }
            while let Ok(event) = self.user.events.pop() {
                self.events.push(event.kind);
            }
        }
    }

    fn ask(&mut self, request: Request) {
        self.user.commands.push(Command::Request(request)).unwrap();
    }

    fn ui(&mut self, ui: &mut Ui) {
        let view = View {
            data: &self.data,
            now_s: self.data.history.newest_s().unwrap_or_default(),
            is_following: true,
            is_replay: self.is_replay,
        };
        let mut asks = Vec::new();
        self.panel.show(ui, &view, "", &mut asks);
        for ask in asks {
            match ask {
                Ask::Rig(command) => self.user.commands.push(Command::Rig(command)).unwrap(),
                Ask::Tell(sentence) => self.told.push(sentence),
                other => panic!("{other:?}"),
            }
        }
    }

    fn slope(&self) -> f64 {
        self.user.rig.lines[0].get().slope_n_per_unit
    }
}

fn harness(station: Station, size: [f32; 2], dark: bool) -> Harness<'static, Station> {
    let theme = if dark {
        egui::Theme::Dark
    } else {
        egui::Theme::Light
    };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_context_setup(theme::apply)
        .build_ui_state(
            |ui, station: &mut Station| {
                let frame = egui::Frame::new()
                    .fill(ui.visuals().panel_fill)
                    .inner_margin(8.0);
                frame.show(ui, |ui| {
                    ui.set_min_size(ui.available_size());
                    station.ui(ui);
                });
            },
            station,
        );
    settle(&mut harness);
    harness
}

/// Draws until the keeper has answered.
fn settle(harness: &mut Harness<'_, Station>) {
    for _ in 0..500 {
        harness.run_steps(2);
        if harness.state().panel.is_read && !harness.state().panel.keeper.is_busy() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    harness.run_steps(2);
}

fn click(harness: &mut Harness<'_, Station>, label: &str) {
    let node = harness.get_by_role_and_label(egui::accesskit::Role::Button, label);
    assert!(
        !node.accesskit_node().is_disabled(),
        "'{label}' cannot be pressed"
    );
    node.click_accesskit();
    harness.run_steps(2);
}

fn is_disabled(harness: &Harness<'_, Station>, label: &str) -> bool {
    let node = harness.get_by_role_and_label(egui::accesskit::Role::Button, label);
    node.accesskit_node().is_disabled()
}

fn write(harness: &mut Harness<'_, Station>, label: &str, text: &str) {
    let field = harness.get_by_role_and_label(egui::accesskit::Role::TextInput, label);
    field.focus();
    harness.run_steps(1);
    let field = harness.get_by_role_and_label(egui::accesskit::Role::TextInput, label);
    field.type_text(text);
    harness.run_steps(2);
}

/// Hangs a load and takes it when the reading is steady.
fn take(harness: &mut Harness<'_, Station>, load: &str) {
    click(harness, &format!("Hang {load} N (simulated)"));
    harness.state_mut().cycles(1200);
    harness.run_steps(2);
    click(harness, "Take");
}

fn look(harness: &mut Harness<'_, Station>, name: &str) {
    if let Some(directory) = std::env::var_os("PANTOBENCH_LOOK") {
        let picture = harness.render().unwrap();
        picture.save(PathBuf::from(directory).join(name)).unwrap();
    }
}

#[test]
fn a_load_cell_is_calibrated_from_the_first_click_to_the_force() {
    let mut station = Station::new("load-cells.ron", "whole");
    station.cycles(1200);
    let mut harness = harness(station, [420.0, 900.0], true);
    look(&mut harness, "rig-420-dark.png");
    harness.get_by_label("Connected");
    click(&mut harness, "Multi-point calibration of front strip");
    // The pantograph presses on both cells: nothing is taken yet, and nothing can be saved.
    assert!(is_disabled(&harness, "Save and use"));
    harness.get_by_label_contains("7 point(s) are still to be taken");
    for load in ["0", "100", "200", "300", "200", "100", "0"] {
        take(&mut harness, load);
    }
    look(&mut harness, "wizard-420-dark.png");
    // Whoever takes it has to say so.
    harness.get_by_label_contains("into the field Operator");
    write(&mut harness, "Operator", "late shift");
    assert!(!is_disabled(&harness, "Save and use"));
    write(&mut harness, "Notes", "after the new strips");
    let before = harness.state().slope();
    click(&mut harness, "Save and use");
    settle(&mut harness);
    harness.state_mut().cycles(10);
    harness.run_steps(2);
    let station = harness.state();
    let after = station.slope();
    // What the rig file says of this cell: 0.002013 mV/V/N and a bow of 0.05 % of 1000 N at its middle. The line
    // through 0 to 300 N is steeper by the bow's own slope there, 4·0.05 %·(1 − 300/1000) = 0.14 %, to its noise.
    let expected = 1.0 / (0.002013 * 1.0014);
    assert!(
        (after / expected - 1.0).abs() < 2e-4,
        "{after} against {expected}"
    );
    assert_ne!(before, after);
    let is_used =
        |e: &EventKind| matches!(e, EventKind::RigDone(RigCommand::Calibrate { cell: 0, .. }));
    assert!(station.events.iter().any(is_used), "{:?}", station.events);
    assert!(
        station
            .events
            .contains(&EventKind::RigDone(RigCommand::RemoveLoads))
    );
    assert!(station.told[0].contains("is kept as"), "{:?}", station.told);
    let kept = Library::read(std::slice::from_ref(&station.own));
    let c = &kept.calibrations[0].calibration;
    assert_eq!((c.points.len(), c.operator.as_str()), (7, "late shift"));
    assert_eq!(c.before.unwrap().as_str(), "SIM-A-example");
    assert_eq!(c.notes, "after the new strips");
    assert!(c.statistics().hysteresis_pct.unwrap() < 0.05);
    // The panel shows what the loop has confirmed.
    harness.get_by_label(c.id.as_str());
    harness.get_by_label("SIM-B-example");
}

#[test]
fn what_protects_and_what_does_not_is_shown_in_words() {
    for (size, dark, picture) in [
        ([420.0, 2400.0], true, "protection-420-dark.png"),
        ([1000.0, 1800.0], false, "protection-1000-light.png"),
    ] {
        let mut station = Station::new("load-cells.ron", &format!("protection-{dark}"));
        station.cycles(10);
        let mut harness = harness(station, size, dark);
        for _ in 0..500 {
            harness.run_steps(2);
            if harness.state().panel.protection.is_read() {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        harness.run_steps(2);
        look(&mut harness, picture);
        harness.get_by_label("Protection");
        harness.get_by_label_contains("Stopping from 0.7 m/s");
        harness.get_by_label("ok: The motor presses the specimen to pieces");
        harness.get_by_label("missing: Someone reaches into the rig while it moves");
        harness.get_by_label_contains("limit of the force, -50 to 500 N");
    }
}

#[test]
fn a_wrong_weight_is_refused_and_taken_again() {
    let mut station = Station::new("load-cells.ron", "wrong");
    station.cycles(1200);
    let mut harness = harness(station, [1000.0, 1000.0], false);
    click(&mut harness, "Two-point calibration of rear strip");
    take(&mut harness, "0");
    // The weight was not hung: the reading is that of 0 N again.
    click(&mut harness, "Take");
    harness.get_by_label_contains("Refused:");
    assert!(is_disabled(&harness, "Save and use"));
    let points = harness.get_all_by_role(egui::accesskit::Role::RadioButton);
    assert_eq!(points.count(), 2);
    click(&mut harness, "Hang 200 N (simulated)");
    harness.run_steps(1);
    harness.state_mut().cycles(200);
    harness.run_steps(2);
    // Half a second after the load was hung the reading still moves.
    harness.get_by_label("moving");
    assert!(is_disabled(&harness, "Take again"));
    harness.state_mut().cycles(1000);
    harness.run_steps(2);
    click(&mut harness, "Take again");
    write(&mut harness, "Operator", "me");
    assert!(!is_disabled(&harness, "Save and use"));
    look(&mut harness, "wizard-1000-light.png");
    click(&mut harness, "Back without saving");
    harness.state_mut().cycles(5);
    let station = harness.state();
    assert!(
        station
            .events
            .contains(&EventKind::RigDone(RigCommand::RemoveLoads))
    );
    assert!(
        Library::read(std::slice::from_ref(&station.own))
            .calibrations
            .is_empty()
    );
}

#[test]
fn nothing_is_calibrated_while_armed_or_in_a_recording() {
    let mut station = Station::new("load-cells.ron", "armed");
    station.cycles(1200);
    station.ask(Request::Arm);
    station.cycles(10);
    let mut harness = harness(station, [420.0, 900.0], true);
    harness.get_by_label("Calibrating is not possible while Armed: stop the bench first (Esc).");
    assert!(is_disabled(&harness, "Zero calibration of front strip"));
    harness.get_by_label_contains("operational, drive on");
    harness.state_mut().ask(Request::Stop);
    harness.state_mut().cycles(1200);
    harness.run_steps(2);
    click(&mut harness, "Zero calibration of front strip");
    harness.state_mut().ask(Request::Arm);
    harness.state_mut().cycles(1200);
    harness.run_steps(2);
    harness.get_by_label_contains("not possible while Armed");
    assert!(is_disabled(&harness, "Take") && is_disabled(&harness, "Hang 0 N (simulated)"));
    click(&mut harness, "Back without saving");
    harness.state_mut().ask(Request::Stop);
    harness.state_mut().cycles(1200);
    harness.state_mut().is_replay = true;
    harness.run_steps(2);
    harness.get_by_label("A recording is shown: close it to calibrate.");
    assert!(is_disabled(&harness, "Zero calibration of front strip"));
}

#[test]
fn a_rig_without_load_cells_says_what_to_do() {
    let mut station = Station::new("first-look.ron", "none");
    station.cycles(100);
    station.panel.is_read = true;
    let mut harness = harness(station, [420.0, 700.0], false);
    harness.get_by_label_contains("there is nothing to calibrate");
    look(&mut harness, "rig-none-light.png");
}

/// The whole workflow with Tab and Enter alone: focus finds every control, and Enter presses it.
#[test]
fn a_zero_is_taken_by_keyboard_alone() {
    let mut station = Station::new("load-cells.ron", "keys");
    station.cycles(1200);
    let mut harness = harness(station, [600.0, 1000.0], true);
    let press = |harness: &mut Harness<'_, Station>, label: &str| {
        for _ in 0..60 {
            let found = harness.query_by_role_and_label(egui::accesskit::Role::Button, label);
            if found.is_some_and(|node| node.is_focused()) {
                harness.key_press(egui::Key::Enter);
                harness.run_steps(2);
                return;
            }
            harness.key_press(egui::Key::Tab);
            harness.run_steps(2);
        }
        panic!("Tab never reached '{label}'");
    };
    press(&mut harness, "Zero calibration of front strip");
    press(&mut harness, "Hang 0 N (simulated)");
    harness.state_mut().cycles(1200);
    harness.run_steps(2);
    press(&mut harness, "Take");
    write(&mut harness, "Operator", "me");
    press(&mut harness, "Save and use");
    settle(&mut harness);
    harness.state_mut().cycles(10);
    let station = harness.state();
    let kept = Library::read(std::slice::from_ref(&station.own));
    assert_eq!(kept.calibrations[0].calibration.kind, Kind::Zero);
    assert_eq!(
        station.user.rig.lines[0].get(),
        kept.calibrations[0].calibration.line
    );
}

/// Pictures to look at, in both themes and sizes.
#[test]
fn pictures_can_be_drawn() {
    if std::env::var_os("PANTOBENCH_LOOK").is_none() {
        return;
    }
    for (dark, theme) in [(true, "dark"), (false, "light")] {
        for size in [[420.0, 900.0], [1400.0, 900.0]] {
            let mut station = Station::new("load-cells.ron", &format!("look-{theme}-{}", size[0]));
            station.cycles(1200);
            let mut harness = harness(station, size, dark);
            look(&mut harness, &format!("rig-{}-{theme}.png", size[0]));
            click(&mut harness, "Multi-point calibration of front strip");
            for load in ["0", "100", "200", "300"] {
                take(&mut harness, load);
            }
            look(&mut harness, &format!("wizard-{}-{theme}.png", size[0]));
            for load in ["200", "100", "0"] {
                take(&mut harness, load);
            }
            harness.get_by_label("Notes").scroll_to_me();
            harness.run_steps(20);
            look(&mut harness, &format!("wizard-end-{}-{theme}.png", size[0]));
        }
    }
}
