//! What the panels draw from, the same whether it comes from the running loop or from a recording.

use crate::history::History;
use crate::line_data::LineData;
use rt_core::channel::{ChannelSpec, Role};
use rt_core::model::catenary::LineScene;
use rt_core::record::event::EventRecord;
use rt_core::record::schema::RecordedChannel;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A channel that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Stable name.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// SI unit.
    pub unit: String,
    /// Who writes it.
    pub role: Role,
}

impl From<&ChannelSpec> for Channel {
    fn from(spec: &ChannelSpec) -> Self {
        Self {
            id: spec.id.to_owned(),
            label: spec.label.to_owned(),
            unit: spec.unit.to_owned(),
            role: spec.role,
        }
    }
}

impl From<&RecordedChannel> for Channel {
    fn from(recorded: &RecordedChannel) -> Self {
        Self {
            id: recorded.id.clone(),
            label: recorded.label.clone(),
            unit: recorded.unit.clone(),
            role: recorded.role,
        }
    }
}

/// A channel on its way to a plot by drag and drop, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelDrag(pub String);

/// How much an event matters; shown as a word and a shape, not by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    /// Good to know.
    Note,
    /// Something was changed by a person.
    Change,
    /// A person's marker.
    Marker,
    /// Something to look at.
    Warning,
    /// The bench tripped.
    Trip,
}

impl Weight {
    /// All of them, the lightest first.
    pub const ALL: [Weight; 5] = [
        Weight::Note,
        Weight::Change,
        Weight::Marker,
        Weight::Warning,
        Weight::Trip,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Weight::Note => "note",
            Weight::Change => "change",
            Weight::Marker => "marker",
            Weight::Warning => "warning",
            Weight::Trip => "trip",
        }
    }

    /// How much an event of a kind matters.
    pub fn of(event: &EventRecord) -> Self {
        match event.kind.as_str() {
            "trip" => Weight::Trip,
            "mark" => Weight::Marker,
            "parameter" | "parameter.settled" | "gains" | "calibration" => Weight::Change,
            "warning" | "refused" | "fallback" => Weight::Warning,
            kind if kind.ends_with(".refused") || kind.ends_with(".misfit") => Weight::Warning,
            "recording.drops" | "recording.space" | "recording.error" => Weight::Warning,
            _ => Weight::Note,
        }
    }
}

/// Where supports and droppers stand along a line, for marks on axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineMarks {
    /// Places of the supports, in m.
    pub supports_m: Vec<f64>,
    /// Places of the droppers, in m.
    pub droppers_m: Vec<f64>,
}

impl From<&LineScene> for LineMarks {
    fn from(scene: &LineScene) -> Self {
        Self {
            supports_m: scene.supports_m.clone(),
            droppers_m: scene.droppers.iter().map(|d| d.x_m).collect(),
        }
    }
}

/// Channels, their past, and what happened.
pub struct Data {
    /// What there is, in the order of the history's channels.
    pub channels: Vec<Channel>,
    /// The past of all of them.
    pub history: History,
    /// What happened, the newest last.
    pub events: VecDeque<EventRecord>,
    /// Time between two samples, in s.
    pub period_s: f64,
    /// The line, if the bench has one.
    pub line: Option<LineMarks>,
    /// How that line looks, at rest and, live, in motion.
    pub wire: Option<LineData>,
}

impl Data {
    /// The place of a channel in the history.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.channels.iter().position(|c| c.id == id)
    }

    /// A channel by its name, with its place.
    pub fn channel(&self, id: &str) -> Option<(usize, &Channel)> {
        let at = self.find(id)?;
        Some((at, &self.channels[at]))
    }
}

#[cfg(test)]
pub mod sample {
    //! A made-up run for tests of panels: force with spans and droppers in it, a motor that lags, a trip.

    use super::*;
    use std::f64::consts::TAU;

    /// Seconds at 500 Hz under spans of 65 m at 250 km/h.
    pub fn run(seconds: f64) -> Data {
        let spec = |id: &str, label: &str, unit: &str, role| Channel {
            id: id.into(),
            label: label.into(),
            unit: unit.into(),
            role,
        };
        let channels = vec![
            spec("force", "Contact force", "N", Role::Measured),
            spec("motor_position", "Motor position", "m", Role::Measured),
            spec(
                "line_position",
                "Place along the line (m)",
                "",
                Role::Computed,
            ),
            spec("force_20hz", "Contact force, 20 Hz", "N", Role::Computed),
            spec(
                "tracking_error",
                "Motor tracking error",
                "m",
                Role::Computed,
            ),
            spec("motor_reference", "Motor reference", "m", Role::Command),
        ];
        let mut history = History::new(channels.len(), 64 << 20);
        let speed = 250.0 / 3.6;
        for n in 0..(seconds * 500.0) as usize {
            let t = n as f64 * 0.002;
            let x = speed * t;
            let slow = 150.0 + 25.0 * (TAU * x / 65.0).sin();
            let force = slow + 8.0 * (TAU * x / 8.1).sin() + 6.0 * (TAU * 31.0 * t).sin();
            let reference = 0.01 * (TAU * x / 65.0).sin();
            let position = 0.01 * (TAU * (x - 0.4) / 65.0).sin();
            let error = reference - position;
            history.push(t, &[force, position, x, slow, error, reference]);
        }
        let event = |t_s: f64, kind: &str, text: &str| EventRecord {
            seq: (t_s * 500.0) as u64,
            t_nanos: (t_s * 1e9) as u64,
            kind: kind.into(),
            text: text.into(),
            fields: Vec::new(),
        };
        Data {
            channels,
            history,
            events: VecDeque::from([
                event(0.0, "state", "Armed → Running"),
                event(
                    2.0,
                    "parameter",
                    "Q, weight of the tracking error = 20  applied",
                ),
                event(3.0, "mark", "marker 1"),
                event(4.0, "trip", "contact force is 512.0 N, above 500 N"),
            ]),
            period_s: 0.002,
            line: Some(LineMarks {
                supports_m: (0..21).map(|i| 65.0 * f64::from(i)).collect(),
                droppers_m: (0..160).map(|i| 4.0 + 8.125 * f64::from(i)).collect(),
            }),
            wire: None,
        }
    }
}
