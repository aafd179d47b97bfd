//! Substitution with a banded triangle, four unknowns at once.
//!
//! Substituting row by row is one long chain: each unknown waits for the one before. With L cut
//! into 4 × 4 blocks, forward substitution
//!
//!   y_b = L_bb⁻¹ (r_b − Σ_k L_bk y_k) = G_b r_b − Σ_k H_bk y_k,  G_b = L_bb⁻¹, H_bk = G_b L_bk
//!
//! has G_b and H_bk computed beforehand, so the chain is one product long for four unknowns and
//! vectorises. Backward substitution is the same with the transposed blocks.

use super::factor::Columns;

/// Rows solved at once.
const BLOCK: usize = 4;

/// A 4 × 4 block, column by column.
type Block = [[f64; BLOCK]; BLOCK];

/// A vector in blocks and what remains of it.
type Side<'a> = (&'a mut [[f64; BLOCK]], &'a mut [f64]);

/// L and Lᵀ in blocks, each with the inverse of its diagonal block multiplied in.
#[derive(Clone, Debug)]
pub(super) struct Triangles {
    order: usize,
    /// Off-diagonal blocks a block row.
    reach: usize,
    /// For each block row: G_b, then H_bk, the farthest first (zero left of the matrix).
    lower: Vec<Block>,
    /// For each block row: G_bᵀ, then L_bb⁻ᵀ L_kbᵀ, the farthest first (zero beyond the end).
    upper: Vec<Block>,
}

impl Triangles {
    pub(super) fn new(l: &Columns) -> Self {
        let blocks = l.order.div_ceil(BLOCK);
        let reach = l.half_bandwidth.div_ceil(BLOCK);
        let mut lower = Vec::with_capacity(blocks * (reach + 1));
        let mut upper = Vec::with_capacity(blocks * (reach + 1));
        let identity: Block =
            std::array::from_fn(|c| std::array::from_fn(|r| f64::from(u8::from(r == c))));
        for b in 0..blocks {
            let diagonal = block_of(l, b, b);
            lower.push(solve_lower(&diagonal, &identity));
            upper.push(solve_lower_transposed(&diagonal, &identity));
            for distance in (1..=reach).rev() {
                lower.push(match b.checked_sub(distance) {
                    Some(k) => solve_lower(&diagonal, &block_of(l, b, k)),
                    None => [[0.0; BLOCK]; BLOCK],
                });
                upper.push(if b + distance < blocks {
                    let below = block_of(l, b + distance, b);
                    solve_lower_transposed(&diagonal, &transposed(&below))
                } else {
                    [[0.0; BLOCK]; BLOCK]
                });
            }
        }
        Self {
            order: l.order,
            reach,
            lower,
            upper,
        }
    }

    pub(super) fn order(&self) -> usize {
        self.order
    }

    /// y = L⁻¹ r for several right-hand sides of equal length at once.
    pub(super) fn forward<const SIDES: usize>(&self, sides: [&mut [f64]; SIDES]) {
        substitute_all::<SIDES, false>(sides, &self.lower, self.reach);
    }

    /// x = L⁻ᵀ y for several right-hand sides of equal length at once.
    pub(super) fn backward<const SIDES: usize>(&self, sides: [&mut [f64]; SIDES]) {
        substitute_all::<SIDES, true>(sides, &self.upper, self.reach);
    }

    /// L⁻ᵀ · between · L⁻¹ for columns stored one after the other.
    pub(super) fn solve_columns(&self, columns: &mut [f64], between: impl Fn(&mut [f64])) {
        const SIDES: usize = 4;
        if self.order == 0 {
            return;
        }
        assert_eq!(
            columns.len() % self.order,
            0,
            "columns of the matrix's order"
        );
        let mut groups = columns.chunks_exact_mut(SIDES * self.order);
        for group in &mut groups {
            let (ab, cd) = group.split_at_mut(2 * self.order);
            let (a, b) = ab.split_at_mut(self.order);
            let (c, d) = cd.split_at_mut(self.order);
            self.forward([&mut *a, &mut *b, &mut *c, &mut *d]);
            for side in [&mut *a, &mut *b, &mut *c, &mut *d] {
                between(side);
            }
            self.backward([a, b, c, d]);
        }
        for side in groups.into_remainder().chunks_exact_mut(self.order) {
            self.forward([&mut *side]);
            between(side);
            self.backward([side]);
        }
    }
}

fn block_of(l: &Columns, block_row: usize, block_column: usize) -> Block {
    std::array::from_fn(|c| {
        std::array::from_fn(|r| l.get(block_row * BLOCK + r, block_column * BLOCK + c))
    })
}

fn transposed(block: &Block) -> Block {
    std::array::from_fn(|c| std::array::from_fn(|r| block[r][c]))
}

/// T⁻¹ B for a lower triangle T.
fn solve_lower(triangle: &Block, right: &Block) -> Block {
    right.map(|mut column| {
        for i in 0..BLOCK {
            for k in 0..i {
                column[i] -= triangle[k][i] * column[k];
            }
            column[i] /= triangle[i][i];
        }
        column
    })
}

/// T⁻ᵀ B for a lower triangle T.
fn solve_lower_transposed(triangle: &Block, right: &Block) -> Block {
    right.map(|mut column| {
        for i in (0..BLOCK).rev() {
            for k in i + 1..BLOCK {
                column[i] -= triangle[i][k] * column[k];
            }
            column[i] /= triangle[i][i];
        }
        column
    })
}

/// Usual bandwidths are unrolled, so that the latest unknowns stay in registers.
fn substitute_all<const SIDES: usize, const BACKWARD: bool>(
    sides: [&mut [f64]; SIDES],
    blocks: &[Block],
    reach: usize,
) {
    let sides = sides.map(|side| side.as_chunks_mut());
    match reach {
        0 => substitute_reaching::<SIDES, BACKWARD, 0>(sides, blocks),
        1 => substitute_reaching::<SIDES, BACKWARD, 1>(sides, blocks),
        2 => substitute_reaching::<SIDES, BACKWARD, 2>(sides, blocks),
        3 => substitute_reaching::<SIDES, BACKWARD, 3>(sides, blocks),
        4 => substitute_reaching::<SIDES, BACKWARD, 4>(sides, blocks),
        5 => substitute_reaching::<SIDES, BACKWARD, 5>(sides, blocks),
        6 => substitute_reaching::<SIDES, BACKWARD, 6>(sides, blocks),
        _ => substitute_wide::<SIDES, BACKWARD>(sides, blocks, reach),
    }
}

/// Substitution with the window of the latest unknowns in registers; before the first there are
/// zeros, as there are in the blocks that reach beyond the matrix.
fn substitute_reaching<const SIDES: usize, const BACKWARD: bool, const REACH: usize>(
    mut sides: [Side; SIDES],
    blocks: &[Block],
) {
    let mut windows = [[[0.0; BLOCK]; REACH]; SIDES];
    let whole = sides.first().map_or(0, |(blocks, _)| blocks.len());
    let (whole_rows, last_row) = blocks.split_at(whole * (REACH + 1));
    let solve_last = |sides: &mut [Side; SIDES], windows: &mut [[[f64; BLOCK]; REACH]; SIDES]| {
        if !last_row.is_empty() {
            for (side, window) in sides.iter_mut().zip(windows) {
                let values = substitute(last_row, &get(side, whole), window);
                set(side, whole, &values);
            }
        }
    };
    let rows = whole_rows.chunks_exact(REACH + 1).enumerate();
    if BACKWARD {
        solve_last(&mut sides, &mut windows);
        for (b, row) in rows.rev() {
            for ((blocks, _), window) in sides.iter_mut().zip(&mut windows) {
                blocks[b] = substitute(row, &blocks[b], window);
            }
        }
    } else {
        for (b, row) in rows {
            for ((blocks, _), window) in sides.iter_mut().zip(&mut windows) {
                blocks[b] = substitute(row, &blocks[b], window);
            }
        }
        solve_last(&mut sides, &mut windows);
    }
}

/// G r − Σ H_k y_k over the window of the latest unknowns, which then moves on by one.
#[inline(always)]
fn substitute<const REACH: usize>(
    row: &[Block],
    right: &[f64; BLOCK],
    window: &mut [[f64; BLOCK]; REACH],
) -> [f64; BLOCK] {
    let mut sum = multiply(&row[0], right);
    for (block, known) in row[1..=REACH].iter().zip(&*window) {
        subtract_product(&mut sum, block, known);
    }
    if REACH > 0 {
        for k in 1..REACH {
            window[k - 1] = window[k];
        }
        window[REACH - 1] = sum;
    }
    sum
}

/// Substitution for any bandwidth, reading the known unknowns from memory.
fn substitute_wide<const SIDES: usize, const BACKWARD: bool>(
    mut sides: [Side; SIDES],
    blocks: &[Block],
    reach: usize,
) {
    let count = blocks.len() / (reach + 1);
    for step in 0..count {
        let b = if BACKWARD { count - 1 - step } else { step };
        let row = &blocks[b * (reach + 1)..(b + 1) * (reach + 1)];
        for side in &mut sides {
            let mut sum = multiply(&row[0], &get(side, b));
            // No further than there are unknowns already: `step` of them.
            for distance in (1..=reach.min(step)).rev() {
                let k = if BACKWARD { b + distance } else { b - distance };
                subtract_product(&mut sum, &row[1 + reach - distance], &get(side, k));
            }
            set(side, b, &sum);
        }
    }
}

/// Block `b` of a vector; zeros complete the last one.
fn get((blocks, tail): &Side, b: usize) -> [f64; BLOCK] {
    match blocks.get(b) {
        Some(block) => *block,
        None => std::array::from_fn(|r| tail.get(r).copied().unwrap_or(0.0)),
    }
}

fn set((blocks, tail): &mut Side, b: usize, values: &[f64; BLOCK]) {
    match blocks.get_mut(b) {
        Some(block) => *block = *values,
        None => {
            for (into, value) in tail.iter_mut().zip(values) {
                *into = *value;
            }
        }
    }
}

#[inline(always)]
fn multiply(block: &Block, x: &[f64; BLOCK]) -> [f64; BLOCK] {
    std::array::from_fn(|r| {
        (block[0][r] * x[0] + block[1][r] * x[1]) + (block[2][r] * x[2] + block[3][r] * x[3])
    })
}

#[inline(always)]
fn subtract_product(sum: &mut [f64; BLOCK], block: &Block, x: &[f64; BLOCK]) {
    let product = multiply(block, x);
    for (sum, product) in sum.iter_mut().zip(product) {
        *sum -= product;
    }
}
