//! Motor and pad fitted together: the force tells of the motor too, and what is uncertain of the motor belongs into the
//! confidence of the pad.
//!
//! Positions and forces are weighed by what the separate fits left unexplained, so that a specimen which is not quite
//! that of its file weighs less than a motor that is understood.

use super::{
    Estimate, FitError, ForceFit, IdentifyError, MotorFit, Record, Specimen, explained_pct, fit,
    known_samples, motor_system, residuals,
};
use std::f64::consts::TAU;

const LN_OMEGA: usize = 0;
const LN_ZETA: usize = 1;
const DELAY: usize = 2;
const GAIN: usize = 3;
const LN_STIFFNESS: usize = 4;
const DAMPING: usize = 5;
const FORCE_DELAY: usize = 6;
const LN_FILTER: usize = 7;

/// Refines both fits on the same records. `motor` and `force` come from the separate fits.
pub fn identify_together(
    records: &[Record],
    motor: &MotorFit,
    force: &ForceFit,
    specimen: &Specimen,
) -> Result<(MotorFit, ForceFit), IdentifyError> {
    let is_filtered = force.filter_hz.is_some();
    let first_offset = LN_FILTER + usize::from(is_filtered);
    let period = records[0].period_s;
    let mut start = vec![
        motor.omega_rad_per_s.value.ln(),
        motor.damping_ratio.value.ln(),
        motor.delay_s.value,
        motor.gain.value,
        force.pad_stiffness_n_per_m.value.ln(),
        force.pad_damping_ns_per_m.value,
        force.delay_s.value,
    ];
    let mut scales = vec![1.0, 1.0, period, 1.0, 1.0, 100.0, period];
    if let Some(hz) = force.filter_hz {
        start.push(-(TAU * hz.value).ln());
        scales.push(1.0);
    }
    for record in records {
        start.push(record.inputs().rest);
        scales.push(1e-3);
    }
    for record in records {
        let first = record.force_n.iter().copied().find(|x| x.is_finite());
        start.push(first.unwrap_or(0.0));
        scales.push(1.0);
    }
    let motor_of = |p: &[f64]| {
        let mut m = motor.clone();
        m.omega_rad_per_s.value = p[LN_OMEGA].exp();
        m.damping_ratio.value = p[LN_ZETA].exp();
        m.delay_s.value = p[DELAY];
        m.gain.value = p[GAIN];
        m
    };
    let force_of = |p: &[f64]| {
        let mut f = force.clone();
        f.pad_stiffness_n_per_m.value = p[LN_STIFFNESS].exp();
        f.pad_damping_ns_per_m.value = p[DAMPING];
        f.delay_s.value = p[FORCE_DELAY];
        if let Some(hz) = &mut f.filter_hz {
            hz.value = (-p[LN_FILTER]).exp() / TAU;
        }
        f
    };
    let modelled = |p: &[f64]| -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let (m, f) = (motor_of(p), force_of(p));
        let system = motor_system(m.omega_rad_per_s.value, m.damping_ratio.value);
        let offsets = &p[first_offset..];
        let positions = records.iter().zip(offsets).map(|(record, offset)| {
            let answer = system.respond(record.inputs(), record.period_s, m.delay_s.value);
            answer
                .into_iter()
                .map(|y| offset + m.gain.value * y)
                .collect()
        });
        let static_forces = &offsets[records.len()..];
        let forces = records.iter().zip(static_forces);
        let forces = forces.map(|(record, offset)| f.predict(specimen, &m, record, *offset));
        (positions.collect(), forces.collect())
    };
    let (position_weight, force_weight) = (1.0 / motor.residual_m, 1.0 / force.residual_n);
    let misses = |p: &[f64]| {
        let (positions, forces) = modelled(p);
        let mut all = residuals(records, |r| &r.position_m, &positions);
        all.iter_mut().for_each(|x| *x *= position_weight);
        let forces = residuals(records, |r| &r.force_n, &forces);
        all.extend(forces.into_iter().map(|x| x * force_weight));
        all
    };
    let known = known_samples(records, |r| &r.position_m) + known_samples(records, |r| &r.force_n);
    let failed = |cause: FitError| IdentifyError::NotConverged {
        what: "position and force together",
        cause,
    };
    let found = fit(&start, &scales, known, misses).map_err(failed)?;
    let p = &found.params;
    let error = |i: usize| found.covariance[(i, i)].sqrt();
    let (mut m, mut f) = (motor_of(p), force_of(p));
    let positive = |e: &mut Estimate, i: usize| e.std_error = e.value * error(i);
    positive(&mut m.omega_rad_per_s, LN_OMEGA);
    positive(&mut m.damping_ratio, LN_ZETA);
    positive(&mut f.pad_stiffness_n_per_m, LN_STIFFNESS);
    m.delay_s.std_error = error(DELAY);
    m.gain.std_error = error(GAIN);
    f.pad_damping_ns_per_m.std_error = error(DAMPING);
    f.delay_s.std_error = error(FORCE_DELAY);
    if let Some(hz) = &mut f.filter_hz {
        positive(hz, LN_FILTER);
    }
    let (positions, forces) = modelled(p);
    let all =
        |pick: fn(&Record) -> &[f64]| records.iter().flat_map(pick).copied().collect::<Vec<f64>>();
    let left = |pick: fn(&Record) -> &[f64], model: &[Vec<f64>]| {
        let squares: f64 = residuals(records, pick, model).iter().map(|x| x * x).sum();
        (squares / known_samples(records, pick).max(1) as f64).sqrt()
    };
    m.residual_m = left(|r| &r.position_m, &positions);
    f.residual_n = left(|r| &r.force_n, &forces);
    m.explained_pct = explained_pct(&all(|r| &r.position_m), &positions.concat());
    f.explained_pct = explained_pct(&all(|r| &r.force_n), &forces.concat());
    Ok((m, f))
}
