//! How tests start the program and read what it says.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub fn pantobench(arguments: &[&str]) -> Output {
    pantobench_with(arguments, &[])
}

pub fn pantobench_with(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pantobench"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    command.envs(environment.iter().copied()).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|e| panic!("{e}: {}", stdout(output)))
}

/// A session file of its own for a test, in a directory beside the shipped ones' assets.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("pantobench-{name}-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Where a file of this name is or will be.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A session with the shipped rig, changed by a replacement in its text.
    pub fn session(&self, from: &str, to: &str) -> String {
        let rig = root()
            .join("assets/rigs/simulated-dsa-380.ron")
            .canonicalize()
            .unwrap();
        self.session_on(&rig, from, to)
    }

    /// The same on a rig that bears a machine which is busy with other tests: one that stalls the loop is not what is
    /// tested then.
    pub fn patient_session(&self, from: &str, to: &str) -> String {
        let assets = root().join("assets").canonicalize().unwrap();
        let text = std::fs::read_to_string(assets.join("rigs/simulated-dsa-380.ron")).unwrap();
        let text = text.replace("\"../", &format!("\"{}/", assets.display()));
        let patient = text
            .replace("low: -50.0, high: 500.0", "low: -20000.0, high: 20000.0")
            .replace("bears_n: 6000.0", "bears_n: 60000.0");
        assert_ne!(patient, text);
        let rig = self.file("patient-rig.ron", &patient);
        self.session_on(Path::new(&rig), from, to)
    }

    fn session_on(&self, rig: &Path, from: &str, to: &str) -> String {
        let text = format!(
            "Session(\n    title: \"test\",\n    bench: Profile(source: Sine(amplitude_m: 0.01, frequency_hz: 1.0)),\n    \
             rig: \"{}\",\n    seconds: 3.0,\n)\n",
            rig.display()
        );
        assert!(text.contains(from), "{from} is not in the text");
        self.file("session.ron", &text.replacen(from, to, 1))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
