//! The reduced basis of the modal model: the lowest modes, attachment vectors for the droppers, and the
//! compliance at the contact wire that both leave out.
//!
//! Truncated modes hold almost nothing of the answer to a pair of forces at a stiff dropper's ends, so
//! a slack dropper could not be corrected. Therefore K⁻¹B is made M-orthogonal to the modes Φ; by
//! ΦᵀM K⁻¹B = Λ⁻¹ΦᵀB that is A = K⁻¹B − ΦΛ⁻¹ΦᵀB. The small problem AᵀKA ψ = ω² AᵀMA ψ then gives
//! vectors that are appended: everything stays diagonal.

use super::error::CatenaryError;
use super::linear::LinearLine;
use super::vector::{add_scaled, dot};
use crate::numeric::eigen::lowest_modes;
use nalgebra::{DMatrix, SymmetricEigen};

/// What the modal model needs of modes and attachment vectors, which is far less than their shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct ModalBasis {
    /// How many are natural modes; the others are attachment vectors.
    pub modes: usize,
    /// Squared circular frequencies, modes first, in rad²/s².
    pub omega2: Vec<f64>,
    /// Values at the contact wire: a row for height and slope of each station, a column a vector.
    pub contact: Vec<f64>,
    /// Stretch of each dropper: a row a dropper, a column a vector.
    pub droppers: Vec<f64>,
    /// Static compliance that the basis leaves out at each contact-wire element: the upper triangle of
    /// the matrix of its four unknowns, row by row.
    pub residual: Vec<[f64; 10]>,
}

/// Vectors whose part outside of the modes is below this part of the largest are left out.
const DEPENDENT: f64 = 1e-9;

impl ModalBasis {
    /// The `count` lowest modes (at most all) and the attachment vectors of all droppers.
    /// `progress` hears the finished part (0 to 1).
    pub fn build(
        line: &LinearLine,
        count: usize,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self, CatenaryError> {
        let n = line.dofs();
        if count == 0 {
            return Err(CatenaryError::Argument {
                what: "the number of modes",
                value: 0.0,
                expected: format!("1 to {n}"),
            });
        }
        let count = count.min(n);
        progress(0.0);
        let modes = lowest_modes(&line.stiffness, &line.mass, count)
            .map_err(|e| CatenaryError::Modes(e.to_string()))?;
        // The eigensolver takes most of the time.
        progress(0.8);
        let mut omega2 = modes.omega2;
        let mut shapes = modes.shapes;
        if count < n {
            let (more, attached) = attachments(line, &omega2, &shapes)?;
            omega2.extend(more);
            shapes.extend(attached);
        }
        progress(0.9);
        let basis = Self::condense(line, count, omega2, &shapes)?;
        progress(1.0);
        Ok(basis)
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.omega2.len()
    }

    /// Whether there is no vector.
    pub fn is_empty(&self) -> bool {
        self.omega2.is_empty()
    }

    /// Keeps the rows that the model needs.
    fn condense(
        line: &LinearLine,
        modes: usize,
        omega2: Vec<f64>,
        shapes: &[f64],
    ) -> Result<Self, CatenaryError> {
        let (n, count) = (line.dofs(), omega2.len());
        let rows: Vec<Option<usize>> = line
            .mesh
            .contact
            .iter()
            .flat_map(|c| [c.height, c.slope])
            .map(|dof| line.free.number[dof])
            .collect();
        let mut contact = vec![0.0; rows.len() * count];
        let mut droppers = vec![0.0; line.droppers.len() * count];
        for (m, shape) in shapes.chunks_exact(n).enumerate() {
            for (r, row) in rows.iter().enumerate() {
                contact[r * count + m] = row.map_or(0.0, |dof| shape[dof]);
            }
            for (j, d) in line.droppers.iter().enumerate() {
                droppers[j * count + m] = d.stretch_of(shape);
            }
        }
        let residual = residual(line, &rows, &omega2, &contact)?;
        Ok(Self {
            modes,
            omega2,
            contact,
            droppers,
            residual,
        })
    }
}

/// Squared frequencies and shapes of the attachment vectors.
fn attachments(
    line: &LinearLine,
    omega2: &[f64],
    shapes: &[f64],
) -> Result<(Vec<f64>, Vec<f64>), CatenaryError> {
    let (n, count) = (line.dofs(), line.droppers.len());
    if count == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut a = line.dropper_columns(&line.stiffness.cholesky()?);
    subtract_modes(line, omega2, shapes, &mut a);

    // Both small matrices; M first, to leave out what depends on the others.
    let mut product = vec![0.0; n];
    let mut small = |matrix: &crate::numeric::banded::SymBanded| {
        let mut out = DMatrix::zeros(count, count);
        for (j, column) in a.chunks_exact(n).enumerate() {
            matrix.mul_vec(column, &mut product);
            for (i, other) in a.chunks_exact(n).enumerate().take(j + 1) {
                let value = dot(other, &product);
                out[(i, j)] = value;
                out[(j, i)] = value;
            }
        }
        out
    };
    let (small_mass, small_stiffness) = (small(&line.mass), small(&line.stiffness));
    let scale: Vec<f64> = (0..count)
        .map(|i| 1.0 / small_mass[(i, i)].max(f64::MIN_POSITIVE).sqrt())
        .collect();
    let scaled = DMatrix::from_fn(count, count, |i, j| {
        scale[i] * small_mass[(i, j)] * scale[j]
    });
    let m = SymmetricEigen::new(scaled);
    let largest = m.eigenvalues.max();
    let kept: Vec<usize> = (0..count)
        .filter(|&i| m.eigenvalues[i] > DEPENDENT * largest)
        .collect();
    // X makes XᵀMX = I.
    let x = DMatrix::from_fn(count, kept.len(), |i, k| {
        scale[i] * m.eigenvectors[(i, kept[k])] / m.eigenvalues[kept[k]].sqrt()
    });
    let k = SymmetricEigen::new(x.transpose() * small_stiffness * &x);
    let y = x * &k.eigenvectors;
    let mut attached = vec![0.0; n * kept.len()];
    for (c, column) in attached.chunks_exact_mut(n).enumerate() {
        for (i, source) in a.chunks_exact(n).enumerate() {
            add_scaled(column, y[(i, c)], source);
        }
    }
    Ok((k.eigenvalues.iter().copied().collect(), attached))
}

/// A ← A − ΦΛ⁻¹ΦᵀB, droppers in groups so that a mode is read once for all of a group.
fn subtract_modes(line: &LinearLine, omega2: &[f64], shapes: &[f64], a: &mut [f64]) {
    const GROUP: usize = 16;
    let n = line.dofs();
    for (group, columns) in a.chunks_mut(GROUP * n).enumerate() {
        for (shape, w2) in shapes.chunks_exact(n).zip(omega2) {
            for (i, column) in columns.chunks_exact_mut(n).enumerate() {
                let stretch = line.droppers[group * GROUP + i].stretch_of(shape);
                add_scaled(column, -stretch / w2, shape);
            }
        }
    }
}

/// N K⁻¹ Nᵀ − N ΦΛ⁻¹Φᵀ Nᵀ for the four unknowns of every contact-wire element.
fn residual(
    line: &LinearLine,
    rows: &[Option<usize>],
    omega2: &[f64],
    contact: &[f64],
) -> Result<Vec<[f64; 10]>, CatenaryError> {
    let (n, count) = (line.dofs(), omega2.len());
    let factor = line.stiffness.cholesky()?;
    let inverse: Vec<f64> = omega2.iter().map(|w| 1.0 / w).collect();
    let mut out = vec![[0.0; 10]; rows.len() / 2 - 1];
    let mut columns = Vec::new();
    let mut scaled = vec![0.0; count];
    for (batch, some) in rows.chunks(16).enumerate() {
        columns.clear();
        columns.resize(some.len() * n, 0.0);
        for (column, row) in columns.chunks_exact_mut(n).zip(some) {
            if let Some(dof) = row {
                column[*dof] = 1.0;
            }
        }
        factor.solve_columns_in_place(&mut columns);
        for (i, (column, row)) in columns.chunks_exact(n).zip(some).enumerate() {
            let r = batch * 16 + i;
            if row.is_none() {
                continue;
            }
            let own = &contact[r * count..(r + 1) * count];
            for ((s, v), w) in scaled.iter_mut().zip(own).zip(&inverse) {
                *s = v * w;
            }
            // The later rows of the elements that this row belongs to.
            for other in r..rows.len().min((r / 2 + 2) * 2) {
                let exact = rows[other].map_or(0.0, |d| column[d]);
                let held = dot(&scaled, &contact[other * count..(other + 1) * count]);
                let left = if rows[other].is_some() {
                    exact - held
                } else {
                    0.0
                };
                for first in (r / 2).saturating_sub(1)..=r / 2 {
                    let (a, b) = (r - 2 * first, other - 2 * first);
                    if b < 4 && first < out.len() {
                        out[first][TRIANGLE[a][b]] = left;
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Place of (a, b) in the upper triangle of a symmetric 4 × 4 matrix.
const TRIANGLE: [[usize; 4]; 4] = [[0, 1, 2, 3], [1, 4, 5, 6], [2, 5, 7, 8], [3, 6, 8, 9]];

/// N R Nᵀ of one element.
#[inline]
pub fn quadratic(triangle: &[f64; 10], weights: &[f64; 4]) -> f64 {
    let mut sum = 0.0;
    for (a, row) in TRIANGLE.iter().enumerate() {
        for (b, &place) in row.iter().enumerate() {
            sum += weights[a] * weights[b] * triangle[place];
        }
    }
    sum
}
