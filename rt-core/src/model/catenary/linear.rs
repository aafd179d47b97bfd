//! The line linearised at rest: M, C = α M + β K and K over the free unknowns, dropper springs included.

use super::assembly::{FreeDofs, Spring, mass, stiffness};
use super::error::CatenaryError;
use super::layout::Layout;
use super::line::{Damping, Line};
use super::mesh::{Mesh, shapes};
use super::slack::Slackening;
use super::statics::Statics;
use crate::numeric::banded::{BandedCholesky, SymBanded};
use crate::numeric::eigen::lowest_modes;

/// A dropper as a spring between two free unknowns. Its stretch is u_top − u_bottom.
#[derive(Clone, Copy, Debug)]
pub struct DropperLink {
    /// Unknown of the upper end.
    pub top: usize,
    /// Unknown of the lower end, on the contact wire.
    pub bottom: usize,
    /// Vertical stiffness, in N/m.
    pub stiffness: f64,
    /// Vertical tension at rest, in N; below zero it is slack by that force over the stiffness.
    pub rest: f64,
}

/// N: takes the contact wire's value at a place from the free unknowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The station at which its element begins.
    pub station: usize,
    /// The element's unknowns; a held one is given as 0 with weight 0.
    pub dofs: [usize; 4],
    /// The weights.
    pub weights: [f64; 4],
}

impl ContactPoint {
    /// N u.
    #[inline]
    pub fn of(&self, u: &[f64]) -> f64 {
        self.dofs
            .iter()
            .zip(&self.weights)
            .map(|(&d, w)| w * u[d])
            .sum()
    }
}

/// A line ready for dynamics.
#[derive(Clone, Debug)]
pub struct LinearLine {
    /// Where everything stands.
    pub layout: Layout,
    /// The mesh.
    pub mesh: Mesh,
    /// The rest position as designed, with installation errors applied to `z` and the droppers.
    pub statics: Statics,
    /// Which unknowns are free.
    pub free: FreeDofs,
    /// K, in N/m.
    pub stiffness: SymBanded,
    /// M, in kg.
    pub mass: SymBanded,
    /// C = α M + β K.
    pub damping: Damping,
    /// The droppers.
    pub droppers: Vec<DropperLink>,
    /// Speed of waves on the contact wire √(T/m), in m/s.
    pub wave_speed: f64,
}

impl LinearLine {
    /// Lays out, meshes (elements up to `mesh_m` long), solves the rest position and linearises.
    pub fn build(line: &Line, mesh_m: f64) -> Result<Self, CatenaryError> {
        if !(0.01..=20.0).contains(&mesh_m) {
            return Err(CatenaryError::Argument {
                what: "the mesh size in m",
                value: mesh_m,
                expected: "0.01 to 20".into(),
            });
        }
        let layout = Layout::of(line)?;
        let mesh = Mesh::build(line, &layout, mesh_m);
        let statics = Statics::solve(line, &layout, &mesh)?;

        let mut held = vec![false; mesh.dofs];
        let last = layout.spans();
        let mut springs = Vec::new();
        for (i, (s, &station)) in layout
            .supports
            .iter()
            .zip(&mesh.support_station)
            .enumerate()
        {
            let (contact, messenger) =
                (mesh.contact[station].height, mesh.messenger[station].height);
            match s.kind.messenger_stiffness_n_per_m {
                Some(stiffness) => springs.push(Spring {
                    a: messenger,
                    b: None,
                    stiffness,
                }),
                None => held[messenger] = true,
            }
            if i == 0 || i == last {
                held[contact] = true;
            } else if statics.arms[i].stiffness > 0.0 {
                springs.push(Spring {
                    a: contact,
                    b: None,
                    stiffness: statics.arms[i].stiffness,
                });
            }
        }
        let free = FreeDofs::new(&held);
        let mut droppers = Vec::new();
        for (i, d) in statics.droppers.iter().enumerate() {
            let (top, bottom) = (
                mesh.dropper_top[i].height,
                mesh.contact[mesh.dropper_station[i]].height,
            );
            springs.push(Spring {
                a: top,
                b: Some(bottom),
                stiffness: d.stiffness,
            });
            if let (Some(top), Some(bottom)) = (free.number[top], free.number[bottom]) {
                let rest = d.force * d.cosine;
                droppers.push(DropperLink {
                    top,
                    bottom,
                    stiffness: d.stiffness,
                    rest,
                });
            }
        }
        let mut new = Self {
            stiffness: stiffness(&mesh, &free, &springs)?,
            mass: mass(&mesh, &free, &statics.lumped, &springs)?,
            damping: line.damping,
            wave_speed: (line.contact_wire.tension_n / line.contact_wire.mass_kg_per_m).sqrt(),
            layout,
            mesh,
            statics,
            free,
            droppers,
        };
        if new.layout.droppers.iter().any(|d| d.too_long != 0.0) {
            new.apply_installation_errors()?;
        }
        Ok(new)
    }

    /// Number of free unknowns.
    pub fn dofs(&self) -> usize {
        self.free.count
    }

    /// Bᵀ u of one dropper: its stretch.
    #[inline]
    pub fn stretch(&self, dropper: usize, u: &[f64]) -> f64 {
        let d = &self.droppers[dropper];
        u[d.top] - u[d.bottom]
    }

    /// Columns K⁻¹ b_j for all droppers, one after the other, with any factorised K.
    pub fn dropper_columns(&self, factor: &BandedCholesky) -> Vec<f64> {
        let n = self.dofs();
        let mut columns = vec![0.0; n * self.droppers.len()];
        for (column, d) in columns.chunks_exact_mut(n).zip(&self.droppers) {
            column[d.top] = 1.0;
            column[d.bottom] = -1.0;
        }
        factor.solve_columns_in_place(&mut columns);
        columns
    }

    /// The rest position of the line as built: dropper lengths differ from the design by δ.
    ///
    /// K u + B s = B D δ, tensions F⁰ + D (Bᵀu − δ) + s ≥ 0.
    fn apply_installation_errors(&mut self) -> Result<(), CatenaryError> {
        let n = self.dofs();
        let columns = self.dropper_columns(&self.stiffness.cholesky()?);
        let count = self.droppers.len();
        let column = |j: usize| &columns[j * n..(j + 1) * n];
        let coupling = (0..count * count)
            .map(|i| self.stretch(i / count, column(i % count)))
            .collect();
        let delta: Vec<f64> = self.layout.droppers.iter().map(|d| d.too_long).collect();
        let mut u = vec![0.0; n];
        for (j, d) in self.droppers.iter().enumerate() {
            for (u, w) in u.iter_mut().zip(column(j)) {
                *u += w * d.stiffness * delta[j];
            }
        }
        let mut slack = Slackening::new(
            self.droppers.iter().map(|d| d.stiffness).collect(),
            self.droppers.iter().map(|d| d.rest).collect(),
            coupling,
        );
        for (j, d) in delta.iter().enumerate() {
            slack.predict(j, self.stretch(j, &u) - d, 0.0);
        }
        slack.respond(0.0);
        for (j, s) in slack.corrections() {
            for (u, w) in u.iter_mut().zip(column(j)) {
                *u -= w * s;
            }
        }
        for (dof, number) in self.free.number.iter().enumerate() {
            if let Some(i) = number {
                self.statics.z[dof] += u[*i];
            }
        }
        for (j, link) in self.droppers.iter_mut().enumerate() {
            let stretch = link.stretch_of(&u);
            let change = link.stiffness * (stretch - delta[j]);
            link.rest += change;
            let rest = &mut self.statics.droppers[j];
            rest.force += change / rest.cosine;
            rest.length += stretch;
            let bottom = self.mesh.contact[self.mesh.dropper_station[j]].height;
            rest.height = self.statics.z[bottom];
        }
        Ok(())
    }

    /// N at a place.
    #[inline]
    pub fn contact_point(&self, x: f64) -> ContactPoint {
        let (station, s) = self.mesh.locate(x);
        let mut weights = shapes(s, self.mesh.x[station + 1] - self.mesh.x[station]);
        let (a, b) = (self.mesh.contact[station], self.mesh.contact[station + 1]);
        let mut dofs = [0; 4];
        for (i, dof) in [a.height, a.slope, b.height, b.slope]
            .into_iter()
            .enumerate()
        {
            match self.free.number[dof] {
                Some(number) => dofs[i] = number,
                None => weights[i] = 0.0,
            }
        }
        ContactPoint {
            station,
            dofs,
            weights,
        }
    }

    /// Height of the contact wire at rest, in m above nominal.
    #[inline]
    pub fn rest_height(&self, x: f64) -> f64 {
        self.mesh.contact_value(&self.statics.z, x)
    }

    /// Static rise per force at places along the contact wire, in m/N: N K⁻¹ Nᵀ.
    pub fn elasticity(&self, places: &[f64]) -> Result<Vec<f64>, CatenaryError> {
        let factor = self.stiffness.cholesky()?;
        let mut u = vec![0.0; self.dofs()];
        let at = |x: &f64| {
            let point = self.contact_point(*x);
            u.fill(0.0);
            for (d, w) in point.dofs.iter().zip(point.weights) {
                u[*d] += w;
            }
            factor.solve_in_place(&mut u);
            point.of(&u)
        };
        Ok(places.iter().map(at).collect())
    }

    /// The lowest natural frequencies with all droppers tight, in Hz; at most all there are.
    pub fn frequencies(&self, count: usize) -> Result<Vec<f64>, CatenaryError> {
        let modes = lowest_modes(&self.stiffness, &self.mass, count.min(self.dofs()))
            .map_err(|e| CatenaryError::Modes(e.to_string()))?;
        Ok(modes
            .omega2
            .iter()
            .map(|w| w.sqrt() / std::f64::consts::TAU)
            .collect())
    }

    /// Depth of the contact wire in m below the straight line between the droppers beside the middle
    /// of a span (the larger one, where a dropper hangs at the middle itself).
    pub fn sag(&self, span: usize) -> f64 {
        let (Some(from), Some(to)) = (
            self.layout.supports.get(span),
            self.layout.supports.get(span + 1),
        ) else {
            return 0.0;
        };
        let middle = (from.x + to.x) / 2.0;
        let mut marks = vec![from.x];
        marks.extend(
            self.layout
                .droppers
                .iter()
                .filter(|d| d.span == span)
                .map(|d| d.x),
        );
        marks.push(to.x);
        marks
            .windows(2)
            .filter(|w| w[0] <= middle + 1e-6 && w[1] >= middle - 1e-6)
            .map(|w| {
                let (a, b) = (self.rest_height(w[0]), self.rest_height(w[1]));
                (0..=100)
                    .map(|i| f64::from(i) / 100.0)
                    .map(|s| a + s * (b - a) - self.rest_height(w[0] + s * (w[1] - w[0])))
                    .fold(0.0, f64::max)
            })
            .fold(0.0, f64::max)
    }
}

impl DropperLink {
    /// Its stretch in a displacement of all free unknowns.
    pub fn stretch_of(&self, u: &[f64]) -> f64 {
        u[self.top] - u[self.bottom]
    }
}
