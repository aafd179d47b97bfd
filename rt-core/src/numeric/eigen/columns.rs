//! Products of tall matrices stored column after column; the bulk of the eigensolver's work.
//!
//! Rows are taken in pieces that stay in the first cache while all columns pass by.

/// Rows of a piece: a few columns of it fill half of a usual first-level cache.
const PIECE: usize = 512;

/// Pieces of rows of `n`.
fn pieces(n: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..n)
        .step_by(PIECE)
        .map(move |start| start..n.min(start + PIECE))
}

/// C = Vᵀ Z; entry (k, q) at k + q·d, d being the number of columns of V.
pub(super) fn transpose_times(n: usize, v: &[f64], z: &[f64], c: &mut Vec<f64>) {
    let (d, p) = (v.len() / n, z.len() / n);
    c.clear();
    c.resize(d * p, 0.0);
    for rows in pieces(n) {
        for first in (0..p).step_by(4) {
            let of = |q: usize| &z[q * n..(q + 1) * n][rows.clone()];
            for (k, column) in v.chunks_exact(n).enumerate() {
                let column = &column[rows.clone()];
                if first + 4 <= p {
                    let right = [of(first), of(first + 1), of(first + 2), of(first + 3)];
                    for (q, sum) in dots(column, right).into_iter().enumerate() {
                        c[k + (first + q) * d] += sum;
                    }
                } else {
                    for q in first..p {
                        c[k + q * d] += dots(column, [of(q)])[0];
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
        for (w, c) in w.chunks_exact_mut(n).zip(c.chunks_exact(d)) {
            subtract_combination(n, v, rows.clone(), c, &mut w[rows.clone()]);
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

/// w −= Σ_k v_k c_k over a piece of rows, four columns at a time.
fn subtract_combination(
    n: usize,
    v: &[f64],
    rows: std::ops::Range<usize>,
    c: &[f64],
    w: &mut [f64],
) {
    let of = |k: usize| &v[k * n..(k + 1) * n][rows.clone()];
    let d = c.len();
    for k in (0..d - d % 4).step_by(4) {
        let (v0, v1, v2, v3) = (of(k), of(k + 1), of(k + 2), of(k + 3));
        let (c0, c1, c2, c3) = (c[k], c[k + 1], c[k + 2], c[k + 3]);
        for ((((w, a), b), e), f) in w.iter_mut().zip(v0).zip(v1).zip(v2).zip(v3) {
            *w -= (a * c0 + b * c1) + (e * c2 + f * c3);
        }
    }
    for k in d - d % 4..d {
        for (w, a) in w.iter_mut().zip(of(k)) {
            *w -= a * c[k];
        }
    }
}

/// Scalar products of one vector with several, four partial sums each.
#[inline(always)]
fn dots<const COUNT: usize>(a: &[f64], b: [&[f64]; COUNT]) -> [f64; COUNT] {
    let (a_chunks, a_rest) = a.as_chunks::<4>();
    let b_chunks = b.map(|b| &b.as_chunks::<4>().0[..a_chunks.len()]);
    let mut sums = [[0.0; 4]; COUNT];
    for (i, a) in a_chunks.iter().enumerate() {
        for (sum, b) in sums.iter_mut().zip(&b_chunks) {
            for r in 0..4 {
                sum[r] += a[r] * b[i][r];
            }
        }
    }
    let start = a_chunks.len() * 4;
    std::array::from_fn(|q| {
        let [s0, s1, s2, s3] = sums[q];
        let rest: f64 = a_rest.iter().zip(&b[q][start..]).map(|(a, b)| a * b).sum();
        (s0 + s1) + (s2 + s3) + rest
    })
}

/// Scalar product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dots(a, [b])[0]
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
