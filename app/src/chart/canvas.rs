//! What charts are drawn on: the screen, or a file.

use super::{Dash, Pen};
use eframe::egui::{
    Align2, Color32, ColorImage, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, TextureId,
    Vec2,
};

/// Somewhere to draw on, in points with y downwards.
pub trait Canvas {
    /// From here on only within a rectangle, or everywhere again.
    fn clip(&mut self, to: Option<Rect>);
    /// A line through points.
    fn line(&mut self, points: Vec<Pos2>, pen: Pen);
    /// A disc, or a circle.
    fn dot(&mut self, center: Pos2, radius: f32, color: Color32, is_hollow: bool);
    /// A filled rectangle.
    fn fill(&mut self, rect: Rect, color: Color32);
    /// The outline of a rectangle.
    fn outline(&mut self, rect: Rect, color: Color32);
    /// How much room words take.
    fn measure(&self, size: f32, text: &str) -> Vec2;
    /// Words at a place; returns the rectangle they take.
    fn text(&mut self, at: Pos2, align: Align2, size: f32, color: Color32, text: &str) -> Rect;
    /// A picture.
    fn picture(&mut self, rect: Rect, texture: TextureId, pixels: &ColorImage);
}

/// The screen.
pub struct ScreenCanvas {
    whole: Painter,
    painter: Painter,
}

impl ScreenCanvas {
    /// Draws with a painter.
    pub fn new(painter: Painter) -> Self {
        Self {
            whole: painter.clone(),
            painter,
        }
    }
}

impl Canvas for ScreenCanvas {
    fn clip(&mut self, to: Option<Rect>) {
        self.painter = match to {
            Some(rect) => self
                .whole
                .with_clip_rect(rect.intersect(self.whole.clip_rect())),
            None => self.whole.clone(),
        };
    }

    fn line(&mut self, points: Vec<Pos2>, pen: Pen) {
        let stroke = Stroke::new(pen.width, pen.color);
        match pen.dash {
            Dash::Solid => {
                self.painter.add(Shape::line(points, stroke));
            }
            Dash::Dashed => self
                .painter
                .extend(Shape::dashed_line(&points, stroke, 7.0, 4.0)),
            Dash::Dotted => self
                .painter
                .extend(Shape::dashed_line(&points, stroke, 2.0, 3.0)),
        }
    }

    fn dot(&mut self, center: Pos2, radius: f32, color: Color32, is_hollow: bool) {
        if is_hollow {
            self.painter
                .circle_stroke(center, radius, Stroke::new(1.0, color));
        } else {
            self.painter.circle_filled(center, radius, color);
        }
    }

    fn fill(&mut self, rect: Rect, color: Color32) {
        self.painter.rect_filled(rect, 0.0, color);
    }

    fn outline(&mut self, rect: Rect, color: Color32) {
        let stroke = Stroke::new(1.0, color);
        self.painter
            .rect_stroke(rect, 0.0, stroke, StrokeKind::Inside);
    }

    fn measure(&self, size: f32, text: &str) -> Vec2 {
        let font = FontId::proportional(size);
        let laid_out = self
            .painter
            .layout_no_wrap(text.to_owned(), font, Color32::WHITE);
        laid_out.size()
    }

    fn text(&mut self, at: Pos2, align: Align2, size: f32, color: Color32, text: &str) -> Rect {
        let font = FontId::proportional(size);
        self.painter.text(at, align, text, font, color)
    }

    fn picture(&mut self, rect: Rect, texture: TextureId, _pixels: &ColorImage) {
        let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        self.painter.image(texture, rect, whole, Color32::WHITE);
    }
}
