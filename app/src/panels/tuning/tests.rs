//! The panel used as a technician does: by role and label.

use super::*;
use crate::data::{Data, sample as data_sample};
use crate::tuner::{Outgoing, sample};
use eframe::egui::{self, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};

const Q: &str = "Q, weight of the tracking error";
const K_I: &str = "k_i, interaction stiffness";

struct Bench {
    panel: TuningPanel,
    tuner: Tuner,
    data: Data,
    outgoing: Vec<Outgoing>,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self {
            panel: TuningPanel::default(),
            tuner: sample::tuner(name).0,
            data: data_sample::run(1.0),
            outgoing: Vec::new(),
        }
    }

    fn ui(&mut self, ui: &mut Ui) {
        let view = View {
            data: &self.data,
            now_s: 1.0,
            is_following: true,
            is_replay: false,
        };
        let mut asks = Vec::new();
        self.panel.show(ui, &view, Some(&self.tuner), &mut asks);
        for ask in asks {
            let Ask::Tune(ask) = ask else {
                panic!("{ask:?}")
            };
            self.outgoing.extend(self.tuner.handle(&ask));
        }
    }
}

fn harness(name: &str, size: (f32, f32)) -> Harness<'static, Bench> {
    let mut harness = Harness::builder()
        .with_size(egui::vec2(size.0, size.1))
        .build_ui_state(
            |ui, bench: &mut Bench| {
                theme::apply(ui.ctx());
                bench.ui(ui);
            },
            Bench::new(name),
        );
    harness.run_steps(3);
    harness
}

fn click(harness: &mut Harness<'_, Bench>, role: Role, label: &str) {
    harness.get_by_role_and_label(role, label).click();
    harness.run_steps(3);
}

fn settle(harness: &mut Harness<'_, Bench>) {
    let out = sample::settle(&mut harness.state_mut().tuner);
    harness.state_mut().outgoing.extend(out);
    harness.run_steps(3);
}

/// The loop takes what was sent.
fn confirm(harness: &mut Harness<'_, Bench>) {
    let out = harness.state_mut().outgoing.pop();
    sample::confirm(&mut harness.state_mut().tuner, out);
    harness.run_steps(3);
}

fn type_number(harness: &mut Harness<'_, Bench>, label: &str, text: &str) {
    harness
        .get_by_role_and_label(Role::SpinButton, label)
        .focus();
    harness.run_steps(2);
    // Everything is selected when the field gets the focus.
    harness
        .get_by_role_and_label(Role::SpinButton, label)
        .type_text(text);
    harness.run_steps(2);
    harness.key_press(egui::Key::Enter);
    harness.run_steps(3);
}

#[test]
fn q_is_changed_looked_at_and_applied() {
    for size in [(300.0, 900.0), (1000.0, 700.0)] {
        let mut harness = harness("panel-q", size);
        assert!(harness.query_by_label("Everything is applied").is_some());
        type_number(&mut harness, Q, "20");
        assert_eq!(harness.state().tuner.asked().get(0), 20.0);
        assert!(harness.query_by_label("Not applied yet: Q").is_some());
        assert!(
            harness.state().outgoing.is_empty(),
            "nothing is sent by itself"
        );
        settle(&mut harness);
        // After typing the slider has the focus, and Enter applies.
        assert!(harness.get_by_role_and_label(Role::Slider, Q).is_focused());
        harness.key_press(egui::Key::Enter);
        harness.run_steps(3);
        confirm(&mut harness);
        assert_eq!(harness.state().tuner.applied().get(0), 20.0);
        assert!(harness.query_by_label("Everything is applied").is_some());
        click(&mut harness, Role::Button, "Undo");
        settle(&mut harness);
        confirm(&mut harness);
        assert_eq!(harness.state().tuner.applied().get(0), 5.0);
    }
}

#[test]
fn arrow_keys_move_a_slider() {
    let mut harness = harness("panel-arrows", (400.0, 900.0));
    harness.get_by_role_and_label(Role::Slider, K_I).focus();
    harness.run_steps(2);
    harness.key_press(egui::Key::ArrowRight);
    harness.run_steps(2);
    let once = harness.state().tuner.asked().get(5);
    assert!(once > 50e3 && once < 80e3, "{once}");
    harness.key_press(egui::Key::ArrowLeft);
    harness.run_steps(2);
    assert!(harness.state().tuner.asked().get(5) < once);
}

#[test]
fn an_unstable_proposal_needs_insisting() {
    let mut harness = harness("panel-insist", (420.0, 900.0));
    type_number(&mut harness, K_I, "1000");
    settle(&mut harness);
    assert!(harness.query_by_label("unstable").is_some());
    for label in ["Apply", "Apply anyway"] {
        click(&mut harness, Role::Button, label);
        assert!(
            harness.state().outgoing.is_empty(),
            "{label} does nothing yet"
        );
    }
    click(&mut harness, Role::CheckBox, "I insist");
    // Another value is another decision.
    type_number(&mut harness, K_I, "900");
    settle(&mut harness);
    click(&mut harness, Role::Button, "Apply anyway");
    assert!(harness.state().outgoing.is_empty());
    click(&mut harness, Role::CheckBox, "I insist");
    click(&mut harness, Role::Button, "Apply anyway");
    let Some(Outgoing::Update(update)) = harness.state_mut().outgoing.pop() else {
        panic!("insisting sends it");
    };
    assert!(update.approval.is_override && update.params.contains(&(5, 900e3)));
}

#[test]
fn presets_are_saved_proposed_and_deleted() {
    let mut harness = harness("panel-presets", (300.0, 1300.0));
    harness
        .get_by(|node| node.placeholder() == Some("name of a preset"))
        .focus();
    harness.run_steps(2);
    harness
        .get_by(|node| node.placeholder() == Some("name of a preset"))
        .type_text("soft");
    harness.run_steps(3);
    click(&mut harness, Role::Button, "Save");
    let names = |harness: &Harness<'_, Bench>| -> Vec<String> {
        let presets = harness.state().tuner.presets().unwrap();
        presets.names().map(str::to_owned).collect()
    };
    assert_eq!(names(&harness), ["soft"]);
    type_number(&mut harness, Q, "30");
    settle(&mut harness);
    click(&mut harness, Role::ComboBox, "Preset");
    click(&mut harness, Role::Button, "soft");
    assert_eq!(harness.state().tuner.asked().get(0), 5.0, "proposed");
    assert!(harness.state().outgoing.is_empty(), "not applied");
    click(&mut harness, Role::Button, "Delete");
    assert!(names(&harness).is_empty());
}

#[test]
fn nothing_moves_when_numbers_change() {
    for size in [(300.0, 900.0), (1000.0, 700.0)] {
        let mut harness = harness("panel-still", size);
        let places = |harness: &Harness<'_, Bench>| {
            [
                (Role::Slider, Q),
                (Role::SpinButton, K_I),
                (Role::Button, "Apply"),
                (Role::Button, "Apply anyway"),
                (Role::Button, "Keep as B"),
            ]
            .map(|(role, label)| harness.get_by_role_and_label(role, label).rect())
        };
        let before = places(&harness);
        type_number(&mut harness, K_I, "1000");
        // While it is computed, when it is unstable, and when it is refused.
        assert_eq!(places(&harness), before);
        settle(&mut harness);
        assert_eq!(places(&harness), before);
        harness
            .state_mut()
            .tuner
            .handle(&TuningAsk::Apply { insist: false });
        harness.run_steps(2);
        assert_eq!(places(&harness), before);
    }
}

/// Writes pictures to be looked at if `PANTOBENCH_LOOK` names a directory.
#[test]
fn look() {
    let Some(folder) = std::env::var_os("PANTOBENCH_LOOK") else {
        return;
    };
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        for size in [(300.0, 760.0), (420.0, 500.0), (1000.0, 640.0)] {
            for state in ["applied", "proposed", "unstable"] {
                let mut harness = Harness::builder()
                    .with_size(egui::vec2(size.0, size.1))
                    .with_theme(theme)
                    .wgpu()
                    .build_ui_state(
                        |ui, bench: &mut Bench| {
                            theme::apply(ui.ctx());
                            egui::CentralPanel::default().show(ui, |ui| bench.ui(ui));
                        },
                        Bench::new("look"),
                    );
                harness.run_steps(3);
                let tuner = &mut harness.state_mut().tuner;
                match state {
                    "proposed" => {
                        tuner.handle(&TuningAsk::Propose(vec![(0, 20.0), (5, 62e3)]));
                    }
                    "unstable" => {
                        tuner.handle(&TuningAsk::Propose(vec![(5, 500e3)]));
                        sample::settle(tuner);
                        tuner.handle(&TuningAsk::Apply { insist: false });
                    }
                    _ => {}
                }
                settle(&mut harness);
                let file = format!("tuning-{name}-{}-{state}.png", size.0);
                let path = std::path::Path::new(&folder).join(file);
                harness.render().unwrap().save(path).unwrap();
            }
        }
    }
}
