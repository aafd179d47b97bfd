//! The bar at the top: state, what can be done now, and how well the loop keeps time.

use crate::command::UiCommand;
use crate::theme;
use eframe::egui::{self, Button, Color32, CornerRadius, RichText, Ui};
use rt_core::guard::State;
use rt_core::rt_env::RtStatus;
use rt_core::timing::Timing;

/// What the bar shows.
pub struct View<'a> {
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
    /// Whether the plots are paused.
    pub paused: bool,
}

/// Draws the bar; returns the command that was clicked.
pub fn show(ui: &mut Ui, view: &View<'_>) -> Option<UiCommand> {
    let mut clicked = None;
    ui.horizontal(|ui| {
        state_badge(ui, view);
        for command in [
            UiCommand::Arm,
            UiCommand::Run,
            UiCommand::Stop,
            UiCommand::Acknowledge,
        ] {
            let available = !view.ended && command.is_available(view.state);
            if button(ui, command, available).clicked() {
                clicked = Some(command);
            }
        }
        ui.separator();
        quality(ui, view);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            for command in [UiCommand::Theme, UiCommand::Pause] {
                let label = if command == UiCommand::Pause && view.paused {
                    "Resume plots"
                } else {
                    command.text()
                };
                if with_tooltip(ui.button(label), ui, command).clicked() {
                    clicked = Some(command);
                }
            }
        });
    });
    clicked
}

/// Name, colour and shape of the state, always at the same size.
fn state_badge(ui: &mut Ui, view: &View<'_>) {
    let (name, color) = if view.ended {
        ("Ended", Color32::DARK_GRAY)
    } else {
        (view.state.name(), theme::state_color(view.state))
    };
    let (rect, response) = ui.allocate_exact_size(egui::vec2(150.0, 40.0), egui::Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(rect, CornerRadius::same(6), color);
    let shape_at = rect.left_center() + egui::vec2(22.0, 0.0);
    theme::paint_state_shape(painter, view.state, shape_at, 9.0, Color32::WHITE);
    let text_at = rect.left_center() + egui::vec2(42.0, 0.0);
    painter.text(
        text_at,
        egui::Align2::LEFT_CENTER,
        name,
        egui::FontId::proportional(20.0),
        Color32::WHITE,
    );
    response.on_hover_text("State of the bench: Idle, Ready, Armed, Running, Stopping or Tripped.");
}

fn button(ui: &mut Ui, command: UiCommand, available: bool) -> egui::Response {
    let is_stop = command == UiCommand::Stop;
    let mut text = RichText::new(command.text()).size(if is_stop { 20.0 } else { 16.0 });
    if is_stop {
        text = text.strong().color(Color32::WHITE);
    }
    let mut button =
        Button::new(text).min_size(egui::vec2(if is_stop { 120.0 } else { 76.0 }, 40.0));
    if is_stop {
        button = button
            .fill(theme::DANGER)
            .corner_radius(CornerRadius::same(6));
    }
    let response = ui.add_enabled(available, button);
    with_tooltip(response, ui, command)
}

fn with_tooltip(response: egui::Response, ui: &Ui, command: UiCommand) -> egui::Response {
    let key = ui.ctx().format_shortcut(&command.shortcut());
    let text = format!("{} [{key}]", command.tooltip());
    response.on_hover_text(&text).on_disabled_hover_text(text)
}

/// Period, worst wake-up, overruns, rights: the numbers keep their width.
fn quality(ui: &mut Ui, view: &View<'_>) {
    let dark = ui.visuals().dark_mode;
    let micros = |nanos: u64| nanos as f64 * 1e-3;
    let wake = &view.timing.wake;
    let overruns = Timing::read(&view.timing.overruns);
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        ui.label(
            RichText::new(format!(
                "{:.1} ms   wake-up p99 {:>5.0} µs  worst {:>6.0} µs",
                micros(view.period_nanos) * 1e-3,
                micros(wake.percentile(0.99)),
                micros(wake.max()),
            ))
            .monospace()
            .size(13.0),
        )
        .on_hover_text("Period of the loop; how late its thread wakes up: 99 % of all cycles, and the worst one.");
        ui.horizontal(|ui| {
            let color = if overruns == 0 { theme::good(dark) } else { theme::warning(dark) };
            ui.label(RichText::new(format!("overruns {overruns:>5}")).monospace().size(13.0).color(color))
                .on_hover_text("Cycles that were not done when the next one was due. The next tick is then skipped.");
            let (text, color) = if view.rt.is_real_time() {
                ("real-time rights: yes", theme::good(dark))
            } else {
                ("real-time rights: NO", theme::warning(dark))
            };
            let hover = if view.rt.missing.is_empty() {
                "SCHED_FIFO, locked memory, performance governor and a PREEMPT_RT kernel: all there.".to_owned()
            } else {
                format!("What is missing, and how to get it:\n\n• {}", view.rt.missing.join("\n\n• "))
            };
            let missing = view.rt.missing.len();
            let text = if missing == 0 { text.to_owned() } else { format!("{text}  ({missing} note{})", if missing == 1 { "" } else { "s" }) };
            ui.label(RichText::new(text).size(13.0).color(color)).on_hover_text(hover);
        });
    });
}
