//! What protects at a rig, by its file alone: nothing is contacted, nothing moves. For the command line and the panel
//! *Rig*.

use super::WorkError;
use drivers::protection::{Stopping, Table};
use drivers::rig_file;
use std::path::Path;

/// The loop's period by which reactions are judged where no session says another, in s.
pub const PERIOD_S: f64 = 0.002;

/// Reads a rig file and says what it has against each hazard.
pub fn read(path: &Path, period_s: f64) -> Result<Table, WorkError> {
    rig_file::protection_of(path, period_s).map_err(|e| WorkError::Input(e.to_string()))
}

/// Stopping in one sentence.
pub fn in_words(stopping: &Stopping) -> String {
    format!(
        "Stopping from {} m/s into the specimen: {:.1} ms of reaction, {:.1} mm of {:.0} mm, at most {:.0} N ({:.0} N if \
         the specimen did not yield at all).",
        stopping.speed_m_s,
        stopping.reaction_s * 1e3,
        stopping.distance_m * 1e3,
        stopping.available_m * 1e3,
        stopping.peak_force_n,
        stopping.rigid_force_n
    )
}

/// The table in one sentence.
pub fn verdict(table: &Table) -> String {
    let missing = table.missing().filter(|h| h.id != "file_refused").count();
    match (&table.refused, table.is_hardware) {
        (Some(_), _) => "This file is refused: nothing is built from it.".to_owned(),
        (None, false) => "A simulation: nothing can be hurt, whatever is missing below.".to_owned(),
        (None, true) if missing == 0 => "Something protects from each hazard.".to_owned(),
        (None, true) => format!(
            "Nothing protects from {missing} of {} hazards.",
            table.hazards.len()
        ),
    }
}
