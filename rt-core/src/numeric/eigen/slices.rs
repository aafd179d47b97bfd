//! Cutting the spectrum into slices by counting eigenvalues.

use super::super::banded::{BandedLdlt, SymBanded};
use super::EigenError;

/// Eigenvalues of a slice: fewer cost more factorisations, more cost more orthogonalisation.
const PER_SLICE: usize = 40;

/// No eigenvalue lies closer to a border than this share of it, so that shapes on both sides of it,
/// computed apart, are orthogonal.
const CLEARANCE: f64 = 1e-5;

/// Factorisations whose entries outgrow the matrix by more than this lose too many digits.
const LARGEST_GROWTH: f64 = 1e8;

/// A slice of the spectrum and how many eigenvalues it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) count: usize,
}

impl Slice {
    pub(super) fn contains(&self, omega2: f64) -> bool {
        self.from <= omega2 && omega2 < self.to
    }
}

/// K and M.
pub(super) struct Pencil<'a> {
    pub(super) stiffness: &'a SymBanded,
    pub(super) mass: &'a SymBanded,
}

impl Pencil<'_> {
    fn shifted(&self, shift: f64) -> SymBanded {
        SymBanded::linear_combination(1.0, self.stiffness, -shift, self.mass)
    }

    /// Number of eigenvalues below a shift.
    fn count_below(&self, shift: f64) -> Result<usize, EigenError> {
        self.shifted(shift)
            .negative_eigenvalues()
            .map_err(|source| EigenError::Shift { shift, source })
    }

    /// K − σM factored, σ within the slice and off its eigenvalues.
    pub(super) fn factor_near(
        &self,
        wanted: f64,
        slice: Slice,
    ) -> Result<(f64, BandedLdlt), EigenError> {
        let width = slice.to - slice.from;
        let mut last = None;
        for step in [0.0, 0.037, -0.041, 0.083, -0.089, 0.131, -0.137] {
            let shift = wanted + step * width;
            match self.shifted(shift).ldlt() {
                Ok(factor) if factor.growth() < LARGEST_GROWTH => return Ok((shift, factor)),
                Ok(factor) => last = Some((shift, Ok(factor))),
                Err(source) => last = last.or(Some((shift, Err(source)))),
            }
        }
        match last {
            // Growth everywhere: residuals decide whether it was good enough.
            Some((shift, Ok(factor))) => Ok((shift, factor)),
            Some((shift, Err(source))) => Err(EigenError::Shift { shift, source }),
            None => Err(EigenError::Incomplete {
                from: slice.from,
                to: slice.to,
                expected: slice.count,
                found: 0,
            }),
        }
    }

    /// A border near `wanted` with clearance on both sides, and the number of eigenvalues below.
    fn border_near(&self, wanted: f64) -> Result<(f64, usize), EigenError> {
        let mut border = wanted;
        let mut clearance = CLEARANCE;
        loop {
            let below = self.count_below(border * (1.0 - clearance))?;
            let above = self.count_below(border * (1.0 + clearance))?;
            if below == above {
                return Ok((border, below));
            }
            // In a crowd: on to the next place, and in the end be content with less.
            border *= 1.0 + 4.0 * clearance;
            clearance *= 0.8;
        }
    }
}

/// Slices that together hold at least the `count` lowest eigenvalues, ascending.
pub(super) fn cut(pencil: &Pencil, count: usize) -> Result<Vec<Slice>, EigenError> {
    let mut borders = vec![(0.0, 0)];
    let top = top_border(pencil, count)?;
    let mut ahead = vec![top];
    while let (Some(&(from, below_from)), Some(&(to, below_to))) = (borders.last(), ahead.last()) {
        let inside = below_to - below_from;
        if inside <= PER_SLICE || to - from < 8.0 * CLEARANCE * to {
            borders.push((to, below_to));
            ahead.pop();
            continue;
        }
        // Frequencies, not their squares, are spread evenly.
        let parts = inside.div_ceil(PER_SLICE) as f64;
        let share = (parts / 2.0).floor() / parts;
        let root = from.sqrt() + share * (to.sqrt() - from.sqrt());
        let (border, below) = pencil.border_near(root * root)?;
        if border > from && border < to {
            ahead.push((border, below));
        } else {
            borders.push((to, below_to));
            ahead.pop();
        }
    }
    let pairs = borders.iter().zip(borders.iter().skip(1));
    Ok(pairs
        .map(|((from, below_from), (to, below_to))| Slice {
            from: *from,
            to: *to,
            count: below_to - below_from,
        })
        .filter(|slice| slice.count > 0)
        .collect())
}

/// A border with at least `count` eigenvalues below, but not many more.
fn top_border(pencil: &Pencil, count: usize) -> Result<(f64, usize), EigenError> {
    let diagonal = |i: usize| pencil.stiffness.get(i, i) / pencil.mass.get(i, i);
    let order = pencil.stiffness.order();
    // Rayleigh quotient of a unit vector: no eigenvalue can be above the largest by more than
    // the bandwidth makes of it; doubling finds the end quickly from anywhere.
    let mut high = (0..order).map(diagonal).fold(f64::INFINITY, f64::min);
    let mut low = 0.0;
    let mut below_high = pencil.count_below(high)?;
    while below_high < count {
        low = high;
        high *= 2.0;
        below_high = pencil.count_below(high)?;
    }
    let slack = PER_SLICE / 4;
    while below_high > count + slack && high - low > 8.0 * CLEARANCE * high {
        let middle = 0.5 * (low + high);
        let below = pencil.count_below(middle)?;
        if below >= count {
            (high, below_high) = (middle, below);
        } else {
            low = middle;
        }
    }
    pencil.border_near(high * (1.0 + 2.0 * CLEARANCE))
}
