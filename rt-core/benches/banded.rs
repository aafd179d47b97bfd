//! Banded solve and product against the plain row-by-row ones, in the same run.
//!
//! `cargo bench -p rt-core --bench banded`. Sizes are those of a 20-span stitched catenary with a
//! 1 m mesh. One full-order time step is two solves and two products.

mod figures;

use figures::{Figures, Outcome, best};
use rt_core::numeric::banded::SymBanded;
use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

const ORDER: usize = 6105;

fn main() -> ExitCode {
    figures::run(|figures| {
        figures.say(&format!("order {ORDER}, half-bandwidth w"));
        for w in [4, 7, 8, 9, 11, 12, 15, 16, 20] {
            compare(figures, w)?;
        }
        Ok(())
    })
}

fn compare(figures: &mut Figures, w: usize) -> Outcome {
    let matrix = stiff_beam_like(w)?;
    let second = matrix.clone();
    let factor = matrix.cholesky()?;
    let plain = Plain::new(&matrix);
    let right: Vec<f64> = (0..ORDER).map(|i| (i as f64 * 0.37).sin()).collect();
    let four_right = right.repeat(4);
    let mut columns = four_right.clone();
    let mut x = right.clone();
    let mut y = right.clone();

    plain.solve_in_place(&mut x);
    factor.solve_in_place(&mut y);
    let difference = (0..ORDER).fold(0.0_f64, |d, i| d.max((x[i] - y[i]).abs()));
    if difference > 1e-12 {
        return Err(format!("the two solves differ by {difference:e}").into());
    }

    let calls = figures.choose(1, 40);
    let [
        plain_solve,
        solve,
        plain_product,
        product,
        step,
        four,
        factorise,
    ] = figures.in_turns(7, || {
        Ok([
            best(calls, || {
                x.copy_from_slice(&right);
                plain.solve_in_place(black_box(&mut x));
            }),
            best(calls, || {
                y.copy_from_slice(&right);
                factor.solve_in_place(black_box(&mut y));
            }),
            best(calls, || {
                plain.mul_vec(black_box(&right), black_box(&mut x))
            }),
            best(calls, || {
                matrix.mul_vec(black_box(&right), black_box(&mut y))
            }),
            best(calls, || {
                matrix.mul_vec(black_box(&right), black_box(&mut y));
                second.mul_vec(black_box(&right), black_box(&mut x));
                factor.solve_in_place(black_box(&mut y));
                factor.solve_in_place(black_box(&mut x));
            }),
            best(calls, || {
                columns.copy_from_slice(&four_right);
                factor.solve_columns_in_place(black_box(&mut columns));
            }),
            best(calls, || {
                let _ = black_box(black_box(&matrix).cholesky());
            }),
        ])
    })?;
    let id = |what: &str| format!("w{w}/{what}");
    figures.time(&id("plain solve"), &plain_solve)?;
    figures.time(&id("plain product"), &plain_product)?;
    figures.ratio(&id("solve"), "plain solves", &solve, &plain_solve)?;
    figures.ratio(&id("product"), "plain products", &product, &plain_product)?;
    figures.ratio(&id("time step"), "plain solves", &step, &plain_solve)?;
    figures.ratio(&id("4 columns"), "plain solves", &four, &plain_solve)?;
    figures.ratio(&id("Cholesky"), "plain solves", &factorise, &plain_solve)
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
