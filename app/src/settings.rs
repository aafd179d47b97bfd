//! A person's settings, kept in the configuration directory from one start to the next. A broken file never
//! prevents starting: it is put aside under another name, and that is said.

use crate::home;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of the file that is written here.
const VERSION: u32 = 1;
/// Memory for the past that may be chosen, in MB.
pub const HISTORY_MB: std::ops::RangeInclusive<usize> = 64..=16_384;
/// Scales that may be chosen.
pub const SCALES: std::ops::RangeInclusive<f32> = 0.6..=2.5;
/// Seconds around a trigger that may be chosen.
pub const AROUND_S: std::ops::RangeInclusive<f64> = 0.0..=120.0;

/// Settings of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Of the file.
    pub version: u32,
    /// Dark or light.
    pub dark: bool,
    /// Size of everything.
    pub scale: f32,
    /// Memory for the past that the plots can show, in MB.
    pub history_mb: usize,
    /// Where recordings go.
    pub recordings: PathBuf,
    /// Whether every run is recorded without being asked.
    pub record_every_run: bool,
    /// Whether a trip is recorded, with the time around it.
    pub capture_on_trip: bool,
    /// Seconds before a trigger that are kept.
    pub before_s: f64,
    /// Seconds after a trigger that are kept.
    pub after_s: f64,
    /// Who runs the tests.
    pub operator: String,
    /// Whether the guided start was seen.
    pub guide_seen: bool,
    /// Arrangements of the panels, by bench.
    pub layouts: BTreeMap<String, BenchLayouts>,
}

/// Arrangements of the panels for one bench, each as text: one that cannot be read costs no other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BenchLayouts {
    /// The one in use.
    pub current: Option<String>,
    /// Those with a name.
    pub named: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: VERSION,
            dark: true,
            scale: 1.0,
            history_mb: 1024,
            recordings: home::recordings_dir(),
            record_every_run: true,
            capture_on_trip: true,
            before_s: 10.0,
            after_s: 5.0,
            operator: String::new(),
            guide_seen: false,
            layouts: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Brings what someone wrote by hand into the ranges.
    fn within_ranges(mut self) -> Self {
        self.version = VERSION;
        self.scale = clamp(self.scale, SCALES, 1.0);
        self.history_mb = self
            .history_mb
            .clamp(*HISTORY_MB.start(), *HISTORY_MB.end());
        self.before_s = clamp(self.before_s, AROUND_S, 10.0);
        self.after_s = clamp(self.after_s, AROUND_S, 5.0);
        self
    }
}

fn clamp<T: PartialOrd + Copy>(value: T, range: std::ops::RangeInclusive<T>, otherwise: T) -> T {
    if range.contains(&value) {
        value
    } else {
        otherwise
    }
}

/// The file of the settings.
pub struct SettingsFile {
    path: PathBuf,
    saved: Settings,
}

impl SettingsFile {
    /// Reads the file, or begins with the defaults. The sentence says what a person should know.
    pub fn load(path: PathBuf) -> (Self, Settings, Option<String>) {
        let (settings, notice) = match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => (Settings::default(), None),
            Err(e) => {
                let notice = format!(
                    "the settings in '{}' cannot be read ({e}); the defaults are used",
                    path.display()
                );
                (Settings::default(), Some(notice))
            }
            Ok(text) => match ron::from_str::<Settings>(&text) {
                Ok(settings) => (settings.within_ranges(), None),
                Err(e) => (Settings::default(), Some(put_aside(&path, &e.to_string()))),
            },
        };
        let file = Self {
            path,
            saved: settings.clone(),
        };
        (file, settings, notice)
    }

    /// Writes the settings if they have changed; the old file stays whole until the new one is.
    pub fn save(&mut self, settings: &Settings) -> Result<(), String> {
        if *settings == self.saved {
            return Ok(());
        }
        let problem = |what: &str, e: &dyn std::fmt::Display| {
            format!(
                "the settings cannot be kept: {what} '{}': {e}",
                self.path.display()
            )
        };
        let pretty = ron::ser::PrettyConfig::new();
        let text = ron::ser::to_string_pretty(settings, pretty)
            .map_err(|e| problem("cannot write for", &e))?;
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(|e| problem("no directory for", &e))?;
        }
        let new = self.path.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_data()?;
            std::fs::rename(&new, &self.path)
        };
        write().map_err(|e| problem("cannot write", &e))?;
        self.saved = settings.clone();
        Ok(())
    }
}

/// Keeps a file that cannot be understood under another name.
fn put_aside(path: &Path, problem: &str) -> String {
    let aside = path.with_extension("broken.ron");
    let kept = match std::fs::rename(path, &aside) {
        Ok(()) => format!("it is kept as '{}'", aside.display()),
        Err(e) => format!("it could not be put aside ({e})"),
    };
    format!(
        "the settings in '{}' cannot be understood ({problem}); the defaults are used, {kept}",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let own = format!("pantobench-settings-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&directory).unwrap();
        directory.join("settings.ron")
    }

    #[test]
    fn settings_come_back_and_unknown_fields_of_another_version_are_no_trouble() {
        let path = scratch("round");
        let (mut file, mut settings, notice) = SettingsFile::load(path.clone());
        assert_eq!(notice, None);
        settings.operator = "late shift".into();
        settings.dark = false;
        file.save(&settings).unwrap();
        assert_eq!(SettingsFile::load(path.clone()).1, settings);
        std::fs::write(
            &path,
            "(version: 9, operator: \"x\", of_the_future: [1, 2])",
        )
        .unwrap();
        let (_, read, notice) = SettingsFile::load(path.clone());
        assert_eq!((read.operator.as_str(), notice), ("x", None));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_broken_file_is_put_aside_and_said() {
        let path = scratch("broken");
        std::fs::write(&path, "(dark: maybe").unwrap();
        let (mut file, settings, notice) = SettingsFile::load(path.clone());
        assert_eq!(settings, Settings::default());
        assert!(notice.unwrap().contains("broken.ron"));
        assert!(path.with_extension("broken.ron").is_file() && !path.is_file());
        let changed = Settings {
            guide_seen: true,
            ..settings
        };
        file.save(&changed).unwrap();
        assert!(SettingsFile::load(path.clone()).1.guide_seen);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn values_out_of_range_become_usable() {
        let path = scratch("range");
        std::fs::write(&path, "(scale: 99.0, history_mb: 1, before_s: -4.0)").unwrap();
        let (_, settings, _) = SettingsFile::load(path.clone());
        assert_eq!((settings.scale, settings.history_mb), (1.0, 64));
        assert_eq!(settings.before_s, 10.0);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error_in_words() {
        let (mut file, settings, _) = SettingsFile::load("/proc/nowhere/settings.ron".into());
        let changed = Settings {
            guide_seen: true,
            ..settings
        };
        assert!(file.save(&changed).unwrap_err().contains("settings"));
    }
}
