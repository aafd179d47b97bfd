//! What the standard allows of the contact force, by speed; the figures are in `assets/standards`.

use rt_core::signal::statistics::ForceStatistics;
use serde::Deserialize;

/// The shipped figures: part of the program, so that a panel never waits for a file.
const AC_25_KV: &str = include_str!("../../../assets/standards/en50367-ac-25kv.ron");

/// Limits of the force below a 20 Hz low-pass.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceLimits {
    /// Which standard.
    pub edition: String,
    sigma_share: f64,
    largest: Vec<LargestForce>,
    largest_above_n: f64,
    /// F_m − 3σ has to be above, in N.
    pub smallest_n: f64,
    /// The mean force that a pantograph is set to; `None` if the file does not say.
    mean_curve: Option<MeanCurve>,
    /// What else the file says of itself, for reports.
    pub remarks: String,
}

/// a v² + b above a speed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanCurve {
    above_kmh: f64,
    square_n_per_kmh2: f64,
    constant_n: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LargestForce {
    up_to_kmh: f64,
    force_n: f64,
}

/// One limit, what was found, and whether it is held.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What is limited.
    pub what: &'static str,
    /// What was found, in `unit`.
    pub found: f64,
    /// What is allowed, in `unit`.
    pub limit: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// `≤` or `>`.
    pub relation: &'static str,
    /// Whether it is held.
    pub is_held: bool,
}

impl ForceLimits {
    /// Limits under AC 25 kV.
    pub fn ac_25_kv() -> Result<Self, String> {
        ron::from_str(AC_25_KV)
            .map_err(|e| format!("the limits of the contact force cannot be read: {e}"))
    }

    /// The largest F_m + 3σ at a speed, in N.
    pub fn largest_n(&self, speed_kmh: f64) -> f64 {
        // A hair for a speed that is computed from places.
        let row = self
            .largest
            .iter()
            .find(|row| speed_kmh <= row.up_to_kmh + 0.05);
        row.map_or(self.largest_above_n, |row| row.force_n)
    }

    /// The mean force that a pantograph is set to at a speed, in N; `None` where the file does not say.
    pub fn mean_curve_n(&self, speed_kmh: f64) -> Option<f64> {
        let curve = self.mean_curve.filter(|c| speed_kmh > c.above_kmh)?;
        Some(curve.square_n_per_kmh2 * speed_kmh * speed_kmh + curve.constant_n)
    }

    /// Judges what can be judged: the largest force only where the speed is known.
    pub fn judge(&self, found: &ForceStatistics, speed_kmh: Option<f64>) -> Vec<Judged> {
        let share = found.standard_deviation / found.mean;
        let mut judged = vec![
            Judged {
                what: "σ / F_m",
                found: share,
                limit: self.sigma_share,
                unit: "",
                relation: "≤",
                is_held: share >= 0.0 && share <= self.sigma_share,
            },
            Judged {
                what: "F_m − 3σ",
                found: found.statistical_min,
                limit: self.smallest_n,
                unit: "N",
                relation: ">",
                is_held: found.statistical_min > self.smallest_n,
            },
        ];
        judged.extend(speed_kmh.map(|speed_kmh| Judged {
            what: "F_m + 3σ",
            found: found.statistical_max,
            limit: self.largest_n(speed_kmh),
            unit: "N",
            relation: "≤",
            is_held: found.statistical_max <= self.largest_n(speed_kmh),
        }));
        judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_standard_at_each_speed() {
        let limits = ForceLimits::ac_25_kv().unwrap();
        let found = [160.0, 200.0, 250.0, 320.0, 350.0].map(|v| limits.largest_n(v));
        assert_eq!(found, [300.0, 300.0, 350.0, 350.0, 400.0]);
        // 0.00097 · 300² + 70; nothing is known of slower trains.
        assert!((limits.mean_curve_n(300.0).unwrap() - 157.3).abs() < 1e-9);
        assert_eq!(limits.mean_curve_n(200.0), None);
    }

    #[test]
    fn a_force_is_judged_by_hand() {
        let limits = ForceLimits::ac_25_kv().unwrap();
        // Mean 100, σ 40: share 0.4, 220 and −20 N.
        let bad = ForceStatistics::of(&[60.0, 140.0]).unwrap();
        let judged = limits.judge(&bad, Some(250.0));
        let held: Vec<bool> = judged.iter().map(|j| j.is_held).collect();
        assert_eq!(held, [false, false, true]);
        assert_eq!((judged[1].found, judged[2].found), (-20.0, 220.0));
        // Mean 150, σ 20: all held; without a speed there is no largest force.
        let good = ForceStatistics::of(&[130.0, 170.0]).unwrap();
        assert!(limits.judge(&good, Some(250.0)).iter().all(|j| j.is_held));
        assert_eq!(limits.judge(&good, None).len(), 2);
        // No mean force: no share that could be held.
        let none = ForceStatistics::of(&[-1.0, 1.0]).unwrap();
        assert!(!limits.judge(&none, None)[0].is_held);
    }
}
