//! A session file with what a script wants otherwise, as text and as what it means.

use super::sandbox::Sandbox;
use crate::ron_text::set_field;
use crate::session::{LoadedSession, Session};
use drivers::rig_file::RigFile;
use rt_core::bench::BenchConfig;
use rt_core::file;
use rt_core::model::pantograph::Pantograph;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A value of an option as a script gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(f64),
    /// A word: a choice of the file's own, like `Predictive`.
    Word(String),
    /// Yes or no.
    Flag(bool),
    /// Numbers together, like first and last span.
    Numbers(Vec<f64>),
    /// Options of their own.
    Group(BTreeMap<String, Given>),
}

/// Fields of the session itself; all others belong to its bench.
const OF_SESSION: [&str; 10] = [
    "uplift_n",
    "seconds",
    "period_us",
    "statistics_from_s",
    "changes",
    "limits",
    "max_misses",
    "priority",
    "cpu",
    "inject",
];
/// Fields that name files: a script takes those that the session names.
const FILES: [&str; 8] = [
    "line",
    "specimen",
    "file",
    "path",
    "source",
    "pantograph",
    "calibrations",
    "record",
];

/// See the module's text.
pub struct PreparedSession {
    /// The session.
    pub loaded: LoadedSession,
    /// Its text with all changes, for recordings.
    pub text: String,
    /// A rig file with changes lives here until the session is done with.
    _rig: Option<Scratch>,
}

impl PreparedSession {
    /// Reads a session beside the script and changes what is asked for.
    pub fn load(
        sandbox: &Sandbox,
        name: &str,
        options: &BTreeMap<String, Given>,
    ) -> Result<Self, String> {
        let path = sandbox.session(name)?;
        let mut text = std::fs::read_to_string(&path)
            .map_err(|e| format!("the session file '{name}' cannot be read: {e}"))?;
        let mut rig = None;
        for (key, given) in options {
            text = match (key.as_str(), given) {
                ("params", Given::Group(params)) => with_params(&text, &path, params)?,
                ("rig", Given::Group(fields)) => {
                    let session: Session = parse(&text, &path)?;
                    let (scratch, place) = changed_rig(&session, &path, fields)?;
                    rig = Some(scratch);
                    set_field(&text, &["rig"], &quoted(&place.display().to_string()))?
                }
                // After the speed, which it depends on.
                ("uplift_n", Given::Word(_)) => text,
                (key, given) => set_option(&text, key, given)?,
            };
        }
        if let Some(Given::Word(word)) = options.get("uplift_n") {
            if word != "law" {
                return Err(format!(
                    "uplift_n is '{word}'; expected a number in N, or \"law\""
                ));
            }
            let uplift_n = law(&parse(&text, &path)?, &path)?;
            text = set_field(&text, &["uplift_n"], &uplift_n.to_string())?;
        }
        let loaded = LoadedSession {
            session: parse(&text, &path)?,
            path,
        };
        Ok(Self {
            loaded,
            text,
            _rig: rig,
        })
    }

    /// Sets parameters that the bench begins with.
    pub fn set_params(&mut self, params: &BTreeMap<String, f64>) -> Result<(), String> {
        let given = params
            .iter()
            .map(|(id, value)| (id.clone(), Given::Number(*value)))
            .collect();
        let text = with_params(&self.text, &self.loaded.path, &given)?;
        self.loaded.session = parse(&text, &self.loaded.path)?;
        self.text = text;
        Ok(())
    }
}

fn parse(text: &str, path: &Path) -> Result<Session, String> {
    file::parse(text, path).map_err(|e| e.to_string())
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// In the notation of the file.
fn notation(key: &str, given: &Given) -> Result<String, String> {
    Ok(match given {
        Given::Number(value) if value.is_finite() => value.to_string(),
        Given::Number(value) => return Err(format!("{key} is {value}; expected a number")),
        Given::Flag(flag) => flag.to_string(),
        Given::Numbers(values) => {
            let values: Vec<String> = values.iter().map(f64::to_string).collect();
            format!("({})", values.join(", "))
        }
        Given::Word(word) => {
            // Limits name channels; everything else in quotes could be a file.
            if key != "limits" && word.contains(['"', '\'', '#', '/', '\\']) {
                return Err(format!(
                    "{key} is '{word}', which is refused: a script gives numbers and choices, not files or texts"
                ));
            }
            word.clone()
        }
        Given::Group(_) => return Err(format!("{key} has no options of its own")),
    })
}

fn set_option(text: &str, key: &str, given: &Given) -> Result<String, String> {
    let name = key.split('.').next_back().unwrap_or(key);
    if FILES.contains(&name) || key == "rig" || key == "title" {
        return Err(format!(
            "'{key}' cannot be changed by a script: write a session file that names it and load that"
        ));
    }
    let mut path: Vec<&str> = key.split('.').collect();
    if !OF_SESSION.contains(&path[0]) {
        path.insert(0, "bench");
    }
    set_field(text, &path, &notation(key, given)?)
}

fn with_params(
    text: &str,
    path: &Path,
    params: &BTreeMap<String, Given>,
) -> Result<String, String> {
    let mut all = parse(text, path)?.params;
    for (id, given) in params {
        let Given::Number(value) = given else {
            return Err(format!("parameter '{id}' is no number"));
        };
        all.insert(id.clone(), *value);
    }
    let pairs: Vec<String> = all
        .iter()
        .map(|(id, value)| format!("{}: {value}", quoted(id)))
        .collect();
    set_field(text, &["params"], &format!("{{{}}}", pairs.join(", ")))
}

/// The lift that the pantograph's own law asks for at the session's speed, in N.
fn law(session: &Session, path: &Path) -> Result<f64, String> {
    let (specimen, speed_kmh) = match &session.bench {
        BenchConfig::PantographLqg(config) => (&config.specimen, config.speed_kmh),
        BenchConfig::PantographSteady(config) => (&config.specimen, config.speed_kmh),
        BenchConfig::Profile(_) | BenchConfig::Jog(_) => {
            return Err("uplift_n: \"law\" needs a bench with a speed".into());
        }
    };
    let base = path.parent().unwrap_or(Path::new("."));
    let specimen: Pantograph = file::load(&base.join(specimen)).map_err(|e| e.to_string())?;
    Ok(specimen.uplift.at_kmh(speed_kmh))
}

/// A directory that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("pantobench-script-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|e| {
                format!(
                    "a changed rig needs the directory '{}': {e}",
                    path.display()
                )
            })?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A copy of the session's rig file with other values, in a directory of its own.
fn changed_rig(
    session: &Session,
    path: &Path,
    fields: &BTreeMap<String, Given>,
) -> Result<(Scratch, PathBuf), String> {
    let origin = path.parent().unwrap_or(Path::new(".")).join(&session.rig);
    let mut text = std::fs::read_to_string(&origin)
        .map_err(|e| format!("the rig file '{}' cannot be read: {e}", origin.display()))?;
    let RigFile::Simulated(config) = file::parse(&text, &origin).map_err(|e| e.to_string())? else {
        return Err("only a simulated rig can be changed by a script".into());
    };
    for (key, given) in fields {
        let name = key.split('.').next_back().unwrap_or(key);
        if FILES.contains(&name) {
            return Err(format!("'rig.{key}' cannot be changed by a script"));
        }
        let path: Vec<&str> = key.split('.').collect();
        text = set_field(&text, &path, &notation(key, given)?)?;
    }
    let base = origin
        .parent()
        .unwrap_or(Path::new("."))
        .canonicalize()
        .map_err(|e| format!("'{}': {e}", origin.display()))?;
    let absolute = |name: &str| quoted(&base.join(name).display().to_string());
    text = set_field(&text, &["pantograph"], &absolute(&config.pantograph))?;
    if let Some(directory) = &config.calibrations {
        text = set_field(&text, &["calibrations"], &absolute(directory))?;
    }
    let scratch = Scratch::new()?;
    let place = scratch.0.join(origin.file_name().unwrap_or_default());
    file::parse::<RigFile>(&text, &place).map_err(|e| e.to_string())?;
    std::fs::write(&place, text).map_err(|e| format!("'{}': {e}", place.display()))?;
    Ok((scratch, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(name: &str, options: &[(&str, Given)]) -> Result<PreparedSession, String> {
        let sandbox = Sandbox {
            sessions: Path::new(env!("CARGO_MANIFEST_DIR")).join("../sessions"),
            output: std::env::temp_dir(),
        };
        let options = options
            .iter()
            .map(|(key, given)| ((*key).to_owned(), given.clone()))
            .collect();
        PreparedSession::load(&sandbox, name, &options)
    }

    fn group(fields: &[(&str, f64)]) -> Given {
        let pairs = fields
            .iter()
            .map(|(k, v)| ((*k).to_owned(), Given::Number(*v)));
        Given::Group(pairs.collect())
    }

    #[test]
    fn options_reach_session_bench_parameters_and_rig() {
        let found = load(
            "dsa380-250.ron",
            &[
                ("speed_kmh", Given::Number(275.0)),
                ("seconds", Given::Number(4.5)),
                ("spans", Given::Numbers(vec![3.0, 8.0])),
                ("controller", Given::Word("Predictive".into())),
                ("params", group(&[("q", 20.0)])),
                ("rig", group(&[("delays.extra_s", 0.001)])),
                ("uplift_n", Given::Word("law".into())),
            ],
        )
        .unwrap();
        let session = &found.loaded.session;
        let BenchConfig::PantographLqg(config) = &session.bench else {
            panic!("another bench");
        };
        assert_eq!((config.speed_kmh, config.spans), (275.0, Some((3, 8))));
        assert_eq!(session.seconds, Some(4.5));
        assert_eq!(session.params["q"], 20.0);
        // 0.00097 v² + 70 N.
        let uplift = session.uplift_n.unwrap();
        assert!(
            (uplift - (0.00097 * 275.0 * 275.0 + 70.0)).abs() < 1e-9,
            "{uplift}"
        );
        let RigFile::Simulated(rig) = file::load(&found.loaded.rig_path()).unwrap() else {
            panic!("another rig");
        };
        assert_eq!(rig.delays.extra_s, 0.001);
        let place = found.loaded.rig_path();
        drop(found);
        assert!(!place.exists(), "the changed rig goes with its session");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_does() {
        for (key, given, words) in [
            ("speed", Given::Number(1.0), "speed_kmh"),
            (
                "line",
                Given::Word("x".into()),
                "cannot be changed by a script",
            ),
            (
                "wire.file",
                Given::Word("x".into()),
                "cannot be changed by a script",
            ),
            (
                "wire",
                Given::Word("Line(file: \"/etc/x\")".into()),
                "not files or texts",
            ),
            ("seconds", Given::Number(-1.0), "0.01"),
            ("seconds", Given::Number(f64::NAN), "expected a number"),
            (
                "uplift_n",
                Given::Word("lots".into()),
                "expected a number in N",
            ),
            (
                "params",
                group(&[("gain", 1.0)]),
                "there is no parameter 'gain'",
            ),
            ("params", group(&[("q", -1.0)]), "it must lie within"),
            ("rig", group(&[("delays.extra_s", -1.0)]), "extra_s"),
            ("controller", Given::Word("Best".into()), "Predictive"),
        ] {
            let problem = load("dsa380-250.ron", &[(key, given)]).err().unwrap();
            assert!(problem.contains(words), "{key}: {problem}");
        }
        let law = [("uplift_n", Given::Word("law".into()))];
        assert!(load("profile-sine.ron", &law).is_err());
    }
}
