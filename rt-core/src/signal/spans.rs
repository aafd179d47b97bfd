//! Force statistics of each span between two supports.

use super::error::{AnalysisError, check_lengths};
use super::statistics::{ForceStatistics, RunningStatistics};
use serde::Serialize;

/// Statistics of one span.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpanStatistics {
    /// Support at which the span begins, in m.
    pub from_m: f64,
    /// Support at which it ends, in m; it belongs to the next span.
    pub to_m: f64,
    /// Statistics of the known samples; `None` if there is none in this span.
    pub statistics: Option<ForceStatistics>,
    /// Samples in this span whose value is unknown.
    pub unknown: u64,
}

/// Statistics span by span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spans {
    /// One entry for each pair of neighbouring supports.
    pub spans: Vec<SpanStatistics>,
    /// Samples before the first or behind the last support.
    pub outside: u64,
    /// Samples whose place is unknown.
    pub unplaced: u64,
}

/// Statistics of `forces` (N) for each span; `places_m` says where each sample was taken, in any
/// order, `supports_m` are the ascending places of the supports.
///
/// Whether the forces are filtered is the caller's choice; filter first and cut into spans
/// afterwards, so that the filter's ends lie outside.
pub fn span_statistics(
    places_m: &[f64],
    forces: &[f64],
    supports_m: &[f64],
) -> Result<Spans, AnalysisError> {
    check_lengths(("the record", forces.len()), ("its places", places_m.len()))?;
    if supports_m.len() < 2 {
        return Err(AnalysisError::TooFew {
            what: "supports",
            found: supports_m.len(),
            needed: 2,
            remedy: "a span lies between two supports",
        });
    }
    let before = std::iter::once(f64::NEG_INFINITY).chain(supports_m.iter().copied());
    for (index, (&value, before)) in supports_m.iter().zip(before).enumerate() {
        if !(value.is_finite() && value > before) {
            return Err(AnalysisError::Sample {
                what: "the place of support",
                index,
                value,
                expected: "a finite value in m above the one before",
            });
        }
    }
    let count = supports_m.len() - 1;
    let mut running = vec![(RunningStatistics::default(), 0); count];
    let (mut outside, mut unplaced) = (0, 0);
    for (place, force) in places_m.iter().zip(forces) {
        let after = supports_m.partition_point(|s| s <= place);
        if !place.is_finite() {
            unplaced += 1;
        } else if after == 0 || after > count {
            outside += 1;
        } else if force.is_finite() {
            running[after - 1].0.push(*force);
        } else {
            running[after - 1].1 += 1;
        }
    }
    let spans = supports_m.windows(2).zip(running);
    Ok(Spans {
        spans: spans
            .map(|(ends, (running, unknown))| SpanStatistics {
                from_m: ends[0],
                to_m: ends[1],
                statistics: running.statistics(),
                unknown,
            })
            .collect(),
        outside,
        unplaced,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_go_to_the_span_in_which_they_lie() {
        let n = f64::NAN;
        let places = [-1.0, 0.0, 30.0, 60.0, 61.0, 62.0, 130.0, 180.0, n];
        let forces = [9.0, 1.0, 3.0, 5.0, 7.0, n, n, 9.0, 9.0];
        let found = span_statistics(&places, &forces, &[0.0, 60.0, 120.0, 180.0]).unwrap();
        assert_eq!((found.outside, found.unplaced), (2, 1));
        let means: Vec<_> = found
            .spans
            .iter()
            .map(|s| s.statistics.map(|s| s.mean))
            .collect();
        assert_eq!(means, [Some(2.0), Some(6.0), None]);
        let unknown: Vec<_> = found.spans.iter().map(|s| s.unknown).collect();
        assert_eq!(unknown, [0, 1, 1]);
        assert_eq!((found.spans[1].from_m, found.spans[1].to_m), (60.0, 120.0));
    }

    #[test]
    fn bad_supports_and_places_are_refused() {
        let places = [1.0, 2.0];
        for supports in [&[][..], &[1.0], &[1.0, 1.0], &[2.0, 1.0], &[1.0, f64::NAN]] {
            assert!(span_statistics(&places, &places, supports).is_err());
        }
        let text = span_statistics(&places, &[1.0], &[0.0, 1.0])
            .unwrap_err()
            .to_string();
        assert!(text.contains("1 samples") && text.contains("2"), "{text}");
    }
}
