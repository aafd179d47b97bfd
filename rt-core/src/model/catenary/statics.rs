//! The line at rest: gravity and tension, dropper lengths solved for the prescribed contact wire.
//!
//! Vertical and lateral equilibrium are solved in turn until both hold. Each is linear, because the
//! tensions are constant and the slopes small (see the module's own text for what that neglects):
//! the vertical one gives dropper forces F and lengths ℓ; droppers hold the wires together sideways
//! like pendulums, with stiffness F/ℓ; the lateral one gives the arms' loads, whose inclination
//! lifts or presses the contact wire.

use super::assembly::{Spring, forces, solve_held};
use super::error::CatenaryError;
use super::layout::Layout;
use super::line::{ContactSupport, Line};
use super::mesh::{Mesh, WireId, shape_slopes};

/// Gravity, in m/s².
pub const G: f64 = 9.81;

const MAX_ROUNDS: usize = 50;
/// Forces are settled when none changes by more than this, in N.
const SETTLED_N: f64 = 1e-8;

/// A dropper at rest.
#[derive(Clone, Copy, Debug)]
pub struct DropperAtRest {
    /// Tension along the dropper, in N; below 0 it is slack, by that force over its stiffness.
    pub force: f64,
    /// Distance of its ends, in m.
    pub length: f64,
    /// Height of the contact wire, in m above nominal.
    pub height: f64,
    /// Vertical stiffness, in N/m: k cos²δ + F/ℓ sin²δ for an inclination δ.
    pub stiffness: f64,
    /// Cosine of its inclination.
    pub cosine: f64,
}

/// What the steady arm does to the contact wire at a support.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArmAtRest {
    /// Sideways force on the wire, in N.
    pub lateral: f64,
    /// Upward force on the wire, in N (the arm's own weight included).
    pub vertical: f64,
    /// Stiffness upward, in N/m: the arm's own, and load over length as of a pendulum.
    pub stiffness: f64,
}

/// The line at rest.
#[derive(Clone, Debug)]
pub struct Statics {
    /// Heights and slopes of all unknowns, in m and rad, above the nominal contact-wire height.
    pub z: Vec<f64>,
    /// Sideways positions and slopes of all unknowns.
    pub y: Vec<f64>,
    /// The droppers.
    pub droppers: Vec<DropperAtRest>,
    /// The arms, one a support (all zero where there is none).
    pub arms: Vec<ArmAtRest>,
    /// Masses on single unknowns, in kg: clamps, halves of droppers, thirds of arms.
    pub lumped: Vec<f64>,
    /// Rounds until vertical and lateral equilibrium held together.
    pub rounds: usize,
}

impl Statics {
    /// Solves for the designed line; installation errors come later, in the linearised model.
    pub fn solve(line: &Line, layout: &Layout, mesh: &Mesh) -> Result<Self, CatenaryError> {
        let held = held_vertical(layout, mesh);
        let mut arms = vec![ArmAtRest::default(); layout.supports.len()];
        let mut droppers: Vec<DropperAtRest> = layout
            .droppers
            .iter()
            .map(|d| DropperAtRest {
                force: 0.0,
                length: 1.0,
                height: d.height,
                stiffness: d.stiffness.at_length(1.0),
                cosine: 1.0,
            })
            .collect();
        let mut change = (f64::INFINITY, 0);
        for rounds in 1..=MAX_ROUNDS {
            let (z, forces) = solve_vertical(line, layout, mesh, &held, &droppers, &mut arms)?;
            let (y, lateral) = solve_lateral(layout, mesh, &droppers)?;
            change = (0.0, 0);
            for (i, (d, &f)) in droppers.iter_mut().zip(&forces).enumerate() {
                let station = mesh.dropper_station[i];
                let (top, bottom) = (mesh.dropper_top[i].height, mesh.contact[station].height);
                let (dz, dy) = (z[top] - z[bottom], y[top] - y[bottom]);
                if dz < 0.02 {
                    let p = &layout.droppers[i];
                    return Err(CatenaryError::NoRoom {
                        dropper: p.name(),
                        x: p.x,
                        length: dz,
                    });
                }
                let length = dz.hypot(dy);
                let cosine = dz / length;
                let axial = f / cosine;
                if (axial - d.force).abs() > change.0 {
                    change = ((axial - d.force).abs(), i);
                }
                let k = layout.droppers[i].stiffness.at_length(length);
                let sideways = (axial / length).max(0.0) * (1.0 - cosine * cosine);
                *d = DropperAtRest {
                    force: axial,
                    length,
                    height: z[bottom],
                    stiffness: k * cosine * cosine + sideways,
                    cosine,
                };
            }
            for ((arm, support), &f) in arms.iter_mut().zip(&layout.supports).zip(&lateral) {
                let Some(kind) = &support.kind.steady_arm else {
                    continue;
                };
                let rise = match support.kind.contact {
                    // The heel is set for the vertical load, which is small against the lateral one.
                    ContactSupport::Level => 0.0,
                    ContactSupport::Dipping => kind.heel_rise_m,
                };
                let across = (kind.length_m.powi(2) - rise * rise).sqrt();
                arm.lateral = f;
                arm.stiffness = kind.stiffness_n_per_m + f.abs() / across;
                if support.kind.contact == ContactSupport::Dipping {
                    arm.vertical = f.abs() * rise / across - kind.mass_kg * G / 2.0;
                }
            }
            if change.0 < SETTLED_N && rounds > 1 {
                refuse_pushing(layout, &droppers)?;
                let lumped = lumped_masses(line, layout, mesh, &droppers);
                return Ok(Self {
                    z,
                    y,
                    droppers,
                    arms,
                    lumped,
                    rounds,
                });
            }
        }
        Err(CatenaryError::NotSettled {
            iterations: MAX_ROUNDS,
            dropper: layout
                .droppers
                .get(change.1)
                .map_or(String::new(), |d| d.name()),
            change: change.0,
        })
    }

    /// EA/L ∫ (z⁰′ u′ + ½ u′²) dx in N: how much a wire's tension would rise in a displacement u of
    /// all unknowns if its ends were held instead of tensioned. The model neglects this.
    pub fn tension_rise(
        &self,
        mesh: &Mesh,
        wire: WireId,
        axial_stiffness_n: f64,
        u: &[f64],
    ) -> f64 {
        let (mut stretch, mut length) = (0.0, 0.0);
        for e in mesh.elements.iter().filter(|e| e.wire == wire) {
            // Three Gauss points are exact: the integrand has degree 4.
            for (at, weight) in [
                (0.5 - 0.15f64.sqrt(), 5.0),
                (0.5, 8.0),
                (0.5 + 0.15f64.sqrt(), 5.0),
            ] {
                let n = shape_slopes(at, e.length);
                let slope = |v: &[f64]| (0..4).map(|i| n[i] * v[e.dofs[i]]).sum::<f64>();
                let (rest, more) = (slope(&self.z), slope(u));
                stretch += weight / 18.0 * e.length * (rest * more + 0.5 * more * more);
            }
            length += e.length;
        }
        axial_stiffness_n * stretch / length
    }
}

fn refuse_pushing(layout: &Layout, droppers: &[DropperAtRest]) -> Result<(), CatenaryError> {
    for (p, d) in layout.droppers.iter().zip(droppers) {
        if d.force < 0.0 {
            return Err(CatenaryError::DropperPushes {
                dropper: p.name(),
                x: p.x,
                force: -d.force,
            });
        }
    }
    Ok(())
}

fn ends(layout: &Layout) -> [usize; 2] {
    [0, layout.supports.len().saturating_sub(1)]
}

/// The messenger wire at its supports; the contact wire at droppers, level supports and both ends.
fn held_vertical(layout: &Layout, mesh: &Mesh) -> Vec<Option<f64>> {
    let mut held = vec![None; mesh.dofs];
    for (i, s) in layout.supports.iter().enumerate() {
        let station = mesh.support_station[i];
        let height = s.kind.contact_elevation_m;
        held[mesh.messenger[station].height] = Some(height + s.kind.encumbrance_m);
        if s.kind.contact == ContactSupport::Level || ends(layout).contains(&i) {
            held[mesh.contact[station].height] = Some(height);
        }
    }
    for (d, &station) in layout.droppers.iter().zip(&mesh.dropper_station) {
        held[mesh.contact[station].height] = Some(d.height);
    }
    held
}

/// Clamps, halves of droppers and thirds of arms.
fn lumped_masses(
    line: &Line,
    layout: &Layout,
    mesh: &Mesh,
    droppers: &[DropperAtRest],
) -> Vec<f64> {
    let mut kg = vec![0.0; mesh.dofs];
    for (i, (p, d)) in layout.droppers.iter().zip(droppers).enumerate() {
        let half = p.mass_per_m * d.length / 2.0;
        kg[mesh.dropper_top[i].height] += line.clamps.messenger_kg + half;
        kg[mesh.contact[mesh.dropper_station[i]].height] += line.clamps.contact_kg + half;
    }
    for s in &mesh.stitches {
        for node in [s.nodes.first(), s.nodes.last()].into_iter().flatten() {
            kg[node.height] += line.clamps.messenger_kg;
        }
    }
    for (s, &station) in layout.supports.iter().zip(&mesh.support_station) {
        if let Some(arm) = &s.kind.steady_arm {
            kg[mesh.contact[station].height] += arm.mass_kg / 3.0;
        }
    }
    kg
}

/// The shape of all wires and the vertical force of each dropper.
fn solve_vertical(
    line: &Line,
    layout: &Layout,
    mesh: &Mesh,
    held: &[Option<f64>],
    droppers: &[DropperAtRest],
    arms: &mut [ArmAtRest],
) -> Result<(Vec<f64>, Vec<f64>), CatenaryError> {
    let mut loads: Vec<f64> = lumped_masses(line, layout, mesh, droppers)
        .iter()
        .map(|kg| -kg * G)
        .collect();
    for e in &mesh.elements {
        for (dof, f) in e.dofs.iter().zip(e.uniform_load(-e.mass * G)) {
            loads[*dof] += f;
        }
    }
    for ((s, arm), &station) in layout
        .supports
        .iter()
        .zip(&*arms)
        .zip(&mesh.support_station)
    {
        if let Some(kind) = &s.kind.steady_arm {
            // The arm's weight is in `vertical`; its third of inertia is no load.
            let dipping = s.kind.contact == ContactSupport::Dipping;
            let load = if dipping {
                arm.vertical
            } else {
                -kind.mass_kg * G / 2.0
            };
            loads[mesh.contact[station].height] += load + kind.mass_kg / 3.0 * G;
        }
    }
    // The contact wire's held points show what the droppers carry; then the messenger carries that.
    let z = solve_held(mesh, &[], held, &loads)?;
    let needed = forces(mesh, &[], &z);
    let mut carried = Vec::with_capacity(droppers.len());
    for (top, &station) in mesh.dropper_top.iter().zip(&mesh.dropper_station) {
        let bottom = mesh.contact[station].height;
        let f = needed[bottom] - loads[bottom];
        loads[top.height] -= f;
        carried.push(f);
    }
    for ((s, arm), &station) in layout.supports.iter().zip(arms).zip(&mesh.support_station) {
        let dof = mesh.contact[station].height;
        if s.kind.contact == ContactSupport::Level {
            let weight = s
                .kind
                .steady_arm
                .as_ref()
                .map_or(0.0, |a| a.mass_kg * G / 2.0);
            arm.vertical = needed[dof] - loads[dof] - weight;
        }
    }
    Ok((solve_held(mesh, &[], held, &loads)?, carried))
}

/// Sideways shape, and the sideways force on the contact wire at each support.
fn solve_lateral(
    layout: &Layout,
    mesh: &Mesh,
    droppers: &[DropperAtRest],
) -> Result<(Vec<f64>, Vec<f64>), CatenaryError> {
    let mut held = vec![None; mesh.dofs];
    for (s, &station) in layout.supports.iter().zip(&mesh.support_station) {
        held[mesh.contact[station].height] = Some(s.kind.contact_stagger_m);
        held[mesh.messenger[station].height] = Some(s.kind.messenger_stagger_m);
    }
    let springs: Vec<Spring> = droppers
        .iter()
        .enumerate()
        .map(|(i, d)| Spring {
            a: mesh.dropper_top[i].height,
            b: Some(mesh.contact[mesh.dropper_station[i]].height),
            stiffness: (d.force / d.length).max(0.0),
        })
        .collect();
    let y = solve_held(mesh, &springs, &held, &vec![0.0; mesh.dofs])?;
    let f = forces(mesh, &springs, &y);
    let at_supports = mesh
        .support_station
        .iter()
        .map(|&s| f[mesh.contact[s].height])
        .collect();
    Ok((y, at_supports))
}
