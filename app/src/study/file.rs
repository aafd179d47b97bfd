//! The study file: a base case, what varies in it and how, how many samples, which seed.

use super::design::{self, Design, MOST_SAMPLES, Spread};
use super::quantity::Quantity;
use rt_core::file::{FieldError, FileContent, require_positive, require_within};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What is computed for every sample.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub enum Base {
    /// A pantograph run along a line, offline, head and wire solved together.
    Simulate(SimulateBase),
    /// A session on its simulated rig, on the exact clock.
    Session {
        /// Path of the session file, relative to the study file.
        path: String,
    },
}

/// See [`Base::Simulate`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulateBase {
    /// Path of the line file, relative to the study file.
    pub line: String,
    /// Path of the pantograph file, relative to the study file.
    pub pantograph: String,
    /// Train speed, in km/h.
    pub speed_kmh: f64,
    /// Lift on the lowest mass, in N; the pantograph's own at the speed if left out.
    #[serde(default)]
    pub uplift_n: Option<f64>,
    /// Stiffness between head and wire, in N/m.
    #[serde(default = "default_contact_stiffness")]
    pub contact_stiffness_n_per_m: f64,
    /// Longest element, in m.
    #[serde(default = "default_mesh_m")]
    pub mesh_m: f64,
    /// Step, in ms.
    #[serde(default = "default_dt_ms")]
    pub dt_ms: f64,
    /// First and last evaluated span, from 1; the middle ones if left out.
    #[serde(default)]
    pub spans: Option<(usize, usize)>,
}

fn default_contact_stiffness() -> f64 {
    rt_core::model::catenary::simulate::CONTACT_STIFFNESS
}
fn default_mesh_m() -> f64 {
    1.0
}
fn default_dt_ms() -> f64 {
    0.5
}

/// A study as its file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What a person calls it.
    pub title: String,
    /// What is computed for every sample.
    pub base: Base,
    /// What varies, by the names of `quantity.rs`, and how.
    pub vary: BTreeMap<String, Spread>,
    /// How samples fill the space.
    #[serde(default)]
    pub design: Design,
    /// How many samples; a grid has as many as its combinations.
    #[serde(default)]
    pub samples: usize,
    /// Start of all pseudo-random sequences.
    #[serde(default)]
    pub seed: u64,
}

impl Study {
    /// The varied quantities in the order of their names, as columns of [`Self::values`].
    pub fn quantities(&self) -> Result<Vec<Quantity>, FieldError> {
        let within = |name: &String, e: FieldError| e.within(&format!("vary[\"{name}\"]"));
        self.vary
            .keys()
            .map(|name| Quantity::named(name).map_err(|e| within(name, e)))
            .collect()
    }

    /// A row a sample.
    pub fn values(&self) -> Result<Vec<Vec<f64>>, FieldError> {
        let spreads: Vec<&Spread> = self.vary.values().collect();
        design::samples(self.design, &spreads, self.samples, self.seed)
    }
}

impl FileContent for Study {
    const KIND: &'static str = "study file";

    fn check(&self) -> Result<(), FieldError> {
        if self.vary.is_empty() {
            return Err(FieldError::new(
                "vary",
                "is empty; expected at least one quantity",
            ));
        }
        for (name, spread) in &self.vary {
            spread
                .check()
                .map_err(|e| e.within(&format!("vary[\"{name}\"]")))?;
        }
        let quantities = self.quantities()?;
        match (self.design, self.samples) {
            (Design::Grid, 0) => {}
            (Design::Grid, _) => {
                return Err(FieldError::new(
                    "samples",
                    "is given, but a Grid has as many as its combinations; leave it out",
                ));
            }
            (_, n) => require_within("samples", n as f64, 1.0, MOST_SAMPLES as f64, "")?,
        }
        match &self.base {
            Base::Simulate(base) => {
                let within = |e: FieldError| e.within("base");
                require_within("speed_kmh", base.speed_kmh, 1.0, 1000.0, "km/h").map_err(within)?;
                require_within("dt_ms", base.dt_ms, 0.05, 10.0, "ms").map_err(within)?;
                require_within("mesh_m", base.mesh_m, 0.01, 20.0, "m").map_err(within)?;
                require_positive(
                    "contact_stiffness_n_per_m",
                    base.contact_stiffness_n_per_m,
                    "N/m",
                )
                .map_err(within)?;
            }
            Base::Session { .. } => {}
        }
        for (quantity, name) in quantities.iter().zip(self.vary.keys()) {
            quantity
                .fits(&self.base)
                .map_err(|problem| FieldError::new(format!("vary[\"{name}\"]"), problem))?;
        }
        // A grid that is too large, too many dimensions for Sobol'.
        self.values().map(|_| ())
    }
}
