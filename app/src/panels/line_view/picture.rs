//! How places and heights of a line come to places of the picture, and by how much each is exaggerated.

use crate::chart::axis::nice_step;
use eframe::egui::{Pos2, Rect, pos2};
use rt_core::model::catenary::LineScene;

/// Rise of a contact wire that a picture has room for if it chooses the factor itself, in m.
const USUAL_RISE_M: f64 = 0.12;
/// Part of the height that is kept for this rise at least.
const PART_OF_RISE: f64 = 0.36;
/// Heights are not exaggerated more than this.
const MOST_HEIGHTS: f64 = 200.0;

/// Least length of the bar that shows a movement, in points.
const LEAST_BAR: f64 = 24.0;

/// Round numbers between 1 and 10, the largest first.
const ROUND: [f64; 9] = [8.0, 6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0];

/// The largest round number that is not above a value; at least 1.
pub fn round_down(value: f64) -> f64 {
    if value.is_nan() || value < 1.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = ROUND.into_iter().map(|step| step * power);
    steps
        .into_iter()
        .find(|s| *s <= value * (1.0 + 1e-12))
        .unwrap_or(power)
}

/// A stretch of line in a rectangle. Lengths along the line are to scale; heights and movement are drawn
/// larger than those by two factors.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Where it is drawn.
    pub rect: Rect,
    /// The place at its left edge, in m.
    pub from_m: f64,
    /// The place at its right edge, in m.
    pub to_m: f64,
    /// How much larger than lengths heights are drawn.
    pub heights: f64,
    /// How much larger than lengths movement is drawn.
    pub movement: f64,
    /// Where height 0 without movement is.
    rest_y: f32,
}

impl Picture {
    /// Fits a scene into a rectangle of which `below` points under the wire are for other things. A movement
    /// of `None` is chosen so that a usual rise has just room above the wires.
    pub fn fit(
        rect: Rect,
        below: f32,
        (from_m, to_m): (f64, f64),
        scene: &LineScene,
        movement: Option<f64>,
    ) -> Self {
        let per_m = f64::from(rect.width()) / (to_m - from_m).max(1e-3);
        let all = || scene.contact.iter().chain(&scene.messenger).map(|p| p.z_m);
        let low = all().fold(0.0, f64::min);
        let high = all().fold(0.0, f64::max);
        let room = f64::from((rect.height() - below).max(1.0));
        let for_heights = (1.0 - PART_OF_RISE) * room;
        let heights = round_down(for_heights / (per_m * (high - low).max(1e-3))).min(MOST_HEIGHTS);
        let left = room - per_m * heights * (high - low);
        let for_rise = round_down(left / (per_m * USUAL_RISE_M));
        Self {
            rect,
            from_m,
            to_m,
            heights,
            movement: movement.unwrap_or(for_rise),
            rest_y: rect.bottom() - below + (low * heights * per_m) as f32,
        }
    }

    /// Points for a metre along the line.
    pub fn per_m(&self) -> f64 {
        f64::from(self.rect.width()) / (self.to_m - self.from_m)
    }

    /// Where a place is.
    pub fn x(&self, x_m: f64) -> f32 {
        self.rect.left() + ((x_m - self.from_m) * self.per_m()) as f32
    }

    /// The place that is drawn there, in m.
    pub fn place(&self, x: f32) -> f64 {
        self.from_m + f64::from(x - self.rect.left()) / self.per_m()
    }

    /// Where something is that has a height at rest and a movement, in m.
    pub fn at(&self, x_m: f64, rest_m: f64, rise_m: f64) -> Pos2 {
        let up = self.per_m() * (self.heights * rest_m + self.movement * rise_m);
        pos2(self.x(x_m), self.rest_y - up as f32)
    }

    /// Whether a place is in the picture or close to it.
    pub fn shows(&self, x_m: f64) -> bool {
        let beyond = 20.0 / self.per_m();
        (self.from_m - beyond..=self.to_m + beyond).contains(&x_m)
    }

    /// A movement whose size can be compared by eye, and its length in the picture.
    pub fn scale_bar(&self) -> (f64, f32) {
        let per_mm = 1e-3 * self.per_m() * self.movement;
        let mm = nice_step(LEAST_BAR / per_mm);
        (mm, (mm * per_mm) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rt_core::model::catenary::scene::ScenePoint;

    fn scene() -> LineScene {
        let wire = |z_m: f64| [0.0, 1300.0].map(|x_m| ScenePoint { x_m, z_m }).to_vec();
        LineScene {
            contact: wire(-0.03),
            messenger: wire(1.6),
            ..LineScene::default()
        }
    }

    #[test]
    fn factors_are_round() {
        for (value, expected) in [
            (1.0, 1.0),
            (1.49, 1.0),
            (2.0, 2.0),
            (49.9, 40.0),
            (50.0, 50.0),
        ] {
            assert_eq!(round_down(value), expected);
        }
        assert_eq!(
            (round_down(0.3), round_down(f64::NAN), round_down(999.0)),
            (1.0, 1.0, 800.0)
        );
    }

    /// The stated factors are what is drawn, and everything of a usual run is inside.
    #[test]
    fn the_picture_keeps_its_factors_and_its_frame() {
        for (width, height) in [(360.0, 180.0), (1300.0, 320.0), (2400.0, 600.0)] {
            for range in [(390.0, 520.0), (0.0, 1300.0)] {
                let rect = Rect::from_min_size(pos2(60.0, 40.0), [width, height].into());
                let picture = Picture::fit(rect, 60.0, range, &scene(), None);
                let metre = picture.x(401.0) - picture.x(400.0);
                let rise = picture.at(400.0, 0.5, 0.0).y - picture.at(400.0, 0.5, 0.01).y;
                let height = picture.at(400.0, 0.0, 0.0).y - picture.at(400.0, 0.1, 0.0).y;
                let close = |a: f32, b: f64| (f64::from(a) / b - 1.0).abs() < 1e-3;
                assert!(close(rise, 0.01 * picture.movement * f64::from(metre)));
                assert!(close(height, 0.1 * picture.heights * f64::from(metre)));
                let top = picture.at(400.0, 1.6, USUAL_RISE_M).y;
                let bottom = picture.at(400.0, -0.03, 0.0).y;
                assert!(
                    top >= rect.top() - 0.5 && bottom <= rect.bottom() - 59.5,
                    "{picture:?}"
                );
                assert!((picture.place(picture.x(456.7)) - 456.7).abs() < 1e-3);
                let (mm, length) = picture.scale_bar();
                assert!((23.9..60.5).contains(&length), "{mm} mm in {length}");
            }
        }
        let rect = Rect::from_min_size(pos2(0.0, 0.0), [500.0, 300.0].into());
        let picture = Picture::fit(rect, 60.0, (0.0, 100.0), &scene(), Some(7.0));
        assert_eq!(picture.movement, 7.0);
    }
}
