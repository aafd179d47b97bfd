//! How long a frame of the plots takes over a long past.

use super::tests::Bench;
use super::*;
use crate::data::{Channel, sample};
use crate::history::History;
use crate::theme;
use eframe::egui::{Event, Pos2, RawInput, Rect, Stroke, Vec2, pos2};
use std::time::Instant;

/// An hour at 1 kHz of 20 channels in four plots.
fn an_hour() -> Bench {
    let channels: Vec<Channel> = (0..20)
        .map(|i| Channel {
            id: format!("c{i}"),
            label: format!("Channel {i}"),
            unit: "N".into(),
            role: rt_core::channel::Role::Measured,
        })
        .collect();
    let mut history = History::new(20, 600 << 20);
    let mut values = [0.0; 20];
    let mut noise = 1_u32;
    for n in 0..3_600_000 {
        for (i, value) in values.iter_mut().enumerate() {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            *value = 100.0 * (n as f64 * 1e-4 * (i + 1) as f64).sin() + f64::from(noise % 64);
        }
        history.push(f64::from(n) * 1e-3, &values);
    }
    let ids: Vec<String> = channels.iter().map(|c| c.id.clone()).collect();
    let plots = ids.chunks(5).map(|part| {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        PlotState::of(&part)
    });
    let mut panel = PlotsPanel {
        plots: plots.collect(),
        is_filled: true,
        ..PlotsPanel::default()
    };
    panel.horizontal.span_s = None;
    Bench {
        now_s: 3599.999,
        data: Data {
            channels,
            history,
            events: sample::run(0.1).events,
            period_s: 1e-3,
            line: None,
            wire: None,
        },
        panel,
        asks: Vec::new(),
        is_following: true,
    }
}

/// Median of the times of some frames, in ms: what the window does, without the graphics card.
fn frame_ms(mut show: impl FnMut(&mut Ui, usize), frames: usize) -> f64 {
    let ctx = eframe::egui::Context::default();
    theme::apply(&ctx);
    let mut times = Vec::new();
    for frame in 0..frames {
        // The pointer wanders over the plots.
        let pointer = pos2(300.0 + (frame % 100) as f32 * 8.0, 300.0);
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, Vec2::new(1600.0, 900.0))),
            time: Some(frame as f64 / 60.0),
            events: vec![Event::PointerMoved(pointer)],
            ..RawInput::default()
        };
        let begin = Instant::now();
        let mut output = ctx.run_ui(input, |ui| show(ui, frame));
        // There is no graphics card that would take them.
        output.textures_delta.clear();
        let meshes = ctx.tessellate(output.shapes, output.pixels_per_point);
        std::hint::black_box(meshes);
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Run it with `cargo test -p pantobench --release --lib an_hour_of_twenty -- --ignored --nocapture`.
#[test]
#[ignore = "takes half a minute and 400 MB; prints how long a frame takes"]
fn an_hour_of_twenty_lines_is_drawn_within_a_frame() {
    let mut bench = an_hour();
    let mut ratios = Vec::new();
    for (words, span, has_cursors) in [
        ("all of the hour", None, false),
        ("all of it again", None, false),
        ("all, with cursors", None, true),
        ("120 s", Some(120.0), false),
        ("2 s", Some(2.0), false),
        ("0.2 s", Some(0.2), false),
    ] {
        bench.panel.horizontal.span_s = span;
        if has_cursors {
            bench.panel.cursors.place(0.0, 3600.0, true);
        } else {
            bench.panel.cursors = Cursors::default();
        }
        let ours = frame_ms(
            |ui, frame| {
                bench.now_s = 3590.0 + frame as f64 / 60.0;
                bench.show(ui);
            },
            200,
        );
        let naive = frame_ms(
            |ui, _| {
                let line = bench.data.history.samples(0, 3500.0, 3600.0);
                let points = line.map(|(t, v)| pos2((t - 3500.0) as f32 * 16.0, 450.0 - v as f32));
                ui.painter()
                    .line(points.collect(), Stroke::new(1.3, egui::Color32::WHITE));
            },
            15,
        );
        println!(
            "{words}: {ours:.2} ms a frame; one naive line of 100 000 points {naive:.1} ms; ratio {:.2}",
            ours / naive
        );
        ratios.push((words, ours, ours / naive));
    }
    for (words, ms, ratio) in ratios {
        // The machine may be slow or busy; the naive line beside it was drawn by the same one.
        assert!(ms <= 8.0 || ratio < 0.6, "{words}: {ms} ms, {ratio}");
    }
}
