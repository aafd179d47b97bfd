//! A small picture of how far each point lies off the line, over the load.

use crate::theme;
use eframe::egui::{self, Align2, FontId, Sense, Shape, Stroke, Ui};
use rt_core::calibration::Point;
use rt_core::calibration::fit::{Direction, Fit};
use rt_core::channel::Role;

/// Height of the picture.
const HEIGHT: f32 = 130.0;

/// The next of 1, 2, 5, 10 … that is not below a value.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    // Rounding may put a value a hair above its own step.
    let fits = |step: &&f64| **step >= value * (1.0 - 1e-12);
    steps.iter().find(fits).copied().unwrap_or(10.0 * decade)
}

/// Draws it: ▲ on the way up, ▽ on the way down.
pub fn plot(ui: &mut Ui, points: &[Point], fit: &Fit) {
    if points.len() < 2 {
        return;
    }
    let dark = ui.visuals().dark_mode;
    let size = egui::vec2(ui.available_width().min(640.0), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let plot = egui::Rect::from_min_max(
        rect.min + egui::vec2(64.0, 6.0),
        rect.max - egui::vec2(14.0, 22.0),
    );
    let painter = ui.painter_at(rect);
    let (font, ink) = (FontId::monospace(13.0), ui.visuals().text_color());
    painter.rect_filled(plot, 3.0, ui.visuals().extreme_bg_color);
    let worst = fit.residuals_n.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
    // Below a millinewton there is nothing but rounding.
    let top = round_up(worst.max(1e-3));
    let loads = points.iter().map(|p| p.load_n);
    let (low, high) = loads.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
        (l.min(x), h.max(x))
    });
    let width = (high - low).max(f64::MIN_POSITIVE);
    let inner = plot.shrink2(egui::vec2(10.0, 8.0));
    let x = |load: f64| inner.left() + inner.width() * ((load - low) / width) as f32;
    let y = |residual: f64| inner.center().y - inner.height() * 0.5 * (residual / top) as f32;
    let grid = Stroke::new(1.0, theme::grid(dark));
    for (value, stroke) in [(top, grid), (0.0, Stroke::new(1.5, ink)), (-top, grid)] {
        painter.hline(plot.x_range(), y(value), stroke);
        let name = if value == 0.0 {
            "0 N".to_owned()
        } else {
            format!("{value:+} N")
        };
        let at = egui::pos2(plot.left() - 6.0, y(value));
        painter.text(at, Align2::RIGHT_CENTER, name, font.clone(), ink);
    }
    for (load, align) in [(low, Align2::LEFT_TOP), (high, Align2::RIGHT_TOP)] {
        let edge = if load == low {
            plot.left()
        } else {
            plot.right()
        };
        painter.text(
            egui::pos2(edge, plot.bottom() + 4.0),
            align,
            format!("{load} N"),
            font.clone(),
            ink,
        );
    }
    let middle = egui::pos2(plot.center().x, plot.bottom() + 4.0);
    painter.text(
        middle,
        Align2::CENTER_TOP,
        "residual over load",
        FontId::proportional(13.0),
        ink,
    );
    let color = theme::line(dark, Role::Measured);
    for ((point, residual), direction) in points.iter().zip(&fit.residuals_n).zip(&fit.directions) {
        let at = egui::pos2(x(point.load_n), y(*residual));
        let corner = |dx: f32, dy: f32| at + egui::vec2(dx, dy);
        let shape = match direction {
            Direction::Rising => {
                let corners = vec![corner(0.0, -6.0), corner(5.5, 4.0), corner(-5.5, 4.0)];
                Shape::convex_polygon(corners, color, Stroke::NONE)
            }
            Direction::Falling => {
                let corners = vec![corner(0.0, 6.0), corner(-5.5, -4.0), corner(5.5, -4.0)];
                Shape::closed_line(corners, Stroke::new(1.5, color))
            }
        };
        painter.add(shape);
    }
    response.widget_info(|| {
        let label = format!("Residuals of {} points, at most {worst:.3} N", points.len());
        egui::WidgetInfo::labeled(egui::Role::Image, true, label)
    });
    response.on_hover_text(
        "How far the line lies from each load. Filled triangles: on the way up; hollow ones: on the way down. \
         A bend is the cell's, a single point off is a wrong weight.",
    );
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn scales_are_round() {
        let found = [0.013, 0.02, 0.5, 0.51, 3.0, 10.0, 0.0, f64::NAN].map(round_up);
        assert_eq!(found, [0.02, 0.02, 0.5, 1.0, 5.0, 10.0, 1.0, 1.0]);
    }
}
