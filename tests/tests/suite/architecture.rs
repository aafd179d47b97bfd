//! ARCHITECTURE.md lists every module, and the project has the parts that it says it has.

use integration_tests::project_root;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn sources(dir: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let relative = path.strip_prefix(project_root()).unwrap();
            into.insert(relative.display().to_string());
        }
    }
}

#[test]
fn the_list_of_modules_is_complete_and_true() {
    let mut found = BTreeSet::new();
    for member in ["rt-core", "drivers", "app"] {
        sources(&project_root().join(member).join("src"), &mut found);
    }
    let text = fs::read_to_string(project_root().join("ARCHITECTURE.md")).unwrap();
    let listed: BTreeSet<String> = text
        .lines()
        .filter_map(|l| {
            l.strip_prefix("| `")?
                .split_once('`')
                .map(|(path, _)| path.to_owned())
        })
        .filter(|path| path.ends_with(".rs"))
        .collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not listed: {missing:?}; listed but gone: {gone:?}"
    );
}

#[test]
fn dependencies_between_members_go_one_way() {
    let depends = |member: &str, on: &str| {
        let manifest = fs::read_to_string(project_root().join(member).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        dependencies
            .lines()
            .any(|l| l.starts_with(&format!("{on}.")))
    };
    assert!(!depends("rt-core", "drivers") && !depends("rt-core", "pantobench"));
    assert!(!depends("drivers", "pantobench"));
    for member in ["rt-core", "drivers"] {
        assert!(
            !depends(member, "eframe") && !depends(member, "egui_plot"),
            "{member} draws nothing"
        );
    }
}

#[test]
fn the_top_level_has_the_parts_that_are_promised() {
    for part in [
        "Cargo.toml",
        "app",
        "rt-core",
        "drivers",
        "assets",
        "sessions",
        "tests",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "clippy.toml",
        "deny.toml",
        "check",
        "bench",
        ".ci/run",
    ] {
        assert!(project_root().join(part).exists(), "{part} is missing");
    }
}
