//! Studies as a user meets them: any number of threads, processes and interruptions gives the same table.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A line of nine spans on coarse elements in coarse steps: some milliseconds a sample.
fn study(scratch: &Scratch, samples: usize) -> String {
    let read = |path: &str| std::fs::read_to_string(root().join("assets").join(path)).unwrap();
    let line = read("lines/simple-55m.ron").replace("repeat: 20", "repeat: 9");
    let line = scratch.file("line.ron", &line);
    let pantograph = scratch.file("pantograph.ron", &read("pantographs/dsa-380.ron"));
    scratch.file(
        "test.ron",
        &format!(
            "Study(title: \"test\", base: Simulate(line: \"{line}\", pantograph: \"{pantograph}\", speed_kmh: 250.0, \
             mesh_m: 11.0, dt_ms: 10.0, spans: (4, 5)), vary: {{\
             \"speed_kmh\": Uniform(low: 200.0, high: 250.0), \
             \"dropper_sigma_m\": Normal(mean: 0.0, sigma: 0.005, low: -0.001, high: 0.02), \
             \"mass_factor.1\": List([0.9, 1.0, 1.1])}}, samples: {samples}, seed: 3)"
        ),
    )
}

fn results(out: &str) -> Vec<u8> {
    std::fs::read(Path::new(out).join("results.parquet")).unwrap()
}

fn done(out: &str) -> usize {
    let tasks = std::fs::read_dir(Path::new(out).join("tasks"));
    tasks.map_or(0, |all| {
        all.filter(|f| {
            f.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "json")
        })
        .count()
    })
}

#[test]
fn a_killed_study_goes_on_and_gives_the_same_table() {
    let scratch = Scratch::new("study-kill");
    let file = study(&scratch, 200);
    let (whole, killed) = (scratch.path("whole"), scratch.path("killed"));
    let output = pantobench(&[
        "study", "run", &file, "--out", &whole, "--jobs", "1", "--json",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(
        (&found["samples"], found["out"].as_str()),
        (&200.into(), Some(whole.as_str()))
    );
    // Lengths drawn with a standard deviation below 0 are refused: those samples fail, and are rows all the same.
    let failed = found["failed"].as_u64().unwrap();
    assert!(failed > 0 && failed < 100, "{found}");
    assert_eq!(found["done"].as_u64().unwrap() + failed, 200);

    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args(["study", "run", &file, "--out", &killed, "--jobs", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while done(&killed) < 20 && begin.elapsed() < Duration::from_secs(60) {
        std::thread::park_timeout(Duration::from_millis(2));
    }
    // SIGKILL: nothing can be tidied up.
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = done(&killed);
    assert!(kept >= 20, "{kept}");
    assert!(
        !Path::new(&killed).join("results.parquet").exists(),
        "it was too fast to be killed"
    );
    let output = pantobench(&["study", "gather", &file, "--out", &killed]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("not done yet"),
        "{}",
        stderr(&output)
    );

    let output = pantobench(&[
        "study", "run", &file, "--out", &killed, "--jobs", "2", "--json",
    ]);
    let found = json(&output);
    assert_eq!(
        found["computed"].as_u64().unwrap() as usize,
        200 - kept,
        "{found}"
    );
    assert_eq!(results(&whole), results(&killed));
    let picture = std::fs::read_to_string(Path::new(&killed).join("results.svg")).unwrap();
    assert!(picture.contains("200 samples") && picture.contains("mass_factor.1"));
}

/// The example of the documentation: tasks spread by a program that knows nothing of studies.
#[test]
fn tasks_spread_by_xargs_give_the_same_table() {
    let scratch = Scratch::new("study-xargs");
    let file = study(&scratch, 12);
    let (here, spread) = (scratch.path("here"), scratch.path("spread"));
    assert!(
        pantobench(&["study", "run", &file, "--out", &here])
            .status
            .success()
    );
    let script = "set -e; n=$($PANTOBENCH study plan $F --out $D --json | sed 's/.*\"samples\":\\([0-9]*\\).*/\\1/'); \
                  seq 0 $((n - 1)) | xargs -P 2 -I{} $PANTOBENCH study task $F --index {} --out $D; \
                  $PANTOBENCH study task $F --index 0 --out $D; $PANTOBENCH study gather $F --out $D";
    let output = Command::new("sh")
        .args(["-c", script])
        .env("PANTOBENCH", env!("CARGO_BIN_EXE_pantobench"))
        .env("F", &file)
        .env("D", &spread)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("12 samples"),
        "{}",
        stdout(&output)
    );
    assert_eq!(results(&here), results(&spread));
}

#[test]
fn bad_studies_are_refused_with_what_and_where() {
    let scratch = Scratch::new("study-bad");
    let file = study(&scratch, 4);
    let good = std::fs::read_to_string(&file).unwrap();
    for (from, to, words) in [
        (
            "speed_kmh\": Uniform",
            "speed\": Uniform",
            "cannot vary; expected one of",
        ),
        ("low: 200.0", "low: 300.0", "low below high"),
        ("samples: 4", "samples: 0", "samples"),
        ("mass_factor.1", "param.k_i", "needs a session as base"),
        ("seed: 3", "design: Grid", "samples"),
        ("pantograph.ron", "nothing.ron", "nothing.ron"),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = scratch.file("bad.ron", &good.replace(from, to));
        let output = pantobench(&["study", "plan", &bad]);
        assert!(
            matches!(output.status.code(), Some(2 | 3)),
            "{to}: {}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(words), "{to}: {}", stderr(&output));
    }
    let out = scratch.path("out");
    let index = |i: &str| pantobench(&["study", "task", &file, "--out", &out, "--index", i]);
    assert!(index("3").status.success());
    let output = index("4");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("tasks 0 to 3"),
        "{}",
        stderr(&output)
    );
    // Another seed is another study.
    std::fs::write(&file, good.replace("seed: 3", "seed: 4")).unwrap();
    assert!(stderr(&index("0")).contains("another study"));
}

/// A session as base: parameters and the rig vary, and what trips is a row with its reason.
#[test]
fn sessions_are_studied_too() {
    let scratch = Scratch::new("study-session");
    let asset = |path: &str| {
        root()
            .join("assets")
            .join(path)
            .canonicalize()
            .unwrap()
            .display()
            .to_string()
    };
    scratch.file(
        "session.ron",
        &format!(
            "Session(title: \"string\", bench: PantographLqg(speed_kmh: 250.0, spans: (5, 8), specimen: \"{}\", \
             line: \"{}\", mesh_m: 5.0, wire: Full, approach_s: 1.0), rig: \"{}\", uplift_n: 130.625)",
            asset("pantographs/dsa-380.ron"),
            asset("lines/stitched-sw.ron"),
            asset("rigs/simulated-dsa-380.ron")
        ),
    );
    let file = scratch.file(
        "study.ron",
        "Study(title: \"k_i\", base: Session(path: \"session.ron\"), vary: {\"param.k_i\": List([50e3, 150e3]), \
         \"extra_delay_s\": List([0.0])}, design: Grid)",
    );
    let output = pantobench(&["study", "run", &file, "--jobs", "1", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let found = json(&output);
    assert_eq!(found["samples"], 2);
    let task = |i: u32| {
        let path = scratch.path(&format!("study.study/tasks/00000{i}.json"));
        std::fs::read_to_string(path).unwrap()
    };
    assert!(task(0).contains("std_n"), "{}", task(0));
    // 150 kN/m is beyond what the LQG bears.
    assert!(task(1).contains("failed"), "{}", task(1));
}
