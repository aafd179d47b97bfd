//! What a rig file protects, and whether that is enough: how far a motor goes on after a trip and what the specimen bears
//! by then, numbers that no rig has, what hardware has to state, and the table of all hazards.
//!
//! A file's own `check` refuses what makes no sense on any rig, so that recordings of rigs with older files can still be
//! read. What has to be stated before something moves is asked here, when a rig is built.

pub mod hazards;
pub mod plausible;
mod stated;
mod stopping;
#[cfg(test)]
mod tests;

pub use hazards::{Hazard, Protected, Table};
pub use stopping::{Stopping, stopping};

use crate::rig_file::RigFile;
use rt_core::file::FieldError;
use rt_core::model::pantograph::Pantograph;

/// Refuses to build a rig that protects too little: hardware (a segment that is emulated in this process as well, because
/// its file is the one that a card is put into) that does not state what it has to, and every rig whose motor cannot stop
/// within its stroke, or before the specimen bears more than its file says.
pub fn require(rig: &RigFile, pantograph: &Pantograph, period_s: f64) -> Result<(), FieldError> {
    if let RigFile::Hardware(config) = rig {
        stated::require(config, period_s)?;
    }
    let model = rig.clone().model();
    // A simulation that does not say what its specimen bears can hurt nothing.
    if model.specimen.is_none() {
        return Ok(());
    }
    stopping::require(&model, pantograph, period_s)
}
