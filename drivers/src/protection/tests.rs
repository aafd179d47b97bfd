//! Stopping against closed forms and brute force, what hardware has to state, and files at the ends of every field.

use super::*;
use crate::simulated::SimulatedConfig;
use rt_core::file;
use std::path::{Path, PathBuf};

mod files;
mod stop;

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets")
}

fn rig_text(name: &str) -> String {
    std::fs::read_to_string(assets().join("rigs").join(name)).unwrap()
}

fn parsed(text: &str) -> RigFile {
    file::parse(text, Path::new("rig.ron")).unwrap_or_else(|e| panic!("{e}"))
}

fn pantograph_of(rig: &RigFile) -> Pantograph {
    file::load(&assets().join("rigs").join(rig.pantograph())).unwrap()
}

fn shipped(name: &str) -> (SimulatedConfig, Pantograph) {
    let rig = parsed(&rig_text(name));
    let pantograph = pantograph_of(&rig);
    (rig.model(), pantograph)
}
