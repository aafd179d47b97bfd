//! Products of tall matrices stored column after column; the bulk of the eigensolver's work.
//!
//! Rows are taken in pieces that stay in the first cache while all columns pass by.

use std::ops::Range;

/// Rows of a piece: a few columns of it fill half of a usual first-level cache.
const PIECE: usize = 512;

/// Pieces of rows of `n`.
fn pieces(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n)
        .step_by(PIECE)
        .map(move |start| start..n.min(start + PIECE))
}

/// Column `i` of a tall matrix, a piece of its rows.
fn piece<'a>(matrix: &'a [f64], n: usize, i: usize, rows: &Range<usize>) -> &'a [f64] {
    &matrix[i * n..(i + 1) * n][rows.clone()]
}

/// C = Vᵀ Z; entry (k, q) at k + q·d, d being the number of columns of V.
pub(super) fn transpose_times(n: usize, v: &[f64], z: &[f64], c: &mut Vec<f64>) {
    let (d, p) = (v.len() / n, z.len() / n);
    c.clear();
    c.resize(d * p, 0.0);
    for rows in pieces(n) {
        for k in (0..d).step_by(2) {
            // Two columns by two: each number loaded serves twice. The odd last one serves alone.
            let (v0, v1) = (
                piece(v, n, k, &rows),
                piece(v, n, (k + 1).min(d - 1), &rows),
            );
            for q in (0..p).step_by(2) {
                let (z0, z1) = (
                    piece(z, n, q, &rows),
                    piece(z, n, (q + 1).min(p - 1), &rows),
                );
                let sums = dots([v0, v1], [z0, z1]);
                for (q, sums) in (q..p).zip(sums) {
                    for (k, sum) in (k..d).zip(sums) {
                        c[k + q * d] += sum;
                    }
                }
            }
        }
    }
}

/// W ← W − V C.
pub(super) fn subtract_product(n: usize, v: &[f64], c: &[f64], w: &mut [f64]) {
    let d = v.len() / n;
    if d == 0 {
        return;
    }
    for rows in pieces(n) {
        for k in (0..d - d % 4).step_by(4) {
            let of = |i: usize| piece(v, n, k + i, &rows);
            let (v0, v1, v2, v3) = (of(0), of(1), of(2), of(3));
            for (w, c) in w.chunks_exact_mut(n).zip(c.chunks_exact(d)) {
                let (c0, c1, c2, c3) = (c[k], c[k + 1], c[k + 2], c[k + 3]);
                let w = &mut w[rows.clone()];
                for ((((w, a), b), e), f) in w.iter_mut().zip(v0).zip(v1).zip(v2).zip(v3) {
                    *w -= (a * c0 + b * c1) + (e * c2 + f * c3);
                }
            }
        }
        for k in d - d % 4..d {
            for (w, c) in w.chunks_exact_mut(n).zip(c.chunks_exact(d)) {
                subtract_multiple(c[k], piece(v, n, k, &rows), &mut w[rows.clone()]);
            }
        }
    }
}

/// W = V C.
pub(super) fn product(n: usize, v: &[f64], c: &[f64]) -> Vec<f64> {
    let d = v.len() / n;
    let count = c.len().checked_div(d).unwrap_or(0);
    let mut w = vec![0.0; n * count];
    let negative: Vec<f64> = c.iter().map(|c| -c).collect();
    subtract_product(n, v, &negative, &mut w);
    w
}

/// Scalar products of some vectors with some others, four partial sums each; [other][one].
#[inline(always)]
fn dots<const A: usize, const B: usize>(a: [&[f64]; A], b: [&[f64]; B]) -> [[f64; A]; B] {
    let count = a.first().map_or(0, |a| a.len() / 4);
    let a_chunks = a.map(|a| &a.as_chunks::<4>().0[..count]);
    let b_chunks = b.map(|b| &b.as_chunks::<4>().0[..count]);
    let mut sums = [[[0.0; 4]; A]; B];
    for i in 0..count {
        for q in 0..B {
            for k in 0..A {
                for r in 0..4 {
                    sums[q][k][r] += a_chunks[k][i][r] * b_chunks[q][i][r];
                }
            }
        }
    }
    std::array::from_fn(|q| {
        std::array::from_fn(|k| {
            let [s0, s1, s2, s3] = sums[q][k];
            let rest = a[k][count * 4..].iter().zip(&b[q][count * 4..]);
            (s0 + s1) + (s2 + s3) + rest.map(|(a, b)| a * b).sum::<f64>()
        })
    })
}

/// Scalar product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dots([a], [b])[0][0]
}

/// y −= factor · x.
pub(super) fn subtract_multiple(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y -= factor * x;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::banded::tests::Dice;
    use super::*;
    use nalgebra::DMatrix;

    #[test]
    fn tall_products_equal_the_dense_ones() {
        let mut dice = Dice(3);
        for (n, d, p) in [(1, 1, 1), (7, 3, 2), (513, 6, 5), (1100, 9, 4), (5, 0, 2)] {
            let v: Vec<f64> = (0..n * d).map(|_| dice.roll()).collect();
            let z: Vec<f64> = (0..n * p).map(|_| dice.roll()).collect();
            let (vm, zm) = (
                DMatrix::from_vec(n, d, v.clone()),
                DMatrix::from_vec(n, p, z.clone()),
            );
            let mut c = Vec::new();
            transpose_times(n, &v, &z, &mut c);
            let cm = vm.transpose() * &zm;
            assert!((DMatrix::from_vec(d, p, c.clone()) - &cm).amax() < 1e-12 || d == 0);
            let mut w = z.clone();
            subtract_product(n, &v, &c, &mut w);
            let expected = &zm - &vm * &cm;
            assert!((DMatrix::from_vec(n, p, w) - expected).amax() < 1e-11);
            if d > 0 {
                let found = DMatrix::from_vec(n, p, product(n, &v, &c));
                assert!((found - vm * cm).amax() < 1e-11);
            }
        }
    }
}
