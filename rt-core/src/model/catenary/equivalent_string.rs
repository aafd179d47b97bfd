//! The string on an elastic layer that stands for a line when the stability of a loop is judged.
//!
//! Tension and mass are the contact wire's, which decide how it answers to fast forces; the stiffness κ of
//! the layer is that with which the string yields like the line does at rest, on average over its middle
//! span: e = 1 / (2 √(κ T)).

use super::error::CatenaryError;
use super::line::Line;
use super::linear::LinearLine;
use crate::model::moving_string::MovingString;

/// Places in the middle span at which the line's elasticity is taken.
const PLACES: usize = 40;

/// The string for a line passed at a speed in km/h.
pub fn equivalent_string(
    line: &Line,
    linear: &LinearLine,
    speed_kmh: f64,
) -> Result<MovingString, CatenaryError> {
    let supports = &linear.layout.supports;
    let middle = linear.layout.spans() / 2;
    let (from, to) = (supports[middle].x, supports[middle + 1].x);
    let places: Vec<f64> = (0..PLACES)
        .map(|i| from + (to - from) * (i as f64 + 0.5) / PLACES as f64)
        .collect();
    let elasticity = linear.elasticity(&places)?.iter().sum::<f64>() / PLACES as f64;
    let tension_n = line.contact_wire.tension_n;
    Ok(MovingString {
        tension_n,
        mass_kg_per_m: line.contact_wire.mass_kg_per_m,
        layer_n_per_m2: 1.0 / (4.0 * elasticity * elasticity * tension_n),
        mass_damping_per_s: line.damping.alpha_per_s,
        stiffness_damping_s: line.damping.beta_s,
        speed_kmh,
    })
}
