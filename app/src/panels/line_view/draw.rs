//! The line as a side view: masts, wires at rest and in motion, droppers, the contact with its force, and the uplift
//! of every support.

use super::motion::Motion;
use super::pass::Pass;
use super::picture::Picture;
use crate::theme;
use eframe::egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};
use rt_core::model::catenary::LineScene;
use rt_core::model::catenary::scene::{ScenePoint, interpolated};

/// Points under the wire that are kept for the force's arrow.
pub const BELOW: f32 = 64.0;
/// Length of the force's arrow, in points a newton, and its longest.
const ARROW: (f32, f32) = (0.2, 40.0);

/// Half the width of a number of the uplift.
const HALF_NUMBER: f32 = 19.0;

/// Colours and fonts of one frame.
pub struct Look {
    /// Whether the theme is dark.
    pub dark: bool,
    /// Colour of text.
    pub text: Color32,
    /// Colour behind picture and chart.
    pub paper: Color32,
    /// Words.
    pub font: FontId,
    /// Numbers, which do not change their width.
    pub mono: FontId,
}

/// All that is drawn.
pub struct Drawing<'a> {
    /// Where.
    pub painter: &'a Painter,
    /// How.
    pub look: &'a Look,
    /// From line to screen.
    pub picture: &'a Picture,
    /// The line at rest.
    pub scene: &'a LineScene,
    /// Its movement.
    pub motion: &'a Motion,
    /// The latest pass.
    pub pass: &'a Pass,
}

impl Drawing<'_> {
    /// Draws the side view; `labels` is the strip above it for the numbers of spans.
    pub fn line(&self, labels: Rect) {
        self.spans(labels);
        let clipped = self
            .painter
            .with_clip_rect(self.picture.rect.intersect(self.painter.clip_rect()));
        self.masts(&clipped);
        self.wires(&clipped);
        self.droppers(&clipped);
        self.supports(&clipped);
        self.contact(&clipped);
        self.scale_bar();
    }

    fn visible_spans(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let pairs = self.scene.supports_m.windows(2).enumerate();
        pairs
            .map(|(i, ends)| (i, ends[0], ends[1]))
            .filter(|(_, from, to)| *to > self.picture.from_m && *from < self.picture.to_m)
    }

    /// Length of the shortest span, in points.
    fn narrowest_span(&self) -> f64 {
        let spans = self.scene.supports_m.windows(2).map(|w| w[1] - w[0]);
        self.picture.per_m() * spans.fold(f64::INFINITY, f64::min)
    }

    fn spans(&self, labels: Rect) {
        let color = theme::weak_text(self.look.dark);
        let every = (24.0 / self.narrowest_span()).ceil().max(1.0) as usize;
        for (i, from, to) in self.visible_spans() {
            let left = self.picture.x(from).max(labels.left());
            let right = self.picture.x(to).min(labels.right());
            let text = match right - left {
                w if w >= 64.0 => format!("span {}", i + 1),
                w if w >= 20.0 || every > 1 && (i + 1).is_multiple_of(every) => {
                    format!("{}", i + 1)
                }
                _ => continue,
            };
            let center = pos2(0.5 * (left + right), labels.center().y);
            let font = self.look.font.clone();
            self.painter
                .text(center, Align2::CENTER_CENTER, text, font, color);
        }
    }

    fn masts(&self, painter: &Painter) {
        let color = theme::structure(self.look.dark);
        let bottom = self.picture.rect.bottom();
        // Thinner where they stand close.
        let width = if self.picture.per_m() < 1.5 { 2.0 } else { 3.0 };
        let stroke = Stroke::new(width, color);
        for &x in self
            .scene
            .supports_m
            .iter()
            .filter(|x| self.picture.shows(**x))
        {
            let head = interpolated(&self.scene.messenger, x);
            let head = if head.is_finite() { head } else { 0.0 };
            let top = self.picture.at(x, head, 0.0) - vec2(0.0, 8.0);
            let foot = pos2(top.x, bottom);
            painter.line_segment([top, foot], stroke);
            painter.line_segment([foot - vec2(7.0, 1.0), foot + vec2(7.0, -1.0)], stroke);
        }
    }

    fn wires(&self, painter: &Painter) {
        let dark = self.look.dark;
        let rest = Stroke::new(1.0, theme::structure(dark));
        let still = |points: &[ScenePoint]| -> Vec<Pos2> {
            let near = points.iter().filter(|p| self.picture.shows(p.x_m));
            near.map(|p| self.picture.at(p.x_m, p.z_m, 0.0)).collect()
        };
        let wires = [&self.scene.contact, &self.scene.messenger];
        for wire in wires.into_iter().chain(&self.scene.stitches) {
            painter.add(Shape::line(still(wire), rest));
        }
        if self.motion.wire.is_empty() {
            self.trail(painter);
            return;
        }
        let carrying = Stroke::new(1.5, theme::carrying_wire(dark));
        let knots = self.messenger_knots();
        let moved = |points: &[ScenePoint], rise: &dyn Fn(f64) -> f64| -> Vec<Pos2> {
            let near = points.iter().filter(|p| self.picture.shows(p.x_m));
            near.map(|p| self.picture.at(p.x_m, p.z_m, rise(p.x_m)))
                .collect()
        };
        let messenger = |x: f64| between(&knots, x);
        painter.add(Shape::line(
            moved(&self.scene.messenger, &messenger),
            carrying,
        ));
        for stitch in &self.scene.stitches {
            let knots = self.stitch_knots(stitch, &messenger);
            let shape = moved(stitch, &|x| between(&knots, x));
            painter.add(Shape::line(shape, carrying));
        }
        let near = self.motion.wire.iter().filter(|p| self.picture.shows(p.0));
        let contact: Vec<Pos2> = near
            .map(|&(x, rise)| self.picture.at(x, self.scene.rest_height(x), rise))
            .collect();
        painter.add(Shape::line(
            contact,
            Stroke::new(3.0, theme::contact_wire(dark)),
        ));
    }

    /// Where the contact was along its way: all that channels say of the wire's movement.
    fn trail(&self, painter: &Painter) {
        let from = self.picture.from_m - 1.0;
        let bins = self.pass.bins_from(from).iter();
        let near = bins
            .take_while(|b| self.picture.shows(b.x_m))
            .filter(|b| b.rise.max.is_finite());
        let way: Vec<Pos2> = near
            .map(|b| {
                self.picture
                    .at(b.x_m, self.scene.rest_height(b.x_m), b.rise.middle())
            })
            .collect();
        let stroke = Stroke::new(2.0, theme::contact_wire(self.look.dark));
        painter.extend(Shape::dotted_line(&way, stroke.color, 5.0, 1.2));
    }

    /// The messenger wire is computed where droppers hang from it, and held at the supports.
    fn messenger_knots(&self) -> Vec<(f64, f64)> {
        let hung = self.scene.droppers.iter().zip(&self.motion.droppers);
        let mut knots: Vec<(f64, f64)> = hung
            .filter(|(d, _)| !d.hangs_from_stitch)
            .map(|(d, (_, top))| (d.x_m, *top))
            .chain(self.scene.supports_m.iter().map(|x| (*x, 0.0)))
            .collect();
        knots.sort_by(|a, b| a.0.total_cmp(&b.0));
        knots
    }

    /// A stitch wire is clamped to the messenger wire at its ends.
    fn stitch_knots(
        &self,
        stitch: &[ScenePoint],
        messenger: &dyn Fn(f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let (Some(first), Some(last)) = (stitch.first(), stitch.last()) else {
            return Vec::new();
        };
        let hung = self.scene.droppers.iter().zip(&self.motion.droppers);
        let inside =
            hung.filter(|(d, _)| d.hangs_from_stitch && d.x_m > first.x_m && d.x_m < last.x_m);
        std::iter::once((first.x_m, messenger(first.x_m)))
            .chain(inside.map(|(d, (_, top))| (d.x_m, *top)))
            .chain(std::iter::once((last.x_m, messenger(last.x_m))))
            .collect()
    }

    fn droppers(&self, painter: &Painter) {
        let taut = Stroke::new(1.2, theme::carrying_wire(self.look.dark));
        let warning = theme::warning(self.look.dark);
        for (i, d) in self.scene.droppers.iter().enumerate() {
            if !self.picture.shows(d.x_m) {
                continue;
            }
            let (bottom, top) = self.motion.droppers.get(i).copied().unwrap_or((0.0, 0.0));
            let ends = [
                self.picture.at(d.x_m, d.bottom_m, bottom),
                self.picture.at(d.x_m, d.top_m, top),
            ];
            if self.motion.slack.get(i) == Some(&true) {
                painter.extend(Shape::dashed_line(
                    &ends,
                    Stroke::new(2.0, warning),
                    5.0,
                    4.0,
                ));
                diamond(
                    painter,
                    ends[0].lerp(ends[1], 0.5),
                    6.5,
                    self.look.paper,
                    Stroke::new(2.0, warning),
                );
            } else {
                painter.line_segment(ends, taut);
            }
        }
    }

    fn supports(&self, painter: &Painter) {
        let color = theme::contact_wire(self.look.dark);
        for (&x, uplift) in self.scene.supports_m.iter().zip(&self.motion.uplift) {
            if !self.picture.shows(x) {
                continue;
            }
            let rest = self.scene.rest_height(x);
            if let Some(highest) = uplift.highest_m {
                let at = self.picture.at(x, rest, highest);
                painter.line_segment(
                    [at - vec2(9.0, 0.0), at + vec2(9.0, 0.0)],
                    Stroke::new(2.0, color),
                );
            }
            if let Some(now) = uplift.now_m {
                painter.circle_filled(self.picture.at(x, rest, now), 3.5, color);
            }
        }
    }

    fn contact(&self, painter: &Painter) {
        let Some(x) = self.motion.contact_m else {
            return;
        };
        let rise = self
            .motion
            .contact_rise_m
            .or_else(|| self.motion.rise_at(x));
        let at = self
            .picture
            .at(x, self.scene.rest_height(x), rise.unwrap_or(0.0));
        let color = theme::line(self.look.dark, rt_core::channel::Role::Measured);
        let head = at + vec2(0.0, 3.0);
        painter.line_segment(
            [head - vec2(9.0, 0.0), head + vec2(9.0, 0.0)],
            Stroke::new(4.0, color),
        );
        let Some(force) = self.motion.force else {
            return;
        };
        let length = (ARROW.0 * force.max(0.0) as f32).min(ARROW.1);
        let tip = at + vec2(0.0, 6.0);
        let tail = tip + vec2(0.0, length);
        painter.line_segment([tail, tip + vec2(0.0, 5.0)], Stroke::new(3.0, color));
        let wings = vec![tip, tip + vec2(-5.0, 8.0), tip + vec2(5.0, 8.0)];
        painter.add(Shape::convex_polygon(wings, color, Stroke::NONE));
        let text = format!("{force:>3.0} N");
        let galley = painter.layout_no_wrap(text, self.look.mono.clone(), self.look.text);
        let half = 0.5 * galley.size().x + 4.0;
        let (left, right) = (self.picture.rect.left(), self.picture.rect.right());
        let x = tip.x.clamp(left + half, (right - half).max(left + half));
        let place = pos2(x, self.picture.rect.bottom() - 5.0);
        let plate = Align2::CENTER_BOTTOM.anchor_size(place, galley.size());
        painter.rect_filled(plate.expand(2.0), 3.0, self.look.paper);
        painter.galley(plate.min, galley, self.look.text);
    }

    /// In the gutter: how long a movement is drawn.
    fn scale_bar(&self) {
        let (mm, length) = self.picture.scale_bar();
        let x = self.picture.rect.left() - 10.0;
        let bottom = self.picture.at(self.picture.from_m, 0.0, 0.0).y;
        let stroke = Stroke::new(1.5, self.look.text);
        let (low, high) = (pos2(x, bottom), pos2(x, bottom - length));
        self.painter.line_segment([low, high], stroke);
        for end in [low, high] {
            self.painter
                .line_segment([end - vec2(4.0, 0.0), end + vec2(4.0, 0.0)], stroke);
        }
        let middle = low.lerp(high, 0.5) - vec2(6.0, 0.0);
        let font = self.look.font.clone();
        self.painter.text(
            middle,
            Align2::RIGHT_BOTTOM,
            format!("{mm}"),
            font.clone(),
            self.look.text,
        );
        self.painter
            .text(middle, Align2::RIGHT_TOP, "mm", font, self.look.text);
    }

    /// Two rows of numbers under the picture, in the columns of the supports.
    pub fn uplift_table(&self, rows: Rect) {
        let weak = theme::weak_text(self.look.dark);
        let height = 0.5 * rows.height();
        let is_passing = matches!(self.motion.source, super::motion::Source::Channels(_));
        let names = if is_passing {
            ["now mm", "passed"]
        } else {
            ["now mm", "max mm"]
        };
        for (i, name) in names.into_iter().enumerate() {
            let at = pos2(rows.left() - 6.0, rows.top() + height * (i as f32 + 0.5));
            self.painter
                .text(at, Align2::RIGHT_CENTER, name, self.look.font.clone(), weak);
        }
        let every = (50.0 / self.narrowest_span()).ceil().max(1.0) as usize;
        for (i, &support) in self.scene.supports_m.iter().enumerate() {
            let x = self.picture.x(support);
            let has_room = x > rows.left() + HALF_NUMBER && x < rows.right() - HALF_NUMBER;
            if !has_room || !i.is_multiple_of(every) {
                continue;
            }
            let uplift = self.motion.uplift.get(i).copied().unwrap_or_default();
            let values = [
                (uplift.now_m, self.look.text),
                (uplift.highest_m, theme::contact_wire(self.look.dark)),
            ];
            for (row, (value, color)) in values.into_iter().enumerate() {
                let text = value.map_or("–  ".to_owned(), |m| format!("{:.1}", 1e3 * m));
                // Points stand under each other and under the mast, however long a number is.
                let at = pos2(x + HALF_NUMBER, rows.top() + height * (row as f32 + 0.5));
                self.painter.text(
                    at,
                    Align2::RIGHT_CENTER,
                    text,
                    self.look.mono.clone(),
                    color,
                );
            }
        }
    }
}

/// The sign of a slack dropper.
pub fn diamond(painter: &Painter, center: Pos2, radius: f32, fill: Color32, stroke: Stroke) {
    let corners = [
        vec2(0.0, -radius),
        vec2(radius, 0.0),
        vec2(0.0, radius),
        vec2(-radius, 0.0),
    ];
    let corners = corners.map(|c| center + c).to_vec();
    painter.add(Shape::convex_polygon(corners, fill, stroke));
}

/// Straight between knots, level outside; 0 without any.
fn between(knots: &[(f64, f64)], x: f64) -> f64 {
    let after = knots.partition_point(|k| k.0 <= x);
    match (
        after.checked_sub(1).and_then(|i| knots.get(i)),
        knots.get(after),
    ) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}
