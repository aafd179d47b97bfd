//! The latest pass of the train along the line: contact force by place, and its statistics in each span.

use crate::data::Data;
use rt_core::signal::statistics::RunningStatistics;

/// Length of line whose extremes are kept together, in m: less than two pixels of a wide picture.
pub const BIN_M: f64 = 0.5;
/// Samples that are looked at in one frame of the window at most: a long pass at a high rate.
const MOST_SAMPLES: u64 = 300_000;

/// Smallest and largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Extremes {
    const NONE: Self = Self {
        min: f64::NAN,
        max: f64::NAN,
    };

    /// `min` and `max` prefer a number to NaN.
    fn take(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Half-way between both.
    pub fn middle(&self) -> f64 {
        0.5 * (self.min + self.max)
    }
}

/// Half a metre of the pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Place of its first sample, in m.
    pub x_m: f64,
    /// Time of its first sample, in s.
    pub t_s: f64,
    /// Measured force, in N.
    pub raw: Extremes,
    /// Force below 20 Hz, in N.
    pub filtered: Extremes,
    /// Rise of the wire at the contact, in m.
    pub rise: Extremes,
}

/// Statistics of one span, in N.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanForce {
    /// Of the measured force.
    pub raw: RunningStatistics,
    /// Of the force below 20 Hz.
    pub filtered: RunningStatistics,
}

/// What is read of each sample.
struct Columns {
    place: usize,
    raw: Option<usize>,
    filtered: Option<usize>,
    rise: Option<usize>,
}

/// See the module's text.
#[derive(Default)]
pub struct Pass {
    bins: Vec<Bin>,
    spans: Vec<SpanForce>,
    supports_m: Vec<f64>,
    /// The sample that is looked at next, counted since the history began.
    next: u64,
    /// Time of the sample before, to know the history again.
    last_t_s: f64,
    last_place_m: f64,
}

impl Pass {
    /// Half metres in the order of the way.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// The first of them at or behind a place, and all that follow.
    pub fn bins_from(&self, x_m: f64) -> &[Bin] {
        &self.bins[self.bins.partition_point(|b| b.x_m < x_m)..]
    }

    /// The one that a place is in or the last before it, if it is near.
    pub fn bin_at(&self, x_m: f64) -> Option<&Bin> {
        let after = self.bins.partition_point(|b| b.x_m <= x_m);
        let bin = self.bins.get(after.checked_sub(1)?)?;
        (x_m - bin.x_m < 2.0 * BIN_M).then_some(bin)
    }

    /// Statistics of a span, from 0.
    pub fn span(&self, index: usize) -> Option<&SpanForce> {
        self.spans.get(index)
    }

    /// Extremes of all forces of the pass, in N.
    pub fn force_range(&self) -> Option<(f64, f64)> {
        let mut all = Extremes::NONE;
        for bin in &self.bins {
            all.take(bin.raw.min);
            all.take(bin.raw.max);
        }
        all.min.is_finite().then_some((all.min, all.max))
    }

    /// Goes on to a time in s. Only what is new is looked at, unless time went back.
    pub fn update(&mut self, data: &Data, supports_m: &[f64], now_s: f64) {
        let Some(place) = data.find("line_position") else {
            *self = Self::default();
            return;
        };
        let columns = Columns {
            place,
            raw: data.find("force"),
            filtered: data.find("force_20hz"),
            rise: data.find("wire_rise"),
        };
        let history = &data.history;
        let forgotten = history.forgotten();
        let end = forgotten + history.first_at_or_after(now_s + 0.5 * data.period_s) as u64;
        let is_known = self.next <= end
            && end - self.next <= MOST_SAMPLES
            && (self.next > forgotten)
            && history.time((self.next - forgotten - 1) as usize) == Some(self.last_t_s)
            && self.supports_m == supports_m;
        if !is_known {
            self.begin(supports_m);
            self.next = forgotten + first_of_pass(data, place, (end - forgotten) as usize) as u64;
        }
        for index in self.next..end {
            self.take(data, &columns, (index - forgotten) as usize);
        }
        self.next = end;
        if let Some(t_s) = (end - forgotten)
            .checked_sub(1)
            .and_then(|i| history.time(i as usize))
        {
            self.last_t_s = t_s;
        }
    }

    fn begin(&mut self, supports_m: &[f64]) {
        self.bins.clear();
        self.supports_m.clear();
        self.supports_m.extend_from_slice(supports_m);
        self.spans.clear();
        self.spans
            .resize(supports_m.len().saturating_sub(1), SpanForce::default());
        self.last_place_m = f64::NEG_INFINITY;
    }

    fn take(&mut self, data: &Data, columns: &Columns, index: usize) {
        let history = &data.history;
        let value = |column: Option<usize>| {
            column
                .and_then(|c| history.sample(c, index))
                .unwrap_or(f64::NAN)
        };
        let x_m = value(Some(columns.place));
        // Not a number while the bench does not run; standing still before the train starts.
        if x_m.is_nan() || x_m == self.last_place_m {
            return;
        }
        if x_m < self.last_place_m {
            let supports = std::mem::take(&mut self.supports_m);
            self.begin(&supports);
        }
        self.last_place_m = x_m;
        let (raw, filtered) = (value(columns.raw), value(columns.filtered));
        let number = |x: f64| (x / BIN_M).floor();
        if self
            .bins
            .last()
            .is_none_or(|b| number(b.x_m) != number(x_m))
        {
            self.bins.push(Bin {
                x_m,
                t_s: history.time(index).unwrap_or(f64::NAN),
                raw: Extremes::NONE,
                filtered: Extremes::NONE,
                rise: Extremes::NONE,
            });
        }
        if let Some(bin) = self.bins.last_mut() {
            bin.raw.take(raw);
            bin.filtered.take(filtered);
            bin.rise.take(value(columns.rise));
        }
        let after = self.supports_m.partition_point(|s| *s <= x_m);
        let span = after.checked_sub(1).and_then(|i| self.spans.get_mut(i));
        if let Some(span) = span {
            if raw.is_finite() {
                span.raw.push(raw);
            }
            if filtered.is_finite() {
                span.filtered.push(filtered);
            }
        }
    }
}

/// Back from the sample `end` to where the place last jumped back.
fn first_of_pass(data: &Data, place: usize, end: usize) -> usize {
    let earliest = end.saturating_sub(MOST_SAMPLES as usize);
    let mut ahead = f64::INFINITY;
    for index in (earliest..end).rev() {
        let Some(x) = data.history.sample(place, index).filter(|x| !x.is_nan()) else {
            continue;
        };
        if x > ahead {
            return index + 1;
        }
        ahead = x;
    }
    earliest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;
    use crate::history::History;
    use rt_core::signal::spans::span_statistics;

    fn supports() -> Vec<f64> {
        (0..21).map(|i| 65.0 * f64::from(i)).collect()
    }

    /// The sample's run twice, one after the other, with a pause between: two passes.
    fn two_passes() -> Data {
        let mut data = sample::run(6.0);
        let once = data.history;
        data.history = History::new(once.channels(), 64 << 20);
        for pass in 0..2 {
            for i in 0..once.len() {
                let t = once.time(i).unwrap() + 10.0 * f64::from(pass);
                let values: Vec<f64> = (0..once.channels())
                    .map(|c| once.sample(c, i).unwrap())
                    .collect();
                data.history.push(t, &values);
            }
            for i in 0..500 {
                let t = 6.0 + 10.0 * f64::from(pass) + 0.002 * f64::from(i);
                data.history.push(t, &vec![f64::NAN; once.channels()]);
            }
        }
        data
    }

    /// Against the function that reports use, over the samples themselves.
    #[test]
    fn statistics_of_spans_are_those_of_a_report() {
        let data = two_passes();
        let mut pass = Pass::default();
        // In pieces as frames of a window come, the last in the middle of the second pass.
        for piece in 0..=140 {
            pass.update(&data, &supports(), 0.1 * f64::from(piece));
        }
        let column = |id: &str| -> Vec<f64> {
            let c = data.find(id).unwrap();
            data.history
                .samples(c, 9.999, 14.0005)
                .map(|(_, v)| v)
                .collect()
        };
        let places = column("line_position");
        for (id, filtered) in [("force", false), ("force_20hz", true)] {
            let expected = span_statistics(&places, &column(id), &supports()).unwrap();
            for (i, span) in expected.spans.iter().enumerate() {
                let found = pass.span(i).unwrap();
                let found = if filtered { found.filtered } else { found.raw }.statistics();
                assert_eq!(found.map(|f| f.samples), span.statistics.map(|s| s.samples));
                if let (Some(f), Some(s)) = (found, span.statistics) {
                    assert!((f.mean - s.mean).abs() < 1e-9, "span {i}");
                    assert!((f.standard_deviation - s.standard_deviation).abs() < 1e-9);
                    assert_eq!((f.min, f.max), (s.min, s.max));
                }
            }
        }
        let force = column("force");
        let highest = force.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(pass.force_range().unwrap().1, highest, "no peak is lost");
    }

    #[test]
    fn going_back_far_ahead_and_on_give_the_same() {
        let data = two_passes();
        let fresh = |now: f64| {
            let mut pass = Pass::default();
            pass.update(&data, &supports(), now);
            format!("{:?}", pass.bins())
        };
        let mut pass = Pass::default();
        for now in [14.0, 3.0, 3.2, 15.9, 16.8, 0.5, 12.0, 5.99, 6.5] {
            pass.update(&data, &supports(), now);
            // As text, because NaN is not equal to itself.
            assert!(format!("{:?}", pass.bins()) == fresh(now), "at {now} s");
            assert!(!pass.bins().is_empty());
        }
        // 6.5 s is in the pause: the pass that is over remains.
        assert!((pass.bins().last().unwrap().x_m - 416.0).abs() < 1.0);
        assert!(
            pass.bin_at(200.0)
                .is_some_and(|b| (b.x_m - 200.0).abs() < BIN_M)
        );
        assert!(pass.bin_at(500.0).is_none());
    }

    #[test]
    fn another_history_is_noticed_and_a_bench_without_a_line_has_no_pass() {
        let (one, other) = (two_passes(), sample::run(6.0));
        let mut pass = Pass::default();
        pass.update(&one, &supports(), 14.0);
        let before = pass.bins().len();
        pass.update(&other, &supports(), 5.0);
        assert!(
            pass.bins().len() > before,
            "from the beginning of the other one"
        );
        let mut without = sample::run(1.0);
        without.channels.retain(|c| c.id != "line_position");
        pass.update(&without, &supports(), 1.0);
        assert!(pass.bins().is_empty() && pass.force_range().is_none());
    }
}
