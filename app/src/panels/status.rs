//! The bar at the top: state, what can be done now, recording, and how well the loop keeps time.

use crate::command::UiCommand;
use crate::ingest::is_recording;
use crate::panels::timing;
use crate::theme;
use crate::units::{bytes, clock};
use crate::workspace::PanelKind;
use eframe::egui::{self, Button, Color32, CornerRadius, RichText, Ui};
use rt_core::guard::State;
use rt_core::record::setup::RecorderStatus;
use rt_core::rt_env::RtStatus;
use rt_core::timing::Timing;
use std::time::Duration;

/// What the bar shows.
pub struct Bar<'a> {
    /// State of the bench.
    pub state: State,
    /// Whether the loop's thread has ended.
    pub ended: bool,
    /// Counters of the loop.
    pub timing: &'a Timing,
    /// Rights of its thread.
    pub rt: &'a RtStatus,
    /// Its period, in nanoseconds.
    pub period_nanos: u64,
    /// Whether the picture is held.
    pub paused: bool,
    /// Whether a recording is played back.
    pub is_replay: bool,
    /// Whether the drive shows an error that it has latched.
    pub has_latched: bool,
    /// What the recorder does.
    pub recorder: Option<&'a RecorderStatus>,
    /// Whether the dead man's switch is held, on a rig that has one.
    pub dead_man: Option<bool>,
}

/// Height of the buttons.
const HEIGHT: f32 = 40.0;

/// Draws the bar; returns the command that was clicked.
pub fn show(ui: &mut Ui, bar: &Bar<'_>) -> Option<UiCommand> {
    let mut clicked = None;
    ui.horizontal(|ui| {
        state_badge(ui, bar);
        for command in [
            UiCommand::Arm,
            UiCommand::Run,
            UiCommand::Stop,
            UiCommand::Park,
            UiCommand::Acknowledge,
        ] {
            let ended = bar
                .ended
                .then_some("The loop has ended: open the session again (Ctrl+O).");
            let is_nothing =
                command == UiCommand::Acknowledge && bar.state == State::Idle && !bar.has_latched;
            let obstacle = ended
                .or(command.obstacle(bar.state, bar.is_replay))
                .or(is_nothing.then_some("Nothing is latched."));
            // Parking is seldom: its button is there when it is possible.
            if command == UiCommand::Park && bar.state != State::Holding {
                continue;
            }
            let is_stop = command == UiCommand::Stop;
            if is_stop && stop_button(ui) || !is_stop && button(ui, command, obstacle) {
                clicked = Some(command);
            }
        }
        if let Some(is_held) = bar.dead_man {
            let (text, color) = if is_held {
                ("● F7 held", theme::good(ui.visuals().dark_mode))
            } else {
                ("○ hold F7", theme::warning(ui.visuals().dark_mode))
            };
            let label = ui.label(RichText::new(text).size(16.0).color(color));
            label.on_hover_text(
                "Dead man's switch: keep F7 pressed while the drive is on, or the bench stops.",
            );
        }
        clicked = clicked.or(record_button(ui, bar));
        ui.separator();
        quality(ui, bar);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            clicked = clicked.or(menu(ui, bar));
            let pause = if bar.paused {
                "▶ Resume"
            } else {
                "⏸ Pause"
            };
            let pause = Button::new(pause).min_size(egui::vec2(92.0, HEIGHT));
            if with_tooltip(ui.add(pause), ui, UiCommand::Pause).clicked() {
                clicked = Some(UiCommand::Pause);
            }
        });
    });
    clicked
}

/// The second step of arming, as long as there is time for it.
pub fn confirm_arming(ui: &mut Ui, left: Duration) -> Option<UiCommand> {
    ui.add_space(4.0);
    let clicked = ui.horizontal(|ui| {
        let seconds = left.as_secs_f64().ceil();
        let text = RichText::new(format!("Confirm arming (F5), {seconds:.0} s left")).size(16.0);
        let button = Button::new(text).min_size(egui::vec2(260.0, HEIGHT));
        let clicked = is_clicked(&ui.add(button), ui).then_some(UiCommand::Arm);
        let color = theme::warning(ui.visuals().dark_mode);
        let text = "▲ Look at the rig: is it free to move, and nobody in reach?";
        ui.label(RichText::new(text).size(18.0).color(color));
        clicked
    });
    ui.add_space(4.0);
    ui.ctx().request_repaint_after(Duration::from_millis(100));
    clicked.inner
}

/// Name, colour and shape of the state, always at the same size.
fn state_badge(ui: &mut Ui, bar: &Bar<'_>) {
    let (name, color) = if bar.ended {
        ("Ended", Color32::DARK_GRAY)
    } else {
        (bar.state.name(), theme::state_color(bar.state))
    };
    let (rect, response) = ui.allocate_exact_size(egui::vec2(132.0, HEIGHT), egui::Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(rect, CornerRadius::same(6), color);
    let shape_at = rect.left_center() + egui::vec2(18.0, 0.0);
    theme::paint_state_shape(painter, bar.state, shape_at, 9.0, Color32::WHITE);
    let text_at = rect.left_center() + egui::vec2(36.0, 0.0);
    painter.text(
        text_at,
        egui::Align2::LEFT_CENTER,
        name,
        egui::FontId::proportional(20.0),
        Color32::WHITE,
    );
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("State: {name}"))
    });
    response.on_hover_text(
        "State of the bench: Idle, Ready, Armed, Running, Stopping, Holding or Tripped.",
    );
}

/// A button for a command of the bench; grey, it says why.
fn button(ui: &mut Ui, command: UiCommand, obstacle: Option<&str>) -> bool {
    let text = RichText::new(command.text()).size(16.0);
    let button = Button::new(text).min_size(egui::vec2(58.0, HEIGHT));
    let response = ui.add_enabled(obstacle.is_none(), button);
    let response = match obstacle {
        Some(why) => response.on_disabled_hover_text(why),
        None => response,
    };
    is_clicked(&with_tooltip(response, ui, command), ui)
}

/// STOP, looking the same wherever it stands; `true` once for each press.
pub fn stop_button(ui: &mut Ui) -> bool {
    let stop = UiCommand::Stop;
    let text = RichText::new(stop.text()).size(20.0).strong();
    let button = Button::new(text.color(Color32::WHITE))
        .min_size(egui::vec2(108.0, HEIGHT))
        .fill(theme::DANGER)
        .corner_radius(CornerRadius::same(6));
    let response = ui.add(button);
    is_clicked(&with_tooltip(response, ui, stop), ui)
}

/// Whether a button was pressed: a key that is held presses it once.
fn is_clicked(response: &egui::Response, ui: &Ui) -> bool {
    let is_held = |event: &egui::Event| {
        matches!(
            event,
            egui::Event::Key {
                key: egui::Key::Enter | egui::Key::Space,
                pressed: true,
                repeat: true,
                ..
            }
        )
    };
    response.clicked() && !ui.input(|i| i.events.iter().any(is_held))
}

/// A button with the key of its command in the tooltip.
fn with_tooltip(response: egui::Response, ui: &Ui, command: UiCommand) -> egui::Response {
    let key = ui.ctx().format_shortcut(&command.shortcut());
    let text = format!("{} [{key}]", command.tooltip());
    response.on_hover_text(text)
}

/// Says what the recorder does, in the same width whatever it is.
fn record_button(ui: &mut Ui, bar: &Bar<'_>) -> Option<UiCommand> {
    let status = bar.recorder?;
    let recording = is_recording(status.phase);
    let seconds = status.frames as f64 * bar.period_nanos as f64 * 1e-9;
    let text = if recording {
        format!("■ {} {}", clock(seconds), bytes(status.bytes))
    } else {
        "● Record".to_owned()
    };
    let text = RichText::new(text).size(15.0);
    let button = if recording {
        Button::new(text.color(Color32::WHITE).strong()).fill(theme::DANGER)
    } else {
        Button::new(text)
    };
    let label = if recording { "End recording" } else { "Record" };
    let obstacle = UiCommand::Record.obstacle(bar.state, bar.is_replay);
    let is_possible = !bar.ended && obstacle.is_none();
    let response = ui.add_enabled(is_possible, button.min_size(egui::vec2(128.0, HEIGHT)));
    let response = match obstacle {
        Some(why) => response.on_disabled_hover_text(why),
        None => response,
    };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, label));
    let clicked = with_tooltip(response, ui, UiCommand::Record).clicked();
    clicked.then_some(UiCommand::Record)
}

/// Period, worst wake-up, overruns, rights: the numbers keep their width.
fn quality(ui: &mut Ui, bar: &Bar<'_>) {
    let dark = ui.visuals().dark_mode;
    let micros = |nanos: u64| nanos as f64 * 1e-3;
    let wake = &bar.timing.wake;
    let overruns = Timing::read(&bar.timing.overruns);
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        let text = format!(
            "{:.1} ms  late p99 {:>5.0} µs, worst {:>6.0} µs",
            micros(bar.period_nanos) * 1e-3,
            micros(wake.percentile(0.99)),
            micros(wake.max()),
        );
        ui.label(RichText::new(text).monospace().size(13.0)).on_hover_text(format!(
            "Period of the loop, and how late its thread wakes up: 99 % of all cycles, and the worst one ({}).",
            timing::quality(micros(wake.max()))
        ));
        ui.horizontal(|ui| {
            let color = if overruns == 0 {
                theme::good(dark)
            } else {
                theme::warning(dark)
            };
            let text = format!("missed {overruns:>5}");
            ui.label(RichText::new(text).monospace().size(13.0).color(color))
                .on_hover_text("Cycles that were not done when the next one was due. The next tick is then skipped.");
            let (text, color) = if bar.rt.is_real_time() {
                ("✔ real time", theme::good(dark))
            } else {
                ("✖ no real-time rights", theme::warning(dark))
            };
            let missing = bar.rt.missing.len();
            let text = match missing {
                0 => text.to_owned(),
                1 => format!("{text}, 1 note"),
                n => format!("{text}, {n} notes"),
            };
            let hover = if missing == 0 {
                "SCHED_FIFO, locked memory, performance governor and a PREEMPT_RT kernel: all there.".to_owned()
            } else {
                format!("What is missing, and how to get it:\n\n• {}", bar.rt.missing.join("\n\n• "))
            };
            ui.label(RichText::new(text).size(13.0).color(color)).on_hover_text(hover);
        });
    });
}

/// All commands by topic.
fn menu(ui: &mut Ui, bar: &Bar<'_>) -> Option<UiCommand> {
    let mut clicked = None;
    let topics: [(&str, &[UiCommand]); 4] = [
        (
            "File",
            &[
                UiCommand::OpenSession,
                UiCommand::OpenRecording,
                UiCommand::CloseRecording,
                UiCommand::Settings,
                UiCommand::Quit,
            ],
        ),
        (
            "Test",
            &[
                UiCommand::Record,
                UiCommand::Capture,
                UiCommand::Mark,
                UiCommand::Undo,
                UiCommand::Redo,
                UiCommand::Park,
            ],
        ),
        (
            "View",
            &[
                UiCommand::Theme,
                UiCommand::Larger,
                UiCommand::Smaller,
                UiCommand::SaveLayout,
                UiCommand::NextLayout,
                UiCommand::ResetLayout,
            ],
        ),
        ("Help", &[UiCommand::Palette, UiCommand::Guide]),
    ];
    let entry = |ui: &mut Ui, command: UiCommand, clicked: &mut Option<UiCommand>| {
        let key = ui.ctx().format_shortcut(&command.shortcut());
        let button = Button::new(command.text()).shortcut_text(key);
        let obstacle = command.obstacle(bar.state, bar.is_replay);
        let response = ui.add_enabled(obstacle.is_none(), button);
        if response
            .on_hover_text(command.tooltip())
            .on_disabled_hover_text(obstacle.unwrap_or_default())
            .clicked()
        {
            *clicked = Some(command);
        }
    };
    let button = Button::new(RichText::new("☰ Menu").size(15.0)).min_size(egui::vec2(88.0, HEIGHT));
    egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
        for (topic, commands) in topics {
            ui.menu_button(topic, |ui| {
                for command in commands {
                    entry(ui, *command, &mut clicked);
                }
            });
        }
        ui.menu_button("Panels", |ui| {
            for kind in PanelKind::ALL {
                entry(ui, UiCommand::Show(kind), &mut clicked);
            }
        });
    });
    clicked
}
