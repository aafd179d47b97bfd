//! Banded matrices over the unknowns that are not held.

use super::error::CatenaryError;
use super::mesh::Mesh;
use crate::numeric::banded::SymBanded;

/// A spring between two unknowns, or from one to the ground.
#[derive(Clone, Copy, Debug)]
pub struct Spring {
    /// One end.
    pub a: usize,
    /// The other end; `None` is the ground.
    pub b: Option<usize>,
    /// Stiffness in N/m.
    pub stiffness: f64,
}

/// Which unknowns are free, and under which number.
#[derive(Clone, Debug)]
pub struct FreeDofs {
    /// The free number of each unknown; `None` is held.
    pub number: Vec<Option<usize>>,
    /// How many are free.
    pub count: usize,
}

impl FreeDofs {
    /// Numbers all unknowns that are not held.
    pub fn new(held: &[bool]) -> Self {
        let mut count = 0;
        let number = held
            .iter()
            .map(|&held| {
                if held {
                    return None;
                }
                count += 1;
                Some(count - 1)
            })
            .collect();
        Self { number, count }
    }
}

fn half_bandwidth(mesh: &Mesh, free: &FreeDofs, springs: &[Spring]) -> usize {
    let spread = |dofs: &[usize]| {
        let numbers = || dofs.iter().filter_map(|&d| free.number[d]);
        numbers().max().unwrap_or(0) - numbers().min().unwrap_or(0)
    };
    let elements = mesh
        .elements
        .iter()
        .map(|e| spread(&e.dofs))
        .max()
        .unwrap_or(0);
    let springs = springs
        .iter()
        .map(|s| s.b.map_or(0, |b| spread(&[s.a, b])))
        .max()
        .unwrap_or(0);
    elements.max(springs)
}

/// Stiffness of all wires and the given springs.
pub fn stiffness(
    mesh: &Mesh,
    free: &FreeDofs,
    springs: &[Spring],
) -> Result<SymBanded, CatenaryError> {
    let mut k = SymBanded::zeros(free.count, half_bandwidth(mesh, free, springs));
    for e in &mesh.elements {
        add_matrix(&mut k, free, &e.dofs, &e.stiffness())?;
    }
    for s in springs {
        let k_s = s.stiffness;
        match s.b {
            None => add_one(&mut k, free, s.a, s.a, k_s)?,
            Some(b) => {
                add_one(&mut k, free, s.a, s.a, k_s)?;
                add_one(&mut k, free, b, b, k_s)?;
                add_one(&mut k, free, s.a, b, -k_s)?;
            }
        }
    }
    Ok(k)
}

/// Consistent mass of all wires and lumped masses in kg, one for each unknown. `springs` only sets the
/// bandwidth, so that it is that of the stiffness.
pub fn mass(
    mesh: &Mesh,
    free: &FreeDofs,
    lumped: &[f64],
    springs: &[Spring],
) -> Result<SymBanded, CatenaryError> {
    let mut m = SymBanded::zeros(free.count, half_bandwidth(mesh, free, springs));
    for e in &mesh.elements {
        add_matrix(&mut m, free, &e.dofs, &e.mass_matrix())?;
    }
    for (dof, &kg) in lumped.iter().enumerate() {
        if kg != 0.0 {
            add_one(&mut m, free, dof, dof, kg)?;
        }
    }
    Ok(m)
}

fn add_matrix(
    to: &mut SymBanded,
    free: &FreeDofs,
    dofs: &[usize; 4],
    values: &[[f64; 4]; 4],
) -> Result<(), CatenaryError> {
    for i in 0..4 {
        for j in 0..=i {
            add_one(to, free, dofs[i], dofs[j], values[i][j])?;
        }
    }
    Ok(())
}

fn add_one(
    to: &mut SymBanded,
    free: &FreeDofs,
    a: usize,
    b: usize,
    value: f64,
) -> Result<(), CatenaryError> {
    match (free.number[a], free.number[b]) {
        (Some(i), Some(j)) => Ok(to.add(i, j, value)?),
        _ => Ok(()),
    }
}

/// K u over all unknowns, held ones included: the nodal forces that a shape needs, in N.
pub fn forces(mesh: &Mesh, springs: &[Spring], u: &[f64]) -> Vec<f64> {
    let mut f = vec![0.0; mesh.dofs];
    for e in &mesh.elements {
        let k = e.stiffness();
        for i in 0..4 {
            f[e.dofs[i]] += (0..4).map(|j| k[i][j] * u[e.dofs[j]]).sum::<f64>();
        }
    }
    for s in springs {
        let stretch = u[s.a] - s.b.map_or(0.0, |b| u[b]);
        f[s.a] += s.stiffness * stretch;
        if let Some(b) = s.b {
            f[b] -= s.stiffness * stretch;
        }
    }
    f
}

/// Solves K u = loads with some unknowns held at given values; returns all unknowns.
pub fn solve_held(
    mesh: &Mesh,
    springs: &[Spring],
    held: &[Option<f64>],
    loads: &[f64],
) -> Result<Vec<f64>, CatenaryError> {
    let free = FreeDofs::new(&held.iter().map(Option::is_some).collect::<Vec<_>>());
    let mut all: Vec<f64> = held.iter().map(|h| h.unwrap_or(0.0)).collect();
    let from_held = forces(mesh, springs, &all);
    let mut rhs = vec![0.0; free.count];
    for (dof, number) in free.number.iter().enumerate() {
        if let Some(i) = number {
            rhs[*i] = loads[dof] - from_held[dof];
        }
    }
    stiffness(mesh, &free, springs)?
        .cholesky()?
        .solve_in_place(&mut rhs);
    for (dof, number) in free.number.iter().enumerate() {
        if let Some(i) = number {
            all[dof] = rhs[*i];
        }
    }
    Ok(all)
}
