//! Banded solve and product against the plain row-by-row ones, in the same run.
//!
//! `cargo bench -p rt-core --bench banded`. Sizes are those of a 20-span stitched catenary with a
//! 1 m mesh. One full-order time step is two solves and two products.

use rt_core::numeric::banded::SymBanded;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const ORDER: usize = 6105;

fn main() -> Result<(), Box<dyn Error>> {
    println!("order {ORDER}; best of 200, µs");
    println!(
        "{:>4} {:>11} {:>11} {:>6} {:>11} {:>11} {:>6} {:>12} {:>9} {:>9}",
        "w",
        "plain solve",
        "solve",
        "ratio",
        "plain prod",
        "product",
        "ratio",
        "time step",
        "4 solves",
        "Cholesky"
    );
    for w in [4, 7, 8, 9, 11, 12, 15, 16, 20] {
        compare(w)?;
    }
    Ok(())
}

fn compare(w: usize) -> Result<(), Box<dyn Error>> {
    let matrix = stiff_beam_like(w)?;
    let factor = matrix.cholesky()?;
    let plain = Plain::new(&matrix);
    let right: Vec<f64> = (0..ORDER).map(|i| (i as f64 * 0.37).sin()).collect();
    let mut x = right.clone();
    let mut y = right.clone();

    let plain_solve = best(|| {
        x.copy_from_slice(&right);
        plain.solve_in_place(black_box(&mut x));
    });
    let solve = best(|| {
        y.copy_from_slice(&right);
        factor.solve_in_place(black_box(&mut y));
    });
    let difference = (0..ORDER).fold(0.0_f64, |d, i| d.max((x[i] - y[i]).abs()));
    assert!(
        difference < 1e-12,
        "the two solves differ by {difference:e}"
    );
    let plain_product = best(|| plain.mul_vec(black_box(&right), black_box(&mut x)));
    let product = best(|| matrix.mul_vec(black_box(&right), black_box(&mut y)));
    let second = matrix.clone();
    let step = best(|| {
        matrix.mul_vec(black_box(&right), black_box(&mut y));
        second.mul_vec(black_box(&right), black_box(&mut x));
        factor.solve_in_place(black_box(&mut y));
        factor.solve_in_place(black_box(&mut x));
    });
    let mut columns = right.repeat(4);
    let four = best(|| factor.solve_columns_in_place(black_box(&mut columns)));
    let factorise = best(|| {
        let _ = black_box(black_box(&matrix).cholesky());
    });
    println!(
        "{w:>4} {plain_solve:>11.1} {solve:>11.1} {:>6.2} {plain_product:>11.1} {product:>11.1} \
         {:>6.2} {step:>12.1} {four:>9.1} {factorise:>9.0}",
        plain_solve / solve,
        plain_product / product
    );
    Ok(())
}

/// Shortest time of one call.
fn best(mut call: impl FnMut()) -> f64 {
    (0..200)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

fn stiff_beam_like(w: usize) -> Result<SymBanded, Box<dyn Error>> {
    let mut matrix = SymBanded::zeros(ORDER, w);
    for i in 0..ORDER {
        for j in i.saturating_sub(w)..i {
            let value = -((i * 7 + j * 3) as f64).cos().abs();
            matrix.add(i, j, value)?;
        }
        matrix.add(i, i, 2.0 * w as f64 + 1.0)?;
    }
    Ok(matrix)
}

/// What a textbook writes: one row after the other, the lower triangle only.
struct Plain {
    w: usize,
    matrix: Vec<f64>,
    l: Vec<f64>,
}

impl Plain {
    fn new(a: &SymBanded) -> Self {
        let w = a.half_bandwidth();
        let at = |i: usize, j: usize| i * (w + 1) + w + j - i;
        let mut matrix = vec![0.0; ORDER * (w + 1)];
        let mut l = matrix.clone();
        for i in 0..ORDER {
            let first = i.saturating_sub(w);
            for j in first..=i {
                matrix[at(i, j)] = a.get(i, j);
                let mut sum = a.get(i, j);
                for k in first.max(j.saturating_sub(w))..j {
                    sum -= l[at(i, k)] * l[at(j, k)];
                }
                l[at(i, j)] = if i == j {
                    sum.sqrt()
                } else {
                    sum / l[at(j, j)]
                };
            }
        }
        Self { w, matrix, l }
    }

    fn solve_in_place(&self, b: &mut [f64]) {
        let w = self.w;
        for i in 0..ORDER {
            let row = &self.l[i * (w + 1)..(i + 1) * (w + 1)];
            let mut sum = b[i];
            for j in i.saturating_sub(w)..i {
                sum -= row[w + j - i] * b[j];
            }
            b[i] = sum / row[w];
        }
        for i in (0..ORDER).rev() {
            let row = &self.l[i * (w + 1)..(i + 1) * (w + 1)];
            b[i] /= row[w];
            for j in i.saturating_sub(w)..i {
                b[j] -= row[w + j - i] * b[i];
            }
        }
    }

    fn mul_vec(&self, x: &[f64], y: &mut [f64]) {
        let w = self.w;
        y.fill(0.0);
        for i in 0..ORDER {
            let row = &self.matrix[i * (w + 1)..(i + 1) * (w + 1)];
            let mut sum = row[w] * x[i];
            for j in i.saturating_sub(w)..i {
                sum += row[w + j - i] * x[j];
                y[j] += row[w + j - i] * x[i];
            }
            y[i] += sum;
        }
    }
}
