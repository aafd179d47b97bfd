//! Plots of a script: lines, dots and levels, drawn alike in the window and as SVG.

use crate::chart::axis::Axis;
use crate::chart::{Chart, Dash, Height, Item, Pen, svg};
use crate::theme;
use eframe::egui::Vec2;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line, with its points marked if there are few.
    Line,
    /// Points alone.
    Dots,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotSeries {
    /// What they are.
    pub name: String,
    /// Where they are.
    pub points: Vec<[f64; 2]>,
    /// How they are drawn.
    pub style: Style,
}

/// A plot as a script describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotData {
    /// What it shows.
    pub title: String,
    /// What stands below, with the unit.
    pub x_title: String,
    /// What stands above the axis upwards, with the unit.
    pub y_title: String,
    /// What is drawn.
    pub series: Vec<PlotSeries>,
    /// Lines across with their words: limits.
    pub levels: Vec<(f64, String)>,
    /// Whether the axis upwards is logarithmic.
    pub log_y: bool,
    /// Whether the axis upwards begins at 0.
    pub from_zero: bool,
}

/// Size of a picture, in points.
const PICTURE: Vec2 = Vec2::new(900.0, 520.0);
/// Lines of so few points have their points marked.
const MARKED: usize = 60;
/// Decades that a logarithmic axis shows at most.
const DECADES: i32 = 8;

fn range_of(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|v| v.is_finite())
        .fold(None, |found: Option<(f64, f64)>, v| {
            Some(found.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
        })
}

impl PlotData {
    fn axes(&self) -> (Axis, Axis) {
        let points = || self.series.iter().flat_map(|s| s.points.iter());
        let x = range_of(points().map(|p| p[0]));
        let levels = self.levels.iter().map(|l| l.0);
        let y = points().map(|p| p[1]).chain(levels);
        if self.log_y {
            let y = range_of(y.filter(|v| *v > 0.0));
            return (Axis::around(x), Axis::decades(y, DECADES));
        }
        let y = match range_of(y) {
            Some((low, high)) if self.from_zero && low >= 0.0 => Axis::from_zero(high),
            range => Axis::around(range),
        };
        (Axis::around(x), y)
    }

    /// The chart, for a dark or a light background.
    pub fn chart(&self, dark: bool) -> Chart {
        let (x, y) = self.axes();
        let mut items = Vec::new();
        let mut legend = Vec::new();
        for (level, text) in &self.levels {
            items.push(Item::Level {
                y: *level,
                pen: Pen::dashed(theme::warning(dark), 1.2),
                text: text.clone(),
            });
        }
        for (i, series) in self.series.iter().enumerate() {
            let pen = Pen::of_series(dark, i);
            if series.style == Style::Line {
                items.push(Item::Path(series.points.clone(), pen));
            }
            if series.style == Style::Dots || series.points.len() <= MARKED {
                items.push(Item::Dots {
                    points: series.points.clone(),
                    radius: 3.5,
                    color: pen.color,
                    is_hollow: i % 2 == 1,
                });
            }
            let legend_pen = match series.style {
                Style::Line => pen,
                Style::Dots => Pen {
                    dash: Dash::Dotted,
                    width: 4.0,
                    ..pen
                },
            };
            legend.push((legend_pen, series.name.clone()));
        }
        Chart {
            name: self.title.clone(),
            x,
            x_title: self.x_title.clone(),
            y,
            y_title: self.y_title.clone(),
            items,
            legend,
            height: Height::Share(1.0),
        }
    }

    /// The picture for a file.
    pub fn svg(&self) -> String {
        let picture = svg::write(&[self.chart(false)], PICTURE);
        let escaped = self
            .title
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        // A reader and a tab of a browser show it.
        picture.replacen(">\n", &format!(">\n<title>{escaped}</title>\n"), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_holds_its_points_its_limit_and_its_words() {
        let mut plot = PlotData {
            title: "σ < limit".into(),
            x_title: "Speed (km/h)".into(),
            y_title: "σ (N)".into(),
            levels: vec![(47.0, "limit".into())],
            from_zero: true,
            ..PlotData::default()
        };
        plot.series.push(PlotSeries {
            name: "run".into(),
            points: vec![[200.0, 20.0], [250.0, f64::NAN], [300.0, 23.0]],
            style: Style::Dots,
        });
        let (x, y) = plot.axes();
        assert!(x.low <= 200.0 && x.high >= 300.0);
        assert!(
            y.low == 0.0 && y.high >= 47.0,
            "the limit is in the picture: {y:?}"
        );
        let svg = plot.svg();
        assert!(svg.contains("<title>σ &lt; limit</title>") && svg.ends_with("</svg>\n"));
        assert!(svg.contains(">limit</text>") && svg.contains(">run</text>"));
        assert_eq!(
            svg.matches("<circle").count(),
            2,
            "what is no number is left out: {svg}"
        );
        plot.log_y = true;
        let (_, y) = plot.axes();
        assert_eq!((y.low, y.high), (10.0, 100.0));
        // Nothing in it: axes all the same.
        assert!(PlotData::default().svg().contains("</svg>"));
    }
}
