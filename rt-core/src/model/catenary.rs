//! Overhead lines: from a line file to the rest position, the reference solver and real-time models.
//!
//! - [`line`] reads the file, [`layout`] lays the section out, [`mesh`] and [`assembly`] make matrices.
//! - [`statics`] finds the rest position, [`linear`] linearises there.
//! - [`wire`] is what a wire model offers; [`full`] is the full-order one (the reference solver and a
//!   real-time model), [`modal`] the reduced one with its [`basis`], kept by [`cache`]. [`slack`] solves
//!   which droppers are slack, together with the contact.
//! - [`simulate`] runs a pantograph ([`lumped`]) along the line, [`evaluate`] says how well, [`standard`]
//!   holds that against bands, [`draw`] draws the line.
//!
//! # Which elements, and why vertical and lateral motion are apart
//!
//! Wires are Euler–Bernoulli beams under constant tension (tensioning devices hold it) with cubic
//! Hermite shapes, heights and slopes as unknowns. Against absolute nodal coordinates that leaves out
//! second-order effects of the slopes: slopes of the contact wire are below 0.01 at rest and in passing,
//! so lengths differ from their projection by less than 10⁻⁴, and the tension that a passing pantograph
//! would add to a wire with fixed ends is below 0.1 % ([`statics::Statics::tension_rise`] and its test).
//! In return the equations are linear but for slackening and contact, the matrix has a half-bandwidth
//! of 7, and one factorisation serves every step.
//!
//! Vertical and lateral equilibrium at rest act on each other through three things, all of them solved:
//! droppers that hang inclined hold the wires together sideways with F/ℓ; an inclined dropper's force is
//! larger by 1/cos δ; a steady arm turns the stagger's lateral load into a vertical one. In motion the
//! coupling is of second order (δ is a few degrees at most, cos²δ enters the droppers' stiffness), and
//! the pantograph feels only the height: so the dynamics are vertical. The arm's lateral load still acts,
//! as the vertical stiffness of a pendulum.

pub mod assembly;
pub mod basis;
pub mod cache;
pub mod draw;
pub mod error;
pub mod evaluate;
pub mod full;
pub mod layout;
pub mod line;
pub mod linear;
pub mod lumped;
pub mod mesh;
pub mod modal;
pub mod series_csv;
pub mod simulate;
pub mod slack;
pub mod standard;
pub mod static_report;
pub mod statics;
pub mod vector;
pub mod wire;

pub use basis::ModalBasis;
pub use error::CatenaryError;
pub use evaluate::{Filter, Reference, Report};
pub use full::FullWire;
pub use line::Line;
pub use linear::LinearLine;
pub use modal::{ModalOptions, ModalWire};
pub use simulate::{Coupling, Run, Series};
pub use standard::{Standard, Validation};
pub use static_report::StaticReport;
pub use wire::WireModel;
