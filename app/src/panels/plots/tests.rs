//! What a person does in the plots panel and what comes of it; how it looks.

use super::*;
use crate::data::sample;
use crate::history::History;
use crate::plot::cursors::Which;
use crate::plot::scale::Against;
use crate::theme;
use eframe::egui::{Button, Event, Modifiers, Pos2, Role, Theme, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

/// The panel with data beside a channel that can be dragged.
pub(super) struct Bench {
    pub(super) data: Data,
    pub(super) panel: PlotsPanel,
    pub(super) asks: Vec<Ask>,
    pub(super) now_s: f64,
    pub(super) is_following: bool,
}

impl Bench {
    fn new(seconds: f64) -> Self {
        let data = sample::run(seconds);
        Self {
            now_s: data.history.newest_s().unwrap_or(0.0),
            data,
            panel: PlotsPanel::default(),
            asks: Vec::new(),
            is_following: true,
        }
    }

    pub(super) fn show(&mut self, ui: &mut Ui) {
        let view = View {
            data: &self.data,
            now_s: self.now_s,
            is_following: self.is_following,
            is_replay: false,
        };
        self.panel.show(ui, &view, &mut self.asks);
    }

    fn ids(&self, plot: usize) -> Vec<&str> {
        let entries = &self.panel.plots[plot].entries;
        entries.iter().map(|e| e.channel.as_str()).collect()
    }
}

/// What a test drags: the channel browser does the same.
const DRAGGED: &str = "tracking_error";

fn harness(bench: Bench, size: [f32; 2], dark: bool) -> Harness<'static, Bench> {
    let theme = if dark { Theme::Dark } else { Theme::Light };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(
            |ui, bench: &mut Bench| {
                theme::apply(ui.ctx());
                bench.show(ui);
            },
            bench,
        );
    harness.run_steps(3);
    harness
}

fn with_source(bench: Bench) -> Harness<'static, Bench> {
    let mut harness = Harness::builder()
        .with_size([1000.0, 700.0])
        .build_ui_state(
            |ui, bench: &mut Bench| {
                theme::apply(ui.ctx());
                let source = ui.add(Button::new("source").sense(Sense::drag()));
                source.dnd_set_drag_payload(ChannelDrag(DRAGGED.to_owned()));
                bench.show(ui);
            },
            bench,
        );
    harness.run_steps(3);
    harness
}

fn drag(harness: &mut Harness<'static, Bench>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.run_steps(2);
    harness.drag_at(from);
    harness.run_steps(2);
    harness.hover_at(from + 0.5 * (to - from));
    harness.run_steps(2);
    harness.hover_at(to);
    harness.run_steps(2);
    harness.drop_at(to);
    harness.run_steps(4);
}

const FORCE_PLOT: &str = "Plot 1: Contact force, Contact force, 20 Hz";

#[test]
fn before_the_first_sample_the_panel_says_that_it_waits() {
    let mut bench = Bench::new(1.0);
    bench.data.history = History::new(6, 1 << 20);
    let harness = harness(bench, [600.0, 400.0], true);
    harness.get_by_label("Waiting for the first sample of the loop.");
}

#[test]
fn a_line_is_removed_by_its_legend_and_the_last_plot_leaves_a_way_back() {
    let mut harness = harness(Bench::new(12.0), [1000.0, 700.0], true);
    harness.get_by_label(FORCE_PLOT);
    harness
        .get_by_label("Remove Contact force from plot 1")
        .click();
    harness.run_steps(4);
    assert_eq!(harness.state().ids(0), ["force_20hz"]);
    for _ in 0..3 {
        harness.get_by_label("Menu of plot 1").click();
        harness.run_steps(4);
        harness.get_by_label("Remove this plot").click();
        harness.run_steps(4);
    }
    assert!(harness.state().panel.plots.is_empty());
    harness.get_by_label("Plots to begin with").click();
    harness.run_steps(4);
    assert_eq!(harness.state().ids(0), ["force", "force_20hz"]);
}

#[test]
fn a_channel_is_dragged_to_a_plot() {
    let mut harness = with_source(Bench::new(12.0));
    let from = harness.get_by_label("source").rect().center();
    let to = harness.get_by_label(FORCE_PLOT).rect().center();
    drag(&mut harness, from, to);
    assert_eq!(harness.state().ids(0), ["force", "force_20hz", DRAGGED]);
    // A second time it is refused in words.
    drag(&mut harness, from, to);
    assert_eq!(harness.state().ids(0).len(), 3);
    let asks = &harness.state().asks;
    assert!(
        matches!(&asks[..], [Ask::Tell(words)] if words.contains("already")),
        "{asks:?}"
    );
    // Below the plots there is room for one of its own.
    let bar = harness
        .get_by_label("Part of the past that is shown")
        .rect();
    drag(&mut harness, from, bar.center());
    assert_eq!(harness.state().ids(3), [DRAGGED]);
}

#[test]
fn a_channel_is_added_with_the_keyboards_menu() {
    let mut harness = harness(Bench::new(12.0), [1000.0, 700.0], true);
    harness.get_by_label("Add a channel to plot 3").click();
    harness.run_steps(4);
    harness.get_by_label("Motor reference (mm)").click();
    harness.run_steps(4);
    assert_eq!(
        harness.state().ids(2),
        ["tracking_error", "motor_reference"]
    );
}

#[test]
fn a_drag_looks_back_and_a_button_and_a_double_click_lead_to_live_again() {
    let mut harness = harness(Bench::new(30.0), [1000.0, 700.0], true);
    let plot = harness.get_by_label(FORCE_PLOT).rect();
    harness.get_by_label("Live");
    drag(
        &mut harness,
        plot.center(),
        plot.center() + vec2(0.25 * plot.width(), 0.0),
    );
    let (from, to) = harness.state().panel.horizontal.held.unwrap();
    // A quarter of 10 s, less what the pointer moves before a drag is one.
    let newest = harness.state().now_s;
    assert!(
        (to - from - 10.0).abs() < 1e-6 && (1.8..2.6).contains(&(newest - to)),
        "{to}"
    );
    harness.get_by_label("Back to live").click();
    harness.run_steps(4);
    assert!(harness.state().panel.horizontal.held.is_none());
    assert!(harness.state().asks.is_empty());
    drag(&mut harness, plot.center(), plot.center() + vec2(50.0, 0.0));
    assert!(harness.state().panel.horizontal.held.is_some());
    for _ in 0..2 {
        harness.get_by_label(FORCE_PLOT).click();
        harness.run_steps(1);
    }
    harness.run_steps(4);
    assert!(harness.state().panel.horizontal.held.is_none());
}

#[test]
fn a_paused_picture_stands_and_asks_to_go_on() {
    let mut bench = Bench::new(30.0);
    (bench.now_s, bench.is_following) = (12.0, false);
    let mut harness = harness(bench, [1000.0, 700.0], true);
    harness.get_by_label("Not live: stands at 12.000 s");
    harness.get_by_label("Back to live").click();
    harness.run_steps(4);
    assert_eq!(harness.state().asks, [Ask::Command(UiCommand::Pause)]);
}

#[test]
fn the_wheel_looks_closer_and_keys_move() {
    let mut harness = harness(Bench::new(30.0), [1000.0, 700.0], true);
    let plot = harness.get_by_label(FORCE_PLOT).rect();
    harness.hover_at(plot.center());
    harness.run_steps(1);
    harness.event(Event::MouseWheel {
        unit: eframe::egui::MouseWheelUnit::Point,
        delta: vec2(0.0, 100.0),
        phase: eframe::egui::TouchPhase::Move,
        source: eframe::egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
    harness.run_steps(30);
    let span = harness.state().panel.horizontal.span_s.unwrap();
    assert!((5.0..8.0).contains(&span), "{span}");
    harness.get_by_label(FORCE_PLOT).click();
    harness.run_steps(4);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(4);
    let (_, to) = harness.state().panel.horizontal.held.unwrap();
    assert!((harness.state().now_s - to - 0.1 * span).abs() < 1e-6);
    harness.key_press(Key::A);
    harness.run_steps(4);
    let cursors = &harness.state().panel.cursors;
    assert!(cursors.is_on && !cursors.is_riding);
    harness.key_press(Key::Home);
    harness.run_steps(4);
    assert!(harness.state().panel.horizontal.held.is_none());
}

#[test]
fn cursors_say_what_they_measure_and_move_along() {
    let mut harness = harness(Bench::new(30.0), [1400.0, 800.0], true);
    harness.get_by_label("Cursors").click();
    harness.run_steps(4);
    let row = harness.get_by_label_contains("Contact force, 20 Hz in N: at A");
    assert!(row.value().is_some_and(|l| l.contains("F_m + 3σ")));
    let edge = harness.state().now_s;
    let before = harness.state().panel.cursors.time_s(Which::A, edge);
    harness.state_mut().now_s -= 2.0;
    harness.run_steps(2);
    let after = harness.state().panel.cursors.time_s(Which::A, edge - 2.0);
    assert!((before - after - 2.0).abs() < 1e-9);
    // By the pointer: cursor B is dragged from two thirds to five sixths of the picture.
    let plot = harness.get_by_label(FORCE_PLOT).rect();
    let at = |part: f32| pos2(plot.left() + part * plot.width(), plot.center().y);
    drag(&mut harness, at(2.0 / 3.0), at(5.0 / 6.0));
    let edge = harness.state().now_s;
    let b = harness.state().panel.cursors.time_s(Which::B, edge);
    assert!((edge - b - 10.0 / 6.0).abs() < 0.02, "{}", edge - b);
    assert!(harness.state().panel.horizontal.held.is_none());
}

#[test]
fn a_right_click_asks_for_tables_and_pictures() {
    let mut harness = harness(Bench::new(30.0), [1000.0, 800.0], true);
    for entry in [
        "Export what is seen…",
        "Export all of these channels…",
        "This plot as SVG…",
        "All plots as PNG…",
    ] {
        harness.get_by_label(FORCE_PLOT).click_secondary();
        harness.run_steps(4);
        harness.get_by_label(entry).click();
        harness.run_steps(4);
    }
    let channels = vec!["force".to_owned(), "force_20hz".to_owned()];
    let now_s = harness.state().now_s;
    let asks = &harness.state().asks;
    let expected = |from_s| Ask::ExportData {
        channels: channels.clone(),
        from_s,
        to_s: now_s,
    };
    assert_eq!(asks[..2], [expected(now_s - 10.0), expected(0.0)]);
    assert!(
        matches!(&asks[2], Ask::ExportSvg { name, svg } if name == "force-force_20hz" && svg.contains("Contact force, 20 Hz (N)"))
    );
    let plot = harness.get_by_label(FORCE_PLOT).rect();
    assert!(matches!(&asks[3], Ask::ExportPng { rect, .. } if rect.contains_rect(plot)));
    assert_eq!(asks.len(), 4);
}

#[test]
fn a_marker_with_text_is_asked_for() {
    let mut harness = harness(Bench::new(30.0), [1000.0, 800.0], true);
    harness.get_by_label("Marker…").click();
    harness.run_steps(4);
    harness
        .get_by_role_and_label(Role::TextInput, "Marker")
        .type_text("head changed");
    harness.run_steps(4);
    harness.get_by_label("Add").click();
    harness.run_steps(4);
    assert_eq!(harness.state().asks, [Ask::Mark("head changed".to_owned())]);
    assert!(harness.state().panel.marker.is_none());
}

#[test]
fn against_place_spans_are_numbered_and_a_bench_without_line_is_told_so() {
    let mut harness = harness(Bench::new(15.0), [1000.0, 700.0], true);
    harness.get_by_label("Place").click();
    harness.run_steps(4);
    assert_eq!(harness.state().panel.horizontal.against, Against::Place);
    harness.get_by_label("Section");
    harness.state_mut().data.channels[2].id = "elsewhere".to_owned();
    harness.run_steps(2);
    harness.get_by_label_contains("This bench has no place along a line.");
}

#[test]
fn what_was_chosen_is_saved_and_comes_back() {
    let mut panel = PlotsPanel {
        plots: vec![PlotState::of(&["force", "motor_position"])],
        is_filled: true,
        ..PlotsPanel::default()
    };
    panel.horizontal.span_s = Some(30.0);
    let text = ron::to_string(&panel).unwrap();
    let back: PlotsPanel = ron::from_str(&text).unwrap();
    assert_eq!(back.plots[0].entries, panel.plots[0].entries);
    assert_eq!(back.horizontal, panel.horizontal);
    let partial: PlotsPanel = ron::from_str("(least_event: Some(Trip))").unwrap();
    assert_eq!(partial.least_event, Some(Weight::Trip));
    assert!(!partial.is_filled);
}

/// Pictures to look at, if a directory for them is named.
#[test]
fn looks() {
    let Some(dir) = std::env::var_os("PANTOBENCH_LOOK") else {
        return;
    };
    let dir = std::path::PathBuf::from(dir);
    for (dark, size) in [
        (true, [1400.0, 800.0]),
        (false, [1400.0, 800.0]),
        (true, [420.0, 500.0]),
        (false, [420.0, 500.0]),
    ] {
        for scene in ["live", "cursors", "place", "all", "close"] {
            let mut bench = Bench::new(18.0);
            bench.now_s = if scene == "place" { 14.0 } else { 9.0 };
            bench.panel.least_event = Some(Weight::Note);
            match scene {
                "place" => bench.panel.horizontal.against = Against::Place,
                "all" => {
                    bench.now_s = 17.9;
                    bench.panel.horizontal.span_s = None;
                }
                "close" => {
                    bench.panel.horizontal.held = Some((3.9, 4.1));
                    bench.panel.is_filled = true;
                    bench.panel.plots = vec![
                        PlotState::of(&["force", "force_20hz", "motor_position"]),
                        PlotState::default(),
                    ];
                }
                _ => {}
            }
            let mut harness = harness(bench, size, dark);
            if scene == "cursors" {
                harness.get_by_label("Cursors").click();
                harness.run_steps(4);
            }
            if scene == "live" || scene == "place" {
                let plot = harness.get_by_label(FORCE_PLOT).rect();
                harness.hover_at(plot.center());
                harness.run_steps(4);
            }
            let name = format!(
                "plots-{scene}-{}-{}.png",
                size[0],
                if dark { "dark" } else { "light" }
            );
            harness.render().unwrap().save(dir.join(name)).unwrap();
        }
    }
}
