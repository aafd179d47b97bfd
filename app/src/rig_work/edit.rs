//! Changes values in a rig file and leaves everything else as a person wrote it: comments, order, layout. The file as it
//! was is always kept.

use super::WorkError;
use super::identify::Identified;
use crate::ron_text::set_field;
use drivers::rig_file::RigFile;
use rt_core::calibration::date::Moment;
use rt_core::file::{self, FileContent};
use std::path::{Path, PathBuf};

/// A number with the digits that are worth writing, always read as a float.
fn written(value: f64) -> String {
    if value == 0.0 {
        return "0.0".into();
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').to_owned()
    } else {
        text
    };
    match text.strip_suffix('.') {
        Some(whole) => format!("{whole}.0"),
        None if text.contains('.') => text,
        None => format!("{text}.0"),
    }
}

/// The text of a rig file with what identification found. `note` stands in front of it as comments.
pub fn with_identified(
    text: &str,
    rig: &RigFile,
    found: &Identified,
    note: &str,
) -> Result<String, WorkError> {
    let filter_path: &[&str] = match rig {
        RigFile::Simulated(_) => &["force_sensor", "filter_hz"],
        RigFile::Hardware(_) => &["force_filter_hz"],
    };
    // Below 0 they are noise about 0.
    let not_negative = |x: f64| if x < 5e-7 { 0.0 } else { x };
    let mut changes: Vec<(&[&str], f64)> = vec![
        (
            &["motor", "omega_rad_per_s"],
            found.motor.omega_rad_per_s.value,
        ),
        (&["motor", "damping_ratio"], found.motor.damping_ratio.value),
        (
            &["delays", "reference_s"],
            not_negative(found.motor.delay_s.value),
        ),
    ];
    if found.extra_delay_s != 0.0 {
        // What was kept apart is part of what was found.
        changes.push((&["delays", "extra_s"], 0.0));
    }
    if let Ok(force) = &found.force {
        changes.push((&["delays", "force_s"], not_negative(force.delay_s.value)));
        changes.push((
            &["pad_stiffness_n_per_m"],
            force.pad_stiffness_n_per_m.value,
        ));
        changes.push((
            &["pad_damping_ns_per_m"],
            not_negative(force.pad_damping_ns_per_m.value),
        ));
        changes.extend(force.filter_hz.map(|hz| (filter_path, hz.value)));
    }
    let mut edited = text.to_owned();
    for (path, value) in changes {
        edited = set_field(&edited, path, &written(value))
            .map_err(|e| WorkError::Input(format!("the rig file cannot be changed: {e}")))?;
    }
    let comments: String = note.lines().map(|line| format!("// {line}\n")).collect();
    let edited = format!("{comments}{edited}");
    // What was changed is proven by reading it: everything else has to be as it was.
    let read: RigFile = file::parse(&edited, Path::new("the changed rig file"))
        .map_err(|e| WorkError::Input(e.to_string()))?;
    if without_identified(&read) != without_identified(rig) {
        let text = "the rig file cannot be changed without touching something else; write the values by hand";
        return Err(WorkError::Input(text.into()));
    }
    Ok(edited)
}

/// A rig without anything that identification writes.
fn without_identified(rig: &RigFile) -> RigFile {
    let mut rig = rig.clone();
    match &mut rig {
        RigFile::Simulated(c) => {
            (c.motor.omega_rad_per_s, c.motor.damping_ratio) = (1.0, 1.0);
            (c.delays.reference_s, c.delays.force_s, c.delays.extra_s) = (0.0, 0.0, 0.0);
            (c.pad_stiffness_n_per_m, c.pad_damping_ns_per_m) = (1.0, 1.0);
            c.force_sensor.filter_hz = None;
        }
        RigFile::Hardware(c) => {
            (c.motor.omega_rad_per_s, c.motor.damping_ratio) = (1.0, 1.0);
            (c.delays.reference_s, c.delays.force_s, c.delays.extra_s) = (0.0, 0.0, 0.0);
            (c.pad_stiffness_n_per_m, c.pad_damping_ns_per_m) = (1.0, 1.0);
            c.force_filter_hz = None;
        }
    }
    rig
}

/// Where the new text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the rig file; the file as it was is kept beside it under this name.
    Replace {
        /// The name that the old file gets.
        keep_old_as: PathBuf,
    },
    /// Into a new file beside the rig file.
    New(PathBuf),
}

fn disk(path: &Path, e: &std::io::Error) -> WorkError {
    WorkError::Environment(format!("{} cannot be written: {e}", path.display()))
}

/// Writes the new text: whole or not at all, and never over a file whose content is nowhere else. Returns the file that
/// holds the new text.
pub fn write(rig: &Path, text: &str, place: &Place) -> Result<PathBuf, WorkError> {
    use std::io::Write;
    let target = match place {
        Place::Replace { .. } => rig.to_owned(),
        Place::New(path) => path.clone(),
    };
    let rig_directory = rig.parent().unwrap_or(Path::new(""));
    if target.parent().unwrap_or(Path::new("")) != rig_directory {
        return Err(WorkError::Input(format!(
            "{} is refused: expected a file beside {}, whose paths to other files are relative",
            target.display(),
            rig.display()
        )));
    }
    let fresh = |path: &Path| {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path);
        file.map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => WorkError::Input(format!(
                "{} is already there: choose another name, nothing is overwritten",
                path.display()
            )),
            _ => disk(path, &e),
        })
    };
    let written = |path: &Path, text: &[u8]| {
        let mut file = fresh(path)?;
        let done = file.write_all(text).and_then(|()| file.sync_all());
        done.map_err(|e| {
            // Half a file is worse than none; that it cannot be removed either changes nothing.
            let _ = std::fs::remove_file(path);
            disk(path, &e)
        })
    };
    match place {
        Place::New(path) => written(path, text.as_bytes())?,
        Place::Replace { keep_old_as } => {
            let old = std::fs::read(rig).map_err(|e| disk(rig, &e))?;
            written(keep_old_as, &old)?;
            let partial = rig.with_extension("ron.part");
            // Left behind by a power cut: never a rig file.
            let _ = std::fs::remove_file(&partial);
            written(&partial, text.as_bytes())?;
            std::fs::rename(&partial, rig).map_err(|e| disk(rig, &e))?;
        }
    }
    Ok(target)
}

/// Files after a result was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file that holds it.
    pub path: PathBuf,
    /// The rig file as it was, if that was replaced.
    pub old: Option<PathBuf>,
}

/// Keeps what identification found: in the rig file itself, or in `out` beside it. A note in front says where it comes
/// from.
pub fn keep(rig: &Path, out: Option<&Path>, found: &Identified) -> Result<Kept, WorkError> {
    let (old, file) = read(rig)?;
    let now = Moment::now().to_string();
    let note = format!(
        "Identified {now} by pantobench {} about {:.4} m with {:.1} N: {:.0} s of moves, {:.2} % of unseen steps predicted.",
        env!("CARGO_PKG_VERSION"),
        found.at_m,
        found.static_n,
        found.moved_s,
        found.predicted_position_pct
    );
    let text = with_identified(&old, &file, found, &note)?;
    let place = match out {
        // A bare name means beside the rig file.
        Some(path) if path.parent().is_none_or(|p| p.as_os_str().is_empty()) => {
            Place::New(rig.with_file_name(path.file_name().unwrap_or_default()))
        }
        Some(path) => Place::New(path.to_owned()),
        None => Place::Replace {
            keep_old_as: sibling(rig, &format!("before-{}", now.replace(':', "-"))),
        },
    };
    let path = write(rig, &text, &place)?;
    let old = match place {
        Place::Replace { keep_old_as } => Some(keep_old_as),
        Place::New(_) => None,
    };
    Ok(Kept { path, old })
}

/// `NAME-WORD.ron` beside a rig file.
pub fn sibling(rig: &Path, word: &str) -> PathBuf {
    let stem = rig.file_stem().map(|s| s.to_string_lossy().into_owned());
    rig.with_file_name(format!("{}-{word}.ron", stem.unwrap_or_default()))
}

/// Reads a rig file as text and checks it.
pub fn read(path: &Path) -> Result<(String, RigFile), WorkError> {
    let input = |e: rt_core::file::FileError| WorkError::Input(e.to_string());
    let text = std::fs::read_to_string(path).map_err(|source| {
        input(rt_core::file::FileError::Unreadable {
            kind: RigFile::KIND,
            path: path.to_owned(),
            source,
        })
    })?;
    let rig = file::parse(&text, path).map_err(input)?;
    Ok((text, rig))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_six_digits_and_stay_floats() {
        let all = [0.0, 212.132034, 240123.456, 5e6, 0.00133512, -3.25, 1.0];
        let texts = [
            "0.0",
            "212.132",
            "240123.0",
            "5000000.0",
            "0.00133512",
            "-3.25",
            "1.0",
        ];
        assert_eq!(all.map(written), texts);
    }

    #[test]
    fn nothing_is_overwritten_and_the_old_file_is_kept() {
        let directory =
            std::env::temp_dir().join(format!("pantobench-edit-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let rig = directory.join("rig.ron");
        std::fs::write(&rig, "old").unwrap();
        let keep = sibling(&rig, "before");
        let place = Place::Replace {
            keep_old_as: keep.clone(),
        };
        assert_eq!(write(&rig, "new", &place).unwrap(), rig);
        assert_eq!(std::fs::read_to_string(&rig).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(&keep).unwrap(), "old");
        let text = write(&rig, "newer", &place).unwrap_err().to_string();
        assert!(text.contains("already there"), "{text}");
        assert_eq!(std::fs::read_to_string(&rig).unwrap(), "new", "untouched");
        let elsewhere = Place::New(directory.join("sub/rig.ron"));
        assert!(matches!(
            write(&rig, "x", &elsewhere),
            Err(WorkError::Input(_))
        ));
        assert_eq!(
            std::fs::read_dir(&directory).unwrap().count(),
            2,
            "nothing is left behind"
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
