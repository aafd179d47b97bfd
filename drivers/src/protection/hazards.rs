//! What can go wrong at a rig, and what its file has against it: one line a hazard.
//!
//! *ok*: something acts by itself, in time. *weak*: something is there, and a person has to know its bounds.
//! *missing*: the file has nothing against it.

mod machine;
mod people;

use super::stopping::{Stopping, stopping};
use crate::hardware::HardwareConfig;
use crate::rig_file::RigFile;
use crate::simulated::SimulatedConfig;
use rt_core::file::FileContent;
use rt_core::model::pantograph::Pantograph;
use rt_core::rig::RigSpec;

/// How well a hazard is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protected {
    /// Something acts by itself, in time.
    Ok,
    /// Something is there, with bounds that a person has to know.
    Weak,
    /// Nothing is there.
    Missing,
}

impl Protected {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Protected::Ok => "ok",
            Protected::Weak => "weak",
            Protected::Missing => "missing",
        }
    }
}

/// A hazard and what the file has against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hazard {
    /// Stable name, for machines.
    pub id: &'static str,
    /// What can happen, for people.
    pub what: &'static str,
    /// How well it is met.
    pub state: Protected,
    /// What protects.
    pub protected_by: Vec<String>,
    /// What a person has to know, or what to write; may be empty.
    pub note: String,
}

impl Hazard {
    fn new(id: &'static str, what: &'static str) -> Self {
        Self {
            id,
            what,
            state: Protected::Ok,
            protected_by: Vec::new(),
            note: String::new(),
        }
    }

    /// Something protects.
    fn by(mut self, what: impl Into<String>) -> Self {
        self.protected_by.push(what.into());
        self
    }

    /// It is no better than this, because of what the note says.
    fn at_best(mut self, state: Protected, note: impl AsRef<str>) -> Self {
        self.state = self.state.max(state);
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note.as_ref());
        self
    }
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the program says at load.
    pub text: String,
    /// Whether its numbers make no sense on any rig, in distinction to hardware that leaves something out.
    pub is_senseless: bool,
}

/// All hazards of a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the rig.
    pub rig: String,
    /// Whether something real may move: also a segment that is emulated in this process, by a file that a card is put into.
    pub is_hardware: bool,
    /// The hazards.
    pub hazards: Vec<Hazard>,
    /// What it takes to stop; `None` where the file or its pantograph makes that impossible to say.
    pub stopping: Option<Stopping>,
    /// Why the rig is not built from this file, if it is not.
    pub refused: Option<Refused>,
}

impl Table {
    /// Looks at a file as it was parsed, sensible or not. `pantograph`: what stands in the rig, or why that is not known.
    pub fn of(rig: &RigFile, pantograph: Result<&Pantograph, String>, period_s: f64) -> Self {
        let senseless = rig.check().err().map(|e| e.to_string());
        let (stopping, refused) = match (senseless, pantograph) {
            (Some(text), _) | (None, Err(text)) => {
                let is_senseless = true;
                (None, Some(Refused { text, is_senseless }))
            }
            (None, Ok(pantograph)) => {
                let found = stopping(&rig.clone().model(), pantograph, period_s);
                let refused = super::require(rig, pantograph, period_s).err();
                let refused = refused.map(|e| Refused {
                    text: e.to_string(),
                    is_senseless: matches!(rig, RigFile::Simulated(_)),
                });
                (Some(found), refused)
            }
        };
        let facts = Facts {
            model: rig.clone().model(),
            spec: rig.spec(),
            hardware: match rig {
                RigFile::Simulated(_) => None,
                RigFile::Hardware(config) => Some(config),
            },
            circuits: match rig {
                RigFile::Simulated(config) => {
                    let circuits = config.interlocks.iter();
                    circuits.map(|c| (c.id.clone(), c.label.clone())).collect()
                }
                RigFile::Hardware(config) => {
                    let circuits = config.signals.interlocks.iter();
                    circuits.map(|c| (c.id.clone(), c.label.clone())).collect()
                }
            },
            stopping,
        };
        let mut hazards = machine::hazards(&facts);
        hazards.extend(people::hazards(&facts));
        if let Some(refused) = &refused {
            hazards.push(
                Hazard::new("file_refused", "The file is refused when the rig is loaded")
                    .at_best(Protected::Missing, &refused.text),
            );
        }
        Self {
            rig: facts.spec.name.clone(),
            is_hardware: facts.hardware.is_some(),
            hazards,
            stopping,
            refused,
        }
    }

    /// Hazards against which the file has nothing.
    pub fn missing(&self) -> impl Iterator<Item = &Hazard> {
        let missing = |h: &&Hazard| h.state == Protected::Missing;
        self.hazards.iter().filter(missing)
    }

    /// Whether the rig can be used, and on hardware nothing is missing. A simulation can hurt nobody.
    pub fn is_ok(&self) -> bool {
        self.refused.is_none() && !(self.is_hardware && self.missing().next().is_some())
    }
}

/// What the hazards are judged by.
struct Facts<'a> {
    model: SimulatedConfig,
    spec: RigSpec,
    hardware: Option<&'a HardwareConfig>,
    /// Identifier and label of each safety circuit.
    circuits: Vec<(String, String)>,
    stopping: Option<Stopping>,
}
