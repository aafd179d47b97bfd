//! The common horizontal axis: which part of the past is shown, against time or against place.

use super::place::Passage;
use crate::data::Data;
use crate::view::View;
use serde::{Deserialize, Serialize};

/// The channel that says where the train is.
pub const PLACE_CHANNEL: &str = "line_position";
/// Stretches of time to choose from, in s.
pub const SPANS_S: [f64; 4] = [2.0, 10.0, 30.0, 120.0];
/// Stretches of line to choose from, in m.
pub const SPANS_M: [f64; 3] = [100.0, 200.0, 500.0];
/// No closer look than this, in s and in m.
const LEAST: f64 = 0.01;

/// What channels are drawn against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Against {
    /// Time since the loop started.
    #[default]
    Time,
    /// Place along the line, of the newest run through the section.
    Place,
}

impl Against {
    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Against::Time => "s",
            Against::Place => "m",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Against::Time => "Time",
            Against::Place => "Place",
        }
    }
}

/// What a person has chosen of the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Horizontal {
    /// Against what.
    pub against: Against,
    /// How much of the past up to now, in s; `None` for all of it.
    pub span_s: Option<f64>,
    /// How much of the line up to the train, in m; `None` for the whole section.
    pub span_m: Option<f64>,
    /// A stretch that a person looks at, in the axis' unit; it stands still whatever comes in.
    #[serde(skip)]
    pub held: Option<(f64, f64)>,
}

impl Default for Horizontal {
    fn default() -> Self {
        Self {
            against: Against::Time,
            span_s: Some(SPANS_S[1]),
            span_m: None,
            held: None,
        }
    }
}

/// The horizontal axis of one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Left end, in the axis' unit.
    pub from: f64,
    /// Right end, in the axis' unit.
    pub to: f64,
    /// Time of the oldest sample that may be seen, in s.
    pub from_s: f64,
    /// Time of the newest sample that may be seen, in s.
    pub to_s: f64,
    /// The run that is shown against place.
    pub passage: Option<Passage>,
}

impl Horizontal {
    /// The axis of a frame; words why there is none.
    pub fn scale(&self, view: &View<'_>) -> Result<Scale, String> {
        match self.against {
            Against::Time => Ok(self.time_scale(view)),
            Against::Place => self.place_scale(view),
        }
    }

    fn time_scale(&self, view: &View<'_>) -> Scale {
        let oldest = view.data.history.oldest_s().unwrap_or(0.0);
        let (from, to) = self.held.unwrap_or_else(|| {
            let from = self.span_s.map_or(oldest, |span| view.now_s - span);
            (from, view.now_s.max(from + LEAST))
        });
        Scale {
            from,
            to,
            from_s: from,
            // What comes after a pause or the play head is shown only if it is looked for.
            to_s: self.held.map_or(view.now_s, |(_, to)| to.min(newest(view))),
            passage: None,
        }
    }

    fn place_scale(&self, view: &View<'_>) -> Result<Scale, String> {
        let data = view.data;
        let channel = data.find(PLACE_CHANNEL).ok_or(
            "This bench has no place along a line. Choose Time above to see its channels.",
        )?;
        let none = "The train has not moved yet. Run the bench, or choose Time above.";
        let passage = Passage::newest(&data.history, channel, view.now_s).ok_or(none)?;
        let (begin, end) = passage.places_m(&data.history).ok_or(none)?;
        let (from, to) = self.held.unwrap_or_else(|| match self.span_m {
            Some(span) => (end - span, end),
            None => {
                let supports = data.line.as_ref().map(|l| l.supports_m.as_slice());
                let last = supports.and_then(|s| s.last()).copied();
                let first = supports.and_then(|s| s.first()).copied();
                (
                    first.unwrap_or(begin).min(begin),
                    last.unwrap_or(end).max(end),
                )
            }
        });
        Ok(Scale {
            from,
            to,
            from_s: passage.time_at(&data.history, from).ok_or(none)?,
            to_s: passage.time_at(&data.history, to).ok_or(none)?,
            passage: Some(passage),
        })
    }

    /// Whether the picture moves on by itself when new samples come.
    pub fn is_live(&self, view: &View<'_>) -> bool {
        self.held.is_none() && view.is_following
    }

    /// Looks at a stretch, which then stands still. It cannot leave what is known altogether.
    pub fn hold(&mut self, view: &View<'_>, from: f64, to: f64) {
        let width = (to - from).max(LEAST);
        let centre = 0.5 * (from + to);
        let (low, high) = match self.against {
            Against::Time => (view.data.history.oldest_s().unwrap_or(0.0), newest(view)),
            Against::Place => {
                let whole = Self {
                    held: None,
                    span_m: None,
                    ..self.clone()
                };
                whole.scale(view).map_or((from, to), |s| (s.from, s.to))
            }
        };
        let width = width.min(4.0 * (high - low).max(LEAST));
        let centre = centre.clamp(low, high.max(low));
        self.held = Some((centre - 0.5 * width, centre + 0.5 * width));
    }

    /// Back to the newest samples.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Looks closer (a factor below 1) or from further away. A live picture goes on following with another
    /// width; one that stands keeps what is at `around`.
    pub fn zoom(&mut self, view: &View<'_>, scale: &Scale, factor: f64, around: f64) {
        let width = ((scale.to - scale.from) * factor).max(LEAST);
        if self.is_live(view) {
            match self.against {
                Against::Time => self.span_s = Some(width),
                Against::Place => self.span_m = Some(width),
            }
            return;
        }
        let part = (around - scale.from) / (scale.to - scale.from);
        let from = around - part * width;
        self.hold(view, from, from + width);
    }

    /// Moves the picture along the axis by a way in its unit.
    pub fn pan(&mut self, view: &View<'_>, scale: &Scale, by: f64) {
        self.hold(view, scale.from + by, scale.to + by);
    }
}

fn newest(view: &View<'_>) -> f64 {
    view.data.history.newest_s().unwrap_or(view.now_s)
}

impl Scale {
    /// Where a time stands on the axis; `None` if it has no place.
    pub fn at_time(&self, data: &Data, t_s: f64) -> Option<f64> {
        match &self.passage {
            None => Some(t_s),
            Some(passage) => passage.place_at(&data.history, t_s),
        }
    }

    /// The time of a point of the axis, in s.
    pub fn time_at(&self, data: &Data, x: f64) -> Option<f64> {
        match &self.passage {
            None => Some(x),
            Some(passage) => passage.time_at(&data.history, x),
        }
    }

    /// Where a point of the axis stands between its left (0) and its right end (1).
    pub fn part(&self, x: f64) -> f64 {
        (x - self.from) / (self.to - self.from)
    }

    /// The point of the axis at a part of the way from its left to its right end.
    pub fn at_part(&self, part: f64) -> f64 {
        self.from + part * (self.to - self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    fn view(data: &Data, now_s: f64, is_following: bool) -> View<'_> {
        View {
            data,
            now_s,
            is_following,
            is_replay: false,
        }
    }

    #[test]
    fn a_live_axis_follows_and_a_held_one_stands() {
        let data = sample::run(30.0);
        let mut axis = Horizontal::default();
        let live = view(&data, 25.0, true);
        let scale = axis.scale(&live).unwrap();
        assert_eq!((scale.from, scale.to), (15.0, 25.0));
        axis.zoom(&live, &scale, 0.5, 16.0);
        assert!(axis.is_live(&live));
        let scale = axis.scale(&live).unwrap();
        assert_eq!((scale.from, scale.to), (20.0, 25.0));
        axis.pan(&live, &scale, -4.0);
        assert!(!axis.is_live(&live));
        let later = view(&data, 29.0, true);
        let scale = axis.scale(&later).unwrap();
        assert_eq!((scale.from, scale.to), (16.0, 21.0));
        // A picture that stands keeps the point under the pointer.
        axis.zoom(&later, &scale, 0.5, 17.0);
        let scale = axis.scale(&later).unwrap();
        assert!((scale.part(17.0) - 0.2).abs() < 1e-12 && scale.to - scale.from == 2.5);
        axis.release();
        assert_eq!(axis.scale(&later).unwrap().to, 29.0);
        axis.span_s = None;
        assert_eq!(axis.scale(&later).unwrap().from, 0.0);
    }

    #[test]
    fn a_pause_shows_nothing_of_what_came_after_it_until_asked() {
        let data = sample::run(30.0);
        let paused = view(&data, 12.0, false);
        let mut axis = Horizontal::default();
        assert_eq!(axis.scale(&paused).unwrap().to_s, 12.0);
        axis.hold(&paused, 14.0, 18.0);
        assert_eq!(axis.scale(&paused).unwrap().to_s, 18.0);
        axis.hold(&paused, 1e6, 1e6 + 4.0);
        let scale = axis.scale(&paused).unwrap();
        assert!(scale.from < 30.0, "{scale:?}");
    }

    #[test]
    fn place_and_time_are_told_from_each_other_and_back() {
        let data = sample::run(18.0);
        let axis = Horizontal {
            against: Against::Place,
            ..Horizontal::default()
        };
        let seen = view(&data, 17.0, true);
        let scale = axis.scale(&seen).unwrap();
        // The whole section of 20 spans of 65 m, whatever part was run.
        assert_eq!((scale.from, scale.to), (0.0, 1300.0));
        let speed = 250.0 / 3.6;
        let place = scale.at_time(&data, 9.0).unwrap();
        // Places are kept as floats: 7 digits of 625 m.
        assert!((place - 9.0 * speed).abs() < 1e-3, "{place}");
        assert!((scale.time_at(&data, place).unwrap() - 9.0).abs() < 2.1e-3);
        assert_eq!(scale.at_time(&data, 17.5), None);
        let near = Horizontal {
            span_m: Some(100.0),
            ..axis
        };
        let scale = near.scale(&seen).unwrap();
        assert!((scale.to - 17.0 * speed).abs() < 0.2 && scale.to - scale.from == 100.0);
        assert!((scale.to_s - scale.from_s - 100.0 / speed).abs() < 5e-3);
    }

    #[test]
    fn without_a_line_the_words_say_what_to_do() {
        let mut data = sample::run(1.0);
        data.channels.retain(|c| c.id != PLACE_CHANNEL);
        let axis = Horizontal {
            against: Against::Place,
            ..Horizontal::default()
        };
        let words = axis.scale(&view(&data, 0.9, true)).unwrap_err();
        assert!(words.contains("Choose Time"), "{words}");
    }
}
