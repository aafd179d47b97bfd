//! Integrals of many functions at once along a line, refined where they are least exact.
//!
//! Gauss's rule of 7 and Kronrod's of 15 points on each interval; their difference is the error that decides
//! which interval is halved next.

use nalgebra::Complex;

/// Kronrod's nodes from the outermost to the middle, with Kronrod's and Gauss's weights.
const NODES: [(f64, f64, f64); 8] = [
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
    (
        0.949_107_912_342_758_5,
        0.063_092_092_629_978_55,
        0.129_484_966_168_869_7,
    ),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18, 0.0),
    (
        0.741_531_185_599_394_4,
        0.140_653_259_715_525_92,
        0.279_705_391_489_276_64,
    ),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (
        0.405_845_151_377_397_2,
        0.190_350_578_064_785_4,
        0.381_830_050_505_118_9,
    ),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9, 0.0),
    (0.0, 0.209_482_141_084_727_83, 0.417_959_183_673_469_4),
];

struct Interval {
    from: f64,
    to: f64,
    sum: Vec<Complex<f64>>,
    error: f64,
}

/// Writes the functions' values at a place; `false` if there are none.
pub type Integrand<'a> = dyn FnMut(f64, &mut [Complex<f64>]) -> bool + 'a;

/// Integrates `size` functions over neighbouring intervals until the sum of errors of the worst function
/// on each is below `tolerance`. `None` if that needs more than `most` intervals or a value is missing.
pub fn integrate(
    f: &mut Integrand<'_>,
    size: usize,
    breaks: &[f64],
    tolerance: f64,
    most: usize,
) -> Option<Vec<Complex<f64>>> {
    let mut intervals = Vec::with_capacity(most.min(1 << 16));
    for pair in breaks.windows(2) {
        intervals.push(rule(f, size, pair[0], pair[1])?);
    }
    loop {
        let error: f64 = intervals.iter().map(|i| i.error).sum();
        // Written so that NaN never passes for exact.
        if error < tolerance {
            break;
        }
        if intervals.len() >= most {
            return None;
        }
        // All that matter are halved in one round; a sum over all is cheap beside one rule.
        let share = tolerance / (2 * intervals.len()) as f64;
        for i in 0..intervals.len() {
            if intervals[i].error > share {
                let (from, to) = (intervals[i].from, intervals[i].to);
                let middle = 0.5 * (from + to);
                intervals[i] = rule(f, size, from, middle)?;
                intervals.push(rule(f, size, middle, to)?);
            }
        }
    }
    let mut total = vec![Complex::from(0.0); size];
    for interval in &intervals {
        for (t, v) in total.iter_mut().zip(&interval.sum) {
            *t += v;
        }
    }
    Some(total)
}

fn rule(f: &mut Integrand<'_>, size: usize, from: f64, to: f64) -> Option<Interval> {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    let zero = Complex::from(0.0);
    let (mut fine, mut coarse) = (vec![zero; size], vec![zero; size]);
    let mut values = vec![zero; size];
    for &(node, kronrod, gauss) in &NODES {
        for place in [middle - half * node, middle + half * node] {
            if !f(place, &mut values) {
                return None;
            }
            for ((fine, coarse), value) in fine.iter_mut().zip(&mut coarse).zip(&values) {
                *fine += value * (kronrod * half);
                *coarse += value * (gauss * half);
            }
            if node == 0.0 {
                break;
            }
        }
    }
    let error = fine
        .iter()
        .zip(&coarse)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max);
    error.is_finite().then_some(Interval {
        from,
        to,
        sum: fine,
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ dx/(x − iε) over −1 … 2 = ln(2 − iε) − ln(−1 − iε): a narrow peak that must not be missed.
    #[test]
    fn a_narrow_peak_and_a_polynomial_are_found_together() {
        let epsilon = 1e-5;
        let pole = Complex::new(0.0, epsilon);
        let mut calls = 0;
        let mut f = |x: f64, out: &mut [Complex<f64>]| {
            calls += 1;
            out[0] = (Complex::from(x) - pole).inv();
            out[1] = Complex::new(x * x, 1.0);
            true
        };
        let found = integrate(&mut f, 2, &[-1.0, 0.3, 2.0], 1e-9, 1000).unwrap();
        let exact = (Complex::from(2.0) - pole).ln() - (Complex::from(-1.0) - pole).ln();
        assert!((found[0] - exact).norm() < 1e-9, "{} {exact}", found[0]);
        assert!((found[1] - Complex::new(3.0, 3.0)).norm() < 1e-13);
        assert!(calls < 5000, "{calls}");
    }

    #[test]
    fn what_cannot_be_integrated_is_said() {
        let mut singular = |x: f64, out: &mut [Complex<f64>]| {
            out[0] = Complex::from(1.0 / x.abs());
            true
        };
        assert!(integrate(&mut singular, 1, &[-1.0, 0.5], 1e-9, 200).is_none());
        let mut nothing = |_: f64, _: &mut [Complex<f64>]| false;
        assert!(integrate(&mut nothing, 1, &[0.0, 1.0], 1e-9, 200).is_none());
    }
}
