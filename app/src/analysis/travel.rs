//! How fast the train goes along the line within a stretch, and how often it passes spans and droppers.

use crate::data::LineMarks;

/// Name of the channel with the place along the line.
pub const PLACE_CHANNEL: &str = "line_position";
/// Slower than this nothing is passed at a frequency worth a mark, in m/s.
const SLOWEST_M_PER_S: f64 = 0.5;

/// The way through a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Travel {
    /// Speed in m/s: the median over pieces of the stretch, so that the jump to a next section does not count.
    pub speed_m_per_s: f64,
    /// Smallest place, in m.
    pub from_m: f64,
    /// Largest place, in m.
    pub to_m: f64,
}

/// How often spans and droppers are passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing {
    /// Spans a second, in Hz.
    pub span_hz: Option<f64>,
    /// Droppers a second, in Hz.
    pub dropper_hz: Option<f64>,
}

impl Travel {
    /// From places every `period_s`; `None` if the train stands or its place is unknown.
    pub fn of(places_m: &[f64], period_s: f64) -> Option<Self> {
        let step = (places_m.len() / 64).max(1);
        let pieces = places_m.windows(step + 1).step_by(step);
        let speeds = pieces
            .map(|piece| (piece[step] - piece[0]) / (step as f64 * period_s))
            .filter(|speed| speed.is_finite());
        let speed_m_per_s = median(speeds.collect())?;
        let known = || places_m.iter().copied().filter(|x| x.is_finite());
        (speed_m_per_s > SLOWEST_M_PER_S).then(|| Self {
            speed_m_per_s,
            from_m: known().fold(f64::INFINITY, f64::min),
            to_m: known().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Frequencies of what stands along the line: speed over the median distance.
    pub fn passing(&self, line: &LineMarks) -> Passing {
        let often = |places: &[f64]| Some(self.speed_m_per_s / self.spacing(places)?);
        Passing {
            span_hz: often(&line.supports_m),
            dropper_hz: often(&line.droppers_m),
        }
    }

    /// The median distance of neighbours around the way.
    fn spacing(&self, places_m: &[f64]) -> Option<f64> {
        let distances = places_m.windows(2).filter_map(|pair| {
            let (a, b) = (pair[0], pair[1]);
            // Two at one place are passed at once.
            (b > self.from_m && a < self.to_m && b - a > 0.1).then_some(b - a)
        });
        median(distances.collect())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_over_distance_is_the_frequency() {
        // 72 m/s; a jump back to the begin of the section; a gap.
        let mut places: Vec<f64> = (0..5_000).map(|n| 72.0 * 0.002 * f64::from(n)).collect();
        places[3_000..].iter_mut().for_each(|x| *x -= 400.0);
        places[100..120].fill(f64::NAN);
        let travel = Travel::of(&places, 0.002).unwrap();
        assert!((travel.speed_m_per_s - 72.0).abs() < 1e-9, "{travel:?}");
        let line = LineMarks {
            supports_m: (0..12).map(|i| 60.0 * f64::from(i)).collect(),
            // Uneven next to the supports, as on a real line, and a double one.
            droppers_m: vec![5.0, 14.0, 23.0, 23.0, 32.0, 41.0, 55.0, 65.0, 74.0],
        };
        let passing = travel.passing(&line);
        assert!((passing.span_hz.unwrap() - 1.2).abs() < 1e-9);
        assert!((passing.dropper_hz.unwrap() - 8.0).abs() < 1e-9);
        assert_eq!(travel.passing(&LineMarks::default()).span_hz, None);
    }

    #[test]
    fn a_train_that_stands_passes_nothing() {
        assert_eq!(Travel::of(&[3.0; 500], 0.002), None);
        assert_eq!(Travel::of(&[], 0.002), None);
        assert_eq!(Travel::of(&[f64::NAN; 500], 0.002), None);
    }
}
