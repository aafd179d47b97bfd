//! What a recording carries, unpacked to a directory of its own: it runs again from these files, wherever
//! the original ones are and whatever became of them.

use super::ReplayError;
use crate::provenance;
use crate::recording;
use crate::session::{LoadedSession, Session as SessionFile};
use drivers::rig_file::RigFile;
use rt_core::bench::{BenchConfig, pantograph_steady::SteadyWire, profile::Source};
use rt_core::calibration::Line;
use rt_core::calibration::id::CalibrationId;
use rt_core::channel::{ChannelSpec, Layout};
use rt_core::file;
use rt_core::param;
use rt_core::record::header::SessionHeader;
use rt_core::rig::{CellSpec, RigCommand, RigSpec};
use rt_core::rt_loop::LOOP_CHANNELS;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, ReplayError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pantobench-replay-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| ReplayError::Unpack {
            path: path.clone(),
            source,
        })?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ReplayError> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|source| ReplayError::Unpack { path, source })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A recording's session, ready to be built again.
pub struct Embedded {
    /// The session with the parameters of the recording's start; its paths lead to what was unpacked.
    pub loaded: LoadedSession,
    /// What the recorded rig declared.
    pub rig: RigSpec,
    /// What its load cells used at the start, as far as the recording tells.
    pub calibrations: Vec<RigCommand>,
    /// What a person should know.
    pub notes: Vec<String>,
    _directory: Scratch,
}

const SESSION: &str = "session.ron";
const RIG: &str = "rig.ron";
const PANTOGRAPH: &str = "pantograph.ron";
const LINE: &str = "line.ron";
const SPECIMEN: &str = "specimen.ron";
const PROFILE: &str = "profile.csv";

impl Embedded {
    /// Unpacks what a recording carries.
    pub fn unpack(header: &SessionHeader) -> Result<Self, ReplayError> {
        check_hashes(header)?;
        let directory = Scratch::new()?;
        let take = |part: &'static str| -> Result<String, ReplayError> {
            let text = header.files.get(part);
            text.cloned().ok_or_else(|| ReplayError::NotCarried {
                part,
                carried: header.files.keys().cloned().collect::<Vec<_>>().join(", "),
            })
        };
        let unpack = |part: &'static str| directory.write(part, &take(part)?);

        let text = take(SESSION)?;
        directory.write(SESSION, &text)?;
        let mut session: SessionFile = file::parse(&text, Path::new(SESSION))?;
        session.rig = RIG.into();
        match &mut session.bench {
            BenchConfig::Profile(config) => {
                if let Source::File { path } = &mut config.source {
                    *path = PROFILE.into();
                    unpack(PROFILE)?;
                }
            }
            BenchConfig::Jog(_) => {}
            BenchConfig::PantographLqg(config) => {
                if let Some(line) = &mut config.line {
                    *line = LINE.into();
                    unpack(LINE)?;
                }
                config.specimen = SPECIMEN.into();
                unpack(SPECIMEN)?;
            }
            BenchConfig::PantographSteady(config) => {
                if let SteadyWire::Line { file, .. } = &mut config.wire {
                    *file = LINE.into();
                    unpack(LINE)?;
                }
                config.specimen = SPECIMEN.into();
                unpack(SPECIMEN)?;
            }
        }
        let rig_text = take(RIG)?;
        let rig: RigFile = file::parse(&rig_text, Path::new(RIG))?;
        directory.write(RIG, &redirect_pantograph(&rig_text, &rig)?)?;
        unpack(PANTOGRAPH)?;

        let bench = session.bench.spec();
        if header.bench != bench.id {
            return Err(ReplayError::Bench {
                header: header.bench.clone(),
                session: bench.id,
            });
        }
        let mut notes = notes_on(header);
        session.params.clear();
        for (id, value) in &header.parameters {
            bench.params[param::find(bench.params, id)?].check(*value)?;
            session.params.insert(id.clone(), *value);
        }
        for spec in bench.params {
            if !header.parameters.contains_key(spec.id) {
                notes.push(format!(
                    "parameter '{}' is newer than the recording and has its default, {}",
                    spec.id, spec.default
                ));
            }
        }
        session.period_us = Some(header.period_nanos as f64 * 1e-3);
        // What was set up in place of the rig file's is what the guard expected at rest.
        let rig = rig.with_uplift(session.uplift_n).spec();
        Ok(Self {
            loaded: LoadedSession {
                session,
                path: directory.0.join(SESSION),
            },
            calibrations: calibrations(header, &rig),
            rig,
            notes,
            _directory: directory,
        })
    }

    /// The recorded columns as this version knows them.
    pub fn layout(&self, header: &SessionHeader) -> Result<Layout, ReplayError> {
        let bench = self.loaded.session.bench.spec().channels.iter();
        let known: Vec<&ChannelSpec> = bench
            .chain(&self.rig.channels)
            .chain(&LOOP_CHANNELS)
            .collect();
        let refuse = |what: String| ReplayError::Channels {
            version: header.software_version.clone(),
            what,
        };
        let mut layout = Layout::default();
        for channel in &header.channels {
            let Some(spec) = known.iter().find(|spec| spec.id == channel.id) else {
                return Err(refuse(format!("'{}' is unknown", channel.id)));
            };
            layout
                .append(&[**spec])
                .map_err(|e| refuse(e.to_string()))?;
        }
        Ok(layout)
    }
}

/// Attachments are text that anyone can exchange; whoever does so by accident is told.
fn check_hashes(header: &SessionHeader) -> Result<(), ReplayError> {
    for (part, text) in &header.files {
        let Some(recorded) = header.model_hashes.get(part) else {
            continue;
        };
        let found = provenance::hash_like(recorded, text.as_bytes());
        if *recorded != found {
            return Err(ReplayError::Changed {
                part: part.clone(),
                recorded: recorded.clone(),
                found,
            });
        }
    }
    Ok(())
}

/// The lines of the load cells at the start. Older recordings have none; their guard knew none either.
fn calibrations(header: &SessionHeader, rig: &RigSpec) -> Vec<RigCommand> {
    let of = |(i, cell): (usize, &CellSpec)| {
        let entry = |key: String| header.further.get(&key);
        let line = entry(recording::line_of(&cell.id))?;
        let (slope, offset) = line.split_once(' ')?;
        Some(RigCommand::Calibrate {
            cell: i,
            id: CalibrationId::new(entry(recording::calibration_of(&cell.id))?).ok()?,
            line: Line {
                slope_n_per_unit: slope.parse().ok()?,
                offset_n: offset.parse().ok()?,
            },
        })
    };
    rig.cells.iter().enumerate().filter_map(of).collect()
}

/// What may make a difference although nothing is wrong.
fn notes_on(header: &SessionHeader) -> Vec<String> {
    let mut notes = Vec::new();
    let own = provenance::VERSION;
    if header.software_version != own {
        notes.push(format!(
            "recorded by version {}; this is {own}",
            header.software_version
        ));
    }
    let arithmetic = header.further.get(recording::ARITHMETIC);
    if let Some(theirs) = arithmetic.filter(|theirs| *theirs != recording::arithmetic()) {
        notes.push(format!(
            "recorded with sums formed by {theirs} instructions, here by {}: their last bits may differ",
            recording::arithmetic()
        ));
    }
    notes
}

/// The text of a rig file whose pantograph is the one beside it. What is replaced is proven by reading the
/// result: it has to be the same rig but for that path.
fn redirect_pantograph(text: &str, rig: &RigFile) -> Result<String, ReplayError> {
    let mut wanted = rig.clone();
    match &mut wanted {
        RigFile::Simulated(config) => config.pantograph = PANTOGRAPH.into(),
        RigFile::Hardware(config) => config.pantograph = PANTOGRAPH.into(),
    }
    let written = format!("{:?}", rig.pantograph());
    text.match_indices(&written)
        .map(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + written.len()..]);
            format!("{before}\"{PANTOGRAPH}\"{after}")
        })
        .find(|redirected| {
            file::parse::<RigFile>(redirected, Path::new(RIG)).is_ok_and(|rig| rig == wanted)
        })
        .ok_or_else(|| ReplayError::Path {
            part: RIG,
            path: rig.pantograph().to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_the_pantograph_is_redirected() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/rigs/simulated-dsa-380.ron");
        let text = std::fs::read_to_string(path).unwrap();
        let pantograph = "\"../pantographs/dsa-380.ron\"";
        // A remark and the name of the rig hold the same words.
        let text = format!("// not \"{pantograph}\" but {pantograph}\n{text}");
        let rig: RigFile = file::parse(&text, Path::new(RIG)).unwrap();
        let redirected = redirect_pantograph(&text, &rig).unwrap();
        let rig: RigFile = file::parse(&redirected, Path::new(RIG)).unwrap();
        assert_eq!(rig.pantograph(), PANTOGRAPH);
        assert_eq!(redirected.matches(pantograph).count(), 2, "{redirected}");
    }
}
