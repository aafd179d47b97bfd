//! What is drawn of one channel: points against the horizontal axis, with gaps left open.

use super::scale::{PLACE_CHANNEL, Scale};
use crate::data::Data;

/// Points a pixel at most: more cannot be told apart.
const PER_PIXEL: f32 = 1.5;

/// A point of a line: a sample, or the extremes of several. NaN in `low` leaves a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePoint {
    /// Where on the horizontal axis, in its unit.
    pub x: f64,
    /// Smallest value, in the unit on the screen.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

impl LinePoint {
    fn gap(x: f64) -> Self {
        Self {
            x,
            low: f64::NAN,
            high: f64::NAN,
        }
    }

    /// Whether there is nothing to draw.
    pub fn is_gap(&self) -> bool {
        self.low.is_nan()
    }
}

/// A line ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its points, from left to right.
    pub points: Vec<LinePoint>,
    /// How many samples one point stands for; 1 if nothing is left out.
    pub samples_per_point: usize,
    /// Extremes of what is drawn; `None` without any number.
    pub range: Option<(f64, f64)>,
}

/// The line of a channel within the axis, for so many pixels; values times `factor`.
pub fn line(data: &Data, channel: usize, scale: &Scale, width: f32, factor: f64) -> Line {
    let most = ((width * PER_PIXEL) as usize).clamp(64, 8192);
    let (from_s, to_s) = (scale.from_s, scale.to_s);
    let trace = data.history.trace(channel, from_s, to_s, most);
    let count = trace.samples_per_point;
    let places = scale
        .passage
        .and_then(|_| data.find(PLACE_CHANNEL))
        .map(|place| data.history.trace(place, from_s, to_s, most));
    // A point of several samples stands in their middle.
    let ahead_s = 0.5 * (count - 1) as f64 * data.period_s;
    let hole_s = 1.5 * count as f64 * data.period_s;
    let mut points = Vec::with_capacity(trace.points.len() + 8);
    let mut before_s = f64::INFINITY;
    for (i, point) in trace.points.iter().enumerate() {
        let x = match &places {
            None => point.t_s + ahead_s,
            Some(places) => match places.points.get(i) {
                Some(place) => 0.5 * (place.min + place.max),
                None => continue,
            },
        };
        // A sample that was never taken is a gap as well as one without a value.
        if hole_s > 0.0 && point.t_s - before_s > hole_s {
            points.push(LinePoint::gap(x));
        }
        before_s = point.t_s;
        if x.is_nan() || point.min.is_nan() {
            points.push(LinePoint::gap(if x.is_nan() { scale.from } else { x }));
            continue;
        }
        let (a, b) = (point.min * factor, point.max * factor);
        points.push(LinePoint {
            x,
            low: a.min(b),
            high: a.max(b),
        });
    }
    if scale.passage.is_some() {
        trim_standing(&mut points);
    }
    let range = trace.range.map(|(a, b)| (a * factor, b * factor));
    Line {
        points,
        samples_per_point: count,
        range: range.map(|(a, b)| (a.min(b), a.max(b))),
    }
}

/// Against place a sample beside the run may stand anywhere: a line never goes back.
fn trim_standing(points: &mut Vec<LinePoint>) {
    let mut furthest = f64::NEG_INFINITY;
    if let [first, second, ..] = points[..]
        && first.x > second.x
    {
        points.remove(0);
    }
    points.retain(|p| {
        let keeps = p.is_gap() || p.x >= furthest;
        if keeps && !p.is_gap() {
            furthest = p.x;
        }
        keeps
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Channel, sample};
    use crate::history::History;
    use crate::plot::scale::{Against, Horizontal};
    use crate::view::View;
    use rt_core::channel::Role;
    use std::collections::VecDeque;

    /// One channel at 1 kHz; samples without a time are never taken.
    fn data(samples: usize, value: impl Fn(usize) -> Option<f64>) -> Data {
        let mut history = History::new(1, 64 << 20);
        for n in 0..samples {
            if let Some(v) = value(n) {
                history.push(n as f64 * 1e-3, &[v]);
            }
        }
        Data {
            channels: vec![Channel {
                id: "a".into(),
                label: "A".into(),
                unit: "m".into(),
                role: Role::Measured,
            }],
            history,
            events: VecDeque::new(),
            period_s: 1e-3,
            line: None,
        }
    }

    fn time(from: f64, to: f64) -> Scale {
        Scale {
            from,
            to,
            from_s: from,
            to_s: to,
            passage: None,
        }
    }

    #[test]
    fn a_peak_stays_at_every_width_and_zoom() {
        let data = data(200_000, |n| {
            Some(if n == 123_456 { 9.0 } else { (n % 5) as f64 })
        });
        for width in [50.0, 300.0, 1600.0] {
            for (from, to) in [(0.0, 200.0), (100.0, 140.0), (123.4, 123.5)] {
                let line = line(&data, 0, &time(from, to), width, 1e3);
                let peak = line.points.iter().filter(|p| p.high == 9000.0);
                let peaks: Vec<_> = peak.collect();
                assert_eq!(peaks.len(), 1, "{width} {from}");
                // In the middle of what it stands for.
                let close = 0.5e-3 * line.samples_per_point as f64;
                assert!((peaks[0].x - 123.456).abs() <= close + 1e-9);
                let most = (width * PER_PIXEL).max(64.0) as usize;
                assert!(line.points.len() <= most + 4, "{}", line.points.len());
                assert_eq!(line.range, Some((0.0, 9000.0)));
            }
        }
    }

    #[test]
    fn gaps_stay_gaps() {
        // Unknown from 2 to 3 s, never taken from 5 to 6 s.
        let data = data(10_000, |n| match n {
            2_000..3_000 => Some(f64::NAN),
            5_000..6_000 => None,
            n => Some(n as f64),
        });
        for width in [100.0, 1000.0] {
            let line = line(&data, 0, &time(0.0, 10.0), width, 1.0);
            let holes = line
                .points
                .windows(2)
                .filter(|w| !w[0].is_gap() && w[1].is_gap());
            assert_eq!(holes.count(), 2, "{width}");
            let drawn = |from: f64, to: f64| {
                let within = |p: &&LinePoint| p.x > from && p.x < to && !p.is_gap();
                line.points.iter().filter(within).count()
            };
            assert_eq!(drawn(2.2, 2.8) + drawn(5.2, 5.8), 0);
            assert!(drawn(3.2, 4.8) > 5);
        }
    }

    #[test]
    fn against_place_the_line_stands_where_the_train_was() {
        let data = sample::run(18.0);
        let axis = Horizontal {
            against: Against::Place,
            ..Horizontal::default()
        };
        let view = View {
            data: &data,
            now_s: 17.0,
            is_following: true,
            is_replay: false,
        };
        let scale = axis.scale(&view).unwrap();
        let force = data.find("force_20hz").unwrap();
        for width in [300.0, 20_000.0] {
            let line = line(&data, force, &scale, width, 1.0);
            assert!(line.points.windows(2).all(|w| w[1].x >= w[0].x));
            for point in line.points.iter().filter(|p| !p.is_gap()) {
                // The made-up force is a function of place alone.
                let there = 150.0 + 25.0 * (std::f64::consts::TAU * point.x / 65.0).sin();
                // Within a point the force moves by its slope over half of its way.
                let way = 0.139 * line.samples_per_point as f64;
                let slack = 25.0 * std::f64::consts::TAU / 65.0 * way + 0.01;
                assert!(point.low <= there + slack && point.high >= there - slack);
            }
        }
    }
}
