//! Which channels stand in which plot, and the plots that a bench begins with.

use super::axis::Axis;
use super::range::RangeStatistics;
use crate::data::{Channel, Data};
use crate::theme;
use crate::units::shown;
use rt_core::channel::Role;
use serde::{Deserialize, Serialize};

/// Channels whose mean and deviation standards speak of; the first that a plot has is evaluated.
pub const FORCES: [&str; 2] = ["force_20hz", "force"];

/// A channel in a plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Its stable name.
    pub channel: String,
    /// Number of its colour.
    pub color: usize,
    /// Whether its line is wide.
    pub is_bold: bool,
}

/// One plot of the stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct PlotState {
    /// Its channels, in the order of the legend.
    pub entries: Vec<Entry>,
    /// Its share of the height, relative to the others.
    pub weight: f32,
    /// Whether F_m and F_m ± 3σ are drawn.
    pub has_statistics: bool,
    /// Whether the standard's limits are drawn.
    pub has_limits: bool,
    /// Whether the vertical axes stay as they are.
    pub is_held: bool,
    /// The vertical axes of the frame before: left and right.
    #[serde(skip)]
    pub axes: [Option<Axis>; 2],
    /// Of the force over what is seen.
    #[serde(skip)]
    pub force_seen: RangeStatistics,
}

impl Default for PlotState {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            weight: 1.0,
            has_statistics: true,
            has_limits: true,
            is_held: false,
            axes: [None; 2],
            force_seen: RangeStatistics::default(),
        }
    }
}

impl PlotState {
    /// A plot of some channels.
    pub fn of(channels: &[&str]) -> Self {
        let mut plot = Self::default();
        for channel in channels {
            plot.push(channel);
        }
        plot
    }

    fn push(&mut self, channel: &str) {
        let is_free = |color: &usize| self.entries.iter().all(|e| e.color != *color);
        let color = (0..theme::SERIES).find(is_free);
        self.entries.push(Entry {
            channel: channel.to_owned(),
            color: color.unwrap_or(self.entries.len() % theme::SERIES),
            is_bold: false,
        });
    }

    /// The units of its channels on the screen, the left axis' first.
    pub fn units<'a>(&self, data: &'a Data) -> Vec<&'a str> {
        let mut units = Vec::new();
        for entry in &self.entries {
            if let Some((_, channel)) = data.channel(&entry.channel) {
                let unit = shown(&channel.unit).unit;
                if !units.contains(&unit) {
                    units.push(unit);
                }
            }
        }
        units
    }

    /// Whether a channel can be added; words if not.
    pub fn accepts(&self, data: &Data, id: &str) -> Result<(), String> {
        let Some((_, channel)) = data.channel(id) else {
            return Err(format!(
                "There is no channel '{id}' in this bench or recording."
            ));
        };
        if self.entries.iter().any(|e| e.channel == id) {
            return Err(format!("{} is in this plot already.", channel.label));
        }
        let (unit, units) = (shown(&channel.unit).unit, self.units(data));
        if units.len() < 2 || units.contains(&unit) {
            return Ok(());
        }
        let name = |unit: &str| match unit {
            "" => "numbers without a unit".to_owned(),
            unit => unit.to_owned(),
        };
        Err(format!(
            "This plot shows {} on the left and {} on the right: there is no axis left for {} ({}). \
             Put it in another plot.",
            name(units[0]),
            name(units[1]),
            channel.label,
            name(unit),
        ))
    }

    /// Adds a channel; words if it cannot be.
    pub fn add(&mut self, data: &Data, id: &str) -> Result<(), String> {
        self.accepts(data, id)?;
        self.push(id);
        self.axes = [None; 2];
        Ok(())
    }

    /// Removes a channel.
    pub fn remove(&mut self, id: &str) {
        self.entries.retain(|e| e.channel != id);
        self.axes = [None; 2];
    }

    /// The force whose statistics are drawn, if the plot has one.
    pub fn force(&self) -> Option<&str> {
        let has = |id: &&str| self.entries.iter().any(|e| e.channel == *id);
        FORCES.into_iter().find(has)
    }

    /// What a person would call it.
    pub fn title(&self, data: &Data) -> String {
        let label = |e: &Entry| data.channel(&e.channel).map(|(_, c)| c.label.clone());
        let labels: Vec<String> = self.entries.iter().filter_map(label).collect();
        if labels.is_empty() {
            "empty".to_owned()
        } else {
            labels.join(", ")
        }
    }
}

/// The plots that a bench begins with: force, motor and tracking error where there are those, else one for
/// each channel that is measured or commanded.
pub fn defaults(channels: &[Channel]) -> Vec<PlotState> {
    let has = |id: &str| channels.iter().any(|c| c.id == id);
    if [
        "force",
        "force_20hz",
        "motor_reference",
        "motor_position",
        "tracking_error",
    ]
    .into_iter()
    .all(has)
    {
        let mut force = PlotState::of(&["force", "force_20hz"]);
        force.weight = 1.6;
        force.entries[1].is_bold = true;
        return vec![
            force,
            PlotState::of(&["motor_reference", "motor_position"]),
            PlotState::of(&["tracking_error"]),
        ];
    }
    channels
        .iter()
        .filter(|c| c.role != Role::Computed && !c.id.starts_with("loop."))
        .map(|c| PlotState::of(&[&c.id]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sample;

    #[test]
    fn a_pantograph_bench_begins_with_force_motor_and_error() {
        let data = sample::run(0.1);
        let titles: Vec<String> = defaults(&data.channels)
            .iter()
            .map(|p| p.title(&data))
            .collect();
        assert_eq!(
            titles,
            [
                "Contact force, Contact force, 20 Hz",
                "Motor reference, Motor position",
                "Motor tracking error"
            ]
        );
        let mut others = data.channels.clone();
        others.retain(|c| c.id != "force_20hz");
        let ids: Vec<String> = defaults(&others)
            .iter()
            .map(|p| p.entries[0].channel.clone())
            .collect();
        assert_eq!(ids, ["force", "motor_position", "motor_reference"]);
        assert!(defaults(&[]).is_empty());
    }

    #[test]
    fn a_third_unit_is_refused_in_words() {
        let data = sample::run(0.1);
        let mut plot = PlotState::of(&["force"]);
        plot.add(&data, "motor_position").unwrap();
        plot.add(&data, "motor_reference").unwrap();
        assert_eq!(plot.units(&data), ["N", "mm"]);
        let words = plot.add(&data, "line_position").unwrap_err();
        assert!(
            words.contains("N on the left and mm on the right"),
            "{words}"
        );
        assert!(plot.add(&data, "force").unwrap_err().contains("already"));
        assert!(
            plot.add(&data, "nothing")
                .unwrap_err()
                .contains("'nothing'")
        );
        plot.remove("force");
        plot.add(&data, "line_position").unwrap();
        assert_eq!(plot.units(&data), ["mm", ""]);
    }

    #[test]
    fn a_colour_that_became_free_is_used_again() {
        let data = sample::run(0.1);
        let mut plot = PlotState::of(&["motor_reference", "motor_position"]);
        plot.remove("motor_reference");
        plot.add(&data, "tracking_error").unwrap();
        let colors: Vec<usize> = plot.entries.iter().map(|e| e.color).collect();
        assert_eq!(colors, [1, 0]);
    }
}
