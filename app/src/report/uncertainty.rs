//! How far mean force F_m and deviation σ of a run may be off, combined as the GUM (JCGM 100:2008) says.
//!
//! With f_j, j = 1 … N, the filtered force at the evaluated samples, T their duration, F_m = Σ f_j / N and
//! σ² = Σ (f_j − F_m)² / N:
//!
//! **Sensor.** The true force F is read as (1 + g) F + o + n + q: g and o come from the calibration's fit (relative
//! standard error of its slope; standard deviation of its residuals, which holds linearity and hysteresis), n is noise
//! with deviation s, of which the filter with impulse response h lets s_h = s √Σh² pass, q is rounding to a step r with
//! variance r²/12. Of the first order in all of them
//!
//! ```text
//! u²(F_m) = u²(o) + (F_m u(g))² + s²/N + r²/12        rounding taken as one error, the worst case
//! u²(σ)   = (σ u(g))² + ((s_h² + r²/12) / 2σ)²        noise adds its variance to σ²; it is not taken off
//! ```
//!
//! With n load cells, whose forces add, u²(o) is the sum of the cells' and u(g) the root of the sum of (u_c(g)/n)², every
//! cell bearing the same share.
//!
//! **Delay.** A force that is read Δ late stands at the wrong place: the stretch from a to b is shifted by τ, of which is
//! only known that |τ| ≤ Δ, so u(τ) = Δ/√3. Differentiating both integrals by their limits:
//!
//! ```text
//! u(F_m) = u(τ) |f(b) − f(a)| / T,    u(σ) = u(τ) |(f(b) − F_m)² − (f(a) − F_m)²| / (2 σ T)
//! ```
//!
//! What a delay does to the force itself, through the loop, is not in here: it is the error against a reference.
//!
//! **Truncation.** A run has few spans of a line that goes on. Whole spans are blocks that repeat; leaving out one of B
//! blocks after the other gives θ_(1) … θ_(B) for θ = F_m or σ, and the jackknife
//!
//! ```text
//! u²(θ) = (B − 1)/B Σ (θ_(k) − θ̄)²,   B − 1 degrees of freedom.
//! ```
//!
//! Beside it stands what the autocorrelation ρ_k says, N_eff = N / (1 + 2 Σ ρ_k), summed while ρ_k is above 0.
//!
//! **Repeatability.** The deviation of F_m and σ over n recordings of the same set-up, n − 1 degrees of freedom.
//!
//! **Combined.** u² = Σ u_i², ν = u⁴ / Σ (u_i⁴/ν_i) (Welch–Satterthwaite), U = k u with k from Student's distribution so
//! that 95 % are covered. What is not known is not in it, and the budget says so.

use std::ops::Range;

/// Fewer blocks say nothing about their spread.
pub const LEAST_BLOCKS: usize = 4;

/// What is known of a force sensor; forces in N.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensor {
    /// Standard uncertainty of a constant error.
    pub offset_n: f64,
    /// Relative standard uncertainty of the slope.
    pub gain: f64,
    /// Deviation of the noise of a sample.
    pub noise_n: f64,
    /// Share of the noise's variance that the filter lets pass, Σh².
    pub noise_gain: f64,
    /// Step of the reading.
    pub resolution_n: f64,
}

/// One contribution; `None` where it is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Where it comes from.
    pub source: &'static str,
    /// Standard uncertainties of F_m and σ, in N, with their degrees of freedom.
    pub found: Option<(f64, f64, f64)>,
    /// How it was found, or why it was not.
    pub how: String,
}

/// All contributions to one of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    /// Standard uncertainty u, in N.
    pub standard_n: f64,
    /// Effective degrees of freedom ν.
    pub freedom: f64,
    /// Coverage factor k for 95 %.
    pub coverage: f64,
}

impl Combined {
    /// Expanded uncertainty U = k u, in N.
    pub fn expanded_n(&self) -> f64 {
        self.coverage * self.standard_n
    }
}

/// Contributions and what they come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Every contribution, known or not.
    pub shares: Vec<Share>,
    /// Of F_m.
    pub mean: Combined,
    /// Of σ.
    pub std: Combined,
}

impl Budget {
    /// Combines what is known.
    pub fn of(shares: Vec<Share>) -> Self {
        let known: Vec<(f64, f64, f64)> = shares.iter().filter_map(|s| s.found).collect();
        Self {
            mean: combined(known.iter().map(|s| (s.0, s.2))),
            std: combined(known.iter().map(|s| (s.1, s.2))),
            shares,
        }
    }

    /// Contributions that are not known.
    pub fn unknown(&self) -> Vec<&'static str> {
        let missing = self.shares.iter().filter(|s| s.found.is_none());
        missing.map(|s| s.source).collect()
    }
}

fn combined(parts: impl Iterator<Item = (f64, f64)> + Clone) -> Combined {
    let square: f64 = parts.clone().map(|(u, _)| u * u).sum();
    let spread: f64 = parts.map(|(u, freedom)| u.powi(4) / freedom).sum();
    let freedom = if spread > 0.0 {
        square * square / spread
    } else {
        f64::INFINITY
    };
    Combined {
        standard_n: square.sqrt(),
        freedom,
        coverage: student_95(freedom),
    }
}

/// The factor that covers 95 % on both sides, by degrees of freedom: the expansion of Student's quantile in 1/ν
/// (Abramowitz and Stegun 26.7.5), right to 1 % from 3 on.
pub fn student_95(freedom: f64) -> f64 {
    let z = 1.959_963_984_540_054_f64;
    let n = freedom.max(1.0);
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    let g4 = (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5)
        - 1920.0 * z.powi(3)
        - 945.0 * z)
        / 92_160.0;
    z + g1 / n + g2 / n.powi(2) + g3 / n.powi(3) + g4 / n.powi(4)
}

/// Mean and deviation of known samples; `None` without any.
fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let known = || values.iter().filter(|v| v.is_finite());
    let count = known().count() as f64;
    let mean = known().sum::<f64>() / count;
    let square = known().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    (count > 0.0).then(|| (count, mean, square.sqrt()))
}

/// u(F_m) and u(σ) by the sensor.
pub fn sensor(values: &[f64], sensor: &Sensor) -> Option<(f64, f64)> {
    let (count, mean, std) = moments(values)?;
    let rounding = sensor.resolution_n.powi(2) / 12.0;
    let of_mean = sensor.offset_n.powi(2)
        + (mean * sensor.gain).powi(2)
        + sensor.noise_n.powi(2) / count
        + rounding;
    let passed = sensor.noise_n.powi(2) * sensor.noise_gain + rounding;
    let by_noise = if std > 0.0 { passed / (2.0 * std) } else { 0.0 };
    let of_std = (std * sensor.gain).powi(2) + by_noise.powi(2);
    Some((of_mean.sqrt(), of_std.sqrt()))
}

/// u(F_m) and u(σ) by a delay of at most `delay_s`; samples are `step_s` apart.
pub fn delay(values: &[f64], step_s: f64, delay_s: f64) -> Option<(f64, f64)> {
    let (_, mean, std) = moments(values)?;
    let first = values.iter().copied().find(|v| v.is_finite())?;
    let last = values.iter().rev().copied().find(|v| v.is_finite())?;
    let duration = step_s * values.len() as f64;
    let shift = delay_s / 3.0_f64.sqrt();
    let of_mean = shift * (last - first).abs() / duration;
    let squares = ((last - mean).powi(2) - (first - mean).powi(2)).abs();
    let of_std = if std > 0.0 {
        shift * squares / (2.0 * std * duration)
    } else {
        0.0
    };
    Some((of_mean, of_std))
}

/// u(F_m), u(σ) and degrees of freedom by the spread of blocks; `None` with fewer than [`LEAST_BLOCKS`] that hold
/// samples.
pub fn truncation(values: &[f64], blocks: &[Range<usize>]) -> Option<(f64, f64, f64)> {
    // Sums about the mean of all, so that squares do not swallow it.
    let (_, center, _) = moments(values)?;
    let sums: Vec<[f64; 3]> = blocks
        .iter()
        .filter_map(|block| values.get(block.clone()))
        .map(|block| {
            let known = block.iter().filter(|v| v.is_finite()).map(|v| v - center);
            known.fold([0.0; 3], |s, v| [s[0] + 1.0, s[1] + v, s[2] + v * v])
        })
        .filter(|s| s[0] > 0.0)
        .collect();
    let count = sums.len();
    if count < LEAST_BLOCKS {
        return None;
    }
    let mut total = [0.0; 3];
    for s in &sums {
        for (t, part) in total.iter_mut().zip(s) {
            *t += part;
        }
    }
    let without = |s: &[f64; 3]| {
        let [n, first, second] = std::array::from_fn(|i| total[i] - s[i]);
        let mean = first / n;
        [mean, (second / n - mean * mean).max(0.0).sqrt()]
    };
    let left: Vec<[f64; 2]> = sums.iter().map(without).collect();
    let b = count as f64;
    let jackknife = |i: usize| {
        let mean = left.iter().map(|l| l[i]).sum::<f64>() / b;
        let squares: f64 = left.iter().map(|l| (l[i] - mean).powi(2)).sum();
        ((b - 1.0) / b * squares).sqrt()
    };
    Some((jackknife(0), jackknife(1), b - 1.0))
}

/// The number of independent samples that correlated ones are worth; `None` if nothing varies.
pub fn effective_samples(values: &[f64]) -> Option<f64> {
    let (count, mean, std) = moments(values)?;
    if std == 0.0 {
        return None;
    }
    let deviation = |v: f64| if v.is_finite() { v - mean } else { 0.0 };
    let centred: Vec<f64> = values.iter().map(|v| deviation(*v)).collect();
    let mut sum = 0.0;
    for lag in 1..centred.len() {
        let pairs = centred.iter().zip(&centred[lag..]);
        let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / (count * std * std);
        if correlation <= 0.0 {
            break;
        }
        sum += correlation;
    }
    Some(count / (1.0 + 2.0 * sum))
}

/// u(F_m), u(σ) and degrees of freedom of a single run by several; `None` with fewer than two.
pub fn repeatability(runs: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let n = runs.len() as f64;
    if runs.len() < 2 {
        return None;
    }
    let spread = |of: fn(&(f64, f64)) -> f64| {
        let mean = runs.iter().map(of).sum::<f64>() / n;
        let squares: f64 = runs.iter().map(|r| (of(r) - mean).powi(2)).sum();
        (squares / (n - 1.0)).sqrt()
    };
    Some((spread(|r| r.0), spread(|r| r.1), n - 1.0))
}

#[cfg(test)]
mod tests;
