//! The panel as a person uses it, and how it looks.

use super::*;
use crate::data::{Channel, Data, sample};
use crate::history::History;
use crate::line_data::LineData;
use crate::runtime::{self, Prepared};
use crate::session::{LoadedSession, Session};
use eframe::egui::{Theme, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use rt_core::guard::Request;
use rt_core::link::Command;
use std::path::Path;

/// The stitched line at 250 km/h.
fn stitched(wire: &str) -> String {
    format!(
        r#"Session(title: "t", bench: PantographLqg(line: "../assets/lines/stitched-sw.ron", wire: {wire},
            speed_kmh: 250.0, approach_s: 1.0, specimen: "../assets/pantographs/dsa-380.ron"),
            rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 130.625)"#
    )
}

/// Faster than the simple line is made for: droppers go slack.
const SLACK: &str = r#"Session(title: "t", bench: PantographLqg(line: "../assets/lines/simple-55m.ron", wire: Full,
    speed_kmh: 300.0, approach_s: 1.0, specimen: "../assets/pantographs/dsa-380.ron", controller: Predictive),
    rig: "../assets/rigs/simulated-dsa-380.ron", uplift_n: 157.3)"#;

/// Seconds of a session on an exact clock, with the shapes that its bench gave.
fn real_run(text: &str, seconds: f64) -> Data {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions/inline.ron");
    let session: Session = rt_core::file::parse(text, &path).unwrap();
    let prepared = runtime::prepare_exact(&LoadedSession { session, path }).unwrap();
    let Prepared {
        mut rt_loop,
        mut user,
        layout,
        period_nanos,
        line,
        ..
    } = prepared;
    let sight = line.unwrap();
    let mut data = Data {
        channels: layout.channels().iter().map(Channel::from).collect(),
        history: History::new(layout.len(), 64 << 20),
        events: Default::default(),
        period_s: period_nanos as f64 * 1e-9,
        line: Some(LineMarks::from(&sight.scene)),
        wire: Some(LineData::live(sight)),
    };
    for cycle in 0..(seconds / data.period_s) as usize {
        let request = match cycle {
            20 => Some(Request::Arm),
            // Travelling to the parked position takes its time; asked too early it is refused.
            n if n > 20 && n % 50 == 0 => Some(Request::Run),
            _ => None,
        };
        if let Some(request) = request {
            user.commands.push(Command::Request(request)).unwrap();
        }
        rt_loop.cycle();
        while let Ok(frame) = user.record.as_mut().unwrap().pop() {
            data.history.push(frame.t_s(), &frame.values);
        }
        while user.events.pop().is_ok() {}
        data.wire.as_mut().unwrap().poll();
    }
    data
}

/// When most droppers were slack, in s.
fn slackest(data: &Data) -> f64 {
    let slack = data.find("slack_droppers").unwrap();
    let samples = data.history.samples(slack, 0.0, f64::INFINITY);
    let known = samples.filter(|(_, count)| count.is_finite());
    known.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0 + 0.02
}

/// Everything that the panel needs between frames.
struct Shown {
    panel: LineViewPanel,
    data: Data,
    now_s: f64,
    is_replay: bool,
    asks: Vec<Ask>,
}

impl Shown {
    fn new(data: Data) -> Self {
        Self {
            panel: LineViewPanel::default(),
            now_s: data.history.newest_s().unwrap_or_default(),
            data,
            is_replay: false,
            asks: Vec::new(),
        }
    }

    fn harness(self, size: [f32; 2], theme: Theme) -> Harness<'static, Self> {
        let mut harness = Harness::builder()
            .with_size(Vec2::from(size))
            .build_ui_state(
                |ui, shown: &mut Self| {
                    let view = View {
                        data: &shown.data,
                        now_s: shown.now_s,
                        is_following: !shown.is_replay,
                        is_replay: shown.is_replay,
                    };
                    shown.panel.show(ui, &view, &mut shown.asks);
                },
                self,
            );
        crate::theme::apply(&harness.ctx);
        harness.ctx.set_theme(theme);
        harness.run_steps(3);
        harness
    }
}

/// Full order, which needs no preparation.
fn harness(size: [f32; 2]) -> Harness<'static, Shown> {
    Shown::new(real_run(&stitched("Full"), 8.0)).harness(size, Theme::Dark)
}

#[test]
fn a_run_is_followed_and_the_whole_section_is_a_click_away() {
    let mut harness = harness([900.0, 600.0]);
    harness.get_by_label_contains("wire as computed at");
    harness.get_by_label_contains("(auto)");
    let place = harness.state().panel.center_m;
    assert!(place > 300.0, "the train runs: {place}");
    let summary = format!(
        "Line from {:.0} to {:.0} m, contact at {place:.0} m",
        place - 130.0,
        place + 130.0
    );
    harness.get_by_label_contains(&summary);
    harness.get_by_label("Whole section").click();
    harness.run_steps(2);
    harness.get_by_label_contains("Line from 0 to 1300 m");
    harness
        .get_by_role_and_label(egui::accesskit::Role::ComboBox, "movement")
        .click();
    harness.run_steps(2);
    harness.get_by_label("×200").click();
    harness.run_steps(2);
    assert_eq!(harness.state().panel.movement, Some(200));
    harness.get_by_label_contains("movement ×200");
}

#[test]
fn a_place_under_the_pointer_is_explained_and_a_click_goes_to_its_time() {
    let mut harness = harness([900.0, 600.0]);
    let rect = harness.get_by_label_contains("Line from").rect();
    harness.hover_at(pos2(
        rect.left() + 0.3 * rect.width(),
        rect.top() + 0.8 * rect.height(),
    ));
    harness.run_steps(6);
    harness.get_by_label_contains("Span ");
    harness.get_by_label("σ");
    harness.get_by_label_contains("Passed at");
    let at = pos2(
        rect.left() + 0.3 * rect.width(),
        rect.top() + 0.8 * rect.height(),
    );
    for pressed in [true, false] {
        harness.event(egui::Event::PointerButton {
            pos: at,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Default::default(),
        });
        harness.run_steps(1);
    }
    let shown = harness.state();
    let [Ask::ShowTime(t_s)] = shown.asks[..] else {
        panic!("{:?}", shown.asks);
    };
    let place = shown
        .data
        .history
        .value_at(shown.data.find("line_position").unwrap(), t_s)
        .unwrap();
    let center = shown.panel.center_m;
    assert!(
        place > center - 80.0 && place < center - 20.0,
        "{place} of {center}"
    );
}

/// Against the wire model's own numbers in the channels.
#[test]
fn the_shape_rises_at_the_contact_as_the_channel_says() {
    let shown = Shown::new(real_run(&stitched("Full"), 8.0));
    let view = View {
        data: &shown.data,
        now_s: shown.now_s,
        is_following: true,
        is_replay: false,
    };
    let scene = &shown.data.wire.as_ref().unwrap().scene;
    let motion = Motion::of(&view, scene, &Pass::default());
    let Source::Shape { t_s, is_old: false } = motion.source else {
        panic!("{:?}", motion.source);
    };
    assert!(
        shown.now_s - t_s < 0.085,
        "at most two shapes old: {}",
        shown.now_s - t_s
    );
    let x = motion.contact_m.unwrap();
    let at = |id: &str| {
        shown
            .data
            .history
            .value_at(shown.data.find(id).unwrap(), t_s + 1e-6)
            .unwrap()
    };
    assert!((at("line_position") - x).abs() < 1e-3);
    // Straight between places 2.5 m apart the wire's bend at the contact is cut by F d/(8 T) = 1.5 mm.
    let rise = motion.rise_at(x).unwrap();
    assert!(
        (rise - at("wire_rise")).abs() < 3e-3,
        "{rise} {}",
        at("wire_rise")
    );
    assert_eq!(motion.slack_count, Some(at("slack_droppers") as usize));
    assert!(motion.uplift.iter().any(|u| u.highest_m.unwrap() > 0.02));
    // A picture that is paused two seconds ago shows the wire of that moment.
    let earlier = View {
        now_s: shown.now_s - 2.0,
        ..view
    };
    let then = Motion::of(&earlier, scene, &Pass::default());
    assert!((x - then.contact_m.unwrap() - 2.0 * 250.0 / 3.6).abs() < 6.0);
}

#[test]
fn slack_droppers_are_marked_where_they_are() {
    let mut shown = Shown::new(real_run(SLACK, 7.0));
    // Shapes are taken 25 times a second: the first one in which a dropper was slack.
    let scene = &shown.data.wire.as_ref().unwrap().scene;
    let at = |now_s: f64| View {
        data: &shown.data,
        now_s,
        is_following: false,
        is_replay: false,
    };
    let is_slack = |t_s: &f64| {
        let motion = Motion::of(&at(*t_s), scene, &Pass::default());
        motion.slack.contains(&true)
    };
    let mut moments = (0..700).map(|n| 0.01 * f64::from(n));
    let slack_s = moments.find(is_slack).unwrap();
    let motion = Motion::of(&at(slack_s), scene, &Pass::default());
    let count = motion.slack.iter().filter(|s| **s).count();
    assert_eq!(motion.slack_count, Some(count));
    for (d, ((bottom, top), slack)) in scene
        .droppers
        .iter()
        .zip(motion.droppers.iter().zip(&motion.slack))
    {
        let near = (d.x_m - motion.contact_m.unwrap()).abs() < 80.0;
        // A slack dropper's ends came closer to each other than its elastic stretch at rest; a taut one's did not.
        assert!(
            !(near && *slack) || top - bottom < 0.0,
            "{d:?}: {bottom} {top}"
        );
    }
    shown.now_s = slack_s;
    let harness = shown.harness([900.0, 600.0], Theme::Dark);
    let words = match count {
        1 => "1 slack dropper".to_owned(),
        n => format!("{n} slack droppers"),
    };
    harness.get_by_label(&words);
}

#[test]
fn recordings_and_wires_without_mesh_say_what_is_missing() {
    let mut data = real_run(&stitched("Full"), 8.0);
    let scene = data.wire.take().unwrap().scene;
    data.wire = Some(LineData::at_rest(scene));
    let mut shown = Shown::new(data);
    shown.is_replay = true;
    let harness = shown.harness([420.0, 500.0], Theme::Light);
    harness.get_by_label_contains("from a recording: movement at the contact only");
    let passed = {
        let state = harness.state();
        let view = View {
            data: &state.data,
            now_s: state.now_s,
            is_following: false,
            is_replay: true,
        };
        let motion = Motion::of(
            &view,
            &state.data.wire.as_ref().unwrap().scene,
            &state.panel.pass,
        );
        motion.uplift.iter().filter_map(|u| u.highest_m).count()
    };
    assert!(passed >= 4, "supports that were passed: {passed}");
    let string =
        Shown::new(real_run(&stitched("String()"), 6.0)).harness([420.0, 500.0], Theme::Dark);
    string.get_by_label_contains("movement at the contact only");
}

#[test]
fn empty_states_say_what_to_do() {
    let mut data = sample::run(2.0);
    data.channels.retain(|c| c.id != "line_position");
    let harness = Shown::new(data).harness([420.0, 400.0], Theme::Dark);
    harness.get_by_label_contains("Open a session");
    let mut data = sample::run(0.0);
    data.line = None;
    let harness = Shown::new(data).harness([420.0, 400.0], Theme::Dark);
    harness.get_by_label_contains("Arm the bench");
    // Supports alone are enough for a level line.
    let harness = Shown::new(sample::run(4.0)).harness([420.0, 400.0], Theme::Dark);
    harness.get_by_label_contains("contact at 278 m");
}

#[test]
fn choices_survive_saving_and_old_files_are_read() {
    let panel = LineViewPanel {
        movement: Some(500),
        stretch: Stretch::Whole,
        ..LineViewPanel::default()
    };
    let text = ron::to_string(&panel).unwrap();
    let read: LineViewPanel = ron::from_str(&text).unwrap();
    assert_eq!(
        (read.movement, read.stretch, read.spans),
        (Some(500), Stretch::Whole, 4)
    );
    let read: LineViewPanel = ron::from_str("()").unwrap();
    assert_eq!(read.movement, None);
}

/// Pictures to look at, if PANTOBENCH_LOOK names a directory.
#[test]
fn look() {
    let Some(folder) = std::env::var_os("PANTOBENCH_LOOK") else {
        return;
    };
    let data = real_run(SLACK, 9.0);
    let mut harness = Shown::new(data).harness([420.0, 500.0], Theme::Dark);
    for kind in ["train", "slack", "whole", "hover", "replay"] {
        let shown = harness.state_mut();
        shown.now_s = match kind {
            "slack" => slackest(&shown.data),
            _ => shown.data.history.newest_s().unwrap(),
        };
        shown.panel.stretch = match kind {
            "whole" => Stretch::Whole,
            _ => Stretch::Train,
        };
        if kind == "replay" {
            let scene = shown.data.wire.take().unwrap().scene;
            shown.data.wire = Some(LineData::at_rest(scene));
            shown.is_replay = true;
        }
        for theme in [Theme::Dark, Theme::Light] {
            for size in [[420.0, 500.0], [1400.0, 800.0]] {
                harness.ctx.set_theme(theme);
                harness.set_size(Vec2::from(size));
                if kind == "hover" {
                    harness.hover_at(pos2(0.45 * size[0], 0.8 * size[1]));
                } else {
                    harness.remove_cursor();
                }
                harness.run_steps(4);
                let start = std::time::Instant::now();
                harness.run_steps(20);
                let each = start.elapsed().as_secs_f64() / 20.0;
                println!(
                    "{kind} at {size:?}: {:.2} ms of work for a frame, without painting",
                    1e3 * each
                );
                let name = format!("line-{kind}-{theme:?}-{}.png", size[0]);
                let picture = harness.render().unwrap();
                picture.save(Path::new(&folder).join(name)).unwrap();
            }
        }
    }
}
