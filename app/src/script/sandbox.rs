//! The only files that a script reaches: what it reads lies in its own directory or in the output directory, what it
//! writes in the output directory.

use std::path::{Component, Path, PathBuf};

/// Where a script may look and write.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Directory of the script: sessions are found here.
    pub sessions: PathBuf,
    /// Directory of everything that the script writes.
    pub output: PathBuf,
}

impl Sandbox {
    /// A session file by its name, relative to the script.
    pub fn session(&self, name: &str) -> Result<PathBuf, String> {
        let path = within(&self.sessions, name)?;
        if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "'{name}' was not found beside the script (in '{}')",
                self.sessions.display()
            ))
        }
    }

    /// A file of the output directory that may or may not be there yet.
    pub fn output(&self, name: &str) -> Result<PathBuf, String> {
        within(&self.output, name)
    }

    /// A file of the output directory that is about to be written; its directory is made.
    pub fn for_writing(&self, name: &str) -> Result<PathBuf, String> {
        let make = |dir: &Path| {
            std::fs::create_dir_all(dir)
                .map_err(|e| format!("the directory '{}' cannot be made: {e}", dir.display()))
        };
        make(&self.output)?;
        let path = self.output(name)?;
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        Ok(path)
    }

    /// Writes a file of the output directory: whole, or not at all.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let path = self.for_writing(name)?;
        let mut partial = path.clone().into_os_string();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let written =
            std::fs::write(&partial, content).and_then(|()| std::fs::rename(&partial, &path));
        written.map_err(|e| {
            // Nothing is left behind that looks like a result.
            let _ = std::fs::remove_file(&partial);
            format!("'{}' cannot be written: {e}", path.display())
        })?;
        Ok(path)
    }
}

/// The place of a name below a directory; refuses everything that leads elsewhere.
fn within(root: &Path, name: &str) -> Result<PathBuf, String> {
    let refused = |why: &str| {
        Err(format!(
            "the file '{name}' is refused: {why}. A script reads what lies beside it and writes to its output \
             directory only"
        ))
    };
    let relative = Path::new(name);
    if name.trim().is_empty() || name.contains('\0') {
        return refused("it has no name");
    }
    if relative.is_absolute() {
        return refused("its path is absolute");
    }
    for component in relative.components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            _ => return refused("its path leads upwards with '..'"),
        }
    }
    let path = root.join(relative);
    // Links are followed as far as there is something to follow.
    let Ok(root) = root.canonicalize() else {
        return Ok(path);
    };
    let known = path
        .ancestors()
        .find(|p| p.symlink_metadata().is_ok())
        .unwrap_or(&root);
    match known.canonicalize() {
        Ok(real) if real.starts_with(&root) => Ok(path),
        Ok(_) => refused("a link leads out of the directory"),
        Err(e) => refused(&format!("a link in its path leads nowhere ({e})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn scratch(name: &str) -> (Scratch, Sandbox) {
        let root =
            std::env::temp_dir().join(format!("pantobench-sandbox-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let sandbox = Sandbox {
            sessions: root.join("in"),
            output: root.join("out"),
        };
        std::fs::create_dir_all(&sandbox.sessions).unwrap();
        std::fs::write(root.join("secret.ron"), "Session()").unwrap();
        std::fs::write(sandbox.sessions.join("own.ron"), "Session()").unwrap();
        (Scratch(root), sandbox)
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused_with_the_reason() {
        let (root, sandbox) = scratch("paths");
        assert!(sandbox.session("own.ron").is_ok());
        assert!(sandbox.session("./own.ron").is_ok());
        for (name, words) in [
            ("../secret.ron", "leads upwards"),
            ("deeper/../../secret.ron", "leads upwards"),
            ("/etc/hostname", "absolute"),
            ("", "no name"),
            ("a\0b", "no name"),
            ("other.ron", "not found beside the script"),
        ] {
            let problem = sandbox.session(name).unwrap_err();
            assert!(problem.contains(words), "{name}: {problem}");
        }
        drop(root);
    }

    #[test]
    fn links_that_lead_out_are_refused_for_reading_and_writing() {
        let (root, sandbox) = scratch("links");
        let link = |from: PathBuf, to: PathBuf| std::os::unix::fs::symlink(to, from).unwrap();
        link(sandbox.sessions.join("link.ron"), root.0.join("secret.ron"));
        link(sandbox.sessions.join("inner.ron"), "own.ron".into());
        std::fs::create_dir_all(&sandbox.output).unwrap();
        link(sandbox.output.join("up"), root.0.clone());
        link(sandbox.output.join("hidden.csv"), root.0.join("not-there"));
        assert!(
            sandbox
                .session("link.ron")
                .unwrap_err()
                .contains("a link leads out")
        );
        assert!(sandbox.session("inner.ron").is_ok());
        assert!(sandbox.write("up/new.csv", b"x").is_err());
        // A link to a file that is not there would make one outside.
        assert!(sandbox.write("hidden.csv", b"x").is_err());
        assert!(!root.0.join("new.csv").exists() && !root.0.join("not-there").exists());
    }

    #[test]
    fn files_are_written_whole_below_the_output_directory() {
        let (_root, sandbox) = scratch("write");
        let path = sandbox.write("deep/er/table.csv", b"a,b\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n");
        assert!(path.starts_with(&sandbox.output));
        let around = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(around, 1, "nothing partial is left");
        // A directory in its place: an error with the reason, and nothing left behind.
        std::fs::create_dir(sandbox.output.join("taken.csv")).unwrap();
        assert!(
            sandbox
                .write("taken.csv", b"")
                .unwrap_err()
                .contains("cannot be written")
        );
        assert!(!sandbox.output.join("taken.csv.part").exists());
    }
}
