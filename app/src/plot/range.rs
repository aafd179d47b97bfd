//! Statistics of a stretch of time that are made anew only when they would change, and not too often.

use crate::data::Data;
use crate::statistics::ChannelStatistics;

/// Statistics are made anew at most this often, in s: numbers that change faster cannot be read.
const LEAST_PAUSE_S: f64 = 0.25;

/// Statistics of some channels over one stretch.
#[derive(Clone, Debug, Default)]
pub struct RangeStatistics {
    key: Key,
    made_at_s: f64,
    made: Vec<ChannelStatistics>,
}

/// What statistics depend on: channels, first and last sample (counted from the very first), and values at
/// both ends, which tell two recordings apart.
#[derive(Clone, Debug, Default, PartialEq)]
struct Key {
    channels: Vec<usize>,
    first: u64,
    end: u64,
    ends: Vec<u64>,
}

impl RangeStatistics {
    /// The statistics of each channel from one time to another, both included; the second value says in how
    /// many s newer ones are due, if these are of a moment ago.
    pub fn of(
        &mut self,
        data: &Data,
        channels: &[usize],
        (from_s, to_s): (f64, f64),
        clock_s: f64,
    ) -> (&[ChannelStatistics], Option<f64>) {
        let history = &data.history;
        let bits = |c: usize, t_s: f64| history.value_at(c, t_s).unwrap_or(f64::NAN).to_bits();
        let sample = |t_s: f64| history.forgotten() + history.first_at_or_after(t_s) as u64;
        let key = Key {
            channels: channels.to_vec(),
            first: sample(from_s),
            end: sample(to_s),
            ends: channels
                .iter()
                .flat_map(|c| [bits(*c, from_s), bits(*c, to_s)])
                .collect(),
        };
        if self.key == key {
            return (&self.made, None);
        }
        let age_s = clock_s - self.made_at_s;
        if self.key.channels == key.channels && (0.0..LEAST_PAUSE_S).contains(&age_s) {
            return (&self.made, Some(LEAST_PAUSE_S - age_s));
        }
        let of = |c: &usize| history.statistics(*c, from_s, to_s);
        *self = Self {
            made_at_s: clock_s,
            made: channels.iter().map(of).collect(),
            key,
        };
        (&self.made, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn they_are_made_anew_only_when_something_changed_and_not_too_often() {
        let mut data = sample::run(10.0);
        let mut range = RangeStatistics::default();
        let mut mean = |data: &Data, from: f64, to: f64, clock: f64| {
            let (made, due) = range.of(data, &[0], (from, to), clock);
            (made[0].mean(), due)
        };
        let (first, due) = mean(&data, 3.0, 9.0, 100.0);
        assert_eq!(due, None);
        // Nothing changed: nothing due, however late.
        assert_eq!(mean(&data, 3.0, 9.0, 200.0), (first, None));
        // The stretch has moved on: due, but not before its time.
        let (same, due) = mean(&data, 3.5, 9.5, 100.1);
        assert!((due.unwrap() - 0.15).abs() < 1e-9 && same == first);
        let (next, due) = mean(&data, 3.5, 9.5, 100.3);
        assert!(due.is_none() && next != first);
        // New samples behind the stretch change nothing.
        data.history.push(10.5, &[0.0; 6]);
        assert_eq!(mean(&data, 3.5, 9.5, 100.31), (next, None));
    }
}
