//! Cursors A and B: values of every channel at both, and statistics of what lies between.

use super::range::RangeStatistics;
use crate::data::Data;
use crate::statistics::ChannelStatistics;
use serde::{Deserialize, Serialize};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    A,
    /// The second.
    B,
}

impl Which {
    /// Its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Which::A => "A",
            Which::B => "B",
        }
    }
}

/// Where the cursors stand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cursors {
    /// Whether they are shown.
    pub is_on: bool,
    /// Whether they keep their distance to the right edge, so that they measure a live picture; else they
    /// keep their time.
    pub is_riding: bool,
    /// Time, or distance to the right edge (not above 0), in s.
    a_s: f64,
    b_s: f64,
    #[serde(skip)]
    between: RangeStatistics,
}

/// What is known of one channel.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Its place among the data's channels.
    pub channel: usize,
    /// Value at A.
    pub at_a: Option<f64>,
    /// Value at B.
    pub at_b: Option<f64>,
    /// Of all samples between them, both ends included.
    pub between: ChannelStatistics,
}

impl Cursors {
    /// Shows them at a third and at two thirds of what is seen; riding if the picture moves.
    pub fn place(&mut self, from_s: f64, to_s: f64, is_riding: bool) {
        let width = to_s - from_s;
        *self = Self {
            is_on: true,
            ..Self::default()
        };
        self.set(Which::A, from_s + width / 3.0, to_s);
        self.set(Which::B, from_s + width / 1.5, to_s);
        self.ride(is_riding, to_s);
    }

    /// The time of a cursor, if the right edge stands at a time. All in s.
    pub fn time_s(&self, which: Which, edge_s: f64) -> f64 {
        let own = match which {
            Which::A => self.a_s,
            Which::B => self.b_s,
        };
        if self.is_riding { edge_s + own } else { own }
    }

    /// Moves a cursor to a time.
    pub fn set(&mut self, which: Which, t_s: f64, edge_s: f64) {
        let own = if self.is_riding {
            (t_s - edge_s).min(0.0)
        } else {
            t_s
        };
        match which {
            Which::A => self.a_s = own,
            Which::B => self.b_s = own,
        }
    }

    /// Lets them ride with the right edge or stay at their time; they do not move by that.
    pub fn ride(&mut self, is_riding: bool, edge_s: f64) {
        let times = [Which::A, Which::B].map(|w| (w, self.time_s(w, edge_s)));
        self.is_riding = is_riding;
        for (which, t_s) in times {
            self.set(which, t_s, edge_s);
        }
    }

    /// Both times, the earlier first, in s.
    pub fn range_s(&self, edge_s: f64) -> (f64, f64) {
        let (a, b) = (self.time_s(Which::A, edge_s), self.time_s(Which::B, edge_s));
        (a.min(b), a.max(b))
    }

    /// Values and statistics of some channels; the second says in how many s newer statistics are due.
    pub fn measure(
        &mut self,
        data: &Data,
        channels: &[usize],
        edge_s: f64,
        clock_s: f64,
    ) -> (Vec<Measured>, Option<f64>) {
        let history = &data.history;
        let (a_s, b_s) = (self.time_s(Which::A, edge_s), self.time_s(Which::B, edge_s));
        let (from_s, to_s) = self.range_s(edge_s);
        let value = |channel: usize, t_s: f64| history.value_at(channel, t_s);
        let ends: Vec<_> = channels
            .iter()
            .map(|c| (value(*c, a_s), value(*c, b_s)))
            .collect();
        let (statistics, due_s) = self.between.of(data, channels, (from_s, to_s), clock_s);
        let measured =
            channels
                .iter()
                .zip(ends)
                .zip(statistics)
                .map(|((channel, (at_a, at_b)), between)| Measured {
                    channel: *channel,
                    at_a,
                    at_b,
                    between: *between,
                });
        (measured.collect(), due_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn statistics_are_those_of_every_sample_between_the_cursors() {
        let data = sample::run(30.0);
        let mut cursors = Cursors::default();
        cursors.place(0.0, 30.0, false);
        for (a, b) in [
            (3.0, 27.0),
            (27.0, 3.0),
            (5.001, 5.003),
            (7.0, 7.0),
            (0.0, 29.998),
        ] {
            cursors.set(Which::A, a, 30.0);
            cursors.set(Which::B, b, 30.0);
            let (measured, _) = cursors.measure(&data, &[0, 3], 30.0, a * 100.0 + b);
            let one = measured[0];
            let samples: Vec<f64> = data
                .history
                .samples(0, a.min(b), a.max(b))
                .map(|s| s.1)
                .collect();
            let n = samples.len() as f64;
            let mean = samples.iter().sum::<f64>() / n;
            let deviation = (samples.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
            let rms = (samples.iter().map(|v| v * v).sum::<f64>() / n).sqrt();
            // Sums of 1.5e4 numbers of three digits: rounding is below 1e-9.
            let close =
                |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-8;
            assert_eq!(one.between.count(), samples.len() as u64, "{a} {b}");
            assert!(close(one.between.mean(), mean) && close(one.between.std(), deviation));
            assert!(close(one.between.rms(), rms));
            assert_eq!(one.between.max(), samples.iter().copied().reduce(f64::max));
            assert_eq!(one.between.min(), samples.iter().copied().reduce(f64::min));
            let first = data.history.value_at(0, a);
            assert_eq!(one.at_a, first);
        }
    }

    #[test]
    fn riding_cursors_keep_their_place_and_others_their_time() {
        let mut cursors = Cursors::default();
        cursors.place(0.0, 9.0, true);
        let apart = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(apart(cursors.time_s(Which::A, 9.0), 3.0));
        assert!(apart(cursors.time_s(Which::A, 19.0), 13.0));
        cursors.ride(false, 19.0);
        assert!(apart(cursors.time_s(Which::B, 99.0), 16.0));
        assert_eq!(cursors.range_s(99.0).0, cursors.time_s(Which::A, 99.0));
    }
}
