//! The table of the cursors: values at both, their difference, and statistics of what lies between.

use super::cursors::{Cursors, Measured, Which};
use super::scale::Scale;
use super::stack::FORCES;
use crate::data::Data;
use crate::units::{fixed_width, shown};
use eframe::egui::{DragValue, FontId, Pos2, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

const ROW: f32 = 20.0;
const NAMES: f32 = 190.0;
const NAME: FontId = FontId::proportional(14.0);
const VALUE: FontId = FontId::monospace(13.0);
const COLUMNS: [&str; 10] = [
    "at A",
    "at B",
    "B − A",
    "mean",
    "σ",
    "min",
    "max",
    "RMS",
    "F_m − 3σ",
    "F_m + 3σ",
];

/// The numbers of one row, in the unit of the screen. The last two are of forces only.
pub fn numbers(measured: &Measured, factor: f64, is_force: bool) -> [f64; 10] {
    let of = |value: Option<f64>| value.map_or(f64::NAN, |v| v * factor);
    let between = &measured.between;
    let (a, b) = (of(measured.at_a), of(measured.at_b));
    let (mean, deviation) = (of(between.mean()), of(between.std()));
    let three = |sign: f64| {
        if is_force {
            mean + sign * 3.0 * deviation
        } else {
            f64::NAN
        }
    };
    [
        a,
        b,
        b - a,
        mean,
        deviation,
        of(between.min()),
        of(between.max()),
        of(between.rms()),
        three(-1.0),
        three(1.0),
    ]
}

/// The line above the table: both times, their distance, whether they ride, and the way to put them away.
pub fn head(ui: &mut Ui, data: &Data, cursors: &mut Cursors, scale: &Scale, edge_s: f64) {
    ui.horizontal_wrapped(|ui| {
        for which in [Which::A, Which::B] {
            let mut t_s = cursors.time_s(which, edge_s);
            let width = (scale.to_s - scale.from_s).abs().max(1e-3);
            let value = DragValue::new(&mut t_s)
                .speed(width / 500.0)
                .fixed_decimals(4)
                .prefix(format!("{}  ", which.letter()))
                .suffix(" s");
            let about = format!("Time of cursor {}", which.letter());
            let response = ui.add(value);
            ui.ctx().accesskit_node_builder(response.id, |node| node.set_label(about.as_str()));
            let how = format!("{about}: drag or type. In a plot: drag its line, or press its letter.");
            if response.on_hover_text(how).changed() {
                cursors.set(which, t_s, edge_s);
            }
        }
        let (a, b) = (cursors.time_s(Which::A, edge_s), cursors.time_s(Which::B, edge_s));
        ui.monospace(distance(b - a)).on_hover_text("From A to B, and the frequency of which this is one period.");
        if let (Some(from), Some(to)) = (scale.at_time(data, a), scale.at_time(data, b))
            && scale.passage.is_some()
        {
            ui.monospace(format!("Δ {:>8.2} m", to - from)).on_hover_text("From A to B along the line.");
        }
        let mut rides = cursors.is_riding;
        let moves = ui.checkbox(&mut rides, "Move along").on_hover_text(
            "They keep their distance to the right edge and measure the newest samples, instead of staying at \
             their time.",
        );
        if moves.changed() {
            cursors.ride(rides, edge_s);
        }
        if ui.button("Close").on_hover_text("Put the cursors away.").clicked() {
            cursors.is_on = false;
        }
    });
}

/// Distance of two times and the frequency of such a period, with a fixed number of letters.
fn distance(seconds: f64) -> String {
    let frequency = if seconds == 0.0 {
        f64::NAN
    } else {
        1.0 / seconds.abs()
    };
    format!("Δ {seconds:>9.4} s   1/Δ {} Hz", fixed_width(frequency))
}

/// The table itself, one row a channel.
pub fn rows(ui: &mut Ui, data: &Data, measured: &[Measured]) {
    let has_force = measured.iter().any(|m| is_force(data, m.channel));
    let columns = if has_force { 10 } else { 8 };
    let ink = ui.visuals().text_color();
    let weak = ui.visuals().weak_text_color();
    ScrollArea::both()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let letter = ui.painter().layout_no_wrap("0".into(), VALUE, ink).size().x;
            let size = vec2(NAMES + letter * (10 * columns + 6) as f32, ROW);
            let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
            let head: String = COLUMNS[..columns]
                .iter()
                .map(|c| format!(" {c:>9}"))
                .collect();
            ui.painter()
                .text(line(rect.left() + NAMES, rect), CENTRE, head, VALUE, weak);
            for one in measured {
                let Some(channel) = data.channels.get(one.channel) else {
                    continue;
                };
                let unit = shown(&channel.unit);
                let values = numbers(one, unit.factor, is_force(data, one.channel));
                let words: String = values[..columns]
                    .iter()
                    .map(|v| format!(" {}", fixed_width(*v)))
                    .chain([format!(" {}", unit.unit)])
                    .collect();
                let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
                response.widget_info(|| {
                    let named = COLUMNS.iter().zip(values).filter(|(_, v)| v.is_finite());
                    let said: Vec<String> = named
                        .map(|(c, v)| format!("{c} {}", fixed_width(v).trim()))
                        .collect();
                    let said = format!("{} in {}: {}", channel.label, unit.unit, said.join(", "));
                    WidgetInfo::labeled(Role::Label, true, said)
                });
                let painter = ui.painter();
                let names = painter.with_clip_rect(
                    rect.with_max_x(rect.left() + NAMES)
                        .intersect(ui.clip_rect()),
                );
                names.text(
                    line(rect.left() + 4.0, rect),
                    CENTRE,
                    &channel.label,
                    NAME,
                    ink,
                );
                painter.text(line(rect.left() + NAMES, rect), CENTRE, words, VALUE, ink);
                let samples = one.between.count();
                response.on_hover_text(format!(
                    "{} ({})\nof {samples} samples between the cursors",
                    channel.label, channel.id
                ));
            }
        });
}

const CENTRE: eframe::egui::Align2 = eframe::egui::Align2::LEFT_CENTER;

fn line(x: f32, row: eframe::egui::Rect) -> Pos2 {
    pos2(x, row.center().y)
}

fn is_force(data: &Data, channel: usize) -> bool {
    data.channels
        .get(channel)
        .is_some_and(|c| FORCES.contains(&c.id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn a_row_holds_what_its_head_says() {
        let data = sample::run(10.0);
        let mut cursors = Cursors::default();
        cursors.place(0.0, 9.0, false);
        let (measured, _) = cursors.measure(&data, &[0, 1], 9.0, 0.0);
        let [a, b, apart, mean, deviation, min, max, rms, low, high] =
            numbers(&measured[0], 1.0, true);
        assert_eq!(
            (a, b),
            (
                data.history.value_at(0, 3.0).unwrap(),
                data.history.value_at(0, 6.0).unwrap()
            )
        );
        assert_eq!(apart, b - a);
        assert!(min < mean && mean < max && rms > mean);
        assert!(
            (high - low - 6.0 * deviation).abs() < 1e-9 && ((high + low) / 2.0 - mean).abs() < 1e-9
        );
        // A position has no F_m, and is shown in mm.
        let position = numbers(&measured[1], 1e3, false);
        assert!(position[8].is_nan() && (position[6] - 10.0).abs() < 0.01);
    }

    #[test]
    fn the_distance_keeps_its_width() {
        assert_eq!(distance(0.25), "Δ    0.2500 s   1/Δ     4.000 Hz");
        assert_eq!(
            distance(0.0).chars().count(),
            distance(-12.5).chars().count()
        );
    }
}
