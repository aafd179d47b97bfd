//! Calibrations as files in directories: read, found by cell, added; never changed and never overwritten.

use super::date::{Date, Moment};
use super::id::{BadId, CalibrationId, LONGEST};
use super::{Calibration, Validity};
use crate::file::{self, FileError};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Ending of the files.
const ENDING: &str = "ron";

/// A calibration and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub calibration: Calibration,
}

/// All calibrations of some directories, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Those that can be used.
    pub calibrations: Vec<Stored>,
    /// Files that cannot, in words.
    pub problems: Vec<String>,
}

/// Why a calibration that was asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// No such name.
    #[error("there is no calibration '{id}'; there are: {known}")]
    NoSuchId {
        /// The name asked for.
        id: String,
        /// All names.
        known: String,
    },
    /// It belongs to another cell.
    #[error("calibration '{id}' is for cell '{found}', not for '{cell}'")]
    OtherCell {
        /// The calibration.
        id: String,
        /// Its cell.
        found: String,
        /// The cell asked for.
        cell: String,
    },
}

/// Why a calibration could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The name is taken.
    #[error("there is already a calibration '{}'; calibrations are never overwritten: choose another name", path.display())]
    Taken {
        /// The file in the way.
        path: PathBuf,
    },
    /// The disk refuses.
    #[error("cannot write the calibration '{}': {source}; choose another directory or make room", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It could not be turned into text.
    #[error("the calibration cannot be written as text: {0}")]
    Text(String),
    /// It would not be read back.
    #[error(transparent)]
    Senseless(#[from] FileError),
    /// Its name cannot be a file's.
    #[error(transparent)]
    BadId(#[from] BadId),
}

impl Library {
    /// Reads all calibrations of some directories. One that does not exist holds none; a file that cannot be
    /// used is a problem, and so is a name that stands twice.
    pub fn read(directories: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut seen = Vec::new();
        for directory in directories {
            // The same place under two names holds nothing twice.
            let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.clone());
            if seen.contains(&place) {
                continue;
            }
            seen.push(place);
            let entries = match fs::read_dir(directory) {
                Ok(entries) => entries,
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => {
                    let place = directory.display();
                    found
                        .problems
                        .push(format!("cannot read the calibrations in '{place}': {e}"));
                    continue;
                }
            };
            let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
            let mut paths: Vec<PathBuf> = paths
                .filter(|p| p.extension().is_some_and(|e| e == ENDING))
                .collect();
            paths.sort();
            for path in paths {
                match file::load::<Calibration>(&path) {
                    Ok(calibration) => found.add(Stored { path, calibration }),
                    Err(e) => found.problems.push(e.to_string()),
                }
            }
        }
        found
            .calibrations
            .sort_by_key(|s| std::cmp::Reverse((s.calibration.made, s.calibration.id)));
        found
    }

    fn add(&mut self, stored: Stored) {
        match self.find(stored.calibration.id.as_str()) {
            Ok(other) => self.problems.push(format!(
                "'{}' has the name of '{}', which is used; rename one of them",
                stored.path.display(),
                other.path.display()
            )),
            Err(_) => self.calibrations.push(stored),
        }
    }

    /// A calibration by its name.
    pub fn find(&self, id: &str) -> Result<&Stored, NotFound> {
        let found = self
            .calibrations
            .iter()
            .find(|s| s.calibration.id.as_str() == id);
        found.ok_or_else(|| {
            let known: Vec<&str> = self
                .calibrations
                .iter()
                .map(|s| s.calibration.id.as_str())
                .collect();
            NotFound::NoSuchId {
                id: id.to_owned(),
                known: if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                },
            }
        })
    }

    /// Those of a cell, the newest first.
    pub fn of_cell<'a, 'b>(
        &'a self,
        cell: &'b str,
    ) -> impl Iterator<Item = &'a Calibration> + use<'a, 'b> {
        let all = self.calibrations.iter().map(|s| &s.calibration);
        all.filter(move |c| c.cell == cell)
    }

    /// The one that a cell uses: the one that is named, else the newest that is valid, else the newest; `None`
    /// if the cell was never calibrated.
    pub fn active(
        &self,
        cell: &str,
        named: Option<&str>,
        today: Date,
    ) -> Result<Option<&Calibration>, NotFound> {
        if let Some(id) = named {
            let found = &self.find(id)?.calibration;
            if found.cell != cell {
                return Err(NotFound::OtherCell {
                    id: id.to_owned(),
                    found: found.cell.clone(),
                    cell: cell.to_owned(),
                });
            }
            return Ok(Some(found));
        }
        let is_valid = |c: &&Calibration| !matches!(c.validity(today, 0), Validity::Expired { .. });
        Ok(self
            .of_cell(cell)
            .find(is_valid)
            .or_else(|| self.of_cell(cell).next()))
    }

    /// A name for a new calibration that is free: cell, day, and a number if need be.
    pub fn suggest_id(&self, cell: &str, made: Moment) -> Result<CalibrationId, BadId> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let clean: String = cell
            .chars()
            .map(|c| if is_allowed(c) { c } else { '-' })
            .collect();
        let clean = clean.trim_matches(['-', '.', '_']);
        let day = made.date();
        let mut number = 1;
        loop {
            let ending = if number < 2 {
                format!("-{day}")
            } else {
                format!("-{day}-{number}")
            };
            let room = LONGEST.saturating_sub(ending.len()).min(clean.len());
            let id = CalibrationId::new(&format!("{}{ending}", &clean[..room]))?;
            if self.find(id.as_str()).is_err() {
                return Ok(id);
            }
            number += 1;
        }
    }
}

/// Keeps a calibration as a new file of a directory, which is made if need be.
pub fn save(directory: &Path, calibration: &Calibration) -> Result<PathBuf, SaveError> {
    let pretty = ron::ser::PrettyConfig::default().struct_names(true);
    let options =
        ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    let text = options
        .to_string_pretty(calibration, pretty)
        .map_err(|e| SaveError::Text(e.to_string()))?
        + "\n";
    let path = directory.join(format!("{}.{ENDING}", calibration.id));
    // What could not be read back must not be kept.
    file::parse::<Calibration>(&text, &path)?;
    let failed = |source| SaveError::Io {
        path: path.clone(),
        source,
    };
    fs::create_dir_all(directory).map_err(failed)?;
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(SaveError::Taken { path });
        }
        Err(e) => return Err(failed(e)),
    };
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if let Err(e) = written {
        // Half a calibration would stand in the way of the next attempt.
        let _ = fs::remove_file(&path);
        return Err(failed(e));
    }
    Ok(path)
}
