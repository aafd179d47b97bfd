//! The lowest eigenpairs K φ = ω² M φ of a banded, positive definite pair, complete and checked.
//!
//! The spectrum is cut into slices whose numbers of eigenvalues are known beforehand: K − σM has as
//! many negative pivots as there are eigenvalues below σ (Sturm, Sylvester). Each slice is solved
//! on its own and must deliver exactly that many, so none can be missed or found twice, however
//! close together equal spans put them.

mod columns;
mod lanczos;
mod slices;

use super::banded::{NotPositiveDefinite, SymBanded, ZeroPivot};
use columns::dot;
use lanczos::{SlicePairs, solve_slice};
use slices::{Pencil, Slice, cut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why eigenpairs could not be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EigenError {
    /// The two matrices do not belong together.
    #[error(
        "the stiffness matrix has order {stiffness}, the mass matrix {mass}; expected the same"
    )]
    Order {
        /// Order of the stiffness matrix.
        stiffness: usize,
        /// Order of the mass matrix.
        mass: usize,
    },
    /// There are not that many modes.
    #[error("{count} modes were asked of a system of {order} unknowns; ask for at most {order}")]
    Count {
        /// Modes asked for.
        count: usize,
        /// Modes there are.
        order: usize,
    },
    /// Something is not held: it could move without stiffness.
    #[error("stiffness matrix: {0}")]
    Stiffness(NotPositiveDefinite),
    /// Something has no mass.
    #[error("mass matrix: {0}")]
    Mass(NotPositiveDefinite),
    /// No shift near a value gave a factorisation.
    #[error("no usable factorisation of K − σM near σ = {shift} rad²/s²: {source}")]
    Shift {
        /// Where.
        shift: f64,
        /// What the last try met.
        source: ZeroPivot,
    },
    /// A slice did not give all its eigenvalues.
    #[error(
        "{found} of the {expected} eigenvalues between {from} and {to} rad²/s² converged; the \
         matrices are too ill-conditioned for modes in double precision"
    )]
    Incomplete {
        /// Lower end of the slice.
        from: f64,
        /// Upper end of the slice.
        to: f64,
        /// How many there are.
        expected: usize,
        /// How many converged.
        found: usize,
    },
}

/// Natural modes, ascending, with ΦᵀMΦ = I.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    order: usize,
    /// Squared circular frequencies in rad²/s², ascending.
    pub omega2: Vec<f64>,
    /// Mode shapes, one after the other.
    pub shapes: Vec<f64>,
}

impl Modes {
    /// Number of modes.
    pub fn count(&self) -> usize {
        self.omega2.len()
    }

    /// Number of unknowns of a shape.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Shape of a mode, 0 being the lowest; `None` beyond the last.
    pub fn shape(&self, mode: usize) -> Option<&[f64]> {
        self.shapes.chunks_exact(self.order.max(1)).nth(mode)
    }
}

/// The `count` lowest modes. The shapes are M-orthonormal, their largest entry positive.
pub fn lowest_modes(
    stiffness: &SymBanded,
    mass: &SymBanded,
    count: usize,
) -> Result<Modes, EigenError> {
    let order = stiffness.order();
    if order != mass.order() {
        return Err(EigenError::Order {
            stiffness: order,
            mass: mass.order(),
        });
    }
    if count > order {
        return Err(EigenError::Count { count, order });
    }
    stiffness.cholesky().map_err(EigenError::Stiffness)?;
    mass.cholesky().map_err(EigenError::Mass)?;
    let mut modes = Modes {
        order,
        omega2: Vec::with_capacity(count),
        shapes: Vec::with_capacity(count * order),
    };
    if count == 0 {
        return Ok(modes);
    }
    let pencil = Pencil { stiffness, mass };
    let slices = cut(&pencil, count)?;
    for pairs in solve_all(&pencil, &slices)? {
        let wanted = (count - modes.count()).min(pairs.omega2.len());
        modes.omega2.extend_from_slice(&pairs.omega2[..wanted]);
        modes
            .shapes
            .extend_from_slice(&pairs.shapes[..wanted * order]);
    }
    for shape in modes.shapes.chunks_exact_mut(order) {
        normalise(mass, shape);
    }
    Ok(modes)
}

/// Every slice is independent: they are spread over the processors.
fn solve_all(pencil: &Pencil, slices: &[Slice]) -> Result<Vec<SlicePairs>, EigenError> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(slice) = slices.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((slice.from, solve_one(pencil, *slice)));
        }
        done
    };
    let mut results = Vec::with_capacity(slices.len());
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(slices.len()))
            .map(|_| scope.spawn(work))
            .collect();
        results.extend(work());
        for other in others {
            match other.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    results.sort_by(|a, b| a.0.total_cmp(&b.0));
    results.into_iter().map(|(_, pairs)| pairs).collect()
}

fn solve_one(pencil: &Pencil, slice: Slice) -> Result<SlicePairs, EigenError> {
    let (shift, factor) = pencil.factor_near(0.5 * (slice.from + slice.to), slice)?;
    solve_slice(pencil.mass, &factor, shift, slice).map_err(|found| EigenError::Incomplete {
        from: slice.from,
        to: slice.to,
        expected: slice.count,
        found,
    })
}

/// φᵀMφ = 1, the largest entry positive, so that the same line always gives the same shapes.
fn normalise(mass: &SymBanded, shape: &mut [f64]) {
    let mut product = vec![0.0; shape.len()];
    mass.mul_vec(shape, &mut product);
    let length = dot(shape, &product).sqrt();
    let largest = shape
        .iter()
        .fold(0.0_f64, |m, x| if x.abs() > m.abs() { *x } else { m });
    let factor = largest.signum() / length;
    shape.iter_mut().for_each(|x| *x *= factor);
}
