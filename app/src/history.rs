//! The recent past of every channel, kept so that any stretch of it can be drawn at once and no peak is ever
//! lost: samples in blocks, with the minimum and maximum of every 16, 64, 256 … of them beside.
//!
//! Samples are kept as floats (seven digits): what is drawn and measured with cursors needs no more, and an
//! hour at 1 kHz takes half the memory. Exact values are in the recording.

use crate::statistics::ChannelStatistics;
use std::collections::VecDeque;

/// Samples in a block.
const BLOCK: usize = 4096;
/// How many samples a minimum and maximum of each level within a block stands for.
const BUCKETS: [usize; 3] = [16, 64, 256];
/// The same of the coarsest level, which lies in one piece over all blocks: a look at hours reads little and
/// reads it in order.
const COARSE: usize = 1024;

/// Minimum and maximum of one bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extremes {
    min: f32,
    max: f32,
}

impl Extremes {
    const NONE: Self = Self {
        min: f32::NAN,
        max: f32::NAN,
    };

    fn of(value: f32) -> Self {
        Self {
            min: value,
            max: value,
        }
    }

    /// `f32::min` and `max` prefer a number to NaN.
    fn with(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// One channel within a block.
struct Strip {
    samples: Vec<f32>,
    levels: [Vec<Extremes>; BUCKETS.len()],
    /// Of all its samples, so that a long stretch needs no look at each of them.
    statistics: ChannelStatistics,
}

/// A stretch of time of all channels.
struct Block {
    times: Vec<f64>,
    strips: Vec<Strip>,
}

impl Block {
    fn new(channels: usize) -> Self {
        let strip = || Strip {
            samples: Vec::with_capacity(BLOCK),
            levels: BUCKETS.map(|bucket| Vec::with_capacity(BLOCK / bucket)),
            statistics: ChannelStatistics::default(),
        };
        Self {
            times: Vec::with_capacity(BLOCK),
            strips: (0..channels).map(|_| strip()).collect(),
        }
    }

    fn clear(&mut self) {
        self.times.clear();
        for strip in &mut self.strips {
            strip.samples.clear();
            strip.levels.iter_mut().for_each(Vec::clear);
            strip.statistics = ChannelStatistics::default();
        }
    }

    fn push(&mut self, t_s: f64, values: &[f64]) {
        let at = self.times.len();
        self.times.push(t_s);
        for (c, strip) in self.strips.iter_mut().enumerate() {
            let value = values.get(c).copied().unwrap_or(f64::NAN) as f32;
            strip.samples.push(value);
            strip.statistics.add(f64::from(value));
            let alone = Extremes::of(value);
            for (level, bucket) in strip.levels.iter_mut().zip(BUCKETS) {
                match level.last_mut() {
                    Some(last) if !at.is_multiple_of(bucket) => *last = last.with(alone),
                    _ => level.push(alone),
                }
            }
        }
    }
}

/// How many bytes one sample of all channels takes, the levels beside it included.
fn bytes_per_sample(channels: usize) -> usize {
    let shares: usize = BUCKETS
        .iter()
        .map(|bucket| BLOCK / bucket * size_of::<Extremes>())
        .sum();
    let coarse = BLOCK / COARSE * size_of::<Extremes>();
    let strip = size_of::<f32>() * BLOCK + shares + coarse;
    (size_of::<f64>() * BLOCK + channels * strip).div_ceil(BLOCK)
}

/// See the module's text.
pub struct History {
    channels: usize,
    most_blocks: usize,
    blocks: VecDeque<Block>,
    /// The coarsest level of each channel.
    coarse: Vec<VecDeque<Extremes>>,
    /// Times of the first samples of the coarsest level.
    coarse_times: VecDeque<f64>,
    /// Samples that were forgotten to make room.
    forgotten: u64,
}

/// A line ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What is drawn, in the order of time.
    pub points: Vec<TracePoint>,
    /// How many samples one point stands for; 1 if nothing is left out.
    pub samples_per_point: usize,
    /// Extremes of what is drawn; `None` without any number.
    pub range: Option<(f64, f64)>,
}

/// One point of a trace: a sample, or the extremes of several. NaN where there is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePoint {
    /// Time of its first sample, in s.
    pub t_s: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl History {
    /// Room for as many samples of so many channels as fit into a budget of memory; memory is taken only
    /// as samples come.
    pub fn new(channels: usize, budget_bytes: usize) -> Self {
        let samples = budget_bytes / bytes_per_sample(channels);
        Self {
            channels,
            most_blocks: (samples / BLOCK).max(2),
            blocks: VecDeque::new(),
            coarse: vec![VecDeque::new(); channels],
            coarse_times: VecDeque::new(),
            forgotten: 0,
        }
    }

    /// How many samples it can hold at least.
    #[cfg(test)]
    fn capacity(&self) -> usize {
        (self.most_blocks - 1) * BLOCK
    }

    /// How many channels it holds.
    #[cfg(test)]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Takes in one sample of all channels, forgetting the oldest block if there is no room. Times must
    /// not decrease; a value that is missing is NaN.
    pub fn push(&mut self, t_s: f64, values: &[f64]) {
        if self.blocks.back().is_none_or(|b| b.times.len() == BLOCK) {
            let mut block = if self.blocks.len() == self.most_blocks {
                self.forgotten += BLOCK as u64;
                self.coarse_times.drain(..BLOCK / COARSE);
                for level in &mut self.coarse {
                    level.drain(..BLOCK / COARSE);
                }
                self.blocks.pop_front()
            } else {
                None
            }
            .unwrap_or_else(|| Block::new(self.channels));
            block.clear();
            self.blocks.push_back(block);
        }
        if let Some(block) = self.blocks.back_mut() {
            let is_first = block.times.len().is_multiple_of(COARSE);
            block.push(t_s, values);
            if is_first {
                self.coarse_times.push_back(t_s);
            }
            for (c, level) in self.coarse.iter_mut().enumerate() {
                let alone = Extremes::of(values.get(c).copied().unwrap_or(f64::NAN) as f32);
                match level.back_mut() {
                    Some(last) if !is_first => *last = last.with(alone),
                    _ => level.push_back(alone),
                }
            }
        }
    }

    /// Samples of each channel that are held.
    pub fn len(&self) -> usize {
        let last = self.blocks.back().map_or(0, |b| b.times.len());
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    /// Whether nothing was taken in yet.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Samples that were forgotten to make room for newer ones.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Time of the newest sample in s; `None` before the first.
    pub fn newest_s(&self) -> Option<f64> {
        self.blocks.back()?.times.last().copied()
    }

    /// Time of the oldest sample in s; `None` before the first.
    pub fn oldest_s(&self) -> Option<f64> {
        self.blocks.front()?.times.first().copied()
    }

    /// Time of a sample, counted from the oldest.
    pub fn time(&self, index: usize) -> Option<f64> {
        let block = self.blocks.get(index / BLOCK)?;
        block.times.get(index % BLOCK).copied()
    }

    /// A sample of a channel, counted from the oldest.
    pub fn sample(&self, channel: usize, index: usize) -> Option<f64> {
        let strip = self.blocks.get(index / BLOCK)?.strips.get(channel)?;
        strip.samples.get(index % BLOCK).map(|v| f64::from(*v))
    }

    /// The first sample at or after a time, counted from the oldest.
    pub fn first_at_or_after(&self, t_s: f64) -> usize {
        let block = self
            .blocks
            .partition_point(|b| b.times.last().is_some_and(|last| *last < t_s));
        let within = self
            .blocks
            .get(block)
            .map_or(0, |b| b.times.partition_point(|t| *t < t_s));
        (block * BLOCK + within).min(self.len())
    }

    /// The value of a channel at the last sample that is not after a time.
    pub fn value_at(&self, channel: usize, t_s: f64) -> Option<f64> {
        let at = self.first_at_or_after(t_s);
        let at = if self.time(at) == Some(t_s) {
            at
        } else {
            at.checked_sub(1)?
        };
        self.sample(channel, at)
    }

    /// All samples of a channel from one time to another, both included.
    pub fn samples(
        &self,
        channel: usize,
        from_s: f64,
        to_s: f64,
    ) -> impl Iterator<Item = (f64, f64)> + '_ {
        let from = self.first_at_or_after(from_s);
        (from..self.len())
            .map_while(move |i| Some((self.time(i)?, self.sample(channel, i)?)))
            .take_while(move |(t, _)| *t <= to_s)
    }

    /// Mean, deviation and extremes of a channel from one time to another, both included.
    pub fn statistics(&self, channel: usize, from_s: f64, to_s: f64) -> ChannelStatistics {
        let begin = self.first_at_or_after(from_s);
        let mut end = self.first_at_or_after(to_s);
        while self.time(end).is_some_and(|t| t <= to_s) {
            end += 1;
        }
        let mut found = ChannelStatistics::default();
        let mut at = begin;
        while at < end {
            let Some(block) = self.blocks.get(at / BLOCK) else {
                break;
            };
            let Some(strip) = block.strips.get(channel) else {
                break;
            };
            let (within, until) = (at % BLOCK, (at / BLOCK + 1) * BLOCK);
            if within == 0 && until <= end {
                found.merge(&strip.statistics);
            } else {
                let last = (end - at / BLOCK * BLOCK).min(strip.samples.len());
                for value in strip.samples.get(within..last).unwrap_or_default() {
                    found.add(f64::from(*value));
                }
            }
            at = until;
        }
        found
    }

    /// Copies the times of samples from `begin` to just before `end`, counted from the oldest.
    pub fn copy_times(&self, begin: usize, end: usize) -> Vec<f64> {
        self.copy(begin, end, |block| Some(&block.times))
    }

    /// Copies samples of a channel from `begin` to just before `end`, counted from the oldest.
    pub fn copy_samples(&self, channel: usize, begin: usize, end: usize) -> Vec<f32> {
        self.copy(begin, end, |block| {
            block.strips.get(channel).map(|strip| &strip.samples)
        })
    }

    fn copy<T: Copy>(
        &self,
        begin: usize,
        end: usize,
        column: impl Fn(&Block) -> Option<&Vec<T>>,
    ) -> Vec<T> {
        let mut copied = Vec::with_capacity(end.saturating_sub(begin));
        for (n, block) in self.blocks.iter().enumerate().skip(begin / BLOCK) {
            let first = n * BLOCK;
            if first >= end {
                break;
            }
            let values = column(block).map_or(&[][..], Vec::as_slice);
            let to = (end - first).min(values.len());
            let from = begin.saturating_sub(first).min(to);
            copied.extend_from_slice(&values[from..to]);
        }
        copied
    }

    /// What a channel did between two times, in at most about `most` points. One sample on each side of
    /// the stretch is included, so that a line goes on to the edge.
    pub fn trace(&self, channel: usize, from_s: f64, to_s: f64, most: usize) -> Trace {
        let begin = self.first_at_or_after(from_s).saturating_sub(1);
        let end = (self.first_at_or_after(to_s) + 1).min(self.len());
        let mut trace = Trace {
            samples_per_point: 1,
            ..Trace::default()
        };
        if channel >= self.channels || begin >= end {
            return trace;
        }
        let per_point = (end - begin).div_ceil(most.max(1));
        if per_point == 1 {
            for i in begin..end {
                if let (Some(t_s), Some(v)) = (self.time(i), self.sample(channel, i)) {
                    trace.add(t_s, v, v);
                }
            }
            return trace;
        }
        // Buckets begin at multiples of their size, so that points do not dance while the stretch moves.
        let count = per_point.next_power_of_two();
        trace.samples_per_point = count;
        for bucket in begin / count..end.div_ceil(count) {
            let first = bucket * count;
            let found = self.extremes(channel, first, (first + count).min(self.len()));
            let t_s = if first.is_multiple_of(COARSE) {
                self.coarse_times.get(first / COARSE).copied()
            } else {
                self.time(first)
            };
            if let Some(t_s) = t_s {
                trace.add(t_s, f64::from(found.min), f64::from(found.max));
            }
        }
        trace
    }

    /// Extremes of the samples from `begin` to just before `end`, from the coarsest levels that fit.
    fn extremes(&self, channel: usize, begin: usize, end: usize) -> Extremes {
        let mut found = Extremes::NONE;
        let mut at = begin;
        while at < end {
            if at.is_multiple_of(COARSE) && at + COARSE <= end {
                let level = self.coarse.get(channel);
                if let Some(extremes) = level.and_then(|l| l.get(at / COARSE)) {
                    found = found.with(*extremes);
                }
                at += COARSE;
                continue;
            }
            let Some(strip) = self
                .blocks
                .get(at / BLOCK)
                .and_then(|b| b.strips.get(channel))
            else {
                break;
            };
            let within = at % BLOCK;
            let fits = |bucket: &usize| within.is_multiple_of(*bucket) && at + bucket <= end;
            let level = BUCKETS.iter().rposition(fits);
            let (step, extremes) = match level {
                Some(l) => (
                    BUCKETS[l],
                    strip.levels[l].get(within / BUCKETS[l]).copied(),
                ),
                None => {
                    let value = strip.samples.get(within).copied();
                    (1, value.map(Extremes::of))
                }
            };
            found = found.with(extremes.unwrap_or(Extremes::NONE));
            at += step;
        }
        found
    }
}

impl Trace {
    fn add(&mut self, t_s: f64, min: f64, max: f64) {
        if min.is_finite() && max.is_finite() {
            let (low, high) = self.range.unwrap_or((min, max));
            self.range = Some((low.min(min), high.max(max)));
        }
        self.points.push(TracePoint { t_s, min, max });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(samples: usize, budget_samples: usize, value: impl Fn(usize) -> f64) -> History {
        let mut history = History::new(1, budget_samples * bytes_per_sample(1));
        for n in 0..samples {
            history.push(n as f64 * 1e-3, &[value(n)]);
        }
        history
    }

    #[test]
    fn a_single_peak_is_in_the_picture_at_every_zoom_and_after_blocks_were_forgotten() {
        for (total, room) in [(5_000, 100_000), (40_000, 20_000)] {
            let peak = total - 3_000;
            let value = |n| if n == peak { 99.0 } else { (n % 7) as f64 };
            let history = filled(total, room, value);
            for points in [1, 10, 100, 500, 3_000, 100_000] {
                for from_s in [0.0, peak as f64 * 1e-3 - 0.0014, peak as f64 * 1e-3] {
                    let trace = history.trace(0, from_s, total as f64 * 1e-3, points);
                    let highest = trace.range.map(|r| r.1);
                    assert_eq!(highest, Some(99.0), "{points} points of {total} samples");
                    assert!(trace.points.len() <= points + 2, "{}", trace.points.len());
                }
            }
        }
    }

    /// Against the plain way: look at every sample.
    #[test]
    fn extremes_are_those_of_all_samples() {
        let value = |n: usize| ((n * 7919) % 1009) as f64;
        let history = filled(20_000, 100_000, value);
        for (begin, end) in [(0, 20_000), (3, 17), (15, 16), (4000, 4200), (1, 19_999)] {
            let found = history.extremes(0, begin, end);
            let all = (begin..end).map(value);
            let min = all.clone().fold(f64::INFINITY, f64::min);
            let max = all.fold(f64::NEG_INFINITY, f64::max);
            assert_eq!((f64::from(found.min), f64::from(found.max)), (min, max));
        }
    }

    #[test]
    fn a_short_stretch_is_drawn_sample_by_sample() {
        let history = filled(1_000, 10_000, |n| n as f64);
        let trace = history.trace(0, 0.5, 0.51, 1_000);
        assert_eq!(trace.samples_per_point, 1);
        assert!((10..=13).contains(&trace.points.len()));
        let on_the_line = |p: &TracePoint| (p.t_s * 1e3 - p.min).abs() < 1e-9 && p.min == p.max;
        assert!(trace.points.iter().all(on_the_line));
    }

    #[test]
    fn values_and_stretches_are_found_by_time() {
        let history = filled(10_000, 100_000, |n| n as f64);
        assert_eq!(history.value_at(0, 4.0965), Some(4096.0));
        assert_eq!(history.value_at(0, 99.0), Some(9_999.0));
        assert_eq!(history.value_at(0, -1.0), None);
        let some: Vec<f64> = history.samples(0, 4.0945, 4.0975).map(|(_, v)| v).collect();
        assert_eq!(some, [4095.0, 4096.0, 4097.0]);
    }

    #[test]
    fn statistics_of_a_stretch_are_those_of_its_samples() {
        let value = |n: usize| {
            if n.is_multiple_of(1000) {
                f64::NAN
            } else {
                ((n * n) % 1013) as f64
            }
        };
        let history = filled(30_000, 100_000, value);
        for (from, to) in [
            (0, 29_999),
            (10, 20),
            (4095, 4096),
            (100, 25_000),
            (8192, 16_383),
        ] {
            let found = history.statistics(0, from as f64 * 1e-3, to as f64 * 1e-3);
            let known: Vec<f64> = (from..=to).map(value).filter(|v| v.is_finite()).collect();
            let count = known.len() as f64;
            let mean = known.iter().sum::<f64>() / count;
            let square = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            assert_eq!(found.count(), known.len() as u64, "{from} {to}");
            // Rounding of sums of 3e4 numbers of four digits.
            assert!((found.mean().unwrap() - mean).abs() < 1e-8);
            assert!((found.std().unwrap() - square.sqrt()).abs() < 1e-8);
            let largest = known.iter().copied().reduce(f64::max);
            assert_eq!(found.max(), largest);
        }
        assert_eq!(history.statistics(0, 50.0, 60.0).mean(), None);
        assert_eq!(history.statistics(9, 0.0, 60.0).count(), 0);
    }

    #[test]
    fn a_copy_is_what_is_read_sample_by_sample() {
        let history = filled(10_000, 100_000, |n| n as f64);
        for (begin, end) in [
            (0, 10_000),
            (4_000, 4_200),
            (4_096, 8_192),
            (9_990, 20_000),
            (7, 7),
        ] {
            let expected = begin..end.min(10_000);
            let times = expected.clone().filter_map(|i| history.time(i));
            assert_eq!(history.copy_times(begin, end), times.collect::<Vec<_>>());
            let samples = expected.map(|n| n as f32);
            assert_eq!(
                history.copy_samples(0, begin, end),
                samples.collect::<Vec<_>>()
            );
        }
        assert!(history.copy_samples(7, 0, 100).is_empty());
    }

    #[test]
    fn memory_is_bounded_and_what_was_forgotten_is_counted() {
        let history = filled(100_000, 20_000, |n| n as f64);
        assert!(history.len() <= 20_000 && history.len() >= history.capacity());
        assert_eq!(history.len() as u64 + history.forgotten(), 100_000);
        assert_eq!(history.newest_s(), Some(99.999));
        let oldest = history.forgotten() as f64;
        assert_eq!(history.sample(0, 0), Some(oldest));
    }

    #[test]
    fn empty_stretches_and_missing_values_are_no_trouble() {
        let empty = History::new(1, 0);
        assert!(empty.trace(0, 0.0, 1.0, 100).points.is_empty());
        assert!(empty.newest_s().is_none() && empty.value_at(0, 0.0).is_none());
        let unknown = filled(10_000, 100_000, |_| f64::NAN);
        assert_eq!(unknown.trace(0, 0.0, 10.0, 100).range, None);
        let short = filled(10, 100_000, |n| n as f64);
        assert!(short.trace(7, 0.0, 1.0, 100).points.is_empty());
        assert_eq!(short.trace(0, 0.0, 1.0, 0).points.len(), 1);
    }
}
