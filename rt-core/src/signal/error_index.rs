//! How far a force record is from a reference record.

/// Why two records cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ErrorIndexFault {
    /// Samples cannot be paired.
    #[error(
        "the record has {record} samples, the reference {reference}; expected the same number: \
         resample one of them"
    )]
    Length {
        /// Samples of the record.
        record: usize,
        /// Samples of the reference.
        reference: usize,
    },
    /// A share of the mean needs a mean.
    #[error("the mean of the reference is {mean} N; expected a finite value above 0 N")]
    Mean {
        /// What it is.
        mean: f64,
    },
}

/// ε = √(Σ(F − F_ref)² / N) / mean(F_ref), in %.
pub fn error_index_percent(force: &[f64], reference: &[f64]) -> Result<f64, ErrorIndexFault> {
    if force.len() != reference.len() {
        return Err(ErrorIndexFault::Length {
            record: force.len(),
            reference: reference.len(),
        });
    }
    let count = reference.len() as f64;
    let mean = reference.iter().sum::<f64>() / count;
    let pairs = force.iter().zip(reference);
    let squares: f64 = pairs.map(|(f, reference)| (f - reference).powi(2)).sum();
    share_of_mean_percent(squares / count, mean)
}

/// ε = √(mean square difference) / mean(F_ref), in %; the difference in N², the mean in N. For
/// differences whose mean square is known otherwise, as that of a band of frequencies.
pub fn share_of_mean_percent(mean_square: f64, mean: f64) -> Result<f64, ErrorIndexFault> {
    if !(mean > 0.0 && mean.is_finite()) {
        return Err(ErrorIndexFault::Mean { mean });
    }
    Ok(100.0 * mean_square.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_rms_difference_over_the_mean() {
        // Differences 3, −4, 0, 0: rms 2.5; mean 50.
        let reference = [40.0, 60.0, 30.0, 70.0];
        let force = [43.0, 56.0, 30.0, 70.0];
        assert_eq!(error_index_percent(&force, &reference), Ok(5.0));
        assert_eq!(error_index_percent(&reference, &reference), Ok(0.0));
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        assert!(matches!(
            error_index_percent(&[1.0], &[1.0, 2.0]),
            Err(ErrorIndexFault::Length { .. })
        ));
        for reference in [&[][..], &[0.0], &[-1.0], &[f64::NAN]] {
            let force = vec![1.0; reference.len()];
            assert!(matches!(
                error_index_percent(&force, reference),
                Err(ErrorIndexFault::Mean { .. })
            ));
        }
    }
}
