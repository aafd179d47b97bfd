//! The program as a user meets it: exit codes, words, machine-readable output.

use crate::common::{Scratch, json, pantobench, root, stderr, stdout};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_same_fast_run_twice_prints_the_same() {
    let arguments = ["run", "sessions/profile-sine.ron", "--fast", "--json"];
    let (first, second) = (pantobench(&arguments), pantobench(&arguments));
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(stdout(&first), stdout(&second));
    let result = json(&first);
    assert_eq!(result["bench"], "profile");
    assert_eq!(result["seconds"], 42.0);
    assert_eq!(result["overruns"], 0);
    assert_eq!(result["drops"], 0);
    assert_eq!(result["state"], "Idle");
    assert_eq!(result["trip"], Value::Null);
    for key in ["mean", "std", "min", "max"] {
        assert!(result["channels"]["force"][key].is_number());
    }
    assert!(result["result"]["tracking_mm"]["max_abs"].is_number());
}

/// As in `pantobench run … | head`: the run goes on to its controlled end.
#[test]
fn a_reader_who_has_gone_does_not_end_a_run() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pantobench"))
        .args(["run", "sessions/profile-sine.ron", "--fast"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("Stopping → Idle"));
}

#[test]
fn every_shipped_session_runs() {
    let sessions = std::fs::read_dir(root().join("sessions")).unwrap();
    let mut count = 0;
    for entry in sessions {
        let path = entry.unwrap().path();
        // Needs `pantobench emulate` beside it, in real time: see the tests of hardware links.
        if path.ends_with("linmot-udp-serial.ron") {
            continue;
        }
        if path.extension().is_some_and(|e| e == "ron") {
            let output = pantobench(&[
                "run",
                path.to_str().unwrap(),
                "--fast",
                "--seconds",
                "5",
                "--json",
            ]);
            assert!(
                output.status.success(),
                "{}: {}",
                path.display(),
                stderr(&output)
            );
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} sessions");
}

#[test]
fn benches_are_listed_for_people_and_machines() {
    let listed = json(&pantobench(&["benches", "--json"]));
    let bench = &listed["benches"][0];
    assert_eq!(bench["id"], "profile");
    assert_eq!(bench["period_s"], 0.002);
    assert_eq!(bench["channels"][0]["role"], "measured");
    for key in ["id", "label", "unit", "default", "min", "max"] {
        assert!(!bench["params"][0][key].is_null(), "{key}");
    }
    let text = stdout(&pantobench(&["benches"]));
    assert!(
        text.contains("motor_reference") && text.contains("scale"),
        "{text}"
    );
}

#[test]
fn latency_measures_and_says_what_is_missing() {
    let measured = json(&pantobench(&[
        "latency",
        "--period-us",
        "1000",
        "--seconds",
        "0.3",
        "--json",
    ]));
    assert_eq!(measured["period_us"], 1000);
    assert!(measured["cycles"].as_u64().unwrap() + measured["misses"].as_u64().unwrap() >= 300);
    let wake = &measured["wake_us"];
    let of = |key: &str| wake[key].as_f64().unwrap();
    assert!(of("p50") <= of("p99") && of("p99") <= of("p999") && of("p999") <= of("max"));
    assert!(["fifo", "other"].contains(&measured["rt"]["scheduler"].as_str().unwrap()));
    let refused = pantobench(&["latency", "--period-us", "0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("50 to 1000000"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn an_injected_fault_gives_exit_code_1_and_its_numbers() {
    let scratch = Scratch::new("fault");
    let path = scratch.session(
        "seconds: 3.0",
        "seconds: 3.0, inject: [(fault: Offset(signal: Force, size: 800.0), after_s: 1.0)]",
    );
    let output = pantobench(&["run", &path, "--fast", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let result = json(&output);
    assert_eq!(result["state"], "Tripped");
    assert_eq!(result["trip"]["fault"], "limit.force");
    assert_eq!(result["trip"]["limit"], 500.0);
    assert!(result["trip"]["measured"].as_f64().unwrap() > 500.0);
    assert!(result["trip"]["t_s"].as_f64().unwrap() > 1.0);
    assert!(
        stderr(&output).contains("Contact force"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn bad_input_is_explained_with_exit_code_2_and_nothing_starts() {
    let scratch = Scratch::new("bad");
    let rig_text =
        std::fs::read_to_string(root().join("assets/rigs/simulated-dsa-380.ron")).unwrap();
    let pantograph = root()
        .join("assets/pantographs/dsa-380.ron")
        .canonicalize()
        .unwrap();
    let rig = |name: &str, from: &str, to: &str| {
        let text = rig_text.replace(
            "../pantographs/dsa-380.ron",
            &pantograph.display().to_string(),
        );
        assert!(text.contains(from));
        scratch.file(name, &text.replacen(from, to, 1))
    };
    let with_rig = |path: String| {
        let shipped = root()
            .join("assets/rigs/simulated-dsa-380.ron")
            .canonicalize()
            .unwrap();
        let session = scratch.session(&shipped.display().to_string(), &path);
        std::fs::read_to_string(&session).unwrap()
    };
    let bad_pantograph = scratch.file(
        "negative.ron",
        "Pantograph(name: \"x\", masses: [(mass_kg: -6.6, stiffness_n_per_m: 7000.0, damping_ns_per_m: 0.0)],\n\
         uplift: (static_n: 70.0, per_kmh2_n: 0.0))",
    );
    let no_mass = with_rig(rig(
        "mass.ron",
        &pantograph.display().to_string(),
        &bad_pantograph,
    ));
    let no_file = with_rig(rig(
        "nofile.ron",
        &pantograph.display().to_string(),
        "no/such/pantograph.ron",
    ));
    let misspelt = with_rig(rig("misspelt.ron", "uplift_n", "upflit_n"));
    let negative_delay = with_rig(rig("delay.ron", "force_s: 0.002", "force_s: -0.002"));
    let no_rig = with_rig("no/such/rig.ron".into());
    let session =
        |from: &str, to: &str| std::fs::read_to_string(scratch.session(from, to)).unwrap();
    let cases: Vec<(String, &[&str])> = vec![
        (
            session("Profile(", "Prolife("),
            &[":3:", "Prolife", "Profile"],
        ),
        (session("rig:", "rigg:"), &[":4:", "rigg", "rig"]),
        (session("seconds: 3.0", "seconds: \"long\""), &[":5:"]),
        (
            session("seconds: 3.0", "seconds: 3.0, period_us: 0.0"),
            &["period_us", "50 to 1000000"],
        ),
        (
            session("seconds: 3.0", "seconds: -1.0"),
            &["seconds", "0.01"],
        ),
        (
            session("seconds: 3.0", "params: {\"sclae\": 1.0}"),
            &["sclae", "scale, offset, rate"],
        ),
        (
            session("seconds: 3.0", "params: {\"scale\": 7.0}"),
            &["scale", "0 to 2"],
        ),
        (
            session("frequency_hz: 1.0", "frequency_hz: NaN"),
            &["frequency_hz", "NaN"],
        ),
        (
            session(
                "seconds: 3.0",
                "limits: [(channel: \"farce\", low: 0.0, high: 1.0, for_cycles: 1, action: Stop)]",
            ),
            &["farce", "force"],
        ),
        (
            session(
                "Sine(amplitude_m: 0.01, frequency_hz: 1.0)",
                "File(path: \"missing.csv\")",
            ),
            &["missing.csv"],
        ),
        (session("Session(", "Session(((("), &["session file"]),
        (String::new(), &["session file"]),
        (no_mass, &["negative.ron", "masses[0].mass_kg", "-6.6"]),
        (no_file, &["no/such/pantograph.ron"]),
        (misspelt, &["misspelt.ron:", "upflit_n", "uplift_n"]),
        (negative_delay, &["delays.force_s", "0 to 1"]),
        (no_rig, &["rig file", "no/such/rig.ron"]),
    ];
    for (text, words) in cases {
        let path = scratch.file("bad.ron", &text);
        let output = pantobench(&["run", &path, "--fast", "--json"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}\n{said}");
        assert!(output.stdout.is_empty(), "{text}");
        for word in words {
            assert!(said.contains(word), "'{word}' is missing in: {said}");
        }
    }
    let missing = pantobench(&["run", "no/such/session.ron"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("no/such/session.ron"));
    let refused = pantobench(&["run", "sessions/profile-sine.ron", "--seconds", "-3"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(pantobench(&["fly"]).status.code(), Some(2));
}

#[test]
fn without_a_display_the_headless_command_is_named() {
    let output = pantobench(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("pantobench run"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn help_of_every_command_shows_an_example() {
    for command in [
        &["--help"][..],
        &["benches", "--help"],
        &["run", "--help"],
        &["latency", "--help"],
        &["line", "--help"],
        &["line", "check", "--help"],
        &["line", "static", "--help"],
        &["line", "modes", "--help"],
        &["line", "draw", "--help"],
        &["lqg", "--help"],
        &["lqg", "design", "--help"],
        &["lqg", "map", "--help"],
        &["session", "--help"],
        &["session", "list", "--help"],
        &["session", "info", "--help"],
        &["session", "check", "--help"],
        &["session", "recover", "--help"],
        &["session", "export", "--help"],
        &["simulate", "--help"],
        &["validate", "--help"],
    ] {
        let text = stdout(&pantobench(command));
        assert!(text.contains("Example: pantobench"), "{command:?}: {text}");
    }
}

#[test]
fn ctrl_c_stops_a_real_time_run_in_a_controlled_way() {
    let scratch = Scratch::new("ctrl-c");
    let path = scratch.patient_session("seconds: 3.0", "max_misses: 1000");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pantobench"));
    command.args(["run", &path, "--json"]).current_dir(root());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::park_timeout(Duration::from_millis(2500));
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("stopping: asked to") && said.contains("Stopping → Idle"),
        "{said}"
    );
    let result = json(&output);
    assert!(result["seconds"].as_f64().unwrap() > 0.1, "{result}");
    assert_eq!(result["trip"], Value::Null);
}
