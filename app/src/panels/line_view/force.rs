//! The contact force along the line, under the picture of the line and with the same places above each other.

use super::draw::Look;
use super::pass::Pass;
use crate::chart::axis::nice_step;
use crate::theme;
use eframe::egui::{Align2, Painter, Pos2, Rect, Shape, Stroke, pos2};
use rt_core::channel::Role;

/// Forces up to which the axis reaches at least, in N.
const LEAST_TOP_N: f64 = 250.0;

/// The chart of one frame.
pub struct ForceChart<'a> {
    /// Where.
    pub painter: &'a Painter,
    /// How.
    pub look: &'a Look,
    /// The frame of the lines, without the numbers of the axes.
    pub rect: Rect,
    /// Places at its left and right edge, in m.
    pub range_m: (f64, f64),
    /// The latest pass.
    pub pass: &'a Pass,
    /// Places of the supports, in m.
    pub supports_m: &'a [f64],
}

/// Lowest and highest force of the axis and the distance of its marks, in N: from 0, or just below the smallest force if
/// that is less, to a mark above everything of the pass. It only grows while a pass goes on.
fn axis(pass: &Pass) -> (f64, f64, f64) {
    let (low, high) = pass.force_range().unwrap_or((0.0, 0.0));
    let high = high.max(LEAST_TOP_N);
    let low = if low < 0.0 { low - 0.02 * high } else { 0.0 };
    let step = nice_step((high - low) / 5.0);
    (low, (high / step).ceil() * step, step)
}

impl ForceChart<'_> {
    fn x(&self, x_m: f64) -> f32 {
        let (from, to) = self.range_m;
        self.rect.left() + ((x_m - from) / (to - from)) as f32 * self.rect.width()
    }

    /// Draws axes, lines and the numbers of each span.
    pub fn draw(&self, contact_m: Option<f64>) {
        let (low, high, step) = axis(self.pass);
        let y = |force: f64| {
            self.rect.bottom() - ((force - low) / (high - low)) as f32 * self.rect.height()
        };
        self.axes(low, high, step, &y);
        let painter = self
            .painter
            .with_clip_rect(self.rect.intersect(self.painter.clip_rect()));
        if let Some(x) = contact_m {
            let color = theme::line(self.look.dark, Role::Measured);
            painter.vline(self.x(x), self.rect.y_range(), Stroke::new(1.0, color));
        }
        self.lines(&painter, &y);
        self.span_numbers(&painter);
    }

    fn axes(&self, low: f64, high: f64, step: f64, y: &dyn Fn(f64) -> f32) {
        let weak = theme::weak_text(self.look.dark);
        let grid = Stroke::new(1.0, theme::grid(self.look.dark));
        let (first, last) = ((low / step).ceil() as i64, (high / step).round() as i64);
        for i in first..=last {
            let force = step * i as f64;
            self.painter.hline(self.rect.x_range(), y(force), grid);
            let text = if i == last {
                format!("{force:.0} N")
            } else {
                format!("{force:.0}")
            };
            let at = pos2(self.rect.left() - 6.0, y(force));
            self.painter
                .text(at, Align2::RIGHT_CENTER, text, self.look.font.clone(), weak);
        }
        let structure = Stroke::new(1.0, theme::structure(self.look.dark));
        for &x in self
            .supports_m
            .iter()
            .filter(|x| (self.range_m.0..=self.range_m.1).contains(*x))
        {
            self.painter
                .vline(self.x(x), self.rect.y_range(), structure);
        }
        let (from, to) = self.range_m;
        let every = nice_step((to - from) / (f64::from(self.rect.width()) / 90.0));
        let first = (from / every).ceil() as i64;
        let last = (to / every).floor() as i64;
        for place in (first..=last).map(|i| i as f64 * every) {
            let x = self.x(place);
            // The last number stands for the unit's place.
            if x > self.rect.right() - 30.0 || x < self.rect.left() + 12.0 {
                continue;
            }
            let at = pos2(x, self.rect.bottom() + 3.0);
            self.painter.text(
                at,
                Align2::CENTER_TOP,
                format!("{place:.0}"),
                self.look.font.clone(),
                weak,
            );
        }
        let at = self.rect.right_bottom() + [0.0, 3.0].into();
        self.painter
            .text(at, Align2::RIGHT_TOP, "m", self.look.font.clone(), weak);
    }

    fn lines(&self, painter: &Painter, y: &dyn Fn(f64) -> f32) {
        let color = theme::line(self.look.dark, Role::Measured);
        let bins = self.pass.bins_from(self.range_m.0 - 1.0);
        let near = bins.iter().take_while(|b| b.x_m <= self.range_m.1 + 1.0);
        let (mut raw, mut filtered): (Vec<Pos2>, Vec<Pos2>) = Default::default();
        for bin in near {
            let x = self.x(bin.x_m);
            if bin.raw.min.is_finite() {
                raw.extend([pos2(x, y(bin.raw.min)), pos2(x, y(bin.raw.max))]);
            }
            if bin.filtered.min.is_finite() {
                filtered.push(pos2(x, y(bin.filtered.middle())));
            }
        }
        painter.add(Shape::line(
            raw,
            Stroke::new(1.0, color.gamma_multiply(0.45)),
        ));
        // Thinner where lines lie close, so that the raw force remains to be seen.
        let per_m = f64::from(self.rect.width()) / (self.range_m.1 - self.range_m.0);
        let bold = if per_m < 2.0 { 1.5 } else { 2.5 };
        painter.add(Shape::line(filtered, Stroke::new(bold, color)));
    }

    /// Mean and σ of each span that has room for them.
    fn span_numbers(&self, painter: &Painter) {
        let weak = theme::weak_text(self.look.dark);
        for (i, ends) in self.supports_m.windows(2).enumerate() {
            let (left, right) = (self.x(ends[0]), self.x(ends[1]));
            let (left, right) = (left.max(self.rect.left()), right.min(self.rect.right()));
            let statistics = self.pass.span(i).and_then(|s| s.filtered.statistics());
            let Some(s) = statistics.filter(|_| right - left >= 118.0) else {
                continue;
            };
            let text = format!("{:.0} ± {:.0} N", s.mean, s.standard_deviation);
            let at = pos2(0.5 * (left + right), self.rect.top() + 3.0);
            let galley = painter.layout_no_wrap(text, self.look.font.clone(), weak);
            let plate = Align2::CENTER_TOP.anchor_size(at, galley.size());
            painter.rect_filled(plate.expand(2.0), 2.0, self.look.paper);
            painter.galley(plate.min, galley, weak);
        }
    }
}
