//! Where the shipped files are (`sessions` and `assets` stand side by side), and where prepared data and a
//! person's own settings are kept.

use std::path::{Path, PathBuf};

/// Finds a shipped file: below `PANTOBENCH_HOME` if that is set, else in the current directory or
/// above it, else beside or above the program.
pub fn find(file: &str) -> Result<PathBuf, String> {
    let mut starts: Vec<PathBuf> = Vec::new();
    match std::env::var_os("PANTOBENCH_HOME") {
        Some(home) => starts.push(home.into()),
        None => {
            starts.extend(std::env::current_dir());
            starts.extend(std::env::current_exe());
        }
    }
    let mut places = starts
        .iter()
        .flat_map(|s| s.ancestors())
        .map(|dir| dir.join(file));
    places.find(|p: &PathBuf| Path::is_file(p)).ok_or_else(|| {
        format!(
            "'{file}' was not found in the current directory, beside the program, or above them. \
             Set PANTOBENCH_HOME to the directory that holds 'sessions' and 'assets', or name a session file."
        )
    })
}

/// Where prepared lines are kept: the user's cache directory, or the system's temporary one.
pub fn cache_dir() -> PathBuf {
    own_dir("XDG_CACHE_HOME", ".cache")
}

/// Where a person's own settings are kept: the user's configuration directory, or the system's temporary
/// one.
pub fn config_dir() -> PathBuf {
    own_dir("XDG_CONFIG_HOME", ".config")
}

/// Where recordings go unless a person says otherwise: a directory that they find without knowing us.
pub fn recordings_dir() -> PathBuf {
    let home = std::env::var_os("HOME").filter(|v| !v.is_empty());
    let home = home.map_or_else(std::env::temp_dir, PathBuf::from);
    home.join("Pantobench").join("recordings")
}

/// The calibrations that ship with the simulated rigs, if they are found.
pub fn shipped_calibrations() -> Option<PathBuf> {
    let rig = find("assets/rigs/simulated-load-cells.ron").ok()?;
    Some(rig.parent()?.parent()?.join("calibrations"))
}

/// Where a person's own calibrations are kept: the history of their load cells.
pub fn calibrations_dir() -> PathBuf {
    config_dir().join("calibrations")
}

/// Where reports of crashes and the log of the libraries are kept: the user's state directory, or the system's temporary
/// one.
pub fn state_dir() -> PathBuf {
    own_dir("XDG_STATE_HOME", ".local/state")
}

fn own_dir(variable: &str, below_home: &str) -> PathBuf {
    let from = |variable: &str| {
        std::env::var_os(variable)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let own = from(variable).or_else(|| from("HOME").map(|home| home.join(below_home)));
    own.unwrap_or_else(std::env::temp_dir).join("pantobench")
}
