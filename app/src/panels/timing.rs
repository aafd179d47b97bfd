//! How punctually the loop wakes up, how long its parts take, what was missed, and how full the rings are.

use crate::theme;
use crate::units::grouped;
use eframe::egui::{self, Grid, RichText, ScrollArea, Sense, Stroke, Ui};
use rt_core::rt_env::RtStatus;
use rt_core::timing::{Histogram, Timing};

/// What the panel shows.
pub struct TimingView<'a> {
    /// Counters and histograms of the loop.
    pub timing: &'a Timing,
    /// Rights of its thread.
    pub rt: &'a RtStatus,
    /// Its period, in nanoseconds.
    pub period_nanos: u64,
    /// Frames that the recorder's ring can hold.
    pub record_ring: u64,
}

/// The worst wake-up in µs up to which real time is called so, and its name.
const QUALITY: [(f64, &str); 4] = [
    (20.0, "very good"),
    (50.0, "good"),
    (500.0, "usable"),
    (f64::INFINITY, "not real time"),
];

/// How good a worst wake-up is, in a word.
pub fn quality(worst_us: f64) -> &'static str {
    let found = QUALITY.iter().find(|(up_to, _)| worst_us <= *up_to);
    found.map_or("not real time", |(_, name)| name)
}

/// Draws the panel.
pub fn show(ui: &mut Ui, view: &TimingView<'_>) {
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            rights(ui, view.rt);
            ui.separator();
            counters(ui, view);
            ui.separator();
            let t = view.timing;
            stages(
                ui,
                &[
                    (
                        "Wake-up latency",
                        &t.wake,
                        "From the deadline to the first instruction of the cycle.",
                    ),
                    (
                        "Whole cycle",
                        &t.exec,
                        "Everything that the loop does in a cycle.",
                    ),
                    (
                        "Exchange with the rig",
                        &t.exchange,
                        "Commands out, measurements in.",
                    ),
                    (
                        "Step of the bench",
                        &t.step,
                        "Model and controller, while the bench runs.",
                    ),
                    (
                        "Guard and rings",
                        &t.publish,
                        "Limits, commands, frame and events to the rings.",
                    ),
                ],
            );
            ui.add_space(8.0);
            let period_us = view.period_nanos as f64 * 1e-3;
            let width = ui.available_width();
            let columns = if width > 720.0 { 2 } else { 1 };
            ui.columns(columns, |cells| {
                histogram(&mut cells[0], "Wake-up latency", &t.wake, period_us);
                histogram(
                    &mut cells[columns - 1],
                    "Execution of a cycle",
                    &t.exec,
                    period_us,
                );
            });
        });
}

fn rights(ui: &mut Ui, rt: &RtStatus) {
    let dark = ui.visuals().dark_mode;
    let yes_no = |yes: bool| if yes { "✔ yes" } else { "✖ no" };
    let color = |good: bool| {
        if good {
            theme::good(dark)
        } else {
            theme::warning(dark)
        }
    };
    ui.horizontal_wrapped(|ui| {
        let mut item = |name: &str, value: String, good: bool| {
            ui.label(name);
            ui.label(RichText::new(value).color(color(good)).strong());
            ui.add_space(10.0);
        };
        let priority = rt.priority.map_or_else(String::new, |p| format!(" {p}"));
        item(
            "Scheduler",
            format!("{}{priority}", rt.scheduler),
            rt.is_real_time(),
        );
        item(
            "Memory locked",
            yes_no(rt.memory_locked).into(),
            rt.memory_locked,
        );
        item("Kept awake", yes_no(rt.kept_awake).into(), rt.kept_awake);
        item("PREEMPT_RT", yes_no(rt.preempt_rt).into(), rt.preempt_rt);
        let governor = rt.governor.as_deref().unwrap_or("unknown");
        item("Governor", governor.into(), governor == "performance");
    });
    for missing in &rt.missing {
        ui.label(RichText::new(format!("• {missing}")).size(13.0));
    }
}

fn counters(ui: &mut Ui, view: &TimingView<'_>) {
    let dark = ui.visuals().dark_mode;
    let t = view.timing;
    let read = |c| Timing::read(c);
    let counters = [
        (
            "Cycles",
            read(&t.cycles),
            false,
            "Cycles done since the start.",
        ),
        (
            "Overruns",
            read(&t.overruns),
            true,
            "Cycles that were not done when the next one was due.",
        ),
        (
            "Skipped ticks",
            read(&t.skipped),
            true,
            "Ticks left out after overruns; they are gaps in the data.",
        ),
        (
            "Lost by the recorder",
            read(&t.record_drops),
            true,
            "Frames that the recorder's ring had no room for.",
        ),
        (
            "Lost by the display",
            read(&t.display_drops),
            true,
            "Frames that the display's ring had no room for; harmless.",
        ),
        (
            "Lost events",
            read(&t.event_drops),
            true,
            "Events that came faster than they were taken.",
        ),
    ];
    Grid::new("counters")
        .num_columns(6)
        .spacing(egui::vec2(12.0, 2.0))
        .show(ui, |ui| {
            for (i, (name, count, is_fault, hint)) in counters.into_iter().enumerate() {
                ui.label(name).on_hover_text(hint);
                let text = RichText::new(format!("{:>9}", grouped(count))).monospace();
                let bad = is_fault && count > 0;
                ui.label(if bad {
                    text.color(theme::warning(dark)).strong()
                } else {
                    text
                })
                .on_hover_text(hint);
                if i % 3 == 2 {
                    ui.end_row();
                }
            }
        });
    let fill = |n: u64| 100.0 * n as f64 / view.record_ring.max(1) as f64;
    ui.label(
        RichText::new(format!(
            "Recorder's ring {:>5.1} % full now, {:>5.1} % at most, of {} frames",
            fill(read(&t.record_fill)),
            fill(read(&t.record_fill_max)),
            grouped(view.record_ring)
        ))
        .monospace()
        .size(13.0),
    );
}

fn stages(ui: &mut Ui, rows: &[(&str, &Histogram, &str)]) {
    let micros = |nanos: u64| RichText::new(format!("{:>9.1}", nanos as f64 * 1e-3)).monospace();
    Grid::new("stages")
        .num_columns(5)
        .spacing(egui::vec2(16.0, 4.0))
        .striped(true)
        .show(ui, |ui| {
            for head in ["in µs", "median", "99 %", "99.9 %", "worst"] {
                ui.label(RichText::new(head).size(13.0).strong());
            }
            ui.end_row();
            for (name, histogram, hint) in rows {
                ui.label(*name).on_hover_text(*hint);
                for p in [0.5, 0.99, 0.999] {
                    ui.label(micros(histogram.percentile(p)));
                }
                ui.label(micros(histogram.max()));
                ui.end_row();
            }
        });
}

/// Decades of the horizontal axis, in µs.
const DECADES: std::ops::RangeInclusive<i32> = -1..=5;

/// Counts over duration, both logarithmic: a single late cycle among millions is seen.
fn histogram(ui: &mut Ui, title: &str, histogram: &Histogram, period_us: f64) {
    let dark = ui.visuals().dark_mode;
    ui.label(RichText::new(title).strong());
    let size = egui::vec2(ui.available_width(), 150.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let plot = rect
        .with_max_y(rect.bottom() - 18.0)
        .shrink2(egui::vec2(8.0, 0.0));
    let painter = ui.painter_at(rect);
    painter.rect_filled(plot, 3.0, ui.visuals().extreme_bg_color);
    let (first, last) = (*DECADES.start(), *DECADES.end());
    let x = |us: f64| {
        let share = (us.max(1e-3).log10() - f64::from(first)) / f64::from(last - first);
        plot.left() + plot.width() * share.clamp(0.0, 1.0) as f32
    };
    let grid = Stroke::new(1.0, theme::grid(dark));
    let font = egui::FontId::proportional(12.0);
    for decade in DECADES {
        let at = x(10_f64.powi(decade));
        painter.vline(at, plot.y_range(), grid);
        let name = match decade {
            -1 => "0.1".to_owned(),
            0..=2 => format!("{}", 10_i32.pow(decade as u32)),
            3..=5 => format!("{} ms", 10_i32.pow(decade as u32 - 3)),
            _ => String::new(),
        };
        let name = if decade == 2 {
            format!("{name} µs")
        } else {
            name
        };
        let place = egui::pos2(at, plot.bottom() + 2.0);
        // Those at the ends stay within the picture.
        let anchor = match decade {
            d if d == first => egui::Align2::LEFT_TOP,
            d if d == last => egui::Align2::RIGHT_TOP,
            _ => egui::Align2::CENTER_TOP,
        };
        painter.text(place, anchor, name, font.clone(), ui.visuals().text_color());
    }
    let buckets = histogram.filled_buckets();
    let most = buckets.iter().map(|b| b.2).max().unwrap_or(0);
    if most == 0 {
        let text = "No cycle yet";
        painter.text(
            plot.center(),
            egui::Align2::CENTER_CENTER,
            text,
            font,
            ui.visuals().text_color(),
        );
        return;
    }
    let height = |count: u64| ((count + 1) as f32).ln() / ((most + 1) as f32).ln();
    let color = theme::line(dark, rt_core::channel::Role::Measured);
    for (from, to, count) in &buckets {
        let (left, right) = (x(*from as f64 * 1e-3), x(*to as f64 * 1e-3));
        let top = plot.bottom() - plot.height() * 0.95 * height(*count);
        let bar = egui::Rect::from_min_max(
            egui::pos2(left, top),
            egui::pos2(right.max(left + 1.0), plot.bottom()),
        );
        painter.rect_filled(bar, 0.0, color);
    }
    let period = x(period_us);
    painter.vline(
        period,
        plot.y_range(),
        Stroke::new(1.5, theme::warning(dark)),
    );
    painter.text(
        egui::pos2(period - 3.0, plot.top() + 2.0),
        egui::Align2::RIGHT_TOP,
        "period",
        egui::FontId::proportional(12.0),
        theme::warning(dark),
    );
    response.on_hover_ui_at_pointer(|ui| {
        ui.label(format!(
            "{} cycles; counts on a logarithmic scale, so that one late cycle among millions is seen.",
            grouped(histogram.count())
        ));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bands that users of LinuxCNC judge by.
    #[test]
    fn jitter_has_a_name() {
        assert_eq!(quality(12.0), "very good");
        assert_eq!(quality(35.0), "good");
        assert_eq!(quality(501.0), "not real time");
        assert_eq!(quality(f64::NAN), "not real time");
    }
}
