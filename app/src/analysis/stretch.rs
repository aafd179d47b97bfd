//! Which stretch of time is evaluated, and its samples on an even grid.

use crate::data::Data;
use crate::view::View;
use serde::{Deserialize, Serialize};

/// The most samples of a channel that are evaluated: copying four channels of them takes about 3 ms of a frame.
pub const MOST_SAMPLES: usize = 400_000;

/// Which stretch of time a panel evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stretch {
    /// The last seconds before the moment that is shown.
    Last(f64),
    /// What the time plots show.
    Visible,
    /// Between the cursors A and B of the time plots.
    Cursors,
    /// All that is held.
    All,
}

impl Default for Stretch {
    fn default() -> Self {
        Self::Last(30.0)
    }
}

/// Stretches that the time plots offer to other panels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Offered {
    /// From and to of what they show, in s.
    pub visible_s: Option<(f64, f64)>,
    /// Times of the cursors A and B, in s, in any order.
    pub cursors_s: Option<(f64, f64)>,
}

impl Stretch {
    /// What a person can choose.
    pub const CHOICES: [Stretch; 9] = [
        Stretch::Last(2.0),
        Stretch::Last(5.0),
        Stretch::Last(10.0),
        Stretch::Last(30.0),
        Stretch::Last(60.0),
        Stretch::Last(300.0),
        Stretch::Visible,
        Stretch::Cursors,
        Stretch::All,
    ];

    /// What it is called.
    pub fn name(self) -> String {
        match self {
            Stretch::Last(seconds) if seconds >= 120.0 => format!("Last {} min", seconds / 60.0),
            Stretch::Last(seconds) => format!("Last {seconds} s"),
            Stretch::Visible => "Visible range".into(),
            Stretch::Cursors => "Between cursors".into(),
            Stretch::All => "All".into(),
        }
    }

    /// From and to, in s; or what a person has to do first.
    pub fn bounds(self, view: &View<'_>, offered: &Offered) -> Result<(f64, f64), &'static str> {
        let (from_s, to_s) = match self {
            Stretch::Last(seconds) => (view.now_s - seconds, view.now_s),
            Stretch::Visible => offered.visible_s.ok_or(
                "No time plot is open whose range could be taken. Open one, or choose another range.",
            )?,
            Stretch::Cursors => {
                let (a, b) = offered
                    .cursors_s
                    .ok_or("Set both cursors A and B in a time plot, or choose another range.")?;
                (a.min(b), a.max(b))
            }
            Stretch::All => (f64::NEG_INFINITY, view.now_s),
        };
        Ok((from_s, to_s))
    }
}

/// Samples of a history that lie in a stretch, counted from the oldest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The first.
    pub begin: usize,
    /// Just behind the last.
    pub end: usize,
    /// Time of the first, in s.
    pub from_s: f64,
    /// Time of the last, in s.
    pub to_s: f64,
    /// Whether older samples of the stretch were left out because there are too many.
    pub is_cut: bool,
    /// Samples forgotten before the oldest: together with `begin` and `end` this tells stretches apart.
    pub forgotten: u64,
}

impl Found {
    /// Looks up a stretch; `None` if there is no sample in it.
    pub fn within(data: &Data, from_s: f64, to_s: f64) -> Option<Self> {
        let history = &data.history;
        // A hair of a period, so that rounding of a bound does not lose its sample.
        let hair = 1e-3 * data.period_s;
        let begin = history.first_at_or_after(from_s - hair);
        let end = history.first_at_or_after(to_s + hair).min(history.len());
        let is_cut = end.saturating_sub(begin) > MOST_SAMPLES;
        let begin = if is_cut { end - MOST_SAMPLES } else { begin };
        if begin >= end {
            return None;
        }
        Some(Self {
            begin,
            end,
            from_s: history.time(begin)?,
            to_s: history.time(end - 1)?,
            is_cut,
            forgotten: history.forgotten(),
        })
    }

    /// Samples in it.
    pub fn len(&self) -> usize {
        self.end - self.begin
    }

    /// Places on the grid of the period from the first to the last sample; more than samples if some are
    /// missing.
    fn places(&self, period_s: f64) -> usize {
        ((self.to_s - self.from_s) / period_s).round() as usize + 1
    }

    /// How long it is in s, a period for each sample if none is missing.
    pub fn seconds(&self, period_s: f64) -> f64 {
        self.to_s - self.from_s + period_s
    }
}

/// Samples of some channels, copied out of the history.
pub struct Copied {
    start_s: f64,
    period_s: f64,
    /// Times of the samples, only if some are missing between them.
    times: Option<Vec<f64>>,
    channels: Vec<Vec<f32>>,
}

impl Copied {
    /// Copies channels by their places in the history.
    pub fn of(data: &Data, found: &Found, channels: &[usize]) -> Self {
        let copy = |c: &usize| data.history.copy_samples(*c, found.begin, found.end);
        let is_even = found.places(data.period_s) == found.len();
        Self {
            start_s: found.from_s,
            period_s: data.period_s,
            times: (!is_even).then(|| data.history.copy_times(found.begin, found.end)),
            channels: channels.iter().map(copy).collect(),
        }
    }

    /// Puts every sample where it belongs on a grid of the period; what is missing between is NaN.
    pub fn on_grid(self) -> Grid {
        let Some(times) = &self.times else {
            let exact = |samples: &Vec<f32>| samples.iter().map(|v| f64::from(*v)).collect();
            return Grid {
                start_s: self.start_s,
                period_s: self.period_s,
                channels: self.channels.iter().map(exact).collect(),
            };
        };
        let end_s = times.last().copied().unwrap_or(self.start_s);
        // A gap of hours must not become hours of NaN.
        let earliest_s = end_s - 2.0 * MOST_SAMPLES as f64 * self.period_s;
        let first = times.partition_point(|t| *t < earliest_s);
        let start_s = times.get(first).copied().unwrap_or(self.start_s);
        let place = |t: f64| ((t - start_s) / self.period_s).round().max(0.0) as usize;
        let length = place(end_s) + 1;
        let spread = |samples: &Vec<f32>| {
            let mut grid = vec![f64::NAN; length];
            for (t, sample) in times.iter().zip(samples).skip(first) {
                if let Some(slot) = grid.get_mut(place(*t)) {
                    *slot = f64::from(*sample);
                }
            }
            grid
        };
        Grid {
            start_s,
            period_s: self.period_s,
            channels: self.channels.iter().map(spread).collect(),
        }
    }
}

/// Samples on an even grid of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Time of the first, in s.
    pub start_s: f64,
    /// Time between two, in s.
    pub period_s: f64,
    /// Samples of each channel in SI units; NaN where one is missing.
    pub channels: Vec<Vec<f64>>,
}

impl Grid {
    /// Samples of each channel.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Samples a second.
    pub fn rate_hz(&self) -> f64 {
        1.0 / self.period_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use crate::history::History;

    #[test]
    fn a_skipped_tick_is_a_gap_on_the_grid_and_nothing_else_moves() {
        let mut data = sample::run(0.0);
        data.history = History::new(data.channels.len(), 64 << 20);
        for n in (0..20_u32).filter(|n| ![3, 7, 8].contains(n)) {
            data.history.push(f64::from(n) * 0.002, &[f64::from(n)]);
        }
        let found = Found::within(&data, 0.002, 0.020).unwrap();
        assert_eq!((found.begin, found.end, found.is_cut), (1, 8, false));
        let grid = Copied::of(&data, &found, &[0]).on_grid();
        let n = f64::NAN;
        let expected = [1.0, 2.0, n, 4.0, 5.0, 6.0, n, n, 9.0, 10.0];
        assert_eq!(grid.start_s, 0.002);
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        assert!(grid.channels[0].iter().zip(&expected).all(same), "{grid:?}");
        assert_eq!(grid.len(), expected.len());
        // Behind the gaps nothing is missing: no times are needed.
        let even = Found::within(&data, 0.020, 1.0).unwrap();
        let copied = Copied::of(&data, &even, &[0]);
        assert!(copied.times.is_none());
        let grid = copied.on_grid();
        assert!((grid.start_s - 0.020).abs() < 1e-12);
        assert_eq!(
            grid.channels[0],
            (10..20).map(f64::from).collect::<Vec<_>>()
        );
        assert!((found.seconds(0.002) - 0.020).abs() < 1e-12);
        assert!(Found::within(&data, 5.0, 6.0).is_none());
    }

    #[test]
    fn bounds_say_what_to_do_when_there_is_nothing_to_take_them_from() {
        let data = sample::run(1.0);
        let view = View {
            data: &data,
            now_s: 0.8,
            is_following: false,
            is_replay: false,
        };
        let nothing = Offered::default();
        assert_eq!(
            Stretch::Last(0.5).bounds(&view, &nothing),
            Ok((0.8 - 0.5, 0.8))
        );
        let text = Stretch::Cursors.bounds(&view, &nothing).unwrap_err();
        assert!(text.contains("Set both cursors"));
        assert!(Stretch::Visible.bounds(&view, &nothing).is_err());
        let offered = Offered {
            visible_s: Some((0.1, 0.4)),
            cursors_s: Some((0.7, 0.2)),
        };
        assert_eq!(Stretch::Cursors.bounds(&view, &offered), Ok((0.2, 0.7)));
        assert_eq!(Stretch::Visible.bounds(&view, &offered), Ok((0.1, 0.4)));
        let (from_s, to_s) = Stretch::All.bounds(&view, &offered).unwrap();
        let found = Found::within(&data, from_s, to_s).unwrap();
        assert_eq!((found.begin, found.end), (0, 401));
    }
}
