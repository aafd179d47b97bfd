//! Triangles of a line that show every peak at its height and none that is not there: no mitres.
//!
//! Points that stand close are drawn as one band from the smallest to the largest value of each; points that
//! stand apart as straight pieces with bevelled corners. Lines are never dashed: a peak could fall between
//! two dashes.

use super::traces::LinePoint;
use eframe::egui::{Color32, Mesh, Pos2, Rect, Vec2, pos2, vec2};

/// Points closer than this, in pixels, are drawn as a band.
const DENSE: f32 = 2.0;

/// How a line looks.
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    /// Width, in points of the screen.
    pub width: f32,
    /// Size of a pixel, in points of the screen: edges fade over one.
    pub pixel: f32,
    /// Its colour.
    pub color: Color32,
}

/// Adds a line to a mesh. `place` says where a point of the line stands on the screen; only values within a
/// little more than `clip` are kept, because the screen knows no larger numbers.
pub fn add_line(
    mesh: &mut Mesh,
    points: &[LinePoint],
    place: impl Fn(f64, f64) -> Pos2,
    clip: Rect,
    pen: Pen,
) {
    let (top, bottom) = (clip.top() - 100.0, clip.bottom() + 100.0);
    let at = |x: f64, value: f64| {
        let found = place(x, value);
        pos2(found.x, found.y.clamp(top, bottom))
    };
    for run in points.split(LinePoint::is_gap).filter(|r| !r.is_empty()) {
        // Above stands what is larger: the smaller y.
        let bars: Vec<Bar> = run
            .iter()
            .map(|p| {
                let high = at(p.x, p.high);
                Bar {
                    x: high.x,
                    top: high.y,
                    bottom: at(p.x, p.low).y,
                }
            })
            .collect();
        let span = bars[bars.len() - 1].x - bars[0].x;
        if bars.len() == 1 {
            let size = Vec2::splat(pen.width.max(2.0 * pen.pixel));
            let bar = bars[0];
            let dot = Rect::from_x_y_ranges(bar.x..=bar.x, bar.top..=bar.bottom);
            mesh.add_colored_rect(dot.expand2(0.5 * size), pen.color);
        } else if span > DENSE * (bars.len() - 1) as f32 && run.iter().all(|p| p.low == p.high) {
            add_pieces(mesh, &bars, pen);
        } else {
            add_band(mesh, &bars, pen);
        }
    }
}

/// Extremes at one place of the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    x: f32,
    top: f32,
    bottom: f32,
}

/// A closed band through bars that stand close.
fn add_band(mesh: &mut Mesh, bars: &[Bar], pen: Pen) {
    let last = bars.len() - 1;
    let apart = (bars[last].x - bars[0].x) / last as f32;
    let joined = |i: usize| {
        let mut bar = bars[i];
        let sides = [i.checked_sub(1), (i < last).then_some(i + 1)];
        for near in sides.into_iter().flatten().map(|j| bars[j]) {
            // Two bars that do not touch meet half-way, so that a steep line does not become a hair.
            if near.bottom < bar.top {
                bar.top = 0.5 * (near.bottom + bar.top);
            } else if near.top > bar.bottom {
                bar.bottom = 0.5 * (near.top + bar.bottom);
            }
        }
        bar
    };
    // A wide pen is wide to the sides as well.
    let reach = ((0.5 * pen.width / apart.max(1e-3)) as usize).min(4);
    let half = 0.5 * (pen.width - pen.pixel).max(0.0);
    let clear = Color32::TRANSPARENT;
    let first = mesh.vertices.len() as u32;
    let solid: Vec<Bar> = (0..=last).map(joined).collect();
    for i in 0..=last {
        let around = &solid[i.saturating_sub(reach)..=(i + reach).min(last)];
        let top = around.iter().fold(f32::INFINITY, |t, b| t.min(b.top)) - half;
        let bottom = around
            .iter()
            .fold(f32::NEG_INFINITY, |t, b| t.max(b.bottom))
            + half;
        let x = bars[i].x;
        mesh.colored_vertex(pos2(x, top - pen.pixel), clear);
        mesh.colored_vertex(pos2(x, top), pen.color);
        mesh.colored_vertex(pos2(x, bottom), pen.color);
        mesh.colored_vertex(pos2(x, bottom + pen.pixel), clear);
    }
    for i in 0..last as u32 {
        quads(mesh, first + 4 * i, first + 4 * (i + 1), 3);
    }
}

/// Triangles between two columns of vertices.
fn quads(mesh: &mut Mesh, a: u32, b: u32, rows: u32) {
    for row in 0..rows {
        mesh.add_triangle(a + row, a + row + 1, b + row);
        mesh.add_triangle(a + row + 1, b + row, b + row + 1);
    }
}

/// Straight pieces from sample to sample; corners are bevelled, so that none reaches beyond its sample.
fn add_pieces(mesh: &mut Mesh, bars: &[Bar], pen: Pen) {
    let half = 0.5 * (pen.width - pen.pixel).max(0.0);
    let clear = Color32::TRANSPARENT;
    let mut before: Option<Vec2> = None;
    for pair in bars.windows(2) {
        let (from, to) = (pos2(pair[0].x, pair[0].top), pos2(pair[1].x, pair[1].top));
        let along = (to - from).normalized();
        let side = vec2(-along.y, along.x);
        if let Some(before) = before {
            // The outer side of the corner is the one that the line turns away from.
            let turn = before.x * side.y - before.y * side.x;
            let outer = if turn > 0.0 { -1.0 } else { 1.0 };
            let first = mesh.vertices.len() as u32;
            mesh.colored_vertex(from, pen.color);
            for direction in [before, side] {
                mesh.colored_vertex(from + outer * half * direction, pen.color);
                mesh.colored_vertex(from + outer * (half + pen.pixel) * direction, clear);
            }
            mesh.add_triangle(first, first + 1, first + 3);
            quads(mesh, first + 1, first + 3, 1);
        }
        let first = mesh.vertices.len() as u32;
        for end in [from, to] {
            mesh.colored_vertex(end + (half + pen.pixel) * side, clear);
            mesh.colored_vertex(end + half * side, pen.color);
            mesh.colored_vertex(end - half * side, pen.color);
            mesh.colored_vertex(end - (half + pen.pixel) * side, clear);
        }
        quads(mesh, first, first + 4, 3);
        before = Some(side);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEN: Pen = Pen {
        width: 2.0,
        pixel: 1.0,
        color: Color32::WHITE,
    };

    fn drawn(points: &[(f64, f64, f64)]) -> Mesh {
        let points: Vec<LinePoint> = points
            .iter()
            .map(|&(x, low, high)| LinePoint { x, low, high })
            .collect();
        let mut mesh = Mesh::default();
        let clip = Rect::from_min_max(pos2(0.0, 0.0), pos2(1000.0, 1000.0));
        let place = |x: f64, v: f64| pos2(x as f32, 500.0 - v as f32);
        add_line(&mut mesh, &points, place, clip, PEN);
        assert!(mesh.is_valid());
        mesh
    }

    /// Highest and lowest solid point of a mesh, as values.
    fn reach(mesh: &Mesh) -> (f32, f32) {
        let solid = mesh.vertices.iter().filter(|v| v.color == PEN.color);
        let values = solid.map(|v| 500.0 - v.pos.y);
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        })
    }

    #[test]
    fn a_needle_reaches_its_height_and_not_beyond_however_dense_it_stands() {
        for apart in [0.5, 1.0, 1.9, 3.0, 40.0] {
            let needle: Vec<(f64, f64, f64)> = (0..9)
                .map(|i| (f64::from(i) * apart, 0.0, 0.0))
                .map(|(x, _, _)| {
                    let v = if x == 4.0 * apart { 300.0 } else { 0.0 };
                    (x, v, v)
                })
                .collect();
            let (low, high) = reach(&drawn(&needle));
            // Half the width of the pen and no more; a mitre of this needle would be hundreds high.
            assert!((299.9..=301.0).contains(&high), "{apart}: {high}");
            assert!((-1.0..=0.1).contains(&low), "{apart}: {low}");
        }
    }

    #[test]
    fn a_single_sample_among_a_hundred_thousand_is_on_the_screen() {
        let mut data = crate::data::sample::run(0.01);
        data.history = crate::history::History::new(1, 16 << 20);
        for n in 0..100_000 {
            let value = if n == 77_777 { 250.0 } else { 0.0 };
            data.history.push(f64::from(n) * 0.002, &[value]);
        }
        let scale = crate::plot::scale::Scale {
            from: 0.0,
            to: 200.0,
            from_s: 0.0,
            to_s: 200.0,
            passage: None,
        };
        let line = crate::plot::traces::line(&data, 0, &scale, 600.0, 1.0);
        let points: Vec<_> = line
            .points
            .iter()
            .map(|p| (3.0 * p.x, p.low, p.high))
            .collect();
        let mesh = drawn(&points);
        let (_, high) = reach(&mesh);
        assert!((250.0..=250.6).contains(&high), "{high}");
        let solid = mesh.vertices.iter().filter(|v| v.color == PEN.color);
        let top = solid.min_by(|a, b| a.pos.y.total_cmp(&b.pos.y)).unwrap();
        // Within a pixel of where it was taken.
        assert!((top.pos.x - 3.0 * 155.554).abs() <= 1.6, "{}", top.pos.x);
    }

    #[test]
    fn a_band_reaches_from_the_smallest_to_the_largest() {
        let (low, high) = reach(&drawn(&[
            (0.0, 1.0, 5.0),
            (1.0, -30.0, 40.0),
            (2.0, 2.0, 3.0),
        ]));
        assert!((40.0..=40.6).contains(&high) && (-30.6..=-30.0).contains(&low));
    }

    #[test]
    fn nothing_is_drawn_across_a_gap() {
        let gap = (3.0, f64::NAN, f64::NAN);
        let mesh = drawn(&[
            (0.0, 1.0, 1.0),
            (1.0, 1.0, 1.0),
            gap,
            (6.0, 2.0, 2.0),
            (7.0, 2.0, 2.0),
        ]);
        for triangle in mesh.triangles() {
            let x = triangle.map(|i| mesh.vertices[i as usize].pos.x);
            assert!(
                x.iter().all(|x| *x < 3.0) || x.iter().all(|x| *x > 3.0),
                "{x:?}"
            );
        }
        // A sample alone is a dot.
        assert!(!drawn(&[gap, (5.0, 1.0, 1.0), gap]).is_empty());
        assert!(drawn(&[gap]).is_empty() && drawn(&[]).is_empty());
    }

    #[test]
    fn a_steep_line_keeps_its_width() {
        let steep = drawn(&[
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 0.0),
            (2.0, 400.0, 400.0),
            (3.0, 400.0, 400.0),
        ]);
        // At half its height the band is as wide as the points stand apart.
        let wide: f32 = steep
            .triangles()
            .map(|t| t.map(|i| steep.vertices[i as usize].pos))
            .filter_map(|t| crossing(t, 300.0))
            .sum();
        assert!(wide >= 0.9, "{wide}");
    }

    /// How wide a triangle is at a height of the screen.
    fn crossing(corners: [Pos2; 3], y: f32) -> Option<f32> {
        let mut xs = Vec::new();
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let (a, b) = (corners[a], corners[b]);
            if (a.y - y) * (b.y - y) < 0.0 {
                xs.push(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
            }
        }
        (xs.len() == 2).then(|| (xs[0] - xs[1]).abs())
    }
}
