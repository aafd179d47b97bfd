//! Which input of which bus is the position, a load cell, an auxiliary measurement or an interlock.

use super::align::Align;
use super::config::{BusConfig, NAME_RULE, is_name};
use crate::mounting::{BRAKE, BrakeFeedback};
use rt_core::file::{FieldError, require_within};
use rt_core::rig::cell_watch::{self, CellWatch};
use serde::Deserialize;

/// The signals of a rig. Inputs are named `bus.input`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalsConfig {
    /// Where the motor is, in m.
    pub motor_position: PositionConfig,
    /// The load cells, whose sum is the contact force.
    pub cells: Vec<CellConfig>,
    /// Anything else that is measured.
    #[serde(default)]
    pub auxiliary: Vec<AuxiliaryConfig>,
    /// Safety circuits: each has to be closed for the drive to be on.
    #[serde(default)]
    pub interlocks: Vec<InterlockConfig>,
    /// The dead man's switch, where a real one is read; keys in the window or terminal then do not count.
    #[serde(default)]
    pub dead_man: Option<DeadManConfig>,
}

/// The input with the motor's position.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionConfig {
    /// The input, in m.
    pub input: String,
    /// How old it may be, in s.
    pub max_age_s: f64,
    /// How it is brought to the tick.
    #[serde(default = "linear")]
    pub align: Align,
}

fn linear() -> Align {
    Align::Linear
}

fn hold() -> Align {
    Align::Hold
}

/// A load cell. Its force is held between two samples.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// Its serial number: calibrations belong to it.
    pub id: String,
    /// Where it stands, for people.
    pub name: String,
    /// The strip that it carries; the cells of a strip are summed in `force_strip_…`. `None`: in the total only.
    #[serde(default)]
    pub strip: Option<String>,
    /// The input with its raw reading.
    pub input: String,
    /// Unit of the raw reading.
    pub unit: String,
    /// How old it may be, in s.
    pub max_age_s: f64,
    /// The calibration that it uses; `None`: the newest valid one.
    #[serde(default)]
    pub calibration: Option<String>,
    /// How it is watched by itself.
    #[serde(default)]
    pub watch: CellWatch,
}

/// A further measurement: offset + scale · input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxiliaryConfig {
    /// Name of its channel.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// Unit of the channel.
    pub unit: String,
    /// The input.
    pub input: String,
    /// Units of the channel a unit of the input.
    #[serde(default = "one")]
    pub scale: f64,
    /// Value at an input of 0.
    #[serde(default)]
    pub offset: f64,
    /// How old it may be, in s.
    pub max_age_s: f64,
    /// How it is brought to the tick.
    #[serde(default = "hold")]
    pub align: Align,
}

fn one() -> f64 {
    1.0
}

/// A safety circuit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterlockConfig {
    /// Name of its channel, after `interlock_`.
    pub id: String,
    /// What a person reads ("Emergency stop").
    pub label: String,
    /// The input.
    pub input: String,
    /// The bit of the input that shows it; `None`: the whole input is 0 or not.
    #[serde(default)]
    pub bit: Option<u8>,
    /// Whether a set input means that the circuit is closed, and thus safe.
    pub closed_means_safe: bool,
    /// How old it may be, in s.
    pub max_age_s: f64,
}

/// A real dead man's switch (an enabling device): somebody holds it while anything moves.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadManConfig {
    /// The input.
    pub input: String,
    /// The bit of the input that shows it; `None`: the whole input is 0 or not.
    #[serde(default)]
    pub bit: Option<u8>,
    /// Whether a set input means that the switch is held. A broken wire must not: leave it true where it can be.
    #[serde(default = "held")]
    pub set_means_held: bool,
    /// How old it may be, in s.
    pub max_age_s: f64,
}

fn held() -> bool {
    true
}

/// Whether an input, or one bit of it, is set; `None` if it is no number.
fn is_set(value: f64, bit: Option<u8>) -> Option<bool> {
    let set = match bit {
        None => value != 0.0,
        Some(bit) => (value as i64 >> bit) & 1 == 1,
    };
    value.is_finite().then_some(set)
}

impl DeadManConfig {
    /// Whether an input means held. Not a number does not.
    pub fn is_held(&self, value: f64) -> bool {
        is_set(value, self.bit) == Some(self.set_means_held)
    }

    fn check(&self, buses: &[BusConfig]) -> Result<(), FieldError> {
        check_bit(self.bit)?;
        check_input(&self.input, self.max_age_s, buses)
    }
}

impl InterlockConfig {
    /// Whether an input means safe. Not a number is not.
    pub fn is_safe(&self, value: f64) -> bool {
        is_set(value, self.bit) == Some(self.closed_means_safe)
    }
}

/// Identifiers that an auxiliary channel cannot have.
const RESERVED: [&str; 7] = [
    BRAKE.id,
    "force",
    "motor_position",
    "motor_reference",
    "true_force",
    "drive",
    "dead_man",
];

/// Most load cells, auxiliary channels or interlocks of each kind.
const MOST: usize = 16;

impl SignalsConfig {
    /// Refuses what makes no sense together with the buses.
    pub fn check(&self, buses: &[BusConfig]) -> Result<(), FieldError> {
        let position = &self.motor_position;
        check_input(&position.input, position.max_age_s, buses)
            .map_err(|e| e.within("motor_position"))?;
        if self.cells.is_empty() {
            return Err(FieldError::new(
                "cells",
                "are none; expected at least one load cell: the benches need a force",
            ));
        }
        for (field, count) in [
            ("cells", self.cells.len()),
            ("auxiliary", self.auxiliary.len()),
            ("interlocks", self.interlocks.len()),
        ] {
            if count > MOST {
                return Err(FieldError::new(
                    field,
                    format!("are {count}; at most {MOST}"),
                ));
            }
        }
        for (i, cell) in self.cells.iter().enumerate() {
            let known = self.cells[..i].iter().any(|other| other.id == cell.id);
            cell.check(known, buses)
                .map_err(|e| e.within(&format!("cells[{i}]")))?;
        }
        let stated: Vec<Option<f64>> = self.cells.iter().map(|c| c.watch.share).collect();
        cell_watch::check_shares(&stated).map_err(|e| e.within("cells"))?;
        for (i, channel) in self.auxiliary.iter().enumerate() {
            let known = self.auxiliary[..i].iter().any(|o| o.id == channel.id);
            channel
                .check(known, buses)
                .map_err(|e| e.within(&format!("auxiliary[{i}]")))?;
        }
        for (i, interlock) in self.interlocks.iter().enumerate() {
            let known = self.interlocks[..i].iter().any(|o| o.id == interlock.id);
            interlock
                .check(known, buses)
                .map_err(|e| e.within(&format!("interlocks[{i}]")))?;
        }
        if let Some(switch) = &self.dead_man {
            switch.check(buses).map_err(|e| e.within("dead_man"))?;
        }
        Ok(())
    }
}

impl CellConfig {
    fn check(&self, is_known: bool, buses: &[BusConfig]) -> Result<(), FieldError> {
        if self.id.trim().is_empty() || is_known {
            return Err(FieldError::new(
                "id",
                format!("is '{}'; expected a serial number of its own", self.id),
            ));
        }
        if let Some(strip) = self.strip.as_ref().filter(|strip| !is_name(strip)) {
            return Err(FieldError::new(
                "strip",
                format!("is '{strip}'; {NAME_RULE}"),
            ));
        }
        self.watch.check().map_err(|e| e.within("watch"))?;
        check_input(&self.input, self.max_age_s, buses)
    }
}

impl AuxiliaryConfig {
    fn check(&self, is_known: bool, buses: &[BusConfig]) -> Result<(), FieldError> {
        check_id(&self.id, is_known)?;
        if !(self.scale.is_finite() && self.offset.is_finite()) || self.scale == 0.0 {
            return Err(FieldError::new(
                "scale",
                "and offset: expected finite numbers and a scale that is not 0",
            ));
        }
        check_input(&self.input, self.max_age_s, buses)
    }
}

impl InterlockConfig {
    fn check(&self, is_known: bool, buses: &[BusConfig]) -> Result<(), FieldError> {
        check_id(&self.id, is_known)?;
        check_bit(self.bit)?;
        check_input(&self.input, self.max_age_s, buses)
    }
}

fn check_bit(bit: Option<u8>) -> Result<(), FieldError> {
    let unknown = bit.filter(|bit| *bit > 31);
    unknown.map_or(Ok(()), |bit| {
        Err(FieldError::new(
            "bit",
            format!("is {bit}; expected 0 to 31"),
        ))
    })
}

fn check_id(id: &str, is_known: bool) -> Result<(), FieldError> {
    let is_reserved = RESERVED.contains(&id)
        || ["age_", "interlock_", "force_"]
            .iter()
            .any(|p| id.starts_with(p));
    if !is_name(id) {
        Err(FieldError::new("id", format!("is '{id}'; {NAME_RULE}")))
    } else if is_reserved {
        let problem =
            format!("'{id}' is the name of a channel that every rig has; expected another");
        Err(FieldError::new("id", problem))
    } else if is_known {
        Err(FieldError::new("id", format!("'{id}' stands twice")))
    } else {
        Ok(())
    }
}

fn check_input(input: &str, max_age_s: f64, buses: &[BusConfig]) -> Result<(), FieldError> {
    if find_input(input, buses).is_none() {
        let known: Vec<String> = buses
            .iter()
            .flat_map(|bus| {
                bus.inputs()
                    .into_iter()
                    .map(|i| format!("{}.{i}", bus.name()))
            })
            .collect();
        return Err(FieldError::new(
            "input",
            format!(
                "'{input}' does not exist; the buses have: {}",
                known.join(", ")
            ),
        ));
    }
    require_within("max_age_s", max_age_s, 1e-4, 10.0, "s")
}

/// Refuses a brake's switch that is none of the inputs.
pub fn check_feedback(feedback: &BrakeFeedback, buses: &[BusConfig]) -> Result<(), FieldError> {
    match &feedback.input {
        Some(input) => check_input(input, feedback.max_age_s, buses),
        None => Err(FieldError::new(
            "input",
            "is missing; expected the input of the brake's switch, for example \"ecat.brake_switch\"",
        )),
    }
}

/// The bus of a digital output and its number there.
pub fn find_output(output: &str, buses: &[BusConfig]) -> Option<(usize, usize)> {
    let on = |bus: &BusConfig| bus.outputs().iter().position(|o| o == output);
    let mut found = buses.iter().enumerate();
    found.find_map(|(i, bus)| Some((i, on(bus)?)))
}

/// The number of an input among those of all buses.
pub fn find_input(input: &str, buses: &[BusConfig]) -> Option<usize> {
    let (bus_name, name) = input.split_once('.')?;
    let mut first = 0;
    for bus in buses {
        let inputs = bus.inputs();
        if bus.name() == bus_name {
            return inputs.iter().position(|i| i == name).map(|i| first + i);
        }
        first += inputs.len();
    }
    None
}
