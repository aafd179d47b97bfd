//! Nonlinear least squares by Levenberg and Marquardt, with the covariance of the parameters.

use nalgebra::{DMatrix, DVector};

/// A minimum of a sum of squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The parameters.
    pub params: Vec<f64>,
    /// Their covariance s²(JᵀJ)⁻¹ for white residuals of variance s².
    pub covariance: DMatrix<f64>,
    /// Root mean square of the residuals, by degrees of freedom.
    pub rms: f64,
    /// Steps that were taken.
    pub iterations: usize,
}

/// Why there is no minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The model gives no number at its start.
    #[error("the model gives no number where the search begins")]
    NotFinite,
    /// The parameters do not act separately on the residuals.
    #[error("the record does not tell the parameters apart")]
    Singular,
    /// Too many steps.
    #[error("no minimum within {MOST_ITERATIONS} steps")]
    TooManySteps,
}

/// Steps after which a search is given up.
const MOST_ITERATIONS: usize = 60;
/// A step that changes no parameter by more than this part of its scale ends the search.
const TOLERANCE: f64 = 1e-9;
/// A step that lowers the sum of squares by less than this part of a residual's variance ends it too: the parameters
/// are then within 1/1000 of their standard errors.
const FLAT: f64 = 1e-6;

/// Minimises |r(p)|² from `start`. `scales` are sizes by which the parameters differ noticeably: derivatives are
/// central differences over 10⁻⁵ of them. `known` is how many residuals carry information.
pub fn fit(
    start: &[f64],
    scales: &[f64],
    known: usize,
    residuals: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<Fit, FitError> {
    let n = start.len();
    let mut p = start.to_vec();
    let mut r = residuals(&p);
    let mut cost = sum_of_squares(&r);
    if !cost.is_finite() {
        return Err(FitError::NotFinite);
    }
    let mut damping = 1e-3;
    for iteration in 0..MOST_ITERATIONS {
        let j = jacobian(&p, scales, &residuals);
        let normal = j.tr_mul(&j);
        let gradient = j.tr_mul(&DVector::from_column_slice(&r));
        let mut accepted = None;
        while damping < 1e12 {
            let mut damped = normal.clone();
            for i in 0..n {
                damped[(i, i)] += damping * normal[(i, i)].max(f64::MIN_POSITIVE);
            }
            let Some(step) = damped.cholesky().map(|c| c.solve(&gradient)) else {
                damping *= 10.0;
                continue;
            };
            let tried: Vec<f64> = p.iter().zip(step.iter()).map(|(p, s)| p - s).collect();
            let new = residuals(&tried);
            let new_cost = sum_of_squares(&new);
            if new_cost.is_finite() && new_cost <= cost {
                let moved = step.iter().zip(scales).map(|(s, scale)| (s / scale).abs());
                accepted = Some((moved.fold(0.0, f64::max), cost - new_cost));
                (p, r, cost) = (tried, new, new_cost);
                damping = (damping / 10.0).max(1e-12);
                break;
            }
            damping *= 10.0;
        }
        // No step downhill at any damping: this is the minimum, to the last digits.
        let freedom = known.saturating_sub(n).max(1) as f64;
        let is_over = accepted
            .is_none_or(|(moved, gained)| moved < TOLERANCE || gained <= FLAT * cost / freedom);
        if is_over {
            let variance = cost / freedom;
            let j = jacobian(&p, scales, &residuals);
            let covariance = scaled_inverse(&j.tr_mul(&j)).ok_or(FitError::Singular)? * variance;
            return Ok(Fit {
                params: p,
                covariance,
                rms: variance.sqrt(),
                iterations: iteration + 1,
            });
        }
    }
    Err(FitError::TooManySteps)
}

/// Starts of which the search goes on to the end.
const BEST_STARTS: usize = 4;

/// Minimises from the best of several starts and takes the lowest minimum.
pub fn fit_from_best(
    starts: Vec<Vec<f64>>,
    scales: &[f64],
    known: usize,
    residuals: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<Fit, FitError> {
    let scored = starts
        .into_iter()
        .map(|p| (sum_of_squares(&residuals(&p)), p));
    let mut scored: Vec<(f64, Vec<f64>)> = scored.collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Result<Fit, FitError> = Err(FitError::NotFinite);
    for (_, start) in scored.into_iter().take(BEST_STARTS) {
        let found = fit(&start, scales, known, &residuals);
        let is_better = match (&found, &best) {
            (Ok(found), Ok(best)) => found.rms < best.rms,
            (_, Err(_)) => true,
            (Err(_), Ok(_)) => false,
        };
        if is_better {
            best = found;
        }
    }
    best
}

fn sum_of_squares(r: &[f64]) -> f64 {
    r.iter().map(|x| x * x).sum()
}

/// ∂r/∂p by central differences.
fn jacobian(p: &[f64], scales: &[f64], residuals: &impl Fn(&[f64]) -> Vec<f64>) -> DMatrix<f64> {
    let columns: Vec<DVector<f64>> = (0..p.len())
        .map(|i| {
            let h = 1e-5 * scales[i];
            let at = |sign: f64| {
                let mut moved = p.to_vec();
                moved[i] += sign * h;
                DVector::from_vec(residuals(&moved))
            };
            (at(1.0) - at(-1.0)) / (2.0 * h)
        })
        .collect();
    DMatrix::from_columns(&columns)
}

/// The inverse of a positive definite matrix whose rows may have very different units.
fn scaled_inverse(m: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let n = m.nrows();
    let scale: Vec<f64> = (0..n).map(|i| m[(i, i)].sqrt()).collect();
    if scale.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
        return None;
    }
    let unit = DMatrix::from_fn(n, n, |i, k| m[(i, k)] / (scale[i] * scale[k]));
    let inverse = unit.cholesky()?.inverse();
    Some(DMatrix::from_fn(n, n, |i, k| {
        inverse[(i, k)] / (scale[i] * scale[k])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decay a·e^{−bt} + c, whose derivatives are known.
    fn model(p: &[f64], t: f64) -> f64 {
        p[0] * (-p[1] * t).exp() + p[2]
    }

    #[test]
    fn the_covariance_is_that_of_the_exact_derivatives_and_of_many_repetitions() {
        let truth = [2.0, 3.0, -0.5];
        let times: Vec<f64> = (0..400).map(|k| f64::from(k) * 0.005).collect();
        let sigma = 0.05;
        let mut random = fastrand::Rng::with_seed(11);
        let mut normal = move || {
            let (a, b) = (1.0 - random.f64(), random.f64());
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        };
        let repetitions = 400;
        let (mut sum, mut squares, mut stated) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for _ in 0..repetitions {
            let measured: Vec<f64> = times
                .iter()
                .map(|&t| model(&truth, t) + sigma * normal())
                .collect();
            let residuals = |p: &[f64]| -> Vec<f64> {
                times
                    .iter()
                    .zip(&measured)
                    .map(|(&t, y)| y - model(p, t))
                    .collect()
            };
            let found = fit(&[1.0, 1.0, 0.0], &[1.0, 1.0, 1.0], times.len(), residuals).unwrap();
            for i in 0..3 {
                let error = found.params[i] - truth[i];
                sum[i] += error;
                squares[i] += error * error;
                stated[i] += found.covariance[(i, i)] / f64::from(repetitions);
            }
        }
        // The covariance by hand: σ²(JᵀJ)⁻¹ with exact derivatives at the truth.
        let j = DMatrix::from_fn(times.len(), 3, |k, i| {
            let decay = (-truth[1] * times[k]).exp();
            [decay, -truth[0] * times[k] * decay, 1.0][i]
        });
        let exact = (j.tr_mul(&j)).try_inverse().unwrap() * sigma * sigma;
        for i in 0..3 {
            let scatter = squares[i] / f64::from(repetitions);
            let bias = sum[i] / f64::from(repetitions);
            // A variance of 400 repetitions is known to √(2/400) = 7 %: four times that.
            assert!(
                (scatter / stated[i] - 1.0).abs() < 0.28,
                "{i}: {scatter} {}",
                stated[i]
            );
            assert!(
                (stated[i] / exact[(i, i)] - 1.0).abs() < 0.03,
                "{i}: {}",
                stated[i]
            );
            assert!(
                bias.abs() < 4.0 * (scatter / f64::from(repetitions)).sqrt(),
                "{i}: bias {bias}"
            );
        }
    }

    #[test]
    fn parameters_that_cannot_be_told_apart_are_an_error() {
        let residuals = |p: &[f64]| vec![p[0] + p[1] - 1.0, 2.0 * (p[0] + p[1]) - 2.5];
        let found = fit(&[0.0, 0.0], &[1.0, 1.0], 2, residuals);
        assert_eq!(found, Err(FitError::Singular));
        assert_eq!(
            fit(&[0.0], &[1.0], 1, |_| vec![f64::NAN]),
            Err(FitError::NotFinite)
        );
    }
}
