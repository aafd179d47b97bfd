//! Results of a study on the disk: one file a task, written under another name and renamed when it is whole, so that a
//! task is done or not done, whatever happens to whoever does it.
//!
//! `plan.json` says which study the directory belongs to, `samples.csv` what each task computes, `tasks/000042.json` what
//! came of one. Numbers are texts there: what is read is what was written, to the last bit.

use super::StudyError;
use super::case::{OUTPUTS, Outcome};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The directory of a study.
pub struct Store {
    directory: PathBuf,
}

/// What came of a task.
#[derive(Clone, Debug)]
pub struct TaskResult {
    /// The outputs, or why there are none.
    pub outcome: Outcome,
    /// Time of the processor that it took, in s.
    pub cpu_s: f64,
}

impl Store {
    /// For a directory, which need not exist.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn error(path: &Path, doing: &'static str) -> impl Fn(std::io::Error) -> StudyError {
        let path = path.to_owned();
        move |source| StudyError::Disk {
            doing,
            path: path.clone(),
            source,
        }
    }

    /// Writes a whole file or none.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StudyError> {
        let path = self.directory.join(name);
        let directory = path.parent().unwrap_or(&self.directory);
        std::fs::create_dir_all(directory).map_err(Self::error(directory, "make the directory"))?;
        // Several processes may do the same task at the same time: each has a name of its own until the end.
        let part = path.with_extension(format!(
            "part-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let written = std::fs::File::create(&part)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&part, &path));
        if written.is_err() {
            // What went wrong matters more than whether the rest could be removed.
            let _ = std::fs::remove_file(&part);
        }
        written.map_err(Self::error(&path, "write"))?;
        Ok(path)
    }

    /// Makes the directory this study's, or refuses another's.
    pub fn claim(&self, fingerprint: &str, title: &str, samples: usize) -> Result<(), StudyError> {
        let path = self.directory.join("plan.json");
        if path.exists() {
            let text = std::fs::read_to_string(&path).map_err(Self::error(&path, "read"))?;
            let found: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
            if found["fingerprint"] == json!(fingerprint) {
                return Ok(());
            }
            return Err(StudyError::Other(format!(
                "'{}' holds results of another study ('{}'), or of another version of this study, its files or the \
                 program; choose another --out or remove that directory",
                self.directory.display(),
                found["title"].as_str().unwrap_or("unreadable")
            )));
        }
        let plan = json!({ "fingerprint": fingerprint, "title": title, "samples": samples });
        self.put("plan.json", format!("{plan:#}\n").as_bytes())?;
        Ok(())
    }

    fn task_name(index: usize) -> String {
        format!("tasks/{index:06}.json")
    }

    /// Keeps the result of a task.
    pub fn keep(&self, index: usize, result: &TaskResult) -> Result<(), StudyError> {
        let outcome = match &result.outcome {
            Ok(outputs) => {
                let pairs = OUTPUTS.iter().zip(outputs);
                let pairs: Map<String, Value> = pairs
                    .map(|((key, _), value)| ((*key).to_owned(), json!(value.to_string())))
                    .collect();
                json!({ "outputs": pairs })
            }
            Err(reason) => json!({ "failed": reason }),
        };
        let text = json!({ "index": index, "cpu_s": result.cpu_s, "outcome": outcome });
        self.put(&Self::task_name(index), format!("{text:#}\n").as_bytes())?;
        Ok(())
    }

    /// The result of a task, if it is done. A file that cannot be understood counts as not done.
    pub fn result(&self, index: usize) -> Result<Option<TaskResult>, StudyError> {
        let path = self.directory.join(Self::task_name(index));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Self::error(&path, "read")(e)),
        };
        Ok(Self::understood(&text))
    }

    fn understood(text: &str) -> Option<TaskResult> {
        let found: Value = serde_json::from_str(text).ok()?;
        let outcome = &found["outcome"];
        let outcome = if let Some(reason) = outcome["failed"].as_str() {
            Err(reason.to_owned())
        } else {
            let mut outputs = [f64::NAN; OUTPUTS.len()];
            for (value, (key, _)) in outputs.iter_mut().zip(OUTPUTS) {
                *value = outcome["outputs"][key].as_str()?.parse().ok()?;
            }
            Ok(outputs)
        };
        Some(TaskResult {
            outcome,
            cpu_s: found["cpu_s"].as_f64().unwrap_or(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("pantobench-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn what_is_read_is_what_was_kept_to_the_last_bit() {
        let directory = scratch("bits");
        let store = Store::new(&directory);
        assert!(store.result(3).unwrap().is_none());
        let mut outputs = [0.1 + 0.2; OUTPUTS.len()];
        (outputs[1], outputs[2]) = (f64::NAN, 1e-300 / 3.0);
        store
            .keep(
                3,
                &TaskResult {
                    outcome: Ok(outputs),
                    cpu_s: 0.5,
                },
            )
            .unwrap();
        store
            .keep(
                4,
                &TaskResult {
                    outcome: Err("a \"reason\"\n".into()),
                    cpu_s: 0.5,
                },
            )
            .unwrap();
        let found = store.result(3).unwrap().unwrap().outcome.unwrap();
        assert!(
            found
                .iter()
                .zip(outputs)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
        assert_eq!(
            store.result(4).unwrap().unwrap().outcome,
            Err("a \"reason\"\n".into())
        );
        // Half a file, as a disk without order might leave it, is a task that is not done.
        std::fs::write(directory.join("tasks/000005.json"), "{ \"index\": 5,").unwrap();
        assert!(store.result(5).unwrap().is_none());
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_directory_belongs_to_one_study() {
        let directory = scratch("claim");
        let store = Store::new(&directory);
        store.claim("abc", "first", 3).unwrap();
        store.claim("abc", "first", 3).unwrap();
        let text = store.claim("def", "second", 3).unwrap_err().to_string();
        assert!(
            text.contains("another study ('first')") && text.contains("--out"),
            "{text}"
        );
        std::fs::remove_dir_all(directory).unwrap();
    }
}
