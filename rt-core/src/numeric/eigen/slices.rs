//! Cutting the spectrum into slices by counting eigenvalues.

use super::super::banded::{BandedLdlt, SymBanded, ZeroPivot};
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
        // A pivot that vanishes exactly does so no more a few roundings further.
        let mut fault = ZeroPivot { row: 0, pivot: 0.0 };
        for step in 0..8 {
            let nudged = shift * (1.0 + 1e-13 * f64::from(step));
            match self.shifted(nudged).negative_eigenvalues() {
                Ok(count) => return Ok(count),
                Err(source) => fault = source,
            }
        }
        Err(EigenError::Shift {
            shift,
            source: fault,
        })
    }

    /// K − σM factored, σ within the slice and off its eigenvalues.
    pub(super) fn factor_near(
        &self,
        wanted: f64,
        slice: Slice,
    ) -> Result<(f64, BandedLdlt), EigenError> {
        let width = slice.to - slice.from;
        let mut best: Option<(f64, BandedLdlt)> = None;
        let mut fault = ZeroPivot { row: 0, pivot: 0.0 };
        for step in [0.0, 0.037, -0.041, 0.083, -0.089, 0.131, -0.137] {
            let shift = wanted + step * width;
            match self.shifted(shift).ldlt() {
                Ok(factor) if factor.growth() < LARGEST_GROWTH => return Ok((shift, factor)),
                // Growth everywhere: convergence will show whether the least was small enough.
                Ok(factor) => match &best {
                    Some((_, other)) if other.growth() <= factor.growth() => (),
                    _ => best = Some((shift, factor)),
                },
                Err(source) => fault = source,
            }
        }
        best.ok_or(EigenError::Shift {
            shift: wanted,
            source: fault,
        })
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
    Ok(merged(&borders))
}

/// Slices between borders, small neighbours put together.
fn merged(borders: &[(f64, usize)]) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for (&(from, below_from), &(to, below_to)) in borders.iter().zip(borders.iter().skip(1)) {
        let count = below_to - below_from;
        match slices.last_mut() {
            Some(last) if last.count + count <= PER_SLICE => {
                last.to = to;
                last.count += count;
            }
            _ => slices.push(Slice { from, to, count }),
        }
    }
    slices.retain(|slice| slice.count > 0);
    slices
}

/// A border with at least `count` eigenvalues below, but not many more.
fn top_border(pencil: &Pencil, count: usize) -> Result<(f64, usize), EigenError> {
    let diagonal = |i: usize| pencil.stiffness.get(i, i) / pencil.mass.get(i, i);
    let order = pencil.stiffness.order();
    // The Rayleigh quotient of a unit vector lies within the spectrum: a start of the right
    // magnitude, from which doubling finds the end.
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
