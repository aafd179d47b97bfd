//! Products of long vectors, with the processor's wide instructions where it has them.
//!
//! Written with eight partial sums, so that the compiler may use vectors of any width; the wide build
//! of each function is the same text compiled for AVX2 and FMA and chosen at run time.

/// Σ aᵢ bᵢ.
#[inline(always)]
fn dot_text(a: &[f64], b: &[f64]) -> f64 {
    two_dots_text(a, b, b).0
}

/// Σ aᵢ xᵢ and Σ aᵢ yᵢ in one pass over a.
#[inline(always)]
fn two_dots_text(a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    let (mut sx, mut sy) = ([0.0; 8], [0.0; 8]);
    let (a8, x8, y8) = (a.chunks_exact(8), x.chunks_exact(8), y.chunks_exact(8));
    let (mut rx, mut ry) = (0.0, 0.0);
    for ((a, x), y) in a8
        .remainder()
        .iter()
        .zip(x8.remainder())
        .zip(y8.remainder())
    {
        rx += a * x;
        ry += a * y;
    }
    for ((a, x), y) in a8.zip(x8).zip(y8) {
        for i in 0..8 {
            sx[i] += a[i] * x[i];
            sy[i] += a[i] * y[i];
        }
    }
    (sx.iter().sum::<f64>() + rx, sy.iter().sum::<f64>() + ry)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn two_dots_wide(a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    let (mut sx, mut sy) = ([0.0f64; 8], [0.0f64; 8]);
    let (a8, x8, y8) = (a.chunks_exact(8), x.chunks_exact(8), y.chunks_exact(8));
    let (mut rx, mut ry) = (0.0, 0.0);
    for ((a, x), y) in a8
        .remainder()
        .iter()
        .zip(x8.remainder())
        .zip(y8.remainder())
    {
        rx += a * x;
        ry += a * y;
    }
    for ((a, x), y) in a8.zip(x8).zip(y8) {
        for i in 0..8 {
            sx[i] = a[i].mul_add(x[i], sx[i]);
            sy[i] = a[i].mul_add(y[i], sy[i]);
        }
    }
    (sx.iter().sum::<f64>() + rx, sy.iter().sum::<f64>() + ry)
}

/// Whether the wide build can run here. Asked once by the library, then a plain read.
#[inline]
#[cfg(target_arch = "x86_64")]
fn wide() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

/// Σ aᵢ bᵢ over the shorter of both.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_text(a, b)
}

/// Σ aᵢ xᵢ and Σ aᵢ yᵢ in one pass over a; all of the same length.
#[inline]
pub fn two_dots(a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the processor has the instructions, as just asked.
        return unsafe { two_dots_wide(a, x, y) };
    }
    two_dots_text(a, x, y)
}

/// to ← to + factor · source.
#[inline]
pub fn add_scaled(to: &mut [f64], factor: f64, source: &[f64]) {
    for (t, s) in to.iter_mut().zip(source) {
        *t += factor * s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_builds_give_the_plain_sums() {
        for n in [0, 1, 7, 8, 9, 100, 2141] {
            let vector =
                |seed: f64| -> Vec<f64> { (0..n).map(|i| (i as f64 * seed).sin()).collect() };
            let (a, x, y) = (vector(0.7), vector(1.3), vector(2.9));
            let plain = |x: &[f64]| a.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            for (sx, sy) in [two_dots(&a, &x, &y), two_dots_text(&a, &x, &y)] {
                // Sums of at most 2141 products below 1, in another order: rounding only.
                assert!((sx - plain(&x)).abs() < 1e-12 && (sy - plain(&y)).abs() < 1e-12);
            }
            assert!((dot(&a, &x) - plain(&x)).abs() < 1e-12);
        }
    }
}
