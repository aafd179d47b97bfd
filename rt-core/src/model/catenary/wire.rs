//! What every wire model offers: one step of Δt with the contact at a known place, in three parts, so
//! that a contact law or a predictive controller can ask for the wire's answer before it is final.
//!
//! Newmark's average-acceleration rule (γ = ½, β = ¼), K_itc = 4/Δt² M + 2/Δt C + K:
//!
//!   K_itc u⁺ = M p + C q + Nᵀ F − B (s − s⁰),  p = 4/Δt² u + 4/Δt u̇ + ü,  q = 2/Δt u + u̇
//!   u̇⁺ = 2/Δt (u⁺ − u) − u̇,  ü⁺ = 4/Δt² (u⁺ − u) − 4/Δt u̇ − ü
//!
//! with s the tractions of slack droppers ([`super::slack`]) and s⁰ those at rest.

pub use super::slack::{ElasticContact, Response};

use super::linear::LinearLine;
use super::shape::ShapePlan;

/// How the wire will answer in this step as long as no dropper changes between tight and slack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// z_f: height at the contact point at zero contact force, in m above nominal.
    pub height_free: f64,
    /// c = N K_itc⁻¹ Nᵀ: rise per newton within the step, in m/N.
    pub compliance: f64,
}

/// A saved state of a wire model; made by [`WireModel::new_state`], so that saving never allocates.
#[derive(Clone, Debug)]
pub struct WireState {
    /// Displacement, velocity, acceleration, one after the other.
    pub motion: Vec<f64>,
    /// Which droppers are slack.
    pub slack: Vec<bool>,
    /// Which droppers are lightly loaded (modal model only).
    pub light: Vec<bool>,
    /// Which droppers are looked at next (modal model only).
    pub turn: usize,
}

/// A wire that is stepped in time. After it is built nothing allocates.
///
/// A step is `predict`, then `respond` or `respond_to` as often as wanted, then `commit`.
pub trait WireModel: Send {
    /// The step, in s.
    fn dt(&self) -> f64;

    /// Number of unknowns that are integrated.
    fn unknowns(&self) -> usize;

    /// Back to rest.
    fn reset(&mut self);

    /// Prepares a step that ends with the contact at `x` m.
    fn predict(&mut self, x: f64) -> Prediction;

    /// Height at the contact point if this force in N acts on the wire, slack droppers solved.
    fn respond(&mut self, force_on_wire: f64) -> f64;

    /// Force and height if a head meets the wire through a spring, slack droppers solved.
    fn respond_to(&mut self, contact: &ElasticContact) -> Response;

    /// Makes the latest answer the new state.
    fn commit(&mut self);

    /// Rise of the contact wire above its rest position at a place, in m.
    fn rise(&self, x: f64) -> f64;

    /// How many droppers are slack.
    fn slack_droppers(&self) -> usize;

    /// How many answers since the last reset did not settle which droppers are slack.
    fn unsettled(&self) -> u64;

    /// An empty state that fits this model. Allocates.
    fn new_state(&self) -> WireState;

    /// Copies the committed state out.
    fn save(&self, state: &mut WireState);

    /// Goes back to a saved state.
    fn restore(&mut self, state: &WireState);

    /// The same wire as one that knows its whole shape, if it does.
    fn meshed(&self) -> Option<&dyn MeshedWire> {
        None
    }
}

/// A wire that knows its shape along the whole line. Asking changes nothing.
pub trait MeshedWire {
    /// The line that it models.
    fn line(&self) -> &LinearLine;

    /// What the shape is made of: the displacements of all unknowns, or of all modes.
    fn displacement(&self) -> &[f64];

    /// Which droppers are slack.
    fn slack(&self) -> &[bool];

    /// What is needed to look at certain places of any displacement of this wire. Allocates.
    fn shape_rows(&self, plan: &ShapePlan) -> Box<dyn ShapeRows>;
}

/// Looks at places of a wire's displacement, which may be one that was kept.
pub trait ShapeRows: Send {
    /// Rise of the contact wire at a place of the plan, in m.
    fn rise(&self, displacement: &[f64], place: usize) -> f64;

    /// How much further apart the ends of a dropper are than at rest, in m.
    fn stretch(&self, displacement: &[f64], dropper: usize) -> f64;
}

/// The constants of Newmark's rule for a step.
#[derive(Clone, Copy, Debug)]
pub struct Newmark {
    /// Δt, in s.
    pub dt: f64,
    /// 4/Δt².
    pub accel: f64,
    /// 4/Δt.
    pub jump: f64,
    /// 2/Δt.
    pub rate: f64,
}

impl Newmark {
    /// For a step of `dt` seconds.
    pub fn new(dt: f64) -> Self {
        Self {
            dt,
            accel: 4.0 / (dt * dt),
            jump: 4.0 / dt,
            rate: 2.0 / dt,
        }
    }

    /// (u̇⁺, ü⁺) from the old motion and u⁺.
    #[inline]
    pub fn update(&self, u: f64, v: f64, a: f64, new: f64) -> (f64, f64) {
        let du = new - u;
        (self.rate * du - v, self.accel * du - self.jump * v - a)
    }
}
