//! A light chart: two axes, a grid, lines, dots, bars and marks, drawn alike on the screen and as SVG.
//!
//! A panel describes its charts once; [`show`] puts them below each other with a common left edge, and
//! [`svg::write`] makes the same picture for a report.

pub mod axis;
pub mod canvas;
pub mod color_map;
mod draw;
pub mod svg;

use crate::theme;
use axis::Axis;
use canvas::{Canvas, ScreenCanvas};
use eframe::egui::{
    Color32, ColorImage, Rect, Response, Role, Sense, TextureId, Ui, Vec2, WidgetInfo,
};
use std::sync::Arc;

/// How a line is drawn, so that lines differ without colour too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
}

/// Colour, width and strokes of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pen {
    /// Colour.
    pub color: Color32,
    /// Width in points.
    pub width: f32,
    /// Strokes.
    pub dash: Dash,
}

impl Pen {
    /// An unbroken line.
    pub fn solid(color: Color32, width: f32) -> Self {
        Self {
            color,
            width,
            dash: Dash::Solid,
        }
    }

    /// A line of long strokes.
    pub fn dashed(color: Color32, width: f32) -> Self {
        Self {
            dash: Dash::Dashed,
            ..Self::solid(color, width)
        }
    }

    /// The line of the n-th channel of a chart: colour and strokes of its own.
    pub fn of_series(dark: bool, index: usize) -> Self {
        let dashes = [Dash::Solid, Dash::Dashed, Dash::Dotted];
        Self {
            dash: dashes[index % dashes.len()],
            ..Self::solid(theme::series(dark, index), 1.6)
        }
    }
}

/// Something in a chart, in the values of its axes. What is not finite is left out.
#[derive(Clone, Debug)]
pub enum Item {
    /// A line with ascending x. Where many points share a column of the screen, their extremes are drawn.
    Line(Vec<[f64; 2]>, Pen),
    /// A line that may go anywhere.
    Path(Vec<[f64; 2]>, Pen),
    /// Dots: filled, or circles that are hollow.
    Dots {
        /// Where.
        points: Vec<[f64; 2]>,
        /// Radius in points.
        radius: f32,
        /// Colour.
        color: Color32,
        /// Whether only their outline is drawn.
        is_hollow: bool,
    },
    /// Bars from 0 up: one edge more than heights.
    Bars {
        /// Edges, ascending.
        edges: Vec<f64>,
        /// Heights.
        heights: Vec<f64>,
        /// Colour.
        fill: Color32,
    },
    /// A stretch of the x axis, from bottom to top.
    Band {
        /// From.
        from: f64,
        /// To.
        to: f64,
        /// Colour.
        fill: Color32,
    },
    /// A line across at one x, with a word beside it.
    Upright {
        /// Where.
        x: f64,
        /// How.
        pen: Pen,
        /// What it means.
        text: String,
    },
    /// A line across at one y, with a word beside it.
    Level {
        /// Where.
        y: f64,
        /// How.
        pen: Pen,
        /// What it means.
        text: String,
    },
    /// Words above a point.
    Note {
        /// The point.
        at: [f64; 2],
        /// Colour.
        color: Color32,
        /// The words.
        text: String,
    },
    /// A picture stretched between values.
    Picture {
        /// Its texture on the screen.
        texture: TextureId,
        /// Its pixels, for files.
        pixels: Arc<ColorImage>,
        /// From left to right.
        x: (f64, f64),
        /// From bottom to top.
        y: (f64, f64),
    },
}

/// How high a plot is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Height {
    /// Its share of the room.
    Share(f32),
    /// So many points.
    Points(f32),
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows, for people who do not see it.
    pub name: String,
    /// The axis to the right.
    pub x: Axis,
    /// What stands below it, with the unit; empty if the chart below has the same axis.
    pub x_title: String,
    /// The axis upwards.
    pub y: Axis,
    /// What stands above it, with the unit; empty for an axis without numbers.
    pub y_title: String,
    /// What is in it, the first at the back.
    pub items: Vec<Item>,
    /// What the lines are.
    pub legend: Vec<(Pen, String)>,
    /// How high its plot is.
    pub height: Height,
}

/// Room for the numbers of the y axis, whatever they are.
const GUTTER: f32 = 62.0;
/// Room on the right for half a number of the x axis.
const MARGIN: f32 = 18.0;
/// Room for the title of the y axis and the legend.
const HEADER: f32 = 24.0;
/// Room for the numbers and the title of the x axis.
const FOOTER: f32 = 40.0;
/// Room below a chart whose x axis is that of the chart below.
const GAP: f32 = 6.0;
/// Size of letters.
const LETTERS: f32 = 13.0;

impl Chart {
    fn header(&self) -> f32 {
        if self.y_title.is_empty() { GAP } else { HEADER }
    }

    fn footer(&self) -> f32 {
        if self.x_title.is_empty() { GAP } else { FOOTER }
    }

    /// The height that it takes besides its share.
    fn fixed_height(&self) -> f32 {
        let plot = match self.height {
            Height::Points(points) => points,
            Height::Share(_) => 0.0,
        };
        self.header() + plot + self.footer()
    }

    fn share(&self) -> f32 {
        match self.height {
            Height::Share(share) => share,
            Height::Points(_) => 0.0,
        }
    }

    /// The place of a point within the area of the plot.
    fn at(&self, plot: Rect, [x, y]: [f64; 2]) -> eframe::egui::Pos2 {
        // What lies far outside must not become a number that no painter can bear.
        let (x, y) = (
            self.x.place(x).clamp(-2.0, 3.0),
            self.y.place(y).clamp(-2.0, 3.0),
        );
        eframe::egui::pos2(
            plot.left() + x as f32 * plot.width(),
            plot.bottom() - y as f32 * plot.height(),
        )
    }
}

/// The areas of plots below each other within a rectangle.
fn plots_within(rect: Rect, charts: &[Chart]) -> Vec<Rect> {
    let fixed: f32 = charts.iter().map(Chart::fixed_height).sum();
    let shares: f32 = charts.iter().map(Chart::share).sum();
    let share = (rect.height() - fixed).max(0.0) / shares.max(f32::MIN_POSITIVE);
    let mut top = rect.top();
    charts
        .iter()
        .map(|chart| {
            let height = match chart.height {
                Height::Points(points) => points,
                Height::Share(part) => (part * share).max(1.0),
            };
            top += chart.header();
            let plot = Rect::from_x_y_ranges(
                rect.left() + GUTTER..=(rect.right() - MARGIN).max(rect.left() + GUTTER + 1.0),
                top..=top + height,
            );
            top = plot.bottom() + chart.footer();
            plot
        })
        .collect()
}

/// The size of the plot of a single chart in so much room.
pub fn plot_size(room: Vec2) -> Vec2 {
    (room - Vec2::new(GUTTER + MARGIN, HEADER + FOOTER)).max(Vec2::splat(1.0))
}

/// Where the pointer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hover {
    /// Which chart, counted from the top.
    pub chart: usize,
    /// Value of the x axis.
    pub x: f64,
    /// Value of the y axis.
    pub y: f64,
}

/// What came of showing charts.
pub struct Shown {
    /// For a menu.
    pub response: Response,
    /// Where the pointer is, if it is in a plot.
    pub hover: Option<Hover>,
}

/// Shows charts below each other in all the room there is but `below` points, with a line through all of
/// them at the pointer.
pub fn show(ui: &mut Ui, charts: &[Chart], below: f32) -> Shown {
    let least = charts
        .iter()
        .map(|c| c.fixed_height() + 40.0 * c.share().min(1.0))
        .sum::<f32>();
    let size = Vec2::new(
        ui.available_width().max(GUTTER + MARGIN + 60.0),
        (ui.available_height() - below).max(least),
    );
    let response = ui.allocate_response(size, Sense::click());
    response.widget_info(|| {
        let names: Vec<&str> = charts.iter().map(|c| c.name.as_str()).collect();
        WidgetInfo::labeled(Role::Image, true, names.join("; "))
    });
    let plots = plots_within(response.rect, charts);
    let hover = response.hover_pos().and_then(|at| {
        let chart = plots.iter().position(|plot| plot.contains(at))?;
        let plot = plots[chart];
        let across = f64::from((at.x - plot.left()) / plot.width());
        let up = f64::from((plot.bottom() - at.y) / plot.height());
        Some(Hover {
            chart,
            x: charts[chart].x.value(across),
            y: charts[chart].y.value(up),
        })
    });
    let look = draw::Look::of(ui.visuals().dark_mode);
    let mut canvas = ScreenCanvas::new(
        ui.painter()
            .with_clip_rect(response.rect.intersect(ui.clip_rect())),
    );
    for (chart, plot) in charts.iter().zip(plots) {
        let pointer = hover.filter(|h| charts[h.chart].x == chart.x);
        draw::chart(&mut canvas, &look, chart, plot, pointer.map(|h| h.x));
    }
    Shown { response, hover }
}

/// Draws charts below each other within a rectangle of a canvas, in the colours of paper.
pub fn draw_on(canvas: &mut dyn Canvas, charts: &[Chart], rect: Rect) {
    let look = draw::Look::of(false);
    for (chart, plot) in charts.iter().zip(plots_within(rect, charts)) {
        draw::chart(canvas, &look, chart, plot, None);
    }
}

/// A value in nine characters with four digits, whatever its size.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return format!("{:>9}", "–");
    }
    let size = value.abs();
    let text = match size {
        0.0 => "0".to_owned(),
        s if !(1e-3..1e5).contains(&s) => format!("{value:.2e}"),
        s => {
            let decimals = (3 - s.log10().floor() as i32).clamp(0, 5) as usize;
            format!("{value:.decimals$}")
        }
    };
    format!("{:>9}", text.replace('-', "−"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_width_and_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.234_56, "1.235"),
            (-0.001_234_5, "−0.00123"),
            (123.456, "123.5"),
            (99_999.0, "99999"),
            (1.5e-7, "1.50e−7"),
            (-2.5e12, "−2.50e12"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), format!("{text:>9}"));
            assert_eq!(number(value).chars().count(), 9);
        }
    }

    #[test]
    fn plots_stand_below_each_other_with_one_left_edge_and_fill_the_room() {
        let chart = |x_title: &str, share| Chart {
            name: String::new(),
            x: Axis::exactly(0.0, 1.0),
            x_title: x_title.into(),
            y: Axis::exactly(0.0, 1.0),
            y_title: "N".into(),
            items: Vec::new(),
            legend: Vec::new(),
            height: Height::Share(share),
        };
        let rect = Rect::from_x_y_ranges(10.0..=410.0, 20.0..=520.0);
        let plots = plots_within(rect, &[chart("", 2.0), chart("Hz", 1.0)]);
        assert_eq!(plots[0].left(), plots[1].left());
        assert!((plots[0].height() - 2.0 * plots[1].height()).abs() < 1e-3);
        assert!((plots[1].bottom() + FOOTER - rect.bottom()).abs() < 1e-3);
        let single = plots_within(rect, &[chart("Hz", 1.0)])[0];
        assert_eq!(single.size(), plot_size(rect.size()));
    }
}
