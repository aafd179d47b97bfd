//! Gaps of a record: samples that are unknown (NaN or infinite) are counted, never averaged.

use super::error::AnalysisError;
use super::filter::Sos;
use super::statistics::{ForceStatistics, RunningStatistics};
use serde::Serialize;
use std::ops::Range;

/// How much of a record is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// Samples of the record, known or not.
    pub samples: usize,
    /// Samples that are NaN or infinite.
    pub missing: usize,
    /// Number of gaps: runs of missing samples.
    pub count: usize,
    /// Samples of the longest gap.
    pub longest: usize,
    /// Index of the first missing sample.
    pub first: Option<usize>,
}

impl Gaps {
    /// Looks through a record.
    pub fn of(signal: &[f64]) -> Self {
        let mut gaps = Self {
            samples: signal.len(),
            ..Self::default()
        };
        for gap in signal.chunk_by(|a, b| a.is_finite() == b.is_finite()) {
            if !gap[0].is_finite() {
                gaps.missing += gap.len();
                gaps.count += 1;
                gaps.longest = gaps.longest.max(gap.len());
            }
        }
        gaps.first = signal.iter().position(|x| !x.is_finite());
        gaps
    }

    /// Share of missing samples in %; 0 of an empty record.
    pub fn missing_percent(&self) -> f64 {
        100.0 * self.missing as f64 / self.samples.max(1) as f64
    }
}

/// The stretches without a gap, in order.
pub fn known_pieces(signal: &[f64]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    signal
        .chunk_by(|a, b| a.is_finite() == b.is_finite())
        .filter_map(move |piece| {
            let range = from..from + piece.len();
            from = range.end;
            piece[0].is_finite().then_some(range)
        })
}

/// Statistics of the known samples alone; `None` if there is none.
pub fn known_statistics(signal: &[f64]) -> Option<ForceStatistics> {
    let mut running = RunningStatistics::default();
    let known = signal.iter().filter(|x| x.is_finite());
    known.for_each(|x| running.push(*x));
    running.statistics()
}

/// A filtered record, as long as the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    /// Filtered samples, in the unit of the record; NaN where the record is unknown.
    pub values: Vec<f64>,
    /// Known samples that are lost (NaN) because their stretch is too short for the filter.
    pub dropped: usize,
}

/// Zero-phase filtering of each stretch without a gap on its own, so that nothing is invented
/// across a gap.
pub fn zero_phase_known(sos: &Sos, signal: &[f64]) -> Result<Filtered, AnalysisError> {
    let mut values = vec![f64::NAN; signal.len()];
    let mut dropped = 0;
    // What the longest stretch says, should all be too short.
    let mut refusal = sos.zero_phase(&[]).err();
    let mut filtered_any = false;
    for piece in known_pieces(signal) {
        match sos.zero_phase(&signal[piece.clone()]) {
            Ok(filtered) => {
                values[piece].copy_from_slice(&filtered);
                filtered_any = true;
            }
            Err(error) => {
                dropped += piece.len();
                refusal = refusal.map(|r| if error.samples > r.samples { error } else { r });
            }
        }
    }
    match refusal {
        Some(error) if !filtered_any => Err(error.into()),
        _ => Ok(Filtered { values, dropped }),
    }
}

/// Known samples of a record that its filtered counterpart does not hold.
pub(crate) fn dropped(signal: &[f64], filtered: &[f64]) -> usize {
    let pairs = signal.iter().zip(filtered);
    pairs
        .filter(|(x, y)| x.is_finite() && !y.is_finite())
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::butterworth::low_pass;
    use super::*;

    const N: f64 = f64::NAN;

    #[test]
    fn gaps_and_pieces_are_those_by_hand() {
        let signal = [N, 1.0, 2.0, f64::INFINITY, N, N, 3.0, N];
        let gaps = Gaps::of(&signal);
        assert_eq!((gaps.samples, gaps.missing, gaps.count), (8, 5, 3));
        assert_eq!((gaps.longest, gaps.first), (3, Some(0)));
        assert_eq!(gaps.missing_percent(), 62.5);
        let pieces: Vec<_> = known_pieces(&signal).collect();
        assert_eq!(pieces, [1..3, 6..7]);
        let known = known_statistics(&signal).unwrap();
        assert_eq!((known.samples, known.mean), (3, 2.0));
        assert_eq!(known_statistics(&[N]), None);
        assert_eq!(Gaps::of(&[]), Gaps::default());
        assert_eq!(Gaps::of(&[1.0]).first, None);
    }

    #[test]
    fn each_stretch_is_filtered_as_if_it_were_alone() {
        let sos = low_pass(2, 20.0, 500.0).unwrap();
        let wave: Vec<f64> = (0..40).map(|i| f64::from(i).sin() + 5.0).collect();
        let signal = [&wave[..], &[N, 1.0, 2.0, N], &wave[..25]].concat();
        let filtered = zero_phase_known(&sos, &signal).unwrap();
        assert_eq!(filtered.values.len(), signal.len());
        assert_eq!(filtered.values[..40], sos.zero_phase(&wave).unwrap());
        assert_eq!(filtered.values[44..], sos.zero_phase(&wave[..25]).unwrap());
        assert!(filtered.values[40..44].iter().all(|x| x.is_nan()));
        assert_eq!(filtered.dropped, 2);
        let refused = zero_phase_known(&sos, &[1.0, N, 1.0, 2.0]).unwrap_err();
        assert!(refused.to_string().starts_with("2 samples"), "{refused}");
        assert!(zero_phase_known(&sos, &[N]).is_err());
    }
}
