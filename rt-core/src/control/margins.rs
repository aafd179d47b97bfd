//! How much a closed loop can bear: gain, delay, and both at once (disk), at one cut channel.
//!
//! With L the response from after the cut to before it, the loop closes with s = L s. Its
//! sensitivity follows from the eigenvalues of the matrices of the closed loop, m, and of the cut
//! one, a (matrix determinant lemma):
//!
//!   S = 1/(1 − L) = Π (z − a_k) / ((1 − d) Π (z − m_k)),
//!
//! so that a frequency costs two products. In terms of S: |S − T| = |2S − 1|, L is real where S is,
//! and |L| = 1 where Re S = ½.

use super::closed_loop::OpenLoop;
use super::spectrum::eigenvalues;
use nalgebra::Complex;
use std::f64::consts::{PI, TAU};

/// Distance of samples, as a share of the distance to the nearest pole: the radius within which S
/// can be expanded in powers.
const RESOLUTION: f64 = 0.25;
/// Smallest distance to a pole that is resolved.
const NEAREST_POLE: f64 = 1e-9;
/// Precision of critical angles in rad.
const ANGLE_PRECISION: f64 = 1e-12;
/// Secants after which a critical angle is as precise as it gets.
const MOST_SECANTS: usize = 60;

/// Margins of a stable loop at one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Smallest gain above 1 that destabilises; infinite if none does.
    pub gain_up: f64,
    /// At which frequency, in Hz; 0 if none does.
    pub gain_up_hz: f64,
    /// Largest gain below 1 that destabilises; 0 if none does.
    pub gain_down: f64,
    /// At which frequency, in Hz; 0 if none does.
    pub gain_down_hz: f64,
    /// Smallest additional delay that destabilises, in s; infinite if none does.
    pub delay_s: f64,
    /// At which frequency, in Hz; 0 if none does.
    pub delay_hz: f64,
    /// Smallest turn of the phase to either side that destabilises, in rad; infinite if none does.
    pub phase_rad: f64,
    /// At which frequency, in Hz; 0 if none does.
    pub phase_hz: f64,
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
    let closed = open.closed(1.0);
    let states = closed.nrows();
    let poles = eigenvalues(&closed).ok_or(MarginError::Eigenvalues { states })?;
    margins_with_poles(open, &poles, 0.0)
}

/// The same with the eigenvalues of the closed loop, the largest first, which are the same wherever
/// it is cut, and the disk margin from a frequency in Hz on.
pub fn margins_with_poles(
    open: &OpenLoop,
    poles: &[Complex<f64>],
    disk_from_hz: f64,
) -> Result<Margins, MarginError> {
    let spectral_radius = poles.first().map_or(0.0, |z| z.norm());
    if spectral_radius.is_nan() || spectral_radius >= 1.0 {
        return Err(MarginError::Unstable { spectral_radius });
    }
    let states = open.a.nrows();
    let zeros = eigenvalues(&open.a).ok_or(MarginError::Eigenvalues { states })?;
    let sensitivity = Sensitivity {
        zeros: &zeros,
        poles,
        gain: 1.0 / (1.0 - open.d),
    };
    let samples = sensitivity.samples();
    let disk_from = (TAU * disk_from_hz * open.period_s).min(PI);
    let below = samples.partition_point(|sample| sample.angle < disk_from);
    let (disk, disk_angle) = disk_margin(&sensitivity, &samples[below..]);
    let (gain_down, gain_up) = gain_margins(&sensitivity, &samples);
    let (delay, phase) = turn_margins(&sensitivity, &samples);
    let hz = |angle: f64| angle / (TAU * open.period_s);
    Ok(Margins {
        gain_up: gain_up.size,
        gain_up_hz: hz(gain_up.angle),
        gain_down: gain_down.size,
        gain_down_hz: hz(gain_down.angle),
        delay_s: delay.size * open.period_s,
        delay_hz: hz(delay.angle),
        phase_rad: phase.size,
        phase_hz: hz(phase.angle),
        disk,
        disk_frequency_hz: hz(disk_angle),
    })
}

/// S at an angle ωT.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    angle: f64,
    pub(super) s: Complex<f64>,
}

pub(super) struct Sensitivity<'a> {
    /// Eigenvalues of the cut loop.
    pub(super) zeros: &'a [Complex<f64>],
    /// Eigenvalues of the closed loop.
    pub(super) poles: &'a [Complex<f64>],
    /// 1/(1 − d).
    pub(super) gain: f64,
}

impl Sensitivity<'_> {
    pub(super) fn at(&self, angle: f64) -> Sample {
        let z = Complex::from_polar(1.0, angle);
        let s = product(z, self.zeros) / product(z, self.poles) * self.gain;
        Sample { angle, s }
    }

    /// From 0 to π, close where a pole is close.
    fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        let mut angle = 0.0;
        while angle < PI {
            samples.push(self.at(angle));
            let z = Complex::from_polar(1.0, angle);
            let nearest = self.poles.iter().map(|p| (z - p).norm_sqr());
            let nearest = nearest.fold(f64::INFINITY, f64::min).sqrt();
            angle += RESOLUTION * nearest.max(NEAREST_POLE);
        }
        samples.push(self.at(PI));
        samples
    }
}

/// Π (z − root) in four partial products, so that multiplications need not wait for each other.
fn product(z: Complex<f64>, roots: &[Complex<f64>]) -> Complex<f64> {
    let mut partial = [Complex::from(1.0); 4];
    for four in roots.chunks(partial.len()) {
        for (partial, root) in partial.iter_mut().zip(four) {
            *partial *= z - root;
        }
    }
    partial.iter().product()
}

/// α = 2 / max|2S − 1| and the angle at which it is taken on.
fn disk_margin(sensitivity: &Sensitivity, samples: &[Sample]) -> (f64, f64) {
    let size = |sample: &Sample| (2.0 * sample.s - 1.0).norm();
    let sizes: Vec<f64> = samples.iter().map(size).collect();
    let sampled = sizes.iter().copied().fold(0.0, f64::max);
    let mut largest = (0.0, 0.0);
    for (i, (sample, value)) in samples.iter().zip(&sizes).enumerate() {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(samples.len() - 1));
        let mut found = (*value, sample.angle);
        // A peak between samples of half the height may still be the highest.
        if *value >= 0.5 * sampled && *value >= sizes[before] && *value >= sizes[after] {
            let ends = (samples[before].angle, samples[after].angle);
            found = peak(ends, |angle| size(&sensitivity.at(angle)));
        }
        if found.0 > largest.0 {
            largest = found;
        }
    }
    (2.0 / largest.0, largest.1)
}

/// The peak between two angles and where it is, by golden section. Its height is exact to the
/// square of the precision of its place.
fn peak((mut low, mut high): (f64, f64), value: impl Fn(f64) -> f64) -> (f64, f64) {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (value(a), value(b));
    for _ in 0..30 {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = value(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = value(b);
        }
    }
    if at_a > at_b { (at_a, a) } else { (at_b, b) }
}

/// A change that destabilises, and at which angle.
#[derive(Clone, Copy)]
struct Critical {
    size: f64,
    angle: f64,
}

impl Critical {
    const NEVER: Self = Self {
        size: f64::INFINITY,
        angle: 0.0,
    };

    fn smaller(self, other: Self) -> Self {
        if other.size < self.size { other } else { self }
    }
}

/// The loop closed with the gain g has an eigenvalue on the unit circle where g L = 1: where S is
/// real and g = 1/L = S/(S − 1) is positive. The nearest below 1 and above.
fn gain_margins(sensitivity: &Sensitivity, samples: &[Sample]) -> (Critical, Critical) {
    let inside = crossings(sensitivity, samples, |s| s.im);
    // At both ends S is real without a change of sign.
    let ends = [samples.first(), samples.last()];
    let all = inside.chain(ends.into_iter().flatten().copied());
    let gains = all.map(|Sample { angle, s }| Critical {
        size: s.re / (s.re - 1.0),
        angle,
    });
    let none = Critical {
        size: 0.0,
        angle: 0.0,
    };
    gains
        .filter(|gain| gain.size > 0.0)
        .fold((none, Critical::NEVER), |(down, up), gain| {
            if gain.size > 1.0 {
                (down, up.smaller(gain))
            } else if gain.size > down.size {
                (gain, up)
            } else {
                (down, up)
            }
        })
}

/// A delay of τ steps turns L by −ωτ: critical where |L| = 1 and the turn brings it to 1. The smallest
/// delay, in steps, and the smallest turn to either side.
fn turn_margins(sensitivity: &Sensitivity, samples: &[Sample]) -> (Critical, Critical) {
    crossings(sensitivity, samples, |s| s.re - 0.5).fold(
        (Critical::NEVER, Critical::NEVER),
        |(delay, phase), Sample { angle, s }| {
            let turn = (1.0 - s.inv()).arg();
            let later = Critical {
                size: turn.rem_euclid(TAU) / angle,
                angle,
            };
            let turned = Critical {
                size: turn.abs(),
                angle,
            };
            (delay.smaller(later), phase.smaller(turned))
        },
    )
}

/// Where a function of S changes sign.
fn crossings<'a>(
    sensitivity: &'a Sensitivity,
    samples: &'a [Sample],
    function: impl Fn(Complex<f64>) -> f64 + Copy + 'a,
) -> impl Iterator<Item = Sample> + 'a {
    samples.windows(2).filter_map(move |pair| {
        let change = function(pair[0].s).signum() != function(pair[1].s).signum();
        change.then(|| crossing(sensitivity, (pair[0], pair[1]), function))
    })
}

/// By secants between both ends; the value at an end that stays twice is halved (Illinois).
fn crossing(
    sensitivity: &Sensitivity,
    (mut low, mut high): (Sample, Sample),
    function: impl Fn(Complex<f64>) -> f64,
) -> Sample {
    let (mut at_low, mut at_high) = (function(low.s), function(high.s));
    let (mut found, mut low_moved) = (high, None);
    // Six are usual.
    for _ in 0..MOST_SECANTS {
        let before = found.angle;
        let share = at_low / (at_low - at_high);
        found = sensitivity.at(low.angle + share * (high.angle - low.angle));
        if (found.angle - before).abs() < ANGLE_PRECISION {
            break;
        }
        let value = function(found.s);
        let moves_low = value.signum() == at_low.signum();
        let again = low_moved == Some(moves_low);
        if moves_low {
            (low, at_low) = (found, value);
            at_high *= if again { 0.5 } else { 1.0 };
        } else {
            (high, at_high) = (found, value);
            at_low *= if again { 0.5 } else { 1.0 };
        }
        low_moved = Some(moves_low);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// L = d − k/(z − a) maps the unit circle to a circle around a real number, so that gains and
    /// disk are taken on at z = ±1. |L| = 1 is a quadratic for cos ωT where d = 0.
    #[test]
    fn one_state_has_the_margins_of_its_closed_form() {
        for (a, k, d) in [
            (0.5, 0.8, 0.0),
            (1.3, 1.0, 0.0),
            (0.5, 0.8, 0.3),
            (-0.2, 0.3, -0.5),
        ] {
            let open = OpenLoop {
                a: DMatrix::from_element(1, 1, a),
                b: DVector::from_element(1, 1.0),
                c: DVector::from_element(1, -k),
                d,
                period_s: 2e-3,
            };
            let found = margins(&open).unwrap();
            let l = |z: f64| d - k / (z - a);
            let gains = [1.0 / l(1.0), 1.0 / l(-1.0)];
            let positive = || gains.into_iter().filter(|g| *g > 0.0);
            let up = positive()
                .filter(|g| *g > 1.0)
                .fold(f64::INFINITY, f64::min);
            let down = positive().filter(|g| *g < 1.0).fold(0.0, f64::max);
            let size = |l: f64| ((1.0 + l) / (1.0 - l)).abs();
            let disk = 2.0 / size(l(1.0)).max(size(l(-1.0)));
            let what = format!("{a} {k} {d}: {found:?}, expected {up} {down} {disk}");
            let close = |found: f64, expected: f64| {
                found == expected || (found / expected - 1.0).abs() < 1e-12
            };
            assert!(
                close(found.gain_up, up) && close(found.gain_down, down),
                "{what}"
            );
            assert!(close(found.disk, disk), "{what}");
            let at = |gain: f64| if gain == gains[0] { 0.0 } else { 250.0 };
            for (gain, hz) in [(up, found.gain_up_hz), (down, found.gain_down_hz)] {
                let is_there = positive().any(|g| g == gain);
                assert!(!is_there || (hz - at(gain)).abs() < 1e-9, "{what}");
            }
            if d == 0.0 {
                let cosine = (1.0 + a * a - k * k) / (2.0 * a);
                let z = Complex::from_polar(1.0, cosine.acos());
                let turn = (-k / (z - a)).arg().rem_euclid(TAU);
                let delay = 2e-3 * turn / cosine.acos();
                assert!(close(found.delay_s, delay), "{what}, {delay}");
                let hz = cosine.acos() / (TAU * 2e-3);
                assert!(
                    close(found.delay_hz, hz) && close(found.phase_hz, hz),
                    "{what}, {hz}"
                );
                let nearest = turn.min(TAU - turn);
                assert!(close(found.phase_rad, nearest), "{what}, {nearest}");
            }
        }
    }
}
