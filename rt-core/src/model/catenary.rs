//! Overhead lines: from a line file to the rest position, the reference solver and real-time models.
//!
//! - [`mod@line`] reads the file, [`layout`] lays the section out, [`mesh`] and [`assembly`] make matrices.
//! - [`statics`] finds the rest position, [`linear`] linearises there.
//! - [`wire`] is what a wire model offers; [`full`] is the full-order one (the reference solver and a
//!   real-time model), [`modal`] the reduced one with its [`basis`], kept by [`cache`]. [`slack`] solves
//!   which droppers are slack, together with the contact.
//! - [`scheme`] builds a model by its name; [`simulate`] runs a pantograph ([`lumped`]) along the line, [`evaluate`] says how well, [`standard`]
//!   holds that against bands. [`static_report`], [`series_csv`] and [`draw`] show lines and runs; [`scene`] and
//!   [`shape`] are what a window draws of a line at rest and in motion.
//!
//! # Which elements, and why vertical and lateral motion are apart
//!
//! Wires are Euler–Bernoulli beams under constant tension (tensioning devices hold it) with cubic
//! Hermite shapes, heights and slopes as unknowns. Against absolute nodal coordinates that leaves out
//! second-order effects of the slopes. At rest the contact wire's slope stays below 0.01 and the
//! messenger wire's below 0.1, so weights per length are low by at most 0.5 % where the messenger is
//! steepest; and a passing pantograph would change the tension of wires with fixed ends by less than
//! 0.1 %. Tests hold these figures. In return the equations are linear but for slackening and contact,
//! the matrix has a half-bandwidth of 7, and one factorisation serves every step.
//!
//! Vertical and lateral equilibrium at rest act on each other through three things, all of them solved:
//! droppers that hang inclined hold the wires together sideways with F/ℓ; an inclined dropper's force is
//! larger by 1/cos δ; a steady arm turns the stagger's lateral load into a vertical one. In motion the
//! coupling is of second order in δ (at most some ten degrees beside a staggered support; cos²δ enters
//! the droppers' stiffness), and the pantograph feels only the height: so the dynamics are vertical. The
//! arm's lateral load still acts, as the vertical stiffness of a pendulum.

pub mod assembly;
pub mod basis;
pub mod cache;
pub mod draw;
pub mod equivalent_string;
pub mod error;
pub mod evaluate;
pub mod full;
pub mod given_force;
pub mod layout;
pub mod line;
pub mod linear;
pub mod lumped;
pub mod mesh;
pub mod modal;
pub mod scene;
pub mod scheme;
pub mod series_csv;
pub mod shape;
pub mod simulate;
pub mod slack;
pub mod standard;
pub mod static_report;
pub mod statics;
pub mod vector;
pub mod wire;

pub use basis::ModalBasis;
pub use error::CatenaryError;
pub use evaluate::{Reference, Report};
pub use full::FullWire;
pub use line::Line;
pub use linear::LinearLine;
pub use modal::{ModalOptions, ModalWire};
pub use scene::LineScene;
pub use scheme::Scheme;
pub use shape::{ShapeReader, WireShape};
pub use simulate::{Coupling, Run, Series};
pub use standard::{Standard, Validation};
pub use static_report::StaticReport;
pub use wire::WireModel;
