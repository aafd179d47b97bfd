//! The rest height of a contact wire that repeats span after span: a presag that is deepest at mid-span
//! and the sag of the conductor between its droppers.
//!
//!   z⁰(x) = −½ h (1 − cos(2πx/L)) − 4 s_j ξ (1 − ξ),  ξ = (x − X_j)/d_j,  s_j = m g d_j²/(8 T)

use crate::file::{FieldError, require_positive, require_within};
use std::cmp::Ordering;
use std::f64::consts::TAU;

/// Most nodes of a span.
const MOST_NODES: usize = 1000;

/// One span of the rest height; the others are like it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpanProfile {
    /// Length L of the span in m: 1 to 500.
    pub span_m: f64,
    /// Places X_j in m between which the conductor sags, from 0 to `span_m`.
    pub nodes_m: Vec<f64>,
    /// Mass per length m of the conductor in kg/m.
    pub conductor_kg_per_m: f64,
    /// Tension T in N.
    pub tension_n: f64,
    /// Gravity g in m/s².
    pub gravity_m_per_s2: f64,
    /// How far the nodes hang lower at mid-span, h, in m: 0 to 1.
    pub depth_m: f64,
}

impl Default for SpanProfile {
    /// A high-speed line with spans of 65 m at 31.5 kN, 30 mm deep.
    fn default() -> Self {
        Self {
            span_m: 65.0,
            nodes_m: vec![0.0, 6.0, 15.48, 24.18, 32.5, 40.82, 49.52, 59.0, 65.0],
            conductor_kg_per_m: 1.374,
            tension_n: 31_500.0,
            gravity_m_per_s2: 9.81,
            depth_m: 0.03,
        }
    }
}

impl SpanProfile {
    /// Refuses a span without meaning.
    pub fn check(&self) -> Result<(), FieldError> {
        require_within("span_m", self.span_m, 1.0, 500.0, "m")?;
        require_positive("conductor_kg_per_m", self.conductor_kg_per_m, "kg/m")?;
        require_positive("tension_n", self.tension_n, "N")?;
        require_positive("gravity_m_per_s2", self.gravity_m_per_s2, "m/s²")?;
        require_within("depth_m", self.depth_m, 0.0, 1.0, "m")?;
        let nodes = &self.nodes_m;
        let whole = nodes.first() == Some(&0.0) && nodes.last() == Some(&self.span_m);
        if !whole || nodes.len() > MOST_NODES {
            return Err(FieldError::new(
                "nodes_m",
                format!(
                    "has {} places from {:?} to {:?}; expected 2 to {MOST_NODES} places from 0 to \
                     span_m = {}",
                    nodes.len(),
                    nodes.first(),
                    nodes.last(),
                    self.span_m
                ),
            ));
        }
        // Written so that NaN is refused.
        let wrong = nodes
            .windows(2)
            .position(|pair| pair[0].partial_cmp(&pair[1]) != Some(Ordering::Less));
        wrong.map_or(Ok(()), |i| {
            Err(FieldError::new(
                format!("nodes_m[{}]", i + 1),
                format!(
                    "is {} m after {} m; expected increasing places",
                    nodes[i + 1],
                    nodes[i]
                ),
            ))
        })
    }

    /// z⁰ in m at a place in m. Not a number where the place is none.
    pub fn height(&self, place_m: f64) -> f64 {
        let x = place_m.rem_euclid(self.span_m);
        let after = self.nodes_m.partition_point(|node| *node <= x);
        let node = |i: usize| self.nodes_m.get(i).copied().unwrap_or(self.span_m);
        // 4 s ξ (1 − ξ) = m g/(2T) (x − X_j) (X_j+1 − x)
        let weight = self.conductor_kg_per_m * self.gravity_m_per_s2;
        let sag = weight / (2.0 * self.tension_n)
            * (x - node(after.saturating_sub(1)))
            * (node(after) - x);
        -0.5 * self.depth_m * (1.0 - (TAU * x / self.span_m).cos()) - sag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference profile written out as published, node by node.
    #[test]
    fn the_default_is_the_published_profile() {
        let profile = SpanProfile::default();
        profile.check().unwrap();
        let nodes = [0.0, 6.0, 15.48, 24.18, 32.5, 40.82, 49.52, 59.0, 65.0];
        for pair in nodes.windows(2) {
            let d = pair[1] - pair[0];
            let s = 1.374 * 9.81 * d * d / (8.0 * 31_500.0);
            for xi in [0.0, 0.1, 0.5, 0.9] {
                let x = pair[0] + xi * d;
                let expected = -0.015 * (1.0 - (TAU * x / 65.0).cos()) - 4.0 * s * xi * (1.0 - xi);
                for spans in [-2.0, 0.0, 7.0] {
                    let found = profile.height(x + 65.0 * spans);
                    // Places of some hundred metres have a rounding of 1e-13 m, slopes are below 0.01.
                    assert!((found - expected).abs() < 1e-14, "{x}: {found} {expected}");
                }
            }
        }
        // By hand: 30 mm at mid-span, which is a node.
        assert!((profile.height(32.5) + 0.03).abs() < 1e-15);
        assert!(profile.height(f64::NAN).is_nan());
    }

    /// Between the nodes the conductor hangs in equilibrium: T z″ = m g beside the presag's curvature.
    #[test]
    fn the_conductor_carries_its_weight_between_nodes() {
        let level = SpanProfile {
            depth_m: 0.0,
            ..SpanProfile::default()
        };
        let h = 0.5;
        for x in [3.0, 10.0, 20.0, 45.0] {
            let curvature =
                (level.height(x - h) - 2.0 * level.height(x) + level.height(x + h)) / (h * h);
            let weight = 31_500.0 * curvature;
            assert!((weight / (1.374 * 9.81) - 1.0).abs() < 1e-9, "{weight}");
        }
    }

    #[test]
    fn senseless_spans_are_named() {
        let text = |change: fn(&mut SpanProfile)| {
            let mut profile = SpanProfile::default();
            change(&mut profile);
            profile.check().unwrap_err().to_string()
        };
        assert!(text(|p| p.tension_n = -1.0).starts_with("tension_n: is -1 N"));
        assert!(text(|p| p.depth_m = f64::NAN).starts_with("depth_m: is NaN"));
        assert!(text(|p| p.span_m = 60.0).starts_with("nodes_m: has 9 places"));
        assert!(text(|p| p.nodes_m.clear()).starts_with("nodes_m: has 0 places"));
        assert!(text(|p| p.nodes_m[2] = 5.0).starts_with("nodes_m[2]: is 5 m after 6 m"));
        assert!(text(|p| p.nodes_m[2] = f64::NAN).starts_with("nodes_m[2]: is NaN m"));
    }
}
