//! Where in the plane of two parameters the whole loop is stable.

use super::assessment::{AssessmentError, Prepared, Tuning, check_delay};
use super::lqg::LqgGains;
use super::spectrum::spectral_radius;
use crate::file::{FieldError, require_positive};

/// ρ of the loop over Q/R and k_i.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StabilityMap {
    /// Q/R of each row.
    pub q_over_r: Vec<f64>,
    /// k_i of each column in N/m.
    pub k_i: Vec<f64>,
    /// Spectral radius of the loop; `None` where there are no gains.
    pub rho: Vec<Vec<Option<f64>>>,
}

/// ρ of the loop over extra delay and k_i.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DelayMap {
    /// Extra delay of each row in cycles.
    pub extra_delay_steps: Vec<usize>,
    /// k_i of each column in N/m.
    pub k_i: Vec<f64>,
    /// Spectral radius of the loop; `None` where there are no gains.
    pub rho: Vec<Vec<Option<f64>>>,
}

/// Values in equal ratios, both ends included.
pub fn logarithmic_grid(low: f64, high: f64, points: usize) -> Result<Vec<f64>, FieldError> {
    require_positive("low", low, "")?;
    require_positive("high", high, "")?;
    if points < 2 {
        let problem = format!("are {points}; expected at least 2");
        return Err(FieldError::new("points", problem));
    }
    let last = (points - 1) as f64;
    Ok((0..points)
        .map(|i| low * (high / low).powf(i as f64 / last))
        .collect())
}

/// Maps ρ over Q/R (with the tuning's R) and k_i; everything else is the tuning's.
pub fn stability_map(
    prepared: &Prepared,
    tuning: &Tuning,
    q_over_r: &[f64],
    k_i: &[f64],
    threads: usize,
) -> Result<StabilityMap, AssessmentError> {
    for ratio in q_over_r {
        Tuning {
            q: ratio * tuning.r,
            ..*tuning
        }
        .check()?;
    }
    let rho = by_columns(tuning, k_i, threads, q_over_r.len(), |tuning| {
        let plant = tuning.applied_to(prepared.rig()).plant()?;
        let kalman = tuning.observer(&plant).ok();
        Ok(q_over_r
            .iter()
            .map(|ratio| {
                let tuning = Tuning {
                    q: ratio * tuning.r,
                    ..*tuning
                };
                let lqr = tuning.regulator(&plant).ok()?;
                let gains = LqgGains {
                    lqr,
                    kalman: kalman?,
                };
                let parts = prepared.loop_parts(&tuning, Some(gains));
                Some(spectral_radius(&parts.matrix()))
            })
            .collect())
    })?;
    Ok(StabilityMap {
        q_over_r: q_over_r.to_vec(),
        k_i: k_i.to_vec(),
        rho,
    })
}

/// Maps ρ over an extra delay, in place of that of the surroundings, and k_i.
pub fn delay_map(
    prepared: &Prepared,
    tuning: &Tuning,
    extra_delay_steps: &[usize],
    k_i: &[f64],
    threads: usize,
) -> Result<DelayMap, AssessmentError> {
    for steps in extra_delay_steps {
        check_delay(*steps)?;
    }
    let rho = by_columns(tuning, k_i, threads, extra_delay_steps.len(), |tuning| {
        let gains = tuning.gains(prepared.rig()).ok();
        Ok(extra_delay_steps
            .iter()
            .map(|steps| {
                let mut parts = prepared.loop_parts(tuning, Some(gains?));
                parts.extra_delay_steps = *steps;
                Some(spectral_radius(&parts.matrix()))
            })
            .collect())
    })?;
    Ok(DelayMap {
        extra_delay_steps: extra_delay_steps.to_vec(),
        k_i: k_i.to_vec(),
        rho,
    })
}

type Column = Vec<Option<f64>>;

/// One column for each k_i, shared among threads; returned row by row.
fn by_columns(
    tuning: &Tuning,
    k_i: &[f64],
    threads: usize,
    rows: usize,
    column: impl Fn(&Tuning) -> Result<Column, AssessmentError> + Sync,
) -> Result<Vec<Column>, AssessmentError> {
    let tunings: Vec<Tuning> = k_i
        .iter()
        .map(|k_i| Tuning {
            k_i_n_per_m: *k_i,
            ..*tuning
        })
        .collect();
    for tuning in &tunings {
        tuning.check()?;
    }
    let mut columns: Vec<Result<Column, AssessmentError>> =
        tunings.iter().map(|_| Ok(Vec::new())).collect();
    let share = tunings.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        for (tunings, columns) in tunings.chunks(share).zip(columns.chunks_mut(share)) {
            let column = &column;
            scope.spawn(move || {
                for (tuning, found) in tunings.iter().zip(columns) {
                    *found = column(tuning);
                }
            });
        }
    });
    let columns: Vec<Column> = columns.into_iter().collect::<Result<_, _>>()?;
    Ok((0..rows)
        .map(|row| {
            columns
                .iter()
                .map(|c| c.get(row).copied().flatten())
                .collect()
        })
        .collect())
}
