//! Wire models by name, as a person chooses them.

use super::basis::ModalBasis;
use super::cache::load_or_build;
use super::error::CatenaryError;
use super::full::FullWire;
use super::linear::LinearLine;
use super::modal::{ModalOptions, ModalWire};
use super::wire::WireModel;
use std::path::Path;
use std::sync::Arc;

/// How a run is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The reference solver: full order, fine steps.
    Implicit,
    /// The reduced real-time model.
    Modal,
    /// The full-order real-time model.
    Full,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 3] = [Self::Implicit, Self::Modal, Self::Full];

    /// The name on the command line and in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Implicit => "implicit",
            Self::Modal => "modal",
            Self::Full => "full",
        }
    }

    /// The scheme of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The step unless someone says otherwise, in s.
    pub fn default_dt(self) -> f64 {
        match self {
            Self::Implicit => 5e-4,
            Self::Modal | Self::Full => 2e-3,
        }
    }

    /// Builds the model. `modes` and the cache's `folder` only matter to the modal one. `notice` hears
    /// what a person should know, `progress` the finished part (0 to 1).
    pub fn build(
        self,
        line: &Arc<LinearLine>,
        dt: f64,
        modes: usize,
        folder: Option<&Path>,
        notice: &mut dyn FnMut(String),
        progress: &mut dyn FnMut(f64),
    ) -> Result<Box<dyn WireModel>, CatenaryError> {
        Ok(match self {
            Self::Implicit | Self::Full => Box::new(FullWire::new(line.clone(), dt)?),
            Self::Modal => {
                let basis = match folder {
                    Some(folder) => load_or_build(folder, line, modes, notice, progress)?,
                    None => ModalBasis::build(line, modes, progress)?,
                };
                let options = ModalOptions::default();
                Box::new(ModalWire::new(line.clone(), Arc::new(basis), dt, options)?)
            }
        })
    }
}
