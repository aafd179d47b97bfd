//! Where in the space of the varied quantities the samples lie: points of the unit cube, and what they mean.

use super::random::{SplitMix, normal_below, normal_quantile};
use rt_core::file::FieldError;
use serde::Deserialize;

/// How one quantity varies.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Spread {
    /// All values alike.
    Uniform {
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
    /// A normal distribution without its tails.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation of the whole distribution.
        sigma: f64,
        /// Nothing below.
        low: f64,
        /// Nothing above.
        high: f64,
    },
    /// One of these.
    List(Vec<f64>),
    /// One of equally spaced values.
    Steps {
        /// First.
        low: f64,
        /// Last.
        high: f64,
        /// How many, both included.
        count: usize,
    },
}

/// How samples fill the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Design {
    /// Independent of each other.
    Random,
    /// Every quantity has one sample in each of as many equal parts as there are samples.
    #[default]
    LatinHypercube,
    /// The sequence of Sobol', shifted by the seed: fills the space evenly; a power of two of samples is best.
    Sobol,
    /// Every combination of lists and steps.
    Grid,
}

impl Design {
    /// In files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "Random",
            Self::LatinHypercube => "LatinHypercube",
            Self::Sobol => "Sobol",
            Self::Grid => "Grid",
        }
    }
}

impl Spread {
    /// Refuses what has no values.
    pub fn check(&self) -> Result<(), FieldError> {
        let wrong = |field: &str, problem: String| Err(FieldError::new(field, problem));
        match self {
            Self::Uniform { low, high } | Self::Steps { low, high, .. }
                if !(low < high && low.is_finite() && high.is_finite()) =>
            {
                wrong(
                    "low",
                    format!("is {low} with high {high}; expected finite values, low below high"),
                )
            }
            Self::Uniform { .. } => Ok(()),
            Self::Steps { count, .. } if !(2..=10_000).contains(count) => {
                wrong("count", format!("is {count}; expected 2 to 10000"))
            }
            Self::Steps { .. } => Ok(()),
            Self::Normal {
                mean,
                sigma,
                low,
                high,
            } => {
                let around = |edge: f64| ((edge - mean) / sigma).abs() <= 6.0;
                if !(*sigma > 0.0
                    && mean.is_finite()
                    && low < high
                    && around(*low)
                    && around(*high))
                {
                    return wrong(
                        "sigma",
                        format!(
                            "is {sigma} with mean {mean} within {low} to {high}; expected sigma above 0 and both \
                             ends at most 6 sigma from the mean, low below high"
                        ),
                    );
                }
                Ok(())
            }
            Self::List(values) if values.is_empty() || values.iter().any(|v| !v.is_finite()) => {
                wrong(
                    "List",
                    "needs at least one value, all of them finite".into(),
                )
            }
            Self::List(_) => Ok(()),
        }
    }

    /// How many values it has, if they can be counted.
    fn count(&self) -> Option<usize> {
        match self {
            Self::List(values) => Some(values.len()),
            Self::Steps { count, .. } => Some(*count),
            Self::Uniform { .. } | Self::Normal { .. } => None,
        }
    }

    /// The value with the number `i` of those that can be counted.
    fn counted(&self, i: usize) -> f64 {
        match self {
            Self::List(values) => values.get(i).copied().unwrap_or(f64::NAN),
            Self::Steps { low, high, count } => low + (high - low) * i as f64 / (count - 1) as f64,
            Self::Uniform { .. } | Self::Normal { .. } => f64::NAN,
        }
    }

    /// The value below which a part u of all values lies, 0 < u < 1.
    pub fn value(&self, u: f64) -> f64 {
        match self {
            Self::Uniform { low, high } => low + u * (high - low),
            Self::Normal {
                mean,
                sigma,
                low,
                high,
            } => {
                let below = |edge: f64| normal_below((edge - mean) / sigma);
                let (from, to) = (below(*low), below(*high));
                (mean + sigma * normal_quantile(from + u * (to - from))).clamp(*low, *high)
            }
            Self::List(_) | Self::Steps { .. } => {
                let count = self.count().unwrap_or(1);
                self.counted(((u * count as f64) as usize).min(count - 1))
            }
        }
    }
}

/// Most samples of a study.
pub const MOST_SAMPLES: usize = 1_000_000;

/// The values of all samples: a row a sample, a column a quantity. `samples` does not count for a grid.
pub fn samples(
    design: Design,
    spreads: &[&Spread],
    samples: usize,
    seed: u64,
) -> Result<Vec<Vec<f64>>, FieldError> {
    if design == Design::Grid {
        return grid(spreads);
    }
    let dimensions = spreads.len();
    if design == Design::Sobol && dimensions > DIRECTIONS.len() + 1 {
        return Err(FieldError::new(
            "design",
            format!(
                "is Sobol with {dimensions} quantities; expected at most {}, or LatinHypercube",
                DIRECTIONS.len() + 1
            ),
        ));
    }
    let columns: Vec<Vec<f64>> = (0..dimensions)
        .map(|d| {
            let mut random = SplitMix::new(seed, d as u64);
            match design {
                Design::Random => (0..samples).map(|_| random.unit()).collect(),
                Design::LatinHypercube => latin(samples, &mut random),
                Design::Sobol | Design::Grid => sobol(d, samples, random.next() as u32),
            }
        })
        .collect();
    Ok((0..samples)
        .map(|i| {
            spreads
                .iter()
                .zip(&columns)
                .map(|(s, c)| s.value(c[i]))
                .collect()
        })
        .collect())
}

/// Every combination; the last quantity changes fastest.
fn grid(spreads: &[&Spread]) -> Result<Vec<Vec<f64>>, FieldError> {
    let counts = spreads
        .iter()
        .map(|s| s.count())
        .collect::<Option<Vec<usize>>>();
    let counts = counts.ok_or_else(|| {
        FieldError::new(
            "design",
            "is Grid; expected every quantity to be a List or Steps",
        )
    })?;
    let all = counts
        .iter()
        .try_fold(1_usize, |all, n| all.checked_mul(*n));
    let all = all.filter(|all| *all <= MOST_SAMPLES).ok_or_else(|| {
        FieldError::new(
            "design",
            format!("is Grid with more than {MOST_SAMPLES} combinations"),
        )
    })?;
    let row = |mut i: usize| {
        let mut values: Vec<f64> = spreads
            .iter()
            .zip(&counts)
            .rev()
            .map(|(s, n)| {
                let value = s.counted(i % n);
                i /= n;
                value
            })
            .collect();
        values.reverse();
        values
    };
    Ok((0..all).map(row).collect())
}

/// One point in each of n equal parts, in an order of its own (Fisher and Yates).
fn latin(n: usize, random: &mut SplitMix) -> Vec<f64> {
    let mut parts: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        parts.swap(i, random.below(i + 1));
    }
    parts
        .into_iter()
        .map(|p| (p as f64 + random.unit()) / n as f64)
        .collect()
}

/// Primitive polynomials and first direction numbers of dimensions 2 and up: degree, coefficients, m₁ … (Joe and
/// Kuo 2008, the set made for good projections on two dimensions).
const DIRECTIONS: [(usize, u32, &[u32]); 12] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
];

/// Points of a dimension of the sequence of Sobol' in the order of Gray's code, their bits shifted by a mask.
fn sobol(dimension: usize, n: usize, shift: u32) -> Vec<f64> {
    const BITS: usize = 32;
    let mut v = [0_u32; BITS];
    match dimension.checked_sub(1).and_then(|d| DIRECTIONS.get(d)) {
        None => v
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| *v = 1 << (31 - i)),
        Some(&(s, a, m)) => {
            for i in 0..BITS {
                v[i] = if i < s {
                    m[i] << (31 - i)
                } else {
                    let mut next = v[i - s] ^ (v[i - s] >> s);
                    for k in 1..s {
                        next ^= ((a >> (s - 1 - k)) & 1) * v[i - k];
                    }
                    next
                };
            }
        }
    }
    let mut x = 0_u32;
    (0..n)
        .map(|i| {
            let point = (f64::from(x ^ shift) + 0.5) / f64::from(u32::MAX).mul_add(1.0, 1.0);
            x ^= v[(!(i as u32)).trailing_zeros().min(31) as usize];
            point
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first points without shift (scipy.stats.qmc.Sobol(d=4, scramble=False) gives the same), half a bit further.
    #[test]
    fn the_first_points_of_sobol_are_known() {
        let expected = [
            [0.0, 0.5, 0.75, 0.25, 0.375, 0.875, 0.625, 0.125],
            [0.0, 0.5, 0.25, 0.75, 0.375, 0.875, 0.125, 0.625],
            [0.0, 0.5, 0.25, 0.75, 0.625, 0.125, 0.875, 0.375],
            [0.0, 0.5, 0.25, 0.75, 0.875, 0.375, 0.625, 0.125],
        ];
        for (d, row) in expected.iter().enumerate() {
            for (found, expected) in sobol(d, 8, 0).iter().zip(row) {
                assert!((found - expected).abs() < 1e-9, "{d}: {found} {expected}");
            }
        }
        // Point 37 in all dimensions, from the same program.
        let expected = [
            0.921875, 0.640625, 0.578125, 0.921875, 0.765625, 0.296875, 0.171875, 0.796875,
            0.609375, 0.171875, 0.015625, 0.078125, 0.578125,
        ];
        for (d, expected) in expected.iter().enumerate() {
            assert!((sobol(d, 38, 0)[37] - expected).abs() < 1e-9, "{d}");
        }
    }

    /// 2^m points have one in each of 2^m equal parts of every dimension, shifted or not.
    #[test]
    fn every_part_has_one_point() {
        let parts_hit = |points: &[f64]| {
            let mut hit = vec![0; points.len()];
            points
                .iter()
                .for_each(|p| hit[(p * points.len() as f64) as usize] += 1);
            hit.iter().all(|h| *h == 1)
        };
        for d in 0..=DIRECTIONS.len() {
            assert!(parts_hit(&sobol(d, 256, 0xdead_beef)), "{d}");
        }
        assert!(parts_hit(&latin(200, &mut SplitMix::new(3, 0))));
    }

    #[test]
    fn spreads_have_their_quantiles() {
        let uniform = Spread::Uniform {
            low: 2.0,
            high: 4.0,
        };
        assert_eq!(uniform.value(0.25), 2.5);
        let list = Spread::List(vec![5.0, 7.0]);
        assert_eq!(
            [0.1, 0.49, 0.5, 0.99].map(|u| list.value(u)),
            [5.0, 5.0, 7.0, 7.0]
        );
        // Cut at ±1 σ: the quartile q has Φ(q) = Φ(−1) + ¼ (Φ(1) − Φ(−1)) = 0.329328.
        let normal = Spread::Normal {
            mean: 10.0,
            sigma: 2.0,
            low: 8.0,
            high: 12.0,
        };
        assert!((normal.value(0.5) - 10.0).abs() < 1e-9);
        assert!(
            (normal.value(0.25) - (10.0 - 2.0 * 0.441_72)).abs() < 1e-3,
            "{}",
            normal.value(0.25)
        );
        assert!(normal.value(1e-12) >= 8.0 && normal.value(1.0 - 1e-12) <= 12.0);
        for bad in [
            Spread::Uniform {
                low: 1.0,
                high: 1.0,
            },
            Spread::Normal {
                mean: 0.0,
                sigma: 0.0,
                low: -1.0,
                high: 1.0,
            },
            Spread::List(vec![]),
            Spread::Steps {
                low: 0.0,
                high: 1.0,
                count: 1,
            },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_grid_has_every_combination() {
        let (a, b) = (
            Spread::List(vec![1.0, 2.0]),
            Spread::Steps {
                low: 0.0,
                high: 1.0,
                count: 3,
            },
        );
        let found = samples(Design::Grid, &[&a, &b], 99, 1).unwrap();
        assert_eq!(
            found,
            [
                [1.0, 0.0],
                [1.0, 0.5],
                [1.0, 1.0],
                [2.0, 0.0],
                [2.0, 0.5],
                [2.0, 1.0]
            ]
        );
        assert!(
            samples(
                Design::Grid,
                &[&Spread::Uniform {
                    low: 0.0,
                    high: 1.0
                }],
                9,
                1
            )
            .is_err()
        );
    }

    #[test]
    fn samples_depend_on_the_seed_alone() {
        let spread = Spread::Uniform {
            low: 0.0,
            high: 1.0,
        };
        for design in [Design::Random, Design::LatinHypercube, Design::Sobol] {
            let of = |seed| samples(design, &[&spread, &spread], 16, seed).unwrap();
            assert_eq!(of(5), of(5));
            assert_ne!(of(5), of(6), "{design:?}");
            assert!(of(5).iter().all(|row| row[0] != row[1]));
        }
    }
}
