//! Histograms with fixed bins; what lies outside is counted too.

use super::error::AnalysisError;
use serde::Serialize;

/// Counts of samples in bins of equal width, and of those below, above and unknown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    low: f64,
    high: f64,
    counts: Vec<u64>,
    below: u64,
    above: u64,
    unknown: u64,
}

impl Histogram {
    /// Empty bins from `low` to `high`, in the unit of the samples.
    pub fn new(low: f64, high: f64, bins: usize) -> Result<Self, AnalysisError> {
        if bins == 0 {
            return Err(AnalysisError::TooFew {
                what: "bins of the histogram",
                found: 0,
                needed: 1,
                remedy: "ask for more bins",
            });
        }
        if !low.is_finite() {
            return Err(AnalysisError::Setting {
                what: "the lower end of the histogram",
                value: low,
                expected: "a finite value".into(),
            });
        }
        if !(high.is_finite() && high > low) {
            return Err(AnalysisError::Setting {
                what: "the upper end of the histogram",
                value: high,
                expected: format!("a finite value above the lower end {low}"),
            });
        }
        Ok(Self {
            low,
            high,
            counts: vec![0; bins],
            below: 0,
            above: 0,
            unknown: 0,
        })
    }

    /// The histogram of a record.
    pub fn of(signal: &[f64], low: f64, high: f64, bins: usize) -> Result<Self, AnalysisError> {
        let mut histogram = Self::new(low, high, bins)?;
        signal.iter().for_each(|x| histogram.push(*x));
        Ok(histogram)
    }

    /// Takes one sample, without allocation. A bin holds its lower edge, the last one its upper
    /// edge too.
    pub fn push(&mut self, value: f64) {
        if !value.is_finite() {
            self.unknown += 1;
        } else if value < self.low {
            self.below += 1;
        } else if value > self.high {
            self.above += 1;
        } else {
            let last = self.counts.len() - 1;
            let mut bin = (((value - self.low) / self.width()) as usize).min(last);
            // The division may round across an edge.
            if value < self.edge(bin) {
                bin -= 1;
            } else if bin < last && value >= self.edge(bin + 1) {
                bin += 1;
            }
            self.counts[bin] += 1;
        }
    }

    /// Forgets all samples.
    pub fn reset(&mut self) {
        self.counts.fill(0);
        (self.below, self.above, self.unknown) = (0, 0, 0);
    }

    /// Width of a bin, in the unit of the samples.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.counts.len() as f64
    }

    /// Lower edge of bin i, in the unit of the samples; the upper end for i = number of bins.
    pub fn edge(&self, i: usize) -> f64 {
        self.low + i as f64 * self.width()
    }

    /// Samples in each bin.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Samples below the first bin.
    pub fn below(&self) -> u64 {
        self.below
    }

    /// Samples above the last bin.
    pub fn above(&self) -> u64 {
        self.above
    }

    /// Samples that were NaN or infinite.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Known samples, inside the bins or not.
    pub fn known(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.below + self.above
    }

    /// count / (known samples · width), per unit of the samples. Its integral over the bins is the
    /// share of known samples inside them: 1 only if none lies outside. All 0 while nothing is known.
    pub fn density(&self) -> Vec<f64> {
        let scale = 1.0 / (self.known().max(1) as f64 * self.width());
        self.counts.iter().map(|c| *c as f64 * scale).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_under_and_overflow_are_counted_where_they_belong() {
        let signal = [-0.1, 0.0, 0.9, 1.0, 3.9, 4.0, 4.1, f64::NAN, 2.5];
        let h = Histogram::of(&signal, 0.0, 4.0, 4).unwrap();
        assert_eq!(h.counts(), [2, 1, 1, 2]);
        assert_eq!((h.below(), h.above(), h.unknown(), h.known()), (1, 1, 1, 8));
        let inside: f64 = h.density().iter().map(|d| d * h.width()).sum();
        assert!((inside - 0.75).abs() < 1e-15);
    }

    #[test]
    fn a_sample_on_an_edge_belongs_to_the_bin_above_it() {
        // 300/70 is no binary number: the division alone rounds 3 of these edges down and 6 of the
        // values just below an edge up.
        let mut h = Histogram::new(0.0, 300.0, 70).unwrap();
        for i in 0..70 {
            h.push(h.edge(i));
            h.push(h.edge(i + 1).next_down());
        }
        assert_eq!(h.counts(), [2; 70]);
        h.reset();
        assert_eq!(h.known(), 0);
        assert_eq!(h.density(), [0.0; 70]);
    }

    #[test]
    fn impossible_bins_are_refused() {
        assert!(Histogram::new(0.0, 1.0, 0).is_err());
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
            assert!(Histogram::new(low, high, 3).is_err());
        }
    }
}
