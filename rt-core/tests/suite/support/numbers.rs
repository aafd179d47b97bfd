//! Noise that is the same in every run, and comparison of rows of numbers.

/// Largest difference as a share of the largest expected value; both sides round.
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let difference = (f - e).abs() / scale;
        assert!(difference <= tolerance, "{what} {i}: {f} {e}");
    }
}

/// Noise that is the same in every run: sums of twelve uniform numbers (PCG), variance 1.
pub fn noise(samples: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..samples)
        .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        .collect()
}
