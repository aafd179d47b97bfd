//! Numbers that look random and are the same on every machine, in every version and in every order of asking.

/// SplitMix64 (Steele, Lea & Flood 2014): the same start gives the same sequence for ever.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A sequence of its own for each pair of a seed and a stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut first = Self(seed);
        let mixed = first.next();
        Self(mixed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform within 0 and 1, neither of them.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Uniform below `n`, which is small against 2⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// Φ: how much of a normal distribution lies below x standard deviations.
pub fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The x within ±`LARGEST` with Φ(x) = p, by halving: 60 halves are below the last bit.
pub fn normal_quantile(p: f64) -> f64 {
    const LARGEST: f64 = 8.0;
    let (mut low, mut high) = (-LARGEST, LARGEST);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if normal_below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published sequence for the start 1234567.
    #[test]
    fn the_sequence_is_that_of_its_source() {
        let mut numbers = SplitMix(1_234_567);
        assert_eq!(numbers.next(), 6_457_827_717_110_365_317);
        assert_eq!(numbers.next(), 3_203_168_211_198_807_973);
        assert_eq!(numbers.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn streams_differ_and_units_fill_the_interval() {
        let (mut a, mut b) = (SplitMix::new(1, 0), SplitMix::new(1, 1));
        assert_ne!(a.next(), b.next());
        let n = 20_000;
        let all: Vec<f64> = (0..n).map(|_| a.unit()).collect();
        let mean = all.iter().sum::<f64>() / f64::from(n);
        // σ of the mean is 1/√(12 n) = 0.002.
        assert!((mean - 0.5).abs() < 0.008 && all.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((0..1000).all(|_| b.below(7) < 7));
    }

    /// Table values of the normal distribution.
    #[test]
    fn quantiles_are_those_of_the_normal_distribution() {
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959963984540054),
            (0.841344746068543, 1.0),
            (0.00134989803163, -3.0),
        ] {
            assert!((normal_quantile(p) - x).abs() < 1e-9, "{p}");
            assert!((normal_below(x) - p).abs() < 1e-12, "{x}");
        }
    }
}
