//! Pad, force delay and force filter, fitted to references and forces with motor and specimen known.
//!
//! F = k (u₁ − u_m) + c (u̇₁ − u̇_m) between motor and head, read through a first-order filter and later by a delay.
//! The specimen is either a lumped pantograph whose masses, springs and dampers are known, or clamped (u₁ fixed).
//! A free specimen shows its pad where head mass and pad resonate; a clamped one shows it directly.

use super::frequency::{Delays, in_equal_ratios, spectrum_at};
use super::{
    Estimate, Fit, HeldSystem, IdentifyError, MotorFit, Record, explained_pct, fit_from_best,
    known_samples, require_excited, residuals,
};
use crate::model::pantograph::Pantograph;
use nalgebra::{Complex, DMatrix, DVector};
use std::f64::consts::TAU;

/// What the pad presses against.
#[derive(Clone, Debug, PartialEq)]
pub enum Specimen {
    /// A chain of masses that is known.
    Lumped(Pantograph),
    /// Something that does not give way.
    Clamped,
}

/// What references and forces say of a pad and of how the force is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ForceFit {
    /// Stiffness between motor and specimen, in N/m.
    pub pad_stiffness_n_per_m: Estimate,
    /// Damping beside it, in N s/m.
    pub pad_damping_ns_per_m: Estimate,
    /// From a force at the pad to the exchange that reads it, in s.
    pub delay_s: Estimate,
    /// Corner of the force's first-order filter, in Hz; `None` where the record does not show one.
    pub filter_hz: Option<Estimate>,
    /// What the model leaves unexplained, in N.
    pub residual_n: f64,
    /// Explained part of the variance, in %.
    pub explained_pct: f64,
}

fn forces(record: &Record) -> &[f64] {
    &record.force_n
}

/// What the fit moves.
#[derive(Clone, Copy)]
struct Pad {
    stiffness: f64,
    damping: f64,
    delay: f64,
    /// Time constant of the filter, in s.
    filter: Option<f64>,
}

/// Shortest time constant of a filter that a model has, in s.
const SHORTEST_FILTER_S: f64 = 2e-5;

impl Specimen {
    /// The dynamic stiffness at the head, at an angular frequency; infinite when clamped.
    fn dynamic_stiffness(&self, w: f64) -> Option<Complex<f64>> {
        let Specimen::Lumped(chain) = self else {
            return None;
        };
        // Condensed from the base up: each mass carries what is below it through its spring.
        let mut below: Option<Complex<f64>> = None;
        for mass in chain.masses.iter().rev() {
            let link = Complex::new(mass.stiffness_n_per_m, w * mass.damping_ns_per_m);
            let carried = match below {
                None => link,
                Some(z) if (link + z).norm() > 0.0 => link * z / (link + z),
                Some(_) => Complex::new(0.0, 0.0),
            };
            below = Some(carried - w * w * mass.mass_kg);
        }
        below
    }

    /// Motor, specimen and filter as one system from reference to force.
    fn system(&self, motor: &MotorFit, pad: &Pad) -> HeldSystem {
        let (omega, zeta) = (motor.omega_rad_per_s.value, motor.damping_ratio.value);
        let chain = match self {
            Specimen::Lumped(chain) => Some(chain.matrices()),
            Specimen::Clamped => None,
        };
        let n = chain.as_ref().map_or(0, |m| m.mass.nrows());
        let size = 2 + 2 * n + usize::from(pad.filter.is_some());
        let mut a = DMatrix::zeros(size, size);
        let mut b = DVector::zeros(size);
        let mut c = DVector::zeros(size);
        a[(0, 1)] = 1.0;
        a[(1, 0)] = -omega * omega;
        a[(1, 1)] = -2.0 * zeta * omega;
        b[1] = omega * omega * motor.gain.value;
        let (u, v) = (|i: usize| 2 + 2 * i, |i: usize| 3 + 2 * i);
        // The force as a row over the states.
        let mut force = DVector::zeros(size);
        force[0] = -pad.stiffness;
        force[1] = -pad.damping;
        if let Some(chain) = &chain {
            force[u(0)] = pad.stiffness;
            force[v(0)] = pad.damping;
            for i in 0..n {
                let mass = chain.mass[(i, i)];
                a[(u(i), v(i))] = 1.0;
                for j in 0..n {
                    a[(v(i), u(j))] -= chain.stiffness[(i, j)] / mass;
                    a[(v(i), v(j))] -= chain.damping[(i, j)] / mass;
                }
            }
            for j in 0..size {
                a[(v(0), j)] -= force[j] / chain.mass[(0, 0)];
            }
        }
        match pad.filter {
            None => c = force,
            Some(filter) => {
                let last = size - 1;
                let corner = 1.0 / filter.max(SHORTEST_FILTER_S);
                for j in 0..last {
                    a[(last, j)] = corner * force[j];
                }
                a[(last, last)] = -corner;
                c[last] = 1.0;
            }
        }
        HeldSystem { a, b, c }
    }
}

fn respond(specimen: &Specimen, motor: &MotorFit, pad: &Pad, record: &Record) -> Vec<f64> {
    let system = specimen.system(motor, pad);
    let late = motor.delay_s.value + pad.delay;
    system.respond(record.inputs(), record.period_s, late)
}

impl ForceFit {
    /// The forces that the fit predicts for a record that begins at rest with `static_n`, in N.
    pub fn predict(
        &self,
        specimen: &Specimen,
        motor: &MotorFit,
        record: &Record,
        static_n: f64,
    ) -> Vec<f64> {
        let pad = Pad {
            stiffness: self.pad_stiffness_n_per_m.value,
            damping: self.pad_damping_ns_per_m.value,
            delay: self.delay_s.value,
            filter: self.filter_hz.map(|hz| 1.0 / (TAU * hz.value)),
        };
        let answer = respond(specimen, motor, &pad, record);
        answer.into_iter().map(|y| static_n + y).collect()
    }
}

/// Longest delay of the force that is looked for, in s.
const LONGEST_DELAY_S: f64 = 0.02;
/// Least part of the variance that a pad has to explain, in %.
const LEAST_EXPLAINED_PCT: f64 = 50.0;

/// Fits pad, delay and filter to one or several runs of a motor that was identified before.
pub fn identify_force(
    records: &[Record],
    motor: &MotorFit,
    specimen: &Specimen,
) -> Result<ForceFit, IdentifyError> {
    require_excited(records, forces)?;
    let guesses = guesses(records, motor, specimen);
    let what = "the force";
    let failed = |cause| IdentifyError::NotConverged { what, cause };
    let filtered = fit_from(records, motor, specimen, &guesses);
    // A corner that the record does not show is left out, rather than stated with an error larger than itself.
    let shows_filter = filtered.as_ref().is_ok_and(|found| {
        let lag = found.params[3].exp();
        found.covariance[(3, 3)].sqrt() < 0.25 && lag > 2.0 * SHORTEST_FILTER_S
    });
    let found = if shows_filter {
        filtered.map_err(failed)?
    } else {
        let unfiltered = |pad: &Pad| Pad {
            filter: None,
            ..*pad
        };
        let guesses: Vec<Pad> = guesses.iter().map(unfiltered).collect();
        fit_from(records, motor, specimen, &guesses).map_err(failed)?
    };
    let modelled = model(records, motor, specimen, &found.params, shows_filter).concat();
    let measured: Vec<f64> = records
        .iter()
        .flat_map(|r| r.force_n.iter().copied())
        .collect();
    let explained = explained_pct(&measured, &modelled);
    if explained < LEAST_EXPLAINED_PCT {
        return Err(IdentifyError::NoAnswer {
            what,
            explained_pct: explained,
        });
    }
    let error = |i: usize| found.covariance[(i, i)].sqrt();
    let stiffness = found.params[0].exp();
    Ok(ForceFit {
        pad_stiffness_n_per_m: Estimate {
            value: stiffness,
            std_error: stiffness * error(0),
        },
        pad_damping_ns_per_m: Estimate {
            value: found.params[1],
            std_error: error(1),
        },
        delay_s: Estimate {
            value: found.params[2],
            std_error: error(2),
        },
        filter_hz: shows_filter.then(|| {
            let hz = 1.0 / (TAU * found.params[3].exp());
            Estimate {
                value: hz,
                std_error: hz * error(3),
            }
        }),
        residual_n: found.rms,
        explained_pct: explained,
    })
}

/// Forces of all records by parameters [ln k, c, d, (ln τ) | one offset a record].
fn model(
    records: &[Record],
    motor: &MotorFit,
    specimen: &Specimen,
    p: &[f64],
    is_filtered: bool,
) -> Vec<Vec<f64>> {
    let pad = Pad {
        stiffness: p[0].exp(),
        damping: p[1],
        delay: p[2],
        filter: is_filtered.then(|| p[3].exp()),
    };
    let offsets = &p[3 + usize::from(is_filtered)..];
    let of = |(record, offset): (&Record, &f64)| {
        let answer = respond(specimen, motor, &pad, record);
        answer.into_iter().map(|y| offset + y).collect()
    };
    records.iter().zip(offsets).map(of).collect()
}

fn fit_from(
    records: &[Record],
    motor: &MotorFit,
    specimen: &Specimen,
    guesses: &[Pad],
) -> Result<Fit, super::FitError> {
    let is_filtered = guesses.iter().any(|pad| pad.filter.is_some());
    let mut scales = vec![1.0, 100.0, records[0].period_s];
    scales.extend(is_filtered.then_some(1.0));
    scales.extend(records.iter().map(|_| 1.0));
    let first = |record: &Record| record.force_n.iter().copied().find(|x| x.is_finite());
    let starts = guesses.iter().map(|pad| {
        let mut p = vec![pad.stiffness.ln(), pad.damping, pad.delay];
        p.extend(pad.filter.map(f64::ln));
        p.extend(records.iter().map(|record| first(record).unwrap_or(0.0)));
        p
    });
    let known = known_samples(records, forces);
    fit_from_best(starts.collect(), &scales, known, |p| {
        let modelled = model(records, motor, specimen, p, is_filtered);
        residuals(records, forces, &modelled)
    })
}

/// Guesses that are passed on to the time domain.
const GUESSES: usize = 12;

/// The best of a grid in stiffness, damping and lag, by responses from the motor's position to the force.
fn guesses(records: &[Record], motor: &MotorFit, specimen: &Specimen) -> Vec<Pad> {
    let period = records[0].period_s;
    let frequencies = in_equal_ratios(1.0, 0.3 / period, 60);
    let spectra: Vec<_> = records
        .iter()
        .map(|r| {
            // The model's position: beyond what noise lets through, the measured one is noise.
            let position = motor.predict(r);
            let u = spectrum_at(&position, period, &frequencies);
            (u, spectrum_at(&r.force_n, period, &frequencies))
        })
        .collect();
    let delays = Delays::up_to(LONGEST_DELAY_S, 0.5 * period, &frequencies);
    let filter = 1.0 / (TAU * 150.0);
    let specimens: Vec<_> = frequencies
        .iter()
        .map(|hz| specimen.dynamic_stiffness(TAU * hz))
        .collect();
    let mut all = Vec::new();
    for stiffness in in_equal_ratios(5e3, 5e7, 160) {
        for damping in [5.0, 100.0] {
            let force = |(hz, specimen): (&f64, &Option<Complex<f64>>)| {
                let w = TAU * hz;
                let pad = Complex::new(stiffness, w * damping);
                let pressed = specimen.map_or(-pad, |z| -pad * z / (pad + z));
                pressed / Complex::new(1.0, w * filter)
            };
            let response = frequencies.iter().zip(&specimens).map(force);
            let response: Vec<Complex<f64>> = response.collect();
            let (mismatch, delay) = delays.best(&spectra, &response);
            let pad = Pad {
                stiffness,
                damping,
                delay,
                filter: Some(filter),
            };
            all.push((mismatch, pad));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().take(GUESSES).map(|(_, pad)| pad).collect()
}
