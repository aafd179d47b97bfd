//! The transport of an opened recording: play, reverse, step, scrub, speed, loop.

use crate::command::UiCommand;
use crate::data::{Data, Weight};
use crate::playback::{AtEnd, Playhead, SPEEDS};
use crate::theme;
use crate::view::Ask;
use eframe::egui::{self, Button, RichText, Sense, Stroke, Ui};

/// What a recording is called, and whether something of it is missing.
pub struct Title<'a> {
    /// What the session was called.
    pub title: &'a str,
    /// The file's name.
    pub file: &'a str,
    /// Operator, specimen, line, speed.
    pub about: &'a str,
    /// What could not be read.
    pub damage: Option<&'a str>,
}

/// Draws the transport.
pub fn show(ui: &mut Ui, head: &mut Playhead, title: &Title<'_>, data: &Data, asks: &mut Vec<Ask>) {
    let dark = ui.visuals().dark_mode;
    ui.horizontal(|ui| {
        ui.label(
            RichText::new("▶ Recording")
                .strong()
                .color(theme::warning(dark)),
        )
        .on_hover_text("The plots show this recording. The bench goes on behind it.");
        ui.add(egui::Label::new(RichText::new(title.title).strong()).truncate())
            .on_hover_text(format!("{}\n{}", title.file, title.about));
        if let Some(damage) = title.damage {
            ui.colored_label(theme::warning(dark), "⚠ parts are missing")
                .on_hover_text(damage);
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let command = UiCommand::CloseRecording;
            if ui
                .button(command.text())
                .on_hover_text(command.tooltip())
                .clicked()
            {
                asks.push(Ask::Command(command));
            }
            for (text, hint, ask) in [
                (
                    "What if …",
                    "Run it again on the simulated rig with other parameters, and lay both over each other.",
                    Ask::OpenWhatIf,
                ),
                (
                    "Compute again",
                    "The recorded measurements drive the same bench; every bit must come out again.",
                    Ask::Recompute,
                ),
            ] {
                if ui.button(text).on_hover_text(hint).clicked() {
                    asks.push(ask);
                }
            }
        });
    });
    ui.horizontal(|ui| {
        buttons(ui, head);
        let whole = head.whole();
        let text = format!(
            "{:>9.3} s of {:.3} s",
            head.position_s() - whole.from_s,
            whole.length_s()
        );
        ui.label(RichText::new(text).monospace());
        scrub(ui, head, data);
    });
}

fn buttons(ui: &mut Ui, head: &mut Playhead) {
    let mut button = |text: &str, label: &str, hint: &str| {
        let response = ui.add(Button::new(text).min_size(egui::vec2(34.0, 28.0)));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, label));
        response.on_hover_text(hint).clicked()
    };
    if button("⏮", "To the beginning", "Back to the beginning.") {
        head.seek(head.range().from_s);
    }
    if button("◀|", "Step back", "One sample back [Ctrl+Left].") {
        head.step(-1);
    }
    let is_backward = head.is_playing() && head.speed() < 0.0;
    if button(
        if is_backward { "⏸" } else { "◀" },
        "Play backward",
        "Play backward, or hold.",
    ) {
        play(head, is_backward, -1.0);
    }
    let is_forward = head.is_playing() && head.speed() > 0.0;
    if button(
        if is_forward { "⏸" } else { "▶" },
        "Play",
        "Play, or hold [Ctrl+Space].",
    ) {
        play(head, is_forward, 1.0);
    }
    if button("|▶", "Step forward", "One sample on [Ctrl+Right].") {
        head.step(1);
    }
    let mut loops = head.at_end() == AtEnd::Repeat;
    if ui
        .toggle_value(&mut loops, "⟲ Loop")
        .on_hover_text("Go on at the other end.")
        .clicked()
    {
        head.set_at_end(if loops { AtEnd::Repeat } else { AtEnd::Pause });
    }
    let speed = head.speed().abs();
    egui::ComboBox::from_id_salt("replay speed")
        .selected_text(format!("× {speed}"))
        .width(74.0)
        .show_ui(ui, |ui| {
            for choice in SPEEDS {
                if ui
                    .selectable_label(speed == choice, format!("× {choice}"))
                    .clicked()
                {
                    head.set_speed(choice * head.speed().signum());
                }
            }
        })
        .response
        .on_hover_text("Speed of the playback.");
}

fn play(head: &mut Playhead, is_playing_so: bool, sign: f64) {
    if is_playing_so {
        head.pause();
    } else {
        head.set_speed(sign * head.speed().abs());
        head.play();
    }
}

/// A bar over the whole recording; events stand on it as marks.
fn scrub(ui: &mut Ui, head: &mut Playhead, data: &Data) {
    let size = egui::vec2(ui.available_width().max(80.0), 28.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let dark = ui.visuals().dark_mode;
    let whole = head.whole();
    let length = whole.length_s().max(1e-9);
    let x =
        |t: f64| rect.left() + rect.width() * ((t - whole.from_s) / length).clamp(0.0, 1.0) as f32;
    let painter = ui.painter_at(rect);
    painter.rect_filled(
        rect.shrink2(egui::vec2(0.0, 8.0)),
        3.0,
        ui.visuals().extreme_bg_color,
    );
    let played = egui::Rect::from_x_y_ranges(
        rect.left()..=x(head.position_s()),
        rect.shrink2(egui::vec2(0.0, 8.0)).y_range(),
    );
    painter.rect_filled(played, 3.0, theme::grid(dark));
    for event in &data.events {
        let (color, height) = match Weight::of(event) {
            Weight::Trip => (theme::danger_text(dark), 1.0),
            Weight::Marker => (theme::good(dark), 0.9),
            Weight::Warning => (theme::warning(dark), 0.7),
            Weight::Change => (theme::line(dark, rt_core::channel::Role::Measured), 0.5),
            Weight::Note => continue,
        };
        let at = x(event.t_nanos as f64 * 1e-9);
        let half = 0.5 * rect.height() * height;
        let center = rect.center().y;
        painter.vline(at, center - half..=center + half, Stroke::new(2.0, color));
    }
    let text = ui.visuals().text_color();
    painter.vline(x(head.position_s()), rect.y_range(), Stroke::new(3.0, text));
    response.widget_info(|| {
        egui::WidgetInfo::slider(
            true,
            head.position_s() - whole.from_s,
            "Time of the recording",
        )
    });
    if let Some(at) = response.interact_pointer_pos() {
        let share = f64::from((at.x - rect.left()) / rect.width());
        head.seek(whole.from_s + share * length);
    }
    if response.has_focus() {
        let step = 0.01 * length;
        let (back, on) = ui.input(|i| {
            (
                i.key_pressed(egui::Key::ArrowLeft),
                i.key_pressed(egui::Key::ArrowRight),
            )
        });
        if back || on {
            head.seek(head.position_s() + if on { step } else { -step });
        }
    }
    response.on_hover_text("Drag to any moment. Marks: ■ trips, markers, warnings and changes.");
}
