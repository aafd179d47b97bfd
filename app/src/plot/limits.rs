//! Limits of the contact force that a standard sets, by speed.

use serde::Deserialize;
use std::sync::LazyLock;

/// Limits of one standard.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceLimits {
    /// Name of the standard.
    pub standard: String,
    /// Which electrification they hold for.
    pub system: String,
    /// Limits of F_m + 3σ, the slowest first.
    pub statistical_max: Vec<SpeedLimit>,
    /// F_m − 3σ must be above this, in N.
    pub statistical_min_n: f64,
}

/// A limit up to a speed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedLimit {
    /// It holds up to this speed, in km/h; without one for all that are faster.
    pub up_to_kmh: Option<f64>,
    /// The largest force, in N.
    pub force_n: f64,
}

/// The limits that the program comes with; words if its file is broken.
pub static EN_50367: LazyLock<Result<ForceLimits, String>> = LazyLock::new(|| {
    let text = include_str!("../../../assets/standards/en50367-force.ron");
    ron::Options::default()
        .from_str(text)
        .map_err(|e| format!("assets/standards/en50367-force.ron: {e}"))
});

impl ForceLimits {
    /// What F_m + 3σ may be at a speed in km/h.
    pub fn statistical_max_at(&self, speed_kmh: f64) -> Option<SpeedLimit> {
        let holds = |limit: &&SpeedLimit| limit.up_to_kmh.is_none_or(|most| speed_kmh <= most);
        self.statistical_max.iter().find(holds).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_the_statistical_maximum_goes_with_the_speed() {
        let limits = EN_50367.as_ref().unwrap();
        for (kmh, expected) in [
            (80.0, 300.0),
            (200.0, 300.0),
            (250.0, 350.0),
            (320.0, 350.0),
            (350.0, 400.0),
        ] {
            assert_eq!(limits.statistical_max_at(kmh).unwrap().force_n, expected);
        }
        assert_eq!(limits.statistical_min_n, 0.0);
        assert_eq!(
            (limits.standard.as_str(), limits.system.as_str()),
            ("EN 50367", "25 kV AC")
        );
    }
}
