//! Lines across a plot of the contact force: mean, three deviations on both sides, and the standard's limits.

use super::limits::ForceLimits;
use crate::statistics::ChannelStatistics;

/// What a line across says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Mean of what is seen.
    Mean,
    /// Three deviations beside the mean.
    Deviation,
    /// A limit of a standard.
    Limit,
}

/// A line across a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct AcrossLine {
    /// At which value, in N.
    pub value: f64,
    /// What stands at it.
    pub label: String,
    /// The same where there is little room.
    pub short: String,
    /// What it says.
    pub meaning: Meaning,
}

impl AcrossLine {
    fn new(value: f64, label: String, short: &str, meaning: Meaning) -> Self {
        Self {
            value,
            label,
            short: format!("{short} {value:.0} N"),
            meaning,
        }
    }
}

/// F_m and F_m ± 3σ of a stretch; nothing without samples.
pub fn statistics_lines(found: &ChannelStatistics) -> Vec<AcrossLine> {
    let Some((mean, deviation)) = found.mean().zip(found.std()) else {
        return Vec::new();
    };
    let (low, high) = (mean - 3.0 * deviation, mean + 3.0 * deviation);
    vec![
        AcrossLine::new(
            high,
            format!("F_m + 3σ  {high:.0} N"),
            "+ 3σ",
            Meaning::Deviation,
        ),
        AcrossLine::new(mean, format!("F_m  {mean:.0} N"), "F_m", Meaning::Mean),
        AcrossLine::new(
            low,
            format!("F_m − 3σ  {low:.0} N"),
            "− 3σ",
            Meaning::Deviation,
        ),
    ]
}

/// The standard's limits at a speed in km/h. Without a speed nothing is known of the upper one.
pub fn limit_lines(limits: &ForceLimits, speed_kmh: Option<f64>) -> Vec<AcrossLine> {
    let standard = &limits.standard;
    let least = limits.statistical_min_n;
    let mut lines = vec![AcrossLine::new(
        least,
        format!("limit F_m − 3σ > {least:.0} N ({standard})"),
        "limit >",
        Meaning::Limit,
    )];
    if let Some(limit) = speed_kmh.and_then(|v| limits.statistical_max_at(v)) {
        let most = limit.force_n;
        let speeds = match limit.up_to_kmh {
            Some(up_to) => format!("up to {up_to:.0} km/h"),
            None => "at this speed".to_owned(),
        };
        let system = &limits.system;
        let label = format!("limit F_m + 3σ ≤ {most:.0} N ({standard}, {system}, {speeds})");
        lines.push(AcrossLine::new(most, label, "limit ≤", Meaning::Limit));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::limits::EN_50367;

    #[test]
    fn mean_and_deviation_stand_where_they_belong() {
        let mut found = ChannelStatistics::default();
        assert!(statistics_lines(&found).is_empty());
        // The textbook's example: mean 5, deviation 2.
        for v in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            found.add(v);
        }
        let values: Vec<f64> = statistics_lines(&found).iter().map(|l| l.value).collect();
        assert_eq!(values, [11.0, 5.0, -1.0]);
    }

    #[test]
    fn the_upper_limit_needs_a_speed() {
        let limits = EN_50367.as_ref().unwrap();
        assert_eq!(limit_lines(limits, None).len(), 1);
        let lines = limit_lines(limits, Some(250.0));
        assert_eq!(lines[1].value, 350.0);
        assert!(lines[1].label.contains("EN 50367") && lines[1].label.contains("320 km/h"));
        assert_eq!(limit_lines(limits, Some(350.0))[1].value, 400.0);
    }
}
