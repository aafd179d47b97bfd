//! Charts in a PDF: the same drawing as on the screen and in SVG, as lines and letters.

use super::fonts::Family;
use super::page::{HEIGHT, Pages, Type};
use crate::chart::canvas::Canvas;
use crate::chart::{Dash, Pen};
use eframe::egui::{Align2, Color32, ColorImage, Pos2, Rect, TextureId, Vec2};

/// A part of a page that a chart is drawn on.
pub struct PdfCanvas<'a> {
    /// The page.
    pub pages: &'a mut Pages,
    /// Where its upper left corner is.
    pub origin: Pos2,
    /// Points of the page by points of the chart.
    pub scale: f32,
    /// Whether only a part of it is drawn on now.
    pub is_clipped: bool,
}

/// Height of a line of letters, and of what is below their base line, by their size.
const LINE: f32 = 1.15;
const BELOW: f32 = 0.25;

impl PdfCanvas<'_> {
    fn at(&self, point: Pos2) -> (f32, f32) {
        let place = self.origin + self.scale * point.to_vec2();
        (place.x, HEIGHT - place.y)
    }

    fn look(&self, size: f32, color: Color32) -> Type {
        Type {
            family: Family::Text,
            size: self.scale * size,
            is_strong: false,
            color,
        }
    }
}

impl Canvas for PdfCanvas<'_> {
    fn clip(&mut self, to: Option<Rect>) {
        if std::mem::take(&mut self.is_clipped) {
            self.pages.content().restore_state();
        }
        if let Some(rect) = to {
            let (x, y) = self.at(rect.left_bottom());
            let (width, height) = (self.scale * rect.width(), self.scale * rect.height());
            let content = self.pages.content();
            content.save_state();
            content.rect(x, y, width, height);
            content.clip_nonzero().end_path();
            self.is_clipped = true;
        }
    }

    fn line(&mut self, points: Vec<Pos2>, pen: Pen) {
        let places: Vec<(f32, f32)> = points.iter().map(|p| self.at(*p)).collect();
        let scale = self.scale;
        let content = self.pages.open_stroke(scale * pen.width, pen.color);
        content.set_line_join(pdf_writer::types::LineJoinStyle::RoundJoin);
        let strokes = match pen.dash {
            Dash::Solid => None,
            Dash::Dashed => Some([7.0, 4.0]),
            Dash::Dotted => Some([2.0, 3.0]),
        };
        if let Some(strokes) = strokes {
            content.set_dash_pattern(strokes.map(|s: f32| scale * s), 0.0);
        }
        for (i, (x, y)) in places.into_iter().enumerate() {
            if i == 0 {
                content.move_to(x, y);
            } else {
                content.line_to(x, y);
            }
        }
        content.stroke();
        content.restore_state();
    }

    fn dot(&mut self, center: Pos2, radius: f32, color: Color32, is_hollow: bool) {
        // A quarter of a circle as a cubic curve: 4/3 · (√2 − 1).
        const BEND: f32 = 0.552_285;
        let ((x, y), r) = (self.at(center), self.scale * radius);
        let content = self.pages.open_stroke(self.scale, color);
        content.move_to(x + r, y);
        for (from, to) in [
            ((1.0, 0.0), (0.0, 1.0)),
            ((0.0, 1.0), (-1.0, 0.0)),
            ((-1.0, 0.0), (0.0, -1.0)),
            ((0.0, -1.0), (1.0, 0.0)),
        ] {
            let (from, to): ((f32, f32), (f32, f32)) = (from, to);
            content.cubic_to(
                x + r * (from.0 + BEND * to.0),
                y + r * (from.1 + BEND * to.1),
                x + r * (to.0 + BEND * from.0),
                y + r * (to.1 + BEND * from.1),
                x + r * to.0,
                y + r * to.1,
            );
        }
        if is_hollow {
            content.stroke();
        } else {
            content.fill_nonzero();
        }
        content.restore_state();
    }

    fn fill(&mut self, rect: Rect, color: Color32) {
        let place = self.origin + self.scale * rect.min.to_vec2();
        let (width, height) = (
            self.scale * rect.width().max(0.0),
            self.scale * rect.height().max(0.0),
        );
        self.pages.fill(place.x, place.y, width, height, color);
    }

    fn outline(&mut self, rect: Rect, color: Color32) {
        let (x, y) = self.at(rect.left_bottom());
        let (width, height) = (self.scale * rect.width(), self.scale * rect.height());
        let content = self.pages.open_stroke(self.scale, color);
        content.rect(x, y, width, height);
        content.stroke();
        content.restore_state();
    }

    fn measure(&self, size: f32, text: &str) -> Vec2 {
        let width = self.pages.width(self.look(size, Color32::BLACK), text);
        Vec2::new(width / self.scale, LINE * size)
    }

    fn text(&mut self, at: Pos2, align: Align2, size: f32, color: Color32, text: &str) -> Rect {
        let rect = align.anchor_size(at, self.measure(size, text));
        let base = Pos2::new(rect.left(), rect.bottom() - BELOW * size);
        let place = self.origin + self.scale * base.to_vec2();
        let look = self.look(size, color);
        self.pages.words(place.x, place.y, look, text);
        rect
    }

    /// Pixel by pixel: reports hold no pictures but small maps of colours.
    fn picture(&mut self, rect: Rect, _texture: TextureId, pixels: &ColorImage) {
        let [columns, rows] = pixels.size;
        let cell = Vec2::new(
            rect.width() / columns.max(1) as f32,
            rect.height() / rows.max(1) as f32,
        );
        for row in 0..rows {
            for column in 0..columns {
                let corner = rect.min + Vec2::new(column as f32 * cell.x, row as f32 * cell.y);
                let color = pixels.pixels[row * columns + column];
                self.fill(Rect::from_min_size(corner, cell), color);
            }
        }
    }
}
