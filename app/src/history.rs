//! The recent past of every channel, kept so that any stretch of it can be drawn at once and no peak
//! is ever lost: samples in a ring, with the minimum and maximum of every 4, 16, 64 … of them beside.

use rt_core::channel::Frame;

/// Samples in one bucket of the next level.
const FAN: u64 = 4;
/// Levels above the samples.
const LEVELS: usize = 6;

/// One level: minimum and maximum of a bucket, a ring per channel.
struct Level {
    bucket: u64,
    min: Vec<Vec<f64>>,
    max: Vec<Vec<f64>>,
}

/// See the module's text.
pub struct History {
    capacity: u64,
    times: Vec<f64>,
    samples: Vec<Vec<f64>>,
    levels: Vec<Level>,
    /// Samples ever pushed; the ring holds the last `capacity` of them.
    count: u64,
}

/// A line ready to be drawn.
pub struct Trace {
    /// Time in s and value; minimum and maximum in turn where a point stands for many samples.
    pub points: Vec<[f64; 2]>,
    /// How many samples one point stands for; 1 if nothing is left out.
    pub samples_per_point: u64,
    /// Extremes of what is drawn; `None` without any number.
    pub range: Option<(f64, f64)>,
}

impl History {
    /// Room for at least `samples` of each channel.
    pub fn new(channels: usize, samples: u64) -> Self {
        let largest = FAN.pow(LEVELS as u32);
        let capacity = samples.div_ceil(largest).max(1) * largest;
        let ring = |n: u64| vec![vec![f64::NAN; n as usize]; channels];
        let levels = (1..=LEVELS as u32)
            .map(|l| {
                let bucket = FAN.pow(l);
                Level {
                    bucket,
                    min: ring(capacity / bucket),
                    max: ring(capacity / bucket),
                }
            })
            .collect();
        Self {
            capacity,
            times: vec![f64::NAN; capacity as usize],
            samples: ring(capacity),
            levels,
            count: 0,
        }
    }

    /// Takes a frame in, forgetting the oldest one if there is no room.
    pub fn push(&mut self, frame: &Frame) {
        let slot = (self.count % self.capacity) as usize;
        self.times[slot] = frame.t_s();
        for (ring, &value) in self.samples.iter_mut().zip(&frame.values) {
            ring[slot] = value;
        }
        for level in &mut self.levels {
            let at = ((self.count / level.bucket) % (self.capacity / level.bucket)) as usize;
            let first = self.count.is_multiple_of(level.bucket);
            for (c, ring) in self.samples.iter().enumerate() {
                let value = ring[slot];
                let (min, max) = (&mut level.min[c][at], &mut level.max[c][at]);
                // `f64::min` and `max` prefer a number to NaN.
                (*min, *max) = if first {
                    (value, value)
                } else {
                    (min.min(value), max.max(value))
                };
            }
        }
        self.count += 1;
    }

    /// Time of the newest sample in s; `None` before the first.
    pub fn newest_s(&self) -> Option<f64> {
        let last = self.count.checked_sub(1)?;
        Some(self.times[(last % self.capacity) as usize])
    }

    /// What a channel did between two times, in at most about `max_points` points.
    pub fn trace(&self, channel: usize, from_s: f64, to_s: f64, max_points: usize) -> Trace {
        let begin = self
            .first_at_or_after(from_s)
            .saturating_sub(1)
            .max(self.oldest());
        let end = (self.first_at_or_after(to_s) + 1).min(self.count);
        let mut trace = Trace {
            points: Vec::new(),
            samples_per_point: 1,
            range: None,
        };
        let Some(samples) = self.samples.get(channel) else {
            return trace;
        };
        let span = end.saturating_sub(begin);
        let fits = |bucket: u64| span / bucket * 2 <= max_points as u64;
        if span <= max_points as u64 {
            for n in begin..end {
                let slot = (n % self.capacity) as usize;
                trace.add(self.times[slot], samples[slot]);
            }
            return trace;
        }
        let level = self
            .levels
            .iter()
            .find(|l| fits(l.bucket))
            .or(self.levels.last());
        let Some(level) = level else { return trace };
        trace.samples_per_point = level.bucket;
        for b in begin / level.bucket..end.div_ceil(level.bucket) {
            let at = (b % (self.capacity / level.bucket)) as usize;
            let t = self.times[((b * level.bucket) % self.capacity) as usize];
            trace.add(t, level.min[channel][at]);
            trace.add(t, level.max[channel][at]);
        }
        trace
    }

    fn oldest(&self) -> u64 {
        self.count.saturating_sub(self.capacity)
    }

    /// Number of the first sample at or after a time; times increase, so it is found by halving.
    fn first_at_or_after(&self, t_s: f64) -> u64 {
        let (mut low, mut high) = (self.oldest(), self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.times[(middle % self.capacity) as usize] < t_s {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }
}

impl Trace {
    fn add(&mut self, t: f64, value: f64) {
        if value.is_finite() {
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
        }
        // NaN breaks the line where there is no value.
        self.points.push([t, value]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(samples: u64, value: impl Fn(u64) -> f64) -> History {
        let mut history = History::new(1, 8192);
        let mut frame = Frame::empty();
        for n in 0..samples {
            frame.t_nanos = n * 1_000_000;
            frame.values[0] = value(n);
            history.push(&frame);
        }
        history
    }

    #[test]
    fn a_single_peak_is_in_the_picture_at_every_zoom_and_after_the_ring_has_turned() {
        for total in [5_000, 20_000] {
            let peak = total - 3_000;
            let history = filled(total, |n| if n == peak { 99.0 } else { (n % 7) as f64 });
            for points in [100, 500, 3_000, 100_000] {
                let trace = history.trace(0, 0.0, total as f64 * 1e-3, points);
                assert_eq!(
                    trace.range.map(|r| r.1),
                    Some(99.0),
                    "{points} points of {total} samples"
                );
            }
        }
    }

    #[test]
    fn a_short_stretch_is_drawn_sample_by_sample() {
        let history = filled(1_000, |n| n as f64);
        let trace = history.trace(0, 0.5, 0.51, 1_000);
        assert_eq!(trace.samples_per_point, 1);
        assert!(trace.points.len() >= 10 && trace.points.len() <= 13);
        assert!(
            trace
                .points
                .iter()
                .all(|p| (p[0] * 1e3 - p[1]).abs() < 1e-9)
        );
    }

    #[test]
    fn empty_stretches_and_missing_values_are_no_trouble() {
        assert!(
            History::new(1, 10)
                .trace(0, 0.0, 1.0, 100)
                .points
                .is_empty()
        );
        assert!(History::new(1, 10).newest_s().is_none());
        let history = filled(10_000, |_| f64::NAN);
        assert_eq!(history.trace(0, 0.0, 10.0, 100).range, None);
        assert!(
            filled(10, |n| n as f64)
                .trace(7, 0.0, 1.0, 100)
                .points
                .is_empty()
        );
    }
}
