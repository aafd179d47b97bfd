//! Products of long vectors, with the processor's wide instructions where it has them.
//!
//! The plain text has sixteen partial sums, so that the compiler may use the vectors that every processor
//! has; where AVX2 and FMA are found at run time, a version written for them is taken.

/// Partial sums: enough to hide the latency of an addition behind others.
const LANES: usize = 16;

/// Σ aᵢ bᵢ.
#[inline(always)]
fn dot_text(a: &[f64], b: &[f64]) -> f64 {
    two_dots_text(a, b, b).0
}

/// Σ aᵢ xᵢ and Σ aᵢ yᵢ in one pass over a.
#[inline(always)]
fn two_dots_text(a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    let (mut sx, mut sy) = ([0.0; LANES], [0.0; LANES]);
    let (a8, x8, y8) = (
        a.chunks_exact(LANES),
        x.chunks_exact(LANES),
        y.chunks_exact(LANES),
    );
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
        for i in 0..LANES {
            sx[i] += a[i] * x[i];
            sy[i] += a[i] * y[i];
        }
    }
    (sx.iter().sum::<f64>() + rx, sy.iter().sum::<f64>() + ry)
}

/// The same with vectors of four and fused multiply-add, written out because the compiler keeps the
/// partial sums in memory otherwise.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn two_dots_wide(a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    use std::arch::x86_64::{
        __m256d, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_setzero_pd, _mm256_storeu_pd,
    };
    const WIDTH: usize = 4;
    let (a16, x16, y16) = (
        a.as_chunks::<LANES>(),
        x.as_chunks::<LANES>(),
        y.as_chunks::<LANES>(),
    );
    let (mut rx, mut ry) = (0.0, 0.0);
    for ((a, x), y) in a16.1.iter().zip(x16.1).zip(y16.1) {
        rx += a * x;
        ry += a * y;
    }
    let mut sx: [__m256d; LANES / WIDTH] = [_mm256_setzero_pd(); LANES / WIDTH];
    let mut sy = sx;
    for ((a, x), y) in a16.0.iter().zip(x16.0).zip(y16.0) {
        for i in 0..LANES / WIDTH {
            // SAFETY: four numbers from WIDTH·i on are inside an array of LANES.
            let (va, vx, vy) = unsafe {
                (
                    _mm256_loadu_pd(a.as_ptr().add(WIDTH * i)),
                    _mm256_loadu_pd(x.as_ptr().add(WIDTH * i)),
                    _mm256_loadu_pd(y.as_ptr().add(WIDTH * i)),
                )
            };
            sx[i] = _mm256_fmadd_pd(va, vx, sx[i]);
            sy[i] = _mm256_fmadd_pd(va, vy, sy[i]);
        }
    }
    for (sums, total) in [(sx, &mut rx), (sy, &mut ry)] {
        for s in sums {
            let mut four = [0.0; WIDTH];
            // SAFETY: the array has room for four numbers.
            unsafe { _mm256_storeu_pd(four.as_mut_ptr(), s) };
            *total += four.iter().sum::<f64>();
        }
    }
    (rx, ry)
}

/// Whether the wide build can run here. Asked once by the library, then a plain read.
#[inline]
#[cfg(target_arch = "x86_64")]
fn wide() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

/// Whether sums are formed with wide, fused instructions here: their last bits differ from the plain ones.
pub fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return wide();
    #[cfg(not(target_arch = "x86_64"))]
    false
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

/// Σ aᵢ bᵢ of floats and doubles, for where reading a is what it costs; both of the same length.
#[inline]
pub fn single_dot(a: &[f32], b: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the processor has the instructions, as just asked.
        return unsafe { single_dot_wide(a, b) };
    }
    single_dot_text(a, b)
}

#[inline(always)]
fn single_dot_text(a: &[f32], b: &[f64]) -> f64 {
    let (a16, b16) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a16.0.iter().zip(b16.0) {
        for i in 0..LANES {
            sums[i] += f64::from(a[i]) * b[i];
        }
    }
    let rest = a16.1.iter().zip(b16.1).map(|(a, b)| f64::from(*a) * b);
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// The same text with vectors of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn single_dot_wide(a: &[f32], b: &[f64]) -> f64 {
    single_dot_text(a, b)
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
        for n in [0, 1, 7, 8, 9, 16, 17, 100, 2141] {
            let vector =
                |seed: f64| -> Vec<f64> { (0..n).map(|i| (i as f64 * seed).sin()).collect() };
            let (a, x, y) = (vector(0.7), vector(1.3), vector(2.9));
            let plain = |x: &[f64]| a.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            for (sx, sy) in [two_dots(&a, &x, &y), two_dots_text(&a, &x, &y)] {
                // Sums of at most 2141 products below 1, in another order: rounding only.
                assert!((sx - plain(&x)).abs() < 1e-12 && (sy - plain(&y)).abs() < 1e-12);
            }
            assert!((dot(&a, &x) - plain(&x)).abs() < 1e-12);
            // Floats as factors are exact: a rounded first is the same sum.
            let floats: Vec<f32> = a.iter().map(|v| *v as f32).collect();
            let rounded = floats.iter().zip(&x).map(|(a, x)| f64::from(*a) * x);
            let rounded: f64 = rounded.sum();
            for sum in [single_dot(&floats, &x), single_dot_text(&floats, &x)] {
                assert!((sum - rounded).abs() < 1e-12);
            }
        }
    }
}
