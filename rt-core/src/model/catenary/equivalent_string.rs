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

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Complex;
    use std::path::Path;

    /// At rest the string yields like the line does on average, which the static report says at its own
    /// places: 1 m apart instead of 1.6 m.
    #[test]
    fn the_string_yields_like_the_line() {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/lines");
        for name in ["stitched-sw.ron", "simple-55m.ron", "en50318-2002.ron"] {
            let line: Line = crate::file::load(&assets.join(name)).unwrap();
            let linear = LinearLine::build(&line, 2.0).unwrap();
            let string = equivalent_string(&line, &linear, 0.0).unwrap();
            let found = string.compliance(Complex::from(0.0)).re;
            let supports = &linear.layout.supports;
            let middle = linear.layout.spans() / 2;
            let (from, to) = (supports[middle].x, supports[middle + 1].x);
            let places: Vec<f64> = (from as i64 + 1..to as i64).map(|x| x as f64).collect();
            let elasticity = linear.elasticity(&places).unwrap();
            let mean = elasticity.iter().sum::<f64>() / places.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.02, "{name}: {found} {mean}");
            assert!((0.2e-3..0.8e-3).contains(&found), "{name}: {found} m/N");
        }
    }
}
