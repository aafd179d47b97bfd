//! All that is seen of the plots in one frame, for the screen and for a picture in a file.

use super::axis::{Axis, step_for};
use super::limits::EN_50367;
use super::overlay::{AcrossLine, limit_lines, statistics_lines};
use super::scale::{Against, PLACE_CHANNEL, Scale};
use super::stack::PlotState;
use super::traces::{Line, line};
use crate::data::Data;
use crate::plot::place::Passage;
use crate::units::shown;
use crate::view::View;

/// Room that one label of the horizontal axis needs, in points of the screen.
const LABEL_ROOM: f32 = 88.0;

/// One line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnLine {
    /// Number in the legend, from 1.
    pub number: usize,
    /// What a person reads.
    pub label: String,
    /// Its unit on the screen.
    pub unit: String,
    /// Which axis it belongs to: 0 left, 1 right.
    pub side: usize,
    /// Number of its colour.
    pub color: usize,
    /// Whether it is wide.
    pub is_bold: bool,
    /// Its points.
    pub line: Line,
}

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPicture {
    /// Its lines, in the order of the legend.
    pub lines: Vec<DrawnLine>,
    /// Left and right axis with their units.
    pub axes: [Option<(Axis, String)>; 2],
    /// Lines across, on the axis of this side.
    pub across: (usize, Vec<AcrossLine>),
    /// How many samples a point stands for at most.
    pub samples_per_point: usize,
}

impl PlotPicture {
    /// What is seen of a plot that is so many points wide. The second value says in how many s newer
    /// statistics are due.
    pub fn of(
        view: &View<'_>,
        state: &mut PlotState,
        scale: &Scale,
        width: f32,
        clock_s: f64,
    ) -> (Self, Option<f64>) {
        let data = view.data;
        let units: Vec<String> = state.units(data).into_iter().map(str::to_owned).collect();
        let side_of = |unit: &str| units.iter().position(|u| u == unit).filter(|s| *s < 2);
        let mut lines = Vec::new();
        for (i, entry) in state.entries.iter().enumerate() {
            let Some((at, channel)) = data.channel(&entry.channel) else {
                continue;
            };
            let unit = shown(&channel.unit);
            let Some(side) = side_of(unit.unit) else {
                continue;
            };
            lines.push(DrawnLine {
                number: i + 1,
                label: channel.label.clone(),
                unit: unit.unit.to_owned(),
                side,
                color: entry.color,
                is_bold: entry.is_bold,
                line: line(data, at, scale, width, unit.factor),
            });
        }
        let (across, due_s) = across(view, state, scale, clock_s);
        let force_side = side_of("N").unwrap_or(0);
        let axes = [0, 1].map(|side| {
            let unit = units.get(side)?;
            let ranges = lines.iter().filter(|l| l.side == side);
            let mut range = ranges.filter_map(|l| l.line.range).reduce(hull);
            if side == force_side {
                let others = across.iter().map(|l| (l.value, l.value));
                range = range.map(|r| others.fold(r, hull));
            }
            let before = state.axes[side];
            let axis = match before {
                Some(axis) if state.is_held => axis,
                before => Axis::steadied(before, range),
            };
            // Before the first value there is nothing to keep.
            state.axes[side] = before.or(range.map(|_| axis)).map(|_| axis);
            Some((axis, unit.clone()))
        });
        let most = lines.iter().map(|l| l.line.samples_per_point).max();
        let picture = Self {
            lines,
            axes,
            across: (force_side, across),
            samples_per_point: most.unwrap_or(1),
        };
        (picture, due_s)
    }
}

fn hull(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The lines across a plot with a contact force.
fn across(
    view: &View<'_>,
    state: &mut PlotState,
    scale: &Scale,
    clock_s: f64,
) -> (Vec<AcrossLine>, Option<f64>) {
    let data = view.data;
    let Some(force) = state.force().and_then(|id| data.find(id)) else {
        return (Vec::new(), None);
    };
    let (mut lines, mut due_s) = (Vec::new(), None);
    if state.has_statistics {
        let range = (scale.from_s, scale.to_s);
        let (made, due) = state.force_seen.of(data, &[force], range, clock_s);
        due_s = due;
        lines.extend(made.iter().flat_map(statistics_lines));
    }
    if state.has_limits
        && let Ok(limits) = EN_50367.as_ref()
        && let Some(speed) = speed_kmh(data, scale)
    {
        lines.extend(limit_lines(limits, Some(speed)));
    }
    (lines, due_s)
}

/// Speed of the train over what is seen, in km/h; without a line there is none and no limit holds.
fn speed_kmh(data: &Data, scale: &Scale) -> Option<f64> {
    let channel = data.find(PLACE_CHANNEL)?;
    let passage = match scale.passage {
        Some(passage) => passage,
        None => Passage::newest(&data.history, channel, scale.to_s)?,
    };
    let speed = passage.speed(&data.history, scale.from_s, scale.to_s)?;
    Some(3.6 * speed)
}

/// Marks of the horizontal axis for a width on the screen, with their labels.
pub fn horizontal_marks(scale: &Scale, width: f32) -> Vec<(f64, String)> {
    let most = (width / LABEL_ROOM).clamp(1.0, 40.0) as usize;
    let step = step_for(scale.to - scale.from, most);
    let marks = super::axis::marks(scale.from, scale.to, step);
    marks
        .into_iter()
        .map(|m| (m, super::axis::label(m, step)))
        .collect()
}

/// What the horizontal axis is called.
pub fn horizontal_title(against: Against) -> &'static str {
    match against {
        Against::Time => "time in s",
        Against::Place => "place along the line in m",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use crate::plot::overlay::Meaning;
    use crate::plot::scale::Horizontal;
    use crate::plot::stack::defaults;

    #[test]
    fn the_plot_of_the_force_has_mean_deviations_and_limits_in_view() {
        let data = sample::run(20.0);
        let view = View {
            data: &data,
            now_s: 15.0,
            is_following: true,
            is_replay: false,
        };
        let scale = Horizontal::default().scale(&view).unwrap();
        let mut plots = defaults(&data.channels);
        let (picture, _) = PlotPicture::of(&view, &mut plots[0], &scale, 800.0, 0.0);
        let (side, across) = &picture.across;
        let limits: Vec<f64> = across
            .iter()
            .filter(|l| l.meaning == Meaning::Limit)
            .map(|l| l.value)
            .collect();
        // 250 km/h.
        assert_eq!((*side, limits), (0, vec![0.0, 350.0]));
        let mean = across.iter().find(|l| l.meaning == Meaning::Mean).unwrap();
        let slow = data.history.samples(3, 5.0, 15.0).map(|s| s.1);
        let slow: Vec<f64> = slow.collect();
        let expected = slow.iter().sum::<f64>() / slow.len() as f64;
        assert!((mean.value - expected).abs() < 1e-9);
        let (axis, unit) = picture.axes[0].as_ref().unwrap();
        assert!(unit == "N" && axis.low <= 0.0 && axis.high >= 350.0);
        assert!(picture.axes[1].is_none());
        plots[0].has_limits = false;
        plots[0].axes = [None; 2];
        let (picture, _) = PlotPicture::of(&view, &mut plots[0], &scale, 800.0, 1.0);
        assert_eq!(picture.across.1.len(), 3);
        assert!(picture.axes[0].as_ref().unwrap().0.high < 300.0);
        let (error, _) = PlotPicture::of(&view, &mut plots[2], &scale, 800.0, 0.0);
        assert_eq!(error.axes[0].as_ref().unwrap().1, "mm");
    }
}
