//! Whole files made of recordings that were cut off.

use super::{PathArguments, failure, open};
use crate::cli::Failure;
use rt_core::record::disk::{ENDING, PART};
use rt_core::record::recover::{self, Recovered};
use serde_json::{Value, json};
use std::path::Path;

/// Recovers one file or a directory.
pub fn recover(a: &PathArguments) -> Result<(), Failure> {
    let done = if a.path.is_dir() {
        recover::recover_directory(&a.path).map_err(failure)?
    } else {
        recover_file(&a.path)?.into_iter().collect()
    };
    let failed = done.iter().filter(|r| r.outcome.is_err()).count();
    if a.json {
        let files: Vec<Value> = done
            .iter()
            .map(|r| {
                let (path, error) = match &r.outcome {
                    Ok(path) => (Some(path), None),
                    Err(e) => (None, Some(e.to_string())),
                };
                json!({ "part": r.part, "path": path, "error": error })
            })
            .collect();
        say!("{}", json!({ "ok": failed == 0, "files": files }));
    } else if done.is_empty() {
        say!("nothing to recover in '{}'", a.path.display());
    } else {
        for recovered in &done {
            match &recovered.outcome {
                Ok(path) => say!("recovered to {}", path.display()),
                Err(e) => say!("not recovered: {e}"),
            }
        }
    }
    if failed > 0 {
        return Err(Failure::Result(format!(
            "{failed} of {} recordings could not be recovered; they were left as they are",
            done.len()
        )));
    }
    Ok(())
}

/// Recovers one file; `None` if it is whole. A copy that was cut off has the name of a whole file: it gets
/// that of an unfinished one first.
fn recover_file(path: &Path) -> Result<Option<Recovered>, Failure> {
    let session = open(path)?;
    let is_part = path.extension().is_some_and(|e| e == PART);
    if session.is_finished() && !is_part {
        return Ok(None);
    }
    drop(session);
    if is_part {
        let whole = recover::recover(path).map_err(failure)?;
        return Ok(Some(Recovered {
            part: path.to_owned(),
            outcome: Ok(whole),
        }));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let dotted = if path.extension().is_some_and(|e| e == ENDING) {
        format!("{name}.{PART}")
    } else {
        format!("{name}.{ENDING}.{PART}")
    };
    let part = path.with_file_name(dotted);
    if part.exists() {
        return Err(Failure::Input(format!(
            "'{}' is in the way: recover it first, or move it",
            part.display()
        )));
    }
    let rename = |from: &Path, to: &Path| {
        std::fs::rename(from, to).map_err(|e| {
            let (from, to) = (from.display(), to.display());
            Failure::Environment(format!("cannot rename '{from}' to '{to}': {e}"))
        })
    };
    rename(path, &part)?;
    match recover::recover(&part) {
        Ok(whole) => Ok(Some(Recovered {
            part: path.to_owned(),
            outcome: Ok(whole),
        })),
        Err(e) => {
            rename(&part, path)?;
            Err(failure(e))
        }
    }
}
