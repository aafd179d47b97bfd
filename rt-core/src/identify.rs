//! Identification of a rig from what it answered: motor, delays, pad, force filter, noise.
//!
//! The method is output error: a linear model is driven by the references that were really sent, its output is
//! compared with what was measured at the same instants, and its parameters minimise the sum of squares. The
//! model holds each reference for a cycle exactly, and the cycle that the loop itself needs to send it is part of
//! the data, so that neither is mistaken for a delay of the rig. A search over frequency responses gives the start,
//! Levenberg–Marquardt in the time domain the end, and the residuals there the confidence.

mod frequency;
mod held;
mod joint;
mod least_squares;
mod motor;
mod pad;

pub use held::{HeldSystem, Inputs};
pub use joint::identify_together;
pub use least_squares::{Fit, FitError, fit, fit_from_best};
pub use motor::{MotorFit, identify_motor, motor_system};
pub use pad::{ForceFit, Specimen, identify_force};

/// What one run gave, tick by tick from its first; ticks that were skipped or not understood hold NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The loop's period, in s.
    pub period_s: f64,
    /// The reference in the frame of each tick, in m: it is sent with the exchange of the next one.
    pub reference_m: Vec<f64>,
    /// The measured position, in m.
    pub position_m: Vec<f64>,
    /// The measured force, in N.
    pub force_n: Vec<f64>,
}

impl Record {
    /// The references as deviations from the first.
    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            sent: &self.reference_m,
            rest: self.reference_m.first().copied().unwrap_or(0.0),
        }
    }
}

/// A value with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
}

/// The 97.5 % point of the normal distribution: records have thousands of samples.
const CONFIDENCE_95: f64 = 1.959_963_985;

impl Estimate {
    /// The interval that holds the truth in 95 of 100 cases, if the model is right and the noise is white.
    pub fn interval_95(&self) -> (f64, f64) {
        let half = CONFIDENCE_95 * self.std_error;
        (self.value - half, self.value + half)
    }
}

/// Why a record does not identify anything.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IdentifyError {
    /// Too few samples are known.
    #[error("{found} samples are known; at least {needed} are needed: run for longer")]
    TooShort {
        /// How many are known.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// The reference hardly moved.
    #[error("the reference moved by {moved_um:.2} µm in all: there is nothing to identify from")]
    NotExcited {
        /// How far it moved, in µm.
        moved_um: f64,
    },
    /// The measured signal does not follow.
    #[error(
        "{what} does not answer to the reference (the best fit explains {explained_pct:.1} % of it): check wiring, \
         scaling and that the drive moves"
    )]
    NoAnswer {
        /// Which signal.
        what: &'static str,
        /// Explained part of the variance, in %.
        explained_pct: f64,
    },
    /// The minimum was not found.
    #[error("the fit of {what} did not converge: {cause}")]
    NotConverged {
        /// Which signal.
        what: &'static str,
        /// Why.
        cause: FitError,
    },
}

/// Part of the variance that a model explains, in %; unknown samples do not count.
pub fn explained_pct(measured: &[f64], modelled: &[f64]) -> f64 {
    let known = || {
        let pairs = measured.iter().zip(modelled);
        pairs.filter(|(m, p)| m.is_finite() && p.is_finite())
    };
    let count = known().count().max(1) as f64;
    let mean = known().map(|(m, _)| m).sum::<f64>() / count;
    let all: f64 = known().map(|(m, _)| (m - mean).powi(2)).sum();
    let left: f64 = known().map(|(m, p)| (m - p).powi(2)).sum();
    if all > 0.0 {
        100.0 * (1.0 - left / all)
    } else {
        0.0
    }
}

/// Standard deviation about the mean, of the known samples; `None` for less than two.
pub fn noise_floor(samples: &[f64]) -> Option<f64> {
    let known: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    if known.len() < 2 {
        return None;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let squares: f64 = known.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (known.len() - 1) as f64).sqrt())
}

/// Least samples that a fit is made of.
const LEAST_SAMPLES: usize = 200;
/// A reference that moved less than this in all is no excitation, in m.
const LEAST_MOVE_M: f64 = 2e-6;

fn require_excited(records: &[Record], pick: fn(&Record) -> &[f64]) -> Result<(), IdentifyError> {
    let found = records
        .iter()
        .flat_map(pick)
        .filter(|x| x.is_finite())
        .count();
    if found < LEAST_SAMPLES {
        return Err(IdentifyError::TooShort {
            found,
            needed: LEAST_SAMPLES,
        });
    }
    let moved = records.iter().map(|record| {
        let known = || record.reference_m.iter().filter(|x| x.is_finite());
        let high = known().fold(f64::MIN, |a, &b| a.max(b));
        high - known().fold(f64::MAX, |a, &b| a.min(b))
    });
    let moved = moved.fold(0.0, f64::max);
    if moved < LEAST_MOVE_M {
        return Err(IdentifyError::NotExcited {
            moved_um: moved * 1e6,
        });
    }
    Ok(())
}

/// Measured minus modelled of all records; 0 where nothing is known.
fn residuals(
    records: &[Record],
    measured: fn(&Record) -> &[f64],
    modelled: &[Vec<f64>],
) -> Vec<f64> {
    let difference = |(m, p): (&f64, &f64)| if m.is_finite() { m - p } else { 0.0 };
    let of = |(record, model): (&Record, &Vec<f64>)| {
        let pairs = measured(record).iter().zip(model);
        pairs.map(difference).collect::<Vec<f64>>()
    };
    records.iter().zip(modelled).flat_map(of).collect()
}

fn known_samples(records: &[Record], measured: fn(&Record) -> &[f64]) -> usize {
    let all = records.iter().flat_map(measured);
    all.filter(|x| x.is_finite()).count()
}

#[cfg(test)]
mod tests;
