//! How much a closed loop can bear: gain, delay, and both at once (disk), at one cut channel.
//!
//! With L the response from after the cut to before it, the loop closes with s = L s, so that
//! S = 1/(1 − L) and T = −L/(1 − L).

use super::closed_loop::OpenLoop;
use super::spectrum::{eigenvalues, spectral_radius};
use nalgebra::{Complex, DMatrix, DVector};
use std::f64::consts::{PI, TAU};

/// Points of the frequency grid between the lowest frequency and half the sample rate.
const GRID: usize = 600;
/// Lowest frequency of the grid as a share of half the sample rate.
const LOWEST: f64 = 2e-4;

/// Margins of a stable loop at one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Smallest gain above 1 that destabilises; infinite if none does.
    pub gain_up: f64,
    /// Largest gain below 1 that destabilises; 0 if none does.
    pub gain_down: f64,
    /// Smallest additional delay that destabilises, in s; infinite if none does.
    pub delay_s: f64,
    /// Disk margin α = 2 / max|S − T|: gain and phase may change together within its disk.
    pub disk: f64,
    /// Where the disk margin is smallest, in Hz.
    pub disk_frequency_hz: f64,
}

/// Why there are no margins.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MarginError {
    /// An unstable loop has no margins.
    #[error("the loop is unstable: its spectral radius is {spectral_radius}; expected below 1")]
    Unstable {
        /// Of the closed loop.
        spectral_radius: f64,
    },
    /// Eigenvalues of the open loop did not settle.
    #[error("the eigenvalues of the open loop of {states} states could not be found")]
    Eigenvalues {
        /// Number of states.
        states: usize,
    },
}

/// Margins at a cut channel.
pub fn margins(open: &OpenLoop) -> Result<Margins, MarginError> {
    let spectral_radius = spectral_radius(&open.closed(1.0));
    if spectral_radius.is_nan() || spectral_radius >= 1.0 {
        return Err(MarginError::Unstable { spectral_radius });
    }
    let response = Response::new(open);
    let angles = grid(open)?;
    let values: Vec<Complex<f64>> = angles.iter().map(|angle| response.at(*angle)).collect();
    let samples: Vec<(f64, Complex<f64>)> = angles.into_iter().zip(values).collect();
    let (disk, disk_angle) = disk_margin(&response, &samples);
    let (gain_down, gain_up) = gain_margins(&response, &samples);
    Ok(Margins {
        gain_up,
        gain_down,
        delay_s: delay_margin(&response, &samples) * open.period_s,
        disk,
        disk_frequency_hz: disk_angle / (TAU * open.period_s),
    })
}

/// Angles ωT from near 0 to π: logarithmic, and close around every lightly damped pole.
fn grid(open: &OpenLoop) -> Result<Vec<f64>, MarginError> {
    let lowest = LOWEST * PI;
    let ratio = (1.0 / LOWEST).ln() / (GRID - 1) as f64;
    let mut angles: Vec<f64> = (0..GRID)
        .map(|i| lowest * (ratio * i as f64).exp())
        .collect();
    let poles = eigenvalues(&open.a).ok_or(MarginError::Eigenvalues {
        states: open.a.nrows(),
    })?;
    for pole in poles.iter().filter(|p| p.im > 0.0 && p.norm() > 0.5) {
        // Half the width of a resonance is its distance from the unit circle.
        let width = (1.0 - pole.norm()).abs().max(1e-9);
        angles.extend(
            [-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0].map(|f| pole.arg() + f * width),
        );
    }
    angles.retain(|angle| (lowest..=PI).contains(angle));
    angles.push(PI);
    angles.sort_by(f64::total_cmp);
    Ok(angles)
}

/// α and the angle at which it is taken on.
fn disk_margin(response: &Response, samples: &[(f64, Complex<f64>)]) -> (f64, f64) {
    let size = |l: Complex<f64>| ((l + 1.0) / (Complex::from(1.0) - l)).norm();
    let mut largest = (0.0, 0.0);
    let mut take = |angle: f64, value: f64| {
        if value > largest.0 {
            largest = (value, angle);
        }
    };
    if let Some((angle, l)) = samples.last() {
        take(*angle, size(*l));
    }
    let sampled = samples.iter().map(|(_, l)| size(*l)).fold(0.0, f64::max);
    for three in samples.windows(3) {
        let [before, here, after] = [three[0], three[1], three[2]];
        let value = size(here.1);
        take(here.0, value);
        // A peak between samples of half the height may still be the highest.
        if value >= 0.5 * sampled && value >= size(before.1) && value >= size(after.1) {
            let (angle, value) = peak(before.0, after.0, |angle| size(response.at(angle)));
            take(angle, value);
        }
    }
    (2.0 / largest.0, largest.1)
}

/// The peak between two angles, by golden section.
fn peak(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> (f64, f64) {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    for _ in 0..40 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if value(a) > value(b) {
            high = b;
        } else {
            low = a;
        }
    }
    let middle = 0.5 * (low + high);
    (middle, value(middle))
}

/// The loop closed with the gain g has an eigenvalue on the unit circle where g L = 1: where L is
/// real and positive, at g = 1/L.
fn gain_margins(response: &Response, samples: &[(f64, Complex<f64>)]) -> (f64, f64) {
    let mut critical: Vec<f64> = crossings(samples, |angle| response.at(angle), |l| l.im)
        .into_iter()
        .map(|(_, l)| l.re)
        .collect();
    critical.extend([response.at(0.0).re, response.at(PI).re]);
    let gains = critical.iter().filter(|l| **l > 0.0).map(|l| 1.0 / l);
    gains.fold((0.0, f64::INFINITY), |(down, up): (f64, f64), gain| {
        if gain > 1.0 {
            (down, up.min(gain))
        } else {
            (down.max(gain), up)
        }
    })
}

/// A delay of τ steps turns L by −ωτ: critical where |L| = 1 and the turn brings it to 1. In steps.
fn delay_margin(response: &Response, samples: &[(f64, Complex<f64>)]) -> f64 {
    crossings(samples, |angle| response.at(angle), |l| l.norm() - 1.0)
        .into_iter()
        .map(|(angle, l)| l.arg().rem_euclid(TAU) / angle)
        .fold(f64::INFINITY, f64::min)
}

/// Where a function of L changes sign, by bisection.
fn crossings(
    samples: &[(f64, Complex<f64>)],
    response: impl Fn(f64) -> Complex<f64>,
    function: impl Fn(Complex<f64>) -> f64,
) -> Vec<(f64, Complex<f64>)> {
    let mut found = Vec::new();
    for pair in samples.windows(2) {
        let ((mut low, l_low), (mut high, l_high)) = (pair[0], pair[1]);
        let sign = function(l_low).signum();
        if sign == function(l_high).signum() {
            continue;
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if function(response(middle)).signum() == sign {
                low = middle;
            } else {
                high = middle;
            }
        }
        found.push((high, response(high)));
    }
    found
}

/// L(e^{jωT}) = cᵀ (zI − A)⁻¹ b + d with A reduced once to Hessenberg form, so that one frequency
/// costs n², not n³.
struct Response {
    /// The Hessenberg matrix, row by row.
    rows: Vec<f64>,
    b: DVector<f64>,
    c: DVector<f64>,
    d: f64,
}

impl Response {
    fn new(open: &OpenLoop) -> Self {
        let scale = balance(&open.a);
        let n = scale.len();
        let balanced = DMatrix::from_fn(n, n, |i, j| open.a[(i, j)] * scale[j] / scale[i]);
        let (q, hessenberg) = balanced.hessenberg().unpack();
        Self {
            b: q.transpose() * open.b.component_div(&scale),
            c: q.transpose() * open.c.component_mul(&scale),
            rows: hessenberg.transpose().as_slice().to_vec(),
            d: open.d,
        }
    }

    fn at(&self, angle: f64) -> Complex<f64> {
        let z = Complex::from_polar(1.0, angle);
        let n = self.b.len();
        // Row by row, so that elimination runs along memory.
        let mut m: Vec<Complex<f64>> = self.rows.iter().map(|x| Complex::from(-x)).collect();
        for i in 0..n {
            m[i * n + i] += z;
        }
        let mut x: Vec<Complex<f64>> = self.b.iter().map(|b| Complex::from(*b)).collect();
        // Gauss with row exchange; there is one entry below each diagonal.
        for k in 0..n.saturating_sub(1) {
            let (above, below) = m.split_at_mut((k + 1) * n);
            let (above, below) = (&mut above[k * n + k..], &mut below[k..n]);
            if below[0].norm_sqr() > above[0].norm_sqr() {
                above.swap_with_slice(below);
                x.swap(k, k + 1);
            }
            let factor = below[0] / above[0];
            for (below, above) in below.iter_mut().zip(above.iter()) {
                *below -= factor * above;
            }
            let known = x[k];
            x[k + 1] -= factor * known;
        }
        for k in (0..n).rev() {
            let row = &m[k * n..(k + 1) * n];
            let known: Complex<f64> = row[k + 1..]
                .iter()
                .zip(&x[k + 1..])
                .map(|(m, x)| m * x)
                .sum();
            x[k] = (x[k] - known) / row[k];
        }
        let sum: Complex<f64> = self.c.iter().zip(&x).map(|(c, x)| x * *c).sum();
        sum + self.d
    }
}

/// Units of the states that make rows and columns about equal: accelerations are 1e6 times
/// positions, which would cost six digits.
fn balance(a: &DMatrix<f64>) -> DVector<f64> {
    let mut balanced = a.clone();
    nalgebra::linalg::balancing::balance_parlett_reinsch(&mut balanced)
}
