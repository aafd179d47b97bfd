//! Recordings and Parquet files as Python's published packages read them.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use std::process::Command;

/// The first block of Python in the README.
fn loader() -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, after) = readme.split_once("```python\n").unwrap();
    after.split_once("```").unwrap().0.to_owned()
}

/// `PANTOBENCH_PYTHON` names an interpreter that has what `tests/python/requirements.txt` asks for;
/// `./check` makes one. Without it there is nothing to ask, which is said.
#[test]
fn the_loader_of_the_readme_and_pyarrow_read_what_was_recorded() {
    let Some(python) = std::env::var_os("PANTOBENCH_PYTHON") else {
        eprintln!("not run: PANTOBENCH_PYTHON is not set");
        return;
    };
    let scratch = Scratch::new("python");
    let session = scratch.session("seconds: 3.0", "seconds: 3.0");
    let directory = scratch.path("recordings");
    let run = pantobench(&[
        "run",
        &session,
        "--fast",
        "--json",
        "--record",
        &directory,
        "--change",
        "1:scale=0.75",
        "--operator",
        "late shift",
    ]);
    assert!(run.status.success(), "{}", stderr(&run));
    let recording = json(&run)["recording"].as_str().unwrap().to_owned();
    let mut files = Vec::new();
    for format in ["csv", "parquet"] {
        let out = scratch.path(&format!("run.{format}"));
        let export = [
            "session", "export", &recording, "--to", format, "--out", &out,
        ];
        let exported = pantobench(&export);
        assert!(exported.status.success(), "{}", stderr(&exported));
        files.push(out);
    }
    let code = loader();
    // As the README promises: ten lines, and one that prints.
    let lines = code.lines().filter(|l| !l.trim().is_empty());
    assert_eq!(lines.filter(|l| !l.starts_with("print(")).count(), 10);
    let loader = scratch.file("loader.py", &code);
    let checked = Command::new(python)
        .arg(root().join("tests/python/check_exports.py"))
        .args([&loader, &recording, &files[0], &files[1]])
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
    let said = stdout(&checked);
    assert!(said.contains("all the same"), "{said}");
    eprintln!("{said}");
}

/// As above; also without a window, a browser or a viewer of pages.
#[test]
fn a_reader_of_pdf_finds_the_figures_of_a_report() {
    let Some(python) = std::env::var_os("PANTOBENCH_PYTHON") else {
        eprintln!("not run: PANTOBENCH_PYTHON is not set");
        return;
    };
    let scratch = Scratch::new("python-report");
    let session = scratch.session("seconds: 3.0", "seconds: 6.0");
    let directory = scratch.path("recordings");
    let run = [
        "run",
        &session,
        "--fast",
        "--json",
        "--record",
        &directory,
        "--operator",
        "late <b>shift</b>",
    ];
    let recording = json(&pantobench(&run))["recording"]
        .as_str()
        .unwrap()
        .to_owned();
    let out = scratch.path("report.pdf");
    let written = pantobench(&["report", &recording, "--out", &out, "--json"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let said = scratch.file("report.json", &stdout(&written));
    let checked = Command::new(python)
        .arg(root().join("tests/python/check_report.py"))
        .args([&out, &said])
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(
        stdout(&checked).contains("all found"),
        "{}",
        stdout(&checked)
    );
}
