//! The newest run through the section of a line: which samples it holds, and where the train was at a time.

use crate::history::History;

/// How far a place must fall, in m, for another run to begin; less is rounding.
const BACK_M: f64 = 0.01;
/// A stretch shorter than this, in m, is no run: the train stood.
const LEAST_M: f64 = 1.0;
/// Into how many pieces the past is cut for a first look.
const COARSE: usize = 1024;
/// How many stretches without travel are passed over before giving up.
const MOST_STANDS: usize = 16;

/// Samples of one run, during which the place only grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    channel: usize,
    first: usize,
    last: usize,
}

impl Passage {
    /// The newest run before or at a time, by the channel of places. Standing still before and after it is
    /// left out.
    pub fn newest(history: &History, channel: usize, now_s: f64) -> Option<Self> {
        let mut end = history.first_at_or_after(now_s);
        if history.time(end) == Some(now_s) {
            end += 1;
        }
        for _ in 0..MOST_STANDS {
            let (first, last) = newest_rise(history, channel, end)?;
            let place = |i: usize| history.sample(channel, i).unwrap_or(f64::NAN);
            let (from, to) = (place(first), place(last));
            if to - from >= LEAST_M {
                let count = last + 1 - first;
                let start = part(count, |i| place(first + i) <= from + BACK_M);
                let stop = part(count, |i| place(first + i) < to - BACK_M);
                return Some(Self {
                    channel,
                    first: first + start.saturating_sub(1),
                    last: first + stop.min(count - 1),
                });
            }
            end = first;
        }
        None
    }

    /// When it began and ended, in s.
    pub fn times_s(&self, history: &History) -> Option<(f64, f64)> {
        Some((history.time(self.first)?, history.time(self.last)?))
    }

    /// Where it began and ended, in m.
    pub fn places_m(&self, history: &History) -> Option<(f64, f64)> {
        let place = |i| history.sample(self.channel, i);
        Some((place(self.first)?, place(self.last)?))
    }

    /// Where the train was at a time, in m; `None` before and after the run.
    pub fn place_at(&self, history: &History, t_s: f64) -> Option<f64> {
        let (begin, end) = self.times_s(history)?;
        if !(begin..=end).contains(&t_s) {
            return None;
        }
        history.value_at(self.channel, t_s)
    }

    /// When the train was at a place, in s; the begin or end of the run for places outside of it.
    pub fn time_at(&self, history: &History, place_m: f64) -> Option<f64> {
        let count = self.last + 1 - self.first;
        let sample = |i: usize| history.sample(self.channel, self.first + i);
        let at = part(count, |i| sample(i).is_some_and(|p| p < place_m));
        history.time((self.first + at).min(self.last))
    }

    /// Mean speed between two times of the run, in m/s.
    pub fn speed(&self, history: &History, from_s: f64, to_s: f64) -> Option<f64> {
        let (begin, end) = self.times_s(history)?;
        let (from_s, to_s) = (from_s.max(begin), to_s.min(end));
        let way = self.place_at(history, to_s)? - self.place_at(history, from_s)?;
        (to_s > from_s).then(|| way / (to_s - from_s))
    }
}

/// The first and last sample of the newest stretch before `end` in which the place does not fall. A first
/// look at the extremes of many samples finds about where it began, so that its length costs little.
fn newest_rise(history: &History, channel: usize, end: usize) -> Option<(usize, usize)> {
    let last_s = history.time(end.checked_sub(1)?)?;
    let coarse = history.trace(channel, history.oldest_s()?, last_s, COARSE);
    let mut later = None;
    let mut begin_s = history.oldest_s()?;
    for point in coarse.points.iter().rev() {
        let (mut min, mut max) = (point.min, point.max);
        let from = history.first_at_or_after(point.t_s);
        if from + coarse.samples_per_point > end {
            // What comes after the end must not count.
            (min, max) = (f64::NAN, f64::NAN);
            for place in (from..end).filter_map(|i| history.sample(channel, i)) {
                (min, max) = (min.min(place), max.max(place));
            }
        }
        match later {
            None if min.is_nan() => continue,
            Some(least) if min.is_nan() || max > least + BACK_M => {
                begin_s = point.t_s;
                break;
            }
            _ => later = Some(min),
        }
    }
    later?;
    let mut first = None;
    let mut last = None;
    let mut before = f64::NAN;
    let begin = history.first_at_or_after(begin_s);
    // Behind the piece in which it begins the first look has seen that nothing falls, but its last sample
    // has to be a number.
    let fine = begin + 3 * coarse.samples_per_point;
    for i in begin..end.min(fine) {
        let place = history.sample(channel, i)?;
        if place.is_nan() {
            (first, before) = (None, place);
            continue;
        }
        if first.is_none() || place < before - BACK_M {
            first = Some(i);
        }
        (before, last) = (place, Some(i));
    }
    let known = |i: &usize| history.sample(channel, *i).is_some_and(|p| !p.is_nan());
    let newest = (begin..end).rev().find(known).or(last)?;
    match first {
        Some(first) if first <= newest => Some((first, newest)),
        _ => None,
    }
}

/// How many of the first of `count` hold, where all that hold come first.
fn part(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places over time at 1 kHz, from a function of the sample.
    fn places(samples: usize, place: impl Fn(usize) -> f64) -> History {
        let mut history = History::new(1, 64 << 20);
        for n in 0..samples {
            history.push(n as f64 * 1e-3, &[place(n)]);
        }
        history
    }

    #[test]
    fn only_the_newest_run_counts_and_standing_is_left_out() {
        // Stands for 5 s, runs 10 s at 50 m/s, twice; then stands at the start again.
        let place = |n: usize| match n % 15_000 {
            n if n < 5_000 => 100.0,
            n => 100.0 + 0.05 * (n - 5_000) as f64,
        };
        let history = places(33_000, place);
        for (now, begin, end) in [(14.0, 5.0, 14.0), (24.5, 20.0, 24.5), (32.9, 20.0, 29.999)] {
            let passage = Passage::newest(&history, 0, now).unwrap();
            let (from, to) = passage.times_s(&history).unwrap();
            assert!(
                (from - begin).abs() < 2e-3 && (to - end).abs() < 2e-3,
                "{now}: {from} {to}"
            );
            // Half-way in time is half-way along the line.
            let middle = 0.5 * (from + to);
            let place = passage.place_at(&history, middle).unwrap();
            assert!(
                (place - (100.0 + 50.0 * (middle - begin))).abs() < 0.1,
                "{place}"
            );
            let back = passage.time_at(&history, place).unwrap();
            assert!((back - middle).abs() < 2e-3);
            let speed = passage.speed(&history, from, to).unwrap();
            assert!((speed - 50.0).abs() < 0.05, "{speed}");
            assert_eq!(passage.place_at(&history, begin - 1.0), None);
        }
    }

    #[test]
    fn runs_are_found_across_gaps_and_in_long_pasts() {
        let place = |n: usize| match n {
            n if n < 1_800_000 => 0.0,
            n if n < 1_820_000 => 0.07 * (n - 1_800_000) as f64,
            _ => f64::NAN,
        };
        let history = places(2_400_000, place);
        let passage = Passage::newest(&history, 0, 2399.999).unwrap();
        let (from, to) = passage.times_s(&history).unwrap();
        assert!(
            (from - 1800.0).abs() < 2e-3 && (to - 1820.0).abs() < 2e-3,
            "{from} {to}"
        );
        let (begin, end) = passage.places_m(&history).unwrap();
        assert!(begin < 0.1 && (end - 1400.0).abs() < 0.2, "{begin} {end}");
    }

    #[test]
    fn without_travel_there_is_no_run() {
        for place in [0.0, f64::NAN] {
            let history = places(10_000, |_| place);
            assert_eq!(Passage::newest(&history, 0, 9.0), None);
        }
        assert_eq!(Passage::newest(&History::new(1, 0), 0, 1.0), None);
    }
}
