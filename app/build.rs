//! Tells the program of which commit it was built, and whether the tree was clean then: recordings and reports say so.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}

fn main() {
    // What a build reads: everything else may change without another program.
    const SOURCES: [&str; 5] = ["app", "drivers", "rt-core", "Cargo.toml", "Cargo.lock"];
    let top = git(&["rev-parse", "--show-toplevel"]);
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let told = match (commit, &top) {
        (Some(commit), Some(top)) => {
            let mut status = vec!["-C", top.as_str(), "status", "--porcelain", "--"];
            status.extend(SOURCES);
            match git(&status) {
                Some(changes) if changes.is_empty() => format!("commit {commit}, tree clean"),
                Some(_) => format!("commit {commit}, tree changed"),
                None => format!("commit {commit}, tree unknown"),
            }
        }
        _ => "commit unknown".to_owned(),
    };
    println!("cargo::rustc-env=PANTOBENCH_COMMIT={told}");
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={directory}/HEAD");
        println!("cargo::rerun-if-changed={directory}/logs/HEAD");
    }
    for source in ["src", "../drivers/src", "../rt-core/src", "../Cargo.lock"] {
        println!("cargo::rerun-if-changed={source}");
    }
}
