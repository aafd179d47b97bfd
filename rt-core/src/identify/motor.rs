//! The motor: ü = ω²(g r(t − d) − u) − 2ζω u̇ fitted to references and positions.

use super::frequency::{Delays, held_and_sent, in_equal_ratios, spectrum_at};
use super::{
    Estimate, HeldSystem, IdentifyError, Record, explained_pct, fit_from_best, known_samples,
    require_excited, residuals,
};
use nalgebra::{Complex, DMatrix, DVector};
use std::f64::consts::TAU;

/// What the references and positions say of a motor.
#[derive(Clone, Debug, PartialEq)]
pub struct MotorFit {
    /// Natural frequency ω, in rad/s.
    pub omega_rad_per_s: Estimate,
    /// Damping ratio ζ.
    pub damping_ratio: Estimate,
    /// From the exchange that brings a reference to the exchange that reads the motor's first reaction, in s.
    pub delay_s: Estimate,
    /// Metres that the motor goes for a metre of reference: 1 unless a scale is wrong.
    pub gain: Estimate,
    /// What the model leaves unexplained, in m.
    pub residual_m: f64,
    /// Explained part of the variance, in %.
    pub explained_pct: f64,
}

/// ü = ω²(r − u) − 2ζω u̇, the position as output.
pub fn motor_system(omega: f64, zeta: f64) -> HeldSystem {
    HeldSystem {
        a: DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -omega * omega, -2.0 * zeta * omega]),
        b: DVector::from_vec(vec![0.0, omega * omega]),
        c: DVector::from_vec(vec![1.0, 0.0]),
    }
}

impl MotorFit {
    /// The positions that the fit predicts for a record, in m.
    pub fn predict(&self, record: &Record) -> Vec<f64> {
        let system = motor_system(self.omega_rad_per_s.value, self.damping_ratio.value);
        let inputs = record.inputs();
        let answer = system.respond(inputs, record.period_s, self.delay_s.value);
        answer
            .into_iter()
            .map(|y| inputs.rest + self.gain.value * y)
            .collect()
    }
}

fn positions(record: &Record) -> &[f64] {
    &record.position_m
}

/// Longest delay that is looked for, in s.
const LONGEST_DELAY_S: f64 = 0.04;
/// Least part of the variance that a motor has to explain, in %.
const LEAST_EXPLAINED_PCT: f64 = 50.0;

/// Fits a motor to one or several runs.
pub fn identify_motor(records: &[Record]) -> Result<MotorFit, IdentifyError> {
    require_excited(records, positions)?;
    let period = records[0].period_s;
    // [ω ζ d g | one offset a record]; logarithms keep ω and ζ positive.
    let mut scales = vec![1.0, 1.0, period, 1.0];
    scales.extend(std::iter::repeat_n(1e-3, records.len()));
    let model = |p: &[f64]| -> Vec<Vec<f64>> {
        let system = motor_system(p[0].exp(), p[1].exp());
        let of = |(record, offset): (&Record, &f64)| {
            let answer = system.respond(record.inputs(), record.period_s, p[2]);
            answer.into_iter().map(|y| offset + p[3] * y).collect()
        };
        records.iter().zip(&p[4..]).map(of).collect()
    };
    let known = known_samples(records, positions);
    let misses = |p: &[f64]| residuals(records, positions, &model(p));
    let starts = guesses(records).into_iter().map(|(omega, zeta, delay)| {
        let mut start = vec![omega.ln(), zeta.ln(), delay, 1.0];
        start.extend(records.iter().map(|record| record.inputs().rest));
        start
    });
    let found = fit_from_best(starts.collect(), &scales, known, misses).map_err(|cause| {
        IdentifyError::NotConverged {
            what: "the position",
            cause,
        }
    })?;
    let modelled = model(&found.params).concat();
    let measured: Vec<f64> = records
        .iter()
        .flat_map(|r| r.position_m.iter().copied())
        .collect();
    let explained = explained_pct(&measured, &modelled);
    if explained < LEAST_EXPLAINED_PCT {
        return Err(IdentifyError::NoAnswer {
            what: "the position",
            explained_pct: explained,
        });
    }
    let error = |i: usize| found.covariance[(i, i)].sqrt();
    let positive = |i: usize| {
        let value = found.params[i].exp();
        Estimate {
            value,
            std_error: value * error(i),
        }
    };
    let plain = |i: usize| Estimate {
        value: found.params[i],
        std_error: error(i),
    };
    Ok(MotorFit {
        omega_rad_per_s: positive(0),
        damping_ratio: positive(1),
        delay_s: plain(2),
        gain: plain(3),
        residual_m: found.rms,
        explained_pct: explained,
    })
}

/// A grid in ω and ζ, each with the delay that fits best to the frequency responses.
fn guesses(records: &[Record]) -> Vec<(f64, f64, f64)> {
    let period = records[0].period_s;
    let frequencies = in_equal_ratios(1.0, 0.3 / period, 40);
    let spectra: Vec<_> = records
        .iter()
        .map(|r| {
            let u = spectrum_at(&r.reference_m, period, &frequencies);
            (u, spectrum_at(&r.position_m, period, &frequencies))
        })
        .collect();
    let delays = Delays::up_to(LONGEST_DELAY_S, 0.5 * period, &frequencies);
    let mut all = Vec::new();
    for omega in in_equal_ratios(20.0, 2000.0, 30) {
        for zeta in [0.2, 0.5, 1.0] {
            let motor = |hz: &f64| {
                let w = TAU * hz;
                let below = Complex::new(omega * omega - w * w, 2.0 * zeta * omega * w);
                held_and_sent(*hz, period) * omega * omega / below
            };
            let motor: Vec<Complex<f64>> = frequencies.iter().map(motor).collect();
            all.push((omega, zeta, delays.best(&spectra, &motor).1));
        }
    }
    all
}
