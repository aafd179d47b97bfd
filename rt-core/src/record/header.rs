//! What a recording says about itself: everything that is needed to understand and to recompute it.
//!
//! It is kept in metadata records of the file, which are plain text by name, and the configuration in
//! attachments, one a file:
//!
//! | metadata | holds |
//! |---|---|
//! | `pantobench` | format version, software, bench, period, start, title, specimen, operator, notes … |
//! | `channel` (one each) | column, identifier, name of the field, label, unit, role, precision |
//! | `parameters` | values at the start; later changes are events |
//! | `environment` | rain, ice, temperature, wind, tunnel, as far as stated; not in older files |
//! | `models`, `real_time`, `further` | hashes of models; what the system granted; anything else |
//! | `end`, `result` | why it ended, frames, drops, whether it was recovered; the result in words |

use crate::channel::{MAX_CHANNELS, Role};
use crate::file::FieldError;
use crate::record::FORMAT_VERSION;
use crate::record::error::RecordError;
use crate::record::schema::{Precision, RecordedChannel, field_names};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Text by name.
pub type TextMap = BTreeMap<String, String>;

/// What is known when a recording begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionHeader {
    /// Identifier of the bench.
    pub bench: String,
    /// What the session is called.
    pub title: String,
    /// The tested pantograph.
    pub specimen: String,
    /// The overhead line, if one is modelled.
    pub line: String,
    /// Speed of the train, if there is one, in km/h.
    pub speed_kmh: Option<f64>,
    /// Who runs the test.
    pub operator: String,
    /// Anything worth knowing.
    pub notes: String,
    /// The conditions of the test, as far as a person stated them.
    pub environment: TextMap,
    /// Version of the program that records.
    pub software_version: String,
    /// Period of the loop, in nanoseconds.
    pub period_nanos: u64,
    /// When the loop's time was zero, in nanoseconds since 1970 (UTC).
    pub t0_unix_nanos: u64,
    /// The recorded columns, in their order.
    pub channels: Vec<RecordedChannel>,
    /// Parameters at the start of the loop.
    pub parameters: BTreeMap<String, f64>,
    /// Configuration files by name, as text: session, line, pantograph, rig …
    pub files: TextMap,
    /// Hashes of prepared models by name.
    pub model_hashes: TextMap,
    /// What the system granted to the real-time thread.
    pub real_time: TextMap,
    /// Anything else.
    pub further: TextMap,
}

/// What is known when a recording ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEnd {
    /// Why it ended, in words.
    pub reason: String,
    /// Frames in the file.
    pub frames: u64,
    /// Frames that the recorder's ring could not take.
    pub drops: u64,
    /// Whether the file was put together from one that was never finished.
    pub recovered: bool,
    /// The result, in words and numbers.
    pub result: TextMap,
}

const MAIN: &str = "pantobench";
const CHANNEL: &str = "channel";
const END: &str = "end";
const RESULT: &str = "result";
const PARAMETERS: &str = "parameters";
const MODELS: &str = "models";
const REAL_TIME: &str = "real_time";
const ENVIRONMENT: &str = "environment";
const FURTHER: &str = "further";

fn pairs<const N: usize>(pairs: [(&str, String); N]) -> TextMap {
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

impl SessionHeader {
    /// Refuses what no frame can hold.
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        let count = self.channels.len();
        if count == 0 || count > MAX_CHANNELS {
            let problem = format!("are {count}; expected 1 to {MAX_CHANNELS}");
            return Err(FieldError::new("channels", problem));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = self.channels.iter().find(|c| !seen.insert(&c.id)) {
            let problem = format!("'{}' stands twice; each has one column", twice.id);
            return Err(FieldError::new("channels", problem));
        }
        if self.period_nanos == 0 {
            return Err(FieldError::new("period_nanos", "is 0; expected at least 1"));
        }
        Ok(())
    }

    /// The metadata records, in the order in which they are written.
    pub(crate) fn to_metadata(&self) -> Vec<(&'static str, TextMap)> {
        let mut main = pairs([
            ("format_version", FORMAT_VERSION.to_string()),
            ("software_version", self.software_version.clone()),
            ("bench", self.bench.clone()),
            ("title", self.title.clone()),
            ("specimen", self.specimen.clone()),
            ("line", self.line.clone()),
            ("operator", self.operator.clone()),
            ("notes", self.notes.clone()),
            ("period_nanos", self.period_nanos.to_string()),
            ("t0_unix_nanos", self.t0_unix_nanos.to_string()),
            ("channels", self.channels.len().to_string()),
        ]);
        if let Some(speed) = self.speed_kmh {
            main.insert("speed_kmh".into(), speed.to_string());
        }
        let mut all = vec![(MAIN, main)];
        let names = field_names(&self.channels);
        for (index, (channel, name)) in self.channels.iter().zip(names).enumerate() {
            let text = pairs([
                ("column", index.to_string()),
                ("id", channel.id.clone()),
                ("field", name),
                ("label", channel.label.clone()),
                ("unit", channel.unit.clone()),
                ("role", channel.role.name().to_owned()),
                ("precision", channel.precision.name().to_owned()),
            ]);
            all.push((CHANNEL, text));
        }
        let parameters = self.parameters.iter();
        all.push((
            PARAMETERS,
            parameters
                .map(|(id, value)| (id.clone(), value.to_string()))
                .collect(),
        ));
        all.push((ENVIRONMENT, self.environment.clone()));
        all.push((MODELS, self.model_hashes.clone()));
        all.push((REAL_TIME, self.real_time.clone()));
        // The last of the header: once it is there, the header is whole.
        all.push((FURTHER, self.further.clone()));
        all
    }

    /// Reads format version and header back. `path` is only named in errors; attachments are added by the
    /// caller.
    pub(crate) fn from_metadata(
        records: &[(String, TextMap)],
        path: &Path,
    ) -> Result<(u32, Self), RecordError> {
        let refuse = |problem: String| RecordError::NotARecording {
            path: path.to_owned(),
            problem,
        };
        let find = |name: &str| records.iter().find(|r| r.0 == name).map(|r| &r.1);
        let main = find(MAIN)
            .ok_or_else(|| refuse("it is an MCAP file, but has no metadata 'pantobench'".into()))?;
        let number = |key: &str| -> Result<u64, RecordError> {
            let text = main.get(key).map_or("", String::as_str);
            text.parse()
                .map_err(|_| refuse(format!("its '{key}' is '{text}'; expected a whole number")))
        };
        let version = u32::try_from(number("format_version")?).unwrap_or(u32::MAX);
        if version > FORMAT_VERSION {
            return Err(RecordError::TooNew {
                path: path.to_owned(),
                found: version,
                known: FORMAT_VERSION,
            });
        }
        let channels: Vec<RecordedChannel> = records
            .iter()
            .filter(|r| r.0 == CHANNEL)
            .map(|(_, text)| read_channel(text).map_err(refuse))
            .collect::<Result<_, _>>()?;
        let expected = number("channels")?;
        let (Some(parameters), Some(models), Some(real_time), Some(further)) = (
            find(PARAMETERS),
            find(MODELS),
            find(REAL_TIME),
            find(FURTHER),
        ) else {
            return Err(refuse(
                "its header is cut off: nothing was recorded yet".into(),
            ));
        };
        if channels.len() as u64 != expected {
            let problem = format!("it describes {} of {expected} channels", channels.len());
            return Err(refuse(problem));
        }
        let text = |key: &str| main.get(key).cloned().unwrap_or_default();
        let header = Self {
            bench: text("bench"),
            title: text("title"),
            specimen: text("specimen"),
            line: text("line"),
            speed_kmh: main.get("speed_kmh").and_then(|s| s.parse().ok()),
            operator: text("operator"),
            notes: text("notes"),
            environment: find(ENVIRONMENT).cloned().unwrap_or_default(),
            software_version: text("software_version"),
            period_nanos: number("period_nanos")?,
            t0_unix_nanos: number("t0_unix_nanos")?,
            channels,
            parameters: parameters
                .iter()
                .map(|(id, value)| match value.parse() {
                    Ok(value) => Ok((id.clone(), value)),
                    Err(_) => Err(refuse(format!(
                        "parameter '{id}' is '{value}'; expected a number"
                    ))),
                })
                .collect::<Result<_, _>>()?,
            files: TextMap::new(),
            model_hashes: models.clone(),
            real_time: real_time.clone(),
            further: further.clone(),
        };
        header.check().map_err(|e| refuse(e.to_string()))?;
        Ok((version, header))
    }
}

fn read_channel(text: &TextMap) -> Result<RecordedChannel, String> {
    let get = |key: &str| text.get(key).cloned().unwrap_or_default();
    let roles = [Role::Measured, Role::Computed, Role::Command];
    let precisions = [Precision::Exact, Precision::Single];
    let unknown = |key: &str| {
        format!(
            "channel '{}' has the unknown {key} '{}'",
            get("id"),
            get(key)
        )
    };
    Ok(RecordedChannel {
        id: get("id"),
        label: get("label"),
        unit: get("unit"),
        role: roles
            .into_iter()
            .find(|r| r.name() == get("role"))
            .ok_or_else(|| unknown("role"))?,
        precision: precisions
            .into_iter()
            .find(|p| p.name() == get("precision"))
            .ok_or_else(|| unknown("precision"))?,
    })
}

impl SessionEnd {
    pub(crate) fn to_metadata(&self) -> [(&'static str, TextMap); 2] {
        let end = pairs([
            ("reason", self.reason.clone()),
            ("frames", self.frames.to_string()),
            ("drops", self.drops.to_string()),
            ("recovered", self.recovered.to_string()),
        ]);
        [(RESULT, self.result.clone()), (END, end)]
    }

    /// The last words of a recording, if it got to say them.
    pub(crate) fn from_metadata(records: &[(String, TextMap)]) -> Option<Self> {
        let find = |name: &str| records.iter().rfind(|r| r.0 == name).map(|r| &r.1);
        let end = find(END)?;
        let number = |key: &str| end.get(key).and_then(|s| s.parse().ok());
        Some(Self {
            reason: end.get("reason").cloned().unwrap_or_default(),
            frames: number("frames")?,
            drops: number("drops")?,
            recovered: end.get("recovered").is_some_and(|r| r == "true"),
            result: find(RESULT).cloned().unwrap_or_default(),
        })
    }
}
